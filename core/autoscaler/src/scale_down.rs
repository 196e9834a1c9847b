//! Nodes that the cluster can do without (`core/scaledown`: `eligibility`, `planner`, `unneeded`, `budgets`).
//!
//! ```text
//!  little is requested of a node, its pods may go, budgets allow that, and they fit elsewhere --for as long as `unneeded_time`-->
//!      its group is above its minimum --> it is drained, and then its machine goes (`deletion.rs`)
//! ```
//!
//! Empty nodes go first, and several together; of others as many at a time as may be drained. None goes for `delay_after_add` after a scale-up.
//! Of each node that stays the scan says why.

use std::collections::{BTreeMap, BTreeSet};

use zonefall_kernel::time::Time;
use zonefall_kube::controller::disruption::RemainingBudgets;
use zonefall_kube::controller::drain::leaving;
use zonefall_kube::controller::placement::{Assumed, Demand, Firsts};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::machine::Phase;
use zonefall_kube::record::{Ready, ScaleDownVerdict};
use zonefall_kube::spec::Resources;
use zonefall_kube::store::{Node, Store};
use zonefall_scenario::ids::{MachineDeploymentId, NodeKey, PodId, TiVec};
use zonefall_scenario::kube::autoscaler::ScaleDownOptions;

use crate::deletion::Deletions;
use crate::drainability::{blocker, spent};
use crate::group::{NodeGroup, is_kept};

/// Nodes that are not needed, and since when.
#[derive(Clone, Debug, Default)]
pub struct ScaleDown {
    unneeded: BTreeMap<NodeKey, Time>,
    /// When a group last grew.
    grown: Option<Time>,
    /// Nodes that were unneeded for long enough could not go with others: the next scan tries again.
    blocked: bool,
    /// The last scan found other nodes unneeded than the one before. Those come first in the next one, which may therefore find others again,
    /// though nothing else has changed.
    reordered: bool,
    /// What the last scan found of each node that it may delete.
    verdicts: BTreeMap<NodeKey, ScaleDownVerdict>,
}

impl ScaleDown {
    /// A group grows.
    pub fn grows(&mut self, now: Time) {
        self.grown = Some(now);
    }

    /// Too many nodes are unready: none is unneeded (`CleanUpUnneededNodes`).
    pub fn clear(&mut self) {
        self.unneeded.clear();
        (self.blocked, self.reordered) = (false, false);
    }

    /// Another process leads, who remembers nothing. What was found stays until its first scan finds something else.
    pub fn forget(&mut self) {
        *self = Self { verdicts: std::mem::take(&mut self.verdicts), ..Self::default() };
    }

    /// What the last scan found of each node that it may delete.
    pub const fn verdicts(&self) -> &BTreeMap<NodeKey, ScaleDownVerdict> {
        &self.verdicts
    }

    /// Looks at all nodes; those that go, with their groups, and whether they have pods.
    pub fn scan(
        &mut self,
        options: &ScaleDownOptions,
        groups: &TiVec<MachineDeploymentId, NodeGroup>,
        deletions: &Deletions,
        store: &Store,
        ctx: &ClusterCtx<'_>,
    ) -> Vec<(NodeKey, MachineDeploymentId, bool)> {
        self.update(options, deletions, store, ctx);
        self.blocked = false;
        if self.waits_until(options).is_some_and(|until| ctx.now < until) {
            return Vec::new();
        }
        let due = self.unneeded.iter().filter(|(_, since)| ctx.now >= **since + options.unneeded_time.0);
        let has_pods = |node: NodeKey| leaving(node, store, ctx).next().is_some();
        let mut due: Vec<NodeKey> = due.map(|(node, _)| *node).collect();
        due.sort_by_key(|node| has_pods(*node));
        let mut spare: TiVec<MachineDeploymentId, u32> = groups
            .iter_enumerated()
            .map(|(id, group)| group.target.saturating_sub(group.limits.minimum + deletions.of(id)))
            .collect();
        let (mut drains, mut all) = (deletions.drains(), deletions.count());
        let (mut gone, mut budgets) = (Vec::new(), RemainingBudgets::default());
        for node in due {
            let machine = store.machines.of_node(node).and_then(|id| store.machines.get(id));
            let Some(group) = machine.map(|machine| machine.name.deployment) else { continue };
            let pods: Vec<_> = leaving(node, store, ctx).collect();
            let is_empty = pods.is_empty();
            let full = all >= options.max_scale_down_parallelism
                || is_empty && gone.len() >= options.max_empty_bulk_delete as usize
                || !is_empty && drains >= options.max_drain_parallelism;
            self.blocked |= full;
            if spare[group] == 0 {
                self.verdicts.insert(node, ScaleDownVerdict::GroupAtMinimum);
                continue;
            }
            if full {
                continue;
            }
            if pods.iter().any(|pod| spent(*pod, &budgets, store, ctx)) {
                self.verdicts.insert(node, ScaleDownVerdict::Budget);
                continue;
            }
            for pod in &pods {
                budgets.take(*pod, store, ctx);
            }
            all += 1;
            drains += u32::from(!is_empty);
            spare[group] -= 1;
            self.unneeded.remove(&node);
            self.verdicts.remove(&node);
            gone.push((node, group, !is_empty));
        }
        gone
    }

