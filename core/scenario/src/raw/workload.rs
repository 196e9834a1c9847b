//! Components: what runs in a seed, for itself and for its shoots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawRevision, RawSource, RawUpdate};
use crate::kube::Rollout;
use crate::kube::autoscaler::Drainability;
use crate::kube::volume::VolumeBinding;
use crate::units::int_or_percent::IntOrPercent;
use crate::units::{Name, Size, Span};

/// Where a component's defaults come from.
const PROFILE: &str = "what Gardener deploys: GEP-20; requests, sizes and times assumed";

/// A Deployment, StatefulSet or `DaemonSet`. What is left out is as Gardener deploys the component of this name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawComponent {
    /// Its name, such as `kube-apiserver`.
    pub name: Name,
    /// There is no such component here.
    #[serde(default)]
    #[schemars(extend("x-source" = PROFILE))]
    pub absent: bool,
    /// What looks after its pods; needed for a component that Gardener does not deploy.
    #[serde(default)]
    #[schemars(extend("x-default" = "as its profile", "x-source" = PROFILE))]
    pub kind: Option<RawKind>,
    /// Pods wanted; of a `DaemonSet` one on each node.
    #[serde(default)]
    #[schemars(range(max = 1_000), extend("x-default" = "as its profile", "x-source" = PROFILE))]
    pub replicas: Option<u32>,
    /// Labels of its pods, beside `app`, which is its name: `tier=front,team=payments`.
    #[serde(default)]
    #[schemars(length(max = 4_000), extend("x-default" = "none", "x-source" = "nothing else selects its pods"))]
    pub labels: Option<String>,
    /// Nodes that its pods may run on, by their labels (required node affinity): a list of selectors as `kubectl get -l` takes them, one of
    /// which must hold, such as `topology.kubernetes.io/zone in (a, b),disk=ssd`. Comparisons (`Gt`, `Lt`) are not supported.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub node_affinity: Vec<String>,
    /// The pool whose nodes it runs on.
    #[serde(default)]
    #[schemars(extend("x-default" = "any", "x-source" = PROFILE))]
    pub pool: Option<String>,
    /// Keys of taints that its pods tolerate, such as `node-role.kubernetes.io/control-plane`; `*`: all taints.
    #[serde(default)]
    #[schemars(
        length(max = 16),
        inner(length(max = 400)),
        extend("x-default" = "none; of a DaemonSet that Gardener deploys, all", "x-source" = PROFILE)
    )]
    pub tolerates: Option<Vec<String>>,
    /// CPUs that each pod requests.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_024), extend("x-default" = "as its profile", "x-source" = PROFILE))]
    pub cpu: Option<f64>,
    /// Memory that each pod requests.
    #[serde(default)]
    #[schemars(extend("x-max" = "64TiB", "x-default" = "as its profile", "x-source" = PROFILE))]
    pub memory: Option<Size>,
    /// What is pulled onto a node before a pod can start there.
    #[serde(default)]
    #[schemars(extend("x-max" = "1TiB", "x-default" = "as its profile", "x-source" = PROFILE))]
    pub image: Option<Size>,
    /// From being told to run until a pod is ready.
    #[serde(default)]
    #[schemars(extend("x-max" = "1d", "x-default" = "as its profile", "x-source" = PROFILE))]
    pub start: Option<Span>,
    /// How long a pod takes to stop when asked to.
    #[serde(default)]
    #[schemars(extend("x-max" = "1d", "x-default" = "2s", "x-source" = "assumed"))]
    pub stop: Option<Span>,
    /// How its pods are spread (`topologySpreadConstraints`).
    #[serde(default)]
    #[schemars(length(max = 8), extend("x-default" = "by failure tolerance", "x-source" = PROFILE))]
    pub spread: Option<Vec<RawSpread>>,
    /// Which pods its pods are near to (`podAffinity`).
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub affinity: Vec<RawAntiAffinity>,
    /// Which pods its pods keep away from (`podAntiAffinity`).
    #[serde(default)]
    #[schemars(length(max = 8), extend("x-default" = "by failure tolerance", "x-source" = PROFILE))]
    pub anti_affinity: Option<Vec<RawAntiAffinity>>,
    /// The volume that each pod of a StatefulSet has.
    #[serde(default)]
    #[schemars(extend("x-default" = "as its profile", "x-source" = PROFILE))]
    pub volume: Option<RawClaim>,
    /// Size of that volume.
    #[serde(default)]
    #[schemars(extend(
        "x-min" = "1MiB",
        "x-max" = "1PiB",
        "x-default" = "25GiB of etcd-main, 10GiB of etcd-events, 20GiB of prometheus, 30GiB of loki; 10GiB of others",
        "x-source" = "assumed, after what Gardener asks for as remembered: GEP-20 names no sizes"
    ))]
    pub volume_size: Option<Size>,
    /// When the volume is provisioned, in one zone, and bound to its claim (`volumeBindingMode`). For workloads of clusters without Gardener.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "wait_for_first_consumer",
        "x-source" = "kubernetes: StorageClass, volumeBindingMode; what GCE and AWS provision could not wait before 1.12"
    ))]
    pub volume_binding: Option<VolumeBinding>,
    /// An existing disk that the StatefulSet's single pod uses, in place of a volume of its own. For workloads of clusters without Gardener.
    #[serde(default)]
    #[schemars(extend("x-default" = "a volume of its own, if any", "x-source" = "kubernetes: PersistentVolume, gcePersistentDisk"))]
    pub disk: Option<RawDiskMount>,
    /// So many of its pods may be evicted at a time (`PodDisruptionBudget`).
    #[serde(default)]
    #[schemars(range(max = 1_000), extend("x-default" = "1 where there are several replicas, else no budget; none in a cluster without Gardener", "x-source" = "GEP-20"))]
    pub max_unavailable: Option<u32>,
    /// How far a roll-out of the Deployment may stray from its replicas.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "25% and 25%; by Gardener 25% and 0 of API servers, 0 and 1 where pods keep away from each other, so that it can go on",
        "x-source" = "kubernetes: RollingUpdateDeployment; gardener: kube-apiserver; assumed"
    ))]
    pub rollout: Option<RawRollout>,
    /// How a StatefulSet replaces pods of older revisions.
    #[serde(default)]
    #[schemars(extend("x-default" = "one after the other, from the highest ordinal down", "x-source" = "kubernetes: StatefulSetUpdateStrategy"))]
    pub update: Option<RawUpdate>,
    /// A pod of the StatefulSet or Deployment is available when it has been ready for so long (`minReadySeconds`); of a Deployment less than its
    /// `progress_deadline`.
    #[serde(default)]
    #[schemars(extend("x-max" = "1d", "x-default" = "0s", "x-source" = "kubernetes: StatefulSetSpec, DeploymentSpec"))]
    pub min_ready: Option<Span>,
    /// Time without progress after which the report says that a rollout of the Deployment exceeded its deadline (`progressDeadlineSeconds`). As
    /// in Kubernetes, the rollout is neither stopped nor rolled back.
    #[serde(default)]
    #[schemars(extend("x-min" = "1s", "x-max" = "30d", "x-default" = "10m", "x-source" = "kubernetes: DeploymentSpec"))]
    pub progress_deadline: Option<Span>,
    /// Its pods are replicas of one store: requests are answered while more than half of the pods wanted are ready. For workloads of clusters
    /// without Gardener.
    #[serde(default)]
    #[schemars(extend("x-default" = "one ready pod suffices", "x-source" = "what most services need"))]
    pub quorum: Option<bool>,
    /// What is wrong with the revisions that `roll_component` makes, the first of them first; nothing with others. For workloads of clusters
    /// without Gardener.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub revisions: Vec<RawRevision>,
    /// Pods of the StatefulSet come and go all at once.
    #[serde(default)]
    #[schemars(extend("x-default" = "true for etcd", "x-source" = "etcd-druid: podManagementPolicy Parallel"))]
    pub parallel: Option<bool>,
    /// What its pods say about the scale-down of their node by the cluster autoscaler. For workloads of clusters without Gardener.
    #[serde(default)]
    #[schemars(extend("x-default" = "nothing: they go if they find another node", "x-source" = "autoscaler: FAQ.md"))]
    pub drainability: Option<Drainability>,
    /// How long its pods stay on a node that is out of reach.
    #[serde(default)]
    #[schemars(extend("x-max" = "30d", "x-default" = "5m", "x-source" = "kubernetes: default-unreachable-toleration-seconds"))]
    pub tolerate_unreachable: Option<Span>,
    /// Pods that are there at the start; others are placed as the scheduler would.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub pods: Vec<RawPod>,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// How far a roll-out may stray from the number of replicas, or of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawRollout {
    /// More than that.
    pub max_surge: IntOrPercent,
    /// Fewer than that which are available.
    pub max_unavailable: IntOrPercent,
}

