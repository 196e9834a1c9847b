//! The commands that run nothing.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;
use zonefall_core::scenario;

use crate::args::Args;
use crate::output::{BAD, GOOD, print, width};
use crate::page::Page;
use crate::{BAD_INPUT, OK, input};

/// `zonefall check`: all errors of all files.
pub(crate) fn check(files: &[PathBuf]) -> Result<u8> {
    let mut text = String::new();
    let mut status = OK;
    for file in files {
        match input::scenario(Some(file)) {
            Ok(_) => writeln!(text, "{GOOD}✓{GOOD:#} {}", file.display())?,
            Err(error) => {
                status = BAD_INPUT;
                writeln!(text, "{BAD}✗{BAD:#} {error:#}")?;
            }
        }
    }
    print(&text)?;
    Ok(status)
}

/// `zonefall schema`.
pub(crate) fn schema() -> Result<u8> {
    print(&(serde_json::to_string_pretty(&scenario::schema())? + "\n"))?;
    Ok(OK)
}

/// `zonefall defaults`.
pub(crate) fn defaults() -> Result<u8> {
    let rows = scenario::defaults().into_iter().map(|row| vec![row.path, row.value, row.source]);
    print(&Page::new(width()).whole_table(&["field", "default", "source"], rows.collect(), &[]))?;
    Ok(OK)
}

/// `zonefall completions`.
pub(crate) fn completions(shell: Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "zonefall", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(OK)
}
