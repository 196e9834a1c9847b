//! Every default, for all to see; and scenarios without what is as by default anyway.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

use super::raw::RawScenario;
use super::schema::{field, fields, is_required, leaves, pick, required, shared, takes};

/// What stands where a file says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DefaultRow {
    /// The field, such as `etcd[].options.election_timeout`; `clients[op=put].value` for a field of one kind only.
    pub path: String,
    /// Its value as one would write it, or in words where it depends on other fields.
    pub value: String,
    /// Where it comes from; `assumed` where nobody says.
    pub source: String,
}

/// Every default of the file format, in the order of the fields. Made from the defaults themselves.
pub fn defaults() -> Vec<DefaultRow> {
    let mut walk = Walk { rows: Vec::new(), seen: BTreeSet::new() };
    walk.object(shared(), "", None, None);
    walk.rows
}

struct Walk {
    rows: Vec<DefaultRow>,
    seen: BTreeSet<String>,
}

impl Walk {
    /// `usual` is the default of the whole object, where it has one, and `source` where that comes from.
    fn object(&mut self, schema: &'static Value, path: &str, usual: Option<&'static Value>, source: Option<&'static str>) {
        for (name, field) in fields(schema) {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let usual = usual.and_then(|usual| usual.get(name)).filter(|value| !value.is_null());
            let own = field.get("default").filter(|value| !value.is_null());
            let value = usual.or(own);
            if let Some(object) = structure(field) {
                self.object(object, &path, value, text(field, "x-source").or(source));
            } else if !is_required(schema, name) {
                self.leaf(&path, field, value, if usual.is_some() { source } else { None });
            }
            self.inside(field, &path);
        }
    }

    fn leaf(&mut self, path: &str, field: &'static Value, value: Option<&Value>, source: Option<&'static str>) {
        let words = text(field, "x-default").map(str::to_owned);
        let value = value.filter(|value| !is_empty(value)).map(plain);
        let (Some(value), Some(source)) = (value.or(words), source.or_else(|| text(field, "x-source"))) else { return };
        if self.seen.insert(path.to_owned()) {
            self.rows.push(DefaultRow { path: path.to_owned(), value, source: source.to_owned() });
        }
    }

    /// Goes into arrays and unions of objects.
    fn inside(&mut self, field: &'static Value, path: &str) {
        for leaf in leaves(field) {
            if let Some(item) = leaf.get("items") {
                let path = format!("{path}[]");
                let branches = objects(item);
                for branch in &branches {
                    self.branch(branch, &branches, &path);
                }
            }
        }
        if structure(field).is_none() {
            for (name, own) in objects(field).into_iter().flat_map(fields) {
                let path = format!("{path}.{name}");
                if let Some(object) = structure(own) {
                    self.object(object, &path, own.get("default"), text(own, "x-source"));
                } else {
                    self.leaf(&path, own, own.get("default"), None);
                }
                self.inside(own, &path);
            }
        }
    }

    /// One of the kinds of an object; what all kinds share stands under the plain path.
    fn branch(&mut self, branch: &'static Value, all: &[&'static Value], path: &str) {
        let tag = fields(branch).find_map(|(name, field)| field.get("const").map(|word| format!("{name}={}", plain(word))));
        let kind = match tag {
            Some(tag) if all.len() > 1 => format!("{}[{tag}]", path.trim_end_matches("[]")),
            Some(_) | None => path.to_owned(),
        };
        for (name, own) in fields(branch) {
            let everywhere = all.iter().all(|other| field(other, name).is_some());
            let path = format!("{}.{name}", if everywhere { path } else { &kind });
            if let Some(object) = structure(own) {
                self.object(object, &path, own.get("default"), text(own, "x-source"));
            } else if !is_required(branch, name) {
                self.leaf(&path, own, own.get("default"), None);
            }
            self.inside(own, &path);
        }
    }
}

/// The object that a field is, if it is just that and not one of several things.
fn structure(field: &'static Value) -> Option<&'static Value> {
    match leaves(field).as_slice() {
        [only] if only.get("properties").is_some() => Some(only),
        _ => None,
    }
}

fn objects(schema: &'static Value) -> Vec<&'static Value> {
    leaves(schema).into_iter().filter(|leaf| leaf.get("properties").is_some()).collect()
}

fn text(schema: &'static Value, key: &str) -> Option<&'static str> {
    schema.get(key).and_then(Value::as_str)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| whole(value.clone()).to_string(), str::to_owned)
}

/// `1.0` as people write it: `1`.
fn whole(value: Value) -> Value {
    match value.as_f64() {
        Some(x) if value.is_f64() && x.fract() == 0.0 && x.abs() < 1e15 => Value::from(x as i64),
        _ => value,
    }
}

/// Nothing by default is no default to speak of.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A scenario as JSON, what is as by default left out.
pub(super) fn without_defaults(raw: &RawScenario) -> Value {
    let value = serde_json::to_value(raw).unwrap_or_default();
    strip(shared(), value)
}

fn strip(schema: &'static Value, value: Value) -> Value {
    let branches: Vec<&'static Value> = leaves(schema);
    match value {
        Value::Object(map) => {
            let objects: Vec<&'static Value> = branches.into_iter().filter(|branch| takes(branch, "object")).collect();
            match pick(&objects, &map) {
                Ok(branch) if branch.get("properties").is_some() => Value::Object(strip_object(branch, map)),
                Ok(_) | Err(_) => Value::Object(map),
            }
        }
        Value::Array(items) => {
            let item = branches.iter().find_map(|branch| branch.get("items"));
            let strip_item = |value| item.map_or_else(|| Value::clone(&value), |item| strip(item, value.clone()));
            Value::Array(items.into_iter().map(strip_item).collect())
        }
        other if branches.iter().any(|branch| branch.get("type").is_some() && takes(branch, "number")) => whole(other),
        other => other,
    }
}

fn strip_object(schema: &'static Value, map: Map<String, Value>) -> Map<String, Value> {
    let mut rest = Map::new();
    for (name, value) in map {
        let Some(field) = field(schema, &name) else { continue };
        let needed = required(schema).any(|must| must == name);
        if !needed && (value.is_null() || field.get("default") == Some(&value)) {
            continue;
        }
        let value = strip(field, value);
        if needed || field.get("default") != Some(&value) {
            rest.insert(name, value);
        }
    }
    rest
}
