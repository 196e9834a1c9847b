//! Bytes that queue at a node of a load balancer: first in, first out, at a bandwidth that may change. A balancer of layer 4 knows no
//! requests: responses that a client no longer waits for pass like any other. (An API server would drop what it has not sent yet of them;
//! here it has sent all.)
//!
//! ```text
//!  response --> [ position 4000 | 3000 | 2000 ] --bandwidth--> client      passed: 1000
//! ```

use zonefall_kernel::time::{Duration, Time};

/// Nanoseconds of a second: what passes in a nanosecond at one byte per second is the unit of positions.
const UNITS: u128 = 1_000_000_000;

/// Where a response ends in the stream of all that a node has passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(u128);

/// The queue of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// Bytes per second; `None`: no limit.
    bandwidth: Option<u64>,
    /// Number of changes of the bandwidth.
    changes: u32,
    /// Time of `passed`.
    at: Time,
    passed: u128,
    /// End of the last response.
    end: u128,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new(bandwidth: Option<u64>) -> Self {
        Self { bandwidth, ..Self::default() }
    }

    fn passed(&self, now: Time) -> u128 {
        match self.bandwidth {
            Some(bandwidth) => self.end.min(self.passed + u128::from(now.since(self.at).as_nanos()) * u128::from(bandwidth)),
            None => self.end,
        }
    }

    /// The bandwidth changes: what is queued passes at the new one.
    pub(crate) fn set_bandwidth(&mut self, bandwidth: Option<u64>, now: Time) {
        (self.passed, self.at) = (self.passed(now), now);
        self.changes += u32::from(bandwidth != self.bandwidth);
        self.bandwidth = bandwidth;
    }

    /// Number of changes of the bandwidth.
    pub(crate) const fn changes(&self) -> u32 {
        self.changes
    }

    /// A response joins the queue.
    pub(crate) fn push(&mut self, bytes: u64, now: Time) -> Position {
        (self.passed, self.at) = (self.passed(now), now);
        self.end += u128::from(bytes) * UNITS;
        Position(self.end)
    }

    /// When the response with this end has passed, where it has not yet.
    pub(crate) fn leaves(&self, Position(end): Position) -> Time {
        let left = end.saturating_sub(self.passed);
        let nanos = self.bandwidth.map_or(0, |bandwidth| left.div_ceil(u128::from(bandwidth)));
        self.at + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 4))
    }

    /// Time that a small response waits that joins it now.
    pub(crate) fn wait(&self, now: Time) -> Duration {
        self.leaves(Position(self.end)).since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn responses_pass_one_after_the_other() {
        let mut queue = Queue::new(Some(1_000));
        let first = queue.push(2_000, at(10));
        let second = queue.push(1_000, at(11));
        assert_eq!((queue.leaves(first), queue.leaves(second), queue.wait(at(11))), (at(12), at(13), Duration::from_secs(2)));
        assert_eq!(queue.wait(at(20)), Duration::ZERO);
        let third = queue.push(1_000, at(20));
        assert_eq!(queue.leaves(third), at(21));
    }

    #[test]
    fn what_is_queued_passes_at_the_new_bandwidth() {
        let mut queue = Queue::new(Some(1_000));
        let response = queue.push(10_000, at(0));
        queue.set_bandwidth(Some(2_000), at(4));
        assert_eq!(queue.leaves(response), at(7));
        queue.set_bandwidth(None, at(5));
        assert_eq!((queue.leaves(response), queue.wait(at(5))), (at(5), Duration::ZERO));
        queue.set_bandwidth(Some(1), at(6));
        assert_eq!(queue.wait(at(6)), Duration::ZERO, "nothing is left");
    }
}
