//! The scenario as it is edited: one JSON value, seen as a form and as text.

use std::rc::Rc;

/// The document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The JSON text as the editor shows it, errors and all.
    pub text: Rc<str>,
    /// Its value, when the text is JSON; what the form shows. (The last that was, while it is not.)
    pub value: Rc<serde_json::Value>,
    /// Everything wrong with it; empty when it runs.
    pub problems: Vec<Problem>,
    /// Versions to go back to, oldest first.
    pub undo: Vec<Rc<str>>,
    /// Versions to go forward to, the next one last.
    pub redo: Vec<Rc<str>>,
}

/// Something wrong with the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: a JSON path as zonefall-core writes it (`$.topology.nodes[0].zone`).
    pub path: String,
    /// What was found and what would be right.
    pub message: String,
}

/// Edits.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentAction {
    /// Another document altogether: a bundled scenario, a file, a link.
    Open(String),
    /// The text was edited.
    Type(String),
    /// The form sets a value: at a path of keys and indices, `None` removes it. Missing objects on the way are made.
    Set(Path, Option<serde_json::Value>),
    /// The form adds an item at the end of a list.
    Push(Path, serde_json::Value),
    /// Back.
    Undo,
    /// Forward.
    Redo,
}

/// Where in the document: keys and indices from the top.
pub type Path = Vec<Step>;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into an object.
    Key(String),
    /// Into a list.
    Index(usize),
}
