//! Clauses, and the order they are told in.

use super::balancers::BalancerPart;
use super::servers::{ApiOutage, ApiOutageKind, Servers};
use super::{BEFORE, Causes, EtcdHistory, Incident, Outage};
use crate::ids::{EtcdId, MemberId};
use crate::kernel::time::{Duration, Time};
use crate::kube::record::Verb;
use crate::record::{Service, StepDownReason};
use crate::scenario::text;
use crate::scenario::{
    ActiveFault, Direction, Fault, FaultTarget, GracefulStop, Impact, MemberChange, NodePartition, ProcessKill, ProcessPause,
    ZonePartition,
};

/// More clauses about what broke than this are summed up.
const MOST: usize = 4;

/// Where nothing is known that could explain an outage.
const UNKNOWN: &str = "no active fault";

/// Writes go on this soon after an election: the new leader commits its first entry.
pub(super) const SETTLES: Duration = Duration::from_secs(1);
/// Messages of one election arrive within this time, typically.
const MESSAGE: Duration = Duration::from_millis(10);

/// A clause about what broke.
pub(super) struct Clause {
    pub(super) text: String,
    /// The member whose name `text` begins with, if it does.
    pub(super) about: Option<MemberId>,
    /// It tells the end of a pod.
    ends_pod: bool,
}

impl Clause {
    /// About a member, with whose name it begins.
    const fn about(text: String, member: MemberId) -> Self {
        Self { text, about: Some(member), ends_pod: false }
    }
}

impl From<String> for Clause {
    fn from(text: String) -> Self {
        Self { text, about: None, ends_pod: false }
    }
}

impl Causes {
    /// The cause of an outage, in plain words.
    pub fn of(&self, outage: &Outage) -> String {
        self.composed(outage, Servers::default())
    }

    /// The cause of an outage of an API: what became of its etcd, and of its servers.
    pub fn of_api(&self, api: &ApiOutage) -> String {
        let ApiOutage { cluster, verb, from, to, how } = *api;
        let service = if verb == Verb::Write { Service::Write } else { Service::ReadLinearizable };
        let etcd = self.scenario.kube.clusters[cluster].etcd;
        let outage =
            Outage { cluster: etcd, service, from, to, late: matches!(how, ApiOutageKind::Late { .. }), api: Some(cluster) };
        self.composed(&outage, self.servers(&outage, cluster, how))
    }

    fn composed(&self, outage: &Outage, servers: Servers) -> String {
        let (lost, has_lost) = (self.lost_leader(outage), !servers.lost.is_empty());
        // Where etcd alone lost its leader, the way of new clients has no part in it.
        let matters = |part: &BalancerPart| part.explains || has_lost || lost.is_none();
        let mut balancer = self.balancer_part(outage, has_lost).filter(matters);
        let explained = has_lost || balancer.as_ref().is_some_and(|part| part.explains);
        let (mut broken, later) = self.broken(outage, !explained);
        if broken.is_empty() && !later.is_empty() {
            // What the outage began with comes before what broke later.
            broken.extend(balancer.take_if(|part| part.explains).map(|part| Clause::from(part.text)));
        }
        broken.extend(later);
        let fate = lost.and_then(|(at, leader, how)| self.fate(at, leader, how, outage, &mut broken));
        let mut clauses = summed_up(broken.into_iter().map(|clause| clause.text));
        if let Some(wiped) = self.wiped(outage) {
            let EtcdHistory { voters, up, .. } = &*self.clusters[outage.cluster];
            if voters.iter().filter(|&index| up[index]).count() <= voters.majority() {
                clauses.retain(|clause| clause != UNKNOWN);
            }
            clauses.push(wiped);
        }
        clauses.extend(self.rejoining(outage).filter(|_| lost.is_none() && outage.service != Service::ReadSerializable));
        clauses.extend(self.without_node(outage));
        clauses.extend(fate);
        self.quorum(outage, &mut clauses);
        clauses.extend(self.unwritten(outage).filter(|_| lost.is_none()));
        clauses.extend(servers.lost);
        clauses.extend(self.behind_what_is_back(outage).filter(|_| !explained));
        clauses.extend(self.stale_targets(outage));
        clauses.extend(balancer.map(|part| part.text));
        self.mended(outage, lost.map(|(_, leader, _)| leader), &mut clauses);
        clauses.extend(servers.back);
        if outage.to.is_none() {
            clauses.push("ongoing at the end of the run".to_owned());
        }
        clauses.join("; ")
    }

    pub(super) fn name(&self, member: MemberId) -> &str {
        text::member(&self.scenario, member)
    }

