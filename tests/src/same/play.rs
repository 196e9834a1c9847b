//! Runs worlds and prints them as lines that can be compared.

use std::hash::Hasher;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use siphasher::sip::SipHasher13;
use zonefall_core::kernel::time::Time;
use zonefall_core::observe::Observer;
use zonefall_core::observe::trace::TraceHash;
use zonefall_core::record::Record;
use zonefall_core::report::Report;
use zonefall_core::run::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Stepping};

use super::plan::{Manifest, Planned};
use crate::quiet::quietly;
use crate::threads::parallel;

/// Runs between two lines of progress.
const PROGRESS: usize = 100;

/// Makes the runs of a manifest on all cores. Returns a line for each run, in the manifest's order: name, number of records, trace hash and
/// hash of the report, separated by tabs; or name, `error` and the reason. `progress` receives the number of finished runs.
pub fn hashes(folder: &Path, manifest: &Manifest, progress: &(dyn Fn(usize) + Sync)) -> Vec<String> {
    let done = AtomicUsize::new(0);
    parallel(manifest.runs.len(), |place| {
        let planned = &manifest.runs[place];
        let line = match hash(folder, planned) {
            Ok(line) => line,
            Err(error) => format!("error\t{}", error.replace(['\n', '\t'], " ")),
        };
        let now = done.fetch_add(1, Ordering::Relaxed) + 1;
        if now.is_multiple_of(PROGRESS) {
            progress(now);
        }
        format!("{}\t{line}", planned.name())
    })
}

/// The line of one run, without its name.
fn hash(folder: &Path, planned: &Planned) -> Result<String, String> {
    let scenario = load(&folder.join(&planned.file))?;
    let mut records = 0_u64;
    let report = play(&scenario, planned, &mut |_, _| records += 1)?;
    Ok(format!("{records}\t{}\t{:016x}", report.trace_hash, hash_of_report(&report)))
}

/// Writes a line for each record of a run: number from 0, time, digest of time and byte form in the trace, and `Debug` text, separated by
/// tabs. If the run panics, the last line says so.
///
/// # Errors
/// The scenario is refused, or `out` cannot be written.
pub fn records(file: &Path, seed: u64, every_event: bool, out: &mut dyn Write) -> Result<(), String> {
    let scenario = load(file)?;
    let planned = Planned { file: String::new(), seed, every_event };
    let (mut number, mut written) = (0_u64, Ok(()));
    let played = play(&scenario, &planned, &mut |at, record| {
        if written.is_ok() {
            written = tell(out, number, at, record);
        }
        number += 1;
    });
    let panicked = match played {
        Ok(_) => Ok(()),
        Err(panic) => writeln!(out, "{number}\tpanic\t{}", panic.replace(['\n', '\t'], " ")),
    };
    written.and(panicked).and(out.flush()).map_err(|error| error.to_string())
}

fn tell(out: &mut dyn Write, number: u64, at: Time, record: &Record) -> io::Result<()> {
    let mut digest = TraceHash::new();
    digest.record(at, record);
    let ns = at.as_nanos();
    writeln!(out, "{number}\t{}.{:09} s\t{}\t{record:?}", ns / 1_000_000_000, ns % 1_000_000_000, digest.hex())
}

fn load(file: &Path) -> Result<Arc<Scenario>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let scenario = Scenario::from_json(&text).map_err(|errors| format!("the scenario is refused: {errors}"))?;
    Ok(Arc::new(scenario))
}

/// Makes a run; the error is the message of its panic, without the place in the source, which changes with every edit.
fn play(scenario: &Arc<Scenario>, planned: &Planned, sink: &mut dyn FnMut(Time, &Record)) -> Result<Report, String> {
    let options = Options {
        stepping: if planned.every_event { Stepping::EveryEvent } else { Stepping::FastForward },
        ..Options::default()
    };
    quietly(|| run(scenario, planned.seed, options, sink, &mut |_| {})).map_err(|panic| {
        let said: Vec<&str> = panic.lines().skip(1).collect();
        format!("panic: {}", said.join(" "))
    })
}

/// A hash of the report as JSON, without the number of events and the schema version, which may change while the run stays the same.
fn hash_of_report(report: &Report) -> u64 {
    let mut value = serde_json::to_value(report).expect("reports are JSON");
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("events");
        fields.shift_remove("schema");
    }
    let mut hasher = SipHasher13::new();
    hasher.write(value.to_string().as_bytes());
    hasher.finish()
}

impl Planned {
    /// The run's name: file, seed and stepping.
    pub fn name(&self) -> String {
        let every_event = if self.every_event { ", every event" } else { "" };
        format!("{} seed {}{every_event}", self.file, self.seed)
    }
}
