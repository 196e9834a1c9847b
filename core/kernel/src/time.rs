//! Simulated time: integers, in nanoseconds.
//!
//! Floating point time needs an epsilon and drifts with platform and optimiser; `u64` nanoseconds reach 584 years and compare
//! exactly. [`Time`] is a moment since the start of the run, [`Duration`] a distance between two moments.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A moment, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Time(u64);

/// A distance between two moments, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than any event of any run.
    pub const MAX: Self = Self(u64::MAX);

    /// The moment `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A duration of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A duration of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A duration of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// The duration in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The sum, or [`Duration::MAX`] where it would overflow.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Time to move `bytes` at `bytes_per_s`, rounded up to a nanosecond.
    pub const fn of_transfer(bytes: u64, bytes_per_s: u64) -> Self {
        if bytes <= u64::MAX / 1_000_000_000 {
            return Self((bytes * 1_000_000_000).div_ceil(bytes_per_s)); // Division in 128 bits is slow, above all on wasm32.
        }
        let ns = (bytes as u128 * 1_000_000_000).div_ceil(bytes_per_s as u128);
        Self(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    /// Saturates: a moment past the end of time never comes.
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    /// Saturates at the start.
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Sub for Duration {
    type Output = Self;
    /// Saturates at zero.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl fmt::Display for Duration {
    /// As people write it, exact, with the largest unit that leaves no fraction, or seconds, milliseconds or microseconds with up to
    /// three decimals: `2m`, `1.3s`, `500us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 6] = [
            (86_400_000_000_000, "d"),
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
        ];
        for (size, unit) in UNITS {
            let stepping = self.0.is_multiple_of(size);
            let thousandths = (1_000..=1_000_000_000).contains(&size) && self.0.is_multiple_of(size / 1_000);
            if self.0 >= size && (stepping || thousandths) {
                let (whole, rest) = (self.0 / size, self.0 % size);
                if rest == 0 {
                    return write!(f, "{whole}{unit}");
                }
                let decimals = format!("{:03}", rest / (size / 1_000));
                return write!(f, "{whole}.{}{unit}", decimals.trim_end_matches('0'));
            }
        }
        write!(f, "{}ns", self.0)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t+{}", Duration(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_print_exactly() {
        for (ns, expected) in [
            (0, "0ns"),
            (999, "999ns"),
            (1_500, "1.5us"),
            (1_050_000_000, "1.05s"),
            (1_234_567_890, "1234567.89us"),
            (90_000_000_000, "90s"),
            (120_000_000_000, "2m"),
            (7 * 86_400_000_000_000, "7d"),
            // Neither fits an f64.
            (9_007_199_254_740_993_000, "9007199254740.993ms"),
            (u64::MAX - 615, "18446744073709.551ms"),
        ] {
            assert_eq!(Duration::from_nanos(ns).to_string(), expected);
        }
    }
}
