//! Runs one schedule and says what is wrong with it: a broken invariant, a panic, or a cluster that does not work again in the calm.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use zonefall_core::etcd::raft::PlantedBug;
use zonefall_core::ids::{EtcdId, FaultId, MemberId, VolumeId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::observe::voters::Voters;
use zonefall_core::record::{ClientRecord, EtcdRecord, Part, RaftRecord, Record, RequestResult};
use zonefall_core::report::{Report, ViolationReport};
use zonefall_core::run::Run;
use zonefall_core::scenario::{Fault, FaultTarget, Member, MemberChange, Op, Scenario, VolumeLost};
use zonefall_core::sim::{MemberStatus, Options, Role, Stepping};
use zonefall_tests::quiet::quietly;
use zonefall_tests::worlds::schedules::{CALM, LAST, millis};

/// A schedule with all that its run depends on.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The scenario file.
    pub(crate) file: Value,
    /// How periodic work is simulated.
    pub(crate) stepping: Stepping,
    /// A bug that every member has.
    pub(crate) bug: Option<PlantedBug>,
    /// Whether a cluster that does not work in the end is a failure.
    pub(crate) liveness: bool,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The generator made a file that is refused: a bug of the tests.
    Refused(String),
    /// The engine panicked.
    Panic(String),
    /// A property of `zonefall_core::invariant` does not hold.
    Violation {
        /// When it was noticed.
        at: Time,
        /// Name of the property.
        property: String,
        /// What was seen.
        text: String,
    },
    /// An outage of which the report says that nothing was under way.
    Unexplained(String),
    /// The two modes give different reports.
    Differ(String),
    /// After the calm the cluster does not work, although it should.
    NotLive(String),
    /// After the calm an election is not over: nobody leads, although somebody should, or a member is in a later term than its leader.
    Electing(String),
}

impl Failure {
    /// Whether it is the same kind of failure.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Violation { property: a, .. }, Self::Violation { property: b, .. }) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(f, "the file is refused: {why}"),
            Self::Panic(what) => write!(f, "panic: {what}"),
            Self::Violation { at, property, text } => write!(f, "{property} at {at:?}: {text}"),
            Self::Unexplained(outage) => write!(f, "an outage without a cause: {outage}"),
            Self::Differ(how) => write!(f, "the modes differ: {how}"),
            Self::NotLive(why) => write!(f, "does not work in the end: {why}"),
            Self::Electing(why) => write!(f, "an election is not over in the end: {why}"),
        }
    }
}

/// What a schedule that holds has been through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) events: u64,
    pub(crate) elections: u64,
    pub(crate) snapshots: u64,
    pub(crate) changes: u64,
    pub(crate) puts: u64,
    pub(crate) lost: u64,
    /// Whether the cluster had to work in the end (and did).
    pub(crate) live: u64,
    /// Whether an election was under way after the calm, and none after [`PATIENCE`].
    pub(crate) late: u64,
    /// Whether it may have no leader: its voters race for terms ([`Watch::is_race_of_terms`]), or know only an older membership.
    pub(crate) races: u64,
    /// Whether it may serve nothing: too many voters wait for what they are being sent ([`Watch::may_lag`]).
    pub(crate) sent: u64,
    /// Whether it may refuse what is put: a full database raised an alarm ([`Watch::alarm`]).
    pub(crate) full: u64,
}

impl Seen {
    pub(super) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.elections += other.elections;
        self.snapshots += other.snapshots;
        self.changes += other.changes;
        self.puts += other.puts;
        self.lost += other.lost;
        self.live += other.live;
        self.late += other.late;
        self.races += other.races;
        self.sent += other.sent;
        self.full += other.full;
    }
}

/// Runs a case.
pub(crate) type Judge = fn(&Case) -> Result<Seen, Failure>;

