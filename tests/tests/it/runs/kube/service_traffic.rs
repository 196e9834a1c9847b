//! Connections to endpoints of a zone that has lost power.

use serde_json::{Value, json};
use zonefall_core::scenario::Scenario;
use zonefall_core::simulate;

#[test]
fn connections_to_endpoints_that_a_service_still_lists_fail() {
    let text = include_str!("../../../../../scenarios/kube-proxy-cross-zone.json");
    let mut file: Value = serde_json::from_str(text).expect("it is JSON");
    file["faults"] = json!([{"kind": "zone_power", "zone": "za", "at": "10m", "for": "20m"}]);
    file["expect"] = json!([]);
    let report = simulate(Scenario::from_json(&file.to_string()).expect("a scenario"), 1);
    let row = |name: &str| {
        let traffic = report.service_traffic.iter().find(|row| row.service == name).expect("it has clients");
        (traffic, report.services.iter().find(|row| row.service == name).expect("it is a Service"))
    };
    // Four clients that are left open 40 connections per second; two of six endpoints are dead, and listed for so long.
    let (traffic, service) = row("even");
    assert!(service.stale_endpoints_s > 60.0, "{}", service.stale_endpoints_s);
    let failed = 40.0 / 6.0 * service.stale_endpoints_s;
    assert!((traffic.failed - failed).abs() < 1e-6 * failed, "{} of {failed}", traffic.failed);
    let served: f64 = traffic.zones.iter().map(|flow| flow.connections).sum();
    assert!((traffic.connections - served - traffic.refused - traffic.failed).abs() < 1e-3);
    // Nobody outside the zone is sent to it.
    assert!(row("even-zone").0.failed.abs() < f64::EPSILON);
}
