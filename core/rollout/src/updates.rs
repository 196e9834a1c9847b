//! The controller of `ZoneAwareUpdate` (`controllers/zau_controller.go`). It looks at the pods of a StatefulSet whenever one of them has
//! changed, and again after a while where an alarm holds it up. It reads its own writes, unless its cache of pods is stale.
//!
//! The real program has a cache for each kind of object, and each has a watch of its own. While that of pods is stale ([`BEGIN`]), it acts on
//! the pods as they were, and on the StatefulSet as it is: its revision, and how many of its pods there are and are ready. Its own status
//! wakes it after each step. It deletes by name, so it deletes pods that have come back with the new revision.

use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Timer;
use zonefall_kube::controller::stateful::status_replicas;
use zonefall_kube::controller::{Controller, Due, State};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::name::PodTag;
use zonefall_kube::spec::update::UpdateStrategy;
use zonefall_kube::spec::zone_aware::ZoneUpdate;
use zonefall_kube::spec::{Component, KubeClusterSpec};
use zonefall_kube::store::{self, Change, Store};
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::{PodId, WorkloadId};

use crate::alarm::Measurements;
use crate::record::{RolloutRecord, tell};
use crate::rule::zone_aware_update::{self as rule, Pod, PodRevision, REQUEUE, StatefulSet, Status, Step, Verdict};
use crate::zones::{PodZones, ZonePlace};

/// The controller.
#[derive(Clone, Debug)]
pub struct ZoneAwareUpdates {
    zones: PodZones,
    updates: Vec<Update>,
    measured: Measurements,
    /// Faults that hold up its watch of pods.
    stalled: u32,
}

/// An update, with its status as the API has it.
#[derive(Clone, Debug)]
struct Update {
    status: Status<ZonePlace, u32>,
    verdict: Verdict,
    requeue: Timer,
    /// Where it last deleted pods, and for which revision.
    last: Option<(u32, ZonePlace)>,
    /// What a stale cache shows.
    stale: Option<Cache>,
}

/// What the controller knows of a StatefulSet.
#[derive(Clone, Debug)]
struct Cache {
    pods: Vec<CachedPod>,
    set: StatefulSet<u32>,
}

/// A pod, with the number of its revision.
#[derive(Clone, Copy, Debug)]
struct CachedPod {
    revision: u32,
    created: Time,
    pod: Pod<ZonePlace>,
}

/// Message of a fault: the cache of pods becomes stale.
pub const BEGIN: u32 = 1;
/// Message of a fault that ends: the cache of pods is up to date again.
pub const END: u32 = 0;

/// Work queues: changes of pods; while the cache of these is stale, those of the StatefulSet and of the update itself.
const PODS: u8 = 0;
const OTHERS: u8 = 1;

