//! `cargo xtask same COMMIT`: compares the simulations of the working tree with those of a commit, and names the first record that differs.
//!
//! ```text
//! COMMIT --git worktree, built--> same generate --> worlds --same hashes, of COMMIT------------> lines --+
//!                                                          --same hashes, of the working tree--> lines --+--> runs that differ
//!            of the first runs that differ: same records, of both, side by side --> the first record that differs
//! ```
//!
//! The worlds and the lines are made by the tests' library (`zonefall_tests::same`), in each build as of its own commit. COMMIT writes the
//! worlds, because a newer build also reads the older vocabulary of scenario files. Its folder, worlds and lines are kept in target/same, so
//! that only the first comparison with it takes twice the time.

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::{cargo, root, steps, target_dir};

const USAGE: &str = "usage: cargo xtask same COMMIT [--strict]";
/// The program of the package zonefall-tests that each build runs.
const PROGRAM: &str = "same";
/// Its source; the comparison needs a commit that has it.
const SOURCE: &str = "tests/src/bin/same.rs";
/// Number of runs whose first differing record is shown.
const SHOWN: usize = 3;
/// Number of runs that are listed.
const NAMED: usize = 20;

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let strict = args.iter().any(|arg| arg == "--strict");
    let commits: Vec<&String> = args.iter().filter(|arg| *arg != "--strict").collect();
    let [commit] = commits.as_slice() else { bail!("{USAGE}") };
    let home = target_dir().join("same");
    let tree = worktree(&home, commit)?;
    let there = build(&tree, &home.join("build"))?;
    let here = build(root(), &target_dir())?;
    let (worlds, known) = (tree.with_extension("worlds"), tree.with_extension("hashes"));
    let old = if known.exists() { read(&known)? } else { first_time(&there, &worlds, &known, commit)? };
    let new = hashes(&here, &worlds, "the working tree")?;
    let Differences { traces, reports, failed, records } = compare(&old, &new)?;
    for line in failed.iter().take(NAMED) {
        println!("{line}: in both builds");
    }
    omitted(failed.len());
    for name in reports.iter().take(NAMED) {
        println!("{name}: the report differs, its trace does not (renamed fields?)");
    }
    omitted(reports.len());
    for name in traces.iter().take(NAMED) {
        println!("{name}: the trace differs");
        for (of, lines) in [(commit.as_str(), &old), ("here", &new)] {
            if let Some(error) = error(lines, name) {
                println!("    {of}: {error}");
            }
        }
    }
    omitted(traces.len());
    for name in traces.iter().take(SHOWN) {
        show(&worlds, name, (&there, commit), &here)?;
    }
    println!(
        "{} runs of {records} records: {} traces and {} reports more differ from those of {commit}",
        old.len(),
        traces.len(),
        reports.len()
    );
    ensure!(traces.is_empty(), "the working tree simulates otherwise than {commit}");
    ensure!(reports.is_empty() || !strict, "the working tree reports otherwise than {commit}");
    Ok(())
}

/// Checks the commit out into a folder of its own, which is kept for the next time.
fn worktree(home: &Path, commit: &str) -> Result<PathBuf> {
    let id = git(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{commit}}")], root())
        .with_context(|| format!("`{commit}` is no commit of this repository"))?;
    let tree = home.join(&id[..id.len().min(12)]);
    if !tree.exists() {
        // If somebody deleted the folder, git still knows the worktree and refuses a new one.
        git(&["worktree", "prune"], root())?;
        let folder = tree.to_str().context("the target folder's path is not UTF-8")?;
        git(&["worktree", "add", "--quiet", "--detach", folder, &id], root())?;
    }
    let there = git(&["rev-parse", "HEAD"], &tree)?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"], &tree)?;
    ensure!(there == id && changed.is_empty(), "{} is not {commit} as committed: delete that folder", tree.display());
    ensure!(
        tree.join(SOURCE).exists(),
        "{commit} has no {SOURCE}: it cannot be compared with. The oldest commit that can be is the one that added that file"
    );
    Ok(tree)
}

