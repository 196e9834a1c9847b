//! Active-passive etcd clusters: two members, and none that the mode does not make what it is.

use crate::error::quote;
use crate::etcd::EtcdClusterSpec;
use crate::ids::ZoneId;
use crate::kube::gardener::{FailureTolerance, Recovery};
use crate::lowering::{CheckCtx, Names};
use crate::options::EtcdOptions;
use crate::passive::{ActivePassive, Backup, Controller, Switching};
use crate::raw::{RawEtcdCluster, RawHotStandby, RawMode, RawReference, RawShoot};
use zonefall_kernel::time::Duration;

/// How many pods a set of members has where the mode is not quorum.
pub(super) const TWO_PODS: &str = "2: one active and one standby (`etcd.mode`)";

/// A mode with one member that serves and one that stands by, as the file has it.
struct Pair<'a> {
    name: &'static str,
    controller_zone: Option<&'a str>,
    check_period: Duration,
    failures: u32,
    backup: Option<Backup>,
}

fn pair(raw: &RawMode) -> Option<Pair<'_>> {
    Some(match raw {
        RawMode::Quorum => return None,
        RawMode::HotStandby(raw) => Pair {
            name: "hot_standby",
            controller_zone: raw.controller_zone.as_deref(),
            check_period: raw.check_period.0,
            failures: raw.failures,
            backup: Some(backup(raw)),
        },
        RawMode::Learner(raw) => Pair {
            name: "learner",
            controller_zone: raw.controller_zone.as_deref(),
            check_period: raw.check_period.0,
            failures: raw.failures,
            backup: None,
        },
    })
}

impl Pair<'_> {
    fn switching(&self, controller: Controller) -> Switching {
        Switching { controller, check_period: self.check_period, failures: self.failures }
    }

    fn needs_learner(&self, ctx: &mut CheckCtx<'_>, path: &str, options: &EtcdOptions) {
        if self.backup.is_none() && options.max_learners == 0 {
            ctx.error(&format!("{path}.options.max_learners"), "0", "at least 1: mode learner has one");
        }
    }
}

/// Makes a cluster what its mode says, its members known.
pub(super) fn mode(ctx: &mut CheckCtx<'_>, c: usize, raw: &RawEtcdCluster, zones: &Names, cluster: &mut EtcdClusterSpec) {
    let path = format!("etcd[{c}]");
    let Some(pair) = pair(&raw.mode) else { return };
    let name = pair.name;
    let place = format!("{path}.mode.{name}.controller_zone");
    let zone = pair.controller_zone.and_then(|zone| zones.find(ctx, &place, zone));
    let controller = zone.map_or(Controller::Everywhere, |zone| Controller::Zone(ZoneId(zone as u16)));
    if raw.members.len() != 2 {
        let expected = format!("two members (mode {name}): one active and one standby");
        ctx.error(&format!("{path}.members"), format!("{} members", raw.members.len()), expected);
    }
    for (m, member) in raw.members.iter().enumerate() {
        let path = format!("{path}.members[{m}]");
        if member.learner {
            ctx.error(&format!("{path}.learner"), "true", format!("nothing: mode {name} decides which member has a vote"));
        }
        if member.behind.is_some() {
            ctx.error(
                &format!("{path}.behind"),
                "an object",
                format!("nothing: mode {name} keeps one copy of each member's data"),
            );
        }
    }
    pair.needs_learner(ctx, &path, &cluster.options);
    let (switching, backup) = (pair.switching(controller), pair.backup);
    pair_up(cluster, switching, backup);
}

/// Makes a cluster of two members one that serves, who leads at first, and one that stands by.
pub(super) fn pair_up(cluster: &mut EtcdClusterSpec, switching: Switching, backup: Option<Backup>) {
    let primary = cluster.initial_leader.unwrap_or(0);
    for (index, member) in (0u8..).zip(&mut cluster.members) {
        member.learner = backup.is_none() && index != primary;
    }
    cluster.passive = Some(ActivePassive { primary, switching, backup });
}

/// The mode of a shoot's etcd clusters; `path` is the shoot's. `None`: quorum.
pub(super) fn of_shoot(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    shoot: &RawShoot,
    options: &EtcdOptions,
) -> Option<(Switching, Option<Backup>)> {
    let path = format!("{path}.etcd");
    let pair = hosted(ctx, &path, &shoot.etcd.mode, shoot.recovery)?;
    if shoot.failure_tolerance == FailureTolerance::None {
        let expected = "quorum, or `failure_tolerance` node or zone: the active member and the standby must not fail together";
        ctx.error(&format!("{path}.mode"), format!("{}, with failure_tolerance none", pair.name), expected);
    }
    pair.needs_learner(ctx, &path, options);
    Some((pair.switching(Controller::Druid), pair.backup))
}

/// Whether the etcd clusters of a control plane to come are pairs where it survives anything; `path` is its `etcd`.
pub(super) fn of_reference(ctx: &mut CheckCtx<'_>, path: &str, reference: &RawReference) -> bool {
    hosted(ctx, path, &reference.etcd.mode, reference.recovery).is_some()
}

/// The mode of etcd clusters that are pods.
fn hosted<'a>(ctx: &mut CheckCtx<'_>, path: &str, mode: &'a RawMode, recovery: Recovery) -> Option<Pair<'a>> {
    let pair = pair(mode)?;
    let (name, place) = (pair.name, format!("{path}.mode"));
    if recovery == Recovery::Move {
        let expected = "quorum, or another `recovery`: a member is moved while the others have a majority";
        ctx.error(&place, format!("{name}, with recovery move"), expected);
    }
    if let Some(zone) = pair.controller_zone {
        ctx.error(&format!("{place}.{name}.controller_zone"), quote(zone), "no value: etcd-druid of the seed is the controller");
    }
    Some(pair)
}

fn backup(raw: &RawHotStandby) -> Backup {
    Backup {
        delta_period: raw.delta_snapshot_period.0,
        full_period: raw.full_snapshot_period.0,
        poll_period: raw.poll_period.0,
        upload_bytes_per_s: raw.upload_bandwidth.bytes_per_s(),
        restore_bytes_per_s: raw.restore_bandwidth.bytes_per_s(),
    }
}

/// Reports an operation on members that a controller manages: those of an active-passive cluster, and those that are pods.
pub(super) fn no_operations(ctx: &mut CheckCtx<'_>, path: &str, cluster: &EtcdClusterSpec) -> bool {
    let expected = if cluster.managed {
        "a cluster whose members are not pods: etcd-druid adds and removes those (`set_failure_tolerance` asks it to)"
    } else {
        "no change of a cluster whose mode is not quorum: its controller manages the members"
    };
    let managed = cluster.managed || cluster.passive.is_some();
    if managed {
        ctx.error(path, format!("a change of {}", cluster.name), expected);
    }
    managed
}
