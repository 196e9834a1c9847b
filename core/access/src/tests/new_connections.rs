//! Chances of what a new client meets, beside what as many dials meet.

use crate::balancer::health::Health;
use crate::record::ConnectionState;
use crate::reply::Reply;
use crate::testing::{Bench, scenario};
use crate::tests::{LB, fault};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::Duration;
use zonefall_kube::ctx::{NewClient, NewConnection};
use zonefall_network::{HostId, Network};
use zonefall_scenario::access::LoadBalancer;
use zonefall_scenario::ids::{FaultId, ZoneId};
use zonefall_scenario::{Direction, Fault, LbPartition, Place, Vantage};

const DEADLINE: Duration = Duration::from_secs(2);

/// Ends of the connection of a new client in a zone.
fn ends(bench: &Bench, from: Vantage, deadline: Duration) -> Vec<NewConnection> {
    let listening: Vec<u32> = bench.view.servers.iter().filter(|server| server.listens).map(|server| server.key).collect();
    let (net, scenario) = (&bench.net, &bench.scenario);
    bench.access.new_connections(&NewClient { from, deadline, listening: &listening, net, scenario })
}

/// Chance that a server accepts it in time.
pub(super) fn served(bench: &Bench, from: Vantage) -> f64 {
    let ends = ends(bench, from, DEADLINE);
    let sum: f64 = ends.iter().map(|end| end.chance).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{ends:?}");
    ends.iter().filter(|end| end.server.is_some_and(|(_, way)| way <= DEADLINE)).map(|end| end.chance).sum()
}

/// What as many dials of a worker's host meet: the part of them that a server accepts in time.
fn dialled(bench: &Bench, from: HostId, times: u32) -> f64 {
    let ctx = bench.access.client_ctx(&bench.scenario, &bench.net, bench.now);
    let accepts = |number: u32| {
        let mut draw = Stream::new(1, Purpose::ApiClient, 1).draw(u64::from(number));
        let mut nodes = ctx.addresses(from, &mut draw).unwrap_or_default();
        while let Some(node) = nodes.pop() {
            if ctx.at_limit(from, node).is_some() {
                return false;
            }
            match ctx.dial_node(from, node, &mut None, &mut draw) {
                Reply::Accepted(_) => return true,
                Reply::Refused => {}
                Reply::Closed | Reply::Silence => return false,
            }
        }
        false
    };
    f64::from((0..times).filter(|number| accepts(*number)).count() as u32) / f64::from(times)
}

const fn zone(zone: u16) -> Vantage {
    Vantage::Zone(ZoneId(zone))
}

#[track_caller]
pub(super) fn check(bench: &Bench, expected: [f64; 4]) {
    let found = [zone(0), zone(1), zone(2), Vantage::Outside].map(|from| served(bench, from));
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{found:?}, not {expected:?}");
    let spec = &bench.scenario.kube.clusters[crate::testing::ID];
    for worker in spec.nodes.iter().map(|node| node.node).filter(|node| !spec.control_plane.contains(node)) {
        let host = Network::host_of(worker);
        let expected = served(bench, Vantage::Zone(bench.net.zone(host)));
        let met = dialled(bench, host, 10_000);
        assert!((expected - met).abs() < 0.02, "{met} in {:?}, not {expected}", bench.net.zone(host));
    }
}

fn bench(balancer: &str) -> Bench {
    Bench::new(scenario(balancer, "null"), 1, Stepping::FastForward)
}

