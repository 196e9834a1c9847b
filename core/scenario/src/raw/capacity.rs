//! What capacity is planned for: control planes to come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawComponent, RawMode};
use crate::kube::gardener::Recovery;

/// What `zonefall capacity` asks beyond how much the seeds hold; a run takes no notice of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCapacity {
    /// Shoots that are to be hosted, by the failure that their control planes survive.
    pub demand: RawDemand,
    /// The control plane that is counted in.
    pub shoot: RawReference,
}

/// So many shoots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawDemand {
    /// Without failure tolerance.
    #[schemars(range(max = 100_000), extend("x-source" = "nothing is asked"))]
    pub none: u32,
    /// That survive a node.
    #[schemars(range(max = 100_000), extend("x-source" = "nothing is asked"))]
    pub node: u32,
    /// That survive a zone.
    #[schemars(range(max = 100_000), extend("x-source" = "nothing is asked"))]
    pub zone: u32,
}

/// The control plane of a shoot as planned for; what is left out is as Gardener deploys it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawReference {
    /// How it gets over the loss of a zone.
    #[schemars(extend("x-source" = "GEP-20: option 1"))]
    pub recovery: Recovery,
    /// Its etcd.
    pub etcd: RawReferenceEtcd,
    /// Components that differ from what Gardener deploys, or that it does not.
    #[schemars(length(max = 200))]
    pub components: Vec<RawComponent>,
    /// There are no others.
    #[schemars(extend("x-source" = "all that GEP-20 lists"))]
    pub only_listed: bool,
}

/// The etcd clusters of a control plane as planned for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawReferenceEtcd {
    /// What keeps each of them going when a member is lost: a majority of three, or the other one of two (with failure tolerance node or
    /// zone). Of its timers nothing depends here.
    #[schemars(extend("x-source" = "GEP-20: preferred to its active-passive options"))]
    pub mode: RawMode,
}
