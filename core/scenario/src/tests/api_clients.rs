//! Further clients of an API, and faults of load balancers that change nothing.

use serde_json::{Value, json};

use super::access::{errors, file, scenario};
use super::*;
use crate::access::{Alternatives, ApiClientSpec, LoadBalancer, RateLimit, ResponseSizes};
use crate::ids::{ApiClientId, BalancerId, KubeClusterId, NodeId};

#[test]
fn further_clients_are_what_their_file_says() {
    let mut raw = file(&json!({}));
    raw["clusters"][0]["api_access"]["alternatives"] = json!("text");
    raw["clusters"][0]["api_clients"] = json!([
        {"name": "operator", "rate": "2/s"},
        {
            "name": "must-gather",
            "nodes": ["bastion"],
            "rate": "20/s",
            "requests": 500,
            "response": "1MB",
            "response_sizes": "exponential",
            "timeout": "32s",
            "qps": "5/s",
            "burst": 7,
            "start": "6m",
            "alternatives": "none",
            "in_cluster_network": false,
        },
        {"name": "sdn", "rate": "1/min", "runs_on": "workers", "alternatives": "code"},
        {"name": "manager", "rate": "1/min", "runs_on": "control_plane"},
    ]);
    let scenario = scenario(&raw);
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    let [operator, gather, sdn, manager] = &cluster.api_clients.raw[..] else { panic!("four") };
    assert_eq!((operator.nodes.len(), sdn.nodes.len(), &manager.nodes), (6, 3, &cluster.control_plane));
    assert_eq!((operator.timeout, operator.limit, operator.response, operator.requests), (None, None, 2_048, None));
    let rules = [operator, sdn, manager].map(|client| client.alternatives);
    assert_eq!(rules, [Alternatives::Text, Alternatives::Code, Alternatives::Text].map(Some));
    let expected = ApiClientSpec {
        balancer: None,
        name: "must-gather".to_owned(),
        nodes: vec![NodeId(0)],
        start: Duration::from_secs(360),
        rate: Rate::per_second(20),
        requests: Some(500),
        response: 1_000_000,
        response_sizes: ResponseSizes::Exponential,
        timeout: Some(Duration::from_secs(32)),
        limit: Some(RateLimit { qps: Rate::per_second(5), burst: 7 }),
        alternatives: None,
        in_cluster_network: false,
    };
    assert_eq!(*gather, expected);
}

#[test]
fn clients_outside_the_cluster_network_get_no_list_where_that_is_said() {
    let mut raw = file(&json!({}));
    raw["clusters"][0]["api_access"]["alternatives"] = json!("text");
    let outside =
        |name, way| json!({"name": name, "nodes": ["bastion"], "rate": "1/s", "in_cluster_network": false, "alternatives": way});
    raw["clusters"][0]["api_clients"] =
        json!([{"name": "operator", "rate": "1/s"}, outside("ci", "text"), outside("configured", "configured")]);
    let ways = |raw: &Value| -> Vec<_> {
        let scenario = scenario(raw);
        scenario.kube.clusters[KubeClusterId(0)].api_clients.iter().map(|client| client.alternatives).collect()
    };
    let [text, configured] = [Alternatives::Text, Alternatives::Configured].map(Some);
    assert_eq!(ways(&raw), [text, text, configured]);
    raw["clusters"][0]["api_access"]["advertised_to"] = json!("cluster_network");
    assert_eq!(ways(&raw), [text, None, configured]);
    raw["clusters"][0]["api_access"]["alternatives"] = json!("configured");
    raw["clusters"][0]["api_clients"] = json!([]);
    let warnings: Vec<String> = scenario(&raw).warnings.iter().map(ToString::to_string).collect();
    let nobody = "clusters[0].api_access.advertised_to: expected none without `alternatives` of `text` or `code`: no API server advertises any; found clients";
    assert!(warnings.iter().any(|warning| warning == nobody), "{warnings:?}");
}

