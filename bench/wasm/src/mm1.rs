//! M/M/1 on the kernel: a queue with Poisson arrivals and one server, whose mean wait mathematics knows.
//!
//! ```text
//! Arrival --(arms the next Arrival)--> waiting line --> server --Departure--> gone
//! ```

use std::collections::VecDeque;

use zonefall_core::kernel::dist::scale;
use zonefall_core::kernel::queue::EventQueue;
use zonefall_core::kernel::rng::{Purpose, Stream};
use zonefall_core::kernel::time::{Duration, Time};

/// Customers per second that arrive.
pub const LAMBDA: f64 = 0.8;
/// Customers per second the server could serve.
pub const MU: f64 = 1.0;
/// Batches whose means are taken as independent.
pub const BATCHES: usize = 41;

#[derive(Clone, Copy)]
enum Event {
    Arrival,
    Departure,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Events handled.
    pub events: u64,
    /// Over the moment of each event.
    pub checksum: u64,
    /// Mean wait in line in each of [`BATCHES`] batches of customers, in seconds.
    pub wait_s: [f64; BATCHES],
}

struct Line {
    queue: EventQueue<Event>,
    /// When those arrived who are in the system, the one being served first.
    present: VecDeque<Time>,
    arrivals: Arrivals,
    services: Arrivals,
    waits: [Duration; BATCHES],
    served: u64,
    per_batch: u64,
}

/// Exponential gaps.
struct Arrivals {
    stream: Stream,
    drawn: u64,
    mean: Duration,
}

impl Arrivals {
    fn new(purpose: Purpose, per_s: f64) -> Self {
        Self { stream: Stream::new(1, purpose, 0), drawn: 0, mean: scale(Duration::from_secs(1), 1.0 / per_s) }
    }

    fn gap(&mut self) -> Duration {
        let unit = self.stream.draw(self.drawn).unit_open();
        self.drawn += 1;
        scale(self.mean, -libm::log(unit))
    }
}

impl Line {
    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrival => {
                let gap = self.arrivals.gap();
                self.queue.push(now + gap, Event::Arrival);
                self.present.push_back(now);
                if self.present.len() == 1 {
                    self.serve(now);
                }
            }
            Event::Departure => {
                self.present.pop_front();
                if !self.present.is_empty() {
                    self.serve(now);
                }
            }
        }
    }

    /// Begins to serve who is first.
    fn serve(&mut self, now: Time) {
        if let Some(waits) = self.waits.get_mut((self.served / self.per_batch) as usize) {
            *waits = *waits + now.since(self.present[0]);
        }
        self.served += 1;
        let service = self.services.gap();
        self.queue.push(now + service, Event::Departure);
    }
}

/// Lets `customers` (at least [`BATCHES`]) through.
pub fn run(customers: u64) -> Outcome {
    let mut line = Line {
        queue: EventQueue::new(),
        present: VecDeque::new(),
        arrivals: Arrivals::new(Purpose::Arrival, LAMBDA),
        services: Arrivals::new(Purpose::Fsync, MU),
        waits: [Duration::ZERO; BATCHES],
        served: 0,
        per_batch: customers / BATCHES as u64,
    };
    let (mut events, mut checksum) = (0, 0_u64);
    line.queue.push(Time::ZERO, Event::Arrival);
    while line.served < customers {
        let Some((now, event)) = line.queue.pop() else { break };
        events += 1;
        checksum = checksum.rotate_left(5) ^ now.as_nanos();
        line.handle(now, event);
    }
    let wait_s = line.waits.map(|sum| sum.as_secs_f64() / line.per_batch as f64);
    Outcome { events, checksum, wait_s }
}
