//! The endpoints controller: which members of an etcd cluster the API servers' new connections are sent to, those whose pods are ready
//! and stay (`pkg/controller/endpointslice`). Connections that are open stay with their member. [`hints`](super::hints) come on top. (That kube-proxy has its rules from
//! here a moment later is left out.)

use crate::ids::{MemberId, WorkloadId};
use crate::kube::ctx::ClusterCtx;
use crate::kube::name::PodTag;
use crate::kube::spec::Role;
use crate::kube::store::Store;
use crate::sim::event::ContainerEvent;

/// Hears of the pods of an etcd cluster.
pub fn reconcile(id: WorkloadId, store: &Store, ctx: &mut ClusterCtx<'_>) {
    let workload = &ctx.spec.workloads[id.0 as usize];
    let Role::Etcd(cluster) = workload.role else { return };
    let spec = &ctx.scenario.etcd[cluster.0 as usize];
    let serving: Vec<u8> = store
        .pods_of(id)
        .filter(|(_, pod)| pod.ready && !pod.terminating)
        .filter_map(|(_, pod)| {
            let PodTag::Ordinal(ordinal) = pod.name.tag else { return None };
            workload.member(spec, ordinal, store.volumes_before(pod.name))
        })
        .collect();
    let members = (0..).zip(&ctx.etcd[cluster.0 as usize].members).map(|(index, member)| (index, member.listed));
    // Those of another seed's pods are another Service's.
    let members = members.filter(|(index, _)| workload.may_be(spec, *index));
    let stale = members.map(|(index, listed)| (index, listed, serving.contains(&index))).filter(|(_, was, is)| was != is);
    let container_events = stale.map(|(index, _, listed)| ContainerEvent::List { member: MemberId { cluster, index }, listed });
    ctx.fx.container_events.extend(container_events);
}
