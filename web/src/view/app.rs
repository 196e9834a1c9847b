//! The program in the browser: the store, the worker and the page, wired.
//!
//! ```text
//!   Page --Action--> use_page (State) --Effect--> Remote --Ask--> worker
//!                        ^--------- Action::Told, WorkerLost ------'
//! ```

use yew::prelude::*;

use super::Page;
use super::hover::ShareHover;
use super::same::Same;
use crate::engine::remote::{Remote, WorkerMessage};
use crate::page::{use_frames, use_page};
use crate::state::{Action, Effect};

/// See the module.
#[component]
pub fn App() -> Html {
    let remote = use_mut_ref(|| None::<Remote>);
    let worker = {
        let remote = remote.clone();
        use_callback((), move |effect: Effect, ()| {
            let remote = remote.borrow();
            match (effect, remote.as_ref()) {
                (Effect::Request(request), Some(remote)) => remote.request(request),
                (Effect::Restart, Some(remote)) => remote.restart(),
                // The page does these itself, and the line is there before the first of those.
                (Effect::Keep { .. } | Effect::Remember(_) | Effect::Download(..) | Effect::Share(..), _)
                | (Effect::Request(_) | Effect::Restart, None) => {}
            }
        })
    };
    let (state, dispatch) = use_page(worker);
    // In the first drawing, and so before the first effect is carried out.
    remote.borrow_mut().get_or_insert_with(|| {
        let dispatch = dispatch.clone();
        Remote::spawn(move |message| {
            dispatch.emit(match message {
                WorkerMessage::Response(response) => Action::WorkerResponded(response),
                WorkerMessage::Lost(why) => Action::WorkerLost(why),
            });
        })
    });
    use_frames(state.playback.playing, &dispatch);
    html! { <ShareHover><Page state={Same(state)} {dispatch} /></ShareHover> }
}