impl RawRollout {
    pub(crate) const fn rollout(self) -> Rollout {
        Rollout { max_surge: self.max_surge, max_unavailable: self.max_unavailable }
    }
}

/// What looks after pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawKind {
    /// Pods stand for each other.
    Deployment,
    /// Each pod is itself.
    StatefulSet,
    /// One on each node.
    DaemonSet,
}

/// What pods are spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawOver {
    /// `topology.kubernetes.io/zone`
    Zone,
    /// `kubernetes.io/hostname`
    Host,
}

/// How far the numbers of pods may differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawSpread {
    /// Between what.
    pub over: RawOver,
    /// By how much at most.
    #[schemars(range(min = 1, max = 1_000))]
    pub max_skew: u32,
    /// A pod that would break it waits (`DoNotSchedule`); otherwise it is placed as well as can be (`ScheduleAnyway`).
    #[serde(default = "yes")]
    #[schemars(extend("x-source" = "GEP-20: DoNotSchedule"))]
    pub hard: bool,
    /// Pods count that are of the same roll-out (`gardener.cloud/rolloutVersion`); otherwise those that it replaces do, too.
    #[serde(default)]
    #[schemars(extend("x-source" = "kubernetes/kubernetes#98215: all count"))]
    pub per_rollout: bool,
}

