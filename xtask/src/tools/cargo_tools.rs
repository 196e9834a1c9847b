//! Programs from crates.io, built here: wasm-bindgen's and trunk.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::folder;
use crate::{cargo, root, steps};

/// The newest trunk that builds with the oldest Rust this repository builds with.
const TRUNK: &str = "0.21.14";

/// The folders of trunk and of what it calls, for the path; none of those whose programs the path has in the right version.
pub(crate) fn trunk() -> Result<Vec<PathBuf>> {
    // It copies files and calls others, so nothing in it is worth optimising; what it would fetch is there, so it needs no TLS.
    let args = &["--no-default-features"];
    let package = Package { name: "trunk", version: TRUNK, programs: &["trunk"], args, opt_level: "0" };
    Ok([package.find_or_install()?, wasm_bindgen()?].into_iter().flatten().collect())
}

/// The folder of `wasm-bindgen`, of exactly the version of the library in Cargo.lock: any other refuses what it is given. `None` if they are on the path.
fn wasm_bindgen() -> Result<Option<PathBuf>> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock"))?;
    let version = locked_version(&lock, "wasm-bindgen").context("Cargo.lock names no version of wasm-bindgen")?;
    // Only its test runner, which is not built here, fetches anything: it needs no TLS.
    let (programs, args) = (&["wasm-bindgen"], &["--no-default-features"]);
    Package { name: "wasm-bindgen-cli", version, programs, args, opt_level: "1" }.find_or_install()
}

/// A package of programs that are needed in one version.
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    programs: &'a [&'a str],
    args: &'a [&'a str],
    opt_level: &'a str,
}

impl Package<'_> {
    /// The folder of its programs; `None` if the path has them in that version. Built at most once.
    fn find_or_install(&self) -> Result<Option<PathBuf>> {
        let Self { name, version, .. } = self;
        if self.answers(None) {
            return Ok(None);
        }
        let kept = folder(&format!("{name}-{version}"));
        let bin = kept.join("bin");
        if self.answers(Some(&bin)) {
            return Ok(Some(bin));
        }
        eprintln!("building {name} {version}, once (it stays in {})", kept.display());
        let install = |locked: &[&str]| {
            let mut command = cargo(&["install", name, "--version", version, "--root"]);
            command.arg(&kept).args(self.programs.iter().flat_map(|program| ["--bin", program])).args(self.args).args(locked);
            // What they handle is small: an optimiser's full effort costs minutes and saves a second.
            let profile = [("OPT_LEVEL", self.opt_level), ("LTO", "off"), ("CODEGEN_UNITS", "16")];
            command.envs(profile.map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value)));
            // Built in a folder of its own, which cargo removes: nothing of it is used twice.
            steps::check(command.env_remove("CARGO_TARGET_DIR"))
        };
        // As its authors tested it, or, where a version they locked cannot be had, with what fits.
        install(&["--locked"]).or_else(|_| install(&[])).with_context(|| {
            format!("{name} {version} does not build here; put its {} on the path to go on", self.programs.join(" and "))
        })?;
        if !self.answers(Some(&bin)) {
            bail!("{} does not answer with version {version}", bin.display());
        }
        Ok(Some(bin))
    }

    /// Whether all its programs are there in that version, in `folder` or on the path.
    fn answers(&self, folder: Option<&Path>) -> bool {
        self.programs.iter().all(|program| {
            let file = folder.map(|folder| folder.join(program).with_extension(std::env::consts::EXE_EXTENSION));
            let output = Command::new(file.unwrap_or_else(|| program.into())).arg("--version").output();
            output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).split_whitespace().nth(1) == Some(self.version))
        })
    }
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
