//! Connections to endpoints of Services: those of a zone that has lost power, and what those that leave their zone cost.

use serde_json::{Value, json};
use zonefall_core::report::ServiceTrafficReport;
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::text::dollars;
use zonefall_core::simulate;

use super::zone_aware::{cluster, report};

fn story() -> Value {
    serde_json::from_str(include_str!("../../../../../scenarios/kube-proxy-cross-zone.json")).expect("it is JSON")
}

#[test]
fn connections_to_endpoints_that_a_service_still_lists_fail() {
    let mut file = story();
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
    assert!((service.stale_s - service.stale_endpoints_s / 2.0).abs() < 1e-9, "both are dead at the same times: {service:?}");
    let failed = 40.0 / 6.0 * service.stale_endpoints_s;
    assert!((traffic.failed - failed).abs() < 1e-6 * failed, "{} of {failed}", traffic.failed);
    let served: f64 = traffic.zones.iter().map(|flow| flow.connections).sum();
    assert!((traffic.connections - served - traffic.refused - traffic.failed).abs() < 1e-3);
    // Nobody outside the zone is sent to it.
    assert!(row("even-zone").0.failed.abs() < f64::EPSILON);
}

#[test]
fn the_month_tells_of_services() {
    let report = simulate(Scenario::from_json(&story().to_string()).expect("a scenario"), 1);
    let sum: f64 = report.service_traffic.iter().map(|row| row.usd_per_month["aws"]).sum();
    let (month, expected) = (report.month(), format!(" Traffic of Services between zones adds {} (aws), ", dollars(sum)));
    assert!(month.as_ref().is_some_and(|month| month.contains(&expected)), "{month:?}");
}

/// US dollars in a month of 730 h for connections of 10 KiB that leave their zone: AWS charges 0.01 for a GB on each side, GCP 0.01 for a
/// GiB that leaves, Azure nothing.
fn by_hand(crossing_per_s: f64) -> [(&'static str, f64); 3] {
    let bytes = crossing_per_s * 10.0 * 1_024.0 * 730.0 * 3_600.0;
    [("aws", bytes / 1e9 * 0.02), ("gcp", bytes / f64::from(1 << 30) * 0.01), ("azure", 0.0)]
}

fn costs(traffic: &ServiceTrafficReport, crossing_per_s: f64) {
    for (provider, expected) in by_hand(crossing_per_s) {
        let found = traffic.usd_per_month[provider];
        // Pods take some seconds of the hour to start.
        assert!((found - expected).abs() <= 0.01 * expected, "{}, {provider}: {found} of {expected}", traffic.service);
    }
}

/// Clients and endpoints by zone: six clients open 10 connections/s each, and six pods serve them.
fn by_zone(clients: [u32; 3], endpoints: [u32; 3]) -> Value {
    let mut file = story();
    file["expect"] = json!([]);
    let workload = |tier: &str, zone: usize, replicas: u32| {
        let zone = ["za", "zb", "zc"][zone];
        json!({
            "name": format!("{tier}-{zone}"), "kind": "deployment", "replicas": replicas, "cpu": 0.2, "memory": "256MiB",
            "labels": format!("tier={tier}"), "node_affinity": [format!("topology.kubernetes.io/zone in ({zone})")],
        })
    };
    let of = |tier: &'static str, all: [u32; 3]| (0..3).map(move |zone| workload(tier, zone, all[zone]));
    file["clusters"][0]["workloads"] = of("clients", clients).chain(of("servers", endpoints)).collect();
    for service in file["clusters"][0]["services"].as_array_mut().expect("it has Services") {
        service["pods"] = json!("tier=servers");
        service["traffic"]["clients"] = json!("tier=clients");
    }
    file
}

/// The connections of `uneven`, of clients and endpoints that are even.
fn with_faults(faults: Value) -> ServiceTrafficReport {
    let mut file = by_zone([2, 2, 2], [2, 2, 2]);
    file["faults"] = faults;
    let report = simulate(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")), 1);
    report.service_traffic.into_iter().find(|row| row.service == "uneven").expect("it has clients")
}

fn is_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected, "{found} of {expected}");
}

#[test]
fn connections_fail_where_the_network_blocks_the_path_to_their_endpoint() {
    let opened = with_faults(json!([])).connections;
    for (fault, failed_per_s) in [
        // 20 connections/s of each zone, a third of them for the other.
        (json!({"kind": "link_partition", "between": ["za", "zb"]}), 40.0 / 3.0),
        (json!({"kind": "link_degraded", "between": ["za", "zb"], "loss": 1}), 40.0 / 3.0),
        // A third of those of two zones, and two thirds of those of the one that is cut off: its clients go on, too.
        (json!({"kind": "zone_partition", "zone": "zb"}), 80.0 / 3.0),
        (json!({"kind": "zone_partition", "zone": "zb", "direction": "out"}), 80.0 / 3.0),
    ] {
        let mut fault = fault;
        (fault["at"], fault["for"]) = (json!("10m"), json!("30s"));
        let traffic = with_faults(json!([fault]));
        is_close(traffic.failed, failed_per_s * 30.0);
        is_close(traffic.connections, opened);
    }
}

