//! Operators drain nodes and replace machines, and nobody loses the last pod that is ready.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::machines::with_machines;
use super::world::{KUBE_CLUSTER, Seen, act, at, broken, run, secs, with, workload, world};
use zonefall_core::ids::{MachineDeploymentId, NodeId, NodeKey, WorkloadId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::cluster::KubeCluster;
use zonefall_core::kube::ctx::ClusterCtx;
use zonefall_core::kube::machine::Phase;
use zonefall_core::kube::name::{MachineName, PodName, PodTag};
use zonefall_core::kube::record::{KubeRecord, MachineFact, NodeFact, PodFact};
use zonefall_core::kube::rule::budget::Status;
use zonefall_core::kube::spec::{Kind, Operation, Task, VolumeTemplate, Workload};
use zonefall_core::kube::store::BudgetId;
use zonefall_core::report::{DrainEnd, RemainingPodReport};
use zonefall_core::scenario::{Fault, FaultTarget, NodeCrash, Scenario};
use zonefall_core::simulate;

/// `scenario` with this asked for at so many seconds.
pub(super) fn asked(mut scenario: Scenario, second: u64, task: Task) -> Scenario {
    scenario.kube.operations.push(Operation { at: at(second), cluster: KUBE_CLUSTER, task });
    scenario
}

/// Fewest pods of a workload that are ready at a time, from the start on.
fn fewest_ready(seen: &Seen, workload: WorkloadId) -> usize {
    let (mut ready, mut fewest) = (BTreeSet::new(), usize::MAX);
    for (when, record) in &seen.0 {
        let KubeRecord::Pod(pod, fact) = record else { continue };
        let changes = match fact {
            PodFact::Ready(true) => pod.workload == workload && ready.insert(*pod),
            PodFact::Ready(false) | PodFact::Removed => ready.remove(pod),
            _ => false,
        };
        if changes && *when > at(0) {
            fewest = fewest.min(ready.len());
        }
    }
    fewest.min(ready.len())
}

/// Three pods, two of them on the node that is drained, of which one may be missing at a time; and a pod that belongs to the node.
fn crowded() -> Scenario {
    let mut web = Workload { max_unavailable: Some(1), ..workload("web", 0, 3) };
    web.placed =
        [0, 0, 1].into_iter().zip(0..).map(|(node, suffix)| (PodTag::Replica { template: 7, suffix }, NodeKey(node))).collect();
    let agent = Workload { kind: Kind::DaemonSet, ..workload("agent", 1, 0) };
    asked(with(with(world(&[2, 1]), web), agent), 100, Task::DrainNode(NodeKey(0)))
}

/// A cluster on three nodes, the first of which is drained: two workloads of two pods each, one of them there.
fn with_budgets(budgets: &serde_json::Value) -> Scenario {
    let workload = |name: &str, other: &str| {
        let labels = format!("tier=front,name={name}");
        let pods = json!([
            {"name": format!("{name}-7b454c4b44-zcsjj"), "node": "n-0"}, {"name": format!("{name}-7b454c4b44-zcsjk"), "node": other},
        ]);
        json!({"name": name, "kind": "deployment", "replicas": 2, "labels": labels, "pods": pods})
    };
    let node = |k: usize| json!({"name": format!("n-{k}"), "pool": "p", "zone": "a"});
    let file = json!({
        "name": "budgets",
        "duration": "10m",
        "topology": {"regions": [{"name": "r", "zones": ["a"]}]},
        "clusters": [{
            "name": "c",
            "zones": ["a"],
            "pools": [{"name": "p", "minimum": 3, "maximum": 3}],
            "nodes": [node(0), node(1), node(2)],
            "workloads": [workload("web", "n-1"), workload("api", "n-2")],
            "budgets": budgets,
        }],
        "operations": [{"at": "100s", "drain_node": {"cluster": "c", "node": "n-0"}}],
    });
    Scenario::from_json(&file.to_string()).expect("a scenario")
}

#[test]
fn a_budget_counts_the_pods_of_all_workloads_that_it_selects() {
    let evicted = |budgets| {
        let seen = run(&with_budgets(&budgets), 1);
        assert!(seen.pods(|fact| fact == PodFact::SeveralBudgets).is_empty());
        seen.pods(|fact| fact == PodFact::Evicted(true)).iter().map(|(when, _)| *when).collect::<Vec<_>>()
    };
    let [all, half, most] = ["max_unavailable", "max_unavailable", "min_available"].map(str::to_owned);
    let one = |limit: String, value: serde_json::Value| json!([{"name": "front", "pods": "tier=front", limit: value}]);
    assert_eq!(evicted(json!([])), [at(100), at(100)], "without a budget both leave at once");
    assert_eq!(evicted(one(all, json!(2))), [at(100), at(100)]);
    for budget in [one(half, json!("25%")), one(most, json!(3))] {
        let times = evicted(budget);
        assert!(times[0] == at(100) && times[1] > at(104) && times.len() == 2, "{times:?}");
    }
    assert_eq!(evicted(json!([{"name": "still", "pods": "tier in (front),name!=web", "max_unavailable": 0}])).len(), 1);
}

#[test]
fn a_budget_counts_what_its_workloads_have_at_every_moment() {
    let budgets = json!([
        {"name": "web", "pods": "name=web", "max_unavailable": 1},
        {"name": "front", "pods": "tier", "min_available": "50%"},
        {"name": "back", "pods": "tier=back", "max_unavailable": 1},
    ]);
    let crash = |scenario, second, lasts, node| {
        broken(scenario, second, Some(lasts), Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(node)))))
    };
    let hosts = with_budgets(&budgets).kube.clusters[KUBE_CLUSTER].nodes.iter().map(|node| node.node.0).collect::<Vec<_>>();
    let scenario = crash(crash(with_budgets(&budgets), 20, 30, hosts[1]), 200, 300, hosts[2]);
    let is_right = |cluster: &mut KubeCluster, _: usize, ctx: &mut ClusterCtx<'_>| {
        let store = cluster.store();
        for (k, budget) in (0..).zip(&ctx.spec.budgets) {
            let ids = ctx.spec.workloads.iter_enumerated();
            let selected: Vec<_> = ids.filter(|(_, workload)| budget.pods.selects(workload)).map(|(id, _)| id).collect();
            let pods = selected.iter().flat_map(|id| store.pods_of(*id)).filter(|(_, pod)| pod.ready && !pod.terminating);
            let status = Status::of(budget.limit, selected.iter().map(|id| store.desired(*id)).sum(), pods.count() as u32);
            assert_eq!(store.budget(BudgetId::Named(k)), Some(&status), "{} at {:?}", budget.name, ctx.now);
        }
    };
    // Seconds at which nothing has just changed: in a crash, after the drain, and while pods of a node that is away are replaced.
    act(&scenario, 1, is_right, [1, 19, 70, 99, 130, 199, 260, 290, 450, 590].into_iter());
}

