//! API access of a cluster without the rest of the simulation: three control-plane hosts and three workers in three zones. A test sets the
//! state of the servers.

use std::collections::BTreeMap;
use std::collections::btree_map::OccupiedEntry;

use crate::client::Client;
use crate::cluster::{ApiView, ClusterAccess};
use crate::ctx::AccessCtx;
use crate::event::AccessEvent;
use crate::record::AccessRecord;
use crate::server::ServerView;
use zonefall_kernel::outbox::Outbox;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_network::Network;
use zonefall_scenario::ids::{FaultId, KubeClusterId};
use zonefall_scenario::{Fault, Hit, Scenario};

/// The cluster.
pub(crate) const ID: KubeClusterId = KubeClusterId(0);

/// A moment.
pub(crate) const fn at(s: u64) -> Time {
    Time::from_nanos(s * 1_000_000_000)
}

/// A scenario with a load balancer of HAProxy, but for these fields, and with these alternatives (JSON).
pub(crate) fn scenario(balancer: &str, alternatives: &str) -> Scenario {
    scenario_with(balancer, alternatives, "[]")
}

/// The scenario, with these further clients.
pub(crate) fn scenario_with(balancer: &str, alternatives: &str, clients: &str) -> Scenario {
    scenario_of(balancer, "", alternatives, clients)
}

/// The scenario with a second load balancer `other`, whose fields follow its profile, and these fields of `api_access`.
pub(crate) fn scenario_with_another(other: &str, access: &str, clients: &str) -> Scenario {
    scenario_of(&format!(r#"}}, {{"name": "other", "profile": "haproxy"{other}"#), access, "null", clients)
}

fn scenario_of(balancer: &str, access: &str, alternatives: &str, clients: &str) -> Scenario {
    let file = format!(
        r#"{{
            "name": "access", "duration": "1d", "topology": {{"regions": [{{"name": "r", "zones": ["a", "b", "c"]}}]}},
            "load_balancers": [{{"name": "lb", "profile": "haproxy"{balancer}}}],
            "clusters": [{{
                "name": "c", "zones": ["a", "b", "c"], "pools": [{{"name": "p", "minimum": 3, "maximum": 3}}],
                "api_access": {{"load_balancer": "lb", "alternatives": {alternatives}{access}}}, "api_clients": {clients}
            }}]
        }}"#
    );
    Scenario::from_json(&file).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The scenario, beside another cluster `d` whose clients need no load balancer.
pub(crate) fn beside_another_cluster() -> Scenario {
    let other =
        r#"[]}, {"name": "d", "zones": ["a", "b", "c"], "pools": [{"name": "q", "minimum": 1, "maximum": 1}], "workloads": []"#;
    scenario_with("", "null", other)
}

/// Queued events, and records.
#[derive(Debug, Default)]
struct Out {
    queue: BTreeMap<(Time, u64), AccessEvent>,
    pushed: u64,
    records: Vec<AccessRecord>,
}

impl Outbox<(KubeClusterId, AccessEvent), (KubeClusterId, AccessRecord)> for Out {
    fn schedule(&mut self, at: Time, (_, event): (KubeClusterId, AccessEvent)) {
        self.pushed += 1;
        self.queue.insert((at, self.pushed), event);
    }

    fn record(&mut self, (_, record): (KubeClusterId, AccessRecord)) {
        self.records.push(record);
    }
}

/// API access, and the state of servers, clients and network that a test changes.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) scenario: Scenario,
    pub(crate) net: Network,
    pub(crate) access: ClusterAccess,
    pub(crate) view: ApiView,
    pub(crate) now: Time,
    /// Records so far.
    pub(crate) records: Vec<(Time, AccessRecord)>,
    stepping: Stepping,
    out: Out,
}

impl Bench {
    /// Everything has been running for long.
    pub(crate) fn new(scenario: Scenario, seed: u64, stepping: Stepping) -> Self {
        let spec = &scenario.kube.clusters[ID];
        let access = ClusterAccess::new(ID, spec.access.expect("it says so"), &scenario, seed);
        let servers = (0..3).map(|key| Self::server(&scenario, key)).collect();
        let client =
            |(key, node): (_, &zonefall_scenario::kube::NodeSpec)| (ApiClient::Kubelet(key), Network::host_of(node.node));
        let clients = spec.nodes.iter_enumerated().map(client).collect();
        let (net, view) = (Network::new(&scenario), ApiView { hosts: vec![0, 1, 2], servers, clients, etcd_term: Some(1) });
        let mut bench = Self { net, access, view, now: Time::ZERO, records: Vec::new(), stepping, out: Out::default(), scenario };
        bench.update();
        bench
    }

    /// A server that runs and answers.
    pub(crate) fn server(scenario: &Scenario, key: u32) -> ServerView {
        let host = Network::host_of(scenario.kube.clusters[ID].control_plane[key as usize]);
        ServerView { key, host, listens: true, answers: true, readyz: true, stops: false }
    }

    fn act(&mut self, act: impl FnOnce(&mut ClusterAccess, &ApiView, &mut AccessCtx<'_>)) {
        let Self { scenario, net, access, view, now, stepping, out, .. } = self;
        let mut ctx = AccessCtx { now: *now, stepping: *stepping, scenario, net, out, routes_changed: &mut Vec::new() };
        act(access, view, &mut ctx);
        self.records.extend(self.out.records.drain(..).map(|record| (self.now, record)));
    }

    /// Applies what the test has changed.
    pub(crate) fn update(&mut self) {
        self.act(ClusterAccess::update);
    }

    /// A fault of its balancer begins or ends.
    pub(crate) fn fault(&mut self, id: FaultId, fault: &Fault, begins: bool) {
        let hits = fault.kind().hits();
        let [Hit::Balancer(balancer)] = hits[..] else { panic!("{fault:?} is not one of a balancer") };
        self.act(|access, _, ctx| access.fault(balancer, id, fault, begins, ctx));
    }

    /// Handles the next event up to then, if there is one; otherwise moves the clock there.
    pub(crate) fn step(&mut self, until: Time) -> bool {
        let next = self.out.queue.first_entry().filter(|entry| entry.key().0 <= until);
        let Some(((at, _), event)) = next.map(OccupiedEntry::remove_entry) else {
            self.now = until;
            return false;
        };
        assert!(at >= self.now, "{event:?} at {at:?} lies before {:?}", self.now);
        self.now = at;
        self.act(|access, _, ctx| access.handle(event, ctx));
        true
    }

    /// Handles all events of so much time.
    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
    }

    /// Its clients.
    pub(crate) fn clients(&self) -> impl Iterator<Item = (ApiClient, &Client)> {
        self.view.clients.iter().filter_map(|(id, _)| Some((*id, self.access.client(*id)?)))
    }
}
