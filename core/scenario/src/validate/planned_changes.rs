//! What shoots are asked for later: to survive more than they do at the start, or to move to another seed. All that comes of it is known
//! here: their components in each form they may take, and in each seed they may be in.

use super::etcd::{ManagedEtcd, make_etcd};
use super::workload::{PlannedComponent, WorkloadContext};
use crate::ids::{EtcdId, SeedId, WorkloadId};
use crate::kube::gardener::{FailureTolerance, Hosted, Recovery, Shoot, VOLUMES};
use crate::kube::{Kind, MemberRange, Role, Workload};
use crate::lowering::{CheckCtx, ClusterDrafts, Names};
use crate::operation::{Of, ShootChange};
use crate::raw::RawScenario;
use zonefall_kernel::time::Time;

/// Something that a shoot is asked for.
pub(super) struct PlannedChange<'a> {
    /// Its place among the file's operations.
    operation: usize,
    pub(super) at: Time,
    pub(super) shoot: &'a str,
    word: &'static str,
    pub(super) what: ShootChange,
}

impl PlannedChange<'_> {
    /// Where the file says so.
    pub(super) fn path(&self) -> String {
        format!("operations[{}].{}", self.operation, self.word)
    }
}

/// All of it, as the file has it; seeds that are not there are told of elsewhere.
pub(super) fn asked<'a>(raw: &'a RawScenario, seeds: &Names) -> Vec<PlannedChange<'a>> {
    let asked = raw.operations.iter().enumerate().filter_map(|(place, operation)| {
        let Of::Shoot(asked) = operation.change.of() else { return None };
        let what = asked.change(&|seed| seeds.get(seed))?;
        let (at, shoot, word) = (Time::ZERO + operation.at.0, asked.shoot(), operation.change.word());
        Some(PlannedChange { operation: place, at, shoot, word, what })
    });
    asked.collect()
}

/// Warns of a failure tolerance that a shoot is asked for when it has it already.
pub(super) fn warn_of_the_void(ctx: &mut CheckCtx<'_>, asked: &[PlannedChange<'_>], shoot: &Shoot) {
    let of_tolerance = asked.iter().filter(|asked| asked.shoot == shoot.name).filter_map(|asked| match asked.what {
        ShootChange::SetTolerance(to) => Some((asked, to)),
        ShootChange::Migrate(_) => None,
    });
    let mut in_order: Vec<_> = of_tolerance.collect();
    in_order.sort_by_key(|(asked, _)| asked.at);
    // Unknown once it depends on the seed whether a change is admitted.
    let mut now = Some(shoot.tolerance);
    for (asked, to) in in_order {
        if now == Some(to) {
            let expected = format!("another failure tolerance than {}, which the shoot has already", to.describe());
            ctx.warn(&format!("{}.to", asked.path()), "a change that changes nothing", expected);
        } else if now == Some(FailureTolerance::None) {
            now = Some(to).filter(|to| *to == FailureTolerance::Node);
        }
    }
}

/// What may become of one shoot.
pub(super) struct ShootStates {
    /// What it may be to survive, at the start first.
    pub(super) tolerances: Vec<FailureTolerance>,
    /// The seeds it may be in, that of the start first.
    pub(super) clusters: Vec<usize>,
    /// Volumes that each of its members of etcd may have in one seed.
    turns: u8,
}

