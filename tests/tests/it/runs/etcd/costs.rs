//! What requests cost: a client's process and link, a member's cores.

use super::*;
use zonefall_core::ids::ClientId;
use zonefall_core::record::ClientRecord;
use zonefall_core::scenario::Client;
use zonefall_core::scenario::cost::{Process, RequestCost};

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// One client with so many requests under way, `requests` in all; ranges of one key are served where they arrive.
fn benchmark(connections: u32, requests: u64, bytes: u32) -> Scenario {
    let mut scenario = three_zones();
    let op = Op::Range { linearizable: false, keys: 1, key_bytes: 8, value_bytes: bytes };
    let load = Load::Closed { connections };
    scenario.clients = vec![Client { op, load, requests: Some(requests), ..client("benchmark", Target::Leader) }].into();
    scenario.etcd[CLUSTER].options.apply = Duration::ZERO;
    scenario
}

/// Latencies of all requests, and when the last was answered.
fn run_all(scenario: &Scenario) -> (Vec<Duration>, Time) {
    let (mut latencies, mut last) = (Vec::new(), Time::ZERO);
    let mut simulation = zonefall_core::sim::Simulation::new(Arc::new(scenario.clone()), 1, full());
    simulation.run_until(at(60), &mut |when, record| {
        if let Record::Client(ClientRecord::Request { latency, result: RequestResult::Ok, .. }) = record {
            latencies.push(*latency);
            last = when;
        }
    });
    (latencies, last)
}

#[test]
fn a_client_sends_as_many_requests_as_it_was_told_to() {
    for connections in [1, 7, 200] {
        let (latencies, _) = run_all(&benchmark(connections, 100, 256));
        assert_eq!(latencies.len(), 100, "on {connections} connections");
    }
    let mut open = benchmark(1, 5, 256);
    open.clients[ClientId(0)].load = puts(10).load;
    assert_eq!(run_all(&open).0.len(), 5);
}

/// Alone, a request meets each station idle: what it takes is the sum of them.
#[test]
fn a_single_request_takes_the_sum_of_its_costs() {
    let mut scenario = benchmark(1, 10, 256);
    let plain = run_all(&scenario).0[0];
    scenario.clients[ClientId(0)].process = Some(Process { per_request: us(60), per_mib: Duration::ZERO, rpc_overhead: us(100) });
    let cost = RequestCost { cores: 2, per_request: us(40), ..RequestCost::NONE };
    scenario.etcd[CLUSTER].options.cost = cost;
    let (latencies, _) = run_all(&scenario);
    assert!(latencies.iter().all(|latency| *latency == plain + us(60 + 100 * 2 + 40)), "{latencies:?}, {plain:?}");
    // A write waits between threads besides; a read does not.
    let put = Op::Put { key_bytes: 8, value_bytes: 256 };
    scenario.clients[ClientId(0)].op = put;
    let before = run_all(&scenario).0[0];
    scenario.etcd[CLUSTER].options.cost.write = us(80);
    assert_eq!(run_all(&scenario).0[0], before + us(80));
}

#[test]
fn the_scarcest_station_bounds_the_rate() {
    let rate = |scenario: &Scenario| {
        let (latencies, last) = run_all(scenario);
        latencies.len() as f64 / last.as_secs_f64()
    };
    let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 0.02, "{found} requests/s, not {wanted}");
    let mut scenario = benchmark(500, 20_000, 256);
    scenario.clients[ClientId(0)].process =
        Some(Process { per_request: us(50), per_mib: Duration::ZERO, rpc_overhead: Duration::ZERO });
    near(rate(&scenario), 20_000.0);
    scenario.etcd[CLUSTER].options.cost = RequestCost { cores: 2, per_request: us(200), ..RequestCost::NONE };
    near(rate(&scenario), 10_000.0);
    scenario.etcd[CLUSTER].options.cost.cores = 1;
    near(rate(&scenario), 5_000.0);
    // A core's time for each byte: a MiB takes 10 ms there.
    let mut large = benchmark(8, 400, 1 << 20);
    large.etcd[CLUSTER].options.cost = RequestCost { per_mib: us(6_000), per_mib_read: us(4_000), ..RequestCost::NONE };
    near(rate(&large), 100.0);
    // Connections of one process share its link; where a client has none, each has the whole path (the member's network card lets it).
    let mut large = benchmark(8, 4_000, 1 << 20);
    large.nodes[NodeId(0)].card_bytes_per_s = 1 << 40;
    assert!(rate(&large) > 3_500.0);
    large.clients[ClientId(0)].process =
        Some(Process { per_request: us(1), per_mib: Duration::ZERO, rpc_overhead: Duration::ZERO });
    // 1 GiB/s, of which headers take a share.
    near(rate(&large), 1_024.0 / 1.05);
    // Further keys of a range.
    let mut keys = benchmark(20, 2_000, 10);
    keys.clients[ClientId(0)].op = Op::Range { linearizable: false, keys: 1_001, key_bytes: 8, value_bytes: 10 };
    keys.etcd[CLUSTER].options.cost = RequestCost { cores: 2, per_key: us(4), ..RequestCost::NONE };
    near(rate(&keys), 500.0);
}

#[test]
fn requests_under_way_at_a_process_are_lost_with_it() {
    let mut scenario = benchmark(3, 1_000_000, 256);
    scenario.etcd[CLUSTER].options.cost = RequestCost { per_request: us(2_000), ..RequestCost::NONE };
    scenario.clients[ClientId(0)].stop = at(20);
    let leader = MemberId { cluster: EtcdId(0), index: 0 };
    let kill = Fault::ProcessKill(ProcessKill(FaultTarget::Named(leader)));
    scenario.faults = vec![PlannedFault { at: at(10), lasts: Some(Duration::from_secs(1)), fault: kill }];
    scenario.duration = Duration::from_secs(30);
    let report = check_modes(&scenario, 3);
    assert!(report.violations.is_empty());
}
