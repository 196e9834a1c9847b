//! The disruption controller (`pkg/controller/disruption`), and evictions as the API grants them (`pods/eviction`).
//!
//! What the API has granted since the controller last looked is spent already. (An eviction that is granted here is never lost: the
//! pod is terminating from then on, so that no list of disrupted pods, which are forgotten after 2 min, is needed.)

use crate::ids::{PodId, WorkloadId};
use crate::kube::context::Cx;
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::rule::budget::{Eviction, Health, Status, UnhealthyPods, may_evict};
use crate::kube::spec::int_or_percent::IntOrPercent;
use crate::kube::store::{Pod, Store};

/// The budgets of a plane's workloads, as the API has them: `None` where one has no budget.
#[derive(Clone, Debug)]
pub struct Budgets {
    of: Vec<Option<Status>>,
}

/// An eviction was refused: to be tried again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyRequests;

fn health(pod: &Pod) -> Health {
    match (pod.terminating || !pod.started, pod.ready) {
        (true, _) => Health::Gone,
        (false, true) => Health::Ready,
        (false, false) => Health::NotReady,
    }
}

impl Budgets {
    /// Nothing is known yet.
    pub fn new(workloads: usize) -> Self {
        Self { of: vec![None; workloads] }
    }

    /// Hears of the pods of a workload.
    pub fn reconcile(&mut self, id: WorkloadId, store: &Store, cx: &Cx<'_>) {
        if let Some(max_unavailable) = cx.spec.workloads[id.0 as usize].max_unavailable {
            let healthy = store.pods_of(id).filter(|(_, pod)| health(pod) == Health::Ready).count();
            let status = Status::new(IntOrPercent::Int(max_unavailable), store.desired(id), healthy as u32);
            self.of[id.0 as usize] = Some(status);
        }
    }

    /// Ends a pod if its budget allows it. (Gardener has pods that are not ready evicted always, `AlwaysAllow`.)
    ///
    /// # Errors
    /// The budget is spent.
    pub fn evict(&mut self, id: PodId, store: &mut Store, cx: &mut Cx<'_>) -> Result<(), TooManyRequests> {
        let pod = store.pod(id).expect("who evicts a pod has it");
        let status = self.of[pod.name.workload.0 as usize].as_mut();
        let answer = status.as_ref().map_or(Eviction::Free, |status| may_evict(health(pod), UnhealthyPods::AlwaysAllow, status));
        cx.record(KubeRecord::Pod(pod.name, PodFact::Evicted(answer != Eviction::Refused)));
        match (answer, status) {
            (Eviction::Refused, _) => return Err(TooManyRequests),
            (Eviction::Spends, Some(status)) => status.allowed -= 1,
            (Eviction::Spends | Eviction::Free, _) => {}
        }
        store.terminate(id, cx);
        Ok(())
    }
}
