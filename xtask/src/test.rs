//! `cargo xtask test`: everything that must hold before a change is merged, the fast checks first.

use std::ffi::OsString;

use anyhow::{Result, bail};

use crate::steps::{Outcome, Step, When, check, run_all};
use crate::suites::{self, Suite, suites};
use crate::tools;
use crate::{browser, cargo, deep, tidy, web};

const STEPS: [Step; 11] = [
    step("fmt", "the code is formatted", fmt),
    step("tidy", "rules that no compiler knows", tidy::run),
    step("clippy", "lints of every package", clippy),
    step("doc", "the documentation builds and its links lead somewhere", doc),
    step("build", "every test program compiles, once", build),
    step("web", "the web page builds as it is shipped", web::step),
    step("test", "every test program runs, the page's stories in Chromium among them", test),
    step("examples", "the examples in the documentation", suites::run_examples),
    Step { when: When::Named, ..step("native", "the tests that need no browser: a part of `test`", native) },
    Step {
        when: When::Named,
        ..step("browser", "the shipped worker under node, and the stories: the other part", browser::step)
    },
    Step { when: When::Deep, ..step("bench", "lints and tests of the benchmarks, which are a workspace of their own", bench) },
];

const fn step(name: &'static str, about: &'static str, run: fn() -> Outcome) -> Step {
    Step { name, about, run, when: When::Always }
}

/// Runs the steps named, or all.
pub(crate) fn run(names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !STEPS.iter().any(|step| step.name == name.as_str())) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!("unknown step `{unknown}`; there are {}", known.join(", "));
    }
    let chosen = |step: &&Step| match step.when {
        _ if !names.is_empty() => names.iter().any(|name| name == step.name),
        When::Always => true,
        When::Deep => deep(),
        When::Named => false,
    };
    let steps: Vec<&Step> = STEPS.iter().filter(chosen).collect();
    // The page is linked and shrunk by one thread, for minutes: the other cores check and compile meanwhile.
    if steps.iter().any(|step| ["web", "test", "browser"].contains(&step.name)) {
        std::thread::spawn(web::page);
    }
    run_all(steps)
}

fn fmt() -> Outcome {
    tools::component("rustfmt", "fmt")?;
    check(&mut cargo(&["fmt", "--all", "--check"]))?;
    check(&mut cargo(&["fmt", "--manifest-path", "bench/Cargo.toml", "--check"]))?;
    Ok(None)
}

fn clippy() -> Outcome {
    tools::component("clippy", "clippy")?;
    let what = ["clippy", "--quiet", "--workspace", "--all-targets", "--features", "zonefall-browser/chromium"];
    check(cargo(&what).args(["--", "-D", "warnings"]))?;
    Ok(None)
}

fn doc() -> Outcome {
    check(cargo(&["doc", "--quiet", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(None)
}

/// One profile for all (see the root's Cargo.toml): what `cargo build` has built is used.
fn build() -> Outcome {
    Ok(Some(format!("{} test programs", suites()?.len())))
}

fn test() -> Outcome {
    web::page()?;
    let tools = browser::tools()?;
    // The stories first: they take longest.
    let (stories, others): (Vec<&Suite>, Vec<&Suite>) = suites()?.iter().partition(|suite| suite.name == browser::STORIES);
    suites::run(&[stories, others].concat(), &tools)
}

fn native() -> Outcome {
    run_native(&[])
}

/// Runs the tests that need no browser, and accepts what they generate.
pub(crate) fn bless() -> Result<()> {
    tidy::bless()?;
    run_native(&[("ZONEFALL_BLESS", "1".into())]).map(drop)
}

fn run_native(environment: &[(&str, OsString)]) -> Outcome {
    let chosen: Vec<&Suite> = suites()?.iter().filter(|suite| suite.name != browser::STORIES).collect();
    suites::run(&chosen, environment)
}

fn bench() -> Outcome {
    tools::component("clippy", "clippy")?;
    let bench = |command: &str| cargo(&[command, "--manifest-path", "bench/Cargo.toml", "--workspace", "--quiet"]);
    check(bench("clippy").args(["--all-targets", "--", "-D", "warnings"]))?;
    check(&mut bench("test"))?;
    Ok(None)
}
