//! Controllers that a cluster has, or reports on, only where its scenario says so: what stands in the file is what the controller reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

use super::autoscaler::ClusterAutoscaler;
use crate::units::Span;

/// Additional controllers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Controllers {
    /// The descheduler with its strategy `RemovePodsViolatingTopologySpreadConstraint`: pods are spread again after a zone has recovered.
    pub descheduler: Option<Descheduler>,
    /// Options of the scheduler.
    #[schemars(extend("x-default" = "pods that say nothing of spreading are spread by its defaults", "x-source" = "kubernetes"))]
    pub kube_scheduler: Option<KubeScheduler>,
    /// Options of the cluster autoscaler, where it runs. With them the report says what it made of each node group, scan by scan.
    #[schemars(extend(
        "x-default" = "each scan adds machines of one deployment, within its share of the pool's limits",
        "x-source" = "assumed: enough where nodes are given"
    ))]
    pub cluster_autoscaler: Option<ClusterAutoscaler>,
}

/// The scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KubeScheduler {
    /// How it spreads pods that say nothing of spreading.
    #[schemars(extend("x-source" = "kubernetes: PodTopologySpread, defaultingType System"))]
    pub default_spreading: DefaultSpreading,
}

/// How a scheduler spreads pods that say nothing of spreading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefaultSpreading {
    /// By Kubernetes' default constraints: a skew of 3 over hosts and 5 over zones, as well as can be.
    #[default]
    TopologySpread,
    /// By `SelectorSpread`, as before: zones count two thirds, hosts one third.
    SelectorSpread,
    /// Not at all (`defaultingType: List` without constraints).
    None,
}

/// The descheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Descheduler {
    /// Interval of the descheduler (`deschedulingInterval`).
    #[schemars(extend("x-min" = "1s", "x-max" = "30d", "x-source" = "sigs.k8s.io/descheduler: charts/descheduler/values.yaml"))]
    pub interval: Span,
    /// Also enforce soft constraints (`constraints: [DoNotSchedule, ScheduleAnyway]`), not only hard ones.
    #[schemars(extend("x-source" = "sigs.k8s.io/descheduler: the plugin's defaults.go"))]
    pub schedule_anyway: bool,
}

impl Default for Descheduler {
    fn default() -> Self {
        Self { interval: Span(Duration::from_secs(300)), schedule_anyway: false }
    }
}
