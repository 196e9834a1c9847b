//! What one sees: components that draw a [`State`](crate::state::State) and send [`Action`](crate::state::Action)s.
//!
//! ```text
//!   Page (owns nothing but what is shown: range, cluster)
//!     Header | Verdict, Tiles, Health, Map | Inspector | Timeline | Tabs | overlays
//! ```
//!
//! The playhead moves sixty times a second. Components that do not show it take parts of the state as [`same::Same`], which compare as
//! pointers, and so are left alone; what moves each frame is a line, a clock and a canvas. No style attribute is ever written (the
//! content security policy forbids them): geometry is SVG attributes, and the rest classes.

#[cfg(target_arch = "wasm32")]
pub mod app;
pub mod commands;
#[cfg(test)]
mod contrast;
pub mod export;
pub mod focus;
mod header;
mod health;
pub mod hover;
pub mod icon;
pub mod inspector;
mod keys;
mod kind;
pub mod labels;
pub mod map;
mod menu;
pub mod overlay;
mod page;
pub mod same;
pub mod size;
mod slot;
mod steady;
pub mod tabs;
#[cfg(test)]
mod tests;
mod tiles;
pub mod timeline;
mod verdict;
mod watched;

pub use page::{Page, PageProps};
