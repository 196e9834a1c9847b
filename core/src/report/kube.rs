//! The part of a report that is about Kubernetes clusters: what stands where, what was lost and how it came back.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{MachineReport, NodeReport};
use crate::scenario::kube::gardener::FailureTolerance;
use crate::scenario::text;

/// A pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodReport {
    /// The cluster it runs in.
    pub cluster: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The Deployment, `StatefulSet` or `DaemonSet` it belongs to.
    pub owner: String,
    /// Its node; null: it has none.
    pub node: Option<String>,
    /// Zone of its node.
    pub zone: Option<String>,
    /// Where it stands, as `kubectl` prints it.
    pub phase: PodPhase,
    /// Whether it serves, as the API has it.
    pub ready: bool,
    /// Why no node suits it, in the form of kube-scheduler's event (`0/6 nodes are available: ...`); null: it has a node, or nobody has looked.
    pub reason: Option<String>,
    /// How often its process was started again.
    pub restarts: u32,
    /// When it was made, in seconds; 0: it was there at the start.
    pub created_s: f64,
}

/// Why a pod has no node that kube-scheduler has not looked at.
pub const NOT_TRIED: &str = "not yet tried by the scheduler";

impl PodReport {
    /// Why it has no node; `None`: it has one, or needs none any more.
    pub fn waits_for_node(&self) -> Option<&str> {
        let waits = self.phase == PodPhase::Pending && self.node.is_none();
        waits.then(|| self.reason.as_deref().unwrap_or(NOT_TRIED))
    }
}

/// Where a pod stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PodPhase {
    /// It has no node, or its process has not started there yet.
    Pending,
    /// Its process was started.
    Running,
    /// It is to end.
    Terminating,
}

/// How everything stood at one of the scenario's `observe_at`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedReport {
    /// The moment, as the scenario writes it.
    pub at: String,
    /// The moment, in seconds.
    pub at_s: f64,
    /// Pods then.
    pub pods: Vec<PodReport>,
    /// Nodes then.
    pub nodes: Vec<NodeReport>,
    /// Machines then.
    pub machines: Vec<MachineReport>,
}

/// A pod that stopped serving, and what came of it. A step that was not needed, or has not been taken, is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecoveryReport {
    /// The cluster it ran in.
    pub cluster: String,
    /// Its namespace.
    pub namespace: String,
    /// The Deployment or `StatefulSet` it belongs to.
    pub component: String,
    /// The pod.
    pub pod: String,
    /// Its node.
    pub node: String,
    /// Why it stopped: `no power`, `cut off`, `deleted`, or `drain timed out` where its node was deleted with it although it was not
    /// evicted.
    pub why: String,
    /// How long its budget had refused its eviction by then, in seconds; null: it had not.
    pub eviction_refused_s: Option<f64>,
    /// What took its place; null: nothing yet, or it came back itself.
    pub replacement: Option<String>,
    /// When it stopped, in seconds.
    pub lost_s: f64,
    /// When its API knew, in seconds.
    pub detected_s: Option<f64>,
    /// When it was deleted (its deletion began), in seconds.
    pub evicted_s: Option<f64>,
    /// When its object was gone, in seconds.
    pub removed_s: Option<f64>,
    /// When its replacement was made, in seconds.
    pub created_s: Option<f64>,
    /// When the replacement had a node, in seconds.
    pub scheduled_s: Option<f64>,
    /// When the replacement had its volumes, in seconds.
    pub attached_s: Option<f64>,
    /// When the replacement's process ran, in seconds.
    pub started_s: Option<f64>,
    /// When it, or its replacement, was ready, in seconds.
    pub ready_s: Option<f64>,
    /// From `lost_s` to `ready_s`, or to the end of the run, in seconds.
    pub duration_s: f64,
    /// Whether it was ready before the run ended.
    pub completed: bool,
    /// What was waited for, one after the other, from `lost_s` on.
    pub waits: Vec<WaitReport>,
}

