//! Nodes that are being deleted (`core/scaledown/actuation`: `actuator.go`, `drain.go`, `group_deletion_scheduler.go`).
//!
//! ```text
//!  tainted --5 s--> pods are evicted, again every 10 s --> all are --looks every 5 s--> all have ended --> the machine is given up
//!     |                   |                                  |
//!     '- a pod keeps it --'- not within 2 min ---------------'- not within 10 min and 30 s --> taint removed: the node stays
//! ```
//!
//! A node that stays has to be unneeded again. What another process has begun is not gone on with: its taints are removed. So are those of
//! a node whose machine was given up and is not deleted, as its group is to grow by one at that moment: the machine-controller-manager
//! deletes what is too many alone. (Upstream lets the taint stay, and takes the node for one that is not being deleted 5 min later:
//! `IsNodeBeingDeleted`.)

use std::collections::BTreeMap;

use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_kube::controller::Due;
use zonefall_kube::controller::disruption::{RemainingBudgets, evict};
use zonefall_kube::controller::drain::leaving;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::record::ScaleDownVerdict;
use zonefall_kube::store::{Node, Store, TO_BE_DELETED};
use zonefall_scenario::ids::{MachineDeploymentId, NodeKey, PodId, TiVec};
use zonefall_scenario::kube::autoscaler::ScaleDownOptions;

use crate::drainability::blocker;
use crate::group::{NodeGroup, is_kept};

/// Kind of its timer.
pub const DUE: u32 = 1;

/// From a taint to the first eviction (`node-delete-delay-after-taint`).
const DELAY_AFTER_TAINT: Duration = Duration::from_secs(5);

/// An eviction that was refused is tried again after so long (`DefaultEvictionRetryTime`).
const RETRY: Duration = Duration::from_secs(10);

/// Pods have so long beyond their time to end (`DefaultPodEvictionHeadroom`).
const HEADROOM: Duration = Duration::from_secs(30);

/// How often it looks whether pods have ended (`waitPodsToDisappear`).
const POLL: Duration = Duration::from_secs(5);

/// Deletions under way (`NodeDeletionTracker`).
#[derive(Clone, Debug, Default)]
pub struct Deletions {
    nodes: BTreeMap<NodeKey, Deletion>,
    timer: Timer,
    /// Another process led before: nodes may have taints of its own.
    has_taken_over: bool,
}

#[derive(Clone, Debug)]
struct Deletion {
    group: MachineDeploymentId,
    /// It had pods when it was chosen.
    drains: bool,
    step: Step,
    /// When the next step is due.
    at: Time,
}

#[derive(Clone, Debug)]
enum Step {
    Tainted,
    /// Pods that are evicted, and since when.
    Evicts(Vec<PodId>, Time),
    /// Pods that were evicted, and when the last was.
    Awaits(Vec<PodId>, Time),
}

impl Deletions {
    /// Begins to delete a node.
    pub fn begin(
        &mut self,
        node: NodeKey,
        group: MachineDeploymentId,
        drains: bool,
        store: &mut Store,
        ctx: &mut ClusterCtx<'_>,
    ) {
        store.mark_to_be_deleted(node, ctx);
        let at = ctx.now + ctx.latency + DELAY_AFTER_TAINT;
        self.nodes.insert(node, Deletion { group, drains, step: Step::Tainted, at });
    }

    /// Whether a node is being deleted.
    pub fn contains(&self, node: NodeKey) -> bool {
        self.nodes.contains_key(&node)
    }

