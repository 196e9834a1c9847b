//! Where the scheduler places a pod: filters and scores of its default profile, in their order and with their weights
//! (`pkg/scheduler/apis/config/v1/default_plugins.go`).

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::reasons::{Reasons, Refusal};
use crate::record::Reason;
use crate::rule::affinity::{self, Placed};
use crate::rule::labels::{Selector, Symbol};
use crate::rule::resources::{balanced, least_allocated};
use crate::rule::selector_spread::{self, Candidate};
use crate::rule::spread::{self, Constraint, Incoming, SchedulerNode, SchedulerPod};
use crate::rule::volume_zone::{Claim, Class, Volume};
use crate::rule::{taints, volume_zone};
use crate::spec::controllers::DefaultSpreading;
use crate::spec::{Kind, KubeClusterSpec, Resources, VolumeTemplate, Workload};
use crate::store::minding::pod;
use crate::store::{CORDONED, Node, Pod, Store, TO_BE_DELETED};
use zonefall_kernel::rng::Draw;
use zonefall_scenario::ids::{NodeKey, WorkloadId};

/// What decides where a pod may go; pods of which it is the same stand for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demand {
    /// Its workload.
    pub workload: WorkloadId,
    /// The revision of it.
    revision: u32,
    /// The zone its volume is in.
    zone: Option<Symbol>,
}

impl Demand {
    /// What a pod demands.
    pub fn of(pod: &Pod, store: &Store) -> Self {
        let zone = store.claim(pod.name).and_then(|claim| claim.zone);
        Self { workload: pod.name.workload, revision: pod.revision, zone }
    }
}

/// Why each of the first `most` nodes does not suit a pod, as they are now; `None`: it does.
pub fn refusals(demand: Demand, most: usize, spec: &KubeClusterSpec, store: &Store) -> Vec<(NodeKey, Option<Refusal>)> {
    let assumed = Assumed::default();
    let nodes = Nodes::new(store, &assumed);
    let company = LazyCell::new(|| company(demand.workload, spec, store, &nodes));
    let alone = Alone::new(demand, spec, store);
    let refusal = filter(demand, spec, store, &nodes, &company, &alone);
    nodes.all.iter().take(most).enumerate().map(|(place, (key, _))| (*key, refusal(place))).collect()
}

/// The node a pod is given: of those that pass all filters one with the highest score.
///
/// # Errors
/// Why no node passes them.
pub fn place(demand: Demand, spec: &KubeClusterSpec, store: &Store, tie: &mut Draw) -> Result<NodeKey, Reasons> {
    let workload = store.template(demand.workload, spec);
    if workload.volume.is_some_and(|volume| volume.is_rejected()) {
        return Err(Reasons::UNBOUND_CLAIM);
    }
    let assumed = Assumed::default();
    let nodes = Nodes::new(store, &assumed);
    let company = LazyCell::new(|| company(demand.workload, spec, store, &nodes));
    let alone = Alone::new(demand, spec, store);
    let refusal = filter(demand, spec, store, &nodes, &company, &alone);
    // Why a node does not suit it is asked only where none does.
    let suits = |&place: &usize| alone.leaves_room(nodes.all[place], &assumed) && refusal(place).is_none();
    let candidates: Vec<usize> = (0..nodes.all.len()).filter(suits).collect();
    if candidates.is_empty() {
        let homeless =
            demand.zone.is_some_and(|zone| nodes.all.iter().all(|(_, node)| node.labels.get(Symbol::ZONE) != Some(zone)));
        return Err((0..nodes.all.len()).filter_map(refusal).collect::<Reasons>().homeless(homeless));
    }
    // Of one there is nothing to compare (`schedule_one.go`, `schedulePod`).
    if let [only] = candidates[..] {
        return Ok(nodes.all[only].0);
    }
    let scores = score(demand, spec, store, &nodes, &company, &candidates);
    let most = scores.iter().max().expect("there are candidates");
    let best: Vec<usize> = candidates.iter().zip(&scores).filter(|(_, score)| *score == most).map(|(node, _)| *node).collect();
    Ok(nodes.all[best[tie.below(best.len() as u64) as usize]].0)
}

