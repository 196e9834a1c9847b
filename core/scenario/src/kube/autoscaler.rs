//! How the cluster autoscaler sizes and compares node groups.

/// How the limits of a pool's node groups come about (GEP-24).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizing {
    /// The pool's limits are distributed over its zones once, as today.
    #[default]
    Static,
    /// Each group may have what the other groups leave of the pool's maximum.
    LaxGreedy,
    /// As distributed, but no group is without a node until the pool has its maximum.
    BackwardCompatible,
}
