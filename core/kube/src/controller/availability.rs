//! When pods that are ready become available (`minReadySeconds`).

use std::collections::BTreeMap;

use crate::controller::Due;
use crate::ctx::ClusterCtx;
use crate::spec::KubeClusterSpec;
use crate::store::{Pod, Store};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_scenario::ids::WorkloadId;

/// For how long a pod has been ready; one that was there at the start has been so for long. `None`: it is not.
pub(super) fn ready_for(pod: &Pod, now: Time) -> Option<Duration> {
    let since = if pod.ready_since == Time::ZERO { Duration::MAX } else { now.since(pod.ready_since) };
    (pod.ready && !pod.terminating).then_some(since)
}

/// Whether a pod is available.
pub(super) fn is_available(pod: &Pod, min_ready: Duration, now: Time) -> bool {
    ready_for(pod, now).is_some_and(|time| time >= min_ready)
}

/// Timers of workloads with [`min_ready`](crate::spec::update::Update::min_ready): when a pod that is ready becomes available. Key: the
/// workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Availability(BTreeMap<WorkloadId, Timer>);

impl Availability {
    /// Comes back when the next pod becomes available.
    pub(super) fn wait(&mut self, workload: WorkloadId, store: &Store, ctx: &mut ClusterCtx<'_>) {
        let min_ready = ctx.spec.workloads[workload].update.min_ready;
        if min_ready == Duration::ZERO {
            return;
        }
        // Those of the start are available.
        let ready = store.pods_of(workload).filter(|(_, pod)| pod.ready && !pod.terminating && pod.ready_since > Time::ZERO);
        let next = ready.map(|(_, pod)| pod.ready_since + min_ready).filter(|at| *at > ctx.now).min();
        if let Some((at, generation)) = self.0.entry(workload).or_default().rearm(next) {
            ctx.timer(at, Due { key: (workload.0, 0), generation });
        }
    }

    /// The workload of a timer that fires and has not been cancelled.
    pub(super) fn fires(&mut self, due: &Due) -> Option<WorkloadId> {
        let workload = WorkloadId(due.key.0);
        self.0.get_mut(&workload).is_some_and(|timer| timer.fires(due.generation)).then_some(workload)
    }

    /// Cancels all.
    pub(super) fn forget(&mut self) {
        self.0.values_mut().for_each(Timer::cancel);
    }

    /// What a timer is, in plain words.
    pub(super) fn describe(due: &Due, spec: &KubeClusterSpec) -> String {
        format!("a pod of {} has been ready for long enough", spec.workloads[WorkloadId(due.key.0)].name)
    }
}
