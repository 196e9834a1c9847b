//! Test programs: compiles all of them in one call of cargo, runs them side by side, and tells how long each test took.
//!
//! ```text
//! cargo test --no-run --message-format=json --> Suite { package, target, executable } --> events of libtest --> Tally
//! ```
//!
//! One call compiles everything with one set of features, so nothing is generated twice. The programs are run here and not by cargo,
//! which runs one after the other and knows no times.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::steps::{Outcome, seconds, show};
use crate::{DEEP, cargo, deep, first_case};

/// Compiles whatever tests there are. The browser's stories are among them: their feature must not make another build of everything.
const TESTS: [&str; 4] = ["test", "--workspace", "--features", "zonefall-browser/chromium"];
/// Tests whose times are printed.
const SLOWEST: usize = 20;

/// A program with tests in it.
#[derive(Clone, Debug)]
pub(crate) struct Suite {
    /// Its package and target, such as `zonefall-core` or `zonefall-tests/it`.
    pub(crate) name: String,
    /// The folder of its package, where it runs.
    folder: PathBuf,
    executable: PathBuf,
}

/// What came of tests.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: u64,
    ignored: u64,
    /// Names and output of those that failed.
    failed: Vec<(String, String)>,
    /// Each test with its time in seconds.
    times: Vec<(f64, String)>,
}

/// The test programs of the workspace, compiled at most once by one call of `cargo xtask`.
pub(crate) fn suites() -> Result<&'static [Suite]> {
    static BUILT: OnceLock<Vec<Suite>> = OnceLock::new();
    if let Some(built) = BUILT.get() {
        return Ok(built);
    }
    let suites = compile()?;
    Ok(BUILT.get_or_init(|| suites))
}

fn compile() -> Result<Vec<Suite>> {
    let started = Instant::now();
    let mut command = cargo(&TESTS);
    command.args(["--no-run", "--message-format=json-render-diagnostics"]).stdout(Stdio::piped());
    let shown = show(&command);
    eprintln!("$ {shown}");
    let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
    let (mut suites, mut compiled, mut fresh) = (Vec::new(), Vec::new(), 0);
    let output = child.stdout.take().context("the output is piped")?;
    for line in BufReader::new(output).lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        if message["reason"] != "compiler-artifact" {
            continue;
        }
        let artifact = Artifact::of(&message).context("cargo describes what it compiles")?;
        if artifact.is_fresh {
            fresh += 1;
        } else {
            compiled.push(artifact.name.clone());
        }
        if let Some(executable) = artifact.test {
            suites.push(Suite { name: artifact.name, folder: artifact.folder, executable });
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    let ours: Vec<&String> = compiled.iter().filter(|name| name.starts_with("zonefall") || *name == "xtask").collect();
    eprintln!(
        "compiled in {}: {} crates and programs ({} of ours: {ours:?}), {fresh} were fresh",
        seconds(started.elapsed()),
        compiled.len(),
        ours.len(),
    );
    Ok(suites)
}

/// What cargo says of something it compiled.
struct Artifact {
    name: String,
    folder: PathBuf,
    is_fresh: bool,
    /// The program, where it runs tests.
    test: Option<PathBuf>,
}

impl Artifact {
    fn of(message: &Value) -> Option<Self> {
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        let package = package(message["package_id"].as_str()?)?;
        let target = message["target"]["name"].as_str()?;
        let is_library = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "lib");
        let is_test = message["profile"]["test"] == true;
        let name = match (is_library, is_test) {
            (true, false) => package.to_owned(),
            (true, true) => format!("{package} (unit tests)"),
            (false, _) => format!("{package}/{target}"),
        };
        let test = message["executable"].as_str().filter(|_| is_test).map(PathBuf::from);
        Some(Self { name, folder, is_fresh: message["fresh"] == true, test })
    }
}

/// The name in a package id: `path+file:///x/core/kernel#zonefall-kernel@0.1.0`, `path+file:///x/xtask#0.1.0`.
fn package(id: &str) -> Option<&str> {
    let (place, version) = id.split_once('#')?;
    Some(version.split_once('@').map_or_else(|| place.rsplit('/').next().unwrap_or(place), |(name, _)| name))
}

