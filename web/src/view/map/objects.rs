//! What Kubernetes has on the map at one moment: its nodes and the machines behind them, its pods; small values that compare.
//!
//! ```text
//!   pod with a node     -> a cell on the node's card; a member of etcd keeps its chip there; many: a bar
//!   pod without a node  -> a chip in the tray, by reason
//!   machine             -> a badge on its node's card; without a node: a cell in its zone, by phase
//! ```

use std::collections::BTreeMap;

use zonefall_core::ids::{KubeClusterId, MemberId, NodeId, NodeKey, TiVec, ZoneId};
use zonefall_core::kube::describe::node_name;
use zonefall_core::kube::machine::Phase;
use zonefall_core::kube::name::{NodeName, PodName, PodTag};
use zonefall_core::kube::record::{Loss, Ready};
use zonefall_core::kube::spec::labels::Symbol;
use zonefall_core::kube::spec::{KubeClusterSpec, Role};
use zonefall_core::kube::view::{KubeClusterView, MachineView, NodeView, PodView};
use zonefall_core::report::NOT_TRIED;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

use super::access::in_zones;
use super::crowd::{Card, Crowd, Row};
use crate::state::Selection;

/// Pods of a node that are drawn one by one; more are a bar.
const MOST_ON_NODE: usize = 48;
/// Pods of all nodes that are drawn one by one.
const MOST_PODS: usize = 600;
/// Machines of a zone in one phase that are drawn one by one.
const MOST_ALIKE: usize = 16;
/// Pods that wait for the same that are named.
const MOST_CHIPS: usize = 8;
/// Members that have a chip of their own; more are pods like others.
const MOST_MEMBERS: usize = 24;

/// Where a pod stands, as a person sees it; a machine's phase is drawn by the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It serves.
    Ready,
    /// It runs and does not serve, or nobody knows.
    Unready,
    /// It has a node, and does not run yet.
    Starting,
    /// It has no node.
    Waiting,
    /// It is to end.
    Ending,
    /// It cannot be reached, and nobody has noticed.
    Lost,
}

impl Mark {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Ready, Self::Unready, Self::Starting, Self::Waiting, Self::Ending, Self::Lost];

    /// Of a pod, in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Unready => "not ready",
            Self::Starting => "starting",
            Self::Waiting => "no node",
            Self::Ending => "terminating",
            Self::Lost => "lost, not yet detected",
        }
    }

    /// Its class.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Ready => "mark-ready",
            Self::Unready => "mark-unready",
            Self::Starting => "mark-starting",
            Self::Waiting => "mark-waiting",
            Self::Ending => "mark-ending",
            Self::Lost => "mark-lost",
        }
    }

    const fn of_phase(phase: Phase) -> Self {
        match phase {
            Phase::Running => Self::Ready,
            Phase::Unknown => Self::Unready,
            Phase::Pending => Self::Starting,
            Phase::CrashLoopBackOff => Self::Waiting,
            Phase::Terminating => Self::Ending,
            Phase::Failed => Self::Lost,
        }
    }
}

/// A machine's phase, as `kubectl` prints it.
pub const fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "Pending",
        Phase::Running => "Running",
        Phase::Unknown => "Unknown",
        Phase::Failed => "Failed",
        Phase::Terminating => "Terminating",
        Phase::CrashLoopBackOff => "CrashLoopBackOff",
    }
}

/// A pod or a machine, drawn by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Thing {
    /// Object that it selects.
    pub is: Selection,
    /// Its name.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// What is written on it; empty: nothing is.
    pub text: String,
    /// What it says to those who listen.
    pub label: String,
}

/// A node as its API has it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeObject {
    /// `Ready`, `NotReady`, `cordoned`, `joining` or `gone`.
    pub state: &'static str,
    /// Class of its colour.
    pub tone: &'static str,
    /// Phase of the machine that brought it, where that has no badge.
    pub phase: &'static str,
    /// Its pods by [`Mark::ALL`].
    pub pods: [usize; 6],
}

