//! What clients promise under random faults, and that fast-forward shows the same as every event.

mod addresses;
mod client;
mod closed_forms;
mod limit;
mod new_connections;
mod origins;
mod requests;
mod stop;
mod target;
mod view;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use crate::alt_svc::alternatives::{Alternative, Block};
use crate::alt_svc::client::Attempt;
use crate::client::{Address, Client};
use crate::record::{AccessRecord, ConnectionState};
use crate::testing::{Bench, scenario, scenario_with};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_network::Network;
use zonefall_scenario::ids::{BalancerId, FaultId, NodeId, ZoneId};
use zonefall_scenario::{
    Direction, Fault, LbDown, LbPartition, LbRemoved, LbStaleTargets, LbTcpHealthOnly, LbThrottled, LbWrongTarget, Place,
};

const LB: BalancerId = BalancerId(0);

/// The longest that a list is used where API servers have no shutdown delay of their own.
const KEEP: Duration = Duration::from_secs(70);

/// What may happen; whatever is there goes, and comes with the next of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Server(u32),
    /// etcd does not answer a server.
    Etcd(u32),
    /// A server is not ready, though etcd answers it.
    Readyz(u32),
    Zone(u16),
    /// A node is cut off.
    Node(u16),
    /// A client has stopped.
    Client(u16),
    Balancer(u32),
}

fn changes() -> impl Strategy<Value = Vec<(u64, Change)>> {
    let change = prop_oneof![
        3 => (0_u32..3).prop_map(Change::Server),
        2 => (0_u32..3).prop_map(Change::Etcd),
        1 => (0_u32..3).prop_map(Change::Readyz),
        2 => (0_u16..3).prop_map(Change::Zone),
        3 => (0_u16..6).prop_map(Change::Node),
        1 => (0_u16..6).prop_map(Change::Client),
        4 => (0_u32..8).prop_map(Change::Balancer),
    ];
    // Milliseconds; every second at the very moment of what takes whole seconds.
    let pause = prop_oneof![0_u64..3_000, 0_u64..90_000, (0_u64..60).prop_map(|s| s * 1_000)];
    proptest::collection::vec((pause, change), 1..30)
}

/// Limits of a balancer of a cluster with six kubelets, and no limit.
fn limits() -> impl Strategy<Value = Option<u32>> {
    select(vec![None, Some(1), Some(2), Some(3), Some(5)])
}

/// What the file says of the load balancer beside its profile.
fn balancers() -> impl Strategy<Value = String> {
    let check = (select(vec!["tcp", "readyz"]), 1_u64..31, 1_u64..31, 1_u32..4, 1_u32..4);
    (check, any::<bool>(), select(vec!["open", "closed"]), select(vec!["kept", "reset", "silent"]), select(vec!["works", "fails", "stays_on_host"]))
        .prop_map(|((kind, interval, timeout, rise, fall), cross_zone, all_unhealthy, established, loopback)| {
            let timeout = timeout.min(interval);
            format!(
                r#", "cross_zone": {cross_zone}, "all_unhealthy": "{all_unhealthy}", "established": "{established}", "loopback": "{loopback}",
                "check": {{"kind": "{kind}", "interval": "{interval}s", "timeout": "{timeout}s", "rise": {rise}, "fall": {fall}}}"#
            )
        })
}

fn fault(number: u32) -> Fault {
    let partition = |from| Fault::LbPartition(LbPartition { balancer: LB, from });
    match number {
        0 => Fault::LbDown(LbDown(LB)),
        1 => partition(Vec::new()),
        2 => partition(vec![Place::Zone(ZoneId(1)), Place::Node(NodeId(0))]),
        3 => Fault::LbTcpHealthOnly(LbTcpHealthOnly(LB)),
        4 => Fault::LbStaleTargets(LbStaleTargets(LB)),
        5 => Fault::LbRemoved(LbRemoved(LB)),
        6 => Fault::LbThrottled(LbThrottled { balancer: LB, bytes_per_s: 20_000 }),
        _ => Fault::LbWrongTarget(LbWrongTarget { balancer: LB, target: NodeId(0), instead: NodeId(1) }),
    }
}

impl Bench {
    fn change(&mut self, change: Change, is_over: bool) {
        let server = |bench: &mut Self, key: u32, act: &dyn Fn(&mut crate::server::ServerView)| {
            bench.view.servers.iter_mut().filter(|server| server.key == key).for_each(act);
        };
        match change {
            Change::Server(key) if is_over => self.view.servers.push(Self::server(&self.scenario, key)),
            Change::Server(key) => self.view.servers.retain(|server| server.key != key),
            Change::Etcd(key) => server(self, key, &|server| (server.answers, server.readyz) = (is_over, is_over)),
            Change::Readyz(key) => server(self, key, &|server| server.readyz = is_over),
            Change::Zone(zone) => self.net.partition_zone(ZoneId(zone), Direction::Both, !is_over),
            Change::Node(node) => self.net.partition_host(Network::host_of(NodeId(node)), Direction::Both, !is_over),
            Change::Client(node) => {
                let host = Network::host_of(NodeId(node));
                let nodes = &self.scenario.kube.clusters[crate::testing::ID].nodes;
                let key = nodes.iter_enumerated().find(|(_, spec)| Network::host_of(spec.node) == host).map(|(key, _)| key);
                let client = (ApiClient::Kubelet(key.expect("each node has a kubelet")), host);
                if is_over { self.view.clients.push(client) } else { self.view.clients.retain(|one| *one != client) }
            }
            Change::Balancer(number) => return self.fault(FaultId(number), &fault(number), !is_over),
        }
        self.update();
    }
}