    /// How many nodes are being deleted.
    pub fn count(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// How many of them had pods.
    pub fn drains(&self) -> u32 {
        self.nodes.values().filter(|deletion| deletion.drains).count() as u32
    }

    /// How many of them are of a group.
    pub fn of(&self, group: MachineDeploymentId) -> u32 {
        self.nodes.values().filter(|deletion| deletion.group == group).count() as u32
    }

    /// Another process takes over.
    pub fn forget(&mut self) {
        self.nodes.clear();
        self.timer.cancel();
        self.has_taken_over = true;
    }

    /// Removes the taints of nodes that nobody deletes: those that another process has left (`cleanUpIfRequired`), and those of machines
    /// that stay, as their group was to grow before they went.
    pub fn clean_up(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let has_taken_over = std::mem::take(&mut self.has_taken_over);
        let why = if has_taken_over { ScaleDownVerdict::NewLeader } else { ScaleDownVerdict::NoneTooMany };
        let is_left =
            |key: NodeKey, node: &Node| node.taints.contains(&TO_BE_DELETED) && !self.contains(key) && is_kept(key, store);
        let left: Vec<NodeKey> = store.nodes().filter(|(key, node)| is_left(*key, node)).map(|(key, _)| key).collect();
        for node in left {
            store.keep(node, why, ctx);
        }
    }

    /// Goes on with the deletions that are due.
    pub fn act(
        &mut self,
        generation: Generation,
        options: &ScaleDownOptions,
        groups: &TiVec<MachineDeploymentId, NodeGroup>,
        store: &mut Store,
        ctx: &mut ClusterCtx<'_>,
    ) {
        if !self.timer.fires(generation) {
            return;
        }
        let is_due = |(_, deletion): &(&NodeKey, &Deletion)| deletion.at <= ctx.now;
        let due: Vec<NodeKey> = self.nodes.iter().filter(is_due).map(|(node, _)| *node).collect();
        for node in due {
            let deletion = self.nodes.remove(&node).expect("it is due");
            let group = deletion.group;
            match deletion.advance(node, options, store, ctx) {
                Ok(Some(deletion)) => drop(self.nodes.insert(node, deletion)),
                Ok(None) => give_up(node, group, groups[group].limits.minimum, store, ctx),
                Err(why) => store.keep(node, why, ctx),
            }
        }
    }

    /// Queues what is due next.
    pub fn arm(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        let next = self.nodes.values().map(|deletion| deletion.at.max(ctx.now)).min().filter(|_| is_active);
        if let Some((at, generation)) = self.timer.rearm(next) {
            ctx.timer(at, Due { key: (DUE, 0), generation });
        }
    }
}

impl Deletion {
    /// The deletion as it goes on; `None`: the machine can go. An error: why the node stays.
    fn advance(
        mut self,
        node: NodeKey,
        options: &ScaleDownOptions,
        store: &mut Store,
        ctx: &mut ClusterCtx<'_>,
    ) -> Result<Option<Self>, ScaleDownVerdict> {
        let mut left: Vec<PodId> = leaving(node, store, ctx).collect();
        match self.step {
            Step::Tainted => {
                if !self.drains && !left.is_empty() {
                    return Err(ScaleDownVerdict::NotEmpty);
                }
                let budgets = RemainingBudgets::default();
                if let Some(why) = left.iter().find_map(|pod| blocker(*pod, options, &budgets, store, ctx)) {
                    return Err(why);
                }
                self.step = Step::Evicts(left, ctx.now);
                self.advance(node, options, store, ctx)
            }
            Step::Evicts(pods, since) => {
                if ctx.now > since && ctx.now >= since + options.max_pod_eviction_time.0 {
                    return Err(ScaleDownVerdict::NotEvicted);
                }
                left.retain(|pod| pods.contains(pod));
                let refused = left.into_iter().filter(|pod| evict(*pod, store, ctx).is_err()).count();
                if refused > 0 {
                    return Ok(Some(Self { step: Step::Evicts(pods, since), at: ctx.now + RETRY, ..self }));
                }
                self.step = Step::Awaits(pods, ctx.now);
                self.advance(node, options, store, ctx)
            }
            Step::Awaits(pods, since) => {
                if ctx.now >= since + options.max_graceful_termination.0 + HEADROOM {
                    return Err(ScaleDownVerdict::NotGone);
                }
                let is_done = left.iter().all(|pod| !pods.contains(pod));
                Ok((!is_done).then(|| Self { step: Step::Awaits(pods, since), at: ctx.now + POLL, ..self }))
            }
        }
    }
}

/// Gives up the machine of a node, unless it goes already, or its group has no more machines than its minimum or is being rolled out
/// (`DeleteNodes`).
fn give_up(node: NodeKey, group: MachineDeploymentId, minimum: u32, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
    let Some(machine) = store.machines.of_node(node).filter(|_| is_kept(node, store)) else { return };
    let desired = store.machines.desired(group);
    if desired <= minimum {
        return store.keep(node, ScaleDownVerdict::GroupAtMinimum, ctx);
    }
    if !store.machines.is_rolled_out(group) {
        return store.keep(node, ScaleDownVerdict::RollOut, ctx);
    }
    store.machines.get_mut(machine).surplus = true;
    store.machines.scale(group, desired - 1, ctx);
}
