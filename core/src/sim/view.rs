//! The world at one moment, as a picture shows it: plain data, made on demand, never fed back.

use serde::{Deserialize, Serialize};

use crate::access::cluster::view::AccessView;
use crate::etcd::view::EtcdClusterView;
use crate::ids::{EtcdId, KubeClusterId, MachineDeploymentId, NodeId, TiVec};
use crate::kernel::time::{Duration, Time};
use crate::kube::view::KubeClusterView;
use crate::network::Network;
use crate::record::ClientRecord;
use crate::scenario::ActiveFault;
use crate::sim::Simulation;

/// The world now. Lists are in the scenario's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationView {
    /// Time of the view.
    pub at: Time,
    /// Events handled so far.
    pub events: u64,
    /// Whether each node has power.
    pub powered: TiVec<NodeId, bool>,
    /// Each etcd cluster.
    pub etcd: TiVec<EtcdId, EtcdClusterView>,
    /// The objects of each Kubernetes cluster.
    pub clusters: TiVec<KubeClusterId, KubeClusterView>,
    /// API access of each cluster that has some.
    pub access: Vec<AccessView>,
    /// What is broken, in the order it began.
    pub faults: Vec<ActiveFault>,
    /// Bytes on the wire between every two zones since the start, row-major: `from * zones + to`.
    pub zone_bytes: Vec<u64>,
}

impl Simulation {
    /// How long machines have been there until now, all together: nanoseconds by machine deployment of a cluster.
    pub fn machine_time(&self) -> impl Iterator<Item = (KubeClusterId, MachineDeploymentId, u128)> {
        self.cloud.machine_time(self.now)
    }

    /// Requests of clients of etcd that have been under way for longer than that, as if they ended now without an answer.
    pub fn overdue(&self, deadline: Duration) -> impl Iterator<Item = ClientRecord> {
        self.clients.iter().flat_map(move |client| client.overdue(self.now, deadline))
    }

    /// The world as [`Simulation::run_until`] left it.
    pub fn view(&self) -> SimulationView {
        let ids = self.clusters.keys();
        let zones = self.scenario.zones.len();
        let mut zone_bytes = vec![0; zones * zones];
        for link in self.links() {
            let (from, to) = link.zones;
            zone_bytes[usize::from(from) * zones + usize::from(to)] += link.wire_bytes;
        }
        SimulationView {
            at: self.now,
            events: self.events,
            powered: self.scenario.nodes.keys().map(|node| self.network.is_powered(Network::host_of(node))).collect(),
            etcd: ids.map(|id| self.clusters[id].view(self.members(id), &self.network)).collect(),
            clusters: self.kube.view(&self.scenario, &self.network),
            access: self.access.views(&self.network, self.now).collect(),
            faults: self.faults.active.clone(),
            zone_bytes,
        }
    }

    /// From now on every heartbeat is a message, as under [`Stepping::EveryEvent`](crate::sim::Stepping::EveryEvent): what happens is the same, and all of it can be watched.
    pub fn message_by_message(&mut self) {
        for id in self.clusters.keys() {
            let (cluster, mut ctx) = self.etcd_cluster(id);
            cluster.disable_quiescence(&mut ctx);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::etcd::raft::message::Kind;
    use crate::kernel::time::Duration;
    use crate::scenario::{Scenario, bundled};
    use crate::sim::Options;

    #[test]
    fn a_group_at_rest_and_one_watched_message_by_message_look_the_same() {
        let scenario = bundled().iter().find(|scenario| scenario.name == "isolated-leader").unwrap();
        let mut scenario = Scenario::from_json(scenario.json).unwrap();
        scenario.clients.clear();
        let scenario = Arc::new(scenario);
        let mut fast = Simulation::new(Arc::clone(&scenario), 1, Options::default());
        let mut seen = Vec::new();
        for s in 1..=90 {
            fast.run_until(Time::ZERO + Duration::from_millis(1_003 * s), &mut |_, _| {});
            let mut slow = fast.clone();
            slow.message_by_message();
            let (fast, slow) = (fast.view(), slow.view());
            assert_eq!(fast.etcd, slow.etcd);
            let messages = slow.etcd[EtcdId(0)].messages.iter();
            assert!(messages.clone().all(|m| m.sent <= slow.at && m.arrives.is_none_or(|at| at >= slow.at)), "{slow:?}");
            seen.extend(messages.map(|m| m.kind));
        }
        // A minute later, watched all the while, every beat is there.
        let mut slow = fast.clone();
        slow.message_by_message();
        let end = slow.now() + Duration::from_secs(60);
        let before = slow.events();
        slow.run_until(end, &mut |_, _| {});
        fast.run_until(end, &mut |_, _| {});
        let (fast, slow) = (fast.view(), slow.view());
        assert!(slow.events - before > 1_000);
        assert_eq!((fast.etcd, fast.zone_bytes), (slow.etcd, slow.zone_bytes));
        assert!(seen.contains(&Kind::HeartbeatResponse) || seen.contains(&Kind::Heartbeat), "{seen:?}");
    }
}
