//! API access: the same outage with the load balancer alone and with alternative services.
#![expect(clippy::float_cmp, reason = "seconds of a report are exact")]

use std::sync::Arc;

use serde_json::{Value, json};

use super::world::at;
use zonefall_core::access::balancer::detection::{HealthCheck, TargetChange};
use zonefall_core::access::balancer::health::{Health, Thresholds};
use zonefall_core::access::record::{AccessRecord, ConnectionState};
use zonefall_core::ids::{BalancerId, KubeClusterId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::spec::leader_election::{Profile, Timings};
use zonefall_core::record::Record;
use zonefall_core::report::{AccessReport, ApiOutageReport, ClientOutageReport, Report};
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Stepping};

/// Three masters and three workers in three zones, whose clients know a load balancer.
fn cluster(alternatives: Value, profile: &str, faults: Value) -> Scenario {
    let file = json!({
        "name": "access", "duration": "20m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "load_balancers": [{"name": "api-int", "profile": profile}],
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"],
            "api_access": {"load_balancer": "api-int", "alternatives": alternatives},
            "pools": [{"name": "p", "minimum": 3, "maximum": 3}],
        }],
        "faults": faults,
    });
    Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The report, the same whether every event is simulated or not.
fn report(scenario: &Scenario, seed: u64) -> Report {
    recorded(scenario, seed).0
}

/// The report, and what happened between API servers and their clients.
fn recorded(scenario: &Scenario, seed: u64) -> (Report, Vec<(Time, AccessRecord)>) {
    let scenario = Arc::new(scenario.clone());
    let of = |stepping| {
        let mut records = Vec::new();
        let mut note = |at, record: &Record| {
            if let Record::Access(_, record) = record {
                records.push((at, *record));
            }
        };
        (run::run_checked(&scenario, seed, Options { stepping, ..Options::default() }, &mut note), records)
    };
    let ((fast, records), (full, _)) = (of(Stepping::FastForward), of(Stepping::EveryEvent));
    assert!(fast.violations.is_empty(), "{:?}", fast.violations);
    assert_eq!(fast.trace_hash, full.trace_hash, "seed {seed}");
    assert_eq!(fast.access, full.access, "seed {seed}");
    (fast, records)
}

fn outages(report: &Report) -> Vec<&ClientOutageReport> {
    report.access.iter().flat_map(|row| &row.outages).collect()
}

fn row<'a>(report: &'a Report, clients: &str) -> &'a AccessReport {
    report.access.iter().find(|row| row.clients == clients).unwrap_or_else(|| panic!("{clients} in {:?}", report.access))
}

const PARTITION: [&str; 3] = ["100s", "5m", "lb_partition"];

fn fault([at, lasts, kind]: [&str; 3]) -> Value {
    json!([{"at": at, "for": lasts, "kind": kind, "balancer": "api-int"}])
}

#[test]
fn nothing_happens_to_clients_while_nothing_is_broken() {
    for alternatives in [Value::Null, json!("text"), json!("code")] {
        let report = report(&cluster(alternatives, "haproxy", json!([])), 1);
        assert_eq!(outages(&report), Vec::<&ClientOutageReport>::new());
        assert_eq!(row(&report, "kubelets of workers").count, 3);
        assert_eq!(row(&report, "kubelets of control-plane hosts").count, 3);
        assert_eq!(row(&report, "kube-scheduler").count, 3);
        assert_eq!(report.access.iter().map(|row| row.connections).sum::<u64>(), 0);
    }
}

