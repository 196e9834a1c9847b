//! wasm under node beside native: the same work, in turn.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use zonefall_bench_wasm::{outage, queueing};

use crate::measure::{Samples, goal, head, spread, timed};

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
    println!("\nwasm under node beside native");
    head("", "ms", "beside native");
    for work in works {
        let (mut native, mut first, mut warm) = (Samples::default(), Samples::default(), Samples::default());
        for _ in 0..rounds {
            let (took, expected) = timed(|| (work.native)(work.number));
            native.push(took.as_secs_f64() * 1e3);
            let call = under_node(&module, &work)?;
            assert_eq!(call.result, expected, "{}: wasm gives another result than native", work.name);
            first.push(call.first_us / 1e3);
            warm.push(call.warm_us / 1e3);
        }
        let ratio = warm.ratio(&native);
        println!("  {:<34} {}", work.name.to_owned() + ", native", spread(&native, 1));
        println!("  {:<34} {}  {ratio:.2}x, at most 1.5x {}", "    wasm", spread(&warm, 1), goal(ratio <= 1.5));
        println!("  {:<34} {}  {:.2}x", "    wasm, first call", spread(&first, 1), first.ratio(&native));
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

/// What `run.mjs` prints.
struct Call {
    /// While node still runs the code it made in haste.
    first_us: f64,
    /// After a few calls.
    warm_us: f64,
    result: u64,
}

fn under_node(module: &Path, work: &Work) -> Result<Call> {
    let mut node = Command::new("node");
    node.arg(package().join("wasm/run.mjs")).arg(module).args([work.export, &work.number.to_string()]);
    let output = node.output().context("node does not run (is it installed?)")?;
    if !output.status.success() {
        bail!("node failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let &[first, warm, result] = text.split_whitespace().collect::<Vec<_>>().as_slice() else {
        bail!("run.mjs prints three numbers, not `{text}`");
    };
    Ok(Call { first_us: first.parse()?, warm_us: warm.parse()?, result: result.parse()? })
}
