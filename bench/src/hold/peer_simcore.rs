//! simcore: one component with callbacks, as in its introduction; events to itself, cancelled through its context.
//!
//! Its time is an f64. All times here are whole numbers below 2^53, which an f64 holds exactly, so that its order is the common one.

use std::cell::RefCell;
use std::rc::Rc;

use serde::Serialize;
use simcore::event::EventId;
use simcore::{Event, EventHandler, Simulation, SimulationContext, cast};

use super::{Contender, Fired, Model, Stretch, Tally};

pub(super) struct Simcore {
    simulation: Simulation,
    timers: Rc<RefCell<Timers>>,
}

#[derive(Clone, Serialize)]
struct Expiry {
    timer: u32,
}

struct Timers {
    context: SimulationContext,
    armed: Vec<EventId>,
    model: Model,
}

impl Timers {
    fn arm(&mut self, delay: u64, timer: u32) -> EventId {
        let event = self.context.emit_self(Expiry { timer }, delay as f64);
        std::mem::replace(&mut self.armed[timer as usize], event)
    }
}

impl EventHandler for Timers {
    fn on(&mut self, event: Event) {
        cast!(match event.data {
            Expiry { timer } => {
                let Fired { delay, reset } = self.model.fire(event.time as u64, timer);
                self.arm(delay, timer);
                if let Some((timer, delay)) = reset {
                    let old = self.arm(delay, timer);
                    self.context.cancel_event(old);
                }
            }
        });
    }
}

impl Simcore {
    pub(super) fn new(timers: u32) -> Self {
        let mut simulation = Simulation::new(1);
        let context = simulation.create_context("timers");
        let component = Timers { context, armed: vec![0; timers as usize], model: Model::new(timers) };
        let component = Rc::new(RefCell::new(component));
        simulation.add_handler("timers", component.clone());
        for timer in 0..timers {
            let mut component = component.borrow_mut();
            let delay = component.model.delay();
            component.arm(delay, timer);
        }
        Self { simulation, timers: component }
    }
}

impl Contender for Simcore {
    fn run(&mut self, stretch: Stretch) {
        // A number of steps costs simcore less than a moment to stop at.
        self.simulation.steps(stretch.events);
    }

    fn tally(&mut self) -> Tally {
        self.timers.borrow().model.tally
    }
}
