//! Resolves the names in a fault to ids, and reports errors at the fault's path.

use std::collections::{BTreeMap, BTreeSet};

use super::target::{FaultTarget, Place, RawFaultTarget};
use crate::access::LoadBalancer;
use crate::error::{did_you_mean, one_of, quote};
use crate::etcd::EtcdClusterSpec;
use crate::ids::{BalancerId, EtcdId, MemberId, NodeId, TiVec, VolumeId, ZoneId};
use crate::kube::KubeModel;
use crate::lowering::{CheckCtx, MemberLifetime, Members, Names, Topology, in_cluster, quoted};
use crate::units::Span;
use zonefall_kernel::time::Time;

/// A pod's lost volume stays lost until its claim is deleted: no empty one takes its place.
pub(crate) const UNCLAIMED: &str = "another target: the claim of a pod keeps its lost volume, and no empty volume replaces it";

/// Whether a member that lost its data is never added back by its peers: it is a pod, and a majority serves. (Of an active-passive pair the
/// standby is created again.)
const fn is_claimed(cluster: &EtcdClusterSpec) -> bool {
    cluster.managed && cluster.passive.is_none()
}

/// Resolves the names in a fault to ids, and reports errors at the fault's path.
pub(crate) struct FaultCtx<'a, 'c> {
    ctx: &'a mut CheckCtx<'c>,
    resolver: &'a FaultResolver<'a>,
    path: &'a str,
    at: Time,
    lasts: Option<Span>,
    /// Names of zones; numbers are those of [`ZoneId`].
    pub(crate) zones: &'a Names,
    /// Names of nodes; numbers are those of [`NodeId`].
    pub(crate) nodes: &'a Names,
    /// The Kubernetes clusters.
    pub(crate) kube: &'a KubeModel,
}

impl<'a, 'c> FaultCtx<'a, 'c> {
    /// Of the fault at this path, which starts then.
    pub(crate) fn new(
        ctx: &'a mut CheckCtx<'c>,
        resolver: &'a FaultResolver<'a>,
        path: &'a str,
        at: Time,
        lasts: Option<Span>,
    ) -> Self {
        let Topology { zone_names: zones, node_names: nodes, .. } = resolver.topology;
        Self { ctx, resolver, path, at, lasts, zones, nodes, kube: resolver.kube }
    }

