//! What a scenario says must come out: a place in the JSON report and a bound on what stands there.
//!
//! ```json
//! {"that": "etcd.etcd-main.quorum_lost_s", "is": 0},
//! {"that": "etcd.etcd-main.write_unavailable_s", "between": [0.8, 3.5], "because": "an election takes one to two timeouts"},
//! {"that": "etcd.etcd-main.members[name=etcd-main-1].up", "is": true},
//! {"that": "count(etcd.etcd-main.outages[kind=write])", "at_least": 1},
//! {"that": "etcd.etcd-main.outages[kind=write][0].root_cause", "includes": "zone eu-west-1a lost power"},
//! {"that": "sum(links[from_zone=eu-west-1a][to_zone=eu-west-1b].wire_bytes)", "at_most": 1000000}
//! ```
//!
//! Expectations are about the report as anyone reads it, not about the simulator's types: a scenario can ask for whatever the
//! report says, and the report's form is the only thing both must agree on. Where a filter selects several, each must keep the
//! bound; where it selects none, the expectation fails (only `count` and `sum` make 0 of it).

mod path;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::{Number, Value};

use super::error::show;
use super::raw::{RawBound, RawExpectation};
use path::{Function, ReportPath, Step, plain};

/// A place in the report with new names only, where it has old ones; `renamed` knows the fields' new names.
pub(super) fn modernize(place: &str, renamed: impl Fn(&[String], &str) -> Option<&'static str>) -> Option<String> {
    let old = ReportPath::parse(place).ok()?;
    let new = old.modernized(renamed);
    (new != old).then(|| new.to_string())
}

/// One expectation, its path read.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The place as written.
    that: String,
    path: ReportPath,
    bound: Bound,
    because: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Bound {
    Is(Value),
    IsNot(Value),
    Between(f64, f64),
    AtLeast(f64),
    AtMost(f64),
    Includes(String),
}

/// How an expectation fared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Whether it holds.
    pub ok: bool,
    /// The place in the report.
    pub that: String,
    /// What stands there, or why nothing does.
    pub actual: String,
    /// What must stand there.
    pub expected: String,
    /// Why, as the scenario says; may be empty.
    pub because: String,
    /// All of it as one sentence.
    pub text: String,
}

/// Why an expectation cannot be read: the field at fault, what it says and what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidExpectation {
    pub(super) field: &'static str,
    pub(super) found: String,
    pub(super) expected: String,
}

impl Expectation {
    /// An expectation about a report.
    ///
    /// # Errors
    /// What is wrong with it, in plain words.
    pub fn new(raw: &RawExpectation) -> Result<Self, String> {
        Self::parse(raw).map_err(|wrong| format!("{}: expected {}; found {}", wrong.field, wrong.expected, wrong.found))
    }

    /// Reads an expectation as it is written.
    pub(super) fn parse(raw: &RawExpectation) -> Result<Self, InvalidExpectation> {
        let path = ReportPath::parse(&raw.that).map_err(|why| InvalidExpectation {
            field: "that",
            found: super::error::quote(&raw.that),
            expected: format!("a place such as etcd.etcd-main.members[name=etcd-main-0].up: {why}"),
        })?;
        Ok(Self { that: raw.that.clone(), path, bound: bound(&raw.bound)?, because: raw.because.clone() })
    }

    /// The place in the report, as written.
    pub fn that(&self) -> &str {
        &self.that
    }

    /// Why it must hold, as written; may be empty.
    pub fn because(&self) -> &str {
        &self.because
    }

    /// The etcd cluster it is about, if it is about one.
    pub(super) fn cluster(&self) -> Option<&str> {
        match self.path.steps.as_slice() {
            [Step::Field(first), Step::Field(cluster), ..] if first == "etcd" => Some(cluster),
            _ => None,
        }
    }

    /// Holds it against a report.
    pub fn check(&self, report: &Value) -> Outcome {
        let selection = self.path.select(report);
        // Without a place there is a sentence instead of a value.
        let verb = if selection.is_ok() { " is" } else { ":" };
        let (ok, actual) = match selection {
            Err(why) => (false, why),
            Ok(selection) => match self.path.function {
                Some(Function::Count) => {
                    let lone = (!selection.several).then(|| selection.values.first()).flatten();
                    let count = match lone {
                        Some(Value::Array(items)) => items.len(),
                        Some(Value::Object(fields)) => fields.len(),
                        Some(_) | None => selection.values.len(),
                    };
                    self.judge(&Value::from(count))
                }
                Some(function) => match fold(function, &selection.values) {
                    Ok(value) => self.judge(&value),
                    Err(why) => (false, why),
                },
                None => self.judge_all(&selection.values),
            },
        };
        let expected = self.bound.to_string();
        let verdict = if ok { "as it must be" } else { "but must be" };
        let why = if self.because.is_empty() { String::new() } else { format!(" ({})", self.because) };
        let text = format!("{}{verb} {actual}, {verdict} {expected}{why}", self.that);
        Outcome { ok, that: self.that.clone(), actual, expected, because: self.because.clone(), text }
    }

