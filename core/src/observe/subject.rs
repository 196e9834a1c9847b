//! What a record of the story is about: its kind and the things it names, so that nobody has to parse its words.

use crate::access::balancer::health::Health;
use crate::access::record::AccessRecord;
use crate::etcd::passive::PassiveRecord;
use crate::gardener::druid::{DruidFact, MigrationFact, ToleranceFact};
use crate::gardener::outage::OutageFact;
use crate::gardener::record::GardenerRecord;
use crate::ids::{EtcdId, KubeClusterId, MemberId, NodeId, VolumeId, ZoneId};
use crate::kube::describe::node_name;
use crate::kube::machine::Phase;
use crate::kube::record::{KubeRecord, MachineFact, NodeFact, NodeGroupFact, PodFact, Ready};
use crate::kube::rule::zone_state::ZoneState;
use crate::kube::share::Share;
use crate::network::vantage::Extent;
use crate::record::{ClientRecord, EtcdRecord, Record};
use crate::report::StoryKind;
use crate::rollout::record::RolloutRecord;
use crate::rollout::rule::zone_aware_update::Verdict;
use crate::scenario::operation::TaskSubject;
use crate::scenario::{Fault, FaultTarget, Hit, MemberChange, Place, Scenario};

/// Kind, cluster and things of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// What kind of event it is; `None`: it does not belong into the story.
    pub kind: Option<StoryKind>,
    /// The cluster it happens to, where it is one.
    pub cluster: Option<String>,
    /// Names of members, nodes, zones or volumes.
    pub about: Vec<String>,
    /// Something that was wrong is right again.
    pub over: bool,
}

/// What a record is about; `ended` is the fault that a [`Record::FaultEnded`] ends.
pub fn subject(record: &Record, ended: Option<&Fault>, scenario: &Scenario) -> Subject {
    let cluster = |id: EtcdId| scenario.etcd[id].name.clone();
    let of = |kind, members: &[MemberId], over| Subject {
        kind: Some(kind),
        cluster: members.first().map(|member| cluster(member.cluster)),
        about: members.iter().map(|member| scenario.member(*member).name.clone()).collect(),
        over,
    };
    match record {
        Record::FaultStarted(active) => Subject { over: false, ..fault(&active.fault, scenario) },
        Record::FaultEnded(_) => {
            let subject = ended.map(|ended| fault(ended, scenario)).unwrap_or_default();
            Subject { kind: Some(StoryKind::Fault), over: true, ..subject }
        }
        Record::Etcd(EtcdRecord::MemberStarted(member)) => of(StoryKind::Member, &[*member], true),
        Record::Etcd(EtcdRecord::MemberStopped { member, .. } | EtcdRecord::MemberRefused { member, .. }) => {
            of(StoryKind::Member, &[*member], false)
        }
        Record::Etcd(EtcdRecord::Campaign { member, .. } | EtcdRecord::SteppedDown { member, .. }) => {
            of(StoryKind::Election, &[*member], false)
        }
        Record::Etcd(EtcdRecord::Elected { member, .. }) => of(StoryKind::Election, &[*member], true),
        Record::Etcd(EtcdRecord::SnapshotStarted { from, to, .. }) => of(StoryKind::Snapshot, &[*from, *to], false),
        Record::Etcd(EtcdRecord::SnapshotFinished { from, to, ok }) => of(StoryKind::Snapshot, &[*from, *to], *ok),
        Record::Etcd(EtcdRecord::CaughtUp { member, .. }) => of(StoryKind::Snapshot, &[*member], true),
        Record::Etcd(EtcdRecord::MemberMoved { member, .. }) => of(StoryKind::Member, &[*member], false),
        Record::Etcd(EtcdRecord::Membership { change, refused }) => {
            let (MemberChange::Add(member) | MemberChange::Remove(member) | MemberChange::Promote(member)) = *change;
            of(StoryKind::Membership, &[member], refused.is_none())
        }
        Record::Etcd(EtcdRecord::Availability { cluster: id, up, .. }) => {
            Subject { kind: Some(StoryKind::Availability), cluster: Some(cluster(*id)), about: Vec::new(), over: *up }
        }
        Record::Etcd(EtcdRecord::SpaceExceeded { member, .. } | EtcdRecord::QuotaReached { member, .. }) => {
            of(StoryKind::Snapshot, &[*member], false)
        }
        Record::Etcd(EtcdRecord::Defragmented { member, .. }) => of(StoryKind::Snapshot, &[*member], true),
        Record::Etcd(EtcdRecord::AlarmDisarmed(id)) => {
            Subject { kind: Some(StoryKind::Snapshot), cluster: Some(cluster(*id)), about: Vec::new(), over: true }
        }
        Record::Etcd(EtcdRecord::Maintenance { cluster: id, refused, .. }) => {
            Subject { kind: Some(StoryKind::Snapshot), cluster: Some(cluster(*id)), about: Vec::new(), over: refused.is_none() }
        }
        Record::Etcd(EtcdRecord::DataLost { cluster: id, .. }) => {
            Subject { kind: Some(StoryKind::Loss), cluster: Some(cluster(*id)), about: Vec::new(), over: false }
        }
        Record::Kube(cluster, fact) => in_kube_cluster(*cluster, fact, scenario),
        Record::Gardener(cluster, fact) => in_seed(*cluster, fact, scenario),
        Record::Access(cluster, fact) => of_targets(*cluster, *fact, scenario),
        Record::Rollout(cluster, fact) => of_rollout(*cluster, *fact, scenario),
        Record::NodePower { .. }
        | Record::Etcd(
            EtcdRecord::LeaderSeen { .. }
            | EtcdRecord::PeerLost { .. }
            | EtcdRecord::PeerFound { .. }
            | EtcdRecord::ConnectedVoters { .. }
            | EtcdRecord::AvailabilityFrom { .. }
            | EtcdRecord::Backlog { .. }
            | EtcdRecord::Raft(_),
        )
        | Record::Client(ClientRecord::Request { .. } | ClientRecord::Connection { .. } | ClientRecord::Delayed { .. }) => {
            Subject::default()
        }
        Record::Etcd(EtcdRecord::Passive(id, fact)) => {
            passive(*id, *fact).map_or_else(Subject::default, |(kind, members, over)| of(kind, &members, over))
        }
    }
}

