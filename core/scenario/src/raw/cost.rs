//! What requests cost the processes they pass. Nothing, where a scenario says nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// What requests cost a member of etcd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCost {
    /// Cores that requests are served on, first come, first served.
    #[schemars(range(min = 1, max = 64), extend("x-source" = "assumed"))]
    pub cores: u8,
    /// Time of a core for a request and its answer.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_request: Span,
    /// Time of a core for each MiB of requests and answers.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib: Span,
    /// Time of a core for each MiB that is read from the database.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib_read: Span,
    /// Time of a core for each further key of a range.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub per_key: Span,
    /// What a write waits between the threads that propose, commit and apply it.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub write: Span,
}

impl Default for RawCost {
    fn default() -> Self {
        let [per_request, per_mib, per_mib_read, per_key, write] = [Span::default(); 5];
        Self { cores: 1, per_request, per_mib, per_mib_read, per_key, write }
    }
}

/// A client's process: it does one thing at a time, and all of its connections share one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[derive(Default)]
pub struct RawProcess {
    /// Time of the process for a request and its answer.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_request: Span,
    /// Time of the process for each MiB of requests and answers.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib: Span,
    /// From a message's arrival at a host to who waits for it: a request at the member, an answer here.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub hand_over: Span,
}
