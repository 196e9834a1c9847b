//! Levels under random and under greedy load, against queueing theory: losses of M/M/c/K and of M/M/1 with impatient customers, max-min fair
//! shares, and how long a light flow waits among heavy ones.

use std::collections::BTreeSet;

use super::uniform::{Expected, Scenario, check, client};
use crate::rule::fairness::queue_set::{QueueSet, Request};
use crate::rule::fairness::shuffle::deal;
use crate::rule::fairness::work::Work;
use crate::rule::fairness::{Admission, RequestId};
use crate::spec::fairness::{Excess, Queuing};
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::{Duration, Time};

const SEEDS: u64 = 200;

/// Requests of one flow that go through one queue: arrivals and service times are exponential.
#[derive(Clone, Copy, Debug)]
struct Station {
    seats: u32,
    queue_length_limit: u32,
    /// Arrivals for each service time and seat.
    load: f64,
    /// In mean service times.
    patience: f64,
}

const SERVICE_MS: f64 = 100.0;

fn exponential(stream: Stream, k: u64, mean_ms: f64) -> Duration {
    Duration::from_nanos((stream.draw(k).exponential() * mean_ms * 1e6) as u64)
}

/// The share of requests that were rejected, of `requests` after a warm-up.
fn share_rejected(station: &Station, seed: u64, requests: u64) -> f64 {
    const WARM_UP: u64 = 500;
    let Station { seats, queue_length_limit, load, patience } = *station;
    let [arrivals, services] = [Purpose::Arrival, Purpose::Lifetime].map(|purpose| Stream::new(seed, purpose, 0));
    let mut set = QueueSet::new(Excess::Waits(Queuing { queues: 1, hand_size: 1, queue_length_limit }), seats, Time::ZERO);
    let patience = Duration::from_nanos((patience * SERVICE_MS * 1e6) as u64);
    let mut finishes: BTreeSet<(Time, RequestId)> = BTreeSet::new();
    let (mut next, mut k, mut rejected) = (Time::ZERO, 0, 0);
    while k < WARM_UP + requests {
        let (mut started, mut timed_out) = (Vec::new(), Vec::new());
        let finish = finishes.first().map_or(Time::MAX, |(at, _)| *at);
        let due = set.next_due().unwrap_or(Time::MAX);
        let now = next.min(finish).min(due);
        if finish == now {
            let (_, id) = finishes.pop_first().expect("one ends");
            set.finish(id, now, &mut started);
        } else if due == now {
            set.advance(now, &mut started, &mut timed_out);
        } else {
            let request = Request { id: RequestId(k), hash: 0, work: Work::ONE_SEAT, deadline: now + patience };
            match set.arrive(request, now, &mut started) {
                Admission::Executes => started.push(request.id),
                Admission::Waits => {}
                Admission::Rejected(_) => timed_out.push(request.id),
            }
            next = now + exponential(arrivals, k, SERVICE_MS / (load * f64::from(seats)));
            k += 1;
        }
        rejected += timed_out.iter().filter(|id| id.0 >= WARM_UP).count() as u64;
        finishes.extend(started.iter().map(|id| (now + exponential(services, id.0, SERVICE_MS), *id)));
    }
    rejected as f64 / requests as f64
}

/// The mean over all seeds is within the 99 % interval around what theory says.
fn check_losses(station: &Station, expected: f64) {
    let shares: Vec<f64> = (0..SEEDS).map(|seed| share_rejected(station, seed, 4_000)).collect();
    let mean = shares.iter().sum::<f64>() / SEEDS as f64;
    let variance = shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / (SEEDS - 1) as f64;
    let interval = 2.576 * (variance / SEEDS as f64).sqrt();
    assert!(interval < 0.05 * expected, "{station:?}: the interval of {interval} says nothing");
    assert!((mean - expected).abs() < interval, "{station:?}: {mean} rejected, expected {expected} +- {interval}");
}

