//! What capacity is planned for.

use super::gardener::FailureTolerance;

/// Control planes to come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Shoots that are to be hosted.
    pub demand: Demand,
    /// Per seed: failure tolerances of the planned control planes that it can host.
    pub tolerances: Vec<Vec<FailureTolerance>>,
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
