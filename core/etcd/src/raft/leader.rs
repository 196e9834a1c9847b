//! A leader's work: append, replicate, commit, confirm reads (raft paper, sections 5.3, 5.4.2 and 8).

use super::entry::{Command, ConfChange, Token};
use super::message::{Kind, Message};
use super::progress::{Progress, State};
use super::quorum::Members;
use super::{ConfState, Note, Raft, ReadState, Role, StepDownReason, encoding};
use zonefall_kernel::time::Time;

impl Raft {
    /// One beat of the leader's clock: checks its quorum every election timeout, then tells everybody that it leads.
    pub fn heartbeat_tick(&mut self, now: Time) {
        self.heartbeats += 1;
        if self.heartbeats >= self.config.election_heartbeats {
            self.heartbeats = 0;
            if self.config.check_quorum && !self.check_quorum(now) {
                return;
            }
            // Leadership that could not be handed over within an election timeout is kept.
            self.transferee = None;
        }
        let context = self.reads.last_context();
        self.broadcast_heartbeat(context);
    }

    /// Whether a majority was heard since the last check; steps down otherwise.
    fn check_quorum(&mut self, now: Time) -> bool {
        let (me, progress) = (self.me, &self.progress);
        let active = self.conf_state.quorum.has(|index| index == me || progress[index as usize].recent_active);
        if !active {
            self.become_follower(now, self.term, None, StepDownReason::QuorumInactive);
        }
        for (index, progress) in self.progress.iter_mut().enumerate() {
            progress.recent_active = index == usize::from(me);
        }
        active
    }

    pub(super) fn others(&self) -> Members {
        let mut others = self.conf_state.members();
        others.remove(self.me);
        others
    }

    fn broadcast_heartbeat(&mut self, context: u64) {
        for to in self.others().iter() {
            let mut heartbeat = Message::new(Kind::Heartbeat, self.me, to);
            // A follower must not be told of a commit beyond what it is known to hold.
            heartbeat.commit = self.progress[to as usize].matched.min(self.log.committed);
            heartbeat.context = context;
            self.send(heartbeat);
        }
    }

    pub(super) fn broadcast_append(&mut self) {
        for to in self.others().iter() {
            self.send_append(to, true);
        }
    }

    /// Sends what `to` lacks, if it may be sent now; whether it was.
    fn send_append(&mut self, to: u8, even_empty: bool) -> bool {
        let max_inflight = self.config.max_inflight;
        let progress = &self.progress[to as usize];
        if progress.is_paused() {
            return false;
        }
        let before = progress.next - 1;
        let Some(log_term) = self.log.term(before) else { return self.send_snapshot(to) };
        let mut append = Message::new(Kind::Append, self.me, to);
        if progress.state != State::Replicate || !progress.is_full(max_inflight) {
            let mut bytes = 0;
            for (index, alike) in self.log.alike_from(progress.next) {
                let mut fits = 0;
                for (count, each) in encoding::entry_sizes(alike, index) {
                    let is_first = append.entries.is_empty() && fits == 0;
                    let more = count.min((self.config.max_append_bytes.saturating_sub(bytes) / each).max(is_first.into()));
                    bytes += more * each;
                    fits += more;
                    if more < count {
                        break;
                    }
                }
                if fits > 0 {
                    append.entries.push(alike, fits);
                }
                if fits < alike.count {
                    break;
                }
            }
        }
        if append.entries.is_empty() && !even_empty {
            return false;
        }
        append.index = before;
        append.log_term = log_term;
        append.commit = self.log.committed;
        let sent = append.entries.len();
        self.progress[to as usize].sent(sent, before + sent, max_inflight);
        self.send(append);
        true
    }

    fn send_snapshot(&mut self, to: u8) -> bool {
        if !self.progress[to as usize].recent_active {
            return false;
        }
        // The server fills in the database as it is when the message leaves (`createMergedSnapshotMessage`).
        self.progress[to as usize].become_snapshot(self.log.applied);
        self.send(Message::new(Kind::Snapshot, self.me, to));
        true
    }

    pub(super) fn append(&mut self, token: Token, command: Command) {
        let index = self.log.push(self.term, token, command);
        self.note(Note::Appended { from: index, to: index });
    }

    /// `count` entries of writes that flow are in its log, on its disk and applied, and so they are at the other members of its group,
    /// whose `followers` it knows where it leads.
    pub fn flow(&mut self, command: Command, count: u64, followers: Members) {
        let log = &mut self.log;
        log.flow(self.term, command, count);
        let last = log.last();
        (log.committed, log.applied, log.written, log.stable) = (last, last, last, last);
        if self.role == Role::Leader {
            for index in followers.iter().chain([self.me]) {
                self.progress[index as usize].maybe_update(last);
            }
        }
    }

