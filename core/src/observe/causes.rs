//! Why a service was gone: the records around an outage, told in order.
//!
//! A cause is a list of clauses: what broke (or was mended, or was asked for by an operator), what became of the leader, whether the
//! quorum went, who was elected or came back and after how long, and whether it was over at all. Lengths count from the start of
//! the outage. [`compose`] puts them together; here is what they are made of.
//!
//! ```text
//! zone eu-west-1a lost power; leader etcd-main-0 gone; etcd-main-2 elected after 1.3 s
//! ```
//!
//! It is composed when the outage ends, so the order of records within one instant does not matter. Only what can matter is kept:
//! faults under way, and happenings since [`BEFORE`] ahead of the earliest outage under way.

mod balancers;
mod compose;
mod leader;
mod pod_end;
mod recovery;
mod servers;
mod space;
mod waits;
mod work;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::Observer;
use super::voters::{Voters, cluster_of};
use crate::access::record::AccessRecord;
use crate::etcd::passive::PassiveRecord;
use crate::gardener::druid::{MigrationFact, ToleranceFact};
use crate::gardener::record::GardenerRecord;
use crate::ids::{EtcdId, KubeClusterId, MemberId, NodeId, SeedId, TiVec, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::record::{KubeRecord, Replica, ServerFact};
use crate::kube::spec::Task;
use crate::kube::spec::gardener::{FailureTolerance, Hosted};
use crate::record::{ClientRecord, EtcdRecord, Record, RefuseReason, Service, StepDownReason, StopReason};
use crate::rollout::record::RolloutRecord;
use crate::scenario::text;
use crate::scenario::{ActiveFault, Fault, FaultTarget, Hit, Maintenance, MemberChange, Place, ProbeFrom, Scenario};
use balancers::{AtLimit, Unhealthy};
pub use balancers::{NO_TARGET, at_limit, queue, targets_nobody};
use pod_end::PodEnd;
use servers::Away;
pub use servers::{ApiOutage, ApiOutageKind};
use space::Alarms;
use waits::Waits;
use work::{NodeDeletion, OrphanStop, Work};

/// What happened up to this long before an outage may be its cause.
pub const BEFORE: Duration = Duration::from_secs(10);

/// An outage to explain.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    /// Of which cluster.
    pub cluster: EtcdId,
    /// Of which service.
    pub service: Service,
    /// Its start.
    pub from: Time,
    /// Its end; `None`: not over.
    pub to: Option<Time>,
    /// The service was there, and too slow.
    pub late: bool,
    /// The cluster whose API it is; `None`: etcd itself.
    pub api: Option<KubeClusterId>,
}

/// Keeps what may explain an outage.
#[derive(Clone, Debug)]
pub struct Causes {
    scenario: Arc<Scenario>,
    faults: Vec<(ActiveFault, Option<Time>)>,
    work: Work,
    /// What happened to API servers.
    servers: BTreeMap<KubeClusterId, VecDeque<(Time, Replica, ServerFact)>>,
    /// For how many resources each has no connection to etcd.
    stalled: BTreeMap<KubeClusterId, BTreeMap<Replica, u16>>,
    /// Servers that do not serve, or did not.
    away: Vec<Away>,
    unhealthy: Unhealthy,
    at_limit: AtLimit,
    /// Shared with clones as long as neither changes them.
    clusters: TiVec<EtcdId, Arc<EtcdHistory>>,
    /// Shoots that change as they were asked to, from when to when.
    plans: Vec<(u16, Plan, Time, Option<Time>)>,
}

/// What a shoot is asked for.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// To move there.
    Migrate(SeedId),
    /// To survive that.
    SetTolerance(FailureTolerance),
}

#[derive(Clone, Debug)]
struct EtcdHistory {
    incidents: VecDeque<(Time, Incident)>,
    waits: Waits,
    alarms: Alarms,
    voters: Voters,
    leader: Option<MemberId>,
    up: Vec<bool>,
    /// Has run, and does not now.
    stopped: Vec<bool>,
    /// Members that do not start, for their disks are empty, and since when.
    wiped: Vec<Option<Time>>,
    /// Members that know of no leader, and since when.
    leaderless: Vec<Option<Time>>,
    /// The last term that each member campaigned for.
    campaigned: Vec<u64>,
    /// Where each member is.
    zones: Vec<ZoneId>,
    /// Where members were until they moved.
    left: VecDeque<(Time, ZoneId)>,
}

