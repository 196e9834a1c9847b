//! Requests in flight at API servers: each works on a number of them at a time, and turns away the others. With Priority and Fairness
//! ([`FairServers`]) requests wait for a place, too; what follows is the rule without it.
//!
//! The rule of `--max-requests-inflight` and `--max-mutating-requests-inflight` (kubernetes/apiserver@24a394e5,
//! `pkg/server/filters/maxinflight.go`): requests that change something have places of their own, and so have those that do not. One
//! that finds none free is answered at once, with 429. Here a place is taken until etcd has answered or the time for that is up. What
//! else a server does for a request (admission, writing the answer) takes it no time, and what its watch cache answers takes it none at all.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::client::fairness::{FairServers, Seated};
use crate::ids::KubeClusterId;

/// What a request that an API server works on has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One of these places.
    Counted(Seats),
    /// Seats of a priority level.
    Fair(Seated),
}

/// The places that a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seats {
    /// The cluster whose API it asks.
    pub cluster: KubeClusterId,
    /// The server, as [`Running::key`](crate::kube::api::Running::key) tells it from others.
    pub server: u32,
    /// Those of requests that change something.
    pub writes: bool,
}

/// Requests in flight at all API servers.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    taken: BTreeMap<Seats, u32>,
    /// Those of servers with Priority and Fairness.
    pub fair: FairServers,
}

impl InFlight {
    /// Takes one of `limit` places, if one is free.
    pub fn take(&mut self, seats: Seats, limit: NonZeroU32) -> bool {
        let taken = self.taken.entry(seats).or_default();
        let free = *taken < limit.get();
        *taken += u32::from(free);
        free
    }

    /// Gives a place back.
    pub fn release(&mut self, seats: Seats) {
        let taken = self.taken.get_mut(&seats).expect("a place that was taken");
        *taken -= 1;
        if *taken == 0 {
            self.taken.remove(&seats);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_of_each_server_have_places_of_their_own() {
        let seats = |cluster, server, writes| Seats { cluster: KubeClusterId(cluster), server, writes };
        let own = seats(0, 0, true);
        let others = [seats(0, 0, false), seats(0, 1, true), seats(1, 0, true)];
        let two = NonZeroU32::new(2).expect("it is not 0");
        let mut all = InFlight::default();
        let mut take = |seats| all.take(seats, two);
        assert_eq!([own; 3].map(&mut take), [true, true, false]);
        for other in others {
            assert_eq!([other; 3].map(&mut take), [true, true, false], "{other:?} is full by itself only");
        }
        all.release(own);
        let mut take = |seats| all.take(seats, two);
        assert!(!take(others[0]), "what one gives back is for its own kind");
        assert_eq!([own; 2].map(&mut take), [true, false]);
    }

    #[test]
    fn who_was_turned_away_takes_no_place() {
        let seats = Seats { cluster: KubeClusterId(0), server: 0, writes: false };
        let one = NonZeroU32::MIN;
        let mut all = InFlight::default();
        assert_eq!([(); 4].map(|()| all.take(seats, one)), [true, false, false, false]);
        all.release(seats);
        assert!(all.taken.is_empty(), "one place was taken, and is given back");
    }
}
