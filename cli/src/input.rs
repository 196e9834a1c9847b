//! Scenario files: read, parsed, or rejected with all errors.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use zonefall_core::scenario::{MAX_BYTES, Scenario, default_scenario};

/// The scenario of a file, of standard input (`-`), or, without a file, the default one.
pub(crate) fn scenario(file: Option<&Path>) -> Result<Scenario> {
    match file {
        Some(file) => parse(file, &text(file)?),
        None => Scenario::from_json(default_scenario().json).context("the default scenario"),
    }
}

/// Whether this stands for standard input.
pub(crate) fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

fn name(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_owned() } else { file.display().to_string() }
}

/// The text of a file, or of standard input.
pub(crate) fn text(file: &Path) -> Result<String> {
    let (stdin, name) = (is_stdin(file), name(file));
    let source: Box<dyn Read> = if stdin { Box::new(std::io::stdin()) } else { Box::new(open(file)?) };
    // One byte too many is enough to know; some files (/dev/zero) have no end.
    let mut bytes = Vec::new();
    source.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        bail!("cannot read {name}: expected JSON in UTF-8");
    };
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned())
}

/// The scenario in the text of a file.
pub(crate) fn parse(file: &Path, text: &str) -> Result<Scenario> {
    Scenario::from_json(text).map_err(|errors| {
        let count = match errors.len() {
            1 => "1 error".to_owned(),
            n => format!("{n} errors"),
        };
        let list = errors.to_string().replace('\n', "\n  ");
        anyhow!("{}: {count}\n  {list}", name(file))
    })
}

/// Without a command in front, what is no file may have been meant as one.
fn open(file: &Path) -> Result<File> {
    File::open(file).map_err(|error| {
        let looks_like_a_command =
            error.kind() == ErrorKind::NotFound && file.extension().is_none() && file.components().count() == 1;
        let hint = if looks_like_a_command { " (it is not a command either: see `zonefall --help`)" } else { "" };
        anyhow!("cannot read {}: {error}{hint}", file.display())
    })
}
