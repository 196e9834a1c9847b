//! Does a file have the form that the schema asks for? Every place where it does not is reported; the value there is replaced by
//! one that would do, so that the checks of meaning can go on with the rest. They say nothing about a replaced place.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::error::{Errors, did_you_mean, one_of, quote, show};
use super::json::{Step, render};
use super::schema::{Unpicked, field, fields, is_required, kind_of, leaves, pick, required, resolve, shared, takes};
use super::units::{Probability, base_of, expected_of};

/// The file in the form the schema asks for, and the paths of the places that were replaced.
pub(super) fn check(value: Value, errors: &mut Errors) -> (Value, BTreeSet<String>) {
    let mut form = SchemaCheck { errors, path: Vec::new(), replaced: BTreeSet::new() };
    let value = form.value(shared(), value, Bounds::default());
    (value, form.replaced)
}

struct SchemaCheck<'a> {
    errors: &'a mut Errors,
    path: Vec<Step>,
    replaced: BTreeSet<String>,
}

/// Bounds that a field sets for the quantity inside it.
#[derive(Clone, Copy, Default)]
struct Bounds {
    min: Option<&'static str>,
    max: Option<&'static str>,
}

impl Bounds {
    fn and(self, schema: &'static Value) -> Self {
        let bound = |key| schema.get(key).and_then(Value::as_str);
        Self { min: bound("x-min").or(self.min), max: bound("x-max").or(self.max) }
    }

    /// The largest number: a probability has its bound in percent.
    fn largest_number(self, schema: &Value) -> Option<f64> {
        let percent = self.max.and_then(|max| max.parse::<Probability>().ok());
        percent.map(|part| part.0).or_else(|| schema.get("maximum").and_then(Value::as_f64))
    }
}

