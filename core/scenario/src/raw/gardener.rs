//! Shoots: clusters whose control planes run as pods in seeds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawComponent, RawDisk, RawInitial, RawMode, RawOptions, RawSource, RawUsage};
use crate::kube::gardener::{FailureTolerance, Recovery};
use crate::units::Name;

/// A cluster whose control plane runs in a seed, or several that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawShoot {
    /// Its name; `<name>-<k>` where there are several.
    pub name: Name,
    /// So many, numbered from 1.
    #[serde(default = "one")]
    #[schemars(range(max = 2_000), extend("x-source" = "one"))]
    pub count: u32,
    /// The seed that hosts it.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "the fitting seed with the fewest shoots; a single-zonal one first, unless a zone's failure is to be survived",
        "x-source" = "GEP-20: Gardener Scheduler"
    ))]
    pub seed: Option<String>,
    /// Which failure its control plane survives.
    #[serde(default)]
    #[schemars(extend("x-source" = "GEP-20: by default it has no failure tolerance"))]
    pub failure_tolerance: FailureTolerance,
    /// The namespace of its control plane in the seed; `<namespace>-<k>` where there are several.
    #[serde(default)]
    #[schemars(extend("x-default" = "shoot--garden--<name>", "x-source" = "gardener: shoot--<project>--<name>"))]
    pub namespace: Option<Name>,
    /// How its control plane gets over the loss of a zone.
    #[serde(default)]
    #[schemars(extend("x-source" = "GEP-20: option 1"))]
    pub recovery: Recovery,
    /// Its etcd clusters.
    #[serde(default)]
    pub etcd: RawShootEtcd,
    /// What asks its API.
    #[serde(rename = "use", default)]
    #[schemars(extend("x-default" = "nothing that is counted", "x-source" = "what it sends costs money, and is asked for"))]
    pub usage: Option<RawUsage>,
    /// Components that differ from what Gardener deploys, or that it does not.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub components: Vec<RawComponent>,
    /// There are no others.
    #[serde(default)]
    #[schemars(extend("x-source" = "all that GEP-20 lists"))]
    pub only_listed: bool,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

fn one() -> u32 {
    1
}

/// The etcd clusters of a shoot, `etcd-main` and `etcd-events`: StatefulSets that etcd-druid looks after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawShootEtcd {
    /// What keeps each of them going when a member is lost: a majority of three, or the other one of two, to which etcd-druid switches
    /// while it can act (with failure tolerance node or zone).
    #[schemars(extend("x-source" = "GEP-20: preferred to its active-passive options"))]
    pub mode: RawMode,
    /// Timers, sizes and dialect.
    pub options: RawOptions,
    /// What they look like when the run starts.
    pub initial: RawInitial,
    /// Speed of their volumes.
    pub disk: RawDisk,
    /// Where their volumes can be attached.
    #[schemars(extend("x-source" = "GEP-20: volumes are in the zone of their pod"))]
    pub volumes: RawVolumes,
}

/// Where volumes can be attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawVolumes {
    /// In the zone they were made in.
    #[default]
    Zonal,
    /// In every zone of the seed.
    Regional,
}
