//! etcd clusters: options, members from the start and those that operations add and remove, their volumes.

use std::collections::BTreeMap;

use super::options::options;
use super::passive;
use super::topology::disk;
use crate::error::{one_of, quote};
use crate::etcd::{EtcdClusterSpec, MaintenanceOperation, Member, MemberChange, Operation};
use crate::ids::{EtcdId, MemberId, NodeId, TiVec, VolumeId};
use crate::kube::{Role, Workload};
use crate::lowering::{CheckCtx, MAX_MEMBERS_EVER, MemberLifetime, Members, Names, Topology, quoted};
use crate::operation::{MembersCtx, Of, RawOperationKind};
use crate::options::EtcdOptions;
use crate::passive::{Backup, Switching};
use crate::raw::{RawDisk, RawEtcdCluster, RawInitial, RawMember, RawMode, RawOptions, RawScenario};
use crate::topology::{Disk, Volume};
use zonefall_kernel::dist::Latency;
use zonefall_kernel::time::Time;

/// `DefaultQuotaBytes` of etcd.
pub(super) const ETCD_QUOTA: u64 = 2 << 30;
/// What etcd-druid gives the etcd clusters of Gardener.
pub(super) const DRUID_QUOTA: u64 = 8 << 30;

/// Volumes in all, those of members included.
const MAX_VOLUMES: usize = 60_000;

/// The clusters of the file's `etcd`, as they are when the run starts.
pub(super) fn validate(ctx: &mut CheckCtx<'_>, raw: &RawScenario, topology: &mut Topology) -> (Names, Members) {
    let mut names = Names::new("an etcd cluster");
    for (c, cluster) in raw.etcd.iter().enumerate() {
        names.add(ctx, &format!("etcd[{c}].name"), cluster.name.as_str(), c);
    }
    let mut all = Members {
        clusters: TiVec::new(),
        operations: Vec::new(),
        maintenance: Vec::new(),
        lifetimes: TiVec::new(),
        disks: TiVec::new(),
    };
    for (c, cluster) in raw.etcd.iter().enumerate() {
        initial(ctx, c, cluster, &mut all);
    }
    for (c, cluster) in raw.etcd.iter().enumerate() {
        let place = format!("etcd[{c}].disk");
        let mut disk = disk(ctx, &place, &cluster.disk);
        if !ctx.copies(&format!("{place}.fsync"), &disk.fsync, cluster.members.len()) {
            disk.fsync = Latency::NONE;
        }
        let id = all.disks.push_and_get_key((place, disk));
        for (m, member) in cluster.members.iter().enumerate() {
            all.place(ctx, (id, m), member, true, topology);
        }
        passive::mode(ctx, c, cluster, &topology.zone_names, &mut all.clusters[id]);
    }
    (names, all)
}

/// The cluster as it is when the run starts; where its members are comes later.
fn initial(ctx: &mut CheckCtx<'_>, c: usize, raw: &RawEtcdCluster, all: &mut Members) {
    let path = format!("etcd[{c}]");
    let options = options(ctx, &format!("{path}.options"), &raw.options, (ETCD_QUOTA, raw.initial.database.0));
    if raw.options.answers_before_sync && raw.mode != RawMode::Quorum {
        ctx.error(
            &format!("{path}.options.answers_before_sync"),
            "true",
            "false: an active-passive cluster reports its losses in another way",
        );
    }
    let mut names = Names::new("a member of this cluster");
    let mut lifetimes = Vec::new();
    for (m, member) in raw.members.iter().enumerate() {
        let place = format!("{path}.members[{m}]");
        names.add(ctx, &format!("{place}.name"), member.name.as_str(), m);
        if let Some(behind) = &member.behind
            && behind.revision >= raw.initial.revision
        {
            let expected = format!("less than the cluster's own, {}", raw.initial.revision);
            ctx.error(&format!("{place}.behind.revision"), behind.revision.to_string(), expected);
        }
        lifetimes.push(MemberLifetime::new(EtcdId::from(c), m, member, Time::ZERO, place));
    }
    let learners = raw.members.iter().filter(|member| member.learner).count();
    let voters = raw.members.len() - learners;
    if voters == 0 {
        ctx.error(&format!("{path}.members"), "learners only", "at least one member with a vote");
    }
    if learners > usize::from(options.max_learners) {
        let expected = format!("at most {} (options.max_learners)", options.max_learners);
        ctx.error(&format!("{path}.members"), format!("{learners} learners"), expected);
    }
    let lagging = raw.members.iter().filter(|member| member.behind.is_some() && !member.learner).count();
    if voters > 0 && lagging > (voters - 1) / 2 {
        let found = format!("{lagging} of {voters} members with a vote that are behind");
        ctx.error(&format!("{path}.members"), found, "a majority with all committed entries");
    }
    let initial_leader = leader(ctx, &path, raw, &names);
    all.lifetimes.push(lifetimes);
    all.clusters.push(EtcdClusterSpec {
        name: raw.name.to_string(),
        options,
        initial_leader,
        revision: raw.initial.revision,
        database_bytes: raw.initial.database.0,
        managed: false,
        passive: None,
        members: Vec::new(),
    });
}

