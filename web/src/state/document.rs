//! The scenario as it is edited: one JSON value, seen as a form and as text.
//!
//! The text leads: the form's edits are laid out as text, and what the text means is asked of zonefall-core as a whole. So both
//! views show the same errors, and undo goes back over edits of either.

use std::rc::Rc;

use serde_json::{Map, Value};
use zonefall_core::scenario::{Errors, MAX_BYTES, Scenario, modernize};

use super::layout::layout;
use super::rename;

/// Where in the document: keys and indices from the top.
pub type Path = Vec<Step>;

pub use zonefall_core::scenario::Step;

/// Versions kept to go back to.
const VERSIONS: usize = 200;
/// Bytes of all versions kept to go back (or forward) to.
const VERSION_BYTES: usize = 8 << 20;

/// The document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The JSON text as the editor shows it, errors and all.
    pub text: Rc<str>,
    /// Its value with new names, when the text is JSON; what the form shows. (The last that was, while it is not.)
    pub value: Rc<Value>,
    /// Whether the text is JSON at this moment: only then the form edits it.
    pub is_json: bool,
    /// Everything wrong with it; empty when it runs.
    pub problems: Vec<Problem>,
    /// Versions to go back to, oldest first.
    pub undo: Vec<Rc<str>>,
    /// Versions to go forward to, the next one last.
    pub redo: Vec<Rc<str>>,
    /// Where the last letter was typed: the next one there belongs to the same step of undo.
    typed: Option<usize>,
}

/// Something wrong with the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: a JSON path as zonefall-core writes it (`topology.nodes[0].zone`; `$` is the whole file).
    pub path: String,
    /// What was found and what would be right.
    pub message: String,
    /// Line and column (from 1) where the text is not JSON at all.
    pub line_column: Option<(usize, usize)>,
}

/// An edit of the document.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentAction {
    /// Another document altogether: a bundled scenario, a file, a link.
    Open(String),
    /// The text was edited.
    Type(String),
    /// The form sets a value: at a path of keys and indices, `None` removes it. Missing objects on the way are made.
    Set(Path, Option<Value>),
    /// The form adds an item at the end of a list.
    Push(Path, Value),
    /// The form gives the thing whose name stands at this path another one; what refers to it follows.
    Rename(Path, String),
    /// Undoes the last edit.
    Undo,
    /// Redoes what was undone last.
    Redo,
}

/// What an edit came to.
#[derive(Debug)]
pub(super) enum Edited {
    /// Nothing has changed.
    Not,
    /// The text has changed, and means this (or nothing yet).
    To(Option<Box<Scenario>>),
}

impl Document {
    /// A document without a past, with new names where the text has old ones, and what it means.
    pub fn new(text: &str) -> (Self, Option<Box<Scenario>>) {
        let mut document = Self { text: modernize(text).text.into(), ..Self::default() };
        let scenario = document.read();
        (document, scenario)
    }

    /// The problems at this path.
    pub fn problems_at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Problem> {
        self.problems.iter().filter(move |problem| problem.path == path)
    }

    /// The scenario's name, as far as it does for a file.
    pub fn file_name(&self) -> String {
        let name = self.value.get("name").and_then(Value::as_str).unwrap_or_default();
        let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(100).collect();
        let plain = plain.trim_matches('.');
        format!("{}.json", if plain.is_empty() { "scenario" } else { plain })
    }

    /// Takes note that the worker would not run the text after all.
    pub(super) fn refuse(&mut self, errors: &[(String, String)]) {
        let problem =
            |(path, message): &(String, String)| Problem { path: path.clone(), message: message.clone(), line_column: None };
        self.problems = errors.iter().map(problem).collect();
    }

    /// Does what is asked.
    ///
    /// # Errors
    /// Why it was not done, for the user.
    pub(super) fn apply(&mut self, action: DocumentAction) -> Result<Edited, String> {
        match action {
            DocumentAction::Open(text) => self.open(text),
            DocumentAction::Type(text) => Ok(self.type_text(text)),
            DocumentAction::Set(path, value) => self.form(|document| set(document, &path, value)),
            DocumentAction::Push(path, value) => self.form(|document| push(document, &path, value)),
            DocumentAction::Rename(path, name) => self.form(|document| rename::rename(document, &path, &name)),
            DocumentAction::Undo => Ok(self.go_back()),
            DocumentAction::Redo => Ok(self.go_forward()),
        }
    }

