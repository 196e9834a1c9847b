//! nexosim: one model that schedules keyed events on itself, as its documentation's alarm clock does.
//!
//! On one thread: there is one model only, and with more threads nexosim merely takes longer. Its time counts seconds and nanoseconds;
//! the model is told nanoseconds since the start, as all others.

use std::time::Duration;

use nexosim::model::{Context, Model as NexosimModel, schedulable};
use nexosim::ports::{EventSinkReader, EventSlotReader, EventSource, Output, SinkState, event_slot};
use nexosim::simulation::{EventId, EventKey, Mailbox, SimInit, Simulation};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

use super::{Contender, Fired, Model, Stretch, Tally};

const START: MonotonicTime = MonotonicTime::EPOCH;

pub(super) struct Nexosim {
    simulation: Simulation,
    report: EventId<()>,
    reports: EventSlotReader<Tally>,
}

#[derive(Serialize, Deserialize)]
struct Timers {
    report: Output<Tally>,
    armed: Vec<Option<EventKey>>,
    model: Model,
}

#[NexosimModel]
impl Timers {
    #[nexosim(init)]
    #[expect(clippy::unused_async, reason = "nexosim asks for it")]
    async fn init(&mut self, context: &Context<Self>) {
        for timer in 0..self.model.timers {
            let delay = self.model.delay();
            self.arm(context, delay, timer);
        }
    }

    #[nexosim(schedulable)]
    fn expire(&mut self, timer: u32, context: &Context<Self>) {
        let now = context.time().duration_since(START).as_nanos() as u64;
        let Fired { delay, reset } = self.model.fire(now, timer);
        self.arm(context, delay, timer);
        if let Some((timer, delay)) = reset
            && let Some(old) = self.arm(context, delay, timer)
        {
            old.cancel();
        }
    }

    async fn report(&mut self) {
        self.report.send(self.model.tally).await;
    }

    fn arm(&mut self, context: &Context<Self>, delay: u64, timer: u32) -> Option<EventKey> {
        let key = context.schedule_keyed_event(Duration::from_nanos(delay), schedulable!(Self::expire), timer);
        self.armed[timer as usize].replace(key.expect("delays are above zero"))
    }
}

impl Nexosim {
    pub(super) fn new(timers: u32) -> Self {
        let armed = vec![None; timers as usize];
        let mut model = Timers { report: Output::default(), armed, model: Model::new(timers) };
        let mailbox = Mailbox::new();
        let (sink, reports) = event_slot(SinkState::Enabled);
        model.report.connect_sink(sink);
        let mut bench = SimInit::with_num_threads(1);
        let report = EventSource::new().connect(Timers::report, &mailbox).register(&mut bench);
        let simulation = bench.add_model(model, mailbox, "timers").init(START).expect("the bench is complete");
        Self { simulation, report, reports }
    }
}

impl Contender for Nexosim {
    fn run(&mut self, stretch: Stretch) {
        let until = START + Duration::from_nanos(stretch.until);
        self.simulation.step_until(until).expect("the model does not fail");
    }

    fn tally(&mut self) -> Tally {
        self.simulation.process_event(&self.report, ()).expect("the model does not fail");
        self.reports.try_read().expect("the model has sent its report")
    }
}
