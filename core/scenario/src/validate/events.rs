//! Faults, planned and random.

use std::collections::{BTreeMap, BTreeSet};

use super::etcd::Members;
use super::lifetime::{MemberLifetime, in_cluster};
use super::lower::mark;
use super::names::Names;
use super::topology::Topology;
use super::{CheckCtx, quoted};
use crate::error::{did_you_mean, one_of, quote};
use crate::fault::{FaultTarget, RawFaultTarget};
use crate::ids::{EtcdId, MemberId, NodeId, VolumeId, ZoneId};
use crate::model::{EtcdClusterSpec, Lifetime, PlannedFault, RandomFaults, RandomTarget};
use crate::raw::{RawLifetime, RawRandomFaults, RawScenario, RawWhich};
use crate::source::Input;
use crate::units::Span;
use zonefall_kernel::time::{Duration, Time};

/// Planned faults, those of single volumes that a zone's storage stands for included.
const MAX_PLANNED: usize = 200_000;
/// Random faults of a run, estimated.
const MAX_RANDOM_FAULTS: f64 = 1e6;
const SHORTEST_LIFETIME: Duration = Duration::from_millis(1);
const LONGEST_LIFETIME: Duration = Duration::from_secs(100 * 366 * 86_400);

pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    topology: &Topology,
    clusters: &Names,
    members: &Members,
    inputs: &mut Vec<Input>,
) -> (Vec<PlannedFault>, Vec<RandomFaults>) {
    let mut by_name: BTreeMap<&str, Vec<&MemberLifetime>> = BTreeMap::new();
    for life in members.lifetimes.iter().flatten() {
        by_name.entry(life.name()).or_default().push(life);
    }
    let mut volumes_in: BTreeMap<ZoneId, Vec<VolumeId>> = BTreeMap::new();
    for (volume, zone) in topology.volume_zones.iter_enumerated() {
        if let Some(zone) = zone {
            volumes_in.entry(*zone).or_default().push(volume);
        }
    }
    let claimed = members.clusters.iter().filter(|cluster| is_claimed(cluster));
    let claimed = claimed.flat_map(|cluster| &cluster.members).map(|member| member.volume).collect();
    let resolver = Resolver { topology, clusters, members, by_name, volumes_in, claimed };
    let mut planned = Vec::new();
    for (k, fault) in raw.faults.iter().enumerate() {
        let path = format!("faults[{k}]");
        let at = Time::ZERO + fault.at.0;
        if at >= ctx.end {
            ctx.error(&format!("{path}.at"), quoted(fault.at), "a time before the end of the run (`duration`)");
        }
        mark(ctx, inputs, &path, &fault.mark);
        let (zones, nodes) = (&topology.zone_names, &topology.node_names);
        let mut found = FaultCtx { ctx, resolver: &resolver, path: &path, at, lasts: fault.lasts, zones, nodes };
        let faults = fault.kind.lower(&mut found);
        if planned.len() + faults.len() > MAX_PLANNED {
            ctx.error("faults", format!("more than {MAX_PLANNED} of single volumes"), format!("at most {MAX_PLANNED}"));
            break;
        }
        let lasts = fault.lasts.map(|span| span.0);
        planned.extend(faults.into_iter().map(|fault| PlannedFault { at, lasts, fault }));
    }
    let mut random = Vec::new();
    for (k, faults) in raw.random_faults.iter().enumerate() {
        random.push(resolver.random(ctx, &format!("random_faults[{k}]"), faults));
    }
    too_many(ctx, raw, &random);
    (planned, random)
}

/// A pod's lost volume stays lost until its claim is deleted: no empty one takes its place.
const UNCLAIMED: &str = "another target: the claim of a pod keeps its lost volume, and no empty volume replaces it";

/// Whether nobody tells the peers of a member that lost all to take it back: where it is a pod, and a majority serves. (Of two members the
/// one that stands by is made anew.)
const fn is_claimed(cluster: &EtcdClusterSpec) -> bool {
    cluster.managed && cluster.passive.is_none()
}

/// What the kinds of faults need to know what their names mean, and where they report what is wrong.
pub(crate) struct FaultCtx<'a, 'c> {
    ctx: &'a mut CheckCtx<'c>,
    resolver: &'a Resolver<'a>,
    path: &'a str,
    at: Time,
    lasts: Option<Span>,
    /// Names of zones; numbers are those of [`ZoneId`].
    pub(crate) zones: &'a Names,
    /// Names of nodes; numbers are those of [`NodeId`].
    pub(crate) nodes: &'a Names,
}

