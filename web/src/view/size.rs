//! How much room an element has, and whether the page is dark.

use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use yew::prelude::*;

use crate::state::Theme;

/// The width of an element in CSS pixels, kept up to date; 0 before it is known.
#[hook]
pub fn use_width(node: &NodeRef) -> f64 {
    use_size(node).0
}

/// Width and height of an element in CSS pixels, kept up to date; 0 before they are known.
#[hook]
pub fn use_size(node: &NodeRef) -> (f64, f64) {
    let size = use_state_eq(|| (0.0, 0.0));
    let (set, node) = (size.setter(), node.clone());
    use_effect_with((), move |()| {
        let observed = node.cast::<web_sys::Element>().map(|element| {
            let of = element.clone();
            // Whole pixels: a scroll bar that comes and goes must not make a drawing flutter.
            let measure = move || set.set((f64::from(of.client_width()), f64::from(of.client_height())));
            measure();
            let closure = Closure::<dyn Fn()>::new(measure);
            let observer = web_sys::ResizeObserver::new(closure.as_ref().unchecked_ref());
            if let Ok(observer) = &observer {
                observer.observe(&element);
            }
            (observer, closure)
        });
        move || {
            if let Some((Ok(observer), _closure)) = observed {
                observer.disconnect();
            }
        }
    });
    *size
}

/// Whether a theme is dark now, the system's wish included.
#[hook]
pub fn use_dark(theme: Theme) -> bool {
    let system = use_media("(prefers-color-scheme: dark)");
    match theme {
        Theme::System => system,
        Theme::Light => false,
        Theme::Dark => true,
    }
}

/// Whether a media query holds, kept up to date.
#[hook]
pub fn use_media(query: &'static str) -> bool {
    let find = move || gloo::utils::window().match_media(query).ok().flatten();
    let holds = use_state_eq(|| find().is_some_and(|q| q.matches()));
    let set = holds.setter();
    use_effect_with((), move |()| {
        let listener = find().map(|query| {
            let target = query.clone();
            EventListener::new(&target, "change", move |_| set.set(query.matches()))
        });
        move || drop(listener)
    });
    *holds
}