/// Erlang: the queue and the seats together have room for K requests, and what arrives when all of it is taken is lost.
#[test]
fn full_queue_rejects_as_many_as_theory_says() {
    for (seats, queue_length_limit, load) in [(1, 5, 0.9), (4, 6, 1.1), (10, 2, 0.8)] {
        let (a, c, k) = (load * f64::from(seats), i32::try_from(seats).unwrap(), seats + queue_length_limit);
        let mut weight = 1.0;
        let weights: Vec<f64> = (1..=k)
            .map(|n| {
                weight *= a / f64::from(n.min(c as u32));
                weight
            })
            .collect();
        let expected = weights[weights.len() - 1] / (1.0 + weights.iter().sum::<f64>());
        check_losses(&Station { seats, queue_length_limit, load, patience: 1e6 }, expected);
    }
}

/// Barrer (1957), M/M/1 with a fixed patience: the wait that an arrival meets has the density of M/M/1 up to the patience, and beyond it
/// falls as the service of the one that executes. Who meets more is lost.
#[test]
fn deadline_rejects_as_many_as_theory_says() {
    for (load, patience) in [(0.8, 2.0), (1.2, 3.0)] {
        let decay = libm::exp(-(1.0 - load) * patience);
        let within = load * (1.0 - decay) / (1.0 - load);
        let beyond = load * decay;
        check_losses(&Station { seats: 1, queue_length_limit: 1_000_000, load, patience }, beyond / (1.0 + within + beyond));
    }
}

/// N flows with a queue each share the seats so that none could have more without taking it from one that has less: greedy flows have an
/// N-th each. Where the guess of service times is right, that holds but for as many requests as there are seats (`doc.go`), and one that the
/// end cuts off. A flow that wants less than its part waits for the end of others' requests now and then, and has a little less than it wants.
#[test]
fn greedy_flows_share_seats_max_min_fairly() {
    const SEATS_PER_FLOW: u64 = 4;
    const TURNS: u64 = 400;
    let stream = Stream::new(1, Purpose::Tie, 0);
    for case in 0..48 {
        let mut draw = stream.draw(case);
        let flows = 2 + draw.below(7);
        let seats = flows * SEATS_PER_FLOW;
        let (least, service_ms, margin) = match case % 3 {
            0 => (seats + 1, 3, (seats + 1) as f64 / (SEATS_PER_FLOW * TURNS) as f64),
            1 => (seats + 1, 1_000, 0.06),
            _ => (1, 1_000, 0.1),
        };
        let service = Duration::from_millis(service_ms).as_nanos();
        // The hash of a flow is its queue.
        let clients: Vec<_> = (0..flows).map(|hash| client(hash, least + draw.below(16), TURNS, service, -1)).collect();
        check(&Scenario {
            name: &format!("case {case}"),
            excess: Excess::Waits(Queuing { queues: 9, hand_size: 1, queue_length_limit: 50 }),
            seats: seats as u32,
            clients: &clients,
            duration: TURNS * service,
            expected: &[Expected::Fair(margin)],
            averages: None,
            rejects: false,
        });
    }
}

/// Flows that keep all their queues busy, and one that makes a request now and then.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    queuing: Queuing,
    seats: u32,
    heavy: u64,
    /// Requests of each heavy flow that wait or execute.
    outstanding: u64,
    service: Duration,
}

impl Crowd {
    fn hash(&self, flow: u64) -> u64 {
        Stream::new(7, Purpose::Tie, self.heavy).draw(flow).word()
    }

    /// Queues of the heavy flows. The light flow, number 0, has one that none of these has.
    fn busy_queues(&self) -> usize {
        let taken: BTreeSet<u32> = (1..=self.heavy).flat_map(|flow| deal(self.hash(flow), &self.queuing)).collect();
        assert!(!deal(self.hash(0), &self.queuing).iter().all(|queue| taken.contains(queue)), "{self:?}");
        taken.len()
    }

