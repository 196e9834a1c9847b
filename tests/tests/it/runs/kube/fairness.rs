//! API servers with Priority and Fairness: requests of a greedy client wait in queues of their own, and those of others are let in.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::ids::KubeClusterId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::rule::fairness::seats::limits;
use zonefall_core::record::{ClientRecord, Delay, Record, RequestResult};
use zonefall_core::run;
use zonefall_core::scenario::{Op, Scenario};
use zonefall_core::sim::{Options, Simulation, Stepping};

/// A cluster with a `use`, whose requests are simulated one by one.
fn cluster(file: Value, usage: &Value) -> Arc<Scenario> {
    let mut raw = json!({
        "name": "fair", "traffic": "requests", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"], "api_to_etcd": "any", "timers": {"readiness_period": "1h"},
            "pools": [{"name": "p", "minimum": 3, "maximum": 3}],
            "use": usage,
        }],
    });
    raw.as_object_mut().expect("an object").extend(file.as_object().expect("an object").clone());
    Arc::new(Scenario::from_json(&raw.to_string()).unwrap_or_else(|errors| panic!("{errors}\n{raw}")))
}

/// All disks are slow for a minute, so that a write takes long, and a service account writes far more than servers can do then.
fn flooded(fairness: &str, retries: u32) -> Arc<Scenario> {
    let slow = |k: u8| json!({"at": "30s", "for": "60s", "kind": "disk_slow", "volume": format!("c/etcd-{k}"), "add": "300ms", "factor": 1});
    let update = |name, rate, user, resource| json!({"name": name, "verb": "update", "rate": rate, "user": user, "resource": resource, "watchers": 0});
    let requests = [
        update("flood", "150/s", "system:serviceaccount:default:crawler", "configmaps"),
        update("leader-leases", "1/s", "system:kube-controller-manager", "leases"),
        update("node-leases", "1/s", "system:node:worker", "leases"),
    ];
    let usage = json!({
        "idle": false, "inflight": {"reads": 20, "writes": 10}, "fairness": fairness, "retries": retries, "requests": requests,
    });
    cluster(json!({"duration": "2m", "faults": [slow(0), slow(1), slow(2)]}), &usage)
}

/// A request that ended: when, how long it took, and how.
type Ended = (Time, Duration, RequestResult);

/// What each kind of requests met, at all servers together, and how long requests waited for each of two things at most.
#[derive(Debug, Default, PartialEq)]
struct Met {
    ended: BTreeMap<String, Vec<Ended>>,
    longest: [Duration; 2],
}

impl Met {
    fn note(&mut self, at: Time, record: &Record, scenario: &Scenario) {
        match *record {
            Record::Client(ClientRecord::Request { client, op, latency, result, .. }) if op != Op::Watch => {
                let name = &scenario.client(client).name;
                let (_, what) = name.split_once(": ").expect("a part of an API server");
                self.ended.entry(what.to_owned()).or_default().push((at, latency, result));
            }
            Record::Client(ClientRecord::Delayed { by, wait, .. }) => {
                if let Some(place) = [Delay::Queue, Delay::RetryAfter].iter().position(|delay| *delay == by) {
                    self.longest[place] = self.longest[place].max(wait);
                }
            }
            _ => {}
        }
    }

    fn count(&self, what: &str, result: RequestResult) -> usize {
        self.ended[what].iter().filter(|(.., own)| *own == result).count()
    }
}

fn simulate(scenario: &Arc<Scenario>, seed: u64, stepping: Stepping) -> (Met, Simulation) {
    let mut met = Met::default();
    let mut simulation = Simulation::new(Arc::clone(scenario), seed, Options { stepping, ..Options::default() });
    simulation.run_until(Time::ZERO + scenario.duration, &mut |at, record| met.note(at, record, scenario));
    (met, simulation)
}

