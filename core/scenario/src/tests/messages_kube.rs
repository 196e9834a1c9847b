//! Each mistake in a seed or shoot has its message.

use serde_json::{Value, json};

use super::kube::landscape;
use super::*;
use crate::ids::{EtcdId, KubeClusterId};

/// Puts `value` at a JSON pointer of a small landscape and compares all errors.
pub(super) fn check(pointer: &str, value: Value, expected: &str) {
    let shoot = json!({"name": "s", "seed": "seed", "failure_tolerance": "zone"});
    let mut raw = landscape(json!([shoot]));
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match raw.pointer_mut(parent).expect("a parent") {
        Value::Object(fields) if value.is_null() => drop(fields.shift_remove(key)),
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        Value::Array(items) if key == "-" => items.push(value),
        other => panic!("{other} has no {key}"),
    }
    let found = Scenario::from_json(&raw.to_string()).err().map_or_else(String::new, |errors| errors.to_string());
    assert_eq!(found, expected, "after a change of {pointer}");
}

#[test]
fn a_landscape_without_mistakes() {
    check("/title", json!("x"), "");
    check(
        "/seeds",
        json!([]),
        "etcd: expected an etcd cluster here, or a cluster in `clusters` or a seed in `seeds`, which have one; found nothing\n\
         shoots[0].seed: expected the name of a seed: nothing (there are none); found \"seed\"",
    );
}

#[test]
fn seeds() {
    check(
        "/seeds/0/zones",
        json!(["za", "zd", "za"]),
        "seeds[0].zones[1]: expected the name of a zone: \"parent\", \"za\", \"zb\" or \"zc\" (did you mean \"za\"?); found \"zd\"\n\
         seeds[0].zones[2]: expected each zone once; found \"za\" again",
    );
    check(
        "/seeds/0/zones",
        json!(["za", "zb"]),
        "seeds[0].zones: expected an odd number, so that losing one leaves a majority of them (GEP-20); or \"allow_even_zones\": true; found 2 zones",
    );
    check(
        "/seeds/0/control_plane",
        json!({"zones": ["parnet"], "initial": {"leader": "etcd-7"}}),
        "seeds[0].control_plane.zones[0]: expected the name of a zone: \"parent\", \"za\", \"zb\" or \"zc\" (did you mean \"parent\"?); found \"parnet\"\n\
         seeds[0].control_plane.initial.leader: expected the name of a member, \"etcd-0\", \"etcd-1\" or \"etcd-2\", or \"none\"; found \"etcd-7\"",
    );
    check(
        "/seeds/0/multi_zonal",
        json!(false),
        "shoots[0].seed: expected a seed that is multi-zonal: one with a pool without taints that has at least 3 nodes in an odd number of at least 3 zones (GEP-20, Hosting an HA Shoot Control Plane with zone Failure Tolerance); found \"seed\", for a shoot with failure tolerance zone",
    );
    check(
        "/seeds",
        json!([{
            "name": "seed", "zones": ["za", "zb"], "allow_even_zones": true, "multi_zonal": true,
            "pools": [{"name": "cpu", "minimum": 7, "maximum": 12}],
        }]),
        "seeds[0].multi_zonal: expected a pool without taints that has at least 3 nodes in an odd number of at least 3 zones (GEP-20, Hosting an HA Shoot Control Plane with zone Failure Tolerance); found true",
    );
    check(
        "/seeds/0/node_cidr",
        json!("10.0.0.0/22"),
        "seeds[0].node_cidr: expected a range for its 7 nodes: this one holds 4 of /24; found \"10.0.0.0/22\"",
    );
    check(
        "/seeds/0/node_cidr",
        json!("10.0.0.0"),
        "seeds[0].node_cidr: expected a range of IPv4 addresses such as \"10.242.0.0/16\"; found \"10.0.0.0\"",
    );
    check(
        "/seeds/0/api_servers",
        json!({"built_in_resources": 1}),
        "seeds[0].api_servers.built_in_resources: expected a whole number from 2 to 1000; found 1",
    );
    check("/seeds/0/node_prefix", json!(8), "seeds[0].node_prefix: expected at least the 16 bits of `node_cidr`; found 8");
    check(
        "/seeds/0/because",
        json!("so"),
        "seeds[0].source: expected the source: `published`, `inferred` or `assumed`; found nothing",
    );
    check(
        "/seeds/-",
        json!({"name": "seed", "zones": ["za"], "pools": [{"name": "p", "minimum": 1, "maximum": 1}]}),
        "seeds[1].name: expected a name that no other has: it already names a seed; found \"seed\" again",
    );
}

