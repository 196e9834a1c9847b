//! POSTs from one member to another (`rafthttp/pipeline.go`): who takes the next one, and when.

use zonefall_kernel::time::{Duration, Time};

/// POSTs to one peer at a time (`connPerPipeline`).
const WORKERS: usize = 4;

/// Messages that wait for a worker (`pipelineBufSize`).
const BUFFER: u64 = 64;

/// POSTs from one member to another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipeline {
    /// When each worker has the answer to its last POST; `None`: it has no connection.
    pub(super) workers: [Option<Time>; WORKERS],
}

impl Pipeline {
    /// The worker that begins next, when, and whether it has to dial; `None` if too many wait for one.
    pub(super) fn next(&mut self, now: Time, round_trip: Duration) -> Option<(usize, Time, bool)> {
        // The path may have become faster since.
        let longest = now + round_trip * (1 + BUFFER / WORKERS as u64);
        self.workers.iter_mut().flatten().for_each(|free| *free = (*free).min(longest));
        let idle = self.workers.iter().position(|free| free.is_some_and(|free| free <= now));
        let first = || (0..WORKERS).min_by_key(|&worker| self.workers[worker]).expect("there are some");
        let worker = idle.unwrap_or_else(first);
        let free = self.workers[worker];
        let begins = free.map_or(now, |free| free.max(now));
        let waiting = begins.since(now).as_nanos() * WORKERS as u64 / round_trip.as_nanos().max(1);
        if waiting > BUFFER {
            return None;
        }
        Some((worker, begins, free.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_post_waits_for_a_worker_and_too_many_are_dropped() {
        let [round_trip, dial] = [2, 5].map(Duration::from_millis);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut pipeline = Pipeline::default();
        let mut post = |ms| {
            let (worker, begins, dials) = pipeline.next(at(ms), round_trip)?;
            pipeline.workers[worker] = Some(begins + if dials { dial + round_trip } else { round_trip });
            Some((begins, dials))
        };
        for _ in 0..WORKERS {
            assert_eq!(post(0), Some((at(0), true)), "each worker dials once");
        }
        assert_eq!(post(1), Some((at(7), false)), "the first answer is there after a dial and a round trip");
        assert_eq!(post(9), Some((at(9), false)), "and from then on after a round trip");
        let taken = (0..1_000).take_while(|_| post(9).is_some()).count();
        assert!((60..80).contains(&taken), "{taken} are under way or wait");
        assert_eq!(post(100), Some((at(100), false)));
    }

    #[test]
    fn what_was_to_wait_on_a_slow_path_waits_no_longer_once_it_is_fast() {
        let [slow, fast] = [10, 1].map(|scale| Duration::from_millis(scale * 100));
        let mut pipeline = Pipeline { workers: [Some(Time::ZERO + slow * 16); WORKERS] };
        assert_eq!(pipeline.next(Time::ZERO, fast), None, "as many wait as may");
        let at = Time::ZERO + fast * 2;
        let (_, begins, _) = pipeline.next(at, fast).expect("fewer do");
        assert!(begins <= at + fast * 16, "{begins:?}");
    }
}