    /// The disk has everything up to `self.log.stable`: the leader acknowledges its own entries like a follower's.
    pub fn acknowledge_own(&mut self) {
        self.acknowledge(self.log.stable);
    }

    /// A leader that is alone counts what is not on its disk yet, as etcd did once (`etcd-io/etcd#14370`).
    pub fn acknowledge_alone(&mut self) {
        if self.is_alone() {
            self.acknowledge(self.log.last());
        }
    }

    /// Nobody else has a vote.
    pub fn is_alone(&self) -> bool {
        self.conf_state.quorum.voters() == Members::from_iter([self.me])
    }

    fn acknowledge(&mut self, index: u64) {
        if self.role == Role::Leader && self.progress[self.me as usize].maybe_update(index) && self.advance_commit() {
            self.release_early_reads();
            self.broadcast_append();
        }
    }

    /// Moves the commit index to what a quorum holds, if that entry is of this term; whether it moved.
    fn advance_commit(&mut self) -> bool {
        let index = self.conf_state.quorum.committed(|index| self.progress[index as usize].matched);
        if index <= self.log.committed || index == u64::MAX {
            return false;
        }
        let mut of_term = self.log.term(index) == Some(self.term);
        #[cfg(feature = "planted-bugs")]
        if self.config.bug == Some(super::PlantedBug::CommitOldTerm) {
            of_term = true;
        }
        of_term &= index <= self.log.last();
        if of_term {
            let established = self.has_committed_in_term();
            self.commit_to(index);
            if !established {
                self.note(Note::Established);
            }
        }
        of_term
    }

    /// Whether an entry of its own term is committed: only then does it know how far the log is.
    pub fn has_committed_in_term(&self) -> bool {
        self.log.term(self.log.committed) == Some(self.term)
    }

    pub(super) fn step_leader(&mut self, message: Message) {
        match message.kind {
            Kind::Propose => self.handle_propose(&message),
            Kind::ReadIndex => self.handle_read_index(message.from, message.context),
            Kind::AppendResponse => self.handle_append_response(&message),
            Kind::HeartbeatResponse => self.handle_heartbeat_response(&message),
            Kind::Append | Kind::Heartbeat | Kind::Snapshot => {
                unreachable!("member {} and {} both lead term {}", self.me, message.from, self.term)
            }
            Kind::VoteResponse | Kind::PreVoteResponse | Kind::ReadIndexResponse | Kind::TimeoutNow => {}
            Kind::Vote | Kind::PreVote => unreachable!("handled for every role alike"),
        }
    }

    fn handle_propose(&mut self, message: &Message) {
        if self.transferee.is_some() || !self.conf_state.members().contains(self.me) {
            self.drop_proposals(message);
            return;
        }
        for entry in message.entries.iter() {
            let mut command = entry.command;
            if matches!(command, Command::Conf(_)) {
                if self.pending_conf_index > self.log.applied {
                    // One change at a time: the second becomes an empty entry, and its request learns nothing.
                    command = Command::Empty;
                } else {
                    self.pending_conf_index = self.log.last() + 1;
                }
            }
            self.append(entry.token, command);
        }
        self.broadcast_append();
    }

    fn handle_read_index(&mut self, from: u8, context: u64) {
        if self.is_alone() {
            self.answer_read(from, context, self.log.committed);
        } else if self.has_committed_in_term() {
            self.reads.add(from, context, self.log.committed, self.me);
            self.broadcast_heartbeat(context);
        } else {
            self.early_reads.push((from, context));
        }
    }

    fn release_early_reads(&mut self) {
        if self.has_committed_in_term() {
            for (from, context) in std::mem::take(&mut self.early_reads) {
                self.handle_read_index(from, context);
            }
        }
    }

    fn answer_read(&mut self, to: u8, context: u64, index: u64) {
        if to == self.me {
            self.out.read_states.push(ReadState { context, index });
        } else {
            let mut answer = Message::new(Kind::ReadIndexResponse, self.me, to);
            answer.context = context;
            answer.index = index;
            self.send(answer);
        }
    }

    fn handle_append_response(&mut self, message: &Message) {
        let from = message.from;
        if !self.conf_state.members().contains(from) {
            return;
        }
        let last = self.log.last();
        let progress = &mut self.progress[from as usize];
        progress.recent_active = true;
        if message.reject {
            let next = if message.log_term > 0 {
                self.log.conflict_by_term(message.hint.min(last), message.log_term).0
            } else {
                message.hint
            };
            if progress.maybe_decrease(message.index, next) {
                if progress.state == State::Replicate {
                    progress.become_probe();
                }
                self.send_append(from, true);
            }
            return;
        }
        let was_paused = progress.is_paused();
        let news = progress.maybe_update(message.index);
        let probe_confirmed = progress.matched == message.index && progress.state == State::Probe;
        if !news && !probe_confirmed {
            return;
        }
        match progress.state {
            State::Probe => progress.become_replicate(),
            State::Snapshot(_) if progress.matched + 1 >= self.log.first() => progress.become_replicate(),
            State::Snapshot(_) => {}
            State::Replicate => progress.free_to(message.index),
        }
        if self.advance_commit() {
            self.release_early_reads();
            self.broadcast_append();
        } else if was_paused {
            self.send_append(from, true);
        }
        while self.send_append(from, false) {}
        if self.transferee == Some(from) && self.progress[from as usize].matched == self.log.last() {
            self.send(Message::new(Kind::TimeoutNow, self.me, from));
        }
    }

