//! Bundled scenarios: both modes tell the same of them, and a story that is broken fails what it expects.

use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::report::Report;
use zonefall_core::run::{run, run_checked};
use zonefall_core::scenario::{Bundled, Scenario, bundled};
use zonefall_core::sim::{Options, Stepping};

use crate::replications::without_budgets;

fn report(scenario: &Arc<Scenario>, stepping: Stepping) -> Report {
    run_checked(scenario, scenario.seed, Options { stepping, ..Options::default() }, &mut |_, _| {})
}

#[test]
fn both_modes_give_the_same_report_of_bundled_scenarios() {
    for file in bundled() {
        let scenario = Arc::new(Scenario::from_json(&smaller(file)).expect("bundled scenarios are valid"));
        let fast = report(&scenario, Stepping::FastForward);
        let mut full = report(&scenario, Stepping::EveryEvent);
        assert!(fast.events <= full.events);
        full.events = fast.events;
        assert!(fast == full, "zonefall run scenarios/{}.json: `--fast-forward on` and `off` differ", file.name);
    }
}

/// The file; of a landscape that would take minutes message by message, a corner of it and the hours around its fault.
fn smaller(file: &Bundled) -> String {
    let mut json: Value = serde_json::from_str(file.json).expect("bundled scenarios are JSON");
    if matches!(file.name, "many-shoots" | "cost-of-tolerance" | "seed-maintenance") {
        json["duration"] = json!(if file.name == "many-shoots" { "5h" } else { "20m" });
        for shoots in json["shoots"].as_array_mut().expect("shoots") {
            shoots["count"] = json!(1);
        }
        json["expect"] = json!([]);
    }
    json.to_string()
}