    fn open(&mut self, text: String) -> Result<Edited, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("This is too large for a scenario: {} bytes, at most {MAX_BYTES}.", text.len()));
        }
        let text = modernize(&text).text;
        match serde_json::from_str::<Value>(&text) {
            // Opened again: it starts over.
            Ok(Value::Object(_)) if *text == *self.text => Ok(Edited::To(self.read())),
            Ok(Value::Object(_)) => Ok(self.becomes(text.into())),
            Ok(_) => Err("This is not a scenario: expected a JSON object.".to_owned()),
            Err(error) => Err(format!("This is not a scenario: expected JSON ({error}).")),
        }
    }

    fn type_text(&mut self, text: String) -> Edited {
        let (from, old, new) = difference(&self.text, &text);
        // Letters typed (or deleted) one after the other are one step of undo; a new line begins another.
        let letter = old + new <= 4 && old.min(new) == 0 && !text[from..from + new].contains('\n');
        let goes_on = letter && self.typed == Some(from + old);
        let typed = letter.then_some(from + new);
        if goes_on {
            self.typed = typed;
            return self.reads(text.into());
        }
        let edited = self.becomes(text.into());
        self.typed = typed;
        edited
    }

    fn form(&mut self, edit: impl FnOnce(&mut Value)) -> Result<Edited, String> {
        if !self.is_json {
            return Err("The text is not valid JSON: fix it in the JSON tab, or undo.".to_owned());
        }
        let mut value = (*self.value).clone();
        edit(&mut value);
        if value == *self.value {
            return Ok(Edited::Not);
        }
        Ok(self.becomes(layout(&value).into()))
    }

    fn go_back(&mut self) -> Edited {
        let Some(text) = self.undo.pop() else { return Edited::Not };
        self.redo.push(std::mem::replace(&mut self.text, text));
        self.typed = None;
        Edited::To(self.read())
    }

    fn go_forward(&mut self) -> Edited {
        let Some(text) = self.redo.pop() else { return Edited::Not };
        self.undo.push(std::mem::replace(&mut self.text, text));
        self.typed = None;
        Edited::To(self.read())
    }

    /// Another version, the one before kept.
    fn becomes(&mut self, text: Rc<str>) -> Edited {
        if text == self.text {
            return Edited::Not;
        }
        self.undo.push(Rc::clone(&self.text));
        self.forget_oldest();
        self.typed = None;
        self.reads(text)
    }

    /// Another text in the same step of undo.
    fn reads(&mut self, text: Rc<str>) -> Edited {
        self.text = text;
        self.redo.clear();
        Edited::To(self.read())
    }

    fn forget_oldest(&mut self) {
        let mut bytes = 0;
        let newest = self.undo.iter().rev().take(VERSIONS);
        let kept = newest.take_while(|version| {
            bytes += version.len();
            bytes <= VERSION_BYTES
        });
        let kept = kept.count().max(1);
        self.undo.drain(..self.undo.len().saturating_sub(kept));
    }

    /// Finds out what the text means.
    fn read(&mut self) -> Option<Box<Scenario>> {
        let value = if self.text.len() <= MAX_BYTES { serde_json::from_str(&modernize(&self.text).text).ok() } else { None };
        self.is_json = value.is_some();
        if let Some(value) = value {
            self.value = Rc::new(value);
        }
        match Scenario::from_json(&self.text) {
            Ok(scenario) => {
                self.problems = Vec::new();
                Some(Box::new(scenario))
            }
            Err(errors) => {
                self.problems = problems(&errors);
                None
            }
        }
    }
}

fn problems(errors: &Errors) -> Vec<Problem> {
    let problem = |error: &zonefall_core::scenario::Error| Problem {
        path: error.path.clone(),
        message: format!("expected {}; found {}", error.expected, error.found),
        line_column: error.line_column,
    };
    errors.iter().map(problem).collect()
}

/// Where two texts begin to differ, and how many bytes of each do.
fn difference(old: &str, new: &str) -> (usize, usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let from: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old, new) = (&old[from..], &new[from..]);
    let tail: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    (from, old.len() - tail, new.len() - tail)
}

/// The value at a path, made where it is missing: objects on the way, nothing at its end. `None` where another kind stands in the way.
fn place<'a>(value: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => {
            if value.is_null() {
                *value = Value::Object(Map::new());
            }
            Some(value.as_object_mut()?.entry(key.clone()).or_insert(Value::Null))
        }
        Step::Index(index) => value.as_array_mut()?.get_mut(*index),
    })
}

fn push(document: &mut Value, path: &[Step], item: Value) {
    let Some(list) = place(document, path) else { return };
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    if let Value::Array(items) = list {
        items.push(item);
    }
}

fn set(document: &mut Value, path: &[Step], new: Option<Value>) {
    if let Some(new) = new {
        if let Some(value) = place(document, path) {
            *value = new;
        }
        return;
    }
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(&mut *document, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(*index),
    });
    let removed = match (parent, last) {
        (Some(Value::Object(fields)), Step::Key(key)) => {
            fields.shift_remove(key);
            fields.is_empty()
        }
        (Some(Value::Array(items)), Step::Index(index)) if *index < items.len() => {
            items.remove(*index);
            false
        }
        _ => false,
    };
    // An object of options that says nothing any more says so by not being there.
    if removed && matches!(parents.last(), Some(Step::Key(_))) {
        set(document, parents, None);
    }
}
