//! The ports of subsystems, wired to each other.

use std::any::Any;
use std::sync::Arc;

use crate::etcd::cluster::EtcdCluster;
use crate::etcd::member::MemberState;
use crate::etcd::service::RequestKind;
use crate::gardener::record::GardenerRecord;
use crate::ids::{EtcdId, KubeClusterId, MemberId, TiSlice};
use crate::kernel::time::{Duration, Time};
use crate::kube::ctx::{KubeOutbox, Storage};
use crate::kube::record::Verb;
use crate::network::{HostId, Network};
use crate::record::Record;
use crate::rollout::record::RolloutRecord;
use crate::scenario::Vantage;
use crate::sim::event::Buffer;

/// The etcd clusters of a run, as APIs store their objects in them.
#[derive(Clone, Copy, Debug)]
pub(super) struct EtcdStorage<'a>(pub(super) &'a TiSlice<EtcdId, Arc<EtcdCluster>>);

impl EtcdStorage<'_> {
    fn cluster(&self, etcd: EtcdId) -> &EtcdCluster {
        &self.0[etcd]
    }
}

impl Storage for EtcdStorage<'_> {
    fn members(&self, etcd: EtcdId) -> u8 {
        self.cluster(etcd).members.len() as u8
    }

    fn host(&self, member: MemberId) -> HostId {
        self.cluster(member.cluster).members[member.index as usize].host
    }

    fn life(&self, member: MemberId) -> Option<u64> {
        let cluster = self.cluster(member.cluster);
        let it = &cluster.members[member.index as usize];
        // What one that was displaced goes on writing is in no store of a Kubernetes cluster.
        cluster.server(member.index).filter(|_| !it.displaced).map(|_| it.lives)
    }

    fn is_frozen(&self, member: MemberId) -> bool {
        self.cluster(member.cluster).is_paused(member.index)
    }

    fn is_endpoint(&self, member: MemberId) -> bool {
        let cluster = self.cluster(member.cluster);
        let it = &cluster.members[member.index as usize];
        it.state == MemberState::Joined && !it.learner && cluster.is_in_service(member.index) && it.listed
    }

    fn is_ready(&self, member: MemberId) -> bool {
        self.cluster(member.cluster).is_ready(member.index)
    }

    fn is_listed(&self, member: MemberId) -> bool {
        self.cluster(member.cluster).members[member.index as usize].listed
    }

    fn lags(&self, member: MemberId) -> bool {
        self.cluster(member.cluster).lags(member.index)
    }

    fn serves_as_voter(&self, member: MemberId) -> bool {
        self.cluster(member.cluster).serves_as_voter(member.index)
    }

    fn leader(&self, etcd: EtcdId) -> Option<u8> {
        self.cluster(etcd).leader()
    }

    fn time_at(&self, member: MemberId, verb: Verb, net: &Network) -> Option<Duration> {
        self.cluster(member.cluster).time_at(member.index, RequestKind::of_api(verb == Verb::Write), net)
    }

    fn vantages(&self, etcd: EtcdId, net: &Network) -> Vec<Vantage> {
        self.cluster(etcd).vantages(net)
    }

    fn snapshot_bytes(&self, etcd: EtcdId, now: Time, net: &Network) -> Option<u64> {
        self.cluster(etcd).snapshot_bytes(now, net)
    }
}

impl KubeOutbox for Buffer {
    fn record_other(&mut self, record: &dyn Any) {
        if let Some((cluster, record)) = record.downcast_ref::<(KubeClusterId, GardenerRecord)>() {
            self.records.push(Record::Gardener(*cluster, *record));
        } else {
            let (cluster, record) = record.downcast_ref::<(KubeClusterId, RolloutRecord)>().expect("a record of a known kind");
            self.records.push(Record::Rollout(*cluster, *record));
        }
    }
}
