//! Whose nodes and components an operation means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cluster that has nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawClusterName {
    /// A seed's.
    Seed(#[schemars(extend("x-target" = "seeds"))] String),
    /// That of a cluster without Gardener.
    Cluster(#[schemars(extend("x-target" = "clusters"))] String),
}

/// Whose component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawOwner {
    /// A seed's own.
    Seed(#[schemars(extend("x-target" = "seeds"))] String),
    /// A workload of a cluster without Gardener.
    Cluster(#[schemars(extend("x-target" = "clusters"))] String),
    /// A shoot's; of several that are alike `<name>-<k>`.
    Shoot(#[schemars(extend("x-target" = "shoots"))] String),
}
