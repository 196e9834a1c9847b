//! Load balancers: how their health checks see a target.

pub mod detection;
pub mod health;
