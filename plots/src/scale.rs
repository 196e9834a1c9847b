//! Round steps for axes.

use zonefall_core::kernel::time::Duration;
use zonefall_core::scenario::text;

/// Round steps of time in seconds.
const TIME_STEPS: [f64; 22] = [
    0.001,
    0.01,
    0.1,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    1_200.0,
    1_800.0,
    3_600.0,
    7_200.0,
    21_600.0,
    86_400.0,
    604_800.0,
    2_592_000.0,
];

/// Moments to mark from zero to `end_s` seconds, at most `most` and zero, with their words.
pub(crate) fn moments(end_s: f64, most: usize) -> Vec<(f64, String)> {
    let last = TIME_STEPS[TIME_STEPS.len() - 1];
    let step =
        TIME_STEPS.into_iter().find(|s| end_s / s <= most as f64).unwrap_or_else(|| last * (end_s / last / most as f64).ceil());
    marks(end_s, step, round)
}

/// Moments to mark between two moments, about `most` at most, with their words: lengths since the start where they are round (`5 min`),
/// a clock (`1:01.25`) where the range is only a part of the run.
pub fn ticks(from_s: f64, to_s: f64, most: usize) -> Vec<(f64, String)> {
    if from_s <= 0.0 {
        return moments(to_s, most.max(1));
    }
    let length = to_s - from_s;
    let fine = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
    let steps = fine.into_iter().chain(TIME_STEPS.into_iter().filter(|s| *s >= 1.0));
    let step = steps.into_iter().find(|s| length / s <= most.max(1) as f64).unwrap_or(length);
    let decimals = if step >= 1.0 { 0 } else { (-libm::log10(step)).ceil() as usize };
    let first = (from_s / step - 1e-9).ceil() as u64;
    let last = (to_s / step + 1e-9).floor() as u64;
    (first..=last).map(|i| i as f64 * step).map(|s| (s, clock(s, decimals))).collect()
}

/// A moment as a short clock: `1:01.25`, `1:00:00`.
fn clock(s: f64, decimals: usize) -> String {
    let unit = 10_f64.powi(decimals as i32);
    let parts = (s * unit).round() as u64;
    let (whole, part) = (parts / unit as u64, parts % unit as u64);
    let fraction = if decimals == 0 { String::new() } else { format!(".{part:0decimals$}") };
    let (h, m, s) = (whole / 3_600, whole / 60 % 60, whole % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}{fraction}") } else { format!("{m}:{s:02}{fraction}") }
}

/// A round length in whole units: `20 min`, `2 h 20 min`, never `2.3 h`; `0` without a unit.
pub(crate) fn round(s: f64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    if s < 60.0 {
        return seconds(s);
    }
    let mut left = s.round() as u64;
    let mut parts = Vec::new();
    for (unit, name) in UNITS {
        if left >= unit {
            parts.push(format!("{} {name}", left / unit));
            left %= unit;
        }
    }
    parts.join(" ")
}

/// Seconds in plain words, `0` without a unit.
pub(crate) fn seconds(s: f64) -> String {
    if s <= 0.0 { "0".to_owned() } else { text::duration(Duration::from_nanos((s * 1e9).round() as u64)) }
}

/// A logarithmic axis of rates, from a round one at or below `low` to a round one at or above `high` bytes per second.
pub(crate) struct Rates {
    marks: Vec<f64>,
}

impl Rates {
    /// Marks at 1, 10 and 100 of each binary unit.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        const UNITS: [f64; 5] = [1.0, 1_024.0, 1_048_576.0, 1_073_741_824.0, 1_099_511_627_776.0];
        let all: Vec<f64> = UNITS.into_iter().flat_map(|unit| [unit, 10.0 * unit, 100.0 * unit]).collect();
        let first = all.iter().rposition(|m| *m <= low).unwrap_or(0).min(all.len() - 2);
        let last = all.iter().position(|m| *m >= high).unwrap_or(all.len() - 1).max(first + 1);
        Self { marks: all[first..=last].to_vec() }
    }

    /// Where a rate stands, from 0 to 1; what is below the axis stands at 0.
    pub(crate) fn share(&self, rate: f64) -> f64 {
        let (low, high) = (self.marks[0], self.marks[self.marks.len() - 1]);
        if rate <= low { 0.0 } else { libm::log10(rate / low) / libm::log10(high / low) }
    }

    /// The rates to mark, with their words.
    pub(crate) fn marks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        self.marks.iter().map(|rate| (self.share(*rate), text::bytes(rate.round() as u64) + "/s"))
    }
}