#[test]
fn clients_with_the_balancer_alone_are_down_as_long_as_it_is() {
    for seed in 0..5 {
        let report = report(&cluster(Value::Null, "haproxy", fault(PARTITION)), seed);
        // Two leaders lose their leases, and their next processes find nothing.
        let (next, all): (Vec<_>, Vec<_>) = outages(&report).into_iter().partition(|time| time.from_s > 100.0);
        for time in &next {
            assert!((120.0..125.0).contains(&time.from_s) && (400.0..411.0).contains(&time.to_s), "{time:?}");
            assert_eq!(time.cause, "it found no API server when it started (load balancer api-int cut off)");
        }
        let (lost, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|time| time.to_s < 115.0);
        assert_eq!((next.len(), lost.len(), all.len()), (2, 2, 10), "six kubelets and two components of three processes");
        for time in all {
            assert_eq!(time.from_s, 100.0);
            // The balancer was cut off from its targets, too, and refuses clients until two checks, 2 s apart, have succeeded. They ask
            // again at most 7 s later.
            assert!(time.completed && (400.0..411.0).contains(&time.to_s), "{time:?}");
            // Pinged 30 s after the last frame, closed 15 s later; the last frame is at most a period old.
            assert!((35.0..=45.0).contains(&time.silent_s), "{time:?}");
            assert!(time.cause.contains("through api-int fell silent (load balancer api-int cut off)"), "{}", time.cause);
        }
        assert!(report.nodes.iter().all(|node| node.ready == "True"), "{:?}", report.nodes);
    }
}

#[test]
fn warm_clients_with_alternatives_do_not_notice_that_the_balancer_is_cut() {
    for alternatives in ["text", "code"] {
        let report = report(&cluster(json!(alternatives), "haproxy", fault(PARTITION)), 2);
        assert_eq!(outages(&report), Vec::<&ClientOutageReport>::new(), "{alternatives}");
    }
}

#[test]
fn client_whose_server_crashes_is_with_another_at_once_and_without_a_list_after_the_checks() {
    let crash = json!([{"at": "100s", "for": "5m", "kind": "api_server_kill", "node": "c-control-plane-0"}]);
    for alternatives in ["text", "code"] {
        let report = report(&cluster(json!(alternatives), "haproxy", crash.clone()), 3);
        assert_eq!(outages(&report), Vec::<&ClientOutageReport>::new(), "{alternatives}: refusals cost no time");
    }
    // HAProxy's node of the zone may send them to the server that is gone until three checks, 2 s apart, have failed.
    let report = report(&cluster(Value::Null, "haproxy", crash), 3);
    for time in outages(&report) {
        assert!(time.from_s >= 100.0 && time.to_s < 110.0, "{time:?}");
    }
}

#[test]
fn cold_clients_fare_as_the_balancer_does() {
    // A worker boots while the balancer is cut off from everybody: it knows no other host.
    let faults = json!([
        {"at": "100s", "for": "10m", "kind": "lb_partition", "balancer": "api-int"},
        {"at": "150s", "for": "10s", "kind": "zone_power", "zone": "b"},
    ]);
    let report = report(&cluster(json!("text"), "haproxy", faults), 4);
    let worker = row(&report, "kubelets of workers");
    let cold: Vec<_> = worker.outages.iter().filter(|time| time.from_s > 160.0).collect();
    let [time] = cold[..] else { panic!("{:?}", worker.outages) };
    assert!((700.0..711.0).contains(&time.to_s), "{time:?}");
    assert!(time.cause.starts_with("it found no API server when it started"), "{}", time.cause);
}

#[test]
fn balancer_that_is_removed_takes_its_clients_connections_and_its_name() {
    let removed = fault(["100s", "5m", "lb_removed"]);
    let report_of = |alternatives: Value| report(&cluster(alternatives, "gcp_passthrough", removed.clone()), 5);
    for time in outages(&report_of(Value::Null)) {
        assert!(time.from_s == 100.0 && time.silent_s == 0.0 && (400.0..=407.0).contains(&time.to_s), "{time:?}");
    }
    assert_eq!(outages(&report_of(json!("text"))), Vec::<&ClientOutageReport>::new());
}

