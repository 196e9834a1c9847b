//! Shoots: which seed hosts each, its components there, its etcd clusters and its plane.
//!
//! ```text
//! file order: seeds' own components -> every shoot's components with the pods that are given -> members of etcd that are not given
//! ```

use super::etcd::{EtcdPlacement, ManagedEtcd, Members};
use super::kube::MULTI_ZONAL;
use super::lower::{Lowering, MAX_SHOOTS, SeedState};
use super::names::Names;
use super::planned_changes::{PlannedChange, ShootStates, asked};
use super::topology::Topology;
use super::workload::{PlannedComponent, WorkloadContext, planned};
use super::{CheckCtx, capacity, cluster, kube, operations, passive, suitable, usage};
use crate::error::quote;
use crate::ids::{EtcdId, KubeClusterId, NodeId, NodeKey, SeedId, TiVec, WorkloadId, ZoneId};
use crate::kube::controllers::Controllers;
use crate::kube::gardener::{FailureTolerance, Hosted, Migration, Recovery, Shoot, ToleranceChange};
use crate::kube::name::PodTag;
use crate::kube::profile::{self, Part};
use crate::kube::routing::Routing;
use crate::kube::scheduler;
use crate::kube::usage::InFlight;
use crate::kube::{Component, KubeClusterSpec, KubeModel, MemberRange, Role, Workload};
use crate::raw::{RawScenario, RawShoot, RawUsage, RawVolumes};
use crate::source::Input;

/// Members of an etcd cluster.
const MAX_MEMBERS: u32 = 9;
/// The same, one after the other.
const MAX_IDENTITIES: usize = 64;

/// Everything the file says of Kubernetes.
pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    topology: &mut Topology,
    etcd_names: &mut Names,
    members: &mut Members,
) -> (KubeModel, Vec<Input>) {
    let mut lowering = Lowering::new();
    if raw.etcd.is_empty() && raw.seeds.is_empty() && raw.clusters.is_empty() {
        ctx.error("etcd", "nothing", "an etcd cluster here, or a cluster in `clusters` or a seed in `seeds`, which have one");
    }
    let stock = kube::stock(ctx, raw, topology, &mut lowering);
    let seeds = kube::seeds(ctx, raw, topology, members, etcd_names, &mut lowering);
    system(ctx, raw, &mut lowering);
    let plain = cluster::validate(ctx, raw, topology, members, etcd_names, &seeds, &mut lowering);
    let total: u64 = raw.shoots.iter().map(|shoot| u64::from(shoot.count)).sum();
    let mut model = KubeModel { stock, ..KubeModel::default() };
    if total > MAX_SHOOTS as u64 {
        ctx.error("shoots", format!("{total} shoots in all"), format!("at most {MAX_SHOOTS}"));
    } else {
        let mut hosting = ShootPlacement {
            lowering: &mut lowering,
            seeds: &seeds,
            first: clusters_so_far(members),
            shoots: Vec::new(),
            clusters: TiVec::new(),
            sets: Vec::new(),
            asked: asked(raw, &seeds),
            changes: Vec::new(),
            migrations: Vec::new(),
        };
        hosting.all(ctx, raw);
        let ShootPlacement { shoots, clusters, sets, mut changes, mut migrations, .. } = hosting;
        changes.sort_by_key(|change| change.at);
        migrations.sort_by_key(|migration| migration.at);
        (model.shoots, model.clusters, model.changes, model.migrations) = (shoots, clusters, changes, migrations);
        for set in sets {
            set.place(ctx, &mut lowering.sites, &mut model.shoots, topology, members, etcd_names);
        }
    }
    model.operations = operations::validate(ctx, raw, &seeds, &plain, &lowering, &model.shoots);
    model.capacity = capacity::validate(ctx, raw, &mut lowering);
    let (mut clusters, mut seeds) = (TiVec::new(), TiVec::new());
    for site in lowering.sites.drain(..) {
        clusters.push(site.cluster);
        seeds.extend(site.hosts_shoots.then_some(site.seed));
    }
    clusters.append(&mut model.clusters);
    if !clusters.is_empty() {
        model.words = std::mem::take(&mut lowering.symbols.list);
    }
    (KubeModel { clusters, seeds, ..model }, lowering.inputs)
}

fn clusters_so_far(members: &Members) -> u16 {
    members.clusters.len() as u16
}

