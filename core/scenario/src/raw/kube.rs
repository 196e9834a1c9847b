//! Seeds: clusters of Kubernetes that host control planes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawComponent, RawDisk, RawInitial, RawOptions, RawRollout, RawSource};
use crate::kube::controllers::Controllers;
use crate::kube::routing::ApiToEtcd;
use crate::kube::taints::Effect;
use crate::units::int_or_percent::IntOrPercent;
use crate::units::{Bandwidth, Name, Size, Span};

/// A cluster that hosts control planes of shoots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawSeed {
    /// Its name, such as `shoot--garden--aws-ha2`.
    pub name: Name,
    /// Zones of the seed's nodes.
    #[schemars(length(min = 1, max = 16))]
    pub zones: Vec<String>,
    /// Allow an even number of zones.
    #[serde(default)]
    #[schemars(extend("x-source" = "GEP-20: an odd number of zones, for quorums"))]
    pub allow_even_zones: bool,
    /// Hosts of the seed's own control plane and etcd.
    #[serde(default)]
    pub control_plane: RawControlPlane,
    /// Its worker pools.
    #[schemars(length(min = 1, max = 50))]
    pub pools: Vec<RawPool>,
    /// Nodes at the start of the run; the others are generated.
    #[serde(default)]
    #[schemars(
        length(max = 4_000),
        extend("x-default" = "`minimum` of each pool, shared out over its zones", "x-source" = "gardener: DistributeOverZones")
    )]
    pub nodes: Vec<RawSeedNode>,
    /// The seed can host control planes with failure tolerance zone (`seed.gardener.cloud/multi-zonal`). One with a pool in two zones can
    /// host those whose etcd is active-passive without this; `false` forbids them, too.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "whether a pool without taints has at least 3 nodes in an odd number of at least 3 zones",
        "x-source" = "GEP-20: Hosting an HA Shoot Control Plane with zone Failure Tolerance"
    ))]
    pub multi_zonal: Option<bool>,
    /// Maximum number of control planes that the seed hosts.
    #[serde(default = "allocatable_shoots")]
    #[schemars(range(max = 2_000), extend("x-source" = "GEP-20: the currently set limit of 250"))]
    pub allocatable_shoots: u32,
    /// Address range of the nodes.
    #[serde(default = "node_cidr")]
    #[schemars(extend("x-source" = "assumed, after the names of nodes in GEP-20"))]
    pub node_cidr: String,
    /// Prefix length of the part of the node range that each node uses for its pods.
    #[serde(default = "node_prefix")]
    #[schemars(range(max = 32), extend("x-source" = "kube-controller-manager: node-cidr-mask-size"))]
    pub node_prefix: u8,
    /// Services of control planes with failure tolerance zone request topology hints (`spec.settings.topologyAwareRouting`), which
    /// Kubernetes grants by its own rule (GEP-20).
    #[serde(default)]
    #[schemars(extend("x-source" = "gardener: off unless a seed says so"))]
    pub topology_aware_routing: bool,
    /// How an etcd member is chosen for a new connection of a shoot's API server.
    #[serde(default)]
    #[schemars(extend("x-source" = "kube-proxy: each endpoint alike"))]
    pub api_to_etcd: ApiToEtcd,
    /// The API servers of the seed's own control plane.
    #[serde(default)]
    pub api_servers: RawApiServers,
    /// The seed's own components, where they differ from those that Gardener deploys.
    #[serde(default)]
    pub system: RawSystem,
    /// Timers of its controllers and kubelets.
    #[serde(default)]
    pub timers: super::RawTimers,
    /// Additional controllers.
    #[serde(default)]
    pub controllers: Controllers,
    /// Source of this information.
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

