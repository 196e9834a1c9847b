//! Seeds, which host control planes, and shoots, whose control planes are hosted. What is rarer than this comes from the schema.

use serde_json::{Value, json};
use yew::prelude::*;

use super::field::{self, As, FormCtx, fresh, plain, shown};
use super::schema;
use crate::state::DocumentAction;

/// Nodes of a seed listed at most.
const NODES: usize = 40;

/// Words of the file and how they read.
const TOLERANCES: [(&str, &str); 3] = [("none", "none"), ("node", "a node's"), ("zone", "a zone's")];
const RECOVERIES: [(&str, &str); 4] = [
    ("wait", "1: pods bound to the zone wait"),
    ("redundant", "2: two of every critical component"),
    ("preferred", "3a: members of etcd may share a zone"),
    ("move", "3b: members of etcd are moved and moved back"),
];

const MODES: [(&str, &str); 3] = [
    ("quorum", "quorum: a majority of three (default)"),
    ("hot_standby", "active-passive: a hot standby takes over"),
    ("learner", "active-passive: a perpetual learner takes over"),
];

fn words(words: &[(&str, &str)]) -> Vec<(String, String)> {
    words.iter().map(|(word, reads)| ((*word).to_owned(), (*reads).to_owned())).collect()
}

pub(super) fn seeds(ctx: &FormCtx<'_>) -> Html {
    let names = ctx.names("seeds");
    let zones = ctx.zones();
    let new = json!({"name": fresh("seed-", names.len() + 1, &names), "zones": zones, "pools": [{"name": "cpu", "minimum": 2 * zones.len().max(1)}]});
    let body = html! {
        <>
            { ctx.group("seeds") }
            { for names.iter().enumerate().map(|(s, name)| seed(ctx, &format!("seeds/{s}"), name, &zones)) }
            { ctx.add("seeds", "seed", new) }
        </>
    };
    ctx.section("seeds", "Seeds", &names.join(", "), false, body)
}

fn seed(ctx: &FormCtx<'_>, path: &str, name: &str, zones: &[String]) -> Html {
    let at = |key: &str| format!("{path}/{key}");
    let pools = ctx.names(&at("pools"));
    let pool = |(p, name): (usize, &String)| {
        let path = format!("{path}/pools/{p}");
        html! {
            <div class="row" role="group" aria-label={format!("pool {name}")}>
                { ctx.text(&format!("{path}/name"), "Pool", As::Name) }
                { ctx.text(&format!("{path}/minimum"), "Minimum nodes", As::Number) }
                { ctx.text(&format!("{path}/maximum"), "Maximum nodes", As::Number) }
                { ctx.remove(&path, &format!("pool {name}")) }
                { schema::rest(ctx, &path, &["name", "minimum", "maximum"]) }
            </div>
        }
    };
    let nodes = ctx.names(&at("nodes"));
    let node = |(n, name): (usize, &String)| {
        let path = format!("{path}/nodes/{n}");
        html! {
            <div class="row" role="group" aria-label={format!("node {name}")}>
                { ctx.text(&format!("{path}/name"), "Node", As::Name) }
                { ctx.choice(&format!("{path}/pool"), "Pool", None, &plain(&pools)) }
                { ctx.choice(&format!("{path}/zone"), "Zone", None, &plain(zones)) }
                { ctx.remove(&path, &format!("node {name}")) }
            </div>
        }
    };
    let new_pool = json!({"name": fresh("pool-", pools.len() + 1, &pools), "minimum": 1});
    let new_node = json!({"name": fresh("node-", nodes.len() + 1, &nodes), "pool": pools.first(), "zone": zones.first()});
    let rest = nodes.len().saturating_sub(NODES);
    html! {
        <fieldset class="item">
            <legend>{ name }</legend>
            <div class="row">{ ctx.text(&at("name"), "Seed", As::Name) }{ ctx.remove(path, &format!("seed {name}")) }</div>
            <div class="fields">
                <div class="wide">{ ctx.text(&at("zones"), "Zones", As::Names) }</div>
                <div class="wide">{ ctx.text(&at("control_plane/zones"), "Zones of the seed's control plane", As::Names) }</div>
            </div>
            { ctx.group(&at("pools")) }
            { for pools.iter().enumerate().map(pool) }
            { ctx.add(&at("pools"), "pool", new_pool) }
            <details class="more" data-testid={format!("form-{}-more", path.replace('/', "-"))}>
                <summary>{ format!("Nodes by name, {}", nodes.len()) }</summary>
                { ctx.group(&at("nodes")) }
                { for nodes.iter().take(NODES).enumerate().map(node) }
                if rest > 0 { <p class="quiet">{ format!("and {rest} more (see the JSON tab)") }</p> }
                { ctx.add(&at("nodes"), "node", new_node) }
            </details>
            { schema::rest(ctx, path, &["name", "zones", "control_plane/zones", "pools", "nodes"]) }
        </fieldset>
    }
}

pub(super) fn shoots(ctx: &FormCtx<'_>) -> Html {
    let names = ctx.names("shoots");
    let seeds = plain(&ctx.names("seeds"));
    let new = json!({"name": fresh("shoot-", names.len() + 1, &names), "failure_tolerance": "zone"});
    let body = html! {
        <>
            { ctx.group("shoots") }
            { for names.iter().enumerate().map(|(s, name)| shoot(ctx, &format!("shoots/{s}"), name, &seeds)) }
            { ctx.add("shoots", "shoot", new) }
        </>
    };
    ctx.section("shoots", "Shoots", &names.join(", "), true, body)
}

fn shoot(ctx: &FormCtx<'_>, path: &str, name: &str, seeds: &[(String, String)]) -> Html {
    let at = |key: &str| format!("{path}/{key}");
    let tolerance = shown(ctx.get(&at("failure_tolerance")));
    html! {
        <fieldset class="item">
            <legend>{ name }</legend>
            <div class="row">
                { ctx.text(&at("name"), "Shoot", As::Name) }
                { ctx.text(&at("count"), "Count", As::Number) }
                { ctx.remove(path, &format!("shoot {name}")) }
            </div>
            <div class="fields">
                { ctx.choice(&at("failure_tolerance"), "Failure tolerance", Some("none (default)"), &words(&TOLERANCES)) }
                { ctx.choice(&at("seed"), "Seed", Some("chosen by the Gardener scheduler"), seeds) }
                if !matches!(&tolerance[..], "" | "none") {
                    <div class="wide">{ mode(ctx, &at("etcd/mode")) }</div>
                }
                if tolerance == "zone" {
                    <div class="wide">{ ctx.choice(&at("recovery"), "Recovery from a zone failure", Some("1 (default)"), &words(&RECOVERIES)) }</div>
                }
            </div>
            { schema::rest(ctx, path, &["name", "count", "failure_tolerance", "seed", "recovery", "etcd/mode"]) }
        </fieldset>
    }
}

/// What keeps etcd going when a member is lost: a word, or an object under a word.
pub(super) fn mode(ctx: &FormCtx<'_>, path: &str) -> Html {
    let word = match ctx.get(path) {
        Value::Null => MODES[0].0.to_owned(),
        Value::Object(mode) => mode.keys().next().cloned().unwrap_or_default(),
        value => shown(value),
    };
    let place = field::at(path);
    let set = move |word: String| {
        let mode = (word != MODES[0].0).then(|| json!({ word: {} }));
        DocumentAction::Set(place.clone(), mode)
    };
    ctx.select(path, "Mode of etcd", &word, &words(&MODES), set)
}