fn leader(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawEtcdCluster, names: &Names) -> Option<u8> {
    let can_lead = |member: &RawMember| !member.learner && member.behind.is_none();
    let path = format!("{path}.initial.leader");
    match raw.initial.leader.as_deref() {
        None => raw.members.iter().position(can_lead).map(|k| k as u8),
        Some("none") => None,
        Some(name) => {
            let k = names.find(ctx, &path, name)?;
            if raw.members[k].learner {
                ctx.error(&path, format!("{}, a learner", quote(name)), "a member with a vote");
            } else if raw.members[k].behind.is_some() {
                ctx.error(&path, format!("{}, which is behind", quote(name)), "a member with all committed entries");
            }
            Some(k as u8)
        }
    }
}

/// Plays the operations on members of all clusters, those of seeds and Kubernetes clusters too, in order of time: so each name means the
/// member that is in the cluster then.
pub(super) fn operations(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    clusters: &Names,
    topology: &mut Topology,
    all: &mut Members,
) {
    let mut order: Vec<usize> = (0..raw.operations.len()).collect();
    order.sort_by_key(|o| raw.operations[*o].at);
    let mut done = Vec::new();
    for o in order {
        let operation = &raw.operations[o];
        let path = format!("operations[{o}]");
        let at = Time::ZERO + operation.at.0;
        if at >= ctx.end {
            ctx.error(&format!("{path}.at"), quoted(operation.at), "a time before the end of the run (`duration`)");
        }
        let of = operation.change.of();
        if !matches!(of, Of::Members(_) | Of::Databases(_)) {
            continue;
        }
        let only = || if let [only] = raw.etcd.as_slice() { Some(only.name.as_str()) } else { None };
        let Some(c) = only_or_named(ctx, &path, operation.etcd.as_deref().or_else(only), clusters) else { continue };
        let cluster = EtcdId::from(c);
        if matches!(of, Of::Members(_)) && passive::no_operations(ctx, &path, &all.clusters[cluster]) {
            continue;
        }
        let (path, lifetimes) = (format!("{path}.{}", operation.change.word()), &mut all.lifetimes[cluster]);
        let mut members = MembersCtx { ctx, path: &path, cluster, at, lifetimes };
        let change = match of {
            Of::Members(asked) => asked.change(&mut members),
            Of::Databases(asked) => {
                all.maintenance.extend(asked.task(&mut members).map(|task| MaintenanceOperation { at, cluster, task }));
                None
            }
            Of::Shoot(_) | Of::Cluster(_) => None,
        };
        if let (Some(MemberChange::Add(id)), RawOperationKind::AddMember(member)) = (change, &operation.change) {
            let (place, own) = &all.disks[cluster];
            if !ctx.copies(&format!("{place}.fsync"), &own.fsync, 1) {
                all.disks[cluster].1.fsync = Latency::NONE;
            }
            all.place(ctx, (cluster, usize::from(id.index)), member, false, topology);
        }
        done.extend(change.map(|change| Operation { at, change }));
    }
    all.operations = done;
    one_member_per_volume(ctx, topology, all);
}

/// The cluster that is named, or the only one.
pub(super) fn only_or_named(ctx: &mut CheckCtx<'_>, path: &str, name: Option<&str>, clusters: &Names) -> Option<usize> {
    let path = format!("{path}.etcd");
    match name {
        Some(name) => clusters.find(ctx, &path, name),
        None if clusters.len() == 1 => clusters.iter().next().and_then(|only| clusters.get(only)),
        None if clusters.is_incomplete() => None,
        None => {
            ctx.error(&path, "nothing", format!("the name of an etcd cluster: {}", one_of(clusters.iter())));
            None
        }
    }
}

