//! What requests cost a member: time on its cores, first come, first served. A request takes a core twice: to be read, and to be
//! answered.

use smallvec::SmallVec;

use crate::codec;
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::Op;
use zonefall_scenario::cost::{RequestCost, of_bytes};

/// When each core is free.
#[derive(Clone, Debug)]
pub struct Cores(SmallVec<[Time; 2]>);

impl Cores {
    /// So many, idle.
    pub fn new(count: u8) -> Self {
        Self(SmallVec::from_elem(Time::ZERO, count.into()))
    }

    /// Work that is there at `now` begins on the first core that is free: when it is done.
    pub fn take(&mut self, now: Time, work: Duration) -> Time {
        let first = self.0.iter_mut().min().expect("at least one core");
        *first = now.max(*first) + work;
        *first
    }
}

/// Time on a core to read a request.
pub(super) fn reading(cost: &RequestCost, op: Op) -> Duration {
    cost.per_request / 2 + of_bytes(cost.per_mib, codec::request_body(op))
}

/// Time on a core to write its answer; what a range finds is read first.
pub(super) fn answering(cost: &RequestCost, op: Op) -> Duration {
    let bytes = codec::answer_body(op);
    let writing = cost.per_request / 2 + of_bytes(cost.per_mib, bytes);
    match op {
        Op::Range { keys, .. } => writing + of_bytes(cost.per_mib_read, bytes) + cost.per_key * u64::from(keys.saturating_sub(1)),
        Op::Put { .. } | Op::Txn { .. } | Op::Grant(_) | Op::Delete { .. } | Op::Watch => writing,
    }
}