#[test]
fn alternative_that_falls_silent_costs_the_deadline_of_a_request() {
    // The workers' kubelets ask every 10 s and wait for 10 s; those on a path that is cut go on to the next alternative.
    let cut = json!([{"at": "100s", "for": "5m", "kind": "zone_partition", "zone": "a", "direction": "both"}]);
    let mut silent = 0;
    for seed in 0..5 {
        let report = report(&cluster(json!("text"), "haproxy", cut.clone()), seed);
        for time in outages(&report).into_iter().filter(|time| !time.client.contains("-z1-") && !time.client.contains("plane-0"))
        {
            assert!(time.completed && time.to_s <= 120.0, "seed {seed}: {time:?}");
            assert!(time.cause.contains("zone a cut off"), "seed {seed}: {}", time.cause);
            silent += 1;
        }
    }
    assert!(silent > 0, "some use the server in that zone");
}

/// Kubelets of 30 workers behind one address of `HAProxy`, which checks each API server every 2 s; the first server is asked to stop at 100 s
/// and has a shutdown delay of 70 s.
fn stopped(check: &str, seed: u64) -> (Report, Vec<(Time, AccessRecord)>) {
    recorded(&Scenario::from_json(&stopped_file(check).to_string()).unwrap_or_else(|errors| panic!("{errors}")), seed)
}

fn stopped_file(check: &str) -> Value {
    json!({
        "name": "stopped", "duration": "8m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "load_balancers": [{"name": "api-int", "profile": "haproxy", "zones": ["a"], "check": {"kind": check, "interval": "2s", "fall": 3}}],
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"],
            "api_servers": {"shutdown_delay": "70s"}, "api_access": {"load_balancer": "api-int"},
            "pools": [{"name": "p", "minimum": 30, "maximum": 30}],
        }],
        "faults": [{"at": "100s", "for": "132s", "kind": "api_server_stop", "node": "c-control-plane-0"}],
    })
}

/// When something happened to connections: between SIGTERM and the end of the shutdown delay, and just then.
fn connections_changed(records: &[(Time, AccessRecord)]) -> [usize; 2] {
    let of = |from: Time, to: Time| {
        let within = records.iter().filter(|(at, _)| (from..to).contains(at));
        within.filter(|(_, record)| matches!(record, AccessRecord::Client { .. })).count()
    };
    [of(at(100), at(170)), of(at(170), at(171))]
}

#[test]
fn orderly_stop_costs_a_reconnect_where_checks_request_readyz() {
    for seed in 0..3 {
        let (report, records) = stopped("readyz", seed);
        assert_eq!(outages(&report), Vec::<&ClientOutageReport>::new(), "seed {seed}");
        let [before, after] = connections_changed(&records);
        assert!(before == 0 && after > 0, "a third of the clients was connected to it: {before}, {after}");
    }
}

