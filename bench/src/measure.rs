//! Timing that stands a noisy machine: processor time, repetitions of all contenders in turn, medians.
//!
//! A ratio is taken within each round, where both had the same noise, and the median of those ratios is what is printed.

use std::time::Duration;

use cpu_time::ProcessTime;

/// The figures of one contender, one for each round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub(crate) fn min(&self) -> f64 {
        self.quantile(0.0)
    }

    pub(crate) fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// The median over the rounds of `self / other`.
    pub(crate) fn ratio(&self, other: &Self) -> f64 {
        Self(self.0.iter().zip(&other.0).map(|(mine, others)| mine / others).collect()).median()
    }

    /// Reciprocals: seconds per event become events per second.
    pub(crate) fn inverse(&self) -> Self {
        Self(self.0.iter().map(|figure| 1.0 / figure).collect())
    }

    fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(q * (sorted.len() - 1) as f64) as usize]
    }
}

/// The processor time that `work` takes, all its threads together, and what it returns.
///
/// # Panics
/// Where the platform keeps no account of processor time.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = ProcessTime::now();
    let result = work();
    (start.elapsed(), result)
}

/// `min / median / max` with a unit.
pub(crate) fn spread(samples: &Samples, digits: usize) -> String {
    format!("{:>11.digits$} {:>11.digits$} {:>11.digits$}", samples.min(), samples.median(), samples.max())
}

/// The head of a table whose rows hold [`spread`]s.
pub(crate) fn head(first: &str, unit: &str, last: &str) {
    println!("  {first:<34} {:>11} {:>11} {:>11}  {last}", format!("{unit} min"), "median", "max");
}

/// How a figure stands to its aim.
pub(crate) fn goal(reached: bool) -> &'static str {
    if reached { "reached" } else { "MISSED" }
}
