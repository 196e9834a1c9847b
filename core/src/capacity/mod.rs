//! How many control planes a seed holds, and what keeps it from holding one more (GEP-20, "Compute Seed Usage").
//!
//! ```text
//!  seed --supply--> machines it can have --trial--> a scenario file with them and with N shoots --> the simulation, as it starts
//!       N by bisection: N have room where N + 1 have none
//!       N + 1 once more with one constraint lifted: does it fit? then that one limits
//! ```
//!
//! There is one set of rules, that of a run: a number has room if a file with so many shoots is valid and its run starts without a pending
//! pod (`trial.rs`). All machines that the seed can have are there from the start, and the scenario's seed draws which of equal nodes a pod
//! gets. The scheduler spreads pods rather than packing them, so a seed holds fewer than its sums of CPU and memory allow.
//! Room is not monotonic in the number of shoots: what is found has room, and one more has none; some larger number might again.
//!
//! What a seed can have (the list of GEP-20, "Which parameters could be considered?", and where each comes from):
//! - machines up to each pool's `maximum`, shared out over its zones; of types of which the cloud has a stock, what is left of it;
//! - machines that rolling needs: each machine deployment's share of `max_surge`, in all pools at once (a new version of Kubernetes
//!   rolls them all). They come on top of `maximum` ("above the desired number of machines", machine-controller-manager), but need
//!   their place in the stock and their addresses;
//! - as many nodes as its range of addresses holds, one part of it each (gardener: `ValidateTotalNodeCountWithPodCIDR`); where there are
//!   fewer than pools may have, each machine in turn is of the pool and zone that has the fewest;
//! - on each node its CPU, memory, pods and attached volumes;
//! - its limit of shoots (`status.allocatable.shoots`).
//!
//! The loss of a zone takes all its nodes at once. The scheduler places what their pods' controllers create instead; a member of etcd waits
//! for its zone, unless etcd-druid moves it (recovery `move`). Which pod is placed first depends in a run on the order of evictions, so that
//! at the limit it may have room for a shoot fewer, or more. There is room if no pod waits for capacity: a further machine in a zone
//! that is left would take none of those that wait. Nodes of the lost zone keep their addresses, for their machines are not gone.

mod plan;
mod supply;
#[cfg(test)]
mod tests;
mod trial;

use serde::Serialize;

use crate::ids::{KubeClusterId, ZoneId};
use crate::kube::spec::gardener::FailureTolerance;
use crate::sim::Simulation;
pub use plan::{plan, plan_nodes};

/// Version of [`Plan`] as JSON.
pub const SCHEMA: &str = "zonefall.capacity/3";

/// Version of [`NodesPlan`] as JSON.
pub const SCHEMA_OF_NODES: &str = "zonefall.capacity.nodes/1";

/// Whether a pod of a cluster waits, as a run stands, that a further machine would take in a zone other than the lost one. (For tests.)
#[doc(hidden)]
pub fn is_short(run: &Simulation, cluster: KubeClusterId, lost: Option<ZoneId>) -> bool {
    trial::Trial::of(run.clone(), cluster, lost).is_short()
}

/// What bounds the control planes of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// The seed's own limit.
    AllocatableShoots,
    /// Machines that are kept for rolling pools.
    Surge,
    /// Addresses of nodes.
    NodeCidr,
    /// Machines that the cloud has left.
    Stock,
    /// CPU of nodes.
    Cpu,
    /// Memory of nodes.
    Memory,
    /// Volumes of nodes.
    Volumes,
    /// Pods of nodes.
    Pods,
    /// Machines that pools may have.
    Maximum,
}

impl Constraint {
    /// Those of the seed's nodes: where several would do, the first is said to bind.
    const OF_SEEDS: [Self; 8] =
        [Self::Surge, Self::NodeCidr, Self::Stock, Self::Cpu, Self::Memory, Self::Volumes, Self::Pods, Self::Maximum];

    /// It bounds how many machines there are, not what each holds.
    const fn is_of_machines(self) -> bool {
        matches!(self, Self::Surge | Self::NodeCidr | Self::Stock | Self::Maximum)
    }

