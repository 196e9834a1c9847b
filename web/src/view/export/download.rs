//! A file for the user to keep.

use js_sys::Array;
use wasm_bindgen::JsCast;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

/// Hands a text to the browser as a file.
pub(crate) fn text(name: &str, kind: &str, content: &str) -> Result<(), String> {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    let blob = Blob::new_with_str_sequence_and_options(&Array::of1(&content.into()), &options);
    file(name, &blob.map_err(|_| "The browser made no file.".to_owned())?)
}

/// Hands bytes to the browser as a file.
pub(crate) fn file(name: &str, blob: &Blob) -> Result<(), String> {
    let url = Url::create_object_url_with_blob(blob).map_err(|_| "The browser made no file.".to_owned())?;
    let anchor = gloo::utils::document().create_element("a").ok().and_then(|e| e.dyn_into::<HtmlAnchorElement>().ok());
    let anchor = anchor.ok_or("The browser made no link.")?;
    anchor.set_href(&url);
    anchor.set_download(name);
    anchor.click();
    // The download has its own hold on the data by then; an address that is not given back is freed with the page.
    gloo::timers::callback::Timeout::new(10_000, move || drop(Url::revoke_object_url(&url))).forget();
    Ok(())
}
