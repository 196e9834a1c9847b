//! Clusters made by hand, and what becomes of their pods.

mod access;
mod affinity;
mod api;
mod autoscaling;
mod care;
mod chaos;
mod descheduling;
mod elections;
mod failback;
mod healing;
mod hints;
mod hostile;
mod late;
mod machines;
mod maintenance;
mod pending;
mod rollouts;
mod scheduling;
mod stacked;
mod stalls;
mod termination;
mod timing;
mod traffic;
mod volumes;
mod workloads;
mod world;
