//! Expectations: what must come out, and whether it did.

use serde_json::{Value, json};
use yew::prelude::*;
use zonefall_core::report::ExpectationReport;

use super::field::{As, FormCtx, at};
use crate::state::DocumentAction;

/// Bounds: the word, how it reads, and a value to begin with.
const BOUNDS: [(&str, &str, &str); 6] = [
    ("is", "is", "0"),
    ("is_not", "is not", "0"),
    ("between", "is between", "[0, 1]"),
    ("at_least", "is at least", "0"),
    ("at_most", "is at most", "1"),
    ("includes", "includes", "\"text\""),
];

pub(super) fn section(ctx: &FormCtx<'_>) -> Html {
    let count = ctx.list("expect").len();
    let report = judged(ctx);
    let says = match report {
        Some(all) if all.iter().all(|one| one.ok) => format!("✓ all {count} met"),
        Some(all) => format!("✕ {} of {count} not met", all.iter().filter(|one| !one.ok).count()),
        None => count.to_string(),
    };
    let cluster = ctx.names("etcd").into_iter().next().unwrap_or_default();
    let new = json!({"that": format!("etcd.{cluster}.rpo.lost_entries"), "is": 0});
    let body = html! {
        <>
            { ctx.group("expect") }
            { for (0..count).map(|k| expectation(ctx, k, report.and_then(|all| all.get(k)))) }
            { ctx.add("expect", "expectation", new) }
        </>
    };
    ctx.section("expect", "Expectations", &says, false, body)
}

/// How they fared, if the run on the screen is over and is a run of this very document.
fn judged<'a>(ctx: &FormCtx<'a>) -> Option<&'a [ExpectationReport]> {
    // They are about the scenario as written, not about what was done to it since.
    let report = ctx.state.branch().filter(|branch| branch.done && branch.fork.is_none())?.report.as_deref()?;
    let same = ctx.document.problems.is_empty() && report.expectations.len() == ctx.list("expect").len();
    (same && !report.expectations.is_empty()).then_some(&report.expectations)
}

fn expectation(ctx: &FormCtx<'_>, k: usize, fared: Option<&ExpectationReport>) -> Html {
    let path = format!("expect/{k}");
    let word = BOUNDS.iter().map(|(word, ..)| *word).find(|word| ctx.get(&path).get(word).is_some()).unwrap_or_default();
    let mark = fared.map(|fared| {
        let (class, sign) = if fared.ok { ("good", "✓ met") } else { ("bad", "✕ not met") };
        html! { <p class={classes!("mark", class)} data-testid={format!("form-expect-{k}-mark")}>{ format!("{sign}: actual value {}", fared.actual) }</p> }
    });
    html! {
        <fieldset class="item">
            <legend>{ format!("expectation {}", k + 1) }</legend>
            <div class="row">{ ctx.text(&format!("{path}/that"), "That", As::Text) }{ ctx.remove(&path, &format!("expectation {}", k + 1)) }</div>
            <div class="fields">
                { bounds(ctx, &path, word) }
                { if word.is_empty() { Html::default() } else { ctx.text(&format!("{path}/{word}"), "Value", As::Json) } }
                <div class="wide">{ ctx.text(&format!("{path}/because"), "Because", As::Text) }</div>
            </div>
            { mark }
        </fieldset>
    }
}

/// Another bound on the same place.
fn bounds(ctx: &FormCtx<'_>, path: &str, word: &str) -> Html {
    let options: Vec<_> = BOUNDS.iter().map(|(word, reads, _)| ((*word).to_owned(), (*reads).to_owned())).collect();
    let old = ctx.get(path).clone();
    let place = at(path);
    ctx.select(&format!("{path}/bound"), "Bound", word, &options, move |word| {
        let mut all = json!({});
        if let Value::Object(fields) = &old {
            let others = fields.iter().filter(|(key, _)| !BOUNDS.iter().any(|(word, ..)| word == key));
            for (key, value) in others {
                all[key] = value.clone();
            }
        }
        let begin = BOUNDS.iter().find(|(known, ..)| *known == word).and_then(|(.., value)| serde_json::from_str(value).ok());
        all[word.as_str()] = begin.unwrap_or_default();
        DocumentAction::Set(place.clone(), Some(all))
    })
}
