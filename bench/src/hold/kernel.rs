//! Zonefall's kernel: queue and generations as the engine uses them.

use zonefall_core::kernel::queue::EventQueue;
use zonefall_core::kernel::time::{Duration, Time};

use super::{Contender, Fired, Model, Stretch, Tally};

pub(super) struct Kernel {
    queue: EventQueue<Expiry>,
    armed: Vec<Generation>,
    model: Model,
}

#[derive(Clone, Copy)]
struct Expiry {
    timer: u32,
    generation: Generation,
}

/// Cancels timers as the engine does: an event carries the generation its timer was armed with, and an event of any but the present
/// one is ignored.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Generation(u32);

impl Generation {
    /// Makes every timer armed so far stale; the generation for the next.
    const fn renew(&mut self) -> Self {
        // Wrapping could revive a timer only if that had been pending while 2^32 others were armed.
        self.0 = self.0.wrapping_add(1);
        *self
    }
}

impl Kernel {
    pub(super) fn new(timers: u32) -> Self {
        let armed = vec![Generation::default(); timers as usize];
        let mut this = Self { queue: EventQueue::new(), armed, model: Model::new(timers) };
        for timer in 0..timers {
            let delay = this.model.delay();
            this.arm(Time::ZERO, delay, timer);
        }
        this
    }

    fn arm(&mut self, now: Time, delay: u64, timer: u32) {
        let generation = self.armed[timer as usize].renew();
        self.queue.push(now + Duration::from_nanos(delay), Expiry { timer, generation });
    }
}

impl Contender for Kernel {
    fn run(&mut self, stretch: Stretch) {
        while let Some((now, Expiry { timer, generation })) = self.queue.pop_until(Time::from_nanos(stretch.until)) {
            if self.armed[timer as usize] != generation {
                continue;
            }
            let Fired { delay, reset } = self.model.fire(now.as_nanos(), timer);
            self.arm(now, delay, timer);
            if let Some((timer, delay)) = reset {
                self.arm(now, delay, timer);
            }
        }
    }

    fn tally(&mut self) -> Tally {
        self.model.tally
    }
}
