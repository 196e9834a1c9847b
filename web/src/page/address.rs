//! The address bar: its fragment holds the scenario.

use wasm_bindgen::JsValue;

use crate::state::share;

/// The fragment, `#` included; empty where there is none.
pub fn fragment() -> String {
    gloo::utils::window().location().hash().unwrap_or_default()
}

/// The address of this page with this scenario in it.
pub fn link(text: &str) -> String {
    let address = gloo::utils::window().location().href().unwrap_or_default();
    let page = address.split('#').next().unwrap_or_default();
    format!("{page}{}", share::encode(text))
}

/// Puts the scenario into the address bar, without an entry in the history. Browsers may refuse (too long, too often): then the
/// address stays as it was.
pub fn put(text: &str) {
    if let Ok(history) = gloo::utils::window().history() {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&share::encode(text))).ok();
    }
}
