//! What happens to the world: faults and an operator's work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RawSource;
use crate::fault::RawFaultKind;
use crate::operation::RawOperationKind;
use crate::units::Span;

/// A fault with its time and its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawFault {
    /// When it starts.
    #[schemars(title = "At", extend("examples" = ["1m"]))]
    pub at: Span,
    /// How long it lasts.
    #[serde(rename = "for", default)]
    #[schemars(title = "For", extend("examples" = ["5m"], "x-min" = "1ns", "x-default" = "to the end of the run", "x-source" = "a fault that nobody repairs"))]
    pub lasts: Option<Span>,
    /// What breaks.
    #[serde(flatten)]
    pub kind: RawFaultKind,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// Faults at random times: each thing fails and is repaired by a process of its own. Nodes and zones lose power, volumes are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawRandomFaults {
    /// Nodes that lose power.
    #[serde(default)]
    pub nodes: RawWhich,
    /// Zones that lose power.
    #[serde(default)]
    pub zones: RawWhich,
    /// Volumes that are lost.
    #[serde(default)]
    pub volumes: RawWhich,
    /// Time from repair to the next failure.
    pub every: RawLifetime,
    /// Time to repair.
    pub repair: RawLifetime,
}

/// Some by name, or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawWhich {
    /// The ones with these names.
    Named(#[schemars(length(max = 10_000))] Vec<String>),
    /// All there are.
    All(RawAll),
}

/// The word `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawAll {
    /// All there are.
    All,
}

impl Default for RawWhich {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

/// Time between failures, or to repair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawLifetime {
    /// Memoryless, with this mean.
    Exponential(Span),
    /// Wearing out (`shape` above 1) or infant mortality (below 1).
    Weibull {
        /// By then 63.2 % have failed.
        scale: Span,
        /// Shape of the distribution.
        #[schemars(range(min = 0.1, max = 20))]
        shape: f64,
    },
    /// Lognormal: `median * exp(sigma * N(0, 1))`.
    LogNormal {
        /// Median of the distribution.
        median: Span,
        /// Standard deviation of the logarithm.
        #[schemars(range(min = 0, max = 3))]
        sigma: f64,
    },
}

/// What an operator asks for: a change of membership, a roll-out, or a shoot that survives more or moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawOperation {
    /// Time of the operation.
    #[schemars(title = "At", extend("examples" = ["1m"]))]
    pub at: Span,
    /// The etcd cluster, where its members change or its databases are worked on.
    #[serde(default)]
    #[schemars(
        title = "etcd cluster",
        extend("x-target" = "etcd", "x-default" = "the only cluster there is", "x-source" = "nothing else to mean")
    )]
    pub etcd: Option<String>,
    /// Change that the operator asks for.
    #[serde(flatten)]
    pub change: RawOperationKind,
}