fn yes() -> bool {
    true
}

/// A term of pod affinity or anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawAntiAffinity {
    /// Pods in the same zone or on the same host count as near.
    pub over: RawOver,
    /// Selector of the pods that are meant, in the namespace: `app=web`.
    #[serde(default)]
    #[schemars(length(max = 4_000), extend("x-default" = "the pods of the component itself", "x-source" = "GEP-20"))]
    pub pods: Option<String>,
    /// Weight, if the term is only preferred.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100), extend("x-default" = "it must hold", "x-source" = "GEP-20: requiredDuringScheduling…"))]
    pub weight: Option<u32>,
}

/// A volume of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawClaim {
    /// The pods have no volume.
    None,
    /// One that stays in the zone where it was made.
    Zonal,
    /// One that can be attached in every zone of the seed.
    Regional,
}

/// Reference to an existing disk, in a pod or in the PersistentVolume bound to its claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawDiskMount {
    /// Name of one of the cluster's `disks`. The disk is attached by this name, in the zone of the pod's node.
    pub name: String,
    /// Zone of the disk: only there is it looked up and attached.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "none: only the name is given",
        "x-source" = "federation-lite: `later, we may add some way to specify the zone for a volume`"
    ))]
    pub zone: Option<String>,
    /// The pod uses the disk through a PersistentVolumeClaim and a PersistentVolume. If false it mounts the disk directly: no object carries the
    /// zone, so the scheduler ignores it.
    #[serde(default = "yes")]
    #[schemars(extend("x-source" = "federation-lite: `direct mounts do not have a place to attach zone information`"))]
    pub claim: bool,
}

/// A pod that is there at the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawPod {
    /// Its name, as Kubernetes makes it up.
    pub name: Name,
    /// The node it runs on.
    pub node: String,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}
