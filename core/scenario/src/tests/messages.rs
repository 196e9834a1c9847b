//! Each mistake has its message: where, what was found, what would be right.

use serde_json::{Value, json};

use super::*;
use crate::ids::{ClientId, EtcdId};

/// Three members in three zones, a client and a fault.
pub(super) const SMALL: &str = r#"{
  "name": "small", "duration": "10m",
  "topology": {
    "regions": [{"name": "r", "zones": ["za", "zb", "zc"]}],
    "nodes": [{"name": "na", "zone": "za"}, {"name": "nb", "zone": "zb"}, {"name": "nc", "zone": "zc"}],
    "volumes": [{"name": "va", "zone": "za"}, {"name": "vb", "zone": "zb"}]
  },
  "etcd": [{"name": "main", "members": [{"name": "m0", "node": "na"}, {"name": "m1", "node": "nb"}, {"name": "m2", "node": "nc"}]}],
  "clients": [{"name": "c", "zone": "za", "op": "put", "rate": "10/s"}],
  "faults": [{"at": "1m", "for": "1m", "kind": "zone_power", "zone": "za"}],
  "operations": [],
  "random_faults": [],
  "expect": [{"that": "etcd.main.quorum_lost_s", "is": 0}]
}"#;

pub(super) fn errors_of(text: &str) -> String {
    Scenario::from_json(text).err().map_or_else(String::new, |errors| errors.to_string())
}

/// Puts `value` at a JSON pointer of the small scenario (`null` removes a field) and compares all errors.
fn check(pointer: &str, value: Value, expected: &str) {
    assert_eq!(errors_of(&changed(pointer, value).to_string()), expected, "after a change of {pointer}");
}

pub(super) fn changed(pointer: &str, value: Value) -> Value {
    let mut raw: Value = serde_json::from_str(SMALL).expect("JSON");
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match raw.pointer_mut(parent).expect("a parent") {
        Value::Object(fields) if value.is_null() => drop(fields.shift_remove(key)),
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value,
        other => panic!("{other} has nothing inside"),
    }
    raw
}

/// A change that is all right.
fn fine(pointer: &str, value: Value) -> Scenario {
    Scenario::from_json(&changed(pointer, value).to_string()).unwrap_or_else(|errors| panic!("{pointer}:\n{errors}"))
}

