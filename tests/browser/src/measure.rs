//! How heavy, how fast and how smooth the page is.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use zonefall_core::run::run;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;
use zonefall_web::engine::protocol::{self, LoadId, WorkerRequest, WorkerResponse};

use crate::page::{FIRST_VIEW, Page};
use crate::server::{Encoding, names};

/// What a file weighs, in bytes: as it is, gzip, brotli. What is not compressed is sent as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// From the folder of the page.
    pub name: String,
    /// As it is, gzip, brotli.
    pub bytes: [u64; 3],
}

/// What the files of a built page weigh, the heaviest first.
///
/// # Errors
/// If the folder cannot be read.
pub fn weights(folder: &Path) -> Result<Vec<Weight>> {
    let mut weights = Vec::new();
    for name in names(folder)? {
        let raw = std::fs::metadata(folder.join(&name))?.len();
        let bytes = [Encoding::Identity, Encoding::Gzip, Encoding::Brotli].map(|encoding| {
            let compressed = encoding.extension().map(|extension| folder.join(format!("{name}.{extension}")));
            compressed.and_then(|path| std::fs::metadata(path).ok()).map_or(raw, |file| file.len())
        });
        weights.push(Weight { name, bytes });
    }
    weights.sort_by_key(|weight| std::cmp::Reverse(weight.bytes));
    Ok(weights)
}

/// What comes over the network, compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// What the page needs to draw the map of the first scenario, in bytes: all but the simulator.
    pub page: u64,
    /// What it needs to show who leads, and to run: all, in bytes.
    pub run: u64,
}

/// What comes over the network, compressed as given: program, script, style, all of it.
///
/// # Errors
/// If the browser does not start.
pub fn transfer(encoding: Encoding) -> Result<Transfer> {
    const OF_WORKER: [&str; 2] = ["/worker.js", "/zonefall-engine"];
    let page = Page::start(encoding)?;
    page.open("");
    page.see_first_view();
    page.see("verdict", "Writes");
    let sent = page.server().sent();
    let (worker, first): (Vec<_>, Vec<_>) = sent.iter().partition(|(path, _)| OF_WORKER.iter().any(|name| path.contains(name)));
    ensure!(!worker.is_empty(), "the simulator has no program of its own");
    let sum = |files: &[&(String, u64)]| files.iter().map(|(_, bytes)| bytes).sum::<u64>();
    Ok(Transfer { page: sum(&first), run: sum(&first) + sum(&worker) })
}

/// What a page has to do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// How much the network transfers; `None`: as much as this machine's. A way that takes no time in any case: the tests' server
    /// opens a connection for each file, as hosts no longer do.
    pub mbit_per_s: Option<u32>,
    /// How many times slower the page's thread is than on this machine. Chromium does not slow the worker.
    pub slower: u32,
}

impl Conditions {
    /// This machine, and a network that costs no time.
    pub const HERE: Self = Self { mbit_per_s: None, slower: 1 };
    /// A telephone some way from the next mast.
    pub const SLOW: Self = Self { mbit_per_s: Some(10), slower: 4 };

    fn apply(self, page: &Page) -> Result<()> {
        if let Some(mbit_per_s) = self.mbit_per_s {
            let bytes_per_s = u64::from(mbit_per_s) * 1_000_000 / 8;
            let network =
                json!({"offline": false, "latency": 0, "downloadThroughput": bytes_per_s, "uploadThroughput": bytes_per_s});
            page.driver().cdp("Network.enable", &json!({}))?;
            page.driver().cdp("Network.emulateNetworkConditions", &network)?;
        }
        page.driver().cdp("Emulation.setCPUThrottlingRate", &json!({"rate": self.slower})).map(drop)
    }
}