/// What else can be part of a cause.
#[derive(Clone, Copy, Debug)]
enum Incident {
    LeaderGone(MemberId, StopReason),
    SteppedDown(MemberId, StepDownReason),
    /// A leader learned that another leads.
    Deposed(MemberId),
    /// Who won, and the leader before, where it did not yet know.
    Elected(MemberId, Option<MemberId>),
    /// A leader, and another that had campaigned for this later term, of which the leader did not know.
    Behind(MemberId, MemberId, u64),
    /// A member runs that had stopped.
    Serves(MemberId),
    /// Voters that did not run, right after one had stopped; and all voters.
    Down(usize, usize),
    QuorumLost,
    QuorumRecovered,
    Applied(MemberChange),
    PodEnds(PodEnd),
    /// A kubelet stops a member whose pod is gone.
    OrphanStops(OrphanStop),
    /// An operator has a member's database rewritten.
    Defragments(MemberId),
    /// The node of a member was deleted, and its machine with it.
    NodeDeleted(NodeDeletion),
    /// A member of a pair starts to take over: from whom, who, and how long the first had not answered.
    TakesOver(MemberId, MemberId, Duration),
    /// A member has a leader again, or has stopped: since when it had none.
    Leaderless(MemberId, Time),
    /// A host joined the control plane, or left it.
    Host(NodeId, bool),
}

