//! Clients: who asks what of whom, how often.

use serde_json::{Value, json};
use yew::prelude::*;

use super::field::{As, FormCtx, at, fresh, plain, shown};
use super::schema;
use crate::state::DocumentAction;

/// What a client asks: the word, how it reads, and the fields that only it has.
const OPS: [(&str, &str, &[&str]); 5] = [
    ("put", "put", &["key", "value"]),
    ("range", "range (read)", &["key", "value", "keys", "consistency"]),
    ("txn", "transaction (changes nothing)", &["key", "value"]),
    ("delete", "delete", &["key", "keys"]),
    ("watch", "watch", &[]),
];

pub(super) fn section(ctx: &FormCtx<'_>) -> Html {
    let names = ctx.names("clients");
    let mut new = json!({"name": fresh("client-", names.len() + 1, &names), "op": "put", "rate": "10/s", "target": "leader"});
    let clusters = ctx.names("etcd");
    if let [first, _, ..] = clusters.as_slice() {
        new["etcd"] = first.as_str().into();
    }
    if let Some(zone) = ctx.zones().first() {
        new["zone"] = zone.as_str().into();
    }
    let body = html! {
        <>
            { ctx.group("clients") }
            { for names.iter().enumerate().map(|(k, name)| client(ctx, k, name, &clusters)) }
            { ctx.add("clients", "client", new) }
        </>
    };
    ctx.section("clients", "Clients and load", &names.len().to_string(), false, body)
}

fn client(ctx: &FormCtx<'_>, k: usize, name: &str, clusters: &[String]) -> Html {
    let path = format!("clients/{k}");
    let place = |key: &str| format!("{path}/{key}");
    let op = shown(ctx.get(&place("op")));
    let has = |field: &str| OPS.iter().any(|(word, _, fields)| *word == op && fields.contains(&field));
    let one = |shown: bool, html: &dyn Fn() -> Html| if shown { html() } else { Html::default() };
    let consistency = plain(&["linearizable", "serializable"]);
    html! {
        <fieldset class="item">
            <legend>{ name }</legend>
            <div class="row">{ ctx.text(&place("name"), "Client", As::Text) }{ ctx.remove(&path, &format!("client {name}")) }</div>
            <div class="fields">
                { ops(ctx, &path, &op) }
                { one(clusters.len() > 1 || !ctx.get(&place("etcd")).is_null(), &|| ctx.choice(&place("etcd"), "Cluster", None, &plain(clusters))) }
                { ctx.choice(&place("zone"), "Zone", Some("zone of its node"), &plain(&ctx.zones())) }
                { targets(ctx, &place("target"), k, clusters) }
                { ctx.text(&place("rate"), "Rate", As::Text) }
                { one(ctx.get(&place("rate")).is_null(), &|| ctx.text(&place("connections"), "Connections", As::Number)) }
                { one(has("value"), &|| ctx.text(&place("value"), "Value", As::Text)) }
                { one(has("consistency"), &|| ctx.choice(&place("consistency"), "Consistency", Some("linearizable (default)"), &consistency)) }
                { ctx.text(&place("timeout"), "Time-out", As::Text) }
                { ctx.text(&place("retries"), "Retries", As::Number) }
            </div>
            { schema::rest(ctx, &path, &["name", "op", "etcd", "zone", "target", "rate", "connections", "value", "consistency", "timeout", "retries"]) }
        </fieldset>
    }
}

/// Another operation has other fields: what it does not have goes.
fn ops(ctx: &FormCtx<'_>, path: &str, op: &str) -> Html {
    let options: Vec<_> = OPS.iter().map(|(word, label, _)| ((*word).to_owned(), (*label).to_owned())).collect();
    let old = ctx.get(path).clone();
    let place = at(path);
    ctx.select(&format!("{path}/op"), "Operation", op, &options, move |word| {
        let mut client = old.clone();
        let keeps = OPS.iter().find(|(known, ..)| *known == word).map_or(&[][..], |(.., fields)| fields);
        if let Value::Object(fields) = &mut client {
            let gone = |key: &str| {
                let of_an_op = OPS.iter().any(|(.., fields)| fields.contains(&key));
                of_an_op && !keeps.contains(&key) || word == "watch" && ["rate", "arrivals"].contains(&key)
            };
            fields.retain(|key, _| !gone(key));
            fields.insert("op".to_owned(), word.into());
        }
        DocumentAction::Set(place.clone(), Some(client))
    })
}

fn targets(ctx: &FormCtx<'_>, path: &str, client: usize, clusters: &[String]) -> Html {
    let cluster = shown(ctx.get(&format!("clients/{client}/etcd")));
    let index = clusters.iter().position(|name| *name == cluster).unwrap_or(0);
    let mut options = plain(&["leader", "follower", "nearest"]);
    options.extend(plain(&ctx.names(&format!("etcd/{index}/members"))));
    ctx.choice(path, "Target", Some("all members (round robin)"), &options)
}