/// The same, but the host leaves the control plane at 100 s, and returns at `returns`.
fn left(returns: &str, seed: u64) -> (Report, Vec<(Time, AccessRecord)>) {
    let change = |at: &str, kind: &str| json!({"at": at, kind: {"cluster": "c", "node": "c-control-plane-0"}});
    let mut file = stopped_file("readyz");
    file.as_object_mut().expect("fields").remove("faults");
    file["operations"] = json!([change("100s", "remove_control_plane_node"), change(returns, "add_control_plane_node")]);
    recorded(&Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")), seed)
}

/// What became of the host as a target, and when.
fn target_0(records: &[(Time, AccessRecord)]) -> Vec<(f64, AccessRecord)> {
    let is_about =
        |fact: &AccessRecord| matches!(fact, AccessRecord::Registered { target: 0, .. } | AccessRecord::Target { target: 0, .. });
    records.iter().filter(|(_, fact)| is_about(fact)).map(|(at, fact)| (at.as_secs_f64(), *fact)).collect()
}

#[test]
fn host_that_leaves_the_control_plane_is_a_target_until_its_api_server_has_exited() {
    let balancer = BalancerId(0);
    let registered = |is_target| AccessRecord::Registered { balancer, target: 0, is_target };
    let found = |health| AccessRecord::Target { balancer, node: 0, target: 0, health };
    for seed in 0..3 {
        let (report, records) = left("6m", seed);
        assert_eq!(outages(&report), Vec::<&ClientOutageReport>::new(), "seed {seed}");
        let [unhealthy, gone, new, fails, healthy] = target_0(&records)[..] else { panic!("{:?}", target_0(&records)) };
        // SIGTERM; a shutdown delay of 70 s and 2 s to exit; back at 360 s, its API server runs 20 s later.
        assert!(unhealthy.1 == found(Health::Unhealthy) && (104.0..=106.0).contains(&unhealthy.0), "{unhealthy:?}");
        assert_eq!([gone, new], [(172.0, registered(false)), (360.0, registered(true))]);
        assert!(fails.1 == found(Health::Unhealthy) && (364.0..=366.0).contains(&fails.0), "{fails:?}");
        assert!(healthy.1 == found(Health::Healthy) && (380.0..=386.0).contains(&healthy.0), "{healthy:?}");
    }
}

#[test]
fn host_that_returns_before_its_api_server_has_exited_stays_a_target() {
    let (report, records) = left("110s", 1);
    assert_eq!(outages(&report), Vec::<&ClientOutageReport>::new());
    assert!(target_0(&records).iter().all(|(_, fact)| matches!(fact, AccessRecord::Target { .. })), "{:?}", target_0(&records));
    assert_eq!(target_0(&records).len(), 2, "unhealthy, and healthy again with the next process");
}

#[test]
fn clients_meet_the_closed_port_until_checks_of_the_port_have_failed_often_enough() {
    let check = HealthCheck {
        interval: Duration::from_secs(2),
        timeout: Duration::from_secs(2),
        thresholds: Thresholds { rise: 2, fall: 3, first_rise: 2 },
    };
    let noticed = |to_next| check.detection_time(to_next, TargetChange::Refuses);
    let mut affected = 0;
    for seed in 0..3 {
        let (report, records) = stopped("tcp", seed);
        assert_eq!(connections_changed(&records)[0], 0, "seed {seed}");
        let unhealthy = AccessRecord::Target { balancer: BalancerId(0), node: 0, target: 0, health: Health::Unhealthy };
        let found = records.iter().find(|(_, record)| *record == unhealthy).map(|(found, _)| *found).expect("the port is closed");
        let after = found.since(at(170));
        assert!((noticed(Duration::ZERO)..=noticed(check.interval)).contains(&after), "seed {seed}: {after:?}");
        // Clients dial again after 0.2 s, and twice as long after each refusal.
        let dials: Vec<f64> = (1..8).map(|k| 170.0 + 0.2 * f64::from((1 << k) - 1)).collect();
        let last = dials.iter().copied().find(|dial| *dial >= 170.0 + after.as_secs_f64()).expect("they go on dialling");
        for time in outages(&report) {
            assert!(time.completed && time.from_s == 170.0 && time.to_s < last + 0.02, "seed {seed}, {after:?}: {time:?}");
            assert!(dials.iter().any(|dial| (time.to_s - dial).abs() < 0.02), "seed {seed}: {time:?}");
            let stopped = "the API server on c-control-plane-0 received SIGTERM";
            assert!(time.cause.contains(stopped), "{}", time.cause);
            affected += 1;
        }
    }
    assert!(affected > 0, "a third of those that dial is sent to the closed port");
}

#[test]
fn leases_of_openshift_outlive_a_silent_minute_and_those_of_kubernetes_do_not() {
    let changes = |timings: Timings, time_out: bool, seed: u64| {
        let mut scenario = cluster(Value::Null, "haproxy", fault(["100s", "1m", "lb_partition"]));
        let timers = &mut scenario.kube.clusters[KubeClusterId(0)].timers;
        timers.renewals_time_out = time_out;
        Timings {
            lease_duration: timers.lease_duration,
            renew_deadline: timers.renew_deadline,
            retry_period: timers.retry_period,
        } = timings;
        report(&scenario, seed).api["c"].leases.iter().filter(|lease| lease.at_s > 0.0).count()
    };
    for (seed, time_out) in (0..6).zip([true, false].into_iter().cycle()) {
        let lost_and_taken = [Profile::Core, Profile::OpenShift].map(|profile| changes(profile.defaults(), time_out, seed));
        assert_eq!(lost_and_taken, [4, 0], "seed {seed}, {time_out}");
    }
}

/// The member of etcd beside a master's API server is down from 100 s to 400 s, and the server listens but is not ready.
fn unready(profile: &str, check: Value, established: Value, more: Vec<Value>, seed: u64) -> Report {
    let mut faults = vec![json!({"at": "100s", "for": "5m", "kind": "process_kill", "member": "c/etcd/etcd-1"})];
    faults.extend(more);
    let file = json!({
        "name": "unready", "duration": "12m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "load_balancers": [{"name": "api-int", "profile": profile, "cross_zone": true, "check": {"kind": check}, "established": established}],
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"],
            "api_access": {"load_balancer": "api-int"},
            "pools": [{"name": "p", "minimum": 30, "maximum": 30}],
        }],
        "faults": faults,
    });
    report(&Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")), seed)
}

