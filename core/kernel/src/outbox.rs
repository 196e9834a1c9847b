//! What a handler asks for: events to be queued and records to be told, in one order for all subsystems.
//!
//! ```text
//! EtcdEvent, EtcdRecord --Outbox<EtcdEvent, EtcdRecord>--\
//!                                                         Buffer<Event, Record> --> run loop
//! KubeEvent, KubeRecord --Outbox<KubeEvent, KubeRecord>--/
//! ```
//!
//! A subsystem writes its own events and records; it does not know the types that they are composed into.

use std::fmt::Debug;

use crate::time::Time;

/// Takes the events `E` and the records `R` of one subsystem.
pub trait Outbox<E, R>: Debug {
    /// Queues an event.
    fn schedule(&mut self, at: Time, event: E);
    /// Tells a fact.
    fn record(&mut self, record: R);
}

/// Events and records of all subsystems, each in the order in which they came.
#[derive(Clone, Debug)]
pub struct Buffer<E, R> {
    /// To be queued.
    pub schedule: Vec<(Time, E)>,
    /// To be told.
    pub records: Vec<R>,
}

impl<E, R> Default for Buffer<E, R> {
    fn default() -> Self {
        Self { schedule: Vec::new(), records: Vec::new() }
    }
}

impl<E, R, Part, Fact> Outbox<Part, Fact> for Buffer<E, R>
where
    E: From<Part> + Debug,
    R: From<Fact> + Debug,
{
    fn schedule(&mut self, at: Time, event: Part) {
        self.schedule.push((at, event.into()));
    }

    fn record(&mut self, record: Fact) {
        self.records.push(record.into());
    }
}
