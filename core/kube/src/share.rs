//! The share of an API's resources that is served.

use serde::{Deserialize, Serialize};
use zonefall_kernel::traced::{Form, Traced};
use zonefall_network::vantage::Extent;

/// Parts in all: a share is told in hundredths of a percent.
const WHOLE: u16 = 10_000;

/// The share of an API's resources for which requests are answered within the deadline: what a request for any of them, made to any of
/// the servers, meets on average; through a load balancer, one that a new client makes.
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

    /// What is served and what is not, each by its weight; all or none only where the other has none.
    pub fn of_weights(served: f64, missing: f64) -> Self {
        if missing <= 0.0 {
            return if served > 0.0 { Self::ALL } else { Self::NONE };
        }
        if served <= 0.0 {
            return Self::NONE;
        }
        Self(((served / (served + missing) * f64::from(WHOLE)).round() as u16).clamp(1, WHOLE - 1))
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
        let weights = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1e-9, 1.0), (1.0, 1e-9), (2.0, 1.0)];
        let shares = weights.map(|(served, missing)| Share::of_weights(served, missing));
        assert_eq!(shares, [Share::NONE, Share::NONE, Share::ALL, Share(1), Share(9_999), Share(6_667)]);
    }
}
