//! Zonefall in a browser: what the page's program (`main.rs`) and that of the worker which simulates (`bin/zonefall-engine.rs`) are
//! made of.
//!
//! ```text
//!   view (Yew) --Action--> state --Effect--> page --Ask--> engine (Web Worker) --Tell--> state
//! ```
//!
//! [`engine`] and [`state`] know nothing of a browser, but for the files that say so.

pub mod engine;
pub mod form;
pub mod page;
pub mod state;
pub mod view;