/// Leaders and kubelets write leases, which have priority levels of their own.
#[test]
fn greedy_service_account_keeps_no_lease_from_being_renewed() {
    const LEASES: [&str; 2] = ["leader-leases", "node-leases"];
    let met = |fairness| simulate(&flooded(fairness, 0), 1, Stepping::FastForward).0;
    let (without, with) = (met("off"), met("on"));
    for what in LEASES {
        let [rejected, answered] =
            [RequestResult::Rejected, RequestResult::Ok].map(|result| (without.count(what, result), with.count(what, result)));
        assert!(rejected.0 > 5, "{what}: the flood takes all places: {rejected:?}");
        assert_eq!(rejected.1, 0, "{what}");
        assert_eq!(answered.1, with.ended[what].len(), "{what}");
    }
    for met in [&without, &with] {
        assert!(met.count("flood", RequestResult::Rejected) > 1_000, "{:?}", met.count("flood", RequestResult::Rejected));
    }
    assert_eq!(without.longest, [Duration::ZERO; 2]);
    let [queue, retry_after] = with.longest;
    assert!(Duration::from_secs(1) < queue && queue <= Duration::from_secs(15) && retry_after == Duration::ZERO, "{with:?}");
}

/// Requests that were rejected come again, so that fewer of them fail, and later; each waits as long as its server has asked for.
#[test]
fn rejected_requests_are_repeated_after_the_time_that_the_server_asks_for() {
    let met = |fairness, retries| simulate(&flooded(fairness, retries), 1, Stepping::FastForward).0;
    for fairness in ["off", "on"] {
        let (once, again) = (met(fairness, 0), met(fairness, 10));
        let answered = [&once, &again].map(|met| met.count("flood", RequestResult::Ok));
        assert!(answered[1] > answered[0], "{fairness}: {answered:?}");
        let asked = if fairness == "on" {
            Duration::from_secs(2)..=Duration::from_secs(32)
        } else {
            Duration::from_secs(1)..=Duration::from_secs(1)
        };
        assert!(asked.contains(&again.longest[1]), "{fairness}: {:?}", again.longest);
        let longest = |met: &Met| met.ended["flood"].iter().map(|(_, latency, _)| *latency).max();
        assert!(longest(&again) > longest(&once), "{fairness}");
    }
}

#[test]
fn same_scenario_has_the_same_trace_however_it_is_stepped() {
    for retries in [0, 10] {
        let scenario = flooded("on", retries);
        let report = |stepping| run::run_checked(&scenario, 7, Options { stepping, ..Options::default() }, &mut |_, _| {});
        let [fast, again, full] = [Stepping::FastForward, Stepping::FastForward, Stepping::EveryEvent].map(report);
        assert!(fast.violations.is_empty(), "{:?}", fast.violations);
        assert_eq!((&fast.trace_hash, &fast.trace_hash), (&again.trace_hash, &full.trace_hash), "{retries} retries");
    }
}

/// A keyframe of a run whose requests wait goes on as the run does.
#[test]
fn clone_of_a_run_goes_on_as_the_run_does() {
    let scenario = flooded("on", 10);
    let mut simulation = Simulation::new(Arc::clone(&scenario), 3, Options::default());
    simulation.run_until(Time::ZERO + Duration::from_secs(60), &mut |_, _| {});
    let rest = |mut simulation: Simulation| {
        let mut met = Met::default();
        simulation.run_until(Time::ZERO + scenario.duration, &mut |at, record| met.note(at, record, &scenario));
        met
    };
    let clone = simulation.clone();
    assert_eq!(rest(simulation), rest(clone));
}

