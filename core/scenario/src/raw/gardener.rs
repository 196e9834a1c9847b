//! Shoots: clusters whose control planes run as pods in seeds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawApiServers, RawComponent, RawDisk, RawInitial, RawMode, RawOptions, RawSource, RawUsage};
use crate::kube::gardener::{FailureTolerance, Recovery};
use crate::units::Name;

/// A cluster whose control plane runs in a seed, or several identical ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawShoot {
    /// Its name; `<name>-<k>` where there are several.
    pub name: Name,
    /// Number of identical shoots, numbered from 1.
    #[serde(default = "one")]
    #[schemars(range(max = 2_000), extend("x-source" = "one"))]
    pub count: u32,
    /// Name of the seed that hosts the control plane.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "the fitting seed with the fewest shoots; a single-zonal one first, unless a zone's failure is to be survived",
        "x-source" = "GEP-20: Gardener Scheduler"
    ))]
    pub seed: Option<String>,
    /// Failure tolerance of the control plane.
    #[serde(default)]
    #[schemars(extend("x-source" = "GEP-20: by default it has no failure tolerance"))]
    pub failure_tolerance: FailureTolerance,
    /// The namespace of its control plane in the seed; `<namespace>-<k>` where there are several.
    #[serde(default)]
    #[schemars(extend("x-default" = "shoot--garden--<name>", "x-source" = "gardener: shoot--<project>--<name>"))]
    pub namespace: Option<Name>,
    /// Recovery option of the control plane for the loss of a zone.
    #[serde(default)]
    #[schemars(extend("x-source" = "GEP-20: option 1"))]
    pub recovery: Recovery,
    /// The etcd clusters of the control plane.
    #[serde(default)]
    pub etcd: RawShootEtcd,
    /// The API servers of the control plane.
    #[serde(default)]
    pub api_servers: RawApiServers,
    /// Users of the shoot's API and their load.
    #[serde(rename = "use", default)]
    #[schemars(extend("x-default" = "nothing that is counted", "x-source" = "what it sends costs money, and is asked for"))]
    pub usage: Option<RawUsage>,
    /// Components that differ from those that Gardener deploys, or are additional.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub components: Vec<RawComponent>,
    /// Deploy only these components.
    #[serde(default)]
    #[schemars(extend("x-source" = "all that GEP-20 lists"))]
    pub only_listed: bool,
    /// Source of this information.
    #[serde(flatten)]
    pub mark: RawSource,
}

fn one() -> u32 {
    1
}

/// The etcd clusters of a shoot, `etcd-main` and `etcd-events`: StatefulSets that etcd-druid manages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawShootEtcd {
    /// How each cluster survives the loss of a member: with a quorum of three members, or active-passive with two, between which
    /// etcd-druid fails over (only for failure tolerance node or zone).
    #[schemars(extend("x-source" = "GEP-20: preferred to its active-passive options"))]
    pub mode: RawMode,
    /// Timers, sizes and raft options.
    pub options: RawOptions,
    /// State of the clusters at the start of the run.
    pub initial: RawInitial,
    /// Speed of the members' volumes.
    pub disk: RawDisk,
    /// Zones in which the members' volumes can be attached.
    #[schemars(extend("x-source" = "GEP-20: volumes are in the zone of their pod"))]
    pub volumes: RawVolumes,
}

/// Zones in which a volume can be attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawVolumes {
    /// Only in the zone where it was created.
    #[default]
    Zonal,
    /// In every zone of the seed.
    Regional,
}
