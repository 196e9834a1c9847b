//! The form that oracles of API access share: a file with its source, its rule and its fields, and rows with a name and an origin.

use std::fmt::Debug;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "rule")]
    _rule: String,
    #[serde(rename = "form")]
    _form: Value,
    cases: Vec<Map<String, Value>>,
}

/// What each row says of itself.
#[derive(Deserialize)]
struct About {
    name: String,
    #[serde(rename = "origin")]
    _origin: Origin,
    /// Its source has it. Otherwise a difference is told, and fails nothing.
    #[serde(default = "yes")]
    verified: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Origin {
    Test,
    Code,
    Doc,
}

const fn yes() -> bool {
    true
}

/// Runs the rows of a file. `T` is what a row has besides its name and origin.
pub(super) fn run_cases<T: DeserializeOwned>(text: &str, check: impl Fn(&T) -> Result<(), String>) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (k, mut case) in file.cases.into_iter().enumerate() {
        let about = About::deserialize(Value::Object(case.clone()));
        case.retain(|field, _| !["name", "origin", "verified"].contains(&field.as_str()));
        let case = Value::Object(case);
        match about {
            Ok(About { name, verified, .. }) => outcome.judge(&format!("cases[{k}] ({name})"), &case, verified, &check),
            Err(error) => outcome.row::<Value>(&format!("cases[{k}]"), &case, |_| Err(format!("not understood: {error}"))),
        }
    }
    outcome
}

/// Whether something is as it should be.
pub(super) fn same<T: PartialEq + Debug>(found: &T, want: &T) -> Result<(), String> {
    if found == want { Ok(()) } else { Err(format!("found {found:?}, wanted {want:?}")) }
}
