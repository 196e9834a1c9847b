//! The `EndpointSlice` controller (`pkg/controller/endpointslice`): a Service lists the pods that its selector means, that are ready and that
//! do not terminate, but for those in a zone that traffic is shifted away from. A pod whose node is silent stays listed until the node lifecycle controller says that it is not ready: clients are
//! sent there in vain meanwhile. (Slices of at most 100 endpoints, and the moment until kube-proxy has its rules, are left out.)

use crate::controller::{Controller, State};
use crate::ctx::ClusterCtx;
use crate::spec::Component;
use crate::store::{Change, Pod, Store};
use zonefall_scenario::ids::ServiceId;

/// The controller.
#[derive(Clone, Debug)]
pub struct EndpointSlices;

/// Lists the pods that are ready.
fn sync(id: ServiceId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
    let workloads = store.workloads_of_service(u32::from(id.0)).iter();
    let zone = |pod: &Pod| Some(store.get_node(pod.node?)?.zone);
    let is_shifted = |pod: &Pod| store.shifted().is_some() && zone(pod) == store.shifted();
    let pods = workloads.flat_map(|workload| store.pods_of(*workload));
    let pods = pods.filter(|(_, pod)| pod.ready && !pod.terminating && !is_shifted(pod));
    let pods = pods.map(|(_, pod)| pod.name).collect();
    store.set_endpoints(id, pods, ctx);
}

impl EndpointSlices {
    /// Clusters that have Services have it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        (!ctx.spec.services.is_empty()).then(|| Box::new(Self) as Box<dyn Controller>)
    }
}

/// Key of its work queue: a Service.
impl Controller for EndpointSlices {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let concerned = match *change {
            Change::Terminating(_, id, _) | Change::Readiness(id) => id,
            Change::Removed(_, name, _) => name.workload,
            Change::Shift => return (0..ctx.spec.services.len() as u32).for_each(|service| ctx.enqueue(0, service)),
            _ => return,
        };
        for k in state.store.services_of(concerned) {
            ctx.enqueue(0, *k);
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        sync(ServiceId(key as u16), &mut state.store, ctx);
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        (0..ctx.spec.services.len() as u32).map(|k| (0, k)).collect()
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the EndpointSlice controller observes changes of pods"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
