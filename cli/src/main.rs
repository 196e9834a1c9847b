//! Zonefall on the command line.
//!
//! ```text
//! arguments --> input (file, `-`, or the default scenario) --> zonefall_core::run --> table | JSON | SVG
//! ```
//!
//! Exit status: 0 on success; 1 if an expectation of the scenario fails; 2 if the input is invalid or the output cannot be written.

mod args;
mod capacity;
mod charts;
mod commands;
mod compare;
mod input;
mod kube;
mod machines;
mod output;
mod page;
mod prices;
mod run;
mod table;

use std::process::ExitCode;

use args::{Args, Command};

/// All is well.
const OK: u8 = 0;
/// An expectation fails.
const FAILED: u8 = 1;
/// Bad input (arguments, files, scenarios), or output that cannot be written.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let args = Args::read();
    let result = match args.command {
        None => run::run(&args.run),
        Some(Command::Run(run)) => run::run(&run),
        Some(Command::Compare(args)) => compare::compare(&args),
        Some(Command::Check { fix, files }) => commands::check(&files, fix),
        Some(Command::Capacity { file, nodes, format }) => capacity::capacity(&file, nodes, format),
        Some(Command::Schema) => commands::schema(),
        Some(Command::Defaults) => commands::defaults(),
        Some(Command::Prices { format }) => prices::prices(format),
        Some(Command::Completions { shell }) => commands::completions(shell),
    };
    ExitCode::from(result.unwrap_or_else(|error| {
        anstream::eprintln!("{}error{:#}: {error:#}", output::BAD, output::BAD);
        BAD_INPUT
    }))
}
