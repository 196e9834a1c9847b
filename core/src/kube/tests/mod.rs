//! Planes made by hand, and what becomes of their pods.

mod api;
mod autoscaling;
mod care;
mod chaos;
mod elections;
mod healing;
mod hostile;
mod machines;
mod scheduling;
mod timing;
mod volumes;
mod workloads;
mod world;