#[test]
fn form() {
    assert_eq!(errors_of(SMALL), "");
    check(
        "/duraton",
        json!("5m"),
        "duraton: expected one of the fields `$schema`, `name`, `title`, `description`, `bookmark`, `seed`, `duration`, `topology`, `network`, `etcd`, `clusters`, `load_balancers`, `seeds`, `cloud`, `shoots`, `capacity`, `prices`, `traffic`, `clients`, `faults`, `random_faults`, `operations`, `probe`, `observe_at`, `contradictions` or `expect` (did you mean \"duration\"?); found the unknown field \"duraton\"",
    );
    check(
        "/duration",
        json!(null),
        "duration: expected a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\", from 1ms to 3653d; found nothing",
    );
    check(
        "/duration",
        json!(600),
        "duration: expected a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\" (a bare number does not say its unit), from 1ms to 3653d; found 600",
    );
    check(
        "/duration",
        json!("10 mins"),
        "duration: expected a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\", from 1ms to 3653d: its unit is missing (d, h, m, s, ms, us, ns); found \"10 mins\"",
    );
    check(
        "/duration",
        json!("11y"),
        "duration: expected a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\", from 1ms to 3653d: \"y\" is no unit (d, h, m, s, ms, us, ns); found \"11y\"",
    );
    check(
        "/duration",
        json!("4000d"),
        "duration: expected a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\", from 1ms to 3653d; found \"4000d\"",
    );
    check("/seed", json!(-1), "seed: expected a whole number, at least 0; found -1");
    check("/seed", json!("1"), "seed: expected a whole number, at least 0; found \"1\"");
    check(
        "/name",
        json!("a b"),
        "name: expected a name of letters, digits, \".\", \"_\" and \"-\": ' ' may not be in a name; found \"a b\"",
    );
    check("/etcd/0/members", json!({}), "etcd[0].members: expected an array; found an empty object");
    check("/etcd/0/members/1", json!("m1"), "etcd[0].members[1]: expected an object with `name`, `node`; found \"m1\"");
    check(
        "/etcd/0/options",
        json!({"max_learners": 300}),
        "etcd[0].options.max_learners: expected a whole number from 0 to 9; found 300",
    );
    check(
        "/clients/0/op",
        json!("putt"),
        "clients[0].op: expected `put`, `txn`, `range`, `delete` or `watch` (did you mean \"put\"?); found \"putt\"",
    );
    check("/clients/0/op", json!(null), "clients[0].op: expected `put`, `txn`, `range`, `delete` or `watch`; found nothing");
    check(
        "/clients/0/consistency",
        json!("linearizable"),
        "clients[0].consistency: expected one of the fields `name`, `etcd`, `zone`, `node`, `target`, `rate`, `arrivals`, `connections`, `requests`, `process`, `timeout`, `silence`, `retries`, `start`, `stop`, `op`, `key` or `value`; found the unknown field \"consistency\"",
    );
    check(
        "/clients/0/rate",
        json!("10"),
        "clients[0].rate: expected a rate with its unit, such as \"100/s\" or \"6/min\", at most 1000000/s: its unit must be one of /s, /min, /h, /d; found \"10\"",
    );
    check(
        "/clients/0/arrivals",
        json!("poison"),
        "clients[0].arrivals: expected `even` or `poisson` (did you mean \"poisson\"?); found \"poison\"",
    );
    check("/network", json!({"same_zone": {"loss": 2}}), "network.same_zone.loss: expected a number from 0 to 1; found 2");
    check(
        "/network",
        json!({"same_zone": {"jitter": {"normal": 1}}}),
        "network.same_zone.jitter: expected one of the fields `uniform`, `lognormal` or `empirical`; found an object with \"normal\"",
    );
    check(
        "/network",
        json!({"same_zone": {"jitter": {"uniform": ["1ms"]}}}),
        "network.same_zone.jitter.uniform: expected an array of 2; found an array of 1",
    );
    check(
        "/faults/0/kind",
        json!("zone_powr"),
        "faults[0].kind: expected `zone_power`, `zone_partition`, `node_crash`, `node_partition`, `process_kill`, `graceful_stop`, `process_pause`, `link_partition`, `link_degraded`, `disk_slow`, `volume_lost`, `cloud_api`, `lb_down`, `lb_partition`, `lb_tcp_health_only`, `lb_stale_targets`, `lb_throttled`, `lb_wrong_target`, `lb_removed`, `api_server_kill`, `api_server_stop`, `stale_cache` or `storage_degraded` (did you mean \"zone_power\"?); found \"zone_powr\"",
    );
    check("/faults/0/zone", json!(3), "faults[0].zone: expected a text, or an object with `leader_of`; found 3");
    check(
        "/expect/0",
        json!({"that": "etcd.main.quorum_lost_s"}),
        "expect[0]: expected one of the fields `is`, `is_not`, `between`, `at_least`, `at_most` or `includes`; found an object with \"that\"",
    );
}