    /// The longest wait of a request of the light flow, in service times.
    fn longest_wait(&self) -> f64 {
        const LIGHT_REQUESTS: u64 = 100;
        let mut set = QueueSet::new(Excess::Waits(self.queuing), self.seats, Time::ZERO);
        // The number of a request says whose it is.
        let mut next_id = self.heavy + 1;
        let mut id_of = |flow: u64| {
            next_id += self.heavy + 1;
            RequestId(next_id - next_id % (self.heavy + 1) + flow)
        };
        let flow_of = |id: RequestId| id.0 % (self.heavy + 1);
        let mut arrivals: Vec<(Time, u64)> =
            (0..self.heavy * self.outstanding).map(|k| (Time::ZERO, 1 + k % self.heavy)).collect();
        let mut finishes: BTreeSet<(Time, RequestId)> = BTreeSet::new();
        let (mut light_at, mut light, mut longest) = (Time::ZERO + self.service * 20, 0, Duration::ZERO);
        while light < LIGHT_REQUESTS {
            let finish = finishes.first().map_or(Time::MAX, |(at, _)| *at);
            let mut started = Vec::new();
            let (now, arrives) = match arrivals.pop() {
                Some((at, flow)) => (at, Some(flow)),
                None if light_at < finish => (light_at, Some(0)),
                None => (finish, None),
            };
            if let Some(flow) = arrives {
                let request = Request { id: id_of(flow), hash: self.hash(flow), work: Work::ONE_SEAT, deadline: Time::MAX };
                if set.arrive(request, now, &mut started) == Admission::Executes {
                    started.push(request.id);
                }
            } else {
                let (_, id) = finishes.pop_first().expect("requests execute");
                set.finish(id, now, &mut started);
                if flow_of(id) > 0 {
                    arrivals.push((now, flow_of(id)));
                }
            }
            light_at = if arrives == Some(0) { Time::MAX } else { light_at };
            for id in started {
                finishes.insert((now + self.service, id));
                if flow_of(id) == 0 {
                    longest = longest.max(now.since(self.light_arrival(light)));
                    light += 1;
                    light_at = self.light_arrival(light);
                }
            }
        }
        longest.as_nanos() as f64 / self.service.as_nanos() as f64
    }

    /// Requests of the light flow are far apart, and at no fixed phase of the others'.
    fn light_arrival(&self, k: u64) -> Time {
        Time::ZERO + self.service * 20 + Duration::from_nanos(self.service.as_nanos() * 3_137 / 100) * k
    }
}

/// A light flow waits until every busy queue has had its turn once more. First in, first out, it would wait for all requests. Where the guess
/// of service times is right, its wait is off by two requests at most. Where requests take longer, a queue may have the next seats all at
/// once, as its virtual time moves only when its requests end.
#[test]
fn light_flow_waits_for_a_turn_of_the_queues_and_not_for_all_requests() {
    for (queues, hand_size, seats, heavy) in [(16, 1, 4, 3), (64, 6, 10, 1), (64, 6, 10, 4), (128, 6, 10, 16), (128, 6, 49, 16)] {
        for service_ms in [3, 100] {
            let queuing = Queuing { queues, hand_size, queue_length_limit: 1_000 };
            let crowd = Crowd { queuing, seats, heavy, outstanding: 200, service: Duration::from_millis(service_ms) };
            let (wait, turn) = (crowd.longest_wait(), crowd.busy_queues() as f64 / f64::from(seats));
            let bound = turn + if service_ms == 3 { 2.0 } else { 4.0 };
            assert!(wait <= bound, "{crowd:?}: {wait} service times, expected {bound}");
            let behind_all = (heavy * crowd.outstanding) as f64 / f64::from(seats);
            assert!(bound < behind_all / 4.0, "{crowd:?}: the bound says nothing");
        }
    }
}