#[test]
fn a_pod_of_several_budgets_is_never_evicted() {
    let budgets = json!([{"name": "a", "pods": "name=web", "max_unavailable": 1}, {"name": "b", "pods": "tier=front", "max_unavailable": 4}]);
    let seen = run(&with_budgets(&budgets), 1);
    assert_eq!(seen.pods(|fact| fact == PodFact::Evicted(true)).len(), 1, "the pod of api has one budget");
    assert_eq!(seen.pods(|fact| fact == PodFact::SeveralBudgets).len(), 1, "kubectl gives up on any error but 429");
}

#[test]
fn a_drain_that_does_not_end_is_in_the_report_with_what_it_waits_for() {
    let drain = |budgets: serde_json::Value| {
        let report = simulate(with_budgets(&budgets), 1);
        let [drain] = &report.drains[..] else { panic!("{:?}", report.drains) };
        assert_eq!((&drain.cluster[..], &drain.node[..], drain.requested_s), ("c", "n-0", 100.0));
        assert_eq!(drain.end, if drain.remaining.is_empty() { DrainEnd::Drained } else { DrainEnd::Unfinished });
        let told = |pod: &RemainingPodReport| format!("{} since {} s: {}", pod.pod, pod.from_s, pod.reason);
        (drain.duration_s, drain.remaining.iter().map(told).collect::<Vec<_>>())
    };
    let (took_s, remaining) = drain(json!([]));
    assert!(took_s > 0.0 && took_s < 10.0 && remaining.is_empty(), "{took_s} {remaining:?}");
    let still = json!([{"name": "still", "pods": "name=web", "max_unavailable": 0}]);
    let web = "web-7b454c4b44-zcsjj since 100 s: ";
    assert_eq!(drain(still), (500.0, vec![format!("{web}PodDisruptionBudget still allows no disruption")]));
    let both = json!([{"name": "one", "pods": "name=web", "max_unavailable": 1}, {"name": "two", "pods": "tier,name!=api", "max_unavailable": 1}]);
    assert_eq!(drain(both), (500.0, vec![format!("{web}several PodDisruptionBudgets select it: one and two")]));
}

