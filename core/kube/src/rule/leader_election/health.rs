//! The health check of a process that takes part in an election (`HealthzAdaptor`, `LeaderElector.Check`): a leader that goes on without a
//! lease for too long is restarted.

use zonefall_kernel::time::Duration;

/// Whether the check passes. `leader_since_renewal`: time since the record last changed, if this process believes it leads;
/// `tolerance`: how long a lease may be over.
pub fn is_healthy(leader_since_renewal: Option<Duration>, lease_duration: Duration, tolerance: Duration) -> bool {
    leader_since_renewal.is_none_or(|since| since <= lease_duration + tolerance)
}
