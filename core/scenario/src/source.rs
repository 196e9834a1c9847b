//! Where what a scenario says comes from, and what it cannot follow.

use serde::{Deserialize, Serialize};

/// Where something that the file says comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its place in the file.
    pub path: String,
    /// Who says so.
    pub source: Source,
    /// Why it is taken to be so.
    pub because: String,
}

/// Who says that something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A document that is published says it.
    Published,
    /// Nobody says it; it follows from what is published.
    Inferred,
    /// Nobody says it.
    Assumed,
}

/// Something that a source says and no run can show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Contradiction {
    /// What it says.
    #[schemars(length(max = 1_000))]
    pub says: String,
    /// What it contradicts.
    #[schemars(length(max = 1_000))]
    pub because: String,
}
