//! Etcd clusters of two, of which one serves and the other stands by (GEP-20, appendix, "etcd Active-Passive Options").

use crate::backup::{DELTA_PERIOD, FULL_PERIOD};
use crate::ids::ZoneId;
use zonefall_kernel::time::Duration;

/// A cluster of two members, of which only one serves at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivePassive {
    /// Who serves at first; the other one stands by.
    pub primary: u8,
    /// When, and by whom, the other is made to serve.
    pub switching: Switching,
    /// How the other gets its data: from a backup bucket (option 1, hot standby); `None`: as a learner (option 2).
    pub backup: Option<Backup>,
}

/// The controller that checks the member that serves, and switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switching {
    /// Who it is.
    pub controller: Controller,
    /// From one check to the next, 30 s (assumed).
    pub check_period: Duration,
    /// Checks in a row that must fail, 3 (assumed).
    pub failures: u32,
}

/// Who checks and switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Somebody in every zone: it reaches what is not cut off.
    Everywhere,
    /// Somebody in this zone, while a machine there has power.
    Zone(ZoneId),
    /// etcd-druid of the seed whose pods the members are, while it can act.
    Druid,
}

impl Default for Switching {
    fn default() -> Self {
        Self { controller: Controller::Everywhere, check_period: Duration::from_secs(30), failures: 3 }
    }
}

/// Snapshots in a bucket that no zone's loss takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    /// From one delta snapshot to the next, 5 min (Gardener).
    pub delta_period: Duration,
    /// From one full snapshot to the next, 24 h (Gardener).
    pub full_period: Duration,
    /// From one look of the standby into the bucket to the next, 1 min (assumed).
    pub poll_period: Duration,
    /// 50 MiB/s (assumed).
    pub upload_bytes_per_s: u64,
    /// Fetched and applied by the standby, 20 MiB/s (assumed).
    pub restore_bytes_per_s: u64,
}

impl Default for Backup {
    fn default() -> Self {
        Self {
            delta_period: DELTA_PERIOD,
            full_period: FULL_PERIOD,
            poll_period: Duration::from_secs(60),
            upload_bytes_per_s: 50 << 20,
            restore_bytes_per_s: 20 << 20,
        }
    }
}
