//! Browsers, each with a host of the page. Pages that need nothing special share them one after the other: to start a
//! browser takes CPU seconds, and so does to compile the page's programs, which a browser keeps for each host.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use serde_json::json;

use crate::driver::{Driver, SiteData};
use crate::given;
use crate::server::{Encoding, Server};

/// Shared browsers that no page uses.
static IDLE: Mutex<Vec<Arc<Browser>>> = Mutex::new(Vec::new());

/// A Chromium with one empty tab, and a host of the page.
pub(crate) struct Browser {
    pub(crate) driver: Driver,
    pub(crate) server: Server,
    /// Whether other pages use it before and after. The host then serves the page as it is built.
    pub(crate) shared: bool,
}

impl Browser {
    /// A browser that is new, or was used by pages and has nothing of theirs but what a browser caches of the host's files.
    pub(crate) fn shared() -> Result<Arc<Self>> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Self::start(Encoding::Identity, SiteData::Allowed, true), Ok)
    }

    /// A browser that no other page uses, with an empty cache.
    pub(crate) fn own(encoding: Encoding, site_data: SiteData) -> Result<Arc<Self>> {
        Self::start(encoding, site_data, false)
    }

    fn start(encoding: Encoding, site_data: SiteData, shared: bool) -> Result<Arc<Self>> {
        let server = Server::start(&given("ZONEFALL_PAGE"), encoding)?;
        Ok(Arc::new(Self { server, driver: Driver::start(site_data)?, shared }))
    }

    /// Takes a shared browser back from a page. One that cannot be cleaned ends.
    pub(crate) fn give_back(self: &Arc<Self>) {
        if self.shared && self.clean().is_ok() {
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(self));
        }
    }

    /// Removes what a page has left. What was emulated for a tab ends with it.
    fn clean(&self) -> Result<()> {
        self.driver.replace_tabs()?;
        self.driver.cdp("Storage.clearDataForOrigin", &json!({"origin": self.server.origin(), "storageTypes": "all"}))?;
        self.driver.cdp("Browser.resetPermissions", &json!({}))?;
        self.driver.console().map(drop)
    }
}
