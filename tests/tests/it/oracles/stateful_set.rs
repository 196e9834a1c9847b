//! `statefulset_{update,rollout}_cases.json`: the StatefulSet controller (kubernetes
//! `pkg/controller/statefulset/stateful_set_control_test.go`).

use serde::Deserialize;
use zonefall_core::kernel::time::Duration;
use zonefall_core::kube::rule::stateful_set::{Pass, Pod, PodState, Revision, StatefulSet, is_complete};
use zonefall_core::kube::spec::update::{RollingUpdate, UpdateStrategy};

use super::Outcome;
use super::form::{run_cases, same};
use super::pods::Share;
use super::seconds::seconds;

#[derive(Clone, Copy, Deserialize, PartialEq)]
enum PodManagement {
    OrderedReady,
    Parallel,
}

#[derive(Clone, Copy, Deserialize)]
enum Strategy {
    RollingUpdate,
    OnDelete,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum RawRevision {
    Old,
    New,
}

impl From<RawRevision> for Revision {
    fn from(raw: RawRevision) -> Self {
        match raw {
            RawRevision::Old => Self::Other,
            RawRevision::New => Self::Update,
        }
    }
}

impl From<Revision> for RawRevision {
    fn from(revision: Revision) -> Self {
        match revision {
            Revision::Other => Self::Old,
            Revision::Update => Self::New,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateRow {
    replicas: u32,
    pod_management: PodManagement,
    strategy: Strategy,
    partition: u32,
    max_unavailable: Option<Share>,
    max_unavailable_feature: bool,
    min_ready_s: f64,
    update_phase_only: bool,
    pods: Vec<RawPod>,
    want: WantedPass,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPod {
    ordinal: u32,
    revision: RawRevision,
    state: RawState,
    ready_for_s: f64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawState {
    Ready,
    Unready,
    Terminating,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct WantedPass {
    created: Vec<u32>,
    deleted: Vec<u32>,
}

pub(super) fn run_update(text: &str) -> Outcome {
    run_cases(text, check_update)
}

fn check_update(row: &UpdateRow) -> Result<(), String> {
    let max_unavailable = row.max_unavailable.as_ref().unwrap_or(&Share::Number(1)).parse()?;
    let strategy = match row.strategy {
        Strategy::OnDelete => UpdateStrategy::OnDelete,
        Strategy::RollingUpdate => UpdateStrategy::RollingUpdate(RollingUpdate {
            partition: row.partition,
            max_unavailable: row.max_unavailable_feature.then_some(max_unavailable),
        }),
    };
    let parallel = row.pod_management == PodManagement::Parallel;
    let set = StatefulSet { replicas: row.replicas, parallel, strategy, min_ready: seconds(row.min_ready_s)? };
    let pod = |raw: &RawPod| {
        let state = match raw.state {
            RawState::Ready => PodState::Ready(seconds(raw.ready_for_s)?),
            RawState::Unready => PodState::Unready,
            RawState::Terminating => PodState::Terminating,
        };
        Ok(Pod { ordinal: raw.ordinal, revision: raw.revision.into(), state })
    };
    let pods = row.pods.iter().map(pod).collect::<Result<Vec<_>, String>>()?;
    let Pass { created, deleted } = if row.update_phase_only { set.update_phase(&pods) } else { set.pass(&pods) };
    let created = created.iter().map(|created| created.ordinal).collect();
    same(&WantedPass { created, deleted }, &row.want)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rollout {
    pod_management: PodManagement,
    strategy: Strategy,
    partition: u32,
    replicas_before: u32,
    replicas_after: u32,
    restart: bool,
    want: Vec<RawRevision>,
}

pub(super) fn run_rollout(text: &str) -> Outcome {
    run_cases(text, check_rollout)
}

/// A StatefulSet whose pods are gone as soon as they are deleted, and ready as soon as they are created.
struct Rolling {
    set: StatefulSet,
    pods: Vec<Pod>,
    /// All pods were of the new revision once: it is that of pods below the partition, too.
    is_complete: bool,
}

impl Rolling {
    /// The controller runs until nothing is left to do.
    fn settle(&mut self, replicas: u32) -> Result<(), String> {
        self.set.replicas = replicas;
        let rolls = matches!(self.set.strategy, UpdateStrategy::RollingUpdate(_));
        for _ in 0..10_000 {
            let Pass { created, deleted } = self.set.pass(&self.pods);
            self.pods.retain(|pod| !deleted.contains(&pod.ordinal));
            for created in &created {
                let revision = if self.is_complete { Revision::Update } else { created.revision };
                self.pods.push(Pod { ordinal: created.ordinal, revision, state: PodState::Ready(Duration::ZERO) });
            }
            self.is_complete |= rolls && is_complete(&self.pods);
            if created.is_empty() && deleted.is_empty() {
                return Ok(());
            }
        }
        Err("the controller finds no end".to_owned())
    }
}

fn check_rollout(row: &Rollout) -> Result<(), String> {
    let strategy = match row.strategy {
        Strategy::OnDelete => UpdateStrategy::OnDelete,
        Strategy::RollingUpdate => {
            UpdateStrategy::RollingUpdate(RollingUpdate { partition: row.partition, max_unavailable: None })
        }
    };
    let parallel = row.pod_management == PodManagement::Parallel;
    let set = StatefulSet { replicas: row.replicas_before, parallel, strategy, min_ready: Duration::ZERO };
    let old = |ordinal| Pod { ordinal, revision: Revision::Other, state: PodState::Ready(Duration::ZERO) };
    let mut rolling = Rolling { set, pods: (0..row.replicas_before).map(old).collect(), is_complete: false };
    rolling.settle(row.replicas_after)?;
    if row.restart {
        rolling.settle(0)?;
        rolling.settle(row.replicas_after)?;
    }
    rolling.pods.sort_unstable_by_key(|pod| pod.ordinal);
    same(&rolling.pods.iter().map(|pod| pod.revision.into()).collect(), &row.want)
}
