//! Load balancers, the clusters behind them, and their faults.

use serde_json::{Value, json};

use super::*;
use crate::ids::{BalancerId, NodeId, ZoneId};

/// A cluster with a control plane in `a` and `b`, behind this load balancer.
pub(super) fn file(balancer: &Value) -> Value {
    let mut lb = json!({"name": "api-int", "profile": "aws_nlb"});
    lb.as_object_mut().expect("an object").extend(balancer.as_object().expect("an object").clone());
    json!({
        "name": "plain",
        "duration": "1h",
        "topology": {
            "regions": [{"name": "r", "zones": ["a", "b", "c"]}],
            "nodes": [{"name": "bastion", "zone": "c"}],
        },
        "load_balancers": [lb],
        "clusters": [{
            "name": "c",
            "zones": ["a", "b", "c"],
            "control_plane": {"zones": ["b", "a"]},
            "api_access": {"load_balancer": "api-int"},
            "pools": [{"name": "p", "minimum": 3, "maximum": 3}],
        }],
    })
}

pub(super) fn scenario(raw: &Value) -> Scenario {
    Scenario::from_json(&raw.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The file with `value` at a JSON pointer (`-`: at the end of a list): all errors.
pub(super) fn errors(pointer: &str, value: Value) -> String {
    let mut raw = file(&json!({}));
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match raw.pointer_mut(parent).expect("a parent") {
        Value::Array(items) if key == "-" => items.push(value),
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        other => panic!("{other} has no {key}"),
    }
    Scenario::from_json(&raw.to_string()).err().map_or_else(String::new, |errors| errors.to_string())
}

/// Path and text of each warning.
fn warnings(raw: &Value) -> Vec<String> {
    scenario(raw).warnings.iter().filter(|warning| warning.path.starts_with("load")).map(ToString::to_string).collect()
}

#[test]
fn mistakes_in_load_balancers_have_their_messages() {
    for (pointer, value, expected) in [
        ("/title", json!("x"), ""),
        (
            "/clusters/0/api_access/load_balancer",
            json!("api-ext"),
            "clusters[0].api_access.load_balancer: expected the name of a load balancer: \"api-int\" (did you mean \"api-int\"?); found \"api-ext\"",
        ),
        (
            "/clusters/0/api_access",
            json!({"alternatives": "text"}),
            "clusters[0].api_access.load_balancer: expected a text; found nothing",
        ),
        (
            "/clusters/0/api_access/alternatives",
            json!("both"),
            "clusters[0].api_access.alternatives: expected `text`, `code`, `configured`, `custom_dialer` or `in_memory_dns`; found \"both\"",
        ),
        (
            "/clusters/0/api_access",
            json!({"load_balancer": "api-int", "alternatives": "text", "not_advertising": ["bastion"]}),
            "clusters[0].api_access.not_advertising[0]: expected a host of this cluster's control plane; found \"bastion\"",
        ),
        (
            "/clusters/-",
            json!({"name": "d", "zones": ["a"], "pools": [{"name": "p", "minimum": 1, "maximum": 1}], "api_access": {"load_balancer": "api-int"}}),
            "clusters[1].api_access.load_balancer: expected a load balancer of its own: this one is that of clusters[0] already; found \"api-int\" again",
        ),
        (
            "/load_balancers/-",
            json!({"name": "api-int", "profile": "haproxy"}),
            "load_balancers[1].name: expected a name that no other has: it already names a load balancer; found \"api-int\" again",
        ),
        (
            "/load_balancers/0/zones",
            json!(["a", "bb", "a"]),
            "load_balancers[0].zones[1]: expected the name of a zone: \"a\", \"b\" or \"c\" (did you mean \"b\"?); found \"bb\"\n\
             load_balancers[0].zones[2]: expected each zone once; found \"a\" again",
        ),
        (
            "/clusters/0/api_access",
            json!({"load_balancer": "api-int", "goaway_chance": "2.1%"}),
            "clusters[0].api_access.goaway_chance: expected a percentage such as \"1%\", at most 2%; found \"2.1%\"",
        ),
        (
            "/clusters/0/api_access",
            json!({"load_balancer": "api-int", "goaway_chance": 0.021}),
            "clusters[0].api_access.goaway_chance: expected a number from 0 to 0.02; found 0.021",
        ),
        (
            "/load_balancers/0/profile",
            json!("aws_elb"),
            "load_balancers[0].profile: expected `aws_nlb`, `gcp_passthrough`, `azure_standard` or `haproxy` (did you mean \"aws_nlb\"?); found \"aws_elb\"",
        ),
        (
            "/load_balancers/0/check",
            json!({"interval": "0s", "rise": 0, "fall": 0, "first_rise": 0}),
            "load_balancers[0].check.interval: expected a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\", from 1ms to 1h; found \"0s\"\n\
             load_balancers[0].check.rise: expected a whole number from 1 to 1000; found 0\n\
             load_balancers[0].check.fall: expected a whole number from 1 to 1000; found 0\n\
             load_balancers[0].check.first_rise: expected a whole number from 1 to 1000; found 0",
        ),
        (
            "/load_balancers/0/loopback",
            json!("iptables"),
            "load_balancers[0].loopback: expected `works`, `fails` or `stays_on_host`; found \"iptables\"",
        ),
        (
            "/load_balancers",
            (0..17)
                .map(|k| json!({"name": if k == 0 { "api-int".to_owned() } else { format!("lb-{k}") }, "profile": "haproxy"}))
                .collect(),
            "load_balancers: expected 0 to 16 of them; found an array of 17",
        ),
    ] {
        assert_eq!(errors(pointer, value), expected, "{pointer}");
    }
}

#[test]
fn what_is_probably_not_meant_of_a_load_balancer_is_a_warning() {
    assert_eq!(
        warnings(&file(&json!({"check": {"interval": "5s"}}))),
        [
            "load_balancers[0].check.timeout: expected at most the interval of 5s: with a longer timeout a check starts before the one before it has ended; found \"10s\""
        ]
    );
    assert_eq!(warnings(&file(&json!({"check": {"interval": "10s"}}))), [""; 0]);
    let mut silent = file(&json!({}));
    silent["clusters"][0]["api_access"]["not_advertising"] = json!(["c-control-plane-0"]);
    silent["clusters"][0]["api_servers"] = json!({"shutdown_delay": "0s"});
    let all: Vec<String> = scenario(&silent).warnings.iter().map(ToString::to_string).collect();
    let hosts = "clusters[0].api_access.not_advertising: expected none without `alternatives` of `text` or `code`: no API server advertises any; found hosts";
    assert!(all.iter().any(|warning| warning == hosts), "{all:?}");
    silent["clusters"][0]["api_access"]["alternatives"] = json!("text");
    let all: Vec<String> = scenario(&silent).warnings.iter().map(ToString::to_string).collect();
    let delay = "clusters[0].api_servers.shutdown_delay: expected a delay: with the rules `text` clients use a list for as long, that is not at all; found 0s";
    assert!(!all.iter().any(|warning| warning == hosts) && all.iter().any(|warning| warning == delay), "{all:?}");
    let mut unused = file(&json!({}));
    unused["load_balancers"].as_array_mut().expect("a list").push(json!({"name": "api-ext", "profile": "azure_standard"}));
    assert_eq!(
        warnings(&unused),
        [
            "load_balancers[1].name: expected a load balancer that the `api_access` or a client of a cluster names: this one has no targets; found \"api-ext\""
        ]
    );
    assert_eq!(scenario(&unused).load_balancers[BalancerId(1)].zones.len(), 3);
    let without = "load_balancers[0].zones: expected a zone with an API server, or `cross_zone`: none of its nodes has a target; found \"c\"";
    assert_eq!(warnings(&file(&json!({"zones": ["c"]}))), [without]);
    assert_eq!(warnings(&file(&json!({"zones": ["a", "c"]}))), [""; 0]);
    assert_eq!(warnings(&file(&json!({"zones": ["c"], "cross_zone": true}))), [""; 0]);
    let mut alone = file(&json!({"loopback": "fails"}));
    assert_eq!(warnings(&alone), [""; 0]);
    alone["clusters"][0]["control_plane"] = json!({"replicas": 1});
    let expected = "`works`, or more hosts of the control plane: programs on the only one never reach their API server";
    assert_eq!(warnings(&alone), [format!("load_balancers[0].loopback: expected {expected}; found \"fails\"")]);
}

#[test]
fn mistakes_in_faults_of_load_balancers_have_their_messages() {
    let host = "a host of the control plane of a cluster in `clusters`: no API server runs on another node itself";
    for kind in ["lb_down", "lb_partition", "lb_tcp_health_only", "lb_stale_targets", "lb_removed"] {
        let fault = |balancer: &str| json!([{"at": "1m", "kind": kind, "balancer": balancer}]);
        assert_eq!(errors("/faults", fault("api-int")), "", "{kind}");
        assert_eq!(
            errors("/faults", fault("api-in")),
            "faults[0].balancer: expected the name of a load balancer: \"api-int\" (did you mean \"api-int\"?); found \"api-in\"",
            "{kind}"
        );
    }
    let throttled =
        |bandwidth: &str| json!([{"at": "1m", "kind": "lb_throttled", "balancer": "api-int", "bandwidth": bandwidth}]);
    assert_eq!(errors("/faults", throttled("1kB/s")), "");
    assert_eq!(
        errors("/faults", throttled("1B/s")),
        "faults[0].bandwidth: expected a bandwidth with its unit, such as \"1Gbit/s\" or \"120MiB/s\", at least 1kB/s; found \"1B/s\""
    );
    let wrong = |target: &str, instead: &str| {
        errors(
            "/faults",
            json!([{"at": "1m", "kind": "lb_wrong_target", "balancer": "api-int", "target": target, "instead": instead}]),
        )
    };
    assert_eq!(wrong("c-control-plane-0", "bastion"), "");
    let behind = "faults[0].target: expected a host of the control plane behind this load balancer; found \"bastion\"";
    assert_eq!(wrong("bastion", "c-control-plane-0"), behind);
    assert_eq!(
        wrong("c-control-plane-0", "c-control-plane-0"),
        "faults[0].instead: expected another machine than the target; found \"c-control-plane-0\""
    );
    let cut = |from: Value| json!([{"at": "1m", "kind": "lb_partition", "balancer": "api-int", "from": from}]);
    assert_eq!(errors("/faults", cut(json!(["a", "bastion"]))), "");
    assert_eq!(
        errors("/faults", cut(json!(["bastian", "a", "a"]))),
        "faults[0].from[0]: expected the name of a zone or a node: \"a\", \"b\", \"c\", \"bastion\", \"c-control-plane-0\", \"c-control-plane-1\", \"c-control-plane-2\", \"c-p-z1-6b988-sn62n\", … (did you mean \"bastion\"?); found \"bastian\"\n\
         faults[0].from[2]: expected each place once; found \"a\" again"
    );
    for kind in ["api_server_kill", "api_server_stop"] {
        let of = |node: &str| json!([{"at": "1m", "kind": kind, "node": node}]);
        assert_eq!(errors("/faults", of("c-control-plane-2")), "", "{kind}");
        assert_eq!(errors("/faults", of("bastion")), format!("faults[0].node: expected {host}; found \"bastion\""), "{kind}");
        assert!(
            errors("/faults", of("c-control-plane-9")).starts_with("faults[0].node: expected the name of a node: "),
            "{kind}"
        );
    }
}

#[test]
fn hosts_join_and_leave_a_control_plane_one_after_another() {
    let change = |at: &str, kind: &str, node: &str| json!({"at": at, kind: {"cluster": "c", "node": node}});
    let add = |at: &str, node: &str| change(at, "add_control_plane_node", node);
    let remove = |at: &str, node: &str| change(at, "remove_control_plane_node", node);
    let host = |k: usize| format!("c-control-plane-{k}");
    let replaced = json!([remove("2m", "bastion"), add("1m", "bastion"), remove("1m", &host(0)), add("3m", &host(0))]);
    assert_eq!(errors("/operations", replaced), "");
    assert_eq!(
        errors("/operations", json!([add("1m", &host(0)), remove("2m", &host(1)), remove("3m", &host(1))])),
        "operations[0].add_control_plane_node.node: expected a node that is not in it at that time; found a host of the control plane\n\
         operations[2].remove_control_plane_node.node: expected one that is in it at that time; found a host that is not in the control plane"
    );
    let all: Vec<Value> = (0..3).map(|k| remove("1m", &host(k))).collect();
    assert_eq!(
        errors("/operations", json!(all)),
        "operations[2].remove_control_plane_node.node: expected one of several; found the last host of the control plane"
    );
    let unknown = errors("/operations", json!([remove("1m", "bastion"), add("1m", "c-p-z1-6b988-sn62n")]));
    assert_eq!(
        unknown,
        "operations[1].add_control_plane_node.node: expected a node of the topology, which is part of no cluster; found \"c-p-z1-6b988-sn62n\"\n\
         operations[0].remove_control_plane_node.node: expected the name of a host of this control plane: \"c-control-plane-0\", \"c-control-plane-1\", \"c-control-plane-2\" or \"c-p-z1-6b988-sn62n\"; found \"bastion\""
    );
}

#[test]
fn seed_has_no_shutdown_delay_because_nothing_stops_its_api_servers() {
    let seed = json!([{
        "name": "s", "zones": ["a"], "pools": [{"name": "p", "minimum": 1, "maximum": 1}],
        "api_servers": {"shutdown_delay": "70s"},
    }]);
    assert_eq!(
        errors("/seeds", seed),
        "seeds[0].api_servers.shutdown_delay: expected no delay: its API servers run on hosts, where nothing asks them to stop; found \"70s\""
    );
}

/// The faults of this file, with what they say of themselves.
#[test]
fn faults_of_load_balancers_say_what_happens() {
    let scenario = scenario(&file(&json!({})));
    let lb = BalancerId(0);
    let cut = |from: &[Place]| Fault::from(LbPartition { balancer: lb, from: from.to_vec() });
    let (a, bastion) = (Place::Zone(ZoneId(0)), Place::Node(NodeId(0)));
    let some = [Place::Zone(ZoneId(1)), Place::Zone(ZoneId(2)), bastion, Place::Node(NodeId(1)), Place::Node(NodeId(2))];
    for (fault, expected) in [
        (
            LbDown(lb).into(),
            ["load balancer api-int went down", "load balancer api-int still down", "load balancer api-int is up again"],
        ),
        (
            cut(&[]),
            ["load balancer api-int cut off", "load balancer api-int still cut off", "load balancer api-int is reachable again"],
        ),
        (
            cut(&[a, bastion]),
            [
                "load balancer api-int cut off from a and bastion",
                "load balancer api-int still cut off from a and bastion",
                "load balancer api-int is reachable again from a and bastion",
            ],
        ),
        (
            cut(&some),
            [
                "load balancer api-int cut off from 5 places",
                "load balancer api-int still cut off from 5 places",
                "load balancer api-int is reachable again from 5 places",
            ],
        ),
        (
            LbTcpHealthOnly(lb).into(),
            [
                "load balancer api-int checks TCP only",
                "load balancer api-int still checks TCP only",
                "load balancer api-int checks as configured again",
            ],
        ),
        (
            LbStaleTargets(lb).into(),
            [
                "load balancer api-int does not update the health of its targets",
                "load balancer api-int still does not update the health of its targets",
                "load balancer api-int updates the health of its targets again",
            ],
        ),
        (
            LbThrottled { balancer: lb, bytes_per_s: 250_000 }.into(),
            [
                "load balancer api-int was throttled to 2Mbit/s",
                "load balancer api-int still throttled to 2Mbit/s",
                "load balancer api-int is no longer throttled",
            ],
        ),
        (
            LbWrongTarget { balancer: lb, target: NodeId(1), instead: NodeId(0) }.into(),
            [
                "load balancer api-int has the address of bastion for the API server on c-control-plane-0",
                "load balancer api-int still has the address of bastion for the API server on c-control-plane-0",
                "load balancer api-int has the right address for the API server on c-control-plane-0 again",
            ],
        ),
        (
            LbRemoved(lb).into(),
            [
                "load balancer api-int was removed",
                "load balancer api-int still removed",
                "load balancer api-int was created again",
            ],
        ),
        (
            ApiServerKill(NodeId(1)).into(),
            [
                "the API server on c-control-plane-0 was killed",
                "the API server on c-control-plane-0 still stopped",
                "the API server on c-control-plane-0 is restarted",
            ],
        ),
        (
            ApiServerStop(NodeId(1)).into(),
            [
                "the API server on c-control-plane-0 received SIGTERM",
                "the API server on c-control-plane-0 has received SIGTERM",
                "the API server on c-control-plane-0 may run again",
            ],
        ),
    ] {
        let kind = fault.kind();
        assert_eq!([kind.began(&scenario), kind.ongoing(&scenario), kind.ended(&scenario)], expected);
        assert_eq!((fault.check(&scenario), kind.impact()), (Ok(()), Impact::Elsewhere));
        reads_back(&fault, &scenario);
    }
}

#[test]
fn what_is_offered_of_load_balancers_can_be_written_into_a_file() {
    let scenario = scenario(&file(&json!({})));
    let on = |hit| -> Vec<&str> {
        let all = offers(hit, &scenario).into_iter();
        all.inspect(|offer| reads_back(&offer.fault, &scenario)).map(|offer| offer.id).collect()
    };
    let of_balancer =
        ["lb-down", "lb-cut-off", "lb-cut-zone", "lb-tcp-only", "lb-stale", "lb-throttle", "lb-wrong-target", "lb-remove"];
    assert_eq!(on(Hit::Balancer(BalancerId(0))), of_balancer);
    let node = |name: &str| on(Hit::Node(FaultTarget::Named(scenario.node(name).expect("it is there"))));
    for offer in ["kill-api-server", "stop-api-server"] {
        assert!(node("c-control-plane-2").contains(&offer));
        assert!(!node("bastion").contains(&offer));
    }
}

#[test]
fn faults_of_what_is_not_there_are_refused() {
    let scenario = scenario(&file(&json!({})));
    let cut = |place| LbPartition { balancer: BalancerId(0), from: vec![place] }.into();
    let faults: [(Fault, &str); 6] = [
        (LbDown(BalancerId(1)).into(), "the scenario has no load balancer 1: it has 1, numbered from 0"),
        (cut(Place::Zone(ZoneId(3))), "the scenario has no zone 3: it has 3, numbered from 0"),
        (cut(Place::Node(NodeId(99))), "the scenario has no node 99"),
        (ApiServerKill(NodeId(99)).into(), "the scenario has no node 99"),
        (ApiServerKill(NodeId(0)).into(), "expected a host of the control plane"),
        (ApiServerStop(NodeId(0)).into(), "expected a host of the control plane"),
    ];
    for (fault, expected) in faults {
        let found = fault.check(&scenario).expect_err("it is not there");
        assert!(found.starts_with(expected), "{fault:?}: {found}");
    }
}

/// A fault is the same again after it was written into its file.
fn reads_back(fault: &Fault, of: &Scenario) {
    let mut raw = file(&json!({}));
    raw["faults"] = json!([{"at": "1s"}]);
    let fields = serde_json::to_value(fault.kind().raw(of)).expect("plain data");
    raw["faults"][0].as_object_mut().expect("a fault").extend(fields.as_object().expect("fields").clone());
    assert_eq!(scenario(&raw).faults[0].fault, *fault);
}