/// A node that a machine brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The machine, or what is left of it.
    pub is: Selection,
    /// Its name.
    pub name: String,
    /// Why what runs on it serves nobody.
    pub lost: Option<Loss>,
    /// As its API has it.
    pub node: NodeObject,
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Objects {
    /// By `NodeId`; `None`: it is no node of Kubernetes.
    pub nodes: TiVec<NodeId, Option<NodeObject>>,
    /// Nodes that machines brought, in the order of their cards.
    pub joined: Vec<Joined>,
    /// What is drawn by itself, numbered as in the crowd.
    pub things: Vec<Thing>,
    /// What is said of machines without a node, by zone and heap.
    pub heaps: TiVec<ZoneId, Vec<String>>,
    /// What is said of pods without a node, by row.
    pub rows: Vec<String>,
    /// What of it needs room.
    pub crowd: Crowd,
}

/// A pod where it stands.
type Placed<'a> = (KubeClusterId, &'a PodView, Mark);

/// The card of a node, and whether what runs on it serves nobody.
type Place = (usize, bool);

/// Machines without a node, by phase.
type Heaps<'a> = BTreeMap<&'static str, Vec<(KubeClusterId, &'a MachineView)>>;

/// What there is, while it is gathered.
struct Gatherer<'a> {
    scenario: &'a Scenario,
    out: Objects,
    /// Members have chips.
    chips: bool,
    cards: TiVec<KubeClusterId, Vec<Option<Place>>>,
    on_card: Vec<Vec<Placed<'a>>>,
    waiting: BTreeMap<&'static str, Vec<Placed<'a>>>,
    heaps: TiVec<ZoneId, Heaps<'a>>,
}

/// What there is of a scenario at one moment, or before the first.
pub fn objects(scenario: &Scenario, view: Option<&SimulationView>) -> Objects {
    let mut all = Gatherer::new(scenario);
    all.out.crowd.access = in_zones(scenario, view);
    let clusters = scenario.kube.clusters.iter_enumerated();
    for spec in &scenario.kube.clusters {
        for node in &spec.nodes {
            let card = usize::from(node.node);
            all.out.crowd.cards[card].kube = true;
            // Before the first view nothing is known of it.
            let (state, tone) = if view.is_some() { ("gone", "bad") } else { ("", "") };
            all.out.nodes[node.node] = Some(NodeObject { state, tone, phase: "", pods: [0; 6] });
        }
    }
    for ((id, spec), cluster) in clusters.zip(view.iter().flat_map(|view| &view.clusters)) {
        all.nodes(id, spec, cluster);
        all.machines(id, spec, cluster);
        all.pods(id, spec, cluster);
    }
    all.finish()
}

