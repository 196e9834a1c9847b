//! The scheduler: pods wait in a queue, and each is given the best of the nodes that suit it (`pkg/scheduler`).
//!
//! ```text
//!  made --> due now --> place --> bound
//!             ^           |
//!             |           '--> refused --> due after 5 min, or after its back-off once something that might help has changed
//!             '-----------------------------'
//! ```

use crate::controller::{Controller, Due, State};
use crate::spec::Component;
use std::collections::{BTreeMap, BTreeSet};
use zonefall_scenario::Scenario;

use crate::controller::placement::{Demand, place};
use crate::controller::queueing_hints::{helps_nobody, may_help};
use crate::ctx::ClusterCtx;
use crate::reasons::Reasons;
use crate::spec::KubeClusterSpec;
use crate::store::{Change, Store};
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_scenario::ids::{NodeKey, PodId, TiVec, WorkloadId};

/// A pod that was refused is looked at again after so long, whatever happens (`podMaxInUnschedulablePodsDuration`).
const PATIENCE: Duration = Duration::from_secs(300);

/// First and longest back-off of a pod that was refused (`podInitialBackoffSeconds`, `podMaxBackoffSeconds`).
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

#[derive(Clone, Copy, Debug)]
struct Waiting {
    due: Time,
    /// Times it was refused, when last, and why.
    refusals: u32,
    refused: Time,
    reasons: Reasons,
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    queue: BTreeSet<(Time, PodId)>,
    waiting: BTreeMap<PodId, Waiting>,
    /// Why no node suits pods with these demands, as long as nothing changes that counts.
    refused: BTreeMap<Demand, Reasons>,
    /// Pods placed so far, per workload: numbers of draws.
    placed: TiVec<WorkloadId, u64>,
    /// When it has time for another pod.
    free: Time,
    timer: Timer,
}

impl Scheduler {
    /// Nothing to do yet.
    fn new(workloads: usize) -> Self {
        let (queue, waiting, refused) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Self { queue, waiting, refused, placed: vec![0; workloads].into(), free: Time::ZERO, timer: Timer::new() }
    }

    /// Hears of a new pod at `at`.
    fn add(&mut self, id: PodId, at: Time) {
        self.wait(id, Waiting { due: at, refusals: 0, refused: at, reasons: Reasons::default() });
    }

    fn wait(&mut self, id: PodId, waiting: Waiting) {
        if let Some(before) = self.waiting.insert(id, waiting) {
            self.queue.remove(&(before.due, id));
        }
        self.queue.insert((waiting.due, id));
    }

    /// A pod is gone: it waits no more.
    fn remove(&mut self, id: PodId) {
        if let Some(waiting) = self.waiting.remove(&id) {
            self.queue.remove(&(waiting.due, id));
        }
    }

    /// Something has changed, of which it hears at `at`: refused pods that it may help are looked at again after their back-off.
    fn activate(&mut self, change: &Change, at: Time, store: &Store, spec: &KubeClusterSpec) {
        if helps_nobody(change) {
            return;
        }
        self.refused.clear();
        let helped = |id: PodId, waiting: &Waiting| {
            let workload = |id| Some(store.template(store.pod(id)?.name.workload, spec));
            workload(id).is_some_and(|workload| may_help(change, waiting.reasons, workload, spec, store))
        };
        let refused = self.waiting.iter().filter(|(_, waiting)| waiting.refusals > 0);
        let sooner = refused.filter_map(|(id, waiting)| {
            let doubled = BACK_OFF.0 * (1 << waiting.refusals.saturating_sub(1).min(8));
            let due = at.max(waiting.refused + doubled.min(BACK_OFF.1));
            (due < waiting.due && helped(*id, waiting)).then_some((*id, Waiting { due, ..*waiting }))
        });
        for (id, waiting) in sooner.collect::<Vec<_>>() {
            self.wait(id, waiting);
        }
    }

