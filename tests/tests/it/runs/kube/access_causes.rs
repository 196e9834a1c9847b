//! Causes that load balancers have in outages of clients and of APIs.

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::report::Report;
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

/// A cluster behind HAProxy in one zone, with these fields, `shutdown_delay` of its API servers, clients and faults.
fn report(balancer: &Value, shutdown_delay: &str, clients: Value, faults: Value) -> Report {
    let mut file = json!({
        "name": "causes", "duration": "20m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "load_balancers": [{"name": "api-int", "profile": "haproxy", "zones": ["a"]}],
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"],
            "api_access": {"load_balancer": "api-int"}, "api_servers": {"shutdown_delay": shutdown_delay}, "api_clients": clients,
            "pools": [{"name": "p", "minimum": 9, "maximum": 9}],
        }],
        "faults": faults,
    });
    file["load_balancers"][0].as_object_mut().unwrap().append(&mut balancer.as_object().unwrap().clone());
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    run::run_checked(&Arc::new(scenario), 1, Options::default(), &mut |_, _| {})
}

fn causes(report: &Report) -> Vec<&str> {
    report.access.iter().flat_map(|row| &row.outages).map(|outage| &*outage.cause).collect()
}

fn api_causes(report: &Report) -> Vec<&str> {
    report.api["c"].outages.iter().map(|outage| &*outage.root_cause).collect()
}

#[test]
fn what_a_load_balancer_adds_to_an_outage_is_named() {
    // It finds the servers healthy again long after they are ready, and refuses clients until then.
    let kill = |k: u8| json!({"at": "5m", "for": "2m", "kind": "api_server_kill", "node": format!("c-control-plane-{k}")});
    let slow = json!({"check": {"interval": "10s", "rise": 5}});
    let all = report(&slow, "0s", json!([]), json!([kill(0), kill(1), kill(2)]));
    let outage = &all.api["c"].outages[0];
    assert!(outage.to_s - outage.from_s > 150.0, "{outage:?}");
    assert!(
        outage.root_cause.contains("load balancer api-int finds ") && outage.root_cause.contains(" healthy again after 2."),
        "{outage:?}"
    );
    // A server that was asked to stop closes its connections long after that, when no fault is under way any more.
    let stop = json!([{"at": "5m", "for": "10s", "kind": "api_server_stop", "node": "c-control-plane-0"}]);
    let stopped = report(&json!({}), "6m", json!([]), stop);
    let found = causes(&stopped);
    assert!(!found.is_empty() && found.iter().all(|cause| cause.contains("it was asked to stop 6 min before")), "{found:?}");
    // A host whose packets to the load balancer stay there is out for as long as its own server.
    let stays = report(&json!({"loopback": "stays_on_host"}), "0s", json!([]), json!([kill(1)]));
    let found = causes(&stays);
    assert!(
        found.iter().any(|cause| cause.ends_with("; what hosts of the control plane send to api-int stays there")),
        "{found:?}"
    );
    // What waits after a throttle.
    let throttle = json!([{"at": "5m", "for": "5m", "kind": "lb_throttled", "balancer": "api-int", "bandwidth": "1MB/s"}]);
    let clients = json!([{"name": "op", "runs_on": "workers", "rate": "4/s", "timeout": "10s", "response": "100kB"}]);
    let throttled = report(&json!({"zones": ["a", "b"], "bandwidth": "10MB/s"}), "0s", clients, throttle);
    let found = api_causes(&throttled);
    assert!(found.iter().all(|cause| !cause.contains("no active fault")), "{found:?}");
    assert!(
        found.iter().any(|cause| cause.contains("responses wait at load balancer api-int, which was throttled until ")),
        "{found:?}"
    );
}