#[test]
fn names() {
    check(
        "/topology/nodes/1/zone",
        json!("zd"),
        "topology.nodes[1].zone: expected the name of a zone: \"za\", \"zb\" or \"zc\" (did you mean \"za\"?); found \"zd\"",
    );
    check(
        "/topology/nodes/1/name",
        json!("na"),
        "topology.nodes[1].name: expected a name that no other has: it already names a node; found \"na\" again\n\
         etcd[0].members[1].node: expected the name of a node: \"na\" or \"nc\" (did you mean \"na\"?); found \"nb\"",
    );
    check(
        "/topology/regions/0/zones",
        json!(["za", "zb", "zb"]),
        "topology.regions[0].zones[2]: expected a name that no other has: it already names a zone; found \"zb\" again\n\
         topology.nodes[2].zone: expected the name of a zone: \"za\" or \"zb\" (did you mean \"za\"?); found \"zc\"",
    );
    check(
        "/etcd/0/members/2/node",
        json!("nd"),
        "etcd[0].members[2].node: expected the name of a node: \"na\", \"nb\" or \"nc\" (did you mean \"na\"?); found \"nd\"",
    );
    check(
        "/etcd/0/members/2/name",
        json!("m1"),
        "etcd[0].members[2].name: expected a name that no other has: it already names a member of this cluster; found \"m1\" again",
    );
    check(
        "/etcd/0/members/2/name",
        json!("leader"),
        "etcd[0].members[2].name: expected a name of letters, digits, \".\", \"_\" and \"-\": \"leader\" is a word with another meaning; found \"leader\"",
    );
    check(
        "/clients/0/cluster",
        json!("man"),
        "clients[0].etcd: expected the name of an etcd cluster: \"main\" (did you mean \"main\"?); found \"man\"",
    );
    check(
        "/clients/0/target",
        json!("m7"),
        "clients[0].target: expected \"leader\", \"follower\", \"nearest\", \"all\", \"m0\", \"m1\" or \"m2\" (did you mean \"m0\"?); found \"m7\"",
    );
    check(
        "/faults/0/zone",
        json!({"leader_of": "mian"}),
        "faults[0].zone.leader_of: expected the name of an etcd cluster: \"main\" (did you mean \"main\"?); found \"mian\"",
    );
    check(
        "/faults/0",
        json!({"at": "1m", "kind": "volume_lost", "volume": "m9"}),
        "faults[0].volume: expected the name of a volume: \"m0\", \"m1\", \"m2\", \"va\" or \"vb\" (did you mean \"m0\"?); found \"m9\"",
    );
    check(
        "/probe",
        json!({"from": "zz"}),
        "probe.from: expected the name of a zone: \"za\", \"zb\" or \"zc\" (did you mean \"za\"?); found \"zz\"",
    );
    check(
        "/expect/0/that",
        json!("etcd.min.up"),
        "expect[0].that: expected the name of an etcd cluster: \"main\" (did you mean \"main\"?); found \"min\"",
    );
    check(
        "/expect/0/that",
        json!("a["),
        "expect[0].that: expected a place such as etcd.etcd-main.members[name=etcd-main-0].up: a `[` without its `]`; found \"a[\"",
    );
}

#[test]
fn impossible_worlds() {
    check(
        "/etcd/0/members/0/volume",
        json!("vb"),
        "etcd[0].members[0].volume: expected a volume in zone za, the zone of node na; found \"vb\" in zone zb",
    );
    check(
        "/etcd/0/members",
        json!([{"name": "m0", "node": "na", "volume": "va"}, {"name": "m1", "node": "na", "volume": "va"}]),
        "etcd[0].members[1].volume: expected a volume of its own: m0 uses this one at the same time; found \"va\"",
    );
    check(
        "/etcd/0/members",
        json!([{"name": "m0", "node": "na", "learner": true}]),
        "etcd[0].members: expected at least one member with a vote; found learners only",
    );
    check(
        "/etcd/0/members",
        json!([{"name": "m0", "node": "na"}, {"name": "m1", "node": "nb", "learner": true}, {"name": "m2", "node": "nc", "learner": true}]),
        "etcd[0].members: expected at most 1 (options.max_learners); found 2 learners",
    );
    check(
        "/etcd/0/initial",
        json!({"leader": "m4"}),
        "etcd[0].initial.leader: expected the name of a member of this cluster: \"m0\", \"m1\" or \"m2\" (did you mean \"m0\"?); found \"m4\"",
    );
    check(
        "/etcd/0/members/0/behind",
        json!({"revision": 10_000, "database": "1MB"}),
        "etcd[0].members[0].behind.revision: expected less than the cluster's own, 10000; found 10000",
    );
    check(
        "/etcd/0/options",
        json!({"election_timeout": "400ms"}),
        "etcd[0].options.election_timeout: expected at least 5 x heartbeat_interval, 500ms, as etcd itself demands; found \"400ms\"",
    );
    check(
        "/etcd/0/options",
        json!({"election_timeout": "60s"}),
        "etcd[0].options.election_timeout: expected a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\", from 1ms to 50s; found \"60s\"",
    );
    check("/clients/0/stop", json!("0s"), "clients[0].stop: expected a time after its start, 0s; found \"0s\"");
    check(
        "/clients/0/start",
        json!("10m"),
        "clients[0].start: expected a time before the end of the run (`duration`); found \"10m\"",
    );
    check(
        "/clients/0/zone",
        json!(null),
        "clients[0]: expected `zone` or `node`: delays depend on the location of a client; found neither `zone` nor `node`",
    );
    check("/clients/0/node", json!("nb"), "clients[0].zone: expected \"zb\", the zone of node nb, or no value; found \"za\"");
    check(
        "/clients/0/rate",
        json!(null),
        "clients[0]: expected `rate` or `connections`, such as \"rate\": \"100/s\"; found neither `rate` nor `connections`",
    );
    check("/clients/0/rate", json!("0/s"), "clients[0].rate: expected more than 0; found \"0/s\"");
    check("/clients/0/connections", json!(3), "clients[0]: expected only one of the two; found both `rate` and `connections`");
    check("/faults/0/at", json!("10m"), "faults[0].at: expected a time before the end of the run (`duration`); found \"10m\"");
    check(
        "/faults/0",
        json!({"at": "1m", "kind": "link_degraded", "between": ["za", "zb"]}),
        "faults[0]: expected `delay`, `loss` or `bandwidth`; found a link_degraded fault without any effect",
    );
    check(
        "/faults/0",
        json!({"at": "1m", "kind": "disk_slow", "volume": "va"}),
        "faults[0]: expected `add` or `factor`; found a disk_slow fault without any effect",
    );
    check(
        "/network",
        json!({"cross_zone": {"loss": "100%"}}),
        "network.cross_zone.loss: expected less than 1; to cut a path off, use a zone_partition or node_partition fault; found 1",
    );
    check(
        "/network",
        json!({"pairs": [{"between": ["za", "zb"], "delay": "1ms"}, {"between": ["zb", "za"]}]}),
        "network.pairs[1].between: expected each pair of zones once; it is network.pairs[0] already; found zb and za again",
    );
    check(
        "/network",
        json!({"cross_zone": {"jitter": {"uniform": ["2ms", "1ms"]}}}),
        "network.cross_zone.jitter.uniform: expected the lower bound first; found 2ms before 1ms",
    );
    check(
        "/topology/nodes/0/network_bandwidth",
        json!("10"),
        "topology.nodes[0].network_bandwidth: expected a bandwidth with its unit, such as \"1Gbit/s\" or \"120MiB/s\", from 1kB/s to 100TB/s: its unit is missing (KiB/s, MiB/s, GiB/s, TiB/s, kB/s, MB/s, GB/s, TB/s, B/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, bit/s); found \"10\"",
    );
    check(
        "/topology/nodes/0/network_bandwidth",
        json!("8bit/s"),
        "topology.nodes[0].network_bandwidth: expected a bandwidth with its unit, such as \"1Gbit/s\" or \"120MiB/s\", from 1kB/s to 100TB/s; found \"8bit/s\"",
    );
    check(
        "/random_faults/-",
        json!({"every": {"exponential": "30d"}, "repair": {"exponential": "1h"}}),
        "random_faults[0]: expected names in `nodes`, `zones` or `volumes`, or \"all\"; found no target",
    );
    check(
        "/random_faults/-",
        json!({"nodes": "all", "every": {"exponential": "0s"}, "repair": {"exponential": "1h"}}),
        "random_faults[0].every.exponential: expected 1ms to 36600d; found \"0s\"",
    );
}

