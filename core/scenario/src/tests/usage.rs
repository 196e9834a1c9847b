//! What asks the API of a shoot or of a cluster, and how much of it an API server takes at a time.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde_json::json;

use super::kube::landscape;
use super::*;
use crate::ids::KubeClusterId;
use crate::kube::fairness::request::ApiCall;
use crate::kube::usage::{Each, InFlight};
use crate::load::ApiServerClient;

/// A shoot with a `use`, in a world whose traffic is simulated so.
fn in_use(traffic: &str, usage: Value) -> Result<Scenario, String> {
    let mut raw = landscape(json!([{"name": "s", "seed": "seed", "failure_tolerance": "zone", "use": usage}]));
    raw["traffic"] = json!(traffic);
    Scenario::from_json(&raw.to_string()).map_err(|errors| errors.to_string())
}

/// What is wrong with one kind of requests.
fn check(requests: &Value, expected: &str) {
    let mut own = json!({"name": "r", "rate": "1/s"});
    own.as_object_mut().expect("fields").extend(requests.as_object().expect("fields").clone());
    let found = in_use("flows", json!({"requests": [own]})).err().unwrap_or_default();
    let expected = if expected.is_empty() { String::new() } else { format!("shoots[0].use.requests[0].{expected}") };
    assert_eq!(found, expected, "{requests}");
}

#[test]
fn requests_say_what_their_verb_knows() {
    let many = "expected `objects` only for a list: every other request is about one object; found 9";
    let told = "expected `watchers` only for writes: a get or list causes no watch events; found 2";
    for verb in ["get", "list"] {
        check(&json!({"verb": verb, "cached": true}), "");
        check(&json!({"verb": verb, "watchers": 2}), &format!("watchers: {told}"));
    }
    check(&json!({"verb": "list", "objects": 9, "selected": 9}), "");
    check(&json!({"verb": "list", "objects": 9, "selected": 10}), "selected: expected at most `objects`, 9; found 10");
    check(&json!({"verb": "list", "selected": 501}), "selected: expected at most `objects`, 500; found 501");
    check(&json!({"verb": "list", "object": "1MiB", "objects": 1_025}), "objects: expected lists of at most 1GiB; found 1025");
    for verb in ["create", "update", "patch", "delete"] {
        check(&json!({"verb": verb, "watchers": 2}), "");
        check(&json!({"verb": verb, "objects": 9}), &format!("objects: {many}"));
        check(&json!({"verb": verb, "selected": 1}), "selected: expected a selector only for a list; found a selector");
        check(
            &json!({"verb": verb, "cached": true}),
            "cached: expected `cached` only for a get or list: writes go to etcd; found true",
        );
    }
    check(&json!({"verb": "get", "objects": 9}), &format!("objects: {many}"));
}

/// A cluster without Gardener with a `use`, in a world whose traffic is simulated so.
fn cluster_in_use(traffic: &str, usage: Value) -> Result<Scenario, String> {
    let raw = json!({
        "name": "used", "duration": "1h", "traffic": traffic,
        "topology": {"regions": [{"name": "r", "zones": ["a", "b"]}]},
        "clusters": [{"name": "c", "zones": ["a", "b"], "pools": [{"name": "p", "minimum": 2, "maximum": 3}], "use": usage}],
    });
    Scenario::from_json(&raw.to_string()).map_err(|errors| errors.to_string())
}

#[test]
fn requests_of_a_cluster_are_sent_by_its_components() {
    let from = |name: &str| {
        let requests = json!({"name": "r", "verb": "get", "rate": "1/s", "from": name});
        cluster_in_use("flows", json!({"requests": [requests]})).err().unwrap_or_default()
    };
    for name in ["kube-controller-manager", "kube-scheduler"] {
        assert_eq!(from(name), "");
    }
    for name in ["machine-controller-manager", "gardener-resource-manager", "web", "kube_scheduler"] {
        let expected = "clusters[0].use.requests[0].from: expected a component of this control plane, or nothing; found";
        assert_eq!(from(name), format!("{expected} \"{name}\""));
    }
    assert_eq!(
        cluster_in_use("flows", json!({"inflight": {"writes": 7}})).unwrap_err(),
        "clusters[0].use.inflight: expected no limit, or \"traffic\": \"requests\": rates are never queued; found limits"
    );
    let limits = cluster_in_use("requests", json!({"inflight": {"writes": 7}})).expect("it is right");
    assert_eq!(limits.kube.clusters[KubeClusterId(0)].in_flight, InFlight { reads: 400, writes: 7 });
}

#[test]
fn kubelets_of_a_cluster_are_its_nodes_unless_the_file_counts_them() {
    let leases = |usage| {
        let scenario = cluster_in_use("requests", usage).expect("it is right");
        let requests = &scenario.kube.clusters[KubeClusterId(0)].requests;
        let own = requests.iter().find(|own| own.what == "kubelets renew node leases").expect("they do");
        assert_eq!(own.one_by_one, own.per_million_s);
        (own.each, own.per_million_s)
    };
    assert_eq!(leases(json!({})), (Each::Node, 100_000));
    assert_eq!(leases(json!({"nodes": 7})), (Each::Cluster, 700_000));
}

