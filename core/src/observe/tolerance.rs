//! How many more members a cluster can lose before it loses its quorum, over time.
//!
//! Counted are voters that run and reach each other in both directions ([`EtcdRecord::ConnectedVoters`]): a member that is cut off protects
//! nobody. What is left is their number less a majority of all voters; at zero one more failure stops all writes, and below zero they
//! have stopped.
//!
//! An active-passive cluster has one voter, so any failure of it stops all writes; but for a while only, where another stands by that
//! can take over. Who stands by ([`PassiveRecord::Ready`]) is counted as left: at zero one more failure stops all writes until somebody
//! is mended.

use std::sync::Arc;

use super::Observer;
use crate::etcd::passive::PassiveRecord;
use crate::ids::{EtcdId, TiVec};
use crate::kernel::time::{Duration, Time};
use crate::record::{EtcdRecord, Record};
use crate::report::{ToleranceReport, seconds};

/// Rows kept of a cluster; a run of years under random faults has more.
const LIMIT: usize = 2_000;

/// Follows all clusters.
#[derive(Clone, Debug)]
pub struct Tolerance {
    /// Shared with clones as long as neither changes them.
    clusters: TiVec<EtcdId, Arc<EtcdTolerance>>,
}

#[derive(Clone, Debug, Default)]
struct EtcdTolerance {
    rows: Vec<ToleranceReport>,
    connected: u8,
    voters: u8,
    standbys: u8,
    /// Since when nothing is left.
    none_since: Option<Time>,
    /// Time in which nothing was left, until then.
    none: Duration,
}

impl Tolerance {
    /// Nothing is known yet.
    pub fn new(clusters: usize) -> Self {
        Self { clusters: vec![Arc::default(); clusters].into() }
    }

    /// The first [`LIMIT`] changes of a cluster.
    pub fn rows(&self, cluster: EtcdId) -> Vec<ToleranceReport> {
        self.clusters[cluster].rows.clone()
    }

    /// Time until `now` in which one more failure would have lost the quorum, or it was lost.
    pub fn none(&self, cluster: EtcdId, now: Time) -> Duration {
        let EtcdTolerance { none_since, none, .. } = *self.clusters[cluster];
        none + none_since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

impl Observer for Tolerance {
    fn record(&mut self, at: Time, record: &Record) {
        let cluster = match *record {
            Record::Etcd(EtcdRecord::ConnectedVoters { cluster, connected, voters }) => {
                let cluster = Arc::make_mut(&mut self.clusters[cluster]);
                (cluster.connected, cluster.voters) = (connected, voters);
                cluster
            }
            Record::Etcd(EtcdRecord::Passive(cluster, PassiveRecord::Ready { ready, .. })) => {
                let cluster = Arc::make_mut(&mut self.clusters[cluster]);
                cluster.standbys = u8::from(ready);
                cluster
            }
            _ => return,
        };
        let EtcdTolerance { connected, voters, standbys, .. } = *cluster;
        let left = i64::from(connected) - i64::from(voters / 2 + 1) + i64::from(standbys);
        match cluster.none_since {
            None if left <= 0 => cluster.none_since = Some(at),
            Some(since) if left > 0 => {
                cluster.none = cluster.none + at.since(since);
                cluster.none_since = None;
            }
            _ => {}
        }
        // Several changes at one moment are one.
        cluster.rows.pop_if(|last| last.from_s.to_bits() == seconds(at).to_bits());
        if cluster.rows.len() < LIMIT {
            cluster.rows.push(ToleranceReport { from_s: seconds(at), connected, voters, standbys, failure_tolerance: left });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::testing::{CLUSTER, at};

    #[test]
    fn what_is_left_follows_the_voters_that_hang_together() {
        let mut tolerance = Tolerance::new(1);
        for (ms, connected, voters) in [(0, 3, 3), (1_000, 2, 3), (1_000, 1, 3), (4_000, 3, 3), (9_000, 3, 4)] {
            tolerance.record(at(ms), &Record::Etcd(EtcdRecord::ConnectedVoters { cluster: CLUSTER, connected, voters }));
        }
        let rows: Vec<_> = tolerance.rows(CLUSTER).iter().map(|row| row.failure_tolerance).collect();
        assert_eq!(rows, [1, -1, 1, 0]);
        assert_eq!(tolerance.none(CLUSTER, at(10_000)), Duration::from_secs(4));
    }
}