/// What seeds run for themselves.
fn system(ctx: &mut CheckCtx<'_>, raw: &RawScenario, lowering: &mut Lowering) {
    for s in 0..lowering.sites.len() {
        let path = format!("seeds[{}].system", lowering.sites[s].entry);
        let system = &raw.seeds[lowering.sites[s].entry].system;
        let tolerance = if lowering.sites[s].seed.multi_zonal { FailureTolerance::Zone } else { FailureTolerance::Node };
        let cluster = KubeClusterId(s as u16);
        let home = WorkloadContext {
            namespace: "garden".to_owned(),
            tolerance,
            recovery: Recovery::Wait,
            pairs: false,
            pinned: false,
            cluster,
            member_range: MemberRange::default(),
        };
        let all = planned(ctx, lowering, (&path, "components"), &profile::SEED, &system.components, system.only_listed);
        let valid = lowering.sites[s].valid;
        for component in all.into_iter().filter(|_| valid) {
            deploy(ctx, lowering, s, &path, &home, component);
        }
    }
}

/// A component more in a seed.
pub(super) fn deploy(
    ctx: &mut CheckCtx<'_>,
    lowering: &mut Lowering,
    s: usize,
    path: &str,
    home: &WorkloadContext,
    component: PlannedComponent<'_>,
) -> Option<WorkloadId> {
    let mut site = lowering.sites.remove(s);
    let mut workload = component.workload(ctx, lowering, path, home, &site);
    let fits = lowering.has_pod_capacity(ctx, &component.path(path), u64::from(workload.replicas));
    let id = site.cluster.workloads.next_key();
    if fits {
        if workload.replicas > 0 || workload.kind == crate::kube::Kind::DaemonSet {
            suitable::warn(ctx, path, &component, &workload.affinity, &site);
        }
        component.give(ctx, path, &mut workload, &mut site);
        site.cluster.workloads.push(workload);
    }
    lowering.sites.insert(s, site);
    fits.then_some(id)
}

/// Shoots as they find their seeds.
pub(super) struct ShootPlacement<'a> {
    pub(super) lowering: &'a mut Lowering,
    seeds: &'a Names,
    /// The first etcd cluster of a shoot.
    first: u16,
    pub(super) shoots: Vec<Shoot>,
    clusters: TiVec<KubeClusterId, KubeClusterSpec>,
    /// Their etcd clusters, in order.
    sets: Vec<EtcdStatefulSet>,
    /// What is asked for later.
    pub(super) asked: Vec<PlannedChange<'a>>,
    pub(super) changes: Vec<ToleranceChange>,
    pub(super) migrations: Vec<Migration>,
}

