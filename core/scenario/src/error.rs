//! What is wrong with a scenario file, all of it at once.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// One thing that is wrong, or probably not meant: where, what stands there, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Error {
    /// JSON path such as `etcd[0].members[2].node`; `$` is the whole file.
    pub path: String,
    /// What was found there.
    pub found: String,
    /// What would be right.
    pub expected: String,
    /// Line and column (from 1) where the file is not JSON at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_column: Option<(usize, usize)>,
}

impl Error {
    pub(super) fn new(path: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), found: found.into(), expected: expected.into(), line_column: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line_column {
            Some((line, column)) => write!(f, "line {line}, column {column}: ")?,
            None => write!(f, "{}: ", self.path)?,
        }
        write!(f, "expected {}; found {}", self.expected, self.found)
    }
}

/// Everything that is wrong with a file, in the order of the file's checks; never empty when returned. Its debug form is the text for
/// people: a test that unwraps it shows that.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub struct Errors {
    list: Vec<Error>,
    /// Further errors, counted but not kept: past [`Errors::KEPT`] nobody reads on.
    more: usize,
}

impl Errors {
    /// So many errors are kept in full.
    pub const KEPT: usize = 1_000;
    /// Suggestions cost time in proportion to the file; a file with more errors than this gets no further ones.
    const SUGGESTED: usize = 100;

    /// The errors.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.list.iter()
    }

    /// How many there are, those beyond [`Errors::KEPT`] included.
    pub fn len(&self) -> usize {
        self.list.len() + self.more
    }

    /// Whether all is well.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn push(&mut self, path: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) {
        if self.list.len() < Self::KEPT {
            self.list.push(Error::new(path, found, expected));
        } else {
            self.more += 1;
        }
    }

    /// The same, unless it is one of the last few.
    pub(super) fn push_anew(&mut self, path: &str, found: String, expected: String) {
        let error = Error::new(path, found, expected);
        if self.list.iter().rev().take(4).all(|last| *last != error) {
            self.push(error.path, error.found, error.expected);
        }
    }

    /// Adds further errors.
    pub(super) fn extend(&mut self, others: Self) {
        for Error { path, found, expected, .. } in others.list {
            self.push(path, found, expected);
        }
        self.more += others.more;
    }

    /// `text` is not JSON.
    pub(super) fn syntax(error: &serde_json::Error, text: &str) -> Self {
        let (found, expected) = not_json(error, text);
        let place = Some((error.line(), error.column().max(1)));
        Self { list: vec![Error { path: "$".to_owned(), found, expected, line_column: place }], more: 0 }
    }

    /// Whether errors still get suggestions.
    pub(super) fn suggests(&self) -> bool {
        self.list.len() < Self::SUGGESTED
    }
}

/// What `serde_json` says of a text that is not JSON, as what was found and what would be right.
fn not_json(error: &serde_json::Error, text: &str) -> (String, String) {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let there = line.get(error.column().saturating_sub(1)..).and_then(|rest| rest.chars().next());
    let there = there.map_or_else(|| "the end of the line".to_owned(), |c| format!("{c:?}"));
    let (found, expected) = match message {
        _ if text.trim().is_empty() => ("nothing".to_owned(), "a scenario: a JSON object"),
        "EOF while parsing a string" => ("the end of the file inside a string".to_owned(), "its closing quote"),
        _ if message.starts_with("EOF") => ("the end of the file".to_owned(), "the rest: something is not closed"),
        "expected value" => (there, "a JSON value (text stands in double quotes)"),
        "key must be a string" => (there, "the name of a field, in double quotes"),
        "trailing comma" => ("a comma before the end".to_owned(), "no comma after the last"),
        "trailing characters" => (there, "nothing after the end of the scenario"),
        "recursion limit exceeded" => ("more than 127 levels of brackets".to_owned(), "at most 127 levels of brackets"),
        _ if message.starts_with("control character") => {
            ("a line break or control character inside a string".to_owned(), "its closing quote before, or an escape such as \\n")
        }
        _ => match message.strip_prefix("expected ") {
            Some(expected) => (there, expected),
            None => (message.to_owned(), "JSON"),
        },
    };
    (found, expected.to_owned())
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, error) in self.list.iter().enumerate() {
            if k > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        if self.more > 0 {
            write!(f, "\n… and {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

/// A JSON value in an error message: whole if it is short, its kind if not.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::Array(items) => match items.len() {
            0 => "an empty array".to_owned(),
            1 => "an array of 1".to_owned(),
            n => format!("an array of {n}"),
        },
        Value::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => quote(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A name or text in quotes, shortened past 60 characters.
pub(super) fn quote(text: &str) -> String {
    if text.chars().count() <= 60 {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(57).collect();
    format!("{:?}", start + "…")
}

/// `"a", "b" or "c"`, at most eight of them.
pub(super) fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let all: Vec<String> = names.take(SHOWN + 1).map(quote).collect();
    match all.as_slice() {
        [] => "nothing (there are none)".to_owned(),
        [only] => only.clone(),
        _ if all.len() > SHOWN => format!("{}, …", all[..SHOWN].join(", ")),
        [start @ .., last] => format!("{} or {last}", start.join(", ")),
    }
}

/// The candidate nearest to what was written, if any is near enough to be meant.
pub(super) fn nearest<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    const COMPARED: usize = 500;
    if written.len() > LONGEST {
        return None;
    }
    let lower = written.to_ascii_lowercase();
    let allowed = (written.len() / 3).clamp(1, 4);
    candidates
        .take(COMPARED)
        .filter(|candidate| candidate.len().abs_diff(written.len()) <= allowed)
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean "x"?)`, or nothing.
pub(super) fn did_you_mean<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    nearest(written, candidates).map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}
