//! Tools a step needs: found, or installed where the machine can, or named with the way to get them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{cargo, root, steps, target_dir};

/// The target of everything that runs in a browser.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Makes sure of a part of the toolchain that `rustup component add` brings, known by the command it adds to cargo.
pub(crate) fn component(name: &str, command: &str) -> Result<()> {
    if succeeds(&mut cargo(&[command, "--version"])) {
        return Ok(());
    }
    steps::check(Command::new("rustup").args(["component", "add", name]).current_dir(root())).with_context(|| {
        format!("cargo {command} is missing: install it as your Rust was installed (rustup component add {name})")
    })
}

/// Makes sure of the standard library for wasm32.
pub(crate) fn wasm_target() -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", WASM]).current_dir(root()).output()?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if output.status.success() && folder.is_dir() {
        return Ok(());
    }
    steps::check(Command::new("rustup").args(["target", "add", WASM]).current_dir(root()))
        .with_context(|| format!("Rust has no {WASM} here: install it as your Rust was installed (rustup target add {WASM})"))
}

/// The runner of wasm tests, of exactly the version of `wasm-bindgen` in Cargo.lock: any other refuses the test's binary.
///
/// Taken from the path if it is there in that version; otherwise built once into the target folder (`tools/`), where it stays.
pub(crate) fn wasm_test_runner() -> Result<PathBuf> {
    const RUNNER: &str = "wasm-bindgen-test-runner";
    let lock = std::fs::read_to_string(root().join("Cargo.lock"))?;
    let version = locked_version(&lock, "wasm-bindgen").context("Cargo.lock names no version of wasm-bindgen")?;
    let right = |runner: &Path| {
        let output = Command::new(runner).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).split_whitespace().nth(1) == Some(version))
    };
    if right(Path::new(RUNNER)) {
        return Ok(RUNNER.into());
    }
    let folder = target_dir().join("tools").join(format!("wasm-bindgen-{version}"));
    let runner = folder.join("bin").join(RUNNER).with_extension(std::env::consts::EXE_EXTENSION);
    if right(&runner) {
        return Ok(runner);
    }
    eprintln!("building {RUNNER} {version}, once (it stays in {})", folder.display());
    let install = |locked: &[&str]| {
        let mut command = cargo(&["install", "wasm-bindgen-cli", "--bin", RUNNER, "--version", version, "--root"]);
        command.arg(&folder).args(locked);
        // It handles a few megabytes per run: an optimiser's full effort costs minutes and saves a second.
        steps::check(command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"))
    };
    // As its authors tested it, or, where a version they locked cannot be had, with what fits.
    install(&["--locked"])
        .or_else(|_| install(&[]))
        .with_context(|| format!("wasm-bindgen-cli {version} does not build here; put its {RUNNER} on the path to go on"))?;
    if !right(&runner) {
        bail!("{} does not answer with version {version}", runner.display());
    }
    Ok(runner)
}

/// Makes sure of Node.js, which runs the wasm tests.
pub(crate) fn node() -> Result<()> {
    const HELP: &str = "Node.js is missing (it runs the wasm tests): install it so that `node --version` answers";
    let present = || succeeds(Command::new("node").arg("--version"));
    if present() {
        return Ok(());
    }
    if !is_root() || !succeeds(Command::new("apt-get").arg("--version")) {
        bail!("{HELP}");
    }
    let apt = |args: &[&str]| steps::check(Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive"));
    apt(&["update", "--quiet"]).context(HELP)?;
    apt(&["install", "--yes", "--quiet", "--no-install-recommends", "nodejs"]).context(HELP)?;
    if !present() {
        bail!("{HELP}");
    }
    Ok(())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Whether a command starts and ends well; it says nothing.
fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The version of a package in the text of a Cargo.lock.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locked_version_is_that_of_the_very_package() {
        let lock = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"9.9.9\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.1\"\nsource = \"x\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen"), Some("0.2.1"));
        assert_eq!(locked_version(lock, "wasm"), None);
    }
}
