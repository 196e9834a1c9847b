//! Kubernetes clusters without Gardener.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    RawAlarm, RawApiAccess, RawApiClient, RawApiServers, RawAutomaticRollback, RawComponent, RawControlPlane, RawPool, RawSeed,
    RawSeedNode, RawSource, RawSystem, RawTimers, RawUsage, RawZoneAwareUpdate, RawZoneDisruptionBudget,
};
use crate::kube::controllers::Controllers;
use crate::kube::routing::{ApiToEtcd, TrafficDistribution, TrafficPolicy};
use crate::kube::volume::DiskLookup;
use crate::kube::{Component, UnhealthyPods};
use crate::units::int_or_percent::IntOrPercent;
use crate::units::{Name, Rate, Size, Span};
use zonefall_kernel::time::Duration;

/// A Kubernetes cluster of its own, as kubeadm or OpenShift set it up: hosts of a control plane, each with an API server, its controllers
/// and a member of etcd (stacked), and nodes that run workloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawCluster {
    /// Its name.
    pub name: Name,
    /// The zones of its nodes.
    #[schemars(length(min = 1, max = 16))]
    pub zones: Vec<String>,
    /// Where its control plane runs, and its etcd: on hosts `<name>-control-plane-<k>`.
    #[serde(default)]
    pub control_plane: RawControlPlane,
    /// Whether these hosts are nodes, too: with the label `node-role.kubernetes.io/control-plane` and a taint of that key, so that only
    /// pods run there that tolerate it. Those of a managed control plane are not.
    #[serde(default = "yes")]
    #[schemars(extend("x-source" = "kubeadm: phase mark-control-plane"))]
    pub control_plane_nodes: bool,
    /// Which member of etcd each API server talks to.
    #[serde(default)]
    #[schemars(extend("x-source" = "kubeadm: --etcd-servers=https://127.0.0.1:2379 of a stacked etcd; OpenShift lists all"))]
    pub api_to_etcd: RawStackedEtcd,
    /// Its API servers.
    #[serde(default)]
    pub api_servers: RawApiServers,
    /// How its clients reach its API servers.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "each client reaches the nearest that answers, or the one on its own host",
        "x-source" = "assumed: as a load balancer that never fails"
    ))]
    pub api_access: Option<RawApiAccess>,
    /// Further clients of its API, which reach it by `api_access`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub api_clients: Vec<RawApiClient>,
    /// Programs of its control plane beside the API servers: of each, one process on each host, one of which leads.
    #[serde(default = "components")]
    #[schemars(length(max = 4), extend("x-source" = "kubeadm: static pods of a control-plane node"))]
    pub components: Vec<RawLeased>,
    /// Its pools of nodes. With `machine_controller_manager` among its components their machines are kept up to `minimum`, with
    /// `cluster_autoscaler` they are scaled; else its nodes stay as they are.
    #[schemars(length(min = 1, max = 50))]
    pub pools: Vec<RawPool>,
    /// Its nodes at the start, where they are known.
    #[serde(default)]
    #[schemars(
        length(max = 4_000),
        extend("x-default" = "`minimum` of each pool, shared out over its zones", "x-source" = "as of a seed")
    )]
    pub nodes: Vec<RawSeedNode>,
    /// What it runs, in the namespace `default`.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub workloads: Vec<RawComponent>,
    /// Disks of the cloud that its workloads may use by name (`disk`).
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub disks: Vec<RawCloudDisk>,
    /// Which zones the cloud is asked in for a disk of a name.
    #[serde(default)]
    #[schemars(extend("x-source" = "federation-lite, `AWS Specific Considerations`, `GCE Specific Considerations`"))]
    pub disk_lookup: DiskLookup,
    /// The admission plugin PersistentVolumeLabel labels each PersistentVolume with the zone of its disk when it is created. It rejects the volume
    /// if the disk is found in no zone, or in several.
    #[serde(default = "yes")]
    #[schemars(extend("x-source" = "kubernetes: admission plugin PersistentVolumeLabel; off by default since 1.11"))]
    pub persistent_volume_label: bool,
    /// Its Services: of each the report says for how long no endpoint served.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub services: Vec<RawService>,
    /// PodDisruptionBudgets in addition to the workloads' own (`max_unavailable`).
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub budgets: Vec<RawBudget>,
    /// StatefulSets that are rolled out zone after zone (Zone Aware Controllers for Kubernetes, which act while kube-controller-manager does).
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub zone_aware_updates: Vec<RawZoneAwareUpdate>,
    /// Budgets that allow several disruptions at a time if they are in the same zone. All budgets must allow an eviction.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub zone_disruption_budgets: Vec<RawZoneDisruptionBudget>,
    /// Alarms that may pause a rollout, or have it rolled back.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub alarms: Vec<RawAlarm>,
    /// Workloads that a pipeline rolls back when an alarm rings.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub automatic_rollbacks: Vec<RawAutomaticRollback>,
    /// Users of its API and their load.
    #[serde(rename = "use", default)]
    #[schemars(extend("x-default" = "nothing that is counted", "x-source" = "what it sends costs money, and is asked for"))]
    pub usage: Option<RawUsage>,
    /// Timers of its controllers and kubelets; of them `node_monitor_grace` is 50s where it is left out, as in Kubernetes since 1.32.
    #[serde(default)]
    pub timers: RawTimers,
    /// Controllers beside those that every cluster has.
    #[serde(default)]
    pub controllers: Controllers,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// A disk of the cloud.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawCloudDisk {
    /// Its name, unique in its zone.
    pub name: Name,
    /// Its zone.
    pub zone: String,
}

