//! Timers of what looks after machines: the machine-controller-manager, the cluster autoscaler, the care controller.

use zonefall_kernel::time::Duration;

/// Timers of the machine-controller-manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineTimers {
    /// A machine whose node has not joined after so long is given up (`machine-creation-timeout`).
    pub creation: Duration,
    /// A machine whose node has not been healthy for so long is given up (`machine-health-timeout`).
    pub health: Duration,
    /// A node is drained for so long at most (`machine-drain-timeout`).
    pub drain: Duration,
    /// The next pod with a volume is evicted when the one before is gone, or after so long (`machine-pv-detach-timeout`).
    pub detach: Duration,
    /// A node that has not been ready for longer is not drained (`nodeNotReadyDuration`).
    pub beyond_draining: Duration,
    /// It looks this often whether the API answers (`machine-safety-apiserver-statuscheck-period`).
    pub check: Duration,
    /// It stops where the API has not answered for so long (`machine-safety-apiserver-statuscheck-timeout`).
    pub freeze: Duration,
    /// From the call that creates a machine until it is switched on (assumed).
    pub create: Duration,
    /// From the call that deletes a machine until it is gone (assumed).
    pub delete: Duration,
}

impl Default for MachineTimers {
    fn default() -> Self {
        Self {
            creation: Duration::from_secs(20 * 60),
            health: Duration::from_secs(10 * 60),
            drain: Duration::from_secs(2 * 3_600),
            detach: Duration::from_secs(2 * 60),
            beyond_draining: Duration::from_secs(5 * 60),
            check: Duration::from_secs(60),
            freeze: Duration::from_secs(30),
            create: Duration::from_secs(90),
            delete: Duration::from_secs(60),
        }
    }
}

/// Timers of the cluster autoscaler, as Gardener sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoscalerTimers {
    /// It looks this often (`scan-interval`).
    pub scan: Duration,
    /// A machine whose node has not joined after so long is taken back (`max-node-provision-time`; upstream 15 min).
    pub provision: Duration,
    /// How long a machine deployment that has failed is left alone.
    pub back_off: BackoffOptions,
    /// So many nodes may always be unready (`ok-total-unready-count`).
    pub unready: u32,
    /// And so many in a hundred (`max-total-unready-percentage`).
    pub unready_percent: u32,
}

impl Default for AutoscalerTimers {
    fn default() -> Self {
        Self {
            scan: Duration::from_secs(10),
            provision: Duration::from_secs(20 * 60),
            back_off: BackoffOptions::default(),
            unready: 3,
            unready_percent: 45,
        }
    }
}

/// How long groups are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffOptions {
    /// After the first failure (`initial-node-group-backoff-duration`).
    pub initial: Duration,
    /// At most (`max-node-group-backoff-duration`).
    pub max: Duration,
    /// So long after its last failure a group's failures are forgotten (`node-group-backoff-reset-timeout`).
    pub reset: Duration,
}

impl Default for BackoffOptions {
    /// Those of the autoscaler (`config/flags/flags.go`).
    fn default() -> Self {
        Self { initial: Duration::from_secs(300), max: Duration::from_secs(1_800), reset: Duration::from_secs(10_800) }
    }
}
