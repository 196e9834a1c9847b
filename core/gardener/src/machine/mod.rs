//! The machine-controller-manager: machines of a cluster, by machine deployment.

pub mod controller;
pub mod drain;
pub mod meltdown;
pub mod overshooting;
pub mod rollout;
pub mod safety_freeze;

use zonefall_kernel::time::Duration;

/// After bad credentials, or where nothing is in stock, the cloud is asked again after so long (`machineutils.MediumRetry`).
const MEDIUM_RETRY: Duration = Duration::from_secs(3 * 60);

/// After a deletion that was refused it is asked again after so long (`machineutils.LongRetry`).
const LONG_RETRY: Duration = Duration::from_secs(10 * 60);