    fn judge(&self, value: &Value) -> (bool, String) {
        let holds = self.bound.holds(value);
        (holds, if holds { number_or(value, show) } else { in_full(value) })
    }

    /// The first that breaks the bound, or what all of them are.
    fn judge_all(&self, values: &[&Value]) -> (bool, String) {
        let broken = values.iter().find(|value| !self.bound.holds(value));
        match (broken, values) {
            (_, []) => (false, "nothing: no element has what the filters ask for".to_owned()),
            (Some(value), [_]) => (false, in_full(value)),
            (Some(value), _) => (false, format!("{} for one of {}", in_full(value), values.len())),
            (None, [first, ..]) => (true, number_or(first, show)),
        }
    }
}

fn bound(raw: &RawBound) -> Result<Bound, InvalidExpectation> {
    Ok(match raw {
        RawBound::Is(value) => Bound::Is(value.clone()),
        RawBound::IsNot(value) => Bound::IsNot(value.clone()),
        RawBound::Between([low, high]) if low > high => {
            let found = format!("{low} before {high}");
            return Err(InvalidExpectation { field: "between", found, expected: "the lower bound first".to_owned() });
        }
        RawBound::Between([low, high]) => Bound::Between(*low, *high),
        RawBound::AtLeast(low) => Bound::AtLeast(*low),
        RawBound::AtMost(high) => Bound::AtMost(*high),
        RawBound::Includes(text) => Bound::Includes(text.clone()),
    })
}

impl Bound {
    fn holds(&self, value: &Value) -> bool {
        let number = value.as_f64();
        match self {
            Self::Is(expected) => same(expected, value),
            Self::IsNot(expected) => !same(expected, value),
            Self::Between(low, high) => number.is_some_and(|x| *low <= x && x <= *high),
            Self::AtLeast(low) => number.is_some_and(|x| *low <= x),
            Self::AtMost(high) => number.is_some_and(|x| x <= *high),
            Self::Includes(part) => match value {
                Value::Array(items) => items.iter().any(|item| plain(item) == *part),
                Value::String(text) => text.contains(part.as_str()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
            },
        }
    }
}

/// Equal, and a whole number equals the same number with a decimal point.
fn same(a: &Value, b: &Value) -> bool {
    a == b || (a.is_number() && a.as_f64() == b.as_f64())
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Is(value) => f.write_str(&in_full(value)),
            Self::IsNot(value) => write!(f, "anything but {}", in_full(value)),
            Self::Between(low, high) => write!(f, "between {low} and {high}"),
            Self::AtLeast(low) => write!(f, "at least {low}"),
            Self::AtMost(high) => write!(f, "at most {high}"),
            Self::Includes(text) => write!(f, "something that includes {text:?}"),
        }
    }
}

/// A whole number without a decimal point, whether the report counts or measures it; anything else as `otherwise` says.
fn number_or(value: &Value, otherwise: impl Fn(&Value) -> String) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: up to here an f64 holds each whole number
    match value.as_f64() {
        Some(x) if value.is_f64() && x.fract() == 0.0 && x.abs() <= EXACT => format!("{x:.0}"),
        _ => otherwise(value),
    }
}

/// A value that breaks its bound, however long: what differs may stand at its end.
fn in_full(value: &Value) -> String {
    number_or(value, |value| value.as_str().map_or_else(|| show(value), |text| format!("{text:?}")))
}

fn fold(function: Function, values: &[&Value]) -> Result<Value, String> {
    if let Some(value) = values.iter().find(|value| !value.is_number()) {
        return Err(format!("{}, which is no number", show(value)));
    }
    let float = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let extreme = |expected| {
        let further = |a: &&Value, b: &&Value| float(a).total_cmp(&float(b)) == expected;
        values.iter().copied().reduce(|a, b| if further(&b, &a) { b } else { a }).cloned()
    };
    let result = match function {
        Function::Count => Some(Value::from(values.len())),
        Function::Sum => Some(sum(values).unwrap_or_else(|| Value::from(values.iter().copied().map(float).sum::<f64>()))),
        Function::Min => extreme(Ordering::Less),
        Function::Max => extreme(Ordering::Greater),
    };
    result.ok_or_else(|| "nothing: no element has what the filters ask for".to_owned())
}

/// The sum of whole numbers, exact; `None` if one is not whole.
fn sum(values: &[&Value]) -> Option<Value> {
    let whole = |value: &&Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let sum = values.iter().map(whole).sum::<Option<i128>>()?;
    Number::from_i128(sum).map(Value::Number)
}