/// etcd has no quorum, and gives up on each request after 7 s. Requests of one level come faster than its seats are free, so that all its
/// seats are always taken: S of them start S / 7 requests in a second, whatever queues are like. Others are rejected when they have
/// waited for 15 s. S is what the level has and all that other levels, which want nothing, lend.
#[test]
fn level_that_is_overloaded_starts_as_many_requests_as_its_seats_allow() {
    const TIMEOUT: Duration = Duration::from_secs(7);
    const LONGEST_WAIT: Duration = Duration::from_secs(15);
    const RATE: u64 = 60;
    let kill = |k: u8| json!({"at": "1m", "for": "20m", "kind": "process_kill", "member": format!("c/etcd/etcd-{k}")});
    let reads = json!({"name": "reads", "verb": "get", "rate": format!("{RATE}/s")});
    let usage = json!({"idle": false, "inflight": {"reads": 40, "writes": 20}, "fairness": "on", "requests": [reads]});
    let scenario = cluster(json!({"duration": "20m", "faults": [kill(0), kill(1)]}), &usage);
    let spec = &scenario.kube.clusters[KubeClusterId(0)];
    let levels = spec.fairness.as_ref().expect("it is on").levels();
    let seats: u32 = limits(60, levels)
        .iter()
        .zip(levels)
        .map(|(limits, level)| if level.name == "global-default" { limits.nominal } else { limits.nominal - limits.min })
        .sum();
    let (met, _) = simulate(&scenario, 1, Stepping::FastForward);
    // Queues are full, and seats are lent: long after the beginning, and before the end.
    let [from, to] = [180, 1_170].map(|s| Time::ZERO + Duration::from_secs(s));
    let settled: Vec<&Ended> = met.ended["reads"].iter().filter(|(at, ..)| (from..to).contains(at)).collect();
    let timed_out: Vec<Duration> =
        settled.iter().filter(|(.., result)| *result == RequestResult::TimedOut).map(|(_, took, _)| *took).collect();
    let servers = 3.0;
    let expected = servers * f64::from(seats) * to.since(from).as_secs_f64() / TIMEOUT.as_secs_f64();
    let found = timed_out.len() as f64;
    assert!((found / expected - 1.0).abs() < 0.02, "{found} start on {seats} seats, expected {expected}");
    let offered = RATE as f64 * to.since(from).as_secs_f64();
    let rejected = settled.iter().filter(|(.., result)| *result == RequestResult::Rejected).count() as f64;
    assert!(((rejected + found) / offered - 1.0).abs() < 0.02, "{rejected} + {found} of {offered}");
    assert!(timed_out.iter().all(|took| (TIMEOUT..=TIMEOUT + LONGEST_WAIT).contains(took)));
    let waited: Vec<Duration> =
        settled.iter().filter(|(.., result)| *result == RequestResult::Rejected).map(|(_, took, _)| *took).collect();
    assert!(waited.iter().all(|took| *took <= LONGEST_WAIT) && waited.contains(&LONGEST_WAIT), "{:?}", waited.iter().max());
}

/// Reads of endpoints have seats of their own where the cluster's schemas say so.
#[test]
fn reads_of_endpoints_do_not_contend_with_others() {
    let rejected = |fairness: &str| {
        let kill = |k: u8| json!({"at": "1m", "for": "4m", "kind": "process_kill", "member": format!("c/etcd/etcd-{k}")});
        let read = |name, rate, resource| json!({"name": name, "verb": "get", "rate": rate, "resource": resource});
        let requests = [read("flood", "150/s", "configmaps"), read("endpoints", "0.5/s", "endpoints")];
        let usage = json!({"idle": false, "inflight": {"reads": 40, "writes": 20}, "fairness": fairness, "requests": requests});
        let (met, _) =
            simulate(&cluster(json!({"duration": "4m", "faults": [kill(0), kill(1)]}), &usage), 1, Stepping::FastForward);
        assert!(met.count("flood", RequestResult::Rejected) > 5_000, "{fairness}");
        met.count("endpoints", RequestResult::Rejected)
    };
    let [shared, own] = ["on", "kubernetes_endpoints"].map(rejected);
    assert!(shared > 50 && own == 0, "{shared} and {own} rejected");
}
