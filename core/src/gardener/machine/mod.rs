//! The machine-controller-manager: machines of a cluster, by machine deployment.

pub mod cloud;
pub mod controller;
pub mod drain;
pub mod machine_tables;
pub mod meltdown;
pub mod rollout;
pub mod safety_freeze;

use serde::{Deserialize, Serialize};

use crate::kernel::time::Duration;
use crate::kernel::traced;

/// After bad credentials, or where nothing is in stock, the cloud is asked again after so long (`machineutils.MediumRetry`).
const MEDIUM_RETRY: Duration = Duration::from_secs(3 * 60);

/// After a deletion that was refused it is asked again after so long (`machineutils.LongRetry`).
const LONG_RETRY: Duration = Duration::from_secs(10 * 60);

/// Where a machine stands (`machinev1alpha1.MachinePhase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

traced! {
    enum Phase {
        Pending = 0,
        Running = 1,
        Unknown = 2,
        Failed = 3,
        Terminating = 4,
        CrashLoopBackOff = 5,
    }
}
