//! The endpoints controller: which members of an etcd cluster the API servers' new connections are sent to, those whose pods are ready
//! and stay (`pkg/controller/endpointslice`). Connections that are open stay with their member. [`hints`](super::hints) come on top. (That kube-proxy has its rules from
//! here a moment later is left out.)

use crate::controller::hints::Hints;
use crate::controller::owner::keys;
use crate::controller::{Controller, State};
use crate::ctx::ClusterCtx;
use crate::ctx::ContainerEvent;
use crate::name::PodTag;
use crate::spec::Role;
use crate::spec::{Component, KubeClusterSpec, Workload};
use crate::store::Change;
use crate::store::Store;
use zonefall_scenario::ids::{MemberId, WorkloadId};

/// The controller, with its topology hints.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    /// Topology hints of Services.
    pub hints: Hints,
}

/// Lists the members of an etcd cluster whose pods are ready.
fn sync(id: WorkloadId, store: &Store, ctx: &mut ClusterCtx<'_>) {
    let workload = &ctx.spec.workloads[id];
    let Role::Etcd(cluster) = workload.role else { return };
    let spec = &ctx.scenario.etcd[cluster];
    let serving: Vec<u8> = store
        .pods_of(id)
        .filter(|(_, pod)| pod.ready && !pod.terminating)
        .filter_map(|(_, pod)| {
            let PodTag::Ordinal(ordinal) = pod.name.tag else { return None };
            workload.member(spec, ordinal, store.volumes_before(pod.name))
        })
        .collect();
    let members = (0..ctx.storage.members(cluster)).map(|index| (index, ctx.storage.is_listed(MemberId { cluster, index })));
    // Those of another seed's pods are another Service's.
    let members = members.filter(|(index, _)| workload.may_be(spec, *index));
    let stale = members.map(|(index, listed)| (index, listed, serving.contains(&index))).filter(|(_, was, is)| was != is);
    let container_events = stale.map(|(index, _, listed)| ContainerEvent::List { member: MemberId { cluster, index }, listed });
    ctx.fx.container_events.extend(container_events);
}

/// Whether the endpoints of a workload matter: to those who dial etcd, or to topology hints.
fn has_endpoints(workload: &Workload, cluster: &KubeClusterSpec) -> bool {
    matches!(workload.role, Role::Etcd(_)) || cluster.routing.hints && matches!(workload.role, Role::ApiServer(_))
}

impl Endpoints {
    /// Every cluster has it.
    pub fn factory(_state: &State, _ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::<Self>::default())
    }
}

/// Keys of its work queues: 0 a workload with endpoints; 1 zero: the CPUs of nodes are shared out over zones again.
impl Controller for Endpoints {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let concerned = match *change {
            Change::Terminating(_, id, _) | Change::Readiness(id) => id,
            Change::Removed(_, name, _) => name.workload,
            Change::Condition(_) | Change::Registered(_) | Change::Unregistered(_) if ctx.spec.routing.hints => {
                return ctx.enqueue(1, 0);
            }
            _ => return,
        };
        if has_endpoints(&ctx.spec.workloads[concerned], ctx.spec) {
            ctx.enqueue(0, concerned.0);
        }
    }

    fn reconcile(&mut self, queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if queue == 0 {
            sync(WorkloadId(key), &state.store, ctx);
            self.hints.sync(WorkloadId(key), &state.store, ctx);
        } else {
            for service in self.hints.nodes_changed(&state.store) {
                self.hints.sync(service, &state.store, ctx);
            }
        }
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        keys(ctx, |workload| has_endpoints(workload, ctx.spec))
    }

    fn forget(&mut self, state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.hints.begin(&state.store);
    }

    fn describe_work(&self, queue: u8) -> &'static str {
        if queue == 0 {
            "the endpoints controller observes changes of pods"
        } else {
            "the endpoints controller observes changes of nodes"
        }
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
