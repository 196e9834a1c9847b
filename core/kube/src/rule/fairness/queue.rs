//! One queue of a priority level: who waits in it, and when its next request is due in virtual time (kubernetes/apiserver@24a394e5
//! `pkg/util/flowcontrol/fairqueuing/queueset/{doc,queueset,types}.go`).
//!
//! In virtual time all active queues are served at once, each with an equal part of the seats. The head of a queue starts there at
//! [`Queue::next_dispatch`] and ends a guess of its service time later. When a request ends and the guess was wrong, its queue's next start
//! is put right.

use std::collections::VecDeque;

use super::RequestId;
use super::work::{SeatSeconds, Work};
use zonefall_kernel::time::{Duration, Time};

/// The guess of how long a request executes (`estimatedServiceDuration`).
pub const SERVICE_TIME_GUESS: Duration = Duration::from_millis(3);

/// A request in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub id: RequestId,
    /// What it costs.
    pub work: Work,
    /// Virtual time of its arrival.
    pub arrived: SeatSeconds,
    /// When it has waited for as long as it may.
    pub deadline: Time,
}

/// Requests that wait for seats, first in, first out, and those of them that have some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    waiting: VecDeque<Waiting>,
    /// Work of those that wait, with the guess.
    waiting_work: SeatSeconds,
    executing: u32,
    next_dispatch: SeatSeconds,
}

impl Waiting {
    fn total_work(&self) -> SeatSeconds {
        self.work.total(SERVICE_TIME_GUESS)
    }
}

impl Queue {
    /// Work of the requests that wait: the shortest queue of a hand has the least.
    pub const fn waiting_work(&self) -> SeatSeconds {
        self.waiting_work
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether any of its requests waits or executes: only then it takes part in virtual time.
    pub fn is_active(&self) -> bool {
        !self.waiting.is_empty() || self.executing > 0
    }

    /// The request that leaves it next.
    pub fn head(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    /// When its head starts, in virtual time.
    pub const fn next_dispatch(&self) -> SeatSeconds {
        self.next_dispatch
    }

    /// When its head ends, in virtual time; `None`: nobody waits.
    pub fn next_finish(&self) -> Option<SeatSeconds> {
        self.head().map(|head| self.next_dispatch + head.total_work())
    }

    /// A request joins it. A queue that was not active starts at the present virtual time, which is that of the request's arrival.
    pub fn enqueue(&mut self, request: Waiting) {
        if !self.is_active() {
            self.next_dispatch = request.arrived;
        }
        self.waiting_work += request.total_work();
        self.waiting.push_back(request);
        self.bound();
    }

    /// Its head gets seats.
    pub fn dispatch(&mut self) -> Option<Waiting> {
        let request = self.waiting.pop_front()?;
        self.waiting_work -= request.total_work();
        self.executing += 1;
        self.next_dispatch += request.total_work();
        self.bound();
        Some(request)
    }

    /// A request of it has executed for so long.
    pub fn finish(&mut self, work: &Work, service_time: Duration) {
        self.executing -= 1;
        if service_time > SERVICE_TIME_GUESS {
            self.next_dispatch += SeatSeconds::of(work.initial_seats, service_time - SERVICE_TIME_GUESS);
        } else {
            self.next_dispatch -= SeatSeconds::of(work.initial_seats, SERVICE_TIME_GUESS - service_time);
        }
        self.bound();
    }

    /// A request leaves it without having executed.
    pub fn remove(&mut self, id: RequestId) -> Option<Waiting> {
        let at = self.waiting.iter().position(|request| request.id == id)?;
        let request = self.waiting.remove(at)?;
        self.waiting_work -= request.total_work();
        self.bound();
        Some(request)
    }

    /// The head does not start before it has arrived, in virtual time either: else a queue that used less than its part would be owed all
    /// of it (`boundNextDispatchLocked`).
    fn bound(&mut self) {
        if let Some(head) = self.waiting.front() {
            self.next_dispatch = self.next_dispatch.max(head.arrived);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(id: u64, arrived_s: u64) -> Waiting {
        let arrived = SeatSeconds::of(1, Duration::from_secs(arrived_s));
        Waiting { id: RequestId(id), work: Work::ONE_SEAT, arrived, deadline: Time::MAX }
    }

    /// A queue that was active without a request that waited, and ahead of virtual time, is still ahead; one that was not active starts again.
    #[test]
    fn queue_starts_at_the_present_virtual_time_once_it_was_not_active() {
        let mut queue = Queue::default();
        queue.enqueue(waiting(1, 0));
        queue.enqueue(waiting(2, 0));
        assert!(queue.dispatch().is_some() && queue.dispatch().is_some() && queue.dispatch().is_none());
        queue.finish(&Work::ONE_SEAT, Duration::from_secs(10));
        queue.enqueue(waiting(3, 5));
        let ahead = SeatSeconds::of(1, Duration::from_secs(10) + SERVICE_TIME_GUESS);
        assert_eq!((queue.next_dispatch(), queue.is_active()), (ahead, true));
        assert!(queue.remove(RequestId(3)).is_some() && queue.remove(RequestId(3)).is_none());
        queue.finish(&Work::ONE_SEAT, Duration::from_secs(10));
        assert!(!queue.is_active() && queue.waiting_work() == SeatSeconds::ZERO);
        queue.enqueue(waiting(4, 7));
        assert_eq!(queue.next_dispatch(), SeatSeconds::of(1, Duration::from_secs(7)));
    }

    /// A queue that used less than its part is not owed all of it: its head starts no earlier than it arrived, in virtual time.
    #[test]
    fn head_does_not_start_before_it_arrived() {
        let mut queue = Queue::default();
        (0..2).for_each(|k| queue.enqueue(waiting(k, 100 * k)));
        queue.dispatch();
        assert_eq!(queue.next_dispatch(), SeatSeconds::of(1, Duration::from_secs(100)));
        assert_eq!(queue.next_finish(), Some(SeatSeconds::of(1, Duration::from_secs(100) + SERVICE_TIME_GUESS)));
    }
}
