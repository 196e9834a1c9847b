//! Topology hints of Services (`pkg/controller/endpointslice`, `checkNodeTopologyDistribution`, and its `TopologyCache`).
//!
//! ```text
//!  an endpoint comes or goes --> its Service is synced: hints anew, by the shares of zones as they are known
//!  a node comes, goes, or is ready or not --> shares anew --> Services whose hints are too few for a zone now --> are synced
//! ```
//!
//! A Service that has lost its hints is not among those, whatever the nodes are like: it has hints again when one of its endpoints comes
//! or goes, or another controller manager leads. (Informers hand it everything anew every 12 to 24 hours, too; that is left out.)
//! The rule is [`rule::hints`](crate::rule::hints).

use std::collections::BTreeMap;

use crate::ctx::ClusterCtx;
use crate::name::PodTag;
use crate::record::{HintsFact, KubeRecord, Ready};
use crate::rule::hints::{self, Counts, EndpointInfo, NoHints, NodeInfo, Ratios};
use crate::spec::Role;
use crate::store::{Node, Store};
use zonefall_scenario::ids::{MemberId, PodId, WorkloadId, ZoneId};

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// What the `EndpointSlice` of each Service says.
    slices: BTreeMap<WorkloadId, Slice>,
    /// In memory: each zone's share of the CPUs, as nodes were when one of them changed.
    ratios: Option<Ratios>,
    /// In memory: Services that have hints, and for how many endpoints by zone.
    populated: BTreeMap<WorkloadId, Counts>,
}

#[derive(Clone, Debug)]
struct Slice {
    /// Ready endpoints.
    pods: Vec<PodId>,
    /// Which zone's clients each is for.
    hints: Result<Vec<ZoneId>, NoHints>,
}

impl Slice {
    fn fact(&self) -> HintsFact {
        self.hints.as_ref().map_or_else(|why| HintsFact::Off(*why), |_| HintsFact::On)
    }
}

impl Hints {
    /// Another leads, who remembers nothing and has seen all nodes before it syncs a Service.
    pub fn begin(&mut self, store: &Store) {
        self.populated.clear();
        self.nodes_changed(store);
    }

    /// A node has come or gone, or is ready or not. Which Services must be synced, for their hints burden a zone too much by now.
    pub fn nodes_changed(&mut self, store: &Store) -> Vec<WorkloadId> {
        let info = |node: &Node| NodeInfo {
            zone: Some(node.zone),
            milli_cpu: node.allocatable.cpu_milli,
            ready: node.ready == Ready::True,
        };
        self.ratios = hints::ratios(store.nodes().map(|(_, node)| info(node)));
        let overloaded = |counts: &Counts| hints::is_overloaded(counts, self.ratios.as_ref());
        self.populated.iter().filter(|(_, counts)| overloaded(counts)).map(|(id, _)| *id).collect()
    }

    /// Syncs a Service.
    pub fn sync(&mut self, id: WorkloadId, store: &Store, ctx: &mut ClusterCtx<'_>) {
        let before = self.slices.get(&id);
        // Where a shoot's control plane may be later nothing asks for hints yet.
        if !store.template(id, ctx.spec).hinted || before.is_none() && store.desired(id) == 0 {
            return;
        }
        // Pods without a node, or of one that is gone, are no endpoints.
        let endpoints = store.pods_of(id).filter_map(|(pod, its)| {
            let zone = Some(store.get_node(its.node?)?.zone);
            Some((pod, EndpointInfo { zone, ready: its.ready && !its.terminating }))
        });
        let (all, endpoints): (Vec<PodId>, Vec<EndpointInfo>) = endpoints.unzip();
        let pods: Vec<PodId> =
            all.into_iter().zip(&endpoints).filter(|(_, endpoint)| endpoint.ready).map(|(pod, _)| pod).collect();
        let unchanged = before.filter(|slice| slice.pods == pods);
        let current: Option<Vec<_>> = unchanged.and_then(|slice| {
            let mut had = slice.hints.as_ref().ok()?.iter().copied();
            Some(endpoints.iter().map(|endpoint| if endpoint.ready { had.next() } else { None }).collect())
        });
        let hints = hints::hints(self.ratios.as_ref(), &endpoints, current.as_deref());
        let slice = Slice { pods, hints: hints.map(|hints| hints.into_iter().flatten().collect()) };
        match &slice.hints {
            Ok(hints) => self.populated.insert(id, hints::by_zone(hints)),
            Err(_) => self.populated.remove(&id),
        };
        if before.map(Slice::fact) != Some(slice.fact()) {
            ctx.record(KubeRecord::Hints(id, slice.fact()));
        }
        record(id, &slice, store, ctx);
        self.slices.insert(id, slice);
    }
}

/// API servers that dial a member of etcd go by these hints from now on.
fn record(id: WorkloadId, slice: &Slice, store: &Store, ctx: &mut ClusterCtx<'_>) {
    let workload = &ctx.spec.workloads[id];
    let Role::Etcd(cluster) = workload.role else { return };
    let spec = &ctx.scenario.etcd[cluster];
    let hints = slice.hints.as_deref().unwrap_or_default();
    let hint = |(pod, zone): (&PodId, &_)| {
        let name = store.pod(*pod)?.name;
        let PodTag::Ordinal(ordinal) = name.tag else { return None };
        Some((workload.member(spec, ordinal, store.volumes_before(name))?, *zone))
    };
    let hints: BTreeMap<u8, _> = slice.pods.iter().zip(hints).filter_map(hint).collect();
    let its = (0..spec.members.len() as u8).filter(|index| workload.may_be(spec, *index));
    let mut changed = false;
    for index in its {
        changed |= ctx.services.set_hint(MemberId { cluster, index }, hints.get(&index).copied());
    }
    if changed {
        // Who finds no member to dial may find one now.
        ctx.fx.hinted.push(cluster);
    }
}
