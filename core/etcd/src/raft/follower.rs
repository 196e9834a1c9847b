//! A follower's answers (raft paper, figure 2, "AppendEntries RPC" and "RequestVote RPC").

use super::message::{Kind, Message};
use super::{Campaign, ConfState, Note, Raft, ReadState};
use zonefall_kernel::time::Time;

impl Raft {
    pub(super) fn step_follower(&mut self, now: Time, mut message: Message) {
        match message.kind {
            Kind::Append | Kind::Heartbeat | Kind::Snapshot => {
                self.clock.reset(now);
                self.lead = Some(message.from);
                match message.kind {
                    Kind::Append => self.handle_append(message),
                    Kind::Heartbeat => self.handle_heartbeat(&message),
                    _ => self.handle_snapshot(&message),
                }
            }
            Kind::Propose => match self.lead {
                Some(lead) => {
                    message.from = self.me;
                    message.to = lead;
                    self.out.messages.push(message);
                }
                None => self.drop_proposals(&message),
            },
            Kind::ReadIndex => {
                // Without a leader the question is lost; the server asks again.
                if let Some(lead) = self.lead {
                    message.from = self.me;
                    message.to = lead;
                    self.out.messages.push(message);
                }
            }
            Kind::ReadIndexResponse => {
                self.out.read_states.push(ReadState { context: message.context, index: message.index });
            }
            // A handed-over leadership never asks first: nobody is partitioned.
            Kind::TimeoutNow => self.hup(now, Campaign::Transfer),
            Kind::VoteResponse | Kind::PreVoteResponse | Kind::AppendResponse | Kind::HeartbeatResponse => {}
            Kind::Vote | Kind::PreVote => unreachable!("handled for every role alike"),
        }
    }

    fn handle_append(&mut self, message: Message) {
        let mut answer = Message::new(Kind::AppendResponse, self.me, message.from);
        if message.index < self.log.committed {
            answer.index = self.log.committed;
        } else if self.log.term(message.index) == Some(message.log_term) {
            let last_new = message.index + message.entries.len();
            self.append_entries(&message);
            self.commit_to(message.commit.min(last_new));
            answer.index = last_new;
        } else {
            // A guess at where the logs agree, past all entries of terms the leader cannot have.
            let (hint, hint_term) = self.log.conflict_by_term(message.index.min(self.log.last()), message.log_term);
            answer.index = message.index;
            answer.reject = true;
            answer.hint = hint;
            answer.log_term = hint_term;
        }
        self.send(answer);
    }

    fn append_entries(&mut self, message: &Message) {
        let Some(skip) =
            message.entries.iter().zip(message.index + 1..).position(|(entry, index)| self.log.term(index) != Some(entry.term))
        else {
            return;
        };
        let from = message.index + 1 + skip as u64;
        if from <= self.log.last() {
            self.log.truncate(from);
            self.note(Note::Truncated { from });
        }
        for alike in message.entries.alike(skip as u64) {
            self.log.push_copies(alike);
        }
        self.note(Note::Appended { from, to: self.log.last() });
    }

    pub(super) fn commit_to(&mut self, index: u64) {
        if index > self.log.committed {
            assert!(index <= self.log.last(), "commit {index} beyond the log's end {}", self.log.last());
            self.log.committed = index;
            self.note(Note::Committed);
        }
    }

    fn handle_heartbeat(&mut self, message: &Message) {
        self.commit_to(message.commit);
        let mut answer = Message::new(Kind::HeartbeatResponse, self.me, message.from);
        answer.context = message.context;
        self.send(answer);
    }

    fn handle_snapshot(&mut self, message: &Message) {
        let snapshot = message.snapshot.as_deref().expect("a snapshot message carries one");
        let mut answer = Message::new(Kind::AppendResponse, self.me, message.from);
        if snapshot.index <= self.log.committed {
            answer.index = self.log.committed;
        } else if self.log.term(snapshot.index) == Some(snapshot.term) {
            self.commit_to(snapshot.index);
            answer.index = self.log.committed;
        } else {
            self.log = super::Log::compacted(snapshot.index, snapshot.term, snapshot.chain);
            self.conf_state = ConfState { quorum: snapshot.voters, learners: snapshot.learners };
            self.note(Note::Restored);
            answer.index = snapshot.index;
        }
        self.send(answer);
    }

    /// Moves the clock on by `ticks` at once (`raftNode.advanceTicks`), fewer than an election timeout.
    pub fn advance_ticks(&mut self, now: Time, ticks: u64) {
        let missing = self.timeout_ticks.saturating_sub(self.clock.elapsed(now)).min(ticks);
        self.clock.advance(missing);
        if self.clock.elapsed(now) >= self.timeout_ticks {
            self.timed_out(now);
        }
        self.clock.advance(ticks - missing);
    }

    /// The leader of a message that could not be sent is unreachable (`ReportUnreachable`).
    pub fn unreachable(&mut self, peer: u8) {
        if self.role == super::Role::Leader {
            let progress = &mut self.progress[peer as usize];
            if progress.state == super::progress::State::Replicate {
                progress.become_probe();
            }
        }
    }
}
