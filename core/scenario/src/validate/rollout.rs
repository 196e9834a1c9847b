//! Rollouts: how pods are replaced, and what zone-aware controllers look after.

use super::labels::selected;
use super::void_rollouts;
use crate::error::{did_you_mean, quote, show};
use crate::ids::{TiVec, WorkloadId};
use crate::kube::update::{RevisionSpec, RollingUpdate, Update, UpdateStrategy};
use crate::kube::zone_aware::{
    AlarmSpec, AutomaticRollback, ErrorRateAlarm, LatencyAlarm, ZoneAware, ZoneAwareUpdate, ZoneBudget, ZoneUpdate,
};
use crate::kube::{Kind, Workload};
use crate::lowering::{CheckCtx, ClusterDrafts, Names, quoted};
use crate::raw::{
    RawAlarm, RawAutomaticRollback, RawCluster, RawComponent, RawRollout, RawUpdate, RawZoneAwareUpdate, RawZoneDisruptionBudget,
};
use crate::units::int_or_percent::IntOrPercent;
use zonefall_kernel::time::{Duration, Time};

/// How the pods of a component are replaced, and by which.
pub(super) fn update(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawComponent) -> Update {
    let RawUpdate { on_delete, partition, max_unavailable } = raw.update.unwrap_or_default();
    if on_delete && (partition > 0 || max_unavailable.is_some()) {
        let expected = "neither `partition` nor `max_unavailable`: they are of rolling updates";
        ctx.error(&format!("{path}.update"), "`on_delete` with one of these", expected);
    }
    whole(ctx, &format!("{path}.update.max_unavailable"), max_unavailable);
    if let Some(none) = max_unavailable.filter(|most| most.is_zero()) {
        ctx.error(&format!("{path}.update.max_unavailable"), show(&serde_json::json!(none)), "at least 1: the API rejects 0");
    }
    if let Some(rollout) = raw.rollout {
        let path = format!("{path}.rollout.max_unavailable");
        replaces_some(ctx, &path, rollout, "no pod could be replaced");
        whole(ctx, &path, Some(rollout.max_unavailable));
    }
    let rolling = UpdateStrategy::RollingUpdate(RollingUpdate { partition, max_unavailable });
    let strategy = if on_delete { UpdateStrategy::OnDelete } else { rolling };
    let revision = |raw: &crate::raw::RawRevision| RevisionSpec {
        never_ready: raw.never_ready,
        crashes_after: raw.crashes_after.map(|span| span.0),
        error_rate: raw.error_rate.map_or(0.0, |rate| rate.0),
        errors_after: raw.errors_after.map_or(Duration::ZERO, |span| span.0),
        latency: raw.latency.map_or(Duration::ZERO, |span| span.0),
        latency_after: raw.latency_after.map_or(Duration::ZERO, |span| span.0),
        error_rate_beside_others: raw.error_rate_beside_others.map_or(0.0, |rate| rate.0),
        own_quorum: raw.own_quorum,
    };
    for (k, raw) in raw.revisions.iter().enumerate() {
        let path = format!("{path}.revisions[{k}]");
        if let Some(after) = raw.errors_after.filter(|_| raw.error_rate.is_none_or(|rate| rate.0 <= 0.0)) {
            ctx.warn(
                &format!("{path}.errors_after"),
                quoted(after),
                "an `error_rate` of more than 0 beside it: it changes nothing",
            );
        }
        if let Some(after) = raw.latency_after.filter(|_| raw.latency.is_none()) {
            ctx.warn(&format!("{path}.latency_after"), quoted(after), "a `latency` beside it: it changes nothing");
        }
    }
    let quorum = raw.quorum.unwrap_or(false);
    for (k, _) in raw.revisions.iter().enumerate().filter(|(_, raw)| raw.own_quorum && !quorum) {
        ctx.error(&format!("{path}.revisions[{k}].own_quorum"), "it", "a workload with `quorum`");
    }
    Update {
        followed: false,
        strategy,
        min_ready: raw.min_ready.map_or(Duration::ZERO, |span| span.0),
        progress_deadline: raw.progress_deadline.map(|span| span.0),
        quorum,
        revisions: raw.revisions.iter().map(revision).collect(),
    }
}

/// Reports roll-outs of a pool's machines that Gardener's API rejects (`pkg/apis/core/validation/shoot.go`, `ValidateWorker`).
pub(super) fn of_pool(ctx: &mut CheckCtx<'_>, path: &str, rollout: RawRollout) {
    replaces_some(ctx, path, rollout, "no machine could be replaced");
    whole(ctx, path, Some(rollout.max_unavailable));
}

