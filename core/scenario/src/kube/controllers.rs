//! Controllers that a cluster has only where its scenario says so: what stands in the file is what the controller reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Controllers beside those that every cluster has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Controllers {}
