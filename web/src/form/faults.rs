//! Planned faults: what breaks, when, for how long.

use serde_json::{Value, json};
use yew::prelude::*;

use super::field::{As, FormCtx, at, plain, shown};
use crate::state::DocumentAction;

/// A kind of fault: its word, how it reads, the field of its target, and further fields with their labels.
struct Kind {
    word: &'static str,
    reads: &'static str,
    target: &'static str,
    more: &'static [(&'static str, &'static str)],
}

const DIRECTION: &[(&str, &str)] = &[("direction", "Direction")];

const KINDS: [Kind; 10] = [
    Kind { word: "zone_power", reads: "zone loses power", target: "zone", more: &[] },
    Kind { word: "zone_partition", reads: "zone partition", target: "zone", more: DIRECTION },
    Kind { word: "node_crash", reads: "node loses power", target: "node", more: &[] },
    Kind { word: "node_partition", reads: "node partition", target: "node", more: DIRECTION },
    Kind { word: "process_kill", reads: "member killed", target: "member", more: &[] },
    Kind { word: "graceful_stop", reads: "member stopped gracefully", target: "member", more: &[] },
    Kind {
        word: "link_degraded",
        reads: "link gets worse",
        target: "between",
        more: &[("delay", "Added delay"), ("loss", "Loss"), ("bandwidth", "Bandwidth")],
    },
    Kind {
        word: "disk_slow",
        reads: "disk gets slow",
        target: "volume",
        more: &[("add", "Added per fsync"), ("factor", "Factor")],
    },
    Kind { word: "volume_lost", reads: "disk lost", target: "volume", more: &[] },
    Kind {
        word: CLOUD,
        reads: "cloud's API fails",
        target: "zone",
        more: &[("create", "Create machines"), ("delete", "Delete machines"), ("attach", "Attach volumes")],
    },
];

/// What the cloud may answer; machines only can be out of stock.
const ANSWERS: [&str; 3] = ["refused", "unavailable", "out_of_stock"];

/// The only kind that needs no target.
const CLOUD: &str = "cloud_api";

/// What stands before a cluster's name where its leader is meant; no name begins with it.
const LEADER: char = '@';

pub(super) fn section(ctx: &FormCtx<'_>) -> Html {
    let count = ctx.list("faults").len();
    let value = targets(ctx, "zone").into_iter().next().map_or(Value::Null, |(word, _)| target_value(&word));
    let new = json!({"at": "1m", "for": "5m", "kind": "zone_power", "zone": value});
    let body = html! {
        <>
            { ctx.group("faults") }
            { for (0..count).map(|k| fault(ctx, k)) }
            { ctx.add("faults", "fault", new) }
        </>
    };
    ctx.section("faults", "Faults", &count.to_string(), true, body)
}

fn fault(ctx: &FormCtx<'_>, k: usize) -> Html {
    let path = format!("faults/{k}");
    let place = |key: &str| format!("{path}/{key}");
    let word = shown(ctx.get(&place("kind")));
    let kind = KINDS.iter().find(|kind| kind.word == word);
    let name = format!("fault {}", k + 1);
    let more = |kind: &'static Kind| {
        let field = |(key, label): &(&str, &str)| match *key {
            "direction" => ctx.choice(&place(key), label, Some("both ways"), &plain(&["in", "out"])),
            "create" => ctx.choice(&place(key), label, Some("works"), &plain(&ANSWERS)),
            "delete" | "attach" => ctx.choice(&place(key), label, Some("works"), &plain(&ANSWERS[..2])),
            "factor" | "loss" => ctx.text(&place(key), label, As::Json),
            _ => ctx.text(&place(key), label, As::Text),
        };
        html! { <>{ target(ctx, &path, kind) }{ for kind.more.iter().map(field) }</> }
    };
    html! {
        <fieldset class="item">
            <legend>{ &name }</legend>
            <div class="row">{ kinds(ctx, &path, &word) }{ ctx.remove(&path, &name) }</div>
            <div class="fields">
                { ctx.text(&place("at"), "At", As::Text) }
                { ctx.text(&place("for"), "For", As::Text) }
                { kind.map(more) }
            </div>
        </fieldset>
    }
}