fn named_volume(ctx: &mut CheckCtx<'_>, path: &str, name: &str, node: Option<NodeId>, topology: &Topology) -> Option<VolumeId> {
    let volume = VolumeId::from(topology.volume_names.find(ctx, path, name)?);
    let volume_zone = topology.volume_zones.get(volume).copied().flatten();
    let node_zone = node.and_then(|node| topology.node_zones[node]);
    if let (Some(node), Some(volume_zone), Some(node_zone)) = (node, volume_zone, node_zone)
        && volume_zone != node_zone
    {
        let zone = |id: crate::ids::ZoneId| topology.zones[id].name.as_str();
        let found = format!("{} in zone {}", quote(name), zone(volume_zone));
        let expected = format!("a volume in zone {}, the zone of node {}", zone(node_zone), topology.nodes[node].name);
        ctx.error(path, found, expected);
    }
    Some(volume)
}

/// A volume named after its member: `member`, or `cluster/member` where something else has that name, with `#2` and so on where
/// a member of that name comes again.
fn own_volume(
    ctx: &mut CheckCtx<'_>,
    life: &MemberLifetime,
    cluster: &str,
    node: Option<NodeId>,
    disk: &Disk,
    topology: &mut Topology,
) -> VolumeId {
    let full = format!("{cluster}/{}", life.name);
    let again = (2..=MAX_MEMBERS_EVER).map(|k| format!("{full}#{k}"));
    let mut names = [life.name.clone(), full.clone()].into_iter().chain(again);
    let name = names.find(|name| topology.volume_names.get(name).is_none());
    add_volume(ctx, &life.path, name.unwrap_or_default(), node, disk, topology)
}

fn add_volume(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    name: String,
    node: Option<NodeId>,
    disk: &Disk,
    topology: &mut Topology,
) -> VolumeId {
    if topology.volumes.len() >= MAX_VOLUMES {
        ctx.error(path, "a volume more", format!("at most {MAX_VOLUMES} volumes in all"));
        return VolumeId(0);
    }
    let zone = node.and_then(|node| topology.node_zones[node]);
    topology.volume_names.add(ctx, path, &name, topology.volumes.len());
    topology.volume_zones.push(zone);
    topology.volumes.push_and_get_key(Volume { name, zone: zone.unwrap_or(crate::ids::ZoneId(0)), disk: disk.clone() })
}

/// Two members never write to one volume at the same time.
fn one_member_per_volume(ctx: &mut CheckCtx<'_>, topology: &Topology, all: &Members) {
    let mut users: BTreeMap<VolumeId, Vec<&MemberLifetime>> = BTreeMap::new();
    for life in all.lifetimes.iter().flatten() {
        if let Some(volume) = life.volume {
            users.entry(volume).or_default().push(life);
        }
    }
    for (volume, mut lifetimes) in users {
        lifetimes.sort_by_key(|life| life.from);
        for pair in lifetimes.windows(2) {
            if pair[1].from < pair[0].until {
                let name = topology.volumes.get(volume).map_or("", |volume| volume.name.as_str());
                let expected = format!("a volume of its own: {} uses this one at the same time", pair[0].name);
                ctx.error(&format!("{}.volume", pair[1].path), quote(name), expected);
            }
        }
    }
}

/// What the etcd clusters of a seed, or of a shoot, have in common.
#[derive(Clone)]
pub(super) struct ManagedEtcd {
    path: String,
    pub(super) options: EtcdOptions,
    leader: Option<u8>,
    /// As the file has it.
    written: String,
    revision: u64,
    database_bytes: u64,
    disk: Disk,
    /// Their volumes can be attached in every zone.
    pub(super) regional: bool,
    /// Each is one that serves and one that stands by.
    pub(super) pair: Option<(Switching, Option<Backup>)>,
}

/// An etcd cluster `<home>/<set>` with a member on each of some nodes.
pub(super) struct EtcdPlacement<'a> {
    pub(super) home: &'a str,
    pub(super) set: &'a str,
    pub(super) nodes: &'a [NodeId],
    /// Its members are containers of pods.
    pub(super) pods: bool,
    /// Pods there may be more, later.
    pub(super) later: u32,
    /// Volumes that a pod may have, one after the other: with each it is another member.
    pub(super) turns: usize,
}

impl ManagedEtcd {
    pub(super) fn new(
        ctx: &mut CheckCtx<'_>,
        path: &str,
        (options, usual_quota): (&RawOptions, u64),
        initial: &RawInitial,
        disk: &RawDisk,
    ) -> Self {
        let number = |name: &str| name.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
        Self {
            options: self::options(ctx, &format!("{path}.options"), options, (usual_quota, initial.database.0)),
            disk: self::disk(ctx, &format!("{path}.disk"), disk),
            path: path.to_owned(),
            leader: match initial.leader.as_deref() {
                None => Some(0),
                Some("none") => None,
                // What is no number is no member's.
                Some(name) => Some(number(name).unwrap_or(u8::MAX)),
            },
            written: initial.leader.clone().unwrap_or_default(),
            revision: initial.revision,
            database_bytes: initial.database.0,
            regional: false,
            pair: None,
        }
    }

