//! The web page in Chromium: a server for the built page, a driver of the browser, and the words that stories are told in.
//!
//! ```text
//! story --> Page --> Driver --WebDriver--> chromedriver --> Chromium
//!            `--> Server <----------------HTTP----------------'
//! ```
//!
//! `cargo xtask test browser` builds the page, makes sure of Chromium and runs the stories (`tests/stories`); without the feature
//! `chromium` this package is empty.
#![cfg(feature = "chromium")]

mod browser;
pub mod driver;
pub mod measure;
pub mod node;
pub mod page;
mod process;
pub mod server;

use std::path::PathBuf;

/// A path that `cargo xtask` hands over.
///
/// # Panics
/// If it does not.
pub fn given(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable);
    value.unwrap_or_else(|| panic!("{variable} is not set: `cargo xtask test browser` sets it")).into()
}
