//! Why a service was gone: the records around an outage, told in order.
//!
//! A cause is a list of clauses: what broke (or was mended, or was asked for by an operator), what became of the leader, whether the
//! quorum went, who was elected or came back and after how long, and whether it was over at all. Lengths count from the start of
//! the outage.
//!
//! ```text
//! zone eu-west-1a lost power; leader etcd-main-0 gone; etcd-main-2 elected after 1.3 s
//! ```
//!
//! It is composed when the outage ends, so the order of records within one instant does not matter. Only what can matter is kept:
//! faults under way, and happenings since [`BEFORE`] ahead of the earliest outage under way.

use std::collections::VecDeque;
use std::sync::Arc;

use super::voters::{Voters, cluster_of};
use super::{Observer, describe, words};
use crate::ids::{ClusterId, MemberId};
use crate::kernel::time::{Duration, Time};
use crate::record::{Record, Service, StepDownReason};
use crate::scenario::{ActiveFault, Aim, Fault, MemberChange, Scenario};

/// What happened up to this long before an outage may be its cause.
pub const BEFORE: Duration = Duration::from_secs(10);

/// More faults than this are summed up in a cause.
const MOST_FAULTS: usize = 4;

/// An outage to explain.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    /// Of which cluster.
    pub cluster: ClusterId,
    /// Of which service.
    pub service: Service,
    /// Its start.
    pub from: Time,
    /// Its end; `None`: not over.
    pub to: Option<Time>,
}

/// Keeps what may explain an outage.
#[derive(Clone, Debug)]
pub struct Causes {
    scenario: Arc<Scenario>,
    faults: Vec<(ActiveFault, Option<Time>)>,
    happenings: VecDeque<(Time, ClusterId, Happening)>,
    clusters: Vec<Cluster>,
}

#[derive(Clone, Debug)]
struct Cluster {
    voters: Voters,
    leader: Option<MemberId>,
    up: Vec<bool>,
}

/// What else can be part of a cause.
#[derive(Clone, Copy, Debug)]
enum Happening {
    LeaderGone(MemberId),
    SteppedDown(MemberId, StepDownReason),
    /// Who won, and the leader before, where it did not yet know.
    Elected(MemberId, Option<MemberId>),
    Serves(MemberId),
    /// Voters that did not run, right after one had stopped; and all voters.
    Down(usize, usize),
    QuorumLost,
    QuorumBack,
    Applied(MemberChange),
}