#[test]
fn balancer_that_only_asks_for_the_port_leaves_a_third_of_the_clients_with_errors() {
    let (mut hit, mut all) = (0, 0);
    for seed in 0..6 {
        let report = unready("aws_nlb", json!("tcp"), json!("reset"), Vec::new(), seed);
        let workers = row(&report, "kubelets of workers");
        (hit, all) = (hit + workers.affected, all + workers.count);
        for time in &workers.outages {
            assert!(time.from_s == 100.0 && (400.0..402.0).contains(&time.to_s), "{time:?}");
            assert!(time.cause.starts_with("etcd does not answer c-control-plane-1"), "{}", time.cause);
        }
        // With checks of `/readyz` and connections that are reset, the same clients are with another server after two checks.
        let checked = unready("aws_nlb", json!("readyz"), json!("reset"), Vec::new(), seed);
        let workers = row(&checked, "kubelets of workers");
        assert!(workers.outages.iter().all(|time| time.to_s <= 100.0 + 60.0), "{:?}", workers.outages);
        // The fault makes the one of the other.
        let fault = json!({"at": "90s", "kind": "lb_tcp_health_only", "balancer": "api-int"});
        let misled = unready("aws_nlb", json!("readyz"), json!("reset"), vec![fault], seed);
        assert!(row(&misled, "kubelets of workers").outages.iter().all(|time| time.to_s >= 400.0));
    }
    // Of 180 clients each with a third: the standard deviation is 6.3.
    assert!(all == 180 && (60_u64.abs_diff(hit)) <= 20, "{hit} of {all}");
}

/// Seconds without writes for clients at each vantage: zones a, b and c, then outside.
fn unavailable_at(report: &Report) -> [f64; 4] {
    let rows: Vec<(&str, f64)> = report.api["c"].vantages.iter().map(|row| (&*row.from, row.write_unavailable_s)).collect();
    let [("a", a), ("b", b), ("c", c), ("outside", outside)] = rows[..] else { panic!("{rows:?}") };
    [a, b, c, outside]
}

/// Outages of writes of new clients of at least so many seconds.
fn api_outages(report: &Report, at_least_s: f64) -> Vec<&ApiOutageReport> {
    let all =
        report.api["c"].outages.iter().inspect(|outage| assert!(!outage.root_cause.contains("no active fault"), "{outage:?}"));
    all.filter(|outage| outage.verb == "write" && outage.to_s - outage.from_s >= at_least_s).collect()
}

