//! Tools a step needs: found, or installed where the machine can, or named with the way to get them.
//!
//! Programs come from crates.io ([`cargo_tools`]), PyPI and npm ([`node`]) and Debian ([`chromium`]), each in a version of ours where
//! another would do something else. All but Debian's stay in the target folder (`tools/`).

pub(crate) mod cargo_tools;
pub(crate) mod chromium;
pub(crate) mod node;

use std::path::PathBuf;
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

/// Where installed tools are kept, each in a folder that names its version.
fn folder(tool: &str) -> PathBuf {
    target_dir().join("tools").join(tool)
}

/// Puts folders in front of the path of a command.
pub(crate) fn with_path(command: &mut Command, folders: impl IntoIterator<Item = PathBuf>) -> Result<&mut Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path)))?;
    Ok(command.env("PATH", path))
}

/// Installs packages of Debian and its kin; an error where this is no such system or not root's session.
fn apt_install(packages: &[&str]) -> Result<()> {
    if !succeeds(Command::new("apt-get").arg("--version")) {
        bail!("there is no apt-get here");
    }
    if !is_root() {
        bail!("only root can install packages; as root: apt-get install {}", packages.join(" "));
    }
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        steps::check(command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()))
    };
    apt(&["update", "--quiet"])?;
    apt(&[&["install", "--yes", "--quiet", "--no-install-recommends"], packages].concat())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Whether a command starts and ends well; it says nothing.
fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
