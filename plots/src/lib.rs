//! Charts of a [`Report`](zonefall_core::report::Report), for any plotters backend: SVG on the command line, a canvas in the browser.
//!
//! Each chart is a function of the report and a drawing area, and fills the area. Nothing here looks at fonts of the system (none may be
//! there), so every text stands where it needs no measuring: beside its line, at a side, with room to spare. Thin lines, direct labels
//! instead of legends, a light grid, units on the axes; colours that people with colour blindness tell apart (Okabe and Ito).

#![expect(clippy::cast_possible_wrap, reason = "pixels: no drawing has two billion of them")]

pub mod availability;
pub mod bill;
pub mod latency;
pub mod timeline;
pub mod traffic;

mod canvas;
mod frame;
mod look;
mod scale;
mod windows;

pub use frame::{Frame, Margins, Theme};
pub use look::Look;
pub use scale::ticks;

use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::DrawingBackend;

/// Whether a chart could be drawn.
pub type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;
