//! Meltdown protection: machines that are not healthy are given up one at a time (`pkg/util/provider/machinecontroller/machine_util.go`,
//! `canMarkMachineFailed`, `getNumberOfMachinesInProgress`).
//!
//! A zone that goes dark would otherwise cost all of its machines at once. As a machine that terminates counts twice and goes on
//! counting while its deletion fails, a machine deployment gives up exactly one machine for as long as the cloud cannot delete it.

use zonefall_kernel::time::Duration;
use zonefall_kube::machine::Phase;
use zonefall_kube::store::MachineTables;
use zonefall_scenario::ids::MachineDeploymentId;

/// When a machine that may not be given up yet is looked at again (`machineutils.ShortRetry`).
pub const SHORT_RETRY: Duration = Duration::from_secs(5);

/// Replacements under way at which no further machine of a machine deployment is given up.
pub const MAX_REPLACEMENTS: u32 = 1;

/// A machine of the same machine deployment, whichever its machine set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// Where it stands.
    pub phase: Phase,
    /// It is kept on purpose and not in progress.
    pub preserved: bool,
}

/// The machines of a machine deployment, as meltdown protection sees them.
pub fn siblings(deployment: MachineDeploymentId, machines: &MachineTables) -> Vec<Sibling> {
    machines.of(deployment).map(|(_, machine)| Sibling { phase: machine.phase, preserved: false }).collect()
}

/// Replacements under way: machines neither running nor waiting to be judged, those terminating twice.
pub fn in_progress(siblings: &[Sibling]) -> u32 {
    let of = |sibling: &Sibling| match sibling.phase {
        _ if sibling.preserved => 0,
        Phase::Unknown | Phase::Running => 0,
        Phase::Terminating => 2,
        Phase::Pending | Phase::Failed | Phase::CrashLoopBackOff => 1,
    };
    siblings.iter().map(of).sum()
}

/// What becomes of a machine that is [`Phase::Unknown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is given up: [`Phase::Failed`].
    Failed,
    /// It is looked at again after so long.
    Wait(Duration),
}

/// Judges a machine that has been [`Phase::Unknown`] for `unknown_for`. `siblings` are all machines of its machine deployment;
/// `lock_held`: another machine of it is being judged.
pub fn judge(unknown_for: Duration, health_timeout: Duration, siblings: &[Sibling], lock_held: bool) -> Judgement {
    if unknown_for < health_timeout {
        Judgement::Wait(health_timeout - unknown_for)
    } else if lock_held || in_progress(siblings) >= MAX_REPLACEMENTS {
        Judgement::Wait(SHORT_RETRY)
    } else {
        Judgement::Failed
    }
}
