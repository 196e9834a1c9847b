//! Planes made by hand, and what becomes of their pods.

mod api;
mod elections;
mod healing;
mod scheduling;
mod timing;
mod world;