/// Another kind has another target; when it happens stays.
fn kinds(ctx: &FormCtx<'_>, path: &str, word: &str) -> Html {
    let options: Vec<_> = KINDS.iter().map(|kind| (kind.word.to_owned(), kind.reads.to_owned())).collect();
    let firsts: Vec<(&str, Value)> = KINDS.iter().map(|kind| (kind.word, first(ctx, kind))).collect();
    let old = ctx.get(path).clone();
    let place = at(path);
    ctx.select(&format!("{path}/kind"), "What", word, &options, move |word| {
        let mut fault = json!({});
        for key in ["at", "for"] {
            if let Some(value) = old.get(key) {
                fault[key] = value.clone();
            }
        }
        fault["kind"] = word.as_str().into();
        if let Some(kind) = KINDS.iter().find(|kind| kind.word == word && word != CLOUD) {
            let same = old.get(kind.target).cloned();
            let first = firsts.iter().find(|(known, _)| *known == word).map(|(_, first)| first.clone());
            fault[kind.target] = same.or(first).unwrap_or_default();
        }
        // A slow disk is slower by something, a worse link too.
        match word.as_str() {
            "disk_slow" => fault["add"] = "100ms".into(),
            "link_degraded" => fault["delay"] = "100ms".into(),
            CLOUD => fault["create"] = ANSWERS[0].into(),
            _ => {}
        }
        DocumentAction::Set(place.clone(), Some(fault))
    })
}

fn first(ctx: &FormCtx<'_>, kind: &Kind) -> Value {
    if kind.target == "between" {
        let zones = ctx.zones();
        return json!([zones.first(), zones.get(1).or(zones.first())]);
    }
    targets(ctx, kind.target).into_iter().next().map_or(Value::Null, |(word, _)| target_value(&word))
}

fn target(ctx: &FormCtx<'_>, path: &str, kind: &Kind) -> Html {
    let path = format!("{path}/{}", kind.target);
    if kind.word == CLOUD {
        return ctx.choice(&path, "Zone", Some("all zones"), &plain(&ctx.zones()));
    }
    if kind.target == "between" {
        let zones = plain(&ctx.zones());
        let end = |k: usize, label: &str| ctx.choice(&format!("{path}/{k}"), label, None, &zones);
        return html! { <>{ end(0, "Between") }{ end(1, "and") }</> };
    }
    let value = ctx.get(&path);
    let word = value.get("leader_of").map_or_else(|| shown(value), |cluster| format!("{LEADER}{}", shown(cluster)));
    let label = match kind.target {
        "zone" => "Zone",
        "node" => "Node",
        "member" => "Member",
        _ => "Disk of",
    };
    let place = at(&path);
    let set = move |word: String| DocumentAction::Set(place.clone(), Some(target_value(&word)));
    html! { <div class="wide">{ ctx.select(&path, label, &word, &targets(ctx, kind.target), set) }</div> }
}

/// What can be hit: where the leader is, or one by name.
fn targets(ctx: &FormCtx<'_>, target: &str) -> Vec<(String, String)> {
    let clusters = ctx.names("etcd");
    let of = if target == "member" { "the leader" } else { "that of the leader" };
    let leader = |name: &String| (format!("{LEADER}{name}"), format!("{of} of {name}"));
    let mut all: Vec<_> = clusters.iter().map(leader).collect();
    let names = match target {
        "zone" => ctx.zones(),
        "node" => ctx.names("topology/nodes"),
        _ => (0..clusters.len()).flat_map(|c| ctx.names(&format!("etcd/{c}/members"))).collect(),
    };
    all.extend(plain(&names));
    if target == "volume" {
        all.extend(plain(&ctx.names("topology/volumes")));
    }
    all
}

fn target_value(word: &str) -> Value {
    match word.strip_prefix(LEADER) {
        Some(cluster) => json!({"leader_of": cluster}),
        None => word.into(),
    }
}
