//! The control plane of a shoot as one seed has it: where it is, how far it is with what it is asked for, and what can be told of its pods.
//!
//! This is the state alone. etcd-druid ([`druid`](super::druid)) and gardenlet ([`gardenlet`](super::gardenlet)) change it, and find it in
//! the [`garden`](super::garden).

use std::collections::BTreeSet;

use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::name::{PodName, PodTag};
use zonefall_kube::spec::gardener::{self, FailureTolerance, Hosted, Recovery};
use zonefall_kube::spec::{Role, Workload};
use zonefall_kube::store::{Change, Store};
use zonefall_scenario::ids::{KubeClusterId, MemberId, SeedId, WorkloadId, ZoneId};

/// A shoot whose control plane may change, as one seed has it.
#[derive(Clone, Debug)]
pub(super) struct Shoot {
    /// Its place among all shoots.
    pub(super) key: u16,
    /// This seed.
    pub(super) seed: SeedId,
    /// Its own API.
    pub(super) cluster: KubeClusterId,
    pub(super) place: Residence,
    /// What it is asked for on its way, for when it is there.
    pub(super) later: Vec<u16>,
    /// Its etcd clusters.
    pub(super) sets: Vec<WorkloadId>,
    /// All of its components.
    pub(super) workloads: Vec<WorkloadId>,
    pub(super) tolerance: FailureTolerance,
    recovery: Recovery,
    pub(super) multi_zonal: bool,
    pub(super) upgrade: Option<Upgrade>,
    /// Clusters whose pods need not be in zones of their own.
    pub(super) relaxed: BTreeSet<WorkloadId>,
    /// Pods of which it was told that they cannot move again.
    pub(super) spent: BTreeSet<PodName>,
}

/// A pod of an etcd cluster, as druid sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) name: PodName,
    pub(super) ordinal: u32,
    /// The zone its volume is in.
    pub(super) home: Option<ZoneId>,
    /// It stays what it is, serves and has a vote.
    pub(super) settled: bool,
}

/// Where a shoot's control plane is, as one seed sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Residence {
    Here,
    Elsewhere,
    /// A place in [`KubeModel::migrations`](zonefall_kube::spec::KubeModel::migrations), and how far that is.
    Leaves(u16, SourceStep),
    Arrives(TargetStep),
}

/// What the seed does that a shoot leaves, one thing after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceStep {
    Requested,
    /// API servers and controllers are to end.
    Stops,
    /// Nobody asks etcd any more.
    Closed,
    /// A snapshot is under way.
    Uploads,
    /// It is in the bucket.
    Kept,
    /// etcd is to end.
    Ends,
}

/// What the seed does that a shoot moves to, one thing after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetStep {
    Requested,
    /// One member of each etcd cluster is wanted.
    Restores,
    /// API servers are.
    Restored,
    /// All are.
    Serves,
}

/// How far a change of the failure tolerance is.
#[derive(Clone, Debug)]
pub(super) struct Upgrade {
    /// A place in [`KubeModel::changes`](zonefall_kube::spec::KubeModel::changes).
    pub(super) change: u16,
    pub(super) step: UpgradeStep,
}

/// What is done for a higher failure tolerance, one thing after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpgradeStep {
    Admitted,
    /// Its pod is replaced by one that talks TLS.
    Restarts,
    /// More pods are wanted, which join.
    Grows,
    /// All members are there.
    Grown,
    /// The other components change.
    Follows,
}

impl Shoot {
    /// A shoot in a place that the scenario has for it, as the run starts.
    pub(super) fn new(key: u16, spec: &gardener::Shoot, hosted: &Hosted, begins_here: bool, ctx: &ClusterCtx<'_>) -> Self {
        let is_etcd = |id: &WorkloadId| matches!(ctx.spec.workloads[*id].role, Role::Etcd(_));
        Self {
            key,
            seed: hosted.seed,
            cluster: hosted.cluster,
            place: if begins_here { Residence::Here } else { Residence::Elsewhere },
            later: Vec::new(),
            sets: hosted.workloads.iter().copied().filter(is_etcd).collect(),
            workloads: hosted.workloads.clone(),
            tolerance: spec.tolerance,
            recovery: spec.recovery,
            multi_zonal: ctx.scenario.kube.seeds[hosted.seed].is_multi_zonal(),
            upgrade: None,
            relaxed: BTreeSet::new(),
            spent: BTreeSet::new(),
        }
    }

    /// Whether something may be to do for it that has to do with a component, or with none.
    pub(super) fn is_concerned(&self, about: Option<WorkloadId>) -> bool {
        match about {
            _ if !self.is_busy() && !self.moves() => false,
            Some(workload) => (if self.is_busy() { &self.workloads } else { &self.sets }).contains(&workload),
            None => true,
        }
    }

    /// Whether it waits for etcd to reach a backup bucket.
    pub(super) fn waits_for_bucket(&self) -> bool {
        matches!(self.place, Residence::Leaves(_, SourceStep::Closed))
    }

    /// Its members of etcd leave a zone that has an outage.
    pub(super) fn moves(&self) -> bool {
        self.place == Residence::Here && self.recovery == Recovery::Move && self.tolerance == FailureTolerance::Zone
    }

    /// It changes, or moves to another seed.
    const fn is_busy(&self) -> bool {
        self.upgrade.is_some() || matches!(self.place, Residence::Leaves(..) | Residence::Arrives(_))
    }

    /// Its components as they are to be.
    pub(super) fn form<'a>(&self, ctx: &ClusterCtx<'a>) -> impl Iterator<Item = (WorkloadId, &'a Workload)> + use<'a> {
        let mut places = ctx.scenario.kube.shoots[usize::from(self.key)].places();
        let hosted = places.find(|hosted| hosted.seed == self.seed).expect("it has a place here");
        hosted.workloads.iter().copied().zip(hosted.form(self.tolerance))
    }

    /// Whether all members of its etcd clusters that are wanted serve, as what they are to be.
    pub(super) fn etcd_serves(&self, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
        self.sets.iter().all(|set| {
            let ready = |pod: &Seen| pod.settled && store.named(pod.name).is_some_and(|pod| pod.ready);
            !store.is_rolling(*set) && Self::pods(*set, store, ctx).iter().all(ready)
        })
    }

    /// The pods that are wanted of an etcd cluster.
    pub(super) fn pods(set: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> Vec<Seen> {
        let workload = &ctx.spec.workloads[set];
        let Role::Etcd(cluster) = workload.role else { unreachable!("a set is etcd's") };
        let spec = &ctx.scenario.etcd[cluster];
        let see = |ordinal: u32| {
            let name = PodName { workload: set, tag: PodTag::Ordinal(ordinal) };
            let claim = store.claim(name).filter(|claim| !claim.deleted);
            let stays = claim.is_some() && store.named(name).is_some_and(|pod| !pod.terminating);
            let votes = workload
                .member(spec, ordinal, store.volumes_before(name))
                .is_some_and(|member| ctx.storage.serves_as_voter(MemberId { cluster, index: member }));
            Seen { name, ordinal, home: claim.map(|claim| claim.home), settled: stays && votes }
        };
        (0..store.desired(set)).map(see).collect()
    }
}

/// The component that a change is about, where that may matter to the control planes of shoots.
pub(super) const fn about(change: &Change) -> Option<WorkloadId> {
    match *change {
        Change::Removed(_, name, _) | Change::Unclaimed(name) => Some(name.workload),
        Change::Readiness(workload) | Change::Members(workload) => Some(workload),
        _ => None,
    }
}
