//! The bundled scenarios, by title.

use std::sync::OnceLock;

use serde_json::Value;
use yew::prelude::*;
use zonefall_core::scenario::bundled;

use super::field::FormCtx;
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
        </>
    };
    let empty = ctx.document.value.get("topology").is_none();
    ctx.section("try", "Scenarios", "", empty, body)
}