/// A wait on the way back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitReport {
    /// The step it ended with: `detected`, `evicted`, `removed`, `created`, `scheduled`, `attached`, `started` or `ready`.
    pub until: String,
    /// Since when, in seconds.
    pub from_s: f64,
    /// When the step was taken, or the end of the run, in seconds.
    pub to_s: f64,
    /// Whether the step was taken.
    pub completed: bool,
    /// What it waited for, in plain words.
    pub waits_for: String,
}

/// A component over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComponentReport {
    /// The cluster it runs in.
    pub cluster: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub component: String,
    /// Pods that stopped serving.
    pub lost: u64,
    /// Of those, how many were ready again, or replaced, before the run ended.
    pub recovered: u64,
    /// Of those that recovered, how many did so on another node.
    #[serde(default)]
    pub moved: u64,
    /// Longest time until its API knew, in seconds; null: it never had to.
    pub detect_s: Option<f64>,
    /// Longest time until a replacement had a node, in seconds.
    pub reschedule_s: Option<f64>,
    /// Longest time until it was ready again, in seconds; null: none has been.
    pub ready_s: Option<f64>,
    /// Time in which none of its pods served, in seconds.
    pub unavailable_s: f64,
}

/// How many nodes, pods and machines of a cluster stood where, at the end of each window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CountsReport {
    /// Length of a window, in seconds.
    pub window_s: f64,
    /// Nodes that are ready.
    pub nodes_ready: Vec<u32>,
    /// Nodes that are not.
    pub nodes_not_ready: Vec<u32>,
    /// Pods that have no node or have not started.
    pub pods_pending: Vec<u32>,
    /// Pods that have started.
    pub pods_running: Vec<u32>,
    /// Pods that are to end.
    pub pods_terminating: Vec<u32>,
    /// Machines whose node is healthy.
    pub machines_running: Vec<u32>,
    /// Machines that are being made, or could not be (`Pending`, `CrashLoopBackOff`).
    pub machines_coming: Vec<u32>,
    /// Machines whose node is not healthy, or that are given up (`Unknown`, `Failed`).
    pub machines_failing: Vec<u32>,
    /// Machines that are to go.
    pub machines_terminating: Vec<u32>,
    /// Those of all these that the cloud has refused to make: there is nothing behind them.
    #[serde(default)]
    pub machines_refused: Vec<u32>,
}

/// What became of an API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApiReport {
    /// Failure that its control plane is to survive; null: it is no shoot.
    #[serde(default)]
    pub failure_tolerance: Option<FailureTolerance>,
    /// Time without answers to reads, as the probe judges it, in seconds: the mean over the API's resources, as requests for any of them
    /// to any of its servers meet it. A third of the resources that stalls for 30 s is 10 s. In clusters with `api_access`, what new clients
    /// meet, which only know the load balancer. It includes the time in which simulated requests were late.
    pub read_unavailable_s: f64,
    /// Time without answers to writes, in seconds, likewise.
    pub write_unavailable_s: f64,
    /// The same for clients at each vantage: the zones of its regions, then `outside`.
    #[serde(default)]
    pub vantages: Vec<ApiVantageReport>,
    /// The same for requests for one resource, of those that once fared otherwise than requests for any: by the API's state, late requests
    /// left out.
    #[serde(default)]
    pub resources: Vec<ApiResourceReport>,
    /// When it did not answer, or only for a part of its resources, by start.
    pub outages: Vec<ApiOutageReport>,
    /// When a component could do nothing, by component.
    pub no_leader: Vec<NoLeaderReport>,
    /// Who led its components from when on, after the start.
    pub leases: Vec<LeaseReport>,
}

impl ApiReport {
    /// Vantages whose clients were hit otherwise than those that count.
    pub fn vantages_apart(&self) -> impl Iterator<Item = &ApiVantageReport> {
        let counted = [self.read_unavailable_s, self.write_unavailable_s].map(text::seconds);
        self.vantages.iter().filter(move |row| [row.read_unavailable_s, row.write_unavailable_s].map(text::seconds) != counted)
    }
}

