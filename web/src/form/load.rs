//! Clients: who asks what of whom, how often.

use serde_json::{Value, json};
use yew::prelude::*;

use super::field::{As, Cx, at, fresh, plain, shown};
use crate::state::DocumentAction;

/// What a client asks: the word, how it reads, and the fields that only it has.
const OPS: [(&str, &str, &[&str]); 5] = [
    ("put", "writes", &["key", "value"]),
    ("range", "reads", &["key", "value", "keys", "consistency"]),
    ("txn", "writes what has not changed", &["key", "value"]),
    ("delete", "deletes", &["key", "keys"]),
    ("watch", "watches", &[]),
];

pub(super) fn section(cx: &Cx<'_>) -> Html {
    let names = cx.names("clients");
    let mut new = json!({"name": fresh("client-", names.len() + 1, &names), "op": "put", "rate": "10/s", "target": "leader"});
    let clusters = cx.names("etcd");
    if let [first, _, ..] = clusters.as_slice() {
        new["cluster"] = first.as_str().into();
    }
    if let Some(zone) = cx.zones().first() {
        new["zone"] = zone.as_str().into();
    }
    let body = html! {
        <>
            { cx.group("clients") }
            { for names.iter().enumerate().map(|(k, name)| client(cx, k, name, &clusters)) }
            { cx.add("clients", "client", new) }
        </>
    };
    cx.section("clients", "Clients and load", &names.len().to_string(), false, body)
}

fn client(cx: &Cx<'_>, k: usize, name: &str, clusters: &[String]) -> Html {
    let path = format!("clients/{k}");
    let place = |key: &str| format!("{path}/{key}");
    let op = shown(cx.get(&place("op")));
    let has = |field: &str| OPS.iter().any(|(word, _, fields)| *word == op && fields.contains(&field));
    let one = |shown: bool, html: &dyn Fn() -> Html| if shown { html() } else { Html::default() };
    let consistency = plain(&["linearizable", "serializable"]);
    html! {
        <fieldset class="item">
            <legend>{ name }</legend>
            <div class="row">{ cx.text(&place("name"), "Client", As::Text) }{ cx.remove(&path, &format!("client {name}")) }</div>
            <div class="fields">
                { ops(cx, &path, &op) }
                { one(clusters.len() > 1 || !cx.get(&place("cluster")).is_null(), &|| cx.choice(&place("cluster"), "Cluster", None, &plain(clusters))) }
                { cx.choice(&place("zone"), "Zone", Some("that of its node"), &plain(&cx.zones())) }
                { targets(cx, &place("target"), k, clusters) }
                { cx.text(&place("rate"), "Rate", As::Text) }
                { one(cx.get(&place("rate")).is_null(), &|| cx.text(&place("connections"), "Connections", As::Number)) }
                { one(has("value"), &|| cx.text(&place("value"), "Value", As::Text)) }
                { one(has("consistency"), &|| cx.choice(&place("consistency"), "Consistency", Some("linearizable (as usual)"), &consistency)) }
                { cx.text(&place("timeout"), "Time-out", As::Text) }
                { cx.text(&place("retries"), "Further tries", As::Number) }
            </div>
        </fieldset>
    }
}

/// Another operation has other fields: what it does not have goes.
fn ops(cx: &Cx<'_>, path: &str, op: &str) -> Html {
    let options: Vec<_> = OPS.iter().map(|(word, label, _)| ((*word).to_owned(), (*label).to_owned())).collect();
    let old = cx.get(path).clone();
    let place = at(path);
    cx.select(&format!("{path}/op"), "Does", op, &options, move |word| {
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

fn targets(cx: &Cx<'_>, path: &str, client: usize, clusters: &[String]) -> Html {
    let cluster = shown(cx.get(&format!("clients/{client}/cluster")));
    let index = clusters.iter().position(|name| *name == cluster).unwrap_or(0);
    let mut options = plain(&["leader", "follower", "nearest"]);
    options.extend(plain(&cx.names(&format!("etcd/{index}/members"))));
    cx.choice(path, "Asks first", Some("all in turn"), &options)
}
