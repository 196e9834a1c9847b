//! Kubernetes and API access, wired to each other.
//!
//! ```text
//!  API servers, clients --ApiView--> API access --route of each client--> kubelets, elections
//!  hosts, paths, faults of balancers -----^
//! ```

use crate::access::Access;
use crate::access::cluster::ApiView;
use crate::access::ctx::AccessCtx;
use crate::access::server::ServerView;
use crate::ids::{ApiClientId, EtcdId, KubeClusterId};
use crate::kube::Kube;
use crate::kube::api::Running;
use crate::kube::ctx::KubeCtx;
use crate::sim::Simulation;
use crate::sim::ports::EtcdStorage;

impl Simulation {
    /// Has the Kubernetes clusters do something.
    pub(super) fn kube<T>(&mut self, act: impl FnOnce(&mut Kube, &mut KubeCtx<'_>) -> T) -> T {
        let Self { now, scenario, network, clusters, access, cloud, garden, fx, .. } = self;
        let storage = EtcdStorage(clusters);
        let mut ctx = KubeCtx {
            now: *now,
            scenario,
            net: network,
            storage: &storage,
            path: access,
            cloud,
            shared: garden,
            out: &mut fx.out,
            fx: &mut fx.kube,
        };
        let result = act(&mut self.kube, &mut ctx);
        fx.etcd.service_changed.append(&mut fx.kube.hinted);
        result
    }

    /// Has API access do something; clusters with a client whose route changes are notified.
    pub(super) fn access(&mut self, act: impl FnOnce(&mut Access, &mut AccessCtx<'_>)) {
        let mut routes_changed = Vec::new();
        let Self { now, stepping, scenario, network, fx, .. } = self;
        let mut ctx = AccessCtx {
            now: *now,
            stepping: *stepping,
            scenario,
            net: network,
            out: &mut fx.out,
            routes_changed: &mut routes_changed,
        };
        act(&mut self.access, &mut ctx);
        for cluster in routes_changed {
            self.kube(|kube, ctx| kube.routes_changed(cluster, ctx));
        }
    }

    /// Requests of a further client of an API that are not over.
    pub fn api_requests_in_flight(&self, cluster: KubeClusterId, client: ApiClientId) -> u64 {
        self.access.cluster(cluster).map_or(0, |access| access.in_flight(client))
    }

    /// The API servers of a cluster and their clients.
    fn api_view(&self, cluster: KubeClusterId) -> ApiView {
        let etcd = &self.clusters[self.scenario.kube.clusters[cluster].etcd];
        let etcd_term = etcd.leader().and_then(|leader| etcd.server(leader)).map(|server| server.raft.term);
        let cluster = self.kube.cluster(cluster);
        let view = |server: Running<'_>| ServerView {
            key: server.key,
            host: server.host,
            listens: server.listens,
            answers: server.answers,
            readyz: server.readyz,
            stops: server.stops,
        };
        let (servers, clients) = (cluster.api().servers().map(view).collect(), cluster.api_clients().collect());
        ApiView { hosts: cluster.hosts().collect(), servers, clients, etcd_term }
    }

    /// API servers or their clients may have changed.
    pub(super) fn servers_changed(&mut self) {
        for cluster in std::mem::take(&mut self.fx.kube.servers_changed) {
            let view = self.api_view(cluster);
            self.access(|access, ctx| access.servers_changed(cluster, &view, ctx));
        }
    }

    /// The leader of an etcd cluster may have changed.
    pub(super) fn etcd_leader_changed(&mut self, etcd: EtcdId) {
        let Some(cluster) = self.access.clusters().find(|cluster| self.scenario.kube.clusters[*cluster].etcd == etcd) else {
            return;
        };
        let view = self.api_view(cluster);
        self.access(|access, ctx| access.servers_changed(cluster, &view, ctx));
    }

    /// Hosts or paths have changed: clients may reach other API servers.
    pub(super) fn paths_changed(&mut self) {
        for cluster in self.access.clusters().collect::<Vec<_>>() {
            let view = self.api_view(cluster);
            self.access(|access, ctx| access.network_changed(cluster, &view, ctx));
        }
    }
}
