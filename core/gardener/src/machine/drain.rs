//! Draining a node before its machine is deleted (`pkg/util/provider/drain/drain.go`): pods without volumes leave at once, those with
//! volumes one after another. An eviction that fails otherwise than for a budget that may allow it later ends the attempt for its pod; once
//! that is so of all pods that are left, the drain begins again. What is left when its time is over is deleted by force.

use std::collections::{BTreeMap, BTreeSet};

use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::controller::disruption::{EvictionError, evict, is_misconfigured};
use zonefall_kube::controller::drain::leaving;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::record::{KubeRecord, PodFact};
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{NodeKey, PodId};

/// An eviction that a budget refused is tried again after so long; of pods with volumes, so long after all others had their turn
/// (`PodEvictionRetryInterval`).
const RETRY: Duration = Duration::from_secs(20);

/// A drain under way.
#[derive(Clone, Debug)]
pub struct Drain {
    since: Time,
    /// When evictions of pods without volumes that were refused are tried again.
    retries: BTreeMap<PodId, Time>,
    /// The pod with a volume whose turn it is, and since when.
    turn: Option<(PodId, Time)>,
    /// Pods with volumes whose evictions were refused in this pass over them.
    refused: BTreeSet<PodId>,
    /// When the next pass begins.
    next_pass: Time,
    /// Pods that this attempt has given up.
    failed: BTreeSet<PodId>,
}

/// How far a drain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Pods are left.
    GoesOn,
    /// None is left.
    Done,
    /// Some are left, and it has taken as long as it may.
    TimedOut,
}

impl Drain {
    /// One that begins.
    pub const fn new(now: Time) -> Self {
        Self {
            since: now,
            retries: BTreeMap::new(),
            turn: None,
            refused: BTreeSet::new(),
            next_pass: now,
            failed: BTreeSet::new(),
        }
    }

    /// Evicts whose turn it is.
    pub fn go_on(&mut self, node: NodeKey, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> Progress {
        if store.get_node(node).is_some() {
            store.cordon(node, ctx);
        }
        let left: Vec<PodId> = leaving(node, store, ctx).collect();
        if left.is_empty() {
            return Progress::Done;
        }
        if ctx.now >= self.since + ctx.spec.timers.machines.drain {
            return Progress::TimedOut;
        }
        let (with_volume, others): (Vec<PodId>, Vec<PodId>) = left.iter().partition(|id| has_volume(**id, store, ctx));
        for id in others {
            if self.failed.contains(&id) || self.retries.get(&id).is_some_and(|at| *at > ctx.now) {
                continue;
            }
            match evict(id, store, ctx) {
                Ok(()) => {}
                Err(EvictionError::TooManyRequests) if !is_misconfigured(id, store, ctx) => {
                    self.retries.insert(id, ctx.now + RETRY);
                }
                Err(_) => {
                    self.failed.insert(id);
                }
            }
        }
        self.next_with_volume(&with_volume, store, ctx);
        if left.iter().all(|id| self.failed.contains(id)) {
            *self = Self { since: self.since, ..Self::new(ctx.now) };
        }
        Progress::GoesOn
    }

    /// Evicts the next pod with a volume, once the one before is gone (`evictPodsWithPVInternal`).
    fn next_with_volume(&mut self, pods: &[PodId], store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let is_awaited = |(id, since): (PodId, Time)| pods.contains(&id) && ctx.now < since + ctx.spec.timers.machines.detach;
        if self.turn.is_some_and(is_awaited) || ctx.now < self.next_pass {
            return;
        }
        self.turn = None;
        for id in pods {
            if self.refused.contains(id) || self.failed.contains(id) || store.pod(*id).is_none_or(|pod| pod.terminating) {
                continue;
            }
            let Err(error) = evict(*id, store, ctx) else {
                self.turn = Some((*id, ctx.now));
                return;
            };
            let fails = error == EvictionError::TooManyRequests && is_misconfigured(*id, store, ctx);
            if fails { &mut self.failed } else { &mut self.refused }.insert(*id);
        }
        if !self.refused.is_empty() {
            self.refused.clear();
            self.next_pass = ctx.now + RETRY;
        }
    }
}

/// Deletes by force the pods that a drain has left: without a grace period, and nobody waits for their processes to end
/// (`ForceDeletePods`).
pub fn force(node: NodeKey, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
    for id in leaving(node, store, ctx).collect::<Vec<_>>() {
        let pod = store.pod(id).expect("a node's pods are there");
        if !pod.terminating {
            ctx.record(KubeRecord::Pod(pod.name, PodFact::ForceDeleted));
        }
        store.terminate(id, ctx);
        store.remove(id, ctx);
    }
}

fn has_volume(id: PodId, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    let workload = &ctx.spec.workloads[store.pod(id).expect("a node's pods are there").name.workload];
    workload.volume.is_some()
}