/// What a shoot that survives a zone says of a seed over two zones, or over one.
#[test]
fn zones_for_the_members_of_etcd() {
    let found = |zones: &[&str], etcd: Value| {
        let mut raw = landscape(json!([{"name": "s", "seed": "seed", "failure_tolerance": "zone", "etcd": etcd}]));
        raw["seeds"][0]["zones"] = json!(zones);
        raw["seeds"][0]["allow_even_zones"] = json!(true);
        Scenario::from_json(&raw.to_string()).err().map_or_else(String::new, |errors| errors.to_string())
    };
    let (two, one) = (&["za", "zb"], &["za"]);
    let pair = json!({"mode": {"hot_standby": {}}});
    assert_eq!(found(two, pair.clone()), "");
    assert_eq!(found(two, json!({"mode": {"learner": {}}})), "");
    assert_eq!(
        found(one, pair),
        "shoots[0].seed: expected a seed over two zones: one with a pool without taints that has at least 2 nodes in at least 2 zones (GEP-20, etcd Active-Passive Options); found \"seed\", for a shoot with failure tolerance zone",
    );
    let multi_zonal = "shoots[0].seed: expected a seed that is multi-zonal: one with a pool without taints that has at least 3 nodes in an odd number of at least 3 zones (GEP-20, Hosting an HA Shoot Control Plane with zone Failure Tolerance)";
    let told = "found \"seed\", for a shoot with failure tolerance zone";
    let mode = "or `etcd.mode` hot_standby or learner, whose two members need two zones (GEP-20, etcd Active-Passive Options)";
    assert_eq!(found(two, json!({})), format!("{multi_zonal}; {mode}; {told}"));
    assert_eq!(found(one, json!({})), format!("{multi_zonal}; {told}"));
}

#[test]
fn pools_and_nodes() {
    check("/seeds/0/pools/0/minimum", json!(13), "seeds[0].pools[0].minimum: expected at most `maximum`, 12; found 13");
    check(
        "/seeds/0/pools/0/zones",
        json!(["parent"]),
        "seeds[0].pools[0].zones[0]: expected one of the zones of its cluster: \"za\", \"zb\" or \"zc\"; found \"parent\"",
    );
    check(
        "/seeds/0/pools/-",
        json!({"name": "cpu", "minimum": 1, "maximum": 1}),
        "seeds[0].pools[1].name: expected a name that no other has: it already names a pool of this cluster; found \"cpu\" again",
    );
    check(
        "/seeds/0/pools/0/machine",
        json!({"cpu": 0.1}),
        "shoots[0]: expected a node in each of as many zones that they may run on, with free capacity: pools with a larger `minimum`, or larger machines; found \"etcd-main\", for whose 3 members there are no nodes",
    );
    check(
        "/seeds/0/pools/0/taints",
        json!([{"key": "x"}]),
        "shoots[0].seed: expected a seed that is multi-zonal: one with a pool without taints that has at least 3 nodes in an odd number of at least 3 zones (GEP-20, Hosting an HA Shoot Control Plane with zone Failure Tolerance); found \"seed\", for a shoot with failure tolerance zone",
    );
    let node =
        |name: &str, pool: &str, zone: &str, machine: &str| json!({"name": name, "pool": pool, "zone": zone, "machine": machine});
    check(
        "/seeds/0/nodes",
        json!([
            node("a", "cpu", "za", "seed-cpu-z1-66659-sf4wt"),
            node("b", "cpv", "zb", "seed-cpu-z2-66659-sf4wt"),
            node("c", "cpu", "parent", "seed-cpu-z3-66659-sf4wt"),
            node("d", "cpu", "zc", "seed-cpu-z1-66659-sf4wu"),
            node("a", "cpu", "za", "seed-cpu-z1-66659-sf4wt"),
        ]),
        "seeds[0].nodes[1].pool: expected the name of a pool of this cluster: \"cpu\" (did you mean \"cpu\"?); found \"cpv\"\n\
         seeds[0].nodes[2].zone: expected one of the zones of its pool: \"za\", \"zb\" or \"zc\"; found \"parent\"\n\
         seeds[0].nodes[3].machine: expected seed-cpu-z3-<5 letters>-<5 letters>, as the machine controller names a machine of this pool and zone; letters that Kubernetes draws: bcdfghjklmnpqrstvwxz2456789; found \"seed-cpu-z1-66659-sf4wu\"\n\
         seeds[0].nodes[4].machine: expected a name that no other has: it already names a machine of this cluster; found \"seed-cpu-z1-66659-sf4wt\" again\n\
         seeds[0].nodes[4].name: expected a name that no other has: it already names a node; found \"a\" again",
    );
    check(
        "/cloud",
        json!({"stock": [{"machine": "m5", "zone": "za", "count": 1}]}),
        "cloud.stock[0].machine: expected the name of a type of machine: nothing (there are none); found \"m5\"",
    );
}