/// Each of its three API servers has a client for each kind of requests, and one that watches; without requests there is none.
#[test]
fn api_servers_of_a_cluster_are_clients_of_its_etcd() {
    let requests =
        json!([{"name": "r", "verb": "get", "rate": "1/s"}, {"name": "cached", "verb": "get", "rate": "1/s", "cached": true}]);
    let scenario = cluster_in_use("requests", json!({"idle": false, "requests": requests})).expect("it is right");
    let names: Vec<&str> = scenario.clients.iter().map(|client| client.name.as_str()).collect();
    let expected = |k: u32| [format!("c/kube-apiserver {k}: r"), format!("c/kube-apiserver {k}: watch")];
    assert_eq!(names.len(), 6);
    assert!((0..3).flat_map(expected).all(|name| names.contains(&name.as_str())), "{names:?}");
    assert!(scenario.clients.iter().all(|client| client.etcd == scenario.kube.clusters[KubeClusterId(0)].etcd));
    let idle = cluster_in_use("requests", json!({"idle": false})).expect("it is right");
    assert!(idle.clients.is_empty());
}

/// All that watch are where kube-controller-manager is.
#[test]
fn nobody_is_told_where_nobody_watches() {
    let of = |watchers: Value, listed: &[&str]| {
        let components: Vec<Value> = listed.iter().map(|name| json!({"name": name})).collect();
        let request = json!({"name": "r", "verb": "update", "rate": "1/s", "watchers": watchers});
        let usage = json!({"idle": false, "requests": [request]});
        let shoot = json!({"name": "s", "seed": "seed", "only_listed": true, "components": components, "use": usage});
        let scenario = Scenario::from_json(&landscape(json!([shoot])).to_string()).map_err(|errors| errors.to_string())?;
        Ok::<_, String>(scenario.kube.clusters.iter().flat_map(|cluster| &cluster.requests).map(|own| own.watchers).sum::<u32>())
    };
    let (with, without) = (["etcd-main", "kube-apiserver", "kube-controller-manager"], ["etcd-main", "kube-apiserver"]);
    assert_eq!([of(Value::Null, &with), of(json!(3), &with), of(json!(0), &with)], [Ok(1), Ok(3), Ok(0)]);
    assert_eq!([of(Value::Null, &without), of(json!(0), &without)], [Ok(0), Ok(0)]);
    let error = "shoots[0].use.requests[0].watchers: expected 0, or the component kube-controller-manager, which stands for all watchers; found 3";
    assert_eq!(of(json!(3), &without), Err(error.to_owned()));
}

#[test]
fn limits_of_requests_in_flight_are_for_requests() {
    let of = |usage| in_use("requests", usage).expect("it is right").kube.clusters[KubeClusterId(1)].in_flight;
    assert_eq!(of(json!({})), InFlight { reads: 400, writes: 200 });
    assert_eq!(of(json!({"inflight": {"writes": 7}})), InFlight { reads: 400, writes: 7 });
    assert_eq!(
        in_use("flows", json!({"inflight": {"writes": 7}})).unwrap_err(),
        "shoots[0].use.inflight: expected no limit, or \"traffic\": \"requests\": rates are never queued; found limits"
    );
}

#[test]
fn fairness_and_retries_are_for_requests_and_share_seats() {
    let of = |usage| {
        let scenario = in_use("requests", usage).expect("it is right");
        let cluster = &scenario.kube.clusters[KubeClusterId(1)];
        let retries: BTreeSet<u32> = cluster.requests.iter().map(|own| own.retries).collect();
        let limited = scenario.clients.iter().filter(|client| client.server.is_some_and(|part| part.limit.is_some())).count();
        let levels = cluster.fairness.as_ref().map(|flow_control| flow_control.levels().len());
        (levels, retries.into_iter().max(), limited > 0)
    };
    assert_eq!(of(json!({})), (None, Some(0), true));
    assert_eq!(of(json!({"fairness": "off", "retries": 10})), (None, Some(10), true));
    // A new cluster has 8 levels, and no other limit beside them.
    assert_eq!(of(json!({"fairness": "on"})), (Some(8), Some(0), false));
    assert_eq!(of(json!({"fairness": "kubernetes_endpoints"})), (Some(9), Some(0), false));
    let rates = |field: &str, found: &str| {
        format!("shoots[0].use.{field}: expected no limit, or \"traffic\": \"requests\": rates are never queued; found {found}")
    };
    for (traffic, usage, expected) in [
        ("flows", json!({"fairness": "on"}), rates("fairness", "Priority and Fairness")),
        ("flows", json!({"retries": 1}), rates("retries", "retries")),
        (
            "requests",
            json!({"fairness": "on", "inflight": {"reads": 0, "writes": 0}}),
            "shoots[0].use.inflight: expected `reads` and `writes` that add up to 1 at least: with `fairness` their sum is the number of seats; found 0".to_owned(),
        ),
    ] {
        assert_eq!(in_use(traffic, usage.clone()).unwrap_err(), expected, "{usage}");
    }
    for (usage, field) in [(json!({"fairness": "yes"}), "fairness"), (json!({"retries": 11}), "retries")] {
        let errors = in_use("requests", usage.clone()).expect_err("it is wrong");
        assert!(errors.contains(&format!("shoots[0].use.{field}: ")), "{usage}: {errors}");
    }
}