/// Reports a roll-out that may have neither more than are wanted nor fewer.
fn replaces_some(ctx: &mut CheckCtx<'_>, path: &str, rollout: RawRollout, otherwise: &str) {
    if rollout.max_surge.is_zero() && rollout.max_unavailable.is_zero() {
        let expected = format!("more than 0 where `max_surge` is 0: the API rejects it, because {otherwise}");
        ctx.error(path, "0 of both", expected);
    }
}

/// Reports a percentage of more than there is.
fn whole(ctx: &mut CheckCtx<'_>, path: &str, share: Option<IntOrPercent>) {
    if let Some(share @ IntOrPercent::Percent(101..)) = share {
        ctx.error(path, quoted(share), "at most 100%");
    }
}

/// What the zone-aware controllers of the cluster at place `s` look after.
pub(super) fn zone_aware(ctx: &mut CheckCtx<'_>, lowering: &mut ClusterDrafts, s: usize, path: &str, raw: &RawCluster) {
    let ClusterDrafts { clusters, symbols, .. } = lowering;
    let cluster = &mut clusters[s].cluster;
    let mut alarms = Names::new("an alarm");
    let mut zone_aware = ZoneAware::default();
    for (k, raw) in raw.alarms.iter().enumerate() {
        let path = format!("{path}.alarms[{k}]");
        alarms.add(ctx, &format!("{path}.name"), raw.name.as_str(), k);
        zone_aware.alarms.push(alarm(ctx, &path, raw, &cluster.workloads));
    }
    for (k, raw) in raw.zone_aware_updates.iter().enumerate() {
        let path = format!("{path}.zone_aware_updates[{k}]");
        if let Some(update) = zone_update(ctx, &path, raw, &alarms, &cluster.workloads) {
            if zone_aware.updates.iter().any(|other| other.workload == update.workload) {
                let found = format!("{} again", quote(&raw.workload));
                ctx.error(&format!("{path}.workload"), found, "each StatefulSet once");
            }
            zone_aware.updates.push(update);
        }
    }
    for (k, raw) in raw.automatic_rollbacks.iter().enumerate() {
        let path = format!("{path}.automatic_rollbacks[{k}]");
        if let Some(rollback) = automatic_rollback(ctx, &path, raw, &alarms, &cluster.workloads) {
            if zone_aware.rollbacks.iter().any(|other| other.workload == rollback.workload) {
                ctx.error(&format!("{path}.workload"), format!("{} again", quote(&raw.workload)), "each workload once");
            }
            cluster.workloads[rollback.workload].update.followed = true;
            zone_aware.rollbacks.push(rollback);
        }
    }
    let mut names = Names::new("a zone disruption budget");
    for (k, raw) in raw.zone_disruption_budgets.iter().enumerate() {
        let path = format!("{path}.zone_disruption_budgets[{k}]");
        names.add(ctx, &format!("{path}.name"), raw.name.as_str(), k);
        whole(ctx, &format!("{path}.max_unavailable"), Some(raw.max_unavailable));
        let RawZoneDisruptionBudget { max_unavailable, zdb: admission, .. } = *raw;
        let pods = selected(ctx, symbols, &format!("{path}.pods"), &raw.pods);
        let others = cluster.workloads.iter().filter(|workload| pods.selects(workload));
        if let Some(other) = others.into_iter().find(|workload| !matches!(workload.kind, Kind::StatefulSet { .. })) {
            let expected = "pods of StatefulSets: the program knows no other controllers";
            ctx.error(&format!("{path}.pods"), format!("{}, which selects pods of {}", quote(&raw.pods), other.name), expected);
        }
        let effect = "the budget limits nothing";
        void_rollouts::select_something(ctx, &format!("{path}.pods"), &raw.pods, &pods, &cluster.workloads, effect);
        zone_aware.budgets.push(ZoneBudget { name: raw.name.to_string(), pods, max_unavailable, admission });
        void_rollouts::zone_budget(ctx, &format!("{path}.pods"), &raw.pods, &zone_aware.budgets, &cluster.workloads);
    }
    cluster.zone_aware = zone_aware;
}

fn workload(ctx: &mut CheckCtx<'_>, path: &str, name: &str, all: &TiVec<WorkloadId, Workload>) -> Option<WorkloadId> {
    let found = all.iter_enumerated().find(|(_, workload)| workload.name == name).map(|(id, _)| id);
    if found.is_none() {
        let hint = did_you_mean(name, all.iter().map(|workload| workload.name.as_str()));
        ctx.error(path, quote(name), format!("the name of a workload{hint}"));
    }
    found
}

