//! Shorthand for hand-written record streams.

use crate::ids::FaultId;
use crate::record::{EtcdRecord, Record, Service};
use crate::scenario::{ActiveFault, Fault};

pub(crate) use crate::scenario::testing::{CLUSTER, at, client, member, three_zones};

/// A fault starts.
pub(crate) fn fault(id: u32, ms: u64, fault: Fault) -> (u64, Record) {
    (ms, Record::FaultStarted(ActiveFault { id: FaultId(id), fault, from: at(ms) }))
}

/// A service goes or comes.
pub(crate) fn service(ms: u64, service: Service, up: bool) -> (u64, Record) {
    (ms, Record::Etcd(EtcdRecord::Availability { cluster: CLUSTER, service, up }))
}