/// What flow schemas look at: the user is that of the component, or the one that is given.
#[test]
fn requests_have_the_user_of_their_component_unless_the_file_names_one() {
    let get = |name: &str, more: Value| {
        let mut own = json!({"name": name, "verb": "get", "rate": "1/s"});
        own.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        own
    };
    let requests = [
        get("plain", json!({})),
        get("component", json!({"from": "kube-scheduler"})),
        get("named", json!({"from": "kube-scheduler", "user": "system:serviceaccount:web:crawler", "resource": "endpoints"})),
    ];
    let scenario = cluster_in_use("requests", json!({"requests": requests})).expect("it is right");
    let requests = &scenario.kube.clusters[KubeClusterId(0)].requests;
    let call = |what: &str| {
        let ApiCall { user, users, verb, resource } = &requests.iter().find(|own| own.what == what).expect("it is there").call;
        (user.as_str(), *users, *verb, resource.name())
    };
    for (what, expected) in [
        ("plain", ("user", 1, "get", "configmaps")),
        ("component", ("system:kube-scheduler", 1, "get", "configmaps")),
        ("named", ("system:serviceaccount:web:crawler", 1, "get", "endpoints")),
        ("leaders renew", ("system:kube-controller-manager", 1, "update", "leases")),
        ("kubelets renew node leases", ("system:node:", 1, "update", "leases")),
    ] {
        assert_eq!(call(what), expected, "{what}");
    }
    let error = cluster_in_use("requests", json!({"requests": [get("r", json!({"user": ""}))]})).expect_err("it is wrong");
    assert!(error.contains("clusters[0].use.requests[0].user"), "{error}");
}

/// What a server does of itself, and watches, are not counted; 0 is no limit.
#[test]
fn what_others_ask_of_an_api_server_is_counted() {
    let scenario = in_use("requests", json!({"inflight": {"reads": 0, "writes": 7}})).expect("it is right");
    let limit = |what: &str| {
        let suffix = format!("kube-apiserver 2: {what}");
        let client = scenario.clients.iter().find(|client| client.name.ends_with(&suffix)).expect("it is asked");
        let ApiServerClient { server, limit, .. } = client.server.expect("it is a part of a server");
        assert_eq!(server, 2, "{what}");
        limit
    };
    let seven = NonZeroU32::new(7);
    let expected = [
        ("leaders renew", seven),
        ("kubelets renew node leases", seven),
        ("and look before", None),
        ("API servers renew their own leases", None),
        ("with a lease of etcd", None),
        ("watch", None),
    ];
    for (what, expected) in expected {
        assert_eq!(limit(what), expected, "{what}");
    }
}

/// Where traffic flows, a sample of the most frequent write and quorum read is asked one by one; otherwise all that etcd is asked.
#[test]
fn a_sample_is_asked_one_by_one() {
    let asked = |traffic| {
        let scenario = in_use(traffic, json!({})).expect("it is right");
        scenario.kube.clusters.into_iter().flat_map(|cluster| cluster.requests).collect::<Vec<_>>()
    };
    let flows = asked("flows");
    let sampled = flows.iter().filter(|own| own.one_by_one > 0).map(|own| (own.what.as_str(), own.one_by_one));
    let sampled: Vec<_> = sampled.collect();
    let reads = "other quorum reads: monitors, care controllers, admission";
    assert_eq!(sampled, [("leaders renew", 100_000), (reads, 100_000)], "one in 10 s");
    assert!(asked("requests").iter().all(|own| own.one_by_one == own.per_million_s));
}

#[test]
fn requests_have_names_of_their_own() {
    let twice = json!({"name": "r", "verb": "get", "rate": "1/s"});
    let found = in_use("flows", json!({"requests": [twice, twice]})).expect_err("twice the same name");
    assert_eq!(found, "shoots[0].use.requests[1].name: expected a name of its own; found \"r\"");
}

/// Each kind may send much; all together are counted in 64 bits.
#[test]
fn all_requests_together_are_bounded() {
    let of = |k: u32| json!({"name": format!("r{k}"), "verb": "list", "rate": "10000/s", "object": "1KiB", "objects": 1_000, "selected": 0});
    let usage = json!({"idle": false, "requests": (0..100).map(of).collect::<Vec<_>>()});
    let with = |count: u32, duration: &str| {
        let mut raw = landscape(json!([{"name": "s", "seed": "seed", "count": count, "use": usage}]));
        raw["duration"] = json!(duration);
        Scenario::from_json(&raw.to_string()).map(|_| ()).map_err(|errors| errors.to_string())
    };
    assert_eq!(with(1, "20h"), Ok(()));
    let error = with(20, "20h").expect_err("more than an exabyte");
    assert!(error.contains("expected fewer or smaller requests, or a shorter run: at most 1 EB in total"), "{error}");
}
