//! The scheduler: pods wait in a queue, and each is given the best of the nodes that suit it (`pkg/scheduler`).
//!
//! ```text
//!  made --> due now --> place --> bound
//!             ^           |
//!             |           '--> refused --> due after 5 min, or after its back-off once something that might help has changed
//!             '-----------------------------'
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{NodeKey, PodId, WorkloadId};
use crate::kernel::rng::{Draw, Purpose};
use crate::kernel::time::{Duration, Time};
use crate::kube::context::Cx;
use crate::kube::event::KubeEvent;
use crate::kube::name::PodName;
use crate::kube::record::Reason;
use crate::kube::rule::labels::Symbol;
use crate::kube::rule::resources::{balanced, least_allocated};
use crate::kube::rule::spread::{self, Constraint, Incoming, NodeView, PodView, Verdict};
use crate::kube::rule::volume_zone::{Claim, Volume};
use crate::kube::rule::{taints, volume_zone};
use crate::kube::spec::{PlaneSpec, Resources, Workload};
use crate::kube::store::{Node, Store};

/// A pod that was refused is looked at again after so long, whatever happens (`podMaxInUnschedulablePodsDuration`).
const PATIENCE: Duration = Duration::from_secs(300);

/// First and longest back-off of a pod that was refused (`podInitialBackoffSeconds`, `podMaxBackoffSeconds`).
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

#[derive(Clone, Copy, Debug)]
struct Waiting {
    due: Time,
    /// Times it was refused, and when last.
    refusals: u32,
    refused: Time,
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    queue: BTreeSet<(Time, PodId)>,
    waiting: BTreeMap<PodId, Waiting>,
    /// Looks at pods so far, per workload: numbers of draws.
    looks: Vec<u64>,
    /// When it has time for another pod.
    free: Time,
    armed: Option<Time>,
    generation: u32,
}

impl Scheduler {
    /// Nothing to do yet.
    pub fn new(workloads: usize) -> Self {
        let (queue, waiting) = (BTreeSet::new(), BTreeMap::new());
        Self { queue, waiting, looks: vec![0; workloads], free: Time::ZERO, armed: None, generation: 0 }
    }

    /// Hears of a new pod at `at`.
    pub fn add(&mut self, id: PodId, at: Time) {
        self.wait(id, Waiting { due: at, refusals: 0, refused: at });
    }

    fn wait(&mut self, id: PodId, waiting: Waiting) {
        if let Some(before) = self.waiting.insert(id, waiting) {
            self.queue.remove(&(before.due, id));
        }
        self.queue.insert((waiting.due, id));
    }

    /// A pod is gone: it waits no more.
    pub fn forget(&mut self, id: PodId) {
        if let Some(waiting) = self.waiting.remove(&id) {
            self.queue.remove(&(waiting.due, id));
        }
    }

    /// Something has changed, of which it hears at `at`: refused pods are looked at again after their back-off.
    pub fn wake(&mut self, at: Time) {
        let sooner = self.waiting.iter().filter_map(|(id, waiting)| {
            let doubled = BACK_OFF.0 * (1 << waiting.refusals.saturating_sub(1).min(8));
            let due = at.max(waiting.refused + doubled.min(BACK_OFF.1));
            (due < waiting.due && waiting.refusals > 0).then_some((*id, Waiting { due, ..*waiting }))
        });
        for (id, waiting) in sooner.collect::<Vec<_>>() {
            self.wait(id, waiting);
        }
    }

    /// Looks at the next pod.
    pub fn schedule(&mut self, generation: u32, store: &mut Store, cx: &mut Cx<'_>) {
        if generation != self.generation {
            return;
        }
        self.armed = None;
        let (due, id) = self.queue.pop_first().expect("it is called when a pod is due");
        self.free = cx.now + cx.spec.timers.scheduling;
        debug_assert!(due <= cx.now, "{id:?} is due at {due:?} only");
        let waiting = self.waiting.remove(&id).expect("what is queued waits");
        if let Err(reason) = self.try_place(id, store, cx) {
            store.refuse(id, reason, cx);
            self.wait(id, Waiting { due: cx.now + PATIENCE, refusals: waiting.refusals + 1, refused: cx.now });
        }
    }

