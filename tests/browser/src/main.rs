//! `cargo xtask bench --web` and `cargo xtask screenshots`, which build the page and call this.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use zonefall_browser::measure::{first_view, frames, quantile, run_in_worker, run_natively, transfer};
use zonefall_browser::page::{DESK, Motion, PHONE, Page, Theme};
use zonefall_browser::server::Encoding;
use zonefall_core::scenario::bundled;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bench"] => bench(),
        ["screenshots", folder] => screenshots(Path::new(folder)),
        _ => bail!("called by `cargo xtask bench --web` and `cargo xtask screenshots`"),
    }
}

/// One line per figure, with what it should be.
fn bench() -> Result<()> {
    const RUNS: usize = 5;
    const FRAMES: usize = 300;
    let kib = |bytes: u64| format!("{} KiB", bytes.div_ceil(1024));
    let line = |what: &str, value: String, aim: &str| println!("{what:<28} {value:>12}   aim {aim}");
    println!("The page, in Chromium, {}x{}", DESK.width, DESK.height);
    line("transfer, gzip", kib(transfer(Encoding::Gzip)?), "350 KiB");
    line("transfer, brotli", kib(transfer(Encoding::Brotli)?), "350 KiB");
    let mut pictures = (0..RUNS).map(|_| first_view()).collect::<Result<Vec<Duration>>>()?;
    pictures.sort_unstable();
    line("first picture, median", format!("{:.2} s", quantile(&pictures, 0.5).as_secs_f64()), "1 s");
    let page = Page::start(DESK, Motion::Full, Encoding::Brotli)?;
    play_slowly(&page);
    let frames = frames(&page, FRAMES)?;
    line("frame, 95th percentile", format!("{:.1} ms", quantile(&frames, 0.95).as_secs_f64() * 1e3), "16.7 ms");
    line(
        "worker, times native",
        worker(&page).unwrap_or_else(|error| format!("none: {}", error.to_string().lines().next().unwrap_or_default())),
        "1.5",
    );
    Ok(())
}

/// Five members, slow enough to follow each message: what a frame costs most for.
fn play_slowly(page: &Page) {
    page.open("");
    page.see_first_view();
    page.choose("scenario-chooser", "five-members");
    page.see("verdict", "Writes");
    page.see_no("so-far");
    page.fill("time", "0:30");
    page.press("Enter");
    page.choose("speed", "0.01x");
    if page.attribute("play", "aria-label").as_deref() == Some("Play") {
        page.click("play");
    }
    page.see_attribute("play", "aria-label", "Pause");
    page.wait_for("messages on their way", || page.is_there("messages").then_some(()));
}

/// How many times longer a run takes in the worker: the fastest of some, one here and one there in turn.
fn worker(page: &Page) -> Result<String> {
    const SCENARIO: &str = "zone-outage";
    const RUNS: usize = 5;
    let scenario = bundled().iter().find(|scenario| scenario.name == SCENARIO).context(SCENARIO)?.json;
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..RUNS {
        let (there, here) = (run_in_worker(page, scenario)?, run_natively(scenario));
        ensure!(
            there.trace_hash == here.trace_hash,
            "the worker's trace hash is {}, here it is {}",
            there.trace_hash,
            here.trace_hash
        );
        fastest = [fastest[0].min(there.took), fastest[1].min(here.took)];
    }
    Ok(format!("{:.2}", fastest[0].as_secs_f64() / fastest[1].as_secs_f64()))
}

/// The README's pictures: on a desk and on a telephone, light and dark.
fn screenshots(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (place, view) in [("desk", DESK), ("phone", PHONE)] {
        for (name, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
            let page = Page::new(view);
            page.theme(theme);
            page.open("");
            page.see_first_view();
            // Played to just after the election, and paused there.
            page.see("verdict", "etcd-main-2 was elected");
            page.see_no("so-far");
            page.see_attribute("play", "aria-label", "Play");
            page.see("health", "leader etcd-main-2");
            let path = folder.join(format!("page-{place}-{name}.png"));
            std::fs::write(&path, page.screenshot()).with_context(|| path.display().to_string())?;
            println!("{}", path.display());
        }
    }
    Ok(())
}
