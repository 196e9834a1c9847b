//! A member's volume: how fast it is, and what it holds when no process runs.

use crate::database::Database;
use crate::raft::ConfState;
use crate::raft::log::Log;
use crate::volume::{Slowdown, Work};
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::Duration;
use zonefall_scenario::ids::FaultId;
use zonefall_scenario::{Disk as Speed, IO_BYTES};

/// What a process finds when it starts.
#[derive(Clone, Debug)]
pub struct Persisted {
    /// Term as last synced.
    pub term: u64,
    /// Whom it voted for in this term.
    pub vote: Option<u8>,
    /// The log.
    pub log: Log,
    /// Who was in the cluster.
    pub conf_state: ConfState,
    /// The database.
    pub database: Database,
    /// Index of the last snapshot.
    pub snapshot_index: u64,
    /// Election timeouts that processes on this volume have drawn.
    pub timeouts_drawn: u64,
    /// A process has begun a log here, even if nothing is in it (`haveWAL`). Before that, it asks the others who they are.
    pub has_wal: bool,
}

impl Persisted {
    /// What a member that was just added starts with: no vote, no entry.
    pub fn is_blank(&self) -> bool {
        self.term == 0 && self.log.last() == 0
    }
}

/// A volume.
#[derive(Clone, Debug)]
pub struct Disk {
    /// What is on it; `None`: nothing.
    pub content: Option<Box<Persisted>>,
    /// Faults that keep the volume away.
    pub lost: u16,
    speed: Speed,
    slowed: Vec<(FaultId, Duration, f64)>,
    draws: Stream,
    syncs: u64,
    /// The same of the database.
    commit_draws: Stream,
    commits: u64,
}

/// Writes of databases among the random draws.
const DATABASE: u64 = 1 << 32;

impl Disk {
    /// A volume with this content.
    pub fn new(speed: Speed, seed: u64, entity: u64, content: Option<Box<Persisted>>) -> Self {
        let draws = |entity| Stream::new(seed, Purpose::Fsync, entity);
        let (draws, commit_draws) = (draws(entity), draws(DATABASE | entity));
        Self { content, lost: 0, speed, slowed: Vec::new(), draws, syncs: 0, commit_draws, commits: 0 }
    }

    /// The volume is there.
    pub fn is_present(&self) -> bool {
        self.lost == 0
    }

    /// A write of `bytes` to the log, with its sync.
    pub fn sync(&mut self, bytes: u64) -> Work {
        let k = self.syncs;
        self.syncs += 1;
        let sync = self.speed.fsync.sample(|| self.draws.draw(k));
        self.write(bytes, sync, 1)
    }

    /// A write of `bytes` to the database, with so many syncs.
    pub fn commit(&mut self, bytes: u64, syncs: u8) -> Work {
        let first = self.commits;
        self.commits += u64::from(syncs);
        let each = (first..self.commits).map(|k| self.speed.fsync.sample(|| self.commit_draws.draw(k)));
        let sync = each.fold(Duration::ZERO, |sum, sync| sum + sync);
        self.write(bytes, sync, syncs)
    }

    fn write(&self, bytes: u64, sync: Duration, syncs: u8) -> Work {
        let operations = |iops| Duration::of_transfer(bytes.div_ceil(IO_BYTES), iops);
        let least = self.speed.iops.map_or(Duration::ZERO, operations);
        Work { transfer: Duration::of_transfer(bytes, self.speed.bytes_per_s).max(least), sync, syncs }
    }

    /// Typical time of an fsync.
    pub fn typical_sync(&self) -> Duration {
        self.slowdown().of(self.speed.fsync.typical())
    }

    /// Bytes per second now.
    pub fn bytes_per_s(&self) -> u64 {
        ((self.speed.bytes_per_s as f64 / self.slowdown().factor) as u64).max(1)
    }

    /// How much slower than usual it is: the factors of all faults multiply and what they add adds up, in whatever order they came.
    pub fn slowdown(&self) -> Slowdown {
        let (factors, added) = (self.slowed.iter().map(|(_, _, factor)| factor), self.slowed.iter().map(|(_, add, _)| *add));
        Slowdown { factor: factors.product(), add: added.fold(Duration::ZERO, Duration::saturating_add) }
    }

    /// Whether a fault slows it down.
    pub fn is_slow(&self) -> bool {
        !self.slowed.is_empty()
    }

    /// A fault slows it down.
    pub fn slow_down(&mut self, fault: FaultId, add: Duration, factor: f64) {
        self.slowed.push((fault, add, factor));
    }

    /// The fault is over.
    pub fn recover(&mut self, fault: FaultId) {
        self.slowed.retain(|(id, ..)| *id != fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_kernel::dist::Latency;

    #[test]
    fn overlapping_faults_slow_a_disk_alike_in_any_order() {
        let ms = Duration::from_millis;
        let speed = Speed { fsync: Latency::Constant(ms(2)), bytes_per_s: 1_000_000, iops: None };
        let faults = [(FaultId(1), ms(3_000), 6.0), (FaultId(2), ms(500), 10.0)];
        for order in [[0, 1], [1, 0]] {
            let mut disk = Disk::new(speed.clone(), 1, 1, None);
            for (fault, add, factor) in order.map(|k| faults[k]) {
                disk.slow_down(fault, add, factor);
            }
            // What one fault adds is not multiplied by the other.
            assert_eq!((disk.typical_sync(), disk.bytes_per_s()), (ms(2 * 60 + 3_500), 16_666));
            disk.recover(FaultId(1));
            assert_eq!((disk.typical_sync(), disk.bytes_per_s()), (ms(2 * 10 + 500), 100_000));
        }
    }
}
