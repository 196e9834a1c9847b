//! Where the members of a shoot's etcd clusters start: on the nodes that the file gives them, else in zones in turn.

use super::etcd::{EtcdPlacement, ManagedEtcd};
use super::passive;
use crate::error::quote;
use crate::ids::{NodeId, NodeKey, WorkloadId, ZoneId};
use crate::kube::Workload;
use crate::kube::gardener::{FailureTolerance, Shoot};
use crate::kube::name::PodTag;
use crate::lowering::{CheckCtx, ClusterDraft, MAX_MEMBERS, Members, Names, Topology};

/// Members that the pods of one etcd cluster may be, one after the other: each new volume is a new member.
const MAX_POD_MEMBERS: usize = 64;

/// An etcd cluster of a shoot, before it is known where its members start.
pub(super) struct EtcdStatefulSet {
    pub(super) path: String,
    /// It is the one that the shoot's objects are in.
    pub(super) main: bool,
    pub(super) site: usize,
    pub(super) workload: WorkloadId,
    pub(super) shoot: usize,
    pub(super) namespace: String,
    /// How many shoots its seed had before: they start in zones in turn.
    pub(super) turn: u32,
    pub(super) managed: ManagedEtcd,
    /// Pods there may be more, later.
    pub(super) later: u32,
    /// Volumes that each may have.
    pub(super) turns: usize,
}

impl EtcdStatefulSet {
    /// Finds a node for each member that the file gives none.
    pub(super) fn place(
        self,
        ctx: &mut CheckCtx<'_>,
        clusters: &mut [ClusterDraft],
        shoots: &mut [Shoot],
        topology: &mut Topology,
        members: &mut Members,
        etcd_names: &mut Names,
    ) {
        let site = &mut clusters[self.site];
        let workload = site.cluster.workloads[self.workload].clone();
        if !(1..=MAX_MEMBERS).contains(&((workload.replicas + self.later) as usize)) || workload.replicas == 0 {
            let expected = format!("1 to {MAX_MEMBERS} members");
            ctx.error(&format!("{}.replicas", self.path), workload.replicas.to_string(), expected);
            return;
        }
        if self.managed.pair.is_some() && workload.replicas != 2 {
            ctx.error(&format!("{}.replicas", self.path), workload.replicas.to_string(), passive::TWO_PODS);
        }
        let all = (workload.replicas + self.later) as usize * self.turns;
        if all > MAX_POD_MEMBERS {
            let found = format!("{all} members in sequence, because its shoot migrates so often");
            ctx.error(&self.path, found, format!("at most {MAX_POD_MEMBERS}"));
            return;
        }
        let Some(hosted) = shoots[self.shoot].hosted.as_mut() else { return };
        let (tolerance, main) = (shoots[self.shoot].tolerance, self.main);
        let nodes = place_members(&workload, site, tolerance, self.turn, &hosted.zones).unwrap_or_default();
        if nodes.is_empty() {
            let found = format!("{}, for whose {} members there are no nodes", quote(&workload.name), workload.replicas);
            let suitable = site.zones.keys().any(|node| site.suits(&workload, node));
            let expected = match tolerance {
                _ if !suitable => "a node whose labels it selects and whose taints it tolerates",
                FailureTolerance::None => "a node that it may run on, with free capacity",
                FailureTolerance::Node => "as many nodes in one zone that they may run on, with free capacity",
                FailureTolerance::Zone => "a node in each of as many zones that they may run on, with free capacity",
            };
            let remedy = if suitable { ": pools with a larger `minimum`, or larger machines" } else { "" };
            ctx.error_of_copy(&self.path, found, format!("{expected}{remedy}"));
        } else if main {
            self.managed.check_leader(ctx, &workload.name, nodes.len());
        }
        for (ordinal, node) in (0..).zip(&nodes) {
            let placed = &mut site.cluster.workloads[self.workload].placed;
            let tag = PodTag::Ordinal(ordinal);
            if placed.iter().all(|(own, _)| *own != tag) {
                placed.push((tag, *node));
                site.take(&workload, *node);
            }
            let zone = site.zones[*node];
            if main && !hosted.zones.contains(&zone) {
                hosted.zones.push(zone);
            }
        }
        let hosts: Vec<NodeId> = nodes.iter().map(|node| site.machine(*node)).collect();
        let placed = EtcdPlacement {
            home: &self.namespace,
            set: &workload.name,
            nodes: &hosts,
            pods: true,
            later: self.later,
            turns: self.turns,
        };
        members.manage(ctx, &self.managed, &placed, topology, etcd_names);
    }
}

/// A node for each member in order, `None` where there are not as many: each on another node, and in another zone where the loss of
/// one is to be survived, in the same zone where not. `before` are zones where the shoot's members are already.
fn place_members(
    workload: &Workload,
    site: &ClusterDraft,
    tolerance: FailureTolerance,
    turn: u32,
    before: &[ZoneId],
) -> Option<Vec<NodeKey>> {
    let given = |ordinal| workload.placed.iter().find(|(tag, _)| *tag == PodTag::Ordinal(ordinal)).map(|(_, node)| *node);
    let zone = |node: NodeKey| site.zones[node];
    let taken: Vec<NodeKey> = (0..workload.replicas).filter_map(given).collect();
    let mut zones = site.seed.zones.clone();
    if zones.is_empty() {
        return None;
    }
    zones.rotate_left(turn as usize % site.seed.zones.len());
    if tolerance == FailureTolerance::Zone {
        let mut nodes = taken.clone();
        let mut free = zones.into_iter().filter(|own| taken.iter().all(|node| zone(*node) != *own));
        return (0..workload.replicas)
            .map(|ordinal| {
                let node = given(ordinal).or_else(|| free.find_map(|zone| site.least_used(workload, zone, &nodes)))?;
                nodes.push(node);
                Some(node)
            })
            .collect();
    }
    if let Some(pinned) = before.first().copied().or(taken.first().map(|node| zone(*node))) {
        zones = vec![pinned];
    }
    zones.into_iter().find_map(|zone| {
        let mut nodes = taken.clone();
        (0..workload.replicas)
            .map(|ordinal| {
                let node = given(ordinal).or_else(|| site.least_used(workload, zone, &nodes))?;
                nodes.push(node);
                Some(node)
            })
            .collect()
    })
}