/// Runs test programs, two at a time: the threads of one work while those of the other wait for a browser, or for its last long test.
/// Each has the variables of `environment` (where the tools are that it needs).
pub(crate) fn run(suites: &[&Suite], environment: &[(&str, OsString)]) -> Outcome {
    const AT_A_TIME: usize = 2;
    if suites.is_empty() {
        bail!("there is no test program: something is wrong with the harness");
    }
    let first_case = if deep() { Some(first_case()?) } else { None };
    if let Some(number) = &first_case {
        eprintln!("random cases from {number} on; {DEEP}={number} repeats them");
    }
    let commands = suites.iter().map(|suite| {
        let mut command = Command::new(&suite.executable);
        // Times and events are unstable options of libtest; this turns them on in the program, and the compiler never sees it.
        command.env("RUSTC_BOOTSTRAP", "1").args(["-Zunstable-options", "--format=json", "--report-time"]);
        command.current_dir(&suite.folder).env("CARGO_MANIFEST_DIR", &suite.folder);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.envs(first_case.iter().map(|number| (DEEP, number)));
        (suite.name.clone(), command)
    });
    let waiting = Mutex::new(commands);
    let total = Mutex::new(Tally::default());
    let lane = || -> Result<()> {
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((name, mut command)) = next else { return Ok(()) };
            let started = Instant::now();
            let tally = tally(&name, &mut command)?;
            eprintln!("{name}: {} in {}", tally.words(), seconds(started.elapsed()));
            total.lock().unwrap_or_else(PoisonError::into_inner).add(tally);
        }
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().try_for_each(|lane| lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    total.into_inner().unwrap_or_else(PoisonError::into_inner).outcome()
}

/// Runs the examples in the documentation, which cargo alone can compile.
pub(crate) fn run_examples() -> Outcome {
    let mut command = cargo(&TESTS);
    command.arg("--doc");
    let shown = show(&command);
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("`{shown}` failed ({})\n{printed}{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let passed: u64 = printed.lines().filter_map(passed).sum();
    if passed == 0 {
        bail!("`{shown}` ran no example: something is wrong with the harness");
    }
    Ok(Some(format!("{passed} examples passed")))
}

/// The number of tests passed, in a `test result:` line.
fn passed(line: &str) -> Option<u64> {
    let (_, result) = line.split_once("test result: ok. ")?;
    result.split_once(" passed")?.0.parse().ok()
}

/// Runs a program of tests to its end.
fn tally(name: &str, command: &mut Command) -> Result<Tally> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {name}"))?;
    let mut tally = Tally::default();
    let mut started = BTreeMap::new();
    let output = child.stdout.take().context("the output is piped")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        // What a test prints past libtest's capture is passed on.
        match serde_json::from_slice::<Value>(&line) {
            Ok(event) if event["type"] == "test" => tally.see(name, &event, &mut started),
            Ok(event) if event.is_object() => {}
            _ => eprintln!("{}", String::from_utf8_lossy(&line)),
        }
    }
    let status = child.wait()?;
    if !status.success() && tally.failed.is_empty() {
        // It broke down; what had begun may be why.
        let begun: Vec<&str> = started.keys().map(String::as_str).collect();
        tally.failed.push((name.to_owned(), format!("it ended with {status} while it ran {}", begun.join(", "))));
    }
    Ok(tally)
}

impl Tally {
    /// Takes in what libtest says of a test.
    fn see(&mut self, suite: &str, event: &Value, started: &mut BTreeMap<String, Instant>) {
        let test = event["name"].as_str().unwrap_or_default().to_owned();
        let outcome = event["event"].as_str();
        if outcome == Some("started") {
            started.insert(test, Instant::now());
            return;
        }
        let since = started.remove(&test).map(|since| since.elapsed());
        let took = event["exec_time"].as_f64().or_else(|| since.map(|since: Duration| since.as_secs_f64()));
        let name = format!("{suite}: {test}");
        match outcome {
            Some("ok") => self.passed += 1,
            Some("ignored") => self.ignored += 1,
            Some("failed") => self.failed.push((name.clone(), event["stdout"].as_str().unwrap_or_default().to_owned())),
            // `timeout`: it has run for a minute, and runs on.
            _ => return,
        }
        self.times.push((took.unwrap_or_default(), name));
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.ignored += other.ignored;
        self.failed.extend(other.failed);
        self.times.extend(other.times);
    }

    fn words(&self) -> String {
        let failed = if self.failed.is_empty() { String::new() } else { format!(", {} failed", self.failed.len()) };
        format!("{} tests passed, {} ignored{failed}", self.passed, self.ignored)
    }

    fn outcome(mut self) -> Outcome {
        self.times.sort_by(|a, b| b.0.total_cmp(&a.0));
        eprintln!("the slowest tests, in seconds:");
        for (took, name) in self.times.iter().take(SLOWEST) {
            eprintln!("{took:>8.1}  {name}");
        }
        for (name, output) in &self.failed {
            eprintln!("\nFAILED {name}\n{}", output.trim_end());
        }
        if !self.failed.is_empty() {
            let names: Vec<&str> = self.failed.iter().map(|(name, _)| name.as_str()).collect();
            bail!("{}: {}", self.words(), names.join(", "));
        }
        if self.passed == 0 {
            bail!("no test ran: something is wrong with the harness");
        }
        Ok(Some(self.words()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packages_are_named_by_their_ids() {
        let check = |id: &str, name: Option<&str>| assert_eq!(package(id), name, "{id}");
        check("path+file:///x/core/kernel#zonefall-kernel@0.1.0", Some("zonefall-kernel"));
        check("path+file:///x/xtask#0.1.0", Some("xtask"));
        check("registry+https://github.com/rust-lang/crates.io-index#libm@0.2.15", Some("libm"));
        check("nothing", None);
    }

    #[test]
    fn result_lines_of_examples_are_counted() {
        assert_eq!(passed("test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured"), Some(12));
        assert_eq!(passed("test result: FAILED. 1 passed; 2 failed"), None);
        assert_eq!(passed("running 3 tests"), None);
    }

    #[test]
    fn a_tally_counts_what_libtest_says() {
        let mut tally = Tally::default();
        let mut started = BTreeMap::new();
        let test =
            |name: &str, event: &str| json!({"type": "test", "name": name, "event": event, "exec_time": 0.5, "stdout": "why"});
        for event in [("a", "started"), ("b", "started"), ("a", "ok"), ("b", "failed"), ("c", "ignored"), ("d", "timeout")] {
            tally.see("s", &test(event.0, event.1), &mut started);
        }
        assert_eq!((tally.passed, tally.ignored), (1, 1));
        assert_eq!(tally.failed, [("s: b".to_owned(), "why".to_owned())]);
        assert_eq!(tally.words(), "1 tests passed, 1 ignored, 1 failed");
        assert!(tally.outcome().is_err(), "one has failed");
        assert!(Tally::default().outcome().is_err(), "none has run");
    }
}
