//! The part of `cargo xtask same` that each of the two builds does itself (see [`zonefall_tests::same`]).
//!
//! ```text
//! same generate FOLDER                       writes worlds and a manifest of runs
//! same hashes FOLDER                         prints a line for each run
//! same records FILE SEED [--every-event]     prints a line for each record of a run
//! ```

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use zonefall_tests::same::{plan, play};

const USAGE: &str = "usage: same generate FOLDER | same hashes FOLDER | same records FILE SEED [--every-event]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match act(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn act(args: &[&str]) -> Result<(), String> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    match *args {
        ["generate", folder] => {
            let manifest = plan::generate(Path::new(folder)).map_err(|error| format!("{folder}: {error}"))?;
            eprintln!("{} runs in {folder}", manifest.runs.len());
            Ok(())
        }
        ["hashes", folder] => {
            let folder = Path::new(folder);
            let manifest = plan::read(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            let all = manifest.runs.len();
            let lines = play::hashes(folder, &manifest, &|done| eprintln!("{done} of {all} runs"));
            lines.iter().try_for_each(|line| writeln!(out, "{line}")).map_err(|error| error.to_string())
        }
        ["records", file, seed, ref rest @ ..] => {
            let seed = seed.parse().map_err(|_| format!("expected a seed, found {seed}"))?;
            let every_event = match rest {
                [] => false,
                ["--every-event"] => true,
                _ => return Err(USAGE.to_owned()),
            };
            play::records(Path::new(file), seed, every_event, &mut out)
        }
        _ => Err(USAGE.to_owned()),
    }
}
