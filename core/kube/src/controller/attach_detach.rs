//! The attach/detach controller (`pkg/controller/volume/attachdetach/reconciler`): a volume is attached to one node at a time.
//!
//! ```text
//!  Free --a bound pod wants it--> Attaching --> Attached --no pod wants it here--> Detaching --> Free
//!                                                  '-- still mounted: waits for the kubelet, 6 min where its node is silent
//! ```
//!
//! What is attached where is read from the nodes' statuses anew by whoever leads.

use crate::controller::owner::keys;
use crate::controller::{Controller, Due, State};
use crate::spec::{Component, KubeClusterSpec};
use crate::store::Change;
use std::collections::BTreeMap;
use zonefall_scenario::Scenario;

use crate::claim::Attachment;
use crate::ctx::ClusterCtx;
use crate::kubelet::MAX_JITTER;
use crate::name::{PodName, PodTag};
use crate::record::{KubeRecord, PodFact, Ready};
use crate::store::Store;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Generation;
use zonefall_scenario::ids::{NodeKey, WorkloadId, ZoneId};

/// The controller: what it waits for, per claim.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    of: BTreeMap<PodName, Wait>,
    /// Generation of the last event. Waits come and go: one must not take the event of another, for the same claim, for its own.
    generation: Generation,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    /// Since when it is mounted where it is wanted no more.
    unwanted: Option<Time>,
    /// The node of which it was last told that it cannot attach the volume.
    told: Option<NodeKey>,
    /// Times in a row that the cloud has refused, and until when it is not asked again.
    refusals: u32,
    not_before: Time,
    /// Generation of the event that it waits for.
    generation: Generation,
}

/// Entity of the draws of its jitter, beyond all nodes.
const PHASE: u32 = u32::MAX - 3;

/// First and longest wait after the cloud has refused (`goroutinemap/exponentialbackoff`).
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(122));

impl Wait {
    const NONE: Self = Self { unwanted: None, told: None, refusals: 0, not_before: Time::ZERO, generation: Generation::ZERO };
}

impl Volumes {
    /// The pods or volumes of a workload have changed, or their nodes.
    fn sync(&mut self, workload: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        for name in store.claims_of(workload) {
            self.reconcile_claim(name, store, ctx);
        }
    }

    fn reconcile_claim(&mut self, name: PodName, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let claim = *store.claim(name).expect("it is one of the store's");
        let wanted = store.named(name).and_then(|pod| pod.node);
        match claim.attachment {
            Attachment::Free => {
                if let Some(node) = wanted.filter(|node| store.node_exists(*node)) {
                    self.ask(name, Attachment::Attaching(node), ctx.spec.timers.attach, store, ctx);
                } else {
                    // Whoever comes next begins anew.
                    self.of.remove(&name);
                }
            }
            Attachment::Attached(node) if wanted == Some(node) => drop(self.of.remove(&name)),
            Attachment::Attached(node) if claim.mounted != Some(node) || !store.node_exists(node) => {
                self.detach(name, node, false, store, ctx);
            }
            Attachment::Attached(node) => self.wait(name, node, store, ctx),
            Attachment::Attaching(_) | Attachment::Detaching { .. } => {}
        }
    }

    /// Waits until it is unmounted; for so long only, if the node is not ready by then (`maxWaitForUnmountDuration`).
    fn wait(&mut self, name: PodName, node: NodeKey, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let patience = ctx.spec.timers.force_detach;
        match self.of.get(&name).and_then(|wait| wait.unwanted) {
            None => {
                self.expect(name, patience, ctx);
                self.of.entry(name).or_insert(Wait::NONE).unwanted = Some(ctx.now);
            }
            Some(since) if ctx.now >= since + patience && store.node(node).ready != Ready::True => {
                self.detach(name, node, true, store, ctx);
            }
            Some(_) => {}
        }
    }

    fn detach(&mut self, name: PodName, node: NodeKey, forced: bool, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        self.ask(name, Attachment::Detaching { node, forced }, ctx.spec.timers.detach, store, ctx);
    }