    fn place(&self, field: &str) -> String {
        if field.is_empty() { self.path.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// Reports what is wrong with a field, or (without one) with the fault as a whole.
    pub(crate) fn error(&mut self, field: &str, found: &str, expected: &str) {
        self.ctx.error(&self.place(field), found, expected);
    }

    /// Warns of a field.
    pub(crate) fn warn(&mut self, field: &str, found: &str, expected: &str) {
        self.ctx.warn(&self.place(field), found, expected);
    }

    /// The `node` that is meant.
    pub(crate) fn node(&mut self, target: &RawFaultTarget) -> Option<FaultTarget<NodeId>> {
        self.resolver.target(self.ctx, &self.place("node"), target, self.nodes, NodeId::from)
    }

    /// The `zone` that is meant.
    pub(crate) fn zone(&mut self, target: &RawFaultTarget) -> Option<FaultTarget<ZoneId>> {
        self.resolver.target(self.ctx, &self.place("zone"), target, self.zones, ZoneId::from)
    }

    /// The `volume` that is meant.
    pub(crate) fn volume(&mut self, target: &RawFaultTarget) -> Option<FaultTarget<VolumeId>> {
        let names = &self.resolver.topology.volume_names;
        self.resolver.target(self.ctx, &self.place("volume"), target, names, VolumeId::from)
    }

    /// The `member` that is meant: one that is in its cluster when the fault starts.
    pub(crate) fn member(&mut self, target: &RawFaultTarget) -> Option<FaultTarget<MemberId>> {
        self.resolver.member_target(self.ctx, self.path, target, self.at)
    }

    /// The zone of this name.
    pub(crate) fn zone_named(&mut self, field: &str, name: &str) -> Option<ZoneId> {
        self.zones.find(self.ctx, &self.place(field), name).map(ZoneId::from)
    }

    /// The node of this name.
    pub(crate) fn node_named(&mut self, field: &str, name: &str) -> Option<NodeId> {
        self.nodes.find(self.ctx, &self.place(field), name).map(NodeId::from)
    }

    /// The zone of this name, or the node.
    pub(crate) fn zone_or_node(&mut self, field: &str, name: &str) -> Option<Place> {
        let zone = self.zones.get(name).map(|k| Place::Zone(k.into()));
        let place = zone.or_else(|| self.nodes.get(name).map(|k| Place::Node(k.into())));
        if place.is_none() && !self.zones.is_incomplete() && !self.nodes.is_incomplete() {
            let known = || self.zones.iter().chain(self.nodes.iter());
            let expected = format!("the name of a zone or a node: {}{}", one_of(known()), did_you_mean(name, known()));
            self.error(field, &quote(name), &expected);
        }
        place
    }

    /// What the file says of a load balancer.
    pub(crate) fn balancer_spec(&self, id: BalancerId) -> Option<&'a LoadBalancer> {
        self.resolver.balancers.0.get(id)
    }

    /// The `balancer` of this name.
    pub(crate) fn balancer(&mut self, name: &str) -> Option<BalancerId> {
        self.resolver.balancers.1.find(self.ctx, &self.place("balancer"), name).map(BalancerId::from)
    }

    /// The zones of these names.
    pub(crate) fn zones(&mut self, field: &str, names: &[String; 2]) -> Option<[ZoneId; 2]> {
        let [a, b] = [0, 1].map(|k| self.zone_named(&format!("{field}[{k}]"), &names[k]));
        a.zip(b).map(<[ZoneId; 2]>::from)
    }

    /// Every volume of a `zone`; none is an error.
    pub(crate) fn volumes_in(&mut self, zone: &str) -> Vec<VolumeId> {
        let Some(id) = self.zone_named("zone", zone) else { return Vec::new() };
        let Some(inside) = self.resolver.volumes_in.get(&id) else {
            self.error("zone", &quote(zone), "a zone with volumes: there are none in this one");
            return Vec::new();
        };
        inside.clone()
    }

    /// Reports an end of the fault where no empty volume ever takes the place of this one.
    pub(crate) fn is_never_replaced(&mut self, volume: FaultTarget<VolumeId>) {
        if let Some(lasts) = self.lasts
            && self.resolver.is_claimed(volume)
        {
            self.error("for", &quoted(lasts), UNCLAIMED);
        }
    }
}

/// Looks up what the names in faults mean.
pub(crate) struct FaultResolver<'a> {
    pub(crate) topology: &'a Topology,
    clusters: &'a Names,
    members: &'a Members,
    pub(crate) kube: &'a KubeModel,
    balancers: (&'a TiVec<BalancerId, LoadBalancer>, &'a Names),
    /// Members of all clusters.
    by_name: BTreeMap<&'a str, Vec<&'a MemberLifetime>>,
    volumes_in: BTreeMap<ZoneId, Vec<VolumeId>>,
    /// Those of [`is_claimed`] clusters.
    claimed: BTreeSet<VolumeId>,
}

