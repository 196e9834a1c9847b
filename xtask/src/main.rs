//! Developer commands of Zonefall: `cargo xtask <command>`.
//!
//! Nothing has to be installed by hand but Rust itself: what a step needs and the machine lacks, the step installs, or it says
//! what is missing and how to get it.

mod browser;
mod circles;
mod layers;
mod paths;
mod same;
mod steps;
mod suites;
mod test;
mod tidy;
mod tools;
mod web;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
Developer commands of Zonefall.

  cargo xtask test [STEP...]   everything that must hold before a change is merged, or only the steps named; with --deep also what
                               takes long: statistics over many runs, and the benchmarks' own tests
  cargo xtask tidy             only the rules that no compiler knows (file length, determinism, citations, leaks)
  cargo xtask bless            run the tests and accept what they generate (golden files, schema)
  cargo xtask same COMMIT      whether the working tree simulates what a commit did: some 1,600 runs, and the first record that differs
  cargo xtask validate         simulate what is published, and write docs/validation.md
  cargo xtask bench [ARG...]   the benchmarks, in release; with --web those of the page, in Chromium: weight by file, first picture,
                               frames with 1,000 shoots, 2,000 shoots from paste to verdict, each with its aim
  cargo xtask serve            the page on 127.0.0.1, rebuilt after each change; --release as it is shipped, --port N
  cargo xtask dist             the page as it is shipped, into dist/: for any static host
  cargo xtask screenshots      the README's pictures of the page, into docs/
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let Some((command, rest)) = args.split_first() else { bail!("no command\n\n{USAGE}") };
    if args.iter().any(|arg| ["help", "--help", "-h"].contains(&arg.as_str())) {
        print!("{USAGE}");
        return Ok(());
    }
    match command.as_str() {
        "test" => test::run(&rest.iter().filter(|arg| *arg != "--deep").cloned().collect::<Vec<_>>()),
        "tidy" => test::run(&["tidy".to_owned()]),
        "bless" => test::bless(),
        "validate" => {
            let test = ["test", "-p", "zonefall-tests", "--test", "it", "validation"];
            steps::check(cargo(&test).env("ZONEFALL_BLESS", "1"))
        }
        "same" => same::run(rest),
        "serve" => web::serve(rest),
        "dist" => web::dist(),
        "screenshots" => browser::screenshots(),
        "bench" if rest.iter().any(|arg| arg == "--web") => browser::bench(),
        "bench" => {
            let manifest = root().join("bench/Cargo.toml");
            steps::check(cargo(&["run", "--release", "--manifest-path"]).arg(manifest).arg("--").args(rest))
        }
        other => bail!("unknown command `{other}`\n\n{USAGE}"),
    }
}

/// Whether this call asks for what takes long, too.
fn deep() -> bool {
    std::env::args().any(|arg| arg == "--deep")
}

/// Tells tests so (`zonefall_tests::effort`), and which random cases are theirs.
const DEEP: &str = "ZONEFALL_DEEP";

/// The number of the first random case with `--deep`: another for each commit, so that nobody has run it before. Who sets the variable
/// repeats a run.
fn first_case() -> Result<String> {
    if let Ok(number) = std::env::var(DEEP) {
        return Ok(number);
    }
    let mut head = Command::new("git");
    let output = head.args(["rev-parse", "HEAD"]).current_dir(root()).output().context("cannot start `git`")?;
    let commit = String::from_utf8_lossy(&output.stdout).chars().take(7).collect::<String>();
    let number = u64::from_str_radix(&commit, 16).context("`git rev-parse HEAD` names no commit")?;
    // A million cases for each.
    Ok(((number + 1) * 1_000_000).to_string())
}

/// The top of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one level below the top")
}

/// Where cargo builds, and where tools are kept.
fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The cargo that runs this program, with these arguments, at the top of the repository.
fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}
