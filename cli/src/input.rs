//! Scenario files: read, parsed, or refused with everything that is wrong.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use zonefall_core::scenario::{Scenario, default_scenario};

/// The scenario of a file, of standard input (`-`), or, without a file, the default one.
pub(crate) fn scenario(file: Option<&Path>) -> Result<Scenario> {
    let Some(file) = file else {
        return Scenario::from_json(default_scenario().json).context("the default scenario");
    };
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        text
    } else {
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
    };
    Scenario::from_json(&text).map_err(|errors| {
        let count = match errors.len() {
            1 => "1 error".to_owned(),
            n => format!("{n} errors"),
        };
        let list = errors.to_string().replace('\n', "\n  ");
        anyhow!("{}: {count}\n  {list}", file.display())
    })
}
