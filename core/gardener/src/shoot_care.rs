//! The care controller of gardenlet (`pkg/gardenlet/controller/shoot/care`, garbage collection): in the namespaces of control planes,
//! pods that have been terminating for long are removed, whether or not anybody confirms that they have ended. So a pod of a node that is
//! out of reach makes room for its successor.

use std::collections::{BTreeMap, BTreeSet};
use zonefall_kube::controller::{Controller, Due, State};
use zonefall_kube::spec::{Component, KubeClusterSpec};
use zonefall_kube::store::Change;
use zonefall_scenario::Scenario;

use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{PodId, WorkloadId};

/// Entity of the draws of its phases, beyond all nodes.
const PHASE: u32 = 1 << 31;

/// The controller.
#[derive(Clone, Debug)]
pub struct ShootCare {
    /// Its syncs, by namespace ([`KubeClusterSpec::control_plane_namespaces`](zonefall_kube::spec::KubeClusterSpec::control_plane_namespaces)).
    syncs: Vec<Periodic>,
    /// Pods that terminate: their namespace, and when they are stale.
    stale: BTreeMap<PodId, (usize, Time)>,
    /// The same by the first sync that finds them.
    found: BTreeSet<(Time, PodId)>,
    timer: Timer,
}

impl ShootCare {
    /// No pod terminates.
    fn new(ctx: &ClusterCtx<'_>) -> Self {
        let period = ctx.spec.timers.care;
        let sync = |namespace| {
            let phase = ctx.draws(Purpose::Phase, PHASE | namespace).draw(0).below(period.as_nanos());
            Periodic::new(Time::from_nanos(phase), period)
        };
        let syncs = (0..ctx.spec.control_plane_namespaces.len() as u32).map(sync).collect();
        Self { syncs, stale: BTreeMap::new(), found: BTreeSet::new(), timer: Timer::new() }
    }

    /// A pod has begun to terminate.
    fn terminating(&mut self, pod: PodId, workload: WorkloadId, ctx: &ClusterCtx<'_>) {
        let namespace = ctx.spec.workloads[workload].namespace;
        if let Some(place) =
            ctx.spec.control_plane_namespaces.iter().position(|control_plane_namespaces| *control_plane_namespaces == namespace)
        {
            let at = ctx.now + ctx.spec.timers.stale;
            self.stale.insert(pod, (place, at));
            self.found.insert((self.syncs[place].at_or_after(at), pod));
        }
    }

    /// The syncs of this moment.
    fn sync(&mut self, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.timer.fires(generation) {
            return;
        }
        let Self { syncs, stale, found, .. } = self;
        stale.retain(|pod, (namespace, at)| {
            let is_due = *at <= ctx.now && syncs[*namespace].at_or_before(ctx.now) == Some(ctx.now);
            if is_due && store.pod(*pod).is_some() {
                store.remove(*pod, ctx);
            }
            if is_due {
                found.remove(&(syncs[*namespace].at_or_after(*at), *pod));
            }
            !is_due
        });
    }

    /// Queues its next sync, if it may act: the next of all, or the next that finds a stale pod.
    fn arm_syncs(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        if is_active && self.timer.deadline() == Some(ctx.now) {
            return;
        }
        // Those that the first sync did not find, since nobody acted then, are found by the next.
        let missed =
            self.found.iter().take_while(|(at, _)| *at <= ctx.now).map(|(_, pod)| self.syncs[self.stale[pod].0].after(ctx.now));
        let next = match ctx.stepping {
            Stepping::FastForward => missed.chain(self.found.iter().map(|(at, _)| *at).find(|at| *at > ctx.now)).min(),
            Stepping::EveryEvent => self.syncs.iter().map(|syncs| syncs.after(ctx.now)).min(),
        };
        let next = next.filter(|_| is_active);
        ctx.rearm(&mut self.timer, next);
    }
}

impl ShootCare {
    /// Every cluster has it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self::new(ctx)))
    }
}

impl Controller for ShootCare {
    fn component(&self) -> Option<Component> {
        Some(Component::Gardenlet)
    }

    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if let Change::Terminating(pod, workload, _) = *change {
            self.terminating(pod, workload, ctx);
        }
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.sync(due.generation, &mut state.store, ctx);
    }

    fn arm(&mut self, is_active: bool, _state: &State, ctx: &mut ClusterCtx<'_>) {
        self.arm_syncs(is_active, ctx);
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "gardenlet's care controller looks for stale pods".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
