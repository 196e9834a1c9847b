//! `zau_{max_delete,old_replicas,sequence,step}_cases.json`: ZoneAwareUpdate (aws/zone-aware-controllers-for-k8s
//! `controllers/zau_controller_test.go`, and the figures of its README).

use std::collections::BTreeMap;

use serde::Deserialize;
use zonefall_core::kube::spec::int_or_percent::IntOrPercent;
use zonefall_core::rollout::rule::zone_aware_update::{
    self as zau, Pod, PodRevision, Rollback, StatefulSet, Status, Verdict, ZoneAwareUpdate,
};

use super::Outcome;
use super::form::{run_cases, same};
use super::pods::{Phase, Share};
use super::seconds::seconds;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MaxDelete {
    max_unavailable: u32,
    update_step: u32,
    exponential_factor: f64,
    want: u32,
}

pub(super) fn run_max_delete(text: &str) -> Outcome {
    run_cases(text, |row: &MaxDelete| {
        same(&zau::max_delete(row.max_unavailable, row.update_step, row.exponential_factor), &row.want)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldReplicas {
    before: BTreeMap<String, u32>,
    counts: BTreeMap<String, u32>,
    want: BTreeMap<String, u32>,
}

pub(super) fn run_old_replicas(text: &str) -> Outcome {
    run_cases(text, |row: &OldReplicas| same(&zau::old_replicas(&row.before, &row.counts), &row.want))
}

/// The update and the StatefulSet's revision, as the program sees them.
const fn update(max_unavailable: IntOrPercent, exponential_factor: f64) -> ZoneAwareUpdate {
    ZoneAwareUpdate { max_unavailable, exponential_factor, ignore_alarm: false, dry_run: false, rollback: Rollback::Code }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sequence {
    zones: BTreeMap<String, Vec<u32>>,
    max_unavailable: Share,
    exponential_factor: f64,
    want: Vec<Batch>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Batch {
    zone: String,
    pods: Vec<u32>,
}

pub(super) fn run_sequence(text: &str) -> Outcome {
    run_cases(text, check_sequence)
}

fn check_sequence(row: &Sequence) -> Result<(), String> {
    let update = update(row.max_unavailable.parse()?, row.exponential_factor);
    let pod = |ordinal: u32, zone: &String| Pod {
        ordinal,
        zone: Some(zone.clone()),
        revision: PodRevision::Old,
        is_ready: true,
        is_terminating: false,
    };
    let mut pods: Vec<_> = row.zones.iter().flat_map(|(zone, all)| all.iter().map(move |ordinal| pod(*ordinal, zone))).collect();
    let replicas = pods.len() as u32;
    let set = StatefulSet { on_delete: true, replicas, ready_replicas: replicas, update_revision: "new" };
    let (mut status, mut found) = (Status::new(), Vec::new());
    // A step may delete none; one that goes on so is no rollout.
    for _ in 0..10_000 {
        let step = zau::step(&update, &set, &pods, &status, None);
        status = step.status;
        if step.verdict == Verdict::Done {
            return same(&found, &row.want);
        }
        let mut zone = None;
        for pod in pods.iter_mut().filter(|pod| step.deleted.contains(&pod.ordinal)) {
            pod.revision = PodRevision::New;
            zone.clone_from(&pod.zone);
        }
        found.extend(zone.map(|zone| Batch { zone, pods: step.deleted }));
    }
    Err("the rollout finds no end".to_owned())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    update_strategy: Strategy,
    dry_run: bool,
    max_unavailable: Share,
    exponential_factor: f64,
    replicas: u32,
    ready_replicas: u32,
    pods: Vec<RawPod>,
    status: RawStatus,
    alarm: Option<AlarmState>,
    ignore_alarm: bool,
    want: Wanted,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
enum Strategy {
    RollingUpdate,
    OnDelete,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPod {
    ordinal: u32,
    zone: Option<String>,
    revision: Option<RawRevision>,
    phase: Phase,
    ready: bool,
    terminating: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawRevision {
    New,
    Old,
}

/// Revision that a status names.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum StatusRevision {
    New,
    Other,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStatus {
    update_step: u32,
    update_revision: Option<StatusRevision>,
    deleted_replicas: u32,
    old_replicas: BTreeMap<String, u32>,
    paused: bool,
}

#[derive(Clone, Copy, Deserialize)]
enum AlarmState {
    #[serde(rename = "OK")]
    Ok,
    #[serde(rename = "ALARM")]
    Alarm,
    #[serde(rename = "INSUFFICIENT_DATA")]
    InsufficientData,
    #[serde(rename = "error")]
    Unreadable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    deleted: Vec<u32>,
    update_step: u32,
    deleted_replicas: u32,
    old_replicas: BTreeMap<String, u32>,
    paused: bool,
    update_revision: Option<StatusRevision>,
    requeue_s: Option<f64>,
    error: bool,
}

pub(super) fn run_step(text: &str) -> Outcome {
    run_cases(text, check_step)
}

fn check_step(row: &Step) -> Result<(), String> {
    let update = ZoneAwareUpdate {
        ignore_alarm: row.ignore_alarm,
        dry_run: row.dry_run,
        ..update(row.max_unavailable.parse()?, row.exponential_factor)
    };
    let set = StatefulSet {
        on_delete: row.update_strategy == Strategy::OnDelete,
        replicas: row.replicas,
        ready_replicas: row.ready_replicas,
        update_revision: StatusRevision::New,
    };
    let pod = |raw: &RawPod| Pod {
        ordinal: raw.ordinal,
        zone: raw.zone.clone(),
        revision: match raw.revision {
            Some(RawRevision::New) => PodRevision::New,
            Some(RawRevision::Old) => PodRevision::Old,
            None => PodRevision::Unlabelled,
        },
        is_ready: raw.phase == Phase::Running && raw.ready,
        is_terminating: raw.terminating,
    };
    let pods: Vec<_> = row.pods.iter().map(pod).collect();
    let RawStatus { update_step, update_revision, deleted_replicas, ref old_replicas, paused } = row.status;
    let status = Status { update_step, update_revision, deleted_replicas, old_replicas: old_replicas.clone(), paused };
    let alarm = row.alarm.map(|raw| match raw {
        AlarmState::Ok => zau::Alarm::Ok,
        AlarmState::Alarm => zau::Alarm::Alarm,
        AlarmState::InsufficientData => zau::Alarm::InsufficientData,
        AlarmState::Unreadable => zau::Alarm::Unreadable,
    });
    let found = zau::step(&update, &set, &pods, &status, alarm);
    let want = &row.want;
    same(&found.deleted, &want.deleted)?;
    let Status { update_step, update_revision, deleted_replicas, old_replicas, paused } = found.status;
    same(&(update_step, deleted_replicas, paused), &(want.update_step, want.deleted_replicas, want.paused))?;
    same(&update_revision, &want.update_revision)?;
    // A zone that is not listed counts none.
    let counts = |all: &BTreeMap<String, u32>| -> BTreeMap<String, u32> {
        all.iter().filter(|(_, count)| **count > 0).map(|(zone, count)| (zone.clone(), *count)).collect()
    };
    same(&counts(&old_replicas), &counts(&want.old_replicas))?;
    same(&found.requeue, &want.requeue_s.map(seconds).transpose()?)?;
    same(&found.verdict.is_error(), &want.error)
}