/// Facts of Kubernetes that a person would tell: not what becomes of each pod that is well, nor the connections of API servers
/// and what steers them.
fn in_kube_cluster(id: KubeClusterId, fact: &KubeRecord, scenario: &Scenario) -> Subject {
    let cluster = &scenario.kube.clusters[id];
    let (kind, about, over) = match *fact {
        KubeRecord::Node(node, fact) => {
            let over = match fact {
                NodeFact::Ready(ready) => ready == Ready::True,
                NodeFact::Registered | NodeFact::Uncordoned | NodeFact::Kept(_) => true,
                NodeFact::Removed | NodeFact::Cordoned | NodeFact::ToBeDeleted => false,
                // The fault says so already, and the taints follow. What scans find of nodes, the report says.
                NodeFact::Lost(_) | NodeFact::Unreachable(..) | NodeFact::ScaleDown(_) => return Subject::default(),
            };
            (StoryKind::Node, vec![node_name(node, cluster, scenario)], over)
        }
        KubeRecord::ShiftExpired(zone) => (StoryKind::Node, vec![scenario.zones[zone].name.clone()], true),
        KubeRecord::Zone(zone, state) => (StoryKind::Node, vec![scenario.zones[zone].name.clone()], state == ZoneState::Normal),
        KubeRecord::EvictionPaused(paused) => (StoryKind::Node, Vec::new(), !paused),
        KubeRecord::Machine(machine, fact) => {
            (StoryKind::Machine, vec![machine.text(cluster)], fact == MachineFact::Phase(Phase::Running))
        }
        KubeRecord::MachineDeploymentScaled(deployment, _) => {
            (StoryKind::Machine, vec![cluster.machine_deployments[deployment].name.clone()], false)
        }
        KubeRecord::NodeGroup(deployment, NodeGroupFact::BackedOff { .. }) => {
            (StoryKind::Machine, vec![cluster.machine_deployments[deployment].name.clone()], false)
        }
        KubeRecord::ApiAvailability { up, .. } => (StoryKind::Availability, Vec::new(), up),
        KubeRecord::ApiShare { share, .. } => (StoryKind::Availability, Vec::new(), share == Share::ALL),
        KubeRecord::ControllerActive(_, acts) => (StoryKind::Availability, Vec::new(), acts),
        KubeRecord::Lease(_, holder) => (StoryKind::Election, Vec::new(), holder.is_some()),
        KubeRecord::Pod(pod, fact) => {
            let over = match fact {
                PodFact::OrphanedContainer(orphaned) => !orphaned,
                PodFact::Unschedulable(_)
                | PodFact::AttachFailed(_)
                | PodFact::VolumeDetached { forced: true }
                | PodFact::Evicted(false)
                | PodFact::SeveralBudgets
                | PodFact::Denied
                | PodFact::VolumeDiscarded => false,
                _ => return Subject::default(),
            };
            (StoryKind::Pod, vec![pod.text(cluster)], over)
        }
        KubeRecord::Operation(task) | KubeRecord::OperationRefused(task) => {
            let (kind, name) = match task.subject(cluster, scenario) {
                TaskSubject::Pods(name) => (StoryKind::Pod, name),
                TaskSubject::Node(name) | TaskSubject::Zone(name) => (StoryKind::Node, name),
                TaskSubject::Machines(name) => (StoryKind::Machine, name),
            };
            (kind, vec![name], true)
        }
        KubeRecord::ApiServer(..)
        | KubeRecord::ApiShareFrom { .. }
        | KubeRecord::ApiShareOf { .. }
        | KubeRecord::Hints(..)
        | KubeRecord::Endpoint { .. }
        | KubeRecord::NodeGroup(_, NodeGroupFact::Scanned(_)) => return Subject::default(),
    };
    Subject { kind: Some(kind), cluster: Some(cluster.name.clone()), about, over }
}

