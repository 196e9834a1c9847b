//! The queues and seats of one priority level (kubernetes/apiserver@24a394e5 `pkg/util/flowcontrol/fairqueuing/queueset/queueset.go`).
//!
//! ```text
//!  arrive --> shortest queue of the hand --dispatch--> executes --finish--> seats are free, or held for the additional latency
//!     |            |                          ^                                |
//!     v            v                          '------ seats are free ----------'
//!  rejected     deadline: rejected
//! ```
//!
//! Every method takes the present time, which never goes back, and whoever calls it calls [`QueueSet::advance`] when
//! [`QueueSet::next_due`] says so.

use std::collections::BTreeMap;

use super::demand::{Demand, DemandMeter};
use super::queue::{Queue, Waiting};
use super::shuffle::deal;
use super::work::{SeatSeconds, Work};
use super::{Admission, Reason, RequestId};
use crate::spec::fairness::{Excess, Queuing};
use zonefall_kernel::time::Time;

/// A request that arrives at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub id: RequestId,
    /// The hash of its flow ([`Flow::hash`](super::schema::Flow::hash)).
    pub hash: u64,
    /// What it costs.
    pub work: Work,
    /// When it has waited for as long as it may.
    pub deadline: Time,
}

/// A request that executes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Executing {
    work: Work,
    since: Time,
    /// The queue that it came from.
    queue: Option<usize>,
}

/// Requests of one level.
#[derive(Clone, Debug)]
pub struct QueueSet {
    excess: Excess,
    /// Seats that it may use now; of no meaning without a limit.
    seats: u32,
    queues: Vec<Queue>,
    /// Virtual time, and when it was read.
    progress: SeatSeconds,
    now: Time,
    /// The queue that was dispatched from last. Of equals, the next one in the round is dispatched from.
    last_dispatched: usize,
    /// Requests that were dealt a hand so far.
    dealt: usize,
    active_queues: u32,
    seats_in_use: u32,
    seats_waited_for: u32,
    executing: BTreeMap<RequestId, Executing>,
    /// The queue and the deadline of each request that waits.
    waiting: BTreeMap<RequestId, (usize, Time)>,
    deadlines: BTreeMap<(Time, RequestId), usize>,
    /// Seats that answered requests still hold, by their end.
    lingering: BTreeMap<(Time, RequestId), u32>,
    demand: DemandMeter,
}

impl QueueSet {
    /// A level without requests.
    pub fn new(excess: Excess, seats: u32, now: Time) -> Self {
        let queues = match excess {
            Excess::Waits(queuing) => queuing.queues,
            Excess::Executes | Excess::IsRejected => 0,
        };
        Self {
            excess,
            seats,
            queues: vec![Queue::default(); queues as usize],
            progress: SeatSeconds::ZERO,
            now,
            last_dispatched: 0,
            dealt: 0,
            active_queues: 0,
            seats_in_use: 0,
            seats_waited_for: 0,
            executing: BTreeMap::new(),
            waiting: BTreeMap::new(),
            deadlines: BTreeMap::new(),
            lingering: BTreeMap::new(),
            demand: DemandMeter::new(now),
        }
    }

    /// A request arrives. `started`: others that start with it. (They may, where the head of a queue needed many seats and has given up.)
    pub fn arrive(&mut self, request: Request, now: Time, started: &mut Vec<RequestId>) -> Admission {
        self.synchronize(now);
        let Excess::Waits(queuing) = self.excess else { return self.arrive_without_queues(&request) };
        let at = self.shortest_queue(request.hash, &queuing);
        if self.seats_in_use >= self.seats && self.queues[at].len() >= queuing.queue_length_limit as usize {
            return Admission::Rejected(Reason::QueueFull);
        }
        let Request { id, work, deadline, .. } = request;
        let arrived = self.progress;
        self.change(at, |queue| queue.enqueue(Waiting { id, work, arrived, deadline }));
        self.waiting.insert(id, (at, deadline));
        self.deadlines.insert((deadline, id), at);
        self.seats_waited_for += work.max_seats();
        self.dispatch_all(started);
        self.meter();
        match started.iter().position(|other| *other == id) {
            Some(own) => {
                started.remove(own);
                Admission::Executes
            }
            None => Admission::Waits,
        }
    }

    /// A request that executed has been answered. `started`: those that start with its seats.
    pub fn finish(&mut self, id: RequestId, now: Time, started: &mut Vec<RequestId>) {
        self.synchronize(now);
        let executing = self.executing.remove(&id);
        let Executing { work, since, queue } = executing.expect("only requests that execute are finished");
        if let Some(at) = queue {
            self.change(at, |queue| queue.finish(&work, now.since(since)));
        }
        if work.additional_latency.as_nanos() == 0 {
            self.seats_in_use -= work.max_seats();
        } else {
            self.lingering.insert((now + work.additional_latency, id), work.max_seats());
        }
        self.dispatch_all(started);
        self.meter();
    }

    /// The client of a request gives up. One that waits leaves its queue; one that executes goes on until it is finished. Returns whether
    /// it waited. Nothing starts in its place until something else happens, as in the original.
    pub fn cancel(&mut self, id: RequestId, now: Time) -> bool {
        self.synchronize(now);
        let Some((at, deadline)) = self.waiting.remove(&id) else { return false };
        self.deadlines.remove(&(deadline, id));
        let removed = self.change(at, |queue| queue.remove(id)).expect("it waits there");
        self.seats_waited_for -= removed.work.max_seats();
        self.meter();
        true
    }

