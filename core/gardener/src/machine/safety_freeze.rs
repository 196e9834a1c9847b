//! The machine controller stops where it cannot trust what it sees (`pkg/util/provider/machinecontroller/machine_safety.go`): a control
//! plane that is out of reach makes all nodes look dead.
//!
//! ```text
//!  every minute: does the API answer? no --for 30 s--> frozen --> yes, at a later check: machines that are Unknown begin anew
//! ```

use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::time::{Duration, Time};

/// Whether it may act.
#[derive(Clone, Debug)]
pub struct SafetyFreeze {
    checks: Periodic,
    patience: Duration,
    out: Option<Time>,
    frozen: bool,
    /// It does nothing until it has looked at everything anew.
    resumes: Option<Time>,
}

impl SafetyFreeze {
    /// The API is within reach. A check that finds it silent waits for so long before it freezes.
    pub const fn new(checks: Periodic, patience: Duration) -> Self {
        Self { checks, patience, out: None, frozen: false, resumes: None }
    }

    /// Another process takes over, which has seen the API answer.
    pub const fn forget(&mut self) {
        *self = Self::new(self.checks, self.patience);
    }

    /// Whether it may act.
    pub const fn may_act(&self) -> bool {
        self.out.is_none() && self.resumes.is_none()
    }

    /// Whether the API is within reach, as far as it has been told.
    pub const fn is_served(&self) -> bool {
        self.out.is_none()
    }

    /// The API is out of reach.
    pub const fn api_gone(&mut self, now: Time) {
        (self.out, self.resumes) = (Some(now), None);
    }

    /// The API is back; when the controller goes on.
    pub fn api_recovered(&mut self, now: Time) -> Time {
        let out = self.out.take().unwrap_or(now);
        self.frozen |= self.checks.at_or_after(out) + self.patience < now;
        let at = if self.frozen { self.checks.at_or_after(now) } else { now };
        self.resumes = Some(at);
        at
    }

    /// Goes on, if it is time; whether it was frozen.
    pub fn resume(&mut self, now: Time) -> Option<bool> {
        (self.resumes? == now).then(|| {
            self.resumes = None;
            std::mem::take(&mut self.frozen)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_decide() {
        let s = |s: u64| Time::ZERO + Duration::from_secs(s);
        let checks = Periodic::new(s(10), Duration::from_secs(60));
        for (gone, back, resumes, was_frozen) in [
            // The check at 70 s has seen it 30 s long; that at 130 s has not.
            (65, 101, 130, true),
            (65, 100, 100, false),
            (71, 129, 129, false),
            (71, 160, 160, false),
            (71, 161, 190, true),
        ] {
            let mut freeze = SafetyFreeze::new(checks, Duration::from_secs(30));
            freeze.api_gone(s(gone));
            assert!(!freeze.may_act());
            assert_eq!(freeze.api_recovered(s(back)), s(resumes), "{gone} to {back}");
            assert_eq!((freeze.may_act(), freeze.resume(s(1))), (false, None));
            assert_eq!(freeze.resume(s(resumes)), Some(was_frozen));
            assert!(freeze.may_act());
        }
        // Gone once more before it went on: frozen still.
        let mut freeze = SafetyFreeze::new(checks, Duration::from_secs(30));
        freeze.api_gone(s(65));
        assert_eq!(freeze.api_recovered(s(105)), s(130));
        freeze.api_gone(s(120));
        assert_eq!(freeze.resume(s(130)), None);
        assert_eq!(freeze.api_recovered(s(131)), s(190));
        assert_eq!(freeze.resume(s(190)), Some(true));
    }
}