#[test]
fn a_drain_begins_with_an_api_that_answers() {
    let mut scenario = with_budgets(&json!([]));
    for host in scenario.kube.clusters[KUBE_CLUSTER].control_plane.clone() {
        scenario = broken(scenario, 50, None, Fault::NodeCrash(NodeCrash(FaultTarget::Named(host))));
    }
    let report = simulate(scenario, 1);
    assert_eq!(report.drains[0].end, DrainEnd::NotCordoned);
    assert!(report.drains[0].states(|s| format!("{s} s"))[0].ends_with("the API did not answer"));
}

#[test]
fn a_drain_waits_for_budgets() {
    let seen = run(&crowded(), 1);
    assert_eq!(seen.node_facts(NodeFact::Cordoned), [(at(100), NodeKey(0))]);
    let (granted, refused) =
        (seen.pods(|fact| fact == PodFact::Evicted(true)), seen.pods(|fact| fact == PodFact::Evicted(false)));
    // The successor of the first is ready after 5 s and a little more: at the second try again, 10 s later.
    assert_eq!(granted.iter().map(|(when, _)| *when).collect::<Vec<_>>(), [at(100), at(110)]);
    assert_eq!(
        refused.iter().map(|(when, pod)| (*when, *pod)).collect::<Vec<_>>(),
        [(at(100), granted[1].1), (at(105), granted[1].1)]
    );
    assert_eq!(fewest_ready(&seen, WorkloadId(0)), 2);
    let gone: BTreeSet<PodName> = seen.pods(|fact| fact == PodFact::Removed).into_iter().map(|(_, pod)| pod).collect();
    let left: Vec<u32> =
        seen.first_pods_on(NodeKey(0)).iter().filter(|pod| !gone.contains(pod)).map(|pod| pod.workload.0).collect();
    assert_eq!(left, [1], "its agent stays");
    assert!(
        seen.pods(|fact| matches!(fact, PodFact::Created))
            .iter()
            .all(|(when, pod)| *when < at(1) || seen.node_of(*pod) != Some(NodeKey(0)))
    );
}

#[test]
fn a_drain_goes_on_when_the_api_is_back() {
    let scenario = crowded();
    let control_plane = scenario.kube.clusters[KUBE_CLUSTER].control_plane[0];
    let scenario = broken(scenario, 50, Some(200), Fault::NodeCrash(NodeCrash(FaultTarget::Named(control_plane))));
    let seen = run(&scenario, 1);
    let granted = seen.pods(|fact| fact == PodFact::Evicted(true));
    // Boot and start of the API server take 80 s.
    assert!(granted.len() == 2 && granted[0].0 >= at(330) && granted[0].0 < at(340), "{granted:?}");
    assert_eq!(seen.node_facts(NodeFact::Cordoned), [(granted[0].0, NodeKey(0))]);
}

