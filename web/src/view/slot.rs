//! The scenario's panel in the page, kept from being drawn sixty times a second: it does not show the playhead. And not before the
//! first picture: the form has a hundred fields, which nobody reads before the map.

use std::rc::Rc;

use gloo::render::{AnimationFrame, request_animation_frame};
use yew::prelude::*;

use super::same::Same;
use crate::form::Configure;
use crate::state::{Action, State};

/// What the panel is given.
#[derive(Clone, Properties)]
pub(crate) struct SlotProps {
    pub state: Same<State>,
    pub dispatch: Callback<Action>,
}

impl PartialEq for SlotProps {
    /// Whether the panel would look the same: the document, how it is shown, and how its expectations fared.
    fn eq(&self, other: &Self) -> bool {
        let fared = |state: &State| state.branch().map(|b| (b.report.as_ref().map(Rc::as_ptr), b.done, b.fork.is_none()));
        let (a, b) = (&self.state, &other.state);
        Rc::ptr_eq(&a.document, &b.document)
            && a.ui.as_json == b.ui.as_json
            && fared(a) == fared(b)
            && self.dispatch == other.dispatch
    }
}

/// See the module.
#[component]
pub(crate) fn Slot(props: &SlotProps) -> Html {
    let painted = use_painted();
    html! { if painted { <Configure state={Rc::clone(&props.state.0)} dispatch={props.dispatch.clone()} /> } }
}

/// Frames until what was drawn first is on the screen: the map waits for one, in which it learns how large it is.
const FIRST_PICTURE: u32 = 3;

/// Whether the first picture is on the screen.
#[hook]
fn use_painted() -> bool {
    let frames = use_state(|| 0);
    // Dropped, the frame that was asked for does not come.
    let next = use_mut_ref(|| None::<AnimationFrame>);
    use_effect_with(*frames, {
        let (frames, next) = (frames.setter(), next);
        move |&count| {
            let frame = (count < FIRST_PICTURE).then(|| request_animation_frame(move |_| frames.set(count + 1)));
            next.replace(frame);
        }
    });
    *frames == FIRST_PICTURE
}