impl FaultCtx<'_, '_> {
    fn place(&self, field: &str) -> String {
        if field.is_empty() { self.path.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// Reports what is wrong with a field, or (without one) with the fault as a whole.
    pub(crate) fn error(&mut self, field: &str, found: &str, expected: &str) {
        self.ctx.error(&self.place(field), found, expected);
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

struct Resolver<'a> {
    topology: &'a Topology,
    clusters: &'a Names,
    members: &'a Members,
    /// Members of all clusters.
    by_name: BTreeMap<&'a str, Vec<&'a MemberLifetime>>,
    volumes_in: BTreeMap<ZoneId, Vec<VolumeId>>,
    /// Those of [`is_claimed`] clusters.
    claimed: BTreeSet<VolumeId>,
}

impl Resolver<'_> {
    fn is_claimed(&self, target: FaultTarget<VolumeId>) -> bool {
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

    fn random(&self, ctx: &mut CheckCtx<'_>, path: &str, raw: &RawRandomFaults) -> RandomFaults {
        let mut targets = Vec::new();
        let node = |k| RandomTarget::Node(NodeId(k as u16));
        let zone = |k| RandomTarget::Zone(ZoneId(k as u16));
        let volume = |k| RandomTarget::Volume(VolumeId(k as u16));
        which(ctx, &format!("{path}.nodes"), &raw.nodes, &self.topology.node_names, node, &mut targets);
        which(ctx, &format!("{path}.zones"), &raw.zones, &self.topology.zone_names, zone, &mut targets);
        which(ctx, &format!("{path}.volumes"), &raw.volumes, &self.topology.volume_names, volume, &mut targets);
        let nothing = |which: &RawWhich| matches!(which, RawWhich::Named(names) if names.is_empty());
        let claimed = |target: &RandomTarget| matches!(target, RandomTarget::Volume(volume) if self.is_claimed(FaultTarget::Named(*volume)));
        if targets.iter().any(claimed) {
            ctx.error(&format!("{path}.volumes"), "a volume of a pod", UNCLAIMED);
        }
        if nothing(&raw.nodes) && nothing(&raw.zones) && nothing(&raw.volumes) {
            ctx.error(path, "no target", "names in `nodes`, `zones` or `volumes`, or \"all\"");
        }
        let between = lifetime(ctx, &format!("{path}.every"), raw.every);
        let repair = lifetime(ctx, &format!("{path}.repair"), raw.repair);
        RandomFaults { targets, between, repair }
    }
}

fn which(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    raw: &RawWhich,
    names: &Names,
    target: fn(usize) -> RandomTarget,
    targets: &mut Vec<RandomTarget>,
) {
    match raw {
        RawWhich::All(_) => {
            let mut all = BTreeSet::new();
            all.extend(names.iter().filter_map(|name| names.get(name)));
            targets.extend(all.into_iter().map(target));
        }
        RawWhich::Named(list) => {
            let mut seen = BTreeSet::new();
            for (k, name) in list.iter().enumerate() {
                let path = format!("{path}[{k}]");
                let Some(found) = names.find(ctx, &path, name) else { continue };
                if seen.insert(found) {
                    targets.push(target(found));
                } else {
                    ctx.error(&path, format!("{} again", quote(name)), "each name once");
                }
            }
        }
    }
}

fn lifetime(ctx: &mut CheckCtx<'_>, path: &str, raw: RawLifetime) -> Lifetime {
    let mut limit = |name: &str, span: Span| {
        ctx.range(&format!("{path}.{name}"), span, SHORTEST_LIFETIME, LONGEST_LIFETIME);
        span.0
    };
    match raw {
        RawLifetime::Exponential(mean) => Lifetime::Exponential { mean: limit("exponential", mean) },
        RawLifetime::Weibull { scale, shape } => Lifetime::Weibull { scale: limit("weibull.scale", scale), shape },
        RawLifetime::LogNormal { median, sigma } => Lifetime::LogNormal { median: limit("lognormal.median", median), sigma },
    }
}

fn too_many(ctx: &mut CheckCtx<'_>, raw: &RawScenario, random: &[RandomFaults]) {
    let typical = |lifetime: Lifetime| match lifetime {
        Lifetime::Exponential { mean: typical }
        | Lifetime::Weibull { scale: typical, .. }
        | Lifetime::LogNormal { median: typical, .. } => typical.as_secs_f64(),
    };
    let each = |faults: &RandomFaults| faults.targets.len() as f64 / (typical(faults.between) + typical(faults.repair)).max(1e-3);
    let expected = random.iter().map(each).sum::<f64>() * raw.duration.0.as_secs_f64();
    if expected > MAX_RANDOM_FAULTS && ctx.trusts("duration") {
        let found = format!("about {expected:.1e} faults in the whole run");
        ctx.error("random_faults", found, "at most 1e6: rarer faults, fewer things or a shorter run");
    }
}
