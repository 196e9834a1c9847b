//! Priority and Fairness of one API server: all its priority levels, and the seats that they lend each other
//! (kubernetes/apiserver@24a394e5 `pkg/util/flowcontrol/{apf_controller,apf_filter}.go`, `pkg/server/filters/priority-and-fairness.go`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::demand::SmoothedDemand;
use super::queue_set::{QueueSet, Request};
use super::retry_after::RetryAfter;
use super::schema::{Flow, RequestDigest, classify};
use super::seats::{ADJUSTMENT_PERIOD, Borrower, Limits, adjust, limits};
use super::work::Work;
use super::{Admission, Reason, RequestId};
use crate::spec::fairness::{Excess, FlowControl, LevelId};
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::ids::TiVec;

/// No request waits for longer, whatever its time limit.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long a request may wait: a quarter of the time that it has from its arrival to its end, and [`LONGEST_WAIT`] at most. A request that
/// gives no time limit has the server's (`--request-timeout`, 60 s by default: 15 s of waiting), and so has the start of a watch.
pub fn wait_limit(time_limit: Option<Duration>, request_timeout: Duration) -> Duration {
    (time_limit.unwrap_or(request_timeout) / 4).min(LONGEST_WAIT)
}

/// A request that arrives at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub id: RequestId,
    /// Its flow ([`Fairness::classify`]).
    pub flow: Flow,
    /// What it costs.
    pub work: Work,
    /// How long it may wait ([`wait_limit`]).
    pub wait_limit: Duration,
}

/// The answer to a request that is rejected: 429 Too Many Requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Why it is rejected.
    pub reason: Reason,
    /// The header `Retry-After`: whole seconds.
    pub retry_after: Duration,
}

/// What becomes of requests that waited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Requests that execute from now on, in this order.
    pub started: Vec<RequestId>,
    /// Requests that are rejected.
    pub rejected: Vec<(RequestId, Rejection)>,
}

/// An API server's requests. The present time, which every method takes, never goes back.
#[derive(Clone, Debug)]
pub struct Fairness {
    flow_control: Arc<FlowControl>,
    levels: TiVec<LevelId, Level>,
    /// Nominal seats of all levels.
    total: u32,
    next_adjustment: Time,
    /// The level of each request that waits or executes.
    requests: BTreeMap<RequestId, LevelId>,
}

#[derive(Clone, Debug)]
struct Level {
    limits: Limits,
    seats: u32,
    queues: QueueSet,
    demand: SmoothedDemand,
    retry_after: RetryAfter,
}

impl Fairness {
    /// A server that starts now. `server_seats`: the sum of `--max-requests-inflight` and `--max-mutating-requests-inflight`, at least 1.
    pub fn new(flow_control: Arc<FlowControl>, server_seats: u32, now: Time) -> Self {
        let limits = limits(server_seats, flow_control.levels());
        let level = |(limits, excess): (&Limits, Excess)| Level {
            limits: *limits,
            seats: limits.nominal - (limits.nominal - limits.min) / 2,
            queues: QueueSet::new(excess, 0, now),
            demand: SmoothedDemand::default(),
            retry_after: RetryAfter::default(),
        };
        let levels = limits.iter().zip(flow_control.levels().iter().map(|level| level.excess)).map(level).collect();
        let total = limits.iter().map(|limits| limits.nominal).sum();
        let mut server = Self { flow_control, levels, total, next_adjustment: now, requests: BTreeMap::new() };
        server.adjust(now, &mut Changes::default());
        server
    }

    /// The flow of a request. Requests of one kind by one client have the same, so that it need not be asked for each of them.
    pub fn classify(&self, request: &RequestDigest<'_>) -> Flow {
        classify(&self.flow_control, request)
    }

