//! What a handler of etcd events may look at and ask for: time and network, events and records, and the effects that the run loop
//! brings about.

use crate::event::{Answer, EtcdEvent, Watched};
use crate::raft::entry::Token;
use crate::record::EtcdRecord;
use zonefall_kernel::outbox::Outbox;
use zonefall_kernel::time::Time;
use zonefall_network::Network;
use zonefall_network::card::Cards;
use zonefall_scenario::ids::{EtcdId, MemberId};

/// What a handler may look at and ask for.
#[derive(Debug)]
pub struct EtcdCtx<'a> {
    /// The current time.
    pub now: Time,
    /// Hosts and paths.
    pub net: &'a Network,
    /// What the network cards of hosts have to carry.
    pub cards: &'a mut Cards,
    /// Takes events and records.
    pub out: &'a mut EtcdOutbox<'a>,
    /// What else the run loop is asked to do.
    pub fx: &'a mut EtcdEffects,
}

impl EtcdCtx<'_> {
    /// Queues an event of a cluster.
    pub fn schedule(&mut self, at: Time, cluster: EtcdId, event: EtcdEvent) {
        self.out.schedule(at, (cluster, event));
    }

    /// Records a fact.
    pub fn record(&mut self, record: EtcdRecord) {
        self.out.record(record);
    }
}

/// Where events and records of etcd clusters go.
pub type EtcdOutbox<'a> = dyn Outbox<(EtcdId, EtcdEvent), EtcdRecord> + 'a;

/// What handlers of etcd clusters ask for besides events and records.
#[derive(Clone, Debug, Default)]
pub struct EtcdEffects {
    /// Answers that leave a member at a time.
    pub answers: Vec<(Time, Token, Answer)>,
    /// Members whose process is gone; `true`: their connections are reset.
    pub stopped: Vec<(MemberId, bool)>,
    /// Entries applied at members that have watchers.
    pub watched: Vec<Watched>,
    /// Clusters in which something has changed that a client would notice.
    pub service_changed: Vec<EtcdId>,
    /// Clusters in which what flows costs messages from now on, or costs none any more.
    pub flow_changed: Vec<EtcdId>,
    /// Whether anybody wants [`EtcdRecord::Raft`].
    pub raft_records: bool,
}

impl EtcdEffects {
    /// Nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
            && self.stopped.is_empty()
            && self.watched.is_empty()
            && self.service_changed.is_empty()
            && self.flow_changed.is_empty()
    }
}
