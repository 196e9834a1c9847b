//! Pipelines that roll a workload back (`kubectl rollout undo`) when an alarm rings during or after a rollout: once for each rollout, and
//! never a rollback.

use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Timer;
use zonefall_kube::controller::{Controller, Due, State};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::spec::KubeClusterSpec;
use zonefall_kube::spec::zone_aware::AutomaticRollback;
use zonefall_kube::store::{Change, Store};
use zonefall_scenario::Scenario;

use crate::alarm::Measurements;
use crate::record::{RolloutRecord, tell};
use crate::rule::zone_aware_update::Alarm;
use crate::updates::workload_of;

/// The pipelines of a cluster.
#[derive(Clone, Debug)]
pub struct AutomaticRollbacks {
    pipelines: Vec<Pipeline>,
    measured: Measurements,
}

#[derive(Clone, Debug, Default)]
struct Pipeline {
    /// The newest revision that it has seen.
    newest: u32,
    /// Until when it watches the rollout of that.
    until: Time,
    /// When it looks next.
    look: Timer,
}

impl AutomaticRollbacks {
    /// Clusters with such pipelines have it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        let zone_aware = &ctx.spec.zone_aware;
        let pipelines = vec![Pipeline::default(); zone_aware.rollbacks.len()];
        let measured = Measurements::new(&zone_aware.alarms);
        (!pipelines.is_empty()).then(|| Box::new(Self { pipelines, measured }) as Box<dyn Controller>)
    }

    /// A rollout of a newer revision is watched; a rollback, whoever began it, ends that.
    fn sync(&mut self, k: u32, store: &Store, ctx: &mut ClusterCtx<'_>) {
        let AutomaticRollback { workload, lasts, .. } = ctx.spec.zone_aware.rollbacks[k as usize];
        let (pipeline, current) = (&mut self.pipelines[k as usize], store.revisions(workload).current());
        if current > pipeline.newest {
            pipeline.newest = current;
            pipeline.until = ctx.now + lasts;
            self.look_again(k, ctx);
        } else if current < pipeline.newest {
            pipeline.look.cancel();
        }
    }

    fn look_again(&mut self, k: u32, ctx: &mut ClusterCtx<'_>) {
        let pipeline = &mut self.pipelines[k as usize];
        let next = ctx.now + ctx.spec.zone_aware.rollbacks[k as usize].interval;
        if let Some((at, generation)) = pipeline.look.rearm((next <= pipeline.until).then_some(next)) {
            ctx.timer(at, Due { key: (k, 0), generation });
        }
    }
}

/// Key of its work queue and of its timers: a pipeline. Pipelines run elsewhere: what they ask for is written at once, like what operators do.
impl Controller for AutomaticRollbacks {
    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let Some(workload) = workload_of(change, &state.store) else { return };
        self.measured.note(workload, &state.store, ctx.now);
        if let Change::Desired(_) = change {
            for (k, _) in (0..).zip(&ctx.spec.zone_aware.rollbacks).filter(|(_, rollback)| rollback.workload == workload) {
                ctx.enqueue(0, k);
            }
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.sync(key, &state.store, ctx);
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let (k, _) = due.key;
        if !self.pipelines[k as usize].look.fires(due.generation) {
            return;
        }
        let AutomaticRollback { workload, alarm, .. } = ctx.spec.zone_aware.rollbacks[k as usize];
        let is_paused = state.store.revisions(workload).is_paused();
        if self.measured.state(alarm, ctx) == Alarm::Alarm && !is_paused {
            tell(RolloutRecord::RolledBack(workload), ctx);
            state.store.roll_back(workload, ctx);
        } else {
            self.look_again(k, ctx);
        }
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "a pipeline observes a rollout"
    }

    fn describe_due(&self, due: &Due, spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        let workload = spec.zone_aware.rollbacks[due.key.0 as usize].workload;
        format!("the pipeline of {} looks at its alarm", spec.workloads[workload].name)
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
