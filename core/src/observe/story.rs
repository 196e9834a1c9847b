//! The event list in plain words: what a person would tell of the run.
//!
//! Requests are left out (there are too many), and so is what only says again in one member's words what another line says for the
//! cluster: views of the leader and single streams. A member that asks for votes in vain, again and again, is told of once. What is well
//! at time zero is how the run begins, not something that happens in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Observer;
use super::describe::RecordDescriber;
use super::subject::{Subject, subject};
use crate::ids::MemberId;
use crate::kernel::time::Time;
use crate::record::{EtcdRecord, Record};
use crate::report::{StoryLine, seconds};
use crate::scenario::Scenario;

/// Lines kept: all of a zone outage under a landscape of 200 control planes (4,007); a year under random faults has more.
pub const STORY_LIMIT: usize = 5_000;

/// Collects the lines.
#[derive(Clone, Debug)]
pub struct Story {
    scenario: Arc<Scenario>,
    describer: RecordDescriber,
    /// Shared by the clones of a run: keyframes stay small.
    lines: Vec<Arc<StoryLine>>,
    omitted: u64,
    /// Members that have asked for votes since they last knew a leader; whether before a term, or in it.
    campaigning: BTreeSet<(MemberId, bool)>,
}

impl Story {
    /// Nothing has happened yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let (lines, omitted, campaigning) = Default::default();
        Self { scenario: Arc::clone(scenario), describer: RecordDescriber::new(scenario), lines, omitted, campaigning }
    }

    /// The lines, in order.
    pub fn lines(&self) -> Vec<StoryLine> {
        self.lines.iter().map(|line| StoryLine::clone(line)).collect()
    }

    /// How many lines did not fit into [`STORY_LIMIT`].
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Whether a member asks for votes once more, and nothing has come of the last time.
    fn is_repeated_campaign(&mut self, record: &Record) -> bool {
        match record {
            Record::Etcd(EtcdRecord::Campaign { member, pre_vote, .. }) => !self.campaigning.insert((*member, *pre_vote)),
            Record::Etcd(
                EtcdRecord::LeaderSeen { member, leader: Some(_), .. }
                | EtcdRecord::Elected { member, .. }
                | EtcdRecord::MemberStarted(member)
                | EtcdRecord::MemberStopped { member, .. },
            ) => {
                self.campaigning.retain(|(campaigner, _)| campaigner != member);
                false
            }
            _ => false,
        }
    }
}

impl Observer for Story {
    fn record(&mut self, at: Time, record: &Record) {
        if self.is_repeated_campaign(record) {
            return;
        }
        let ended = match record {
            Record::FaultEnded(id) => self.describer.under_way(*id),
            _ => None,
        };
        let Subject { kind: Some(kind), cluster, about, over } = subject(record, ended, &self.scenario) else { return };
        if at == Time::ZERO && over {
            self.describer.observe(at, record);
        } else if self.lines.len() >= STORY_LIMIT {
            self.describer.observe(at, record);
            self.omitted += 1;
        } else {
            let text = self.describer.describe(at, record);
            self.lines.push(Arc::new(StoryLine { at_s: seconds(at), text, kind, cluster, about, completed: over }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FaultId, ZoneId};
    use crate::observe::testing::{at, fault, member, three_zones};
    use crate::record::StepDownReason;
    use crate::report::StoryKind;
    use crate::scenario::{Fault, FaultTarget, ZonePower};

    #[test]
    fn the_story_names_what_ended_and_leaves_views_out() {
        let mut story = Story::new(&Arc::new(three_zones()));
        let (ms, began) = fault(0, 1_000, Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))));
        story.record(at(ms), &began);
        story.record(at(1_500), &Record::Etcd(EtcdRecord::LeaderSeen { member: member(1), term: 1, leader: None }));
        story.record(at(2_000), &Record::FaultEnded(FaultId(0)));
        story.record(at(3_000), &Record::Etcd(EtcdRecord::Elected { member: member(1), term: 2 }));
        let lines = story.lines();
        let told: Vec<_> = lines.iter().map(|l| (l.at_s, l.text.as_str(), l.kind, l.completed)).collect();
        let (fault, election) = (StoryKind::Fault, StoryKind::Election);
        let expected = [
            (1.0, "zone z-a lost power", fault, false),
            (2.0, "zone z-a has power again", fault, true),
            (3.0, "etcd-main-1 is elected in term 2", election, true),
        ];
        assert_eq!(told, expected);
        let about: Vec<_> = lines.iter().map(|l| (l.cluster.as_deref(), l.about.join(" "))).collect();
        let expected = [(None, "z-a"), (None, "z-a"), (Some("etcd-main"), "etcd-main-1")];
        assert_eq!(about, expected.map(|(cluster, about)| (cluster, about.to_owned())));
    }

    #[test]
    fn what_is_well_at_time_zero_is_not_told() {
        let mut story = Story::new(&Arc::new(three_zones()));
        story.record(Time::ZERO, &Record::Etcd(EtcdRecord::Elected { member: member(1), term: 1 }));
        story.record(
            Time::ZERO,
            &Record::Etcd(EtcdRecord::SteppedDown { member: member(1), term: 1, reason: StepDownReason::HigherTerm }),
        );
        story.record(at(1), &Record::Etcd(EtcdRecord::Elected { member: member(2), term: 2 }));
        let told: Vec<_> = story.lines().into_iter().map(|line| line.at_s).collect();
        assert_eq!(told, [0.0, 0.001]);
    }

    #[test]
    fn campaigns_in_vain_are_told_of_once() {
        let mut story = Story::new(&Arc::new(three_zones()));
        let campaign = |term| Record::Etcd(EtcdRecord::Campaign { member: member(1), term, pre_vote: false });
        for term in 2..9 {
            story.record(at(term * 1_000), &campaign(term));
        }
        story.record(at(9_000), &Record::Etcd(EtcdRecord::LeaderSeen { member: member(1), term: 9, leader: Some(0) }));
        story.record(at(10_000), &campaign(10));
        let told: Vec<_> = story.lines().into_iter().map(|line| line.text).collect();
        assert_eq!(told, ["etcd-main-1 campaigns for term 2", "etcd-main-1 campaigns for term 10"]);
    }
}