/// Within this time a member that was added may not run yet.
const STARTS: Duration = Duration::from_secs(3);
/// Bytes that puts under way may add to a database.
const PUT_AT_ONCE: u64 = 64 << 10;
/// Milliseconds that elections may need in addition to the calm. Which of two candidates asks first is chance: where only one of them can
/// win, the other may spoil round after round; and where packets are lost, members campaign now and then. Nothing but elections is given
/// this time.
const PATIENCE: u64 = 200_000;

/// Runs the schedule.
pub(super) fn judge(case: &Case) -> Result<Seen, Failure> {
    let judged = judge_file(case, &case.file);
    if !matches!(judged, Err(Failure::Electing(_))) {
        return judged;
    }
    let mut file = case.file.clone();
    file["duration"] = Value::from(format!("{}ms", millis(&file["duration"]) + PATIENCE));
    Ok(Seen { late: 1, ..judge_file(case, &file)? })
}

fn judge_file(case: &Case, file: &Value) -> Result<Seen, Failure> {
    let scenario = Scenario::from_json(&file.to_string()).map_err(|errors| Failure::Refused(errors.to_string()))?;
    quietly(|| play(case, &Arc::new(scenario))).unwrap_or_else(|panic| Err(Failure::Panic(panic)))
}

fn play(case: &Case, scenario: &Arc<Scenario>) -> Result<Seen, Failure> {
    let options = Options { stepping: case.stepping, bug: case.bug, ..Options::default() };
    let mut run = Run::checked(scenario, scenario.seed, options);
    let mut watch = Watch::new(scenario);
    // A violation ends the run: what comes after it proves nothing.
    let end = (Time::ZERO + scenario.duration).as_nanos();
    for step in 1..=STEPS {
        run.advance(Time::from_nanos(end / STEPS * step), &mut |at, record: &Record| watch.record(at, record));
        if let Some(violation) = run.violations().first() {
            let (property, text) = (violation.property.to_owned(), violation.text.clone());
            return Err(Failure::Violation { at: violation.at, property, text });
        }
    }
    // Of the invariants only the report knows all: bytes are counted, not recorded.
    let mut report = run.report();
    if let Some(violation) = report.violations.pop() {
        let ViolationReport { property, text, .. } = violation;
        return Err(Failure::Violation { at: run.simulation().now(), property, text });
    }
    if let Some(outage) = unexplained(&report).next() {
        return Err(Failure::Unexplained(outage));
    }
    watch.seen.events = run.simulation_mut().events();
    if case.liveness {
        watch.works(scenario, &run.simulation_mut().members(EtcdId(0)))?;
    }
    Ok(watch.seen)
}

/// Outages with causes that name nothing that was under way.
pub(crate) fn unexplained(report: &Report) -> impl Iterator<Item = String> {
    let etcd = report.etcd.values().flat_map(|etcd| &etcd.outages).map(|o| (o.from_s, format!("{:?}", o.kind), &o.root_cause));
    let apis = report.api.values().flat_map(|api| &api.outages).map(|o| (o.from_s, format!("API {}", o.verb), &o.root_cause));
    let all = etcd.chain(apis).filter(|(.., cause)| cause.is_empty() || cause.contains("no active fault"));
    all.map(|(from_s, what, cause)| format!("{what} at {from_s} s: {cause}"))
}

/// Pauses of a run to look for violations.
const STEPS: u64 = 16;
/// Entries a follower may lack while requests are under way.
const UNDER_WAY: u64 = 30;

/// Longest time for which a database is sent: 64 MiB to each of three members at once, at 4 MB/s.
const SENDING: Duration = Duration::from_secs(60);
/// After that a member catches up, or is sent the next.
const AFTERWARDS: Duration = Duration::from_secs(1);
/// Databases that a member may be sent in the calm, of two leaders, before it has to be like the others.
const MOST_RECEIVED: u32 = 2;