fn git(args: &[&str], folder: &Path) -> Result<String> {
    let output = Command::new("git").args(args).current_dir(folder).output().context("git cannot be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`git {}` failed: {}", args.join(" "), said.trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Builds the program from `sources` into `target`; its path.
fn build(sources: &Path, target: &Path) -> Result<PathBuf> {
    let mut command = cargo(&["build", "--quiet", "-p", "zonefall-tests", "--bin", PROGRAM]);
    steps::check(command.current_dir(sources).env("CARGO_TARGET_DIR", target))?;
    Ok(target.join("debug").join(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX)))
}

/// Has the commit's build write the worlds and make all runs. A commit's runs never change, so their lines are kept.
fn first_time(program: &Path, worlds: &Path, known: &Path, commit: &str) -> Result<Vec<String>> {
    if worlds.exists() {
        std::fs::remove_dir_all(worlds)?;
    }
    steps::check(Command::new(program).arg("generate").arg(worlds))?;
    let lines = hashes(program, worlds, commit)?;
    std::fs::write(known, lines.join("\n"))?;
    Ok(lines)
}

/// The lines that [`first_time`] has kept.
fn read(known: &Path) -> Result<Vec<String>> {
    Ok(std::fs::read_to_string(known)?.lines().map(ToOwned::to_owned).collect())
}

/// Makes all runs with one build; a line for each run.
fn hashes(program: &Path, worlds: &Path, of: &str) -> Result<Vec<String>> {
    let started = Instant::now();
    eprintln!("running the worlds as {of} does");
    let output = Command::new(program).arg("hashes").arg(worlds).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{of}: the program that runs the worlds ended with {}", output.status);
    let lines: Vec<String> = String::from_utf8(output.stdout)?.lines().map(ToOwned::to_owned).collect();
    eprintln!("{of}: {} runs in {:.1} s", lines.len(), started.elapsed().as_secs_f64());
    Ok(lines)
}

/// Differences between two builds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Differences {
    /// Runs whose traces differ, or which only one of the builds can make.
    traces: Vec<String>,
    /// Runs with equal traces and different reports.
    reports: Vec<String>,
    /// Lines of runs that neither build can make, for the same reason.
    failed: Vec<String>,
    /// Number of records of the commit's runs.
    records: u64,
}

/// Compares lines of runs: name, number of records, trace hash and hash of the report; or name, `error` and the reason.
fn compare(old: &[String], new: &[String]) -> Result<Differences> {
    ensure!(old.len() == new.len(), "one build made {} runs, the other {}", old.len(), new.len());
    let mut found = Differences::default();
    for (old, new) in old.iter().zip(new) {
        let [a, b] = [old, new].map(|line| line.split('\t').collect::<Vec<_>>());
        ensure!(a[0] == b[0], "the builds made other runs: `{}`, `{}`", a[0], b[0]);
        found.records += a.get(1).and_then(|records| records.parse::<u64>().ok()).unwrap_or(0);
        if a.get(1..3) != b.get(1..3) {
            found.traces.push(a[0].to_owned());
        } else if a.get(1) == Some(&"error") {
            found.failed.push(a.join(" "));
        } else if a.get(3) != b.get(3) {
            found.reports.push(a[0].to_owned());
        }
    }
    Ok(found)
}

/// The reason why a build cannot make a run; `None`: it can.
fn error<'a>(lines: &'a [String], name: &str) -> Option<&'a str> {
    lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix("\terror\t"))
}

/// Prints how many of `count` runs were not listed.
fn omitted(count: usize) {
    if count > NAMED {
        println!("... and {} more", count - NAMED);
    }
}