impl ShootPlacement<'_> {
    fn all(&mut self, ctx: &mut CheckCtx<'_>, raw: &RawScenario) {
        let mut names = Names::new("a seed or the namespace of a shoot");
        for (s, seed) in raw.seeds.iter().enumerate() {
            if names.get(seed.name.as_str()).is_none() {
                names.add(ctx, &format!("seeds[{s}].name"), seed.name.as_str(), s);
            }
        }
        for (e, entry) in raw.shoots.iter().enumerate() {
            let path = format!("shoots[{e}]");
            self.lowering.mark(ctx, &path, &entry.mark);
            if let Some(usage) = &entry.usage {
                self.lowering.mark(ctx, &format!("{path}.use"), &usage.mark);
            }
            if entry.count > 1 && entry.components.iter().any(|component| !component.pods.is_empty()) {
                ctx.error(
                    &format!("{path}.count"),
                    entry.count.to_string(),
                    "1: its `pods` are listed, and they belong to one shoot",
                );
                continue;
            }
            let components =
                planned(ctx, self.lowering, (&path, "components"), &profile::SHOOT, &entry.components, entry.only_listed);
            for (part, name) in [(Part::EtcdMain, "etcd-main"), (Part::ApiServer, "kube-apiserver")] {
                if !components.iter().any(|component| component.part() == part) {
                    ctx.error(&format!("{path}.components"), format!("no {name}"), format!("{name}: every control plane has it"));
                }
            }
            let mut etcd =
                ManagedEtcd::new(ctx, &format!("{path}.etcd"), &entry.etcd.options, &entry.etcd.initial, &entry.etcd.disk);
            etcd.regional = entry.etcd.volumes == RawVolumes::Regional;
            etcd.pair = passive::of_shoot(ctx, &path, entry, &etcd.options);
            if etcd.regional && entry.recovery == Recovery::Move {
                let expected = "zonal, or another `recovery`: a regional volume follows its pod and is not replaced";
                ctx.error(&format!("{path}.etcd.volumes"), "regional, with recovery move", expected);
            }
            for k in 1..=entry.count {
                let errors = ctx.errors.len();
                self.shoot(ctx, &path, entry, k, &components, &etcd, &mut names);
                // The others of this entry would have the same.
                if ctx.errors.len() > errors {
                    break;
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what differs from shoot to shoot, and what does not")]
    fn shoot(
        &mut self,
        ctx: &mut CheckCtx<'_>,
        path: &str,
        entry: &RawShoot,
        k: u32,
        components: &[PlannedComponent<'_>],
        etcd: &ManagedEtcd,
        names: &mut Names,
    ) {
        let numbered = |text: String| if entry.count > 1 { format!("{text}-{k}") } else { text };
        let name = numbered(entry.name.to_string());
        let namespace =
            entry.namespace.as_ref().map_or_else(|| format!("shoot--garden--{name}"), |given| numbered(given.to_string()));
        let place = if entry.namespace.is_some() { "namespace" } else { "name" };
        let errors = ctx.errors.len();
        names.add(ctx, &format!("{path}.{place}"), &namespace, self.shoots.len());
        if ctx.errors.len() > errors {
            return;
        }
        let seed = match &entry.seed {
            Some(seed) => self.named(ctx, path, seed, entry.failure_tolerance),
            None => self.best(entry.failure_tolerance),
        };
        let mut shoot = Shoot {
            name,
            namespace: self.lowering.symbols.symbol(&namespace),
            tolerance: entry.failure_tolerance,
            recovery: entry.recovery,
            hosted: None,
            elsewhere: Vec::new(),
        };
        self.wishes(&shoot.name);
        if let Some(s) = seed.filter(|s| self.lowering.sites[*s].valid) {
            self.host(ctx, path, s, &mut shoot, namespace, (components, entry.usage.as_ref()), etcd);
        }
        self.shoots.push(shoot);
    }

    /// The seed that the file names.
    fn named(&mut self, ctx: &mut CheckCtx<'_>, path: &str, name: &str, tolerance: FailureTolerance) -> Option<usize> {
        let s = self.seeds.find(ctx, &format!("{path}.seed"), name)?;
        let site = &self.lowering.sites[s];
        if tolerance == FailureTolerance::Zone && !site.seed.multi_zonal {
            let expected = format!("a seed that is multi-zonal: one with {MULTI_ZONAL}");
            if site.valid {
                ctx.error(&format!("{path}.seed"), format!("{}, for a shoot with failure tolerance zone", quote(name)), expected);
            }
            return None;
        }
        Some(s)
    }

    /// The seed that gardener-scheduler would choose, whatever the region: a file's shoots have none.
    fn best(&self, tolerance: FailureTolerance) -> Option<usize> {
        let seeds = self.lowering.sites.iter().filter(|site| site.hosts_shoots);
        let seed = |site: &SeedState| scheduler::Seed {
            region: 0,
            multi_zonal: site.seed.multi_zonal,
            allocatable: site.seed.allocatable_shoots,
            shoots: site.shoots,
        };
        scheduler::choose(None, tolerance, &seeds.map(seed).collect::<Vec<_>>()).ok()
    }

    #[expect(clippy::too_many_arguments, reason = "what differs from shoot to shoot, and what does not")]
    fn host(
        &mut self,
        ctx: &mut CheckCtx<'_>,
        path: &str,
        s: usize,
        shoot: &mut Shoot,
        namespace: String,
        (components, usage): (&[PlannedComponent<'_>], Option<&RawUsage>),
        etcd: &ManagedEtcd,
    ) -> Option<()> {
        let later = ShootStates::new(&self.asked, shoot, s);
        let cluster = KubeClusterId((self.lowering.sites.len() + self.clusters.len()) as u16);
        let site = &mut self.lowering.sites[s];
        let (turn, timers) = (site.shoots, site.cluster.timers);
        site.shoots += 1;
        site.cluster.control_plane_namespaces.push(shoot.namespace);
        let pinned = shoot.tolerance != FailureTolerance::Zone && site.seed.zones.len() > 1;
        let pairs = etcd.pair.is_some();
        let member_range = later.member_range(0);
        let home = WorkloadContext {
            namespace,
            tolerance: shoot.tolerance,
            recovery: shoot.recovery,
            pairs,
            pinned,
            cluster,
            member_range,
        };
        if let Some(asked) = self.asked.iter().find(|asked| pairs && asked.shoot == shoot.name) {
            let expected = "no change of a shoot whose `etcd.mode` is not quorum: its two members cannot be added to or moved";
            ctx.error(&asked.path(), format!("a change of {}", shoot.name), expected);
        }
        let main = EtcdId(self.first + self.sets.len() as u16);
        let mut workloads = Vec::new();
        for component in components {
            let id = deploy(ctx, self.lowering, s, path, &home, *component)?;
            workloads.push(id);
            if !component.is_etcd() {
                continue;
            }
            let etcd_id = EtcdId(self.first + self.sets.len() as u16);
            let workload = &mut self.lowering.sites[s].cluster.workloads[id];
            make_etcd(workload, etcd_id, etcd);
            let (path, namespace) = (component.path(path), home.namespace.clone());
            let (managed, turns) = (etcd.clone(), later.turns());
            let main = component.part() == Part::EtcdMain;
            let (later, shoot) = (Self::beyond(component, &home, &later), self.shoots.len());
            self.sets.push(EtcdStatefulSet { path, main, site: s, workload: id, shoot, namespace, turn, managed, later, turns });
        }
        let site = &self.lowering.sites[s];
        let requests =
            usage.map(|usage| usage::of_shoot(ctx, path, usage, workloads.iter().map(|id| &site.cluster.workloads[*id])));
        let (seed, zones, forms) = (SeedId(s as u16), Vec::new(), Vec::new());
        shoot.hosted = Some(Hosted { seed, cluster, zones, workloads, forms });
        self.later(ctx, path, shoot, &home, components, etcd, &later);
        self.clusters.push(KubeClusterSpec {
            name: home.namespace,
            etcd: main,
            control_plane: Vec::new(),
            control_plane_machine: None,
            nodes: TiVec::new(),
            machine_deployments: TiVec::new(),
            workloads: TiVec::new(),
            control_plane_namespaces: Vec::new(),
            routing: Routing::default(),
            timers,
            requests: requests.unwrap_or_default(),
            in_flight: usage.map_or_else(InFlight::default, usage::in_flight),
            controllers: Controllers::default(),
            components: Component::ALL.to_vec(),
            services: TiVec::new(),
            budgets: Vec::new(),
        });
        Some(())
    }
}

/// A component's pods are members of a cluster.
pub(super) fn make_etcd(workload: &mut Workload, etcd_id: EtcdId, etcd: &ManagedEtcd) {
    (workload.role, workload.start) = (Role::Etcd(etcd_id), etcd.options.start_up);
    if let Some(volume) = &mut workload.volume {
        volume.regional |= etcd.regional;
    }
}

/// An etcd cluster of a shoot, before it is known where its members start.
struct EtcdStatefulSet {
    path: String,
    /// It is the one that the shoot's objects are in.
    main: bool,
    site: usize,
    workload: WorkloadId,
    shoot: usize,
    namespace: String,
    /// How many shoots its seed had before: they start in zones in turn.
    turn: u32,
    managed: ManagedEtcd,
    /// Pods there may be more, later.
    later: u32,
    /// Volumes that each may have.
    turns: usize,
}

impl EtcdStatefulSet {
    /// Finds a node for each member that the file gives none.
    fn place(
        self,
        ctx: &mut CheckCtx<'_>,
        sites: &mut [SeedState],
        shoots: &mut [Shoot],
        topology: &mut Topology,
        members: &mut Members,
        etcd_names: &mut Names,
    ) {
        let site = &mut sites[self.site];
        let workload = site.cluster.workloads[self.workload].clone();
        if !(1..=MAX_MEMBERS).contains(&(workload.replicas + self.later)) || workload.replicas == 0 {
            let expected = format!("1 to {MAX_MEMBERS} members");
            ctx.error(&format!("{}.replicas", self.path), workload.replicas.to_string(), expected);
            return;
        }
        if self.managed.pair.is_some() && workload.replicas != 2 {
            ctx.error(&format!("{}.replicas", self.path), workload.replicas.to_string(), passive::TWO_PODS);
        }
        let all = (workload.replicas + self.later) as usize * self.turns;
        if all > MAX_IDENTITIES {
            let found = format!("{all} members in sequence, because its shoot migrates so often");
            ctx.error(&self.path, found, format!("at most {MAX_IDENTITIES}"));
            return;
        }
        let Some(hosted) = shoots[self.shoot].hosted.as_mut() else { return };
        let (tolerance, main) = (shoots[self.shoot].tolerance, self.main);
        let nodes = place_members(&workload, site, tolerance, self.turn, &hosted.zones).unwrap_or_default();
        if nodes.is_empty() {
            let found = format!("{}, for whose {} members there are no nodes", quote(&workload.name), workload.replicas);
            let expected = match tolerance {
                FailureTolerance::None => "a node that it may run on, with free capacity",
                FailureTolerance::Node => "as many nodes in one zone that they may run on, with free capacity",
                FailureTolerance::Zone => "a node in each of as many zones that they may run on, with free capacity",
            };
            ctx.error(&self.path, found, format!("{expected}: pools with a larger `minimum`, or larger machines"));
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
    site: &SeedState,
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