/// What decides whether the cluster must work in the end.
struct Watch {
    voters: Voters,
    members: Vec<Member>,
    /// Volumes whose members lost their data.
    lost: BTreeSet<VolumeId>,
    /// Volumes that are gone.
    absent: BTreeMap<FaultId, VolumeId>,
    /// Index of the entry that was applied last.
    applied: u64,
    /// Index of the last change of membership.
    changed: u64,
    /// An alarm is on, of a database that what was put may have filled.
    alarm: bool,
    /// Members that have rewritten their databases since those last came with a snapshot: the size then, and [`Watch::settled`] then.
    rewritten: BTreeMap<MemberId, (u64, u64)>,
    /// Members that each client's put may have reached: each may have proposed it.
    tries: Vec<u64>,
    /// Bytes of keys and values of all puts that have ended, at each of those members.
    put_bytes: u64,
    /// The same when a put was last served: those that have ended since, in vain, may wait in a log and be applied yet.
    settled: u64,
    /// The same when a snapshot began to be sent to each member: it has applied no more when that has arrived.
    behind: BTreeMap<MemberId, u64>,
    /// When the latest members were added.
    added: BTreeMap<MemberId, Time>,
    /// Databases and delayed messages on their way: to whom, from whom, until when they may be.
    sends: BTreeMap<(MemberId, MemberId), Time>,
    /// Databases that each member has received in the calm.
    received: BTreeMap<MemberId, u32>,
    /// When the calm begins.
    calm: Time,
    now: Time,
    last: u16,
    served: u64,
    seen: Seen,
}

impl Watch {
    fn new(scenario: &Scenario) -> Self {
        let last = scenario.clients.iter().position(|client| client.name == LAST).unwrap_or(usize::MAX);
        let voters = Voters::new(&scenario.etcd[EtcdId(0)]);
        let (members, lost, absent) = (scenario.etcd[EtcdId(0)].members.clone(), BTreeSet::new(), BTreeMap::new());
        let (applied, changed, alarm, rewritten, put_bytes, behind, added, sends, received, now, served, seen) =
            Default::default();
        let calm = Time::ZERO + scenario.duration - Duration::from_millis(CALM);
        let last = last as u16;
        let tries = scenario.clients.iter().map(|client| u64::from(client.retries) + 1).collect();
        Self {
            voters,
            members,
            lost,
            absent,
            applied,
            changed,
            alarm,
            rewritten,
            tries,
            put_bytes,
            settled: 0,
            behind,
            added,
            sends,
            received,
            calm,
            now,
            last,
            served,
            seen,
        }
    }

