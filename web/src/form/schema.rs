//! Fields from the schema: a list of faults, operations or clusters has a field for whatever the schema of scenario files says of them, so
//! that a new kind or a new field needs no line here.
//!
//! | the schema says                              | the form shows                                                  |
//! |----------------------------------------------|-----------------------------------------------------------------|
//! | `oneOf`                                      | a choice of kinds, by their `title`                             |
//! | `title` of a field                           | its label                                                       |
//! | `x-target`: `zone`, `node`, `member` ...     | a choice of what the scenario has, or (faults) what a leader has |
//! | `const`s                                     | a choice of words                                               |
//! | a list of them                               | a box to check for each                                         |
//! | `examples`                                   | what stands in it when its kind is chosen                       |
//! | `x-form`: `json`                             | nothing: for the JSON tab                                       |

use serde_json::{Map, Value, json};
use yew::prelude::*;
use zonefall_core::scenario::schema::{self, field, is_required, leaves, resolve, shared, takes};

use super::field::{As, FormCtx, at, plain, shown};
use crate::state::DocumentAction;

/// What stands before a cluster's name where its leader is meant; no name begins with it.
const LEADER: char = '@';

/// A part of the form for a list of things, each one of several kinds or all of one.
pub(super) fn section(ctx: &FormCtx<'_>, list: &str, one: &str, title: &str) -> Html {
    let item = field(shared(), list).and_then(|list| list.get("items")).expect("the schema has this list");
    let count = ctx.list(list).len();
    ctx.section(list, title, &count.to_string(), list == "faults", items(ctx, list, one, item))
}

/// All fields of the thing at a path but those that are `shown` elsewhere: `mode`, or `etcd/mode` of the field `etcd`.
pub(super) fn rest(ctx: &FormCtx<'_>, path: &str, shown: &[&str]) -> Html {
    let mut inputs: Vec<Html> = Vec::new();
    for one in fields_of(schema_at(ctx, path)).into_iter().filter(|(name, ..)| !shown.contains(name)) {
        let within = |(name, ..): &Field| shown.iter().any(|shown| shown.split_once('/') == Some((one.0, name)));
        let parts = fields_of(leaves(one.1)[0]);
        let place = format!("{path}/{}", one.0);
        if parts.iter().any(within) {
            inputs.push(fields(ctx, &place, parts.into_iter().filter(|part| !within(part)).collect()));
        } else {
            inputs.push(input(ctx, &place, one));
        }
    }
    if inputs.is_empty() {
        return Html::default();
    }
    html! {
        <details class="more" data-testid={format!("form-{}-rest", path.replace('/', "-"))}>
            <summary>{ "All other fields" }</summary>
            <div class="fields">{ for inputs }</div>
        </details>
    }
}

/// A part of the form for an object, with a line about it.
pub(super) fn object_section(ctx: &FormCtx<'_>, path: &str, title: &str, says: &str) -> Html {
    ctx.section(path, title, says, false, body(ctx, path, fields_of(schema_at(ctx, path))))
}

/// Top-level fields that no other section has.
pub(super) fn others(ctx: &FormCtx<'_>, shown: &[&str]) -> Html {
    let all = fields_of(shared()).into_iter().filter(|(name, ..)| !shown.contains(name));
    let inputs = all.map(|one| input(ctx, one.0, one));
    ctx.section("others", "Everything else", "", false, html! { <div class="fields">{ for inputs }</div> })
}