#[test]
fn shoots() {
    check(
        "/shoots/0/seed",
        json!("sed"),
        "shoots[0].seed: expected the name of a seed: \"seed\" (did you mean \"seed\"?); found \"sed\"",
    );
    check("/seeds/0/allocatable_shoots", json!(1), "");
    check(
        "/seeds/0/allocatable_shoots",
        json!(0),
        "shoots[0].seed: expected a seed that takes another shoot: this one has `allocatable_shoots` 0; found \"seed\", for shoot \"s\": it has the maximum number of shoots scheduled on it",
    );
    check(
        "/shoots/-",
        json!({"name": "s"}),
        "shoots[1].name: expected a name that no other has: it already names a seed or the namespace of a shoot; found \"shoot--garden--s\" again",
    );
    check(
        "/shoots/-",
        json!({"name": "t", "namespace": "seed"}),
        "shoots[1].namespace: expected a name that no other has: it already names a seed or the namespace of a shoot; found \"seed\" again",
    );
    check(
        "/shoots/0/etcd",
        json!({"options": {"election_timeout": "100ms"}, "initial": {"leader": "etcd-main-3"}}),
        "shoots[0].etcd.options.election_timeout: expected at least 5 x heartbeat_interval, 500ms, as etcd itself demands; found \"100ms\"\n\
         shoots[0].etcd.initial.leader: expected the name of a member, \"etcd-main-0\", \"etcd-main-1\" or \"etcd-main-2\", or \"none\"; found \"etcd-main-3\"",
    );
    check(
        "/shoots/-",
        json!({"name": "x", "count": 2, "only_listed": true, "components": [{"name": "loki", "pods": [{"name": "loki-0", "node": "n"}]}]}),
        "shoots[1].count: expected 1: its `pods` are listed, and they belong to one shoot; found 2",
    );
    check(
        "/shoots/0/only_listed",
        json!(true),
        "shoots[0].components: expected etcd-main: every control plane has it; found no etcd-main\n\
         shoots[0].components: expected kube-apiserver: every control plane has it; found no kube-apiserver",
    );
}

#[test]
fn components() {
    let components = |value, expected| check("/shoots/0/components", value, expected);
    components(
        json!([{"name": "kube-apiservr", "pool": "cpv"}]),
        "shoots[0].components[0].kind: expected `deployment`, `stateful_set` or `daemon_set`: Gardener deploys no \"kube-apiservr\" (did you mean \"kube-apiserver\"?); found nothing\n\
         shoots[0].components[0].pool: expected the name of a pool of this cluster: \"cpu\" (did you mean \"cpu\"?); found \"cpv\"",
    );
    components(
        json!([{"name": "loki"}, {"name": "loki"}]),
        "shoots[0].components[1].name: expected a name that no other has: it already names a component; found \"loki\" again",
    );
    components(
        json!([{"name": "etcd-main", "replicas": 0}]),
        "shoots[0].components[0].replicas: expected 1 to 9 members; found 0",
    );
    components(
        json!([{"name": "kube-scheduler", "volume": "zonal"}]),
        "shoots[0].components[0].volume: expected none: only pods of a StatefulSet have one each; found a volume",
    );
}

