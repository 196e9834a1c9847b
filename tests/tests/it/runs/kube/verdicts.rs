//! What the verdict says of workloads that are in trouble.

use std::sync::Arc;

use serde_json::json;

use zonefall_core::run::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

#[test]
fn workloads_in_trouble_are_in_the_verdict() {
    let file = json!({
        "name": "trouble", "duration": "30m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [{
            "name": "c", "zones": ["za", "zb", "zc"],
            "pools": [{"name": "p", "minimum": 3, "maximum": 3, "machine": {"cpu": 4, "memory": "16GiB"}}],
            "workloads": [
                {"name": "db", "kind": "stateful_set", "replicas": 3, "cpu": 1, "quorum": true, "update": {"max_unavailable": 3},
                 "revisions": [{"never_ready": true}]},
                {"name": "wide", "kind": "deployment", "replicas": 2, "cpu": 5},
            ],
            "services": [{"name": "db", "pods": "app=db"}],
        }],
        "operations": [{"at": "5m", "roll_component": {"cluster": "c", "component": "db"}}],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run(&scenario, 1, Options::default(), &mut |_, _| {}, &mut |_| {});
    let pending = "0/6 nodes are available: 3 node(s) had untolerated taint(s), 3 Insufficient cpu";
    let expected = [
        &format!("2 of 2 pods of default/wide in c have no node: {pending}."),
        "No pod of Service db served for 25 min.",
        "db had no quorum for 25 min: StatefulSet controller deleted db-2 and db-1.",
        "The rollout of db to revision 1 was incomplete at the end, after 25 min: waits for db-0, db-1 and db-2 to be ready.",
        "While db was rolled out, as many requests failed as it gets in 25 min.",
    ];
    assert_eq!(report.headlines(), expected);
    assert!(report.verdict().starts_with(&expected.join("\n")), "{}", report.verdict());
}
