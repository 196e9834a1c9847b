//! The commands that run nothing.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::CommandFactory;
use clap_complete::Shell;
use zonefall_core::scenario::{self, Modern};

use crate::args::Args;
use crate::output::{BAD, DIM, GOOD, print, width};
use crate::page::Page;
use crate::{BAD_INPUT, OK, input};

/// `zonefall check`: all errors of all files, and their old names; with `fix`, those are replaced.
pub(crate) fn check(files: &[PathBuf], fix: bool) -> Result<u8> {
    let mut text = String::new();
    let mut status = OK;
    for file in files {
        match check_file(file, fix) {
            Ok(names) => writeln!(text, "{GOOD}✓{GOOD:#} {}{names}", file.display())?,
            Err(error) => {
                status = BAD_INPUT;
                writeln!(text, "{BAD}✗{BAD:#} {error:#}")?;
            }
        }
    }
    print(&text)?;
    Ok(status)
}

/// What to say of a valid file's old names.
fn check_file(file: &Path, fix: bool) -> Result<String> {
    ensure!(!(fix && input::is_stdin(file)), "cannot fix standard input: expected a file name");
    let text = input::text(file)?;
    input::parse(file, &text)?;
    let Modern { text, renamed, .. } = scenario::modernize(&text);
    let count = match renamed.len() {
        0 => return Ok(String::new()),
        1 => "1 deprecated name".to_owned(),
        n => format!("{n} deprecated names"),
    };
    let done = if fix {
        std::fs::write(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
        "replaced"
    } else {
        "(`zonefall check --fix` replaces them)"
    };
    let list: Vec<_> = renamed.iter().map(|name| format!("\n  {DIM}{name}{DIM:#}")).collect();
    Ok(format!(": {count} {done}{}", list.concat()))
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