/// Sums to mark from zero to a round one at or above `most`, with their words: `$0`, `$0.5`, `$1`.
pub(crate) fn dollars(most: f64) -> Vec<(f64, String)> {
    const MARKS: f64 = 5.0;
    let most = if most > 0.0 { most } else { 1.0 };
    let mut steps = (-6..9).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| (digit * 10_f64.powi(power), power)));
    let (step, power) = steps.find(|(step, _)| most / step <= MARKS).unwrap_or((most, 0));
    let decimals = usize::try_from(-power).unwrap_or(0);
    let words = |usd: f64| {
        if decimals == 0 { format!("${}", text::count(usd.round() as u64)) } else { format!("${usd:.decimals$}") }
    };
    marks((most / step - 1e-9).ceil() * step, step, words)
}

fn marks(end: f64, step: f64, words: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let count = (end / step + 1e-9).floor() as u32;
    (0..=count).map(|i| f64::from(i) * step).map(|v| (v, words(v))).collect()
}

/// The round value at or above `v` that an axis can end at.
pub(crate) fn ceiling(v: f64, marks: &[(f64, String)]) -> f64 {
    let step = marks.get(1).map_or(v, |(step, _)| *step);
    if step > 0.0 { (v / step - 1e-9).ceil().max(1.0) * step } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        let words = |marks: Vec<(f64, String)>| marks.into_iter().map(|(_, w)| w).collect::<Vec<_>>().join(" ");
        assert_eq!(words(moments(2_100.0, 8)), "0 5 min 10 min 15 min 20 min 25 min 30 min 35 min");
        assert_eq!(words(moments(8_400.0, 7)), "0 20 min 40 min 1 h 1 h 20 min 1 h 40 min 2 h 2 h 20 min");
        assert_eq!(words(moments(120.0, 6)), "0 20 s 40 s 1 min 1 min 20 s 1 min 40 s 2 min");
        assert_eq!(words(moments(172_800.0, 8)), "0 6 h 12 h 18 h 1 d 1 d 6 h 1 d 12 h 1 d 18 h 2 d");
        assert_eq!(words(moments(3.0, 8)), "0 500 ms 1 s 1.5 s 2 s 2.5 s 3 s");
        assert_eq!(words(ticks(60.0, 62.0, 8)), "1:00.0 1:00.5 1:01.0 1:01.5 1:02.0");
        assert_eq!(words(ticks(3_590.0, 3_620.0, 3)), "59:50 1:00:00 1:00:10 1:00:20");
        assert_eq!(words(ticks(61.2501, 61.2503, 2)), "1:01.2501 1:01.2502 1:01.2503");
        let rates = Rates::new(5_000.0, 1_000_000.0);
        assert_eq!(words(rates.marks().collect()), "1 KiB/s 10 KiB/s 100 KiB/s 1 MiB/s");
        assert_eq!((rates.share(0.0), rates.share(1_048_576.0)), (0.0, 1.0));
        assert_eq!(words(dollars(240.1)), "$0 $50 $100 $150 $200 $250");
        assert_eq!(words(dollars(0.031)), "$0.00 $0.01 $0.02 $0.03 $0.04");
        assert_eq!(words(dollars(0.0)), "$0.0 $0.2 $0.4 $0.6 $0.8 $1.0");
        assert_eq!(words(dollars(6_873.0)), "$0 $2,000 $4,000 $6,000 $8,000");
        assert!(ceiling(976.0, &[(0.0, String::new()), (200.0, String::new())]) >= 1_000.0);
    }
}
