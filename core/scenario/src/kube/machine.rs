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
            create: Duration::from_secs(90),
            delete: Duration::from_secs(60),
        }
    }
}