/// From the click on a link until the map of the first scenario is on the screen, and until it shows who leads, with nothing in the
/// cache.
///
/// # Errors
/// If the browser does not start.
pub fn first_view(conditions: Conditions) -> Result<[Duration; 2]> {
    // The second frame after it is there: the first one has been painted by then.
    const WATCH: &str = "
        const seen = window.seenMs = {};
        const watch = new MutationObserver(() => {
            for (const selector of SELECTORS) {
                if (selector in seen || !document.querySelector(selector)) continue;
                seen[selector] = null;
                requestAnimationFrame(() => requestAnimationFrame(() => { seen[selector] = performance.now(); }));
            }
        });
        watch.observe(document, { childList: true, subtree: true });";
    const VIEWS: [&str; 2] = ["#map-scene .node", FIRST_VIEW];
    let page = Page::start(Encoding::Brotli)?;
    conditions.apply(&page)?;
    let watch = WATCH.replace("SELECTORS", &json!(VIEWS).to_string());
    page.driver().cdp("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": watch }))?;
    page.open("");
    let took = VIEWS.map(|view| {
        let seen = || page.run("return window.seenMs[arguments[0]]", &[json!(view)]).as_f64();
        Duration::from_secs_f64(page.wait_for("the first picture", seen) / 1e3)
    });
    Ok(took)
}

/// The times from one frame to the next while the page does what it does now, shortest first: so many, or those of twenty seconds.
///
/// # Errors
/// If the page draws no frame.
pub fn frames(page: &Page, number: usize) -> Result<Vec<Duration>> {
    const COUNT: &str = "
        return new Promise(done => {
            const times = [];
            const count = now => {
                times.push(now);
                if (times.length > arguments[0] || now - times[0] > 20_000) done(times);
                else requestAnimationFrame(count);
            };
            requestAnimationFrame(count);
        })";
    let times = page.run(COUNT, &[json!(number)]);
    let times: Vec<f64> = times.as_array().context("a list of times")?.iter().filter_map(serde_json::Value::as_f64).collect();
    let mut frames: Vec<Duration> =
        times.windows(2).map(|pair| Duration::from_secs_f64((pair[1] - pair[0]).max(0.0) / 1e3)).collect();
    frames.sort_unstable();
    Ok(frames)
}

/// A number of control planes (a multiple of four) in five seeds, for an hour in which nothing fails.
///
/// # Panics
/// If the scenario that it is made from is another than it was.
pub fn landscape(shoots: u64) -> Value {
    const FROM: &str = "many-shoots";
    let scenario = bundled().iter().find(|scenario| scenario.name == FROM).expect(FROM);
    let mut file: Value = serde_json::from_str(scenario.json).expect("it is JSON");
    for shoot in file["shoots"].as_array_mut().expect("shoots") {
        shoot["count"] = json!(shoot["count"].as_u64().expect("a number") * shoots / 200);
    }
    for seed in file["seeds"].as_array_mut().expect("seeds") {
        let pool = &mut seed["pools"][0];
        (pool["minimum"], pool["maximum"]) = (json!(shoots * 12 / 100), json!(shoots * 4 / 10));
    }
    (file["duration"], file["faults"]) = (json!("1h"), json!([]));
    let fields = file.as_object_mut().expect("fields");
    fields.remove("expect");
    fields.remove("observe_at");
    file
}

/// From the moment when a scenario is pasted into the tab JSON until its verdict is on the screen.
///
/// # Errors
/// If the tab does not take it.
pub fn paste_to_verdict(page: &Page, scenario: &str) -> Result<Duration> {
    // The verdict is another one than before, and no longer preliminary.
    const PASTE: &str = "
        const by = id => document.querySelector(`[data-testid=${id}]`);
        const verdict = () => by('verdict')?.textContent ?? '';
        const before = verdict();
        by('json').focus();
        by('json').select();
        const pasted = performance.now();
        if (!document.execCommand('insertText', false, arguments[0])) return null;
        return new Promise(done => {
            const look = () => {
                const there = verdict() !== before && verdict().includes('Writes') && !by('so-far');
                if (there) done(performance.now() - pasted); else requestAnimationFrame(look);
            };
            look();
        })";
    let took_ms = page.driver().execute(PASTE, &[json!(scenario)])?.as_f64().context("the tab JSON takes no text")?;
    Ok(Duration::from_secs_f64(took_ms / 1e3))
}