impl<'a> FaultResolver<'a> {
    /// Of all clusters, volumes and load balancers that there are.
    pub(crate) fn new(
        topology: &'a Topology,
        clusters: &'a Names,
        members: &'a Members,
        kube: &'a KubeModel,
        balancers: (&'a TiVec<BalancerId, LoadBalancer>, &'a Names),
    ) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&MemberLifetime>> = BTreeMap::new();
        for life in members.lifetimes.iter().flatten() {
            by_name.entry(&life.name).or_default().push(life);
        }
        let mut volumes_in: BTreeMap<ZoneId, Vec<VolumeId>> = BTreeMap::new();
        for (volume, zone) in topology.volume_zones.iter_enumerated() {
            if let Some(zone) = zone {
                volumes_in.entry(*zone).or_default().push(volume);
            }
        }
        let claimed = members.clusters.iter().filter(|cluster| is_claimed(cluster));
        let claimed = claimed.flat_map(|cluster| &cluster.members).map(|member| member.volume).collect();
        Self { topology, clusters, members, kube, balancers, by_name, volumes_in, claimed }
    }

    /// Whether a volume is claimed by a pod whose cluster nobody tells to take back a member that lost all.
    pub(crate) fn is_claimed(&self, target: FaultTarget<VolumeId>) -> bool {
        match target {
            FaultTarget::Named(volume) => self.claimed.contains(&volume),
            FaultTarget::OfLeader(cluster) => is_claimed(&self.members.clusters[cluster]),
        }
    }

    fn target<T>(
        &self,
        ctx: &mut CheckCtx<'_>,
        path: &str,
        target: &RawFaultTarget,
        names: &Names,
        id: fn(usize) -> T,
    ) -> Option<FaultTarget<T>> {
        match target {
            RawFaultTarget::Named(name) => names.find(ctx, path, name).map(|k| FaultTarget::Named(id(k))),
            RawFaultTarget::OfLeader { leader_of } => self.leader(ctx, path, leader_of),
        }
    }

    fn leader<T>(&self, ctx: &mut CheckCtx<'_>, path: &str, cluster: &str) -> Option<FaultTarget<T>> {
        let found = self.clusters.find(ctx, &format!("{path}.leader_of"), cluster);
        found.map(|k| FaultTarget::OfLeader(EtcdId::from(k)))
    }

    /// The node of a member that never runs on another.
    pub(crate) fn fixed_node(&self, member: MemberId) -> Option<NodeId> {
        let cluster = &self.members.clusters[member.cluster];
        (!cluster.managed).then(|| cluster.members[usize::from(member.index)].node)
    }

    fn member_target(
        &self,
        ctx: &mut CheckCtx<'_>,
        path: &str,
        target: &RawFaultTarget,
        at: Time,
    ) -> Option<FaultTarget<MemberId>> {
        let path = format!("{path}.member");
        match target {
            RawFaultTarget::Named(name) => self.member(ctx, &path, name, at).map(FaultTarget::Named),
            RawFaultTarget::OfLeader { leader_of } => self.leader(ctx, &path, leader_of),
        }
    }

    /// `member`, or `cluster/member` where several clusters have such a member.
    fn member(&self, ctx: &mut CheckCtx<'_>, path: &str, text: &str, at: Time) -> Option<MemberId> {
        if let Some((cluster, name)) = text.rsplit_once('/') {
            let c = EtcdId::from(self.clusters.find(ctx, path, cluster)?);
            let lifetimes = &self.members.lifetimes[c];
            return in_cluster(ctx, path, name, at, lifetimes).map(|k| lifetimes[k].id);
        }
        if let [lifetimes] = self.members.lifetimes.raw.as_slice() {
            return in_cluster(ctx, path, text, at, lifetimes).map(|k| lifetimes[k].id);
        }
        let named = self.by_name.get(text).map_or(&[][..], Vec::as_slice);
        let found: Vec<MemberId> = named.iter().filter(|life| life.covers(at)).map(|life| life.id).collect();
        match found.as_slice() {
            [only] => Some(*only),
            [] => {
                let known = || self.by_name.keys().copied();
                let hint = if ctx.errors.suggests() { did_you_mean(text, known()) } else { String::new() };
                ctx.error(path, quote(text), format!("a member at that time: {}{hint}", one_of(known())));
                None
            }
            several => {
                let full: Vec<String> =
                    several.iter().map(|id| format!("{}/{text}", self.members.clusters[id.cluster].name)).collect();
                let expected = format!("one of them by its full name: {}", one_of(full.iter().map(String::as_str)));
                ctx.error(path, format!("{}, which is in {} clusters", quote(text), several.len()), expected);
                None
            }
        }
    }
}
