//! Controllers that a cluster has only where its scenario says so: what stands in the file is what the controller reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

use crate::units::Span;

/// Controllers beside those that every cluster has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Controllers {
    /// The descheduler with its strategy `RemovePodsViolatingTopologySpreadConstraint`: pods are spread again after a zone is back.
    pub descheduler: Option<Descheduler>,
}

/// The descheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Descheduler {
    /// Time between two looks (`deschedulingInterval`).
    #[schemars(extend("x-min" = "1s", "x-max" = "30d", "x-source" = "sigs.k8s.io/descheduler: charts/descheduler/values.yaml"))]
    pub interval: Span,
    /// Constraints that should hold count, too (`constraints: [DoNotSchedule, ScheduleAnyway]`), not only those that must.
    #[schemars(extend("x-source" = "sigs.k8s.io/descheduler: the plugin's defaults.go"))]
    pub schedule_anyway: bool,
}

impl Default for Descheduler {
    fn default() -> Self {
        Self { interval: Span(Duration::from_secs(300)), schedule_anyway: false }
    }
}
