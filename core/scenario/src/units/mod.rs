//! Quantities as people write them: `"2m"`, `"1KiB"`, `"100/s"`, `"1Gbit/s"`, `"1%"`.
//!
//! Each is a newtype over an integer that parses exactly, prints what parses back to itself, and knows its JSON Schema. A bare
//! number where a unit is needed is an error: nobody should have to guess whether 5 is seconds or milliseconds.

mod decimal;
pub mod int_or_percent;
mod text;

use std::fmt;
use std::str::FromStr;

use decimal::{Decimal, render, shortest, single, unit_prefix, unit_size};
pub(super) use text::{base_of, expected_of};

use zonefall_kernel::time;

/// What a text quantity is called, looks like and amounts to.
pub(super) trait Quantity: FromStr<Err = String> + fmt::Display {
    /// Its `x-unit` in the schema.
    const UNIT: &'static str;
    /// What to write, for an error: `a duration such as "2m"`.
    const EXPECTED: &'static str;
    /// A regular expression for editors; parsing is stricter.
    const PATTERN: &'static str;
    /// A valid text.
    const EXAMPLE: &'static str;
    /// Comparable amount.
    fn base(&self) -> u128;
}

/// A length of time such as `"2m"`, `"1.3s"`, `"1h30m"`, `"500us"` or `"2d"`, exact to the nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub time::Duration);

const TIME_UNITS: [(&str, u128); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut total, mut rest, mut last) = (0_u128, text, u128::MAX);
        loop {
            let (number, after) = Decimal::prefix(rest)?;
            let (unit, after) = unit_prefix(after);
            let size = if unit == "µs" { 1_000 } else { unit_size(unit, &TIME_UNITS)? };
            if size >= last {
                return Err("its units must go from large to small, each at most once".to_owned());
            }
            total += number.times(size)?;
            (rest, last) = (after, size);
            if rest.is_empty() {
                break;
            }
        }
        let ns = u64::try_from(total).map_err(|_| "it is too long (at most 584 years)".to_owned())?;
        Ok(Self(time::Duration::from_nanos(ns)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == time::Duration::ZERO { f.write_str("0s") } else { self.0.fmt(f) }
    }
}

impl Quantity for Span {
    const UNIT: &'static str = "duration";
    const EXPECTED: &'static str = "a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\"";
    const PATTERN: &'static str = r"^([0-9]+(\.[0-9]+)?(d|h|m|s|ms|us|µs|ns))+$";
    const EXAMPLE: &'static str = "1s";
    fn base(&self) -> u128 {
        u128::from(self.0.as_nanos())
    }
}

/// An amount of data such as `"8B"`, `"1KiB"`, `"512MiB"` or `"5.1GB"`, a whole number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(pub u64);

const SIZE_UNITS: [(&str, u128); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // "KB" is so common that refusing it would teach nothing.
        let bytes = match text.strip_suffix("KB") {
            Some(number) => single(&format!("{number}kB"), &SIZE_UNITS)?,
            None => single(text, &SIZE_UNITS)?,
        };
        u64::try_from(bytes).map(Self).map_err(|_| "it is too large".to_owned())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0B"),
            bytes => f.write_str(&shortest(u128::from(bytes), &SIZE_UNITS)),
        }
    }
}

impl Quantity for Size {
    const UNIT: &'static str = "size";
    const EXPECTED: &'static str = "a size with its unit, such as \"8B\", \"1KiB\" or \"5.1GB\"";
    const PATTERN: &'static str = r"^[0-9]+(\.[0-9]+)?([kKMGT]?B|[KMGT]iB)$";
    const EXAMPLE: &'static str = "1KiB";
    fn base(&self) -> u128 {
        u128::from(self.0)
    }
}

/// A throughput such as `"1Gbit/s"` or `"120MiB/s"`, in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(u64);

const BANDWIDTH_UNITS: [(&str, u128); 14] = [
    ("KiB/s", 8 << 10),
    ("MiB/s", 8 << 20),
    ("GiB/s", 8 << 30),
    ("TiB/s", 8 << 40),
    ("kB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
    ("TB/s", 8_000_000_000_000),
    ("B/s", 8),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("bit/s", 1),
];

impl Bandwidth {
    /// This many bytes per second.
    pub const fn from_bytes_per_s(bytes: u64) -> Self {
        Self(bytes.saturating_mul(8))
    }

    /// This many bits per second.
    pub const fn from_bits_per_s(bits: u64) -> Self {
        Self(bits)
    }

    /// Whole bytes per second, at least one.
    pub const fn bytes_per_s(self) -> u64 {
        if self.0 < 8 { 1 } else { self.0 / 8 }
    }
}

impl FromStr for Bandwidth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bits = single(text, &BANDWIDTH_UNITS)?;
        u64::try_from(bits).map(Self).map_err(|_| "it is too large".to_owned())
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0B/s"),
            bits => f.write_str(&shortest(u128::from(bits), &BANDWIDTH_UNITS)),
        }
    }
}