impl Causes {
    /// As the scenario starts.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let cluster = |(cluster, c): (EtcdId, &crate::scenario::EtcdClusterSpec)| {
            Arc::new(EtcdHistory {
                incidents: VecDeque::new(),
                waits: Waits::default(),
                alarms: Alarms::default(),
                voters: Voters::new(c),
                leader: c.initial_leader.map(|index| MemberId { cluster, index }),
                up: c.members.iter().map(|m| m.initial).collect(),
                stopped: vec![false; c.members.len()],
                wiped: vec![None; c.members.len()],
                leaderless: vec![None; c.members.len()],
                campaigned: vec![0; c.members.len()],
                zones: c.members.iter().map(|m| scenario.nodes[m.node].zone).collect(),
                left: VecDeque::new(),
            })
        };
        let clusters = scenario.etcd.iter_enumerated().map(cluster).collect();
        let (faults, work, servers, stalled, away, unhealthy, at_limit, plans) = Default::default();
        Self { scenario: Arc::clone(scenario), faults, work, servers, stalled, away, unhealthy, at_limit, clusters, plans }
    }

    /// Drops what cannot explain an outage of a cluster that starts at `earliest` or later.
    pub fn forget_of(&mut self, cluster: EtcdId, earliest: Time) {
        let old = |at: Time| at + BEFORE < earliest;
        let history = &mut self.clusters[cluster];
        let is_old = history.incidents.front().is_some_and(|(at, _)| old(*at)) || !history.left.is_empty();
        if !is_old && history.waits.is_empty() && history.alarms.is_empty() {
            return;
        }
        let history = Arc::make_mut(history);
        while history.incidents.pop_front_if(|(at, _)| old(*at)).is_some() {}
        while history.left.pop_front_if(|(at, _)| old(*at)).is_some() {}
        history.waits.forget(old);
        history.alarms.forget(old);
    }

    /// How much of a cluster is kept.
    #[cfg(test)]
    pub fn kept(&self, cluster: EtcdId) -> usize {
        self.clusters[cluster].incidents.len()
    }

    /// Drops what happened to the servers of each API and cannot explain an outage of it that starts then or later.
    pub fn forget_servers(&mut self, earliest: impl Fn(KubeClusterId) -> Time) {
        for (cluster, servers) in &mut self.servers {
            while servers.pop_front_if(|(at, ..)| *at + BEFORE < earliest(*cluster)).is_some() {}
        }
        self.away.retain(|away| away.to.is_none_or(|to| to + BEFORE >= earliest(away.cluster)));
        self.work.forget_servers(|api, at| at + BEFORE < earliest(api), &self.scenario);
    }

    /// Drops faults and plans that cannot explain any outage that starts at `earliest` or later.
    pub fn forget(&mut self, earliest: Time) {
        let old = |at: Time| at + BEFORE < earliest;
        // What waits at a load balancer outlasts its throttle.
        let waits = |fault: &Fault, to: Time| matches!(fault, Fault::LbThrottled(_)) && to + balancers::BACKLOG >= earliest;
        self.faults.retain(|(fault, to)| !to.is_some_and(|to| old(to) && !waits(&fault.fault, to)));
        self.work.forget_strikes(&self.faults);
        self.plans.retain(|(_, _, _, to)| !to.is_some_and(old));
    }

    /// Whether a fault can concern a cluster: it hits a zone, node, disk or process of one of its members, or the probe's zone.
    fn touches(&self, fault: &ActiveFault, outage: &Outage) -> bool {
        let (cluster, fault, begins) = (outage.cluster, &fault.fault, fault.from);
        let (members, EtcdHistory { zones, left, .. }) = (&self.scenario.etcd[cluster].members, &*self.clusters[cluster]);
        let was_in = |zone| left.iter().any(|(until, own)| *own == zone && *until > begins && *until > outage.from);
        let in_zone = |zone| self.scenario.probe.from.zone() == Some(zone) || zones.contains(&zone) || was_in(zone);
        let named = |place: Place| match place {
            Place::Zone(zone) => in_zone(zone),
            Place::Node(node) => members.iter().any(|m| m.node == node),
        };
        fault.kind().hits().into_iter().any(|hit| match hit {
            Hit::Node(FaultTarget::Named(node)) => named(Place::Node(node)),
            Hit::Zone(FaultTarget::Named(zone)) => in_zone(zone),
            Hit::Member(FaultTarget::Named(member)) => member.cluster == cluster,
            Hit::Volume(FaultTarget::Named(volume)) => members.iter().any(|m| m.volume == volume),
            // From a zone without members only clients come.
            Hit::Link(a, b) if self.scenario.probe.from == ProbeFrom::Worst => named(a) || named(b),
            Hit::Link(a, b) => named(a) && named(b),
            Hit::Balancer(_) => false,
            Hit::Node(FaultTarget::OfLeader(of))
            | Hit::Zone(FaultTarget::OfLeader(of))
            | Hit::Member(FaultTarget::OfLeader(of))
            | Hit::Volume(FaultTarget::OfLeader(of)) => of == cluster,
        })
    }

    /// A shoot has moved, or survives what it was asked to.
    fn done(&mut self, at: Time, shoot: u16, moved: bool) {
        let is_it = |own: u16, plan: Plan| own == shoot && matches!(plan, Plan::Migrate(_)) == moved;
        self.plans.iter_mut().filter(|(own, plan, ..)| is_it(*own, *plan)).for_each(|(.., to)| *to = to.or(Some(at)));
    }

    /// What a shoot of which a cluster is was asked for, where that is under way.
    fn planned(&self, cluster: EtcdId, at: Time) -> impl Iterator<Item = String> {
        let model = &self.scenario.kube;
        let shoot = model.stateful_set_of(cluster).and_then(|(cluster, set)| {
            let is_there = |place: &Hosted| model.seeds[place.seed].cluster == cluster && place.workloads.contains(&set);
            model.shoots.iter().position(|shoot| shoot.places().any(is_there))
        });
        let under_way = move |(own, _, from, to): &&(u16, Plan, Time, Option<Time>)| {
            shoot == Some(usize::from(*own)) && *from <= at && to.is_none_or(|to| at < to)
        };
        self.plans.iter().filter(under_way).map(|(_, plan, ..)| match plan {
            Plan::Migrate(to) => format!("the shoot migrates to seed {}", model.seeds[*to].name),
            Plan::SetTolerance(to) => format!("the failure tolerance of the shoot changes to {}", to.describe()),
        })
    }

    /// While the leader that was lost led, or was elected, another member had campaigned for a later term.
    fn behind(&self, outage: &Outage) -> Option<String> {
        let (_, lost, Incident::SteppedDown(_, StepDownReason::HigherTerm)) = self.lost_leader(outage)? else { return None };
        let incidents = self.clusters[outage.cluster].incidents.iter().rev().filter(|(at, _)| *at <= outage.from);
        let (other, term) =
            incidents.take_while(|(at, _)| *at + BEFORE >= outage.from).find_map(|(_, incident)| match incident {
                Incident::Behind(leader, other, term) if *leader == lost => Some((*other, *term)),
                _ => None,
            })?;
        Some(format!("{} had campaigned for a later term ({term})", self.name(other)))
    }

    fn happened(&mut self, at: Time, cluster: EtcdId, incident: Incident) {
        Arc::make_mut(&mut self.clusters[cluster]).incidents.push_back((at, incident));
    }

    fn of_cluster(&mut self, at: Time, id: EtcdId, record: &Record) {
        let cluster = Arc::make_mut(&mut self.clusters[id]);
        cluster.waits.record(at, record);
        cluster.alarms.record(at, record);
        match record {
            Record::Etcd(EtcdRecord::MemberStarted(member)) => {
                let index = member.index as usize;
                cluster.wiped[index] = None;
                let had_stopped = std::mem::take(&mut cluster.stopped[index]);
                cluster.up[index] = true;
                cluster.leaderless[index] = Some(at);
                if had_stopped {
                    self.happened(at, id, Incident::Serves(*member));
                }
            }
            Record::Etcd(EtcdRecord::LeaderSeen { member, leader, .. }) => {
                let without = &mut cluster.leaderless[member.index as usize];
                if leader.is_none() {
                    without.get_or_insert(at);
                } else if let Some(since) = without.take() {
                    self.happened(at, id, Incident::Leaderless(*member, since));
                }
            }
            Record::Etcd(EtcdRecord::MemberRefused { member, reason: RefuseReason::LostData }) => {
                cluster.wiped[member.index as usize].get_or_insert(at);
                cluster.campaigned[member.index as usize] = 0;
            }
            Record::Etcd(EtcdRecord::MemberStopped { member, reason }) => {
                cluster.up[member.index as usize] = false;
                cluster.stopped[member.index as usize] = true;
                let led = cluster.leader.take_if(|l| l == member).is_some();
                let down = cluster.voters.iter().filter(|&i| !cluster.up[i]).count();
                let of = cluster.voters.count();
                let leaderless = cluster.leaderless[member.index as usize].take();
                if *reason == StopReason::Stopped {
                    self.stops_with_pod(at, *member, true);
                }
                self.happened(at, id, Incident::Down(down, of));
                if let Some(since) = leaderless {
                    self.happened(at, id, Incident::Leaderless(*member, since));
                }
                if led {
                    self.happened(at, id, Incident::LeaderGone(*member, *reason));
                }
            }
            Record::Etcd(EtcdRecord::MemberMoved { member, zone }) => {
                let before = std::mem::replace(&mut cluster.zones[member.index as usize], *zone);
                cluster.left.push_back((at, before));
            }
            Record::Etcd(EtcdRecord::Passive(_, PassiveRecord::Detected { from, to, silent })) => {
                let member = |index: u8| MemberId { cluster: id, index };
                self.happened(at, id, Incident::TakesOver(member(*from), member(*to), *silent));
            }
            Record::Etcd(EtcdRecord::Campaign { member, term, pre_vote: false }) => {
                cluster.campaigned[member.index as usize] = *term;
            }
            Record::Etcd(EtcdRecord::Elected { member, term }) => {
                let ahead = (0u8..).zip(&cluster.campaigned).max_by_key(|(_, term)| **term).filter(|(_, ahead)| *ahead > term);
                if let Some((index, ahead)) = ahead {
                    let (other, ahead) = (MemberId { cluster: id, index }, *ahead);
                    self.happened(at, id, Incident::Behind(*member, other, ahead));
                }
                let cluster = Arc::make_mut(&mut self.clusters[id]);
                let before = cluster.leader.replace(*member).filter(|before| before != member);
                self.happened(at, id, Incident::Elected(*member, before));
            }
            Record::Etcd(EtcdRecord::SteppedDown { member, term, reason }) if cluster.leader == Some(*member) => {
                cluster.leader = None;
                if *reason == StepDownReason::HigherTerm {
                    // What it has received last is the latest of all campaigns. It knew of none of those for the terms between.
                    let mut later: Vec<(u64, u8)> =
                        cluster.campaigned.iter().copied().zip(0..).filter(|(of, _)| of > term).collect();
                    later.sort_unstable();
                    let before = later.pop().and_then(|(last, _)| later.pop().filter(|(of, _)| *of < last));
                    if let Some((of, index)) = before {
                        self.happened(at, id, Incident::Behind(*member, MemberId { cluster: id, index }, of));
                    }
                    self.stops_with_pod(at, *member, false);
                }
                self.happened(at, id, Incident::SteppedDown(*member, *reason));
            }
            Record::Etcd(EtcdRecord::SteppedDown { member, reason: StepDownReason::HigherTerm, .. }) => {
                self.happened(at, id, Incident::Deposed(*member));
            }
            Record::Etcd(EtcdRecord::Membership { change, refused: None }) => {
                cluster.voters.record(record);
                if let MemberChange::Remove(member) = change {
                    cluster.wiped[member.index as usize] = None;
                    cluster.campaigned[member.index as usize] = 0;
                }
                self.happened(at, id, Incident::Applied(*change));
            }
            Record::Etcd(EtcdRecord::Maintenance { task: Maintenance::Defragment(member), refused: None, .. }) => {
                self.happened(at, id, Incident::Defragments(*member));
            }
            Record::Etcd(EtcdRecord::Availability { service: Service::Quorum, up, .. }) => {
                self.happened(at, id, if *up { Incident::QuorumRecovered } else { Incident::QuorumLost });
            }
            _ => {}
        }
    }
}

