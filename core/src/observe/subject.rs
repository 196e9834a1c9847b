//! What a record of the story is about: its kind and the things it names, so that nobody has to parse its words.

use crate::etcd::passive::PassiveRecord;
use crate::ids::{ClusterId, MemberId, NodeId, VolumeId, ZoneId};
use crate::record::Record;
use crate::report::StoryKind;
use crate::scenario::{Aim, Fault, MemberChange, Scenario};

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
    let cluster = |id: ClusterId| scenario.etcd[id.0 as usize].name.clone();
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
        Record::MemberStarted(member) => of(StoryKind::Member, &[*member], true),
        Record::MemberStopped { member, .. } | Record::MemberRefused { member, .. } => of(StoryKind::Member, &[*member], false),
        Record::Campaign { member, .. } | Record::SteppedDown { member, .. } => of(StoryKind::Election, &[*member], false),
        Record::Elected { member, .. } => of(StoryKind::Election, &[*member], true),
        Record::SnapshotStarted { from, to, .. } => of(StoryKind::Snapshot, &[*from, *to], false),
        Record::SnapshotFinished { from, to, ok } => of(StoryKind::Snapshot, &[*from, *to], *ok),
        Record::CaughtUp { member, .. } => of(StoryKind::Snapshot, &[*member], true),
        Record::Membership { change, refused } => {
            let (MemberChange::Add(member) | MemberChange::Remove(member) | MemberChange::Promote(member)) = *change;
            of(StoryKind::Membership, &[member], refused.is_none())
        }
        Record::Availability { cluster: id, up, .. } => {
            Subject { kind: Some(StoryKind::Availability), cluster: Some(cluster(*id)), about: Vec::new(), over: *up }
        }
        Record::DataLost { cluster: id, .. } => {
            Subject { kind: Some(StoryKind::Loss), cluster: Some(cluster(*id)), about: Vec::new(), over: false }
        }
        Record::NodePower { .. }
        | Record::LeaderSeen { .. }
        | Record::PeerLost { .. }
        | Record::PeerFound { .. }
        | Record::Request { .. }
        | Record::Strength { .. }
        | Record::Kube(..)
        | Record::Raft(_) => Subject::default(),
        Record::Passive(id, fact) => {
            let (kind, members, over): (_, &[u8], _) = match *fact {
                // Every few minutes, and only their failure is worth a line.
                PassiveRecord::Uploaded { .. } | PassiveRecord::Applied { .. } => return Subject::default(),
                PassiveRecord::NotUploaded { by, .. } => (StoryKind::Snapshot, &[by], false),
                PassiveRecord::Ready { member, ready } => (StoryKind::Member, &[member], ready),
                PassiveRecord::Detected { from, to, .. } => (StoryKind::Membership, &[to, from], false),
                PassiveRecord::Alone { member } => (StoryKind::Membership, &[member], false),
                PassiveRecord::Forked { member, lost: 0, .. } => (StoryKind::Membership, &[member], false),
                PassiveRecord::Forked { member, .. } => (StoryKind::Loss, &[member], false),
                PassiveRecord::Serving { member } => (StoryKind::Membership, &[member], true),
                PassiveRecord::Discarded { member, lost: 0 } => (StoryKind::Membership, &[member], true),
                PassiveRecord::Discarded { member, .. } => (StoryKind::Loss, &[member], false),
            };
            let members: Vec<_> = members.iter().map(|&index| MemberId { cluster: *id, index }).collect();
            of(kind, &members, over)
        }
    }
}

fn fault(fault: &Fault, scenario: &Scenario) -> Subject {
    let node = |id: NodeId| (None, scenario.nodes[id.0 as usize].name.clone());
    let zone = |id: ZoneId| (None, scenario.zones[id.0 as usize].name.clone());
    let member = |id: MemberId| (Some(id.cluster), scenario.member(id).name.clone());
    let disk = |id: VolumeId| {
        let clusters = (0..).map(ClusterId).zip(&scenario.etcd);
        let mut users = clusters.flat_map(|(id, spec)| spec.members.iter().map(move |member| (id, member)));
        let user = users.find(|(_, member)| member.volume == id);
        user.map_or_else(|| (None, scenario.volumes[id.0 as usize].name.clone()), |(id, member)| (Some(id), member.name.clone()))
    };
    let things = match *fault {
        Fault::NodeCrash(aim) | Fault::NodeCut { node: aim, .. } => hit(aim, node),
        Fault::ProcessKill(aim) | Fault::GracefulStop(aim) => hit(aim, member),
        Fault::ZonePower(aim) | Fault::ZoneCut { zone: aim, .. } => hit(aim, zone),
        Fault::LinkDegraded { a, b, .. } if a == b => vec![zone(a)],
        Fault::LinkDegraded { a, b, .. } => vec![zone(a), zone(b)],
        Fault::DiskSlow { volume: aim, .. } | Fault::VolumeLost(aim) => hit(aim, disk),
        Fault::CloudApi { zone: at, .. } => at.map(zone).into_iter().collect(),
    };
    let cluster = things.first().and_then(|(cluster, _)| *cluster).map(|id| scenario.etcd[id.0 as usize].name.clone());
    Subject { kind: Some(StoryKind::Fault), cluster, about: things.into_iter().map(|(_, name)| name).collect(), over: false }
}

/// Aims of faults that have started are resolved; of others nothing is known yet.
fn hit<T: Copy, N>(aim: Aim<T>, name: impl Fn(T) -> N) -> Vec<N> {
    match aim {
        Aim::Named(target) => vec![name(target)],
        Aim::OfLeader(_) => Vec::new(),
    }
}
