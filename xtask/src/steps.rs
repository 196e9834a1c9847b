//! Runs steps one after the other: a heading, its output, its time, and a summary at the end.
//!
//! A failing step does not stop the ones after it: one run tells everything there is to mend.

use std::io::{BufRead, BufReader, IsTerminal};
use std::ops::AddAssign;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Tests as cargo counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl AddAssign for Tests {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// What a step returns: a remark for the summary.
pub(crate) type Outcome = Result<Option<String>>;

/// A named piece of work.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn() -> Outcome,
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

/// Runs a test command, passes its output on line by line and counts its `test result:` lines.
pub(crate) fn check_tests(command: &mut Command) -> Outcome {
    let shown = show(command);
    eprintln!("$ {shown}");
    if std::io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{shown}`"))?;
    let mut tests = Tests::default();
    let output = child.stdout.take().context("the output is piped")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tests += count(&line).unwrap_or_default();
    }
    let status = child.wait()?;
    let Tests { passed, failed, ignored } = tests;
    if !status.success() {
        bail!("{passed} tests passed, {failed} failed: `{shown}` ({status})");
    }
    if passed == 0 {
        bail!("`{shown}` ran no test: something is wrong with the harness");
    }
    Ok(Some(format!("{passed} tests passed, {ignored} ignored")))
}

/// The counts of a `test result:` line.
fn count(line: &str) -> Option<Tests> {
    let (_, result) = line.split_once("test result: ")?;
    let number = |what: &str| {
        let words: Vec<&str> = result.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        words.windows(2).find(|pair| pair[1] == what).and_then(|pair| pair[0].parse().ok())
    };
    Some(Tests { passed: number("passed")?, failed: number("failed")?, ignored: number("ignored").unwrap_or(0) })
}

/// A command as a person would type it, without the paths of its tools.
fn show(command: &Command) -> String {
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

fn seconds(took: Duration) -> String {
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
    fn result_lines_are_counted() {
        let check = |line: &str, expected: Option<[u64; 3]>| {
            let expected = expected.map(|[passed, failed, ignored]| Tests { passed, failed, ignored });
            assert_eq!(count(line), expected, "{line}");
        };
        check("test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.00s", Some([12, 0, 3]));
        check("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out", Some([1, 2, 0]));
        check("\x1b[32mtest result: ok. 2 passed; 0 failed; 0 ignored", Some([2, 0, 0]));
        check("test result: \x1b[32mok\x1b[0m. 2 passed; 0 failed; 0 ignored", Some([2, 0, 0]));
        check("test tests::result_lines_are_counted ... ok", None);
        check("", None);
    }

    #[test]
    fn commands_read_as_typed() {
        assert_eq!(
            show(Command::new("/usr/bin/cargo").args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings")),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps"
        );
    }
}
