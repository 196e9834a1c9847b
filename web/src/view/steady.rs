//! Callbacks that are the same at every drawing: what holds one compares equal, and is not drawn again for it.

use yew::prelude::*;

/// A callback that never changes, and does what `now` does at the last drawing.
#[hook]
pub(crate) fn use_steady<T: 'static>(now: Callback<T>) -> Callback<T> {
    let latest = use_mut_ref(Callback::noop);
    *latest.borrow_mut() = now;
    use_callback((), move |value: T, ()| {
        // Not borrowed while it runs: what it does may draw the page.
        let now = Callback::clone(&latest.borrow());
        now.emit(value);
    })
}
