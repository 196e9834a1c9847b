//! JSON as written: a tree of values, and a complaint for every key that is there twice (of which `serde_json` keeps the last and
//! says nothing).

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::error::{Errors, quote};

/// Largest file that is read, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// The value in `text`; a repeated key is reported and its last value kept. Nesting is limited to 127 levels by `serde_json`.
pub(super) fn parse(text: &str, errors: &mut Errors) -> Result<Value, Errors> {
    let mut path = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Node { path: &mut path, errors }.deserialize(&mut reader).map_err(|error| Errors::syntax(&error, text))?;
    reader.end().map_err(|error| Errors::syntax(&error, text))?;
    Ok(value)
}

/// One step of a JSON path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into an object.
    Key(String),
    /// Into an array.
    Index(usize),
}

/// The path as people write it, and as [`Error::path`](super::Error::path) has it: `etcd[0].members[2].node`; `$` is the whole file.
pub fn render(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if !text.is_empty() => text.extend([".", &clip(key)]),
            Step::Key(key) => text.push_str(&clip(key)),
            Step::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    if text.is_empty() { "$".to_owned() } else { text }
}

/// Keys come from a file of any kind: keep the message readable.
fn clip(key: &str) -> String {
    let plain = !key.is_empty() && key.len() <= 60 && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-$".contains(c));
    if plain { key.to_owned() } else { quote(key) }
}

struct Node<'a> {
    path: &'a mut Vec<Step>,
    errors: &'a mut Errors,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        loop {
            self.path.push(Step::Index(all.len()));
            let item = items.next_element_seed(Node { path: &mut *self.path, errors: &mut *self.errors })?;
            self.path.pop();
            match item {
                Some(value) => all.push(value),
                None => return Ok(Value::Array(all)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            self.path.push(Step::Key(key));
            let value = fields.next_value_seed(Node { path: &mut *self.path, errors: &mut *self.errors })?;
            let Some(Step::Key(key)) = self.path.pop() else {
                return Err(A::Error::custom("unbalanced path"));
            };
            if all.contains_key(&key) {
                self.path.push(Step::Key(key.clone()));
                self.errors.push(render(self.path), "the same field again", "each field once");
                self.path.pop();
            }
            all.insert(key, value);
        }
        Ok(Value::Object(all))
    }
}
