//! What is skewed after a zone is back, and whether the remedy that the report names is one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::world::{KUBE_CLUSTER, act, at};
use zonefall_core::ids::WorkloadId;
use zonefall_core::kube::cluster::KubeCluster;
use zonefall_core::kube::ctx::ClusterCtx;
use zonefall_core::kube::name::PodName;
use zonefall_core::kube::record::PodFact;
use zonefall_core::report::FailbackReport;
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

/// A seed over three zones with a shoot that survives the loss of `za`, from 10 min on for an hour.
fn failback(shoot: &Value, lasts: &str, operations: &Value) -> Vec<FailbackReport> {
    let components = json!([{"name": "etcd-main"}, {"name": "kube-apiserver"}]);
    let mut own = json!({"name": "s", "failure_tolerance": "zone", "only_listed": true, "components": components});
    own.as_object_mut().unwrap().extend(shoot.as_object().unwrap().clone());
    let file = json!({
        "name": "landscape", "duration": "100m",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 3, "maximum": 9}],
        }],
        "shoots": [own], "operations": operations,
        "faults": [
            {"at": "10m", "for": lasts, "kind": "zone_power", "zone": "za"},
            {"at": "10m", "for": lasts, "kind": "cloud_api", "zone": "za", "create": "refused", "delete": "refused"},
        ],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run::run_checked(&scenario, 1, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert_eq!(report.to_json().get("failback").is_some(), !report.failback.is_empty(), "not in JSON where there is nothing");
    report.failback
}

fn of<'a>(rows: &'a [FailbackReport], component: &str) -> Option<&'a FailbackReport> {
    rows.iter().find(|row| row.namespace == "shoot--garden--s" && row.component == component)
}

fn per_zone(row: &FailbackReport) -> [u32; 3] {
    ["za", "zb", "zc"].map(|zone| row.per_zone[zone])
}

#[test]
fn a_spread_counts_when_pods_are_placed() {
    let rows = failback(&json!({}), "1h", &json!([]));
    let row = of(&rows, "kube-apiserver").expect("two share a zone");
    assert_eq!((row.skew, per_zone(row)[0], row.cluster.as_str()), (2, 0, "seed"));
    assert!(row.remedy.contains("kubectl rollout restart"), "{row:?}");
    assert!(of(&rows, "etcd-main").is_none(), "its volume has waited for its zone");
    // The remedy is one.
    let restart = json!([{"at": "90m", "roll_component": {"shoot": "s", "component": "kube-apiserver"}}]);
    assert!(of(&failback(&json!({}), "1h", &restart), "kube-apiserver").is_none());
}

#[test]
fn what_follows_from_where_the_volume_is() {
    let roams = json!({"recovery": "preferred", "etcd": {"volumes": "regional"}});
    let rows = failback(&roams, "1h", &json!([]));
    let row = of(&rows, "etcd-main").expect("two share a zone");
    assert!(row.skew == 2 && per_zone(row)[0] == 0 && row.remedy.contains("its volume follows it"), "{row:?}");
    assert!(of(&failback(&json!({"recovery": "preferred"}), "1h", &json!([])), "etcd-main").is_none(), "bound to its zone");
}

#[test]
fn only_of_what_is_over() {
    assert_eq!(failback(&json!({}), "2h", &json!([])), [], "the zone is not back");
    assert_eq!(failback(&json!({}), "1m", &json!([])), [], "nobody has noticed");
}

/// Pods that had no room elsewhere got machines there, which stay.
#[test]
fn machines_stay() {
    let large = json!({"components": [{"name": "etcd-main"}, {"name": "kube-apiserver", "cpu": 5}]});
    let rows = failback(&large, "1h", &json!([]));
    let machines: Vec<_> = rows.iter().filter(|row| row.namespace.is_empty()).collect();
    assert!(machines.len() == 1 && machines[0].skew == 1 && machines[0].per_zone.values().sum::<u32>() == 2, "{rows:?}");
}