impl ZoneAwareUpdates {
    /// Clusters with such updates have it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        let zone_aware = &ctx.spec.zone_aware;
        let update = |_: &ZoneUpdate| Update {
            status: Status::new(),
            verdict: Verdict::Done,
            requeue: Timer::new(),
            last: None,
            stale: None,
        };
        let updates: Vec<_> = zone_aware.updates.iter().map(update).collect();
        let measured = Measurements::new(&zone_aware.alarms);
        let has_any = !updates.is_empty();
        has_any
            .then(|| Box::new(Self { zones: PodZones::new(ctx.scenario), updates, measured, stalled: 0 }) as Box<dyn Controller>)
    }

    fn sync(&mut self, k: u32, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let ZoneUpdate { workload, options, alarm, bake_time } = &ctx.spec.zone_aware.updates[k as usize];
        let live = self.look(*workload, store, ctx);
        let settled = store.revisions(*workload).settled();
        let is_stalled = self.stalled > 0;
        let update = &mut self.updates[k as usize];
        let stale = is_stalled.then(|| update.stale.get_or_insert_with(|| live.clone()).clone());
        let Cache { set, pods } = stale.as_ref().unwrap_or(&live);
        let pods = with_revisions(pods, set, settled);
        let alarm = alarm.map(|place| self.measured.state(place, ctx));
        let before = update.status.clone();
        let mut step = rule::step(options, set, &pods, &before, alarm);
        let is_new = |pod: &&store::Pod| pod.ready && pod.revision == set.update_revision;
        let newest = store.pods_of(*workload).map(|(_, pod)| pod).filter(is_new).map(|pod| pod.ready_since).max();
        let of_pod = |ordinal: u32| pods.iter().find(|pod| pod.ordinal == ordinal).and_then(|pod| pod.zone);
        let next = step.deleted.first().and_then(|ordinal| of_pod(*ordinal));
        let begins = || update.last.is_some_and(|(of, zone)| of == set.update_revision && next.is_some_and(|next| next != zone));
        let over = newest.map(|ready| ready + *bake_time).filter(|over| *over > ctx.now && begins());
        if let Some(rest) = over.map(|over| over.since(ctx.now)) {
            // As if the pass had not been.
            step = Step { verdict: Verdict::Bakes, deleted: Vec::new(), status: before.clone(), requeue: Some(rest) };
        }
        if step.verdict == Verdict::Done && !is_stalled {
            store.settle_revision(*workload);
        }
        if std::mem::replace(&mut update.verdict, step.verdict) != step.verdict {
            tell(RolloutRecord::Verdict(k as u16, step.verdict), ctx);
        }
        let id_of = |ordinal: &u32| {
            let name = zonefall_kube::name::PodName { workload: *workload, tag: PodTag::Ordinal(*ordinal) };
            store.id_of(name).map(|id| (*ordinal, id))
        };
        // A pod that is not there is an error, and ends the pass before its status is written; one that is terminating stays so.
        let found: Vec<(u32, PodId)> = step.deleted.iter().map_while(id_of).collect();
        let is_error = found.len() < step.deleted.len();
        debug_assert!(is_stalled || !is_error, "what a step deletes is there");
        let stays = |(_, id): &(u32, PodId)| store.pod(*id).is_some_and(|pod| !pod.terminating);
        let deleted: Vec<(u32, PodId)> = found.into_iter().filter(stays).collect();
        if let Some(zone) = deleted.first().and_then(|(ordinal, _)| of_pod(*ordinal)) {
            update.last = Some((set.update_revision, zone));
            let (zone, pods) = (self.zones.zone(zone), deleted.len() as u16);
            tell(RolloutRecord::Step { update: k as u16, zone, pods, step: step.status.update_step - 1 }, ctx);
        }
        if is_stalled {
            let fresh = rule::step(options, &live.set, &with_revisions(&live.pods, &live.set, settled), &before, alarm).deleted;
            let wrong = deleted.iter().filter(|(ordinal, _)| !fresh.contains(ordinal)).count();
            if wrong > 0 {
                tell(RolloutRecord::Stale { update: k as u16, pods: wrong as u16 }, ctx);
            }
            let (most, factor) = (options.max_unavailable.of_rounded_up(set.replicas), options.exponential_factor);
            let grows = factor > 1.0 && rule::max_delete(most, before.update_step, factor) < most;
            // Its own status wakes it, which it has written: unless that has no effect any more.
            if step.verdict == Verdict::Deletes && !is_error && (!deleted.is_empty() || grows) {
                ctx.enqueue(OTHERS, k);
            }
        }
        for (_, id) in deleted {
            store.terminate(id, ctx);
        }
        if !is_error {
            update.status = step.status;
        }
        // An error is tried again as late as a pause. (The real program waits 5 ms at first and twice as long each time.)
        let again = step.requeue.or((is_error || step.verdict.is_error()).then_some(REQUEUE));
        if let Some((at, generation)) = update.requeue.rearm(again.map(|after| ctx.now + after)) {
            ctx.timer(at, Due { key: (k, 0), generation });
        }
    }

    /// The StatefulSet and its pods as they are.
    fn look(&mut self, workload: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> Cache {
        let mut pods = Vec::new();
        for (_, pod) in store.pods_of(workload) {
            let PodTag::Ordinal(ordinal) = pod.name.tag else { continue };
            let zone = self.zones.of_pod(pod, store, ctx.now);
            let is_ready = pod.started && pod.ready;
            let seen = Pod { ordinal, zone, revision: PodRevision::Unlabelled, is_ready, is_terminating: pod.terminating };
            pods.push(CachedPod { revision: pod.revision, created: pod.created, pod: seen });
        }
        let on_delete = ctx.spec.workloads[workload].update.strategy == UpdateStrategy::OnDelete;
        let ready_replicas = pods.iter().filter(|seen| seen.pod.is_ready).count() as u32;
        let update_revision = store.revisions(workload).current();
        let set = StatefulSet { on_delete, replicas: status_replicas(workload, store, ctx), ready_replicas, update_revision };
        Cache { pods, set }
    }
}