/// Has all of it happen; `look` sees the access after each event.
fn happen(bench: &mut Bench, changes: &[(u64, Change)], look: &mut dyn FnMut(&Bench)) {
    let mut under_way: Vec<Change> = Vec::new();
    look(bench);
    for (pause, change) in changes.iter().copied().chain([(120_000, Change::Node(0))]) {
        let until = bench.now + Duration::from_millis(pause);
        while bench.step(until) {
            look(bench);
        }
        let before = under_way.len();
        under_way.retain(|other| *other != change);
        let is_over = under_way.len() < before;
        if !is_over {
            under_way.push(change);
        }
        bench.change(change, is_over);
        look(bench);
    }
}

/// A client as it was after the event before.
#[derive(Clone)]
struct Before {
    attempt: Option<Attempt<Address>>,
    listed: Vec<Alternative<Address>>,
    /// When the last list came, or was confirmed.
    heard: Option<Time>,
    /// Its server sends lists.
    hears: bool,
}

/// Ways of clusters whose kubelets have no dialer of their own.
const DIALER: &str = r#""custom_dialer", "kubelet_dialer": "none""#;
const RESOLVER: &str = r#""in_memory_dns", "kubelet_dialer": "none""#;

fn listed(client: &Client) -> Vec<Alternative<Address>> {
    client.selector().map(|selector| selector.alternatives().listed().to_vec()).unwrap_or_default()
}

/// Whether a client that is connected so hears of alternatives with every answer.
fn hears(bench: &Bench, connection: ConnectionState) -> bool {
    let (ConnectionState::Open { server, .. } | ConnectionState::Unanswered { server, .. }) = connection else { return false };
    bench.access.server(server).is_some_and(|server| !server.list().is_empty())
}

