//! The address bar: its fragment holds the scenario and the bookmark.

use wasm_bindgen::{JsCast, JsValue};

use super::storage;
use crate::state::bookmark::Bookmark;
use crate::state::share;

/// The fragment, `#` included; empty where there is none.
pub fn fragment() -> String {
    gloo::utils::window().location().hash().unwrap_or_default()
}

/// The address of this page with this scenario and bookmark in it.
pub fn link(text: &str, bookmark: &Bookmark) -> String {
    let address = gloo::utils::window().location().href().unwrap_or_default();
    let page = address.split('#').next().unwrap_or_default();
    format!("{page}{}{}", share::encode(text), share::encode_bookmark(bookmark))
}

/// Whether the page was loaded because the user, or the browser, loads it again.
pub(super) fn is_reload() -> bool {
    let entries = gloo::utils::window().performance().map(|performance| performance.get_entries_by_type("navigation"));
    let navigation = entries.and_then(|entries| entries.get(0).dyn_into::<web_sys::PerformanceNavigationTiming>().ok());
    navigation.is_some_and(|navigation| navigation.type_() == web_sys::NavigationType::Reload)
}

/// Puts a fragment into the address bar, and notes it; `push`: as a step that Back comes back to. Browsers may refuse (too long, too often):
/// then the address stays as it was.
pub fn put(fragment: &str, push: bool) {
    let put = if push { web_sys::History::push_state_with_url } else { web_sys::History::replace_state_with_url };
    // Where it is refused there is the note.
    drop(gloo::utils::window().history().and_then(|history| put(&history, &JsValue::NULL, "", Some(fragment))));
    storage::note(&self::fragment(), fragment);
}
