//! The descheduler's strategy RemovePodsViolatingTopologySpreadConstraint (`sigs.k8s.io/descheduler`,
//! `pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint/topologyspreadconstraint.go`).
//!
//! The scheduler spreads pods when it binds them and never again: pods that a zone outage drove out stay where they are when the zone is
//! back. The descheduler looks at intervals whether domains differ by more than `maxSkew`, and evicts pods from the largest. Who owns
//! them makes others, and the scheduler spreads those.
//!
//! It runs beside the scheduler, and acts while that can. A pod is evicted only if the scheduler would now bind its successor in another
//! domain (`topologyBalanceNodeFit`; upstream asks a part of the filters).

use std::collections::{BTreeMap, BTreeSet};

use crate::controller::disruption::evict;
use crate::controller::placement::{Demand, place};
use crate::controller::{Controller, Due, State};
use crate::ctx::ClusterCtx;
use crate::record::Ready;
use crate::rule::labels::Symbol;
use crate::rule::spread::Constraint;
use crate::rule::taints;
use crate::spec::controllers::Descheduler as Options;
use crate::spec::{Component, Kind, KubeClusterSpec, Workload};
use crate::store::{Change, Node, Pod, Store};
use zonefall_kernel::periodic::{Periodic, Stepping};
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Timer;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::PodId;

/// The controller.
#[derive(Clone, Debug)]
pub(super) struct Descheduler {
    checks: Periodic,
    options: Options,
    /// Something has changed since the last check, or that check found something to do.
    unsettled: bool,
    timer: Timer,
}

/// Entity of the draws, beyond all nodes.
const ENTITY: u32 = u32::MAX - 9;

/// Pods by domain, oldest first; those that cannot be evicted come before all others.
type Domains = BTreeMap<Symbol, Vec<PodId>>;

impl Descheduler {
    /// A cluster has it if its scenario says so.
    pub(super) fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        let options = ctx.spec.controllers.descheduler.clone()?;
        let phase = ctx.draws(Purpose::Phase, ENTITY).draw(0).below(options.interval.0.as_nanos());
        let checks = Periodic::new(Time::from_nanos(phase), options.interval.0);
        Some(Box::new(Self { checks, options, unsettled: true, timer: Timer::new() }))
    }

    fn check(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        self.unsettled = run(self.options.schedule_anyway, store, ctx);
    }
}

