//! Kubernetes as a scenario has it: names resolved, nothing left that could be invalid.

pub mod autoscaler;
pub mod balancers;
pub mod capacity;
pub mod controllers;
pub mod disruption;
pub mod fairness;
pub mod gardener;
pub mod labels;
pub mod leader_election;
pub mod machine;
pub mod name;
pub mod placement;
pub mod profile;
pub mod routing;
pub mod scheduler;
pub mod seed;
pub(crate) mod selector;
pub mod taints;
mod task;
pub mod timers;
pub mod update;
pub mod usage;
pub mod volume;
pub mod zone_aware;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::access::{ApiAccess, ApiClientSpec};
pub use crate::backup;
use crate::etcd::EtcdClusterSpec;
use crate::ids::{
    ApiClientId, EtcdId, KubeClusterId, MachineDeploymentId, NodeId, NodeKey, SeedId, ServiceId, TiVec, WorkloadId, ZoneId,
};
pub use crate::units::int_or_percent;
use int_or_percent::IntOrPercent;
use labels::{Labels, NodeAffinity, Selector, Symbol};
use name::{MachineName, PodTag};
use placement::{Constraint, PodAffinity};
use routing::{Routing, ServiceTraffic, TrafficDistribution, TrafficPolicy};
use taints::{Effect, Match, Taint, Toleration};
pub use task::{NodesAdded, Operation, Task, WorkloadScale, ZonalShift};
pub use timers::Timers;
pub use update::Rollout;
pub use volume::VolumeTemplate;
use zonefall_kernel::time::Duration;

/// All clusters; none: nothing of Kubernetes is simulated, at no cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeModel {
    /// The clusters: those of seeds, in their order, then those of shoots.
    pub clusters: TiVec<KubeClusterId, KubeClusterSpec>,
    /// Machines that the cloud has left at the start, by type and zone ([`MachineDeployment::stock`]).
    pub stock: Vec<u32>,
    /// Clusters that host control planes.
    pub seeds: TiVec<SeedId, gardener::Seed>,
    /// Clusters that are hosted.
    pub shoots: Vec<gardener::Shoot>,
    /// Changes of what shoots' control planes are to survive, as they are asked for.
    pub changes: Vec<gardener::ToleranceChange>,
    /// Moves of shoots' control planes to other seeds, as they are asked for.
    pub migrations: Vec<gardener::Migration>,
    /// Work of an operator, in order of time.
    pub operations: Vec<Operation>,
    /// What capacity is planned for; nothing of it runs.
    pub capacity: capacity::Capacity,
    /// The words that symbols stand for, [`labels::WELL_KNOWN`] first.
    pub words: TiVec<Symbol, String>,
}

impl KubeModel {
    /// The word that a symbol of this scenario stands for.
    pub fn word(&self, symbol: Symbol) -> &str {
        &self.words[symbol]
    }

    /// Whether anything is asked of the API of a shoot: through a load balancer, and with backups of what it writes.
    pub fn has_shoots_in_use(&self) -> bool {
        self.clusters.iter().any(|cluster| cluster.is_hosted() && !cluster.requests.is_empty())
    }

    /// The workload whose pods are the members of an etcd cluster, and the cluster it is in.
    pub fn stateful_set_of(&self, etcd: EtcdId) -> Option<(KubeClusterId, WorkloadId)> {
        let of = |cluster: &KubeClusterSpec| cluster.workloads.position(|workload| workload.role == Role::Etcd(etcd));
        self.clusters.iter_enumerated().find_map(|(id, cluster)| Some((id, of(cluster)?)))
    }
}

