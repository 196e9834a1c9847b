//! Kubernetes as a scenario has it: names resolved, nothing left that could be invalid.

pub mod disruption;
pub mod gardener;
pub mod int_or_percent;
pub mod labels;
pub mod placement;
pub mod taints;

use crate::ids::NodeId;
use labels::{Labels, NodeAffinity, Selector, Symbol};
use placement::{Claim, Constraint};
use taints::{Effect, Match, Taint, Toleration};
use zonefall_kernel::time::Duration;

/// All planes; none: nothing of Kubernetes is simulated, at no cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeModel {
    /// The planes.
    pub planes: Vec<PlaneSpec>,
}

/// A Kubernetes API, the nodes that report to it and the workloads that live in it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaneSpec {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Where its API is served, at least one.
    pub control_plane: Vec<NodeId>,
    /// Its nodes. A node of the scenario is in one plane at most.
    pub nodes: Vec<NodeSpec>,
    /// Its workloads.
    pub workloads: Vec<Workload>,
    /// Its timers.
    pub timers: Timers,
}

/// A node of a plane.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// The machine.
    pub node: NodeId,
    /// Its labels.
    pub labels: Labels,
    /// Taints it has from the start.
    pub taints: Vec<Taint>,
    /// What its pods may request in all.
    pub allocatable: Resources,
}

/// What pods request, and nodes have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Thousandths of a CPU.
    pub cpu_milli: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Pods.
    pub pods: u64,
}

impl Resources {
    /// The sum.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self { cpu_milli: self.cpu_milli + other.cpu_milli, memory: self.memory + other.memory, pods: self.pods + other.pods }
    }

    /// The difference; `other` is part of this.
    #[must_use]
    pub const fn minus(&self, other: &Self) -> Self {
        Self { cpu_milli: self.cpu_milli - other.cpu_milli, memory: self.memory - other.memory, pods: self.pods - other.pods }
    }

    /// Whether all of it is there.
    pub const fn fits(&self, allocatable: &Self) -> bool {
        self.cpu_milli <= allocatable.cpu_milli && self.memory <= allocatable.memory && self.pods <= allocatable.pods
    }
}

/// A Deployment: so many pods, all alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name, unique in its namespace.
    pub name: String,
    /// Its namespace.
    pub namespace: Symbol,
    /// Pods wanted.
    pub replicas: u32,
    /// Labels of its pods.
    pub labels: Labels,
    /// Which pods are its own.
    pub selector: Selector,
    /// What each pod requests ([`Resources::pods`] is 1).
    pub requests: Resources,
    /// Where its pods may run.
    pub affinity: NodeAffinity,
    /// What its pods tolerate.
    pub tolerations: Vec<Toleration>,
    /// Spreading that must hold (`DoNotSchedule`).
    pub spread: Vec<Constraint>,
    /// Spreading that should (`ScheduleAnyway`).
    pub prefers: Vec<Constraint>,
    /// Claims of its pods.
    pub claims: Vec<Claim>,
    /// How long its pods take from being told to run until they are ready.
    pub start: Duration,
    /// How long they take to stop when asked to.
    pub stop: Duration,
}

/// How long a pod stays on a node that is out of reach, unless it says something else (`DefaultTolerationSeconds`, kube-apiserver's
/// `default-unreachable-toleration-seconds`).
pub const UNREACHABLE_TOLERATION: Duration = Duration::from_secs(300);

/// The toleration that pods are given: `lasts` on a node that is out of reach.
pub const fn tolerates_unreachable(lasts: Duration) -> Toleration {
    Toleration { key: Some(Symbol::UNREACHABLE), value: Match::Exists, effect: Some(Effect::NoExecute), lasts: Some(lasts) }
}

/// Timers of a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timers {
    /// The node lifecycle controller looks this often (`node-monitor-period`).
    pub monitor_period: Duration,
    /// A node whose lease was not renewed for longer is out of reach (`node-monitor-grace-period`).
    pub monitor_grace: Duration,
    /// A kubelet renews its lease this often (a quarter of `nodeLeaseDurationSeconds`).
    pub lease_renewal: Duration,
    /// A node found out of reach is queued for `NoExecute` at the next look only: `processTaintBaseEviction` is given its condition as it
    /// was before the look. GEP-20 and its 7 min count without this period; so does the default.
    pub queues_a_look_later: bool,
    /// When zones are disrupted, and how fast nodes are tainted.
    pub disruption: disruption::Options,
    /// From a write until those who watch hear of it (assumed).
    pub watch_latency: Duration,
    /// From power to a kubelet that runs (assumed).
    pub boot: Duration,
    /// Between two pods that the scheduler looks at (assumed).
    pub scheduling: Duration,
}

impl Default for Timers {
    /// Those of Kubernetes, but for the grace period: 2 min, as in Gardener's GEP-20.
    fn default() -> Self {
        Self {
            monitor_period: Duration::from_secs(5),
            monitor_grace: Duration::from_secs(120),
            lease_renewal: Duration::from_secs(10),
            queues_a_look_later: false,
            disruption: disruption::Options::default(),
            watch_latency: Duration::from_millis(5),
            boot: Duration::from_secs(60),
            scheduling: Duration::from_millis(10),
        }
    }
}
