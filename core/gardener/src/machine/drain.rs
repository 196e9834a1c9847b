//! Draining a node before its machine is deleted (`pkg/util/provider/drain/drain.go`): pods without volumes leave at once, those with
//! volumes one after another.

use zonefall_kernel::time::Time;
use zonefall_kube::controller::disruption::evict;
use zonefall_kube::controller::drain::leaving;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{NodeKey, PodId};

/// A drain under way.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    since: Time,
    /// The pod with a volume whose turn it is, and since when.
    turn: Option<(PodId, Time)>,
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
        Self { since: now, turn: None }
    }

    /// Evicts whose turn it is.
    pub fn go_on(&mut self, node: NodeKey, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> Progress {
        if store.get_node(node).is_some() {
            store.cordon(node, ctx);
        }
        let left: Vec<PodId> = leaving(node, store, ctx).collect();
        let (with_volume, others): (Vec<PodId>, Vec<PodId>) = left.iter().partition(|id| has_volume(**id, store, ctx));
        for id in others {
            // Refused for its budget: it is tried again.
            let _ = evict(id, store, ctx);
        }
        let waited_for =
            self.turn.filter(|(id, since)| with_volume.contains(id) && ctx.now < *since + ctx.spec.timers.machines.detach);
        if waited_for.is_none() {
            let terminating = |id: &PodId| store.pod(*id).is_some_and(|pod| pod.terminating);
            self.turn = with_volume.into_iter().find(|id| !terminating(id)).map(|id| (id, ctx.now));
            if let Some((id, _)) = self.turn {
                let _ = evict(id, store, ctx);
            }
        }
        match () {
            () if left.is_empty() => Progress::Done,
            () if ctx.now >= self.since + ctx.spec.timers.machines.drain => Progress::TimedOut,
            () => Progress::GoesOn,
        }
    }
}

fn has_volume(id: PodId, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    let workload = &ctx.spec.workloads[store.pod(id).expect("a node's pods are there").name.workload];
    workload.volume.is_some()
}
