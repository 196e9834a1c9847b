//! Shoots: which seed hosts each, its components there, its etcd clusters and its cluster.
//!
//! ```text
//! file order: seeds' own components -> every shoot's components with the pods that are given -> members of etcd that are not given
//! ```

use super::deploy::deploy;
use super::etcd::{DRUID_QUOTA, ManagedEtcd, make_etcd};
use super::kube::{MULTI_ZONAL, TWO_ZONES};
use super::planned_changes::{self, PlannedChange, ShootStates, asked, later_forms};
use super::shoot_etcd::EtcdStatefulSet;
use super::workload::{PlannedComponent, WorkloadContext, essential, planned};
use super::{capacity, cluster, kube, operations, passive, usage};
use crate::error::quote;
use crate::ids::{EtcdId, KubeClusterId, SeedId, TiVec};
use crate::kube::controllers::Controllers;
use crate::kube::gardener::{
    FailureTolerance, Hosted, Migration, Recovery, SeedRejection, Shoot, ToleranceChange, ZoneTolerance,
};
use crate::kube::profile::{self, Part};
use crate::kube::routing::Routing;
use crate::kube::scheduler;
use crate::kube::usage::InFlight;
use crate::kube::volume::Disks;
use crate::kube::zone_aware::ZoneAware;
use crate::kube::{Component, KubeClusterSpec, KubeModel, MemberRange, Operation};
use crate::lowering::{CheckCtx, ClusterDraft, ClusterDrafts, MAX_SHOOTS, Members, Names, Topology};
use crate::operation::ShootChange;
use crate::raw::{RawScenario, RawShoot, RawVolumes};
use crate::source::Input;

/// What a shoot that survives a zone can be on a seed over two zones.
const ACTIVE_PASSIVE: &str =
    "`etcd.mode` hot_standby or learner, whose two members need two zones (GEP-20, etcd Active-Passive Options)";