/// A Kubernetes API, the nodes that report to it and the workloads that live in it.
#[derive(Clone, Debug, PartialEq)]
pub struct KubeClusterSpec {
    /// Its name, unique in the scenario.
    pub name: String,
    /// The etcd cluster its objects are in.
    pub etcd: EtcdId,
    /// Where its API servers and its controllers run, a replica of each on each of these. None: they are the pods of other clusters with
    /// the [`Role`] for it.
    pub control_plane: Vec<NodeId>,
    /// Of these hosts the last ones, which operations add.
    pub added_hosts: u32,
    /// What each of these hosts has for pods, where the scenario says so: they are charged for it. `None`: nobody pays for them here.
    pub control_plane_machine: Option<Resources>,
    /// Its nodes at the start. A node of the scenario is in one cluster at most.
    pub nodes: TiVec<NodeKey, NodeSpec>,
    /// Its machine deployments.
    pub machine_deployments: TiVec<MachineDeploymentId, MachineDeployment>,
    /// Its workloads.
    pub workloads: TiVec<WorkloadId, Workload>,
    /// Namespaces of control planes: their stale pods are removed.
    pub control_plane_namespaces: Vec<Symbol>,
    /// Which endpoints clients that are its pods are sent to.
    pub routing: Routing,
    /// Resources, built in and custom, that its API servers keep: each with a connection to etcd of its own. At least two.
    pub resources: u16,
    /// From SIGTERM until its API servers accept no connection (`--shutdown-delay-duration`); they still answer requests in flight until they
    /// are gone. `None`: they serve until they are gone.
    pub shutdown_delay: Option<Duration>,
    /// How its clients reach its API servers; `None`: each the nearest that answers, or the one on its own host.
    pub access: Option<ApiAccess>,
    /// Hosts of [`Self::control_plane`] whose API servers advertise no alternative services.
    pub not_advertising: Vec<NodeId>,
    /// Further clients of its API, where it has [`Self::access`].
    pub api_clients: TiVec<ApiClientId, ApiClientSpec>,
    /// Its timers.
    pub timers: Timers,
    /// What asks its API, where that is counted.
    pub requests: Vec<usage::Requests>,
    /// How much of that each of its API servers takes at a time.
    pub in_flight: usage::InFlight,
    /// API Priority and Fairness of its API servers; `None`: a request beyond [`Self::in_flight`] is rejected at once.
    pub fairness: Option<Arc<fairness::FlowControl>>,
    /// What asks it all the same, where that is not counted.
    pub background: Vec<usage::Requests>,
    /// Controllers beside those that every cluster has.
    pub controllers: controllers::Controllers,
    /// Programs that act through its API.
    pub components: Vec<Component>,
    /// Its Services, but for those that Gardener makes, which come with their workloads.
    pub services: TiVec<ServiceId, Service>,
    /// Budgets beside those of its workloads ([`Workload::max_unavailable`]).
    pub budgets: Vec<Budget>,
    /// What its zone-aware controllers look after.
    pub zone_aware: zone_aware::ZoneAware,
    /// Disks that its pods may use.
    pub disks: volume::Disks,
}

/// Pods of a namespace, by their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct PodSelector {
    /// Namespace of the pods.
    pub namespace: Symbol,
    /// Selector of their labels.
    pub selector: Selector,
}

impl PodSelector {
    /// Whether it selects the pods of a workload.
    pub fn selects(&self, workload: &Workload) -> bool {
        workload.namespace == self.namespace && self.selector.selects(&workload.labels)
    }
}

/// A Service: a name for whichever pods its selector means and are ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Its pods.
    pub pods: PodSelector,
    /// Which of them clients are sent to first.
    pub distribution: Option<TrafficDistribution>,
    /// How far traffic of its clients goes.
    pub policy: TrafficPolicy,
    /// What its clients do, where the report follows it.
    pub traffic: Option<ServiceTraffic>,
}

/// A `PodDisruptionBudget` of whatever pods its selector means.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Its name.
    pub name: String,
    /// Its pods.
    pub pods: PodSelector,
    /// How many must stay.
    pub limit: BudgetLimit,
    /// When pods that run but are not ready may be evicted.
    pub unhealthy_pods: UnhealthyPods,
}

/// How many pods of a budget must stay; percentages are of the pods wanted and rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetLimit {
    /// All but this many (`maxUnavailable`).
    MaxUnavailable(IntOrPercent),
    /// At least this many (`minAvailable`).
    MinAvailable(IntOrPercent),
}

/// When a pod that runs but is not ready may be evicted (`unhealthyPodEvictionPolicy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnhealthyPods {
    /// Where the budget's other pods are as many as they should be.
    #[default]
    IfHealthyBudget,
    /// Whatever the budget says.
    AlwaysAllow,
}

