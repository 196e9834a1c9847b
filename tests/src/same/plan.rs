//! The worlds, and the seeds they run under.

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zonefall_core::scenario::bundled;

use crate::worlds::{kube, modes, schedules};

/// The manifest's name in its folder.
const MANIFEST: &str = "manifest.json";

/// Seeds of each bundled scenario: a run of the longest takes a second.
const SEEDS: u64 = 20;

/// A generator, its name and the numbers it is asked for.
type Generated = (&'static str, fn(u64) -> Value, u64);

/// One of this number of generated worlds runs event by event, without fast-forward.
const EVERY_EVENT: u64 = 6;

/// Generated worlds: a thousand, half of them of Kubernetes.
const GENERATED: [Generated; 4] = [
    ("schedule", schedules::schedule, 200),
    ("modes", modes::scenario, 150),
    ("pair", modes::pair, 150),
    ("kube", kube::world, 500),
];

/// All runs that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The runs, in order.
    pub runs: Vec<Planned>,
}

/// A run to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The scenario's file in the manifest's folder.
    pub file: String,
    /// The seed.
    pub seed: u64,
    /// Whether the run simulates every event, without fast-forward.
    #[serde(default)]
    pub every_event: bool,
}

/// Writes all scenario files and the manifest into a folder, and creates the folder if it does not exist.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn generate(folder: &Path) -> io::Result<Manifest> {
    fs::create_dir_all(folder)?;
    let mut manifest = Manifest::default();
    for scenario in bundled() {
        let file = format!("{}.json", scenario.name);
        fs::write(folder.join(&file), scenario.json)?;
        manifest.runs.extend((1..=SEEDS).map(|seed| Planned { file: file.clone(), seed, every_event: false }));
    }
    for (kind, generate, count) in GENERATED {
        for number in 0..count {
            let (file, world) = (format!("{kind}-{number:03}.json"), generate(number));
            fs::write(folder.join(&file), serde_json::to_string_pretty(&world)? + "\n")?;
            let seed = world["seed"].as_u64().unwrap_or(1);
            let every_event = number % EVERY_EVENT == 0;
            manifest.runs.push(Planned { file, seed, every_event });
        }
    }
    fs::write(folder.join(MANIFEST), serde_json::to_string_pretty(&manifest)? + "\n")?;
    Ok(manifest)
}

/// The manifest of a folder.
///
/// # Errors
/// The manifest is missing or has another form.
pub fn read(folder: &Path) -> io::Result<Manifest> {
    Ok(serde_json::from_str(&fs::read_to_string(folder.join(MANIFEST))?)?)
}
