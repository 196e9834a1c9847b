//! Leases that are granted, at a rate or one by one, and revoked when their time to live is over (`server/lease/lessor.go`).
//!
//! ```text
//!  at rest        as many are revoked as granted                            they flow with all other writes
//!  a new leader   each lease gets its whole time to live again (Promote)    none is revoked
//!  ... later      those that should have ended meanwhile end at once        an entry for each
//! ```
//!
//! Only a leader revokes leases, through raft. It extends them by an election timeout beyond their time to live: clients may have renewed
//! them with the leader before. From a thousand leases on etcd spreads the ends (`leaseRevokeRate`); here they come at once.

use std::collections::VecDeque;

use crate::command_bytes::expiry_growth;
use crate::database::Growth;
use crate::raft::entry::Command;
use crate::write_rate::{UNIT, WriteRate, Writes};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_scenario::Lease;

/// The leases of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Lessor {
    /// Revocations at rest, by kind of lease. Kept while nothing flows, because the leases still exist.
    ends: [Writes; Lease::ALL.len()],
    /// Leases that were granted one by one, by kind: expiry, and growth of the database by the revocation; the next to expire first.
    single: [VecDeque<(Time, Growth)>; Lease::ALL.len()],
    /// By kind of lease: the time in which none expires.
    extended: [Option<Extension>; Lease::ALL.len()],
    /// A leader was elected whose extension of the leases is due.
    pub(super) has_new_leader: bool,
    /// Fires when leases are extended, or end.
    pub(super) timer: Timer,
}

/// No lease ends between these times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extension {
    since: Time,
    until: Time,
}

impl Lessor {
    /// What flows while some leases do not end.
    pub(super) fn flowing(&self, rate: &WriteRate) -> Writes {
        let held = self.extended.iter().zip(rate.expired).filter(|(extension, _)| extension.is_some());
        held.fold(rate.writes, |writes, (_, expired)| writes.without(expired))
    }

    /// This flows from now on.
    pub(super) fn update(&mut self, rate: &WriteRate) {
        for (ends, expired) in self.ends.iter_mut().zip(rate.expired) {
            if expired != Writes::default() {
                *ends = expired;
            }
        }
    }

    /// Leases have been granted one by one at such rates for long.
    pub(super) fn settle_in(&mut self, rates: [Writes; Lease::ALL.len()]) {
        for (lease, ends) in Lease::ALL.into_iter().zip(rates) {
            let Some(each) = UNIT.checked_div(ends.count.into()) else { continue };
            let ((_, growth), count) = (ends.mean(), u128::from(lease.ttl().as_nanos()) / each);
            self.single[lease as usize] = (1..=count).map(|k| (Time::from_nanos((k * each) as u64), growth)).collect();
        }
    }

    /// A command was applied that has a lease: it is granted, or a key is attached to the last one.
    pub(super) fn applied(&mut self, command: Command, now: Time) {
        let growth = expiry_growth(command);
        if let Command::Grant(lease) = command {
            self.single[lease as usize].push_back((now + lease.ttl(), growth));
        } else if let Some((_, all)) = self.single[Lease::Event as usize].back_mut() {
            *all = all.and(growth);
        }
    }

    /// A new leader extends all leases.
    pub(super) fn promote(&mut self, election_timeout: Duration, now: Time) {
        for (lease, single) in Lease::ALL.into_iter().zip(&mut self.single) {
            for (end, _) in single {
                *end = now + lease.ttl() + election_timeout;
            }
        }
        for (lease, extension) in Lease::ALL.into_iter().zip(&mut self.extended) {
            if self.ends[lease as usize] != Writes::default() {
                let since = extension.map_or(now, |before| before.since);
                *extension = Some(Extension { since, until: now + lease.ttl() + election_timeout });
            }
        }
    }

    /// Ends leases: entries, and how many of each.
    pub(super) fn end(&mut self, now: Time) -> Vec<(u64, Command)> {
        let single = |leases: &mut VecDeque<(Time, Growth)>| {
            let over = leases.partition_point(|(end, _)| *end <= now);
            leases.drain(..over).map(|(_, growth)| (1, revoke(growth))).collect::<Vec<_>>()
        };
        let mut ended: Vec<_> = self.single.iter_mut().flat_map(single).collect();
        ended.extend(self.end_extensions(now));
        ended
    }

    fn end_extensions(&mut self, now: Time) -> Vec<(u64, Command)> {
        let over = |(extension, ends): (&mut Option<Extension>, &Writes)| {
            let Extension { since, .. } = extension.take_if(|extension| extension.until <= now)?;
            Some(revocations(*ends, now.since(since)))
        };
        self.extended.iter_mut().zip(&self.ends).filter_map(over).collect()
    }

