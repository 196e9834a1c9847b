//! The members of a story, the messages between them, and the commands that move both.
//!
//! | command | what it does |
//! |---|---|
//! | `cluster 3 OPTION...` | begins again with the voters n1, n2 and n3, whose logs are empty; options below |
//! | `tick n1 n2 5` | moves the clocks of the members on by 5 ticks, tick by tick |
//! | `campaign n1` | ends the election timeout of the member at once |
//! | `deliver` | delivers messages, oldest first, until none is under way |
//! | `deliver n1->n2` | delivers the messages that are under way now; `*` stands for any member |
//! | `drop n1->n2` | loses the messages that are under way now |
//! | `partition n3 n4` | loses what is sent between these members and all others, until `heal` |
//! | `propose n1 x=1` | a client asks the member for a write |
//! | `change n1 add-voter n4` | an operator asks for a change of membership: `add-voter`, `add-learner` or `remove` |
//! | `read n1 7` | a client asks the member for a linearizable read, in the round 7 |
//! | `transfer n1 n2` | an operator asks the leader n1 to hand leadership to n2 |
//! | `unreachable n1 n2` | the transport of n1 reports that it cannot reach n2 |
//! | `compact n1 3` | the member compacts its log up to an applied index |
//! | `restart n1` | the process of the member ends and starts again from its disk |
//! | `status`, `logs`, `progress n1` | print tables: all members, their logs, what a leader knows of the others |
//!
//! Options of `cluster`: `led-by=n1` (elected in term 1, as `election.txt` shows), `pre-vote`, `check-quorum`, `spread=3` (how many
//! election timeouts may be drawn), `append-bytes=1` (of the entries in one append, which has at least one), `inflight=2` (appends
//! under way to one follower); `learners=1` and then `spares=1` follow the voters: members without a vote, and members of no cluster.
//!
//! An election timeout is 3 ticks (etcd: 10) and, unless there is a spread, the same for all. After each step the disk has
//! everything, and what is committed is applied.

use std::collections::VecDeque;

use zonefall_etcd::database::Database;
use zonefall_etcd::raft::clock::Clock;
use zonefall_etcd::raft::entry::{Command, ConfChange, Token};
use zonefall_etcd::raft::log::Log;
use zonefall_etcd::raft::message::{Kind, Message, Snapshot};
use zonefall_etcd::raft::quorum::{Members, Quorum};
use zonefall_etcd::raft::{ConfState, Config, Raft, Role};
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::ids::ClientId;

use crate::Adjust;
use crate::text::{self, name};

const TICK: Duration = Duration::from_millis(100);
const ELECTION_TICKS: u64 = 3;
const SEED: u64 = 2;

/// A member with a clock of its own.
struct Member {
    raft: Raft,
    now: Time,
}

/// A story's members and messages.
pub(crate) struct Cluster {
    members: Vec<Member>,
    wire: VecDeque<Message>,
    /// Members on one side of a partition.
    apart: Members,
    /// What clients have proposed, by the slot of its token.
    labels: Vec<String>,
    printed: Vec<String>,
    adjust: Adjust,
}

impl Cluster {
    /// A story before its first command.
    pub(crate) fn empty(adjust: Adjust) -> Self {
        let (members, labels, printed) = (Vec::new(), Vec::new(), Vec::new());
        Self { members, wire: VecDeque::new(), apart: Members::EMPTY, labels, printed, adjust }
    }

