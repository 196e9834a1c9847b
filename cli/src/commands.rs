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

/// `zonefall check`: all errors of all files, their warnings and their old names; with `fix`, old names are replaced.
pub(crate) fn check(files: &[PathBuf], fix: bool) -> Result<u8> {
    let mut text = String::new();
    let mut status = OK;
    for file in files {
        match check_file(file, fix) {
            Ok(notes) => writeln!(text, "{GOOD}✓{GOOD:#} {}{notes}", file.display())?,
            Err(error) => {
                status = BAD_INPUT;
                writeln!(text, "{BAD}✗{BAD:#} {error:#}")?;
            }
        }
    }
    print(&text)?;
    Ok(status)
}

/// What to say of a valid file: what it probably does not mean, and its old names.
fn check_file(file: &Path, fix: bool) -> Result<String> {
    ensure!(!(fix && input::is_stdin(file)), "cannot fix standard input: expected a file name");
    let text = input::text(file)?;
    let warnings = input::parse(file, &text)?.warnings;
    let Modern { text, renamed, .. } = scenario::modernize(&text);
    let mut counts = Vec::new();
    if !warnings.is_empty() {
        counts.push(count(warnings.len(), "warning"));
    }
    if !renamed.is_empty() {
        let done = if fix {
            std::fs::write(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
            "replaced"
        } else {
            "(`zonefall check --fix` replaces them)"
        };
        counts.push(format!("{} {done}", count(renamed.len(), "deprecated name")));
    }
    if counts.is_empty() {
        return Ok(String::new());
    }
    let all = warnings.iter().map(ToString::to_string).chain(renamed.iter().map(ToString::to_string));
    let list: Vec<_> = all.map(|one| format!("\n  {DIM}{one}{DIM:#}")).collect();
    Ok(format!(": {}{}", counts.join(", "), list.concat()))
}

/// `1 warning`, `2 warnings`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
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
