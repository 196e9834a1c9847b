//! The words that stories are told in. Each waits for what it names, as a person would, and never for a time; what does not come
//! ends the story with a message, a picture and what the console said.
//!
//! Things of the page are named by their `data-testid`.
#![expect(clippy::must_use_candidate, reason = "words such as `see` are told for what they check")]

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::Browser;
use crate::driver::{Driver, Element, SiteData};
use crate::given;
use crate::server::{Encoding, Server};

/// What does not come within this does not come.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long it takes until the page is asked again: an eighth of the time waited so far, within these bounds. Each question costs
/// several milliseconds of CPU time.
const PAUSE: RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_millis(250);

/// The CSS selector of what one comes for: the page has started when the map shows who leads, or, where there is so much of Kubernetes
/// that it shows no members of etcd, pods, or how many a node runs.
pub const FIRST_VIEW: &str = "#map-scene .member.leader, #map-scene .pod, #map-scene .part";

/// What the page is seen on: width and height in CSS pixels, and how many of the screen's pixels one has.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// In CSS pixels.
    pub width: u32,
    /// In CSS pixels.
    pub height: u32,
    /// The screen's pixels per CSS pixel.
    pub density: u32,
    /// Touched rather than clicked.
    pub mobile: bool,
}

/// A screen on a desk.
pub const DESK: View = View { width: 1440, height: 900, density: 1, mobile: false };
/// A telephone.
pub const PHONE: View = View { width: 390, height: 844, density: 2, mobile: true };

/// The scheme of colours a person has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// What a person has set for movement on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// As little as possible: the first scenario is shown at its outage at once.
    Reduced,
    /// The first scenario plays to its outage.
    Full,
}

/// The page in a tab of its own.
pub struct Page {
    browser: Arc<Browser>,
    view: View,
    motion: Motion,
    downloads: TempDir,
}

/// Whether the page finds the browser's service workers. The page's own fetches all files and writes them to a disk: stories that are not
/// about it do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceWorker {
    Hidden,
    Found,
}

/// Tells a story on a desk and on a telephone. At the end of each the console must have had nothing to complain about.
#[track_caller]
pub fn story(steps: impl Fn(&Page)) {
    story_with(&[DESK, PHONE], Motion::Reduced, Browser::shared, steps);
}

/// Tells a story of things that move, on both.
#[track_caller]
pub fn story_in_motion(steps: impl Fn(&Page)) {
    story_with(&[DESK, PHONE], Motion::Full, Browser::shared, steps);
}

/// Tells a story on one of them.
#[track_caller]
pub fn story_on(view: View, steps: impl Fn(&Page)) {
    story_with(&[view], Motion::Reduced, Browser::shared, steps);
}

/// Tells a story on one of them in a browser with an empty cache and with a host that the story may change.
#[track_caller]
pub fn story_with_own_host(view: View, steps: impl Fn(&Page)) {
    story_with(&[view], Motion::Reduced, || Browser::own(Encoding::Identity, SiteData::Allowed), steps);
}

/// Tells a story on both where the browser's settings block site data.
#[track_caller]
pub fn story_without_site_data(steps: impl Fn(&Page)) {
    story_with(&[DESK, PHONE], Motion::Reduced, || Browser::own(Encoding::Identity, SiteData::Blocked), steps);
}

#[track_caller]
fn story_with(views: &[View], motion: Motion, browser: impl Fn() -> Result<Arc<Browser>>, steps: impl Fn(&Page)) {
    for view in views {
        let page = expect_ok("an empty page", Page::of(browser(), *view, motion, ServiceWorker::Hidden));
        steps(&page);
        let complaints = page.complaints();
        assert!(complaints.is_empty(), "the console complains:\n{}", complaints.join("\n"));
    }
}

impl Page {
    /// A browser on an empty page; [`open`](Self::open) goes to ours.
    #[track_caller]
    pub fn new(view: View) -> Self {
        expect_ok("an empty page", Self::of(Browser::shared(), view, Motion::Full, ServiceWorker::Hidden))
    }

    /// The page as users have it, with movement and a service worker, on a desk; its files compressed as given.
    ///
    /// # Errors
    /// If server or browser does not start.
    pub fn start(encoding: Encoding) -> Result<Self> {
        Self::of(Browser::own(encoding, SiteData::Allowed), DESK, Motion::Full, ServiceWorker::Found)
    }

    /// As [`new`](Self::new), without movement, in a browser of its own that lets the page have its service worker, if its settings
    /// allow that.
    #[track_caller]
    pub fn with_service_worker(view: View, site_data: SiteData) -> Self {
        let browser = Browser::own(Encoding::Identity, site_data);
        expect_ok("an empty page", Self::of(browser, view, Motion::Reduced, ServiceWorker::Found))
    }