    /// Two lists. The first has what broke, was repaired or was changed right before the outage, the latest first, and then what had been
    /// broken for longer. The second has what broke while the outage lasted.
    /// `explains`: the first must say something.
    fn broken(&self, outage: &Outage, explains: bool) -> (Vec<Clause>, Vec<Clause>) {
        let begins = self.begins(outage);
        let recent = |at: Time| at <= begins && at + BEFORE >= outage.from;
        let relevant = self.faults.iter().filter(|(fault, _)| self.matters(fault, outage));
        // With the fault that is under way, where it is one.
        let mut fresh: Vec<(Time, Clause, Option<&ActiveFault>)> =
            self.changes(outage).map(|(at, text)| (at, text, None)).collect();
        let (mut standing, mut later) = (Vec::new(), Vec::new());
        for (fault, to) in relevant.filter(|(fault, to)| !self.bystander(fault, *to, outage)) {
            let ended = to.filter(|to| *to <= outage.from);
            if fault.from > begins {
                if outage.to.is_none_or(|to| fault.from < to) {
                    later.push(Clause::from(format!("then {}", self.began(&fault.fault, outage.cluster).text)));
                }
            } else if let Some(ended) = ended {
                if recent(ended) {
                    fresh.push((ended, fault.fault.kind().ended(&self.scenario).into(), None));
                }
            } else if recent(fault.from) {
                fresh.push((fault.from, self.began(&fault.fault, outage.cluster), Some(fault)));
            } else {
                standing.push(fault);
            }
        }
        if self.begins_full(outage) {
            (fresh, standing) = (Vec::new(), Vec::new());
        }
        // What happened in the very moment of the outage explains it without what was over before.
        let at_once = fresh.iter().any(|(at, ..)| *at == outage.from);
        let mut told = Vec::new();
        fresh.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        for (at, clause, fault) in fresh {
            match fault {
                _ if !at_once || at == outage.from => told.push(clause),
                Some(fault) => standing.push(fault),
                None => {}
            }
        }
        let alone = told.is_empty();
        told.extend(standing.into_iter().map(|fault| {
            if alone { self.began(&fault.fault, outage.cluster) } else { fault.fault.kind().ongoing(&self.scenario).into() }
        }));
        // What was asked for comes before the pods that it ended.
        let first_end = told.iter().position(|clause| clause.ends_pod).unwrap_or(told.len());
        told.splice(first_end..first_end, self.planned(outage.cluster, outage.from).map(Clause::from));
        told.extend(self.no_space(outage).map(Clause::from));
        told.extend(self.busy(outage).filter(|_| outage.late).map(Clause::from));
        told.extend(self.snapshot(outage).map(Clause::from));
        if explains && told.is_empty() {
            told.push(self.without_fault(outage).into());
        }
        (told, later)
    }

    /// Until when what happens is what the outage began with: requests that are late were made up to a deadline before, and members that
    /// an API asks may know of a candidate before their leader does.
    pub(super) fn begins(&self, outage: &Outage) -> Time {
        match outage.api {
            _ if outage.late => outage.from + self.scenario.probe.deadline,
            Some(_) => outage.from + MESSAGE,
            None => outage.from,
        }
    }

    /// Changes of membership, and pods that were evicted or deleted, right before the outage.
    fn changes<'a>(&'a self, outage: &'a Outage) -> impl Iterator<Item = (Time, Clause)> + 'a {
        let begins = self.begins(outage);
        let before = move || self.around(outage).filter(move |(at, _)| *at <= begins);
        // A pod that is asked to end, and that ends: once.
        let later =
            move |place: usize, is_same: &dyn Fn(Incident) -> bool| before().skip(place + 1).any(|(_, other)| is_same(other));
        before().enumerate().filter_map(move |(place, (at, incident))| {
            let change = match incident {
                Incident::PodEnds(end)
                    if later(place, &|other| matches!(other, Incident::PodEnds(other) if other.is_of(end))) =>
                {
                    return None;
                }
                Incident::OrphanStops(orphan)
                    if later(place, &|other| matches!(other, Incident::OrphanStops(other) if other == orphan)) =>
                {
                    return None;
                }
                Incident::PodEnds(end) => {
                    return Some((at, Clause { ends_pod: true, ..self.describe_end(end).into() }));
                }
                Incident::OrphanStops(orphan) => {
                    return Some((at, Clause { ends_pod: true, ..self.describe_orphan(orphan).into() }));
                }
                Incident::NodeDeleted(deletion) => return Some((at, self.describe_deletion(deletion).into())),
                Incident::Host(host, joins) => {
                    let (host, what) = (&self.scenario.nodes[host].name, if joins { "was added to" } else { "was removed from" });
                    return Some((at, format!("{host} {what} the control plane").into()));
                }
                Incident::Defragments(member) => {
                    return Some((at, Clause::about(format!("{} was defragmented", self.name(member)), member)));
                }
                Incident::Applied(change) => change,
                _ => return None,
            };
            Some((at, self.changed(change)))
        })
    }

