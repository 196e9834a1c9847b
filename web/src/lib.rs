//! Zonefall in a browser: one program for the page and for the worker that simulates.
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