    /// Binds a pod to the best node.
    ///
    /// # Errors
    /// Why no node suits it.
    pub fn try_place(&mut self, id: PodId, store: &mut Store, cx: &mut Cx<'_>) -> Result<NodeKey, Reason> {
        let name = store.pod(id).expect("a pod that waits is there").name;
        let workload = name.workload;
        let look = &mut self.looks[workload.0 as usize];
        *look += 1;
        let mut tie = cx.draws(Purpose::Tie, workload.0).draw(*look);
        let key = place(name, cx.spec, store, &mut tie)?;
        store.bind(id, key, cx);
        Ok(key)
    }

    /// Queues its next look.
    pub fn arm(&mut self, cx: &mut Cx<'_>) {
        let next = self.queue.first().map(|(due, _)| (*due).max(self.free).max(cx.now));
        if next != self.armed {
            (self.armed, self.generation) = (next, self.generation + 1);
            if let Some(at) = next {
                cx.schedule(at, KubeEvent::Schedule(self.generation));
            }
        }
    }
}

/// The node a pod is given: of those that pass all filters one with the highest score.
///
/// # Errors
/// Why no node passes them.
pub fn place(name: PodName, spec: &PlaneSpec, store: &Store, tie: &mut Draw) -> Result<NodeKey, Reason> {
    let workload = &spec.workloads[name.workload.0 as usize];
    let assumed = Assumed::default();
    let nodes = Nodes::new(store, &assumed);
    let refusals = filter(Homeless::new(name, store), spec, store, &nodes);
    let candidates: Vec<usize> = (0..nodes.all.len()).filter(|&node| refusals[node].is_none()).collect();
    if candidates.is_empty() {
        return Err(refusals.into_iter().flatten().max().unwrap_or(Reason::NodeAffinity));
    }
    let scores = score(workload, spec, store, &nodes, &candidates);
    let most = scores.iter().max().expect("there are candidates");
    let best: Vec<usize> = candidates.iter().zip(&scores).filter(|(_, score)| *score == most).map(|(node, _)| *node).collect();
    Ok(nodes.all[best[tie.below(best.len() as u64) as usize]].0)
}

/// A pod that needs a node, as far as the filters care: pods that are equal here suit the same nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Homeless {
    /// Its workload.
    pub workload: WorkloadId,
    /// Where its volume is, if it has one already.
    pub zone: Option<Symbol>,
}

impl Homeless {
    /// The pod of this name.
    pub fn new(name: PodName, store: &Store) -> Self {
        Self { workload: name.workload, zone: store.claim(name).and_then(|claim| claim.zone) }
    }
}

/// Nodes that do not exist yet, and pods where they are not yet, for who wants to know what would be.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    /// Nodes: their numbers ascend, and come after those of all others.
    pub nodes: Vec<(NodeKey, Node)>,
    /// Pods on nodes.
    pub pods: Vec<(WorkloadId, NodeKey)>,
}

impl Assumed {
    /// The first node from `from` on that suits a pod.
    pub fn first_fit(&self, pod: Homeless, from: NodeKey, spec: &PlaneSpec, store: &Store) -> Option<NodeKey> {
        let nodes = Nodes::new(store, self);
        let refusals = filter(pod, spec, store, &nodes);
        let suits =
            |((key, _), refusal): (&(NodeKey, &Node), &Option<Reason>)| (*key >= from && refusal.is_none()).then_some(*key);
        nodes.all.iter().zip(&refusals).find_map(suits)
    }
}

/// All nodes, as the rules see them.
struct Nodes<'a> {
    all: Vec<(NodeKey, &'a Node)>,
    views: Vec<NodeView<'a>>,
    assumed: &'a Assumed,
}

impl<'a> Nodes<'a> {
    fn new(store: &'a Store, assumed: &'a Assumed) -> Self {
        let all: Vec<_> = store.nodes().chain(assumed.nodes.iter().map(|(key, node)| (*key, node))).collect();
        let views = all.iter().map(|(_, node)| NodeView { labels: &node.labels, taints: &node.taints }).collect();
        Self { all, views, assumed }
    }

    /// What a node's pods request.
    fn requested(&self, place: usize, spec: &PlaneSpec) -> Resources {
        let (key, node) = self.all[place];
        let more = self.assumed.pods.iter().filter(|(_, on)| *on == key);
        more.fold(node.requested, |sum, (workload, _)| sum.plus(&spec.workloads[workload.0 as usize].requests))
    }