    /// Which nodes are not needed: their pods, and those that other such nodes leave to them, fit on others by all filters, while the node
    /// still counts as one (`simulator/cluster.go`, `findPlaceFor`).
    fn update(&mut self, options: &ScaleDownOptions, deletions: &Deletions, store: &Store, ctx: &ClusterCtx<'_>) {
        let (mut assumed, mut budgets) = (Assumed::default(), RemainingBudgets::default());
        let mut unneeded = BTreeMap::new();
        let mut received: BTreeMap<NodeKey, Vec<Demand>> = BTreeMap::new();
        let has_gone = |key: &NodeKey| deletions.contains(*key) || has_machine_given_up(*key, store);
        let gone: BTreeSet<NodeKey> = store.nodes().map(|(key, _)| key).filter(has_gone).collect();
        // Pods of nodes that are being deleted need room, too.
        let mut firsts = Firsts::default();
        for key in &gone {
            let without = |other: NodeKey| gone.contains(&other);
            let moved =
                move_pods(&demands(*key, store, ctx), *key, (&assumed, assumed.clone()), without, &mut firsts, store, ctx);
            assumed = moved.map_or(assumed, |(after, _)| after);
        }
        self.verdicts.clear();
        // The machine-controller-manager annotates the nodes for as long (`deployment_rolling.go`, `rolloutRolling`).
        let rolling = ctx.spec.machine_deployments.keys().filter(|group| !store.machines.is_rolled_out(*group)).collect();
        let mut candidates = Vec::new();
        for (key, node) in store.nodes().filter(|(key, _)| is_kept(*key, store) && !deletions.contains(*key)) {
            match ineligible(key, node, &rolling, options, store, ctx) {
                Some(verdict) => drop(self.verdicts.insert(key, verdict)),
                None => candidates.push(key),
            }
        }
        // Empty ones first, then those that were unneeded before.
        candidates.sort_by_key(|key| (leaving(*key, store, ctx).next().is_some(), !self.unneeded.contains_key(key), *key));
        for key in candidates {
            let pods: Vec<PodId> = leaving(key, store, ctx).collect();
            if let Some(verdict) = pods.iter().find_map(|pod| blocker(*pod, options, &budgets, store, ctx)) {
                self.verdicts.insert(key, verdict);
                continue;
            }
            let mut demands = demands(key, store, ctx);
            demands.extend(received.get(&key).into_iter().flatten());
            let without = |other: NodeKey| gone.contains(&other) || unneeded.contains_key(&other);
            let mut drained = assumed.clone();
            drained.drain(key, store);
            let moved = move_pods(&demands, key, (&assumed, drained), without, &mut firsts, store, ctx);
            let Some((after, places)) = moved else {
                self.verdicts.insert(key, ScaleDownVerdict::NoPlace);
                continue;
            };
            for pod in &pods {
                budgets.take(*pod, store, ctx);
            }
            assumed = after;
            assumed.remove_drained();
            places.into_iter().zip(demands).for_each(|(place, pod)| received.entry(place).or_default().push(pod));
            unneeded.insert(key, self.unneeded.get(&key).copied().unwrap_or(ctx.now));
            self.verdicts.insert(key, ScaleDownVerdict::Unneeded);
        }
        self.reordered = !self.unneeded.keys().eq(unneeded.keys());
        self.unneeded = unneeded;
    }

