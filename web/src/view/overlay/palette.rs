//! Every command by name: type, arrows, Enter.

use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::Dialog;
use crate::state::{Action, UiAction};
use crate::view::commands::{Command, CommandEffect, key_words};

#[derive(Clone, PartialEq, Properties)]
pub(crate) struct PaletteProps {
    /// What was typed.
    pub typed: String,
    /// All commands.
    pub commands: Vec<Command>,
    /// One was chosen.
    pub on_command: Callback<CommandEffect>,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// Entries shown at once.
const MOST: usize = 40;

/// The list.
#[component]
pub(crate) fn Palette(props: &PaletteProps) -> Html {
    let chosen = use_state_eq(|| 0_usize);
    let words: Vec<String> = props.typed.split_whitespace().map(str::to_ascii_lowercase).collect();
    let fits = |c: &&Command| words.iter().all(|word| c.name.to_ascii_lowercase().contains(word));
    let found: Vec<&Command> = props.commands.iter().filter(fits).take(MOST).collect();
    let at = (*chosen).min(found.len().saturating_sub(1));
    let on_close = props.dispatch.reform(|()| Action::Ui(UiAction::Palette(None)));
    let run = |effect: CommandEffect| {
        let (on_close, on_command) = (on_close.clone(), props.on_command.clone());
        move || {
            on_close.emit(());
            on_command.emit(effect.clone());
        }
    };
    let oninput = {
        let (dispatch, chosen) = (props.dispatch.clone(), chosen.clone());
        move |event: InputEvent| {
            chosen.set(0);
            let text = event.target_unchecked_into::<HtmlInputElement>().value();
            dispatch.emit(Action::Ui(UiAction::Palette(Some(text))));
        }
    };
    let onkeydown = {
        let (chosen, count) = (chosen.clone(), found.len());
        let enter = found.get(at).map(|c| run(c.effect.clone()));
        move |event: KeyboardEvent| {
            match event.key().as_str() {
                "ArrowDown" => chosen.set((at + 1).min(count.saturating_sub(1))),
                "ArrowUp" => chosen.set(at.saturating_sub(1)),
                "Enter" => enter.iter().for_each(|run| run()),
                _ => return,
            }
            event.prevent_default();
        }
    };
    use_effect_with(at, |at| {
        let row = gloo::utils::document().get_element_by_id(&format!("command-{at}"));
        let options = web_sys::ScrollIntoViewOptions::new();
        options.set_block(web_sys::ScrollLogicalPosition::Nearest);
        if let Some(row) = row.and_then(|r| r.dyn_into::<web_sys::Element>().ok()) {
            row.scroll_into_view_with_scroll_into_view_options(&options);
        }
    });
    let row = |(i, command): (usize, &&Command)| {
        let run = run(command.effect.clone());
        html! {
            <li id={format!("command-{i}")} role="option" aria-selected={(i == at).to_string()} onclick={move |_: MouseEvent| run()}
                data-testid="command"><span>{ &command.name }</span>if !command.keys.is_empty() { <kbd>{ key_words(command.keys) }</kbd> }</li>
        }
    };
    html! {
        <Dialog label="Commands" testid="palette" on_close={on_close.clone()}>
            <input type="text" autofocus=true autocomplete="off" spellcheck="false" placeholder="Search commands" role="combobox"
                aria-label="Command" aria-expanded="true" aria-controls="commands" aria-activedescendant={format!("command-{at}")}
                value={props.typed.clone()} {oninput} {onkeydown} data-testid="palette-input" />
            <ul id="commands" role="listbox" aria-label="Commands">{ for found.iter().enumerate().map(row) }</ul>
            if found.is_empty() { <p class="quiet">{ "No matching command." }</p> }
        </Dialog>
    }
}
