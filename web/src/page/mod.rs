//! What the state asks of the browser: storage, address bar, files, clipboard, frames. Browser only, but for [`start`].
//!
//! ```text
//!   State::apply --Effect--> use_page --> worker | local storage | address bar
//!   fragment, file, drop, frame --Action--> State::apply
//! ```

pub mod address;
pub mod clipboard;
pub mod files;
mod frames;
pub mod start;
pub mod storage;

use std::rc::Rc;

use gloo::events::EventListener;
use gloo::timers::callback::Timeout;
use yew::prelude::*;

use crate::state::bookmark::Bookmark;
use crate::state::{Action, Effect, Notice, State, Store, Tone, share};

pub use files::download;
pub use frames::use_frames;

/// Storage and address bar follow the document after this many milliseconds without an edit.
const QUIET_MS: u32 = 400;

/// What the browser will be given when the user stops typing.
#[derive(Default)]
struct Pending {
    /// The text, the bookmark, and whether that is a step to come back to.
    keep: Option<(Rc<str>, Bookmark, bool)>,
    /// The fragment that was in the address then.
    at: String,
    timer: Option<Timeout>,
    /// The fragment of the text that was put into the address last: packing a large one takes a while.
    packed: Option<(Rc<str>, String)>,
}

impl Pending {
    /// Does what waits. What went wrong is told.
    fn flush(&mut self) -> Result<(), String> {
        self.timer = None;
        let Some((text, bookmark, push)) = self.keep.take() else { return Ok(()) };
        let packed = self.packed.take().filter(|(known, _)| Rc::ptr_eq(known, &text));
        let (_, fragment) = self.packed.insert(packed.unwrap_or_else(|| (Rc::clone(&text), share::encode(&text))));
        // Back or Forward came in between: the entry that is there now is of something else, which will be heard of at once.
        if address::fragment() == self.at {
            address::put(&(fragment.clone() + &share::encode_bookmark(&bookmark)), push);
        }
        storage::save(&text, &bookmark)
    }
}

/// The state of the page, restored, and the way to change it. What concerns the worker ([`Effect::Request`], [`Effect::Restart`]) goes to
/// `worker`, in order; the rest is done here.
///
/// What an action leads to is done with the action, not after the drawing: where a drawing takes longer than a frame and the page plays,
/// another frame comes before anything that waits for the drawing to be over.
#[hook]
pub fn use_page(worker: Callback<Effect>) -> (Rc<State>, Callback<Action>) {
    let store = use_reducer(|| Store::new(start::restore()));
    let pending = use_mut_ref(Pending::default);
    let perform_all = {
        // Every version of the store has the same outbox.
        let (outbox, pending, say) = ((*store).clone(), Rc::clone(&pending), store.dispatcher().to_callback());
        use_callback(worker, move |(), worker| {
            for effect in outbox.drain() {
                perform(effect, worker, &pending, &say);
            }
        })
    };
    let dispatch = use_callback((store.dispatcher(), perform_all.clone()), |action: Action, (dispatcher, perform_all)| {
        dispatcher.dispatch(action);
        perform_all.emit(());
    });
    use_effect_with((), move |()| perform_all.emit(()));
    use_effect_with(dispatch.clone(), {
        let pending = Rc::clone(&pending);
        move |dispatch| {
            let listeners = (follow_address(dispatch.clone()), files::accept_drops(dispatch), save_at_the_end(pending));
            move || drop(listeners)
        }
    });
    (Rc::clone(&store.state), dispatch)
}

fn perform(effect: Effect, worker: &Callback<Effect>, pending: &Rc<std::cell::RefCell<Pending>>, dispatch: &Callback<Action>) {
    let mut waiting = pending.borrow_mut();
    match effect {
        Effect::Request(_) | Effect::Restart => {
            drop(waiting);
            worker.emit(effect);
            return;
        }
        Effect::Remember(ui) => return report_error(storage::remember(&ui), dispatch),
        Effect::Download(name, text) => return download(&name, "application/json", text.as_bytes()),
        Effect::Share(text, bookmark) => {
            // Where nothing can be copied, the user takes the link from the address bar.
            report_error(waiting.flush(), dispatch);
            return clipboard::share(&text, &bookmark, dispatch.clone());
        }
        Effect::Keep { text, bookmark, push } => {
            let push = push || waiting.keep.as_ref().is_some_and(|(.., push)| *push);
            waiting.keep = Some((text, bookmark, push));
            waiting.at = address::fragment();
        }
    }
    let (pending, dispatch) = (Rc::clone(pending), dispatch.clone());
    waiting.timer = Some(Timeout::new(QUIET_MS, move || {
        let done = pending.borrow_mut().flush();
        report_error(done, &dispatch);
    }));
}

fn report_error(done: Result<(), String>, dispatch: &Callback<Action>) {
    if let Err(text) = done {
        dispatch.emit(Action::Say(Notice { tone: Tone::Error, text }));
    }
}

/// Another fragment in the address bar (a pasted link, the back button) is another scenario.
fn follow_address(dispatch: Callback<Action>) -> EventListener {
    EventListener::new(&gloo::utils::window(), "hashchange", move |_| {
        let fragment = address::fragment();
        storage::note(&fragment, &fragment);
        let action = match start::linked(&fragment) {
            None => return,
            Some(Ok((text, bookmark))) => Action::Return(text, bookmark),
            Some(Err(error)) => Action::Say(Notice { tone: Tone::Error, text: error.to_string() }),
        };
        dispatch.emit(action);
    })
}

/// The page goes away: what waits for a quiet moment has none left.
fn save_at_the_end(pending: Rc<std::cell::RefCell<Pending>>) -> EventListener {
    EventListener::new(&gloo::utils::window(), "pagehide", move |_| {
        let mut pending = pending.borrow_mut();
        let shown = address::fragment();
        let stays = pending.keep.is_some() && pending.at == shown;
        // There is nobody left to tell.
        drop(pending.flush());
        if stays {
            // A page that goes away cannot change the address that it is loaded from again.
            storage::leave(&shown);
        }
    })
}
