//! What lies above the page: help, the list of commands, a new topology, notices. A dialog keeps the focus inside and gives it back.

mod help;
mod palette;
mod topology;

use wasm_bindgen::JsCast;
use web_sys::{HtmlDialogElement, HtmlElement};
use yew::prelude::*;

use super::icon::{Icon, icon};
use crate::state::{Action, Notice, Tone};
pub(crate) use help::Help;
pub(crate) use palette::Palette;
pub(crate) use topology::NewTopology;

/// A dialog.
#[derive(Clone, PartialEq, Properties)]
pub struct DialogProps {
    /// Its name.
    pub label: String,
    /// Name for tests, and class.
    pub testid: String,
    /// It wants to be closed.
    pub on_close: Callback<()>,
    /// What is in it.
    pub children: Html,
}

/// The browser's own modal dialog: it traps the focus, and what lies behind it is inert.
#[component]
pub fn Dialog(props: &DialogProps) -> Html {
    let node = use_node_ref();
    {
        let node = node.clone();
        use_effect_with((), move |()| {
            let before = gloo::utils::document().active_element().and_then(|e| e.dyn_into::<HtmlElement>().ok());
            let dialog = node.cast::<HtmlDialogElement>();
            if let Some(dialog) = &dialog {
                // It fails only for a dialog that is open already.
                let _ = dialog.show_modal();
            }
            move || {
                // What lies behind an open dialog cannot take the focus.
                if let Some(dialog) = dialog {
                    dialog.close();
                }
                // What had the focus may be gone by now.
                let _ = before.map(|element| element.focus());
            }
        });
    }
    let close = props.on_close.reform(|event: Event| event.prevent_default());
    let button = props.on_close.reform(|_: MouseEvent| ());
    let veil = {
        let (node, on_close) = (node.clone(), props.on_close.clone());
        move |event: MouseEvent| {
            let on_veil = event.target().and_then(|t| t.dyn_into::<web_sys::Node>().ok()) == node.get();
            if on_veil {
                on_close.emit(());
            }
        }
    };
    html! {
        <dialog class={props.testid.clone()} ref={node} aria-label={props.label.clone()} oncancel={close} onclick={veil}
            data-testid={props.testid.clone()}>
            <div class="dialog-inside">
                { props.children.clone() }
                <button class="tool close" onclick={button} aria-label="Close" title="Close (Esc)" data-testid="dialog-close">{ icon(Icon::Close) }</button>
            </div>
        </dialog>
    }
}

/// A message to the user.
#[derive(Clone, PartialEq, Properties)]
pub struct NoticeProps {
    /// The message.
    pub notice: Option<Notice>,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// A line at the foot of the page, until it is dismissed. Its place is always there, so that what appears in it is read out.
#[component]
pub fn NoticeLine(props: &NoticeProps) -> Html {
    let dismiss = props.dispatch.reform(|_: MouseEvent| Action::Dismiss);
    let line = props.notice.as_ref().map(|notice| {
        let (class, sign) = match notice.tone {
            Tone::Info => ("info", "ℹ"),
            Tone::Error => ("error", "✕"),
        };
        html! {
            <div class={classes!("notice", class)} data-testid="notice">
                <span aria-hidden="true">{ sign }</span><p>{ &notice.text }</p>
                <button class="tool" onclick={dismiss} aria-label="Dismiss" title="Dismiss" data-testid="dismiss">{ icon(Icon::Close) }</button>
            </div>
        }
    });
    html! { <div class="notices" role="alert">{ line.unwrap_or_default() }</div> }
}