    fn handle_heartbeat_response(&mut self, message: &Message) {
        let from = message.from;
        if !self.conf_state.members().contains(from) {
            return;
        }
        let progress = &mut self.progress[from as usize];
        progress.recent_active = true;
        progress.paused = false;
        if progress.matched < self.log.last() || progress.state == State::Probe {
            self.send_append(from, true);
        }
        if message.context != 0 {
            for read in self.reads.acknowledge(from, message.context, self.conf_state.quorum) {
                self.answer_read(read.from, read.context, read.index);
            }
        }
    }

    /// A snapshot has been sent, or could not be (`ReportSnapshot`).
    pub fn snapshot_sent(&mut self, to: u8, ok: bool) {
        let progress = &mut self.progress[to as usize];
        if self.role != Role::Leader || !matches!(progress.state, State::Snapshot(_)) {
            return;
        }
        if !ok {
            progress.state = State::Snapshot(0);
        }
        progress.become_probe();
        // Arrived: its answer will tell. Failed: wait for a heartbeat before the next try.
        progress.paused = true;
    }

    /// Leads from the start of a run: as if elected long ago, every follower known to have what it has. `behind[i]` is the revision
    /// of a member that lacks entries.
    pub fn start_as_leader(&mut self, behind: &[Option<u64>]) {
        self.role = Role::Leader;
        self.lead = Some(self.me);
        self.vote = Some(self.me);
        let last = self.log.last();
        for index in self.conf_state.members().iter().map(usize::from) {
            let progress = &mut self.progress[index];
            progress.matched = behind[index].unwrap_or(last);
            progress.become_replicate();
            progress.recent_active = true;
        }
        self.note(Note::Elected);
    }

    /// Hands leadership to `to` once it has the whole log.
    pub fn transfer_to(&mut self, to: u8) {
        if self.role != Role::Leader || !self.conf_state.quorum.voters().contains(to) || to == self.me {
            return;
        }
        self.transferee = Some(to);
        // The clock starts again: the transfer has one election timeout.
        self.heartbeats = 0;
        if self.progress[to as usize].matched == self.log.last() {
            self.send(Message::new(Kind::TimeoutNow, self.me, to));
        } else {
            self.send_append(to, true);
        }
    }

    /// Applies a change of membership (`applyConfChange`, one member at a time).
    pub fn apply_conf_change(&mut self, change: ConfChange) {
        let before = self.conf_state.members();
        let ConfState { quorum, learners } = &mut self.conf_state;
        match change {
            ConfChange::AddVoter(index) => {
                quorum.incoming.insert(index);
                learners.remove(index);
            }
            ConfChange::AddLearner(index) => learners.insert(index),
            ConfChange::Remove(index) => {
                quorum.incoming.remove(index);
                learners.remove(index);
            }
        }
        if self.role != Role::Leader {
            return;
        }
        if !self.conf_state.members().contains(self.me) {
            // etcd does not set `StepDownOnRemoval`: it goes on leading those that are left until its process stops.
            return;
        }
        if let ConfChange::AddVoter(index) | ConfChange::AddLearner(index) = change
            && !before.contains(index)
        {
            self.progress[index as usize] = Progress::new(self.log.last());
            // So that the check of the quorum does not count a newcomer as silent at once.
            self.progress[index as usize].recent_active = true;
        }
        if self.advance_commit() {
            self.broadcast_append();
        } else {
            for to in self.others().iter() {
                self.send_append(to, false);
            }
        }
        if self.transferee.is_some_and(|to| !self.conf_state.quorum.voters().contains(to)) {
            self.transferee = None;
        }
    }

    /// Whether nothing is under way to or from the members in `healthy`: everything is replicated, committed, applied and told.
    pub fn is_settled(&self, healthy: Members) -> bool {
        let last = self.log.last();
        self.role == Role::Leader
            && self.log.committed == last
            && self.log.applied == last
            && self.log.stable == last
            && self.transferee.is_none()
            && self.reads.is_empty()
            && self.early_reads.is_empty()
            && self.out.messages.is_empty()
            && healthy.iter().all(|index| {
                let progress = &self.progress[index as usize];
                progress.matched == last && progress.is_settled()
            })
    }
}
