//! The scenario panel: one document as a form and as JSON, kept in step, its problems shown in place.
//!
//! ```text
//!   Document (state) --> Form tab: sections of fields   --Set, Push, Rename--> Document
//!                    --> JSON tab: the text             --Type-->
//! ```
//!
//! Fields only write values; what a value means, and what is wrong with it, zonefall-core says about the document as a whole.

mod about;
pub mod build;
mod clusters;
mod expect;
mod field;
mod file;
mod json;
mod kinds;
mod landscape;
mod load;
mod places;
mod schema;
#[cfg(test)]
mod tests;
mod try_it;

use std::rc::Rc;

use wasm_bindgen::JsCast;
use yew::prelude::*;

use crate::state::{Action, DocumentAction, Problem, State, UiAction};
use about::About;
pub use about::WHAT;
use field::FormCtx;
use json::{JsonEditor, Jump};

/// Kinds of problems listed at the top at most; the others are at their fields all the same.
const LISTED: usize = 20;

/// What the panel needs.
#[derive(Clone, Debug, Properties)]
pub struct ConfigureProps {
    /// What the page knows.
    pub state: Rc<State>,
    /// How it changes.
    pub dispatch: Callback<Action>,
}

impl PartialEq for ConfigureProps {
    /// A pointer is compared, not a state with reports of megabytes.
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.state, &other.state) && self.dispatch == other.dispatch
    }
}

/// The scenario panel.
#[component]
pub fn Configure(props: &ConfigureProps) -> Html {
    let ConfigureProps { state, dispatch } = props;
    let jump = use_state(|| None::<Jump>);
    let ctx = FormCtx::new(state, dispatch);
    let as_json = state.ui.as_json;
    let body = if as_json {
        html! { <JsonEditor document={Rc::clone(&state.document)} dispatch={dispatch.clone()} jump={(*jump).clone()} /> }
    } else {
        sections(&ctx)
    };
    let go = {
        let (dispatch, text) = (dispatch.clone(), Rc::clone(&state.document.text));
        Callback::from(move |(problem, field): (Problem, Option<String>)| match field {
            Some(id) if !as_json => reveal(&id),
            _ => {
                let number = jump.as_ref().map_or(1, |jump| jump.number + 1);
                jump.set(Some(Jump::to(number, &text, &problem)));
                dispatch.emit(Action::Ui(UiAction::AsJson(true)));
            }
        })
    };
    html! {
        <section class="configure" aria-label="Scenario" data-testid="configure" onkeydown={undo_keys(dispatch)}>
            <About description={field::shown(ctx.get("description"))} />
            { bar(state, dispatch) }
            { problems(&ctx, &go) }
            <div id="configure-panel" class="configure-body" role="tabpanel" aria-labelledby={if as_json { "tab-json" } else { "tab-form" }}>
                { body }
            </div>
        </section>
    }
}

/// Top-level fields with a section of their own.
const SECTIONS: &[&str] = &[
    "$schema",
    "name",
    "title",
    "seed",
    "duration",
    "topology",
    "network",
    "etcd",
    "load_balancers",
    "clusters",
    "seeds",
    "shoots",
    "clients",
    "faults",
    "operations",
    "prices",
    "expect",
];

fn sections(ctx: &FormCtx<'_>) -> Html {
    html! {
        <form class="form" autocomplete="off" onsubmit={|event: SubmitEvent| event.prevent_default()}>
            { try_it::section(ctx) }
            <fieldset class="form-all" disabled={!ctx.document.is_json} data-testid="form">
                <legend class="sr-only">{ "Scenario" }</legend>
                { places::scenario(ctx) }
                { places::regions(ctx) }
                { places::delays(ctx) }
                { places::nodes(ctx) }
                { landscape::seeds(ctx) }
                { landscape::shoots(ctx) }
                { clusters::section(ctx) }
                { load::section(ctx) }
                { schema::section(ctx, "load_balancers", "load balancer", "Load balancers in front of API servers") }
                { schema::section(ctx, "clusters", "cluster", "Kubernetes clusters") }
                { schema::section(ctx, "faults", "fault", "Faults") }
                { schema::section(ctx, "operations", "operation", "Operations") }
                { schema::object_section(ctx, "prices", "Prices", "") }
                { schema::others(ctx, SECTIONS) }
                { expect::section(ctx) }
            </fieldset>
        </form>
    }
}

