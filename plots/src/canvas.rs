//! Lines, bars and words on a drawing area, in pixels, in one style.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle};

use crate::Drawn;

/// Words and axes.
pub(crate) const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
/// Less important words.
pub(crate) const FAINT: RGBColor = RGBColor(0x77, 0x77, 0x77);
/// The grid.
pub(crate) const GRID: RGBColor = RGBColor(0xe6, 0xe6, 0xe6);
/// Lines of what has no colour of its own.
pub(crate) const PLAIN: RGBColor = RGBColor(0xbb, 0xbb, 0xbb);
const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// Okabe and Ito's colours, black and yellow left out (one is ink, the other too light for a line).
pub(crate) const COLOURS: [RGBColor; 6] = [BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION];
pub(crate) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub(crate) const ORANGE: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
pub(crate) const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
pub(crate) const PURPLE: RGBColor = RGBColor(0xcc, 0x79, 0xa7);
pub(crate) const SKY: RGBColor = RGBColor(0x56, 0xb4, 0xe9);
pub(crate) const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

/// Height of ordinary words in pixels.
pub(crate) const SMALL: i32 = 12;
const TITLE: i32 = 15;

/// Where words stand relative to their point; always centred vertically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// They begin there.
    Start,
    /// They are centred there.
    Middle,
    /// They end there.
    End,
}

/// A drawing area and the rectangle in it that data is drawn in (`left < right`, `top < bottom`, in pixels).
pub(crate) struct Canvas<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    pub(crate) left: i32,
    pub(crate) right: i32,
    pub(crate) top: i32,
    pub(crate) bottom: i32,
}

/// Room around the data, in pixels.
pub(crate) struct Margins {
    pub(crate) left: i32,
    pub(crate) right: i32,
    pub(crate) top: i32,
    pub(crate) bottom: i32,
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    /// An empty sheet with a title.
    pub(crate) fn new(area: &'a DrawingArea<DB, Shift>, margins: &Margins, title: &str) -> Result<Self, Error<DB>> {
        area.fill(&PAPER)?;
        let (width, height) = area.dim_in_pixel();
        let (right, bottom) = (width as i32 - margins.right, height as i32 - margins.bottom);
        let canvas = Self {
            area,
            left: margins.left,
            right: right.max(margins.left + 1),
            top: margins.top,
            bottom: bottom.max(margins.top + 1),
        };
        canvas.words(12, 16, title, TITLE, INK, Anchor::Start)?;
        Ok(canvas)
    }

    /// A place on the horizontal axis, `share` from 0 (left) to 1 (right).
    pub(crate) fn x(&self, share: f64) -> i32 {
        self.left + (f64::from(self.right - self.left) * share.clamp(0.0, 1.0)).round() as i32
    }

    /// A place on the vertical axis, `share` from 0 (bottom) to 1 (top).
    pub(crate) fn y(&self, share: f64) -> i32 {
        self.bottom - (f64::from(self.bottom - self.top) * share.clamp(0.0, 1.0)).round() as i32
    }

    /// A line through points, one or two pixels wide.
    pub(crate) fn line(&self, points: Vec<(i32, i32)>, colour: RGBColor, width: u32) -> Drawn<DB> {
        self.area.draw(&PathElement::new(points, colour.stroke_width(width)))
    }

    /// A filled bar between two corners.
    pub(crate) fn bar(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor, strength: f64) -> Drawn<DB> {
        let style: ShapeStyle = colour.mix(strength).filled();
        self.area.draw(&Rectangle::new([from, to], style))
    }

    /// A filled dot.
    pub(crate) fn dot(&self, at: (i32, i32), radius: i32, colour: RGBColor) -> Drawn<DB> {
        self.area.draw(&Circle::new(at, radius, colour.filled()))
    }

    /// Ordinary words.
    pub(crate) fn label(&self, x: i32, y: i32, text: &str, colour: RGBColor, anchor: Anchor) -> Drawn<DB> {
        self.words(x, y, text, SMALL, colour, anchor)
    }

    /// A vertical grid line with its value under it.
    pub(crate) fn x_tick(&self, share: f64, value: &str) -> Drawn<DB> {
        let x = self.x(share);
        self.line(vec![(x, self.top), (x, self.bottom)], GRID, 1)?;
        self.label(x, self.bottom + 12, value, FAINT, Anchor::Middle)
    }

    /// A horizontal grid line with its value left of it.
    pub(crate) fn y_tick(&self, share: f64, value: &str) -> Drawn<DB> {
        let y = self.y(share);
        self.line(vec![(self.left, y), (self.right, y)], GRID, 1)?;
        self.label(self.left - 8, y, value, FAINT, Anchor::End)
    }

    /// What the horizontal axis shows, under its values.
    pub(crate) fn x_title(&self, text: &str) -> Drawn<DB> {
        self.label(i32::midpoint(self.left, self.right), self.bottom + 30, text, FAINT, Anchor::Middle)
    }

    fn words(&self, x: i32, y: i32, text: &str, size: i32, colour: RGBColor, anchor: Anchor) -> Drawn<DB> {
        let horizontal = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(horizontal, VPos::Center));
        self.area.draw(&Text::new(text.to_owned(), (x, y), style))
    }
}

pub(crate) type Error<DB> = plotters::drawing::DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;

/// About how wide a text of ordinary words is, in pixels; rather too much.
pub(crate) fn width(text: &str) -> i32 {
    text.chars().count() as i32 * 7
}

/// Moves labels, given with the height they would like to stand at and sorted by it, so far apart that each can be read.
pub(crate) fn apart(heights: &mut [i32], least: i32, bottom: i32) {
    for i in 1..heights.len() {
        heights[i] = heights[i].max(heights[i - 1] + least);
    }
    let mut limit = bottom;
    for height in heights.iter_mut().rev() {
        *height = (*height).min(limit);
        limit = *height - least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_stay_above_the_bottom() {
        let mut heights = [10, 12, 95, 99];
        apart(&mut heights, 14, 100);
        assert_eq!(heights, [10, 24, 86, 100]);
    }
}
