//! What the command line takes.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use zonefall_core::kernel::time::Duration;
use zonefall_core::scenario::units::Span;
use zonefall_core::sim::Stepping;

/// What happens to a Kubernetes control plane when a zone, a node, a link or a disk fails; and how long until it works again.
///
/// Without a command, runs a scenario (without a file, the one that comes with it: a zone loses power).
///
/// Exit status: 0; 1 if an expectation of the scenario fails; 2 for bad input, or for output that cannot be written.
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

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and report what happened.
    Run(Run),
    /// Run several scenarios and put their figures beside each other.
    Compare(Compare),
    /// Check scenario files: everything that is wrong, each with its place, what was found and what would be right.
    Check {
        /// Replace old names of fields, words and places in reports by the new ones, and leave all else as it is.
        #[arg(long)]
        fix: bool,
        /// Scenario files; `-` is standard input.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Say how many control planes the seeds of a scenario hold, what keeps them from holding more, and how many seeds a demand needs.
    Capacity {
        /// Scenario file; `-` is standard input.
        file: PathBuf,
        /// How to print it.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
    /// Print every default, with its source.
    Defaults,
    /// Print the price books, each line with its source and how sure it is.
    Prices {
        /// How to print them.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// How to run a scenario.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// Scenario file; `-` is standard input.
    pub(crate) file: Option<PathBuf>,
    /// Seed of every random draw, instead of the scenario's.
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Length of the run, instead of the scenario's: 2h, 90s, 1h30m. (Expectations are judged at its end.)
    #[arg(long, value_name = "TIME", value_parser = length, allow_hyphen_values = true)]
    pub(crate) until: Option<Duration>,
    /// How to print the report.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Write everything that happens to this file, one line each.
    #[arg(long, value_name = "FILE", value_parser = trace_file)]
    pub(crate) trace: Option<PathBuf>,
    /// Write charts (SVG) into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
    /// Compute what heartbeats do in a cluster where nothing happens, or simulate every one: the report is the same.
    #[arg(long, value_enum, default_value_t = FastForward::On)]
    fast_forward: FastForward,
    /// Old form of `fast_forward`, for one version; of both, the last counts.
    #[arg(long, value_enum, hide = true, overrides_with = "fast_forward")]
    exact: Option<Exact>,
}

impl Run {
    /// How the simulation goes from event to event.
    pub(crate) const fn stepping(&self) -> Stepping {
        match (self.exact, self.fast_forward) {
            (Some(Exact::Fast), _) | (None, FastForward::On) => Stepping::FastForward,
            (Some(Exact::Full), _) | (None, FastForward::Off) => Stepping::EveryEvent,
        }
    }
}

/// What to compare.
#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// Scenario files.
    #[arg(required = true, num_args = 2..)]
    pub(crate) files: Vec<PathBuf>,
    /// Seed of every random draw, instead of each scenario's own.
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// How to print the comparison.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// How to print a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Values of `--fast-forward`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FastForward {
    /// Heartbeats of a quiescent cluster are computed.
    On,
    /// Every message is simulated.
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
    text.parse().map_err(|_| format!("wanted a whole number from 0 to {}", u64::MAX))
}

/// Standard output is taken by the report.
fn trace_file(text: &str) -> Result<PathBuf, String> {
    if text == "-" { Err("wanted a file: standard output has the report".to_owned()) } else { Ok(text.into()) }
}

/// A length of time above zero, as in a scenario file.
fn length(text: &str) -> Result<Duration, String> {
    const WANTED: &str = "wanted a length of time above zero, such as 2h, 90s or 1h30m";
    let Span(length) = text.parse().map_err(|why| format!("{WANTED}: {why}"))?;
    if length == Duration::ZERO { Err(WANTED.to_owned()) } else { Ok(length) }
}