#[test]
fn mistakes_in_further_clients_have_their_messages() {
    let client = |fields: Value| {
        let mut client = json!({"name": "sdn", "rate": "1/s"});
        client.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        json!([client])
    };
    for (fields, expected) in [
        (json!({}), ""),
        (json!({"start": "1h"}), "start: expected a time before the end of the run (`duration`); found \"1h\""),
        (json!({"nodes": ["bastion"], "runs_on": "workers"}), "runs_on: expected one of the two; found a kind and `nodes`"),
        (json!({"nodes": ["bastion", "bastion"]}), "nodes[1]: expected each node once; found \"bastion\" again"),
        (
            json!({"rate": "0/s"}),
            "rate: expected a rate with its unit, such as \"100/s\" or \"6/min\", from 1/d to 1000/s; found \"0/s\"",
        ),
        (
            json!({"alternatives": "code"}),
            "alternatives: expected `none`, `configured`, `custom_dialer` or `in_memory_dns`: without `text` or `code` in `api_access` no API server advertises any; found rules of alternatives",
        ),
        (
            json!({"alternatives": "in_memory_dns", "dialer": "wrapped"}),
            "alternatives: expected a way that needs no dialer: this client has one already (`dialer`); found a way with a dialer of its own",
        ),
        (json!({"alternatives": "custom_dialer", "dialer": "wrapped"}), ""),
        (
            json!({"name": "kube-scheduler"}),
            "name: expected another name than that of a component, which is a client already; found \"kube-scheduler\"",
        ),
        (
            json!({"rate": "1000/s"}),
            "rate: expected at most 20000000 requests of its processes until the end of the run; found about 21600000",
        ),
        (json!({"alternatives": "configured"}), ""),
        (json!({"burst": 0}), "burst: expected a whole number from 1 to 10000; found 0"),
    ] {
        let path = if expected.is_empty() { "" } else { "clusters[0].api_clients[0]." };
        assert_eq!(errors("/clusters/0/api_clients", client(fields)), format!("{path}{expected}"));
    }
    let mut idle = file(&json!({}));
    for (fields, warned) in [(json!({"burst": 5}), true), (json!({"burst": 5, "qps": "1/s"}), false)] {
        idle["clusters"][0]["api_clients"] = client(fields);
        let expected = "clusters[0].api_clients[0].burst: expected none without `qps`: its rate has no limit; found 5";
        assert_eq!(scenario(&idle).warnings.iter().any(|warning| warning.to_string() == expected), warned);
    }
    let twice = json!([{"name": "sdn", "rate": "1/s"}, {"name": "sdn", "rate": "1/s"}]);
    assert_eq!(
        errors("/clusters/0/api_clients", twice),
        "clusters[0].api_clients[1].name: expected a name that no other has: it already names a client of this API; found \"sdn\" again"
    );
    let mut raw = file(&json!({}));
    raw["clusters"][0].as_object_mut().expect("a cluster").shift_remove("api_access");
    raw["clusters"][0]["api_clients"] = client(json!({}));
    let errors = Scenario::from_json(&raw.to_string()).expect_err("it has no access").to_string();
    assert_eq!(
        errors,
        "clusters[0].api_clients: expected none without `api_access`: it says how they reach the API; found clients"
    );
}

/// The file with a second load balancer `other`, whose fields are these, and these fields of `api_access` and of one further client.
fn with_another(other: &Value, access: &Value, client: &Value) -> Value {
    let extend = |value: &mut Value, fields: &Value| {
        value.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    };
    let mut raw = file(&json!({}));
    raw["load_balancers"].as_array_mut().expect("a list").push(json!({"name": "other", "profile": "haproxy"}));
    extend(&mut raw["load_balancers"][1], other);
    extend(&mut raw["clusters"][0]["api_access"], access);
    raw["clusters"][0]["api_clients"] = json!([{"name": "users", "rate": "1/s"}]);
    extend(&mut raw["clusters"][0]["api_clients"][0], client);
    raw
}

#[test]
fn cluster_may_have_several_load_balancers() {
    let of_users = with_another(&json!({"profile": "aws_nlb"}), &json!({}), &json!({"load_balancer": "other"}));
    let scenario = scenario(&of_users);
    let (other, cluster) = (BalancerId(1), &scenario.kube.clusters[KubeClusterId(0)]);
    assert_eq!(cluster.api_clients[ApiClientId(0)].balancer, Some(other));
    let balancers = &scenario.load_balancers;
    assert_eq!((&balancers[other].zones, balancers[other].is_charged), (&balancers[BalancerId(0)].zones, true));
    assert!(balancers.iter().all(|balancer| balancer.machines.is_empty()));
}