/// Times in which clients at one vantage got no answer from an API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiVantageReport {
    /// A zone, or `outside` the region.
    pub from: String,
    /// Time without answers to reads, in seconds.
    pub read_unavailable_s: f64,
    /// Time in which they could not write, in seconds.
    pub write_unavailable_s: f64,
    /// Times in which all reads failed, or a part of them.
    #[serde(default)]
    pub reads: FailedPart,
    /// Times in which all writes failed, or a part of them.
    #[serde(default)]
    pub writes: FailedPart,
}

/// Times in which requests failed, by the API's state: late ones are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailedPart {
    /// How long they lasted together, in seconds.
    pub lasted_s: f64,
    /// For how long of it only a part failed, in seconds.
    #[serde(default)]
    pub part_s: f64,
    /// The largest share that failed, from 0 to 1.
    pub share: f64,
}

/// Times in which requests to an API for one resource got no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiResourceReport {
    /// `leases` (heartbeats of nodes, and who leads), or `pods` (and what else controllers work on).
    pub resource: String,
    /// Time without answers to reads of it, in seconds: the mean over servers.
    pub read_unavailable_s: f64,
    /// Time in which it could not be written, in seconds, likewise.
    pub write_unavailable_s: f64,
}

/// A time in which an API did not answer, in which (`share` below 1) a part of its resources stalled or a part of new clients failed, or in
/// which (`late`) requests were late or rejected. A part that stalls for less than the probe's deadline counts as answered in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiOutageReport {
    /// `read` or `write`.
    pub verb: String,
    /// When it began, in seconds.
    pub from_s: f64,
    /// When it ended, in seconds.
    pub to_s: f64,
    /// Whether it had ended when the run did.
    pub completed: bool,
    /// Share that got no answer, from 0 to 1. By the API's state: the largest share of its resources, on average over its servers, or over the
    /// connections of new clients through a load balancer. If `late`: `unavailable_s` divided by the outage's length.
    #[serde(default = "all")]
    pub share: f64,
    /// Whether the API was available by its state, and simulated requests were too slow or rejected (429): not answered within
    /// `probe.deadline`, though the state predicted an answer when they were made.
    #[serde(default)]
    pub late: bool,
    /// Unavailable time, in seconds: the mean over the API's resources; if `late`, over requests, times the share that the state served.
    #[serde(default)]
    pub unavailable_s: f64,
    /// Why, in plain words.
    #[serde(default)]
    pub root_cause: String,
}

const fn all() -> f64 {
    1.0
}

/// A time in which a component could do nothing: none of its processes led, or the one that did could not write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoLeaderReport {
    /// The component: `kube-scheduler`, ...
    pub component: String,
    /// When it began, in seconds.
    pub from_s: f64,
    /// When it ended, in seconds.
    pub to_s: f64,
    /// Whether it had ended when the run did.
    pub completed: bool,
}

/// A lease that changed hands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseReport {
    /// When, in seconds.
    pub at_s: f64,
    /// The component: `kube-scheduler`, ...
    pub component: String,
    /// Who leads it from then on; null: nobody.
    pub holder: Option<String>,
}

/// A component whose pods, or a machine deployment whose machines, are not where they would be placed today.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailbackReport {
    /// The cluster it runs in.
    pub cluster: String,
    /// Its namespace; empty for a machine deployment.
    pub namespace: String,
    /// The component, or machine deployment.
    pub component: String,
    /// Pods that the fullest zone has more than the emptiest; of a machine deployment, machines more than at the start.
    pub skew: u32,
    /// Pods, or machines, by zone.
    pub per_zone: IndexMap<String, u32>,
    /// What an operator must do, in one sentence.
    pub remedy: String,
    /// Pods of it that find no node until then; `None` where all have one.
    #[serde(default)]
    pub deadlock: Option<DeadlockReport>,
}

/// Pods whose volumes are in one zone, and that must share a zone with pods in others (GEP-20, "Zone Pinning"): no node suits them, and
/// nothing moves the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlockReport {
    /// The pods that find no node.
    pub pods: Vec<String>,
    /// The zone of their volumes.
    pub zone: String,
    /// Zones of the pods that they must share a zone with.
    pub others: Vec<String>,
}