    /// An empty page in a browser.
    fn of(browser: Result<Arc<Browser>>, view: View, motion: Motion, service_worker: ServiceWorker) -> Result<Self> {
        const HIDE: &str = "delete Navigator.prototype.serviceWorker";
        let browser = browser.context("a browser")?;
        let driver = &browser.driver;
        if service_worker == ServiceWorker::Hidden {
            driver.cdp("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": HIDE }))?;
        }
        let downloads = TempDir::new_in(driver.folder())?;
        let View { width, height, density, mobile } = view;
        driver.cdp(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": density, "mobile": mobile}),
        )?;
        let behavior = json!({"behavior": "allow", "downloadPath": downloads.path().display().to_string()});
        driver.cdp("Browser.setDownloadBehavior", &behavior)?;
        let page = Self { browser, view, motion, downloads };
        page.theme(Theme::Light);
        Ok(page)
    }

    /// The browser, for what no word here says.
    pub fn driver(&self) -> &Driver {
        &self.browser.driver
    }

    /// The host of the page, which no other page has.
    ///
    /// # Panics
    /// If the page shares a browser: a host that stories change is a [`story_with_own_host`]'s.
    pub fn server(&self) -> &Server {
        assert!(!self.browser.shared, "other pages have this host too");
        &self.browser.server
    }

    /// Goes to the page: with nothing, or with what stands behind its address, such as `#...`.
    #[track_caller]
    pub fn open(&self, behind: &str) {
        expect_ok("the page loads", self.driver().go("about:blank"));
        expect_ok("the page loads", self.driver().go(&(self.browser.server.url() + behind)));
    }

    /// Waits until the page shows what one comes for.
    #[track_caller]
    pub fn see_first_view(&self) {
        let found = || Ok((!self.driver().find(FIRST_VIEW)?.is_empty()).then_some(()));
        expect_ok("the first picture", until(found));
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        expect_ok("the page loads again", self.driver().reload());
    }

    /// The page's address.
    #[track_caller]
    pub fn url(&self) -> String {
        expect_ok("the address", self.driver().url())
    }

    /// What stands behind `#` in the page's address.
    #[track_caller]
    pub fn fragment(&self) -> String {
        self.url().split_once('#').map_or_else(String::new, |(_, fragment)| fragment.to_owned())
    }

    /// Waits until something is so, and gives it.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        expect_ok(what, until(|| Ok(found())))
    }

    /// Whether a thing is there now.
    #[track_caller]
    pub fn is_there(&self, id: &str) -> bool {
        !expect_ok(id, self.driver().find(&by(id))).is_empty()
    }

    /// Waits until a thing has gone.
    #[track_caller]
    pub fn see_no(&self, id: &str) {
        self.wait_for(&format!("no {id}"), || (!self.is_there(id)).then_some(()));
    }

    /// Waits until a thing is there and its text has `part` in it, and gives the text.
    #[track_caller]
    pub fn see(&self, id: &str, part: &str) -> String {
        let what = format!("{id} to say {part:?}");
        self.on(id, &what, |element| Ok(Some(self.driver().text(element)?).filter(|text| text.contains(part))))
    }

    /// The text of a thing as it is shown.
    #[track_caller]
    pub fn text(&self, id: &str) -> String {
        self.on(id, id, |element| self.driver().text(element).map(Some))
    }

    /// The texts of all that a CSS selector finds now.
    #[track_caller]
    pub fn texts(&self, css: &str) -> Vec<String> {
        let found = || self.driver().find(css)?.iter().map(|element| self.driver().text(element)).collect::<Result<Vec<_>>>();
        expect_ok(css, until(|| found().map(Some)))
    }

    /// What a thing's attribute says now.
    #[track_caller]
    pub fn attribute(&self, id: &str, name: &str) -> Option<String> {
        self.on(id, id, |element| self.driver().attribute(element, name).map(Some))
    }

    /// Waits until a thing's attribute is `value`.
    #[track_caller]
    pub fn see_attribute(&self, id: &str, name: &str, value: &str) {
        let is = |element: &Element| Ok((self.driver().attribute(element, name)?.as_deref() == Some(value)).then_some(()));
        self.on(id, &format!("{name} of {id} to be {value:?}"), is);
    }

    /// Waits until a thing's attribute has `part` in it.
    #[track_caller]
    pub fn see_attribute_has(&self, id: &str, name: &str, part: &str) {
        let has = |element: &Element| {
            Ok(self.driver().attribute(element, name)?.is_some_and(|value| value.contains(part)).then_some(()))
        };
        self.on(id, &format!("{name} of {id} to have {part:?}"), has);
    }

    /// Waits until one of what a CSS selector finds has `part` in its text, seen or not.
    #[track_caller]
    pub fn see_among(&self, css: &str, part: &str) {
        const TEXTS: &str =
            "return [...document.querySelectorAll(arguments[0])].some(one => one.textContent.includes(arguments[1]))";
        let found = || self.driver().execute(TEXTS, &[json!(css), json!(part)]).map(|found| (found == true).then_some(()));
        expect_ok(&format!("{part:?} among {css}"), until(found));
    }

    /// Whether this is a telephone: panels are sheets there, and the timeline has fewer lanes.
    pub fn is_phone(&self) -> bool {
        self.view.mobile
    }

    /// Clicks the first of what a CSS selector finds.
    #[track_caller]
    pub fn click_on(&self, css: &str) {
        let click = || match self.driver().find(css)?.first() {
            Some(element) => self.driver().click(element).map(Some),
            None => bail!("there is no {css}"),
        };
        expect_ok(&format!("a click on {css}"), until(click));
    }

    /// Clicks a thing.
    #[track_caller]
    pub fn click(&self, id: &str) {
        self.on(id, &format!("a click on {id}"), |element| self.driver().click(element).map(Some));
    }

    /// Presses keys together, such as `Space` or `Control+k`.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        expect_ok(keys, self.driver().press(&keys.split('+').collect::<Vec<_>>()));
    }

    /// Presses Tab until the focus is on a thing: who has no mouse gets there too.
    #[track_caller]
    pub fn tab_to(&self, id: &str) {
        const MOST: usize = 300;
        for _ in 0..MOST {
            if self.focused().as_deref() == Some(id) {
                return;
            }
            self.press("Tab");
        }
        panic!("{MOST} times Tab did not reach {id}");
    }

    /// What has the focus.
    #[track_caller]
    pub fn focused(&self) -> Option<String> {
        let id = self.run("return document.activeElement?.getAttribute('data-testid')", &[]);
        id.as_str().map(ToOwned::to_owned)
    }

    /// Replaces what is in a field.
    #[track_caller]
    pub fn fill(&self, id: &str, text: &str) {
        self.click(id);
        self.press("Control+a");
        expect_ok(id, self.driver().cdp("Input.insertText", &json!({ "text": text })));
    }

    /// Picks the option of a list that reads `option`, or else the first that has it in its text.
    #[track_caller]
    pub fn choose(&self, id: &str, option: &str) {
        let pick = || {
            let options = self.driver().find(&format!("{} option", by(id)))?;
            let texts = options.iter().map(|one| self.driver().text(one)).collect::<Result<Vec<_>>>()?;
            let whole = texts.iter().position(|text| text.trim() == option);
            let at = whole.or_else(|| texts.iter().position(|text| text.contains(option)));
            at.map(|at| self.driver().click(&options[at])).transpose()
        };
        expect_ok(&format!("{option:?} in {id}"), until(pick));
    }

    /// Opens a file through a field for files.
    #[track_caller]
    pub fn choose_file(&self, id: &str, name: &str, content: &[u8]) {
        let path = self.downloads.path().join("mine").join(name);
        let written =
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).and_then(|()| std::fs::write(&path, content));
        expect_ok(name, written.map_err(Into::into));
        let path = path.display().to_string();
        self.on(id, id, |element| self.driver().type_into(element, &path).map(Some));
    }

    /// Does what starts a download, waits for it, and gives the file's name and content.
    #[track_caller]
    pub fn download(&self, start: impl Fn()) -> (String, Vec<u8>) {
        let files = || -> Vec<PathBuf> {
            let entries = std::fs::read_dir(self.downloads.path()).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
        };
        let before = files();
        start();
        let path = self.wait_for("a downloaded file", || {
            let unfinished = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "crdownload");
            let hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let now = files();
            let new = now.iter().find(|path| !before.contains(path) && !hidden(path) && !unfinished(path)).cloned();
            new.filter(|_| !now.iter().any(unfinished))
        });
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        (name, expect_ok("the download", std::fs::read(&path).map_err(Into::into)))
    }

    /// Sets the scheme of colours.
    #[track_caller]
    pub fn theme(&self, theme: Theme) {
        let scheme = if theme == Theme::Dark { "dark" } else { "light" };
        let motion = if self.motion == Motion::Reduced { "reduce" } else { "no-preference" };
        let set = |name: &str, value: &str| json!({"name": name, "value": value});
        let features = json!({"features": [set("prefers-color-scheme", scheme), set("prefers-reduced-motion", motion)]});
        expect_ok(scheme, self.driver().cdp("Emulation.setEmulatedMedia", &features));
    }

    /// Runs the body of a function in the page and gives what it returns.
    #[track_caller]
    pub fn run(&self, script: &str, arguments: &[Value]) -> Value {
        expect_ok(script, self.driver().execute(script, arguments))
    }

    /// What stands in the way of people who see, hear or move differently: serious and critical findings of axe-core.
    #[track_caller]
    pub fn barriers(&self) -> Vec<String> {
        const RUN: &str = "return axe.run({resultTypes: ['violations']}).then(found => found.violations
            .filter(rule => ['serious', 'critical'].includes(rule.impact))
            .flatMap(rule => rule.nodes.map(node => `${rule.id}: ${rule.help}: ${node.target.join(' ')} ${node.failureSummary}`)))";
        if self.run("return window.axe === undefined", &[]) == true {
            let axe = std::fs::read_to_string(given("ZONEFALL_AXE")).context("axe-core");
            self.run(&format!("{}; return true", expect_ok("axe-core", axe)), &[]);
        }
        // Colours on their way from one theme to the other are nobody's.
        expect_ok("the page to settle", self.driver().settle());
        let found = self.run(RUN, &[]);
        found.as_array().into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
    }

    /// What the console has warned of since the last call: errors, violations of the content security policy, files not found.
    #[track_caller]
    pub fn complaints(&self) -> Vec<String> {
        let entries = expect_ok("the console", self.driver().console());
        let bad = entries.into_iter().filter(|(level, _)| level == "SEVERE" || level == "WARNING");
        bad.map(|(level, message)| format!("{level}: {message}")).collect()
    }

    /// A picture of the view, as a PNG.
    #[track_caller]
    pub fn screenshot(&self) -> Vec<u8> {
        expect_ok("a picture", self.try_screenshot())
    }

    fn try_screenshot(&self) -> Result<Vec<u8>> {
        use base64::Engine as _;
        Ok(base64::engine::general_purpose::STANDARD.decode(self.driver().screenshot()?)?)
    }

    /// Does something with a thing as soon as it is there and lets it be done.
    #[track_caller]
    fn on<T>(&self, id: &str, what: &str, act: impl Fn(&Element) -> Result<Option<T>>) -> T {
        let first = || match self.driver().find(&by(id))?.first() {
            Some(element) => act(element),
            None => bail!("there is no {id}"),
        };
        expect_ok(what, until(first))
    }
}