    /// Where nothing has happened that could explain it.
    fn without_fault(&self, outage: &Outage) -> String {
        let cold = self.scenario.etcd[outage.cluster].initial_leader.is_none();
        if cold && outage.from == Time::ZERO {
            return "the cluster starts without a leader".to_owned();
        }
        let returned = |(_, incident)| if let Incident::Serves(member) = incident { Some(member) } else { None };
        let before = || self.around(outage).filter(|(at, _)| *at <= outage.from);
        if let (Some(member), Some((_, _, Incident::SteppedDown(_, StepDownReason::HigherTerm)))) =
            (before().rev().find_map(returned), self.lost_leader(outage))
        {
            return format!("{} came back in a later term", self.name(member));
        }
        let known = self.standing(outage).or_else(|| self.just_started(outage)).or_else(|| self.behind(outage));
        known.or_else(|| self.long_away(outage)).unwrap_or_else(|| UNKNOWN.to_owned())
    }

    /// The first leader of a cluster may be replaced at once: a member advances its election timer when it starts, and may campaign before it
    /// receives the next heartbeat (etcd, `advanceTicks`).
    fn just_started(&self, outage: &Outage) -> Option<String> {
        let (cold, age) = (self.scenario.etcd[outage.cluster].initial_leader.is_none(), outage.from.since(Time::ZERO));
        (cold && age <= BEFORE).then(|| format!("the cluster started without a leader {} before", text::duration(age)))
    }

    /// What goes on for longer than the last election: a change of membership not long ago, or parts that are busy or slow.
    fn standing(&self, outage: &Outage) -> Option<String> {
        let recent = |at: Time| at <= outage.from && outage.from.since(at) <= BEFORE;
        let changed = self.clusters[outage.cluster].incidents.iter().rev().find_map(|(at, incident)| match incident {
            Incident::Applied(change) if recent(*at) => Some(self.changed(*change).text),
            Incident::TakesOver(from, to, silent) if recent(*at) => {
                let (from, to, silent) = (self.name(*from), self.name(*to), text::duration(*silent));
                Some(format!("{to} started to take over from {from}, which had not answered for {silent}"))
            }
            _ => None,
        });
        let by_nature = || self.slow_by_nature(outage).filter(|_| outage.service != Service::Quorum);
        changed
            .or_else(|| self.busy(outage))
            .or_else(|| self.overtaken(outage))
            .or_else(|| self.leaderless(outage))
            .or_else(|| self.stopped(outage))
            .or_else(|| self.sent_again(outage))
            .or_else(|| self.around_servers(outage))
            .or_else(by_nature)
    }

    /// Why requests found no leader: a new one was elected less than [`SETTLES`] ago, or a running member has none.
    fn leaderless(&self, outage: &Outage) -> Option<String> {
        let (history, to) = (&self.clusters[outage.cluster], outage.to.filter(|_| outage.late)?);
        let elected = history.incidents.iter().rev().find_map(|(at, incident)| match incident {
            Incident::Elected(member, _) if *at <= outage.from && outage.from.since(*at) <= SETTLES => Some((*at, *member)),
            _ => None,
        });
        if let Some((at, member)) = elected {
            return Some(format!(
                "{} was elected only {} before, and members may not have known it yet",
                self.name(member),
                text::duration(outage.from.since(at))
            ));
        }
        let meets =
            |(member, since, until): &(MemberId, Time, Time)| history.voters.has(*member) && *since <= to && *until > outage.from;
        let (member, since, until) = self.without_leader(outage.cluster).find(meets)?;
        Some(format!("{} had no leader for {}", self.name(member), text::duration(until.min(to).since(since))))
    }

    /// Members that ran without a leader: from when, and until when.
    fn without_leader(&self, cluster: EtcdId) -> impl Iterator<Item = (MemberId, Time, Time)> {
        let history = &self.clusters[cluster];
        let known = history.incidents.iter().filter_map(|(until, incident)| match incident {
            Incident::Leaderless(member, since) => Some((*member, *since, *until)),
            _ => None,
        });
        let now = (0u8..).zip(&history.leaderless);
        known.chain(now.filter_map(move |(index, since)| Some((MemberId { cluster, index }, (*since)?, Time::MAX))))
    }