/// What a zone-aware rollout does is of interest when it goes on or is held up, not while it waits for pods that are on their way.
fn of_rollout(id: KubeClusterId, fact: RolloutRecord, scenario: &Scenario) -> Subject {
    let cluster = &scenario.kube.clusters[id];
    let over = match fact {
        RolloutRecord::Step { .. } | RolloutRecord::Verdict(_, Verdict::Done) => true,
        RolloutRecord::Verdict(
            _,
            Verdict::Paused
            | Verdict::AlarmUnreadable
            | Verdict::NoZone
            | Verdict::SeveralZonesNotReady
            | Verdict::OtherZoneNotReady
            | Verdict::NothingAllowed,
        )
        | RolloutRecord::Stale { .. } => false,
        RolloutRecord::RolledBack(_) => true,
        RolloutRecord::Verdict(
            _,
            Verdict::NotOnDelete
            | Verdict::Terminating
            | Verdict::NewPodNotReady
            | Verdict::Deletes
            | Verdict::DryRun
            | Verdict::Bakes,
        ) => return Subject::default(),
    };
    let about = vec![fact.workload(cluster).to_owned()];
    Subject { kind: Some(StoryKind::Pod), cluster: Some(cluster.name.clone()), about, over }
}

/// Health of a load balancer's targets. (Outages of clients are in the report.)
fn of_targets(id: KubeClusterId, fact: AccessRecord, scenario: &Scenario) -> Subject {
    let AccessRecord::Target { target, health, .. } = fact else { return Subject::default() };
    let cluster = &scenario.kube.clusters[id];
    let host = scenario.nodes[cluster.control_plane[target as usize]].name.clone();
    let (kind, over) = (Some(StoryKind::Availability), health == Health::Healthy);
    Subject { kind, cluster: Some(cluster.name.clone()), about: vec![host], over }
}

