//! The passing of real time.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::render::{AnimationFrame, request_animation_frame};
use yew::prelude::*;

use crate::state::{Action, PlaybackCommand};

/// The frame that was asked for; dropped, it does not come.
type Next = Rc<RefCell<Option<AnimationFrame>>>;

/// While `playing`, tells how much time has passed, once in a frame.
#[hook]
pub fn use_frames(playing: bool, dispatch: &Callback<Action>) {
    use_effect_with((playing, dispatch.clone()), |(playing, dispatch)| {
        let next = Next::default();
        if *playing {
            request_frame(&next, None, dispatch.clone());
        }
        move || drop(next.take())
    });
}

fn request_frame(next: &Next, last_ms: Option<f64>, dispatch: Callback<Action>) {
    let again = Rc::downgrade(next);
    let frame = request_animation_frame(move |now_ms| {
        if let Some(last_ms) = last_ms {
            dispatch.emit(Action::Playback(PlaybackCommand::Tick((now_ms - last_ms) / 1e3)));
        }
        if let Some(next) = again.upgrade() {
            request_frame(&next, Some(now_ms), dispatch);
        }
    });
    *next.borrow_mut() = Some(frame);
}