    /// Places the next pod, if a node suits it.
    fn schedule(&mut self, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.timer.fires(generation) {
            return;
        }
        let (due, id) = self.queue.pop_first().expect("it is called when a pod is due");
        self.free = ctx.now + ctx.spec.timers.scheduling;
        debug_assert!(due <= ctx.now, "{id:?} is due at {due:?} only");
        let waiting = self.waiting.remove(&id).expect("what is queued waits");
        let demand = Demand::of(store.pod(id).expect("a pod that waits is there"), store);
        let refused = self.refused.get(&demand).copied();
        let result = refused.map_or_else(|| self.try_place(id, store, ctx), Err);
        let Err(reasons) = result else { return };
        self.refused.insert(demand, reasons);
        self.wait(id, Waiting { due: ctx.now + PATIENCE, refusals: waiting.refusals + 1, refused: ctx.now, reasons });
        store.mark_unschedulable(id, reasons, ctx);
    }

    /// Binds a pod to the best node.
    ///
    /// # Errors
    /// Why no node suits it.
    pub fn try_place(&mut self, id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> Result<NodeKey, Reasons> {
        let demand = Demand::of(store.pod(id).expect("a pod that waits is there"), store);
        let workload = demand.workload;
        let placed = &mut self.placed[workload];
        let mut tie = ctx.draws(Purpose::Tie, workload.0).draw(*placed + 1);
        let key = place(demand, ctx.spec, store, &mut tie)?;
        *placed += 1;
        store.bind(id, key, ctx);
        Ok(key)
    }

    /// Pods that nothing has helped since they were refused.
    #[cfg(feature = "testing")]
    pub fn unschedulable(&self) -> Vec<PodId> {
        let unschedulable =
            self.waiting.iter().filter(|(_, waiting)| waiting.refusals > 0 && waiting.due == waiting.refused + PATIENCE);
        unschedulable.map(|(id, _)| *id).collect()
    }

    /// Another process takes over: it finds the pods that have no node, and knows of no refusal.
    fn begin(&mut self, store: &Store, at: Time) {
        self.queue.clear();
        self.waiting.clear();
        self.refused.clear();
        for id in store.pods().filter(|(_, pod)| pod.node.is_none()).map(|(id, _)| id) {
            self.add(id, at);
        }
    }

    /// Queues its next look, if it may act.
    fn arm_queue(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        let next = self.queue.first().map(|(due, _)| (*due).max(self.free).max(ctx.now)).filter(|_| is_active);
        ctx.rearm(&mut self.timer, next);
    }
}

impl Scheduler {
    /// Every cluster has it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self::new(ctx.spec.workloads.len())))
    }

    /// Places a pod that has been there for long, on its node or the best one; where none suits it waits.
    pub fn place_warm(&mut self, id: PodId, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let bound = state.store.pod(id).expect("it was just created").node;
        match bound.map_or_else(|| self.try_place(id, &mut state.store, ctx), Ok) {
            Ok(node) => state.start_warm(id, node, ctx),
            Err(_) => self.add(id, ctx.now),
        }
    }
}

impl Controller for Scheduler {
    fn component(&self) -> Option<Component> {
        Some(Component::Scheduler)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let notified = ctx.now + ctx.latency;
        self.activate(change, notified, &state.store, ctx.spec);
        match *change {
            Change::Created(pod) if state.store.pod(pod).is_some_and(|pod| pod.node.is_none()) => self.add(pod, notified),
            Change::Removed(pod, ..) => self.remove(pod),
            _ => {}
        }
    }

    fn forget(&mut self, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.begin(&state.store, ctx.now + ctx.latency);
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.schedule(due.generation, &mut state.store, ctx);
    }

    fn arm(&mut self, is_active: bool, _state: &State, ctx: &mut ClusterCtx<'_>) {
        self.arm_queue(is_active, ctx);
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "the scheduler takes the next pod from its queue".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
