//! Lines, bars and words on a drawing area, in pixels, in one style.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle};

use zonefall_core::report::{EtcdReport, OutageKind, Report};

use crate::Drawn;
use crate::frame::{Frame, Margins, Theme};
use crate::look::{Look, ORANGE, VERMILLION, dashed};
use crate::scale::ticks;

/// Height of ordinary words in pixels.
const SMALL: i32 = 12;
const TITLE: i32 = 15;
/// Width of a letter of ordinary words in pixels, at most on average.
const LETTER: f64 = 6.5;
/// Letters that a name needs to be understood; where fewer have room there are no names.
const FEWEST: usize = 8;

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
    frame: &'a Frame,
    pub(crate) left: i32,
    pub(crate) right: i32,
    pub(crate) top: i32,
    pub(crate) bottom: i32,
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    /// An empty sheet with a title and, under it, the unit of what is drawn; `usual` are the margins where the frame names none.
    pub(crate) fn new(
        area: &'a DrawingArea<DB, Shift>,
        frame: &'a Frame,
        usual: Margins,
        title: &str,
        unit: &str,
    ) -> Result<Self, Error<DB>> {
        let margins = frame.margins.unwrap_or(usual);
        let px = |v: i32| (f64::from(v) * frame.scale).round() as i32;
        area.fill(&frame.theme.paper)?;
        let (width, height) = area.dim_in_pixel();
        let (left, top) = (px(margins.left), px(margins.top));
        let (right, bottom) = (width as i32 - px(margins.right), height as i32 - px(margins.bottom));
        let canvas = Self { area, frame, left, right: right.max(left + 1), top, bottom: bottom.max(top + 1) };
        if frame.titled {
            canvas.words(px(12), px(16), title, TITLE, frame.theme.ink, Anchor::Start)?;
            canvas.label(px(12), px(40), unit, frame.theme.faint, Anchor::Start)?;
        } else {
            canvas.label(canvas.left, canvas.top - px(9), unit, frame.theme.faint, Anchor::Start)?;
        }
        Ok(canvas)
    }

    /// Colours of what has no colour of its own.
    pub(crate) fn theme(&self) -> &Theme {
        &self.frame.theme
    }

    /// A length on the paper in pixels of the drawing.
    pub(crate) fn px(&self, v: i32) -> i32 {
        (f64::from(v) * self.frame.scale).round() as i32
    }

    /// Where a moment stands on the horizontal axis; outside of the range at its edge.
    pub(crate) fn time(&self, s: f64) -> i32 {
        self.x((s - self.frame.from_s) / self.frame.length())
    }

    /// Marks of the time axis: grid lines, and their words where the chart stands alone.
    pub(crate) fn time_axis(&self) -> Drawn<DB> {
        for (at, words) in ticks(self.frame.from_s, self.frame.to_s, 8) {
            let share = (at - self.frame.from_s) / self.frame.length();
            self.x_tick(share, if self.frame.titled { &words } else { "" })?;
        }
        if self.frame.titled { self.x_title("simulated time") } else { Ok(()) }
    }

    /// Faults as faint bands behind the data.
    pub(crate) fn fault_bands(&self, report: &Report) -> Drawn<DB> {
        for fault in report.faults.iter().filter(|f| f.to_s >= self.frame.from_s && f.from_s <= self.frame.to_s) {
            let (from, to) = (self.time(fault.from_s), self.time(fault.to_s));
            self.bar((from, self.top), (to.max(from + 1), self.bottom), ORANGE, 0.08)?;
        }
        Ok(())
    }

    /// Outages of reads or writes as bands behind the data, exactly as long as they were: windows are too coarse for them.
    pub(crate) fn outage_bands(&self, cluster: &EtcdReport) -> Drawn<DB> {
        for (from_s, to_s) in
            outages(cluster).into_iter().filter(|(from, to)| *to >= self.frame.from_s && *from <= self.frame.to_s)
        {
            let (from, to) = (self.time(from_s), self.time(to_s));
            self.bar((from, self.top), (to.max(from + self.px(2)), self.bottom), VERMILLION, 0.16)?;
        }
        Ok(())
    }

    /// The line of a series over time, cut at the edges of the range. `share` from 0 (bottom) to 1 (top).
    pub(crate) fn series(&self, points: &[(f64, f64)], look: Look, width: u32) -> Drawn<DB> {
        self.styled(self.path(points), look, width)
    }

    /// What lies between two series that have the same moments, filled.
    pub(crate) fn layer(&self, low: &[(f64, f64)], high: &[(f64, f64)], colour: RGBColor) -> Drawn<DB> {
        let mut edge = self.path(high);
        edge.extend(self.path(low).into_iter().rev());
        self.area.draw(&Polygon::new(edge, colour.mix(0.75).filled()))
    }

    fn path(&self, points: &[(f64, f64)]) -> Vec<(i32, i32)> {
        let shown = clip(points, self.frame.from_s, self.frame.to_s);
        shown.into_iter().map(|(s, share)| (self.time(s), self.y(share))).collect()
    }

    /// Names of series at the right, beside the height they end at: a piece of the line, the words in ink. Without room for them
    /// the chart has none: what is around it names the series then.
    pub(crate) fn names(&self, mut series: Vec<(f64, String, Look)>) -> Drawn<DB> {
        let (from, to) = (self.right + self.px(6), self.right + self.px(22));
        let words = to + self.px(5);
        let room = f64::from(self.area.dim_in_pixel().0 as i32 - words) / self.frame.scale / LETTER;
        if room < FEWEST as f64 {
            return Ok(());
        }
        series.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut heights: Vec<i32> = series.iter().map(|(share, ..)| self.y(*share)).collect();
        apart(&mut heights, self.px(15), self.bottom);
        for ((_, text, look), y) in series.iter().zip(heights) {
            self.styled(vec![(from, y), (to, y)], *look, 3)?;
            self.label(words, y, &fitting(text, room as usize), self.frame.theme.ink, Anchor::Start)?;
        }
        Ok(())
    }

    /// A place on the horizontal axis, `share` from 0 (left) to 1 (right).
    pub(crate) fn x(&self, share: f64) -> i32 {
        self.left + (f64::from(self.right - self.left) * share.clamp(0.0, 1.0)).round() as i32
    }

    /// A place on the vertical axis, `share` from 0 (bottom) to 1 (top).
    pub(crate) fn y(&self, share: f64) -> i32 {
        self.bottom - (f64::from(self.bottom - self.top) * share.clamp(0.0, 1.0)).round() as i32
    }

    /// A line through points with the dashes of its look.
    fn styled(&self, points: Vec<(i32, i32)>, look: Look, width: u32) -> Drawn<DB> {
        let Some((on, off)) = look.dash else { return self.line(points, look.colour, width) };
        let scaled = |v: u32| (f64::from(v) * self.frame.scale).round() as u32;
        for piece in dashed(&points, (scaled(on), scaled(off))) {
            self.line(piece, look.colour, width)?;
        }
        Ok(())
    }

    /// A line through points, one or two pixels wide.
    pub(crate) fn line(&self, points: Vec<(i32, i32)>, colour: RGBColor, width: u32) -> Drawn<DB> {
        let width = (f64::from(width) * self.frame.scale).round() as u32;
        self.area.draw(&PathElement::new(points, colour.stroke_width(width)))
    }

    /// A filled bar between two corners.
    pub(crate) fn bar(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor, strength: f64) -> Drawn<DB> {
        let style: ShapeStyle = colour.mix(strength).filled();
        self.area.draw(&Rectangle::new([from, to], style))
    }

    /// A filled dot.
    pub(crate) fn dot(&self, at: (i32, i32), radius: i32, colour: RGBColor) -> Drawn<DB> {
        self.area.draw(&Circle::new(at, self.px(radius), colour.filled()))
    }

    /// Ordinary words.
    pub(crate) fn label(&self, x: i32, y: i32, text: &str, colour: RGBColor, anchor: Anchor) -> Drawn<DB> {
        self.words(x, y, text, SMALL, colour, anchor)
    }

    /// A vertical grid line with its value under it.
    pub(crate) fn x_tick(&self, share: f64, value: &str) -> Drawn<DB> {
        let x = self.x(share);
        self.line(vec![(x, self.top), (x, self.bottom)], self.frame.theme.grid, 1)?;
        self.label(x, self.bottom + self.px(12), value, self.frame.theme.faint, Anchor::Middle)
    }

    /// A horizontal grid line with its value left of it.
    pub(crate) fn y_tick(&self, share: f64, value: &str) -> Drawn<DB> {
        let y = self.y(share);
        self.line(vec![(self.left, y), (self.right, y)], self.frame.theme.grid, 1)?;
        self.label(self.left - self.px(8), y, value, self.frame.theme.faint, Anchor::End)
    }

    /// What the horizontal axis shows, under its values.
    pub(crate) fn x_title(&self, text: &str) -> Drawn<DB> {
        self.label(i32::midpoint(self.left, self.right), self.bottom + self.px(30), text, self.frame.theme.faint, Anchor::Middle)
    }

    fn words(&self, x: i32, y: i32, text: &str, size: i32, colour: RGBColor, anchor: Anchor) -> Drawn<DB> {
        let horizontal = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        if text.is_empty() {
            return Ok(());
        }
        let size = f64::from(size) * self.frame.scale;
        let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(horizontal, VPos::Center));
        self.area.draw(&Text::new(text.to_owned(), (x, y), style))
    }
}

