//! The hold model: timers that are armed anew whenever they fire, so that their number stays the same.
//!
//! ```text
//! pop the first event --> Model::fire --> push its timer again
//!                              `--------> at times: cancel another timer and push that again as well
//! ```
//!
//! Every contender keeps the pending events in its own way and calls the same [`Model`] for what happens. Delays are whole numbers
//! drawn in the order in which events are handled, and the checksum depends on that order too: contenders agree on it only if they
//! all put the same events in the same order, ties and cancelled timers included.
//!
//! What the contenders differ in:
//!
//! | contender          | time               | cancels by                         | event                          |
//! |--------------------|--------------------|------------------------------------|--------------------------------|
//! | Zonefall's kernel  | u64 ns             | generation                         | `Copy`, in a slot              |
//! | 4-ary, binary heap | u64                | generation                         | `Copy`, in the heap            |
//! | simulacra          | u64 ns             | generation (its kernel has nothing)| any type, in the heap          |
//! | simcore            | f64, whole numbers | its own set of cancelled events    | boxed, cast when it arrives    |
//! | nexosim            | s and ns           | its own key shared with the event  | boxed, sent to the model's box |

mod floor;
mod kernel;
mod peer_nexosim;
mod peer_simcore;
mod peer_simulacra;

use serde::{Deserialize, Serialize};

use crate::measure::{Samples, goal, head, spread, timed};

/// What happens when a timer fires.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Model {
    timers: u32,
    random: u64,
    tally: Tally,
}

/// What contenders must agree on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Events handled, those of cancelled timers not among them.
    events: u64,
    /// Events that had the time of the one before.
    ties: u64,
    /// Timers cancelled before they fired.
    cancelled: u64,
    last_at: u64,
    checksum: u64,
}

/// What [`Model::fire`] asks for.
#[derive(Clone, Copy, Debug)]
struct Fired {
    /// The timer is armed again, this much later.
    delay: u64,
    /// Then this timer (it may be the same) is cancelled and armed again, this much later.
    reset: Option<(u32, u64)>,
}

impl Model {
    fn new(timers: u32) -> Self {
        Self { timers, random: 0x9E37_79B9_7F4A_7C15, tally: Tally::default() }
    }

    /// 1 to [`span`](Self::span). With eight times as many moments as events, about one event in eight shares its moment.
    fn delay(&mut self) -> u64 {
        1 + self.below(self.span())
    }

    fn span(&self) -> u64 {
        u64::from(self.timers) * 16
    }

    fn below(&mut self, n: u64) -> u64 {
        // xorshift64: next to nothing beside what is measured.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 32) * n) >> 32
    }

    fn fire(&mut self, at: u64, timer: u32) -> Fired {
        let tally = &mut self.tally;
        tally.events += 1;
        tally.ties += u64::from(tally.last_at == at);
        tally.last_at = at;
        tally.checksum = tally.checksum.rotate_left(5) ^ at ^ (u64::from(timer) << 32);
        let delay = self.delay();
        // One event in four resets some timer, as a heartbeat resets an election timeout.
        let reset = self.random.is_multiple_of(4).then(|| (self.below(u64::from(self.timers)) as u32, self.delay()));
        self.tally.cancelled += u64::from(reset.is_some());
        Fired { delay, reset }
    }
}

/// A stretch of the run: the events up to and with a moment, and how many those are.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    until: u64,
    events: u64,
}

/// Something that can run the model.
trait Contender {
    /// Handles the events of a stretch.
    fn run(&mut self, stretch: Stretch);

    fn tally(&mut self) -> Tally;
}

/// The kernel comes first: it finds out how many events a stretch has.
const NAMES: [&str; 6] =
    ["Zonefall's kernel", "bare 4-ary heap loop", "bare BinaryHeap loop", "simulacra 0.1.0", "simcore 0.1.0", "nexosim 1.0.0"];

fn contenders(timers: u32) -> [Box<dyn Contender>; 6] {
    [
        Box::new(kernel::Kernel::new(timers)),
        Box::new(floor::FourAry::new(timers)),
        Box::new(floor::Binary::new(timers)),
        Box::new(peer_simulacra::Simulacra::new(timers)),
        Box::new(peer_simcore::Simcore::new(timers)),
        Box::new(peer_nexosim::Nexosim::new(timers)),
    ]
}

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds measured.
    pub(crate) rounds: u64,
    /// Events of a round, about.
    pub(crate) events: u64,
}

/// Runs the model with each of `sizes` timers and prints the tables.
///
/// # Panics
/// When two contenders did not do the same.
pub(crate) fn bench(sizes: &[u32], effort: Effort) {
    for &timers in sizes {
        let mut contenders = contenders(timers);
        let mut samples = NAMES.map(|_| Samples::default());
        // Every timer has been armed at a random moment once all first ones have fired.
        let warm_up = Model::new(timers).span();
        let mut tally = Tally::default();
        for round in 0..=effort.rounds {
            let until = warm_up + round * effort.events * 8;
            let mut events = 0;
            for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
                let (took, ()) = timed(|| contender.run(Stretch { until, events }));
                if events == 0 {
                    let before = std::mem::replace(&mut tally, contender.tally());
                    events = tally.events - before.events;
                }
                if round > 0 {
                    samples.push(took.as_nanos() as f64 / events as f64);
                }
            }
        }
        for (name, contender) in NAMES.iter().zip(&mut contenders) {
            assert_eq!(contender.tally(), tally, "{name} did other work than {}", NAMES[0]);
        }
        print(timers, &tally, &samples);
    }
}

fn print(timers: u32, tally: &Tally, samples: &[Samples; 6]) {
    let percent = |part: u64| 100.0 * part as f64 / tally.events as f64;
    println!(
        "\nHold model, {timers} timers pending: {} events, {:.0} % at the time of the one before; {:.0} timers cancelled per 100 events",
        tally.events,
        percent(tally.ties),
        percent(tally.cancelled)
    );
    head("", "ns/event", "beside the kernel");
    let [kernel, four_ary, binary, _, simcore, nexosim] = samples;
    for (name, samples) in NAMES.iter().zip(samples) {
        println!("  {name:<34} {}  {:.2}x", spread(samples, 1), samples.ratio(kernel));
    }
    let floor = if four_ary.median() < binary.median() { four_ary } else { binary };
    let over_floor = kernel.ratio(floor);
    println!("  kernel within 1.25x of the faster bare loop: {over_floor:.2}x, {}", goal(over_floor <= 1.25));
    for (name, peer, least) in [("simcore", simcore, 2.5), ("nexosim", nexosim, 8.0)] {
        let factor = peer.ratio(kernel);
        println!("  kernel {least}x as fast as {name}: {factor:.2}x, {}", goal(factor >= least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contenders_do_the_same() {
        bench(&[1, 2, 5, 300], Effort { rounds: 3, events: 1_000 });
    }
}
