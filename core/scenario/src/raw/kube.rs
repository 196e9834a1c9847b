//! Seeds: clusters of Kubernetes that host control planes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawComponent, RawDisk, RawInitial, RawOptions, RawRollout};
use crate::kube::controllers::Controllers;
use crate::kube::int_or_percent::IntOrPercent;
use crate::kube::routing::ApiToEtcd;
use crate::kube::taints::Effect;
use crate::source::Source;
use crate::units::{Name, Size};

/// Who says that it is so, for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawSource {
    /// Where this comes from.
    #[serde(default)]
    #[schemars(extend("x-form" = "json"))]
    pub source: Option<Source>,
    /// Why it is taken to be so.
    #[serde(default)]
    #[schemars(length(max = 1_000), extend("x-form" = "json"))]
    pub because: String,
}

/// A cluster that hosts control planes of shoots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawSeed {
    /// Its name, such as `shoot--garden--aws-ha2`.
    pub name: Name,
    /// The zones of its nodes.
    #[schemars(length(min = 1, max = 16))]
    pub zones: Vec<String>,
    /// An even number of zones is meant.
    #[serde(default)]
    #[schemars(extend("x-source" = "GEP-20: an odd number of zones, for quorums"))]
    pub allow_even_zones: bool,
    /// Where its own control plane runs, and its etcd.
    #[serde(default)]
    pub control_plane: RawControlPlane,
    /// Its worker pools.
    #[schemars(length(min = 1, max = 50))]
    pub pools: Vec<RawPool>,
    /// Its nodes at the start, where they are known.
    #[serde(default)]
    #[schemars(
        length(max = 4_000),
        extend("x-default" = "`minimum` of each pool, shared out over its zones", "x-source" = "gardener: DistributeOverZones")
    )]
    pub nodes: Vec<RawSeedNode>,
    /// It can host control planes that survive the loss of a zone (`seed.gardener.cloud/multi-zonal`).
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "whether a pool without taints has at least 3 nodes in an odd number of at least 3 zones",
        "x-source" = "GEP-20: Hosting an HA Shoot Control Plane with zone Failure Tolerance"
    ))]
    pub multi_zonal: Option<bool>,
    /// Control planes that it takes.
    #[serde(default = "allocatable_shoots")]
    #[schemars(range(max = 2_000), extend("x-source" = "GEP-20: the currently set limit of 250"))]
    pub allocatable_shoots: u32,
    /// The range of its nodes' addresses.
    #[serde(default = "node_cidr")]
    #[schemars(extend("x-source" = "assumed, after the names of nodes in GEP-20"))]
    pub node_cidr: String,
    /// Bits of the part of that range that each node takes for its pods.
    #[serde(default = "node_prefix")]
    #[schemars(range(max = 32), extend("x-source" = "kube-controller-manager: node-cidr-mask-size"))]
    pub node_prefix: u8,
    /// Services of control planes that survive a zone ask for topology hints (`spec.settings.topologyAwareRouting`), and Kubernetes'
    /// own rule gives them, as GEP-20 has it.
    #[serde(default)]
    #[schemars(extend("x-source" = "gardener: off unless a seed says so"))]
    pub topology_aware_routing: bool,
    /// Which member of etcd a shoot's API server is sent to when it makes a new connection.
    #[serde(default)]
    #[schemars(extend("x-source" = "kube-proxy: each endpoint alike"))]
    pub api_to_etcd: ApiToEtcd,
    /// What runs in it for itself, where it differs from what Gardener deploys.
    #[serde(default)]
    pub system: RawSystem,
    /// Timers of its controllers and kubelets.
    #[serde(default)]
    pub timers: super::RawTimers,
    /// Controllers beside those that every cluster has.
    #[serde(default)]
    pub controllers: Controllers,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

fn allocatable_shoots() -> u32 {
    250
}

fn node_cidr() -> String {
    "10.242.0.0/16".to_owned()
}

pub(super) fn node_prefix() -> u8 {
    24
}

/// Where a seed's own control plane runs: an API server, its controllers and a member of etcd on each of some hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawControlPlane {
    /// The zones of its hosts, in turn.
    #[schemars(length(max = 16), extend("x-default" = "the seed's zones", "x-source" = "its parent is in the same region"))]
    pub zones: Vec<String>,
    /// Number of hosts.
    #[schemars(range(min = 1, max = 9), extend("x-source" = "GEP-20: etcd and API server with 3 replicas"))]
    pub replicas: u8,
    /// Timers, sizes and dialect of its etcd.
    pub options: RawOptions,
    /// What its etcd looks like when the run starts.
    pub initial: RawInitial,
    /// Speed of its etcd's volumes.
    pub disk: RawDisk,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

impl Default for RawControlPlane {
    fn default() -> Self {
        Self {
            zones: Vec::new(),
            replicas: 3,
            options: RawOptions::default(),
            initial: RawInitial::default(),
            disk: RawDisk::default(),
            mark: RawSource::default(),
        }
    }
}