impl SchemaCheck<'_> {
    /// `value` if it fits `schema`, or something that does.
    fn value(&mut self, schema: &'static Value, value: Value, bounds: Bounds) -> Value {
        let outer = bounds.and(schema);
        let schema = resolve(schema);
        let bounds = outer.and(schema);
        if schema.get("anyOf").or_else(|| schema.get("oneOf")).is_some() {
            return self.union(schema, value, bounds);
        }
        if !takes(schema, kind_of(&value)) {
            return self.wrong(schema, &value, &expected(schema, bounds, &value));
        }
        match value {
            Value::Object(map) if is_object(schema) => self.object(schema, map),
            Value::Array(items) => self.array(schema, items, bounds),
            Value::String(text) => self.text(schema, text, bounds),
            Value::Number(_) => self.number(schema, value, bounds),
            other => other,
        }
    }

    fn object(&mut self, schema: &'static Value, map: Map<String, Value>) -> Value {
        let mut all = Map::new();
        for (key, value) in map {
            self.path.push(Step::Key(key.clone()));
            if let Some(field) = field(schema, &key) {
                let before = self.replaced.len();
                let checked = self.value(field, value, Bounds::default());
                let wrong = self.replaced.len() > before && self.replaced.contains(&render(&self.path));
                // What is wrong and may be left out is as if left out.
                if !wrong || is_required(schema, &key) {
                    all.insert(key, checked);
                }
            } else {
                let known = || fields(schema).map(|(name, _)| name);
                let hint = if self.errors.suggests() { did_you_mean(&key, known()) } else { String::new() };
                let fields = || format!("one of the fields {}{hint}", one_of_all(known()));
                let expected = if known().next().is_some() { fields() } else { "an object without fields".to_owned() };
                self.error(format!("the unknown field {}", quote(&key)), expected);
            }
            self.path.pop();
        }
        for name in required(schema) {
            if !all.contains_key(name)
                && let Some(field) = field(schema, name)
            {
                self.missing(name, field);
                all.insert(name.to_owned(), example(field));
            }
        }
        Value::Object(all)
    }

    fn array(&mut self, schema: &'static Value, items: Vec<Value>, bounds: Bounds) -> Value {
        let limit = |key| schema.get(key).and_then(Value::as_u64).map(|n| n as usize);
        let (least, most) = (limit("minItems").unwrap_or(0), limit("maxItems").unwrap_or(usize::MAX));
        if items.len() < least || items.len() > most {
            let expected = match (least, most) {
                (least, usize::MAX) => format!("at least {least}"),
                (least, most) if least == most => format!("an array of {most}"),
                (least, most) => format!("{least} to {most} of them"),
            };
            let found = show(&Value::Array(items));
            self.error(found, expected);
            self.replaced.insert(render(&self.path));
            return example(schema);
        }
        let item_schema = schema.get("prefixItems").and_then(|all| all.get(0)).or_else(|| schema.get("items"));
        let Some(item_schema) = item_schema else { return Value::Array(items) };
        let mut all = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            self.path.push(Step::Index(index));
            all.push(self.value(item_schema, item, bounds));
            self.path.pop();
        }
        Value::Array(all)
    }

    fn text(&mut self, schema: &'static Value, text: String, bounds: Bounds) -> Value {
        if let Some(unit) = schema.get("x-unit").and_then(Value::as_str) {
            let why = match base_of(unit, &text) {
                Ok(base) if within(unit, base, bounds) => return Value::String(text),
                Ok(_) => String::new(),
                Err(why) => format!(": {why}"),
            };
            let value = Value::String(text);
            return self.wrong(schema, &value, &format!("{}{why}", expected(schema, bounds, &value)));
        }
        if let Some(words) = words(&[schema])
            && !words.contains(&text.as_str())
        {
            return self.no_such_word(schema, &text, &words);
        }
        let longest = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(1_000);
        if text.chars().count() as u64 > longest {
            let value = Value::String(text);
            return self.wrong(schema, &value, &format!("at most {longest} characters"));
        }
        Value::String(text)
    }

    fn number(&mut self, schema: &'static Value, value: Value, bounds: Bounds) -> Value {
        let Some(number) = value.as_f64() else { return value };
        let bound = |key| schema.get(key).and_then(Value::as_f64);
        let fits = bound("minimum").is_none_or(|min| number >= min)
            && bounds.largest_number(schema).is_none_or(|max| number <= max)
            && (schema.get("format").and_then(Value::as_str) != Some("uint32") || number <= f64::from(u32::MAX));
        if fits { value } else { self.wrong(schema, &value, &expected(schema, bounds, &value)) }
    }

    fn union(&mut self, schema: &'static Value, value: Value, bounds: Bounds) -> Value {
        let all = leaves(schema);
        let kind = kind_of(&value);
        let fitting: Vec<&'static Value> = all.iter().copied().filter(|branch| takes(branch, kind)).collect();
        let Some(first) = fitting.first() else {
            return self.wrong(schema, &value, &expected(schema, bounds, &value));
        };
        match value {
            Value::Object(map) => match pick(&fitting, &map) {
                Ok(branch) => self.object(branch, map),
                Err(why) => self.unpicked(schema, &fitting, map, &why),
            },
            Value::String(text) => {
                let words = words(&fitting).unwrap_or_default();
                if words.contains(&text.as_str()) {
                    return Value::String(text);
                }
                match fitting.iter().find(|branch| self::words(&[branch]).is_none()) {
                    Some(free) => self.value(free, Value::String(text), bounds),
                    None => self.no_such_word(schema, &text, &words),
                }
            }
            other => self.value(first, other, bounds),
        }
    }

    /// An object of which nobody knows what it is; what all branches share is checked all the same.
    fn unpicked(
        &mut self,
        schema: &'static Value,
        branches: &[&'static Value],
        map: Map<String, Value>,
        why: &Unpicked,
    ) -> Value {
        self.replaced.insert(render(&self.path));
        match why {
            Unpicked::Tag(tag, words) => {
                self.path.push(Step::Key((*tag).to_owned()));
                let written = map.get(*tag);
                let hint = written.and_then(Value::as_str).map(|text| did_you_mean(text, words.iter().copied()));
                let expected = format!("{}{}", one_of_all(words.iter().copied()), hint.unwrap_or_default());
                self.error(written.map_or_else(|| "nothing".to_owned(), show), expected);
                self.path.pop();
            }
            Unpicked::Fields(names) => {
                let hint = map.keys().map(|key| did_you_mean(key, names.iter().copied())).find(|hint| !hint.is_empty());
                let expected = format!("one of the fields {}{}", one_of_all(names.iter().copied()), hint.unwrap_or_default());
                let keys = one_of(map.keys().map(String::as_str)).replace(" or ", " and ");
                let found = if map.is_empty() { "an empty object".to_owned() } else { format!("an object with {keys}") };
                self.error(found, expected);
            }
        }
        self.common(branches, map);
        example(schema)
    }

    /// The fields that all branches share: whether they are there, and right.
    fn common(&mut self, branches: &[&'static Value], map: Map<String, Value>) {
        let Some(first) = branches.first() else { return };
        let shared = |name: &str| {
            let own = field(first, name)?;
            branches.iter().all(|branch| field(branch, name) == Some(own)).then_some(own)
        };
        for name in required(first).filter(|name| !map.contains_key(*name)) {
            if let Some(field) = shared(name) {
                self.missing(name, field);
            }
        }
        for (key, value) in map {
            if let Some(field) = shared(&key) {
                self.path.push(Step::Key(key));
                self.value(field, value, Bounds::default());
                self.path.pop();
            }
        }
    }

    fn missing(&mut self, name: &str, field: &'static Value) {
        self.path.push(Step::Key(name.to_owned()));
        self.error("nothing", expected(field, Bounds::default().and(field), &Value::Null));
        self.replaced.insert(render(&self.path));
        self.path.pop();
    }

    fn no_such_word(&mut self, schema: &'static Value, text: &str, words: &[&str]) -> Value {
        let hint = did_you_mean(text, words.iter().copied());
        let expected = format!("{}{hint}", one_of_all(words.iter().copied()));
        self.wrong(schema, &Value::String(text.to_owned()), &expected)
    }

    fn wrong(&mut self, schema: &'static Value, value: &Value, expected: &str) -> Value {
        self.error(show(value), expected);
        self.replaced.insert(render(&self.path));
        example(schema)
    }

    fn error(&mut self, found: impl Into<String>, expected: impl Into<String>) {
        self.errors.push(render(&self.path), found, expected);
    }
}

fn within(unit: &str, base: u128, bounds: Bounds) -> bool {
    let bound = |text: Option<&str>| text.and_then(|text| base_of(unit, text).ok());
    bound(bounds.min).is_none_or(|min| base >= min) && bound(bounds.max).is_none_or(|max| base <= max)
}

/// The words that branches take, if every text they take is one of some words.
fn words(branches: &[&'static Value]) -> Option<Vec<&'static str>> {
    let mut all = Vec::new();
    for branch in branches {
        let several = branch.get("enum").and_then(Value::as_array).into_iter().flatten();
        all.extend(several.chain(branch.get("const")).filter_map(Value::as_str));
    }
    (!all.is_empty()).then_some(all)
}

/// Like [`one_of`], but however many they are: there are never many fields or words.
fn one_of_all<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.collect();
    match all.as_slice() {
        [] => "none".to_owned(),
        [only] => format!("`{only}`"),
        [start @ .., last] => format!("`{}` or `{last}`", start.join("`, `")),
    }
}

/// Whether a schema says which fields an object has; it may have none.
fn is_object(schema: &Value) -> bool {
    schema.get("properties").is_some() || schema.get("additionalProperties") == Some(&Value::Bool(false))
}

/// What a schema wants, in words; `found` helps to say it well.
fn expected(schema: &'static Value, bounds: Bounds, found: &Value) -> String {
    let mut all: Vec<String> = Vec::new();
    for branch in leaves(schema) {
        let text = leaf(branch, bounds, found);
        if !text.is_empty() && !all.contains(&text) {
            all.push(text);
        }
    }
    all.join(", or ")
}

fn leaf(schema: &'static Value, bounds: Bounds, found: &Value) -> String {
    if let Some(unit) = schema.get("x-unit").and_then(Value::as_str) {
        let bare = if found.is_number() { " (a bare number does not say its unit)" } else { "" };
        let range = match (bounds.min, bounds.max) {
            (Some(min), Some(max)) => format!(", from {min} to {max}"),
            (Some(min), None) => format!(", at least {min}"),
            (None, Some(max)) => format!(", at most {max}"),
            (None, None) => String::new(),
        };
        return format!("{}{bare}{range}", expected_of(unit));
    }
    if let Some(words) = words(&[schema]) {
        return one_of_all(words.iter().copied());
    }
    let bound = |key| schema.get(key).filter(|bound| bound.is_number()).map(ToString::to_string);
    let most = bounds.largest_number(schema).map(|most| Value::from(most).to_string()).filter(|_| bounds.max.is_some());
    let range = match (bound("minimum"), most.or_else(|| bound("maximum"))) {
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
        (Some(min), None) => format!(", at least {min}"),
        (None, Some(max)) => format!(", at most {max}"),
        (None, None) => String::new(),
    };
    if takes(schema, "object") && is_object(schema) {
        let needed: Vec<&str> = required(schema).collect();
        return if needed.is_empty() { "an object".to_owned() } else { format!("an object with `{}`", needed.join("`, `")) };
    }
    let names = [
        ("string", "a text"),
        ("integer", "a whole number"),
        ("number", "a number"),
        ("boolean", "true or false"),
        ("array", "an array"),
    ];
    let is = |name: &str| {
        schema.get("type").is_some_and(|kind| kind == name || kind.as_array().is_some_and(|all| all.iter().any(|k| k == name)))
    };
    match names.iter().find(|(name, _)| is(name)) {
        Some((_, words)) => format!("{words}{range}"),
        None => String::new(),
    }
}

/// The least value that fits a schema.
fn example(schema: &'static Value) -> Value {
    let stated = |schema: &'static Value| {
        let first = schema.get("examples").and_then(|all| all.get(0));
        schema.get("default").or_else(|| schema.get("const")).or(first).cloned()
    };
    if let Some(value) = stated(schema) {
        return value;
    }
    let Some(schema) = leaves(schema).first().copied() else { return Value::Null };
    if let Some(value) = stated(schema) {
        return value;
    }
    if takes(schema, "null") {
        return Value::Null;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => words(&[schema]).map_or_else(String::new, |words| words[0].to_owned()).into(),
        Some("boolean") => false.into(),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 0.into()),
        Some("array") => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            let item = schema.get("prefixItems").and_then(|all| all.get(0)).or_else(|| schema.get("items"));
            Value::Array((0..least).map(|_| item.map_or(Value::Null, example)).collect())
        }
        Some("object") => {
            let needed = fields(schema).filter(|(name, _)| is_required(schema, name));
            Value::Object(needed.map(|(name, field)| (name.to_owned(), example(field))).collect())
        }
        _ => Value::Null,
    }
}