impl<'a> Gatherer<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let crowd = Crowd::new(scenario);
        let (cards, zones) = (crowd.cards.len(), scenario.zones.len());
        let members: usize = scenario.etcd.iter().map(|cluster| cluster.members.len()).sum();
        let mut all = Self {
            scenario,
            chips: !crowd.kube || members <= MOST_MEMBERS,
            out: Objects {
                nodes: vec![None; cards].into(),
                joined: Vec::new(),
                things: Vec::new(),
                heaps: vec![Vec::new(); zones].into(),
                rows: Vec::new(),
                crowd,
            },
            cards: vec![Vec::new(); scenario.kube.clusters.len()].into(),
            on_card: vec![Vec::new(); cards],
            waiting: BTreeMap::new(),
            heaps: vec![BTreeMap::new(); zones].into(),
        };
        if !all.chips {
            all.out.crowd.cards.iter_mut().for_each(|card| card.members.clear());
        }
        all
    }

    /// Where a node is; there are tens of thousands of pods that ask.
    fn card(&self, id: KubeClusterId, key: NodeKey) -> Option<Place> {
        *self.cards[id].get(key.0 as usize)?
    }

    fn place(&mut self, id: KubeClusterId, key: NodeKey, place: Place) {
        let (cards, index) = (&mut self.cards[id], key.0 as usize);
        cards.resize(cards.len().max(index + 1), None);
        cards[index] = Some(place);
    }

    /// The node of a card.
    fn object(&mut self, card: usize) -> Option<&mut NodeObject> {
        match card.checked_sub(self.out.nodes.len()) {
            None => self.out.nodes[NodeId::from(card)].as_mut(),
            Some(joined) => self.out.joined.get_mut(joined).map(|joined| &mut joined.node),
        }
    }

    fn nodes(&mut self, id: KubeClusterId, spec: &KubeClusterSpec, cluster: &KubeClusterView) {
        for node in &cluster.nodes {
            let (state, tone) = node_state(node);
            let object = NodeObject { state, tone, phase: "", pods: [0; 6] };
            match node.name {
                NodeName::Given(_) => {
                    if let Some(given) = spec.nodes.get(node.key) {
                        self.place(id, node.key, (usize::from(given.node), node.lost.is_some()));
                        self.out.nodes[given.node] = Some(object);
                    }
                }
                NodeName::Machine(machine) => {
                    let (is, name) = (Selection::Machine(id, machine), node_name(node.name, spec, self.scenario));
                    self.place(id, node.key, (self.out.crowd.cards.len(), node.lost.is_some()));
                    self.out.crowd.cards.push(Card::new(is, node.zone, true));
                    self.on_card.push(Vec::new());
                    self.out.joined.push(Joined { is, name, lost: node.lost, node: object });
                }
            }
        }
    }

    fn machines(&mut self, id: KubeClusterId, spec: &KubeClusterSpec, cluster: &'a KubeClusterView) {
        for machine in &cluster.machines {
            let phase = phase_words(machine.phase);
            match machine.node.and_then(|key| self.card(id, key)).map(|(card, _)| card) {
                None => self.heaps[machine.zone].entry(phase).or_default().push((id, machine)),
                Some(card) if card < self.out.nodes.len() => {
                    let thing = of_machine(id, machine, spec, phase);
                    self.out.crowd.cards[card].badge = Some(self.push(thing));
                }
                Some(card) => {
                    if let Some(object) = self.object(card) {
                        object.phase = phase;
                    }
                }
            }
        }
    }

    fn pods(&mut self, id: KubeClusterId, spec: &KubeClusterSpec, cluster: &'a KubeClusterView) {
        for pod in &cluster.pods {
            // A pod may outlive its node.
            let Some((card, lost)) = pod.node.and_then(|key| self.card(id, key)) else {
                self.waiting.entry(waits_for(pod)).or_default().push((id, pod, mark(pod, false)));
                continue;
            };
            let mark = mark(pod, lost);
            if let Some(object) = self.object(card) {
                object.pods[mark as usize] += 1;
            }
            match member_of(pod.name, spec).filter(|_| self.chips) {
                // Its chip is where its pod is, and the pod is not drawn twice.
                Some(member) => self.out.crowd.settle(member, card),
                None => self.on_card[card].push((id, pod, mark)),
            }
        }
    }

    fn push(&mut self, thing: Thing) -> usize {
        self.out.crowd.ids.push(thing.is);
        self.out.things.push(thing);
        self.out.things.len() - 1
    }

    fn push_pods(&mut self, pods: &[Placed<'_>], named: bool) -> Vec<usize> {
        let clusters = &self.scenario.kube.clusters;
        let thing = |(id, pod, mark): &Placed<'_>| of_pod(*id, pod, &clusters[*id], *mark, named);
        let things: Vec<Thing> = pods.iter().map(thing).collect();
        things.into_iter().map(|thing| self.push(thing)).collect()
    }

    fn finish(mut self) -> Objects {
        let many = self.on_card.iter().map(Vec::len).sum::<usize>() > MOST_PODS;
        for (card, pods) in std::mem::take(&mut self.on_card).into_iter().enumerate() {
            if many || pods.len() > MOST_ON_NODE {
                self.out.crowd.cards[card].bar = !pods.is_empty();
            } else {
                self.out.crowd.cards[card].cells = self.push_pods(&pods, false);
            }
        }
        for (zone, heaps) in std::mem::take(&mut self.heaps).into_iter_enumerated() {
            for (phase, machines) in heaps {
                let few = if machines.len() > MOST_ALIKE { &[][..] } else { &machines };
                let clusters = &self.scenario.kube.clusters;
                let things: Vec<Thing> = few.iter().map(|(id, machine)| of_machine(*id, machine, &clusters[*id], "")).collect();
                let cells = things.into_iter().map(|thing| self.push(thing)).collect();
                self.out.crowd.heaps[zone].push(cells);
                self.out.heaps[zone].push(format!("{} {phase}", machines.len()));
            }
        }
        for (why, pods) in std::mem::take(&mut self.waiting) {
            let chips = self.push_pods(&pods[..pods.len().min(MOST_CHIPS)], true);
            let chips = chips.into_iter().map(|thing| (thing, self.out.things[thing].text.chars().count())).collect();
            let more = if pods.len() > MOST_CHIPS { ", among them" } else { "" };
            let text = format!("{} pending: {why}{more}", pods.len());
            self.out.crowd.rows.push(Row { words: text.chars().count(), chips });
            self.out.rows.push(text);
        }
        self.out
    }
}

