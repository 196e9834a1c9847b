//! A branch: a scenario and the interventions in it, and how far that course of events is simulated.

use zonefall_core::kernel::time::Time;
use zonefall_core::report::Report;
use zonefall_core::run;
use zonefall_core::scenario::text;

use super::branch_run::{BranchRun, Interventions};
use super::keyframes::{Keyframes, Limits};

/// One course of events, simulated as far as it is.
#[derive(Debug)]
pub struct Branch {
    /// What was done to the scenario.
    pub interventions: Interventions,
    /// The furthest moment that is simulated; `None`: given up.
    pub head: Option<BranchRun>,
    /// On the way to the head.
    pub keyframes: Keyframes,
    /// Real time spent on it, in milliseconds.
    pub wall_ms: f64,
    /// The user does not want it simulated further for now.
    pub halted: bool,
    /// Stops of [`run::run`] that are behind the head.
    steps: u32,
    /// Where time stands, and the events handled when it came there.
    stands: (Time, u64),
}

impl Branch {
    /// A branch whose simulation begins with `head`.
    pub fn new(head: BranchRun, interventions: Interventions, keyframes: Keyframes) -> Self {
        let (now, duration) = (head.now(), head.duration());
        // A head that stands at a stop may not have handled all that happens there: the stop is made again, which does no harm.
        let steps = (1..run::STEPS).take_while(|step| run::milestone(duration, *step) < now).last().unwrap_or(0);
        let stands = (now, head.events());
        Self { interventions, head: Some(head), keyframes, wall_ms: 0.0, halted: false, steps, stands }
    }

    /// Simulated up to here.
    pub fn now(&self) -> Time {
        self.head.as_ref().map_or(Time::ZERO, BranchRun::now)
    }

    /// Nothing is left to simulate: it is at its end, or was given up.
    pub fn is_done(&self) -> bool {
        self.head.is_none() || self.steps == run::STEPS
    }

    /// Something is left to simulate, and wanted.
    pub fn is_under_way(&self) -> bool {
        !self.is_done() && !self.halted
    }

    /// Simulates a slice, stopping where [`run::run`] does, so that a branch without interventions has the very report of the command line.
    ///
    /// # Errors
    /// Why the branch must be given up, in plain words.
    pub fn work(&mut self, limits: &Limits, spacing: u64) -> Result<(), String> {
        let Some(head) = self.head.as_mut().filter(|_| self.steps < run::STEPS) else { return Ok(()) };
        let (step, duration) = (self.steps + 1, head.duration());
        let advance = if step == run::STEPS { BranchRun::advance } else { BranchRun::advance_quiescent };
        if advance(head, &self.interventions, run::milestone(duration, step), limits.slice)? {
            self.steps = step;
        }
        self.keyframes.offer(head, spacing);
        let (now, events) = (head.now(), head.events());
        if now > self.stands.0 {
            self.stands = (now, events);
        } else if events - self.stands.1 > limits.most_events_at_once {
            let (n, at) = (events - self.stands.1, text::duration(now.since(Time::ZERO)));
            return Err(format!("the simulation does not advance past {at}: {n} events happened at that moment"));
        }
        Ok(())
    }

    /// Frees what the branch holds; it stays known, and answers nothing any more.
    pub fn give_up(&mut self) {
        self.head = None;
        self.keyframes = Keyframes::default();
    }

    /// The furthest course at or before `at` that is at hand.
    pub fn nearest(&self, at: Time) -> Option<&BranchRun> {
        let head = self.head.as_ref().filter(|head| head.now() <= at);
        head.or_else(|| self.keyframes.at(at))
    }

    /// The report so far; at the end judged by the scenario's expectations.
    pub fn report(&mut self) -> Option<Report> {
        let done = self.is_done();
        let run = self.head.as_mut()?.run();
        let mut report = run.report();
        if done {
            report.judge(run.simulation().scenario());
        }
        Some(report)
    }
}
