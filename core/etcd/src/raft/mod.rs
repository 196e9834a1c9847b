//! Raft as etcd runs it: the state of one member, driven by messages and clock ticks, answering with messages.
//!
//! The members of a cluster keep copies of one log. Each entry is a write, and each member applies the entries to its database in the
//! order of the log, so all databases become the same. Raft decides which entries the log has, and goes on as long as a majority of
//! the voters runs and is connected. Each rule below ends with the file that holds it and a story that shows it: a script that runs
//! on these structs and prints each step, in `core/etcd/tests/raft/stories/`.
//!
//! - **Terms.** Terms are numbered, and each has at most one leader. Every message carries its sender's term. A member that sees a
//!   higher term takes it and becomes a follower; it ignores what was sent in a lower one. So a deposed leader steps down as soon as
//!   a message of the new term reaches it ([`Raft::step`]; `deposed_leader.txt`).
//! - **Votes.** A follower that receives nothing from a leader for an election timeout raises its term and asks for votes. A voter
//!   has one vote per term and keeps it on disk; the majority's candidate leads. Timeouts are drawn at random, so that candidates
//!   seldom compete (`candidate.rs`, `clock.rs`; `election.txt`, `split_vote.txt`, `restart.txt`).
//! - **Election restriction.** A voter rejects a candidate whose log ends in a lower term than its own, or in the same term but
//!   earlier. So every leader has all committed entries ([`log::Log::is_up_to_date`]; `election_restriction.txt`).
//! - **Log matching.** Only the leader adds entries. An append names the entry before its first one, and a follower without that
//!   entry rejects it. So two logs that agree on an entry's index and term agree on everything before it. After a rejection the
//!   leader goes back, and the follower replaces whatever differs (`leader.rs`, `progress.rs`, `follower.rs`; `replication.txt`,
//!   `log_repair.txt`).
//! - **Commit rule.** An entry of the leader's own term is committed as soon as a majority has it on disk, and all entries before it
//!   with it. An entry of an earlier term is not: a later leader might still replace it. Therefore a new leader begins with an empty
//!   entry (`leader.rs`, `quorum.rs`; `commit_rule.txt`).
//! - **Pre-vote.** A member asks whether it would win before it raises its term. So one that was cut off does not depose a leader by
//!   a term that it has reached alone (`candidate.rs`; `pre_vote.txt`).
//! - **Check-quorum.** A leader steps down if no majority was active for an election timeout. Members that have received something
//!   from a leader within an election timeout ignore candidates ([`Raft::heartbeat_tick`], [`Raft::step`]; `check_quorum.txt`).
//! - **Read index.** A linearizable read appends nothing: the leader remembers its commit index and confirms by a round of
//!   heartbeats that it still leads. Whoever has applied that index may answer (`read_only.rs`, `leader.rs`; `read_index.txt`).
//! - **Leadership transfer.** A leader brings another voter up to date and tells it to campaign at once; voters grant that even while
//!   they would ignore other candidates ([`Raft::transfer_to`]; `leadership_transfer.txt`).
//! - **Snapshot.** Applied entries are compacted away. A follower that lacks one of them is sent the whole database (`leader.rs`,
//!   `follower.rs`; `snapshot.txt`).
//! - **Learner.** A member without a vote: it receives the log and counts for no majority, so that it can catch up before it becomes
//!   a voter (`quorum.rs`; `learner.txt`).
//! - **Membership.** Members are added and removed by entries, one at a time, so that old and new majorities overlap
//!   ([`Raft::apply_conf_change`]; `membership.txt`).
//!
//! The rules are those of `etcd-io/raft` (`raft.go` at `cdfbeed3`), which implements Ongaro and Ousterhout, "In Search of an
//! Understandable Consensus Algorithm" (the raft paper), and Ongaro's thesis, "Consensus: Bridging Theory and Practice". Where that
//! version differs from etcd 3.5 two rules are the older ones: an answer that ends a pause is followed by an append even if it is
//! empty (there: `CanBumpCommit`), and reads are confirmed by the round that a heartbeat names (there: by their position).
//!
//! Nothing here knows of networks, disks or time but for the clock's ticks: the server around it ([`super::member`]) decides when
//! messages leave (after the disk has what they promise).
//!
//! ```text
//!   Message --step()--> Raft --out.messages--> server (sends after its fsync; the leader at once)
//!   tick    --timed_out(), heartbeat_tick()--^  |--out.read_states, out.notes
//! ```

pub mod batch;
mod candidate;
pub mod clock;
pub(crate) mod encoding;
pub(crate) mod entries;
pub mod entry;
mod follower;
mod leader;
pub mod log;
pub mod message;
mod outbox;
pub mod progress;
pub mod quorum;
pub mod read_only;
mod segments;

pub use outbox::{Note, Outbox, ReadState, StepDownReason};

