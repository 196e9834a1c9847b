//! Gardener as a scenario has it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Workload;
use super::labels::Symbol;
use crate::ids::{KubeClusterId, MachineDeploymentId, SeedId, TiVec, WorkloadId, ZoneId};
use crate::units::int_or_percent::IntOrPercent;
use zonefall_kernel::time::Time;

/// Failure tolerance of a shoot's control plane (GEP-20, `highAvailability.failureTolerance.type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureTolerance {
    /// None: one replica of each component.
    #[default]
    None,
    /// The failure of a node: replicas on several nodes of one zone.
    Node,
    /// The failure of a zone: replicas in several zones.
    Zone,
}

impl FailureTolerance {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::None, Self::Node, Self::Zone];

    /// As the specification of a shoot has it.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Node => "node",
            Self::Zone => "zone",
        }
    }
}

/// How etcd clusters can survive the loss of a zone: each seed has one of these, each shoot needs one, and a seed suits every shoot that
/// needs no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ZoneTolerance {
    /// Not at all.
    #[default]
    None,
    /// As active-passive pairs, one member in each of two zones (GEP-20, "etcd Active-Passive Options").
    Pair,
    /// As quorums of three members in three zones: the seed is multi-zonal (`seed.gardener.cloud/multi-zonal`).
    Quorum,
}

impl fmt::Display for ZoneTolerance {
    /// What a seed has that can host such control planes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no suitable pool over two zones",
            Self::Pair => "a suitable pool over two zones",
            Self::Quorum => "a suitable pool over three zones",
        })
    }
}

impl ZoneTolerance {
    /// What a shoot needs whose etcd clusters are pairs, or quorums.
    pub const fn needed(tolerance: FailureTolerance, pairs: bool) -> Self {
        match tolerance {
            FailureTolerance::None | FailureTolerance::Node => Self::None,
            FailureTolerance::Zone if pairs => Self::Pair,
            FailureTolerance::Zone => Self::Quorum,
        }
    }
}

/// Recovery of a shoot's control plane from the loss of a zone (GEP-20, "Handling Outages": recovery options).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Option 1: pods bound to the zone wait for it.
    #[default]
    Wait,
    /// Option 2: every critical component has two replicas, or more.
    Redundant,
    /// Option 3, first approach: etcd members prefer different zones, but may share one.
    Preferred,
    /// Option 3, second approach: an etcd member in a failed zone is moved with a new volume, and moved back when the zone recovers.
    Move,
}

/// A cluster that hosts control planes of shoots.
#[derive(Clone, Debug, PartialEq)]
pub struct Seed {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Its Kubernetes API.
    pub cluster: KubeClusterId,
    /// Where its nodes stand.
    pub zones: Vec<ZoneId>,
    /// Control planes that survive the loss of a zone, which it can host.
    pub zone_tolerance: ZoneTolerance,
    /// Control planes that it takes (`status.allocatable.shoots`).
    pub allocatable_shoots: u32,
    /// Nodes that its range of addresses holds.
    pub addresses: u64,
    /// Its worker pools.
    pub pools: Vec<Pool>,
}

impl Seed {
    /// It can host quorums of etcd that survive the loss of a zone (`seed.gardener.cloud/multi-zonal`).
    pub fn is_multi_zonal(&self) -> bool {
        self.zone_tolerance == ZoneTolerance::Quorum
    }
}

/// Why a seed does not suit a shoot: the first filter that it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeedRejection {
    /// It hosts as many shoots as it may.
    Full,
    /// The shoot is to survive a zone, and no pool of the seed spans the zones that this takes.
    TooFewZones {
        /// What the seed can host.
        found: ZoneTolerance,
        /// What the shoot needs.
        needed: ZoneTolerance,
    },
    /// It is in another region than the shoot.
    OtherRegion,
}

impl fmt::Display for SeedRejection {
    /// In the scheduler's words, of one seed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "seed does not have available capacity for shoots",
            Self::TooFewZones { needed: ZoneTolerance::Pair, .. } => {
                "seed does not span two zones, for a shoot control plane with failure tolerance type 'zone'"
            }
            Self::TooFewZones { .. } => "seed is not multi-zonal, for a shoot control plane with failure tolerance type 'zone'",
            Self::OtherRegion => "seed is in another region",
        })
    }
}

