//! Kubernetes: the controllers that keep pods running, each with its own timers and its own view of the world.
//!
//! ```text
//!  etcd, hosts, paths --> API servers --> leases --> gate      (control: api, election)
//!                             |                       |
//!                             v                       v only who leads and can write acts
//!  faults --> kubelets: leases, processes <--.    controllers
//!                             |              |        |
//!                             v              |        v
//!             [store: nodes, pods] --changes-'----> those who watch: lifecycle, taint manager, ReplicaSets, scheduler
//!                             ^                       |
//!                             '-----------------------'
//! ```
//!
//! A [`cluster`] is one Kubernetes API with its store of objects and the controllers that act through it. Whoever changes an object
//! leaves a [`store::Change`]; those who watch hear of it as much later as the API takes to write ([`ctx::ClusterCtx::latency`]), and change
//! what they must. [`rule`] holds the decisions themselves, as functions of what a controller sees: no time, no events, no store.
//!
//! The programs of a cluster run on the hosts of its control plane, or are pods of another cluster, which tells of them
//! ([`ctx::ProcessStatus`], by [`spec::Role`]). No request is simulated: [`api`] asks the state of etcd and of the paths what a request
//! made now would meet, whenever one of them has changed.
//!
//! # Controllers
//!
//! Every controller is part of a [`spec::Component`], of which one process leads ([`election`]). [`cluster::KubeCluster::gate`] is all that
//! anybody asks: how long a write of that component takes now, or `None`: it does nothing. How a controller is written and registered:
//! [`controller`].

pub mod api;
pub mod claim;
pub mod cluster;
pub mod control;
pub mod controller;
pub mod ctx;
pub mod describe;
pub mod election;
pub mod event;
pub mod kubelet;
pub mod machine;
pub mod node;
pub mod reasons;
pub mod record;
pub mod revision;
pub mod rule;
pub mod services;
pub mod share;
pub mod store;
pub mod view;

pub use zonefall_scenario::kube as spec;
pub use zonefall_scenario::kube::name;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::KubeCluster;
use control::ApiServerHold;
use controller::{Controller, Factory};
use ctx::{ClusterCtx, KubeCtx, ProcessStatus};
use event::KubeEvent;
use services::Services;
use spec::{Operation, Role, Workload};
use view::KubeClusterView;
use zonefall_kernel::periodic::Stepping;
use zonefall_network::{HostId, Network};
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::{EtcdId, KubeClusterId, TiVec, WorkloadId, ZoneId};

/// All clusters.
#[derive(Clone, Debug)]
pub struct Kube {
    seed: u64,
    stepping: Stepping,
    /// Shared with clones as long as neither changes them.
    clusters: TiVec<KubeClusterId, Arc<KubeCluster>>,
    /// Whose objects are in which etcd cluster.
    in_etcd: BTreeMap<EtcdId, Vec<KubeClusterId>>,
    /// Where the members of an etcd cluster are pods, or may be.
    hosts: BTreeMap<EtcdId, Vec<(KubeClusterId, WorkloadId)>>,
    services: Services,
}

