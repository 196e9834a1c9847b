//! What capacity is planned for.

use super::Workload;
use super::gardener::{FailureTolerance, Recovery};

/// Control planes to come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Shoots that are to be hosted.
    pub demand: Demand,
    /// Per seed: the control planes that are counted in, one for each failure tolerance that the seed can host.
    pub references: Vec<Vec<Reference>>,
}

/// So many shoots of each failure tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Without failure tolerance.
    pub none: u32,
    /// That survive a node.
    pub node: u32,
    /// That survive a zone.
    pub zone: u32,
}

impl Demand {
    /// Shoots of one failure tolerance.
    pub const fn of(&self, tolerance: FailureTolerance) -> u32 {
        match tolerance {
            FailureTolerance::None => self.none,
            FailureTolerance::Node => self.node,
            FailureTolerance::Zone => self.zone,
        }
    }
}

/// A control plane that is counted in.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// What it survives.
    pub tolerance: FailureTolerance,
    /// How it gets over the loss of a zone.
    pub recovery: Recovery,
    /// Its components, as workloads of the seed's cluster.
    pub workloads: Vec<Workload>,
    /// Which of these are members of etcd.
    pub etcd: Vec<usize>,
}
