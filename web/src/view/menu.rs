//! A button that opens a list of buttons.

use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use yew::prelude::*;

use super::icon::{Icon, worded};

/// An entry.
#[derive(Clone, PartialEq)]
pub(crate) struct Entry {
    /// What it says.
    pub label: String,
    /// Name for tests.
    pub testid: String,
    /// What it does.
    pub act: Callback<()>,
}

/// The menu.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct MenuProps {
    /// What the button says.
    pub label: &'static str,
    /// What it says where room is scarce.
    pub icon: Icon,
    /// Name for tests.
    pub testid: String,
    /// The entries.
    pub entries: Vec<Entry>,
}

/// See the module.
#[component]
pub(crate) fn Menu(props: &MenuProps) -> Html {
    let open = use_state_eq(|| false);
    let node = use_node_ref();
    {
        let (set, node) = (open.setter(), node.clone());
        use_effect_with(*open, move |open| {
            let listener = open.then(|| {
                EventListener::new(&gloo::utils::document(), "pointerdown", move |event| {
                    let target = event.target().and_then(|t| t.dyn_into::<web_sys::Node>().ok());
                    let inside = node.get().is_some_and(|menu| menu.contains(target.as_ref()));
                    if !inside {
                        set.set(false);
                    }
                })
            });
            move || drop(listener)
        });
    }
    let toggle = {
        let open = open.clone();
        move |_| open.set(!*open)
    };
    let onkeydown = {
        let (open, node) = (open.clone(), node.clone());
        move |event: KeyboardEvent| match event.key().as_str() {
            "Escape" if *open => {
                event.prevent_default();
                open.set(false);
                focus(&node, |_, _| 0);
            }
            "ArrowDown" | "ArrowUp" if *open => {
                event.prevent_default();
                let step = if event.key() == "ArrowDown" { 1 } else { -1 };
                focus(&node, |now, count| (now + step).rem_euclid(count));
            }
            _ => {}
        }
    };
    let entry = |entry: &Entry| {
        let (act, open, node) = (entry.act.clone(), open.clone(), node.clone());
        let onclick = move |_: MouseEvent| {
            // The entry goes away, and the focus with it.
            focus(&node, |_, _| 0);
            open.set(false);
            act.emit(());
        };
        html! { <li><button {onclick} data-testid={entry.testid.clone()}>{ &entry.label }</button></li> }
    };
    html! {
        <div class="menu" ref={node.clone()} {onkeydown}>
            <button class="worded" onclick={toggle} aria-expanded={open.to_string()} data-testid={props.testid.clone()}>{ worded(props.icon, props.label) }<span class="caret" aria-hidden="true">{ "▾" }</span></button>
            if *open { <ul>{ for props.entries.iter().map(entry) }</ul> }
        </div>
    }
}

/// Moves the focus among the menu's buttons; the first is the one that opens it.
fn focus(node: &NodeRef, to: impl FnOnce(i32, i32) -> i32) {
    let Some(buttons) = node.cast::<web_sys::Element>().and_then(|menu| menu.query_selector_all("button").ok()) else { return };
    let active = gloo::utils::document().active_element();
    let now = (0..buttons.length()).find(|&i| buttons.get(i).as_ref() == active.as_deref()).unwrap_or(0);
    let target = buttons.get(to(now as i32, buttons.length() as i32) as u32);
    if let Some(button) = target.and_then(|b| b.dyn_into::<web_sys::HtmlElement>().ok()) {
        // A button that cannot take the focus is not on the screen.
        let _ = button.focus();
    }
}