/// The schema of what is at a path: of several kinds that which it is.
fn schema_at(ctx: &FormCtx<'_>, path: &str) -> &'static Value {
    let (mut schema, mut place) = (shared(), String::new());
    for step in path.split('/') {
        place.push_str(step);
        schema = match step.parse::<usize>() {
            Ok(_) => {
                let kinds = Kinds { all: leaves(schema.get("items").expect("the schema has this list")) };
                ctx.get(&place).as_object().and_then(|item| kinds.find(item)).unwrap_or(kinds.all[0])
            }
            Err(_) => leaves(field(schema, step).expect("the schema has this field"))[0],
        };
        place.push('/');
    }
    schema
}

/// The things of a list, and a button for another one.
fn items(ctx: &FormCtx<'_>, list: &str, one: &str, schema: &'static Value) -> Html {
    let kinds = Kinds { all: leaves(schema) };
    let item = |k: usize| {
        let (path, name) = (format!("{list}/{k}"), format!("{one} {}", k + 1));
        let kind = ctx.get(&path).as_object().and_then(|item| kinds.find(item));
        let choice = (kinds.all.len() > 1).then(|| choice_of_kind(ctx, &kinds, &path, kind));
        html! {
            <fieldset class="item">
                <legend>{ &name }</legend>
                <div class="row">{ choice }{ ctx.remove(&path, &name) }</div>
                { body(ctx, &path, kind.map_or_else(|| kinds.common(), fields_of)) }
            </fieldset>
        }
    };
    html! {
        <>
            { ctx.group(list) }
            { for (0..ctx.list(list).len()).map(item) }
            { ctx.add(list, one, object(ctx, kinds.all[0])) }
        </>
    }
}

/// Fields side by side at most; beyond, those that need not be filled in and are not fold away.
const SIDE_BY_SIDE: usize = 8;

/// The fields of a thing.
fn body(ctx: &FormCtx<'_>, path: &str, all: Vec<Field>) -> Html {
    let folds = all.len() > SIDE_BY_SIDE;
    let is_shown = |(name, _, required): &Field| !folds || *required || !ctx.get(&format!("{path}/{name}")).is_null();
    let (shown, more): (Vec<_>, Vec<_>) = all.into_iter().partition(is_shown);
    html! {
        <>
            <div class="fields">{ fields(ctx, path, shown) }</div>
            if !more.is_empty() {
                <details class="more"><summary>{ "More" }</summary><div class="fields">{ fields(ctx, path, more) }</div></details>
            }
        </>
    }
}

/// A field of the schema: its name, its own schema, whether it must be there.
type Field = (&'static str, &'static Value, bool);

/// The kinds of things in a list.
struct Kinds {
    all: Vec<&'static Value>,
}

impl Kinds {
    fn find(&self, item: &Map<String, Value>) -> Option<&'static Value> {
        schema::pick(&self.all, item).ok()
    }

    /// Fields that every kind has.
    fn common(&self) -> Vec<Field> {
        fields_of(self.all[0]).into_iter().filter(|(name, ..)| self.is_common(name)).collect()
    }

    fn is_common(&self, name: &str) -> bool {
        self.all.iter().all(|kind| field(kind, name).is_some())
    }

    /// Its word: its tag, or the field that it alone must have.
    fn word(&self, kind: &'static Value) -> &'static str {
        let tag = schema::fields(kind).find_map(|(_, field)| field.get("const")?.as_str());
        let own = |name: &&str| self.all.iter().filter(|kind| field(kind, name).is_some()).count() == 1;
        tag.or_else(|| schema::required(kind).find(own)).unwrap_or_default()
    }

    /// A thing of this kind that keeps of the old one what both have: when it happens stays.
    fn changed(&self, ctx: &FormCtx<'_>, kind: &'static Value, old: &Map<String, Value>) -> Value {
        let value = |(name, field): (&'static str, &'static Value)| {
            let tag = field.get("const").cloned();
            let kept = || old.get(name).cloned();
            let new = || if self.is_common(name) { None } else { first(ctx, name, field, is_required(kind, name)) };
            Some((name.to_owned(), tag.or_else(kept).or_else(new)?))
        };
        Value::Object(schema::fields(kind).filter_map(value).collect())
    }
}

fn choice_of_kind(ctx: &FormCtx<'_>, kinds: &Kinds, path: &str, kind: Option<&'static Value>) -> Html {
    let title = |kind: &'static Value| kind.get("title").and_then(Value::as_str).unwrap_or_else(|| kinds.word(kind));
    let options: Vec<_> = kinds.all.iter().map(|kind| (kinds.word(kind).to_owned(), title(kind).to_owned())).collect();
    let none = Map::new();
    let old = ctx.get(path).as_object().unwrap_or(&none);
    let new: Vec<(String, Value)> =
        kinds.all.iter().map(|kind| (kinds.word(kind).to_owned(), kinds.changed(ctx, kind, old))).collect();
    let tag = kinds.all.iter().find_map(|kind| schema::fields(kind).find(|(_, field)| field.get("const").is_some()));
    let unknown = tag.and_then(|(tag, _)| old.get(tag)).map(shown).unwrap_or_default();
    let place = at(path);
    let word = kind.map_or(unknown.as_str(), |kind| kinds.word(kind));
    ctx.select(&format!("{path}/{}", tag.map_or("kind", |(tag, _)| tag)), "What", word, &options, move |word| {
        DocumentAction::Set(place.clone(), new.iter().find(|(known, _)| *known == word).map(|(_, new)| new.clone()))
    })
}

/// Fields of an object for the form; a tag is none.
fn fields_of(object: &'static Value) -> Vec<Field> {
    let all = schema::fields(object).filter(|(_, field)| hint(field, "x-form") != Some("json") && field.get("const").is_none());
    all.map(|(name, field)| (name, field, is_required(object, name))).collect()
}

fn fields(ctx: &FormCtx<'_>, path: &str, fields: Vec<Field>) -> Html {
    fields.into_iter().map(|one| input(ctx, &format!("{path}/{}", one.0), one)).collect()
}

/// The input of one field.
fn input(ctx: &FormCtx<'_>, path: &str, (name, schema, required): Field) -> Html {
    let label = label(name, schema);
    if let Some(target) = hint(schema, "x-target") {
        return targets(ctx, path, &label, schema, target, required);
    }
    let words = words(schema);
    if !words.is_empty() {
        let usual = if required { None } else { Some(usual(schema)) };
        let rest: Vec<&str> = words.into_iter().filter(|word| schema.get("default").is_none_or(|usual| usual != word)).collect();
        return ctx.choice(path, &label, usual.as_deref(), &plain(&rest));
    }
    let branches: Vec<&'static Value> =
        leaves(schema).into_iter().filter(|branch| branch.get("type").is_none_or(|kind| kind != "null")).collect();
    let item = branches.iter().find_map(|branch| branch.get("items")).map(leaves);
    match branches.as_slice() {
        [list] if item.is_some_and(|item| item.iter().any(|item| takes(item, "object"))) => {
            let one = label.strip_suffix('s').unwrap_or(&label).to_lowercase();
            let items = items(ctx, path, &one, list.get("items").expect("it was found"));
            html! { <details class="more wide" open={!ctx.list(path).is_empty()}><summary>{ label }</summary>{ items }</details> }
        }
        [one] if takes(one, "object") => {
            // What is not there needs nothing yet.
            let is_there = ctx.get(path).is_object();
            let fields = fields_of(one).into_iter().map(|(name, field, required)| (name, field, required && is_there));
            html! { <details class="more wide"><summary>{ label }</summary>{ body(ctx, path, fields.collect()) }</details> }
        }
        [_, ..] if branches.iter().all(|branch| takes(branch, "object")) => {
            let item = ctx.get(path).as_object();
            let picked = item.and_then(|item| schema::pick(&branches, item).ok());
            fields(ctx, path, fields_of(picked.unwrap_or(branches[0])))
        }
        [one] if takes(one, "boolean") => ctx.check(path, &label),
        _ if branches.iter().any(|branch| takes(branch, "number") || takes(branch, "integer")) => {
            ctx.text(path, &label, As::Json)
        }
        [_, ..] if ctx.get(path).is_object() => ctx.text(path, &label, As::Json),
        [one] if takes(one, "array") => match one.get("items").map(self::words).filter(|words| !words.is_empty()) {
            Some(words) => ctx.checks(path, &label, words, schema.get("default").unwrap_or(&Value::Null)),
            None => ctx.text(path, &label, As::Names),
        },
        _ => ctx.text(path, &label, As::Text),
    }
}

fn hint(schema: &'static Value, key: &str) -> Option<&'static str> {
    schema.get(key).and_then(Value::as_str)
}

/// `Failure tolerance` of `failure_tolerance`, unless the schema has a title.
fn label(name: &str, schema: &'static Value) -> String {
    hint(schema, "title").map_or_else(
        || {
            let words = name.replace('_', " ");
            words[..1].to_uppercase() + &words[1..]
        },
        str::to_owned,
    )
}

/// What is so where nothing is written.
fn usual(schema: &'static Value) -> String {
    let default = schema.get("default").map(shown).filter(|word| !word.is_empty()).map(|word| format!("{word} (default)"));
    hint(schema, "x-default").map(str::to_owned).or(default).unwrap_or_else(|| "none".to_owned())
}

/// The words that a field may have, if it is a choice.
fn words(schema: &'static Value) -> Vec<&'static str> {
    let of = |leaf: &'static Value| match leaf.get("enum").and_then(Value::as_array) {
        Some(words) => words.iter().map(Value::as_str).collect(),
        None if takes(leaf, "null") && !takes(leaf, "string") => Some(Vec::new()),
        None => leaf.get("const").and_then(Value::as_str).map(|word| vec![word]),
    };
    let all: Option<Vec<Vec<&str>>> = leaves(schema).into_iter().map(of).collect();
    all.map(|words| words.concat()).unwrap_or_default()
}

fn is_pair(schema: &'static Value) -> bool {
    schema.get("maxItems").and_then(Value::as_u64) == Some(2)
}

/// Whether it may also be what a leader has.
fn follows_leader(schema: &'static Value) -> bool {
    leaves(schema).into_iter().any(|leaf| field(leaf, "leader_of").is_some())
}

fn targets(ctx: &FormCtx<'_>, path: &str, label: &str, schema: &'static Value, target: &str, required: bool) -> Html {
    let names = names(ctx, target);
    if is_pair(schema) {
        let end = |k: usize, label: &str| ctx.choice(&format!("{path}/{k}"), label, None, &plain(&names));
        return html! { <>{ end(0, label) }{ end(1, "and") }</> };
    }
    if !follows_leader(schema) {
        let none = if required { None } else { Some(usual(schema)) };
        return ctx.choice(path, label, none.as_deref(), &plain(&names));
    }
    let of = if target == "member" { "the leader" } else { "that of the leader" };
    let leader = |name: &String| (format!("{LEADER}{name}"), format!("{of} of {name}"));
    let mut options: Vec<_> = ctx.names("etcd").iter().map(leader).collect();
    options.extend(plain(&names));
    let value = ctx.get(path);
    let word = value.get("leader_of").map_or_else(|| shown(value), |cluster| format!("{LEADER}{}", shown(cluster)));
    let place = at(path);
    let set = move |word: String| DocumentAction::Set(place.clone(), Some(target_value(&word)));
    html! { <div class="wide">{ ctx.select(path, label, &word, &options, set) }</div> }
}

fn target_value(word: &str) -> Value {
    match word.strip_prefix(LEADER) {
        Some(cluster) => json!({"leader_of": cluster}),
        None => word.into(),
    }
}

/// The names that may be meant.
fn names(ctx: &FormCtx<'_>, target: &str) -> Vec<String> {
    let clusters = ctx.list("etcd").len();
    let members = || (0..clusters).flat_map(|c| ctx.names(&format!("etcd/{c}/members")));
    match target {
        "zone" => ctx.zones(),
        "node" => ctx.names("topology/nodes"),
        "place" => ctx.zones().into_iter().chain(ctx.names("topology/nodes")).collect(),
        "member" => members().collect(),
        "volume" => members().chain(ctx.names("topology/volumes")).collect(),
        list => ctx.names(list),
    }
}

/// An object with what it must have, and its examples.
fn object(ctx: &FormCtx<'_>, schema: &'static Value) -> Value {
    let value = |(name, field): (&'static str, &'static Value)| {
        Some((name.to_owned(), first(ctx, name, field, is_required(schema, name))?))
    };
    Value::Object(schema::fields(schema).filter_map(value).collect())
}

/// What stands in a field at first; `None`: nothing has to.
fn first(ctx: &FormCtx<'_>, name: &str, schema: &'static Value, required: bool) -> Option<Value> {
    let example = schema.get("examples").and_then(|examples| examples.get(0)).cloned();
    if example.is_some() || !required {
        return example;
    }
    let leaf = leaves(schema)[0];
    let target = hint(schema, "x-target").map(|target| names(ctx, target));
    Some(match (schema.get("const"), target, words(schema).first()) {
        (Some(word), ..) => word.clone(),
        (_, Some(names), _) if is_pair(schema) => json!([names.first(), names.get(1).or(names.first())]),
        (_, Some(names), _) => {
            let leader = || follows_leader(schema).then(|| ctx.names("etcd").first().map(|name| format!("{LEADER}{name}")))?;
            leader().map_or_else(|| json!(names.first()), |word| target_value(&word))
        }
        (.., Some(word)) => (*word).into(),
        _ if takes(leaf, "object") => object(ctx, leaf),
        _ if resolve(schema).get("x-unit").is_some_and(|unit| unit == "duration") => "1m".into(),
        _ => name.into(),
    })
}
