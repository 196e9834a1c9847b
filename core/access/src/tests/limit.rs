//! Connection limits of load balancers: no node accepts more, who waits is accepted in order, and who is left out finds a place later.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::new_connections::{check, served};
use super::requests::CLIENTS;
use super::{DIALER, LB, RESOLVER, balancers, changes, happen};
use crate::client::Client;
use crate::limit::Slot;
use crate::record::{AccessRecord, ConnectionState, Detail, Dialled};
use crate::testing::{Bench, ID, at, scenario, scenario_with};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_network::{HostId, Network};
use zonefall_scenario::Vantage;
use zonefall_scenario::ids::{NodeKey, ZoneId};

/// Clients and what they have at nodes of the balancer.
fn slots(bench: &Bench) -> BTreeMap<ApiClient, Slot> {
    bench.access.all_clients().filter_map(|(id, client)| Some((id, client.slot()?))).collect()
}

/// Clients that wait at a node, the oldest first.
fn waiting(bench: &Bench, node: u16) -> Vec<ApiClient> {
    bench.access.balancers()[0].limit().map(|limit| limit.waiting(node).collect()).unwrap_or_default()
}

/// A client's slot in a node's backlog.
fn place(slots: &BTreeMap<ApiClient, Slot>, client: ApiClient) -> Option<Slot> {
    slots.get(&client).copied().filter(|slot| matches!(slot, Slot::Waits(..)))
}

