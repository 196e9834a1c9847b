//! How a chart is framed: which part of the run, room around it, colours, size.

use plotters::style::RGBColor;
use zonefall_core::report::Report;

/// Room around the data, in pixels before scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Margins {
    /// Pixels on the left.
    pub left: i32,
    /// Pixels on the right.
    pub right: i32,
    /// Pixels at the top.
    pub top: i32,
    /// Pixels at the bottom.
    pub bottom: i32,
}

/// Colours of what is not data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theme {
    /// The sheet.
    pub paper: RGBColor,
    /// Colour of text.
    pub ink: RGBColor,
    /// Less important words.
    pub faint: RGBColor,
    /// The grid.
    pub grid: RGBColor,
    /// Lines of what has no colour of its own.
    pub plain: RGBColor,
}

impl Theme {
    /// Dark on light.
    pub const LIGHT: Self = Self {
        paper: RGBColor(0xff, 0xff, 0xff),
        ink: RGBColor(0x1d, 0x20, 0x29),
        faint: RGBColor(0x57, 0x5d, 0x6b),
        grid: RGBColor(0xe6, 0xe8, 0xee),
        plain: RGBColor(0xb4, 0xb8, 0xc2),
    };
    /// Light on dark.
    pub const DARK: Self = Self {
        paper: RGBColor(0x17, 0x19, 0x1f),
        ink: RGBColor(0xe6, 0xe8, 0xee),
        faint: RGBColor(0xa3, 0xa9, 0xb8),
        grid: RGBColor(0x2b, 0x2e, 0x38),
        plain: RGBColor(0x5a, 0x60, 0x6e),
    };
}

/// A chart's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// What is shown begins here, in seconds.
    pub from_s: f64,
    /// What is shown ends here, in seconds; later than `from_s`.
    pub to_s: f64,
    /// Instead of the chart's own.
    pub margins: Option<Margins>,
    /// Colours of the chart.
    pub theme: Theme,
    /// Pixels of the drawing per pixel of the margins, fonts and lines: 2 on a high-density screen.
    pub scale: f64,
    /// With a title, the words of the time axis and the kinds of a bill; without, something around the chart says them.
    pub titled: bool,
}

impl Frame {
    /// All of a run, on white, with a title.
    pub fn whole(report: &Report) -> Self {
        let to_s = report.simulated_s.max(f64::MIN_POSITIVE);
        Self { from_s: 0.0, to_s, margins: None, theme: Theme::LIGHT, scale: 1.0, titled: true }
    }

    /// Length of what is shown, in seconds.
    pub fn length(&self) -> f64 {
        self.to_s - self.from_s
    }
}
