//! How much is written to a cluster.

use crate::database::Growth;
use zonefall_scenario::Lease;

/// A millionth of a write each second, in a nanosecond.
pub(super) const UNIT: u128 = 1_000_000_000_000_000;

/// Writes in a million seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Number of them.
    pub count: u64,
    /// Bytes of all, encoded as requests.
    pub request_bytes: u64,
    /// What all do to the database.
    pub growth: Growth,
}

impl Writes {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            request_bytes: self.request_bytes + other.request_bytes,
            growth: self.growth.and(other.growth),
        }
    }

    /// These without some of them.
    #[must_use]
    pub const fn without(self, some: Self) -> Self {
        Self {
            count: self.count.saturating_sub(some.count),
            request_bytes: self.request_bytes.saturating_sub(some.request_bytes),
            growth: Growth {
                grows: self.growth.grows.saturating_sub(some.growth.grows),
                supersedes: self.growth.supersedes.saturating_sub(some.growth.supersedes),
            },
        }
    }

    /// The same so many times.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self { count: self.count * count, request_bytes: self.request_bytes * count, growth: self.growth.times(count) }
    }

    /// So many of so many equal parts.
    #[must_use]
    pub fn share(self, own: usize, of: usize) -> Self {
        let part = |all: u64| (u128::from(all) * own as u128 / of.max(1) as u128) as u64;
        let Growth { grows, supersedes } = self.growth;
        Self {
            count: part(self.count),
            request_bytes: part(self.request_bytes),
            growth: Growth { grows: part(grows), supersedes: part(supersedes) },
        }
    }

    /// Bytes of a request, and what one does to the database: the averages.
    pub fn mean(self) -> (u64, Growth) {
        let mean = |sum: u64| sum.checked_div(self.count).unwrap_or(0);
        let Growth { grows, supersedes } = self.growth;
        (mean(self.request_bytes), Growth { grows: mean(grows), supersedes: mean(supersedes) })
    }
}

/// What flows into a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteRate {
    /// All writes, those at the end of leases among them.
    pub writes: Writes,
    /// Of these, the revocations of expired leases, by kind of [`Lease`].
    pub expired: [Writes; Lease::ALL.len()],
    /// Revocations of leases that are granted one by one, by kind: not part of the writes.
    pub single: [Writes; Lease::ALL.len()],
    /// Somebody compacts.
    pub compacts: bool,
}
