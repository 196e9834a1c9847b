//! The time axis that timeline and charts share.

use zonefall_core::kernel::time::Time;

use crate::view::labels::moment;

/// Which part of the run is shown, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// From here.
    pub from_s: f64,
    /// To here.
    pub to_s: f64,
}

impl Range {
    /// The shortest part that can be shown, in seconds.
    const SHORTEST: f64 = 0.001;

    /// All of a run.
    pub fn whole(end: Time) -> Self {
        Self { from_s: 0.0, to_s: end.as_secs_f64().max(Self::SHORTEST) }
    }

    /// Its length in seconds.
    pub fn length(self) -> f64 {
        self.to_s - self.from_s
    }

    /// Shows `factor` times as much; `about` stays where it is. Never more than all of the run.
    #[must_use]
    pub fn zoomed(self, factor: f64, about: f64, end: Time) -> Self {
        let whole = Self::whole(end);
        let length = (self.length() * factor).clamp(Self::SHORTEST.min(whole.to_s), whole.to_s);
        let share = ((about - self.from_s) / self.length().max(Self::SHORTEST)).clamp(0.0, 1.0);
        let from_s = (about - share * length).clamp(0.0, whole.to_s - length);
        Self { from_s, to_s: from_s + length }
    }
}

/// A range on the screen: between `left` and `right` pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// What is shown.
    pub range: Range,
    /// Where it begins.
    pub left: f64,
    /// Where it ends.
    pub right: f64,
    /// Room right of it.
    pub gutter: f64,
}

impl Axis {
    /// Room beside the axis, left and right of it, in an element of this width.
    pub fn gutters(width: f64) -> (f64, f64) {
        match width {
            ..700.0 => (76.0, 10.0),
            ..1_200.0 => (96.0, 132.0),
            _ => (96.0, 232.0),
        }
    }

    /// The axis in an element of this width.
    pub fn new(range: Range, width: f64) -> Self {
        let (left, gutter) = Self::gutters(width);
        Self { range, left, right: (width - gutter).max(left + 1.0), gutter }
    }

    /// Where a moment stands; outside of the range at its edge.
    pub fn x(&self, s: f64) -> f64 {
        let share = ((s - self.range.from_s) / self.range.length()).clamp(0.0, 1.0);
        self.left + share * (self.right - self.left)
    }

    /// Whether any of an interval is shown.
    pub fn shows(&self, from_s: f64, to_s: f64) -> bool {
        to_s >= self.range.from_s && from_s <= self.range.to_s
    }

    /// The moment at a place, in seconds.
    pub fn seconds(&self, x: f64) -> f64 {
        let share = ((x - self.left) / (self.right - self.left)).clamp(0.0, 1.0);
        self.range.from_s + share * self.range.length()
    }

    /// The moment at a place.
    pub fn at(&self, x: f64) -> Time {
        moment(self.seconds(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooming_keeps_the_place_under_the_pointer_and_stays_in_the_run() {
        let end = moment(2_100.0);
        let whole = Range::whole(end);
        let near = whole.zoomed(0.1, 60.0, end);
        assert!((near.length() - 210.0).abs() < 1e-6 && near.from_s >= 0.0);
        let axis = |range| Axis::new(range, 1_000.0);
        assert!((axis(whole).x(60.0) - axis(near).x(60.0)).abs() < 1e-6);
        assert_eq!(near.zoomed(100.0, 60.0, end), whole);
    }

    #[test]
    fn places_and_moments_agree() {
        let axis = Axis::new(Range { from_s: 10.0, to_s: 20.0 }, 1_000.0);
        for s in [10.0, 12.5, 20.0] {
            assert!((axis.seconds(axis.x(s)) - s).abs() < 1e-9);
        }
        assert_eq!((axis.seconds(-5.0), axis.x(99.0)), (10.0, axis.right));
    }
}
