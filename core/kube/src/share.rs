//! The share of an API's resources that is served.

use serde::{Deserialize, Serialize};
use zonefall_kernel::traced::{Form, Traced};
use zonefall_network::vantage::Extent;

/// Parts in all: a share is told in hundredths of a percent.
const WHOLE: u16 = 10_000;

/// The share of an API's resources for which requests are answered within the deadline: what a request for any of them, made to any of
/// the servers, meets on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Share(u16);

impl Extent for Share {
    const NONE: Self = Self(0);
    const ALL: Self = Self(WHOLE);
}

impl Share {
    /// `part` of `all`; only where nothing is left of either it is none or all.
    pub fn of(part: u64, all: u64) -> Self {
        match part {
            0 => Self::NONE,
            _ if part >= all => Self::ALL,
            _ => Self(((part * u64::from(WHOLE) / all) as u16).max(1)),
        }
    }

    /// What is missing, as a part of one.
    pub fn missing(self) -> f64 {
        f64::from(WHOLE - self.0) / f64::from(WHOLE)
    }

    /// Some requests are answered, and others are not.
    pub fn is_part(self) -> bool {
        self > Self::NONE && self < Self::ALL
    }
}

impl Traced for Share {
    fn trace(&self, form: &mut Form) {
        self.0.trace(form);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_all_or_none_only_where_nothing_is_left() {
        assert_eq!([Share::of(0, 66), Share::of(66, 66), Share::of(0, 0)], [Share::NONE, Share::ALL, Share::NONE]);
        assert!(Share::of(1, 1_000_000).is_part() && Share::of(999_999, 1_000_000).is_part());
        assert!((Share::of(44, 66).missing() - 1.0 / 3.0).abs() < 0.000_1);
    }
}
