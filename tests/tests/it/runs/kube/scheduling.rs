//! Where pods go.

use std::collections::BTreeMap;

use serde_json::json;

use super::world::{KUBE_CLUSTER, Seen, over, run, with, workload, world};
use zonefall_core::ids::{NodeKey, WorkloadId};
use zonefall_core::kube::name::{PodName, PodTag};
use zonefall_core::kube::record::{PodFact, Reason};
use zonefall_core::kube::rule::labels::{Condition, NodeAffinity, Requirement, Symbol};
use zonefall_core::kube::rule::taints::{Effect, Taint};
use zonefall_core::kube::spec::Resources;
use zonefall_core::kube::store::CORDONED;
use zonefall_core::scenario::Scenario;
use zonefall_core::simulate;

/// Pods per node at the start, of so many nodes.
fn per_node(seen: &Seen, nodes: u32) -> Vec<usize> {
    (0..nodes).map(|node| seen.first_pods_on(NodeKey(node)).len()).collect()
}

fn refusals(seen: &Seen) -> Vec<Reason> {
    let pods: Vec<PodName> =
        seen.pods(|fact| matches!(fact, PodFact::Unschedulable(_))).into_iter().map(|(_, pod)| pod).collect();
    let reasons = pods.iter().flat_map(|pod| seen.of(*pod)).filter_map(|(_, fact)| match fact {
        PodFact::Unschedulable(reason) => Some(reason),
        _ => None,
    });
    reasons.collect()
}

#[test]
fn pods_that_say_nothing_are_spread() {
    for seed in 0..5 {
        let seen = run(&with(world(&[2, 2, 2]), workload("web", 0, 12)), seed);
        assert_eq!(per_node(&seen, 6), [2; 6], "seed {seed}");
    }
}

#[test]
fn equals_are_drawn_and_never_the_first() {
    let scenario = with(world(&[1, 1, 1]), workload("web", 0, 1));
    let mut chosen: BTreeMap<usize, u32> = BTreeMap::new();
    for seed in 0..30 {
        let seen = run(&scenario, seed);
        let node = per_node(&seen, 3).iter().position(|pods| *pods == 1);
        *chosen.entry(node.expect("it has a node")).or_default() += 1;
    }
    assert!(chosen.len() == 3 && chosen.values().all(|times| *times > 3), "{chosen:?}");
}

/// GEP-20, appendix: finding 1 (one zone, so its skew is always 1) and finding 2 (`kubernetes/kubernetes#109364`, in a set-up that
/// shows it: a zone of four nodes, two of one).
#[test]
fn findings_about_hard_spreading() {
    for (nodes, replicas, zone_skew, placed) in
        [(&[4][..], 3, 1, 3), (&[4, 1, 1], 5, 2, 5), (&[4, 1, 1], 6, 2, 5), (&[2, 2, 2], 6, 1, 6), (&[2, 2, 2], 7, 1, 6)]
    {
        let mut web = workload("web", 0, replicas);
        web.spread = vec![over(Symbol::ZONE, zone_skew, &web), over(Symbol::HOSTNAME, 1, &web)];
        if replicas == 7 {
            // A second pod on a node is within the skew: only room keeps the seventh away.
            web.requests.cpu_milli = 5_000;
        }
        let seen = run(&with(world(nodes), web), 1);
        let count = per_node(&seen, nodes.iter().sum());
        assert_eq!(count.iter().sum::<usize>(), placed, "{replicas} on {nodes:?}: {count:?}");
        let expected = match replicas {
            6 if placed == 5 => vec![Reason::Spread],
            7 => vec![Reason::Resources],
            _ => vec![],
        };
        assert_eq!(refusals(&seen), expected, "{replicas} on {nodes:?}: {count:?}");
    }
}

#[test]
fn what_keeps_a_pod_away() {
    let taint = Taint { key: Symbol(500), value: None, effect: Effect::NoSchedule };
    let elsewhere = NodeAffinity(vec![vec![Requirement { key: Symbol(501), is: Condition::Exists }]]);
    let large = Resources { cpu_milli: 8_001, memory: 1, pods: 1 };
    for expected in [Reason::Unschedulable, Reason::Taints, Reason::NodeAffinity, Reason::Resources] {
        let mut scenario = with(world(&[1, 1, 1]), workload("web", 0, 1));
        let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
        match expected {
            // Whatever else a cordoned node is tainted with.
            Reason::Unschedulable => cluster.nodes.iter_mut().for_each(|node| node.template.taints.extend([taint, CORDONED])),
            Reason::Taints => cluster.nodes.iter_mut().for_each(|node| node.template.taints.push(taint)),
            Reason::NodeAffinity => cluster.workloads[WorkloadId(0)].affinity = elsewhere.clone(),
            _ => cluster.workloads[WorkloadId(0)].requests = large,
        }
        assert_eq!(refusals(&run(&scenario, 1)), [expected]);
    }
}

#[test]
fn a_pending_pod_says_why_each_node_is_refused() {
    let reason = |nodes: u32| {
        let pool = |name: &str, nodes: u32, taints: serde_json::Value| json!({"name": name, "minimum": nodes, "maximum": nodes.max(1), "taints": taints});
        let file = json!({
            "name": "pending",
            "duration": "20s",
            "topology": {"regions": [{"name": "r", "zones": ["a"]}]},
            "clusters": [{
                "name": "c",
                "zones": ["a"],
                "pools": [pool("p", 2 * nodes, json!([])), pool("q", nodes, json!([{"key": "gpu"}]))],
                "workloads": [{"name": "web", "kind": "deployment", "node_affinity": ["disk"]}],
            }],
        });
        let report = simulate(Scenario::from_json(&file.to_string()).expect("a scenario"), 1);
        report.pods[0].reason.clone().expect("it has no node")
    };
    assert_eq!(
        reason(1),
        "0/6 nodes are available: 4 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector"
    );
    // The hosts of the control plane are always there.
    assert_eq!(reason(0), "0/3 nodes are available: 3 node(s) had untolerated taint(s)");
}

#[test]
fn names_are_made_up_as_kubernetes_does() {
    let scenario = with(world(&[1]), workload("kube-apiserver", 0, 3));
    let cluster = &scenario.kube.clusters[KUBE_CLUSTER];
    let tag = PodTag::Replica { template: 1_976_390_699, suffix: 8_650_373 };
    let published = PodName { workload: WorkloadId(0), tag };
    assert_eq!(published.text(cluster), "kube-apiserver-5fcb7f4bff-vkrdh");
    let seen = run(&scenario, 1);
    let names: Vec<String> = seen.first_pods_on(NodeKey(0)).iter().map(|pod| pod.text(cluster)).collect();
    let stem = names[0].rsplit_once('-').unwrap().0;
    assert!(names.len() == 3 && names.iter().all(|name| name.starts_with(stem) && name.len() == stem.len() + 6), "{names:?}");
}