/// The kube-proxies of a zone that is cut off for long are not told which endpoints the API lists without it.
#[test]
fn clients_of_a_zone_that_is_cut_off_use_the_endpoints_beside_them() {
    let traffic = with_faults(json!([{"kind": "zone_partition", "zone": "zb", "at": "10m", "for": "50m"}]));
    let of =
        |from: &str, to: &str| traffic.zones.iter().find(|flow| flow.from == from && flow.to == to).expect("a flow").connections;
    // 50 min more than to the other zones.
    is_close(of("zb", "zb") - of("zb", "za"), 20.0 / 3.0 * 3_000.0);
}

fn is_charged(clients: [u32; 3], endpoints: [u32; 3]) {
    let file = by_zone(clients, endpoints);
    let report = simulate(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")), 1);
    let row = |name: &str| report.service_traffic.iter().find(|row| row.service == name).expect("it has clients");
    let pairs = || clients.into_iter().zip(endpoints).map(|(clients, own)| (10.0 * f64::from(clients), f64::from(own), own > 0));
    // Any endpoint is chosen alike.
    let crossing: f64 = pairs().map(|(opened, own, _)| opened * (1.0 - own / 6.0)).sum();
    let anywhere = row("uneven");
    assert!((anywhere.cross_zone_percent - 100.0 * crossing / 60.0).abs() < 0.1, "{}", anywhere.cross_zone_percent);
    costs(anywhere, crossing);
    // A zone that has endpoints keeps its connections; one that has none sends them anywhere.
    let homeless: f64 = pairs().filter(|(.., serves)| !serves).map(|(opened, ..)| opened).sum();
    costs(row("uneven-zone"), homeless);
    // The most that an endpoint has, of an even share of 10 connections/s.
    let own = pairs().filter(|(.., serves)| *serves).map(|(opened, own, _)| (opened / own + homeless / 6.0) / 10.0);
    let greatest = own.fold(0.0, f64::max);
    assert!((row("uneven-zone").greatest_load - greatest).abs() < 0.01, "{} of {greatest}", row("uneven-zone").greatest_load);
    // Connections from nodes without an endpoint are refused: none leaves its node.
    costs(row("uneven-local"), 0.0);
}

#[test]
fn connections_cost_what_each_provider_charges_for_those_that_leave_their_zone() {
    is_charged([2, 2, 2], [2, 2, 2]);
    is_charged([2, 2, 2], [1, 2, 3]);
    is_charged([1, 2, 3], [1, 2, 3]);
    is_charged([3, 2, 1], [1, 2, 3]);
    is_charged([1, 2, 3], [0, 2, 4]);
}

/// A node that has power again boots for a minute first, and its API has not noticed until then.
#[test]
fn pods_of_a_node_that_has_lost_power_serve_nobody_until_they_are_started_again() {
    let one = json!({
        "name": "one", "kind": "stateful_set", "replicas": 1, "cpu": 0.05, "start": "30s", "pods": [{"name": "one-0", "node": "za-1"}],
        "volume": "zonal",
    });
    let clients = json!({"name": "clients", "kind": "deployment", "replicas": 1, "cpu": 0.05, "node_affinity": ["topology.kubernetes.io/zone in (zb)"]});
    let service =
        json!({"name": "one", "pods": "app=one", "traffic": {"clients": "app=clients", "connections": "30/s", "bytes": "10KiB"}});
    let fields = json!({"workloads": [one, clients], "services": [service], "timers": {"boot": "1m"}});
    let crash = |seconds: &str| json!([{"kind": "node_crash", "node": "za-1", "at": "5m", "for": seconds}]);
    for (seconds, lost) in [("5s", 5.0), ("20s", 20.0), ("49s", 49.0)] {
        let report = report(cluster(1, fields.clone()), json!([]), crash(seconds), 1);
        let [component] = &report.components[..] else { panic!("{:?}", report.components) };
        // Until it is mounted it takes 2 s more.
        let least = lost + 60.0 + 30.0;
        let is_right = |found: f64| (least..least + 4.0).contains(&found);
        assert!(is_right(component.unavailable_s) && component.ready_s.is_some_and(is_right), "{seconds}: {component:?}");
        let (service, traffic) = (&report.services[0], &report.service_traffic[0]);
        assert!(is_right(service.unavailable_s), "{seconds}: {service:?}");
        // Until the Service no longer lists it, connections fail; then they are refused.
        let failed = service.stale_s * 30.0;
        assert!((traffic.failed + traffic.refused - service.unavailable_s * 30.0).abs() < 2.0, "{seconds}: {traffic:?}");
        assert!((traffic.failed - failed).abs() < 2.0, "{seconds}: {traffic:?}");
    }
}
