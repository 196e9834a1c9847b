//! Values of windows of equal length: steps of a line, with gaps where a window has no value.

use zonefall_core::report::{CloseUp, Report};

/// Windows laid end to end.
#[expect(clippy::struct_field_names, reason = "all are seconds")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    /// Where the first begins.
    pub(crate) from_s: f64,
    /// How long each is; the last may be shorter.
    pub(crate) length_s: f64,
    /// Where the last ends.
    pub(crate) end_s: f64,
}

impl Windows {
    /// Those of a part of the run, or else those of all of it.
    pub(crate) fn of(report: &Report, close_up: Option<&CloseUp>) -> Self {
        match close_up {
            Some(part) => Self { from_s: part.from_s, length_s: part.window_s, end_s: part.to_s },
            // Windows of latency and traffic are as long.
            None => Self { from_s: 0.0, length_s: report.latency_window_s, end_s: report.simulated_s },
        }
    }

    /// The steps of each stretch of windows that have a value: seconds and value.
    pub(crate) fn pieces(&self, values: impl IntoIterator<Item = Option<f64>>) -> Vec<Vec<(f64, f64)>> {
        let mut pieces: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
        for (i, value) in values.into_iter().enumerate() {
            let from_s = self.start_s(i);
            match (value, pieces.last_mut()) {
                (Some(value), Some(piece)) => piece.extend([(from_s, value), ((from_s + self.length_s).min(self.end_s), value)]),
                _ => pieces.push(Vec::new()),
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// The last value between two moments: where a line ends that is shown from the one to the other.
    pub(crate) fn last(&self, values: impl IntoIterator<Item = Option<f64>>, (from_s, to_s): (f64, f64)) -> Option<f64> {
        let shown = |i: usize| self.start_s(i) < to_s && self.start_s(i + 1) > from_s;
        values.into_iter().enumerate().filter(|(i, _)| shown(*i)).filter_map(|(_, value)| value).last()
    }

    /// The value of the window of a moment, of one per window.
    pub(crate) fn at<T: Copy>(&self, values: &[T], at_s: f64) -> Option<T> {
        let since_s = at_s - self.from_s;
        if since_s < 0.0 { None } else { values.get((since_s / self.length_s) as usize).copied() }
    }

    fn start_s(&self, i: usize) -> f64 {
        self.from_s + i as f64 * self.length_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_without_a_value_is_a_gap() {
        let windows = Windows { from_s: 100.0, length_s: 10.0, end_s: 135.0 };
        let pieces = windows.pieces([Some(1.0), None, Some(2.0), Some(3.0)]);
        assert_eq!(pieces, [vec![(100.0, 1.0), (110.0, 1.0)], vec![(120.0, 2.0), (130.0, 2.0), (130.0, 3.0), (135.0, 3.0)]]);
    }

    #[test]
    fn a_line_ends_with_what_is_shown() {
        let windows = Windows { from_s: 100.0, length_s: 10.0, end_s: 140.0 };
        let values = [Some(1.0), Some(2.0), None, Some(4.0)];
        let check = |from_s, to_s, expected| assert_eq!(windows.last(values, (from_s, to_s)), expected, "{from_s} to {to_s} s");
        check(100.0, 105.0, Some(1.0));
        check(100.0, 120.0, Some(2.0));
        check(100.0, 125.0, Some(2.0));
        check(100.0, 199.0, Some(4.0));
        check(121.0, 129.0, None);
        check(115.0, 129.0, Some(2.0));
    }

    #[test]
    fn a_moment_has_the_value_of_its_window() {
        let windows = Windows { from_s: 100.0, length_s: 10.0, end_s: 120.0 };
        let check = |at_s, expected| assert_eq!(windows.at(&[1, 2], at_s), expected, "{at_s} s");
        check(99.9, None);
        check(100.0, Some(1));
        check(110.0, Some(2));
        check(120.0, None);
    }
}