    /// Reports a leader that is none of so many members.
    pub(super) fn check_leader(&self, ctx: &mut CheckCtx<'_>, set: &str, members: usize) {
        if self.leader.is_some_and(|leader| usize::from(leader) >= members) {
            let names: Vec<String> = (0..members).map(|k| format!("{set}-{k}")).collect();
            let expected = format!("the name of a member, {}, or \"none\"", one_of(names.iter().map(String::as_str)));
            ctx.error(&format!("{}.initial.leader", self.path), quote(&self.written), expected);
        }
    }
}

impl Members {
    /// Gives member `m` of cluster `c`, one of the start or a later one, its node and volume.
    fn place(
        &mut self,
        ctx: &mut CheckCtx<'_>,
        (c, m): (EtcdId, usize),
        raw: &RawMember,
        initial: bool,
        topology: &mut Topology,
    ) {
        let (cluster, life) = (&mut self.clusters[c], &mut self.lifetimes[c][m]);
        let node = topology.node_names.find(ctx, &format!("{}.node", life.path), &raw.node).map(NodeId::from);
        life.volume = match &raw.volume {
            Some(name) => named_volume(ctx, &format!("{}.volume", life.path), name, node, topology),
            None => Some(own_volume(ctx, life, &cluster.name, node, &self.disks[c].1, topology)),
        };
        cluster.members.push(Member {
            name: life.name.clone(),
            node: node.unwrap_or(NodeId(0)),
            volume: life.volume.unwrap_or(VolumeId(0)),
            learner: raw.learner,
            initial,
            behind: raw.behind.map(|behind| (behind.revision, behind.database.0)),
        });
    }

    /// A cluster more; the members that it has at the start first, then those that pods may be later.
    pub(super) fn manage(
        &mut self,
        ctx: &mut CheckCtx<'_>,
        managed: &ManagedEtcd,
        placed: &EtcdPlacement<'_>,
        topology: &mut Topology,
        clusters: &mut Names,
    ) -> EtcdId {
        let ManagedEtcd { path, options, leader, revision, database_bytes, disk, .. } = managed;
        let (id, nodes) = (self.clusters.next_key(), placed.nodes);
        let name = format!("{}/{}", placed.home, placed.set);
        clusters.add(ctx, path, &name, id.into());
        let mut disk = disk.clone();
        let pods = nodes.len() + placed.later as usize;
        let all = if nodes.is_empty() { 0 } else { pods * placed.turns };
        if !ctx.copies(&format!("{path}.disk.fsync"), &disk.fsync, all) {
            disk.fsync = Latency::NONE;
        }
        let (mut members, mut lifetimes) = (Vec::new(), Vec::new());
        for k in 0..all {
            let (pod, turn, initial) = (k % pods, k / pods, k < nodes.len());
            // Where a member that comes later will be nobody knows yet.
            let node = nodes[pod % nodes.len()];
            let name = format!("{}-{pod}", placed.set);
            let full = format!("{}/{name}", placed.home);
            let full = if turn == 0 { full } else { format!("{full}#{}", turn + 1) };
            let volume = add_volume(ctx, path, full, initial.then_some(node), &disk, topology);
            lifetimes.push(MemberLifetime {
                id: MemberId { cluster: id, index: k as u8 },
                name: name.clone(),
                from: if initial { Time::ZERO } else { Time::MAX },
                until: Time::MAX,
                joined_as_learner: false,
                learner: false,
                volume: Some(volume),
                path: path.clone(),
            });
            members.push(Member { name, node, volume, learner: !initial, initial, behind: None });
        }
        self.lifetimes.push(lifetimes);
        let mut cluster = EtcdClusterSpec {
            name,
            options: options.clone(),
            initial_leader: leader.filter(|leader| usize::from(*leader) < nodes.len()),
            revision: *revision,
            database_bytes: *database_bytes,
            managed: placed.pods,
            passive: None,
            members,
        };
        if let Some((switching, backup)) = managed.pair {
            passive::pair_up(&mut cluster, switching, backup);
        }
        self.clusters.push(cluster);
        self.disks.push((format!("{path}.disk"), disk));
        id
    }
}

/// A component's pods are members of a cluster.
pub(super) fn make_etcd(workload: &mut Workload, etcd_id: EtcdId, etcd: &ManagedEtcd) {
    (workload.role, workload.start) = (Role::Etcd(etcd_id), etcd.options.start_up);
    if let Some(volume) = &mut workload.volume {
        volume.regional |= etcd.regional;
    }
}
