//! Clients with different original hosts: several load balancers, one on each node, and hosts that clients are configured with.

use proptest::prelude::*;

use super::requests::{count, over};
use super::{changes, happen, new_connections};
use crate::balancer::health::Health;
use crate::record::{AccessRecord, ConnectionState, RequestResult};
use crate::testing::{Bench, beside_another_cluster, scenario, scenario_with, scenario_with_another};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::Duration;
use zonefall_kube::ctx::{ApiClient, Route};
use zonefall_scenario::access::CheckKind;
use zonefall_scenario::ids::{BalancerId, FaultId};
use zonefall_scenario::{Fault, LbDown, LbRemoved, LbWrongTarget, Scenario};

const FIRST: BalancerId = BalancerId(0);
const OTHER: BalancerId = BalancerId(1);

/// A balancer is down from 10 s on, for ten minutes.
fn down(bench: &mut Bench, balancer: BalancerId) {
    bench.run(Duration::from_secs(10));
    bench.fault(FaultId(1), &Fault::LbDown(LbDown(balancer)), true);
    bench.run(Duration::from_secs(600));
}

/// Kubelets with an open connection.
fn connected(bench: &Bench) -> usize {
    bench.clients().filter(|(_, client)| matches!(client.connection_state(), ConnectionState::Open { .. })).count()
}

#[test]
fn clients_of_another_balancer_do_not_meet_the_fault_of_the_first() {
    let clients = r#"[{"name": "users", "runs_on": "workers", "rate": "2/s", "load_balancer": "other"}]"#;
    let bench = |hit| {
        let mut bench = Bench::new(scenario_with_another("", "", clients), 1, Stepping::FastForward);
        down(&mut bench, hit);
        bench
    };
    let first = bench(FIRST);
    assert_eq!(connected(&first), 0);
    assert_eq!(count(&first.records, RequestResult::Answered), over(&first.records).count());
    let other = bench(OTHER);
    assert_eq!(connected(&other), 6);
    assert!(count(&other.records, RequestResult::ConnectionLost) > 1_000);
}