pub(crate) type Error<DB> = plotters::drawing::DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;

/// About how wide a text of ordinary words is, in pixels; rather too much.
pub(crate) fn width(text: &str) -> i32 {
    text.chars().count() as i32 * 7
}

/// As much of a text as has at most `most` letters.
fn fitting(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

/// When reads or writes were unavailable; outages that touch are one.
fn outages(cluster: &EtcdReport) -> Vec<(f64, f64)> {
    let of_requests = cluster.outages.iter().filter(|outage| outage.kind != OutageKind::Quorum);
    let mut outages: Vec<(f64, f64)> = of_requests.map(|outage| (outage.from_s, outage.to_s)).collect();
    outages.sort_by(|a, b| a.0.total_cmp(&b.0));
    outages.dedup_by(|next, last| {
        let touch = next.0 <= last.1;
        if touch {
            last.1 = last.1.max(next.1);
        }
        touch
    });
    outages
}

/// A series between two moments; where it crosses one of them it is cut there.
fn clip(points: &[(f64, f64)], from: f64, to: f64) -> Vec<(f64, f64)> {
    let cut = |a: (f64, f64), b: (f64, f64), at: f64| (at, a.1 + (b.1 - a.1) * (at - a.0) / (b.0 - a.0));
    let mut shown = Vec::new();
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if b.0 < from || a.0 > to {
            continue;
        }
        let (a, b) = (if a.0 < from { cut(a, b, from) } else { a }, if b.0 > to { cut(a, b, to) } else { b });
        if shown.last() != Some(&a) {
            shown.push(a);
        }
        shown.push(b);
    }
    shown
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

    #[test]
    fn names_are_cut_where_the_screen_ends() {
        assert_eq!(fitting("p99 put → leader", 16), "p99 put → leader");
        assert_eq!(fitting("p99 put → leader", 10), "p99 put →…");
    }

    #[test]
    fn a_line_is_cut_at_the_edges() {
        let line = [(0.0, 0.0), (10.0, 1.0), (10.0, 0.0), (20.0, 0.0)];
        assert_eq!(clip(&line, 5.0, 15.0), [(5.0, 0.5), (10.0, 1.0), (10.0, 0.0), (15.0, 0.0)]);
        assert_eq!(clip(&line, 2.0, 4.0), [(2.0, 0.2), (4.0, 0.4)]);
        assert_eq!(clip(&line, 30.0, 40.0), []);
    }
}
