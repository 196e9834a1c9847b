//! The address bar: its fragment holds the scenario and the bookmark.

use wasm_bindgen::JsValue;

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

/// Puts a fragment into the address bar; `push`: as a step that Back comes back to. Browsers may refuse (too long, too often): then the
/// address stays as it was, and what was kept in the storage is noted as newer.
pub fn put(fragment: &str, push: bool) {
    let put = if push { web_sys::History::push_state_with_url } else { web_sys::History::replace_state_with_url };
    let done = gloo::utils::window().history().and_then(|history| put(&history, &JsValue::NULL, "", Some(fragment)));
    if done.is_err() {
        storage::supersede(&self::fragment());
    }
}
