//! The machine-controller-manager: machines of a cluster, by machine deployment.

pub mod cloud;
pub mod meltdown;

use crate::kernel::time::Duration;

/// How long a machine may be [`Phase::Unknown`] before it is given up (`machine-health-timeout`).
pub const HEALTH_TIMEOUT: Duration = Duration::from_secs(600);

/// Where a machine stands (`machinev1alpha1.MachinePhase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Asked for; its node has not joined yet.
    Pending,
    /// Its node is healthy.
    Running,
    /// Its node is not healthy, not for long enough to give it up.
    Unknown,
    /// Given up: to be replaced.
    Failed,
    /// On its way out.
    Terminating,
    /// It could not be made; tried again.
    CrashLoopBackOff,
}