/// A seed's own control plane: each host runs an API server, the controllers and an etcd member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawControlPlane {
    /// Zones of the hosts, in round-robin order.
    #[schemars(length(max = 16), extend("x-default" = "the seed's zones", "x-source" = "its parent is in the same region"))]
    pub zones: Vec<String>,
    /// Number of hosts.
    #[schemars(range(min = 1, max = 9), extend("x-source" = "GEP-20: etcd and API server with 3 replicas"))]
    pub replicas: u8,
    /// Size of each host, which it is charged by. A host that is a node of the cluster has what its static pods leave of it for other pods.
    #[schemars(extend("x-default" = "as that of a pool, and not charged", "x-source" = "assumed: they are paid for elsewhere"))]
    pub machine: Option<RawMachine>,
    /// Timers, sizes and raft options of its etcd.
    pub options: RawOptions,
    /// State of its etcd at the start of the run.
    pub initial: RawInitial,
    /// Speed of its etcd's volumes.
    pub disk: RawDisk,
    /// Source of this information.
    #[serde(flatten)]
    pub mark: RawSource,
}

impl Default for RawControlPlane {
    fn default() -> Self {
        Self {
            zones: Vec::new(),
            replicas: 3,
            machine: None,
            options: RawOptions::default(),
            initial: RawInitial::default(),
            disk: RawDisk::default(),
            mark: RawSource::default(),
        }
    }
}

/// What the API servers of a cluster keep in etcd. Each resource has a connection of its own, to a member that is chosen for it alone: while
/// a member does not answer, the resources whose connection is with it stall (kubernetes#111622).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawApiServers {
    /// Number of resources that Kubernetes has itself; leases and pods are two of them.
    #[schemars(range(min = 2, max = 1_000), extend("x-source" = "etcd-io/etcd#10717: 66 connections of a kube-apiserver in 2019"))]
    pub built_in_resources: u16,
    /// Number of resources that CustomResourceDefinitions add.
    #[schemars(range(max = 10_000), extend("x-source" = "none: kubernetes#111476 has 1,878"))]
    pub custom_resources: u16,
    /// Time from the request to stop until an API server accepts no connection any more and asks its clients to leave
    /// (`shutdown-delay-duration`). Until then it serves, but says that it is not ready. The API servers of a shoot are pods: a delay
    /// longer than their `pod_grace` is cut short by it. Those of a cluster without Gardener run on hosts, where `api_server_stop` asks
    /// them to stop.
    #[schemars(extend("x-max" = "1d", "x-default" = "serves until its process ends", "x-source" = "kubernetes: --shutdown-delay-duration, 0s; OpenShift 70s"))]
    pub shutdown_delay: Option<Span>,
}

impl Default for RawApiServers {
    fn default() -> Self {
        Self { built_in_resources: 66, custom_resources: 0, shutdown_delay: None }
    }
}

impl RawApiServers {
    /// Resources in all.
    pub(crate) const fn resources(self) -> u16 {
        self.built_in_resources + self.custom_resources
    }
}

/// Identical machines in one or more zones: a machine deployment `<seed>-<pool>-z<k>` in the k-th zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawPool {
    /// Its name, such as `cpu-worker`.
    pub name: Name,
    /// Its zones, some of the seed's.
    #[serde(default)]
    #[schemars(length(max = 16), extend("x-default" = "the seed's zones", "x-source" = "a pool for the whole seed"))]
    pub zones: Vec<String>,
    /// Minimum number of machines, in all zones together.
    #[schemars(range(max = 4_000))]
    pub minimum: u32,
    /// Maximum number of machines, in all zones together.
    #[schemars(range(max = 20_000))]
    pub maximum: u32,
    /// Number of machines at the start of the run, in all zones together.
    #[serde(default)]
    #[schemars(range(max = 4_000), extend("x-default" = "`minimum`", "x-source" = "gardener: the worker actuator makes as many"))]
    pub start: Option<u32>,
    /// Size of each machine.
    #[serde(default)]
    pub machine: RawMachine,
    /// Surge and unavailability of a rolling update of the machines, in all zones together. Both are divided over the zones; where both
    /// are 0 in a zone, 1 machine may be unavailable.
    #[serde(default = "machine_rollout")]
    #[schemars(extend("x-source" = "gardener: Shoot API, maxSurge and maxUnavailable of a worker pool"))]
    pub rollout: RawRollout,
    /// Additional labels of the pool's nodes, besides those of host, zone, region and pool: `disk=ssd,gpu=none`. A node is labelled
    /// `kubernetes.io/os=linux`, `kubernetes.io/arch=amd64` and, where its machine has a type, with `node.kubernetes.io/instance-type`,
    /// unless other values are given here.
    #[serde(default)]
    #[schemars(length(max = 4_000), extend("x-default" = "none", "x-source" = "nothing else selects its nodes"))]
    pub labels: Option<String>,
    /// Taints of the pool's nodes.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub taints: Vec<RawTaint>,
    /// The cluster autoscaler deletes none of the pool's nodes for not being needed (annotation
    /// `cluster-autoscaler.kubernetes.io/scale-down-disabled` of its nodes).
    #[serde(default)]
    #[schemars(extend("x-source" = "autoscaler: FAQ.md; no such annotation"))]
    pub scale_down_disabled: bool,
    /// Source of this information.
    #[serde(flatten)]
    pub mark: RawSource,
}

