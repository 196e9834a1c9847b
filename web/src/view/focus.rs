//! Gives the keyboard's focus to an element.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, SvgElement};

/// Focuses the first element that a selector finds, if it can be.
pub fn focus(selector: &str) {
    let Some(element) = gloo::utils::document().query_selector(selector).ok().flatten() else { return };
    // An element that cannot take the focus leaves it where it is.
    let _ = match element.dyn_into::<HtmlElement>() {
        Ok(element) => element.focus(),
        Err(element) => element.dyn_into::<SvgElement>().map_or(Ok(()), |e| e.focus()),
    };
}

/// Presses the first button that a selector finds.
pub fn press(selector: &str) {
    let found = gloo::utils::document().query_selector(selector).ok().flatten();
    if let Some(button) = found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        button.click();
    }
}

/// Focuses it once what is being drawn is drawn; again if that is drawn late and takes the focus away.
pub fn focus_soon(selector: &'static str) {
    for ms in [0, 100, 1_000] {
        let again = move || {
            if ms == 0 || focus_is_lost() {
                focus(selector);
            }
        };
        gloo::timers::callback::Timeout::new(ms, again).forget();
    }
}

/// Whether nothing has the focus: what had it went away.
pub fn focus_is_lost() -> bool {
    gloo::utils::document().active_element().is_none_or(|active| active.tag_name().eq_ignore_ascii_case("body"))
}

/// Whether keys typed now are meant for what has the focus: a field, or (for Space and Enter) a button.
pub fn takes_keys(key: &str) -> bool {
    let Some(active) = gloo::utils::document().active_element() else { return false };
    let tag = active.tag_name().to_ascii_lowercase();
    let field = matches!(tag.as_str(), "input" | "textarea" | "select") || active.has_attribute("contenteditable");
    let pressed = matches!(key, "Space" | "Enter") && (is_button(&active, &tag));
    field || pressed
}

fn is_button(active: &Element, tag: &str) -> bool {
    matches!(tag, "button" | "a" | "summary") || active.get_attribute("role").as_deref() == Some("button")
}