impl KubeClusterSpec {
    /// Hosts of its control plane at the start.
    pub fn hosts_at_start(&self) -> &[NodeId] {
        &self.control_plane[..self.control_plane.len() - self.added_hosts as usize]
    }

    /// Its control plane is pods of other clusters.
    pub const fn is_hosted(&self) -> bool {
        self.control_plane.is_empty()
    }

    /// Its machines are objects, which a machine controller replaces.
    pub fn manages_machines(&self) -> bool {
        self.components.contains(&Component::MachineControllerManager)
    }
}

/// A node of a cluster at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// The machine.
    pub node: NodeId,
    /// What it is like.
    pub template: NodeTemplate,
    /// The machine behind it, if it is known: an object of the API where [the cluster manages machines](KubeClusterSpec::manages_machines).
    pub machine: Option<MachineName>,
}

/// What a node is like.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTemplate {
    /// Its labels, but for the host's name where it is one of many.
    pub labels: Labels,
    /// Taints it has from the start.
    pub taints: Vec<Taint>,
    /// What its pods may request in all.
    pub allocatable: Resources,
    /// Volumes that can be attached to it.
    pub volumes: u32,
    /// Bytes per second that its machine's network card carries.
    pub card_bytes_per_s: u64,
}

/// Machines of one pool in one zone, which stand for each other (a `MachineDeployment`).
#[derive(Clone, Debug, PartialEq)]
pub struct MachineDeployment {
    /// Its name, unique in the cluster.
    pub name: String,
    /// Where its machines stand.
    pub zone: ZoneId,
    /// What their nodes are like.
    pub template: NodeTemplate,
    /// Machines there are at least, as far as the autoscaler goes.
    pub minimum: u32,
    /// Machines there are at most.
    pub maximum: u32,
    /// The pool it is part of.
    pub pool: PoolShare,
    /// From which of [`KubeModel::stock`] its machines are taken; `None`: there are always more.
    pub stock: Option<u16>,
    /// It has no machines until an operation adds them.
    pub added: bool,
    /// The autoscaler leaves its nodes alone (annotation `cluster-autoscaler.kubernetes.io/scale-down-disabled`).
    pub scale_down_disabled: bool,
}

/// A pool with a machine deployment in each of some zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolShare {
    /// Which of its zones the machine deployment is in, and of how many.
    pub zone: (u32, u32),
    /// Machines it has at least.
    pub minimum: u32,
    /// Machines it has at most.
    pub maximum: u32,
    /// How far a roll-out may stray from its number of machines.
    pub rollout: Rollout,
}

/// What pods request, and nodes have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Thousandths of a CPU.
    pub cpu_milli: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Number of pods.
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

/// So many pods, all alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name, unique in its namespace.
    pub name: String,
    /// Its namespace.
    pub namespace: Symbol,
    /// What looks after its pods.
    pub kind: Kind,
    /// What its pods are for.
    pub role: Role,
    /// Pods wanted; of a `DaemonSet` as many as nodes suit it.
    pub replicas: u32,
    /// Its Service asks for topology hints (`service.kubernetes.io/topology-mode`).
    pub hinted: bool,
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
    /// Which pods its pods are near to, and which away from.
    pub pod_affinity: PodAffinity,
    /// Each pod of a `StatefulSet` has a volume of its own (`volumeClaimTemplates`).
    pub volume: Option<VolumeTemplate>,
    /// What is pulled onto a node before a pod can start there.
    pub image: Image,
    /// So many of its ready pods may be evicted at a time (`PodDisruptionBudget`); `None`: it has no budget.
    pub max_unavailable: Option<u32>,
    /// How far a roll-out of a Deployment may stray from its replicas.
    pub rollout: Rollout,
    /// How its pods are replaced otherwise, and by which.
    pub update: update::Update,
    /// How long its pods take from the start of their container until they are ready; an etcd member has a time of its own.
    pub start: Duration,
    /// How long they take to stop when asked to.
    pub stop: Duration,
    /// Pods that are there at the start, with their nodes; the others are placed as the scheduler would.
    pub placed: Vec<(PodTag, NodeKey)>,
    /// Which members of etcd its pods may be.
    pub member_range: MemberRange,
    /// What its pods say about the scale-down of their node.
    pub drainability: autoscaler::Drainability,
}

