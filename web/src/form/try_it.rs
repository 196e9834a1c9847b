//! Scenarios: the bundled scenarios, and one's own by size.

use std::sync::OnceLock;

use serde_json::Value;
use web_sys::HtmlSelectElement;
use yew::prelude::*;
use zonefall_core::scenario::bundled;

use super::build::{Size, build};
use super::field::FormCtx;
use crate::state::layout::layout;
use crate::state::{Action, DocumentAction};

/// Name and title of each bundled scenario.
fn titles() -> &'static [(String, String)] {
    static TITLES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    TITLES.get_or_init(|| {
        let title = |json: &str| serde_json::from_str::<Value>(json).ok()?.get("title")?.as_str().map(str::to_owned);
        bundled().iter().map(|scenario| (scenario.name.to_owned(), title(scenario.json).unwrap_or_default())).collect()
    })
}

pub(super) fn section(ctx: &FormCtx<'_>) -> Html {
    let now = ctx.document.value.get("name").and_then(Value::as_str).unwrap_or_default();
    let item = |((name, title), scenario): (&(String, String), &zonefall_core::scenario::Bundled)| {
        let json = scenario.json;
        let onclick = ctx.dispatch.reform(move |_: MouseEvent| Action::Document(DocumentAction::Open(json.to_owned())));
        let current = (now == name).then_some("true");
        html! {
            <li><button type="button" class="try" data-testid={format!("try-{name}")} aria-current={current} {onclick}>{ title }</button></li>
        }
    };
    let body = html! {
        <>
            <p class="hint">{ "Each scenario shows one failure: open it, watch it, then inject a fault yourself." }</p>
            <ul class="tries">{ for titles().iter().zip(bundled()).map(item) }</ul>
            <Builder dispatch={ctx.dispatch.clone()} />
        </>
    };
    let empty = ctx.document.value.get("topology").is_none();
    ctx.section("try", "Scenarios", "", empty, body)
}

#[derive(Clone, PartialEq, Properties)]
struct BuilderProps {
    dispatch: Callback<Action>,
}

/// Regions, zones, members: built.
#[component]
fn Builder(props: &BuilderProps) -> Html {
    let size = use_state(Size::default);
    let choice = |id: &'static str, label: &'static str, options: &[usize], value: usize, with: fn(Size, usize) -> Size| {
        let onchange = {
            let size = size.clone();
            Callback::from(move |event: Event| {
                if let Ok(n) = event.target_unchecked_into::<HtmlSelectElement>().value().parse() {
                    size.set(with(*size, n));
                }
            })
        };
        let option = |n: &usize| html! { <option value={n.to_string()} selected={*n == value}>{ n }</option> };
        html! {
            <div class="field">
                <label for={id}>{ label }</label>
                <select {id} data-testid={id} {onchange}>{ for options.iter().map(option) }</select>
            </div>
        }
    };
    let onclick = {
        let size = *size;
        props.dispatch.reform(move |_: MouseEvent| Action::Document(DocumentAction::Open(layout(&build(size)))))
    };
    html! {
        <fieldset class="item">
            <legend>{ "Your own scenario" }</legend>
            <div class="row">
                { choice("new-regions", "Regions", &[1, 2, 3], size.regions, |size, regions| Size { regions, ..size }) }
                { choice("new-zones", "Zones per region", &[1, 2, 3, 4, 5], size.zones, |size, zones| Size { zones, ..size }) }
                { choice("new-members", "etcd members", &[1, 3, 5, 7], size.members, |size, members| Size { members, ..size }) }
                <button type="button" class="primary" data-testid="new-build" {onclick}>{ "Build" }</button>
            </div>
        </fieldset>
    }
}
