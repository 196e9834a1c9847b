//! `zonefall run`: one scenario, one report.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use zonefall_core::kernel::time::Time;
use zonefall_core::observe::describe::RecordDescriber;
use zonefall_core::record::Record;
use zonefall_core::report::Report;
use zonefall_core::run::{STEPS, lasting, run as simulate};
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::text;
use zonefall_core::sim::Options;

use crate::args::{Format, Run};
use crate::output::{DIM, print, width};
use crate::page::Page;
use crate::{FAILED, OK, charts, input, table};

/// Runs, prints, and says whether all expectations hold.
pub(crate) fn run(args: &Run) -> Result<u8> {
    let mut scenario = input::scenario(args.file.as_deref())?;
    if let Some(until) = args.until {
        scenario = lasting(&scenario, until);
    }
    let scenario = Arc::new(scenario);
    if let Some(dir) = &args.charts {
        charts::prepare(dir)?;
    }
    let mut trace = args.trace.as_deref().map(|path| Trace::create(path, &scenario)).transpose()?;
    let report = report(args, &scenario, trace.as_mut());
    let text = match args.format {
        Format::Table => table::report(&report, &Page::new(width())),
        Format::Json => serde_json::to_string_pretty(&report.to_json())? + "\n",
    };
    for warning in &scenario.warnings {
        anstream::eprintln!("{DIM}warning: {warning}{DIM:#}");
    }
    print(&text)?;
    trace.map_or(Ok(()), Trace::finish)?;
    if let Some(dir) = &args.charts {
        charts::write_svgs(&report, dir)?;
    }
    Ok(if report.passed() { OK } else { FAILED })
}

fn report(args: &Run, scenario: &Arc<Scenario>, mut trace: Option<&mut Trace<'_>>) -> Report {
    let options = Options { stepping: args.stepping(), ..Options::default() };
    let mut sink = |at, record: &Record| {
        if let Some(trace) = &mut trace {
            trace.record(at, record);
        }
    };
    let bar = progress_bar();
    let mut progress = |now: Time| {
        bar.set_message(text::duration(now.since(Time::ZERO)));
        bar.inc(1);
    };
    let report = simulate(scenario, args.seed.unwrap_or(scenario.seed), options, &mut sink, &mut progress);
    bar.finish_and_clear();
    report
}

/// On standard error, and only where that is a terminal.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:20} {percent}% {msg} in {elapsed}").expect("the template is constant");
    ProgressBar::new(u64::from(STEPS)).with_style(style.progress_chars("━╸─"))
}

/// The trace file. The first error is kept: a full disk must not stop the run half way without a report.
struct Trace<'a> {
    file: BufWriter<File>,
    path: &'a Path,
    describer: RecordDescriber,
    result: std::io::Result<()>,
}

impl<'a> Trace<'a> {
    fn create(path: &'a Path, scenario: &Arc<Scenario>) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file: BufWriter::new(file), path, describer: RecordDescriber::new(scenario), result: Ok(()) })
    }

    fn record(&mut self, at: Time, record: &Record) {
        if self.result.is_ok()
            && let Some(line) = self.describer.line(at, record)
        {
            self.result = writeln!(self.file, "{line}");
        }
    }

    fn finish(mut self) -> Result<()> {
        self.result.and_then(|()| self.file.flush()).with_context(|| format!("cannot write {}", self.path.display()))
    }
}