#[test]
fn new_clients_are_out_where_the_balancer_is_cut_off_from() {
    for alternatives in [Value::Null, json!("text")] {
        let cut = json!([{"at": "100s", "for": "5m", "kind": "lb_partition", "balancer": "api-int", "from": ["b"]}]);
        let report = report(&cluster(alternatives, "haproxy", cut), 1);
        let [a, b, c, outside] = unavailable_at(&report);
        assert!((300.0..302.0).contains(&b), "{b}");
        // The server there is silent for a third of the others until three checks, 2 s apart, have failed.
        assert!([a, c, outside].iter().all(|s| (1.0..4.0).contains(s)), "{a}, {c}, {outside}");
        let [outage] = api_outages(&report, 20.0)[..] else { panic!("{:?}", report.api) };
        assert_eq!((outage.from_s, outage.to_s, outage.share), (100.0, 400.0, 1.0));
        assert!(outage.root_cause.starts_with("load balancer api-int cut off from b"), "{}", outage.root_cause);
        let verdict = report.verdict();
        assert!(
            verdict.contains("API reads and writes of new clients (through the load balancer) were unavailable"),
            "{verdict}"
        );
    }
}

#[test]
fn new_clients_are_out_while_the_balancer_is_cut_off_or_removed_whatever_running_ones_know() {
    let cut = report(&cluster(json!("text"), "haproxy", fault(PARTITION)), 2);
    let [outage] = api_outages(&cut, 20.0)[..] else { panic!("{:?}", cut.api) };
    // Its own checks have to succeed twice again.
    assert!(outage.from_s == 100.0 && (400.0..410.0).contains(&outage.to_s), "{outage:?}");
    assert!(outage.root_cause.starts_with("load balancer api-int cut off"), "{}", outage.root_cause);
    assert_eq!(outages(&cut), Vec::<&ClientOutageReport>::new());
    let removed = json!([{"at": "100s", "kind": "lb_removed", "balancer": "api-int"}]);
    let removed = report(&cluster(json!("text"), "haproxy", removed), 2);
    let [outage] = api_outages(&removed, 0.0)[..] else { panic!("{:?}", removed.api) };
    assert!(!outage.completed && outage.from_s == 100.0 && unavailable_at(&removed) == [1_100.0; 4], "{outage:?}");
    assert!(outage.root_cause.starts_with("load balancer api-int was removed"), "{}", outage.root_cause);
}

#[test]
fn balancer_that_only_asks_for_the_port_fails_a_third_of_new_clients() {
    for seed in 0..3 {
        let misled = unready("aws_nlb", json!("tcp"), json!("reset"), Vec::new(), seed);
        let [outage] = api_outages(&misled, 100.0)[..] else { panic!("{:?}", misled.api) };
        assert!(
            (299.0..302.0).contains(&(outage.to_s - outage.from_s)) && (outage.share - 1.0 / 3.0).abs() < 0.001,
            "{outage:?}"
        );
        assert!(unavailable_at(&misled).iter().all(|s| (99.0..105.0).contains(s)), "{:?}", unavailable_at(&misled));
        for clause in ["etcd-1 was killed", "API server on c-control-plane-1", "load balancer api-int sends new clients there"] {
            assert!(outage.root_cause.contains(clause), "{}", outage.root_cause);
        }
        // Checks of `/readyz` find out.
        let checked = unready("aws_nlb", json!("readyz"), json!("reset"), Vec::new(), seed);
        assert!(api_outages(&checked, 5.0).iter().all(|outage| outage.to_s <= 100.0 + 60.0), "{:?}", checked.api);
        assert!(unavailable_at(&checked).iter().all(|s| (1.0..25.0).contains(s)), "{:?}", unavailable_at(&checked));
        assert!(!checked.verdict().contains("stalled"), "{}", checked.verdict());
    }
}