#[test]
fn operations() {
    check(
        "/operations/-",
        json!({"at": "1m", "remove_member": "m5"}),
        "operations[0].remove_member: expected a member of the cluster at that time: \"m0\", \"m1\" or \"m2\" (did you mean \"m0\"?); found \"m5\"",
    );
    check(
        "/operations/-",
        json!({"at": "1m", "defragment": "m5"}),
        "operations[0].defragment: expected a member of the cluster at that time: \"m0\", \"m1\" or \"m2\" (did you mean \"m0\"?); found \"m5\"",
    );
    check(
        "/operations/-",
        json!({"at": "1m", "compact": {"revision": 7}}),
        "operations[0].compact.revision: expected an object without fields; found the unknown field \"revision\"",
    );
    check(
        "/etcd/0/options",
        json!({"quota_backend_bytes": "1kB"}),
        "etcd[0].options.quota_backend_bytes: expected a size with its unit, such as \"8B\", \"1KiB\" or \"5.1GB\", from 1MiB to 4TiB; found \"1kB\"",
    );
    check(
        "/operations/-",
        json!({"at": "1m", "promote_member": "m1"}),
        "operations[0].promote_member: expected a learner; found \"m1\", which has a vote",
    );
    check(
        "/operations/-",
        json!({"at": "1m", "add_member": {"name": "m1", "node": "nb"}}),
        "operations[0].add_member.name: expected a name that is not in the cluster, or an earlier removal of that member; found \"m1\", which is in the cluster then",
    );
    check(
        "/operations/-",
        json!({"at": "1m", "evict_member": "m1"}),
        "operations[0]: expected one of the fields `add_member`, `remove_member`, `promote_member`, `compact`, `defragment`, `disarm_alarm`, `roll_component`, `roll_back_component`, `pause_rollout`, `resume_rollout`, `drain_node`, `roll_pool`, `scale_workload`, `add_zone`, `deschedule`, `shift_zone`, `add_control_plane_node`, `remove_control_plane_node`, `set_failure_tolerance` or `migrate_shoot`; found an object with \"at\" and \"evict_member\"",
    );
    let full = fine("/etcd/0/options", json!({"quota_backend_bytes": "10MiB"}));
    let warnings: Vec<String> = full.warnings.iter().map(ToString::to_string).collect();
    let all = "etcd[0].options.quota_backend_bytes: expected more than the initial database, 64MiB: members refuse all puts; found \"10MiB\"";
    assert_eq!(warnings, [all]);
    // In the order of time.
    let scenario = fine(
        "/operations",
        json!([
            {"at": "3m", "disarm_alarm": {}},
            {"at": "1m", "compact": {}},
            {"at": "2m", "defragment": "m1"},
        ]),
    );
    let tasks: Vec<Maintenance> = scenario.maintenance.iter().map(|operation| operation.task).collect();
    let m1 = crate::ids::MemberId { cluster: crate::ids::EtcdId(0), index: 1 };
    assert_eq!(tasks, [Maintenance::Compact, Maintenance::Defragment(m1), Maintenance::DisarmAlarm]);
    // Out of order in the file; a name comes again with a volume of its own; a promotion may be refused, and is asked for again.
    let scenario = fine(
        "/operations",
        json!([
            {"at": "2m", "add_member": {"name": "m1", "node": "nb", "learner": true}},
            {"at": "1m", "remove_member": "m1"},
            {"at": "3m", "promote_member": "m1"},
            {"at": "4m", "promote_member": "m1"},
        ]),
    );
    let changes: Vec<MemberChange> = scenario.operations.iter().map(|operation| operation.change).collect();
    let member = |index| crate::ids::MemberId { cluster: crate::ids::EtcdId(0), index };
    let promoted = MemberChange::Promote(member(3));
    assert_eq!(changes, [MemberChange::Remove(member(1)), MemberChange::Add(member(3)), promoted, promoted]);
    assert!(!scenario.etcd[EtcdId(0)].members[3].initial && scenario.etcd[EtcdId(0)].members[2].initial);
    let names: Vec<&str> = scenario.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(names, ["va", "vb", "m0", "m1", "m2", "main/m1"]);
}

