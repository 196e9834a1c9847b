//! The scenarios of apiserver `pkg/util/flowcontrol/fairqueuing/queueset/queueset_test.go`: clients with some threads each, every one of
//! which makes a request, waits for its answer, thinks, and makes the next. How many seats each client has on average is compared with the
//! max-min fair shares of what they could use.

use std::collections::{BTreeMap, VecDeque};

use crate::rule::fairness::demand::DemandMeter;
use crate::rule::fairness::queue_set::{QueueSet, Request};
use crate::rule::fairness::work::Work;
use crate::rule::fairness::{Admission, RequestId};
use crate::spec::fairness::Excess;
use zonefall_kernel::time::{Duration, Time};

/// Threads that make equal requests; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    hash: u64,
    threads: u64,
    calls: u64,
    executes: u64,
    /// Between an answer and the next request; below zero: the next request comes before the answer.
    thinks: i64,
    work: Work,
    /// Half of its threads start in the middle only.
    is_split: bool,
}

pub(super) const fn client(hash: u64, threads: u64, calls: u64, executes: u64, thinks: i64) -> Client {
    let work = Work { initial_seats: 1, final_seats: 1, additional_latency: Duration::ZERO };
    Client { hash, threads, calls, executes, thinks, work, is_split: false }
}

impl Client {
    pub(super) const fn wide(self, initial_seats: u32) -> Self {
        Self { work: Work { initial_seats, ..self.work }, ..self }
    }

    pub(super) const fn padded(self, final_seats: u32, pad: u64) -> Self {
        Self { work: Work { final_seats, additional_latency: Duration::from_nanos(pad), ..self.work }, ..self }
    }

    pub(super) const fn split(self) -> Self {
        Self { is_split: true, ..self }
    }

    /// Seats that it uses on average if it never waits.
    fn demand(&self, threads: u64) -> f64 {
        (threads * u64::from(self.work.initial_seats)) as f64 * self.executes as f64 / (self.executes as f64 + self.thinks as f64)
    }
}

/// Which averages are fair, and how far off they are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    /// All within this part of the fair average.
    Fair(f64),
    /// All further off than this.
    Unfair(f64),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Call {
        client: usize,
        calls_left: u64,
    },
    Finish {
        id: u64,
    },
    /// Seats after an answer are free again.
    Freed {
        client: usize,
    },
}

struct Run<'a> {
    set: QueueSet,
    clients: &'a [Client],
    events: BTreeMap<(u64, u64), Event>,
    scheduled: u64,
    calls: Vec<(usize, u64)>,
    seats: Vec<DemandMeter>,
    seats_of: Vec<u32>,
    /// What the clients want, by their own account.
    wanted: (u32, DemandMeter),
    rejected: u64,
}

impl Run<'_> {
    fn schedule(&mut self, at: u64, event: Event) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    fn want(&mut self, change: i64, now: Time) {
        self.wanted.0 = self.wanted.0.checked_add_signed(change as i32).expect("no less than none");
        self.wanted.1.set(self.wanted.0, now);
    }

    fn hold(&mut self, client: usize, change: i64, now: Time) {
        self.seats_of[client] = self.seats_of[client].checked_add_signed(change as i32).expect("no less than none");
        self.seats[client].set(self.seats_of[client], now);
    }

    fn start(&mut self, id: u64, now: u64) {
        let (at, calls_left) = self.calls[id as usize];
        let client = self.clients[at];
        self.hold(at, i64::from(client.work.initial_seats), Time::from_nanos(now));
        let next = now.checked_add_signed(client.executes as i64 + client.thinks).expect("it is in the future");
        self.schedule(next, Event::Call { client: at, calls_left: calls_left - 1 });
        self.schedule(now + client.executes, Event::Finish { id });
    }

    fn handle(&mut self, event: Event, ns: u64) {
        let now = Time::from_nanos(ns);
        let mut started = Vec::new();
        match event {
            Event::Call { calls_left: 0, .. } => {}
            Event::Call { client: at, calls_left } => {
                let Client { hash, work, .. } = self.clients[at];
                self.want(i64::from(work.max_seats()), now);
                let id = self.calls.len() as u64;
                self.calls.push((at, calls_left));
                match self.set.arrive(Request { id: RequestId(id), hash, work, deadline: Time::MAX }, now, &mut started) {
                    Admission::Executes => self.start(id, ns),
                    Admission::Waits => {}
                    Admission::Rejected(_) => {
                        self.rejected += 1;
                        self.want(-i64::from(work.max_seats()), now);
                    }
                }
            }
            Event::Finish { id } => {
                let (at, _) = self.calls[id as usize];
                let work = self.clients[at].work;
                self.hold(at, -i64::from(work.initial_seats), now);
                self.set.finish(RequestId(id), now, &mut started);
                self.schedule(ns + work.additional_latency.as_nanos(), Event::Freed { client: at });
            }
            Event::Freed { client } => self.want(-i64::from(self.clients[client].work.max_seats()), now),
        }
        for id in started {
            self.start(id.0, ns);
        }
    }

    fn run_until(&mut self, end: u64) {
        loop {
            let event = self.events.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
            let due = self.set.next_due().map_or(u64::MAX, Time::as_nanos);
            if event.min(due) > end || event.min(due) == u64::MAX {
                return;
            }
            if due <= event {
                let (mut started, mut timed_out) = (Vec::new(), Vec::new());
                self.set.advance(Time::from_nanos(due), &mut started, &mut timed_out);
                for id in started {
                    self.start(id.0, due);
                }
                assert!(timed_out.is_empty());
            } else {
                let (_, event_kind) = self.events.pop_first().expect("there is one");
                self.handle(event_kind, event);
            }
        }
    }
}

