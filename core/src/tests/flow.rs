//! Writes that flow: what they find where a disk is slow.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::report::{EtcdReport, Report};
use crate::run;
use crate::scenario::Scenario;
use crate::sim::Options;

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