/// Nodes that do not exist yet or no longer, and pods where they are not yet, for who wants to know what would be.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    /// Nodes: their numbers ascend, and come after those of all others.
    pub nodes: Vec<(NodeKey, Node)>,
    /// Pods on nodes, by workload.
    pods: BTreeMap<WorkloadId, Vec<(Demand, NodeKey)>>,
    /// What those request of each node, and how many volumes they bring.
    loads: BTreeMap<NodeKey, (Resources, usize)>,
    /// A node that is being deleted: it has no pods and takes none, but counts as a node.
    drained: Option<(NodeKey, Node)>,
    /// Nodes that are gone with their pods.
    gone: BTreeSet<NodeKey>,
}

impl Assumed {
    /// A node is drained, for it is to be deleted (`simulator/cluster.go`, `replaceWithTaintedGhostNode`).
    pub fn drain(&mut self, key: NodeKey, store: &Store) {
        let mut node = store.node(key).clone();
        node.taints.push(TO_BE_DELETED);
        self.drained = Some((key, node));
    }

    /// The node that was drained is gone.
    pub fn remove_drained(&mut self) {
        self.gone.extend(self.drained.take().map(|(key, _)| key));
    }

    /// A pod is on a node.
    pub fn put(&mut self, pod: Demand, node: NodeKey, spec: &KubeClusterSpec) {
        let workload = &spec.workloads[pod.workload];
        let (requested, volumes) = self.loads.entry(node).or_default();
        *requested = requested.plus(&workload.requests);
        *volumes += usize::from(workload.volume.is_some());
        self.pods.entry(pod.workload).or_default().push((pod, node));
    }

    /// The first node from `from` on that suits a pod.
    pub fn first_fit(&self, demand: Demand, from: NodeKey, spec: &KubeClusterSpec, store: &Store) -> Option<NodeKey> {
        let alone = Alone::new(demand, spec, store);
        let key = self.first_alone(&alone, from, store)?;
        if ignores_others(demand.workload, spec, store) {
            return Some(key);
        }
        let nodes = Nodes::new(store, self);
        let company = LazyCell::new(|| company(demand.workload, spec, store, &nodes));
        let refusal = filter(demand, spec, store, &nodes, &company, &alone);
        let mut places = nodes.all.partition_point(|(own, _)| *own < key)..nodes.all.len();
        places
            .find(|&place| alone.leaves_room(nodes.all[place], self) && refusal(place).is_none())
            .map(|place| nodes.all[place].0)
    }

    /// The first node from `from` on that would suit a pod, were there no others.
    fn first_alone(&self, alone: &Alone<'_>, from: NodeKey, store: &Store) -> Option<NodeKey> {
        let assumed = self.nodes.iter().map(|(key, node)| (*key, node)).filter(|(key, _)| *key >= from);
        // Most nodes are full, which is soon seen.
        let suits = |node: (NodeKey, &Node)| alone.leaves_room(node, self) && alone.refusal(node, self).is_none();
        store.nodes_from(from).chain(assumed).find(|node| suits(*node)).map(|(key, _)| key)
    }
}

/// Where to begin to look for nodes for one pod after the other, by their filters: with more pods on the nodes it is never a node before.
#[derive(Debug, Default)]
pub struct Firsts<'a>(Vec<(Alone<'a>, Option<NodeKey>)>);

impl<'a> Firsts<'a> {
    /// The first node that would suit a pod, were there no others, but for those that `skipped` names, who are never fewer than before.
    pub fn of(
        &mut self,
        demand: Demand,
        assumed: &Assumed,
        skipped: impl Fn(NodeKey) -> bool,
        spec: &'a KubeClusterSpec,
        store: &'a Store,
    ) -> Option<NodeKey> {
        let alone = Alone::new(demand, spec, store);
        let place = self.0.iter().position(|(own, _)| *own == alone).unwrap_or_else(|| {
            self.0.push((alone, Some(NodeKey(0))));
            self.0.len() - 1
        });
        let (alone, first) = &mut self.0[place];
        while let Some(from) = *first {
            *first = assumed.first_alone(alone, from, store);
            match *first {
                Some(key) if skipped(key) => *first = Some(NodeKey(key.0 + 1)),
                _ => break,
            }
        }
        *first
    }
}

