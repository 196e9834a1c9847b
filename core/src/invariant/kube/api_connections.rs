//! Connections to API servers (RFC 9293, section 3.5.3: a connection that its other end does not know is reset; `k8s.io/apimachinery/pkg/util/net/
//! http.go`: one without frames is closed):
//!
//! - An open connection leads to a server that runs, and ends when the server does.
//! - A silent connection is closed 45 s after its last frame.
//! - A client that has stopped, or whose host has no power, does nothing until it starts again; then it dials first.
//! - A node of a load balancer finds a target healthy and unhealthy by turns, and so it reaches its connection limit and accepts again.

use std::collections::{BTreeMap, BTreeSet};

use super::View;
use crate::access::balancer::health::Health;
use crate::access::origin::node;
use crate::access::record::{AccessRecord, ConnectionState};
use crate::ids::{BalancerId, NodeId};
use crate::kernel::time::{Duration, Time};
use crate::kube::ctx::ApiClient;
use crate::kube::record::{KubeRecord, Replica, ServerFact};
use crate::observe::access::name;

/// A connection is silent for so long at most (`ReadIdleTimeout` and `PingTimeout`).
const LONGEST_SILENCE: Duration = Duration::from_secs(45);

/// Servers, clients and the balancer of one cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct ApiConnections {
    /// Keys of the servers that run.
    running: BTreeSet<u32>,
    clients: BTreeMap<ApiClient, ConnectionState>,
    silent: BTreeMap<ApiClient, Time>,
    /// Health by balancer, its node and target; healthy at the start.
    health: BTreeMap<(BalancerId, u16, u32), Health>,
    /// Targets that came or went, by balancer and target: whether they are targets.
    registered: BTreeMap<(BalancerId, u32), bool>,
    /// Nodes of balancers that have reached their connection limit.
    at_limit: BTreeSet<(BalancerId, u16)>,
    /// When the last server stopped whose clients are still to be checked.
    gone: Option<Time>,
}

impl ApiConnections {
    pub(super) const NAME: &'static str = "connections end where a server runs";

    /// Looks at a fact of Kubernetes.
    pub(super) fn kube(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        if view.spec().access.is_none() {
            return Ok(());
        }
        let left = self.time_passes(view);
        if let KubeRecord::ApiServer(Replica::Host(node), fact) = *fact
            && let Some(key) = view.spec().control_plane.iter().position(|host| *host == node)
        {
            match fact {
                ServerFact::Runs => drop(self.running.insert(key as u32)),
                ServerFact::Gone => {
                    self.running.remove(&(key as u32));
                    self.gone = Some(view.at);
                }
                ServerFact::Ready(_) | ServerFact::Stops | ServerFact::Closes | ServerFact::Etcd(_) | ServerFact::Stalled(_) => {}
            }
        }
        left
    }

    /// Looks at a fact of API access. `dark`: nodes without power.
    pub(super) fn access(&mut self, fact: AccessRecord, dark: &BTreeSet<NodeId>, view: &View<'_>) -> Result<(), String> {
        let left = self.time_passes(view);
        let found = match fact {
            AccessRecord::Target { balancer, node, target, health } => self.target((balancer, node, target), health),
            AccessRecord::Registered { balancer, target, is_target } => self.registered((balancer, target), is_target),
            AccessRecord::Client { client, state } => self.client(client, state, dark, view),
            AccessRecord::ConnectionLimit { balancer, node, is_reached } => self.limit((balancer, node), is_reached),
            AccessRecord::Detail { .. } => Ok(()),
            AccessRecord::Request { client, .. } | AccessRecord::Done(client) => {
                let runs = self.clients.contains_key(&client);
                if runs { Ok(()) } else { Err(format!("{} has a request, but does not run", of(client, view))) }
            }
            AccessRecord::ClientStopped(client) => {
                self.silent.remove(&client);
                let known = self.clients.remove(&client);
                known.map(drop).ok_or_else(|| format!("{} stops, but does not run", of(client, view)))
            }
        };
        left.and(found)
    }

    /// A node reaches its connection limit and accepts connections again by turns.
    fn limit(&mut self, (balancer, node): (BalancerId, u16), is_reached: bool) -> Result<(), String> {
        let key = (balancer, node);
        let is_change = if is_reached { self.at_limit.insert(key) } else { self.at_limit.remove(&key) };
        let what = if is_reached { "reaches its connection limit" } else { "accepts connections again" };
        if is_change { Ok(()) } else { Err(format!("node {node} of load balancer {} {what} twice", balancer.0)) }
    }