/// Pods as the rule sees them. `settled`: the last revision that all of them had.
fn with_revisions(pods: &[CachedPod], set: &StatefulSet<u32>, settled: u32) -> Vec<Pod<ZonePlace>> {
    let of = |seen: &CachedPod| {
        let revision = match seen.revision {
            number if number == set.update_revision => PodRevision::New,
            number if number == settled => PodRevision::Old,
            _ => PodRevision::Unfinished(seen.created),
        };
        Pod { revision, ..seen.pod }
    };
    pods.iter().map(of).collect()
}

/// The workload that a change concerns.
pub(crate) fn workload_of(change: &Change, store: &Store) -> Option<WorkloadId> {
    match *change {
        Change::Created(id) => store.pod(id).map(|pod| pod.name.workload),
        Change::Bound(id, _)
        | Change::Terminating(_, id, _)
        | Change::Readiness(id)
        | Change::Desired(id)
        | Change::Template(id) => Some(id),
        Change::Removed(_, name, _) => Some(name.workload),
        _ => None,
    }
}

/// Key of its work queue and of its timers: an update.
impl Controller for ZoneAwareUpdates {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let Some(workload) = workload_of(change, &state.store) else { return };
        self.measured.note(workload, &state.store, ctx.now);
        for (k, _) in (0..).zip(&ctx.spec.zone_aware.updates).filter(|(_, update)| update.workload == workload) {
            ctx.enqueue(PODS, k);
        }
    }

    fn reconcile(&mut self, queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if self.stalled > 0 && queue == PODS {
            // The StatefulSet controller has observed it by now, and writes the StatefulSet's status.
            return ctx.enqueue(OTHERS, key);
        }
        if queue == OTHERS {
            let set = self.look(ctx.spec.zone_aware.updates[key as usize].workload, &state.store, ctx).set;
            self.updates[key as usize].stale.iter_mut().for_each(|cache| cache.set = set);
        }
        self.sync(key, &mut state.store, ctx);
    }

    fn list(&self, _state: &State, _ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        (0..self.updates.len() as u32).map(|k| (PODS, k)).collect()
    }

    fn forget(&mut self, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.zones.forget();
        for update in &mut self.updates {
            update.requeue.cancel();
            update.stale = None;
        }
    }

    /// A fault begins or ends. When the first one begins, the cache keeps the pods as they are now.
    fn message(&mut self, message: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.stalled = if message == BEGIN { self.stalled + 1 } else { self.stalled - 1 };
        for (k, spec) in (0..).zip(&ctx.spec.zone_aware.updates) {
            if self.stalled == 0 {
                self.updates[k as usize].stale = None;
                ctx.enqueue(PODS, k);
            } else if self.updates[k as usize].stale.is_none() {
                self.updates[k as usize].stale = Some(self.look(spec.workload, &state.store, ctx));
            }
        }
    }

    fn defers(&self) -> bool {
        true
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let (k, _) = due.key;
        if self.updates[k as usize].requeue.fires(due.generation) {
            self.sync(k, &mut state.store, ctx);
        }
    }

    fn describe_work(&self, queue: u8) -> &'static str {
        match queue {
            OTHERS => "the controller of ZoneAwareUpdates observes changes of a StatefulSet, or its own status",
            _ => "the controller of ZoneAwareUpdates observes changes of pods",
        }
    }

    fn describe_message(&self, _message: u32) -> &'static str {
        "the cache of pods of ZoneAwareUpdates becomes stale, or is up to date again"
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "the controller of ZoneAwareUpdates looks again at a rollout".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