/// All nodes, as the rules see them.
struct Nodes<'a> {
    all: Vec<(NodeKey, &'a Node)>,
    views: Vec<SchedulerNode<'a>>,
    assumed: &'a Assumed,
}

impl<'a> Nodes<'a> {
    fn new(store: &'a Store, assumed: &'a Assumed) -> Self {
        let now = |(key, node): (NodeKey, &'a Node)| match &assumed.drained {
            Some((drained, node)) if *drained == key => (key, node),
            _ => (key, node),
        };
        let left = store.nodes().filter(|(key, _)| !assumed.gone.contains(key)).map(now);
        let mut all = Vec::with_capacity(store.nodes().len() + assumed.nodes.len());
        all.extend(left.chain(assumed.nodes.iter().map(|(key, node)| (*key, node))));
        let views = all.iter().map(|(_, node)| SchedulerNode { labels: &node.labels, taints: &node.taints }).collect();
        Self { all, views, assumed }
    }

    /// Where the pods of a workload are that have a node: places among them, and whether they are on their way out; and their
    /// revisions. (Pods may be bound to nodes that are gone.)
    fn places(&self, workload: WorkloadId, store: &Store) -> Vec<(usize, bool, u32)> {
        let is_drained = |key: NodeKey| self.assumed.drained.as_ref().is_some_and(|(drained, _)| *drained == key);
        let place = |key: NodeKey| self.all.binary_search_by_key(&key, |(key, _)| *key).ok().filter(|_| !is_drained(key));
        let placed = store.pods_of(workload).filter_map(|(_, pod)| Some((place(pod.node?)?, pod.terminating, pod.revision)));
        let mut places: Vec<_> = placed.collect();
        let assumed = self.assumed.pods.get(&workload).into_iter().flatten();
        places.extend(assumed.filter_map(|(own, key)| Some((place(*key)?, false, own.revision))));
        places
    }
}

/// Who else is there, once somebody asks.
type Company<'a, F> = LazyCell<Vec<Placed<'a>>, F>;

/// The first filter that a node fails. (Most are full, which is soon seen: what other pods have to do with it is looked up for the first
/// that is not.)
fn filter<'a, F: FnOnce() -> Vec<Placed<'a>>>(
    demand: Demand,
    spec: &'a KubeClusterSpec,
    store: &'a Store,
    nodes: &'a Nodes<'a>,
    company: &'a Company<'a, F>,
    alone: &'a Alone<'a>,
) -> impl Fn(usize) -> Option<Refusal> + use<'a, F> {
    let workload = store.template(demand.workload, spec);
    let spread = LazyCell::new(move || {
        let pods = counted(workload, &workload.spread, spec, store, nodes);
        spread::filter(&incoming(workload, demand.revision), &workload.spread, &nodes.views, &pods)
    });
    let near = LazyCell::new(move || affinity::filter(&pod(workload), company, &nodes.views));
    move |place: usize| {
        alone.refusal(nodes.all[place], nodes.assumed).or_else(|| {
            if !workload.spread.is_empty() && spread[place] != spread::Verdict::Success {
                return Some(Reason::Spread.into());
            }
            let reason = match near(&nodes.views[place]) {
                affinity::Verdict::Success => return None,
                affinity::Verdict::Affinity => Reason::PodAffinity,
                affinity::Verdict::AntiAffinity => Reason::PodAntiAffinity,
                affinity::Verdict::ExistingAntiAffinity => Reason::ExistingAntiAffinity,
            };
            Some(reason.into())
        })
    }
}

/// The filters of a pod that look at a node alone: taints, node affinity, resources, volume limit, zone of the volume.
#[derive(Clone, Debug)]
struct Alone<'a> {
    workload: &'a Workload,
    claim: Option<Claim>,
}

