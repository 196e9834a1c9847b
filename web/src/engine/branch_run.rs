//! A run with the interventions of its branch: what can be cloned, and goes on from there.

use std::sync::Arc;

use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::run::Run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

use super::protocol::{Intervention, asked};

/// What was done, and when, in order.
pub type Interventions = Vec<(Time, Intervention)>;

/// A run and how many of its branch's interventions are done in it. A clone is a keyframe.
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

/// Interventions and events at one instant, at most: a world that does not get on is left there.
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

    /// How long the scenario is.
    pub fn duration(&self) -> Duration {
        self.run.simulation().scenario().duration
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.run.simulation().events()
    }

    /// The run.
    pub fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Goes on to `until`, doing the interventions on the way, for `events` events at most; whether it got there. Pausing leaves no mark.
    ///
    /// # Errors
    /// Why an intervention cannot be done, in plain words.
    pub fn advance(&mut self, interventions: &[(Time, Intervention)], until: Time, events: u64) -> Result<bool, String> {
        Ok(self.intervene(interventions, until, events)?.is_some_and(|left| self.run.advance_some(until, left, &mut |_, _| {})))
    }

    /// The same for a stop on the way ([`Run::advance_quiescent`]).
    ///
    /// # Errors
    /// Why an intervention cannot be done, in plain words.
    pub fn advance_quiescent(
        &mut self,
        interventions: &[(Time, Intervention)],
        until: Time,
        events: u64,
    ) -> Result<bool, String> {
        let left = self.intervene(interventions, until, events)?;
        Ok(left.is_some_and(|left| self.run.advance_quiescent(until, left, &mut |_, _| {})))
    }

    /// Does all interventions up to and with `until`; how many events are left then, `None`: too few.
    fn intervene(&mut self, interventions: &[(Time, Intervention)], until: Time, events: u64) -> Result<Option<u64>, String> {
        let last = self.events().saturating_add(events);
        while let Some((at, intervention)) = interventions.get(self.done).filter(|(at, _)| *at <= until) {
            if !self.run.advance_some(*at, last.saturating_sub(self.events()), &mut |_, _| {}) {
                return Ok(None);
            }
            self.apply(intervention)?;
        }
        Ok(Some(last.saturating_sub(self.events())))
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
            Intervention::Roll { cluster, task } => world.try_roll(*cluster, *task),
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
        Intervention::Roll { cluster, task } => asked(*cluster, *task, scenario),
    }
}
