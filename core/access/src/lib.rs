//! API access: load balancers in front of API servers, and clients that reach API servers without one (Resilient Control Plane
//! Networking, an enhancement of OpenShift).
//!
//! ```text
//!  client --original host--> load balancer --targets that its checks found healthy--> API server
//!     |                                                                                 |  ^
//!     |<--- Alt-Svc: the addresses in the `kubernetes` endpoints -----------------------'  |
//!     '--- later requests: straight to one of these addresses -----------------------------'
//! ```
//!
//! [`balancer`] and [`alt_svc`] hold rules: pure functions and small state machines that know the current time as an argument, and neither
//! hosts nor paths. [`cluster::ClusterAccess`] simulates the load balancer and all clients of one cluster; [`Access`] implements the port
//! [`ApiPath`] of Kubernetes. Requests of kubelets and components are not simulated: such a client has an open connection, or one that has fallen silent, or dials, or waits to
//! dial again. It moves on when servers, paths or the health of the balancer's targets change, and when a timer fires.

mod address_book;
pub mod alt_svc;
pub mod balancer;
pub mod client;
pub mod cluster;
mod connection;
pub mod ctx;
mod dial;
pub mod endpoints;
pub mod event;
mod limit;
mod new_connections;
pub mod origin;
mod queue;
pub mod record;
mod reply;
mod requests;
pub mod server;
pub mod target;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::view::AccessView;
use cluster::{ApiView, ClusterAccess};
use ctx::AccessCtx;
use event::AccessEvent;
use zonefall_kernel::time::Time;
use zonefall_kube::ctx::{ApiClient, ApiPath, NewClient, NewConnection, Route};
use zonefall_network::Network;
use zonefall_scenario::ids::{BalancerId, FaultId, KubeClusterId};
use zonefall_scenario::{Fault, Scenario};

/// API access of all clusters that have some ([`zonefall_scenario::kube::KubeClusterSpec::access`]).
#[derive(Clone, Debug)]
pub struct Access {
    /// Shared with clones as long as neither changes them.
    clusters: BTreeMap<KubeClusterId, Arc<ClusterAccess>>,
}

impl Access {
    /// API access without servers and clients: [`Access::servers_changed`] adds them.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let access = |(id, cluster): (KubeClusterId, &zonefall_scenario::kube::KubeClusterSpec)| {
            Some((id, Arc::new(ClusterAccess::new(id, cluster.access?, scenario, seed))))
        };
        Self { clusters: scenario.kube.clusters.iter_enumerated().filter_map(access).collect() }
    }

    /// Servers or clients may have changed.
    pub fn servers_changed(&mut self, cluster: KubeClusterId, view: &ApiView, ctx: &mut AccessCtx<'_>) {
        self.with(cluster, |access| access.servers_changed(view, ctx));
    }

    /// Hosts or paths have changed, and so may servers and clients.
    pub fn network_changed(&mut self, cluster: KubeClusterId, view: &ApiView, ctx: &mut AccessCtx<'_>) {
        self.with(cluster, |access| access.update(view, ctx));
    }

    /// Something is due.
    pub fn handle(&mut self, cluster: KubeClusterId, event: AccessEvent, ctx: &mut AccessCtx<'_>) {
        self.with(cluster, |access| access.handle(event, ctx));
    }

    /// A load balancer is hit by a fault, or no longer (`begins`).
    pub fn fault(&mut self, balancer: BalancerId, id: FaultId, fault: &Fault, begins: bool, ctx: &mut AccessCtx<'_>) {
        let has = |access: &ClusterAccess| access.balancers().iter().any(|own| own.id() == balancer);
        if let Some(access) = self.clusters.values_mut().find(|access| has(access)) {
            Arc::make_mut(access).fault(balancer, id, fault, begins, ctx);
        }
    }

    /// Clusters with API access.
    pub fn clusters(&self) -> impl Iterator<Item = KubeClusterId> {
        self.clusters.keys().copied()
    }

    /// API access of a cluster.
    pub fn cluster(&self, cluster: KubeClusterId) -> Option<&ClusterAccess> {
        self.clusters.get(&cluster).map(Arc::as_ref)
    }

    /// API access of each cluster now.
    pub fn views(&self, net: &Network, now: Time) -> impl Iterator<Item = AccessView> {
        self.clusters.values().map(move |access| access.view(net, now))
    }

    fn with(&mut self, cluster: KubeClusterId, act: impl FnOnce(&mut ClusterAccess)) {
        if let Some(access) = self.clusters.get_mut(&cluster) {
            act(Arc::make_mut(access));
        }
    }
}

impl ApiPath for Access {
    fn route(&self, cluster: KubeClusterId, client: ApiClient) -> Route {
        self.clusters.get(&cluster).map_or(Route::Nearest, |access| access.route(client))
    }

    fn new_connections(&self, cluster: KubeClusterId, client: &NewClient<'_>) -> Option<Vec<NewConnection>> {
        Some(self.clusters.get(&cluster)?.new_connections(client))
    }
}
