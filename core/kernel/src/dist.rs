//! Distributions sampled the same on every platform: integers and `libm`, never `std`'s transcendental functions.

use crate::rng::Draw;
use crate::time::Duration;

/// A distribution of a delay or a service time.
#[derive(Clone, Debug, PartialEq)]
pub enum Latency {
    /// Always this.
    Constant(Duration),
    /// Uniform between two bounds, both included.
    Uniform {
        /// Least value.
        min: Duration,
        /// Largest value.
        max: Duration,
    },
    /// Lognormal: `median * exp(sigma * N(0, 1))`.
    LogNormal {
        /// Median of the distribution.
        median: Duration,
        /// Standard deviation of the logarithm, 0 to 3.
        sigma: f64,
    },
    /// Quantiles of a measurement at equal distances (first: minimum, last: maximum), linear between them; at least two, ascending.
    Empirical(Vec<Duration>),
}

impl Latency {
    /// No delay.
    pub const NONE: Self = Self::Constant(Duration::ZERO);

    /// One sample. A constant takes no randomness.
    pub fn sample(&self, draw: impl FnOnce() -> Draw) -> Duration {
        match self {
            Self::Constant(d) => *d,
            Self::Uniform { min, max } => *min + Duration::from_nanos(draw().below((*max - *min).as_nanos() + 1)),
            Self::LogNormal { median, sigma } => scale(*median, libm::exp(sigma * draw().normal())),
            Self::Empirical(quantiles) => {
                let position = draw().unit() * (quantiles.len() - 1) as f64;
                let below = position as usize;
                let (low, high) = (quantiles[below], quantiles[below + 1]);
                low + scale(high - low, position - below as f64)
            }
        }
    }

    /// No sample exceeds this. (A lognormal's normal draw is at most 8.6.)
    pub fn bound(&self) -> Duration {
        match self {
            Self::Constant(d) => *d,
            Self::Uniform { max, .. } => *max,
            Self::LogNormal { median, sigma } => scale(*median, libm::exp(sigma * 8.6)) + Duration::from_nanos(1),
            Self::Empirical(quantiles) => quantiles.last().copied().unwrap_or_default(),
        }
    }

    /// The typical value, for figures that need one without a draw (the virtual probe): the median.
    pub fn typical(&self) -> Duration {
        match self {
            Self::Constant(d) => *d,
            Self::Uniform { min, max } => (*min + *max) / 2,
            Self::LogNormal { median, .. } => *median,
            Self::Empirical(quantiles) => quantiles[quantiles.len() / 2],
        }
    }
}

/// `d` times `factor`, rounded down to a nanosecond; `factor` at least 0.
pub fn scale(d: Duration, factor: f64) -> Duration {
    Duration::from_nanos((d.as_nanos() as f64 * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Stream};

    fn samples(latency: &Latency) -> Vec<f64> {
        let stream = Stream::new(1, Purpose::Delay, 1);
        let mut all: Vec<f64> = (0..50_000).map(|k| latency.sample(|| stream.draw(k)).as_secs_f64() * 1e3).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn distributions_have_their_quantiles_and_keep_their_bound() {
        let ms = Duration::from_millis;
        let check = |latency: &Latency, quantile: f64, expected_ms: f64| {
            let all = samples(latency);
            let got = all[(quantile * (all.len() - 1) as f64) as usize];
            assert!((got - expected_ms).abs() < 0.03 * expected_ms.max(1.0), "{latency:?} at {quantile}: {got}");
            assert!(all[all.len() - 1] <= latency.bound().as_secs_f64() * 1e3);
        };
        check(&Latency::Constant(ms(3)), 0.5, 3.0);
        check(&Latency::Uniform { min: ms(10), max: ms(20) }, 0.25, 12.5);
        check(&Latency::LogNormal { median: ms(5), sigma: 0.5 }, 0.5, 5.0);
        check(&Latency::LogNormal { median: ms(5), sigma: 0.5 }, 0.8413, 8.244);
        check(&Latency::Empirical(vec![ms(1), ms(2), ms(10)]), 0.75, 6.0);
    }
}