fn node_state(node: &NodeView) -> (&'static str, &'static str) {
    let cordoned = node.taints.iter().any(|taint| taint.key == Symbol::UNSCHEDULABLE);
    match (node.ready, cordoned) {
        (Ready::Unknown, _) => ("NotReady", "bad"),
        (Ready::True, true) => ("cordoned", "warn"),
        (Ready::True, false) => ("Ready", "good"),
    }
}

fn mark(pod: &PodView, lost: bool) -> Mark {
    match pod {
        PodView { terminating: true, .. } => Mark::Ending,
        PodView { node: None, .. } => Mark::Waiting,
        PodView { ready: true, .. } if lost => Mark::Lost,
        PodView { ready: true, .. } => Mark::Ready,
        PodView { started: true, .. } => Mark::Unready,
        PodView { .. } => Mark::Starting,
    }
}

/// How a pod of a cluster stands.
pub fn mark_of(pod: &PodView, cluster: &KubeClusterView) -> Mark {
    match cluster.nodes.iter().find(|node| Some(node.key) == pod.node) {
        Some(node) => mark(pod, node.lost.is_some()),
        None => mark(pod, false),
    }
}

/// Why a pod has no node, or none any more.
pub fn waits_for(pod: &PodView) -> &'static str {
    match (pod.node, pod.unschedulable) {
        (Some(_), _) => "its node is deleted",
        (None, Some(reason)) => reason.describe(),
        (None, None) => NOT_TRIED,
    }
}

/// The member of etcd that a pod runs.
pub fn member_of(pod: PodName, spec: &KubeClusterSpec) -> Option<MemberId> {
    match (spec.workloads[pod.workload].role, pod.tag) {
        (Role::Etcd(cluster), PodTag::Ordinal(index)) => Some(MemberId { cluster, index: u8::try_from(index).ok()? }),
        _ => None,
    }
}

fn of_pod(id: KubeClusterId, pod: &PodView, spec: &KubeClusterSpec, mark: Mark, named: bool) -> Thing {
    let name = pod.name.text(spec);
    let why = if pod.node.is_none() { format!(": {}", waits_for(pod)) } else { String::new() };
    let label = format!("pod {name}, {}{why}", mark.describe());
    Thing { is: Selection::Pod(id, pod.name), text: if named { name.clone() } else { String::new() }, name, mark, label }
}

