//! Etcd clusters of two, of which one serves: the active-passive options of GEP-20 (appendix, "etcd Active-Passive Options").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::passive::{Backup, Switching};
use crate::units::{Bandwidth, Span};

/// How an etcd cluster survives the loss of a member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawMode {
    /// By quorum: it works while a majority of its voters works.
    #[default]
    Quorum,
    /// Two members, each its own cluster: the active one serves clients and uploads snapshots to a backup bucket; the standby applies
    /// them and takes over with the content of the bucket (GEP-20, active-passive option 1).
    HotStandby(RawHotStandby),
    /// Two members, a voter and a perpetual learner. If the voter fails, the learner becomes a new cluster with the entries that it has
    /// received (GEP-20, active-passive option 2).
    Learner(RawPerpetualLearner),
}

/// Timers of a hot standby.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawHotStandby {
    /// Zone of the controller that checks the members and fails over. (For a shoot it is etcd-druid of the seed.)
    #[schemars(extend("x-default" = "everywhere: it reaches every member that is not cut off", "x-source" = "assumed: etcd-druid runs in several zones"))]
    pub controller_zone: Option<String>,
    /// Interval of the health checks of the active member.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "assumed: GEP-20 names none"))]
    pub check_period: Span,
    /// Number of consecutive failed checks before the standby takes over.
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "assumed: GEP-20 names none"))]
    pub failures: u32,
    /// Interval of delta snapshots.
    #[schemars(extend("x-min" = "1s", "x-max" = "30d", "x-source" = GARDENER))]
    pub delta_snapshot_period: Span,
    /// Interval of full snapshots.
    #[schemars(extend("x-min" = "1s", "x-max" = "365d", "x-source" = GARDENER))]
    pub full_snapshot_period: Span,
    /// Interval at which the standby looks for new snapshots in the bucket.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1d", "x-source" = "assumed: GEP-20 says \"periodically\""))]
    pub poll_period: Span,
    /// Bandwidth of uploads to the bucket.
    #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-source" = "assumed"))]
    pub upload_bandwidth: Bandwidth,
    /// Bandwidth at which the standby fetches and applies snapshots.
    #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-source" = "assumed"))]
    pub restore_bandwidth: Bandwidth,
}

/// Where Gardener sets the snapshots of its etcds.
const GARDENER: &str = "gardener/gardener: what it asks of etcd-druid (deltaSnapshotPeriod, fullSnapshotSchedule)";

/// Timers of a perpetual learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawPerpetualLearner {
    /// Zone of the controller that checks the members and fails over. (For a shoot it is etcd-druid of the seed.)
    #[schemars(extend("x-default" = "everywhere: it reaches every member that is not cut off", "x-source" = "assumed: etcd-druid runs in several zones"))]
    pub controller_zone: Option<String>,
    /// Interval of the health checks of the voter.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "assumed: GEP-20 names none"))]
    pub check_period: Span,
    /// Number of consecutive failed checks before the learner takes over.
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "assumed: GEP-20 names none"))]
    pub failures: u32,
}

impl Default for RawHotStandby {
    fn default() -> Self {
        let RawPerpetualLearner { controller_zone, check_period, failures } = RawPerpetualLearner::default();
        let usual = Backup::default();
        Self {
            controller_zone,
            check_period,
            failures,
            delta_snapshot_period: Span(usual.delta_period),
            full_snapshot_period: Span(usual.full_period),
            poll_period: Span(usual.poll_period),
            upload_bandwidth: Bandwidth::from_bytes_per_s(usual.upload_bytes_per_s),
            restore_bandwidth: Bandwidth::from_bytes_per_s(usual.restore_bytes_per_s),
        }
    }
}

impl Default for RawPerpetualLearner {
    fn default() -> Self {
        let usual = Switching::default();
        Self { controller_zone: None, check_period: Span(usual.check_period), failures: usual.failures }
    }
}