#[test]
fn server_that_stopped_costs_a_new_client_an_address_until_the_checks_have_failed() {
    // Each of three nodes refuses a third of the connections: the next address is dialled. One that relays has accepted them, and closes them.
    for (relays, served) in [(false, 26.0 / 27.0), (true, 2.0 / 3.0)] {
        let mut scenario = scenario(r#", "cross_zone": true"#, "null");
        scenario.load_balancers[LB].relays = relays;
        let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
        check(&bench, [1.0; 4]);
        bench.view.servers.retain(|server| server.key != 1);
        bench.update();
        check(&bench, [served; 4]);
        bench.run(Duration::from_secs(30));
        check(&bench, [1.0; 4]);
    }
    // Nodes that send clients to their own zone only: two of them never refuse.
    for (relays, served) in [(false, 1.0), (true, 2.0 / 3.0)] {
        let mut scenario = scenario(r#", "cross_zone": false"#, "null");
        scenario.load_balancers[LB].relays = relays;
        let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
        bench.view.servers.retain(|server| server.key != 1);
        bench.update();
        check(&bench, [served; 4]);
    }
}

#[test]
fn name_of_a_balancer_resolves_to_no_node_without_healthy_targets_unless_all_are_so() {
    let mut bench = bench(r#", "cross_zone": false, "all_unhealthy": "open", "check": {"kind": "readyz"}"#);
    for (unready, expected) in [(None, &[0, 1, 2][..]), (Some(1), &[0, 2]), (Some(0), &[2]), (Some(2), &[0, 1, 2])] {
        bench.view.servers.iter_mut().filter(|server| Some(server.key) == unready).for_each(|server| server.readyz = false);
        bench.update();
        bench.run(Duration::from_secs(60));
        let found = bench.access.balancers()[0].resolved(Vantage::Outside, &bench.scenario.load_balancers[LB], &bench.net);
        assert_eq!(found, expected, "{unready:?} is not ready, either");
        check(&bench, [1.0; 4]);
    }
}

#[test]
fn name_of_a_balancer_resolves_to_no_node_without_power() {
    let mut scenario = scenario(r#", "cross_zone": true, "check": {"kind": "readyz"}"#, "null");
    scenario.load_balancers[LB].relays = false;
    let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
    let resolved = |bench: &Bench| bench.access.balancers()[0].resolved(zone(1), &bench.scenario.load_balancers[LB], &bench.net);
    drop(bench.net.set_zone_powered_off(ZoneId(0), true));
    bench.update();
    assert_eq!(resolved(&bench), [0, 1, 2], "its checks have not failed yet");
    bench.run(Duration::from_secs(60));
    assert_eq!(resolved(&bench), [1, 2]);
    drop(bench.net.set_zone_powered_off(ZoneId(0), false));
    bench.update();
    bench.run(Duration::from_secs(60));
    assert_eq!(resolved(&bench), [0, 1, 2]);
}

#[test]
fn node_in_a_zone_without_targets_serves_nobody() {
    let mut scenario = scenario(r#", "cross_zone": false"#, "null");
    scenario.load_balancers[LB].relays = false;
    let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
    // The second zone has no control plane any more; then it is dark as well.
    bench.view.hosts = vec![0, 2];
    bench.view.servers.retain(|server| server.key != 1);
    bench.update();
    for _ in 0..2 {
        let found = bench.access.balancers()[0].resolved(Vantage::Outside, &bench.scenario.load_balancers[LB], &bench.net);
        assert_eq!(found, [0, 2]);
        assert!((served(&bench, Vantage::Outside) - 1.0).abs() < 1e-9);
        drop(bench.net.set_zone_powered_off(ZoneId(1), true));
        bench.update();
    }
}

#[test]
fn node_that_starts_again_knows_its_targets() {
    for (relays, one_address) in [(true, false), (false, true)] {
        let mut scenario = scenario("", "null");
        let balancer = &mut scenario.load_balancers[LB];
        (balancer.relays, balancer.one_address) = (relays, one_address);
        let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
        let health = |bench: &Bench| [0, 1, 2].map(|key| bench.access.balancers()[0].health(1, key));
        drop(bench.net.set_zone_powered_off(ZoneId(1), true));
        bench.view.servers.retain(|server| server.key != 1);
        bench.update();
        bench.run(Duration::from_secs(300));
        assert_eq!(health(&bench), [Health::Healthy; 3], "it does not check");
        drop(bench.net.set_zone_powered_off(ZoneId(1), false));
        bench.update();
        // A process takes all targets for healthy; where no machine in the zone checks, the others have found the server there to be down.
        let down = if one_address { Health::Unhealthy } else { Health::Healthy };
        assert_eq!(health(&bench), [Health::Healthy, down, Health::Healthy]);
    }
}

#[test]
fn server_that_is_silent_fails_as_many_new_clients_as_are_sent_there() {
    let mut bench = bench(r#", "cross_zone": true"#);
    bench.net.partition_host(Bench::server(&bench.scenario, 1).host, Direction::Both, true);
    bench.update();
    check(&bench, [2.0 / 3.0; 4]);
    bench.run(Duration::from_secs(30));
    check(&bench, [1.0; 4]);
}

#[test]
fn balancer_that_is_cut_off_from_a_zone_fails_new_clients_there() {
    let mut bench = bench(r#", "cross_zone": true"#);
    bench.fault(FaultId(0), &Fault::LbPartition(LbPartition { balancer: LB, from: vec![Place::Zone(ZoneId(1))] }), true);
    // The server there is silent until three checks have failed.
    check(&bench, [2.0 / 3.0, 0.0, 2.0 / 3.0, 2.0 / 3.0]);
    bench.run(Duration::from_secs(30));
    check(&bench, [1.0, 0.0, 1.0, 1.0]);
}

#[test]
fn one_address_for_all_zones_outlives_each_of_them() {
    let mut scenario = scenario("", "null");
    scenario.load_balancers[LB].one_address = true;
    let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
    drop(bench.net.set_zone_powered_off(ZoneId(0), true));
    bench.update();
    // Clients enter elsewhere, and a third of them is sent to the server that has no power; no other address is dialled.
    for from in [zone(1), zone(2), Vantage::Outside] {
        assert!((served(&bench, from) - 2.0 / 3.0).abs() < 1e-9, "{from:?}: {}", served(&bench, from));
    }
    for (id, client) in bench.clients().filter(|(_, client)| bench.net.zone(client.host()) != ZoneId(0)) {
        let state = client.connection_state();
        assert!(matches!(state, ConnectionState::Open { .. } | ConnectionState::Silent { server: 0, .. }), "{id:?}: {state:?}");
    }
    bench.run(Duration::from_secs(10));
    assert!((served(&bench, Vantage::Outside) - 1.0).abs() < 1e-9, "its checks have failed");
    // A zone that is only cut off is passed by as well, and so is one without a healthy target where nodes stay in their zones.
    drop(bench.net.set_zone_powered_off(ZoneId(0), false));
    bench.net.partition_zone(ZoneId(0), Direction::Both, true);
    bench.update();
    assert!((served(&bench, Vantage::Outside) - 1.0).abs() < 1e-9, "cut off: {}", served(&bench, Vantage::Outside));
    let spec = LoadBalancer { cross_zone: false, ..bench.scenario.load_balancers[LB].clone() };
    assert_eq!(bench.access.balancers()[0].resolved(zone(0), &spec, &bench.net).len(), 1);
    assert_ne!(bench.access.balancers()[0].resolved(zone(1), &spec, &bench.net), [0]);
}

#[test]
fn balancer_that_is_down_cut_off_or_removed_fails_all_new_clients() {
    for number in [0, 1] {
        let mut bench = bench("");
        bench.fault(FaultId(0), &fault(number), true);
        check(&bench, [0.0; 4]);
        bench.fault(FaultId(0), &fault(number), false);
        check(&bench, [1.0; 4]);
    }
}

/// One that is created again knows nothing of its targets, and checks nothing while it is away.
#[test]
fn balancer_that_was_removed_sends_new_clients_to_nobody_until_its_checks_have_succeeded() {
    for (rule, at_first) in [("closed", 0.0), ("open", 1.0)] {
        let mut bench = bench(&format!(r#", "all_unhealthy": "{rule}""#));
        bench.fault(FaultId(0), &fault(5), true);
        check(&bench, [0.0; 4]);
        bench.run(Duration::from_secs(300));
        bench.fault(FaultId(0), &fault(5), false);
        check(&bench, [at_first; 4]);
        bench.run(Duration::from_secs(30));
        check(&bench, [1.0; 4]);
    }
}

#[test]
fn balancer_without_healthy_targets_refuses_new_clients_or_sends_them_anywhere() {
    for (rule, expected) in [("closed", 0.0), ("open", 1.0)] {
        let mut bench = bench(&format!(r#", "all_unhealthy": "{rule}", "check": {{"kind": "readyz"}}"#));
        bench.view.servers.iter_mut().for_each(|server| server.readyz = false);
        bench.update();
        check(&bench, [1.0; 4]);
        bench.run(Duration::from_secs(30));
        check(&bench, [expected; 4]);
    }
}

#[test]
fn silent_address_takes_its_share_of_the_dial() {
    let mut bench = bench(r#", "cross_zone": true"#);
    bench.net.partition_zone(ZoneId(1), Direction::Both, true);
    bench.update();
    bench.run(Duration::from_secs(60));
    // One of three addresses is silent outside the zone; inside two are, and the node there reaches its own server.
    let third = 1.0 / 3.0;
    check(&bench, [2.0 * third, third, 2.0 * third, 2.0 * third]);
    let late = |from: Vantage, deadline: u64| -> Vec<(u64, f64)> {
        let mut by_time = std::collections::BTreeMap::new();
        for end in ends(&bench, from, Duration::from_secs(deadline)) {
            let seconds = end.server.map_or(u64::MAX, |(_, way)| way.as_nanos() / 1_000_000_000);
            *by_time.entry(seconds).or_insert(0.0) += end.chance;
        }
        by_time.into_iter().collect()
    };
    let near = |found: Vec<(u64, f64)>, expected: &[(u64, f64)]| {
        let same = |((at, found), (when, expected)): (&(u64, f64), &(u64, f64))| at == when && (found - expected).abs() < 1e-9;
        assert!(found.len() == expected.len() && found.iter().zip(expected).all(same), "{found:?}, not {expected:?}");
    };
    // A third of 30 s, then half of what is left.
    near(late(zone(0), 30), &[(0, 2.0 * third), (10, third)]);
    near(late(zone(1), 30), &[(0, third), (10, third), (20, third)]);
    near(late(zone(1), 15), &[(0, third), (10, third), (u64::MAX, third)]);
}
