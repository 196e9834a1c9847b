//! The controller of `ZoneAwareUpdate` (`controllers/zau_controller.go`). It looks at the pods of a StatefulSet whenever one of them has
//! changed, and again after a while where an alarm holds it up. It reads its own writes: the real program's cache may be behind them.

use zonefall_kernel::timer::Timer;
use zonefall_kube::controller::{Controller, Due, State};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::name::PodTag;
use zonefall_kube::spec::update::UpdateStrategy;
use zonefall_kube::spec::zone_aware::ZoneUpdate;
use zonefall_kube::spec::{Component, KubeClusterSpec};
use zonefall_kube::store::{self, Change, Store};
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::WorkloadId;

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
}

/// An update, with its status as the API has it.
#[derive(Clone, Debug)]
struct Update {
    status: Status<ZonePlace, u32>,
    verdict: Verdict,
    requeue: Timer,
}

impl ZoneAwareUpdates {
    /// Clusters with such updates have it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        let zone_aware = &ctx.spec.zone_aware;
        let update = |_: &ZoneUpdate| Update { status: Status::new(), verdict: Verdict::Done, requeue: Timer::new() };
        let updates: Vec<_> = zone_aware.updates.iter().map(update).collect();
        let measured = Measurements::new(&zone_aware.alarms);
        let has_any = !updates.is_empty();
        has_any.then(|| Box::new(Self { zones: PodZones::new(ctx.scenario), updates, measured }) as Box<dyn Controller>)
    }

    fn sync(&mut self, k: u32, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let ZoneUpdate { workload, options, alarm, bake_time } = &ctx.spec.zone_aware.updates[k as usize];
        let (set, pods) = self.pods(*workload, store, ctx);
        let alarm = alarm.map(|place| self.measured.state(place, ctx));
        let update = &mut self.updates[k as usize];
        let mut step = rule::step(options, &set, &pods, &update.status, alarm);
        let is_new = |pod: &&store::Pod| pod.ready && pod.revision == set.update_revision;
        let newest = store.pods_of(*workload).map(|(_, pod)| pod).filter(is_new).map(|pod| pod.ready_since).max();
        let over = newest.map(|ready| ready + *bake_time).filter(|over| *over > ctx.now && begins_with_zone(&step, &pods));
        if let Some(rest) = over.map(|over| over.since(ctx.now)) {
            // As if the pass had not been.
            step = Step { verdict: Verdict::Bakes, deleted: Vec::new(), status: update.status.clone(), requeue: Some(rest) };
        }
        if step.verdict == Verdict::Done {
            store.settle_revision(*workload);
        }
        if std::mem::replace(&mut update.verdict, step.verdict) != step.verdict {
            tell(RolloutRecord::Verdict(k as u16, step.verdict), ctx);
        }
        let of_pod = |ordinal: &u32| pods.iter().find(|pod| pod.ordinal == *ordinal).and_then(|pod| pod.zone);
        if let Some(zone) = step.deleted.first().and_then(of_pod) {
            let (zone, pods) = (self.zones.zone(zone), step.deleted.len() as u16);
            tell(RolloutRecord::Step { update: k as u16, zone, pods, step: step.status.update_step - 1 }, ctx);
        }
        for ordinal in &step.deleted {
            let name = zonefall_kube::name::PodName { workload: *workload, tag: PodTag::Ordinal(*ordinal) };
            let id = store.id_of(name).expect("what a step deletes is there");
            store.terminate(id, ctx);
        }
        update.status = step.status;
        // An error is tried again as late as a pause. (The real program waits 5 ms at first and twice as long each time.)
        let again = step.requeue.or(step.verdict.is_error().then_some(REQUEUE));
        if let Some((at, generation)) = update.requeue.rearm(again.map(|after| ctx.now + after)) {
            ctx.timer(at, Due { key: (k, 0), generation });
        }
    }

    /// The StatefulSet and its pods as the rule sees them.
    fn pods(&mut self, workload: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> (StatefulSet<u32>, Vec<Pod<ZonePlace>>) {
        let revisions = store.revisions(workload);
        let (update_revision, settled) = (revisions.current(), revisions.settled());
        let mut pods = Vec::new();
        for (_, pod) in store.pods_of(workload) {
            let PodTag::Ordinal(ordinal) = pod.name.tag else { continue };
            let revision = match pod.revision {
                number if number == update_revision => PodRevision::New,
                number if number == settled => PodRevision::Old,
                _ => PodRevision::Unfinished(pod.created),
            };
            let zone = self.zones.of_pod(pod, store, ctx.now);
            pods.push(Pod { ordinal, zone, revision, is_ready: pod.started && pod.ready, is_terminating: pod.terminating });
        }
        let on_delete = ctx.spec.workloads[workload].update.strategy == UpdateStrategy::OnDelete;
        let ready_replicas = pods.iter().filter(|pod| pod.is_ready).count() as u32;
        (StatefulSet { on_delete, replicas: pods.len() as u32, ready_replicas, update_revision }, pods)
    }
}

/// Whether a step deletes the first pods of a zone.
fn begins_with_zone(step: &Step<ZonePlace, u32>, pods: &[Pod<ZonePlace>]) -> bool {
    let next = step.deleted.first().and_then(|ordinal| pods.iter().find(|pod| pod.ordinal == *ordinal)?.zone);
    next.is_some() && !pods.iter().any(|pod| pod.zone == next && pod.revision == PodRevision::New)
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
            ctx.enqueue(0, k);
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.sync(key, &mut state.store, ctx);
    }

    fn list(&self, _state: &State, _ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        (0..self.updates.len() as u32).map(|k| (0, k)).collect()
    }

    fn forget(&mut self, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.zones.forget();
        for update in &mut self.updates {
            update.requeue.cancel();
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

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the controller of ZoneAwareUpdates observes changes of pods"
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "the controller of ZoneAwareUpdates looks again at a rollout".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
