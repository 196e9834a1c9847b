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

/// How often a statistical test repeats: `usual`, or `thorough` with `cargo xtask test --deep`.
pub fn effort(usual: usize, thorough: usize) -> usize {
    if is_deep() { thorough } else { usual }
}

/// Whether tests may take long.
pub fn is_deep() -> bool {
    std::env::var_os("ZONEFALL_DEEP").is_some()
}
