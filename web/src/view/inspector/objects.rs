//! What is to be said of nodes, machines and pods of Kubernetes.

use zonefall_core::ids::{KubeClusterId, NodeId, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::describe::node_name;
use zonefall_core::kube::name::{MachineName, NodeName, PodName};
use zonefall_core::kube::record::{Loss, Ready};
use zonefall_core::kube::spec::{KubeClusterSpec, Timers};
use zonefall_core::kube::view::{MachineView, NodeView, PodView};
use zonefall_core::observe::kube::objects::taint_text;
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::text;
use zonefall_core::sim::view::SimulationView;

use super::Fact;
use super::interventions::touches;
use crate::state::Selection;
use crate::view::labels::clock;
use crate::view::map::label::pods;
use crate::view::map::objects::{NodeObject, objects, phase_words, waits_for};

/// A pod.
pub(super) fn pod(id: KubeClusterId, name: PodName, scenario: &Scenario, view: &SimulationView) -> Vec<Fact> {
    let spec = &scenario.kube.clusters[id];
    let workload = &spec.workloads[name.workload];
    let of = |facts: Vec<Fact>| {
        let owner = [
            ("owner", workload.name.clone(), ""),
            ("namespace", scenario.kube.word(workload.namespace).to_owned(), ""),
            ("cluster", spec.name.clone(), ""),
        ];
        facts.into_iter().chain(owner).collect()
    };
    let cluster = view.clusters.get(id);
    let Some(pod) = cluster.and_then(|cluster| cluster.pods.iter().find(|pod| pod.name == name)) else {
        return of(vec![("state", "✕ does not exist at this moment".to_owned(), "bad")]);
    };
    let node = cluster.and_then(|cluster| cluster.nodes.iter().find(|node| Some(node.key) == pod.node));
    let (state, tone) = state(pod, node);
    let mut facts = vec![("state", state, tone)];
    if node.is_none() {
        facts.push(("reason", waits_for(pod).to_owned(), "bad"));
    }
    if let Some(node) = node {
        facts.push(("node", node_name(node.name, spec, scenario), ""));
        facts.push(("zone", zone(node.zone, scenario), ""));
    }
    facts.extend(pod.detached.then(|| ("volume", "not attached to its node".to_owned(), "warn")));
    facts.push(("restarts", pod.restarts.to_string(), ""));
    facts.push(("made", made(pod.created), ""));
    of(facts)
}

fn zone(id: ZoneId, scenario: &Scenario) -> String {
    scenario.zones[id].name.clone()
}

/// When something was made.
fn made(at: Time) -> String {
    if at == Time::ZERO { "before the start of the run".to_owned() } else { format!("at {}", clock(at, 3)) }
}

/// In the words of `kubectl`, and what they leave out.
fn state(pod: &PodView, node: Option<&NodeView>) -> (String, &'static str) {
    let lost = match node.and_then(|node| node.lost) {
        Some(Loss::Power) => ", on a node without power",
        Some(Loss::Network) => ", on a node that is cut off",
        None => "",
    };
    let (state, tone) = match pod {
        PodView { terminating: true, .. } => ("△ Terminating", "warn"),
        PodView { started: false, .. } => ("○ Pending", "warn"),
        PodView { ready: false, .. } => ("△ Running, not ready", "warn"),
        PodView { .. } if lost.is_empty() => ("✓ Running, ready", "good"),
        PodView { .. } => ("✕ Running, ready according to the API", "bad"),
    };
    (format!("{state}{lost}"), tone)
}

/// A machine, and the node it brought.
pub(super) fn machine(id: KubeClusterId, name: MachineName, scenario: &Scenario, view: &SimulationView) -> Vec<Fact> {
    let spec = &scenario.kube.clusters[id];
    let deployment = &spec.machine_deployments[name.deployment];
    let cluster = view.clusters.get(id);
    let machine = cluster.and_then(|cluster| cluster.machines.iter().find(|machine| machine.name == name));
    let of_it =
        |node: &&NodeView| node.name == NodeName::Machine(name) || machine.is_some_and(|machine| machine.node == Some(node.key));
    let node = cluster.and_then(|cluster| cluster.nodes.iter().find(of_it));
    let mut facts = match machine {
        Some(machine) => phase(machine, view.at),
        None => vec![("phase", "✕ does not exist at this moment".to_owned(), "bad")],
    };
    facts.push(("deployment", deployment.name.clone(), ""));
    facts.push(("zone", zone(deployment.zone, scenario), ""));
    facts.push(("cluster", spec.name.clone(), ""));
    match node {
        Some(node) => {
            facts.push(("node", node_name(node.name, spec, scenario), ""));
            facts.extend(of_node(node, Selection::Zone(node.zone), spec, scenario, view));
        }
        None => facts.push(("node", "none".to_owned(), "")),
    }
    let joined = objects(scenario, Some(view)).joined.into_iter().find(|node| node.name == name.text(spec));
    facts.extend(joined.map(|joined| ("pods", pods(&joined.node.pods), "")));
    facts
}

fn phase(machine: &MachineView, now: Time) -> Vec<Fact> {
    let (text, tone) = (phase_words(machine.phase), if phase_words(machine.phase) == "Running" { "good" } else { "warn" });
    vec![
        ("phase", format!("{text}, for {}", text::duration(now.since(machine.since))), tone),
        ("made", made(machine.created), ""),
    ]
}

/// Conditions and taints; `hit` is what a fault of the node is one of.
fn of_node(node: &NodeView, hit: Selection, spec: &KubeClusterSpec, scenario: &Scenario, view: &SimulationView) -> Vec<Fact> {
    let ready = match (node.ready, node.lost) {
        (Ready::True, None) => ("ready", "✓ True".to_owned(), "good"),
        (Ready::True, Some(loss)) => {
            let why = match loss {
                Loss::Power => "it has no power",
                Loss::Network => "it is cut off",
            };
            let since = view.faults.iter().filter(|active| touches(&active.fault, hit, scenario)).map(|active| active.from).max();
            let notices = since.map_or_else(String::new, |since| format!(": {}", notices(since, view.at, &spec.timers)));
            ("ready", format!("△ True, though {why}{notices}"), "warn")
        }
        (Ready::Unknown, _) => ("ready", "✕ Unknown: its kubelet sends no heartbeats".to_owned(), "bad"),
    };
    let taints: Vec<String> = node.taints.iter().map(|taint| taint_text(taint, scenario)).collect();
    let taints = if taints.is_empty() { "none".to_owned() } else { taints.join(", ") };
    vec![ready, ("taints", taints, "")]
}

/// When the node lifecycle controller notices at the latest that a node is lost `since` then: its last lease was seen a period later,
/// and the first look after the grace period finds it expired.
fn notices(since: Time, now: Time, timers: &Timers) -> String {
    let looks = timers.monitor_grace.as_nanos().div_ceil(timers.monitor_period.as_nanos().max(1));
    let by = since + timers.monitor_period * (looks + 1);
    if by <= now {
        return "Kubernetes has not noticed yet".to_owned();
    }
    let left_s = by.since(now).as_nanos().div_ceil(1_000_000_000);
    format!("Kubernetes notices within {}:{:02}", left_s / 60, left_s % 60)
}

/// A node of the scenario, as its API has it.
pub(super) fn node(id: NodeId, scenario: &Scenario, view: &SimulationView) -> Vec<Fact> {
    let Some(object) = objects(scenario, Some(view)).nodes.swap_remove(id) else { return Vec::new() };
    let mut facts = Vec::new();
    for (spec, cluster) in scenario.kube.clusters.iter().zip(&view.clusters) {
        let Some(key) = spec.nodes.position(|node| node.node == id) else { continue };
        match cluster.nodes.iter().find(|node| node.key == key) {
            Some(node) => facts.extend(of_node(node, Selection::Node(id), spec, scenario, view)),
            None => facts.push(("ready", "✕ its Node object is deleted".to_owned(), "bad")),
        }
        let machine = cluster.machines.iter().find(|machine| machine.node == Some(key));
        facts.extend(
            machine.map(|machine| ("machine", format!("{}: {}", machine.name.text(spec), phase_words(machine.phase)), "")),
        );
    }
    facts.push(("pods", pods(&object.pods), ""));
    facts
}

/// What a zone has of all this.
pub(super) fn in_zone(id: ZoneId, scenario: &Scenario, view: &SimulationView) -> Vec<Fact> {
    if scenario.kube.clusters.is_empty() {
        return Vec::new();
    }
    let all = objects(scenario, Some(view));
    let given =
        scenario.nodes.iter().zip(&all.nodes).filter(|(node, _)| node.zone == id).filter_map(|(_, object)| object.as_ref());
    let cards = all.crowd.cards.iter().skip(scenario.nodes.len()).zip(&all.joined);
    let nodes: Vec<&NodeObject> =
        given.chain(cards.filter(|(card, _)| card.zone == id).map(|(_, joined)| &joined.node)).collect();
    let count = |state: &str| nodes.iter().filter(|node| node.state == state).count();
    let sum = nodes.iter().fold([0; 6], |mut sum, node| {
        sum.iter_mut().zip(node.pods).for_each(|(sum, pods)| *sum += pods);
        sum
    });
    let machines = view.clusters.iter().flat_map(|cluster| &cluster.machines).filter(|machine| machine.zone == id);
    let mut phases: Vec<(&str, usize)> = Vec::new();
    for machine in machines {
        let words = phase_words(machine.phase);
        match phases.iter_mut().find(|(phase, _)| *phase == words) {
            Some((_, count)) => *count += 1,
            None => phases.push((words, 1)),
        }
    }
    let phases: Vec<String> = phases.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
    let nodes = format!("{} ready, {} not ready, {} cordoned", count("Ready"), count("NotReady"), count("cordoned"));
    vec![
        ("nodes", nodes, if count("NotReady") > 0 { "bad" } else { "" }),
        ("machines", if phases.is_empty() { "none".to_owned() } else { phases.join(", ") }, ""),
        ("pods", pods(&sum), ""),
    ]
}
