//! Speaks WebDriver (W3C, <https://www.w3.org/TR/webdriver2/>) with Chromium's driver: a call is JSON over HTTP, and blocks.
//!
//! What the standard lacks (the size of the page's view, the scheme of colours, the console) goes through the driver's own
//! `goog/cdp` and `se/log` calls.
#![expect(clippy::missing_errors_doc, reason = "all fail alike: with what the driver says it could not do")]

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use ureq::Agent;

use crate::given;
use crate::process::Process;

/// The key under which WebDriver writes the id of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Longer than anything takes that is not stuck.
const PATIENCE: Duration = Duration::from_mins(3);

/// A Chromium of its own, with nothing in its cache or storage. It ends when this is dropped.
pub struct Driver {
    process: Process,
    agent: Agent,
    /// The address of the session; empty until there is one.
    session: String,
}

/// The switch of Chromium's settings for what sites may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteData {
    /// They may keep data.
    Allowed,
    /// Pages that ask for a storage are refused.
    Blocked,
}

impl SiteData {
    fn preferences(self) -> Value {
        match self {
            Self::Allowed => json!({}),
            Self::Blocked => json!({"profile.default_content_setting_values.cookies": 2}),
        }
    }
}

/// An element of the page.
#[derive(Clone, Debug)]
pub struct Element(String);