/// Machines that are alike, over some zones: a machine deployment `<seed>-<pool>-z<k>` in the k-th of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawPool {
    /// Its name, such as `cpu-worker`.
    pub name: Name,
    /// Its zones, some of the seed's.
    #[serde(default)]
    #[schemars(length(max = 16), extend("x-default" = "the seed's zones", "x-source" = "a pool for the whole seed"))]
    pub zones: Vec<String>,
    /// Machines there are at least, in all zones together.
    #[schemars(range(max = 4_000))]
    pub minimum: u32,
    /// Machines there are at most, in all zones together.
    #[schemars(range(max = 20_000))]
    pub maximum: u32,
    /// What each machine has.
    #[serde(default)]
    pub machine: RawMachine,
    /// How far a roll-out of its machines may stray from their number, in all zones together: shared out over the zones, and 1 that is
    /// unavailable in a zone where both shares are 0.
    #[serde(default = "machine_rollout")]
    #[schemars(extend("x-source" = "gardener: Shoot API, maxSurge and maxUnavailable of a worker pool"))]
    pub rollout: RawRollout,
    /// Labels of its nodes, beside those of host, zone, region and pool: `disk=ssd,gpu=none`.
    #[serde(default)]
    #[schemars(length(max = 4_000), extend("x-default" = "none", "x-source" = "nothing else selects its nodes"))]
    pub labels: Option<String>,
    /// Taints of its nodes.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub taints: Vec<RawTaint>,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

fn machine_rollout() -> RawRollout {
    RawRollout { max_surge: IntOrPercent::Int(1), max_unavailable: IntOrPercent::Int(0) }
}

/// What a machine has for pods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawMachine {
    /// What the cloud calls it.
    #[serde(rename = "type")]
    #[schemars(extend("x-default" = "a type of which there are always more", "x-source" = "assumed"))]
    pub kind: Option<Name>,
    /// Number of CPUs.
    #[schemars(range(min = 0.001, max = 1_024), extend("x-source" = "assumed"))]
    pub cpu: f64,
    /// Size of the memory.
    #[schemars(extend("x-min" = "1MiB", "x-max" = "64TiB", "x-source" = "assumed"))]
    pub memory: Size,
    /// Number of pods.
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "kubelet: maxPods"))]
    pub pods: u32,
    /// Volumes that can be attached.
    #[schemars(range(max = 1_000), extend("x-source" = "Kubernetes: 25 EBS volumes on Nitro-based instances"))]
    pub volumes: u32,
}

impl Default for RawMachine {
    fn default() -> Self {
        Self { kind: None, cpu: 8.0, memory: Size(32 << 30), pods: 110, volumes: 25 }
    }
}

/// A taint of a pool's nodes: only pods that tolerate its key are placed there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawTaint {
    /// Its key.
    pub key: Name,
    /// What it does to pods that do not tolerate it.
    #[serde(default)]
    #[schemars(extend("x-source" = "keeps pods away, moves none"))]
    pub effect: RawEffect,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawEffect {
    /// They are not placed there.
    #[default]
    NoSchedule,
    /// They are placed there if nowhere else.
    PreferNoSchedule,
    /// They are not placed there, and those that are there must go.
    NoExecute,
}

impl RawEffect {
    pub(crate) const fn effect(self) -> Effect {
        match self {
            Self::NoSchedule => Effect::NoSchedule,
            Self::PreferNoSchedule => Effect::PreferNoSchedule,
            Self::NoExecute => Effect::NoExecute,
        }
    }
}

/// A node of a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawSeedNode {
    /// Its name, unique in the scenario.
    pub name: Name,
    /// Its pool.
    pub pool: String,
    /// The zone it stands in, one of its pool's.
    pub zone: String,
    /// The machine behind it: `<machine deployment>-<5 letters>-<5 letters>`.
    #[serde(default)]
    #[schemars(extend("x-default" = "a machine with a name made up", "x-source" = "machine-controller-manager made it"))]
    pub machine: Option<Name>,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// What runs in a seed for itself, in its namespace `garden`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawSystem {
    /// Components that differ from what Gardener deploys, or that it does not.
    #[schemars(length(max = 200))]
    pub components: Vec<RawComponent>,
    /// There are no others.
    #[schemars(extend("x-source" = "all that GEP-20 lists"))]
    pub only_listed: bool,
}

/// The cloud that machines come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCloud {
    /// Machines that it has left at the start; of all others there are always more.
    #[schemars(length(max = 1_000))]
    pub stock: Vec<RawStock>,
}

/// Machines that the cloud has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawStock {
    /// Their type, as pools have it.
    pub machine: String,
    /// Their zone.
    pub zone: String,
    /// So many.
    pub count: u32,
}