    /// Voters that had just started and did not follow the leader yet, where there was no majority without them.
    fn rejoining(&self, outage: &Outage) -> Option<String> {
        let before = || self.around(outage).rev().filter(|(at, _)| *at <= outage.from);
        let stop = |(at, incident)| if let Incident::Down(down, of) = incident { Some((at, of - down, of)) } else { None };
        let serves = |(at, incident)| if let Incident::Serves(member) = incident { Some((member, at)) } else { None };
        let follows_not = |(member, since): &(MemberId, Time)| {
            let mut without = self.without_leader(outage.cluster);
            without.any(|(other, from, until)| (other, from) == (*member, *since) && until > outage.from)
        };
        let (stopped, left, of) = before().find_map(stop)?;
        let run = left + before().filter_map(serves).filter(|(_, at)| *at > stopped).count();
        let rejoining: Vec<(MemberId, Time)> = before().filter_map(serves).filter(follows_not).collect();
        let told = rejoining.iter().map(|(member, since)| {
            let age = text::duration(outage.from.since(*since));
            format!("{}, which had started {age} before, did not follow the leader yet", self.name(*member))
        });
        let decide = !rejoining.is_empty() && run.saturating_sub(rejoining.len()) <= of / 2;
        decide.then(|| text::list(&told.collect::<Vec<_>>()))
    }

    /// A member that did not run while requests were late: those who asked it were refused.
    fn stopped(&self, outage: &Outage) -> Option<String> {
        let (history, to) = (&self.clusters[outage.cluster], outage.to.filter(|_| outage.late)?);
        let mut later = history.incidents.iter().filter(|(at, _)| *at >= to);
        let started = later.find_map(|(_, incident)| if let Incident::Serves(member) = incident { Some(*member) } else { None });
        let now = history.stopped.iter().position(|stopped| *stopped);
        let now = now.map(|index| MemberId { cluster: outage.cluster, index: index as u8 });
        Some(format!("{} did not run", self.name(started.or(now)?)))
    }

    /// A change of membership.
    fn changed(&self, change: MemberChange) -> Clause {
        let (MemberChange::Add(member) | MemberChange::Remove(member) | MemberChange::Promote(member)) = change;
        Clause::about(text::membership_changed(change, &*self.scenario), member)
    }

    /// Whether a fault could take this service away. A majority that runs and is connected asks neither how fast its disks are nor how
    /// good its links, and a read of a member's own data asks no disk (but waits while the database is committed).
    pub(super) fn matters(&self, fault: &ActiveFault, outage: &Outage) -> bool {
        let could = match fault.fault.kind().impact() {
            Impact::Stops | Impact::Cuts => true,
            Impact::SlowsNetwork => outage.service != Service::Quorum,
            Impact::SlowsDisk => outage.late || !matches!(outage.service, Service::Quorum | Service::ReadSerializable),
            Impact::Elsewhere => return self.hits_balancer(fault, outage),
        };
        could && (self.touches(fault, outage) || self.work.is_struck(fault.id, outage.cluster))
    }

    /// A slow disk or a bad link that had been there before, and is there still when the service is back, has no part in an outage that
    /// began with the end of a leader or of the quorum and was over when there was a leader again.
    fn bystander(&self, fault: &ActiveFault, to: Option<Time>, outage: &Outage) -> bool {
        let only_slow = matches!(fault.fault.kind().impact(), Impact::SlowsDisk | Impact::SlowsNetwork);
        let Some(end) = outage.to.filter(|end| only_slow && fault.from < outage.from && to.is_none_or(|to| to > *end)) else {
            return false;
        };
        let elected = self.around(outage).rev().find_map(|(at, h)| matches!(h, Incident::Elected(..)).then_some(at));
        self.begins_with_loss(outage) && elected.is_none_or(|elected| end.since(elected) <= SETTLES)
    }

    /// Whether a leader or the quorum was lost in the moment in which the outage began.
    pub(super) fn begins_with_loss(&self, outage: &Outage) -> bool {
        self.around(outage)
            .any(|(at, incident)| at == outage.from && matches!(incident, Incident::LeaderGone(..) | Incident::QuorumLost))
    }