/// Tabs, undo and redo.
fn bar(state: &State, dispatch: &Callback<Action>) -> Html {
    let tab = |as_json: bool, id: &'static str, label: &'static str| {
        let selected = state.ui.as_json == as_json;
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Ui(UiAction::AsJson(as_json)));
        let onkeydown = {
            let dispatch = dispatch.clone();
            Callback::from(move |event: KeyboardEvent| {
                if matches!(event.key().as_str(), "ArrowLeft" | "ArrowRight") {
                    event.prevent_default();
                    event.stop_propagation();
                    focus(if as_json { "tab-form" } else { "tab-json" });
                    dispatch.emit(Action::Ui(UiAction::AsJson(!as_json)));
                }
            })
        };
        html! {
            <button type="button" role="tab" {id} data-testid={id} class={classes!("tab", selected.then_some("selected"))}
                aria-selected={selected.to_string()} aria-controls="configure-panel" tabindex={if selected { "0" } else { "-1" }}
                {onclick} {onkeydown}>{ label }</button>
        }
    };
    let button = |id: &'static str, label: &'static str, sign: &'static str, disabled: bool, action: DocumentAction| {
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Document(action.clone()));
        html! { <button type="button" class="quiet" data-testid={id} aria-label={label} title={label} {disabled} {onclick}>{ sign }</button> }
    };
    html! {
        <div class="configure-bar">
            <div class="tabs" role="tablist" aria-label="Scenario as">
                { tab(false, "tab-form", "Form") }
                { tab(true, "tab-json", "JSON") }
            </div>
            <file::Files dispatch={dispatch.clone()} />
            { button("document-undo", "Undo the last edit (Ctrl+Z)", "↶", state.document.undo.is_empty(), DocumentAction::Undo) }
            { button("document-redo", "Redo (Ctrl+Shift+Z)", "↷", state.document.redo.is_empty(), DocumentAction::Redo) }
        </div>
    }
}

/// All that is wrong, each a way to its field or its place in the text.
fn problems(ctx: &FormCtx<'_>, go: &Callback<(Problem, Option<String>)>) -> Html {
    let all = &ctx.document.problems;
    let kinds = kinds::of(all);
    let item = |(problem, alike): &(&Problem, usize)| {
        let field = ctx.field_of(&problem.path);
        let onclick = go.reform({
            let problem = Problem::clone(problem);
            move |_: MouseEvent| (problem.clone(), field.clone())
        });
        let place = problem.line_column.map_or_else(|| problem.path.clone(), |(line, _)| format!("line {line}"));
        html! {
            <li><button type="button" class="problem" data-testid="problem" {onclick}>
                <code>{ place }</code>{ " " }{ &problem.message }
                if *alike > 0 { <span class="quiet">{ format!(" … and {alike} more of this kind") }</span> }
            </button></li>
        }
    };
    let count = match all.len() {
        0 => return html! { <div role="status" class="sr-only">{ "No problems" }</div> },
        1 => "1 problem: the last valid scenario keeps running".to_owned(),
        n => format!("{n} problems: the last valid scenario keeps running"),
    };
    let omitted: usize = kinds.iter().skip(LISTED).map(|(_, alike)| alike + 1).sum();
    let more = (omitted > 0).then(|| html! { <li>{ format!("… and {omitted} more") }</li> });
    html! {
        <div role="status" class="problems" data-testid="problems">
            <strong>{ count }</strong>
            <ul>{ for kinds.iter().take(LISTED).map(item) }{ more }</ul>
        </div>
    }
}

/// Undo and redo by keys; a field that is being filled in keeps its own.
fn undo_keys(dispatch: &Callback<Action>) -> Callback<KeyboardEvent> {
    let dispatch = dispatch.clone();
    Callback::from(move |event: KeyboardEvent| {
        let in_field = event.target().is_some_and(|target| target.dyn_ref::<web_sys::HtmlInputElement>().is_some());
        if in_field || !(event.ctrl_key() || event.meta_key()) || event.alt_key() {
            return;
        }
        let action = match (event.key().as_str(), event.shift_key()) {
            ("z" | "Z", false) => DocumentAction::Undo,
            ("z" | "Z", true) | ("y" | "Y", false) => DocumentAction::Redo,
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        dispatch.emit(Action::Document(action));
    })
}

fn focus(id: &str) {
    let element = gloo::utils::document().get_element_by_id(id);
    if let Some(element) = element.and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok()) {
        element.focus().ok();
    }
}

/// Opens the section that a field is in, and goes there.
fn reveal(id: &str) {
    let field = gloo::utils::document().get_element_by_id(id);
    if let Some(Ok(Some(section))) = field.map(|field| field.closest("details"))
        && let Some(section) = section.dyn_ref::<web_sys::HtmlDetailsElement>()
    {
        section.set_open(true);
    }
    focus(id);
}