#[test]
fn balancer_on_each_node_serves_the_clients_there_while_the_other_is_down() {
    let on_nodes = |hit| {
        let scenario = scenario_with_another("", r#", "load_balancer_on_each_node": "other""#, "[]");
        let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
        down(&mut bench, hit);
        bench
    };
    let first = on_nodes(FIRST);
    assert_eq!(connected(&first), 6);
    let balancer = &first.access.balancers()[1];
    assert_eq!(balancer.nodes().len(), 6);
    for (id, client) in first.clients() {
        let link = client.link();
        let crate::requests::Link::Open(connection, way, _) = link else { panic!("{id:?}: {link:?}") };
        let own = connection.through.expect("it goes through a balancer");
        assert_eq!(balancer.addresses(client.host(), &first.scenario.load_balancers[OTHER], &first.net), [own]);
        // To its own machine and on to the server, there and back.
        let server = balancer.host(connection.server).expect("it is a target");
        let (net, hop) = (&first.net, first.scenario.load_balancers[OTHER].hop_latency * 2);
        assert_eq!(way, net.round_trip(client.host(), client.host()) + net.round_trip(client.host(), server) + hop);
    }
    let local = on_nodes(OTHER);
    assert_eq!(connected(&local), 0, "kubelets know no other host");
    // The processes refuse connections: a try each 7 s, not a dial of 30 s.
    for (id, client) in local.clients() {
        let crate::requests::Link::Closed(failures) = client.link() else { panic!("{id:?}: {:?}", client.link()) };
        assert!((85..100).contains(&failures), "{id:?}: {failures}");
    }
}

#[test]
fn process_that_starts_takes_all_targets_for_healthy() {
    let scenario = scenario_with_another("", r#", "load_balancer_on_each_node": "other""#, "[]");
    let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
    let unhealthy = |bench: &Bench| {
        let balancer = &bench.access.balancers()[1];
        balancer.nodes().filter(|node| balancer.health(*node, 0) == Health::Unhealthy).count()
    };
    bench.view.servers.retain(|server| server.key != 0);
    bench.update();
    bench.run(Duration::from_secs(60));
    assert_eq!(unhealthy(&bench), 6);
    let (down, records) = (Fault::LbDown(LbDown(OTHER)), bench.records.len());
    bench.fault(FaultId(1), &down, true);
    bench.run(Duration::from_secs(60));
    let checks = bench.records[records..].iter().filter(|(_, fact)| matches!(fact, AccessRecord::Target { balancer: OTHER, .. }));
    assert_eq!(checks.count(), 0, "processes that do not run check nothing");
    bench.fault(FaultId(1), &down, false);
    assert_eq!(unhealthy(&bench), 0);
    bench.run(Duration::from_secs(60));
    assert_eq!(unhealthy(&bench), 6);
}

#[test]
fn node_that_is_cut_off_from_servers_finds_them_unhealthy_alone() {
    let scenario = scenario_with_another("", r#", "load_balancer_on_each_node": "other""#, "[]");
    let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
    bench.run(Duration::from_secs(10));
    let is_worker = |host| bench.access.balancers()[1].on_host(host).is_none();
    let (id, client) = bench.clients().find(|(_, client)| is_worker(client.host())).expect("there are workers");
    let host = client.host();
    bench.net.partition_host(host, zonefall_scenario::Direction::Both, true);
    bench.update();
    bench.run(Duration::from_secs(60));
    assert!(matches!(bench.access.route(id), Route::Nowhere { .. }));
    let balancer = &bench.access.balancers()[1];
    let own = balancer.addresses(host, &bench.scenario.load_balancers[OTHER], &bench.net)[0];
    for node in balancer.nodes() {
        let unhealthy = (0..3).filter(|key| balancer.health(node, *key) != Health::Healthy).count();
        assert_eq!(unhealthy, if node == own { 3 } else { 0 });
    }
}

#[test]
fn configured_hosts_are_known_to_a_client_that_starts_during_the_outage() {
    let answered = |alternatives: &str| {
        let clients = format!(
            r#"[{{"name": "late", "runs_on": "workers", "rate": "2/s", "start": "60s", "alternatives": "{alternatives}", "timeout": "10s"}}]"#
        );
        let mut bench = Bench::new(scenario_with("", "\"text\"", &clients), 1, Stepping::FastForward);
        down(&mut bench, FIRST);
        let results: Vec<RequestResult> = over(&bench.records).map(|(_, _, result, _)| result).collect();
        (results.iter().filter(|result| **result == RequestResult::Answered).count(), results.len())
    };
    assert_eq!(answered("text").0, 0, "it has only the original host");
    let (served, all) = answered("configured");
    assert!(all > 3_000);
    assert_eq!(served, all);
}

#[test]
fn configured_list_neither_expires_nor_changes() {
    let mut bench = Bench::new(scenario_with("", "\"configured\"", "[]"), 1, Stepping::FastForward);
    let host = Bench::server(&bench.scenario, 1).host;
    bench.view.servers.retain(|server| server.host != host);
    bench.update();
    bench.run(Duration::from_secs(3_600));
    let kubelets: Vec<ApiClient> = bench.clients().map(|(id, _)| id).collect();
    for id in kubelets {
        let known: Vec<u32> = bench.access.alternatives(id).map(|(key, _)| key).collect();
        assert_eq!(known, [0, 1, 2]);
        assert!(matches!(bench.access.route(id), Route::Server { key: 0 | 2, .. }));
    }
}

/// Kubelets and where they are connected an hour after the balancer has a wrong address for server 0 and all connections were reset.
fn with_wrong_target(scenario: Scenario, instead: &str, check: CheckKind) -> (usize, Vec<u32>) {
    let mut scenario = scenario;
    scenario.load_balancers[FIRST].check.kind = check;
    let [target, instead] = ["c-control-plane-0", instead].map(|name| scenario.node(name).expect("it is there"));
    let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
    bench.fault(FaultId(1), &LbWrongTarget { balancer: FIRST, target, instead }.into(), true);
    bench.run(Duration::from_secs(60));
    let removed = Fault::LbRemoved(LbRemoved(FIRST));
    bench.fault(FaultId(2), &removed, true);
    bench.fault(FaultId(2), &removed, false);
    bench.run(Duration::from_secs(3_600));
    let unhealthy = bench.access.balancers()[0]
        .nodes()
        .filter(|node| bench.access.balancers()[0].health(*node, 0) == Health::Unhealthy)
        .count();
    let connected = bench.clients().filter_map(|(_, client)| match client.connection_state() {
        ConnectionState::Open { server, .. } => Some(server),
        _ => None,
    });
    (unhealthy, connected.collect())
}

#[test]
fn wrong_target_refuses_serves_or_has_a_wrong_certificate() {
    let one = || scenario("", "null");
    // No API server on a worker: checks fail, and clients go to the other two.
    let worker = one().nodes.iter().find(|node| node.name.contains("-p-")).expect("there are workers").name.clone();
    let (unhealthy, servers) = with_wrong_target(one(), &worker, CheckKind::Tcp);
    assert_eq!((unhealthy, servers.len()), (3, 6));
    assert!(!servers.contains(&0));
    // Another server of the cluster takes the connections of the first one.
    let (unhealthy, servers) = with_wrong_target(one(), "c-control-plane-1", CheckKind::Readyz);
    assert_eq!((unhealthy, servers.len()), (0, 6));
    assert!(!servers.contains(&0));
    // A server of another cluster: checks succeed, and clients that are sent there try again.
    let (unhealthy, servers) = with_wrong_target(beside_another_cluster(), "d-control-plane-0", CheckKind::Readyz);
    assert_eq!((unhealthy, servers.len()), (0, 6));
    assert!(!servers.contains(&0));
}

#[test]
fn wrong_certificate_fails_a_third_of_new_clients() {
    let mut bench = Bench::new(beside_another_cluster(), 1, Stepping::FastForward);
    let [target, instead] =
        ["c-control-plane-0", "d-control-plane-0"].map(|name| bench.scenario.node(name).expect("it is there"));
    bench.fault(FaultId(1), &LbWrongTarget { balancer: FIRST, target, instead }.into(), true);
    // No other address is tried: the dial has succeeded.
    new_connections::check(&bench, [2.0 / 3.0; 4]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn fast_forward_shows_what_every_event_does_with_a_balancer_on_each_node(
        changes in changes(), seed in 0_u64..1_000, restarts in proptest::collection::vec(1_u64..90_000, 0..6),
    ) {
        let clients = r#"[{"name": "users", "runs_on": "workers", "rate": "1/s", "alternatives": "configured"}]"#;
        let scenario = scenario_with_another("", r#", "load_balancer_on_each_node": "other""#, clients);
        let found = [Stepping::FastForward, Stepping::EveryEvent].map(|stepping| {
            let mut bench = Bench::new(scenario.clone(), seed, stepping);
            for (k, pause) in (0_u32..).zip(&restarts) {
                bench.run(Duration::from_millis(*pause));
                bench.fault(FaultId(100), &Fault::LbDown(LbDown(OTHER)), k.is_multiple_of(2));
            }
            happen(&mut bench, &changes, &mut |_| {});
            bench.records
        });
        prop_assert_eq!(&found[0], &found[1]);
    }
}