#[test]
fn what_is_written_is_what_runs() {
    let scenario =
        fine("/network", json!({"cross_zone": {"delay": "1ms"}, "pairs": [{"between": ["zb", "zc"], "delay": "3ms"}]}));
    let path = |a: usize, b: usize| &scenario.network.paths[a * 3 + b];
    assert_eq!((path(0, 1).delay, path(2, 1).delay), (Duration::from_millis(1), Duration::from_millis(3)));
    assert_eq!((path(2, 1).jitter.clone(), path(1, 1).delay), (path(0, 1).jitter.clone(), Duration::from_micros(150)));
    assert_eq!(scenario.etcd[EtcdId(0)].initial_leader, Some(0));
    assert_eq!(fine("/etcd/0/initial", json!({"leader": "none"})).etcd[EtcdId(0)].initial_leader, None);
    let random = fine(
        "/random_faults/-",
        json!({"zones": "all", "volumes": ["m1"], "every": {"exponential": "30d"}, "repair": {"lognormal": {"median": "1h", "sigma": 0.8}}}),
    );
    assert_eq!(random.random_faults[0].targets.len(), 4);
    let fault = fine("/faults/0", json!({"at": "1m", "kind": "process_kill", "member": "main/m2"})).faults[0].fault.clone();
    assert!(matches!(fault, Fault::ProcessKill(ProcessKill(FaultTarget::Named(member))) if member.index == 2));
    let watch = fine("/clients/0", json!({"name": "w", "node": "nb", "op": "watch"}));
    assert_eq!((watch.clients[ClientId(0)].load, watch.clients[ClientId(0)].zone.0), (Load::Closed { connections: 1 }, 1));
}