use clock::Clock;
use entry::{Command, Token};
use log::Log;
use message::{Kind, Message};
use progress::Progress;
use quorum::{Members, Quorum};
use read_only::ReadOnly;
use zonefall_kernel::rng::Stream;
use zonefall_kernel::time::Time;

/// What of [`EtcdOptions`](super::options::EtcdOptions) raft itself needs.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Ticks of an election timeout, T: the timeout is drawn from T..T+S-1.
    pub election_ticks: u64,
    /// How many timeouts may be drawn, S; in etcd the same as T.
    pub spread_ticks: u64,
    /// Beats of the leader between two checks of its quorum.
    pub election_heartbeats: u64,
    /// Ask before campaigning.
    pub pre_vote: bool,
    /// Step down without a majority; ignore candidates while a leader is heard.
    pub check_quorum: bool,
    /// Appends under way to one follower.
    pub max_inflight: u32,
    /// Bytes of entries in one append.
    pub max_append_bytes: u64,
    /// A deliberate bug, for tests of the tests.
    #[cfg(feature = "planted-bugs")]
    pub bug: Option<PlantedBug>,
}

/// Deliberate bugs that the invariants must catch.
#[cfg(feature = "planted-bugs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// Votes for whoever asks, again and again in one term.
    VoteTwice,
    /// Commits entries of older terms by counting their copies (raft paper, figure 8).
    CommitOldTerm,
    /// Forgets on restart whom it voted for.
    ForgetVote,
    /// Tells its vote before the vote is written.
    PromiseBeforeWrite,
    /// Tells its vote while the vote is being written: it may still be lost with the power.
    PromiseBeforeSync,
}

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Follows, or waits.
    Follower,
    /// Asks whether it would win.
    PreCandidate,
    /// Asks for votes.
    Candidate,
    /// Leads its term.
    Leader,
}

/// Why a campaign starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Campaign {
    PreElection,
    Election,
    /// Leadership was handed over: voters ignore their lease.
    Transfer,
}

/// Who is in the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfState {
    /// Voters of the cluster.
    pub quorum: Quorum,
    /// Members without a vote.
    pub learners: Members,
}

impl ConfState {
    /// Voters and learners.
    pub fn members(&self) -> Members {
        self.quorum.voters().union(self.learners)
    }
}

/// One member's raft.
#[derive(Clone, Debug)]
pub struct Raft {
    /// Its index in the cluster.
    pub me: u8,
    /// Timeouts, limits and optional rules.
    pub config: Config,
    /// Current term (on disk).
    pub term: u64,
    /// Whom it voted for in this term (on disk).
    pub vote: Option<u8>,
    /// The log (on disk).
    pub log: Log,
    /// Who is in the cluster, as far as applied.
    pub conf_state: ConfState,
    /// What it is.
    pub role: Role,
    /// Whom it follows.
    pub lead: Option<u8>,
    /// Ticks since it last heard a leader, voted or campaigned.
    pub clock: Clock,
    /// Ticks after which it campaigns.
    pub timeout_ticks: u64,
    /// As leader: what it knows of each follower, by index.
    pub progress: Vec<Progress>,
    /// As leader: beats since the last check of the quorum.
    pub heartbeats: u64,
    /// As leader: whom leadership is being handed to.
    pub transferee: Option<u8>,
    /// For the server.
    pub out: Outbox,
    votes_granted: Members,
    votes_rejected: Members,
    /// No change of membership may be proposed until this index is applied.
    pending_conf_index: u64,
    reads: ReadOnly,
    /// Reads asked before the leader committed an entry of its term.
    early_reads: Vec<(u8, u64)>,
    timeouts: Stream,
    timeouts_drawn: u64,
}

impl Raft {
    /// A member that starts with what its disk holds, as a follower. `timeouts` is its stream of election timeouts, `drawn` how many
    /// of them earlier lives of the process used.
    #[expect(clippy::too_many_arguments, reason = "the parts of a persisted state, used in one place")]
    pub fn new(
        me: u8,
        slots: usize,
        config: Config,
        (term, vote): (u64, Option<u8>),
        log: Log,
        conf_state: ConfState,
        clock: Clock,
        timeouts: Stream,
        drawn: u64,
    ) -> Self {
        let mut raft = Self {
            me,
            config,
            term,
            vote,
            conf_state,
            role: Role::Follower,
            lead: None,
            clock,
            timeout_ticks: 0,
            progress: (0..slots).map(|_| Progress::new(log.last())).collect(),
            log,
            heartbeats: 0,
            transferee: None,
            out: Outbox::default(),
            votes_granted: Members::EMPTY,
            votes_rejected: Members::EMPTY,
            pending_conf_index: 0,
            reads: ReadOnly::default(),
            early_reads: Vec::new(),
            timeouts,
            timeouts_drawn: drawn,
        };
        raft.draw_timeout();
        raft
    }

    fn draw_timeout(&mut self) {
        let t = self.config.election_ticks;
        self.timeout_ticks = t + self.timeouts.draw(self.timeouts_drawn).below(self.config.spread_ticks);
        self.timeouts_drawn += 1;
    }