    /// Its seats change.
    pub fn set_seats(&mut self, seats: u32, now: Time, started: &mut Vec<RequestId>) {
        self.synchronize(now);
        self.seats = seats;
        self.dispatch_all(started);
        self.meter();
    }

    /// Does what is due by now, in order: at one moment, seats are freed before deadlines pass. `started`: requests that start;
    /// `timed_out`: those that have waited for as long as they may, and are rejected.
    pub fn advance(&mut self, now: Time, started: &mut Vec<RequestId>, timed_out: &mut Vec<RequestId>) {
        while let Some(due) = self.next_due().filter(|due| *due <= now) {
            match self.lingering.first_entry() {
                Some(first) if first.key().0 == due => {
                    let seats = first.remove();
                    self.synchronize(due);
                    self.seats_in_use -= seats;
                    self.dispatch_all(started);
                    self.meter();
                }
                Some(_) | None => {
                    let (_, id) = *self.deadlines.first_key_value().expect("nothing else is due").0;
                    self.cancel(id, due);
                    timed_out.push(id);
                }
            }
        }
    }

    /// When [`QueueSet::advance`] has something to do, unless something happens before.
    pub fn next_due(&self) -> Option<Time> {
        let freed = self.lingering.first_key_value().map(|((at, _), _)| *at);
        let deadline = self.deadlines.first_key_value().map(|((at, _), _)| *at);
        freed.into_iter().chain(deadline).min()
    }

    /// Seats that it wanted since this was asked last.
    pub fn take_demand(&mut self, now: Time) -> Demand {
        self.demand.reset(now)
    }

    /// Seats that are taken: by requests that execute, or that are answered and still hold them.
    pub const fn seats_in_use(&self) -> u32 {
        self.seats_in_use
    }

    /// How many requests execute.
    pub fn executing(&self) -> usize {
        self.executing.len()
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn arrive_without_queues(&mut self, request: &Request) -> Admission {
        if !self.fits(request.work.max_seats()) {
            return Admission::Rejected(Reason::ConcurrencyLimit);
        }
        self.execute(request.id, request.work, None);
        self.meter();
        Admission::Executes
    }

    /// The queue of a flow's hand with the least work waiting; of equals, the first from a place that moves on with every request.
    fn shortest_queue(&mut self, hash: u64, queuing: &Queuing) -> usize {
        let hand = deal(hash, queuing);
        let start = self.dealt % hand.len();
        self.dealt += 1;
        let order = (0..hand.len()).map(|k| hand[(start + k) % hand.len()] as usize);
        order.min_by_key(|at| self.queues[*at].waiting_work()).expect("a hand has a queue")
    }

    /// Starts requests as long as seats are free and the next request needs no more than these.
    fn dispatch_all(&mut self, started: &mut Vec<RequestId>) {
        while !self.waiting.is_empty() && self.seats_in_use < self.seats {
            let Some(at) = self.next_queue() else { return };
            let request = self.change(at, Queue::dispatch).expect("it has a head");
            self.waiting.remove(&request.id);
            self.deadlines.remove(&(request.deadline, request.id));
            self.seats_waited_for -= request.work.max_seats();
            self.execute(request.id, request.work.within(self.seats), Some(at));
            started.push(request.id);
        }
    }

    /// The queue whose head ends first in virtual time, if its head fits: nobody overtakes it while it waits for more seats.
    fn next_queue(&mut self) -> Option<usize> {
        let count = self.queues.len();
        let round = (1..=count).map(|k| (self.last_dispatched + k) % count);
        let (_, at) = round.filter_map(|at| Some((self.queues[at].next_finish()?, at))).min_by_key(|(finish, _)| *finish)?;
        let head = self.queues[at].head()?;
        if !self.fits(head.work.max_seats()) {
            return None;
        }
        self.last_dispatched = at;
        Some(at)
    }

    /// Whether a request gets its seats now. One that needs more than there are gets them when no other executes.
    fn fits(&self, seats: u32) -> bool {
        match self.excess {
            Excess::Executes => true,
            Excess::IsRejected | Excess::Waits(_) if seats > self.seats => self.executing.is_empty(),
            Excess::IsRejected | Excess::Waits(_) => self.seats_in_use + seats <= self.seats,
        }
    }

    fn execute(&mut self, id: RequestId, work: Work, queue: Option<usize>) {
        self.seats_in_use += work.max_seats();
        let earlier = self.executing.insert(id, Executing { work, since: self.now, queue });
        assert!(earlier.is_none(), "{id:?} executes twice");
    }

    /// Changes a queue, and counts whether it is active.
    fn change<R>(&mut self, at: usize, change: impl FnOnce(&mut Queue) -> R) -> R {
        let queue = &mut self.queues[at];
        let was_active = queue.is_active();
        let result = change(queue);
        self.active_queues = self.active_queues + u32::from(queue.is_active()) - u32::from(was_active);
        result
    }

    /// Virtual time advances by the seats that are used, for each active queue.
    fn synchronize(&mut self, now: Time) {
        assert!(now >= self.now, "time goes back from {:?} to {now:?}", self.now);
        if self.active_queues > 0 {
            let seats = (self.seats_in_use + self.seats_waited_for).min(self.seats);
            self.progress += SeatSeconds::per_queue(seats, self.active_queues, now.since(self.now));
        }
        self.now = now;
    }

    fn meter(&mut self) {
        self.demand.set(self.seats_in_use + self.seats_waited_for, self.now);
    }
}

#[cfg(test)]
mod tests;
