//! Latencies as the file says them, and how many figures of measurements all copies of them hold.

use crate::lowering::{CheckCtx, quoted};
use crate::raw::{RawDistribution, RawLatency};
use crate::units::Span;
use zonefall_kernel::dist::Latency;
use zonefall_kernel::time::Duration;

/// Longest delay, jitter or fsync.
const LONGEST_LATENCY: Duration = Duration::from_secs(60);
/// Quantiles of measurements in all copies that a scenario makes of them (one per zone pair and volume).
const MAX_QUANTILES: usize = 2_000_000;

impl CheckCtx<'_> {
    /// A latency; what is wrong with it is reported.
    pub(super) fn latency(&mut self, path: &str, raw: &RawLatency) -> Latency {
        let limit = |ctx: &mut Self, path: &str, span: Span| ctx.range(path, span, Duration::ZERO, LONGEST_LATENCY);
        match raw {
            RawLatency::Constant(span) => Latency::Constant(span.0),
            RawLatency::Drawn(RawDistribution::Uniform([min, max])) => {
                limit(self, &format!("{path}.uniform[1]"), *max);
                if min > max {
                    self.error(&format!("{path}.uniform"), format!("{min} before {max}"), "the lower bound first");
                }
                Latency::Uniform { min: min.0, max: max.0 }
            }
            RawLatency::Drawn(RawDistribution::LogNormal(drawn)) => {
                limit(self, &format!("{path}.lognormal.median"), drawn.median);
                Latency::LogNormal { median: drawn.median.0, sigma: drawn.sigma }
            }
            RawLatency::Drawn(RawDistribution::Empirical(quantiles)) => {
                for (k, pair) in quantiles.windows(2).enumerate() {
                    if pair[0] > pair[1] {
                        let place = format!("{path}.empirical[{}]", k + 1);
                        self.error(&place, quoted(pair[1]), format!("quantiles in ascending order, so at least {}", pair[0]));
                    }
                }
                if let Some(last) = quantiles.last() {
                    limit(self, &format!("{path}.empirical[{}]", quantiles.len() - 1), *last);
                }
                Latency::Empirical(quantiles.iter().map(|span| span.0).collect())
            }
        }
    }

    /// Accounts for `copies` of a distribution; too many of a long one are refused, and must not be made.
    pub(super) fn copies(&mut self, path: &str, latency: &Latency, copies: usize) -> bool {
        let Latency::Empirical(quantiles) = latency else { return true };
        let before = self.quantiles;
        self.quantiles = before.saturating_add(quantiles.len().saturating_mul(copies));
        if before <= MAX_QUANTILES && self.quantiles > MAX_QUANTILES {
            let found = format!("{} quantiles, used {copies} times", quantiles.len());
            self.error(path, found, format!("at most {MAX_QUANTILES} in all zone pairs and volumes together"));
        }
        self.quantiles <= MAX_QUANTILES
    }
}