#[test]
fn pods() {
    let mut raw = landscape(json!([{"name": "s", "seed": "seed", "failure_tolerance": "zone"}]));
    raw["seeds"][0]["nodes"] = json!([
        {"name": "a", "pool": "cpu", "zone": "za"}, {"name": "b", "pool": "cpu", "zone": "zb"}, {"name": "c", "pool": "cpu", "zone": "zc"},
        {"name": "d", "pool": "etcd", "zone": "za"},
    ]);
    raw["seeds"][0]["pools"].as_array_mut().expect("pools").push(json!({
        "name": "etcd", "minimum": 3, "maximum": 3, "machine": {"cpu": 1}, "taints": [{"key": "etcd"}],
    }));
    let pod = |name: &str, node: &str| json!({"name": name, "node": node});
    raw["shoots"][0]["components"] = json!([
        {"name": "etcd-main", "tolerates": ["etcd"], "pods": [pod("etcd-main-3", "a"), pod("etcd-main-00", "b"), pod("etcd-main-1", "seed-control-plane-0")]},
        {"name": "loki", "pods": [pod("loki-0", "d")]},
        {"name": "prometheus", "tolerates": ["etcd"], "cpu": 1.5, "pods": [pod("prometheus-0", "d")]},
        {"name": "kube-scheduler", "pods": [pod("kube-scheduler-7f855ffbc4-8c9pg", "a"), pod("kube-scheduler-7f855ffbc4-8c9pg", "b"), pod("kube-scheduler-7f855ffbc4-8c9pe", "c")]},
    ]);
    let errors = Scenario::from_json(&raw.to_string()).expect_err("mistakes").to_string();
    assert_eq!(
        errors,
        "shoots[0].components[0].pods[0].name: expected a pod of its 3 replicas, numbered from 0; found \"etcd-main-3\"\n\
         shoots[0].components[0].pods[1].name: expected etcd-main-<number>; found \"etcd-main-00\"\n\
         shoots[0].components[0].pods[2].node: expected the name of a node of this cluster: \"a\", \"b\", \"c\" or \"d\"; found \"seed-control-plane-0\"\n\
         shoots[0].components[3].pods[1].name: expected a name that no other pod has: pods[0] has it; found \"kube-scheduler-7f855ffbc4-8c9pg\" again\n\
         shoots[0].components[3].pods[2].name: expected kube-scheduler-<hash of its template>-<5 letters>; letters that Kubernetes draws: bcdfghjklmnpqrstvwxz2456789; found \"kube-scheduler-7f855ffbc4-8c9pe\"\n\
         shoots[0].components[3].pods: expected at most 1, its replicas; found 3 pods\n\
         shoots[0].components[2].pods[0].node: expected a node with room; found \"d\", where pods would request 1.5 of 1 CPUs, 512MiB of 32GiB, 1 of 110 pods and 1 of 25 volumes\n\
         shoots[0].components[1].pods[0].node: expected a node whose taints it tolerates (`tolerates`); found \"d\""
    );
}

#[test]
fn changes_of_shoots() {
    let asks = |shoot: &str, etcd: Value| {
        let mut operation = json!({"at": "1m", "set_failure_tolerance": {"shoot": shoot, "to": "zone"}});
        operation["etcd"] = etcd;
        json!([operation])
    };
    check("/operations", asks("s", Value::Null), "");
    check(
        "/operations",
        asks("t", Value::Null),
        "operations[0].set_failure_tolerance.shoot: expected the name of a shoot (did you mean \"s\"?); found \"t\"",
    );
    check(
        "/operations",
        asks("s", json!("seed/etcd")),
        "operations[0].etcd: expected nothing: only members are of an etcd cluster; found \"seed/etcd\"",
    );
    check("/shoots/0/etcd", json!({"volumes": "regional"}), "");
    check(
        "/shoots/-",
        json!({"name": "t", "failure_tolerance": "zone", "recovery": "move", "etcd": {"volumes": "regional"}}),
        "shoots[1].etcd.volumes: expected zonal, or another `recovery`: a regional volume follows its pod and is not replaced; found regional, with recovery move",
    );
}

