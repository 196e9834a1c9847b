//! What a handler asks for: events to be queued and records to be told, in one order for all subsystems.
//!
//! ```text
//! EtcdEvent, EtcdRecord --Outbox<EtcdEvent, EtcdRecord>--\
//!                                                         the buffer of the run loop
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
