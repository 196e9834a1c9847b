//! What the keys do, and what the signs mean.

use yew::prelude::*;

use super::Dialog;
use crate::form::WHAT;
use crate::state::{Action, UiAction};
use crate::view::commands::{KEYS, key_words};

#[derive(Clone, PartialEq, Properties)]
pub(crate) struct HelpProps {
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

const SIGNS: [(&str, &str); 9] = [
    ("★", "leader"),
    ("●", "follower"),
    ("◇", "candidate"),
    ("△", "learner or standby: no vote"),
    ("○", "down, starting, or not in the cluster"),
    ("✕", "no power, or a service unavailable"),
    ("⊘", "cut off: packets are dropped at the wall"),
    ("•", "a message: blue carries entries, orange votes, grey heartbeats"),
    ("━", "link, with its one-way delay: thicker with more bytes between two zones"),
];

/// The overlay.
#[component]
pub(crate) fn Help(props: &HelpProps) -> Html {
    let on_close = props.dispatch.reform(|()| Action::Ui(UiAction::Help(false)));
    let key = |key: &str| html! { <kbd>{ key_words(key) }</kbd> };
    let keys = KEYS.iter().map(|(keys, _, about)| html! { <div><dt>{ key(keys) }</dt><dd>{ *about }</dd></div> });
    let signs = SIGNS.iter().map(|(sign, about)| html! { <div><dt>{ *sign }</dt><dd>{ *about }</dd></div> });
    html! {
        <Dialog label="Help" testid="help-overlay" {on_close}>
            <p>{ WHAT }</p>
            <h2>{ "Keys" }</h2>
            <dl>{ for keys }</dl>
            <p class="quiet">{ "On the map: Tab to reach it, arrow keys to move, Enter to select. On the timeline: PageUp and PageDown, and Ctrl with the wheel to zoom." }</p>
            <h2>{ "Symbols" }</h2>
            <dl class="signs">{ for signs }</dl>
        </Dialog>
    }
}
