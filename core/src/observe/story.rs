//! The event list in plain words: what a person would tell of the run.
//!
//! Requests are left out (there are too many), and so is what only says again in one member's words what another line says for the
//! cluster: views of the leader and single streams.

use std::sync::Arc;

use super::describe::describe;
use super::faults::Faults;
use super::{Observer, words};
use crate::kernel::time::Time;
use crate::record::Record;
use crate::report::{StoryLine, seconds};
use crate::scenario::Scenario;

/// Lines kept; a run of years under random faults has more.
pub const STORY_LIMIT: usize = 2_000;

/// Collects the lines.
#[derive(Clone, Debug)]
pub struct Story {
    scenario: Arc<Scenario>,
    faults: Faults,
    lines: Vec<StoryLine>,
    omitted: u64,
}

impl Story {
    /// Nothing has happened yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { scenario: Arc::clone(scenario), faults: Faults::new(scenario), lines: Vec::new(), omitted: 0 }
    }

    /// The lines, in order.
    pub fn lines(&self) -> &[StoryLine] {
        &self.lines
    }

    /// How many lines did not fit into [`STORY_LIMIT`].
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// What a record adds to the story.
    fn text(&self, record: &Record) -> Option<String> {
        match record {
            Record::FaultEnded(id) => self.faults.under_way(*id).map(|ended| words::over(&ended.fault, &self.scenario)),
            Record::FaultStarted(_)
            | Record::MemberStarted(_)
            | Record::MemberStopped { .. }
            | Record::MemberRefused { .. }
            | Record::Campaign { .. }
            | Record::Elected { .. }
            | Record::SteppedDown { .. }
            | Record::SnapshotStarted { .. }
            | Record::SnapshotFinished { .. }
            | Record::CaughtUp { .. }
            | Record::Membership { .. }
            | Record::Availability { .. }
            | Record::DataLost { .. } => Some(describe(record, &self.scenario)),
            Record::NodePower { .. }
            | Record::LeaderSeen { .. }
            | Record::PeerLost { .. }
            | Record::PeerFound { .. }
            | Record::Request { .. }
            | Record::Raft(_) => None,
        }
    }
}

impl Observer for Story {
    fn record(&mut self, at: Time, record: &Record) {
        if self.lines.len() >= STORY_LIMIT {
            self.omitted += u64::from(self.text(record).is_some());
        } else if let Some(text) = self.text(record) {
            self.lines.push(StoryLine { at_s: seconds(at), text });
        }
        self.faults.record(at, record);
    }
}
