//! Control planes that heal themselves, whole scenarios at a time.

mod eu_west;