/// Looks after each event whether a client of the document has begun to use an alternative that it must not.
fn follow_document(bench: &Bench, known: &mut BTreeMap<ApiClient, Before>) {
    let now = bench.now;
    known.retain(|id, _| bench.access.client(*id).is_some());
    for (id, client) in bench.clients() {
        let (attempt, connection) = (client.attempt(), client.connection_state());
        let before = known.get(&id).cloned();
        // Until this event its server has sent lists.
        let heard = match &before {
            Some(before) if before.hears => Some(now),
            Some(before) => before.heard,
            // One that has been there for long; others know nothing.
            None => (now == Time::ZERO).then_some(now),
        };
        // A server that it was with for a moment may have sent it.
        let known_list: Vec<Address> = listed(client).iter().map(|entry| entry.authority).collect();
        let sends_it = |key| {
            let list = bench.access.server(key).map_or(&[][..], |server| server.list());
            !list.is_empty() && list.iter().map(|own| Address::Server(*own)).eq(known_list.iter().copied())
        };
        let has_moved = before.as_ref().is_none_or(|before| before.attempt != attempt);
        let fresh = if hears(bench, connection) || has_moved && (0..3).any(sends_it) { Some(now) } else { heard };
        // One that goes to and fro between servers that list each other stays with either.
        if let Some(Attempt { to: to @ Address::Server(_), is_alternative: true }) = attempt
            && has_moved
            && !client.goes_to_and_fro(now)
        {
            let entries = listed(client);
            let entry = entries.iter().find(|entry| entry.authority == to);
            let entry = entry.unwrap_or_else(|| panic!("{id:?} uses {to:?} at {now:?}, which is not listed: {client:?}"));
            assert!(!entry.block.holds(now), "{id:?} uses {to:?} at {now:?}, which is blocked: {client:?}");
            let had = before.iter().flat_map(|before| &before.listed).find(|entry| entry.authority == to);
            assert!(
                !had.is_some_and(|entry| entry.block.holds(now)),
                "{id:?} uses {to:?} at {now:?}, which was blocked: {client:?}"
            );
            let is_fresh = fresh.is_some_and(|heard| now < heard + KEEP);
            assert!(is_fresh, "{id:?} uses {to:?} at {now:?}, heard of at {fresh:?}: {client:?}");
            // Servers that it was with for a moment may have listed others: all must list its own, then as now.
            let is_free = |list: &[Alternative<Address>], own: u32| {
                let own = Address::Server(own);
                list.iter().any(|entry| entry.authority == own && entry.local && !entry.block.holds(now))
            };
            let is_known =
                |own: &u32| (0..3).filter_map(|key| bench.access.server(key)).all(|server| server.list().contains(own));
            let old = before.as_ref().map_or(&entries, |before| &before.listed);
            let own = (0..3).filter(is_known).find(|own| is_free(&entries, *own) && is_free(old, *own));
            assert!(own.is_none_or(|own| Address::Server(own) == to), "{id:?} uses {to:?} at {now:?}, not its own: {client:?}");
        }
        known.insert(id, Before { attempt, listed: listed(client), heard: fresh, hears: hears(bench, connection) });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn client_of_the_document_uses_listed_free_and_fresh_alternatives_under_faults(
        balancer in balancers(), changes in changes(), seed in 0_u64..1_000,
    ) {
        let mut bench = Bench::new(scenario(&balancer, "\"text\""), seed, Stepping::FastForward);
        let mut known = BTreeMap::new();
        happen(&mut bench, &changes, &mut |bench| follow_document(bench, &mut known));
    }

    #[test]
    fn fast_forward_shows_what_every_event_does(
        balancer in balancers(), changes in changes(), seed in 0_u64..1_000,
        alternatives in select(vec!["null", "\"text\"", "\"code\"", DIALER, RESOLVER]),
        limit in limits(), relays in any::<bool>(),
    ) {
        let mut scenario = scenario_with(&balancer, alternatives, requests::CLIENTS);
        let balancer = &mut scenario.load_balancers[LB];
        (balancer.connection_limit, balancer.relays) = (limit, relays);
        let records = |stepping| {
            let mut bench = Bench::new(scenario.clone(), seed, stepping);
            happen(&mut bench, &changes, &mut |_| ());
            bench.records
        };
        let (fast, full): (Vec<(Time, AccessRecord)>, Vec<_>) = (records(Stepping::FastForward), records(Stepping::EveryEvent));
        let differ = fast.iter().zip(&full).position(|(one, other)| one != other).unwrap_or(fast.len().min(full.len()));
        let around = differ.saturating_sub(2)..differ + 3;
        let near = |records: &[(Time, AccessRecord)]| records.get(around.start..around.end.min(records.len())).map(<[_]>::to_vec);
        prop_assert!(fast == full, "fast-forward {:?}\nevery event {:?}", near(&fast), near(&full));
    }
}

#[test]
fn client_of_the_prototype_blocks_all_alternatives_when_a_request_times_out() {
    let mut tried = 0;
    for seed in 0..20 {
        let mut bench = Bench::new(scenario("", "\"code\""), seed, Stepping::FastForward);
        bench.run(Duration::from_secs(100));
        let is_remote = |(id, client): (ApiClient, &Client)| match client.attempt().map(|attempt| attempt.to) {
            Some(Address::Server(key)) if bench.access.server(key).is_some_and(|server| server.view.host != client.host()) => {
                Some((id, key))
            }
            _ => None,
        };
        let (id, key) = bench.clients().find_map(is_remote).expect("workers use alternatives");
        let host = Bench::server(&bench.scenario, key).host;
        bench.net.partition_host(host, Direction::Both, true);
        bench.update();
        // The request that is next fails after its deadline, with each of its retries.
        let from = bench.now;
        while matches!(bench.access.connection_state(id), ConnectionState::Silent { .. }) {
            bench.step(from + Duration::from_secs(60));
        }
        let failed = bench.now;
        assert!((10_000..=20_000).contains(&(failed.since(from).as_nanos() / 1_000_000)), "{failed:?}");
        let blocks: Vec<Block> = bench.access.alternatives(id).map(|(_, block)| block).collect();
        assert_eq!(blocks, [Block::Since(failed); 3], "all of them, though two answer");
        // The original host is next, and all are left alone for 20 s.
        while bench.step(failed + Duration::from_millis(19_999)) {
            let to = bench.access.client(id).and_then(Client::attempt).map(|attempt| attempt.to);
            assert!(to.is_none_or(|to| to == Address::Origin), "{to:?} at {:?}", bench.now);
        }
        tried += u32::from(matches!(bench.access.connection_state(id), ConnectionState::Open { through: true, .. }));
        bench.run(Duration::from_millis(2));
        let to = bench.access.client(id).and_then(Client::attempt).map(|attempt| attempt.to);
        assert!(matches!(to, Some(Address::Server(_))), "{to:?}");
    }
    assert!(tried >= 10, "most find the way through the balancer: {tried}");
}

#[test]
fn balancer_that_fails_open_keeps_the_connections_to_targets_that_it_still_chooses() {
    for established in ["kept", "reset", "silent"] {
        let balancer = format!(r#", "all_unhealthy": "open", "established": "{established}", "check": {{"kind": "readyz"}}"#);
        let mut bench = Bench::new(scenario(&balancer, "null"), 1, Stepping::FastForward);
        bench.view.servers.iter_mut().for_each(|server| server.readyz = false);
        bench.update();
        bench.run(Duration::from_secs(100));
        for (id, client) in bench.clients() {
            assert!(
                matches!(client.connection_state(), ConnectionState::Open { .. }),
                "{established}: {id:?} has {:?}",
                client.connection_state()
            );
        }
    }
}