    /// Asks the cloud, which may refuse: then it is asked again later.
    fn ask(&mut self, name: PodName, then: Attachment, takes: Duration, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let zone = asked_in(name, then, store, ctx);
        let wait = self.of.entry(name).or_insert(Wait::NONE);
        if ctx.now < wait.not_before {
            return;
        }
        let elsewhere = match then {
            Attachment::Attaching(node) if !store.can_attach(name, node, ctx) => Some(node),
            _ => None,
        };
        if let Some(node) = elsewhere.filter(|node| wait.told.replace(*node) != Some(*node)) {
            ctx.record(KubeRecord::Pod(name, PodFact::AttachFailed(store.node(node).name)));
        }
        if elsewhere.is_none() && ctx.cloud.attaches(zone).is_ok() {
            *wait = Wait::NONE;
            store.set_attachment(name, then, ctx);
            self.expect(name, takes, ctx);
        } else {
            let pause = (BACK_OFF.0 * (1 << wait.refusals.min(8))).min(BACK_OFF.1);
            (wait.refusals, wait.not_before) = (wait.refusals + 1, ctx.now + pause);
            self.expect(name, pause, ctx);
        }
    }

    fn expect(&mut self, name: PodName, takes: Duration, ctx: &mut ClusterCtx<'_>) {
        let PodTag::Ordinal(ordinal) = name.tag else { unreachable!("only pods of StatefulSets claim volumes: {name:?}") };
        self.generation = self.generation.next();
        self.of.entry(name).or_insert(Wait::NONE).generation = self.generation;
        let key = (name.workload.0, ordinal);
        // What it waits for began at a moment at which other periodic work may have begun: they must not coincide.
        let draws = ctx.draws(Purpose::Phase, PHASE);
        let jitter = draws.draw(u64::from(key.0) << 32 | u64::from(ordinal)).below(MAX_JITTER.as_nanos());
        ctx.timer(ctx.now + takes + Duration::from_nanos(jitter), Due { key, generation: self.generation });
    }

    /// What was begun is done, or waited for long enough. The node that has lost a volume it may still use.
    fn done(&mut self, name: PodName, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> Option<NodeKey> {
        self.of.get(&name).filter(|wait| wait.generation == generation)?;
        let attachment = store.claim(name)?.attachment;
        let mut lost = None;
        match attachment {
            Attachment::Attaching(node) if store.node_exists(node) => store.set_attachment(name, Attachment::Attached(node), ctx),
            // Its machine went meanwhile.
            Attachment::Attaching(_) => store.set_attachment(name, Attachment::Free, ctx),
            Attachment::Detaching { node, .. } => {
                store.set_mounted(name, None);
                store.set_attachment(name, Attachment::Free, ctx);
                lost = Some(node);
            }
            Attachment::Free | Attachment::Attached(_) => {}
        }
        self.reconcile_claim(name, store, ctx);
        lost
    }
}

impl Volumes {
    /// Every cluster has it.
    pub fn factory(_state: &State, _ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::<Self>::default())
    }
}

/// The zone that the cloud is asked in: that of the volume, or of the node where disks are attached by name.
fn asked_in(name: PodName, then: Attachment, store: &Store, ctx: &ClusterCtx<'_>) -> ZoneId {
    let node = match then {
        Attachment::Attaching(node) | Attachment::Detaching { node, .. } => store.get_node(node),
        Attachment::Free | Attachment::Attached(_) => None,
    };
    let by_name = node.filter(|_| ctx.spec.workloads[name.workload].uses_disk()).map(|node| node.zone);
    by_name.unwrap_or_else(|| store.claim(name).expect("it is one of the store's").home)
}

/// Key of its work queue: a workload. Key of its timers: a workload, and the ordinal of a pod.
impl Controller for Volumes {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        match *change {
            Change::Removed(_, name, _) if ctx.spec.workloads[name.workload].volume.is_some() => {
                ctx.enqueue(0, name.workload.0);
            }
            Change::Volume(name) => ctx.enqueue(0, name.workload.0),
            Change::Unclaimed(name) => drop(self.of.remove(&name)),
            Change::Condition(node) | Change::Unregistered(node) => {
                for name in state.store.mounted_on(node) {
                    ctx.enqueue(0, name.workload.0);
                }
            }
            _ => {}
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.sync(WorkloadId(key), &mut state.store, ctx);
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        keys(ctx, |workload| workload.volume.is_some())
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let name = PodName { workload: WorkloadId(due.key.0), tag: PodTag::Ordinal(due.key.1) };
        let lost = self.done(name, due.generation, &mut state.store, ctx);
        if let Some(kubelet) = lost.and_then(|node| state.kubelets.get_mut(&node)) {
            kubelet.volume_detached(name, &mut state.store, ctx);
        }
    }

    fn defers(&self) -> bool {
        true
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the attach/detach controller observes changes of nodes and pods"
    }

    fn describe_due(&self, due: &Due, spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        let name = PodName { workload: WorkloadId(due.key.0), tag: PodTag::Ordinal(due.key.1) };
        format!("the attach/detach controller attaches or detaches the volume of {}", name.text(spec))
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