/// The balancer counts what its clients have, and accepts the oldest of those that wait.
fn follow(bench: &Bench, before: &mut BTreeMap<u16, (Vec<ApiClient>, BTreeMap<ApiClient, Slot>)>) {
    let balancer = &bench.access.balancers()[0];
    let Some(limit) = balancer.limit() else { return };
    let slots = slots(bench);
    for node in balancer.nodes() {
        let accepted = slots.values().filter(|slot| **slot == Slot::Accepted(node)).count();
        assert_eq!(accepted, limit.accepted(node), "node {node} at {:?}", bench.now);
        assert!(accepted <= limit.limit(), "node {node} at {:?}: {accepted}", bench.now);
        let waiting = waiting(bench, node);
        let at_node = |slot: &Slot| matches!(slot, Slot::Waits(at, _) if *at == node);
        assert_eq!(waiting.len(), slots.values().filter(|slot| at_node(slot)).count(), "node {node} at {:?}", bench.now);
        assert!(waiting.is_empty() || accepted == limit.limit(), "clients wait at {:?} though node {node} has room", bench.now);
        if let Some((old, had)) = before.get(&node) {
            // Those that wait since before come first and in their order; nobody behind them is accepted.
            let stay = |client: &&ApiClient| place(&slots, **client).is_some() && place(&slots, **client) == place(had, **client);
            let still: Vec<ApiClient> = old.iter().filter(stay).copied().collect();
            assert!(waiting.starts_with(&still), "{old:?} became {waiting:?} at {:?}", bench.now);
            if let Some(first) = old.iter().position(|client| still.contains(client)) {
                let overtakes = |client: &ApiClient| slots.get(client) == Some(&Slot::Accepted(node));
                assert!(!old[first..].iter().any(overtakes), "{old:?} became {waiting:?} at {:?}", bench.now);
            }
        }
        before.insert(node, (waiting, slots.clone()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_node_accepts_more_connections_than_its_limit_and_all_in_order(
        balancer in balancers(), changes in changes(), seed in 0_u64..1_000, limit in 1_u32..6, relays in any::<bool>(),
        alternatives in select(vec!["null", "\"text\"", "\"code\"", DIALER, RESOLVER]), goaway in select(vec![0.0, 0.02]),
    ) {
        let mut scenario = scenario_with(&balancer, alternatives, CLIENTS);
        scenario.kube.clusters[ID].access.as_mut().expect("it has one").goaway_chance = goaway;
        let balancer = &mut scenario.load_balancers[LB];
        (balancer.connection_limit, balancer.relays) = (Some(limit), relays);
        let mut bench = Bench::new(scenario, seed, Stepping::FastForward);
        let mut before = BTreeMap::new();
        happen(&mut bench, &changes, &mut |bench| follow(bench, &mut before));
    }
}

/// Six kubelets of a cluster in three zones, and a balancer with one node.
fn one_node(limit: u32, relays: bool) -> Bench {
    let mut scenario = scenario(&format!(r#", "zones": ["a"], "cross_zone": true, "connection_limit": {limit}"#), "null");
    scenario.load_balancers[LB].relays = relays;
    Bench::new(scenario, 1, Stepping::FastForward)
}

const fn kubelet(key: u32) -> ApiClient {
    ApiClient::Kubelet(NodeKey(key))
}

/// Whether each kubelet has a connection.
fn connected(bench: &Bench) -> [bool; 6] {
    [0, 1, 2, 3, 4, 5].map(|key| matches!(bench.access.connection_state(kubelet(key)), ConnectionState::Open { .. }))
}

/// A kubelet stops, and its connection ends.
fn stop(bench: &mut Bench, key: u32) -> (ApiClient, HostId) {
    let place = bench.view.clients.iter().position(|(id, _)| *id == kubelet(key)).expect("it runs");
    let client = bench.view.clients.remove(place);
    bench.update();
    client
}

fn records_of(bench: &Bench, from: Time, key: u32) -> Vec<Time> {
    let dials = AccessRecord::Detail { client: kubelet(key), detail: Detail::Dials(Dialled::AtLimit) };
    bench.records.iter().filter(|(time, record)| *time >= from && *record == dials).map(|(time, _)| *time).collect()
}

#[test]
fn oldest_that_waits_is_accepted_when_a_connection_ends() {
    let mut bench = one_node(4, true);
    assert_eq!(connected(&bench), [true, true, true, true, false, false], "the first four");
    assert_eq!(waiting(&bench, 0), [kubelet(4), kubelet(5)]);
    bench.run(Duration::from_secs(5));
    stop(&mut bench, 1);
    assert_eq!(connected(&bench), [true, false, true, true, true, false], "the oldest that waits, at once");
    assert_eq!(waiting(&bench, 0), [kubelet(5)]);
    assert!(!records_of(&bench, at(0), 4).is_empty() && !records_of(&bench, at(0), 5).is_empty());
}

#[test]
fn client_leaves_the_backlog_when_its_tls_handshake_has_timed_out() {
    let mut bench = one_node(4, true);
    let left_out = [kubelet(4), kubelet(5)];
    assert_eq!(waiting(&bench, 0), left_out);
    bench.run(Duration::from_millis(9_999));
    assert_eq!(waiting(&bench, 0), left_out, "10 s have not passed");
    bench.run(Duration::from_millis(3));
    assert_eq!(waiting(&bench, 0), [], "both wait for their back-off");
    // A connection that ends then is nobody's: the next dial finds the room.
    stop(&mut bench, 0);
    assert_eq!(connected(&bench), [false, true, true, true, false, false]);
    bench.run(Duration::from_millis(202));
    assert_eq!(connected(&bench).iter().filter(|connected| **connected).count(), 4, "after a back-off of 200 ms");
    assert_eq!(waiting(&bench, 0).len(), 1);
}

/// A dial waits for 10 s, and the back-off after it is 0.2, 0.4, 0.8 s ...: entries of connections that their clients have closed fill the
/// backlog of four places, and SYNs are dropped.
#[test]
fn connections_that_their_clients_have_closed_fill_the_backlog_until_one_ends() {
    let mut bench = one_node(4, true);
    let at_limit = |bench: &Bench| bench.access.balancers()[0].limit().and_then(|limit| limit.at_limit(0, None));
    let is = |bench: &Bench, expected| assert_eq!(at_limit(bench), Some(expected), "{:?}", bench.now);
    is(&bench, crate::limit::AtLimit::Backlog);
    bench.run(Duration::from_secs(15));
    is(&bench, crate::limit::AtLimit::Drops);
    assert_eq!(waiting(&bench, 0), [kubelet(4), kubelet(5)], "their second dials");
    bench.run(Duration::from_secs(15));
    assert_eq!(waiting(&bench, 0), [], "their third dials are silent");
    stop(&mut bench, 0);
    assert_eq!(at_limit(&bench), None, "the node finds the others closed");
}

#[test]
fn node_that_passes_packets_on_drops_syns_until_one_finds_room() {
    let mut bench = one_node(4, false);
    assert_eq!(connected(&bench), [true, true, true, true, false, false]);
    assert_eq!(waiting(&bench, 0), [], "nobody waits in order");
    // SYNs are repeated after 1, 3 and 7 s: at 4 s a place is free, at 7 s it is found.
    bench.run(Duration::from_secs(4));
    stop(&mut bench, 0);
    bench.run(Duration::from_millis(2_999));
    assert_eq!(connected(&bench), [false, true, true, true, false, false]);
    bench.run(Duration::from_millis(2));
    assert_eq!(connected(&bench).iter().filter(|connected| **connected).count(), 4);
}

#[test]
fn dial_of_a_node_that_drops_syns_fails_after_30_s() {
    let mut bench = one_node(4, false);
    let attempts = |bench: &Bench| [4, 5].map(|key| bench.access.client(kubelet(key)).and_then(Client::attempt).is_some());
    bench.run(Duration::from_millis(29_999));
    assert_eq!(attempts(&bench), [true, true]);
    bench.run(Duration::from_millis(2));
    assert_eq!(attempts(&bench), [false, false], "both wait for their back-off");
    bench.run(Duration::from_millis(202));
    assert_eq!(attempts(&bench), [true, true]);
}

#[test]
fn new_clients_find_no_node_at_its_limit() {
    for relays in [true, false] {
        let mut bench = one_node(6, relays);
        check(&bench, [0.0; 4]);
        stop(&mut bench, 0);
        check(&bench, [1.0; 4]);
        // Of three nodes one is at its limit.
        let mut scenario = scenario(r#", "cross_zone": true, "connection_limit": 100"#, "null");
        let balancer = &mut scenario.load_balancers[LB];
        (balancer.connection_limit, balancer.relays) = (Some(1), relays);
        let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
        bench.view.clients.truncate(1);
        bench.update();
        let vantage = Vantage::Zone(ZoneId(0));
        assert!((served(&bench, vantage) - 2.0 / 3.0).abs() < 1e-9, "{}", served(&bench, vantage));
    }
}

#[test]
fn node_says_when_it_reaches_its_limit_and_when_it_accepts_again() {
    let mut bench = one_node(6, true);
    let told = |bench: &Bench| -> Vec<(Time, bool)> {
        let of = |(time, record): &(Time, AccessRecord)| match record {
            AccessRecord::ConnectionLimit { is_reached, .. } => Some((*time, *is_reached)),
            _ => None,
        };
        bench.records.iter().filter_map(of).collect()
    };
    assert_eq!(told(&bench), [(at(0), true)]);
    bench.run(Duration::from_secs(5));
    let client = stop(&mut bench, 0);
    assert_eq!(told(&bench), [(at(0), true), (at(5), false)]);
    bench.run(Duration::from_secs(5));
    bench.view.clients.push(client);
    bench.update();
    assert_eq!(told(&bench), [(at(0), true), (at(5), false), (at(10), true)]);
    assert_eq!(Network::host_of(bench.scenario.kube.clusters[ID].nodes[NodeKey(0)].node), client.1);
}