fn alarm(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawAlarm, workloads: &TiVec<WorkloadId, Workload>) -> AlarmSpec {
    for (k, ringing) in raw.rings.iter().enumerate() {
        if Time::ZERO + ringing.at.0 >= ctx.end {
            let expected = "a time before the end of the run (`duration`)";
            ctx.error(&format!("{path}.rings[{k}].at"), quoted(ringing.at), expected);
        }
    }
    let rings = raw.rings.iter().map(|ringing| {
        let from = Time::ZERO + ringing.at.0;
        (from, ringing.lasts.map_or(Time::MAX, |lasts| from + lasts.0))
    });
    let error_rate = raw.error_rate.as_ref().and_then(|raw| {
        let workload = workload(ctx, &format!("{path}.error_rate.workload"), &raw.workload, workloads)?;
        if raw.threshold.0 <= 0.0 {
            ctx.warn(&format!("{path}.error_rate.threshold"), raw.threshold.0.to_string(), "more than 0: it rings always");
        }
        Some(ErrorRateAlarm { workload, threshold: raw.threshold.0, period: raw.period.0 })
    });
    let latency = raw.latency.as_ref().and_then(|raw| {
        let workload = workload(ctx, &format!("{path}.latency.workload"), &raw.workload, workloads)?;
        Some(LatencyAlarm { workload, threshold: raw.threshold.0, period: raw.period.0 })
    });
    AlarmSpec { name: raw.name.to_string(), rings: rings.collect(), error_rate, latency }
}

fn automatic_rollback(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    raw: &RawAutomaticRollback,
    alarms: &Names,
    workloads: &TiVec<WorkloadId, Workload>,
) -> Option<AutomaticRollback> {
    const LASTS: Duration = Duration::from_secs(60 * 60);
    let id = workload(ctx, &format!("{path}.workload"), &raw.workload, workloads);
    let alarm = alarms.find(ctx, &format!("{path}.alarm"), &raw.alarm);
    let id = id?;
    if workloads[id].kind == Kind::DaemonSet {
        ctx.error(&format!("{path}.workload"), format!("{}, a DaemonSet", quote(&raw.workload)), "a Deployment or StatefulSet");
    }
    let lasts = raw.lasts.map_or(LASTS, |span| span.0);
    if raw.interval.0 > lasts {
        ctx.error(&format!("{path}.interval"), quoted(raw.interval), "at most `for`: it would never look");
    }
    Some(AutomaticRollback { workload: id, alarm: alarm? as u16, interval: raw.interval.0, lasts })
}

fn zone_update(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    raw: &RawZoneAwareUpdate,
    alarms: &Names,
    workloads: &TiVec<WorkloadId, Workload>,
) -> Option<ZoneUpdate> {
    let place = format!("{path}.workload");
    let id = workload(ctx, &place, &raw.workload, workloads)?;
    let of = &workloads[id];
    if !matches!(of.kind, Kind::StatefulSet { .. }) {
        ctx.error(&place, quote(&raw.workload), "a StatefulSet");
    } else if of.update.strategy != UpdateStrategy::OnDelete && !raw.dry_run {
        let found = format!("{} without `update.on_delete`", quote(&raw.workload));
        ctx.error(&place, found, "a StatefulSet with `update.on_delete`, or a `dry_run`: the program does nothing else");
    }
    whole(ctx, &format!("{path}.max_unavailable"), Some(raw.max_unavailable));
    if raw.max_unavailable.is_zero() {
        let expected = "more than 0: otherwise it deletes no pod, and the rollout never ends";
        ctx.warn(&format!("{path}.max_unavailable"), quoted(raw.max_unavailable), expected);
    }
    if raw.exponential_factor > 0.0 && raw.exponential_factor < 1.0 {
        let expected = "0, or at least 1: after its first pod it deletes no other, and the rollout never ends";
        ctx.warn(&format!("{path}.exponential_factor"), raw.exponential_factor.to_string(), expected);
    }
    let field = format!("{path}.pause_rollout_alarm");
    let alarm = raw.pause_rollout_alarm.as_ref().and_then(|name| alarms.find(ctx, &field, name)).map(|place| place as u16);
    let RawZoneAwareUpdate { max_unavailable, exponential_factor, ignore_alarm, dry_run, rollback, .. } = *raw;
    let bake_time = raw.bake_time.map_or(Duration::ZERO, |span| span.0);
    let options = ZoneAwareUpdate { max_unavailable, exponential_factor, ignore_alarm, dry_run, rollback };
    Some(ZoneUpdate { workload: id, options, alarm, bake_time })
}
