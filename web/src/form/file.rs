//! The document from a file, and into one.

use std::rc::Rc;

use gloo::file::callbacks::FileReader;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::field::shown;
use crate::page::files;
use crate::state::{Action, Document};

#[derive(Clone, PartialEq, Properties)]
pub(super) struct FilesProps {
    pub(super) document: Rc<Document>,
    pub(super) dispatch: Callback<Action>,
}

/// Open and save.
#[component]
pub(super) fn Files(props: &FilesProps) -> Html {
    let reading = use_mut_ref(|| None::<FileReader>);
    let onchange = {
        let dispatch = props.dispatch.clone();
        Callback::from(move |event: Event| {
            let input = event.target_unchecked_into::<HtmlInputElement>();
            *reading.borrow_mut() = files::open(input.files(), dispatch.clone());
            // The same file may be opened again.
            input.set_value("");
        })
    };
    let onclick = {
        let document = Rc::clone(&props.document);
        Callback::from(move |_: MouseEvent| {
            files::download(&file_name(&document), "application/json", document.text.as_bytes());
        })
    };
    html! {
        <>
            <label class="quiet file">
                { "Open" }
                <input type="file" class="sr-only" accept=".json,application/json" aria-label="Open a scenario from a file"
                    data-testid="file-open" {onchange} />
            </label>
            <button type="button" class="quiet" aria-label="Save the scenario to a file" data-testid="file-save" {onclick}>{ "Save" }</button>
        </>
    }
}

/// The scenario's name, as far as it does for a file.
fn file_name(document: &Document) -> String {
    let name = document.value.get("name").map(shown).unwrap_or_default();
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(100).collect();
    let plain = plain.trim_matches('.');
    format!("{}.json", if plain.is_empty() { "scenario" } else { plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        for (text, expected) in [
            (r#"{"name": "zone-outage"}"#, "zone-outage.json"),
            (r#"{"name": "../../x y"}"#, "xy.json"),
            (r#"{"name": ".."}"#, "scenario.json"),
            ("{}", "scenario.json"),
        ] {
            assert_eq!(file_name(&Document::new(text).0), expected);
        }
    }
}
