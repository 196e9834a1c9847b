//! The worker as it is shipped, under node: no page, no browser, the same program.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use zonefall_web::engine::protocol::{self, LoadId, WorkerRequest, WorkerResponse};

use crate::given;
use crate::measure::{self, Run};

/// A worker of its own. It ends when this is dropped.
pub struct Worker {
    process: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Worker {
    /// Starts it.
    ///
    /// # Errors
    /// If node or the program does not start.
    pub fn start() -> Result<Self> {
        const SCRIPT: &str = include_str!("worker.mjs");
        let mut process = Command::new(given("ZONEFALL_NODE"))
            .args(["--input-type=module", "--eval", SCRIPT])
            .arg(given("ZONEFALL_PAGE"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("node does not start")?;
        let input = process.stdin.take().context("the input is piped")?;
        let output = process.stdout.take().context("the output is piped")?;
        let mut worker = Self { process, input, output };
        let ready = WorkerResponse::Ready { build: protocol::BUILD.to_owned() };
        anyhow::ensure!(worker.receive()? == ready, "the worker says something before it is ready, or is of another build");
        Ok(worker)
    }

    /// Runs a scenario to its end.
    ///
    /// # Errors
    /// What the worker says is wrong, or that it broke down.
    pub fn run(&mut self, load: LoadId, text: &str, seed: u64) -> Result<Run> {
        let ask = WorkerRequest::Load { load, text: text.to_owned(), seed: Some(seed) };
        let message = protocol::write(&ask);
        self.input.write_all(&(message.len() as u32).to_le_bytes())?;
        self.input.write_all(&message)?;
        let started = std::time::Instant::now();
        loop {
            if let Some(run) = measure::finished(started.elapsed(), self.receive()?)? {
                return Ok(run);
            }
        }
    }

    fn receive(&mut self) -> Result<WorkerResponse> {
        let mut length = [0; 4];
        self.output.read_exact(&mut length).context("the worker broke down: its last words are above")?;
        let mut message = vec![0; u32::from_le_bytes(length) as usize];
        self.output.read_exact(&mut message)?;
        protocol::read(&message).context("the worker says what is no message")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