impl Quantity for Bandwidth {
    const UNIT: &'static str = "bandwidth";
    const EXPECTED: &'static str = "a bandwidth with its unit, such as \"1Gbit/s\" or \"120MiB/s\"";
    const PATTERN: &'static str = r"^[0-9]+(\.[0-9]+)?([kMGT]?(B|bit)|[KMGT]iB)/s$";
    const EXAMPLE: &'static str = "1Gbit/s";
    fn base(&self) -> u128 {
        u128::from(self.0)
    }
}

/// Events per time such as `"100/s"`, `"6/min"` or `"0.5/h"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    /// Events per `per_s`, in billionths.
    nano: u64,
    /// Seconds of the unit it was written in.
    per_s: u32,
}

const RATE_UNITS: [(&str, u32); 4] = [("/s", 1), ("/min", 60), ("/h", 3_600), ("/d", 86_400)];
const NANO: u128 = 1_000_000_000;

impl Rate {
    /// This many per second.
    pub const fn per_second(count: u32) -> Self {
        Self { nano: count as u64 * NANO as u64, per_s: 1 }
    }

    /// The gap between two events, rounded to the nearest nanosecond; [`time::Duration::MAX`] where the rate is nothing.
    pub fn interval(self) -> time::Duration {
        let nano = u128::from(self.nano);
        if nano == 0 {
            return time::Duration::MAX;
        }
        let ns = (u128::from(self.per_s) * NANO * NANO + nano / 2) / nano;
        time::Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Events in a million seconds, rounded down.
    pub fn per_million_s(self) -> u64 {
        u64::try_from(u128::from(self.nano) * 1_000_000 / (NANO * u128::from(self.per_s))).unwrap_or(u64::MAX)
    }

    /// Events per second, for estimates and messages.
    pub fn as_per_second(self) -> f64 {
        self.nano as f64 / 1e9 / f64::from(self.per_s)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = Decimal::prefix(text)?;
        let Some((_, per_s)) = RATE_UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err("its unit must be one of /s, /min, /h, /d".to_owned());
        };
        let nano = number.times(NANO)?;
        let nano = u64::try_from(nano).map_err(|_| "it is too large".to_owned())?;
        Ok(Self { nano, per_s: *per_s })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = render(u128::from(self.nano), NANO, 9).unwrap_or_default();
        let unit = RATE_UNITS.iter().find(|(_, per_s)| *per_s == self.per_s).map_or("/s", |(name, _)| name);
        write!(f, "{number}{unit}")
    }
}

impl Quantity for Rate {
    const UNIT: &'static str = "rate";
    const EXPECTED: &'static str = "a rate with its unit, such as \"100/s\" or \"6/min\"";
    const PATTERN: &'static str = r"^[0-9]+(\.[0-9]+)?/(s|min|h|d)$";
    const EXAMPLE: &'static str = "1/s";
    fn base(&self) -> u128 {
        u128::from(self.nano) * 86_400 / u128::from(self.per_s)
    }
}

/// A name: letters, digits, `.`, `_` and `-`, starting with a letter or digit, at most 253 characters; none of the words that mean
/// something else where a name may stand (`all`, `best`, `follower`, `leader`, `nearest`, `none`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Words that stand where a name may stand.
const RESERVED: [&str; 6] = ["all", "best", "follower", "leader", "nearest", "none"];

impl Name {
    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(bad) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !"._-".contains(*c)) {
            return Err(format!("{bad:?} may not be in a name"));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err("it must start with a letter or digit".to_owned());
        }
        if text.len() > 253 {
            return Err("it is longer than 253 characters".to_owned());
        }
        if RESERVED.contains(&text) {
            return Err(format!("{text:?} is a word with another meaning"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Quantity for Name {
    const UNIT: &'static str = "name";
    const EXPECTED: &'static str = "a name of letters, digits, \".\", \"_\" and \"-\"";
    const PATTERN: &'static str = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$";
    const EXAMPLE: &'static str = "unnamed";
    fn base(&self) -> u128 {
        0
    }
}

/// A probability, `0.01` or `"1%"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(pub f64);

impl FromStr for Probability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').ok_or("a probability in quotes ends with %")?;
        let (decimal, rest) = Decimal::prefix(number)?;
        if !rest.is_empty() {
            return Err("nothing may stand between the number and %".to_owned());
        }
        let value = decimal.percent();
        if value <= 1.0 { Ok(Self(value)) } else { Err("it is more than 100%".to_owned()) }
    }
}
