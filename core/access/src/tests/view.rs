//! What the page is shown agrees with what clients and balancer do.

use crate::alt_svc::alternatives::Block;
use crate::balancer::health::Health;
use crate::cluster::view::{RequestTarget, ServerState};
use crate::record::ConnectionState;
use crate::testing::{Bench, scenario};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::Duration;
use zonefall_scenario::ids::{BalancerId, FaultId};
use zonefall_scenario::{Fault, LbPartition};

#[test]
fn view_has_what_nodes_found_beside_what_servers_are() {
    let mut bench = Bench::new(scenario("", "null"), 1, Stepping::FastForward);
    let cut = Fault::LbPartition(LbPartition { balancer: BalancerId(0), from: Vec::new() });
    bench.fault(FaultId(1), &cut, true);
    bench.view.servers[1].answers = false;
    bench.view.servers.remove(2);
    bench.update();
    bench.run(Duration::from_secs(100));
    let view = bench.access.view(&bench.net, bench.now);
    let nodes = &view.balancers[0].nodes;
    assert!(nodes.iter().all(|node| node.found == [Health::Unhealthy; 3] && node.reaches == [false; 3]), "{nodes:?}");
    let states: Vec<ServerState> = view.targets.iter().map(|target| target.state).collect();
    assert_eq!(states, [ServerState::Answers, ServerState::ReturnsErrors, ServerState::DoesNotListen]);
    assert!(view.clients.iter().all(|client| client.state == ConnectionState::None && client.alternatives.is_empty()));
}

#[test]
fn view_of_a_client_says_where_its_request_goes_and_which_alternatives_are_blocked() {
    let mut bench = Bench::new(scenario("", "\"text\""), 1, Stepping::FastForward);
    let before = bench.access.view(&bench.net, bench.now);
    assert_eq!(before.clients.len(), bench.view.clients.len());
    for client in &before.clients {
        let Some(RequestTarget::Alternative(key)) = client.request else { panic!("{client:?}") };
        assert_eq!((client.state, client.through), (ConnectionState::Open { server: key, through: false }, None));
        let used: Vec<u32> = client.alternatives.iter().filter(|entry| entry.is_last).map(|entry| entry.server).collect();
        assert_eq!(used, [key]);
    }
    // The host of a server is cut off: its clients give up the connection, and leave the alternative alone for a time.
    let host = bench.view.servers[0].host;
    bench.net.partition_host(host, zonefall_scenario::Direction::Both, true);
    bench.update();
    let is_blocked = |bench: &Bench| {
        let view = bench.access.view(&bench.net, bench.now);
        let mut alternatives = view.clients.into_iter().flat_map(|client| client.alternatives);
        alternatives.any(|entry| entry.server == 0 && matches!(entry.block, Block::Since(_)))
    };
    let end = bench.now + Duration::from_secs(60);
    let mut was_blocked = false;
    while bench.step(end) {
        was_blocked |= is_blocked(&bench);
    }
    assert!(was_blocked);
}
