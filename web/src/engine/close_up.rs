//! A part of a branch looked at closely: a clone of the branch runs through the part once more.

use zonefall_core::kernel::time::Time;
use zonefall_core::observe::close_up::CloseUp;
use zonefall_core::report;

use super::branch::Branch;
use super::branch_run::BranchRun;

/// A clone on its way through the part.
#[derive(Debug)]
pub(super) struct CloserLook {
    end: Time,
    branch_run: BranchRun,
}

impl CloserLook {
    /// Of the part from `from` to `to`. `None`: its report is as fine, or the branch was given up.
    pub(super) fn new(branch: &mut Branch, (from, to): (Time, Time)) -> Option<Self> {
        let scenario = branch.head.as_mut()?.run().simulation().scenario();
        let close_up = CloseUp::new(scenario, (from, to))?;
        let end = close_up.end();
        let mut branch_run = branch.nearest(close_up.start())?.clone();
        branch_run.run().look_closely(close_up);
        Some(Self { end, branch_run })
    }

    /// Goes on for `events` events at most; what was seen, when it is through.
    pub(super) fn advance(&mut self, branch: &Branch, events: u64) -> Option<report::CloseUp> {
        // An intervention that cannot be done ends the branch before anybody can look behind it.
        if !self.branch_run.advance(&branch.interventions, self.end, events).unwrap_or(true) {
            return None;
        }
        let run = self.branch_run.run();
        Some(run.close_up()?.report(run.simulation().scenario()))
    }
}
