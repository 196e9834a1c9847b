//! Runs steps one after the other: a heading, its output, its time, and a summary at the end.
//!
//! A failing step does not stop the ones after it: one run tells everything there is to fix.

use std::io::IsTerminal;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// What a step returns: a remark for the summary.
pub(crate) type Outcome = Result<Option<String>>;

/// A named piece of work.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn() -> Outcome,
    pub(crate) when: When,
}

/// Which calls run a step that they do not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// All that name none.
    Always,
    /// Those with `--deep`.
    Deep,
    /// None: it is a part of another step.
    Named,
}

/// Runs `steps` in order and prints the summary; an error if any failed.
pub(crate) fn run_all<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Result<()> {
    let started = Instant::now();
    let mut summary = Vec::new();
    let mut failed = Vec::new();
    for step in steps {
        let (bold, plain) = bold();
        eprintln!("\n{bold}=== {}: {}{plain}", step.name, step.about);
        let step_started = Instant::now();
        let outcome = (step.run)();
        let took = seconds(step_started.elapsed());
        let (verdict, remark) = match outcome {
            Ok(remark) => ("ok", remark.unwrap_or_default()),
            Err(error) => {
                eprintln!("error: {error:#}");
                failed.push(step.name);
                ("FAILED", error.to_string().lines().next().unwrap_or_default().to_owned())
            }
        };
        eprintln!("--- {}: {verdict} in {took}", step.name);
        summary.push(format!("{:<12} {verdict:<7} {took:>8}  {remark}", step.name));
    }
    let (bold, plain) = bold();
    eprintln!("\n{bold}=== summary{plain}\n{}", summary.join("\n").replace(" \n", "\n"));
    eprintln!("all steps took {}", seconds(started.elapsed()));
    if !failed.is_empty() {
        bail!("failed: {}. Again: cargo xtask test {}", failed.join(", "), failed.join(" "));
    }
    Ok(())
}

/// Runs a command and fails if it does.
pub(crate) fn check(command: &mut Command) -> Result<()> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Ends this program by turning it into a command, so that whoever ends this program ends the command; where a system cannot, waits.
pub(crate) fn replace_with(command: &mut Command) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let shown = show(command);
        eprintln!("$ {shown}");
        Err(command.exec()).with_context(|| format!("cannot start `{shown}`"))
    }
    #[cfg(not(unix))]
    check(command)
}

/// Runs a command and gives what it printed, error output included; what it printed is in the error, too.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    let printed = format!("$ {shown}\n{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        bail!("`{shown}` failed ({})\n{printed}", output.status);
    }
    Ok(printed)
}

/// A command as a person would type it, without the paths of its tools.
pub(crate) fn show(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value.filter(|value| !value.display().to_string().contains(std::path::MAIN_SEPARATOR)) {
            words.push(format!("{}={:?}", name.display(), value.display().to_string()));
        }
    }
    let program = std::path::Path::new(command.get_program());
    words.push(program.file_name().unwrap_or(program.as_os_str()).display().to_string());
    words.extend(command.get_args().map(|arg| arg.display().to_string()));
    words.join(" ")
}

pub(crate) fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

/// Escape codes for bold and back, on a terminal.
fn bold() -> (&'static str, &'static str) {
    if std::io::stderr().is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("", "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_read_as_typed() {
        assert_eq!(
            show(Command::new("/usr/bin/cargo").args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings")),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps"
        );
    }
}
