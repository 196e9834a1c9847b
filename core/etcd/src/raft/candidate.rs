//! A candidate's way to an election, and the votes of others (raft paper, section 5.2; raft thesis, section 9.6 for the pre-vote).

#[cfg(feature = "planted-bugs")]
use super::PlantedBug;
use super::entry::Command;
use super::message::{Kind, Message};
use super::quorum::{Members, VoteResult};
use super::{Campaign, Note, Raft, Role, StepDownReason};
use zonefall_kernel::time::Time;

impl Raft {
    /// The election timeout has passed (the server calls it at the tick where that is so).
    pub fn timed_out(&mut self, now: Time) {
        if self.role == Role::Leader || !self.is_promotable() {
            return;
        }
        self.clock.reset(now);
        self.hup(now, if self.config.pre_vote { Campaign::PreElection } else { Campaign::Election });
    }

    pub(super) fn hup(&mut self, now: Time, campaign: Campaign) {
        if self.role == Role::Leader || !self.is_promotable() || self.has_unapplied_conf_change() {
            return;
        }
        self.campaign(now, campaign);
    }

    fn has_unapplied_conf_change(&self) -> bool {
        (self.log.applied + 1..=self.log.committed)
            .any(|index| self.log.get(index).is_some_and(|entry| matches!(entry.command, Command::Conf(_))))
    }

    fn campaign(&mut self, now: Time, campaign: Campaign) {
        let pre_vote = campaign == Campaign::PreElection;
        if pre_vote {
            // Asks for the next term without taking it: neither term, vote, clock nor timeout change.
            self.votes_granted = Members::EMPTY;
            self.votes_rejected = Members::EMPTY;
            self.role = Role::PreCandidate;
            self.lead = None;
        } else {
            self.reset(now, self.term + 1);
            self.role = Role::Candidate;
            self.vote = Some(self.me);
        }
        let term = if pre_vote { self.term + 1 } else { self.term };
        self.note(Note::Campaign { term, pre_vote });
        for to in self.conf_state.quorum.voters().iter().filter(|&to| to != self.me) {
            let mut ask = Message::new(if pre_vote { Kind::PreVote } else { Kind::Vote }, self.me, to);
            ask.term = term;
            ask.index = self.log.last();
            ask.log_term = self.log.last_term();
            ask.context = u64::from(campaign == Campaign::Transfer);
            self.out.messages.push(ask);
        }
        self.poll(now, self.me, true);
    }

    /// Counts a vote.
    fn poll(&mut self, now: Time, from: u8, granted: bool) {
        if !self.votes_granted.contains(from) && !self.votes_rejected.contains(from) {
            if granted { self.votes_granted.insert(from) } else { self.votes_rejected.insert(from) }
        }
        let (yes, no) = (self.votes_granted, self.votes_rejected);
        match self
            .conf_state
            .quorum
            .vote(|index| if yes.contains(index) { Some(true) } else { no.contains(index).then_some(false) })
        {
            VoteResult::Won if self.role == Role::PreCandidate => self.campaign(now, Campaign::Election),
            VoteResult::Won => self.become_leader(now),
            VoteResult::Lost => self.become_follower(now, self.term, None, StepDownReason::HigherTerm),
            VoteResult::Pending => {}
        }
    }

    pub(super) fn handle_vote_request(&mut self, now: Time, ask: &Message) {
        let real = ask.kind == Kind::Vote;
        let mut may =
            self.vote == Some(ask.from) || (self.vote.is_none() && self.lead.is_none()) || (!real && ask.term > self.term);
        #[cfg(feature = "planted-bugs")]
        if self.config.bug == Some(PlantedBug::VoteTwice) {
            may = true;
        }
        may &= self.log.is_up_to_date(ask.index, ask.log_term);
        let mut answer = Message::new(if real { Kind::VoteResponse } else { Kind::PreVoteResponse }, self.me, ask.from);
        // A granted pre-vote carries the term asked for; everything else the voter's own.
        answer.term = if may { ask.term } else { self.term };
        answer.reject = !may;
        self.out.messages.push(answer);
        if may && real {
            self.clock.reset(now);
            self.vote = Some(ask.from);
        }
    }

    pub(super) fn step_candidate(&mut self, now: Time, message: Message) {
        match message.kind {
            Kind::Append | Kind::Heartbeat | Kind::Snapshot => {
                self.become_follower(now, message.term, Some(message.from), StepDownReason::HigherTerm);
                self.step_follower(now, message);
            }
            Kind::VoteResponse if self.role == Role::Candidate => self.poll(now, message.from, !message.reject),
            Kind::PreVoteResponse if self.role == Role::PreCandidate => self.poll(now, message.from, !message.reject),
            Kind::Propose => self.drop_proposals(&message),
            Kind::VoteResponse | Kind::PreVoteResponse | Kind::AppendResponse | Kind::HeartbeatResponse => {}
            Kind::ReadIndex | Kind::ReadIndexResponse | Kind::TimeoutNow => {}
            Kind::Vote | Kind::PreVote => unreachable!("handled for every role alike"),
        }
    }
}