    /// A node's place among them; pods may be bound to nodes that are gone.
    fn place(&self, key: NodeKey) -> Option<usize> {
        self.all.binary_search_by_key(&key, |(key, _)| *key).ok()
    }
}

/// The first filter that each node fails.
fn filter(pod: Homeless, spec: &PlaneSpec, store: &Store, nodes: &Nodes<'_>) -> Vec<Option<Reason>> {
    let workload = &spec.workloads[pod.workload.0 as usize];
    let pods = counted(workload, &workload.spread, spec, store, nodes);
    let spread = spread::filter(&incoming(workload), &workload.spread, &nodes.views, &pods);
    let claim = pod.zone.map(|zone| Claim::Bound(Volume(vec![(Symbol::ZONE, vec![zone])])));
    let refusal = |(place, spread): (usize, Verdict)| {
        let node = nodes.all[place].1;
        let requested = nodes.requested(place, spec).plus(&workload.requests);
        match () {
            () if taints::forbidding(&node.taints, &workload.tolerations).is_some() => Some(Reason::Taints),
            () if !workload.affinity.admits(&node.labels) => Some(Reason::NodeAffinity),
            () if !requested.fits(&node.allocatable) => Some(Reason::Resources),
            () if volume_zone::filter(claim.as_slice(), &node.labels) == volume_zone::Verdict::Rejected => {
                Some(Reason::VolumeZone)
            }
            () if spread != Verdict::Success => Some(Reason::Spread),
            () => None,
        }
    };
    spread.into_iter().enumerate().map(refusal).collect()
}

/// Scores with the weights of the default profile (`pkg/scheduler/apis/config/v1/default_plugins.go`).
fn score(workload: &Workload, spec: &PlaneSpec, store: &Store, nodes: &Nodes<'_>, candidates: &[usize]) -> Vec<i64> {
    let is_silent = workload.spread.is_empty() && workload.prefers.is_empty();
    let defaults = default_spread(workload);
    let constraints = if is_silent { &defaults[..] } else { &workload.prefers };
    let pods = counted(workload, constraints, spec, store, nodes);
    let spread = spread::score(&incoming(workload), constraints, !is_silent, &nodes.views, candidates, &pods);
    let resources = |&node: &usize| {
        let node = nodes.all[node].1;
        let requested = node.requested.plus(&workload.requests);
        (least_allocated(&requested, &node.allocatable) + balanced(&requested, &node.allocatable)) as i64
    };
    candidates.iter().map(resources).zip(spread).map(|(resources, spread)| resources + 2 * spread).collect()
}

/// Pods that have a node and may count for these constraints.
fn counted<'a>(
    workload: &Workload,
    constraints: &[Constraint],
    spec: &'a PlaneSpec,
    store: &Store,
    nodes: &Nodes<'_>,
) -> Vec<PodView<'a>> {
    let counts = |other: &Workload| {
        other.namespace == workload.namespace && constraints.iter().any(|constraint| constraint.selector.selects(&other.labels))
    };
    let mut pods = Vec::new();
    for (id, other) in (0..).map(WorkloadId).zip(&spec.workloads).filter(|(_, other)| counts(other)) {
        let placed = store.pods_of(id).filter_map(|(_, pod)| Some((nodes.place(pod.node?)?, pod.terminating)));
        let view = |(node, terminating)| PodView { node, namespace: other.namespace, labels: &other.labels, terminating };
        pods.extend(placed.map(view));
        let assumed = nodes.assumed.pods.iter().filter(|(own, _)| *own == id);
        pods.extend(assumed.filter_map(|(_, key)| nodes.place(*key)).map(|node| view((node, false))));
    }
    pods
}

/// A workload's pods, as far as spreading goes.
fn incoming(workload: &Workload) -> Incoming<'_> {
    let Workload { namespace, labels, affinity, tolerations, .. } = workload;
    Incoming { namespace: *namespace, labels, affinity, tolerations }
}

/// How the scheduler spreads pods that say nothing (`podtopologyspread`, `systemDefaultConstraints`).
fn default_spread(workload: &Workload) -> [Constraint; 2] {
    [(Symbol::HOSTNAME, 3), (Symbol::ZONE, 5)].map(|(key, max_skew)| Constraint {
        key,
        max_skew,
        selector: workload.selector.clone(),
        min_domains: 1,
        honors_affinity: true,
        honors_taints: false,
    })
}
