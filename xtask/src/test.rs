//! `cargo xtask test`: everything that must hold before a change is merged, the fast checks first.

use anyhow::{Result, bail};

use crate::steps::{Outcome, Step, check, check_tests, run_all};
use crate::tools::{self, WASM};
use crate::{browser, cargo, tidy, web};

/// What runs in a browser, or is run as wasm by a test.
const WASM_PACKAGES: [&str; 5] = ["zonefall-kernel", "zonefall-scenario", "zonefall-core", "zonefall-plots", "zonefall-web"];

const STEPS: [Step; 10] = [
    Step { name: "fmt", about: "the code is formatted", run: fmt },
    Step { name: "tidy", about: "rules that no compiler knows", run: tidy::run },
    Step { name: "clippy", about: "lints of every package, on this machine's target", run: clippy },
    Step { name: "clippy-wasm", about: "lints of what runs in a browser, on wasm32", run: clippy_wasm },
    Step { name: "doc", about: "the documentation builds and its links lead somewhere", run: doc },
    Step { name: "test", about: "unit, scenario, oracle, measurement and documentation tests", run: test },
    Step { name: "bench", about: "lints and tests of the benchmarks, which are a workspace of their own", run: bench },
    Step { name: "wasm", about: "the same results in wasm, under node", run: wasm },
    Step { name: "web", about: "the web page builds as it is shipped", run: web::step },
    Step { name: "browser", about: "the web page's stories, in Chromium", run: browser::step },
];

/// Runs the steps named, or all.
pub(crate) fn run(names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !STEPS.iter().any(|step| step.name == name.as_str())) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!("unknown step `{unknown}`; there are {}", known.join(", "));
    }
    run_all(STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)))
}

fn fmt() -> Outcome {
    tools::component("rustfmt", "fmt")?;
    check(&mut cargo(&["fmt", "--all", "--check"]))?;
    check(&mut cargo(&["fmt", "--manifest-path", "bench/Cargo.toml", "--check"]))?;
    Ok(None)
}

fn clippy() -> Outcome {
    tools::component("clippy", "clippy")?;
    let clippy = |what: &[&str]| check(cargo(&["clippy", "--quiet", "--all-targets"]).args(what).args(["--", "-D", "warnings"]));
    clippy(&["--workspace"])?;
    clippy(&["-p", "zonefall-browser", "--features", "chromium"])?;
    Ok(None)
}

fn clippy_wasm() -> Outcome {
    tools::component("clippy", "clippy")?;
    tools::wasm_target()?;
    let clippy = || cargo(&["clippy", "--quiet", "--target", WASM]);
    check(clippy().args(WASM_PACKAGES.iter().flat_map(|package| ["-p", package])).args(["--", "-D", "warnings"]))?;
    check(clippy().args(["-p", "zonefall-tests", "--tests", "--", "-D", "warnings"]))?;
    Ok(None)
}

fn doc() -> Outcome {
    check(cargo(&["doc", "--quiet", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(None)
}

/// One profile for all (see the root's Cargo.toml): optimised, with debug assertions, and what `cargo build` has built is used.
fn test() -> Outcome {
    check_tests(&mut cargo(&["test", "--workspace", "--no-fail-fast"]))
}

fn bench() -> Outcome {
    tools::component("clippy", "clippy")?;
    let bench = |command: &str| cargo(&[command, "--manifest-path", "bench/Cargo.toml", "--workspace", "--quiet"]);
    check(bench("clippy").args(["--all-targets", "--", "-D", "warnings"]))?;
    check_tests(&mut bench("test"))
}

fn wasm() -> Outcome {
    tools::wasm_target()?;
    let folders = [tools::node::node()?.bin(), tools::cargo_tools::wasm_bindgen()?].into_iter().flatten();
    let mut command = cargo(&["test", "-p", "zonefall-tests", "--test", "it", "--target", WASM]);
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner");
    check_tests(tools::with_path(&mut command, folders)?)
}