    /// Runs a command; returns the lines that it prints.
    pub(crate) fn run(&mut self, command: &str) -> Result<Vec<String>, String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["cluster", voters, ref options @ ..] => self.begin(voters, options)?,
            ["tick", ref members @ .., ticks] if !members.is_empty() => self.tick(members, number(ticks)?)?,
            ["campaign", at] => self.act(self.member(at)?, Raft::timed_out),
            ["deliver"] => self.deliver_all(),
            ["deliver", link] => self.under_way(link)?.into_iter().for_each(|message| self.deliver(message)),
            ["drop", link] => self.under_way(link)?.into_iter().for_each(|message| self.lose(&message)),
            ["partition", ref members @ ..] if !members.is_empty() => self.apart = self.set(members)?,
            ["heal"] => self.apart = Members::EMPTY,
            ["propose", at, label] => self.propose(at, label, Command::Put { key_bytes: 1, value_bytes: 1 })?,
            ["change", at, change, whom] => {
                let command = Command::Conf(match change {
                    "add-voter" => ConfChange::AddVoter(self.member(whom)?),
                    "add-learner" => ConfChange::AddLearner(self.member(whom)?),
                    "remove" => ConfChange::Remove(self.member(whom)?),
                    _ => return Err(format!("expected add-voter, add-learner or remove, found {change}")),
                });
                self.propose(at, &format!("{change} {whom}"), command)?;
            }
            ["read", at, round] => {
                let round = number(round)?;
                self.act(self.member(at)?, |raft, now| raft.read_index(now, round));
            }
            ["transfer", from, to] => {
                let to = self.member(to)?;
                self.act(self.member(from)?, |raft, _| raft.transfer_to(to));
            }
            ["unreachable", from, to] => {
                let to = self.member(to)?;
                self.act(self.member(from)?, |raft, _| raft.unreachable(to));
            }
            ["compact", at, index] => {
                let index = number(index)?;
                self.act(self.member(at)?, |raft, _| raft.log.compact(index));
            }
            ["restart", at] => {
                let at = self.member(at)?;
                self.act(at, |raft, now| *raft = restarted(raft, now));
            }
            ["status"] => {
                let line = |Member { raft, now }: &Member| text::status_with_clock(raft, *now);
                self.printed.extend(self.members.iter().map(line));
            }
            ["logs"] => self.printed.extend(text::logs(self.members.iter().map(|member| &member.raft.log), &self.labels)),
            ["progress", at] => {
                let at = self.member(at)?;
                self.printed.extend(text::progress(&self.members[usize::from(at)].raft));
            }
            _ => return Err("no such command, or not with these arguments: see core/etcd/tests/raft/cluster.rs".to_owned()),
        }
        Ok(std::mem::take(&mut self.printed))
    }

    fn begin(&mut self, voters: &str, options: &[&str]) -> Result<(), String> {
        let mut config = Config {
            election_ticks: ELECTION_TICKS,
            spread_ticks: 1,
            election_heartbeats: ELECTION_TICKS,
            pre_vote: false,
            check_quorum: false,
            max_inflight: 256,
            max_append_bytes: 1 << 20,
            #[cfg(feature = "planted-bugs")]
            bug: None,
        };
        let (voters, mut learners, mut spares, mut leader) = (number(voters)?, 0, 0, None);
        for option in options {
            match option.split_once('=').unwrap_or((option, "")) {
                ("pre-vote", "") => config.pre_vote = true,
                ("check-quorum", "") => config.check_quorum = true,
                ("spread", ticks) => config.spread_ticks = number(ticks)?,
                ("append-bytes", bytes) => config.max_append_bytes = number(bytes)?,
                ("inflight", appends) => config.max_inflight = number(appends)? as u32,
                ("learners", count) => learners = number(count)?,
                ("spares", count) => spares = number(count)?,
                ("led-by", member) => leader = Some(member),
                _ => return Err(format!("expected an option, found {option}")),
            }
        }
        *self = Self::empty(self.adjust);
        (self.adjust)(&mut config);
        let known = voters + learners;
        let joined =
            ConfState { quorum: Quorum::majority((0..voters as u8).collect()), learners: (voters as u8..known as u8).collect() };
        let slots = known + spares;
        self.members.extend((0..slots).map(|index| {
            let state = if index < known { joined } else { ConfState::default() };
            let clock = Clock::new(TICK, Duration::ZERO, Time::ZERO);
            let timeouts = Stream::new(SEED, Purpose::ElectionTimeout, index);
            let log = Log::compacted(0, 0, 0);
            let raft = Raft::new(index as u8, slots as usize, config, (0, None), log, state, clock, timeouts, 0);
            Member { raft, now: Time::ZERO }
        }));
        if let Some(leader) = leader {
            self.act(self.member(leader)?, Raft::timed_out);
            self.deliver_all();
            self.printed.clear();
        }
        Ok(())
    }

    /// Lets one member take a step, as its server would: disk, database, then what the step leaves for others.
    fn act(&mut self, at: u8, step: impl FnOnce(&mut Raft, Time)) {
        let Member { raft, now } = &mut self.members[usize::from(at)];
        let (status, membership) = (text::status(raft), raft.conf_state);
        step(raft, *now);
        persist_and_apply(raft);
        let out = std::mem::take(&mut raft.out);
        let mut effects: Vec<String> = out.notes.iter().filter_map(|note| text::note(note, raft, &self.labels)).collect();
        effects.extend((text::status(raft) != status).then(|| text::status(raft)));
        effects.extend((raft.conf_state != membership).then(|| text::membership(at, raft.conf_state)));
        effects.extend(out.dropped.iter().map(|token| format!("{} drops {}", name(at), text::label(*token, &self.labels))));
        effects.extend(out.read_states.iter().map(|read| text::read_state(at, *read)));
        self.printed.extend(effects.iter().map(|line| format!("  {line}")));
        for mut message in out.messages {
            let raft = &self.members[usize::from(at)].raft;
            if message.kind == Kind::Snapshot {
                message.snapshot = Some(Box::new(snapshot_of(raft)));
            }
            let lost = self.apart.contains(message.from) != self.apart.contains(message.to);
            let line = text::message(&message, &self.labels);
            self.printed.push(format!("  {line}{}", if lost { "  (lost)" } else { "" }));
            if lost {
                self.lose(&message);
            } else {
                self.wire.push_back(message);
            }
        }
    }

    fn tick(&mut self, members: &[&str], ticks: u64) -> Result<(), String> {
        let members = self.set(members)?;
        for at in (0..ticks).flat_map(|_| members.iter()) {
            self.members[usize::from(at)].now += TICK;
            self.act(at, |raft, now| {
                if raft.role == Role::Leader {
                    raft.heartbeat_tick(now);
                } else if raft.clock.elapsed(now) >= raft.timeout_ticks {
                    raft.timed_out(now);
                }
            });
        }
        Ok(())
    }

    fn propose(&mut self, at: &str, label: &str, command: Command) -> Result<(), String> {
        let member = self.member(at)?;
        let token = Token { slot: self.labels.len() as u32, generation: 0, client: ClientId(0), member };
        self.labels.push(label.to_owned());
        self.act(member, |raft, now| raft.propose(now, token, command));
        Ok(())
    }

    fn deliver_all(&mut self) {
        while let Some(message) = self.wire.pop_front() {
            self.deliver(message);
        }
    }

    fn deliver(&mut self, message: Message) {
        let Message { from, to, kind, .. } = message;
        self.printed.push(format!("{} <- {}  {kind:?}", name(to), name(from)));
        self.act(to, |raft, now| raft.step(now, message));
        if kind == Kind::Snapshot {
            self.act(from, |raft, _| raft.snapshot_sent(to, true));
        }
    }

    /// Loses a message. The transport reports that to the sender of a snapshot only.
    fn lose(&mut self, message: &Message) {
        if message.kind == Kind::Snapshot {
            self.act(message.from, |raft, _| raft.snapshot_sent(message.to, false));
        }
    }

    /// Takes the messages of a link off the wire: at least one.
    fn under_way(&mut self, link: &str) -> Result<Vec<Message>, String> {
        let (from, to) = link.split_once("->").ok_or_else(|| format!("expected a link such as n1->n2, found {link}"))?;
        let end = |word: &str| if word == "*" { Ok(None) } else { self.member(word).map(Some) };
        let (from, to) = (end(from)?, end(to)?);
        let is_on = |message: &Message| from.is_none_or(|from| from == message.from) && to.is_none_or(|to| to == message.to);
        let (taken, left) = std::mem::take(&mut self.wire).into_iter().partition::<Vec<_>, _>(is_on);
        self.wire = left.into();
        if taken.is_empty() { Err(format!("no message is under way on {link}")) } else { Ok(taken) }
    }

    fn member(&self, word: &str) -> Result<u8, String> {
        let known = |number: &u8| (1..=self.members.len()).contains(&usize::from(*number));
        let number = word.strip_prefix('n').and_then(|digits| digits.parse().ok()).filter(known);
        number
            .map(|number: u8| number - 1)
            .ok_or_else(|| format!("expected a member (n1 to n{}), found {word}", self.members.len()))
    }

    fn set(&self, words: &[&str]) -> Result<Members, String> {
        words.iter().map(|word| self.member(word)).collect()
    }
}