/// Max-min fair shares of a capacity.
pub(super) fn max_min(demands: &[f64], capacity: f64) -> Vec<f64> {
    let mut order: VecDeque<usize> = (0..demands.len()).collect();
    order.make_contiguous().sort_by(|one, other| demands[*one].total_cmp(&demands[*other]));
    let (mut left, mut shares) = (capacity, vec![0.0; demands.len()]);
    while let Some(least) = order.pop_front() {
        shares[least] = demands[least].min(left / (order.len() + 1) as f64);
        left -= shares[least];
    }
    shares
}

pub(super) struct Scenario<'a> {
    pub(super) name: &'a str,
    pub(super) excess: Excess,
    pub(super) seats: u32,
    pub(super) clients: &'a [Client],
    /// How long averages are taken, in nanoseconds; the halves apart where some clients are split.
    pub(super) duration: u64,
    pub(super) expected: &'a [Expected],
    /// Averages, where they are not those that are fair.
    pub(super) averages: Option<&'a [f64]>,
    pub(super) rejects: bool,
}

pub(super) fn check(scenario: &Scenario<'_>) {
    let Scenario { name, excess, seats, clients, duration, expected, averages, rejects } = *scenario;
    let meters = clients.iter().map(|_| DemandMeter::new(Time::ZERO)).collect();
    let mut run = Run {
        set: QueueSet::new(excess, seats, Time::ZERO),
        clients,
        events: BTreeMap::new(),
        scheduled: 0,
        calls: Vec::new(),
        seats: meters,
        seats_of: vec![0; clients.len()],
        wanted: (0, DemandMeter::new(Time::ZERO)),
        rejected: 0,
    };
    for (at, client) in clients.iter().enumerate() {
        for thread in 0..client.threads {
            let is_late = client.is_split && thread >= client.threads / 2;
            let delay = 90 * thread + 20 * at as u64 + if is_late { duration / 2 } else { 0 };
            run.schedule(delay, Event::Call { client: at, calls_left: if is_late { client.calls / 2 } else { client.calls } });
        }
    }
    let parts = expected.len() as u64;
    for (part, expected) in (1..).zip(expected) {
        let end = duration * part / parts;
        run.run_until(end);
        let threads = |client: &Client| if client.is_split && part < parts { client.threads / 2 } else { client.threads };
        let demands: Vec<f64> = clients.iter().map(|client| client.demand(threads(client))).collect();
        let fair = averages.map_or_else(|| max_min(&demands, f64::from(seats)), <[f64]>::to_vec);
        for (at, fair) in fair.iter().enumerate() {
            let average = run.seats[at].reset(Time::from_nanos(end)).average;
            let off = (average - fair).abs() / fair;
            let is_met = match expected {
                Expected::Fair(margin) => off <= *margin,
                Expected::Unfair(margin) => off > *margin,
            };
            assert!(
                is_met,
                "{name}, client {at}, part {part}: {average} seats, fair are {fair}: off by {off}, expected {expected:?}"
            );
        }
        let (own, wanted) = (run.set.take_demand(Time::from_nanos(end)), run.wanted.1.reset(Time::from_nanos(end)));
        assert_eq!((own.average, own.deviation), (wanted.average, wanted.deviation), "{name}: seats that are wanted");
    }
    run.run_until(u64::MAX);
    assert_eq!(run.rejected > 0, rejects, "{name}: {} rejected", run.rejected);
    assert_eq!(
        (run.set.executing(), run.set.waiting(), run.set.seats_in_use(), run.wanted.0),
        (0, 0, 0, 0),
        "{name}: all have ended"
    );
}
