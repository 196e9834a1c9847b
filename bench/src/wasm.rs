//! wasm under node beside native: the same work, in turn.
//!
//! Both are timed by the clock here, for node tells nothing else that would compare.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use zonefall_bench_wasm::{outage, queueing};

use crate::measure::{Samples, aim, head, spread};

const TARGET: &str = "wasm32-unknown-unknown";

struct Work {
    name: &'static str,
    export: &'static str,
    native: extern "C" fn(u32) -> u64,
    number: u32,
}

/// Prints the figures; `scale` stretches the work.
///
/// # Errors
/// When the module cannot be built or node is missing.
///
/// # Panics
/// When wasm and native give different results.
pub(crate) fn bench(rounds: u64, scale: u32) -> Result<()> {
    let module = build()?;
    let works = [
        Work { name: "zone outage, message by message", export: "outage", native: outage, number: 210 * scale },
        Work { name: "M/M/1 on the kernel", export: "queueing", native: queueing, number: 300_000 * scale },
    ];
    println!("\nwasm under node beside native (clock time)");
    head("", "ms", "beside native");
    for work in works {
        let (mut native, mut wasm) = (Samples::default(), Samples::default());
        for _ in 0..rounds {
            let start = Instant::now();
            let expected = (work.native)(work.number);
            native.push(start.elapsed().as_secs_f64() * 1e3);
            let (ns, result) = under_node(&module, &work)?;
            assert_eq!(result, expected, "{}: wasm gives another result than native", work.name);
            wasm.push(ns / 1e6);
        }
        let ratio = wasm.ratio(&native);
        println!("  {:<34} {}", work.name.to_owned() + ", native", spread(&native, 1));
        println!("  {:<34} {}  {ratio:.2}x, at most 1.5x {}", "    wasm", spread(&wasm, 1), aim(ratio <= 1.5));
    }
    Ok(())
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Builds the module and returns where it is.
fn build() -> Result<PathBuf> {
    let manifest = package().join("Cargo.toml");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--release", "--package", "zonefall-bench-wasm", "--target", TARGET]);
    let status = cargo.arg("--manifest-path").arg(manifest).status().context("cargo does not run")?;
    if !status.success() {
        bail!("the module does not build (is the target there? `rustup target add {TARGET}`)");
    }
    // This program lies in `<target directory>/release`.
    let program = std::env::current_exe().context("where this program lies")?;
    let target = program.ancestors().nth(2).context("this program lies outside a target directory")?;
    Ok(target.join(TARGET).join("release/zonefall_bench_wasm.wasm"))
}

/// Nanoseconds and result of one call.
fn under_node(module: &Path, work: &Work) -> Result<(f64, u64)> {
    let mut node = Command::new("node");
    node.arg(package().join("wasm/run.mjs")).arg(module).args([work.export, &work.number.to_string()]);
    let output = node.output().context("node does not run (is it installed?)")?;
    if !output.status.success() {
        bail!("node failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let (ns, result) = text.trim().split_once(' ').context("run.mjs prints two numbers")?;
    Ok((ns.parse()?, result.parse()?))
}
