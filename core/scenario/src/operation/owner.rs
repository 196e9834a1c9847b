//! Whose nodes and components an operation means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cluster that has nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawClusterName {
    /// Name of a seed.
    Seed(#[schemars(extend("x-target" = "seeds"))] String),
    /// Name of a cluster without Gardener.
    Cluster(#[schemars(extend("x-target" = "clusters"))] String),
}

/// Owner of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawOwner {
    /// Name of a seed, for its own component.
    Seed(#[schemars(extend("x-target" = "seeds"))] String),
    /// Name of a cluster without Gardener, for its workload.
    Cluster(#[schemars(extend("x-target" = "clusters"))] String),
    /// Name of a shoot; `<name>-<k>` for one of several identical shoots.
    Shoot(#[schemars(extend("x-target" = "shoots"))] String),
}