impl<'a> Alone<'a> {
    /// Those of a pod.
    fn new(demand: Demand, spec: &'a KubeClusterSpec, store: &'a Store) -> Self {
        let workload = store.template(demand.workload, spec);
        let bound = demand.zone.map(|zone| Claim::Bound(Volume(vec![(Symbol::ZONE, vec![zone])])));
        let refused = workload.volume.filter(VolumeTemplate::is_rejected).map(|_| Claim::Unbound(Class::Immediate));
        Self { workload, claim: bound.or(refused) }
    }

    /// Whether the pod fits beside what is on a node.
    fn leaves_room(&self, (key, node): (NodeKey, &Node), assumed: &Assumed) -> bool {
        let requested = node.requested.plus(&self.workload.requests);
        requested.fits(&node.allocatable)
            && (assumed.loads.get(&key)).is_none_or(|(more, _)| requested.plus(more).fits(&node.allocatable))
    }

    /// The first filter that a node fails.
    fn refusal(&self, (key, node): (NodeKey, &Node), assumed: &Assumed) -> Option<Refusal> {
        let Self { workload, claim } = self;
        let (more, assumed_volumes) = assumed.loads.get(&key).copied().unwrap_or_default();
        let volumes = node.with_volume as usize + assumed_volumes;
        let requested = node.requested.plus(&workload.requests).plus(&more);
        let reason = match () {
            () if node.taints.contains(&CORDONED) && taints::forbidding(&[CORDONED], &workload.tolerations).is_some() => {
                Reason::Unschedulable
            }
            () if taints::forbidding(&node.taints, &workload.tolerations).is_some() => Reason::Taints,
            () if !workload.affinity.admits(&node.labels) => Reason::NodeAffinity,
            () if !requested.fits(&node.allocatable) => return Refusal::of_resources(&requested, &node.allocatable),
            () if workload.volume.is_some() && volumes >= node.volumes as usize => Reason::VolumeLimit,
            () if volume_zone::filter(claim.as_slice(), &node.labels) == volume_zone::Verdict::Rejected => Reason::VolumeZone,
            () => return None,
        };
        Some(reason.into())
    }
}

/// Pods with equal filters are feasible on the same nodes: this compares all that [`Alone::refusal`] reads.
impl PartialEq for Alone<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (self.workload, other.workload);
        self.claim == other.claim
            && own.requests == others.requests
            && own.volume.is_some() == others.volume.is_some()
            && own.tolerations == others.tolerations
            && own.affinity == others.affinity
    }
}

