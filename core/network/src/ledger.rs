//! The ledger: messages by what they are, counted by whoever sends them. Meters count the same bytes where they travel; both agree.
//!
//! ```text
//!  member | client --Class--> Ledger ---.
//!         '--from, to, zones--> Meter --+--> equal sums: bytes, wire bytes, packets
//! ```
//!
//! What goes over the wire again (lost packets, what waited for a path) is counted again in both. Pure ACKs are of the class of what
//! they answer. Messages that never leave (a closed connection, a host without power) are counted in neither.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use crate::wire::Burst;

/// What a message is. Answers are of the class of their question, but for those of etcd to its clients, which are the larger part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A leader leads.
    Heartbeat,
    /// Entries for followers, and how far is committed.
    Append,
    /// A write on its way from a follower to the leader.
    Proposal,
    /// From which index a linearizable read may be answered, and the round of heartbeats that confirms it.
    ReadIndex,
    /// Elections, the leader's request to hold one at once included.
    Vote,
    /// What keeps peers' connections alive, and the probes that measure them.
    Upkeep,
    /// A database sent whole.
    Snapshot,
    /// What a client asks etcd.
    EtcdRequest,
    /// What etcd answers, or the kernel of a host whose etcd is gone.
    EtcdAnswer,
    /// An event that a client of etcd watches for.
    WatchEvent,
    /// What is asked of an API server.
    ApiRequest,
    /// What it answers.
    ApiAnswer,
    /// An event that a client of an API server watches for.
    ApiEvent,
}

impl Class {
    /// All of them, in order.
    pub const ALL: [Self; 13] = [
        Self::Heartbeat,
        Self::Append,
        Self::Proposal,
        Self::ReadIndex,
        Self::Vote,
        Self::Upkeep,
        Self::Snapshot,
        Self::EtcdRequest,
        Self::EtcdAnswer,
        Self::WatchEvent,
        Self::ApiRequest,
        Self::ApiAnswer,
        Self::ApiEvent,
    ];
}

/// So many messages together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Messages; one that has waited for its path is sent, and counted, again.
    pub count: u64,
    /// Application bytes.
    pub bytes: u64,
    /// On the wire, with ACKs.
    pub wire: Burst,
}

impl Add for Volume {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { count: self.count + other.count, bytes: self.bytes + other.bytes, wire: self.wire + other.wire }
    }
}

impl AddAssign for Volume {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Messages by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    volumes: [Volume; Class::ALL.len()],
}

impl Ledger {
    /// Counts `count` messages of `bytes` application bytes together; `wire`: their packets and the ACKs that answer them.
    pub fn add(&mut self, class: Class, count: u64, bytes: u64, wire: Burst) {
        self.volumes[class as usize] += Volume { count, bytes, wire };
    }

    /// The classes of which there is something, in order.
    pub fn rows(&self) -> impl Iterator<Item = (Class, Volume)> {
        Class::ALL.into_iter().zip(self.volumes).filter(|(_, volume)| *volume != Volume::default())
    }

    /// All classes together.
    pub fn sum(&self) -> Volume {
        self.volumes.into_iter().fold(Volume::default(), Volume::add)
    }
}

impl AddAssign for Ledger {
    fn add_assign(&mut self, other: Self) {
        for (own, volume) in self.volumes.iter_mut().zip(other.volumes) {
            *own += volume;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_stand_where_they_are_looked_up() {
        for (place, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, place, "{class:?}");
        }
    }

    #[test]
    fn ledgers_add_up_by_class() {
        let wire = Burst { packets: 2, bytes: 300 };
        let (mut one, mut other) = (Ledger::default(), Ledger::default());
        one.add(Class::Vote, 1, 100, wire);
        other.add(Class::Vote, 2, 200, wire * 2);
        other.add(Class::Append, 1, 50, wire);
        one += other;
        let of = |count, bytes, times| Volume { count, bytes, wire: wire * times };
        assert_eq!(one.rows().collect::<Vec<_>>(), [(Class::Append, of(1, 50, 1)), (Class::Vote, of(3, 300, 3))]);
        assert_eq!(one.sum(), of(4, 350, 4));
    }
}
