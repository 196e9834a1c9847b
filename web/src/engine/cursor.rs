//! Looks and steps: a clone of a course that goes where the user looks.
//!
//! Playing looks forward in small strides: the clone goes on. Looking back, or far ahead, starts from the nearest keyframe.

use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::sim::view::SimulationView;

use super::branch::Branch;
use super::branch_run::BranchRun;
use super::protocol::BranchId;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ViewRequest {
    /// The world at a time.
    At {
        /// Time that is asked for.
        at: Time,
        /// Message by message from here on.
        messages: bool,
    },
    /// The world after the next event, or after the one before.
    Step {
        /// From here.
        at: Time,
        /// To the next.
        forward: bool,
    },
}

/// A course that has gone where the user looks.
#[derive(Clone, Debug)]
pub struct Cursor {
    branch: BranchId,
    branch_run: BranchRun,
    /// It runs message by message.
    messages: bool,
}

/// Further than this, running message by message costs more than starting from a keyframe.
const STRIDE: Duration = Duration::from_secs(10);
/// How far back a step looks for an event first.
const FIRST_LOOK_BACK: Duration = Duration::from_millis(10);
/// Each further glance looks so many times further.
const FURTHER: u64 = 8;
/// Words of one step, at most: a crowded instant is summed up.
const MOST_SAID: usize = 4;

impl ViewRequest {
    /// The moment it is about.
    pub fn at(self) -> Time {
        match self {
            Self::At { at, .. } | Self::Step { at, .. } => at,
        }
    }
}

impl Cursor {
    /// The cheapest cursor for `at`: the last one, where it lies before `at` and nearer than any keyframe, or a new one. `None`: the
    /// branch was given up.
    pub fn find(last: Option<Self>, id: BranchId, branch: &Branch, at: Time) -> Option<Self> {
        let nearest = branch.nearest(at)?;
        let fits = |cursor: &Self| {
            let now = cursor.branch_run.now();
            let near = !cursor.messages || at.since(now) <= STRIDE;
            cursor.branch == id && now <= at && (now >= nearest.now() || cursor.messages) && near
        };
        Some(last.filter(fits).unwrap_or_else(|| Self { branch: id, branch_run: nearest.clone(), messages: false }))
    }

    /// Goes on to `at`, for `events` events at most; whether it got there.
    pub fn advance(&mut self, branch: &Branch, at: Time, events: u64) -> bool {
        // An intervention that cannot be done ends the branch before anybody can look behind it.
        self.branch_run.advance(&branch.interventions, at, events).unwrap_or(true)
    }

    /// The picture where it is, and the event that led there, in plain words.
    pub fn view(&mut self, branch: &Branch, request: ViewRequest, end: Time) -> (SimulationView, String) {
        let mut said = String::new();
        match request {
            ViewRequest::At { messages: false, .. } => {}
            ViewRequest::At { messages: true, .. } => self.message_by_message(),
            ViewRequest::Step { forward: true, .. } => said = self.forward(branch, end),
            ViewRequest::Step { at, forward: false } => said = self.back(branch, at, end),
        }
        (self.branch_run.run().simulation().view(), said)
    }

    fn message_by_message(&mut self) {
        if !self.messages {
            self.branch_run.run().simulation_mut().message_by_message();
            self.messages = true;
        }
    }

    fn forward(&mut self, branch: &Branch, end: Time) -> String {
        self.message_by_message();
        while let Some(instant) = self.branch_run.step(&branch.interventions, end) {
            if !instant.words.is_empty() {
                return sentence(&instant.words);
            }
        }
        self.advance(branch, end, u64::MAX);
        "no further event before the end".to_owned()
    }

    /// To the last event before `at`: looked for in ever longer stretches that end there.
    fn back(&mut self, branch: &Branch, at: Time, end: Time) -> String {
        let mut look_back = FIRST_LOOK_BACK;
        loop {
            let from = Time::from_nanos(at.as_nanos().saturating_sub(look_back.as_nanos()));
            let Some(mut start) = Self::find(None, self.branch, branch, from) else { return String::new() };
            start.advance(branch, from, u64::MAX);
            start.message_by_message();
            let mut scout = start.clone();
            let mut found = None;
            while let Some(instant) = scout.branch_run.step(&branch.interventions, end).filter(|instant| instant.at < at) {
                if !instant.words.is_empty() {
                    found = Some(instant);
                }
            }
            if let Some(instant) = found {
                start.advance(branch, instant.at, u64::MAX);
                *self = start;
                return sentence(&instant.words);
            }
            if from == Time::ZERO {
                *self = start;
                return "no event before this moment".to_owned();
            }
            look_back = look_back * FURTHER;
        }
    }
}

/// `a; b; c; d and 3 more`.
fn sentence(said: &[String]) -> String {
    let first = said[..said.len().min(MOST_SAID)].join("; ");
    match said.len().saturating_sub(MOST_SAID) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