impl Workload {
    /// Its pod uses a disk that is there before it.
    pub fn uses_disk(&self) -> bool {
        self.volume.is_some_and(|volume| volume.mount().is_some())
    }

    /// The member that a pod of it is while it has its present volume, of which `volumes` came before here. `None`: it can be no other.
    pub fn member(&self, cluster: &EtcdClusterSpec, ordinal: u32, volumes: u8) -> Option<u8> {
        let MemberRange { first, count } = self.member_range;
        cluster.of_pod(ordinal, first.checked_add(volumes)?).filter(|_| volumes < count)
    }

    /// Whether a pod of it is this member, was or will be.
    pub fn may_be(&self, cluster: &EtcdClusterSpec, index: u8) -> bool {
        let (before, this) = cluster.members.split_at(usize::from(index));
        let turn = before.iter().filter(|member| member.name == this[0].name).count();
        let MemberRange { first, count } = self.member_range;
        (usize::from(first)..usize::from(first) + usize::from(count)).contains(&turn)
    }
}

/// Members of etcd that a pod is, one after the other: another with each of its volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRange {
    /// Members of its name that are not it: pods of other seeds, where its control plane may be too. 0 in the seed of the start.
    pub first: u8,
    /// So many it may be.
    pub count: u8,
}

impl Default for MemberRange {
    /// A pod that is nowhere else.
    fn default() -> Self {
        Self { first: 0, count: u8::MAX }
    }
}

/// An image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Which; the same image is pulled onto a node once.
    pub id: u16,
    /// How much is pulled.
    pub bytes: u64,
}

/// What looks after the pods of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Deployment: pods stand for each other.
    Deployment,
    /// A `StatefulSet`: each pod is itself, and there is one of it at most.
    StatefulSet {
        /// All at once (`podManagementPolicy: Parallel`), rather than one after the other.
        parallel: bool,
    },
    /// A `DaemonSet`: one on each node.
    DaemonSet,
}

/// What the pods of a workload are for, beyond being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing else depends on them here.
    Other,
    /// API servers of this cluster.
    ApiServer(KubeClusterId),
    /// Members of this etcd cluster ([`Workload::member`]).
    Etcd(EtcdId),
    /// Replicas of a controller that acts in this cluster, of which one leads.
    Controller(KubeClusterId, Component),
}

/// A program that acts through a cluster's API; of its replicas one leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Component {
    /// kube-controller-manager: node lifecycle, taints, ReplicaSets and their like.
    ControllerManager,
    /// The kube-scheduler.
    Scheduler,
    /// The machine-controller-manager.
    MachineControllerManager,
    /// The cluster-autoscaler.
    Autoscaler,
    /// gardenlet: the care of control planes.
    Gardenlet,
    /// The etcd-druid of a seed.
    Druid,
}

impl Component {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ControllerManager,
        Self::Scheduler,
        Self::MachineControllerManager,
        Self::Autoscaler,
        Self::Gardenlet,
        Self::Druid,
    ];

    /// Its name, as it is deployed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::MachineControllerManager => "machine-controller-manager",
            Self::Autoscaler => "cluster-autoscaler",
            Self::Gardenlet => "gardenlet",
            Self::Druid => "etcd-druid",
        }
    }
}

/// How long a pod stays on a node that is out of reach, unless it says something else (`DefaultTolerationSeconds`, kube-apiserver's
/// `default-unreachable-toleration-seconds`).
pub const UNREACHABLE_TOLERATION: Duration = Duration::from_secs(300);

/// The toleration that pods are given: `lasts` on a node that is out of reach.
pub const fn tolerates_unreachable(lasts: Duration) -> Toleration {
    Toleration { key: Some(Symbol::UNREACHABLE), value: Match::Exists, effect: Some(Effect::NoExecute), lasts: Some(lasts) }
}
