//! How heavy, how fast and how smooth the page is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use zonefall_core::run::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;
use zonefall_web::engine::protocol::{self, LoadId, WorkerRequest, WorkerResponse};

use crate::page::{DESK, FIRST_VIEW, Motion, Page};
use crate::server::Encoding;

/// What comes over the network until the page has started, in bytes, compressed as given: program, script, style, all of it.
///
/// # Errors
/// If the browser does not start.
pub fn transfer(encoding: Encoding) -> Result<u64> {
    let page = Page::start(DESK, Motion::Full, encoding)?;
    page.open("");
    page.see_first_view();
    Ok(page.server().sent())
}

/// From the click on a link until the first picture is on the screen, with nothing in the cache and a network that costs no time.
///
/// # Errors
/// If the browser does not start.
pub fn first_view() -> Result<Duration> {
    // The second frame after it is there: the first one has been painted by then.
    const WATCH: &str = "
        const watch = new MutationObserver(() => {
            if (!document.querySelector(SELECTOR)) return;
            watch.disconnect();
            requestAnimationFrame(() => requestAnimationFrame(() => { window.firstPictureMs = performance.now(); }));
        });
        watch.observe(document, { childList: true, subtree: true });";
    let page = Page::start(DESK, Motion::Full, Encoding::Brotli)?;
    let watch = WATCH.replace("SELECTOR", &format!("{FIRST_VIEW:?}"));
    page.driver().cdp("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": watch }))?;
    page.open("");
    let took_ms = page.wait_for("the first picture", || page.run("return window.firstPictureMs", &[]).as_f64());
    Ok(Duration::from_secs_f64(took_ms / 1e3))
}

/// The times from one frame to the next while the page does what it does now, shortest first.
///
/// # Errors
/// If the page draws no frame.
pub fn frames(page: &Page, number: usize) -> Result<Vec<Duration>> {
    const COUNT: &str = "
        return new Promise(done => {
            const times = [];
            const count = now => { times.push(now); times.length > arguments[0] ? done(times) : requestAnimationFrame(count); };
            requestAnimationFrame(count);
        })";
    let times = page.run(COUNT, &[json!(number)]);
    let times: Vec<f64> = times.as_array().context("a list of times")?.iter().filter_map(serde_json::Value::as_f64).collect();
    let mut frames: Vec<Duration> =
        times.windows(2).map(|pair| Duration::from_secs_f64((pair[1] - pair[0]).max(0.0) / 1e3)).collect();
    frames.sort_unstable();
    Ok(frames)
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
        WorkerResponse::Ready | WorkerResponse::Progress { .. } | WorkerResponse::Viewed { .. } | WorkerResponse::Pong(_) => {
            Ok(None)
        }
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