/// Everything the file says of Kubernetes.
pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    topology: &mut Topology,
    etcd_names: &mut Names,
    members: &mut Members,
) -> (KubeModel, Vec<Input>) {
    let mut lowering = ClusterDrafts::new();
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
            set.place(ctx, &mut lowering.clusters, &mut model.shoots, topology, members, etcd_names);
        }
    }
    model.operations = operations::validate(ctx, raw, &seeds, &plain, &topology.zone_names, &lowering, &model.shoots);
    for Operation { cluster, task, .. } in &model.operations {
        // Shoots' components are scaled by gardenlet, which no record tells.
        let site = &mut lowering.clusters[usize::from(*cluster)];
        if let Some(workload) = task.rolls().filter(|_| !site.hosts_shoots) {
            site.cluster.workloads[workload].update.followed = true;
        }
    }
    model.capacity = capacity::validate(ctx, raw, &mut lowering);
    let (mut clusters, mut seeds) = (TiVec::new(), TiVec::new());
    for site in lowering.clusters.drain(..) {
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
fn system(ctx: &mut CheckCtx<'_>, raw: &RawScenario, lowering: &mut ClusterDrafts) {
    for s in 0..lowering.clusters.len() {
        let path = format!("seeds[{}].system", lowering.clusters[s].entry);
        let system = &raw.seeds[lowering.clusters[s].entry].system;
        let tolerance = match lowering.clusters[s].seed.zone_tolerance {
            ZoneTolerance::None => FailureTolerance::Node,
            ZoneTolerance::Pair | ZoneTolerance::Quorum => FailureTolerance::Zone,
        };
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
        let valid = lowering.clusters[s].valid;
        for component in all.into_iter().filter(|_| valid) {
            deploy(ctx, lowering, s, &path, &home, component);
        }
    }
}

/// Shoots as they find their seeds.
struct ShootPlacement<'a> {
    lowering: &'a mut ClusterDrafts,
    seeds: &'a Names,
    /// The first etcd cluster of a shoot.
    first: u16,
    shoots: Vec<Shoot>,
    clusters: TiVec<KubeClusterId, KubeClusterSpec>,
    /// Their etcd clusters, in order.
    sets: Vec<EtcdStatefulSet>,
    /// What is asked for later.
    asked: Vec<PlannedChange<'a>>,
    changes: Vec<ToleranceChange>,
    migrations: Vec<Migration>,
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
            essential(ctx, &path, &components);
            let mut etcd = ManagedEtcd::new(
                ctx,
                &format!("{path}.etcd"),
                (&entry.etcd.options, DRUID_QUOTA),
                &entry.etcd.initial,
                &entry.etcd.disk,
            );
            etcd.regional = entry.etcd.volumes == RawVolumes::Regional;
            etcd.pair = passive::of_shoot(ctx, &path, entry, &etcd.options);
            if etcd.regional && entry.recovery == Recovery::Move {
                let expected = "zonal, or another `recovery`: a regional volume follows its pod and is not replaced";
                ctx.error(&format!("{path}.etcd.volumes"), "regional, with recovery move", expected);
            }
            let prefers = entry.recovery == Recovery::Preferred && entry.failure_tolerance == FailureTolerance::Zone;
            if prefers && !etcd.regional {
                let expected = "`etcd.volumes` regional, or another recovery: a volume of one zone keeps its member there (GEP-20, Option #3, \
                                Approach-#1)";
                ctx.warn(&format!("{path}.recovery"), "preferred, with zonal volumes, which changes nothing", expected);
            }
            let before = self.shoots.len();
            for k in 1..=entry.count {
                let errors = ctx.errors.len();
                self.shoot(ctx, &path, entry, k, &components, &etcd, &mut names);
                // The others of this entry would have the same.
                if ctx.errors.len() > errors {
                    break;
                }
            }
            let zones = if etcd.pair.is_some() { TWO_ZONES } else { MULTI_ZONAL };
            self.warn_of_pending(ctx, &path, before, zones);
        }
    }

    /// Warns of shoots that no seed takes, among those from `first` on, which the file has at `path`. `zones` is what a seed must have
    /// for those that survive a zone.
    fn warn_of_pending(&self, ctx: &mut CheckCtx<'_>, path: &str, first: usize, zones: &str) {
        let name = |seed: SeedId| self.lowering.clusters[usize::from(seed)].seed.name.as_str();
        let all = &self.shoots[first..];
        let pending: Vec<_> = all.iter().filter_map(|shoot| shoot.pending(name)).collect();
        if let [why, ..] = &pending[..] {
            let found = format!("{} of {} control planes that are never created: {why}", pending.len(), all.len());
            let expected =
                format!("seeds that take all, with room by `allocatable_shoots`; for failure tolerance zone with {zones}");
            ctx.warn(path, found, expected);
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
        let needed = ZoneTolerance::needed(entry.failure_tolerance, etcd.pair.is_some());
        let (seed, rejections) = match &entry.seed {
            Some(seed) => (self.named(ctx, path, seed, &name, needed), Vec::new()),
            None => self.best(needed).map_or_else(|rejections| (None, rejections), |seed| (Some(seed), Vec::new())),
        };
        let mut shoot = Shoot {
            name,
            namespace: self.lowering.symbols.symbol(&namespace),
            tolerance: entry.failure_tolerance,
            recovery: entry.recovery,
            hosted: None,
            rejections: rejections.into(),
            elsewhere: Vec::new(),
        };
        self.wishes(ctx, &shoot);
        if let Some(s) = seed.filter(|s| self.lowering.clusters[*s].valid) {
            self.host(ctx, path, s, &mut shoot, namespace, (components, entry), etcd);
        }
        self.shoots.push(shoot);
    }

    /// What the shoot that comes next is asked for.
    fn wishes(&mut self, ctx: &mut CheckCtx<'_>, shoot: &Shoot) {
        planned_changes::warn_of_the_void(ctx, &self.asked, shoot);
        let index = self.shoots.len() as u16;
        for asked in self.asked.iter().filter(|asked| asked.shoot == shoot.name) {
            match asked.what {
                ShootChange::SetTolerance(to) => self.changes.push(ToleranceChange { at: asked.at, shoot: index, to }),
                ShootChange::Migrate(to) => {
                    self.migrations.push(Migration { at: asked.at, shoot: index, to: SeedId(to as u16) });
                }
            }
        }
    }

    /// The seed that the file names, if it may host the shoot as well (gardener/gardener `plugin/pkg/shoot/validator`,
    /// `validateScheduling`).
    fn named(&mut self, ctx: &mut CheckCtx<'_>, path: &str, seed: &str, shoot: &str, needed: ZoneTolerance) -> Option<usize> {
        let path = format!("{path}.seed");
        let s = self.seeds.find(ctx, &path, seed)?;
        let site = &self.lowering.clusters[s];
        let (found, expected) = match candidate(site).admit(None, needed) {
            Ok(()) => return Some(s),
            Err(SeedRejection::TooFewZones { .. }) => (
                format!("{}, for a shoot with failure tolerance zone", quote(seed)),
                match (needed, site.seed.zone_tolerance) {
                    (ZoneTolerance::Pair, _) => format!("a seed over two zones: one with {TWO_ZONES}"),
                    (_, ZoneTolerance::Pair) => {
                        format!("a seed that is multi-zonal: one with {MULTI_ZONAL}; or {ACTIVE_PASSIVE}")
                    }
                    _ => format!("a seed that is multi-zonal: one with {MULTI_ZONAL}"),
                },
            ),
            Err(SeedRejection::Full | SeedRejection::OtherRegion) => (
                format!("{}, for shoot {}: it has the maximum number of shoots scheduled on it", quote(seed), quote(shoot)),
                format!("a seed that takes another shoot: this one has `allocatable_shoots` {}", site.seed.allocatable_shoots),
            ),
        };
        if site.valid {
            ctx.error(&path, found, expected);
        }
        None
    }

    /// The seed that gardener-scheduler would choose, whatever the region: a file's shoots have none.
    ///
    /// # Errors
    /// Why each seed does not suit it.
    fn best(&self, needed: ZoneTolerance) -> Result<usize, Vec<SeedRejection>> {
        let seeds = self.lowering.clusters.iter().filter(|site| site.hosts_shoots);
        scheduler::choose(None, needed, &seeds.map(candidate).collect::<Vec<_>>())
    }

    #[expect(clippy::too_many_arguments, reason = "what differs from shoot to shoot, and what does not")]
    fn host(
        &mut self,
        ctx: &mut CheckCtx<'_>,
        path: &str,
        s: usize,
        shoot: &mut Shoot,
        namespace: String,
        (components, entry): (&[PlannedComponent<'_>], &RawShoot),
        etcd: &ManagedEtcd,
    ) -> Option<()> {
        let later = ShootStates::new(&self.asked, shoot, s);
        let cluster = KubeClusterId((self.lowering.clusters.len() + self.clusters.len()) as u16);
        let site = &mut self.lowering.clusters[s];
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
            let workload = &mut self.lowering.clusters[s].cluster.workloads[id];
            make_etcd(workload, etcd_id, etcd);
            let (path, namespace) = (component.path(path), home.namespace.clone());
            let (managed, turns) = (etcd.clone(), later.turns());
            let main = component.part() == Part::EtcdMain;
            let (later, shoot) = (later.beyond(component, &home), self.shoots.len());
            self.sets.push(EtcdStatefulSet { path, main, site: s, workload: id, shoot, namespace, turn, managed, later, turns });
        }
        let site = &self.lowering.clusters[s];
        let own = || workloads.iter().map(|id| &site.cluster.workloads[*id]);
        let usage = entry.usage.as_ref();
        let requests = usage.map(|usage| usage::of_shoot(ctx, path, usage, own()));
        usage::warn_of_small_database(
            ctx,
            &format!("{path}.etcd"),
            entry.etcd.initial.database,
            requests.as_deref().unwrap_or(&[]),
        );
        let background = if usage.is_some() { Vec::new() } else { usage::behind_shoot(own()) };
        let (seed, zones, forms) = (SeedId(s as u16), Vec::new(), Vec::new());
        shoot.hosted = Some(Hosted { seed, cluster, zones, workloads, forms });
        later_forms(self.lowering, ctx, path, shoot, &home, components, etcd, &later);
        self.clusters.push(KubeClusterSpec {
            name: home.namespace,
            etcd: main,
            control_plane: Vec::new(),
            added_hosts: 0,
            control_plane_machine: None,
            nodes: TiVec::new(),
            machine_deployments: TiVec::new(),
            workloads: TiVec::new(),
            control_plane_namespaces: Vec::new(),
            routing: Routing::default(),
            resources: entry.api_servers.resources(),
            shutdown_delay: entry.api_servers.shutdown_delay.map(|span| span.0),
            access: None,
            not_advertising: Vec::new(),
            api_clients: TiVec::new(),
            timers,
            requests: requests.unwrap_or_default(),
            in_flight: usage.map_or_else(InFlight::default, usage::in_flight),
            fairness: usage.and_then(usage::fairness),
            background,
            controllers: Controllers::default(),
            components: Component::ALL.to_vec(),
            services: TiVec::new(),
            budgets: Vec::new(),
            zone_aware: ZoneAware::default(),
            disks: Disks::default(),
        });
        Some(())
    }
}

/// A seed as the scheduler sees it.
const fn candidate(site: &ClusterDraft) -> scheduler::Seed {
    scheduler::Seed {
        region: 0,
        zone_tolerance: site.seed.zone_tolerance,
        allocatable: site.seed.allocatable_shoots,
        shoots: site.shoots,
    }
}
