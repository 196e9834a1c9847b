//! Places in a report.
//!
//! ```text
//! place  := function "(" path ")" | path          function := count | sum | min | max
//! path   := name step*
//! step   := "." name | "[" index "]" | "[" field "=" value "]" | "[*]"
//! ```
//!
//! A name with dots or brackets in it is written in quotes: `etcd."my.cluster".outages`. A filter (`[kind=write]`) or `[*]` may
//! select several; an index after it picks one of those selected, negative from the end.

use std::fmt;

use serde_json::Value;

use crate::error::{did_you_mean, one_of, show};

/// A place in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportPath {
    pub(super) function: Option<Function>,
    pub(super) steps: Vec<Step>,
}

/// What is made of the values a path selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Count,
    Sum,
    Min,
    Max,
}

/// Fields that hold one object for each cluster, by its name.
const BY_NAME: [&str; 2] = ["etcd", "api"];

const FUNCTIONS: [(&str, Function); 4] =
    [("count", Function::Count), ("sum", Function::Sum), ("min", Function::Min), ("max", Function::Max)];

/// One step into the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Field(String),
    Index(i64),
    Filter(String, String),
    Every,
}

impl ReportPath {
    /// Reads a place; what is wrong otherwise.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let function = FUNCTIONS.iter().find_map(|(name, function)| {
            let inner = text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
            Some((*function, inner))
        });
        match function {
            Some((function, inner)) => Ok(Self { function: Some(function), steps: steps(inner)? }),
            None => Ok(Self { function: None, steps: steps(text)? }),
        }
    }

    /// The same with the new names of renamed fields.
    pub(super) fn modernized(&self, renamed: impl Fn(&[String], &str) -> Option<&'static str>) -> Self {
        let mut object: Vec<String> = Vec::new();
        let mut steps = self.steps.clone();
        for step in &mut steps {
            if object.len() == 1 && BY_NAME.contains(&object[0].as_str()) && !matches!(step, Step::Field(_)) {
                object.push("*".to_owned());
            }
            if let Step::Field(name) | Step::Filter(name, _) = step
                && let Some(new) = renamed(&object, name)
            {
                new.clone_into(name);
            }
            if let Step::Field(name) = step {
                object.push(name.clone());
            }
        }
        Self { function: self.function, steps }
    }

    /// Every value in `report` that the path leads to, or why it leads nowhere.
    pub(super) fn select<'a>(&self, report: &'a Value) -> Result<Selection<'a>, String> {
        let mut selection = Selection { values: vec![report], several: false };
        let mut so_far = String::new();
        for step in &self.steps {
            selection = selection.step(step, &so_far)?;
            if !so_far.is_empty() && matches!(step, Step::Field(_)) {
                so_far.push('.');
            }
            so_far.push_str(&step.to_string());
        }
        Ok(selection)
    }
}

fn steps(text: &str) -> Result<Vec<Step>, String> {
    let (first, mut rest) = name(text)?;
    let mut all = vec![Step::Field(first)];
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let (field, after) = name(after)?;
            all.push(Step::Field(field));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (inside, after) = after.split_once(']').ok_or("a `[` without its `]`")?;
            all.push(bracket(inside)?);
            rest = after;
        } else {
            return Err(format!("a `.` or `[` was due at {rest:?}"));
        }
    }
    Ok(all)
}

fn bracket(inside: &str) -> Result<Step, String> {
    if inside == "*" {
        return Ok(Step::Every);
    }
    if let Some((field, value)) = inside.split_once('=') {
        return if field.trim().is_empty() {
            Err("a filter without a field".to_owned())
        } else {
            Ok(Step::Filter(field.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        };
    }
    inside.trim().parse().map(Step::Index).map_err(|_| format!("`[{inside}]` is neither [number], [field=value] nor [*]"))
}

fn name(text: &str) -> Result<(String, &str), String> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (name, rest) = quoted.split_once('"').ok_or("a quote that is not closed")?;
        return Ok((name.to_owned(), rest));
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if is_plain(name) { Ok((name.to_owned(), rest)) } else { Err(format!("a name was due at {text:?}")) }
}

/// Whether a name needs no quotes.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-$/".contains(c))
}

/// As it is written.
impl fmt::Display for ReportPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = FUNCTIONS.iter().find(|(_, function)| Some(*function) == self.function);
        if let Some((name, _)) = function {
            write!(f, "{name}(")?;
        }
        for (k, step) in self.steps.iter().enumerate() {
            if k > 0 && matches!(step, Step::Field(_)) {
                f.write_str(".")?;
            }
            write!(f, "{step}")?;
        }
        f.write_str(if function.is_some() { ")" } else { "" })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) if is_plain(name) => f.write_str(name),
            Self::Field(name) => write!(f, "\"{name}\""),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Filter(field, value) => write!(f, "[{field}={value}]"),
            Self::Every => f.write_str("[*]"),
        }
    }
}

/// Values at a place.
pub(super) struct Selection<'a> {
    pub(super) values: Vec<&'a Value>,
    /// A filter or `[*]` chose them: it may have chosen none or many.
    pub(super) several: bool,
}

impl<'a> Selection<'a> {
    fn step(self, step: &Step, so_far: &str) -> Result<Self, String> {
        match step {
            Step::Field(name) => self.field(name, so_far),
            Step::Index(index) => self.index(*index, so_far),
            Step::Every => Ok(Self { values: self.items().collect(), several: true }),
            Step::Filter(field, expected) => {
                let values = self.items().filter(|item| item.get(field).is_some_and(|value| plain(value) == *expected)).collect();
                Ok(Self { values, several: true })
            }
        }
    }

    fn field(self, name: &str, so_far: &str) -> Result<Self, String> {
        let mut values = Vec::with_capacity(self.values.len());
        for value in self.values {
            match value.get(name) {
                Some(inner) => values.push(inner),
                None => return Err(no_field(value, name, so_far)),
            }
        }
        Ok(Self { values, several: self.several })
    }

    fn index(self, index: i64, so_far: &str) -> Result<Self, String> {
        let items: Vec<&Value> = if self.several { self.values } else { self.items().collect() };
        let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
        let position = if index < 0 { items.len().checked_sub(distance) } else { Some(distance) };
        let found = position.and_then(|k| items.get(k));
        let found = found.ok_or_else(|| format!("there is no [{index}] in {so_far}: {} there", items.len()))?;
        Ok(Self { values: vec![found], several: false })
    }

    /// What a filter goes through: the items of arrays, and what an earlier filter left.
    fn items(&self) -> impl Iterator<Item = &'a Value> {
        self.values.iter().flat_map(|value| match value {
            Value::Array(items) => items.iter().collect::<Vec<_>>(),
            Value::Object(fields) if !self.several => fields.values().collect(),
            other => vec![*other],
        })
    }
}

fn no_field(value: &Value, name: &str, so_far: &str) -> String {
    let at = if so_far.is_empty() { "the report" } else { so_far };
    match value {
        Value::Object(fields) => {
            let names = || fields.keys().map(String::as_str);
            format!("there is no {name:?} in {at}, only {}{}", one_of(names()), did_you_mean(name, names()))
        }
        other => format!("there is no {name:?} in {at}, which is {}", show(other)),
    }
}

/// A value as it is compared with a filter: without quotes.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