    /// A request arrives. `changes`: what becomes of others.
    pub fn arrive(&mut self, arrival: &Arrival, now: Time, changes: &mut Changes) -> Admission<Rejection> {
        let Arrival { id, flow, work, wait_limit } = *arrival;
        let level = &mut self.levels[flow.level];
        let request = Request { id, hash: flow.hash, work, deadline: now + wait_limit };
        let admission = match level.queues.arrive(request, now, &mut changes.started) {
            Admission::Executes => Admission::Executes,
            Admission::Waits => Admission::Waits,
            Admission::Rejected(reason) => return Admission::Rejected(level.reject(reason, now)),
        };
        let earlier = self.requests.insert(id, flow.level);
        assert!(earlier.is_none(), "{id:?} arrives twice");
        admission
    }

    /// A request that executed has been answered, or a watch has sent what there was at its start.
    pub fn finish(&mut self, id: RequestId, now: Time, changes: &mut Changes) {
        let level = self.requests.remove(&id).expect("only requests that have arrived are finished");
        self.levels[level].queues.finish(id, now, &mut changes.started);
    }

    /// The client of a request gives up. Returns whether the request waited: if it executes, it goes on until it is finished.
    pub fn cancel(&mut self, id: RequestId, now: Time) -> bool {
        let Some(level) = self.requests.get(&id) else { return false };
        let waited = self.levels[*level].queues.cancel(id, now);
        if waited {
            self.requests.remove(&id);
        }
        waited
    }

    /// Does what is due by now.
    pub fn advance(&mut self, now: Time, changes: &mut Changes) {
        while self.next_due() <= now {
            let due = self.next_due();
            for level in &mut self.levels {
                let mut timed_out = Vec::new();
                level.queues.advance(due, &mut changes.started, &mut timed_out);
                for id in timed_out {
                    self.requests.remove(&id);
                    changes.rejected.push((id, level.reject(Reason::TimeOut, due)));
                }
            }
            if self.next_adjustment <= due {
                self.adjust(due, changes);
            }
        }
    }

    /// When [`Fairness::advance`] has something to do, unless something happens before.
    pub fn next_due(&self) -> Time {
        self.levels.iter().filter_map(|level| level.queues.next_due()).fold(self.next_adjustment, Time::min)
    }

    /// The most seats that a request at this level is estimated to need ([`Limits::max_seats`]); `None`: the level has no queues.
    pub fn max_seats(&self, level: LevelId) -> Option<u32> {
        let Excess::Waits(queuing) = self.flow_control.levels()[level].excess else { return None };
        Some(self.levels[level].limits.max_seats(queuing.hand_size))
    }

    /// Whether any request waits: without one, all that is due can be done when the next request arrives or ends.
    pub fn is_anything_waiting(&self) -> bool {
        self.levels.iter().any(|level| level.queues.waiting() > 0)
    }

    /// Seats that a level may use at present, and the queues in which its requests wait for them.
    pub fn level(&self, level: LevelId) -> (u32, &QueueSet) {
        (self.levels[level].seats, &self.levels[level].queues)
    }

    /// Bounds of a level's seats.
    pub fn limits(&self, level: LevelId) -> Limits {
        self.levels[level].limits
    }

    /// Levels lend each other seats, by what they wanted since the last time. The first time is the start.
    fn adjust(&mut self, now: Time, changes: &mut Changes) {
        for level in &mut self.levels {
            let demand = level.queues.take_demand(now);
            level.demand.update(&demand);
        }
        let borrower = |(level, is_exempt): (&Level, bool)| Borrower {
            limits: level.limits,
            is_exempt,
            demand: level.demand,
            seats: level.seats,
        };
        let is_exempt = self.flow_control.levels().iter().map(|level| level.excess == Excess::Executes);
        let borrowers: TiVec<LevelId, Borrower> = self.levels.iter().zip(is_exempt).map(borrower).collect();
        for (level, seats) in self.levels.iter_mut().zip(adjust(self.total, &borrowers)) {
            level.seats = seats;
            level.queues.set_seats(seats, now, &mut changes.started);
        }
        self.next_adjustment = now + ADJUSTMENT_PERIOD;
    }
}

impl Level {
    fn reject(&mut self, reason: Reason, now: Time) -> Rejection {
        Rejection { reason, retry_after: self.retry_after.reject(now) }
    }
}
