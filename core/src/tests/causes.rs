//! Causes of outages in whole runs.

use std::sync::Arc;

use crate::report::Report;
use crate::run;
use crate::scenario::{Scenario, bundled};
use crate::sim::Options;

fn ran(name: &str) -> Report {
    let story = bundled().iter().find(|story| story.name == name).unwrap_or_else(|| panic!("{name} is bundled"));
    let scenario = Scenario::from_json(story.json).unwrap_or_else(|errors| panic!("{errors}"));
    run::run(&Arc::new(scenario), 1, Options::default(), &mut |_, _| {}, &mut |_| {})
}

/// All causes of outages of etcd, then of APIs.
fn causes(report: &Report) -> Vec<&str> {
    let etcd = report.etcd.values().flat_map(|etcd| &etcd.outages).map(|outage| &*outage.root_cause);
    let apis = report.api.values().flat_map(|api| &api.outages).map(|outage| &*outage.root_cause);
    etcd.chain(apis).collect()
}

#[test]
fn work_of_operators_that_ends_pods_is_a_cause() {
    let leaves = "etcd-main-0; leader etcd-main-0 transferred leadership; ";
    for (name, work) in
        [("rolling-maintenance", "the roll of seed-cpu-z1 evicted "), ("topology-hints", "the rollout of etcd-main deleted ")]
    {
        let report = ran(name);
        let all = causes(&report);
        assert!(all.iter().any(|cause| cause.starts_with(&format!("{work}{leaves}"))), "{all:#?}");
        assert!(all.iter().all(|cause| !cause.contains("no active fault")), "{all:#?}");
    }
}

#[test]
fn every_outage_of_an_api_has_a_cause() {
    let report = ran("control-plane-migration");
    let all = causes(&report);
    assert!(all.iter().all(|cause| !cause.is_empty() && !cause.contains("no active fault")), "{all:#?}");
    let shop = &report.api["shoot--garden--shop"].outages;
    let moved = shop.iter().find(|outage| outage.root_cause.contains("the shoot migrates to seed wide")).expect("it was moved");
    assert!(
        moved.root_cause.contains("API server kube-apiserver-") && moved.root_cause.contains(" is ready after "),
        "{moved:?}"
    );
}