/// Most machines of a machine deployment that are not on their way out, and the fewest that run.
fn machines(seen: &Seen, scenario: &Scenario, deployment: MachineDeploymentId) -> (usize, usize) {
    let start = scenario.kube.clusters[KUBE_CLUSTER]
        .nodes
        .iter()
        .filter_map(|node| node.machine)
        .filter(|name| name.deployment == deployment);
    let mut all: BTreeMap<MachineName, Phase> = start.map(|name| (name, Phase::Running)).collect();
    let mut found = (all.len(), all.len());
    for (_, name, fact) in seen.machines().into_iter().filter(|(_, name, _)| name.deployment == deployment) {
        match fact {
            MachineFact::Created => drop(all.insert(name, Phase::Pending)),
            MachineFact::Phase(Phase::Terminating) | MachineFact::Removed => drop(all.remove(&name)),
            MachineFact::Phase(phase) => drop(all.insert(name, phase)),
            MachineFact::DrainTimedOut => {}
        }
        let running = all.values().filter(|phase| **phase == Phase::Running).count();
        found = (found.0.max(all.len()), found.1.min(running));
    }
    found
}

#[test]
fn a_machine_comes_before_one_goes() {
    let volume = Some(VolumeTemplate::new(false, 1 << 30));
    let kind = Kind::StatefulSet { parallel: true };
    let db = Workload { kind, volume, max_unavailable: Some(1), ..workload("db", 0, 3) };
    let web = Workload { max_unavailable: Some(1), ..workload("web", 1, 6) };
    let mut scenario = with_machines(with(with(world(&[2, 2, 2]), db), web), 4);
    for deployment in 0..3 {
        scenario = asked(scenario, 100, Task::RollMachines(MachineDeploymentId(deployment)));
    }
    let seen = run(&scenario, 1);
    for deployment in (0..3).map(MachineDeploymentId) {
        assert_eq!(machines(&seen, &scenario, deployment), (3, 2));
    }
    let gone = seen.machines().into_iter().filter(|(.., fact)| *fact == MachineFact::Removed);
    let old: BTreeSet<MachineName> = scenario.kube.clusters[KUBE_CLUSTER].nodes.iter().filter_map(|node| node.machine).collect();
    assert_eq!(gone.map(|(_, name, _)| name).collect::<BTreeSet<_>>(), old, "all of the old ones, and no others");
    assert_eq!(seen.made().len(), 6);
    assert_eq!([0, 1].map(|id| fewest_ready(&seen, WorkloadId(id))), [2, 5]);
    // Nodes that are to go are the last choice: who leaves one need not leave another.
    assert!(seen.pods(|fact| fact == PodFact::Evicted(true)).len() < 15);
}

/// A machine is drained while a budget refuses the eviction of two pods, one of them with a volume: every 20 s while a third pod of the
/// budget is not ready, and every 5 s where all are, for then the budget is not expected to allow anything later.
#[test]
fn a_drain_asks_again_and_deletes_by_force_what_is_left_when_its_time_is_over() {
    drained_by_force(1, 20);
    drained_by_force(0, 5);
}

