//! Values of windows of equal length: steps of a line, with gaps where a window has no value.

/// The steps of each stretch of windows that have a value: seconds and value. The last window ends with the run.
pub(crate) fn pieces(values: impl IntoIterator<Item = Option<f64>>, window_s: f64, end_s: f64) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for (i, value) in values.into_iter().enumerate() {
        let from_s = i as f64 * window_s;
        match (value, pieces.last_mut()) {
            (Some(value), Some(piece)) => piece.extend([(from_s, value), ((from_s + window_s).min(end_s), value)]),
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// The last value between two moments: where a line ends that is shown from the one to the other.
pub(crate) fn last(values: impl IntoIterator<Item = Option<f64>>, window_s: f64, (from_s, to_s): (f64, f64)) -> Option<f64> {
    let shown = |i: usize| i as f64 * window_s < to_s && (i + 1) as f64 * window_s > from_s;
    values.into_iter().enumerate().filter(|(i, _)| shown(*i)).filter_map(|(_, value)| value).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_without_a_value_is_a_gap() {
        let pieces = pieces([Some(1.0), None, Some(2.0), Some(3.0)], 10.0, 35.0);
        assert_eq!(pieces, [vec![(0.0, 1.0), (10.0, 1.0)], vec![(20.0, 2.0), (30.0, 2.0), (30.0, 3.0), (35.0, 3.0)]]);
    }

    #[test]
    fn a_line_ends_with_what_is_shown() {
        let values = [Some(1.0), Some(2.0), None, Some(4.0)];
        let check = |from_s, to_s, expected| assert_eq!(last(values, 10.0, (from_s, to_s)), expected, "{from_s} to {to_s} s");
        check(0.0, 5.0, Some(1.0));
        check(0.0, 20.0, Some(2.0));
        check(0.0, 25.0, Some(2.0));
        check(0.0, 99.0, Some(4.0));
        check(21.0, 29.0, None);
        check(15.0, 29.0, Some(2.0));
    }
}