impl Causes {
    /// As the scenario starts.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let cluster = |(i, c): (usize, &crate::scenario::EtcdCluster)| Cluster {
            voters: Voters::new(c),
            leader: c.initial_leader.map(|index| MemberId { cluster: ClusterId(i as u16), index }),
            up: c.members.iter().map(|m| m.initial).collect(),
        };
        let clusters = scenario.etcd.iter().enumerate().map(cluster).collect();
        Self { scenario: Arc::clone(scenario), faults: Vec::new(), happenings: VecDeque::new(), clusters }
    }

    /// Drops what cannot explain an outage that starts at `earliest` or later.
    pub fn forget(&mut self, earliest: Time) {
        let old = |at: Time| at + BEFORE < earliest;
        while self.happenings.front().is_some_and(|(at, ..)| old(*at)) {
            self.happenings.pop_front();
        }
        self.faults.retain(|(_, to)| !to.is_some_and(old));
    }

    /// The cause of an outage, in plain words.
    pub fn of(&self, outage: &Outage) -> String {
        let mut clauses = self.broken(outage);
        self.led(outage, &mut clauses);
        self.quorum(outage, &mut clauses);
        self.mended(outage, &mut clauses);
        if outage.to.is_none() {
            clauses.push("not over at the end of the run".to_owned());
        }
        clauses.join("; ")
    }

    fn name(&self, member: MemberId) -> &str {
        words::member(&self.scenario, member)
    }

    /// What broke: faults that have just begun or just ended first, then those that have been there for long, then those that came
    /// while it lasted.
    fn broken(&self, outage: &Outage) -> Vec<String> {
        let relevant = || self.faults.iter().filter(|(f, _)| self.touches(&f.fault, outage.cluster));
        let recent = |at: Time| outage.from.since(at) <= BEFORE;
        let (mut fresh, mut standing, mut later) = (Vec::new(), Vec::new(), Vec::new());
        for (fault, to) in relevant() {
            let told = self.began(&fault.fault, outage.cluster);
            let ended = to.filter(|to| *to <= outage.from);
            if fault.from > outage.from {
                if outage.to.is_none_or(|to| fault.from < to) {
                    later.push(format!("then {told}"));
                }
            } else if let Some(ended) = ended {
                if recent(ended) {
                    fresh.push(words::over(&fault.fault, &self.scenario));
                }
            } else if recent(fault.from) {
                fresh.push(told);
            } else {
                standing.push((told, words::goes_on(&fault.fault, &self.scenario)));
            }
        }
        let alone = fresh.is_empty();
        fresh.extend(standing.into_iter().map(|(began, goes_on)| if alone { began } else { goes_on }));
        if fresh.is_empty() {
            fresh.push(self.without_fault(outage));
        }
        fresh.extend(later);
        let more = fresh.len().saturating_sub(MOST_FAULTS);
        if more > 0 {
            fresh.truncate(MOST_FAULTS);
            fresh.push(format!("and {more} more"));
        }
        fresh
    }

    /// Where no fault explains it.
    fn without_fault(&self, outage: &Outage) -> String {
        let change = self.around(outage).rev().find_map(|(at, h)| match h {
            Happening::Applied(change) if at <= outage.from => Some(change),
            _ => None,
        });
        if let Some(change) = change {
            return format!("membership changed ({})", describe::change_words(change, &self.scenario));
        }
        let cold = self.scenario.etcd[outage.cluster.0 as usize].initial_leader.is_none();
        if cold && outage.from == Time::ZERO {
            return "the cluster starts without a leader".to_owned();
        }
        "no fault under way".to_owned()
    }

    /// What became of the leader.
    fn led(&self, outage: &Outage, clauses: &mut Vec<String>) {
        if matches!(outage.service, Service::ReadSerializable | Service::Quorum) {
            return;
        }
        let lost = self.around(outage).find_map(|(at, h)| match h {
            Happening::LeaderGone(m) => Some((m, format!("gone{}", after(at, outage)))),
            Happening::SteppedDown(m, why) => {
                let why = match why {
                    StepDownReason::QuorumInactive => "",
                    StepDownReason::HigherTerm => " (a higher term was about)",
                    StepDownReason::Removed => " (it was removed)",
                };
                Some((m, format!("stepped down{}{why}", after(at, outage))))
            }
            Happening::Elected(_, Some(m)) => Some((m, "out of reach".to_owned())),
            _ => None,
        });
        let Some((member, fate)) = lost else { return };
        let name = self.name(member);
        // "etcd-main-0 cut off; stepped down after 1.4 s"
        let known = clauses.iter().any(|c| c.starts_with(name));
        clauses.push(if known { fate } else { format!("leader {name} {fate}") });
    }

    /// Whether a majority was gone, and how many voters.
    fn quorum(&self, outage: &Outage, clauses: &mut Vec<String>) {
        let during = || self.around(outage).filter(|(at, _)| *at >= outage.from);
        let lost = during().any(|(_, h)| matches!(h, Happening::QuorumLost));
        let down = during().filter_map(|(_, h)| if let Happening::Down(n, of) = h { Some((n, of)) } else { None }).max();
        if matches!(outage.service, Service::Write | Service::ReadLinearizable) && lost {
            clauses.push("quorum lost".to_owned());
        }
        let counts = outage.service == Service::Quorum || lost;
        if let Some((n, of)) = down.filter(|_| counts) {
            clauses.push(format!("{n} of {of} voters down"));
        }
    }

    /// Who was elected, or what came back.
    fn mended(&self, outage: &Outage, clauses: &mut Vec<String>) {
        let Some(end) = outage.to else { return };
        let during = || self.around(outage).rev().filter(|(at, _)| *at >= outage.from && *at <= end);
        let quorum_came_back = during().any(|(_, h)| matches!(h, Happening::QuorumBack));
        let elected = during().find_map(|(at, h)| if let Happening::Elected(m, _) = h { Some((at, m)) } else { None });
        let serves = during().find_map(|(at, h)| if let Happening::Serves(m) = h { Some((at, m)) } else { None });
        let elected = elected.filter(|_| !matches!(outage.service, Service::ReadSerializable | Service::Quorum));
        let came_back = elected.is_none() || quorum_came_back;
        if came_back {
            let over = self.faults.iter().rev().find_map(|(f, to)| {
                let to = to.filter(|to| *to > outage.from && *to <= end)?;
                self.touches(&f.fault, outage.cluster).then(|| (to, words::over(&f.fault, &self.scenario)))
            });
            match (serves, over) {
                (Some((at, member)), _) => clauses.push(format!("{} serves again{}", self.name(member), after(at, outage))),
                (None, Some((at, over))) => clauses.push(format!("{over}{}", after(at, outage))),
                (None, None) => {}
            }
        }
        if let Some((at, member)) = elected {
            clauses.push(format!("{} elected{}", self.name(member), after(at, outage)));
        }
    }

    /// What happened to the cluster from [`BEFORE`] ahead of the outage to its end, in order.
    fn around<'a>(&'a self, outage: &'a Outage) -> impl DoubleEndedIterator<Item = (Time, Happening)> + 'a {
        // A leader lost before the outage explains it only where it has not been replaced before the outage.
        let replaced = self.happenings.iter().rev().find_map(|(at, c, h)| match h {
            Happening::Elected(..) if *c == outage.cluster && *at < outage.from => Some(*at),
            _ => None,
        });
        self.happenings
            .iter()
            .filter(move |(at, cluster, _)| {
                *cluster == outage.cluster
                    && *at + BEFORE >= outage.from
                    && outage.to.is_none_or(|to| *at <= to)
                    && replaced.is_none_or(|replaced| *at > replaced)
            })
            .map(|(at, _, h)| (*at, *h))
    }

    /// Whether a fault can concern a cluster: it hits a zone, node, disk or process of one of its members, or the probe's zone.
    fn touches(&self, fault: &Fault, cluster: ClusterId) -> bool {
        let members = &self.scenario.etcd[cluster.0 as usize].members;
        let zone_of = |m: &crate::scenario::Member| self.scenario.nodes[m.node.0 as usize].zone;
        let in_zone = |z| self.scenario.probe.from == Some(z) || members.iter().any(|m| zone_of(m) == z);
        match fault {
            Fault::NodeCrash(Aim::Named(n)) | Fault::NodeCut { node: Aim::Named(n), .. } => members.iter().any(|m| m.node == *n),
            Fault::ProcessKill(Aim::Named(m)) | Fault::GracefulStop(Aim::Named(m)) => m.cluster == cluster,
            Fault::ZonePower(Aim::Named(z)) | Fault::ZoneCut { zone: Aim::Named(z), .. } => in_zone(*z),
            Fault::LinkDegraded { a, b, .. } => in_zone(*a) && in_zone(*b),
            Fault::DiskSlow { volume: Aim::Named(v), .. } | Fault::VolumeLost(Aim::Named(v)) => {
                members.iter().any(|m| m.volume == *v)
            }
            Fault::NodeCrash(Aim::OfLeader(c))
            | Fault::NodeCut { node: Aim::OfLeader(c), .. }
            | Fault::ProcessKill(Aim::OfLeader(c))
            | Fault::GracefulStop(Aim::OfLeader(c))
            | Fault::ZonePower(Aim::OfLeader(c))
            | Fault::ZoneCut { zone: Aim::OfLeader(c), .. }
            | Fault::DiskSlow { volume: Aim::OfLeader(c), .. }
            | Fault::VolumeLost(Aim::OfLeader(c)) => *c == cluster,
        }
    }

    /// What began, in the words of the cluster: a node cut off that carries one member is that member cut off.
    fn began(&self, fault: &Fault, cluster: ClusterId) -> String {
        if let Fault::NodeCut { node: Aim::Named(node), direction: crate::scenario::Direction::Both } = fault {
            let mut members = self.scenario.etcd[cluster.0 as usize].members.iter().filter(|m| m.node == *node);
            if let (Some(member), None) = (members.next(), members.next()) {
                return format!("{} cut off", member.name);
            }
        }
        words::began(fault, &self.scenario)
    }

    fn happened(&mut self, at: Time, cluster: ClusterId, happening: Happening) {
        self.happenings.push_back((at, cluster, happening));
    }

    fn of_cluster(&mut self, at: Time, id: ClusterId, record: &Record) {
        let cluster = &mut self.clusters[id.0 as usize];
        match record {
            Record::MemberStarted(member) => {
                cluster.up[member.index as usize] = true;
                self.happened(at, id, Happening::Serves(*member));
            }
            Record::MemberStopped { member, .. } => {
                cluster.up[member.index as usize] = false;
                let led = cluster.leader.take_if(|l| l == member).is_some();
                let down = cluster.voters.iter().filter(|&i| !cluster.up[i]).count();
                let of = cluster.voters.count();
                self.happened(at, id, Happening::Down(down, of));
                if led {
                    self.happened(at, id, Happening::LeaderGone(*member));
                }
            }
            Record::Elected { member, .. } => {
                let before = cluster.leader.replace(*member).filter(|before| before != member);
                self.happened(at, id, Happening::Elected(*member, before));
            }
            Record::SteppedDown { member, reason, .. } if cluster.leader == Some(*member) => {
                cluster.leader = None;
                self.happened(at, id, Happening::SteppedDown(*member, *reason));
            }
            Record::Membership { change, refused: None } => {
                cluster.voters.record(record);
                self.happened(at, id, Happening::Applied(*change));
            }
            Record::Availability { service: Service::Quorum, up, .. } => {
                self.happened(at, id, if *up { Happening::QuorumBack } else { Happening::QuorumLost });
            }
            _ => {}
        }
    }
}

impl Observer for Causes {
    fn record(&mut self, at: Time, record: &Record) {
        match record {
            Record::FaultStarted(fault) => self.faults.push((fault.clone(), None)),
            Record::FaultEnded(id) => {
                self.faults.iter_mut().filter(|(f, to)| f.id == *id && to.is_none()).for_each(|(_, to)| *to = Some(at));
            }
            _ => {
                if let Some(cluster) = cluster_of(record) {
                    self.of_cluster(at, cluster, record);
                }
            }
        }
    }
}

/// ` after 1.3 s`, from the start of the outage; nothing where it came at once or before.
fn after(at: Time, outage: &Outage) -> String {
    if at <= outage.from { String::new() } else { format!(" after {}", words::duration(at.since(outage.from))) }
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
