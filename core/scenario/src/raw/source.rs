//! Where a piece of information comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::source::Source;

/// Source of a piece of information, for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawSource {
    /// Whether the information is published, inferred or assumed.
    #[serde(default)]
    #[schemars(extend("x-form" = "json"))]
    pub source: Option<Source>,
    /// Reason for the inference or assumption.
    #[serde(default)]
    #[schemars(length(max = 1_000), extend("x-form" = "json"))]
    pub because: String,
}
