//! Etcd clusters of two, of which one serves: the active-passive options of GEP-20 (appendix, "etcd Active-Passive Options").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::passive::{Backup, Switching};
use crate::units::{Bandwidth, Span};

/// What becomes of an etcd cluster that loses a member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawMode {
    /// It goes on while a majority of its voters does.
    #[default]
    Quorum,
    /// Two members, each a cluster of its own: the one that leads at first serves and uploads snapshots to a backup bucket, the other
    /// applies them and takes over with what the bucket holds (GEP-20, active-passive option 1).
    HotStandby(RawHotStandby),
    /// Two members, a voter and a learner that never gets its vote, but for when the voter is gone: then the learner is made a
    /// cluster of its own, with what it had received (GEP-20, active-passive option 2).
    Learner(RawPerpetualLearner),
}

/// Timers of a hot standby.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawHotStandby {
    /// The zone of the controller that checks the members and switches. (A shoot's is etcd-druid of its seed.)
    #[schemars(extend("x-default" = "everywhere: it reaches what is not cut off", "x-source" = "assumed: etcd-druid runs in several zones"))]
    pub controller_zone: Option<String>,
    /// From one health check of the member that serves to the next.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "assumed: GEP-20 names none"))]
    pub check_period: Span,
    /// Checks in a row that must fail before the other member takes over.
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "assumed: GEP-20 names none"))]
    pub failures: u32,
    /// From one delta snapshot to the next.
    #[schemars(extend("x-min" = "1s", "x-max" = "30d", "x-source" = GARDENER))]
    pub delta_snapshot_period: Span,
    /// From one full snapshot to the next.
    #[schemars(extend("x-min" = "1s", "x-max" = "365d", "x-source" = GARDENER))]
    pub full_snapshot_period: Span,
    /// From one look of the standby into the bucket to the next.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1d", "x-source" = "assumed: GEP-20 says \"periodically\""))]
    pub poll_period: Span,
    /// Bytes of snapshots that reach the bucket in a second.
    #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-source" = "assumed"))]
    pub upload_bandwidth: Bandwidth,
    /// Bytes of snapshots that the standby fetches and applies in a second.
    #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-source" = "assumed"))]
    pub restore_bandwidth: Bandwidth,
}

/// Where Gardener sets the snapshots of its etcds.
const GARDENER: &str = "gardener/gardener: what it asks of etcd-druid (deltaSnapshotPeriod, fullSnapshotSchedule)";

/// Timers of a perpetual learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawPerpetualLearner {
    /// The zone of the controller that checks the members and switches. (A shoot's is etcd-druid of its seed.)
    #[schemars(extend("x-default" = "everywhere: it reaches what is not cut off", "x-source" = "assumed: etcd-druid runs in several zones"))]
    pub controller_zone: Option<String>,
    /// From one health check of the voter to the next.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "assumed: GEP-20 names none"))]
    pub check_period: Span,
    /// Checks in a row that must fail before the learner takes over.
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