#[test]
fn balancer_that_fails_open_sends_new_clients_to_servers_that_are_not_ready() {
    let kill = |member: u8| json!({"at": "100s", "for": "5m", "kind": "process_kill", "member": format!("c/etcd/etcd-{member}")});
    for profile in ["aws_nlb", "haproxy"] {
        let report = unready(profile, json!("readyz"), json!("kept"), vec![kill(0)], 1);
        // Without a majority nobody is answered, wherever the balancer sends clients to.
        assert!(unavailable_at(&report).iter().all(|s| (300.0..340.0).contains(s)), "{profile}: {:?}", unavailable_at(&report));
        assert!(!api_outages(&report, 100.0).is_empty(), "{profile}: {:?}", report.api);
    }
}

#[test]
fn cluster_without_a_balancer_is_judged_by_servers_that_are_ready() {
    let file = json!({
        "name": "without-balancer", "duration": "12m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "clusters": [{"name": "c", "zones": ["a", "b", "c"], "pools": [{"name": "p", "minimum": 3, "maximum": 3}]}],
        "faults": [{"at": "100s", "for": "5m", "kind": "process_kill", "member": "c/etcd/etcd-1"}],
    });
    let report = report(&Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")), 1);
    // Until three readiness probes, 10 s apart, have failed.
    assert!(unavailable_at(&report).iter().all(|s| *s <= 10.0 + 5.0), "{:?}", unavailable_at(&report));
    assert!(!report.verdict().contains("new clients"), "{}", report.verdict());
}

/// A master loses power at 100 s.
fn without_a_master(further: Value) -> Scenario {
    let mut faults = json!([{"at": "100s", "for": "15m", "kind": "node_crash", "node": "c-control-plane-2"}]);
    faults.as_array_mut().expect("a list").extend(further.as_array().cloned().unwrap_or_default());
    cluster(Value::Null, "haproxy", faults)
}

#[test]
fn component_that_starts_again_dials_and_waits_for_no_old_connection() {
    let scenario = without_a_master(json!([]));
    let mut restarts = 0;
    for seed in 0..12 {
        let (_, records) = recorded(&scenario, seed);
        for (place, (ended, stopped)) in records.iter().enumerate() {
            let AccessRecord::ClientStopped(stopped) = stopped else { continue };
            let opened = records[place..].iter().find_map(|(when, record)| match record {
                AccessRecord::Client { client, state: ConnectionState::Open { .. } } if client == stopped => Some(*when),
                _ => None,
            });
            // Those on the master itself come back with it.
            let Some(after) = opened.map(|opened| opened.since(*ended)).filter(|_| *ended > at(101)) else { continue };
            assert!((10..11).contains(&(after.as_nanos() / 1_000_000_000)), "seed {seed}: {after:?} after {ended:?}");
            restarts += 1;
        }
    }
    // Of two components a third has its connection with the master that is gone, and loses its lease.
    assert!(restarts >= 3, "{restarts}");
}

#[test]
fn causes_of_clients_name_what_their_connections_used() {
    let scenario = without_a_master(fault(["300s", "60s", "lb_partition"]));
    let mut named = 0;
    for seed in 0..4 {
        let report = report(&scenario, seed);
        let (before, after): (Vec<_>, Vec<_>) = outages(&report).into_iter().partition(|outage| outage.from_s < 300.0);
        assert!(before.iter().all(|outage| outage.cause.contains("c-control-plane-2")), "{before:?}");
        named += before.len();
        let of_balancer: Vec<_> = after.into_iter().filter(|outage| outage.from_s == 300.0).collect();
        assert!(of_balancer.len() >= 5, "seed {seed}: {of_balancer:?}");
        for outage in of_balancer {
            assert!(!outage.cause.contains("c-control-plane-2") && outage.cause.contains("api-int"), "seed {seed}: {outage:?}");
        }
    }
    // A third of the clients is connected with the master that is gone.
    assert!(named >= 4, "{named}");
}
