//! What must come out the same on every platform: draws of the engine's randomness, and the trace of every bundled scenario.
//!
//! The values are recorded natively in `tests/golden/trace_hashes.json`. Native tests are held against that file, and so is the worker
//! as it is shipped (32-bit, another code generator, another profile), under node: hence both against each other.
//!
//! ```text
//! observed() natively --ZONEFALL_BLESS=1--> golden file <--compare-- observed() natively
//!                                                       <--compare-- runs() in the page's worker
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::sync::Arc;

use siphasher::sip::SipHasher13;
use zonefall_core::kernel::dist::Latency;
use zonefall_core::kernel::rng::{Draw, Purpose, Stream};
use zonefall_core::kernel::time::Duration;
use zonefall_core::report::Report;
use zonefall_core::run::run_checked;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;

/// The recorded values.
const GOLDEN: &str = include_str!("../golden/trace_hashes.json");

/// Seeds each bundled scenario runs under: a small one, and one that does not fit 32 bits.
const SEEDS: [u64; 2] = [1, 0x0123_4567_89AB_CDEF];

/// Draws per distribution.
const DRAWS: u64 = 10_000;

/// A run whose trace is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The scenario's file.
    pub text: &'static str,
    /// The seed that it runs under.
    pub seed: u64,
}

impl Run {
    /// Its key in the golden file.
    pub fn key(&self) -> String {
        format!("trace: {}, seed {:#x}", self.scenario, self.seed)
    }
}

/// Every run whose trace is recorded.
pub fn runs() -> Vec<Run> {
    let bundled = bundled().iter().map(|file| (file.name, file.json));
    let files = bundled.chain([("every distribution", DISTRIBUTIONS)]);
    files.flat_map(|(scenario, text)| SEEDS.map(|seed| Run { scenario, text, seed })).collect()
}

/// A scenario that draws from each distribution that a file can name: what bundled ones leave out must be portable, too.
const DISTRIBUTIONS: &str = include_str!("../golden/distributions.json");

/// Every value, by its key. `seen` is shown each run, whose invariants are checked.
///
/// # Panics
/// If a file of a run is no scenario.
pub fn observed(seen: &mut dyn FnMut(&Run, &Scenario, &Report)) -> BTreeMap<String, String> {
    let draws = draws().into_iter().map(|(name, hash)| (format!("draws: {name}"), hash));
    let mut trace_hash = |run: &Run| {
        let scenario = Arc::new(Scenario::from_json(run.text).expect("bundled scenarios are valid"));
        let report = run_checked(&scenario, run.seed, Options::default(), &mut |_, _| {});
        seen(run, &scenario, &report);
        report.trace_hash
    };
    draws.chain(runs().iter().map(|run| (run.key(), trace_hash(run)))).collect()
}

/// The recorded values, by their keys.
///
/// # Panics
/// If the golden file is no map of strings.
pub fn recorded() -> BTreeMap<String, String> {
    serde_json::from_str(GOLDEN).expect("the golden file is a map of strings")
}

/// Where these values are not the recorded ones, a line each.
pub fn differences(observed: &BTreeMap<String, String>) -> Vec<String> {
    let recorded = recorded();
    let names: BTreeSet<&String> = recorded.keys().chain(observed.keys()).collect();
    let differing = names.into_iter().filter(|name| recorded.get(*name) != observed.get(*name));
    differing.map(|name| format!("{name}: recorded {:?}, now {:?}", recorded.get(name), observed.get(name))).collect()
}

/// The golden file's text for these values.
pub fn to_golden(observed: &BTreeMap<String, String>) -> String {
    serde_json::to_string_pretty(observed).expect("strings are JSON") + "\n"
}

/// Hashes over many draws: of the raw words, of every derived kind, of every distribution.
fn draws() -> Vec<(&'static str, String)> {
    let ms = Duration::from_millis;
    let latency = |latency: Latency| move |stream: Stream, k| latency.sample(|| stream.draw(k)).as_nanos();
    let lognormal = |sigma| latency(Latency::LogNormal { median: ms(5), sigma });
    vec![
        ("words", hash(|stream, k| two_words(&mut stream.draw(k)))),
        ("unit", hash(|stream, k| stream.draw(k).unit().to_bits())),
        ("unit_open", hash(|stream, k| stream.draw(k).unit_open().to_bits())),
        ("below 1000", hash(|stream, k| stream.draw(k).below(1_000))),
        ("below 2^63", hash(|stream, k| stream.draw(k).below(1 << 63))),
        ("normal", hash(|stream, k| stream.draw(k).normal().to_bits())),
        ("latency, constant", hash(latency(Latency::Constant(ms(3))))),
        ("latency, uniform", hash(latency(Latency::Uniform { min: ms(1), max: ms(1_000) }))),
        ("latency, lognormal, narrow", hash(lognormal(0.1))),
        ("latency, lognormal, wide", hash(lognormal(3.0))),
        ("latency, empirical", hash(latency(Latency::Empirical([0, 1, 2, 7, 40, 900].map(ms).to_vec())))),
    ]
}

/// The second word shows that a draw's words differ, on every platform alike.
fn two_words(draw: &mut Draw) -> u64 {
    draw.word() ^ draw.word().rotate_left(1)
}

/// A hash over `value` of many draws of a few streams.
fn hash(value: impl Fn(Stream, u64) -> u64) -> String {
    let mut hasher = SipHasher13::new();
    for (seed, purpose, entity) in [(0, Purpose::Delay, 0), (7, Purpose::Fsync, 1), (u64::MAX, Purpose::Lifetime, 1 << 40)] {
        let stream = Stream::new(seed, purpose, entity);
        for k in 0..DRAWS / 2 {
            hasher.write(&value(stream, k).to_le_bytes());
            hasher.write(&value(stream, (1 << 40) + k).to_le_bytes()); // far on: counters are 64 bits wide, also in wasm
        }
    }
    format!("{:016x}", hasher.finish())
}
