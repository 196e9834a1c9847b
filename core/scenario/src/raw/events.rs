//! What happens to the world: faults and an operator's work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawMember, RawSource};
use crate::fault::RawFaultKind;
use crate::kube::gardener::FailureTolerance;
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
    /// The etcd cluster, where it is a change of its members.
    #[serde(default)]
    #[schemars(
        title = "etcd cluster",
        extend("x-target" = "etcd", "x-default" = "the only cluster there is", "x-source" = "nothing else to mean")
    )]
    pub etcd: Option<String>,
    /// Change that the operator asks for.
    #[serde(flatten)]
    pub change: RawChange,
}

/// A change of membership, a roll-out, or a shoot that survives more or moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawChange {
    /// Add a member and start it. It may have the name of one that was removed before.
    #[schemars(title = "add a member of etcd")]
    AddMember(RawMember),
    /// Remove a member.
    #[schemars(title = "remove a member of etcd")]
    RemoveMember(#[schemars(title = "Member", extend("x-target" = "member"))] String),
    /// Give a learner its vote.
    #[schemars(title = "give a learner its vote")]
    PromoteMember(#[schemars(title = "Member", extend("x-target" = "member"))] String),
    /// Replace the pods of a component by others, as far at a time as its `rollout` allows.
    #[schemars(title = "roll a component")]
    RollComponent {
        /// Whose component it is.
        #[serde(flatten)]
        of: RawOwner,
        /// The component.
        component: String,
    },
    /// Let a node take no more pods and evict those that it has (`kubectl drain`).
    #[schemars(title = "drain a node")]
    DrainNode {
        /// Whose node it is.
        #[serde(flatten)]
        of: RawClusterName,
        /// The node, one of the start.
        node: String,
    },
    /// Replace the machines of a pool by others, as far at a time as its `rollout` allows.
    #[schemars(title = "roll a pool")]
    RollPool {
        /// Whose pool it is.
        #[serde(flatten)]
        of: RawClusterName,
        /// The pool.
        pool: String,
    },
    /// Have a shoot's control plane survive more. What GEP-20 does not allow is refused when it is asked for.
    #[schemars(title = "change a shoot's failure tolerance")]
    SetFailureTolerance {
        /// The shoot.
        #[schemars(extend("x-target" = "shoots"))]
        shoot: String,
        /// Which failure it is to survive.
        to: FailureTolerance,
    },
    /// Have a shoot's control plane moved to another seed (its binding is changed). Where it does not fit is refused when it is asked for.
    #[schemars(title = "move a shoot to another seed")]
    MigrateShoot {
        /// The shoot.
        #[schemars(extend("x-target" = "shoots"))]
        shoot: String,
        /// The seed that is to host it.
        #[schemars(extend("x-target" = "seeds"))]
        seed: String,
    },
}

impl RawChange {
    /// Whether it is asked of a seed or a shoot, not of an etcd cluster.
    pub(crate) const fn is_of_cluster(&self) -> bool {
        !matches!(self, Self::AddMember(_) | Self::RemoveMember(_) | Self::PromoteMember(_))
    }
}

/// A cluster that has nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawClusterName {
    /// A seed's.
    Seed(#[schemars(extend("x-target" = "seeds"))] String),
    /// That of a cluster without Gardener.
    Cluster(#[schemars(extend("x-target" = "clusters"))] String),
}

/// Whose component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawOwner {
    /// A seed's own.
    Seed(#[schemars(extend("x-target" = "seeds"))] String),
    /// A workload of a cluster without Gardener.
    Cluster(#[schemars(extend("x-target" = "clusters"))] String),
    /// A shoot's; of several that are alike `<name>-<k>`.
    Shoot(#[schemars(extend("x-target" = "shoots"))] String),
}