fn drained_by_force(pending: u32, retry_s: u64) {
    let file = json!({
        "name": "refused", "duration": "40m",
        "topology": {"regions": [{"name": "r", "zones": ["za"]}]},
        "clusters": [{
            "name": "c", "zones": ["za"], "control_plane_nodes": false,
            "components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager"],
            "pools": [{"name": "cpu", "minimum": 1, "maximum": 2, "rollout": {"max_surge": 1, "max_unavailable": 0}}],
            "nodes": [{"name": "n", "pool": "cpu", "zone": "za"}],
            "workloads": [
                {"name": "web", "kind": "deployment", "replicas": 1, "cpu": 0.1, "memory": "1GiB"},
                {"name": "db", "kind": "stateful_set", "replicas": 1, "cpu": 0.1, "memory": "1GiB", "volume": "zonal"},
                {"name": "big", "kind": "deployment", "replicas": pending, "cpu": 1_000, "memory": "1GiB"},
            ],
            "budgets": [{"name": "apps", "pods": "app in (web, db, big)", "max_unavailable": 0}],
            "timers": {"machine_drain": "5m"},
        }],
        "operations": [{"at": "5m", "roll_pool": {"cluster": "c", "pool": "cpu"}}],
    });
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let seen = run(&scenario, 1);
    let (refused, forced) = (seen.pods(|fact| fact == PodFact::Evicted(false)), seen.pods(|fact| fact == PodFact::ForceDeleted));
    let [(over, web), (_, db)] = forced[..] else { panic!("{forced:?}") };
    for pod in [web, db] {
        let asked: Vec<Time> = refused.iter().filter(|(_, of)| *of == pod).map(|(when, _)| *when).collect();
        assert_eq!(asked.len() as u64, 300 / retry_s, "from the start of the drain on, until {retry_s} s before its end");
        assert!(asked.windows(2).all(|pair| pair[1].since(pair[0]) == secs(retry_s)), "{asked:?}");
        assert_eq!(over.since(asked[0]), secs(300));
        // Their objects go at once, and long before the machine: others take their places.
        assert!(seen.of(pod).contains(&(over, PodFact::Removed)), "{:?}", seen.of(pod));
    }
    let [(gone, _)] = seen.node_facts(NodeFact::Removed)[..] else { panic!("one node is deleted") };
    assert!(gone >= over + secs(60), "{gone:?}");
    let report = simulate(scenario, 1);
    let budget = &report.budgets[0];
    assert_eq!((budget.granted, budget.most_disrupted), (0, 2), "{budget:?}");
    let lost: Vec<(&str, Option<f64>)> = report.recovery.iter().map(|row| (row.why.as_str(), row.eviction_refused_s)).collect();
    assert_eq!(lost, [("drain timed out", Some(300.0)); 2]);
}

/// A pool under the control plane of a shoot is replaced.
#[test]
fn rolling_maintenance() {
    let scenario = json!({
        "name": "rolling-maintenance", "duration": "3h",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"], "replicas": 1},
            "pools": [{"name": "cpu", "minimum": 6, "maximum": 9, "rollout": {"max_surge": 3, "max_unavailable": 0}}],
        }],
        "shoots": [{"name": "s", "failure_tolerance": "zone"}],
        "operations": [{"at": "10m", "roll_pool": {"seed": "seed", "pool": "cpu"}}],
    });
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let seen = run(&scenario, 1);
    let cluster = &scenario.kube.clusters[KUBE_CLUSTER];
    for deployment in cluster.machine_deployments.keys() {
        assert_eq!(machines(&seen, &scenario, deployment), (3, 2), "{deployment:?}");
    }
    let removed = seen.machines().into_iter().filter(|(.., fact)| *fact == MachineFact::Removed);
    assert_eq!(removed.map(|(when, ..)| when).filter(|when: &Time| *when < at(10_800)).count(), 6);
    assert!(!seen.pods(|fact| fact == PodFact::Evicted(false)).is_empty(), "no budget was ever spent");
    let several = cluster.workloads.iter_enumerated().filter(|(_, workload)| workload.replicas > 1);
    for (id, workload) in several {
        assert!(
            fewest_ready(&seen, id) + 1 >= workload.replicas as usize,
            "{}: {} ready",
            workload.name,
            fewest_ready(&seen, id)
        );
    }
    assert!(scenario.duration == secs(10_800) && cluster.workloads.iter().filter(|one| one.replicas > 1).count() >= 10);
}
