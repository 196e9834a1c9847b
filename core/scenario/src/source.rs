//! Where what a scenario says comes from, and what it cannot follow.

use serde::{Deserialize, Serialize};

/// Source of a piece of information in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its place in the file.
    pub path: String,
    /// Who says so.
    pub source: Source,
    /// Why it is taken to be so.
    pub because: String,
}

/// Kind of source of a piece of information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A published document states it.
    Published,
    /// It is inferred from published documents.
    Inferred,
    /// It is assumed.
    Assumed,
}

/// A statement of a source that no run can reproduce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Contradiction {
    /// The statement.
    #[schemars(length(max = 1_000))]
    pub says: String,
    /// What the statement contradicts.
    #[schemars(length(max = 1_000))]
    pub because: String,
}
