//! What runs in Chromium: the page's stories, its benchmarks, its pictures. The package `zonefall-browser` does the work; here it is
//! given the built page and the tools.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use crate::steps::{self, Outcome};
use crate::suites::{self, Suite, suites};
use crate::{cargo, root, tools, web};

/// The test program of the page: its stories, and the golden hashes through its worker.
pub(crate) const STORIES: &str = "zonefall-browser/stories";

/// The step: the worker's hashes and the page's stories.
pub(crate) fn step() -> Outcome {
    let stories: Vec<&Suite> = suites()?.iter().filter(|suite| suite.name == STORIES).collect();
    web::page()?;
    suites::run(&stories, &tools()?)
}

/// `cargo xtask bench --web`.
pub(crate) fn bench() -> Result<()> {
    web::page()?;
    steps::check(run()?.args(["--release", "--", "bench"]))
}

/// `cargo xtask screenshots`.
pub(crate) fn screenshots() -> Result<()> {
    web::page()?;
    steps::check(run()?.args(["--", "screenshots"]).arg(root().join("docs")))
}

fn run() -> Result<Command> {
    let mut command = cargo(&["run", "-p", "zonefall-browser", "--features", "chromium"]);
    command.envs(tools()?);
    Ok(command)
}

/// Where the page and the tools are, as environment variables.
pub(crate) fn tools() -> Result<[(&'static str, OsString); 5]> {
    let chromium = tools::chromium::chromium()?;
    let node = tools::node::node()?;
    let axe = node.package("axe-core")?.join("axe.min.js");
    Ok([
        ("CHROMIUM", chromium.browser.into()),
        ("CHROMEDRIVER", chromium.driver.into()),
        ("ZONEFALL_PAGE", web::folder().into()),
        ("ZONEFALL_NODE", node.command().get_program().to_owned()),
        ("ZONEFALL_AXE", axe.into()),
    ])
}
