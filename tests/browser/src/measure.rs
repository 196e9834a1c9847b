//! How heavy, how fast and how smooth the page is.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use crate::page::{DESK, FIRST_PICTURE, Page};
use crate::server::Encoding;

/// What comes over the network until the page has started, in bytes, compressed as given: program, script, style, all of it.
///
/// # Errors
/// If the browser does not start.
pub fn transfer(encoding: Encoding) -> Result<u64> {
    let page = Page::start(DESK, encoding)?;
    page.open("");
    page.see_first_picture();
    Ok(page.server().sent())
}

/// From the click on a link until the first picture is on the screen, with nothing in the cache and a network that costs no time.
///
/// # Errors
/// If the browser does not start.
pub fn first_picture() -> Result<Duration> {
    // The second frame after it is there: the first one has been painted by then.
    const WATCH: &str = "
        const watch = new MutationObserver(() => {
            if (!document.querySelector(SELECTOR)) return;
            watch.disconnect();
            requestAnimationFrame(() => requestAnimationFrame(() => { window.firstPictureMs = performance.now(); }));
        });
        watch.observe(document, { childList: true, subtree: true });";
    let page = Page::start(DESK, Encoding::Brotli)?;
    let watch = WATCH.replace("SELECTOR", &format!("{FIRST_PICTURE:?}"));
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
