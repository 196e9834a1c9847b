//! chromedriver as a process, and the end of all that it started.
//!
//! ```text
//! test program --pipe--> sh: when the pipe closes, kills the driver's process group and removes its folder
//!            `---------> chromedriver --> Chromium
//! ```
//!
//! Idle browsers are in a static variable, which Rust never drops, and a test program may be killed: in either case the pipe closes.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::given;

/// Reads the driver's process id, then waits until the pipe closes. Processes that are being killed may still write into the folder: it
/// is removed once they no longer do.
const GUARD: &str = r#"read -r driver; read -r end; kill -s KILL -- "-$driver"; until rm -rf -- "$1"; do sleep 0.1; done"#;

/// A chromedriver. With its browsers and their files it ends when this is dropped, or when this program ends in any way.
pub(crate) struct Process {
    driver: Child,
    /// Held open: the driver would end on a closed pipe.
    output: BufReader<ChildStdout>,
    guard: Child,
    folder: PathBuf,
}

impl Process {
    /// Starts a driver; gives it with the port it listens on.
    pub(crate) fn start() -> Result<(Self, u16)> {
        // It ends where the port that is free for IPv6 is not for IPv4.
        (1..5).find_map(|_| Self::try_start().ok()).map_or_else(Self::try_start, Ok)
    }

    fn try_start() -> Result<(Self, u16)> {
        let folder = TempDir::new()?;
        // Each in a process group of its own, which no signal of a terminal reaches.
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("sh does not start")?;
        let mut driver = Command::new(given("CHROMEDRIVER"))
            .arg("--port=0")
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("chromedriver does not start")?;
        let output = BufReader::new(driver.stdout.take().context("its output is piped")?);
        writeln!(guard.stdin.as_mut().context("its input is piped")?, "{}", driver.id())?;
        let mut process = Self { driver, output, guard, folder: folder.keep() };
        let port = port(&mut process.output)?;
        Ok((process, port))
    }

    /// A folder for the files of driver, browser and stories; it is removed with them.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.driver.wait();
        let _ = self.guard.wait();
    }
}

/// The port a starting driver says it listens on.
fn port(output: &mut impl BufRead) -> Result<u16> {
    let mut said = String::new();
    while output.read_line(&mut said)? > 0 {
        let last = said.lines().last().unwrap_or_default();
        if let Some((_, port)) = last.split_once("started successfully on port ") {
            return Ok(port.trim().trim_end_matches('.').parse()?);
        }
    }
    bail!("chromedriver ended without a port: {said}")
}