/// A Service: a name for pods. Its endpoints are those that are ready as the API has it, listed after the API's latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawService {
    /// Its name.
    pub name: Name,
    /// Selector of its pods, by their labels: `app=web`.
    #[schemars(length(max = 4_000))]
    pub pods: String,
    /// Which of its endpoints clients are sent to first (`trafficDistribution`).
    #[serde(default)]
    #[schemars(extend("x-default" = "each endpoint alike", "x-source" = "kubernetes: kube-proxy chooses one for each connection"))]
    pub traffic_distribution: Option<TrafficDistribution>,
    /// How far traffic of clients in the cluster goes (`internalTrafficPolicy`).
    #[serde(default)]
    #[schemars(extend("x-source" = "kubernetes: Cluster"))]
    pub internal_traffic_policy: TrafficPolicy,
    /// Connections of its clients: the report says how many of them leave their zone, what that costs, and how endpoints are loaded.
    #[serde(default)]
    #[schemars(extend("x-default" = "none that is counted", "x-source" = "what workloads send to each other is theirs"))]
    pub traffic: Option<RawServiceTraffic>,
}

/// Connections of a Service's clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawServiceTraffic {
    /// Selector of the pods that are its clients, by their labels: `app=web`.
    #[schemars(length(max = 4_000))]
    pub clients: String,
    /// Connections that each client opens.
    #[serde(default = "ten_per_second")]
    #[schemars(extend("x-min" = "1/d", "x-max" = "1000000/s", "x-source" = "assumed"))]
    pub connections: Rate,
    /// Bytes that each connection carries, in both directions together.
    #[serde(default = "ten_kib")]
    #[schemars(extend("x-max" = "1TiB", "x-source" = "assumed"))]
    pub bytes: Size,
    /// Connections that an endpoint serves: where more arrive, a queue builds.
    #[serde(default)]
    #[schemars(extend("x-min" = "1/d", "x-max" = "1000000/s", "x-default" = "any number", "x-source" = "without it no endpoint is overloaded"))]
    pub endpoint_capacity: Option<Rate>,
}

fn ten_per_second() -> Rate {
    Rate::per_second(10)
}

fn ten_kib() -> Size {
    Size(10 << 10)
}

/// A `PodDisruptionBudget`: how many of some pods must stay when pods are evicted. A pod that several budgets select cannot be evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawBudget {
    /// Its name.
    pub name: Name,
    /// Selector of its pods, by their labels: `app in (web, api)`.
    #[schemars(length(max = 4_000))]
    pub pods: String,
    /// This many of them may be unavailable; a percentage is of the pods wanted, and rounded up.
    #[serde(default)]
    #[schemars(extend("x-default" = "what `min_available` says", "x-source" = "one of the two"))]
    pub max_unavailable: Option<IntOrPercent>,
    /// This many of them must be available.
    #[serde(default)]
    #[schemars(extend("x-default" = "what `max_unavailable` says", "x-source" = "one of the two"))]
    pub min_available: Option<IntOrPercent>,
    /// When pods that run but are not ready may be evicted (`unhealthyPodEvictionPolicy`).
    #[serde(default)]
    #[schemars(extend("x-source" = "kubernetes: pkg/registry/core/pod/storage/eviction.go"))]
    pub unhealthy_pods: UnhealthyPods,
}

/// Which member of etcd an API server talks to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawStackedEtcd {
    /// The one on its own host: while it is down, the API server serves no requests.
    #[default]
    Local,
    /// Any that answers, drawn for each connection.
    Any,
}

/// A program of a control plane that elects a leader by a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawLeased {
    /// The controllers of Kubernetes: nodes, ReplicaSets, StatefulSets and their like.
    KubeControllerManager,
    /// The scheduler: binds pods to nodes.
    KubeScheduler,
    /// Gardener's controllers of machines: replace those whose node fails.
    MachineControllerManager,
    /// The autoscaler: as many machines as pods need.
    ClusterAutoscaler,
}

impl RawLeased {
    pub(crate) const fn component(self) -> Component {
        match self {
            Self::KubeControllerManager => Component::ControllerManager,
            Self::KubeScheduler => Component::Scheduler,
            Self::MachineControllerManager => Component::MachineControllerManager,
            Self::ClusterAutoscaler => Component::Autoscaler,
        }
    }
}

/// A node whose lease was not renewed for longer is out of reach (`node-monitor-grace-period`, Kubernetes since 1.32).
const GRACE: Span = Span(Duration::from_secs(50));

const fn yes() -> bool {
    true
}

fn components() -> Vec<RawLeased> {
    vec![RawLeased::KubeControllerManager, RawLeased::KubeScheduler]
}

impl RawCluster {
    /// The nodes and the control plane of the cluster, in the form that those of a seed have.
    pub(crate) fn site(&self) -> RawSeed {
        RawSeed {
            name: self.name.clone(),
            zones: self.zones.clone(),
            allow_even_zones: true,
            control_plane: self.control_plane.clone(),
            pools: self.pools.clone(),
            nodes: self.nodes.clone(),
            multi_zonal: None,
            allocatable_shoots: 0,
            // A file says nothing of a cluster's addresses: they are never too few.
            node_cidr: "0.0.0.0/0".to_owned(),
            node_prefix: super::kube::node_prefix(),
            topology_aware_routing: false,
            api_to_etcd: match self.api_to_etcd {
                RawStackedEtcd::Local => ApiToEtcd::Local,
                RawStackedEtcd::Any => ApiToEtcd::Any,
            },
            api_servers: self.api_servers,
            system: RawSystem::default(),
            timers: RawTimers { node_monitor_grace: self.timers.node_monitor_grace.or(Some(GRACE)), ..self.timers.clone() },
            controllers: self.controllers.clone(),
            mark: self.mark.clone(),
        }
    }
}
