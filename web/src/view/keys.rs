//! Keys of the whole page.

use gloo::events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use yew::prelude::*;

use super::focus::takes_keys;

/// Calls back with the name of each key (as [`commands::KEYS`](super::commands::KEYS) writes it) that nothing else wants; the answer says
/// whether it did something.
#[hook]
pub(crate) fn use_keys(on_key: impl Fn(&str) -> bool + 'static) {
    let latest = use_mut_ref(|| None::<Box<dyn Fn(&str) -> bool>>);
    *latest.borrow_mut() = Some(Box::new(on_key));
    use_effect_with((), move |()| {
        let options = EventListenerOptions::enable_prevent_default();
        let listener = EventListener::new_with_options(&gloo::utils::window(), "keydown", options, move |event| {
            let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
            let key = name(event);
            if event.default_prevented() || (takes_keys(&key) && !key.starts_with("Ctrl+")) || in_dialog() {
                return;
            }
            let did = latest.borrow().as_ref().is_some_and(|on_key| on_key(&key));
            if did {
                event.prevent_default();
            }
        });
        move || drop(listener)
    });
}

/// `k`, `Shift+ArrowLeft`, `Ctrl+k`, `Space`. Shift is not named where it only makes another character.
fn name(event: &KeyboardEvent) -> String {
    let key = event.key();
    let key = if key == " " { "Space".to_owned() } else { key };
    let long = key.chars().count() > 1;
    let key = if long { key } else { key.to_ascii_lowercase() };
    let ctrl = if event.ctrl_key() || event.meta_key() { "Ctrl+" } else { "" };
    let alt = if event.alt_key() { "Alt+" } else { "" };
    let shift = if event.shift_key() && long { "Shift+" } else { "" };
    format!("{ctrl}{alt}{shift}{key}")
}

/// While a dialog is open, the page behind it hears no keys.
fn in_dialog() -> bool {
    gloo::utils::document().query_selector("dialog[open]").ok().flatten().is_some()
}