    pub(super) fn has_leases(&self) -> bool {
        self.ends.iter().any(|ends| *ends != Writes::default()) || self.single.iter().any(|single| !single.is_empty())
    }

    pub(super) fn next(&self) -> Option<Time> {
        let extended = self.extended.iter().flatten().map(|extension| extension.until);
        extended.chain(self.single.iter().filter_map(|single| Some(single.front()?.0))).min()
    }
}

/// An entry for each lease that did not end for so long, at least one.
fn revocations(ends: Writes, held: Duration) -> (u64, Command) {
    let in_all = |per_million_s: u64| (u128::from(per_million_s) * u128::from(held.as_nanos()) / UNIT) as u64;
    let count = in_all(ends.count).max(1);
    let each = |sum: u64| in_all(sum) / count;
    (count, revoke(Growth { grows: each(ends.growth.grows), supersedes: each(ends.growth.supersedes) }))
}

const fn revoke(growth: Growth) -> Command {
    Command::Revoke { grows: growth.grows as u32, supersedes: growth.supersedes as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    use zonefall_scenario::Change;

    const TIMEOUT: Duration = Duration::from_secs(1);

    const fn secs(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    /// Two writes a second; every second one is the end of an event's lease, which deletes 100 bytes.
    fn rate() -> WriteRate {
        let ends = Writes { count: 1_000_000, request_bytes: 0, growth: Growth { grows: 0, supersedes: 100_000_000 } };
        let writes = Writes { count: 2_000_000, ..ends };
        WriteRate { writes, expired: [Writes::default(), ends], compacts: true, ..WriteRate::default() }
    }

    #[test]
    fn leases_that_were_extended_end_together() {
        let (rate, mut lessor) = (rate(), Lessor::default());
        lessor.update(&rate);
        assert_eq!(lessor.flowing(&rate).count, 2_000_000);
        lessor.promote(TIMEOUT, secs(100));
        let Writes { count, growth, .. } = lessor.flowing(&rate);
        assert_eq!((count, growth.supersedes, lessor.next()), (1_000_000, 0, Some(secs(3_701))));
        assert!(lessor.end(secs(3_700)).is_empty());
        assert_eq!(lessor.end(secs(3_701)), [(3_601, Command::Revoke { grows: 0, supersedes: 100 })]);
        assert_eq!((lessor.flowing(&rate).count, lessor.next()), (2_000_000, None));
    }

    #[test]
    fn another_leader_extends_them_again() {
        let (rate, mut lessor) = (rate(), Lessor::default());
        lessor.update(&rate);
        lessor.promote(TIMEOUT, secs(100));
        // Nobody writes meanwhile: the leases are still there.
        lessor.update(&WriteRate::default());
        lessor.promote(TIMEOUT, secs(200));
        assert_eq!(lessor.next(), Some(secs(3_801)));
        let ended = lessor.end(secs(3_801));
        assert_eq!(ended, [(3_701, Command::Revoke { grows: 0, supersedes: 100 })]);
    }

    #[test]
    fn leases_that_are_granted_one_by_one_end_with_their_keys() {
        let mut lessor = Lessor::default();
        let event = Command::Txn { change: Change::Event, key_bytes: 55, value_bytes: 700 };
        lessor.applied(Command::Grant(Lease::Event), secs(10));
        lessor.applied(event, secs(20));
        lessor.applied(Command::Grant(Lease::ApiServer), secs(20));
        assert_eq!(lessor.next(), Some(secs(35)));
        assert_eq!(lessor.end(secs(35)).len(), 1);
        assert_eq!(lessor.next(), Some(secs(3_610)));
        lessor.promote(TIMEOUT, secs(100));
        assert!(lessor.end(secs(3_700)).is_empty());
        // A tombstone comes; the record of the lease, the event and its tombstone go.
        let (tombstone, own) = (55 + 64, 55 + 700 + 64);
        let revoke = Command::Revoke { grows: tombstone, supersedes: 64 + own + tombstone };
        assert_eq!(lessor.end(secs(3_701)), [(1, revoke)]);
    }

    #[test]
    fn a_run_begins_with_leases_of_all_ages() {
        let mut lessor = Lessor::default();
        let ends = Writes { count: 300_000, ..Writes::default() };
        lessor.settle_in([ends, Writes::default()]);
        let (mut now, mut ended) = (Time::ZERO, 0);
        while let Some(next) = lessor.next() {
            (now, ended) = (next, ended + lessor.end(next).len());
        }
        assert_eq!((ended, now < secs(15)), (4, true));
    }

    #[test]
    fn without_leases_a_new_leader_extends_none() {
        let mut lessor = Lessor::default();
        lessor.promote(TIMEOUT, secs(100));
        assert_eq!((lessor.has_leases(), lessor.next()), (false, None));
    }
}