/// ` after 1.3 s`, from the start of the outage; nothing where it came at once or before.
fn after(at: Time, outage: &Outage) -> String {
    if at <= outage.from { String::new() } else { format!(" after {}", text::duration(at.since(outage.from))) }
}

impl Observer for Causes {
    fn record(&mut self, at: Time, record: &Record) {
        match record {
            Record::FaultStarted(fault) => {
                self.strikes(fault);
                self.faults.push((fault.clone(), None));
            }
            Record::FaultEnded(id) => {
                self.faults.iter_mut().filter(|(f, to)| f.id == *id && to.is_none()).for_each(|(_, to)| *to = Some(at));
            }
            Record::Rollout(cluster, RolloutRecord::RolledBack(workload)) => {
                self.of_kube(at, *cluster, &KubeRecord::Operation(Task::RollBackComponent(*workload)));
            }
            Record::Kube(cluster, record) => self.of_kube(at, *cluster, record),
            Record::Access(_, AccessRecord::Target { balancer, node, target, health }) => {
                self.unhealthy.set(at, (*balancer, *node, *target), *health);
            }
            Record::Access(_, AccessRecord::Registered { balancer, target, is_target }) => {
                let spec = &self.scenario.load_balancers[*balancer];
                let nodes = spec.zones.len().max(spec.machines.len()) as u16;
                self.unhealthy.registered(at, (*balancer, nodes), *target, *is_target);
            }
            Record::Access(_, AccessRecord::ConnectionLimit { balancer, node, is_reached }) => {
                self.at_limit.set(at, (*balancer, *node), *is_reached);
            }
            Record::Gardener(_, GardenerRecord::Migration(shoot, MigrationFact::Admitted(_, to))) => {
                self.plans.push((*shoot, Plan::Migrate(*to), at, None));
            }
            Record::Gardener(_, GardenerRecord::Tolerance(shoot, ToleranceFact::Admitted(to))) => {
                self.plans.push((*shoot, Plan::SetTolerance(*to), at, None));
            }
            Record::Gardener(_, GardenerRecord::Migration(shoot, MigrationFact::Done)) => self.done(at, *shoot, true),
            Record::Gardener(_, GardenerRecord::Tolerance(shoot, ToleranceFact::Done(_))) => self.done(at, *shoot, false),
            Record::Client(ClientRecord::Request { .. } | ClientRecord::Connection { .. }) => {}
            _ => {
                if let Some(cluster) = cluster_of(record) {
                    self.of_cluster(at, cluster, record);
                }
            }
        }
    }
}