#[test]
fn load_balancer_on_each_node_is_on_all_nodes_and_costs_nothing() {
    let on_nodes = with_another(&json!({}), &json!({"load_balancer_on_each_node": "other"}), &json!({}));
    let scenario = scenario(&on_nodes);
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    let LoadBalancer { zones, machines, is_charged, .. } = &scenario.load_balancers[BalancerId(1)];
    assert_eq!(
        (cluster.access.and_then(|access| access.on_each_node), &zones[..], *is_charged),
        (Some(BalancerId(1)), &[][..], false)
    );
    assert_eq!(machines[..cluster.control_plane.len()], cluster.control_plane);
    let workers = cluster.nodes.iter().map(|node| node.node).filter(|node| !cluster.control_plane.contains(node));
    assert_eq!(machines[cluster.control_plane.len()..], workers.collect::<Vec<_>>());
}

#[test]
fn mistakes_in_further_load_balancers_have_their_messages() {
    let on_nodes = json!({"load_balancer_on_each_node": "other"});
    let path = "clusters[0].api_access.load_balancer_on_each_node";
    let another = "expected a load balancer of its own: another field of this cluster names this one, too";
    for (raw, expected) in [
        (
            with_another(&json!({"zones": ["a"]}), &on_nodes, &json!({})),
            "load_balancers[1].zones: expected none: its nodes are those of the cluster (`load_balancer_on_each_node`); found zones".to_owned(),
        ),
        (
            with_another(&json!({"profile": "gcp_passthrough"}), &on_nodes, &json!({})),
            "load_balancers[1].profile: expected `haproxy`: a process on each node of the cluster is not one of a cloud provider; found \"gcp_passthrough\"".to_owned(),
        ),
        (with_another(&json!({}), &on_nodes, &json!({"load_balancer": "other"})), format!("{path}: {another}; found \"other\"")),
        (
            with_another(&json!({}), &json!({"load_balancer_on_each_node": "api-int"}), &json!({})),
            format!("{path}: {another}; found \"api-int\""),
        ),
    ] {
        let errors = Scenario::from_json(&raw.to_string()).expect_err("it is wrong").to_string();
        assert_eq!(errors, expected);
    }
}

#[test]
fn client_with_a_dialer_of_its_own_takes_no_other() {
    use Alternatives::{Code, CustomDialer, InMemoryDns};
    let kubelets = |way: &str, dialer: Value| {
        let mut raw = file(&json!({}));
        raw["clusters"][0]["api_access"]["alternatives"] = json!(way);
        raw["clusters"][0]["api_access"]["kubelet_dialer"] = dialer;
        scenario(&raw).kube.clusters[KubeClusterId(0)].access.and_then(|access| access.alternatives_of_kubelets)
    };
    let of_client = |way: &str, dialer: &str| {
        let mut raw = file(&json!({}));
        raw["clusters"][0]["api_clients"] = json!([{"name": "sdn", "rate": "1/s", "dialer": dialer}]);
        raw["clusters"][0]["api_access"]["alternatives"] = json!(way);
        scenario(&raw).kube.clusters[KubeClusterId(0)].api_clients[ApiClientId(0)].alternatives
    };
    for (way, dialer, expected) in [
        ("code", "exclusive", Some(Code)),
        ("custom_dialer", "none", Some(CustomDialer)),
        ("custom_dialer", "wrapped", Some(CustomDialer)),
        ("custom_dialer", "exclusive", None),
        ("in_memory_dns", "none", Some(InMemoryDns)),
        ("in_memory_dns", "wrapped", None),
        ("in_memory_dns", "exclusive", None),
    ] {
        assert_eq!(kubelets(way, json!(dialer)), expected, "{way}, {dialer}");
        assert_eq!(of_client(way, dialer), expected, "{way}, {dialer}");
    }
    assert_eq!(kubelets("in_memory_dns", Value::Null), None, "kubelets have a dialer");
    assert_eq!(kubelets("custom_dialer", Value::Null), Some(CustomDialer), "which is wrapped");
}

