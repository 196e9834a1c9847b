//! The passing of real time.

use gloo::render::{AnimationFrame, request_animation_frame};
use yew::prelude::*;

use crate::state::{Action, PlaybackCommand};

/// While `playing`, tells how much time has passed, once in a frame; the next frame is asked for when the page has been drawn, so that a page
/// that takes long to draw is drawn less often.
#[hook]
pub fn use_frames(playing: bool, dispatch: &Callback<Action>) {
    // The frame that was asked for (dropped, it does not come), and when the one before it was, in milliseconds.
    let next = use_mut_ref(|| None::<AnimationFrame>);
    let last_ms = use_mut_ref(|| None::<f64>);
    let drawn = use_force_update();
    let dispatch = dispatch.clone();
    use_effect(move || {
        if !playing {
            next.take();
            last_ms.take();
        } else if next.borrow().is_none() {
            let asked = next.clone();
            let frame = request_animation_frame(move |now_ms| {
                asked.take();
                match last_ms.replace(Some(now_ms)) {
                    Some(last_ms) => dispatch.emit(Action::Playback(PlaybackCommand::Tick((now_ms - last_ms) / 1e3))),
                    None => drawn.force_update(),
                }
            });
            next.replace(Some(frame));
        }
    });
}