fn in_seed(id: KubeClusterId, fact: &GardenerRecord, scenario: &Scenario) -> Subject {
    let cluster = &scenario.kube.clusters[id];
    let (kind, about, over) = match *fact {
        GardenerRecord::ZoneOutage(zone, fact) => {
            (StoryKind::Machine, vec![scenario.zones[zone].name.clone()], fact == OutageFact::Ended)
        }
        GardenerRecord::Druid(set, fact) => {
            let over = matches!(fact, DruidFact::Required | DruidFact::Grows(_));
            (StoryKind::Membership, vec![cluster.workloads[set].name.clone()], over)
        }
        GardenerRecord::Tolerance(shoot, fact) => {
            let over = matches!(fact, ToleranceFact::Done(_));
            (StoryKind::Membership, vec![scenario.kube.shoots[usize::from(shoot)].name.clone()], over)
        }
        GardenerRecord::Migration(shoot, fact) => {
            let over = fact == MigrationFact::Done;
            (StoryKind::Membership, vec![scenario.kube.shoots[usize::from(shoot)].name.clone()], over)
        }
    };
    Subject { kind: Some(kind), cluster: Some(cluster.name.clone()), about, over }
}

/// Of an active-passive cluster: kind, members and whether something is right again. What comes every few minutes is worth a line only
/// where it fails.
fn passive(cluster: EtcdId, fact: PassiveRecord) -> Option<(StoryKind, Vec<MemberId>, bool)> {
    let (kind, members, over): (_, &[u8], _) = match fact {
        PassiveRecord::Uploaded { .. } | PassiveRecord::Applied { .. } => return None,
        PassiveRecord::NotUploaded { by, .. } => (StoryKind::Snapshot, &[by], false),
        PassiveRecord::Ready { member, ready } => (StoryKind::Member, &[member], ready),
        PassiveRecord::Detected { from, to, .. } => (StoryKind::Membership, &[to, from], false),
        PassiveRecord::Alone { member } | PassiveRecord::Forked { member, lost: 0, .. } => {
            (StoryKind::Membership, &[member], false)
        }
        PassiveRecord::Serving { member } | PassiveRecord::Discarded { member, lost: 0 } => {
            (StoryKind::Membership, &[member], true)
        }
        PassiveRecord::Forked { member, .. } | PassiveRecord::Discarded { member, .. } => (StoryKind::Loss, &[member], false),
    };
    Some((kind, members.iter().map(|&index| MemberId { cluster, index }).collect(), over))
}

fn fault(fault: &Fault, scenario: &Scenario) -> Subject {
    let node = |id: NodeId| (None, scenario.nodes[id].name.clone());
    let zone = |id: ZoneId| (None, scenario.zones[id].name.clone());
    let member = |id: MemberId| (Some(id.cluster), scenario.member(id).name.clone());
    let disk = |id: VolumeId| {
        let clusters = scenario.etcd.iter_enumerated();
        let mut users = clusters.flat_map(|(id, spec)| spec.members.iter().map(move |member| (id, member)));
        let user = users.find(|(_, member)| member.volume == id);
        user.map_or_else(|| (None, scenario.volumes[id].name.clone()), |(id, member)| (Some(id), member.name.clone()))
    };
    let place = |place: Place| (None, place.name(scenario).to_owned());
    let things = fault.kind().hits().into_iter().flat_map(|target| match target {
        Hit::Node(target) => hit(target, node),
        Hit::Zone(target) => hit(target, zone),
        Hit::Member(target) => hit(target, member),
        Hit::Volume(target) => hit(target, disk),
        Hit::Balancer(balancer) => vec![(None, scenario.load_balancers[balancer].name.clone())],
        Hit::Link(a, b) if a == b => vec![place(a)],
        Hit::Link(a, b) => vec![place(a), place(b)],
    });
    let things: Vec<(Option<EtcdId>, String)> = things.collect();
    let cluster = things.first().and_then(|(cluster, _)| *cluster).map(|id| scenario.etcd[id].name.clone());
    Subject { kind: Some(StoryKind::Fault), cluster, about: things.into_iter().map(|(_, name)| name).collect(), over: false }
}

/// Targets of faults that have started are resolved; of others nothing is known yet.
fn hit<T: Copy, N>(target: FaultTarget<T>, name: impl Fn(T) -> N) -> Vec<N> {
    match target {
        FaultTarget::Named(target) => vec![name(target)],
        FaultTarget::OfLeader(_) => Vec::new(),
    }
}
