//! Ways to API servers: load balancers in front of them, and clients that find them without one (Resilient Control Plane Networking,
//! an enhancement of OpenShift).
//!
//! ```text
//!  client --original host--> load balancer --targets that its checks found healthy--> API server
//!     |                                                                                 |  ^
//!     |<--- Alt-Svc: the addresses in the `kubernetes` endpoints -----------------------'  |
//!     '--- later requests: straight to one of these addresses -----------------------------'
//! ```
//!
//! [`balancer`] and [`alt_svc`] hold rules: pure functions and small state machines that know the current time as an argument, and neither
//! hosts nor paths. [`way::Ways`] are the ways of all clients of one cluster, simulated: it implements the port [`ApiPath`] of
//! Kubernetes. No request is simulated. A client is connected, waits for a connection that has fallen silent, dials, or waits to dial again,
//! and whatever changes servers, paths or the balancer's view moves it on.

pub mod alt_svc;
pub mod balancer;
pub mod client;
pub mod ctx;
pub mod endpoints;
pub mod event;
pub mod record;
pub mod server;
pub mod target;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod way;
mod world;

use std::sync::Arc;

use ctx::AccessCtx;
use event::AccessEvent;
use way::{Seen, Ways};
use zonefall_kube::ctx::{ApiClient, ApiPath, Route};
use zonefall_scenario::ids::{BalancerId, FaultId, KubeClusterId, TiVec};
use zonefall_scenario::{Fault, Scenario};

/// The ways of all clusters that have some ([`zonefall_scenario::kube::KubeClusterSpec::access`]).
#[derive(Clone, Debug)]
pub struct Access {
    /// Shared with clones as long as neither changes them.
    clusters: TiVec<KubeClusterId, Option<Arc<Ways>>>,
}

impl Access {
    /// Ways that have been used for long, of servers and clients that are not there yet: see [`Access::follow`].
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let ways = |(id, cluster): (KubeClusterId, &zonefall_scenario::kube::KubeClusterSpec)| {
            cluster.access.map(|access| Arc::new(Ways::new(id, access, scenario, seed)))
        };
        Self { clusters: scenario.kube.clusters.iter_enumerated().map(ways).collect() }
    }

    /// Servers or clients may be others than before.
    pub fn follow(&mut self, cluster: KubeClusterId, seen: &Seen, ctx: &mut AccessCtx<'_>) {
        self.with(cluster, |ways| ways.follow(seen, ctx));
    }

    /// Hosts or paths are others than before, and so may be servers and clients.
    pub fn network_changed(&mut self, cluster: KubeClusterId, seen: &Seen, ctx: &mut AccessCtx<'_>) {
        self.with(cluster, |ways| ways.look(seen, ctx));
    }

    /// Something is due.
    pub fn handle(&mut self, cluster: KubeClusterId, event: AccessEvent, ctx: &mut AccessCtx<'_>) {
        self.with(cluster, |ways| ways.handle(event, ctx));
    }

    /// A load balancer is hit by a fault, or no longer (`begins`).
    pub fn fault(&mut self, balancer: BalancerId, id: FaultId, fault: &Fault, begins: bool, ctx: &mut AccessCtx<'_>) {
        let uses = |ways: &Option<Arc<Ways>>| ways.as_ref().is_some_and(|ways| ways.balancer_id() == balancer);
        if let Some(cluster) = self.clusters.iter().position(uses) {
            self.with(KubeClusterId::from(cluster), |ways| ways.fault(id, fault, begins, ctx));
        }
    }

    /// Clusters that have ways.
    pub fn clusters(&self) -> impl Iterator<Item = KubeClusterId> {
        self.clusters.iter_enumerated().filter(|(_, ways)| ways.is_some()).map(|(id, _)| id)
    }

    /// The ways of a cluster.
    pub fn ways(&self, cluster: KubeClusterId) -> Option<&Ways> {
        self.clusters[cluster].as_deref()
    }

    fn with(&mut self, cluster: KubeClusterId, act: impl FnOnce(&mut Ways)) {
        if let Some(ways) = &mut self.clusters[cluster] {
            act(Arc::make_mut(ways));
        }
    }
}

impl ApiPath for Access {
    fn route(&self, cluster: KubeClusterId, client: ApiClient) -> Route {
        self.clusters[cluster].as_ref().map_or(Route::Nearest, |ways| ways.route(client))
    }
}
