//! Capacity planning: the control planes that the seeds are planned to host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawComponent, RawMode};
use crate::kube::gardener::Recovery;

/// Demand that `zonefall capacity` plans for. A run ignores it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCapacity {
    /// Number of shoots to host, by failure tolerance.
    pub demand: RawDemand,
    /// Control plane of each planned shoot.
    pub shoot: RawReference,
}

/// Numbers of shoots by failure tolerance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawDemand {
    /// Shoots with failure tolerance none.
    #[schemars(range(max = 100_000), extend("x-source" = "nothing is asked"))]
    pub none: u32,
    /// Shoots with failure tolerance node.
    #[schemars(range(max = 100_000), extend("x-source" = "nothing is asked"))]
    pub node: u32,
    /// Shoots with failure tolerance zone.
    #[schemars(range(max = 100_000), extend("x-source" = "nothing is asked"))]
    pub zone: u32,
}

/// Control plane of a planned shoot. Fields that are left out are as Gardener deploys it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawReference {
    /// Recovery option for the loss of a zone.
    #[schemars(extend("x-source" = "GEP-20: option 1"))]
    pub recovery: Recovery,
    /// The etcd clusters of the control plane.
    pub etcd: RawReferenceEtcd,
    /// Components that differ from those that Gardener deploys, or are additional.
    #[schemars(length(max = 200))]
    pub components: Vec<RawComponent>,
    /// Deploy only these components.
    #[schemars(extend("x-source" = "all that GEP-20 lists"))]
    pub only_listed: bool,
}

/// The etcd clusters of a planned control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawReferenceEtcd {
    /// How each cluster survives the loss of a member: with a quorum of three members, or active-passive with two (only for failure
    /// tolerance node or zone). Its timers have no effect here.
    #[schemars(extend("x-source" = "GEP-20: preferred to its active-passive options"))]
    pub mode: RawMode,
}