/// The disk has everything that the log has; what is committed is applied, which may commit more.
fn persist_and_apply(raft: &mut Raft) {
    raft.log.written = raft.log.last();
    raft.log.stable = raft.log.last();
    raft.acknowledge_own();
    while raft.log.applied < raft.log.committed {
        raft.log.applied += 1;
        let entry = raft.log.get(raft.log.applied).expect("committed entries are in the log");
        if let Command::Conf(change) = entry.command {
            raft.apply_conf_change(change);
        }
    }
}

/// A member after a restart: it has what is on its disk, and draws further election timeouts.
fn restarted(raft: &Raft, now: Time) -> Raft {
    let timeouts = Stream::new(SEED, Purpose::ElectionTimeout, raft.me.into());
    let clock = Clock::new(TICK, Duration::ZERO, now);
    let (state, log) = ((raft.term, raft.vote), raft.log.clone());
    Raft::new(raft.me, raft.progress.len(), raft.config, state, log, raft.conf_state, clock, timeouts, raft.timeouts_drawn())
}

fn snapshot_of(raft: &Raft) -> Snapshot {
    let index = raft.log.applied;
    let (term, chain) = (raft.log.term(index), raft.log.chain(index));
    Snapshot {
        index,
        term: term.expect("an applied entry keeps its term"),
        chain: chain.expect("an applied entry keeps its hash"),
        voters: raft.conf_state.quorum,
        learners: raft.conf_state.learners,
        database: Database::default(),
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("expected a number, found {word}"))
}