impl Drop for Page {
    /// A story that failed leaves what there is to see, and its browser ends.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.browser.give_back();
            return;
        }
        let View { width, height, .. } = self.view;
        let thread = std::thread::current();
        let name = format!("{}-{width}x{height}.png", thread.name().unwrap_or("story").replace("::", "-"));
        let folder = given("ZONEFALL_PAGE").with_file_name("browser-failures");
        let path = folder.join(name);
        let picture = self.try_screenshot().and_then(|picture| {
            std::fs::create_dir_all(&folder)?;
            Ok(std::fs::write(&path, picture)?)
        });
        let picture = picture.map_or_else(|error| format!("no picture: {error:#}"), |()| format!("picture: {}", path.display()));
        let console = self.driver().console().unwrap_or_default();
        let console: Vec<String> = console.into_iter().map(|(level, message)| format!("  {level}: {message}")).collect();
        let url = self.driver().url().unwrap_or_default();
        eprintln!("at {width}x{height}, {url}\n{picture}\nconsole:\n{}", console.join("\n"));
    }
}

/// The CSS selector of a `data-testid`.
fn by(id: &str) -> String {
    format!("[data-testid={id:?}]")
}

/// Tries until it gives something. An element may be covered, or replaced by the page just now: that is tried again.
fn until<T>(mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let started = Instant::now();
    loop {
        let outcome = attempt();
        if let Ok(Some(found)) = outcome {
            return Ok(found);
        }
        if started.elapsed() > PATIENCE {
            outcome?;
            bail!("not within {} s", PATIENCE.as_secs());
        }
        sleep((started.elapsed() / 8).clamp(*PAUSE.start(), *PAUSE.end()));
    }
}

/// What came of it, or the end of the story.
#[track_caller]
fn expect_ok<T>(what: &str, outcome: Result<T>) -> T {
    outcome.unwrap_or_else(|error| panic!("{what}: {error:#}"))
}
