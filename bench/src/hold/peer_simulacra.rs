//! simulacra: its `Simulation`, a generic event type and `schedule_in`.
//!
//! Its documentation hands `run` a closure, which consumes the simulation; `peek` and `step` are the same loop and can stop. It has
//! cancellation for async tasks only, so the events carry a generation here too.

use simulacra::{Duration, Simulation};

use super::{Contender, Fired, Model, Stretch, Tally};

pub(super) struct Simulacra {
    simulation: Simulation<Expiry>,
    armed: Vec<u32>,
    model: Model,
}

#[derive(Clone, Copy, Debug)]
struct Expiry {
    timer: u32,
    generation: u32,
}

impl Simulacra {
    pub(super) fn new(timers: u32) -> Self {
        let simulation = Simulation::with_capacity(timers as usize * 2);
        let mut this = Self { simulation, armed: vec![0; timers as usize], model: Model::new(timers) };
        for timer in 0..timers {
            let delay = this.model.delay();
            this.arm(delay, timer);
        }
        this
    }

    fn arm(&mut self, delay: u64, timer: u32) {
        let generation = &mut self.armed[timer as usize];
        *generation += 1;
        self.simulation.schedule_in(Duration::from_nanos(delay), Expiry { timer, generation: *generation });
    }
}

impl Contender for Simulacra {
    fn run(&mut self, stretch: Stretch) {
        while self.simulation.peek().is_some_and(|next| next.time.as_nanos() <= stretch.until) {
            let Some(scheduled) = self.simulation.step() else { break };
            let Expiry { timer, generation } = scheduled.event;
            if self.armed[timer as usize] != generation {
                continue;
            }
            let Fired { delay, reset } = self.model.fire(scheduled.time.as_nanos(), timer);
            self.arm(delay, timer);
            if let Some((timer, delay)) = reset {
                self.arm(delay, timer);
            }
        }
    }

    fn tally(&mut self) -> Tally {
        self.model.tally
    }
}