/// A story is no luck of its seed: under another one it comes to what it expects, too. (But for the large ones, which [`smaller`] makes small
/// and which expect nothing then.)
#[test]
fn stories_hold_what_they_expect_under_another_seed() {
    const SEED: u64 = 81_985_529_216_486_895;
    let mut failed = Vec::new();
    for file in bundled() {
        let scenario = Arc::new(Scenario::from_json(&smaller(file)).expect("bundled scenarios are valid"));
        let mut report = run(&scenario, SEED, Options::default(), &mut |_, _| {}, &mut |_| {});
        report.judge(&scenario);
        let missed = report.expectations.into_iter().filter(|expectation| !expectation.ok);
        failed.extend(missed.map(|expectation| (file.name, expectation.that, expectation.actual, expectation.expected)));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// GEP-20's published machines: they keep their phases however the autoscaler sizes groups, and though it takes nodes away.
#[test]
fn published_machines_keep_their_phases_with_the_whole_autoscaler() {
    let file = bundled().iter().find(|file| file.name == "eu-west-1a-outage").expect("the scenario is bundled");
    for (sizing, count) in [
        ("static", "materialized"),
        ("lax_greedy", "materialized"),
        ("lax_greedy", "targets"),
        ("lax_greedy", "live"),
        ("backward_compatible", "materialized"),
        ("backward_compatible", "targets"),
        ("backward_compatible", "live"),
    ] {
        let mut json: Value = serde_json::from_str(file.json).expect("bundled scenarios are JSON");
        json["seeds"][0]["controllers"] = json!({"cluster_autoscaler": {"sizing": sizing, "count": count, "scale_down": {}}});
        let scenario = Arc::new(Scenario::from_json(&json.to_string()).expect("it is a scenario still"));
        let mut report = run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {});
        report.judge(&scenario);
        let of_machines = report.expectations.iter().filter(|expectation| expectation.that.contains("machines"));
        assert!(of_machines.count() >= 12, "the story expects something of each published machine");
        let failed: Vec<_> = report.expectations.iter().filter(|expectation| !expectation.ok).collect();
        assert!(failed.is_empty(), "{sizing}, {count}: {failed:?}");
    }
}

/// Expectations that any run meets would say nothing: each story is broken in one place, and the expectation that tells of it fails.
#[test]
fn a_story_that_breaks_fails_its_expectations() {
    let m = "etcd.etcd-main.";
    let check = |name: &str, pointer: &str, value: Value, fails: &[&str]| {
        let file = bundled().iter().find(|file| file.name == name).expect("the scenario is bundled");
        let mut json: Value = serde_json::from_str(file.json).expect("bundled scenarios are JSON");
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
        let parent = json.pointer_mut(parent).unwrap_or_else(|| panic!("{name} has no {pointer}"));
        match parent {
            Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value,
            Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
            other => panic!("{name}: {pointer} leads into {other}"),
        }
        let scenario = Arc::new(Scenario::from_json(&json.to_string()).expect("the broken story is a scenario still"));
        let mut report = run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {});
        report.judge(&scenario);
        for that in fails {
            let expectations: Vec<_> = report.expectations.iter().filter(|e| e.that == *that).collect();
            assert!(!expectations.is_empty(), "{name} expects nothing of {that}");
            assert!(expectations.iter().any(|e| !e.ok), "{name} with another {pointer}: {that} holds nevertheless");
        }
    };
    let of = |place: &str| format!("{m}{place}");
    let (quorum, write, elections) = (of("quorum_lost_s"), of("write_unavailable_s"), format!("count({m}elections)"));
    // Two members in the zone that fails; none there; a fault that is mended before anybody is far behind.
    check("zone-outage", "/topology/nodes/1/zone", json!("eu-west-1a"), &[&quorum, &write]);
    check("zone-outage", "/faults/0/zone", json!("eu-west-1b"), &[&elections, &of("leader_changes")]);
    let behind = [of("catch_up[member=etcd-main-0].entries"), of("snapshots[to=etcd-main-0].ok")];
    check("zone-outage", "/faults/0/for", json!("20s"), &[&behind[0], &behind[1]]);
    check(
        "two-zones-big",
        "/topology/nodes/1/zone",
        json!("az-2"),
        &[&quorum, &write, &of("outages[kind=quorum][0].root_cause")],
    );
    check("two-zones-small", "/topology/nodes/1/zone", json!("az-2"), &[&quorum, &write]);
    check("two-zones-small", "/etcd/1/initial/leader", json!("etcd-events-0"), &["etcd.etcd-events.leader_changes"]);
    let zones = json!({"regions": [{"name": "region-1", "zones": ["az-1", "az-2"]}], "nodes": [
        {"name": "node-0", "zone": "az-1"}, {"name": "node-1", "zone": "az-2"}, {"name": "node-2", "zone": "az-2"}]});
    check("single-zone", "/topology", zones, &[&quorum, "count(zone_pairs)", &of("read_unavailable_s.serializable")]);
    check(
        "isolated-leader",
        "/faults/0/zone",
        json!("eu-west-1b"),
        &[&of("leader_changes"), &of("leaders[leader=etcd-main-0].to_s")],
    );
    check("isolated-leader", "/etcd/0/options", json!({"pre_vote": false}), &[&elections]);
    let inside = of("latency[op=put][target=nearest].timed_out");
    check("isolated-leader", "/topology/nodes/1/zone", json!("eu-west-1a"), &[&of("leader_changes"), &inside]);
    check("slow-disk", "/faults/1/add", json!("2s"), &[&of("leader_changes"), &write]);
    check("slow-disk", "/faults/0/volume", json!("etcd-main-0"), &[&of("latency[op=put].p50_ms")]);
    let level = json!({"name": "etcd-main-2", "node": "node-3"});
    let (count, took) = (format!("count({m}snapshots)"), of("catch_up[member=etcd-main-2].duration_s"));
    check("far-behind-follower", "/etcd/0/members/2", level, &[&count, &took]);
    check("far-behind-follower", "/network/cross_zone/bandwidth", json!("60MiB/s"), &[&took]);
    check("five-members", "/topology/nodes/4/zone", json!("eu-west-1a"), &[&quorum, &of("outages[kind=quorum][0].root_cause")]);
    let switch = |place: &str| of(&format!("failovers[0].{place}"));
    let (window, took) = (switch("lost_window_s"), switch("duration_s"));
    let seldom = json!({"hot_standby": {"delta_snapshot_period": "1h", "check_period": "1m"}});
    check("two-zones-standby", "/etcd/0/mode", seldom, &[&window, &took, &switch("detected_s"), &write]);
    let count = format!("count({m}failovers)");
    check("two-zones-standby", "/faults/0/for", json!("50s"), &[&count, &of("members[name=etcd-main-1].role")]);
    check("two-zones-learner", "/etcd/0/mode", json!({"hot_standby": {}}), &[&window, &of("rpo.lost_entries")]);
    check("two-zones-learner", "/etcd/0/mode", json!({"learner": {"failures": 6}}), &[&took, &write]);
    check("five-members", "/faults/1/node", json!("node-a1"), &[&quorum, &format!("count({m}outages[kind=quorum])")]);
    let zone_a = |what: &str| format!("observed[at=45m].{what}");
    let spared = [zone_a("pods[name=etcd-events-0].node"), zone_a("nodes[zone=eu-west-1a].ready")];
    check("eu-west-1a-outage", "/faults/0/zone", json!("eu-west-1b"), &[&spared[0], &spared[1]]);
    let healed = json!({"at": "10m", "for": "30m", "kind": "zone_partition", "zone": "eu-west-1a"});
    check("eu-west-1a-outage", "/faults/0", healed, &[&zone_a("pods[name=etcd-main-1].phase"), &spared[1]]);
    let works = json!({"at": "10m", "kind": "cloud_api", "create": "refused"});
    let stuck = zone_a("machines[name=shoot--garden--aws-ha2-etcd-compaction-z1-6bd58-9ffc7].phase");
    check("eu-west-1a-outage", "/faults/1", works, &[&stuck]);
    let soon = json!({"machine_health": "10m"});
    let kept = "machines[name=shoot--garden--aws-ha2-cpu-worker-etcd-z1-66659-sf4wt].phase";
    check("eu-west-1a-outage", "/seeds/0/timers", soon, &[&zone_a(kept)]);
    let strict = "count(observed[at=45m].pods[owner=gardener-resource-manager][phase=Pending])";
    check("eu-west-1a-strict", "/faults/0/zone", json!("eu-west-1-parent"), &[strict]);
    let shop = |place: &str| format!("etcd.shoot--garden--shop/etcd-main.{place}");
    let (write, tolerance) = (shop("write_unavailable_s"), shop("no_fault_tolerance_s"));
    check("node-failure-none", "/shoots/0/failure_tolerance", json!("zone"), &[&write]);
    check("node-failure-node", "/faults/0/node", json!("node-a4"), &[&tolerance]);
    check("node-failure-zone", "/shoots/0/failure_tolerance", json!("none"), &[&write, &tolerance]);
    check("node-failure-zone", "/faults/0/at", json!("50m"), &["sum(cost[provider=aws][kind=machine].quantity)"]);
    let alone = "components[component=kube-controller-manager].unavailable_s";
    let switch = |place: &str| shop(&format!("failovers[0].{place}"));
    let late = json!({"hot_standby": {"check_period": "2m", "delta_snapshot_period": "1h"}});
    let missed = [switch("detected_s"), switch("lost_window_s"), write.clone()];
    check("active-passive-standby", "/shoots/0/etcd/mode", late, &[&missed[0], &missed[1], &missed[2]]);
    // A seed whose control plane goes with the zone.
    let api = "api.shoot--garden--shop.write_unavailable_s";
    check("active-passive-standby", "/seeds/0/control_plane/zones/0", json!("za"), &[&missed[0], api]);
    check("active-passive-standby", "/faults/0/for", json!("30m"), &[&tolerance]);
    let lost = [switch("lost_window_s"), shop("rpo.lost_entries")];
    check("active-passive-learner", "/shoots/0/etcd/mode", json!({"hot_standby": {}}), &[&lost[0], &lost[1]]);
    check("active-passive-learner", "/shoots/0/etcd/mode", json!({"learner": {"failures": 6}}), &[&missed[0], &write]);
    check("active-passive-learner", "/faults/0/zone", json!("zb"), &[&switch("from"), alone]);
    let (one, other) = ("etcd.shoot--garden--standby/etcd-main", "etcd.shoot--garden--learner/etcd-main");
    let (first, second) = (format!("{one}.failovers[0].from"), format!("{one}.failovers[1].from"));
    check("active-passive-two-zones", "/faults/0/for", json!("90m"), &[&second, &format!("{one}.write_unavailable_s")]);
    check("active-passive-two-zones", "/faults/0/zone", json!("az-2"), &[&first, &format!("{other}.failovers[0].at_s")]);
    check("zone-outage-option-1", "/shoots/0/components/0/pods/0/node", json!("node-b1"), &[alone]);
    check("zone-outage-option-1", "/faults/0/for", json!("30m"), &[&tolerance]);
    check("zone-outage-option-2", "/shoots/0/components/0/pods/1/node", json!("node-a2"), &[alone]);
    check("two-zone-region", "/topology/nodes/1/zone", json!("az-2"), &["etcd.etcd-spread.outages[kind=quorum][0].root_cause"]);
    check("two-zone-region", "/faults/0/zone", json!("az-2"), &[&shop("quorum_lost_s")]);
    check("storage-degraded", "/faults/0/add", json!("100ms"), &[&shop("leader_changes"), &shop("latency[op=put].max_ms")]);
    check("storage-degraded", "/clients/0/rate", json!("1/d"), &[&shop("latency[op=put].max_ms")]);
    let first = "api.shoot--garden--plain-1.write_unavailable_s";
    check("many-shoots", "/faults/0/zone", json!("zb"), &[first, "api.shoot--garden--plain-2.write_unavailable_s"]);
    let volumes = "sum(cost[provider=aws][kind=volume][shoot=node-1].quantity)";
    check("cost-of-tolerance", "/shoots/1/failure_tolerance", json!("none"), &[volumes]);
    let machines = "sum(cost[provider=aws][kind=machine].quantity)";
    check("cost-of-tolerance", "/seeds/2/pools/0/minimum", json!(11), &[machines, "bill.providers.aws.total_usd[-1]"]);
    check("cloud-api-down", "/faults/0/for", json!("5m"), &[&tolerance, "recovery[pod=etcd-main-0].attached_s"]);
    let roams = "count(observed[at=2h].pods[namespace=shoot--garden--roaming][owner=etcd-main][ready=true])";
    check("zone-outage-option-3a", "/shoots/1/etcd/volumes", json!("zonal"), &[roams]);
    check("zone-outage-option-3a", "/shoots/1/recovery", json!("wait"), &[roams]);
    let moved = [tolerance.clone(), "observed[at=2h].pods[name=etcd-main-0].ready".to_owned()];
    check("zone-outage-option-3b", "/shoots/0/recovery", json!("preferred"), &[&moved[0], &moved[1]]);
    check(
        "ha-upgrade",
        "/operations/0/set_failure_tolerance/shoot",
        json!("stay"),
        &["count(etcd.shoot--garden--shop/etcd-main.members)"],
    );
    let moved = ["migrations[shoot=shop].from", "migrations[shoot=shop].write_unavailable_s"];
    check("control-plane-migration", "/operations/1/migrate_shoot/seed", json!("narrow"), &moved);
    check("control-plane-migration", "/shoots/0/etcd/initial/database", json!("4GiB"), &moved[1..]);
    let paid = |minute: u32| format!("bill.providers.aws.kinds.cross_zone[{minute}]");
    let never = ["count(hints[active=true][from_s=0.0])", &paid(20)];
    check("topology-hints", "/seeds/0/topology_aware_routing", json!(false), &never);
    let ample = json!({"name": "cpu", "minimum": 12, "maximum": 15});
    let lost = ["hints[service=shoot--garden--shop-1/etcd-main-client][0].to_s", &paid(110)];
    check("topology-hints", "/seeds/0/pools/0", ample, &lost);
    let fsync =
        ["etcd.three-zones.latency[op=put][target=leader].count", "etcd.three-zones.latency[op=put][target=follower].p50_ms"];
    check("etcd-benchmark", "/etcd/1/disk/fsync", json!("3ms"), &fsync);
    check(
        "etcd-benchmark",
        "/clients/7/process/per_request",
        json!("120us"),
        &["etcd.three-zones.latency[op=range][target=three-0].count"],
    );
    let skewed = "failback[component=kube-apiserver].per_zone.za";
    check("zone-outage-option-1", "/faults/0/for", json!("3h"), &[skewed]);
    let spared = "components[component=kube-apiserver][namespace=shoot--garden--shop].unavailable_s";
    check("rolling-maintenance", "/shoots/0/failure_tolerance", json!("none"), &[spared, &shop("quorum_lost_s")]);
    let bare = |place: &str| format!("etcd.shoot--garden--bare/etcd-main.{place}");
    let unavailable = "api.shoot--garden--bare.write_unavailable_s";
    check("rolling-maintenance", "/shoots/1/components", json!([]), &[&bare("quorum_lost_s"), unavailable]);
    let other = json!({"at": "10m", "roll_component": {"shoot": "bare", "component": "kube-scheduler"}});
    check("rolling-maintenance", "/operations/1", other, &[&bare("outages[kind=write][0].root_cause")]);
    let lost = ["max(etcd[*].quorum_lost_s)", "max(api[*].write_unavailable_s)"];
    check("seed-maintenance", "/shoots/0/components", without_budgets(), &lost);
    let of_zone = json!({"at": "10m", "roll_pool": {"seed": "seed", "pool": "cpu", "zone": "zb"}});
    check("seed-maintenance", "/operations/0", of_zone, &["max(machines[*].age_s)"]);
    // A row of a budget for each of the three; each mechanism of the program alone, and what is without it.
    let budget = |budget: &str, place: &str| format!("budgets[budget={budget}].{place}");
    let (code, strict) = (budget("code", "zones_disrupted"), budget("strict", "zones_disrupted"));
    let admission = |k: usize| format!("/clusters/0/zone_disruption_budgets/{k}/zdb");
    for story in ["two-zones-drained", "unready-pod-evicted", "missing-pod-uncounted"] {
        check(story, &admission(0), json!("strict"), &[&code]);
        check(story, &admission(1), json!("code"), &[&strict, &budget("strict", "refused")]);
    }
    check("two-zones-drained", "/clusters/0/budgets/0/max_unavailable", json!(1), &[&budget("plain", "zones_disrupted")]);
    check("two-zones-drained", "/operations/0/at", json!("4m"), &[&code, &budget("code", "several_zones_s")]);
    check("unready-pod-evicted", "/faults/0/at", json!("20m"), &[&code, &budget("code", "second_zone")]);
    check("missing-pod-uncounted", "/clusters/0/workloads/0/parallel", json!(true), &[&code, &budget("code", "second_zone")]);
    let first_zone = |workload: &str| format!("rollouts[workload={workload}][rollback=true][0].batches[0].zones[0]");
    let order = |k: usize| format!("/clusters/0/zone_aware_updates/{k}/rollback");
    check("rollback-order", &order(0), json!("readme"), &[&first_zone("code")]);
    check("rollback-order", &order(1), json!("code"), &[&first_zone("readme")]);
    check("rollback-order", "/operations/2/at", json!("1795s"), &["count(rollouts[rollback=true][completed=true])"]);
    let sequence = |workload: &str| format!("rollouts[workload={workload}].sequence");
    let update = |k: usize, field: &str| format!("/clusters/0/zone_aware_updates/{k}/{field}");
    check("zone-aware-update", &update(0, "exponential_factor"), json!(3), &[&sequence("doubling")]);
    let most = "max(rollouts[*].most_unavailable)";
    check("zone-aware-update", &update(1, "max_unavailable"), json!("17%"), &[&sequence("even"), most]);
    let moved = json!({"name": "doubling-28", "node": "zone-2-1"});
    check("zone-aware-update", "/clusters/0/workloads/0/pods/28", moved, &[&sequence("doubling")]);
    let rollout =
        |workload: &str, back: bool, place: &str| format!("rollouts[workload=\"{workload}\"][rollback={back}][0].{place}");
    let story = |pointer: &str, value: Value, fails: &str| {
        check("rollout-strategies", &format!("/clusters/0/{pointer}"), value, &[fails]);
    };
    story("automatic_rollbacks", json!([]), &rollout("surge-back.degrades", true, "automatic"));
    story("zone_aware_updates/8/bake_time", json!("0s"), &rollout("zone-by-hand.degrades", false, "exposed_pods"));
    story("workloads/7/progress_deadline", json!("5m"), &rollout("surge.never-ready", false, "deadline_exceeded_s"));
    story("workloads/36/revisions", json!([{}]), &rollout("one-by-one.splits-the-store", false, "quorum_lost[0].cause"));
    let outage = |k: usize, place: &str| of(&format!("outages[kind=write][{k}].{place}"));
    let (outages, alarms) = (format!("count({m}outages[kind=write])"), format!("count({m}alarms)"));
    // Compacted in place of disarmed, or of defragmented; a quota that is never reached.
    check("quota-exceeded", "/operations/5", json!({"at": "8m", "compact": {}}), &[&outage(1, "to_s")]);
    let files = format!("count({m}defragmentations)");
    check("quota-exceeded", "/operations/2", json!({"at": "7m", "compact": {}}), &[&outages, &alarms, &files]);
    check("quota-exceeded", "/etcd/0/options/quota_backend_bytes", json!("1GiB"), &[&outage(0, "from_s"), &alarms]);
    // Another member is paused than the leader; the short pause lasts longer than an election timeout.
    check("paused-leader", "/faults/1/member", json!("etcd-main-1"), &[&elections, &outage(1, "root_cause")]);
    check("paused-leader", "/faults/1/for", json!("500ms"), &[&elections, &outage(1, "to_s")]);
    check("paused-leader", "/faults/0/for", json!("5s"), &[&outage(1, "from_s")]);
    // The zone of the other shoot fails; the zone is back before anybody looks.
    check("capacity", "/faults/0/zone", json!("az-2"), &["api.shoot--garden--survives-a-node.write_unavailable_s"]);
    check("capacity", "/faults/0/for", json!("5m"), &["count(observed[at=24m].pods[owner=etcd-main][phase=Pending])"]);
    let [bound, late] = ["count(observed[0].pods[cluster=full-at-once][owner=db][phase=Pending])", "wait_for_first_consumer"];
    check("volume-binding", "/clusters/0/workloads/1/volume_binding", json!(late), &[bound]);
    check("volume-names", "/clusters/1/disk_lookup", json!("one_zone"), &["disks[cluster=all-zones][0].lookup"]);
    let by_descheduler = ["count(observed[3].pods[owner=web][zone=zb])", "count(recovery[why=deleted])"];
    check("add-zone", "/operations/2/deschedule/schedule_anyway", json!(false), &by_descheduler);
    let masters = json!({"zones": ["za", "zb", "zc"], "replicas": 3});
    check("master-zone-lost", "/clusters/0/control_plane", masters, &["api.one-master.read_unavailable_s"]);
    check("plain-cluster", "/faults/0/for", json!("100m"), &["recovery[pod=db-0].ready_s"]);
    check("plain-cluster", "/operations/0/drain_node/node", json!("worker-c1"), &["pods[name=db-1].node"]);
    let longest = |cluster: &str, clients: &str| format!("access[cluster={cluster}][clients={clients}].longest_s");
    let workers = |cluster: &str| longest(cluster, "kubelets of workers");
    let leaders = "count(api.alt-svc.no_leader)";
    // Clients of both clusters use alternatives.
    let gone = [workers("balancer"), "count(api.balancer.no_leader)".to_owned()];
    let listed = json!({"load_balancer": "lb-balancer", "alternatives": "text"});
    check("lb-partitioned", "/clusters/0/api_access", listed.clone(), &gone.each_ref().map(String::as_str));
    let direct = "max(access[cluster=alt-svc].longest_s)";
    check("lb-partitioned", "/clusters/1/api_access/alternatives", Value::Null, &[direct, leaders]);
    let new_clients = |cluster: &str| format!("api.{cluster}.write_unavailable_s");
    check("lb-partitioned", "/faults/1/for", json!("1m"), &[&new_clients("alt-svc")]);
    check("lb-tcp-health-only", "/faults/0/at", json!("19m"), &[&workers("tcp"), &new_clients("tcp")]);
    check("lb-tcp-health-only", "/load_balancers/1/check/kind", json!("tcp"), &[&workers("readyz"), &new_clients("readyz")]);
    check(
        "apiserver-crash",
        "/clusters/0/api_access",
        listed,
        &["max(access[cluster=balancer].longest_s)", "count(api.balancer.leases)"],
    );
    check("apiserver-crash", "/clusters/1/api_access/alternatives", Value::Null, &[direct, "count(api.alt-svc.leases)"]);
    // Checks of `/readyz`; the balancer fails, too; checks of the port; no alternatives.
    let [hit, rolled] = ["sum(access[cluster=tcp].affected)", "max(access[cluster=tcp].longest_s)"];
    check("apiserver-rolling-restart", "/load_balancers/0/check", json!({"kind": "readyz"}), &[hit]);
    let down = json!({"at": "5m", "for": "1m", "kind": "lb_down", "balancer": "lb-tcp"});
    check("apiserver-rolling-restart", "/faults/0", down, &[rolled]);
    let noticed = "max(access[cluster=readyz].longest_s)";
    check("apiserver-rolling-restart", "/load_balancers/1/check/kind", json!("tcp"), &[noticed]);
    check("apiserver-rolling-restart", "/clusters/2/api_access/alternatives", Value::Null, &[direct]);
    let requests =
        |cluster: &str, clients: &str, field: &str| format!("access[cluster={cluster}][clients={clients}].requests.{field}");
    let [timed_out, failed, slowest] = [("balancer", "timed_out"), ("alt-svc", "failed_percent"), ("alt-svc", "max_ms")]
        .map(|(cluster, field)| requests(cluster, "operators", field));
    check("lb-throttled", "/faults/0/for", json!("1m"), &[&timed_out, &workers("balancer"), &new_clients("balancer")]);
    check("lb-throttled", "/clusters/1/api_access/alternatives", Value::Null, &[&failed, &slowest]);
    let started = requests("alt-svc", "must-gather", "answered");
    check("must-gather-in-outage", "/clusters/1/api_clients/0/start", json!("1m"), &[&started]);
    let [lost, kept] = [requests("balancer", "collector", "connection_lost"), requests("alt-svc", "collector", "answered")];
    check("must-gather-in-outage", "/faults/0/for", json!("1s"), &[&lost]);
    check("must-gather-in-outage", "/clusters/1/api_access/alternatives", Value::Null, &[&kept]);
    let [inside, plain, operator] = [("ci", "failed_percent"), ("ci-plain", "failed_percent"), ("operator", "failed_percent")]
        .map(|(clients, field)| requests("alt-svc", clients, field));
    check("outside-the-cluster-network", "/clusters/0/api_clients/0/alternatives", json!("none"), &[&inside]);
    check("outside-the-cluster-network", "/clusters/0/api_clients/1/alternatives", json!("text"), &[&plain]);
    check("outside-the-cluster-network", "/clusters/0/api_clients/2/in_cluster_network", json!(false), &[&operator]);
    let [hops, local, moved] = [("balancer", "p50_ms"), ("alt-svc", "p50_ms"), ("alt-svc", "max_ms")]
        .map(|(cluster, field)| requests(cluster, "operators", field));
    check("local-first", "/clusters/0/api_access/alternatives", json!("text"), &[&hops]);
    check("local-first", "/clusters/1/api_access/alternatives", Value::Null, &[&local]);
    check("local-first", "/clusters/1/api_clients/0/in_cluster_network", json!(false), &[&moved, &failed]);
    let longest = |cluster: &str, clients: &str| format!("access[cluster={cluster}][clients={clients}].longest_s");
    let [replaced, direct] = ["max(access[cluster=alt-svc].longest_s)", "sum(access[cluster=alt-svc].via_load_balancer)"];
    check("master-replaced", "/faults/0/for", json!("1m"), &["max(access[cluster=balancer].longest_s)"]);
    check("master-replaced", "/clusters/1/api_access/alternatives", Value::Null, &[replaced, direct]);
    check(
        "master-replaced",
        "/clusters/2/api_access/alternatives",
        json!("text"),
        &[&longest("configured", "kubelets of workers")],
    );
    check("master-replaced", "/clusters/2/api_access/alternatives", Value::Null, &[&longest("configured", "kube-scheduler")]);
    // The load balancer is back soon; the processes on each node run on; clients are not configured with other hosts.
    check("lb-on-each-node", "/faults/0/for", json!("1m"), &[&workers("balancer")]);
    let stale = json!({"at": "25m", "for": "2m", "kind": "lb_stale_targets", "balancer": "lb-local"});
    check("lb-on-each-node", "/faults/3", stale, &[&workers("on-each-node"), "count(api.on-each-node.no_leader)"]);
    check("lb-on-each-node", "/faults/1/for", json!("1m"), &[&new_clients("on-each-node")]);
    let configured = ["max(access[cluster=configured].longest_s)", "count(api.configured.no_leader)"];
    check("lb-on-each-node", "/clusters/2/api_access/alternatives", Value::Null, &configured);
    check("lb-custom-dialer", "/faults/0/for", json!("1m"), &[&workers("balancer")]);
    let dialled = ["max(access[cluster=custom-dialer].longest_s)", "count(api.custom-dialer.no_leader)"];
    check("lb-custom-dialer", "/clusters/2/api_access/alternatives", json!("text"), &dialled);
    let resolved = [&longest("in-memory-dns", "kube-scheduler")[..], "count(api.in-memory-dns.no_leader)"];
    check("lb-custom-dialer", "/clusters/3/api_access/alternatives", json!("custom_dialer"), &resolved);
    check("lb-custom-dialer", "/clusters/3/api_access/kubelet_dialer", json!("none"), &[&workers("in-memory-dns")]);
    check("lb-custom-dialer", "/clusters/1/api_access/alternatives", Value::Null, &["max(access[cluster=alt-svc].longest_s)"]);
    let [old, older, mixed, new] = [("old", "operator"), ("mixed", "older-operator"), ("mixed", "operator"), ("new", "operator")]
        .map(|(cluster, clients)| requests(cluster, clients, "failed_percent"));
    check("upgrade-skew", "/faults/0/for", json!("1m"), &[&old]);
    check("upgrade-skew", "/faults/1/for", json!("1m"), &[&older]);
    check("upgrade-skew", "/clusters/1/api_access/alternatives", Value::Null, &[&mixed]);
    check("upgrade-skew", "/clusters/2/api_access/alternatives", Value::Null, &[&new]);
    check("lb-removed-after-bootstrap", "/faults/0/at", json!("59m"), &[&workers("balancer")]);
    let (hit, unknown) =
        ("access[cluster=alt-svc][clients=kubelets of workers].affected", "count(nodes[cluster=alt-svc][ready=Unknown])");
    check("lb-removed-after-bootstrap", "/faults/2/at", json!("59m"), &[hit, unknown, &new_clients("alt-svc")]);
    let masters = "max(access[cluster=alt-svc][clients=kubelets of control-plane hosts].longest_s)";
    check("lb-removed-after-bootstrap", "/clusters/1/api_access/alternatives", Value::Null, &[masters]);
    let sizing = |cluster: usize| format!("/clusters/{cluster}/controllers/cluster_autoscaler/sizing");
    let sizes = |pool: &str, k: usize| format!("node_pools[pool={pool}][0].sizes[{k}]");
    let surge = "node_pools[pool=no-surge][0].groups[1].max_surge";
    check("gep24-existing-solution", "/clusters/0/pools/1/rollout/max_surge", json!(2), &[surge]);
    let useless = "count(pods[owner=zb-only][ready=false])";
    check("gep24-existing-solution", &sizing(0), json!("lax_greedy"), &[useless, &sizes("none-left", 0), &sizes("no-surge", 0)]);
    let more = "/operations/1/scale_workload/replicas";
    check("gep24-existing-solution", more, json!(4), &[&sizes("no-surge", 1)]);
    check("gep24-lax-greedy", &sizing(0), json!("static"), &[&sizes("four", 0), &sizes("one", 0)]);
    check("gep24-backward-compatible", &sizing(0), json!("static"), &[&sizes("one", 0), &sizes("two", 0), &sizes("two", 1)]);
    check("gep24-backward-compatible", "/cloud/stock/1/count", json!(1), &[&sizes("two", 1), "count(pods[ready=false])"]);
    let burst = |cluster: &str, field: &str| format!("node_pools[cluster={cluster}][0].{field}");
    check(
        "gep24-burst",
        "/clusters/0/controllers/cluster_autoscaler/count",
        json!("live"),
        &[&burst("materialized", "exceeded_by")],
    );
    check("gep24-burst", "/clusters/2/controllers/cluster_autoscaler/count", json!("targets"), &[&burst("live", "exceeded_by")]);
    check("gep24-burst", &sizing(3), json!("static"), &[&burst("backward", "sizes[-1]")]);
    let moved = "min(recovery[cluster=lax-greedy].ready_s)";
    check("gep24-zone-outage", &sizing(1), json!("static"), &[moved, "max(recovery[cluster=lax-greedy].ready_s)"]);
    check("gep24-zone-outage", "/faults/1/for", json!("3h"), &[moved]);
    let launched = |cluster: &str| format!("sum(node_pools[cluster={cluster}][0].groups[*].launched)");
    let (moved, least) =
        ("count(recovery[cluster=drained][why=deleted])", "min(node_pools[cluster=drained][0].groups[*].launched)");
    let scale_down = |cluster: usize| format!("/clusters/{cluster}/controllers/cluster_autoscaler/scale_down");
    let deletes = json!({"sizing": "lax_greedy", "scale_down": {}});
    check("scale-down", "/clusters/0/controllers/cluster_autoscaler", deletes, &[&burst("without", "sizes[-1]")]);
    check("scale-down", &scale_down(1), Value::Null, &[&launched("empty"), &burst("empty", "scans[4].at_s")]);
    let kept = [launched("drained"), burst("drained", "below_minimum_s")];
    check("scale-down", &scale_down(2), Value::Null, &[&kept[0], &kept[1], moved, least]);
    check("scale-down", "/clusters/3/workloads/0/max_unavailable", json!(6), &[&launched("budget")]);
    let crossing = "service_traffic[service=even-zone][0].cross_zone_percent";
    check("kube-proxy-cross-zone", "/clusters/0/services/1/traffic_distribution", Value::Null, &[crossing]);
    let of_shifted = |service: &str, place: &str| format!("service_traffic[cluster=shifted][service={service}][0].{place}");
    let to_za = of_shifted("web", "zones[from=zb][to=za][0].connections");
    let pending = "count(observed[0].pods[cluster=shifted][owner=web][phase=Pending])";
    check(
        "zonal-shift",
        "/operations/0/shift_zone/for",
        json!("20m"),
        &[&to_za, &of_shifted("web-zone", "round_trip_ms"), pending],
    );
    check("zonal-shift", "/operations/0/shift_zone/zone", json!("zb"), &[&to_za, &of_shifted("web", "round_trip_ms")]);
    let spreading = "/clusters/0/controllers/kube_scheduler/default_spreading";
    let in_za = "count(observed[0].pods[cluster=selector][owner=web][zone=za])";
    check("selector-spread", spreading, json!("none"), &[in_za, "count(recovery[cluster=selector])"]);
    check("plain-cluster", "/clusters/0/workloads/0/replicas", json!(1), &["services[service=web].stale_endpoints_s"]);
}
