//! Files in and out.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::events::{EventListener, EventListenerOptions};
use gloo::file::callbacks::{FileReader, read_as_bytes};
use gloo::file::{Blob, File, FileList, ObjectUrl};
use gloo::timers::callback::Timeout;
use wasm_bindgen::{JsCast, JsValue};
use yew::Callback;
use zonefall_core::scenario::MAX_BYTES;

use crate::state::{Action, DocumentAction, Notice, Tone};

/// How long a browser may take to begin a download, in milliseconds.
const DOWNLOAD_MS: u32 = 60_000;

/// Hands the user a file.
pub fn download(name: &str, mime: &str, bytes: &[u8]) {
    let saved = || -> Result<(), JsValue> {
        let url = ObjectUrl::from(Blob::new_with_options(bytes, Some(mime)));
        let anchor: web_sys::HtmlAnchorElement = gloo::utils::document().create_element("a")?.unchecked_into();
        anchor.set_href(&url);
        anchor.set_download(name);
        anchor.click();
        // The address must hold until the browser has read it.
        Timeout::new(DOWNLOAD_MS, move || drop(url)).forget();
        Ok(())
    };
    if let Err(error) = saved() {
        gloo::console::error!(error);
    }
}

/// Reads the first of these files and opens it; what is no scenario's size is not read at all. The handle must be kept: dropped, it
/// stops reading.
pub fn open(files: Option<web_sys::FileList>, dispatch: Callback<Action>) -> Option<FileReader> {
    let files = FileList::from(files?);
    let file: &File = files.first()?;
    let (name, bytes) = (file.name(), file.size());
    if bytes > MAX_BYTES as u64 {
        let text = format!("{name} is too large for a scenario: {bytes} bytes, at most {MAX_BYTES}.");
        dispatch.emit(Action::Say(Notice { tone: Tone::Error, text }));
        return None;
    }
    Some(read_as_bytes(file, move |read| dispatch.emit(opened(&name, read.map_err(|error| error.to_string())))))
}

/// What becomes of a file that was read.
fn opened(name: &str, read: Result<Vec<u8>, String>) -> Action {
    let refused = |why: String| Action::Say(Notice { tone: Tone::Error, text: format!("Cannot open {name}: {why}.") });
    match read.map(String::from_utf8) {
        Ok(Ok(text)) => Action::Document(DocumentAction::Open(text)),
        Ok(Err(_)) => refused("expected a text file".to_owned()),
        Err(why) => refused(why),
    }
}

/// A file that is dropped anywhere on the page is opened, instead of shown by the browser in the page's place.
pub(super) fn accept_drops(dispatch: &Callback<Action>) -> [EventListener; 2] {
    let window = gloo::utils::window();
    let options = EventListenerOptions::enable_prevent_default();
    let over = EventListener::new_with_options(&window, "dragover", options, |event| {
        if carried(event).is_some_and(|carried| carried.types().includes(&"Files".into(), 0)) {
            event.prevent_default();
        }
    });
    let dispatch = dispatch.clone();
    let reading: Rc<RefCell<Option<FileReader>>> = Rc::default();
    let dropped = EventListener::new_with_options(&window, "drop", options, move |event| {
        let files = carried(event).and_then(|carried| carried.files());
        if files.as_ref().is_some_and(|files| files.length() > 0) {
            event.prevent_default();
            *reading.borrow_mut() = open(files, dispatch.clone());
        }
    });
    [over, dropped]
}

fn carried(event: &web_sys::Event) -> Option<web_sys::DataTransfer> {
    event.dyn_ref::<web_sys::DragEvent>()?.data_transfer()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_text_are_refused_by_name() {
        let text = |action: Action| match action {
            Action::Say(notice) => notice.text,
            Action::Document(DocumentAction::Open(text)) => text,
            other => format!("{other:?}"),
        };
        for (read, expected) in [
            (Ok(b"{}".to_vec()), "{}"),
            (Ok(vec![0xff, 0xd8]), "Cannot open photo.json: expected a text file."),
            (Err("it went away".to_owned()), "Cannot open photo.json: it went away."),
        ] {
            assert_eq!(text(opened("photo.json", read)), expected);
        }
    }
}
