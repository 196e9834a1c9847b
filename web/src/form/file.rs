//! The document from a file, and into one.

use gloo::file::callbacks::FileReader;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::page::files;
use crate::state::Action;

#[derive(Clone, PartialEq, Properties)]
pub(super) struct FilesProps {
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
    let onclick = props.dispatch.reform(|_: MouseEvent| Action::Save);
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