    /// Election timeouts drawn so far.
    pub fn timeouts_drawn(&self) -> u64 {
        self.timeouts_drawn
    }

    fn note(&mut self, note: Note) {
        self.out.notes.push(note);
    }

    /// The start of every role (`raft.reset`).
    fn reset(&mut self, now: Time, term: u64) {
        if self.term != term {
            self.term = term;
            self.vote = None;
        }
        self.lead = None;
        self.clock.reset(now);
        self.draw_timeout();
        self.transferee = None;
        self.votes_granted = Members::EMPTY;
        self.votes_rejected = Members::EMPTY;
        let last = self.log.last();
        self.progress.iter_mut().for_each(|progress| *progress = Progress::new(last));
        self.progress[self.me as usize].matched = self.log.stable;
        self.pending_conf_index = 0;
        self.reads = ReadOnly::default();
        self.early_reads.clear();
    }

    /// Follows `lead` in `term`.
    pub fn become_follower(&mut self, now: Time, term: u64, lead: Option<u8>, reason: StepDownReason) {
        if self.role == Role::Leader {
            self.note(Note::SteppedDown { term: self.term, reason });
        }
        self.reset(now, term);
        self.role = Role::Follower;
        self.lead = lead;
    }

    fn become_leader(&mut self, now: Time) {
        self.reset(now, self.term);
        self.role = Role::Leader;
        self.lead = Some(self.me);
        self.heartbeats = 0;
        let me = self.me as usize;
        self.progress[me].become_replicate();
        self.progress[me].recent_active = true;
        // There may be a change of membership among the uncommitted entries: none may be proposed before they are applied.
        self.pending_conf_index = self.log.last();
        self.note(Note::Elected);
        self.append(Token::NONE, Command::Empty);
        self.broadcast_append();
    }

    /// Whether it may campaign: a voter.
    pub fn is_promotable(&self) -> bool {
        self.conf_state.quorum.voters().contains(self.me)
    }

    /// Sends in its own term.
    fn send(&mut self, mut message: Message) {
        message.term = self.term;
        self.out.messages.push(message);
    }

    /// Takes a message that has arrived.
    pub fn step(&mut self, now: Time, message: Message) {
        if message.term != 0 && !self.check_term(now, &message) {
            return;
        }
        match message.kind {
            Kind::Vote | Kind::PreVote => self.handle_vote_request(now, &message),
            _ => match self.role {
                Role::Leader => self.step_leader(message),
                Role::Candidate | Role::PreCandidate => self.step_candidate(now, message),
                Role::Follower => self.step_follower(now, message),
            },
        }
    }

    /// Compares terms; whether the message is to be handled further.
    fn check_term(&mut self, now: Time, message: &Message) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let asks = matches!(message.kind, Kind::Vote | Kind::PreVote);
        match message.term.cmp(&self.term) {
            Equal => true,
            Greater => {
                // The lease on votes: who hears a leader ignores candidates, unless the leader itself handed over.
                let in_lease =
                    self.config.check_quorum && self.lead.is_some() && self.clock.elapsed(now) < self.config.election_ticks;
                // A leader's own clock starts again with every check of its quorum.
                let in_lease = in_lease || (self.config.check_quorum && self.role == Role::Leader);
                if asks && message.context == 0 && in_lease {
                    return false;
                }
                match message.kind {
                    Kind::PreVote => {}
                    Kind::PreVoteResponse if !message.reject => {}
                    Kind::Append | Kind::Heartbeat | Kind::Snapshot => {
                        self.become_follower(now, message.term, Some(message.from), StepDownReason::HigherTerm);
                    }
                    _ => self.become_follower(now, message.term, None, StepDownReason::HigherTerm),
                }
                true
            }
            Less => {
                let mut answer = Message::new(Kind::AppendResponse, self.me, message.from);
                match message.kind {
                    // Tells a leader of an older term that it is one no more.
                    Kind::Heartbeat | Kind::Append if self.config.check_quorum || self.config.pre_vote => self.send(answer),
                    Kind::PreVote => {
                        answer.kind = Kind::PreVoteResponse;
                        answer.reject = true;
                        self.send(answer);
                    }
                    _ => {}
                }
                false
            }
        }
    }

    fn drop_proposals(&mut self, message: &Message) {
        self.out.dropped.extend(message.entries.iter().map(|entry| entry.token));
    }

    /// A proposal made at this member.
    pub fn propose(&mut self, now: Time, token: Token, command: Command) {
        let mut message = Message::new(Kind::Propose, self.me, self.me);
        message.entries = entry::Entry { term: 0, chain: 0, token, command }.into();
        self.step(now, message);
    }

    /// A linearizable read asked at this member, in the round `context`.
    pub fn read_index(&mut self, now: Time, context: u64) {
        let mut message = Message::new(Kind::ReadIndex, self.me, self.me);
        message.context = context;
        self.step(now, message);
    }
}
