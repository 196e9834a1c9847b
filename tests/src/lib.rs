//! What the tests of Zonefall share: laboratories, inputs, recorded values, and how thorough statistics are.

pub mod bare;
pub mod inputs;
pub mod laboratory;
pub mod latency;
pub mod portable;
pub mod quiet;
pub mod same;
pub mod threads;
pub mod traffic;
pub mod worlds;

use std::ops::Range;

/// How often a statistical test repeats: `usual`, or `thorough` with `cargo xtask test --deep`.
pub fn effort(usual: usize, thorough: usize) -> usize {
    if is_deep() { thorough } else { usual }
}

/// Numbers of random cases: so many as [`effort`] says, from 0 on; with `--deep` from where no earlier commit began.
pub fn numbers(usual: usize, thorough: usize) -> Range<u64> {
    let first = std::env::var(DEEP).ok().map_or(0, |first| first.parse().expect("ZONEFALL_DEEP is a number"));
    first..first + effort(usual, thorough) as u64
}

/// Numbers of random cases: the half-open range in an environment variable (`17..18`), otherwise [`numbers`].
pub fn asked(variable: &str, usual: usize, thorough: usize) -> Range<u64> {
    let Ok(range) = std::env::var(variable) else { return numbers(usual, thorough) };
    let bounds = range.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    bounds.unwrap_or_else(|| panic!("{variable}: expected a range such as 17..18, found {range}"))
}

/// Whether tests may take long.
pub fn is_deep() -> bool {
    std::env::var_os(DEEP).is_some()
}

/// Set by `cargo xtask test --deep` to the number of the first random case.
const DEEP: &str = "ZONEFALL_DEEP";
