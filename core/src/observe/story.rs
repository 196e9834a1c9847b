//! The event list in plain words: what a person would tell of the run.
//!
//! Requests are left out (there are too many), and so is what only says again in one member's words what another line says for the
//! cluster: views of the leader and single streams.

use std::sync::Arc;

use super::Observer;
use super::describe::Teller;
use crate::kernel::time::Time;
use crate::record::Record;
use crate::report::{StoryLine, seconds};
use crate::scenario::Scenario;

/// Lines kept; a run of years under random faults has more.
pub const STORY_LIMIT: usize = 2_000;

/// Collects the lines.
#[derive(Clone, Debug)]
pub struct Story {
    teller: Teller,
    lines: Vec<StoryLine>,
    omitted: u64,
}

impl Story {
    /// Nothing has happened yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { teller: Teller::new(scenario), lines: Vec::new(), omitted: 0 }
    }

    /// The lines, in order.
    pub fn lines(&self) -> &[StoryLine] {
        &self.lines
    }

    /// How many lines did not fit into [`STORY_LIMIT`].
    pub fn omitted(&self) -> u64 {
        self.omitted
    }
}

/// Whether a record belongs into the story.
fn belongs(record: &Record) -> bool {
    match record {
        Record::FaultStarted(_)
        | Record::FaultEnded(_)
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
        | Record::DataLost { .. } => true,
        Record::NodePower { .. }
        | Record::LeaderSeen { .. }
        | Record::PeerLost { .. }
        | Record::PeerFound { .. }
        | Record::Request { .. }
        | Record::Raft(_) => false,
    }
}

impl Observer for Story {
    fn record(&mut self, at: Time, record: &Record) {
        if !belongs(record) {
            return;
        }
        if self.lines.len() >= STORY_LIMIT {
            self.teller.pass(at, record);
            self.omitted += 1;
        } else {
            let text = self.teller.tell(at, record);
            self.lines.push(StoryLine { at_s: seconds(at), text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FaultId, ZoneId};
    use crate::observe::testing::{at, fault, member, three_zones};
    use crate::scenario::{Aim, Fault};

    #[test]
    fn the_story_names_what_ended_and_leaves_views_out() {
        let mut story = Story::new(&Arc::new(three_zones()));
        let (ms, began) = fault(0, 1_000, Fault::ZonePower(Aim::Named(ZoneId(0))));
        story.record(at(ms), &began);
        story.record(at(1_500), &Record::LeaderSeen { member: member(1), term: 1, leader: None });
        story.record(at(2_000), &Record::FaultEnded(FaultId(0)));
        let lines: Vec<_> = story.lines().iter().map(|l| (l.at_s, l.text.as_str())).collect();
        assert_eq!(lines, [(1.0, "zone z-a lost power"), (2.0, "zone z-a has power again")]);
    }
}