    /// Targets are new at no node that has found them healthy or not, and gone at all of them.
    fn registered(&mut self, (balancer, target): (BalancerId, u32), is_target: bool) -> Result<(), String> {
        self.health.retain(|(of, _, key), _| (*of, *key) != (balancer, target));
        let was = self.registered.insert((balancer, target), is_target);
        if was == Some(is_target) {
            return Err(format!("target {target} of load balancer {} comes or goes twice", balancer.0));
        }
        Ok(())
    }

    fn target(&mut self, key: (BalancerId, u16, u32), health: Health) -> Result<(), String> {
        let (BalancerId(balancer), node, target) = key;
        let is_target = self.registered.get(&(BalancerId(balancer), target));
        if is_target == Some(&false) {
            return Err(format!("node {node} of load balancer {balancer} checks host {target}, which is no target"));
        }
        let new = if is_target == Some(&true) { Health::Initial } else { Health::Healthy };
        let before = self.health.insert(key, health).unwrap_or(new);
        if health == Health::Initial || before == health {
            return Err(format!(
                "node {node} of load balancer {balancer} finds target {target} {health:?}, which was {before:?}"
            ));
        }
        Ok(())
    }

    fn client(
        &mut self,
        client: ApiClient,
        connection: ConnectionState,
        dark: &BTreeSet<NodeId>,
        view: &View<'_>,
    ) -> Result<(), String> {
        let before = self.clients.insert(client, connection);
        let silent_since = self.silent.remove(&client);
        if let ConnectionState::Silent { .. } = connection {
            self.silent.insert(client, view.at);
        }
        if node(client, view.spec()).is_some_and(|host| dark.contains(&host)) {
            return Err(format!("{} has no power: {connection:?}", of(client, view)));
        }
        if silent_since.is_some_and(|since| view.at > since + LONGEST_SILENCE) {
            return Err(format!("{} has had a silent connection for too long", of(client, view)));
        }
        match (before, connection) {
            (
                _,
                ConnectionState::Open { server, .. }
                | ConnectionState::Unanswered { server, .. }
                | ConnectionState::Late { server, .. },
            ) if !self.running.contains(&server) => {
                Err(format!("{} is connected to server {server}, which does not run", of(client, view)))
            }
            (None | Some(ConnectionState::None), ConnectionState::Silent { server, .. }) => {
                Err(format!("{} has a silent connection to server {server} that it never opened", of(client, view)))
            }
            (Some(before), now) if before == now => Err(format!("{} has {now:?} as before", of(client, view))),
            _ => Ok(()),
        }
    }

    /// Connections that must have ended by now: to servers that have stopped, and silent ones.
    fn time_passes(&mut self, view: &View<'_>) -> Result<(), String> {
        let is_late = |(_, since): &(&ApiClient, &Time)| view.at > **since + LONGEST_SILENCE;
        if let Some(client) = self.silent.iter().find(is_late).map(|(client, _)| *client) {
            self.silent.remove(&client);
            return Err(format!("{} has had a silent connection for too long", of(client, view)));
        }
        if self.gone.take_if(|gone| *gone < view.at).is_none() {
            return Ok(());
        }
        let carried = |connection: &ConnectionState| match *connection {
            ConnectionState::Open { server, .. }
            | ConnectionState::Unanswered { server, .. }
            | ConnectionState::Late { server, .. } => Some(server),
            ConnectionState::None | ConnectionState::Silent { .. } => None,
        };
        let lost = |connection: &ConnectionState| carried(connection).is_some_and(|server| !self.running.contains(&server));
        match self.clients.iter().find(|(_, connection)| lost(connection)) {
            Some((client, _)) => Err(format!("{} stays connected to a server that has stopped", of(*client, view))),
            None => Ok(()),
        }
    }
}