/// Prints the first record of a run that differs, as both builds have it.
fn show(worlds: &Path, name: &str, (there, commit): (&Path, &str), here: &Path) -> Result<()> {
    let (file, seed, every_event) = parts(name).with_context(|| format!("a run called `{name}`"))?;
    let path = worlds.join(file);
    let args: Vec<String> = ["records".to_owned(), path.display().to_string(), seed.to_owned()]
        .into_iter()
        .chain(every_event.then(|| "--every-event".to_owned()))
        .collect();
    let (mut old, mut new) = (Records::start(there, &args)?, Records::start(here, &args)?);
    println!("\n{name}:");
    loop {
        let (a, b) = (old.next()?, new.next()?);
        let same = match (&a, &b) {
            (None, None) => {
                break println!("  each record is the same when it is asked for alone: does a run depend on what else runs?");
            }
            (Some(a), Some(b)) => Record::new(a).is_same(&Record::new(b)),
            _ => false,
        };
        if !same {
            let place = a.as_ref().or(b.as_ref()).map(|line| Record::new(line)).map_or("?", |record| record.number).to_owned();
            println!("  record {place} is the first that differs");
            println!("    {commit}: {}", a.map_or_else(|| "no such record".to_owned(), |line| Record::new(&line).words()));
            println!("    here: {}", b.map_or_else(|| "no such record".to_owned(), |line| Record::new(&line).words()));
            break;
        }
    }
    let shown = args.join(" ");
    println!("  all of them: diff <({} {shown}) <({} {shown})", there.display(), here.display());
    Ok(())
}

/// The file, the seed and whether every event is simulated, from a run's name.
fn parts(name: &str) -> Option<(&str, &str, bool)> {
    let (file, rest) = name.split_once(" seed ")?;
    let (seed, every_event) = rest.strip_suffix(", every event").map_or((rest, false), |seed| (seed, true));
    Some((file, seed, every_event))
}

/// A record as a line has it: number, time, digest and text.
struct Record<'a> {
    number: &'a str,
    at: &'a str,
    digest: &'a str,
    text: &'a str,
}

impl<'a> Record<'a> {
    fn new(line: &'a str) -> Self {
        let mut parts = line.splitn(4, '\t').map(Some).chain(std::iter::repeat(None));
        let [number, at, digest, text] = std::array::from_fn(|_| parts.next().flatten().unwrap_or_default());
        Self { number, at, digest, text }
    }

    /// Whether two records are the same. The text does not count: names may have changed.
    fn is_same(&self, other: &Self) -> bool {
        (self.number, self.at, self.digest) == (other.number, other.at, other.digest)
    }

    fn words(&self) -> String {
        format!("{}  {}", self.at, if self.text.is_empty() { self.digest } else { self.text })
    }
}

/// The records of a run, read while a build writes them.
struct Records {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Records {
    fn start(program: &Path, args: &[String]) -> Result<Self> {
        let mut child = Command::new(program).args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("the output is piped")?).lines();
        Ok(Self { child, lines })
    }

    fn next(&mut self) -> Result<Option<String>> {
        Ok(self.lines.next().transpose()?)
    }
}

impl Drop for Records {
    /// Ends the build's program, which may have more to write.
    fn drop(&mut self) {
        // An error only says that the program has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn traces_decide_and_reports_are_told_apart() {
        let old = lines(&["a\t3\tt\tr", "b\t4\tt\tr", "c\t5\tt\tr", "d\terror\trefused", "e\terror\tpanic"]);
        let new = lines(&["a\t3\tt\tr", "b\t4\tu\tr", "c\t5\tt\ts", "d\t1\tt\tr", "e\terror\tpanic"]);
        let found = compare(&old, &new).expect("the same runs");
        assert_eq!(
            found,
            Differences { traces: lines(&["b", "d"]), reports: lines(&["c"]), failed: lines(&["e error panic"]), records: 12 }
        );
        assert_eq!((error(&old, "d"), error(&new, "d")), (Some("refused"), None));
        assert!(compare(&old, &new[1..]).is_err(), "a run is missing");
        assert!(compare(&old[..1], &new[1..2]).is_err(), "another run");
    }

    #[test]
    fn names_of_runs_say_how_to_run_them() {
        assert_eq!(parts("kube-001.json seed 7"), Some(("kube-001.json", "7", false)));
        assert_eq!(parts("modes-006.json seed 8, every event"), Some(("modes-006.json", "8", true)));
    }

    #[test]
    fn records_are_the_same_whatever_their_names() {
        let record = |line| Record::new(line);
        assert!(record("1\t0.1 s\tab\tPod(Created)").is_same(&record("1\t0.1 s\tab\tPod(Made)")));
        assert!(!record("1\t0.1 s\tab\tPod(Created)").is_same(&record("1\t0.2 s\tab\tPod(Created)")));
        assert_eq!(record("1\tpanic\tsaid").words(), "panic  said");
    }
}