/// Scores with the weights of the default profile.
fn score(
    demand: Demand,
    spec: &KubeClusterSpec,
    store: &Store,
    nodes: &Nodes<'_>,
    company: &[Placed<'_>],
    candidates: &[usize],
) -> Vec<i64> {
    let workload = store.template(demand.workload, spec);
    let spread = spread_score(demand, spec, store, nodes, candidates);
    let near = affinity::score(&pod(workload), company, &nodes.views, candidates);
    let taints = taints::score(candidates.iter().map(|&node| &nodes.all[node].1.taints[..]), &workload.tolerations);
    let resources = |&node: &usize| {
        let node = nodes.all[node].1;
        let requested = node.requested.plus(&workload.requests);
        (least_allocated(&requested, &node.allocatable) + balanced(&requested, &node.allocatable)) as i64
    };
    let others = spread.into_iter().zip(near).zip(taints).map(|((spread, near), taints)| spread + 2 * near + 3 * taints);
    candidates.iter().map(resources).zip(others).map(|(resources, others)| resources + others).collect()
}

/// Scores for spreading, with their weight: by the pod's own constraints, or by what the scheduler does with pods that have none.
fn spread_score(demand: Demand, spec: &KubeClusterSpec, store: &Store, nodes: &Nodes<'_>, candidates: &[usize]) -> Vec<i64> {
    let workload = store.template(demand.workload, spec);
    let is_silent = workload.spread.is_empty() && workload.prefers.is_empty();
    let options = spec.controllers.kube_scheduler.as_ref();
    let system = spread::system_defaults(&workload.selector, workload.kind == Kind::Deployment);
    let constraints = match options.map_or(DefaultSpreading::TopologySpread, |options| options.default_spreading) {
        _ if !is_silent => &workload.prefers[..],
        DefaultSpreading::TopologySpread => &system[..],
        DefaultSpreading::SelectorSpread => return selector_spread_score(demand, spec, store, nodes, candidates),
        DefaultSpreading::None => return vec![0; candidates.len()],
    };
    let pods = counted(workload, constraints, spec, store, nodes);
    let scores = spread::score(&incoming(workload, demand.revision), constraints, !is_silent, &nodes.views, candidates, &pods);
    scores.into_iter().map(|score| 2 * score).collect()
}

/// Fewer pods of the same Services and the same controller score higher. The controller of a Deployment's pods is a `ReplicaSet`, which
/// selects the pods of one revision.
fn selector_spread_score(
    demand: Demand,
    spec: &KubeClusterSpec,
    store: &Store,
    nodes: &Nodes<'_>,
    candidates: &[usize],
) -> Vec<i64> {
    let workload = store.template(demand.workload, spec);
    let requirements = |selector: &'_ Selector| match selector {
        Selector::All(all) => all.clone(),
        Selector::Nothing => Vec::new(),
    };
    let services = spec.services.iter().map(|service| &service.pods).filter(|pods| pods.namespace == workload.namespace);
    let services: Vec<_> = services.map(|pods| requirements(&pods.selector)).collect();
    let selector =
        selector_spread::selector(&workload.labels, services.iter().map(Vec::as_slice), &requirements(&workload.selector));
    let mut pods = vec![0; nodes.all.len()];
    for (id, _) in store.templates_in(workload.namespace, spec).filter(|(_, other)| selector.selects(&other.labels)) {
        for (node, terminating, revision) in nodes.places(id, store) {
            let counts = !terminating && (workload.kind != Kind::Deployment || revision == demand.revision);
            pods[node] += u64::from(counts);
        }
    }
    let candidate = |&node: &usize| Candidate { pods: pods[node], zone: nodes.all[node].1.labels.get(Symbol::ZONE) };
    selector_spread::scores(&candidates.iter().map(candidate).collect::<Vec<_>>())
}

/// Pods that have a node and may count for these constraints.
fn counted<'a>(
    workload: &Workload,
    constraints: &[Constraint],
    spec: &'a KubeClusterSpec,
    store: &'a Store,
    nodes: &Nodes<'_>,
) -> Vec<SchedulerPod<'a>> {
    let counts = |other: &Workload| constraints.iter().any(|constraint| constraint.selector.selects(&other.labels));
    let mut pods = Vec::new();
    for (id, other) in store.templates_in(workload.namespace, spec).filter(|(_, other)| counts(other)) {
        let view = |(node, terminating, revision)| {
            let Workload { namespace, labels, .. } = other;
            SchedulerPod { node, namespace: *namespace, labels, revision, terminating }
        };
        pods.extend(nodes.places(id, store).into_iter().map(view));
    }
    pods
}

/// Pods that have a node and are liked or disliked, or like or dislike others.
fn company<'a>(workload: WorkloadId, spec: &'a KubeClusterSpec, store: &'a Store, nodes: &Nodes<'_>) -> Vec<Placed<'a>> {
    let places = |id| nodes.places(id, store).into_iter().map(|(node, ..)| node).collect();
    store.minding(workload).iter().map(|id| Placed { pod: pod(store.template(*id, spec)), nodes: places(*id) }).collect()
}

/// Whether the filters of a workload's pods look at nodes alone, wherever other pods are.
fn ignores_others(workload: WorkloadId, spec: &KubeClusterSpec, store: &Store) -> bool {
    let own = store.template(workload, spec);
    own.spread.is_empty() && own.pod_affinity.is_empty() && store.minding(workload).is_empty()
}

/// A workload's pods, as far as spreading goes.
fn incoming(workload: &Workload, revision: u32) -> Incoming<'_> {
    let Workload { namespace, labels, affinity, tolerations, .. } = workload;
    Incoming { namespace: *namespace, labels, revision, affinity, tolerations }
}
