//! What the command line takes.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use zonefall_core::kernel::time::Duration;
use zonefall_core::scenario::units::Span;
use zonefall_core::sim::Stepping;

/// Simulates how highly available Kubernetes control planes behave when a zone, node, link or disk fails, and how long they take to recover.
///
/// Without a command, runs a scenario. Without a file, runs the built-in scenario in which a zone loses power.
///
/// Exit status: 0 on success; 1 if an expectation of the scenario fails; 2 if the input is invalid or the output cannot be written.
#[derive(Debug, Parser)]
#[command(name = "zonefall", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Run,
}

impl Args {
    /// The command line of this process; where it cannot be read, says why and ends the process.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|error| {
            if error.kind() != ErrorKind::ArgumentConflict {
                error.exit()
            }
            // Nothing conflicts here but a command that does not come first; clap would name the wrong word.
            let text = "the command comes first, then its options and files: `zonefall check FILE`, `zonefall run FILE --seed 3`";
            Self::command().error(ErrorKind::ArgumentConflict, text).exit()
        })
    }
}

/// Command of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and print a report.
    Run(Run),
    /// Run several scenarios and print their figures side by side.
    Compare(Compare),
    /// Check scenario files and print every error and warning with its path, what is expected and what was found.
    Check {
        /// Replace deprecated names of fields, values and report paths in the files; nothing else is changed.
        #[arg(long)]
        fix: bool,
        /// Scenario files; `-` is standard input.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Compute how many control planes the seeds of a scenario can host, which resource limits them, and how many seeds a demand needs.
    Capacity {
        /// Scenario file; `-` is standard input.
        file: PathBuf,
        /// Compute the converse: how many nodes of each pool the demand (`capacity.demand`) needs on one seed, also after the loss of a zone.
        #[arg(long)]
        nodes: bool,
        /// Output format.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
    /// Print every default with its unit and source.
    Defaults,
    /// Print the price books: each price with its date, its source and whether it was verified.
    Prices {
        /// Output format.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Print a completion script for a shell.
    Completions {
        /// Name of the shell.
        shell: Shell,
    },
}

/// Options of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// Scenario file; `-` is standard input.
    pub(crate) file: Option<PathBuf>,
    /// Seed number for random draws; overrides the scenario's.
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Simulated time, such as 2h, 90s or 1h30m; overrides the scenario's duration. Expectations are checked at its end.
    #[arg(long, value_name = "TIME", value_parser = length, allow_hyphen_values = true)]
    pub(crate) until: Option<Duration>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Write a trace to this file, one line for each record.
    #[arg(long, value_name = "FILE", value_parser = trace_file)]
    pub(crate) trace: Option<PathBuf>,
    /// Write charts (SVG) into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
    /// Whether to skip the heartbeats of quiescent etcd clusters; the report is the same either way.
    #[arg(long, value_enum, default_value_t = FastForward::On)]
    fast_forward: FastForward,
    /// Old form of `fast_forward`, for one version; of both, the last counts.
    #[arg(long, value_enum, hide = true, overrides_with = "fast_forward")]
    exact: Option<Exact>,
}

impl Run {
    /// How the simulation proceeds from event to event.
    pub(crate) const fn stepping(&self) -> Stepping {
        match (self.exact, self.fast_forward) {
            (Some(Exact::Fast), _) | (None, FastForward::On) => Stepping::FastForward,
            (Some(Exact::Full), _) | (None, FastForward::Off) => Stepping::EveryEvent,
        }
    }
}

/// Options of a comparison.
#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// Scenario files.
    #[arg(required = true, num_args = 2..)]
    pub(crate) files: Vec<PathBuf>,
    /// Seed number for random draws; overrides that of each scenario.
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text tables, for people.
    Table,
    /// JSON, for programs.
    Json,
}

/// Values of `--fast-forward`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FastForward {
    /// Compute the effect of heartbeats in quiescent clusters.
    On,
    /// Simulate every message.
    Off,
}

/// Values of `--exact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Exact {
    /// `--fast-forward off`.
    Full,
    /// `--fast-forward on`.
    Fast,
}

/// Any seed.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// Standard output is taken by the report.
fn trace_file(text: &str) -> Result<PathBuf, String> {
    if text == "-" { Err("expected a file: standard output is used for the report".to_owned()) } else { Ok(text.into()) }
}

/// A length of time above zero, as in a scenario file.
fn length(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected a duration above zero, such as 2h, 90s or 1h30m";
    let Span(length) = text.parse().map_err(|why| format!("{EXPECTED}: {why}"))?;
    if length == Duration::ZERO { Err(EXPECTED.to_owned()) } else { Ok(length) }
}
