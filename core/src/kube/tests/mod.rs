//! Planes made by hand, and what becomes of their pods.

mod autoscaling;
mod care;
mod healing;
mod machines;
mod scheduling;
mod timing;
mod volumes;
mod workloads;
mod world;
