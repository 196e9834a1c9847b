//! The scenario itself, regions and zones, the delays between them, nodes.

use serde_json::{Value, json};
use yew::prelude::*;

use super::field::{As, FormCtx, at, fresh, plain, shown};
use crate::state::DocumentAction;

/// Zone pairs listed at most: beyond, the delays of single pairs are a matter for the JSON tab.
const PAIRS: usize = 28;

pub(super) fn scenario(ctx: &FormCtx<'_>) -> Html {
    let body = html! {
        <div class="fields">
            <div class="wide">{ ctx.text("name", "Name", As::Text) }</div>
            <div class="wide">{ ctx.text("title", "Title", As::Text) }</div>
            { ctx.text("duration", "Duration", As::Text) }
            { ctx.text("seed", "Seed", As::Number) }
        </div>
    };
    let says = [ctx.get("name"), ctx.get("duration")].map(shown).join(", ");
    ctx.section("name", "Scenario", &says, true, body)
}

pub(super) fn regions(ctx: &FormCtx<'_>) -> Html {
    let zones = ctx.zones();
    let region = |r: usize| {
        let path = format!("topology/regions/{r}");
        let name = shown(ctx.get(&format!("{path}/name")));
        let inside = ctx.list(&format!("{path}/zones"));
        let zone = |z: usize, zone: &Value| {
            let path = format!("{path}/zones/{z}");
            html! { <div class="row">{ ctx.text(&path, &format!("Zone {}", z + 1), As::Name) }{ ctx.remove(&path, &format!("zone {}", shown(zone))) }</div> }
        };
        html! {
            <fieldset class="item">
                <legend>{ &name }</legend>
                <div class="row">{ ctx.text(&format!("{path}/name"), "Region", As::Text) }{ ctx.remove(&path, &format!("region {name}")) }</div>
                { ctx.group(&format!("{path}/zones")) }
                { for inside.iter().enumerate().map(|(z, name)| zone(z, name)) }
                { ctx.add(&format!("{path}/zones"), "zone", new_zone(&name, &zones).into()) }
            </fieldset>
        }
    };
    let count = ctx.list("topology/regions").len();
    let new = fresh("region-", count + 1, &ctx.names("topology/regions"));
    let item = json!({"name": new, "zones": [new_zone(&new, &zones)]});
    let body = html! {
        <>
            { ctx.group("topology/regions") }
            { for (0..count).map(region) }
            { ctx.add("topology/regions", "region", item) }
        </>
    };
    ctx.section("topology/regions", "Regions and zones", &format!("{count}, {}", zones.len()), false, body)
}

/// `eu-west-1b` after `eu-west-1a`.
fn new_zone(region: &str, taken: &[String]) -> String {
    let names = ('a'..='z').map(|letter| format!("{region}{letter}"));
    names.into_iter().find(|name| !taken.contains(name)).unwrap_or_else(|| fresh(&format!("{region}-"), 27, taken))
}

pub(super) fn delays(ctx: &FormCtx<'_>) -> Html {
    let kind = |key: &str, label: &str| {
        html! {
            <fieldset class="item">
                <legend>{ label }</legend>
                <div class="row">
                    { ctx.text(&format!("network/{key}/delay"), "Delay, one way", As::Text) }
                    { ctx.text(&format!("network/{key}/loss"), "Loss", As::Json) }
                    { ctx.text(&format!("network/{key}/bandwidth"), "Bandwidth", As::Text) }
                </div>
            </fieldset>
        }
    };
    let zones = ctx.zones();
    let pairs = || (0..zones.len()).flat_map(|a| (a + 1..zones.len()).map(move |b| (a, b)));
    let several = ctx.list("topology/regions").len() > 1;
    let body = html! {
        <>
            { kind("same_zone", "Within a zone") }
            { kind("cross_zone", "Between zones of a region") }
            { if several { kind("cross_region", "Between regions") } else { Html::default() } }
            { ctx.group("network/pairs") }
            { for pairs().take(PAIRS).map(|(a, b)| pair(ctx, &zones[a], &zones[b])) }
        </>
    };
    ctx.section("network", "Delays between zones", "", false, body)
}

/// The delay between two zones, where it differs from its kind.
fn pair(ctx: &FormCtx<'_>, a: &str, b: &str) -> Html {
    let pairs = ctx.list("network/pairs");
    let between = |pair: &Value| {
        let ends = pair.get("between").and_then(Value::as_array);
        ends.is_some_and(|ends| ends.iter().any(|end| end == a) && ends.iter().any(|end| end == b))
    };
    let label = format!("{a} – {b}, one way");
    if let Some(k) = pairs.iter().position(between) {
        let path = format!("network/pairs/{k}");
        return html! {
            <div class="row">
                { ctx.text(&format!("{path}/delay"), &label, As::Text) }
                { ctx.remove(&path, &format!("the delay between {a} and {b}")) }
            </div>
        };
    }
    let item = json!({"between": [a, b], "delay": "2ms"});
    let name = format!("Set the delay of {a} – {b}");
    let action = DocumentAction::Push(at("network/pairs"), item);
    html! { <div class="row">{ ctx.button(format!("form-pair-{a}-{b}-add"), &name, &name, action) }</div> }
}

pub(super) fn nodes(ctx: &FormCtx<'_>) -> Html {
    let zones = ctx.zones();
    let names = ctx.names("topology/nodes");
    let node = |(n, name): (usize, &String)| {
        let path = format!("topology/nodes/{n}");
        html! {
            <div class="row" role="group" aria-label={format!("node {name}")}>
                { ctx.text(&format!("{path}/name"), "Node", As::Name) }
                { ctx.choice(&format!("{path}/zone"), "Zone", None, &plain(&zones)) }
                { ctx.remove(&path, &format!("node {name}")) }
            </div>
        }
    };
    let new = json!({"name": fresh("node-", names.len() + 1, &names), "zone": emptiest(ctx, &zones)});
    let body = html! {
        <>
            { ctx.group("topology/nodes") }
            { for names.iter().enumerate().map(node) }
            { ctx.add("topology/nodes", "node", new) }
        </>
    };
    ctx.section("topology/nodes", "Nodes", &names.len().to_string(), false, body)
}

/// The zone with the fewest nodes: there the next one is wanted most.
fn emptiest(ctx: &FormCtx<'_>, zones: &[String]) -> String {
    let nodes = ctx.list("topology/nodes");
    let count = |zone: &&String| nodes.iter().filter(|node| node.get("zone").is_some_and(|z| z == zone.as_str())).count();
    zones.iter().min_by_key(count).cloned().unwrap_or_default()
}
