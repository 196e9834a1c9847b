//! Planes made by hand, and what becomes of their pods.

mod healing;
mod machines;
mod scheduling;
mod timing;
mod world;