impl ShootStates {
    pub(super) fn new(asked: &[PlannedChange<'_>], shoot: &Shoot, site: usize) -> Self {
        let (mut tolerances, mut clusters) = (vec![shoot.tolerance], vec![site]);
        let mut arrivals = vec![1_u8];
        for asked in asked.iter().filter(|asked| asked.shoot == shoot.name) {
            match asked.what {
                ShootChange::SetTolerance(to) if tolerances.contains(&to) => {}
                ShootChange::SetTolerance(to) => tolerances.push(to),
                ShootChange::Migrate(to) => {
                    let known = clusters.iter().position(|site| *site == to).unwrap_or(clusters.len());
                    if known == clusters.len() {
                        clusters.push(to);
                        arrivals.push(0);
                    }
                    arrivals[known] = arrivals[known].saturating_add(1);
                }
            }
        }
        let moves = shoot.recovery == Recovery::Move && tolerances.contains(&FailureTolerance::Zone);
        // Far more than a run allows for is told of when its members are known.
        let turns = arrivals.into_iter().max().unwrap_or(1).saturating_mul(if moves { VOLUMES } else { 1 });
        Self { tolerances, clusters, turns }
    }

    /// The members of etcd that pods in the seed at this place may be.
    pub(super) fn member_range(&self, place: usize) -> MemberRange {
        if self.clusters.len() == 1 {
            return MemberRange::default();
        }
        let place = u8::try_from(place).unwrap_or(u8::MAX);
        MemberRange { first: self.turns.saturating_mul(place), count: self.turns }
    }

    /// How many a pod of this name may be in all.
    pub(super) fn turns(&self) -> usize {
        usize::from(self.turns) * self.clusters.len()
    }

    /// Members that each etcd cluster may have beyond those of the start.
    pub(super) fn beyond(&self, component: &PlannedComponent<'_>, home: &WorkloadContext) -> u32 {
        debug_assert!(component.is_etcd(), "{} is none of etcd's", component.name());
        let replicas = |tolerance: &FailureTolerance| component.replicas(*tolerance, home);
        let most = self.tolerances.iter().map(replicas).max().unwrap_or(0);
        most.saturating_sub(replicas(&home.tolerance))
    }
}

/// Its components in all forms they may take in the seed that `hosted` is of.
#[expect(clippy::too_many_arguments, reason = "what differs from seed to seed, and what does not")]
fn add_forms(
    lowering: &mut ClusterDrafts,
    ctx: &mut CheckCtx<'_>,
    path: &str,
    hosted: &mut Hosted,
    home: &WorkloadContext,
    components: &[PlannedComponent<'_>],
    etcd_ids: &[Option<EtcdId>],
    etcd: &ManagedEtcd,
    later: &ShootStates,
) {
    let s = usize::from(hosted.seed);
    for tolerance in &later.tolerances {
        let pinned = *tolerance != FailureTolerance::Zone && lowering.clusters[s].seed.zones.len() > 1;
        let home = WorkloadContext { namespace: home.namespace.clone(), tolerance: *tolerance, pinned, ..*home };
        let site = lowering.clusters.remove(s);
        let form = |(component, etcd_id): (&PlannedComponent<'_>, &Option<EtcdId>)| {
            let mut workload = component.workload(ctx, lowering, path, &home, &site);
            if let Some(etcd_id) = etcd_id {
                make_etcd(&mut workload, *etcd_id, etcd);
            }
            workload
        };
        hosted.forms.push((*tolerance, components.iter().zip(etcd_ids).map(form).collect()));
        lowering.clusters.insert(s, site);
    }
}

/// The forms that a shoot's components may take where it is, and the seeds that may host it later.
#[expect(clippy::too_many_arguments, reason = "what differs from shoot to shoot, and what does not")]
pub(super) fn later_forms(
    lowering: &mut ClusterDrafts,
    ctx: &mut CheckCtx<'_>,
    path: &str,
    shoot: &mut Shoot,
    home: &WorkloadContext,
    components: &[PlannedComponent<'_>],
    etcd: &ManagedEtcd,
    later: &ShootStates,
) {
    let Some(hosted) = &mut shoot.hosted else { return };
    if later.tolerances.len() + later.clusters.len() == 2 {
        return;
    }
    let workloads = &lowering.clusters[later.clusters[0]].cluster.workloads;
    let etcd_id = |id: &WorkloadId| match workloads[*id].role {
        Role::Etcd(etcd_id) => Some(etcd_id),
        _ => None,
    };
    let etcd_ids: Vec<Option<EtcdId>> = hosted.workloads.iter().map(etcd_id).collect();
    add_forms(lowering, ctx, path, hosted, home, components, &etcd_ids, etcd, later);
    for (place, s) in later.clusters.iter().enumerate().skip(1) {
        let home = WorkloadContext { namespace: home.namespace.clone(), member_range: later.member_range(place), ..*home };
        let (seed, cluster, zones, forms) = (SeedId(*s as u16), home.cluster, Vec::new(), Vec::new());
        let mut there = Hosted { seed, cluster, zones, workloads: Vec::new(), forms };
        add_forms(lowering, ctx, path, &mut there, &home, components, &etcd_ids, etcd, later);
        reserve(lowering, ctx, path, shoot, &mut there, components);
        shoot.elsewhere.push(there);
    }
}

/// A place for a shoot's components in a seed that may host it later: none of their pods is wanted yet.
fn reserve(
    lowering: &mut ClusterDrafts,
    ctx: &mut CheckCtx<'_>,
    path: &str,
    shoot: &Shoot,
    there: &mut Hosted,
    components: &[PlannedComponent<'_>],
) {
    let (s, mut ids) = (usize::from(there.seed), Vec::new());
    for (component, workload) in components.iter().zip(there.form(shoot.tolerance)) {
        let path = component.path(path);
        if workload.kind == Kind::DaemonSet {
            let found = "a DaemonSet, of a shoot that is to move to another seed";
            ctx.error(&path, found, "a Deployment or StatefulSet: what runs on every node belongs to the seed");
        }
        if !lowering.has_pod_capacity(ctx, &path, u64::from(workload.replicas)) {
            return;
        }
        let cluster = &mut lowering.clusters[s].cluster;
        ids.push(cluster.workloads.push_and_get_key(Workload { replicas: 0, ..workload.clone() }));
    }
    there.workloads = ids;
    lowering.clusters[s].cluster.control_plane_namespaces.push(shoot.namespace);
}
