//! How the lines of series look, so that no two are taken for each other: by colour, then by dashes.

use plotters::style::RGBColor;

/// Okabe and Ito's colours, black and yellow left out (one is ink, the other too light for a line).
pub(crate) const COLOURS: [RGBColor; 6] = [BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION];
pub(crate) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub(crate) const ORANGE: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
pub(crate) const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
pub(crate) const PURPLE: RGBColor = RGBColor(0xcc, 0x79, 0xa7);
pub(crate) const SKY: RGBColor = RGBColor(0x56, 0xb4, 0xe9);
pub(crate) const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

/// Colour and dashes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub(crate) colour: RGBColor,
    /// Pixels with ink and without, in turn; `None`: all of it is ink.
    pub(crate) dash: Option<(u32, u32)>,
}

impl Look {
    /// The look of a chart's series by number, from 0: a colour each, then the same colours dashed, then dotted.
    #[must_use]
    pub fn of(number: usize) -> Self {
        const DASHES: [Option<(u32, u32)>; 3] = [None, Some((7, 4)), Some((2, 3))];
        Self { colour: COLOURS[number % COLOURS.len()], dash: DASHES[number / COLOURS.len() % DASHES.len()] }
    }

    pub(crate) const fn solid(colour: RGBColor) -> Self {
        Self { colour, dash: None }
    }

    /// The colour, as SVG and CSS write it.
    #[must_use]
    pub fn stroke(&self) -> String {
        let RGBColor(r, g, b) = self.colour;
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// The dashes, as SVG writes them.
    #[must_use]
    pub fn dashes(&self) -> String {
        self.dash.map_or_else(|| "none".to_owned(), |(on, off)| format!("{on} {off}"))
    }
}

/// The pieces of a line that have ink; `dash` in pixels, both more than 0.
pub(crate) fn dashed(points: &[(i32, i32)], (on, off): (u32, u32)) -> Vec<Vec<(i32, i32)>> {
    let (on, off) = (f64::from(on.max(1)), f64::from(off.max(1)));
    let mut pieces = Vec::new();
    let mut piece: Vec<(i32, i32)> = points.first().copied().into_iter().collect();
    let (mut ink, mut left) = (true, on);
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = libm::hypot(dx, dy);
        let at = |gone: f64| (from.0 + (dx * gone / length).round() as i32, from.1 + (dy * gone / length).round() as i32);
        let mut gone = 0.0;
        while length - gone >= left {
            gone += left;
            piece.push(at(gone));
            if ink {
                pieces.push(std::mem::take(&mut piece));
            }
            ink = !ink;
            left = if ink { on } else { off };
            piece = vec![at(gone)];
        }
        left -= length - gone;
        if ink && length > gone {
            piece.push(to);
        }
    }
    if ink && piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighteen_series_look_different() {
        let looks: Vec<Look> = (0..18).map(Look::of).collect();
        assert!(looks.iter().enumerate().all(|(i, look)| !looks[..i].contains(look)));
        assert_eq!((looks[0].stroke(), looks[0].dashes()), ("#0072b2".to_owned(), "none".to_owned()));
        assert_eq!((looks[6].stroke(), looks[6].dashes()), ("#0072b2".to_owned(), "7 4".to_owned()));
    }

    #[test]
    fn dashes_go_round_corners() {
        let corner = [(0, 0), (10, 0), (10, 10)];
        assert_eq!(dashed(&corner, (4, 4)), [vec![(0, 0), (4, 0)], vec![(8, 0), (10, 0), (10, 2)], vec![(10, 6), (10, 10)]]);
        assert_eq!(dashed(&corner, (40, 4)), [vec![(0, 0), (10, 0), (10, 10)]]);
        assert_eq!(dashed(&[], (4, 4)), Vec::<Vec<(i32, i32)>>::new());
    }
}