    /// What its figures count.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::AllocatableShoots => "shoots",
            Self::Surge | Self::NodeCidr | Self::Stock | Self::Maximum => "machines",
            Self::Cpu => "thousandths of a CPU",
            Self::Memory => "bytes",
            Self::Volumes => "volumes",
            Self::Pods => "pods",
        }
    }
}

/// The capacity of a scenario's seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The scenario's name.
    pub scenario: String,
    /// Shoots that are asked for.
    pub demand: DemandReport,
    /// Its seeds.
    pub seeds: Vec<SeedPlan>,
}

/// Shoots that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DemandReport {
    /// Without failure tolerance.
    pub none: u32,
    /// That survive a node.
    pub node: u32,
    /// That survive a zone.
    pub zone: u32,
}

/// The capacity of a seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeedPlan {
    /// Its name.
    pub name: String,
    /// It can host control planes that survive a zone.
    pub multi_zonal: bool,
    /// Shoots of the scenario that it hosts already.
    pub hosted: u32,
    /// Those of them that do not fit: they have pods that find no node, with all machines that the seed can have.
    pub hosted_without_room: u32,
    /// Headroom for further shoots, for each failure tolerance that it can host.
    pub headroom: Vec<Headroom>,
    /// Seeds like this one, empty but for what they run for themselves, that the demand needs.
    pub needed: Needed,
    /// The same, such that after the loss of any one zone everything that can move finds room; `None`: it has one zone.
    pub needed_after_zone_loss: Option<Needed>,
}

/// Headroom for shoots of one failure tolerance, and no others, beside those that are there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headroom {
    /// The failure that they survive.
    pub failure_tolerance: FailureTolerance,
    /// With all zones.
    pub all_zones: ShootLimit,
    /// Such that after the loss of any one zone everything that can move finds room; `None`: the seed has one zone.
    pub after_zone_loss: Option<ShootLimit>,
}

/// How many shoots there is room for, and why not for more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShootLimit {
    /// So many.
    pub shoots: u32,
    /// The zone whose loss leaves no room for one more; `None`: none is lost, or one more has no room even so.
    pub zone: Option<String>,
    /// Lifted, it would let one more in; several: only all of them together would. None: where its pods may be forbids it.
    pub limiting_resources: Vec<Figure>,
    /// Each of these, lifted alone, would do as well.
    pub alternatives: Vec<Constraint>,
}

/// What there is of something. After the loss of a zone: what there is in the zones that are left, but for addresses and machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// Constraint that is lifted.
    pub constraint: Constraint,
    /// Of which units.
    pub unit: &'static str,
    /// So much is used. (Machines are counted with those kept for rolling, but for `maximum`.)
    pub used: u64,
    /// So much there is, on all nodes that the seed can have where these pods may be.
    pub available: u64,
    /// So much would be used with one shoot more. Where that is there, it is in pieces: of no node or zone enough.
    pub needed_for_one_more: u64,
}

/// How many machines of each pool a demand needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodesPlan {
    /// [`SCHEMA_OF_NODES`].
    pub schema: &'static str,
    /// The scenario's name.
    pub scenario: String,
    /// Shoots that are asked for.
    pub demand: DemandReport,
    /// The pools of all seeds.
    pub pools: Vec<PoolNodes>,
}

/// How many machines of a pool the demand needs on its seed alone, however many the pool, the cloud, the seed's addresses and its limit
/// of shoots allow; other pools have all that they can have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolNodes {
    /// The seed.
    pub seed: String,
    /// The pool.
    pub pool: String,
    /// Type of its machines, if the scenario names it.
    pub machine: Option<String>,
    /// Machines that have room for the demand; one fewer has none.
    pub needed: Needed,
    /// The same, such that after the loss of any one zone everything that can move finds room; `None`: the seed has one zone.
    pub needed_after_zone_loss: Option<Needed>,
}

/// So many seeds, or machines, for the demand; `None`: no number of them would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// For its shoots without failure tolerance alone.
    pub none: Option<u32>,
    /// For its shoots that survive a node alone.
    pub node: Option<u32>,
    /// For its shoots that survive a zone alone.
    pub zone: Option<u32>,
    /// For all of them that such a seed can host. Of seeds each has an equal share of each kind; or each kind has seeds of its own, where
    /// that needs fewer.
    pub together: Option<u32>,
}