/// A worker pool of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its machine deployments, one per zone: those of the cluster's [`groups`](super::KubeClusterSpec::machine_deployments) from here on.
    pub first: MachineDeploymentId,
    /// How many zones it has.
    pub zones: u32,
    /// Machines it has at most.
    pub maximum: u32,
    /// Machines it has beyond that at most while it is rolled.
    pub max_surge: IntOrPercent,
}

/// A cluster whose control plane runs as pods in a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Shoot {
    /// Its name.
    pub name: String,
    /// The namespace of its control plane in the seed, unique in the scenario.
    pub namespace: Symbol,
    /// What its control plane survives.
    pub tolerance: FailureTolerance,
    /// How it gets over more.
    pub recovery: Recovery,
    /// Where its control plane runs at the start; `None`: no seed takes it.
    pub hosted: Option<Hosted>,
    /// Why no seed takes it, where none does: the scheduler's reason for each.
    pub rejections: TiVec<SeedId, SeedRejection>,
    /// Where it may run later, if it is moved there.
    pub elsewhere: Vec<Hosted>,
}

impl Shoot {
    /// Every seed that hosts it, or may.
    pub fn places(&self) -> impl Iterator<Item = &Hosted> {
        self.hosted.iter().chain(&self.elsewhere)
    }

    /// Why it has no control plane, in the form of gardener-scheduler's event (`filterCandidates`): `0/2 seed cluster candidate(s) are
    /// eligible for scheduling: {seed => reason, ...}`; `None`: a seed hosts it. `name` gives the name of each seed.
    pub fn pending<'a>(&self, name: impl Fn(SeedId) -> &'a str) -> Option<String> {
        let each: Vec<_> = self.rejections.iter_enumerated().map(|(seed, why)| format!("{} => {why}", name(seed))).collect();
        let event = || format!("0/{} seed cluster candidate(s) are eligible for scheduling: {{{}}}", each.len(), each.join(", "));
        self.hosted.is_none().then(event)
    }
}

/// The control plane of a shoot, in a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosted {
    /// The seed.
    pub seed: SeedId,
    /// The shoot's own Kubernetes API.
    pub cluster: KubeClusterId,
    /// The zones of its members of etcd at the start.
    pub zones: Vec<ZoneId>,
    /// Its components: workloads of the seed's cluster. Where it is not at the start none of their pods is wanted.
    pub workloads: Vec<WorkloadId>,
    /// Its components as they are to be, in the order of `workloads`, for each failure that it may be asked to survive; none where it
    /// stays what and where it is.
    pub forms: Vec<(FailureTolerance, Vec<Workload>)>,
}

impl Hosted {
    /// Its components where it is to survive this.
    ///
    /// # Panics
    /// It is asked for nothing of the kind.
    pub fn form(&self, tolerance: FailureTolerance) -> &[Workload] {
        let form = self.forms.iter().find(|(of, _)| *of == tolerance);
        &form.expect("there is a form for all that is asked for").1
    }
}

/// Volumes that a pod of etcd may have, one after the other, where its members are moved: with each it is another member.
pub const VOLUMES: u8 = 3;

/// A change of what a shoot's control plane is to survive.
#[derive(Clone, Debug, PartialEq)]
pub struct ToleranceChange {
    /// When it is asked for.
    pub at: Time,
    /// Of which shoot: a place in [`KubeModel::shoots`](super::KubeModel::shoots).
    pub shoot: u16,
    /// What it is to survive then.
    pub to: FailureTolerance,
}

/// A move of a shoot's control plane to another seed (`shoots/binding`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// When it is asked for.
    pub at: Time,
    /// Of which shoot: a place in [`KubeModel::shoots`](super::KubeModel::shoots).
    pub shoot: u16,
    /// To which seed.
    pub to: SeedId,
}

#[cfg(test)]
#[test]
fn a_pair_needs_two_zones_where_a_quorum_needs_three() {
    use ZoneTolerance::{None, Pair, Quorum};
    for (tolerance, quorum, pair) in
        [(FailureTolerance::None, None, None), (FailureTolerance::Node, None, None), (FailureTolerance::Zone, Quorum, Pair)]
    {
        let needed = [false, true].map(|pairs| ZoneTolerance::needed(tolerance, pairs));
        assert_eq!(needed, [quorum, pair], "{tolerance:?}");
    }
}