/// Pods of etcd are other members with other volumes; so many are made as may be needed, and have no part in anything until then.
#[test]
fn members_in_reserve() {
    let etcd = |shoot: Value, operations: Value| {
        let mut raw = landscape(json!([shoot]));
        raw["operations"] = operations;
        let scenario = Scenario::from_json(&raw.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        scenario.etcd.into_iter().find(|cluster| cluster.name == "shoot--garden--s/etcd-main").expect("it has one")
    };
    let moves = etcd(json!({"name": "s", "failure_tolerance": "zone", "recovery": "move"}), json!([]));
    assert_eq!((moves.members.len(), moves.members.iter().filter(|member| member.initial).count()), (9, 3));
    assert_eq!(
        [(0, 0), (0, 1), (2, 2), (1, 3)].map(|(pod, volumes)| moves.of_pod(pod, volumes)),
        [Some(0), Some(3), Some(8), None]
    );
    let grows = etcd(json!({"name": "s"}), json!([{"at": "1m", "set_failure_tolerance": {"shoot": "s", "to": "zone"}}]));
    assert_eq!((grows.members.len(), grows.members.iter().filter(|member| member.initial).count()), (3, 1));
    let usual = etcd(json!({"name": "s", "failure_tolerance": "zone"}), json!([]));
    assert!(usual.members.len() == 3 && usual.members.iter().all(|member| member.initial));
}

/// All errors of a shoot on a landscape of three seeds that are alike.
fn errors(shoot: Value, operations: Value) -> String {
    let mut raw = landscape(json!([shoot]));
    for name in ["other", "third"] {
        let mut seed = raw["seeds"][0].clone();
        seed["name"] = json!(name);
        raw["seeds"].as_array_mut().unwrap().push(seed);
    }
    raw["operations"] = operations;
    Scenario::from_json(&raw.to_string()).err().map_or_else(String::new, |errors| errors.to_string())
}

/// Where a shoot may move to, and how often.
#[test]
fn moves_of_shoots() {
    let moves = |shoot: &str, seeds: &[&str]| {
        let operation = |seed: &&str| json!({"at": "1m", "migrate_shoot": {"shoot": shoot, "seed": seed}});
        seeds.iter().map(operation).collect::<Value>()
    };
    let zonal = json!({"name": "s", "seed": "seed", "failure_tolerance": "zone"});
    assert_eq!(errors(zonal.clone(), moves("s", &["other", "seed", "third"])), "");
    assert_eq!(
        errors(zonal.clone(), moves("t", &["otter"])),
        "operations[0].migrate_shoot.seed: expected the name of a seed: \"other\", \"seed\" or \"third\" (did you mean \"other\"?); found \"otter\"\n\
         operations[0].migrate_shoot.shoot: expected the name of a shoot (did you mean \"s\"?); found \"t\""
    );
    let mut with_daemons = zonal.clone();
    with_daemons["components"] = json!([{"name": "agent", "kind": "daemon_set"}]);
    assert_eq!(
        errors(with_daemons, moves("s", &["other"])),
        "shoots[0].components[0]: expected a Deployment or StatefulSet: what runs on every node belongs to the seed; found a DaemonSet, of a shoot that is to move to another seed"
    );
    let mut pair = zonal.clone();
    pair["etcd"] = json!({"mode": {"learner": {}}});
    assert_eq!(
        errors(pair, moves("s", &["other"])),
        "operations[0].migrate_shoot: expected no change of a shoot whose `etcd.mode` is not quorum: its two members cannot be added to or moved; found a change of s"
    );
    // Three members in each of two seeds, anew at each arrival.
    let often = |times: usize| ["other", "seed"].into_iter().cycle().take(times).collect::<Vec<_>>();
    let spent = |count: usize| {
        let what =
            format!("shoots[0]: expected at most 64; found {count} members in sequence, because its shoot migrates so often");
        format!("{what}\n{what}")
    };
    assert_eq!(errors(zonal.clone(), moves("s", &often(18))), "");
    assert_eq!(errors(zonal.clone(), moves("s", &often(20))), spent(66));
    assert_eq!(errors(zonal.clone(), moves("s", &often(1_000))), spent(3 * 2 * 255));
    let mut moved = zonal;
    moved["recovery"] = json!("move");
    assert_eq!(errors(moved, moves("s", &often(170))), spent(3 * 2 * 255));
}

/// The place that is kept for a shoot in another seed is none of the seed's components.
#[test]
fn restarts_of_components() {
    let found = |of: Value| {
        let mut restart = json!({"at": "2m", "roll_component": of});
        restart["roll_component"]["component"] = json!("etcd-main");
        let moves = json!({"at": "1m", "migrate_shoot": {"shoot": "s", "seed": "other"}});
        errors(json!({"name": "s", "seed": "seed", "failure_tolerance": "zone"}), json!([moves, restart]))
    };
    assert_eq!(found(json!({"shoot": "s"})), "");
    for seed in ["seed", "other"] {
        let expected = "operations[1].roll_component.component: expected the name of a component; found \"etcd-main\"";
        assert_eq!(found(json!({"seed": seed})), expected);
    }
}

#[test]
fn capacity() {
    let plan = |shoot: Value| json!({"demand": {"zone": 3}, "shoot": shoot});
    check("/capacity", plan(json!({"recovery": "redundant", "components": [{"name": "loki", "absent": true}]})), "");
    check("/capacity", plan(json!({"etcd": {"mode": {"hot_standby": {"failures": 3}}}})), "");
    check(
        "/capacity",
        plan(json!({"only_listed": true, "components": [{"name": "loki"}]})),
        "capacity.shoot.components: expected etcd-main: every control plane has it; found no etcd-main\n\
         capacity.shoot.components: expected kube-apiserver: every control plane has it; found no kube-apiserver",
    );
    check(
        "/capacity",
        plan(json!({"recovery": "move", "etcd": {"mode": {"learner": {"controller_zone": "za"}}}})),
        "capacity.shoot.etcd.mode: expected quorum, or another `recovery`: a member is moved while the others have a majority; found learner, with recovery move\n\
         capacity.shoot.etcd.mode.learner.controller_zone: expected no value: etcd-druid of the seed is the controller; found \"za\"",
    );
    check(
        "/capacity",
        plan(json!({"etcd": {"mode": {"learner": {}}}, "components": [{"name": "etcd-main", "replicas": 3}]})),
        "capacity.shoot.components[0].replicas: expected 2: one active and one standby (`etcd.mode`); found 3",
    );
    check(
        "/capacity",
        plan(json!({"components": [{"name": "loki", "pool": "cqu", "pods": [{"name": "loki-0", "node": "n"}]}]})),
        "capacity.shoot.components[0].pods: expected none: this control plane is nowhere yet; found pods\n\
         capacity.shoot.components[0].pool: expected the name of a pool of this cluster: \"cpu\" (did you mean \"cpu\"?); found \"cqu\"",
    );
    check(
        "/capacity",
        plan(json!({"components": [{"name": "agent", "kind": "daemon_set"}, {"name": "loky", "volume": "zonal"}]})),
        "capacity.shoot.components[0].kind: expected `deployment` or `stateful_set`: a control plane has nothing on every node of its seed; found \"daemon_set\"\n\
         capacity.shoot.components[1].kind: expected `deployment`, `stateful_set` or `daemon_set`: Gardener deploys no \"loky\" (did you mean \"loki\"?); found nothing\n\
         capacity.shoot.components[1].volume: expected none: only pods of a StatefulSet have one each; found a volume",
    );
}

#[test]
fn a_control_plane_that_is_counted_in_has_few_pods() {
    let many = |k: u32| json!({"name": format!("c{k}"), "kind": "deployment", "replicas": 500});
    let many = json!([{"name": "etcd-main"}, {"name": "kube-apiserver"}, many(0), many(1)]);
    check(
        "/capacity",
        json!({"shoot": {"only_listed": true, "components": many}}),
        "capacity.shoot.components: expected at most 1000 in all; found 1002 pods",
    );
}

#[test]
fn a_plan_needs_a_seed() {
    let mut raw: Value = serde_json::from_str(crate::default_scenario().json).expect("bundled scenarios are JSON");
    raw["capacity"] = json!({"demand": {"node": 1}});
    let errors = Scenario::from_json(&raw.to_string()).expect_err("there is no seed");
    assert_eq!(errors.to_string(), "capacity: expected a seed in `seeds` to plan with; found a plan");
}

#[test]
fn pairs_of_etcd_members() {
    check("/shoots/0/etcd", json!({"mode": {"hot_standby": {"check_period": "10s"}}}), "");
    check("/shoots/0/etcd", json!({"mode": {"learner": {}}, "initial": {"leader": "etcd-main-1"}}), "");
    let mode = |mode: &str, more: Value| {
        let mut shoot = json!({"name": "s", "seed": "seed", "failure_tolerance": "zone", "etcd": {"mode": {mode: {}}}});
        shoot.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!([shoot])
    };
    check(
        "/shoots",
        mode("hot_standby", json!({"failure_tolerance": "none"})),
        "shoots[0].etcd.mode: expected quorum, or `failure_tolerance` node or zone: the active member and the standby must not fail together; found hot_standby, with failure_tolerance none",
    );
    check(
        "/shoots",
        mode("learner", json!({"recovery": "move"})),
        "shoots[0].etcd.mode: expected quorum, or another `recovery`: a member is moved while the others have a majority; found learner, with recovery move",
    );
    check(
        "/shoots",
        mode("learner", json!({"etcd": {"mode": {"learner": {"controller_zone": "za"}}}})),
        "shoots[0].etcd.mode.learner.controller_zone: expected no value: etcd-druid of the seed is the controller; found \"za\"",
    );
    check(
        "/shoots",
        mode("learner", json!({"etcd": {"mode": {"learner": {}}, "options": {"max_learners": 0}}})),
        "shoots[0].etcd.options.max_learners: expected at least 1: mode learner has one; found 0",
    );
    check(
        "/shoots",
        mode("learner", json!({"components": [{"name": "etcd-main", "replicas": 3}]})),
        "shoots[0].components[0].replicas: expected 2: one active and one standby (`etcd.mode`); found 3",
    );
    let mut raw = landscape(mode("hot_standby", json!({"failure_tolerance": "node"})));
    raw["operations"] = json!([{"at": "1m", "set_failure_tolerance": {"shoot": "s", "to": "zone"}}]);
    let found = Scenario::from_json(&raw.to_string()).expect_err("two members are all it has").to_string();
    assert_eq!(
        found,
        "operations[0].set_failure_tolerance: expected no change of a shoot whose `etcd.mode` is not quorum: its two members cannot be added to or moved; found a change of s"
    );
}

/// What the file says of a shoot's pairs is what its clusters are: two members each, apart from each other as its tolerance says.
#[test]
fn pairs_are_two_pods() {
    for (mode, learner) in [("hot_standby", false), ("learner", true)] {
        let shoot = json!({"name": "s", "seed": "seed", "failure_tolerance": "zone", "etcd": {"mode": {mode: {"failures": 7}}, "initial": {"leader": "etcd-main-1"}}});
        let scenario = Scenario::from_json(&landscape(json!([shoot])).to_string()).expect("a pair");
        for cluster in &scenario.etcd[EtcdId(1)..] {
            let passive = cluster.passive.as_ref().expect("a pair");
            assert_eq!((passive.primary, passive.backup.is_none()), (1, learner));
            assert_eq!((passive.switching.controller, passive.switching.failures), (Controller::Druid, 7));
            assert_eq!(cluster.members.iter().map(|member| member.learner).collect::<Vec<_>>(), [learner, false]);
            let zones: Vec<_> = cluster.members.iter().map(|member| scenario.nodes[member.node].zone).collect();
            assert_ne!(zones[0], zones[1]);
        }
        assert_eq!(scenario.etcd.len(), 3);
        assert!(scenario.etcd[EtcdId(0)].passive.is_none(), "the seed's own");
        let sets = scenario.kube.clusters[KubeClusterId(0)]
            .workloads
            .iter()
            .filter(|workload| matches!(workload.role, crate::kube::Role::Etcd(_)));
        assert!(sets.map(|set| (set.replicas, set.pod_affinity.anti_affinity.required.len())).eq([(2, 1); 2]));
    }
}
