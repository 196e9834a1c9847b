//! The scenarios that every program carries: the command line, the web page and the tests show and run the same files.
//!
//! A list rather than a build script: adding a scenario is one word here, and the tidy test says so when it is missing.

/// A scenario file as it stands in `scenarios/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundled {
    /// Its name: `scenarios/<name>.json`.
    pub name: &'static str,
    /// Its JSON.
    pub text: &'static str,
}

macro_rules! bundled {
    ($($name:literal),* $(,)?) => {
        &[$(Bundled { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".json")) }),*]
    };
}

/// All of them, the one to show first in front.
pub const SCENARIOS: &[Bundled] = bundled![];
