//! The cluster autoscaler: adds nodes for pods that have none, and leaves groups of nodes alone whose machines do not come.

pub mod backoff;
pub mod balance;
