//! What runs in Chromium: the page's stories, its benchmarks, its pictures. The package `zonefall-browser` does the work; here it is
//! given the built page and the tools.

use std::process::Command;

use anyhow::Result;

use crate::steps::{self, Outcome};
use crate::{cargo, root, tools, web};

/// The step: the page's stories.
pub(crate) fn step() -> Outcome {
    web::page()?;
    steps::check_tests(with_tools(&mut cargo(&[
        "test",
        "-p",
        "zonefall-browser",
        "--features",
        "chromium",
        "--test",
        "stories",
        "--no-fail-fast",
    ]))?)
}

/// `cargo xtask bench --web`.
pub(crate) fn bench() -> Result<()> {
    web::page()?;
    steps::check(with_tools(run().args(["--release", "--", "bench"]))?)
}

/// `cargo xtask screenshots`.
pub(crate) fn screenshots() -> Result<()> {
    web::page()?;
    steps::check(with_tools(run().args(["--", "screenshots"]).arg(root().join("docs")))?)
}

fn run() -> Command {
    cargo(&["run", "-p", "zonefall-browser", "--features", "chromium"])
}

/// Tells a command where the page and the tools are.
fn with_tools(command: &mut Command) -> Result<&mut Command> {
    let chromium = tools::chromium::chromium()?;
    let axe = tools::node::node()?.package("axe-core")?.join("axe.min.js");
    command.env("CHROMIUM", chromium.browser).env("CHROMEDRIVER", chromium.driver);
    Ok(command.env("ZONEFALL_PAGE", web::folder()).env("ZONEFALL_AXE", axe))
}
