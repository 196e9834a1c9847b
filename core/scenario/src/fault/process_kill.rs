//! A member's process is killed; its kubelet starts it again, unless something keeps it down.

use zonefall_kernel::time::{Duration, Time};

use super::prelude::*;
use crate::text::duration;

/// A kubelet notices that a container has ended after this at most (`genericPlegRelistPeriod`, `pkg/kubelet/kubelet.go`).
const RELIST: Duration = Duration::from_secs(1);
/// From its decision to restart the container until the process runs: containerd and runc, the image is on the node (assumed).
const CONTAINER_START: Duration = Duration::from_millis(500);
/// Back-off before the second restart (`backOffPeriod`, `pkg/kubelet/kubelet.go`): CrashLoopBackOff. It doubles each time ...
const FIRST_BACK_OFF: Duration = Duration::from_secs(10);
/// ... up to this (`MaxContainerBackOff`, since 1.32 `MaxCrashLoopBackOff`), and starts over when the container has run for twice as long
/// (`client-go/util/flowcontrol`, `hasExpired`).
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);

/// SIGKILL to a member: its connections are reset and its unsynced writes are lost. The member restarts at the end of the fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "member killed")]
pub struct Raw {
    /// The member.
    #[schemars(title = "Member", extend("x-target" = "member"))]
    pub member: RawFaultTarget,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<ProcessKill> {
        ctx.member(&self.member).map(ProcessKill)
    }
}

/// SIGKILL: its connections are reset and its unsynced writes are lost. The member restarts at the end of the fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessKill(pub FaultTarget<MemberId>);

traced! { struct ProcessKill { 0 } }

impl ProcessKill {
    /// How long a process that is killed now is down until its kubelet has started its container again (`restartPolicy: Always`): at once the
    /// first time, with a back-off if it was killed shortly `before` (ascending). The process then takes its own time until it serves.
    pub fn restarted_after(before: &[Time], now: Time) -> Duration {
        let mut last: Option<(Time, Duration)> = None;
        let mut wait = Duration::ZERO;
        for &killed in before.iter().chain([&now]) {
            let recent = last.filter(|(restarted, _)| killed < *restarted + LONGEST_BACK_OFF * 2);
            let next = recent.map_or(FIRST_BACK_OFF, |(_, back_off)| (back_off * 2).min(LONGEST_BACK_OFF));
            wait = recent.map_or(Duration::ZERO, |(_, back_off)| back_off);
            last = Some((killed + wait, next));
        }
        wait.max(RELIST) + CONTAINER_START
    }
}

impl FaultKind for ProcessKill {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.0.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Member(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::ProcessKill(Raw { member: self.0.raw(scenario) })
    }

    fn impact(&self) -> Impact {
        Impact::Stops
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was killed", self.0.text(scenario))
    }

    fn began_for(&self, scenario: &dyn Inventory, lasts: Option<Duration>) -> String {
        let until = lasts.map_or_else(|| "until repaired".to_owned(), |lasts| format!("restarted after {}", duration(lasts)));
        format!("{} ({until})", self.began(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still stopped", self.0.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is restarted", self.0.text(scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Member(member) = on else { return Vec::new() };
        let offer = |id, label, about| Offer { id, label, about, fault: Self(member).into() };
        vec![
            offer(
                Offer::KILL,
                "Kill process",
                "SIGKILL: connections are reset, unsynced writes are lost; its kubelet restarts it",
            ),
            offer("keep-stopped", "Stop until repaired", "SIGKILL, and its kubelet does not restart it"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelet_restarts_at_once_then_backs_off_and_forgets_after_ten_minutes() {
        let at = |s: f64| Time::from_nanos((s * 1e9) as u64);
        for (before, now, expected_s) in [
            (&[][..], 0.0, 1.5),
            (&[0.0], 30.0, 10.5),
            (&[0.0, 30.0], 60.0, 20.5),
            (&[0.0, 30.0, 60.0, 120.0, 240.0, 400.0], 800.0, 300.5),
            (&[0.0], 599.0, 10.5),
            (&[0.0], 600.0, 1.5),
            // The ten minutes begin with the restart: 40 s after the back-off of 10 s.
            (&[0.0, 30.0], 639.0, 20.5),
            (&[0.0, 30.0], 640.0, 1.5),
            (&[0.0, 30.0, 700.0], 730.0, 10.5),
        ] {
            let times: Vec<Time> = before.iter().map(|s| at(*s)).collect();
            let found = ProcessKill::restarted_after(&times, at(now));
            assert!((found.as_secs_f64() - expected_s).abs() < 1e-9, "{before:?}, {now}: {found}");
        }
    }
}
