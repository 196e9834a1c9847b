//! The JSON Schema of scenario files: published for editors, and the one that checks the form of every file. A test makes it from the
//! types in [`super::raw`] and holds `scenarios/schema.json` to them: a program that reads it need not know how to make it.

use std::sync::OnceLock;

use serde_json::{Map, Value};

/// The JSON Schema (draft 2020-12) of scenario files.
///
/// Beside the standard keywords it has `x-unit`, `x-min`, `x-max`, `x-default`, `x-source`, `x-target` and `x-form`: see [`super::raw`].
pub fn schema() -> Value {
    shared().clone()
}

/// The schema, read once.
pub fn shared() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| serde_json::from_str(include_str!("../../../scenarios/schema.json")).expect("the schema is JSON"))
}

/// Follows `$ref`s to what they mean.
pub fn resolve(schema: &'static Value) -> &'static Value {
    let mut schema = schema;
    while let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|link| link.strip_prefix("#/$defs/")) {
        match shared().get("$defs").and_then(|defs| defs.get(name)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// The fields of an object schema.
pub fn fields(schema: &'static Value) -> impl Iterator<Item = (&'static str, &'static Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, field)| (name.as_str(), field))
}

/// The schema of one field.
pub fn field(schema: &'static Value, name: &str) -> Option<&'static Value> {
    schema.get("properties")?.get(name)
}

/// Whether a field must be there.
pub fn is_required(schema: &Value, name: &str) -> bool {
    required(schema).any(|field| field == name)
}

/// The fields that must be there.
pub fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a schema (after `$ref`s) takes this JSON type.
pub fn takes(schema: &Value, kind: &str) -> bool {
    let is = |name: &Value| name == kind || (kind == "integer" && name == "number");
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
        None => {
            schema.as_bool() == Some(true) || schema.get("const").is_some_and(|value| kind_of(value) == kind) || anything(schema)
        }
    }
}

/// No keyword that says what a value is: anything will do.
fn anything(schema: &Value) -> bool {
    ["type", "const", "enum", "oneOf", "anyOf", "$ref", "properties"].iter().all(|key| schema.get(key).is_none())
}

/// The JSON type of a value, integers told from other numbers.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What a union offers in the end, unions inside it opened.
pub fn leaves(schema: &'static Value) -> Vec<&'static Value> {
    let schema = resolve(schema);
    match schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        Some(branches) => branches.iter().flat_map(leaves).collect(),
        None => vec![schema],
    }
}

/// Why no branch of a union fits an object.
pub enum Unpicked {
    /// The field that says which branch is meant is missing or unknown; what it may say.
    Tag(&'static str, Vec<&'static str>),
    /// None of the fields that tell the branches apart is there.
    Fields(Vec<&'static str>),
}

/// The branch of a union that an object means: by its tag, or by the field that only this branch needs.
///
/// # Errors
/// What would tell the branches apart.
pub fn pick(branches: &[&'static Value], object: &Map<String, Value>) -> Result<&'static Value, Unpicked> {
    if let [only] = branches {
        return Ok(only);
    }
    if let Some((tag, words)) = tag_of(branches) {
        let word = object.get(tag).and_then(Value::as_str);
        let found = words.iter().position(|known| Some(*known) == word);
        return found.map(|k| branches[k]).ok_or(Unpicked::Tag(tag, words));
    }
    let mut telling = Vec::new();
    for branch in branches {
        let own = required(branch).filter(|name| branches.iter().filter(|other| field(other, name).is_some()).count() == 1);
        for name in own {
            if object.contains_key(name) {
                return Ok(branch);
            }
            telling.push(name);
        }
    }
    Err(Unpicked::Fields(telling))
}

/// The field that every branch has as a constant, and its word in each.
fn tag_of(branches: &[&'static Value]) -> Option<(&'static str, Vec<&'static str>)> {
    let first = branches.first()?;
    fields(first).map(|(name, _)| name).find_map(|name| {
        let word = |branch: &&'static Value| field(branch, name)?.get("const")?.as_str();
        let words: Option<Vec<_>> = branches.iter().map(word).collect();
        words.map(|words| (name, words))
    })
}
