//! Values of load balancers: what a file says, and what the profile says where it does not.

use serde_json::json;

use super::access::{errors, file, scenario};
use super::*;
use crate::access::{
    AllUnhealthy, Alternatives, ApiAccess, Check, CheckKind, EndpointRules, Established, LoadBalancer, Loopback,
};
use crate::ids::{BalancerId, KubeClusterId, ZoneId};

#[test]
fn a_load_balancer_is_what_its_file_says() {
    let said = json!({
        "profile": "haproxy",
        "zones": ["c", "a"],
        "cross_zone": false,
        "check": {"kind": "readyz", "interval": "7s", "timeout": "3s", "rise": 4, "fall": 6, "first_rise": 9},
        "all_unhealthy": "open",
        "established": "silent",
        "loopback": "stays_on_host",
        "hop_latency": "1ms",
        "bandwidth": "8Mbit/s",
        "connection_limit": 2_000,
    });
    let mut raw = file(&said);
    raw["clusters"][0]["api_access"]["alternatives"] = json!("code");
    raw["clusters"][0]["api_access"]["endpoints"] = json!("text");
    raw["clusters"][0]["api_access"]["not_advertising"] = json!(["c-control-plane-1"]);
    raw["clusters"][0]["api_access"]["goaway_chance"] = json!("0.1%");
    let scenario = scenario(&raw);
    let expected = LoadBalancer {
        machines: Vec::new(),
        name: "api-int".to_owned(),
        zones: vec![ZoneId(2), ZoneId(0)],
        one_address: false,
        relays: true,
        cross_zone: false,
        check: Check {
            kind: CheckKind::Readyz,
            interval: Duration::from_secs(7),
            timeout: Duration::from_secs(3),
            rise: 4,
            fall: 6,
            first_rise: 9,
        },
        all_unhealthy: AllUnhealthy::Open,
        established: Established::Silent,
        loopback: Loopback::StaysOnHost,
        hop_latency: Duration::from_millis(1),
        bandwidth: Some(1_000_000),
        connection_limit: Some(2_000),
        is_charged: false,
    };
    assert_eq!(scenario.load_balancers.raw, [expected]);
    let access = ApiAccess {
        on_each_node: None,
        balancer: BalancerId(0),
        alternatives: Some(Alternatives::Code),
        alternatives_of_kubelets: Some(Alternatives::Code),
        endpoints: EndpointRules::Text,
        goaway_chance: 0.001,
    };
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    assert_eq!((cluster.access, &cluster.not_advertising[..]), (Some(access), &cluster.control_plane[1..2]));
    assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
}

#[test]
fn a_load_balancer_is_as_its_profile_where_its_file_says_nothing() {
    let s = Duration::from_secs;
    for (profile, check, cross_zone, all_unhealthy, established, loopback) in [
        ("aws_nlb", (30, 10, 5, 2, 1), false, AllUnhealthy::Open, Established::Reset, Loopback::Fails),
        ("gcp_passthrough", (5, 5, 2, 2, 2), true, AllUnhealthy::Open, Established::Kept, Loopback::StaysOnHost),
        ("azure_standard", (15, 15, 2, 2, 2), true, AllUnhealthy::Closed, Established::Kept, Loopback::Fails),
        ("haproxy", (2, 2, 2, 3, 2), true, AllUnhealthy::Closed, Established::Kept, Loopback::Works),
    ] {
        let scenario = scenario(&file(&json!({"profile": profile})));
        let LoadBalancer { zones, check: found, .. } = &scenario.load_balancers[BalancerId(0)];
        let (interval, timeout, rise, fall, first_rise) = check;
        let expected = Check { kind: CheckKind::Tcp, interval: s(interval), timeout: s(timeout), rise, fall, first_rise };
        assert_eq!(*found, expected, "{profile}");
        // Those of the control plane behind it.
        assert_eq!(*zones, [ZoneId(1), ZoneId(0)], "{profile}");
        let found = &scenario.load_balancers[BalancerId(0)];
        assert_eq!((found.cross_zone, found.all_unhealthy), (cross_zone, all_unhealthy), "{profile}");
        assert_eq!((found.established, found.loopback), (established, loopback), "{profile}");
        assert_eq!((found.bandwidth, found.connection_limit), (None, None), "{profile}");
        assert_eq!(found.is_charged, profile != "haproxy", "{profile}");
        assert_eq!(found.one_address, ["gcp_passthrough", "azure_standard"].contains(&profile), "{profile}");
        assert_eq!(found.relays, profile == "haproxy", "{profile}");
        let access = scenario.kube.clusters[KubeClusterId(0)].access.expect("it goes through a load balancer");
        assert_eq!(access.alternatives, None);
    }
    let mut without = file(&json!({}));
    let fields = without.as_object_mut().expect("an object");
    fields.shift_remove("load_balancers");
    fields["clusters"][0].as_object_mut().expect("a cluster").shift_remove("api_access");
    assert_eq!(scenario(&without).kube.clusters[KubeClusterId(0)].access, None);
}

#[test]
fn each_value_of_a_profile_has_a_source() {
    let rows = defaults();
    let row = |path: &str| rows.iter().find(|row| row.path == path).unwrap_or_else(|| panic!("{path}"));
    let interval = row("load_balancers[].check.interval");
    assert_eq!(interval.value, "aws_nlb 30s, gcp_passthrough 5s, azure_standard 15s, haproxy 2s");
    for path in ["cross_zone", "check.fall", "check.first_rise", "all_unhealthy", "established", "loopback", "hop_latency"] {
        let source = &row(&format!("load_balancers[].{path}")).source;
        assert_eq!(source.split("; ").count(), 4, "{path}: {source}");
    }
    assert!(interval.source.contains("azure_standard: Azure, Load Balancer health probes (not verified)"));
}

#[test]
fn mistakes_in_a_connection_limit_have_their_messages() {
    for (value, expected) in [
        (json!(1), ""),
        (json!(10_000_000), ""),
        (json!(0), "load_balancers[0].connection_limit: expected a whole number from 1 to 10000000; found 0"),
        (json!(10_000_001), "load_balancers[0].connection_limit: expected a whole number from 1 to 10000000; found 10000001"),
        (json!("none"), "load_balancers[0].connection_limit: expected a whole number from 1 to 10000000; found \"none\""),
    ] {
        assert_eq!(errors("/load_balancers/0/connection_limit", value.clone()), expected, "{value}");
    }
}
