//! Stamps the build: page and worker are two programs, and understand each other where both come from the same sources.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::Path;

/// What both programs are made of.
const SOURCES: [&str; 5] = ["../Cargo.lock", "../core", "../plots", "../scenarios", "src"];

fn main() {
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        add(Path::new(source), &mut hasher);
    }
    println!("cargo::rustc-env=ZONEFALL_BUILD={:016x}", hasher.finish());
}

/// Adds a file, or all below a folder in order of their names.
fn add(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("the folder can be read");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
        paths.sort();
        for path in &paths {
            add(path, hasher);
        }
    } else {
        hasher.write(&fs::read(path).expect("the file can be read"));
    }
}