    fn record(&mut self, at: Time, record: &Record) {
        self.now = at;
        self.voters.record(record);
        match record {
            Record::Etcd(EtcdRecord::SnapshotStarted { from, to, .. }) => {
                self.sends.insert((*to, *from), at + SENDING);
                self.behind.insert(*to, self.put_bytes);
            }
            // It may need another at once.
            Record::Etcd(EtcdRecord::SnapshotFinished { from, to, ok: true }) if self.received(*to, at) <= MOST_RECEIVED => {
                self.sends.insert((*to, *from), at + AFTERWARDS);
            }
            Record::Etcd(EtcdRecord::SnapshotFinished { from, to, .. }) => drop(self.sends.remove(&(*to, *from))),
            Record::Etcd(EtcdRecord::Backlog { member, part: Part::Loss(to), wait }) => {
                self.waits(*member, *to, at + *wait);
            }
            Record::Etcd(EtcdRecord::Backlog { member, part: Part::Card, wait }) => {
                (0..self.members.len() as u8).for_each(|to| self.waits(*member, to, at + *wait));
            }
            _ => {}
        }
        match record {
            Record::FaultStarted(active) => {
                if let Fault::VolumeLost(VolumeLost(FaultTarget::Named(volume))) = active.fault {
                    self.lost.insert(volume);
                    self.absent.insert(active.id, volume);
                }
            }
            Record::FaultEnded(id) => {
                self.absent.remove(id);
            }
            Record::Client(ClientRecord::Request { client, op, result, .. }) => {
                if let Op::Put { key_bytes, value_bytes } = op {
                    self.put_bytes += self.tries[usize::from(client.0)] * u64::from(key_bytes + value_bytes);
                    if *result == RequestResult::Ok {
                        self.settled = self.put_bytes;
                    }
                }
                if *result == RequestResult::Ok {
                    self.seen.puts += 1;
                    self.served += u64::from(client.0 == self.last);
                }
            }
            Record::Etcd(EtcdRecord::Elected { .. }) => self.seen.elections += 1,
            Record::Etcd(EtcdRecord::SnapshotFinished { ok: true, to, .. }) => {
                self.seen.snapshots += 1;
                self.rewritten.remove(to);
            }
            Record::Etcd(EtcdRecord::SpaceExceeded { member, bytes }) => {
                // What is put takes less than twice its size.
                let filled = |(size, put): &(u64, u64)| bytes - size < PUT_AT_ONCE + 2 * (self.put_bytes - put);
                self.alarm |= self.rewritten.get(member).is_none_or(filled);
            }
            Record::Etcd(EtcdRecord::AlarmDisarmed(_)) => self.alarm = false,
            Record::Etcd(EtcdRecord::Defragmented { member, after, .. }) => {
                let applied = self.behind.remove(member).unwrap_or(self.settled);
                self.rewritten.insert(*member, (*after, applied));
            }
            Record::Etcd(EtcdRecord::Membership { change, refused: None }) => {
                self.seen.changes += 1;
                self.changed = self.applied;
                if let MemberChange::Add(id) = change {
                    self.added.insert(*id, at);
                    // It starts with an empty disk in any case, unless there is none.
                    let volume = self.members[usize::from(id.index)].volume;
                    if !self.absent.values().any(|absent| *absent == volume) {
                        self.lost.remove(&volume);
                    }
                }
            }
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Applied { index, .. })) => self.applied = *index,
            Record::Etcd(EtcdRecord::DataLost { .. }) => self.seen.lost += 1,
            _ => {}
        }
    }

    /// With a majority of its voters' disks a cluster works in the calm: one leader, one term, no laggard, requests served.
    fn works(&mut self, scenario: &Scenario, members: &[MemberStatus]) -> Result<(), Failure> {
        let kept = |index: usize| !self.lost.contains(&scenario.etcd[EtcdId(0)].members[index].volume);
        if self.voters.iter().filter(|&index| kept(index)).count() < self.voters.majority() {
            return Ok(());
        }
        let here: Vec<&MemberStatus> = members.iter().filter(|member| member.role != Role::Absent).collect();
        let name = |member: &MemberStatus| scenario.member(member.member).name.clone();
        let fails = |why| Err(Failure::NotLive(why));
        let starts = |member: &MemberStatus| self.added.get(&member.member).is_some_and(|at| self.now.since(*at) < STARTS);
        if let Some(down) =
            here.iter().find(|member| member.down.is_some() && kept(member.member.index.into()) && !starts(member))
        {
            return fails(format!("{} is down", name(down)));
        }
        let here: Vec<&MemberStatus> = here.into_iter().filter(|member| member.down.is_none()).collect();
        let leaders: Vec<&&MemberStatus> = here.iter().filter(|member| member.role == Role::Leader).collect();
        let options = &scenario.etcd[EtcdId(0)].options;
        let race = !options.pre_vote && self.is_race_of_terms(&here);
        let leader = match leaders.as_slice() {
            [leader] if options.check_quorum || !race => leader,
            [] | [_] if race => {
                self.seen.races = 1;
                return Ok(());
            }
            // The voters who knew of the last change have lost their disks or have left: the others still count those who left as voters.
            // A learner that knows of it does not campaign.
            [] if here.iter().filter(|member| self.voters.has(member.member)).all(|member| member.committed < self.changed) => {
                self.seen.races = 1;
                return Ok(());
            }
            [] => return Err(Failure::Electing("nobody leads".to_owned())),
            _ => return fails(format!("{} leaders", leaders.len())),
        };
        // A voter that does not know of the last change, in a later term than its leader, and neither answers the other (see below).
        let races = |member: &MemberStatus| {
            let may = !options.pre_vote && !options.check_quorum && self.voters.has(member.member);
            may && member.committed < self.changed && member.term > leader.term
        };
        for member in here.iter().filter(|member| !races(member)) {
            if member.term != leader.term {
                let why = format!("{} is in term {}, its leader in term {}", name(member), member.term, leader.term);
                return Err(Failure::Electing(why));
            }
            if member.committed + UNDER_WAY < leader.committed && !self.may_lag(member.member) {
                let (has, of) = (member.committed, leader.committed);
                return fails(format!("{} has entries up to {has}, its leader up to {of}", name(member)));
            }
        }
        if self.served == 0 && self.alarm {
            self.seen.full = 1;
            return Ok(());
        }
        let there = here.iter().filter(|member| self.voters.has(member.member) && !self.may_lag(member.member));
        if self.served == 0 && there.count() < self.voters.majority() {
            self.seen.sent = 1;
            return Ok(());
        }
        if self.served == 0 {
            return fails("not one of the last puts was served".to_owned());
        }
        self.seen.live = 1;
        Ok(())
    }

    /// A member has received a database; how many it has in the calm.
    fn received(&mut self, member: MemberId, at: Time) -> u32 {
        let received = self.received.entry(member).or_default();
        *received += u32::from(at >= self.calm);
        *received
    }

    /// What a member sends to another waits.
    fn waits(&mut self, from: MemberId, to: u8, until: Time) {
        let known = self.sends.entry((MemberId { index: to, ..from }, from)).or_default();
        *known = (*known).max(until);
    }

    /// Whether what a member is being sent may take long: a database, a message with lost packets or behind a network card's queue (after a time of long delays TCP
    /// waits seconds before it sends one again). Till then it has what it had. One that has received more than [`MOST_RECEIVED`] databases
    /// in the calm should have caught up.
    fn may_lag(&self, member: MemberId) -> bool {
        let received = self.received.get(&member).copied().unwrap_or_default();
        received <= MOST_RECEIVED && self.sends.iter().any(|((to, _), until)| *to == member && *until > self.now)
    }

    /// Whether no majority can elect a leader without a voter that does not know of the last change of membership and is in a higher
    /// term than all who do. It asks those for votes who have left. And they ask it in terms that it has passed, to which raft answers
    /// nothing (`raft.Step`, `m.Term < r.Term`). Without pre-vote both raise their terms at the same rate, so the lower one passes the
    /// higher by chance alone, in hours where it is many terms behind. etcd heals no faster: messages of both do arrive. Without
    /// check-quorum one of the informed may even lead all the while: raft does not answer its messages either.
    fn is_race_of_terms(&self, here: &[&MemberStatus]) -> bool {
        let voters = here.iter().filter(|member| self.voters.has(member.member));
        let (informed, behind): (Vec<&MemberStatus>, Vec<_>) = voters.partition(|member| member.committed >= self.changed);
        let ahead = |late: &&MemberStatus| informed.iter().all(|member| member.term < late.term);
        !informed.is_empty() && informed.len() < self.voters.majority() && behind.iter().any(ahead)
    }
}

/// The end of the run moved to just after `at`, where nothing later matters.
pub(super) fn cut(file: &Value, at: Time) -> Value {
    let mut file = file.clone();
    let end = at.as_nanos() / 1_000_000 + 1;
    file["duration"] = Value::from(format!("{end}ms"));
    for list in ["faults", "operations"] {
        if let Some(list) = file[list].as_array_mut() {
            list.retain(|item| millis(&item["at"]) < end);
        }
    }
    if let Some(clients) = file["clients"].as_array_mut() {
        clients.retain(|client| millis(&client["start"]) < end);
    }
    file
}

const _: () = assert!(CALM > 10_000, "time for every back-off, snapshot and election that may still be needed");
