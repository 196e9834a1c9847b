//! The comparison of two builds (`cargo xtask same`): many runs of many worlds, one line for each.
//!
//! ```text
//! generate --> folder of scenario files and a manifest of runs --hashes, in one build--> a line per run --+
//!                                                              --hashes, in another ---> a line per run --+--> runs that differ
//!              a run that differs --records, in either build--> a line per record --> the first one that differs
//! ```
//!
//! The older build writes the files, because a newer build also reads the older vocabulary. The trace decides, because its byte form has no
//! names of types, variants or fields. A report contains names, so the hash of a report is compared only if the traces are equal.

pub mod plan;
pub mod play;