impl Driver {
    /// Starts driver and browser.
    pub fn start(site_data: SiteData) -> Result<Self> {
        let (process, port) = Process::start()?;
        let agent = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build().into();
        let mut driver = Self { process, agent, session: String::new() };
        let server = format!("http://127.0.0.1:{port}");
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": given("CHROMIUM"), "args": arguments(driver.folder()), "prefs": site_data.preferences()},
        }}});
        let session =
            driver.call("POST", &format!("{server}/session"), Some(&capabilities)).context("Chromium does not start")?;
        let id = session["sessionId"].as_str().context("a session has an id")?;
        driver.session = format!("{server}/session/{id}");
        // Scripts wait for what takes long on a busy machine: axe-core, a whole run.
        driver.post("timeouts", &json!({"script": 150_000, "pageLoad": 60_000}))?;
        Ok(driver)
    }

    /// A call within the session.
    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.call("POST", &format!("{}/{path}", self.session), Some(body))
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.call("GET", &format!("{}/{path}", self.session), None)
    }

    fn call(&self, method: &str, url: &str, body: Option<&Value>) -> Result<Value> {
        let mut response = match (method, body) {
            ("POST", Some(body)) => self.agent.post(url).send_json(body)?,
            ("DELETE", _) => self.agent.delete(url).call()?,
            _ => self.agent.get(url).call()?,
        };
        let mut answer: Value = response.body_mut().with_config().limit(100_000_000).read_json()?;
        if let Some(error) = answer["value"]["error"].as_str() {
            bail!("{error}: {}", answer["value"]["message"].as_str().unwrap_or_default().trim());
        }
        Ok(answer["value"].take())
    }

    /// A folder for files; it is removed when the browser ends.
    pub fn folder(&self) -> &Path {
        self.process.folder()
    }

    /// Goes on in a new tab and closes those there were, with all that was set for them.
    pub fn replace_tabs(&self) -> Result<()> {
        let old = self.get("window/handles")?;
        let new = self.post("window/new", &json!({"type": "tab"}))?;
        for handle in old.as_array().context("a list of tabs")? {
            self.post("window", &json!({"handle": handle}))?;
            self.call("DELETE", &format!("{}/window", self.session), None)?;
        }
        self.post("window", &json!({"handle": new["handle"]})).map(drop)
    }

    /// Goes to an address and waits until it has loaded.
    pub fn go(&self, url: &str) -> Result<()> {
        self.post("url", &json!({ "url": url })).map(drop)
    }

    /// Loads the page again.
    pub fn reload(&self) -> Result<()> {
        self.post("refresh", &json!({})).map(drop)
    }

    /// The page's address.
    pub fn url(&self) -> Result<String> {
        Ok(self.get("url")?.as_str().unwrap_or_default().to_owned())
    }

    /// The elements a CSS selector finds, in the page's order.
    pub fn find(&self, css: &str) -> Result<Vec<Element>> {
        let found = self.post("elements", &json!({"using": "css selector", "value": css}))?;
        let found = found.as_array().context("a list of elements")?;
        found.iter().map(|element| Ok(Element(element[ELEMENT].as_str().context("an element")?.to_owned()))).collect()
    }

    /// Scrolls to an element and clicks its middle as a person would, when it has come to rest; an error if something else
    /// lies there.
    pub fn click(&self, element: &Element) -> Result<()> {
        self.settle()?;
        let click = || self.post(&format!("element/{}/click", element.0), &json!({})).map(drop);
        click().or_else(|_| {
            // The driver leaves what is in the view where it is, also behind what is fixed there; a person scrolls on.
            self.execute("arguments[0].scrollIntoView({ block: 'center' })", &[json!({ ELEMENT: element.0 })])?;
            click()
        })
    }

    /// Waits until the transitions that run have ended: what moves is missed by a click.
    pub fn settle(&self) -> Result<()> {
        const ENDED: &str = "return Promise.allSettled(document.getAnimations()
            .filter(one => one.effect.getComputedTiming().iterations !== Infinity)
            .map(one => one.finished)).then(() => true)";
        self.execute(ENDED, &[]).map(drop)
    }

    /// The text of an element as it is shown.
    pub fn text(&self, element: &Element) -> Result<String> {
        Ok(self.get(&format!("element/{}/text", element.0))?.as_str().unwrap_or_default().to_owned())
    }

    /// What an element's attribute says; `None` if it has no such attribute. The `value` is what a field holds now.
    pub fn attribute(&self, element: &Element, name: &str) -> Result<Option<String>> {
        let kind = if name == "value" { "property" } else { "attribute" };
        Ok(self.get(&format!("element/{}/{kind}/{name}", element.0))?.as_str().map(ToOwned::to_owned))
    }

    /// Types into a field; into a field for files, the path of one.
    pub fn type_into(&self, element: &Element, text: &str) -> Result<()> {
        self.post(&format!("element/{}/value", element.0), &json!({ "text": text })).map(drop)
    }

    /// Empties a field.
    pub fn clear(&self, element: &Element) -> Result<()> {
        self.post(&format!("element/{}/clear", element.0), &json!({})).map(drop)
    }

    /// Presses keys together and lets go of them, such as `Control` and `k`, wherever the focus is.
    pub fn press(&self, keys: &[&str]) -> Result<()> {
        let keys: Vec<char> = keys.iter().map(|key| key_code(key)).collect::<Result<_>>()?;
        let down = keys.iter().map(|key| json!({"type": "keyDown", "value": key}));
        let up = keys.iter().rev().map(|key| json!({"type": "keyUp", "value": key}));
        let actions: Vec<Value> = down.chain(up).collect();
        self.post("actions", &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})).map(drop)
    }

    /// Drags from one point of the page to another, in CSS pixels from the view's corner.
    pub fn drag(&self, from: (i64, i64), to: (i64, i64)) -> Result<()> {
        let go = |(x, y), duration| json!({"type": "pointerMove", "duration": duration, "x": x, "y": y});
        let actions =
            [go(from, 0), json!({"type": "pointerDown", "button": 0}), go(to, 100), json!({"type": "pointerUp", "button": 0})];
        self.post("actions", &json!({"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})).map(drop)
    }

    /// Runs the body of a function in the page and gives what it returns. If that is a promise, what it holds.
    pub fn execute(&self, script: &str, arguments: &[Value]) -> Result<Value> {
        self.post("execute/sync", &json!({"script": script, "args": arguments}))
    }

    /// A picture of the view, as a PNG in Base64.
    pub fn screenshot(&self) -> Result<String> {
        Ok(self.get("screenshot")?.as_str().unwrap_or_default().to_owned())
    }

    /// A command of Chromium's own protocol (<https://chromedevtools.github.io/devtools-protocol/>).
    pub fn cdp(&self, command: &str, parameters: &Value) -> Result<Value> {
        self.post("goog/cdp/execute", &json!({"cmd": command, "params": parameters})).with_context(|| command.to_owned())
    }

    /// What the console has to say since the last call: level and text.
    pub fn console(&self) -> Result<Vec<(String, String)>> {
        let entries = self.post("se/log", &json!({"type": "browser"}))?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let entries = entries.as_array().ok_or_else(|| anyhow!("a list of entries"))?;
        Ok(entries.iter().map(|entry| (word(&entry["level"]), word(&entry["message"]))).collect())
    }
}

/// How Chromium starts: alone, unseen, and asking nobody anything.
fn arguments(folder: &Path) -> Vec<String> {
    let fixed = [
        "--headless",
        "--no-sandbox", // it refuses root otherwise, and what it is shown is our own
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--disable-sync",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--force-color-profile=srgb",
        "--lang=en-US",
    ];
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    fixed.into_iter().map(ToOwned::to_owned).chain([profile]).collect()
}

/// WebDriver's code of a key, by the name the DOM has for it (section 17.4.2, table of key codes).
fn key_code(name: &str) -> Result<char> {
    Ok(match name {
        "Backspace" => '\u{E003}',
        "Tab" => '\u{E004}',
        "Enter" => '\u{E007}',
        "Shift" => '\u{E008}',
        "Control" => '\u{E009}',
        "Alt" => '\u{E00A}',
        "Escape" => '\u{E00C}',
        "Space" => ' ',
        "End" => '\u{E010}',
        "Home" => '\u{E011}',
        "ArrowLeft" => '\u{E012}',
        "ArrowUp" => '\u{E013}',
        "ArrowRight" => '\u{E014}',
        "ArrowDown" => '\u{E015}',
        "Delete" => '\u{E017}',
        key => match key.chars().collect::<Vec<char>>()[..] {
            [character] => character,
            _ => bail!("no key is called {key}"),
        },
    })
}