#[test]
fn faults_of_load_balancers_that_change_nothing_are_warned_of() {
    let users = || json!([{"name": "users", "rate": "1/s"}]);
    let warned = |clients: Value, balancer: Value, fault: Value| -> Vec<String> {
        let mut file = file(&balancer);
        file["faults"] = json!([{"at": "1m", "for": "1m", "balancer": "api-int"}]);
        file["clusters"][0]["api_clients"] = clients.clone();
        file["faults"][0].as_object_mut().expect("an object").append(&mut fault.as_object().expect("an object").clone());
        scenario(&file).warnings.iter().filter(|warning| warning.path.starts_with("faults")).map(ToString::to_string).collect()
    };
    let tcp = json!({"kind": "lb_tcp_health_only"});
    assert_eq!(
        warned(users(), json!({"check": {"kind": "tcp"}}), tcp.clone()),
        [
            "faults[0].balancer: expected a load balancer whose `check` is `readyz`: this one only tests the port anyway; found \"api-int\""
        ]
    );
    assert_eq!(warned(users(), json!({"check": {"kind": "readyz"}}), tcp), [""; 0]);
    let throttled = |bandwidth: &str| json!({"kind": "lb_throttled", "bandwidth": bandwidth});
    assert_eq!(
        warned(users(), json!({"bandwidth": "1MB/s"}), throttled("10MB/s")),
        ["faults[0].bandwidth: expected less than the load balancer's own 1MB/s; found \"10MB/s\""]
    );
    assert_eq!(warned(users(), json!({"bandwidth": "1MB/s"}), throttled("100kB/s")), [""; 0]);
    assert_eq!(warned(users(), json!({}), throttled("10MB/s")), [""; 0]);
    let none = [
        "faults[0].balancer: expected a load balancer that `api_clients` go through: kubelets and components do not fill its queue; found one without such clients",
    ];
    assert_eq!(warned(json!([]), json!({}), throttled("10MB/s")), none);
}

#[test]
fn ways_that_no_client_goes_are_warned_of() {
    let warned = |access: Value, client: Value| -> Vec<String> {
        let raw = with_another(&json!({}), &access, &client);
        let all = scenario(&raw).warnings;
        all.iter().filter(|warning| warning.path.starts_with("clusters")).map(|warning| warning.path.clone()).collect()
    };
    let endpoints = "clusters[0].api_access.endpoints";
    assert_eq!(warned(json!({"endpoints": "text"}), json!({})), [endpoints]);
    assert_eq!(warned(json!({"endpoints": "text", "alternatives": "configured"}), json!({})), [endpoints]);
    assert_eq!(warned(json!({"endpoints": "text"}), json!({"alternatives": "custom_dialer"})), [""; 0]);
    assert_eq!(warned(json!({"endpoints": "text", "alternatives": "code"}), json!({})), [""; 0]);
    let kubelets = "clusters[0].api_access.kubelet_dialer";
    assert_eq!(warned(json!({"kubelet_dialer": "wrapped", "alternatives": "text"}), json!({})), [kubelets]);
    assert_eq!(warned(json!({"kubelet_dialer": "none", "alternatives": "in_memory_dns"}), json!({})), [""; 0]);
    assert_eq!(warned(json!({}), json!({"dialer": "exclusive"})), ["clusters[0].api_clients[0].dialer"]);
    assert_eq!(warned(json!({"alternatives": "custom_dialer"}), json!({"dialer": "wrapped"})), [""; 0]);
}

#[test]
fn hosts_that_do_not_advertise_are_named_once() {
    let mut raw = file(&json!({}));
    raw["clusters"][0]["api_access"]["alternatives"] = json!("text");
    let host = scenario(&raw).nodes[scenario(&raw).kube.clusters[KubeClusterId(0)].control_plane[0]].name.clone();
    raw["clusters"][0]["api_access"]["not_advertising"] = json!([host, host]);
    let errors = Scenario::from_json(&raw.to_string()).expect_err("it is wrong").to_string();
    let expected = format!("clusters[0].api_access.not_advertising[1]: expected each host once; found \"{host}\" again");
    assert_eq!(errors, expected);
}
