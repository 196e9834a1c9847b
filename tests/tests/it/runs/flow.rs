//! Writes that flow: what they find where a disk is slow.

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::report::{EtcdReport, Report};
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Stepping};

/// A shoot that survives a zone, and a disk that is slow for 20 minutes under the leader of these.
fn slow(etcds: &[&str], more: &Value) -> Report {
    let slow = |etcd: &&str| json!({"at": "2m", "for": "20m", "kind": "disk_slow", "volume": {"leader_of": etcd}, "add": "4s"});
    let mut file = json!({
        "name": "slow", "duration": "25m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 6, "maximum": 12}],
        }],
        "shoots": [{"name": "s", "failure_tolerance": "zone"}],
        "faults": etcds.iter().map(slow).collect::<Vec<_>>(),
    });
    file.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    ran(&file)
}

fn ran(file: &Value) -> Report {
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run::run_checked(&scenario, 1, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    report
}

/// The API servers of a control plane write to each of its etcd clusters, whether their traffic is counted or not: a leader whose disk takes
/// 4 s is replaced once it has something to write, by kubelets and leases in seconds, and for events by a compaction at the latest.
#[test]
fn a_leader_with_a_slow_disk_is_replaced_wherever_api_servers_write() {
    let etcds = ["seed/etcd", "shoot--garden--s/etcd-main", "shoot--garden--s/etcd-events"];
    let report = slow(&etcds, &json!({}));
    for (name, within_s) in etcds.into_iter().zip([10.0, 10.0, 160.0]) {
        let EtcdReport { elections, leader_changes, .. } = &report.etcd[name];
        assert_eq!(*leader_changes, 1, "{name}: {elections:?}");
        let after = elections[0].to_s - 120.0;
        assert!(after < within_s, "{name}: after {after} s");
    }
}

/// A control plane whose users create 5 objects of 8 KiB each second; its etcd clusters have 6 MiB left.
fn filled(traffic: &str, stepping: Stepping, seed: u64) -> Report {
    let file = json!({
        "name": "filled", "duration": "15m", "traffic": traffic, "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 6, "maximum": 12}],
        }],
        "shoots": [{
            "name": "s", "failure_tolerance": "zone",
            "use": {"requests": [{"name": "create", "verb": "create", "rate": "5/s", "object": "8KiB"}]},
            "etcd": {"initial": {"database": "64MiB"}, "options": {"quota_backend_bytes": "70MiB"}},
        }],
        "operations": [
            {"at": "10m", "etcd": "shoot--garden--s/etcd-main", "compact": {}},
            {"at": "10m10s", "etcd": "shoot--garden--s/etcd-main", "disarm_alarm": {}},
        ],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run::run_checked(&scenario, seed, Options { stepping, ..Options::default() }, &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    report
}

/// What flows fills a database at the moment at which single requests do. What lives there stays after a compaction.
#[test]
fn what_flows_reaches_the_quota_as_requests_do() {
    const MAIN: &str = "shoot--garden--s/etcd-main";
    let report = filled("flows", Stepping::FastForward, 1);
    let [flows, requests] = [&report, &filled("requests", Stepping::FastForward, 1)].map(|report| report.etcd[MAIN].clone());
    let all = serde_json::to_string(&filled("flows", Stepping::EveryEvent, 1).etcd).expect("a report is JSON");
    assert_eq!(all, serde_json::to_string(&report.etcd).expect("a report is JSON"));
    for etcd in [&flows, &requests] {
        let from: Vec<f64> = etcd.alarms.iter().map(|alarm| alarm.from_s).collect();
        assert_eq!(from.len(), 2, "{:?}", etcd.alarms);
        // Free pages of what was superseded before are used first. Those that the compaction frees do not count.
        assert!((150.0..165.0).contains(&from[0]) && (610.0..612.0).contains(&from[1]), "{from:?}");
        assert!(etcd.members.iter().all(|member| member.database_bytes.abs_diff(70 << 20) < 20_000), "{:?}", etcd.members);
        let refused_s = 610.0 - from[0] + 900.0 - from[1];
        assert!((etcd.write_unavailable_s - refused_s).abs() < 1.0, "{} and {refused_s}", etcd.write_unavailable_s);
    }
    // Some 770 requests come at random, within 6 s of their mean in two of three runs: hence several.
    let from_s = |seed| filled("requests", Stepping::FastForward, seed).etcd[MAIN].alarms[0].from_s;
    let mean_s = (1..=10).map(from_s).sum::<f64>() / 10.0;
    assert!((flows.alarms[0].from_s - mean_s).abs() < 6.0, "{:?}, {mean_s}", flows.alarms);
    let api = &report.api["shoot--garden--s"].outages;
    assert!(api.iter().any(|outage| outage.root_cause.contains("exceeded its quota of 70 MiB; NOSPACE alarm")), "{api:?}");
}

/// Bytes of the database of etcd-events after a time, where a leader was asked to stop at 5 min, or not. 1,000 nodes make an event in 5 min each.
fn events_database(minutes: u64, stopped: bool, stepping: Stepping) -> u64 {
    const EVENTS: &str = "shoot--garden--s/etcd-events";
    let stop = json!({"at": "5m", "for": "10s", "kind": "graceful_stop", "member": {"leader_of": EVENTS}});
    let file = json!({
        "name": "events", "duration": format!("{minutes}m"), "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 6, "maximum": 12}],
        }],
        "shoots": [{"name": "s", "failure_tolerance": "zone", "use": {"nodes": 1_000}}],
        "faults": if stopped { vec![stop] } else { vec![] },
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run::run_checked(&scenario, 1, Options { stepping, ..Options::default() }, &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    let etcd = &report.etcd[EVENTS];
    assert_eq!(etcd.leader_changes, u64::from(stopped));
    etcd.members.iter().map(|member| member.database_bytes).max().expect("it has members")
}

/// A new leader extends the leases of all events by their hour: none is deleted meanwhile, and all are at its end.
#[test]
fn events_pile_up_for_an_hour_after_a_change_of_leader() {
    let database = |minutes, stopped| events_database(minutes, stopped, Stepping::FastForward);
    // Key, value and what the database needs for both.
    let an_hour = 3_600 * 1_000 / 300 * (55 + 700 + 64);
    let [usual, before, after] = [database(64, false), database(64, true), database(90, true)];
    let (more, most) = (before - usual, after - usual);
    // Those of up to ten minutes go where compactions had made room.
    assert!((an_hour * 45 / 60..an_hour).contains(&more), "{more} of {an_hour}");
    assert!((more..an_hour * 6 / 5).contains(&most), "{most} of {an_hour}");
    assert_eq!(events_database(70, true, Stepping::EveryEvent), database(70, true));
}

/// What is lost with a zone that is cut off, of a control plane with a pair: its API server there writes until it is told, and what the other
/// sends before it notices arrives nowhere.
#[test]
fn a_pair_loses_the_same_whether_writes_flow_or_are_requests() {
    let lost = |traffic: &str| {
        let report = ran(&json!({
            "name": "pair", "duration": "25m", "traffic": traffic, "prices": {"books": []},
            "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "parent"]}]},
            "seeds": [{
                "name": "seed", "zones": ["za", "zb"], "control_plane": {"zones": ["parent"]}, "allow_even_zones": true,
                "pools": [{"name": "cpu", "minimum": 6, "maximum": 12}],
            }],
            "shoots": [{
                "name": "s", "failure_tolerance": "zone", "etcd": {"mode": {"learner": {}}},
                "use": {"requests": [{"name": "update", "verb": "update", "rate": "40/s", "object": "4KiB"}]},
            }],
            "faults": [{"at": "12m", "for": "10m", "kind": "zone_partition", "zone": {"leader_of": "shoot--garden--s/etcd-main"}}],
        }));
        report.etcd["shoot--garden--s/etcd-main"].rpo.lost_entries as f64
    };
    let (flowing, requested) = (lost("flows"), lost("requests"));
    assert!(requested > 1_000.0 && (flowing / requested - 1.0).abs() < 0.02, "{flowing} {requested}");
}