impl DeadlockReport {
    /// What ends it. (To delete those pods does not: each is replaced while the others, or it, are still there to be near to.)
    pub fn remedy(&self) -> String {
        let (pods, others) = (text::list(&self.pods), text::list(&self.others));
        let have = if self.pods.len() == 1 { "has a node" } else { "have nodes" };
        format!(
            "scale the workloads in {others} that {pods} must share a zone with to 0 replicas, and back once {pods} {have} in {}",
            self.zone
        )
    }
}

/// A node that an operator drains: it takes no more pods, and those that it has are evicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrainReport {
    /// The cluster it belongs to.
    pub cluster: String,
    /// The node.
    pub node: String,
    /// When the drain was asked for, in seconds.
    pub requested_s: f64,
    /// From `requested_s` until the last pod had left, the node was deleted, or the run ended, in seconds.
    pub duration_s: f64,
    /// What came of it.
    pub end: DrainEnd,
    /// Pods that were still to leave when the run ended.
    pub remaining: Vec<RemainingPodReport>,
}

/// What came of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrainEnd {
    /// All pods that were to leave had left.
    Drained,
    /// The node was deleted before that, or was not there when the drain was asked for.
    NodeDeleted,
    /// Pods remained when the run ended.
    Unfinished,
    /// Until the run ended the API did not answer: the node was not even cordoned.
    NotCordoned,
}

impl DrainReport {
    /// What came of it, and of each pod that remains, in words; `time` writes seconds.
    pub fn states(&self, time: impl Fn(f64) -> String) -> Vec<String> {
        let after = time(self.duration_s);
        let end = match self.end {
            DrainEnd::Drained => Some(format!("drained after {after}")),
            DrainEnd::NodeDeleted => Some(format!("its node was deleted after {after}")),
            DrainEnd::NotCordoned => Some(format!("not cordoned after {after}: the API did not answer")),
            DrainEnd::Unfinished => None,
        };
        let remains = |pod: &RemainingPodReport| {
            format!("{}/{} remains after {}: {}", pod.namespace, pod.pod, time(pod.duration_s), pod.reason)
        };
        end.into_iter().chain(self.remaining.iter().map(remains)).collect()
    }
}

/// A pod that a drain has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemainingPodReport {
    /// The pod.
    pub pod: String,
    /// Its namespace.
    pub namespace: String,
    /// Since when `reason` has held, in seconds.
    pub from_s: f64,
    /// From `from_s` to the end of the run, in seconds.
    pub duration_s: f64,
    /// Why it is still there, in plain words: `PodDisruptionBudget front allows no disruption`.
    pub reason: String,
}

/// A shoot that was asked to move to another seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MigrationReport {
    /// The shoot.
    pub shoot: String,
    /// The seed that hosted it; null where it may not move.
    pub from: Option<String>,
    /// The seed that is to.
    pub to: String,
    /// When it was asked for, in seconds.
    pub requested_s: f64,
    /// Why it may not move, in plain words; null: it may.
    pub denied: Option<String>,
    /// Time since in which nobody could write to its API, in seconds.
    pub write_unavailable_s: f64,
    /// From `requested_s` until all was there, or to the end of the run, in seconds; 0 where it may not move.
    pub duration_s: f64,
    /// Whether all was there before the run ended, or it was denied.
    pub completed: bool,
    /// What was waited for, one after the other: until it `leaves`, its etcd is `closed` and `kept`, it is `gone` from the old seed,
    /// `restores` in the new one, its etcd is `restored`, its API `serves`, and it is `done`.
    pub waits: Vec<WaitReport>,
}

/// A pod that ran on, cut off, though its object was gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrphanedContainerReport {
    /// The cluster it ran in.
    pub cluster: String,
    /// Its namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// Since when, in seconds.
    pub from_s: f64,
    /// Until when, in seconds.
    pub to_s: f64,
    /// Whether it had ended when the run did.
    pub completed: bool,
}
