//! The figures of `cargo xtask bench --web`, each with what it should be. None of them fails.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use zonefall_browser::given;
use zonefall_browser::measure::{
    Conditions, first_view, frames, landscape, paste_to_verdict, quantile, run_in_worker, run_natively, transfer, weights,
};
use zonefall_browser::page::{DESK, Page};
use zonefall_browser::server::Encoding;
use zonefall_core::scenario::bundled;

/// How often a time is taken that differs from one to the next; the median counts.
const RUNS: usize = 5;

/// One line per figure.
pub(crate) fn run() -> Result<()> {
    let kib = |bytes: u64| format!("{} KiB", bytes.div_ceil(1024));
    println!("The page, in Chromium, {}x{}\n", DESK.width, DESK.height);
    print_weights()?;
    println!();
    line("sent", "", "");
    for (name, encoding) in [("gzip", Encoding::Gzip), ("brotli", Encoding::Brotli)] {
        let sent = transfer(encoding)?;
        line(&format!("  for the map, {name}"), &kib(sent.page), "350 KiB");
        line(&format!("  and a run, {name}"), &kib(sent.run), "");
    }
    for (name, conditions, aim) in [("here", Conditions::HERE, ""), ("10 Mbit/s, 4x slower CPU", Conditions::SLOW, "1 s")] {
        line(name, "", "");
        let views = (0..RUNS).map(|_| first_view(conditions)).collect::<Result<Vec<_>>>()?;
        for (view, what, aim) in [(0, "  the map is seen", aim), (1, "  and who leads", "")] {
            line(what, &seconds(median(views.iter().map(|took| took[view]).collect())), aim);
        }
    }
    print_frames()?;
    line("2,000 shoots, paste to verdict", "", "");
    for (name, playing) in [("  playing", true), ("  paused", false)] {
        let times = (0..RUNS).map(|_| paste(playing)).collect::<Result<Vec<_>>>()?;
        line(name, &seconds(median(times)), "5 s");
    }
    let times_native = worker().unwrap_or_else(|error| format!("none: {}", error.to_string().lines().next().unwrap_or_default()));
    line("worker, times native", &times_native, "1.5");
    Ok(())
}

fn line(what: &str, value: &str, aim: &str) {
    let aim = if aim.is_empty() { String::new() } else { format!("   aim {aim}") };
    println!("{}", format!("{what:<32} {value:>12}{aim}").trim_end());
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    quantile(&times, 0.5)
}

fn print_weights() -> Result<()> {
    let weights = weights(&given("ZONEFALL_PAGE"))?;
    let kib = |bytes: [u64; 3]| bytes.map(|bytes| format!("{:>10.1}", bytes as f64 / 1024.0)).concat();
    println!("{:<32} {:>10}{:>10}{:>10}", "weight, KiB", "raw", "gzip", "brotli");
    for weight in &weights {
        println!("  {:<30} {}", weight.name, kib(weight.bytes));
    }
    let sum = [0, 1, 2].map(|form| weights.iter().map(|weight| weight.bytes[form]).sum());
    println!("  {:<30} {}", "together", kib(sum));
    Ok(())
}

fn print_frames() -> Result<()> {
    const FRAMES: usize = 300;
    const AIM: &str = "16.7 ms";
    let measure = |what: &str, page: &Page| -> Result<()> {
        let frames = frames(page, FRAMES)?;
        line(what, &format!("{:.1} ms", quantile(&frames, 0.95).as_secs_f64() * 1e3), AIM);
        Ok(())
    };
    line("frame, 95th percentile", "", "");
    let page = Page::start(Encoding::Brotli)?;
    show_messages(&page);
    measure("  every message of 5 members", &page)?;
    let page = Page::start(Encoding::Brotli)?;
    show_landscape(&page)?;
    play_from(&page, "5:00", "30x");
    measure("  1,000 shoots", &page)?;
    play_from(&page, "9:58", "30x");
    measure("  1,000 shoots, a zone fails", &page)
}

/// Five members, slow enough to follow each message: what a frame costs most for.
fn show_messages(page: &Page) {
    page.open("");
    page.see_first_view();
    page.choose("scenario-chooser", "five-members");
    page.see("verdict", "Writes");
    page.see_no("so-far");
    play_from(page, "0:30", "0.01x");
    page.wait_for("messages on their way", || page.is_there("messages").then_some(()));
}

/// A thousand control planes, of which a zone fails after ten minutes.
fn show_landscape(page: &Page) -> Result<()> {
    let mut file = landscape(1_000);
    file["faults"] = json!([{"at": "10m", "for": "2h", "kind": "zone_power", "zone": "za"}]);
    page.open("");
    page.see_first_view();
    page.see("verdict", "etcd-main-2 was elected");
    page.click("tab-json");
    paste_to_verdict(page, &file.to_string()).map(drop)
}

fn play_from(page: &Page, time: &str, speed: &str) {
    if page.attribute("play", "aria-label").as_deref() == Some("Pause") {
        page.click("play");
    }
    page.fill("time", time);
    page.press("Enter");
    page.see_no("catching-up");
    page.choose("speed", speed);
    if page.attribute("play", "aria-label").as_deref() == Some("Play") {
        page.click("play");
    }
    page.see_attribute("play", "aria-label", "Pause");
}

/// A large scenario is pasted over the first one.
fn paste(playing: bool) -> Result<Duration> {
    let page = Page::start(Encoding::Brotli)?;
    page.open("");
    page.see_first_view();
    page.see("verdict", "etcd-main-2 was elected");
    page.see_no("so-far");
    page.see_attribute("play", "aria-label", "Play");
    page.click("tab-json");
    if playing {
        play_from(&page, "0:30", "1x");
    }
    paste_to_verdict(&page, &landscape(2_000).to_string())
}

/// How many times longer a run takes in the worker: the fastest of some, one here and one there in turn.
fn worker() -> Result<String> {
    const SCENARIO: &str = "zone-outage";
    let scenario = bundled().iter().find(|scenario| scenario.name == SCENARIO).context(SCENARIO)?.json;
    let page = Page::start(Encoding::Brotli)?;
    page.open("");
    page.see_first_view();
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..RUNS {
        let (there, here) = (run_in_worker(&page, scenario)?, run_natively(scenario));
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
