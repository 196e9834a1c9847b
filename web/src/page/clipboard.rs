//! Sharing: the link goes to the clipboard, or at least into the address bar.

use js_sys::Reflect;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use yew::Callback;

use super::address;
use crate::state::bookmark::Bookmark;
use crate::state::{Action, Notice, Tone};

/// Copies the link to this scenario and bookmark, and says what is in it.
pub fn share(text: &str, bookmark: &Bookmark, dispatch: Callback<Action>) {
    let (link, inside) = (address::link(text, bookmark), bookmark.text());
    spawn_local(async move {
        let (tone, text) = if copy(&link).await {
            (Tone::Info, format!("Copied the link: it contains the scenario, {inside}."))
        } else {
            (Tone::Info, "The browser does not allow copying here: copy the link from the address bar.".to_owned())
        };
        dispatch.emit(Action::Say(Notice { tone, text }));
    });
}

async fn copy(text: &str) -> bool {
    let navigator = gloo::utils::window().navigator();
    // Pages that were not fetched securely have no clipboard.
    let has_one = Reflect::get(&navigator, &"clipboard".into()).is_ok_and(|clipboard| clipboard.is_object());
    has_one && JsFuture::from(navigator.clipboard().write_text(text)).await.is_ok()
}
