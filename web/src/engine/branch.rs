//! A branch: a scenario and the deeds done to it, and how far that course of events is simulated.

use std::sync::Arc;

use zonefall_core::kernel::time::Time;
use zonefall_core::report::Report;
use zonefall_core::run::{self, Run};
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::text;
use zonefall_core::sim::Options;

use super::keyframes::{Keyframes, Limits};
use super::protocol::Intervention;

/// What was done, and when, in order.
pub type Interventions = Vec<(Time, Intervention)>;

/// A run and how many of its branch's deeds are done in it. A clone is a keyframe.
#[derive(Clone, Debug)]
pub struct BranchRun {
    run: Run,
    done: usize,
}

/// All that happens at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instant {
    /// Time of the instant.
    pub at: Time,
    /// In plain words; empty where only cancelled timers rang.
    pub words: Vec<String>,
}

/// Deeds and events at one instant, at most: a world that does not get on is left there.
const MOST_AT_AN_INSTANT: u64 = 100_000;

impl BranchRun {
    /// The scenario at time zero.
    pub fn new(scenario: &Arc<Scenario>, seed: u64) -> Self {
        Self { run: Run::new(scenario, seed, Options::default()), done: 0 }
    }

    /// Simulated up to here.
    pub fn now(&self) -> Time {
        self.run.simulation().now()
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.run.simulation().events()
    }

    /// The run.
    pub fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Goes on to `until`, doing the deeds on the way, for `events` events at most; whether it got there. Pausing leaves no mark.
    ///
    /// # Errors
    /// Why a deed cannot be done, in plain words.
    pub fn advance(&mut self, interventions: &[(Time, Intervention)], until: Time, events: u64) -> Result<bool, String> {
        let last = self.events().saturating_add(events);
        loop {
            let next = interventions.get(self.done).filter(|(at, _)| *at <= until);
            let stop = next.map_or(until, |(at, _)| *at);
            let left = last.saturating_sub(self.events());
            if !self.run.advance_some(stop, left, &mut |_, _| {}) {
                return Ok(false);
            }
            let Some((_, intervention)) = next else { return Ok(true) };
            self.apply(intervention)?;
        }
    }

    fn apply(&mut self, intervention: &Intervention) -> Result<(), String> {
        self.done += 1;
        let world = self.run.simulation_mut();
        match intervention {
            Intervention::Inject { fault, lasts } => world.try_inject(fault, *lasts).map(|_| ()),
            Intervention::Repair { fault } => {
                if world.active_faults().iter().any(|active| active.id == *fault) {
                    world.repair(*fault);
                    Ok(())
                } else {
                    Err(format!("nothing to repair: fault {} is not active at that moment", fault.0))
                }
            }
        }
    }

    /// Handles all that happens at the next instant, which is not after `end`; `None`: nothing does. For a run message by message.
    pub fn step(&mut self, interventions: &[(Time, Intervention)], end: Time) -> Option<Instant> {
        let intervention = interventions.get(self.done);
        let at = [self.run.simulation().next_event(), intervention.map(|(at, _)| *at)]
            .into_iter()
            .flatten()
            .min()
            .filter(|at| *at <= end)?;
        let at = at.max(self.now());
        let mut said = Vec::new();
        self.events_at(at, &mut said);
        while let Some((_, intervention)) = interventions.get(self.done).filter(|(due, _)| *due <= at) {
            said.push(describe_intervention(intervention, self.run.simulation()));
            // The branch's own head has done it, or says why it cannot.
            self.apply(intervention).ok()?;
            self.run.simulation_mut().run_some(at, 0, &mut |_, _| {});
            self.events_at(at, &mut said);
        }
        Some(Instant { at, words: said })
    }

    fn events_at(&mut self, at: Time, said: &mut Vec<String>) {
        let world = self.run.simulation_mut();
        for _ in 0..MOST_AT_AN_INSTANT {
            if world.next_event().is_none_or(|next| next > at) {
                return;
            }
            let Some(step) = world.step_described(&mut |_, _| {}) else { return };
            said.extend(step.text);
        }
    }
}

fn describe_intervention(intervention: &Intervention, world: &zonefall_core::sim::Simulation) -> String {
    let scenario = world.scenario();
    match intervention {
        Intervention::Inject { fault, .. } => fault.kind().began(scenario),
        Intervention::Repair { fault } => {
            let active = world.active_faults().iter().find(|active| active.id == *fault);
            active.map_or_else(String::new, |active| active.fault.kind().ended(scenario))
        }
    }
}

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
        let (now, duration) = (head.now(), head.run.simulation().scenario().duration);
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

    /// Simulates a slice, stopping where [`run::run`] does, so that a branch without deeds has the very report of the command line.
    ///
    /// # Errors
    /// Why the branch must be given up, in plain words.
    pub fn work(&mut self, limits: &Limits, spacing: u64) -> Result<(), String> {
        let Some(head) = self.head.as_mut().filter(|_| self.steps < run::STEPS) else { return Ok(()) };
        let duration = head.run.simulation().scenario().duration;
        if head.advance(&self.interventions, run::milestone(duration, self.steps + 1), limits.slice)? {
            self.steps += 1;
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
