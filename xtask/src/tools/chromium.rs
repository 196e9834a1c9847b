//! Chromium and its driver: from the path, or from Debian's packages.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::{apt_install, succeeds};

/// What the browser tests start.
pub(crate) struct Chromium {
    pub(crate) browser: PathBuf,
    pub(crate) driver: PathBuf,
}

/// Chromium and its driver, found or installed.
pub(crate) fn chromium() -> Result<Chromium> {
    const HELP: &str = "Chromium or its driver is missing: put `chromium` (or `google-chrome`) and `chromedriver`, both of one \
        version, on the path, or set CHROMIUM and CHROMEDRIVER";
    if let Some(found) = find() {
        return Ok(found);
    }
    apt_install(&["chromium", "chromium-driver"]).context(HELP)?;
    find().context(HELP)
}

fn find() -> Option<Chromium> {
    let program = |variable: &str, names: &[&str]| {
        let given = std::env::var_os(variable).map(PathBuf::from);
        let candidates = given.into_iter().chain(names.iter().filter_map(|name| on_path(name)));
        candidates.into_iter().find(|program| succeeds(Command::new(program).arg("--version")))
    };
    let browser = program("CHROMIUM", &["chromium", "chromium-browser", "google-chrome"])?;
    Some(Chromium { browser, driver: program("CHROMEDRIVER", &["chromedriver"])? })
}

/// Where a program lies: the driver does not look for the browser on the path.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}