    /// Members that stay away, for what they knew is gone.
    fn wiped(&self, outage: &Outage) -> Option<String> {
        let members = &self.clusters[outage.cluster].wiped;
        let ends = outage.to.unwrap_or(Time::MAX);
        let away = (0u8..).zip(members).filter(|(_, since)| since.is_some_and(|since| since <= ends));
        let names: Vec<_> = away.map(|(index, _)| self.name(MemberId { cluster: outage.cluster, index }).to_owned()).collect();
        match names.as_slice() {
            [] => None,
            [one] => Some(format!("{one} does not start (its disk is empty)")),
            more => Some(format!("{} do not start (their disks are empty)", text::list(more))),
        }
    }

    /// The leader that was lost, when and how.
    pub(super) fn lost_leader(&self, outage: &Outage) -> Option<(Time, MemberId, Incident)> {
        if matches!(outage.service, Service::ReadSerializable | Service::Quorum) {
            return None;
        }
        self.around(outage).find_map(|(at, incident)| match incident {
            Incident::LeaderGone(member, _) | Incident::SteppedDown(member, _) => Some((at, member, incident)),
            Incident::Elected(_, Some(member)) if at >= outage.from => Some((at, member, incident)),
            Incident::Deposed(member) if at == outage.from => Some((at, member, incident)),
            _ => None,
        })
    }

    /// What happened to the cluster from [`BEFORE`] ahead of the outage to its end, in order.
    pub(super) fn around<'a>(&'a self, outage: &'a Outage) -> impl DoubleEndedIterator<Item = (Time, Incident)> + 'a {
        // A leader lost before the outage explains it only where it has not been replaced before the outage. (Another may be elected before
        // the leader that is lost with the outage knows of it.)
        let incidents = &self.clusters[outage.cluster].incidents;
        let lost = |member: MemberId| {
            let now = incidents.iter().rev().skip_while(|(at, _)| *at > outage.from).take_while(|(at, _)| *at == outage.from);
            let mut lost = now.filter_map(|(_, incident)| match *incident {
                Incident::SteppedDown(member, StepDownReason::HigherTerm) | Incident::Deposed(member) => Some(member),
                _ => None,
            });
            lost.clone().next().is_none() || lost.any(|other| other == member)
        };
        let replaced = incidents.iter().rev().find_map(|(at, h)| match h {
            Incident::Elected(member, _) if *at < outage.from && lost(*member) => Some(*at),
            _ => None,
        });
        let begins = self.begins(outage);
        let is_before = |at: Time| at + BEFORE < outage.from || replaced.is_some_and(|replaced| at <= replaced);
        let is_there = |at: Time| outage.to.is_none_or(|to| at <= to.max(begins));
        let first = incidents.partition_point(|(at, _)| is_before(*at));
        let end = incidents.partition_point(|(at, _)| is_there(*at));
        incidents.range(first..end.max(first)).copied()
    }

    /// What began, in the words of the cluster: a node cut off that carries one member takes that member along.
    fn began(&self, fault: &Fault, cluster: EtcdId) -> Clause {
        let text = fault.kind().began(&self.scenario);
        match *fault {
            Fault::ProcessKill(ProcessKill(FaultTarget::Named(member)))
            | Fault::GracefulStop(GracefulStop(FaultTarget::Named(member)))
            | Fault::ProcessPause(ProcessPause(FaultTarget::Named(member))) => Clause::about(text, member),
            Fault::NodePartition(NodePartition { node: FaultTarget::Named(node), direction: Direction::Both }) => {
                let members = &self.scenario.etcd[cluster].members;
                let mut there = (0u8..).zip(members).filter(|(_, m)| m.node == node);
                match (there.next(), there.next()) {
                    (Some((index, member)), None) => {
                        let node = &self.scenario.nodes[node].name;
                        Clause::about(format!("{} cut off with node {node}", member.name), MemberId { cluster, index })
                    }
                    _ => text.into(),
                }
            }
            Fault::ZonePartition(ZonePartition { zone: FaultTarget::Named(zone), .. })
                if self.scenario.probe.from.zone() == Some(zone) =>
            {
                format!("{text}, which contains the probe").into()
            }
            _ => text.into(),
        }
    }
}

/// The clauses, the same ones told once, and no more than [`MOST`].
fn summed_up(clauses: impl Iterator<Item = String>) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for clause in clauses {
        match counted.iter_mut().find(|(known, _)| *known == clause) {
            Some((_, times)) => *times += 1,
            None => counted.push((clause, 1)),
        }
    }
    let more: usize = counted.iter().skip(MOST).map(|(_, times)| times).sum();
    counted.truncate(MOST);
    let told = counted.into_iter().map(|(clause, times)| if times > 1 { format!("{clause} ({times} times)") } else { clause });
    let mut told: Vec<String> = told.collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told
}