/// Evicts the pods that violate their constraints; whether there are any. With `schedule_anyway` preferences count, too.
pub fn run(schedule_anyway: bool, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> bool {
    let evicted = violating(schedule_anyway, store, ctx);
    for id in &evicted {
        // A budget that is spent refuses: the next run tries again.
        evict(*id, store, ctx).ok();
    }
    !evicted.is_empty()
}

/// Pods to evict.
fn violating(schedule_anyway: bool, store: &Store, ctx: &ClusterCtx<'_>) -> BTreeSet<PodId> {
    let mut found = BTreeSet::new();
    let mut seen: Vec<(Symbol, &Constraint)> = Vec::new();
    for workload in &ctx.spec.workloads {
        let soft = workload.prefers.iter().filter(|_| schedule_anyway);
        for constraint in workload.spread.iter().chain(soft) {
            // Workloads that say the same of one namespace are judged once.
            if !constraint.per_rollout && seen.contains(&(workload.namespace, constraint)) {
                continue;
            }
            seen.push((workload.namespace, constraint));
            for domains in domains(workload, constraint, store, ctx.spec) {
                let fits = |id: PodId| moves_away(id, constraint.key, store, ctx);
                found.extend(excess(domains.into_values().collect(), constraint.max_skew).into_iter().filter(|id| fits(*id)));
            }
        }
    }
    found
}

/// The pods that a constraint of a workload counts, by domain: once, or once for each revision of its own.
fn domains(workload: &Workload, constraint: &Constraint, store: &Store, spec: &KubeClusterSpec) -> Vec<Domains> {
    let counts = |node: &&Node| {
        node.ready == Ready::True
            && (!constraint.honors_affinity || workload.affinity.admits(&node.labels))
            && (!constraint.honors_taints || taints::forbidding(&node.taints, &workload.tolerations).is_none())
    };
    let domain = |node: &Node| node.labels.get(constraint.key);
    let empty: Domains =
        store.nodes().map(|(_, node)| node).filter(counts).filter_map(|node| Some((domain(node)?, Vec::new()))).collect();
    let mut groups: BTreeMap<u32, Domains> = BTreeMap::new();
    let others = store.templates_in(workload.namespace, spec).filter(|(_, other)| constraint.selector.selects(&other.labels));
    for (id, other) in others.filter(|(_, other)| !constraint.per_rollout || other.name == workload.name) {
        for (pod_id, pod) in store.pods_of(id).filter(|(_, pod)| !pod.terminating) {
            let revision = if constraint.per_rollout { pod.revision } else { 0 };
            let group = groups.entry(revision).or_insert_with(|| empty.clone());
            let home = pod.node.and_then(|key| store.get_node(key)).filter(counts).and_then(domain);
            if let Some(pods) = home.and_then(|home| group.get_mut(&home)) {
                let place = if other.kind == Kind::DaemonSet { 0 } else { pods.len() };
                pods.insert(place, pod_id);
            }
        }
    }
    groups.into_values().collect()
}

/// Which pods the larger domains give, so that none differs from another by more than `max_skew` (`balanceDomains`).
fn excess(mut domains: Vec<Vec<PodId>>, max_skew: u64) -> Vec<PodId> {
    domains.sort_by_key(Vec::len);
    let pods: usize = domains.iter().map(Vec::len).sum();
    let average = pods as f64 / domains.len().max(1) as f64;
    let mut given = Vec::new();
    let (mut small, mut large) = (0, domains.len().saturating_sub(1));
    while small < large {
        if (domains[large].len() as f64) < average {
            large -= 1;
            continue;
        }
        let skew = domains[large].len().saturating_sub(domains[small].len());
        let above = (domains[large].len() as f64 - average).ceil();
        let below = (average - domains[small].len() as f64).ceil();
        let half = ((skew as f64 - max_skew as f64) / 2.0).ceil();
        let count = above.min(below).min(half);
        if skew as u64 <= max_skew || count < 1.0 {
            small += 1;
            continue;
        }
        let keeps = domains[large].len() - count as usize;
        let leaving = domains[large].split_off(keeps);
        given.extend(&leaving);
        domains[small].extend(leaving);
    }
    given
}

/// Whether the scheduler would bind a successor of the pod in another domain than its own.
fn moves_away(id: PodId, key: Symbol, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    let domain = |node| store.get_node(node).and_then(|node| node.labels.get(key));
    let Some(pod): Option<&Pod> = store.pod(id) else { return false };
    let is_evictable = ctx.spec.workloads[pod.name.workload].kind != Kind::DaemonSet;
    let mut tie = ctx.draws(Purpose::Tie, ENTITY).draw(0);
    let successor = place(Demand::of(pod, store), ctx.spec, store, &mut tie).ok();
    is_evictable && successor.is_some_and(|node| domain(node) != pod.node.and_then(domain))
}

impl Controller for Descheduler {
    fn component(&self) -> Option<Component> {
        Some(Component::Scheduler)
    }

    fn watch(&mut self, _change: &Change, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.unsettled = true;
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if self.timer.fires(due.generation) {
            self.check(&mut state.store, ctx);
        }
    }

    fn arm(&mut self, is_active: bool, _state: &State, ctx: &mut ClusterCtx<'_>) {
        let wanted = is_active && (ctx.stepping == Stepping::EveryEvent || self.unsettled);
        if wanted != self.timer.is_armed() {
            ctx.rearm(&mut self.timer, wanted.then(|| self.checks.after(ctx.now)));
        }
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "the descheduler looks for pods that violate their spread constraints".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many pods domains of these sizes give in all.
    fn given(sizes: &[u32], max_skew: u64) -> usize {
        let mut next = 0;
        let domain = |size: &u32| {
            next += size;
            (next - size..next).map(PodId).collect()
        };
        excess(sizes.iter().map(domain).collect(), max_skew).len()
    }

    /// Rows of upstream's `TestTopologySpreadConstraint`.
    #[test]
    fn larger_domains_give_until_the_skew_is_allowed() {
        for (sizes, max_skew, expected) in [
            (&[2, 1][..], 1, 0),
            (&[3, 1], 1, 1),
            (&[2, 0], 1, 1),
            (&[3, 0], 1, 1),
            (&[4, 0], 1, 2),
            (&[2, 6], 2, 1),
            (&[0, 1, 100], 1, 66),
            (&[0, 1, 3, 5], 1, 3),
            (&[0, 0, 0], 1, 0),
        ] {
            assert_eq!(given(sizes, max_skew), expected, "{sizes:?}, maxSkew {max_skew}");
        }
    }
}