    /// Until when nothing goes after a scale-up.
    fn waits_until(&self, options: &ScaleDownOptions) -> Option<Time> {
        self.grown.map(|grown| grown + options.delay_after_add.0)
    }

    /// The next moment from which a scan may find something else.
    pub fn next(&self, options: &ScaleDownOptions, now: Time) -> Option<Time> {
        if self.blocked || self.reordered {
            return Some(now);
        }
        let first = self.unneeded.values().map(|since| *since + options.unneeded_time.0).min()?;
        Some(self.waits_until(options).map_or(first, |until| first.max(until)))
    }
}

/// Whether the machine of a node was given up, or is being deleted.
fn has_machine_given_up(key: NodeKey, store: &Store) -> bool {
    let machine = store.machines.of_node(key).and_then(|id| store.machines.get(id));
    machine.is_some_and(|machine| machine.surplus || machine.phase == Phase::Terminating)
}

/// What the pods of a node demand that are to leave it and have not been asked to end.
fn demands(key: NodeKey, store: &Store, ctx: &ClusterCtx<'_>) -> Vec<Demand> {
    let staying = leaving(key, store, ctx).filter_map(|pod| store.pod(pod)).filter(|pod| !pod.terminating);
    staying.map(|pod| Demand::of(pod, store)).collect()
}

/// Why a node stays, whatever its pods are; `None`: little is requested of it, and it is well. `rolling`: groups of which a roll-out is under
/// way.
fn ineligible(
    key: NodeKey,
    node: &Node,
    rolling: &BTreeSet<MachineDeploymentId>,
    options: &ScaleDownOptions,
    store: &Store,
    ctx: &ClusterCtx<'_>,
) -> Option<ScaleDownVerdict> {
    let machine = store.machines.of_node(key).and_then(|id| store.machines.get(id));
    let group = machine.map(|machine| machine.name.deployment);
    if group.is_some_and(|group| ctx.spec.machine_deployments[group].scale_down_disabled) {
        Some(ScaleDownVerdict::Disabled)
    } else if group.is_some_and(|group| rolling.contains(&group)) {
        Some(ScaleDownVerdict::RollOut)
    } else if node.ready != Ready::True || machine.is_none_or(|machine| machine.phase != Phase::Running) {
        Some(ScaleDownVerdict::NotReady)
    } else if is_little(&node.requested, &node.allocatable, options) {
        None
    } else {
        Some(ScaleDownVerdict::NotUnderutilized)
    }
}

/// The larger of the shares of CPU and memory that are requested is below the threshold.
fn is_little(requested: &Resources, allocatable: &Resources, options: &ScaleDownOptions) -> bool {
    let share = |requested: u64, allocatable: u64| requested as f64 / allocatable.max(1) as f64;
    let cpu = share(requested.cpu_milli, allocatable.cpu_milli);
    cpu.max(share(requested.memory, allocatable.memory)) < options.utilization_threshold.0
}

/// Pods of a node on others that are not to go themselves, and the node of each; `None`: some pod fits nowhere. `before`: what holds in that
/// case; `after`: the same, without the pods.
fn move_pods<'a>(
    pods: &[Demand],
    node: NodeKey,
    (before, mut after): (&Assumed, Assumed),
    without: impl Fn(NodeKey) -> bool,
    firsts: &mut Firsts<'a>,
    store: &'a Store,
    ctx: &ClusterCtx<'a>,
) -> Option<(Assumed, Vec<NodeKey>)> {
    let mut places = Vec::new();
    for pod in pods {
        let mut from = firsts.of(*pod, before, &without, ctx.spec, store)?;
        let place = loop {
            let fit = after.first_fit(*pod, from, ctx.spec, store)?;
            if fit != node && !without(fit) {
                break fit;
            }
            from = NodeKey(fit.0 + 1);
        };
        after.put(*pod, place, ctx.spec);
        places.push(place);
    }
    Some((after, places))
}
