//! Whole levels and servers under load: the scenarios of the original's tests, closed forms of queueing theory, and properties that hold
//! for any requests.

mod closed_forms;
mod queueset;
mod servers;
mod uniform;
