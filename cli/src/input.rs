//! Scenario files: read, parsed, or refused with everything that is wrong.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use zonefall_core::scenario::{MAX_BYTES, Scenario, default_scenario};

/// The scenario of a file, of standard input (`-`), or, without a file, the default one.
pub(crate) fn scenario(file: Option<&Path>) -> Result<Scenario> {
    let Some(file) = file else {
        return Scenario::from_json(default_scenario().json).context("the default scenario");
    };
    let stdin = file == Path::new("-");
    let name = if stdin { "standard input".to_owned() } else { file.display().to_string() };
    let source: Box<dyn Read> = if stdin { Box::new(std::io::stdin()) } else { Box::new(open(file)?) };
    // One byte too many is enough to know; some files (/dev/zero) have no end.
    let mut bytes = Vec::new();
    source.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        bail!("cannot read {name}: it is no text in UTF-8; a scenario is JSON");
    };
    Scenario::from_json(text.strip_prefix('\u{feff}').unwrap_or(text)).map_err(|errors| {
        let count = match errors.len() {
            1 => "1 error".to_owned(),
            n => format!("{n} errors"),
        };
        let list = errors.to_string().replace('\n', "\n  ");
        anyhow!("{name}: {count}\n  {list}")
    })
}

/// Without a command in front, what is no file may have been meant as one.
fn open(file: &Path) -> Result<File> {
    File::open(file).map_err(|error| {
        let looks_like_a_command =
            error.kind() == ErrorKind::NotFound && file.extension().is_none() && file.components().count() == 1;
        let hint = if looks_like_a_command { " (nor is it a command: see `zonefall --help`)" } else { "" };
        anyhow!("cannot read {}: {error}{hint}", file.display())
    })
}