/// A pool of three nodes whose workload grows to nine pods, a node each, before `zb` has no power for a time: rows of machine deployments.
fn grown(start: u32, lasts: &str) -> Vec<FailbackReport> {
    let components = ["kube_controller_manager", "kube_scheduler", "machine_controller_manager", "cluster_autoscaler"];
    let file = json!({
        "name": "grown", "duration": "4h",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [{
            "name": "c", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["za"], "replicas": 1}, "control_plane_nodes": false,
            "components": components,
            "pools": [{"name": "p", "minimum": 0, "maximum": 18, "start": start}],
            "workloads": [{"name": "w", "kind": "deployment", "replicas": start, "cpu": 6, "memory": "1GiB"}],
            "controllers": {"cluster_autoscaler": {"sizing": "lax_greedy"}},
        }],
        "operations": [{"at": "10m", "scale_workload": {"cluster": "c", "workload": "w", "replicas": 9}}],
        "faults": [{"at": "2h", "for": lasts, "kind": "zone_power", "zone": "zb"}],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run::run_checked(&scenario, 1, Options::default(), &mut |_, _| {});
    report.failback.into_iter().filter(|row| row.namespace.is_empty()).collect()
}

#[test]
fn machines_of_a_cluster_that_had_grown_before_replaced_nobody() {
    assert_eq!(grown(3, "30s"), []);
    assert_eq!(grown(0, "30s"), [], "nor of one that began without nodes");
    let rows = grown(3, "1h");
    assert!(!rows.is_empty() && rows.iter().all(|row| row.skew <= 3 && row.component != "c-p-z2"), "{rows:?}");
}

/// A shoot in one of three zones: its API server goes elsewhere, and what is pinned to it can no longer go where its volume is.
#[test]
fn a_pod_waits_for_a_zone_that_others_have_left() {
    let pinned = json!({"failure_tolerance": "none"});
    let rows = failback(&pinned, "1h", &json!([]));
    let row = of(&rows, "etcd-main").expect("it finds no node");
    assert!(row.remedy.contains("etcd-main-0 must share a zone with") && row.remedy.contains("has a node in za"), "{row:?}");
    assert!(of(&failback(&pinned, "1m", &json!([])), "etcd-main").is_none());
}

/// A shoot with failure tolerance `node` on a seed of two zones, whose pods must all share one (GEP-20, "Zone Pinning"). That zone has no
/// power for 20 min: Deployments move, volumes cannot.
fn deadlocked() -> Scenario {
    let node = |name: &str| json!({"name": name, "pool": "cpu", "zone": format!("z{}", &name[..1])});
    let nodes = ["a1", "a2", "a3", "b1", "b2", "b3"].map(node);
    let file = json!({
        "name": "deadlock", "duration": "100m",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb"], "control_plane": {"zones": ["parent"]}, "allow_even_zones": true,
            "pools": [{"name": "cpu", "minimum": 6, "maximum": 12}],
            "nodes": nodes,
        }],
        "shoots": [{"name": "s", "failure_tolerance": "node"}],
        "faults": [
            {"at": "10m", "for": "20m", "kind": "zone_power", "zone": "za"},
            {"at": "10m", "for": "20m", "kind": "cloud_api", "zone": "za", "create": "refused", "delete": "refused"},
        ],
    });
    Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn a_zonal_deadlock_is_in_the_verdict_with_its_remedy() {
    let report = run::run_checked(&Arc::new(deadlocked()), 1, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    let row = of(&report.failback, "etcd-main").expect("its pods find no node");
    let deadlock = row.deadlock.as_ref().expect("nothing moves the others");
    assert_eq!(deadlock.pods, ["etcd-main-0", "etcd-main-1", "etcd-main-2"]);
    assert_eq!((deadlock.zone.as_str(), deadlock.others.join(" ").as_str()), ("za", "zb"));
    assert!(row.remedy.starts_with("scale the workloads in zb that ") && row.remedy.contains("to 0 replicas"), "{row:?}");
    let said =
        "Zonal deadlock in shoot--garden--s of seed: etcd-main-0, etcd-main-1 and etcd-main-2 (and 5 more pods) find no node";
    assert!(report.verdict().contains(said), "{}", report.verdict());
    let outage = report.etcd["shoot--garden--s/etcd-main"].outages.last().expect("it has no quorum");
    let pods = "etcd-main-0, etcd-main-1 and etcd-main-2 have no node (pod affinity is not satisfied)";
    assert!(!outage.completed && outage.root_cause.contains(pods), "{outage:?}");
}

/// What operators do about it 60 min after the start: whether the members of etcd find nodes.
fn helps(action: impl Fn(&mut KubeCluster, usize, &mut ClusterCtx<'_>), when: &[u64]) -> bool {
    let seen = act(&deadlocked(), 1, action, when.iter().copied());
    let scenario = deadlocked();
    let is_etcd = |pod: &PodName| scenario.kube.clusters[KUBE_CLUSTER].workloads[pod.workload].name == "etcd-main";
    let bound = seen.pods(|fact| matches!(fact, PodFact::Bound(_)));
    bound.iter().filter(|(when, pod)| *when > at(3_600) && is_etcd(pod)).count() == 3
}

/// Workloads of the shoot that have pods with nodes.
fn placed(cluster: &KubeCluster, ctx: &ClusterCtx<'_>) -> Vec<WorkloadId> {
    let of_shoot = |id: &WorkloadId| ctx.scenario.kube.word(ctx.spec.workloads[*id].namespace) == "shoot--garden--s";
    let has_node = |id: &WorkloadId| cluster.store().pods_of(*id).any(|(_, pod)| pod.node.is_some());
    ctx.spec.workloads.keys().filter(of_shoot).filter(has_node).collect()
}

#[test]
fn a_zonal_deadlock_ends_when_the_others_are_scaled_to_nothing_and_not_when_they_are_deleted() {
    let delete = |cluster: &mut KubeCluster, _: usize, ctx: &mut ClusterCtx<'_>| {
        for id in placed(cluster, ctx) {
            let pods: Vec<_> = cluster.store().pods_of(id).map(|(id, _)| id).collect();
            for pod in pods {
                cluster.store_mut().terminate(pod, ctx);
            }
        }
    };
    assert!(!helps(delete, &[3_600]), "each is replaced while another is still there");
    let before = std::cell::RefCell::new(Vec::new());
    let scale = |cluster: &mut KubeCluster, step: usize, ctx: &mut ClusterCtx<'_>| {
        if step == 0 {
            let all = placed(cluster, ctx).into_iter().map(|id| (id, cluster.store().desired(id)));
            *before.borrow_mut() = all.collect();
            for (id, _) in &*before.borrow() {
                cluster.store_mut().set_desired(*id, 0);
            }
        } else {
            for (id, pods) in &*before.borrow() {
                cluster.store_mut().set_desired(*id, *pods);
            }
        }
    };
    assert!(helps(scale, &[3_600, 4_200]), "their volumes decide");
}