fn of_machine(id: KubeClusterId, machine: &MachineView, spec: &KubeClusterSpec, text: &str) -> Thing {
    let name = machine.name.text(spec);
    let label = format!("machine {name}, {}", phase_words(machine.phase));
    Thing { is: Selection::Machine(id, machine.name), name, mark: Mark::of_phase(machine.phase), text: text.to_owned(), label }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use zonefall_core::kernel::time::{Duration, Time};
    use zonefall_core::scenario::bundled;
    use zonefall_core::sim::{Options, Simulation};

    fn at(minute: u64) -> (Scenario, SimulationView) {
        let json = bundled().iter().find(|scenario| scenario.name == "eu-west-1a-outage").unwrap().json;
        let scenario = Scenario::from_json(json).unwrap();
        let mut simulation = Simulation::new(Arc::new(scenario.clone()), 1, Options::default());
        simulation.run_until(Time::ZERO + Duration::from_secs(60 * minute), &mut |_, _| {});
        (scenario, simulation.view())
    }

    fn states(objects: &Objects, scenario: &Scenario, zone: &str) -> Vec<&'static str> {
        let of_zone = scenario.nodes.iter().zip(&objects.nodes).filter(|(node, _)| scenario.zones[node.zone].name == zone);
        of_zone.filter_map(|(_, object)| Some(object.as_ref()?.state)).collect()
    }

    #[test]
    fn a_zone_that_is_cut_off_is_noticed_after_a_while() {
        let (scenario, before) = at(11);
        let objects_before = objects(&scenario, Some(&before));
        assert_eq!(states(&objects_before, &scenario, "eu-west-1a"), ["Ready"; 3]);
        let marks =
            |objects: &Objects, of: Mark| objects.things.iter().filter(|thing| thing.mark == of && thing.text.is_empty()).count();
        assert!(marks(&objects_before, Mark::Lost) > 10 && objects_before.rows.is_empty());
        let (_, during) = at(50);
        let objects = objects(&scenario, Some(&during));
        assert_eq!(states(&objects, &scenario, "eu-west-1a"), ["NotReady"; 3]);
        assert_eq!(states(&objects, &scenario, "eu-west-1b"), ["Ready"; 2]);
        assert_eq!(objects.rows[0], "2 pending: its volume is in another zone");
        assert_eq!(objects.rows.len(), 3, "{:?}", objects.rows);
        assert!(objects.things.iter().any(|thing| thing.label == "pod etcd-main-1, no node: its volume is in another zone"));
        let zone = |name: &str| scenario.zone(name).unwrap();
        assert_eq!(objects.heaps[zone("eu-west-1a")], ["3 CrashLoopBackOff", "2 Terminating"]);
        assert!(objects.heaps[zone("eu-west-1c")].is_empty());
    }

    #[test]
    fn a_member_is_drawn_once_and_many_pods_are_a_bar() {
        let (scenario, mut view) = at(1);
        let few = objects(&scenario, Some(&view));
        assert!(few.things.iter().all(|thing| !thing.name.starts_with("etcd-main")), "it has a chip");
        let pods: usize = few.nodes.iter().flatten().map(|node| node.pods.iter().sum::<usize>()).sum();
        assert_eq!(pods, view.clusters[KubeClusterId(0)].pods.len());
        let cluster = &mut view.clusters[KubeClusterId(0)];
        cluster.pods = cluster.pods.iter().flat_map(|pod| vec![pod.clone(); 100]).collect();
        let many = objects(&scenario, Some(&view));
        assert!(many.crowd.cards.iter().any(|card| card.bar) && many.things.len() < few.things.len());
    }

    #[test]
    fn where_there_is_no_kubernetes_there_is_nothing() {
        let scenario = Scenario::from_json(zonefall_core::scenario::default_scenario().json).unwrap();
        let view = Simulation::new(Arc::new(scenario.clone()), 1, Options::default()).view();
        let all = objects(&scenario, Some(&view));
        assert_eq!((all.crowd.clone(), all.things.len()), (Crowd::new(&scenario), 0));
        assert!(!all.crowd.kube && all.nodes.iter().all(Option::is_none));
    }
}