#[test]
fn a_file_with_many_mistakes_gets_all_of_them_at_once() {
    let mut raw = changed("/duration", json!(10));
    raw["topology"]["nodes"][2]["zone"] = json!("zx");
    raw["etcd"][0]["members"][0]["nodee"] = json!("na");
    raw["etcd"][0]["options"] = json!({"heartbeat_interval": "soon", "tick": "2s"});
    raw["clients"][0]["op"] = json!("get");
    raw["clients"][0]["timeout"] = json!(5);
    raw["faults"][0]["zone"] = json!("zd");
    raw["expect"][0]["that"] = json!("etcd.mian.x");
    let errors = Scenario::from_json(&raw.to_string()).expect_err("mistakes");
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "duration",
            "etcd[0].members[0].nodee",
            "etcd[0].options.heartbeat_interval",
            "clients[0].op",
            "clients[0].timeout",
            "topology.nodes[2].zone",
            "etcd[0].options.tick",
            "faults[0].zone",
            "expect[0].that",
        ]
    );
}

#[test]
fn broken_json_says_where() {
    let check = |text: &str, expected: &str| assert_eq!(errors_of(text), expected, "{text}");
    check("{\n  \"name\": }", "line 2, column 11: expected a JSON value (text stands in double quotes); found '}'");
    check("", "line 1, column 1: expected a scenario: a JSON object; found nothing");
    check(" \n ", "line 2, column 1: expected a scenario: a JSON object; found nothing");
    check("{} x", "line 1, column 4: expected nothing after the end of the scenario; found 'x'");
    check("{\"name\": é}", "line 1, column 10: expected a JSON value (text stands in double quotes); found 'é'");
    check("{\"name\" 1}", "line 1, column 9: expected `:`; found '1'");
    check("{\"name\": 1 2}", "line 1, column 12: expected `,` or `}`; found '2'");
    check("{name: 1}", "line 1, column 2: expected the name of a field, in double quotes; found 'n'");
    check("{\"name\": 1,}", "line 1, column 12: expected no comma after the last; found a comma before the end");
    check("{\"name\": [1", "line 1, column 11: expected the rest: something is not closed; found the end of the file");
    check("{\"name", "line 1, column 6: expected its closing quote; found the end of the file inside a string");
    check(
        "{\"name\": \"a\nb\"}",
        "line 2, column 1: expected its closing quote before, or an escape such as \\n; found a line break or control character inside a string",
    );
    let deep = "[".repeat(200);
    check(&deep, "line 1, column 128: expected at most 127 levels of brackets; found more than 127 levels of brackets");
    assert_eq!(errors_of("[]"), "$: expected an object with `name`, `duration`, `topology`; found an empty array");
    assert!(errors_of(&"[".repeat(10_000)).contains("127 levels"));
    let twice = SMALL.replacen("\"duration\": \"10m\"", "\"duration\": \"10m\", \"duration\": \"9m\"", 1);
    assert_eq!(errors_of(&twice), "duration: expected each field once; found the same field again");
    assert!(errors_of(&" ".repeat((4 << 20) + 1)).contains("at most 4 MiB"));
}

#[test]
fn size_limits() {
    let many = |count: usize, item: fn(usize) -> Value| Value::Array((0..count).map(item).collect());
    let first = |pointer: &str, value: Value| {
        let errors = Scenario::from_json(&changed(pointer, value).to_string()).expect_err("too much");
        errors.iter().next().expect("one error").to_string()
    };
    assert!(
        first("/topology/nodes", many(2_001, |k| json!({"name": format!("n{k}"), "zone": "za"})))
            .ends_with("; found an array of 2001")
    );
    assert!(first("/etcd/0/members", many(10, |k| json!({"name": format!("m{k}"), "node": "na"}))).contains("1 to 9"));
    assert!(
        first("/clients", many(2, |k| json!({"name": format!("c{k}"), "zone": "za", "op": "put", "rate": "600000/s"})))
            .contains("1000000/s of all")
    );
    assert!(first("/clients/0", json!({"name": "c", "zone": "za", "op": "put", "connections": 100_001})).contains("100000"));
    assert!(first("/clients/0/value", json!("101MiB")).contains("at most 100MiB"));
    assert!(first("/etcd/0/initial", json!({"database": "2TiB"})).contains("at most 1TiB"));
    assert!(
        first(
            "/random_faults/-",
            json!({"nodes": "all", "volumes": "all", "every": {"exponential": "1ms"}, "repair": {"exponential": "1ms"}})
        )
        .contains("faults in the whole run")
    );
    assert!(
        first("/network", json!({"cross_zone": {"jitter": {"empirical": many(10_001, |_| json!("1ms"))}}}))
            .contains("2 to 10000")
    );
}