fn of(client: ApiClient, view: &View<'_>) -> String {
    name(client, view.spec(), view.scenario)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::ids::{KubeClusterId, NodeKey};
    use crate::invariant::{Checker, Invariants};
    use crate::record::Record;
    use crate::scenario::Scenario;

    const ID: KubeClusterId = KubeClusterId(0);
    /// The kubelet of the second host of the control plane.
    const KUBELET: ApiClient = ApiClient::Kubelet(NodeKey(1));
    const OPEN: ConnectionState = ConnectionState::Open { server: 0, through: true };
    const ERRORS: ConnectionState = ConnectionState::Unanswered { server: 0, through: true };
    const SILENT: ConnectionState = ConnectionState::Silent { server: 0, through: true };

    fn scenario() -> Scenario {
        let file = json!({
            "name": "access", "duration": "20m", "prices": {"books": []},
            "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
            "load_balancers": [{"name": "lb", "profile": "haproxy"}],
            "clusters": [{"name": "c", "zones": ["a", "b", "c"], "api_access": {"load_balancer": "lb"}, "pools": [{"name": "p", "minimum": 3, "maximum": 3}]}],
        });
        Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn server(scenario: &Scenario, key: usize, fact: ServerFact) -> Record {
        Record::Kube(ID, KubeRecord::ApiServer(Replica::Host(scenario.kube.clusters[ID].control_plane[key]), fact))
    }

    fn has(state: ConnectionState) -> Record {
        Record::Access(ID, AccessRecord::Client { client: KUBELET, state })
    }

    fn finds(health: Health) -> Record {
        Record::Access(ID, AccessRecord::Target { balancer: BalancerId(0), node: 1, target: 2, health })
    }

    /// Whether records that come after so many seconds, the servers 0 and 1 running from the start, break the property.
    fn is_broken(scenario: &Scenario, records: &[(u64, Record)]) -> bool {
        let mut all = Invariants::new(&Arc::new(scenario.clone()));
        for key in [0, 1] {
            all.record(Time::ZERO, &server(scenario, key, ServerFact::Runs));
        }
        for (s, record) in records {
            all.record(Time::ZERO + Duration::from_secs(*s), record);
        }
        let names: Vec<_> = all.violations().iter().map(|violation| violation.property).collect();
        assert!(names.iter().all(|name| *name == ApiConnections::NAME), "{names:?}");
        !names.is_empty()
    }

    /// What happens, the records that tell of it, and whether it breaks the property.
    type Row = (&'static str, Vec<(u64, Record)>, bool);

    #[test]
    fn planted_violations_are_found() {
        let scenario = scenario();
        let (runs, gone) = (server(&scenario, 0, ServerFact::Runs), server(&scenario, 0, ServerFact::Gone));
        let stops = Record::Access(ID, AccessRecord::ClientStopped(KUBELET));
        let node = scenario.kube.clusters[ID].nodes[NodeKey(1)].node;
        let power = |up| Record::NodePower { node, up };
        let other = ConnectionState::Open { server: 1, through: false };
        let elsewhere = ConnectionState::Open { server: 2, through: false };
        let rows: [Row; 20] = [
            (
                "goes elsewhere with its server",
                vec![(1, has(OPEN)), (2, gone.clone()), (2, has(other)), (3, finds(Health::Unhealthy))],
                false,
            ),
            ("stays without its server", vec![(1, has(OPEN)), (2, gone.clone()), (3, finds(Health::Unhealthy))], true),
            ("gets errors of nobody", vec![(1, has(ERRORS)), (2, gone.clone()), (3, runs.clone())], true),
            (
                "a silent one may outlast its server",
                vec![(1, has(OPEN)), (2, has(SILENT)), (3, gone.clone()), (40, has(other))],
                false,
            ),
            ("opens to one that is gone", vec![(1, gone.clone()), (2, has(OPEN))], true),
            ("opens to one that runs again", vec![(1, gone.clone()), (2, runs), (3, has(OPEN))], false),
            ("opens to one that never ran", vec![(1, has(elsewhere))], true),
            ("silent for 45 s", vec![(1, has(OPEN)), (2, has(SILENT)), (47, has(ConnectionState::None))], false),
            ("silent for longer", vec![(1, has(OPEN)), (2, has(SILENT)), (48, has(ConnectionState::None))], true),
            ("silent for ever", vec![(1, has(OPEN)), (2, has(SILENT)), (48, finds(Health::Unhealthy))], true),
            ("silent from the start", vec![(1, has(ConnectionState::None)), (2, has(SILENT))], true),
            ("as before", vec![(1, has(OPEN)), (2, has(OPEN))], true),
            ("starts again", vec![(1, has(OPEN)), (2, stops.clone()), (3, has(ConnectionState::None)), (4, has(OPEN))], false),
            ("stops twice", vec![(1, has(OPEN)), (2, stops.clone()), (3, stops.clone())], true),
            ("goes on though it has stopped", vec![(1, has(OPEN)), (2, stops.clone()), (3, has(SILENT))], true),
            ("works without power", vec![(1, has(OPEN)), (2, power(false)), (2, has(ConnectionState::None))], true),
            ("stops without power", vec![(1, has(OPEN)), (2, power(false)), (2, stops), (9, power(true)), (9, has(OPEN))], false),
            ("healthy and unhealthy by turns", vec![(1, finds(Health::Unhealthy)), (2, finds(Health::Healthy))], false),
            ("healthy again and again", vec![(1, finds(Health::Healthy))], true),
            ("never new", vec![(1, finds(Health::Initial))], true),
        ];
        for (what, records, expected) in rows {
            assert_eq!(is_broken(&scenario, &records), expected, "{what}");
        }
    }
}