impl Kube {
    /// Every cluster as it has been running for long, with the controllers of a table: its pods placed and ready, where there is
    /// capacity. A cluster comes after those whose pods serve it.
    pub fn new(table: &[Factory], seed: u64, stepping: Stepping, kube_ctx: &mut KubeCtx<'_>) -> Self {
        let specs = &kube_ctx.scenario.kube.clusters;
        let mut in_etcd: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut hosts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, cluster) in specs.iter_enumerated() {
            in_etcd.entry(cluster.etcd).or_default().push(id);
            for (workload, spec) in cluster.workloads.iter_enumerated() {
                if let Role::Etcd(etcd) = spec.role {
                    hosts.entry(etcd).or_default().push((id, workload));
                }
            }
        }
        let mut kube = Self { seed, stepping, clusters: TiVec::new(), in_etcd, hosts, services: Services::default() };
        let mut process_statuses = Vec::new();
        for id in specs.keys() {
            let mut ctx = ctx((seed, stepping), id, kube_ctx, &mut kube.services, &mut process_statuses);
            kube.clusters.push(Arc::new(KubeCluster::new(table, &mut ctx)));
        }
        for status in std::mem::take(&mut process_statuses) {
            let mut ctx = ctx((seed, stepping), status.cluster, kube_ctx, &mut kube.services, &mut process_statuses);
            Arc::make_mut(&mut kube.clusters[status.cluster]).is_served_by(&status, &mut ctx);
        }
        for id in specs.keys() {
            kube.with(id, kube_ctx, KubeCluster::start);
        }
        kube
    }

    /// Something is due in a cluster.
    pub fn handle(&mut self, cluster: KubeClusterId, event: KubeEvent, kube_ctx: &mut KubeCtx<'_>) {
        self.with(cluster, kube_ctx, |cluster, ctx| cluster.handle(event, ctx));
    }

    /// An operator asks for something.
    pub fn operate(&mut self, operation: &Operation, kube_ctx: &mut KubeCtx<'_>) {
        self.with(operation.cluster, kube_ctx, |cluster, ctx| cluster.operate(operation.task, ctx));
    }

    /// A cluster loses a zone ([`KubeCluster::lose_zone`]).
    pub fn lose_zone(
        &mut self,
        cluster: KubeClusterId,
        zone: ZoneId,
        moves: Vec<(WorkloadId, Workload)>,
        kube_ctx: &mut KubeCtx<'_>,
    ) {
        self.with(cluster, kube_ctx, |cluster, ctx| cluster.lose_zone(zone, moves, ctx));
    }

    /// A cluster.
    pub fn cluster(&self, id: KubeClusterId) -> &KubeCluster {
        &self.clusters[id]
    }

    /// All clusters, in the scenario's order.
    pub fn clusters(&self) -> impl Iterator<Item = &KubeCluster> {
        self.clusters.iter().map(|cluster| &**cluster)
    }

    /// The name of the node that stands for a host.
    pub fn node_name(&self, host: HostId, scenario: &Scenario) -> Option<String> {
        let mut nodes = self
            .clusters
            .iter()
            .zip(&scenario.kube.clusters)
            .flat_map(|(cluster, spec)| cluster.store().nodes().map(move |(_, node)| (node.host, node.name, spec)));
        nodes.find(|(on, ..)| *on == host).map(|(_, name, spec)| describe::node_name(name, spec, scenario))
    }

    /// The objects of all clusters, for a map.
    pub fn view(&self, scenario: &Scenario, net: &Network) -> TiVec<KubeClusterId, KubeClusterView> {
        self.clusters.iter().zip(&scenario.kube.clusters).map(|(cluster, spec)| cluster.view(spec, net)).collect()
    }

    /// Clients of a cluster's API may have another route ([`ctx::ApiPath`]).
    pub fn routes_changed(&mut self, cluster: KubeClusterId, kube_ctx: &mut KubeCtx<'_>) {
        self.with(cluster, kube_ctx, KubeCluster::routes_changed);
    }

    /// A fault of the API server on a control-plane host (its place) begins or ends.
    pub fn hold_api_server(&mut self, cluster: KubeClusterId, host: u32, hold: ApiServerHold, kube_ctx: &mut KubeCtx<'_>) {
        self.with(cluster, kube_ctx, |cluster, ctx| cluster.hold_api_server(host, hold, ctx));
    }

    /// Delivers a message to a controller of a cluster, whichever replica leads.
    pub fn send_message<C: Controller>(&mut self, cluster: KubeClusterId, message: u32, kube_ctx: &mut KubeCtx<'_>) {
        self.with(cluster, kube_ctx, |cluster, ctx| cluster.send_message::<C>(message, ctx));
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, kube_ctx: &mut KubeCtx<'_>) {
        for cluster in self.clusters.keys() {
            self.with(cluster, kube_ctx, KubeCluster::network_changed);
        }
    }

    /// Does something to a cluster.
    #[cfg(feature = "testing")]
    pub fn act(
        &mut self,
        cluster: KubeClusterId,
        action: impl FnOnce(&mut KubeCluster, &mut ClusterCtx<'_>),
        kube_ctx: &mut KubeCtx<'_>,
    ) {
        self.with(cluster, kube_ctx, |cluster, ctx| cluster.act(action, ctx));
    }

    /// A cluster may offer other services than before, or its members' processes may have started or ended.
    pub fn services_changed(&mut self, etcd: EtcdId, kube_ctx: &mut KubeCtx<'_>) {
        for (host, set) in self.hosts.get(&etcd).cloned().unwrap_or_default() {
            self.with(host, kube_ctx, |cluster, ctx| cluster.members_changed(etcd, set, ctx));
        }
        for cluster in self.in_etcd.get(&etcd).cloned().unwrap_or_default() {
            self.with(cluster, kube_ctx, KubeCluster::services_changed);
        }
    }

    /// Something has become of a process of a cluster.
    #[cfg(feature = "testing")]
    pub fn process_changed(&mut self, status: &ProcessStatus, kube_ctx: &mut KubeCtx<'_>) {
        self.with(status.cluster, kube_ctx, |cluster, ctx| cluster.process_changed(status, ctx));
    }

    /// Does something in a cluster, and in those that are notified of it.
    fn with(
        &mut self,
        cluster: KubeClusterId,
        kube_ctx: &mut KubeCtx<'_>,
        act: impl FnOnce(&mut KubeCluster, &mut ClusterCtx<'_>),
    ) {
        let mut process_statuses = Vec::new();
        let (run, services) = ((self.seed, self.stepping), &mut self.services);
        act(Arc::make_mut(&mut self.clusters[cluster]), &mut ctx(run, cluster, kube_ctx, services, &mut process_statuses));
        while !process_statuses.is_empty() {
            for status in std::mem::take(&mut process_statuses) {
                let mut ctx = ctx(run, status.cluster, kube_ctx, services, &mut process_statuses);
                Arc::make_mut(&mut self.clusters[status.cluster]).process_changed(&status, &mut ctx);
            }
        }
    }
}

fn ctx<'a>(
    (seed, stepping): (u64, Stepping),
    cluster: KubeClusterId,
    kube_ctx: &'a mut KubeCtx<'_>,
    services: &'a mut Services,
    process_statuses: &'a mut Vec<ProcessStatus>,
) -> ClusterCtx<'a> {
    let spec = &kube_ctx.scenario.kube.clusters[cluster];
    let (scenario, latency) = (kube_ctx.scenario, spec.timers.api_overhead);
    ClusterCtx {
        now: kube_ctx.now,
        cluster,
        spec,
        scenario,
        latency,
        seed,
        stepping,
        net: kube_ctx.net,
        storage: kube_ctx.storage,
        path: kube_ctx.path,
        cloud: kube_ctx.cloud,
        shared: kube_ctx.shared,
        services,
        out: kube_ctx.out,
        fx: kube_ctx.fx,
        process_statuses,
        controller: 0,
        notifications: Vec::new(),
    }
}