fn machine_rollout() -> RawRollout {
    RawRollout { max_surge: IntOrPercent::Int(1), max_unavailable: IntOrPercent::Int(0) }
}

/// Resources of a machine for pods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawMachine {
    /// The cloud's name of the machine type.
    #[serde(rename = "type")]
    #[schemars(extend("x-default" = "a type of which there are always more", "x-source" = "assumed"))]
    pub kind: Option<Name>,
    /// Number of CPUs.
    #[schemars(range(min = 0.001, max = 1_024), extend("x-source" = "assumed"))]
    pub cpu: f64,
    /// Size of the memory.
    #[schemars(extend("x-min" = "1MiB", "x-max" = "64TiB", "x-source" = "assumed"))]
    pub memory: Size,
    /// Maximum number of pods.
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "kubelet: maxPods"))]
    pub pods: u32,
    /// Maximum number of attached volumes.
    #[schemars(range(max = 1_000), extend("x-source" = "Kubernetes: 25 EBS volumes on Nitro-based instances"))]
    pub volumes: u32,
    /// Bandwidth of its network card: all that it sends to other machines shares it.
    #[schemars(extend("x-min" = "1kB/s", "x-max" = "100TB/s", "x-default" = "10Gbit/s, or as published for its type", "x-source" = "AWS: NetworkPerformance (m5, c5: seen second-hand), Google Cloud: default egress bandwidth, Azure: expected network bandwidth (not verified)"))]
    pub network_bandwidth: Option<Bandwidth>,
}

impl Default for RawMachine {
    fn default() -> Self {
        Self { kind: None, cpu: 8.0, memory: Size(32 << 30), pods: 110, volumes: 25, network_bandwidth: None }
    }
}

/// A taint of a pool's nodes: it repels pods that do not tolerate its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawTaint {
    /// Key of the taint.
    pub key: Name,
    /// Effect on pods that do not tolerate the taint.
    #[serde(default)]
    #[schemars(extend("x-source" = "keeps pods away, moves none"))]
    pub effect: RawEffect,
    /// Source of this information.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// Effect of a taint on pods that do not tolerate it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawEffect {
    /// The scheduler does not bind them to the node.
    #[default]
    NoSchedule,
    /// The scheduler binds them to the node only if no other node suits.
    PreferNoSchedule,
    /// The scheduler does not bind them to the node, and those on it are evicted.
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
    /// Zone of the node, one of its pool's.
    pub zone: String,
    /// Name of the machine behind the node: `<machine deployment>-<5 letters>-<5 letters>`.
    #[serde(default)]
    #[schemars(extend("x-default" = "a machine with a name made up", "x-source" = "machine-controller-manager made it"))]
    pub machine: Option<Name>,
    /// Source of this information.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// The seed's own components, in its namespace `garden`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawSystem {
    /// Components that differ from those that Gardener deploys, or are additional.
    #[schemars(length(max = 200))]
    pub components: Vec<RawComponent>,
    /// Deploy only these components.
    #[schemars(extend("x-source" = "all that GEP-20 lists"))]
    pub only_listed: bool,
}

/// The cloud provider of the machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCloud {
    /// Stock of machines at the start of the run. Machine types that are not listed are unlimited.
    #[schemars(length(max = 1_000))]
    pub stock: Vec<RawStock>,
}

/// Stock of a machine type in a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawStock {
    /// Machine type, as in the pools.
    pub machine: String,
    /// Zone of the machines.
    pub zone: String,
    /// Number of machines in stock.
    pub count: u32,
}