/// A run from the scenario's text to its report.
#[derive(Clone, Debug)]
pub struct Run {
    /// From the text to the report.
    pub took: Duration,
    /// The report's.
    pub trace_hash: String,
}

/// A run in a worker of the page, as the page has it do it: in slices, with reports in between.
///
/// # Errors
/// What the worker says is wrong, or that it does not start.
pub fn run_in_worker(page: &Page, scenario: &str) -> Result<Run> {
    // The first thing a worker tells is that it is ready.
    const START: &str = "
        const run = window.run = { told: [], worker: new Worker('./worker.js', { type: 'module' }) };
        run.worker.onerror = event => { event.preventDefault(); run.failed = event.message; };
        run.worker.onmessage = ({ data }) => {
            if (run.started === undefined) {
                run.started = performance.now();
                run.worker.postMessage(Uint8Array.from(arguments[0]));
            } else {
                run.told.push([performance.now() - run.started, data]);
            }
        };";
    const HEARD: &str = "return [window.run.failed, window.run.told.splice(0).map(([ms, tell]) => [ms, Array.from(tell)])];";
    const BETWEEN: Duration = Duration::from_millis(200);
    let request = WorkerRequest::Load { load: LoadId(1), text: scenario.to_owned(), seed: None };
    page.driver().execute(START, &[json!(protocol::write(&request))])?;
    let run = loop {
        std::thread::sleep(BETWEEN);
        let heard = page.driver().execute(HEARD, &[])?;
        let (failed, told): (Option<String>, Vec<(f64, Vec<u8>)>) = serde_json::from_value(heard)?;
        ensure!(failed.is_none(), "the worker failed: {failed:?}");
        let response = |bytes: &[u8]| protocol::read(bytes).context("the worker says what is no message");
        let ends = |(took_ms, bytes): &(f64, Vec<u8>)| {
            response(bytes).and_then(|response| finished(Duration::from_secs_f64(took_ms / 1e3), response)).transpose()
        };
        if let Some(run) = told.iter().find_map(ends) {
            break run;
        }
    };
    page.driver().execute("window.run.worker.terminate();", &[])?;
    run
}

/// The run that a message of the worker ends; `None`: it goes on.
pub(crate) fn finished(took: Duration, response: WorkerResponse) -> Result<Option<Run>> {
    match response {
        WorkerResponse::Progress { done: true, report: Some(report), .. } => {
            Ok(Some(Run { took, trace_hash: report.trace_hash }))
        }
        WorkerResponse::Invalid { errors, .. } => bail!("the worker refused: {errors:?}"),
        WorkerResponse::GaveUp { why, .. } => bail!("the worker gave up: {why}"),
        WorkerResponse::Ready { .. }
        | WorkerResponse::Progress { .. }
        | WorkerResponse::Viewed { .. }
        | WorkerResponse::CloseUp { .. }
        | WorkerResponse::Pong(_) => Ok(None),
    }
}

/// The same run here.
///
/// # Panics
/// If the scenario has errors.
pub fn run_natively(scenario: &str) -> Run {
    let started = Instant::now();
    let scenario = Arc::new(Scenario::from_json(scenario).expect("the scenario has no errors"));
    let report = run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {});
    Run { took: started.elapsed(), trace_hash: report.trace_hash }
}

/// The value that a share of the sorted ones does not exceed.
///
/// # Panics
/// If there are none.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> T {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted[at.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_among_the_values() {
        let check =
            |sorted: &[u32], share: f64, expected: u32| assert_eq!(quantile(sorted, share), expected, "{sorted:?} {share}");
        check(&[7], 0.95, 7);
        check(&[1, 2], 0.5, 1);
        check(&[1, 2, 3], 0.5, 2);
        check(&[1, 2, 3], 1.0, 3);
        check(&(1..=100).collect::<Vec<_>>(), 0.95, 95);
    }
}
