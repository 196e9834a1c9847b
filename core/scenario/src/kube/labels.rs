//! Labels, and what selects by them (`apimachinery/pkg/labels`, `component-helpers/scheduling/corev1/nodeaffinity`).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::ids::NodeKey;

/// A word that stands for itself: a label's key, its value, a namespace. Equal words are equal symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Symbol(pub u32);

crate::index_vectors!(Symbol(u32));

/// Keys that the rules know by name; whoever gives out symbols gives these out first, in this order.
pub const WELL_KNOWN: [&str; 9] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "deployment.machine.sapcloud.io/prefer-no-schedule",
    "ToBeDeletedByClusterAutoscaler",
];

/// Symbols from here on stand for the host names of nodes that machines bring.
const HOSTS: u32 = 1 << 31;

impl Symbol {
    /// The host name of a node that is not in the scenario.
    pub const fn host(node: NodeKey) -> Self {
        Self(HOSTS + node.0)
    }

    /// `kubernetes.io/hostname`
    pub const HOSTNAME: Self = Self(0);
    /// `topology.kubernetes.io/zone`
    pub const ZONE: Self = Self(1);
    /// `topology.kubernetes.io/region`
    pub const REGION: Self = Self(2);
    /// `failure-domain.beta.kubernetes.io/zone`
    pub const BETA_ZONE: Self = Self(3);
    /// `failure-domain.beta.kubernetes.io/region`
    pub const BETA_REGION: Self = Self(4);
    /// `node.kubernetes.io/unreachable`, key of a taint
    pub const UNREACHABLE: Self = Self(5);
    /// `node.kubernetes.io/unschedulable`, key of a taint
    pub const UNSCHEDULABLE: Self = Self(6);
    /// `deployment.machine.sapcloud.io/prefer-no-schedule`, key of a taint
    pub const REPLACED: Self = Self(7);
    /// `ToBeDeletedByClusterAutoscaler`, key of a taint
    pub const TO_BE_DELETED: Self = Self(8);
}

/// Labels of an object. A key stands in it once. (As many as a node has by itself need no memory of their own.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(SmallVec<[(Symbol, Symbol); 6]>);

impl Labels {
    /// The value of a key.
    pub fn get(&self, key: Symbol) -> Option<Symbol> {
        self.0.iter().find(|(own, _)| *own == key).map(|(_, value)| *value)
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (Symbol, Symbol)> {
        self.0.iter().copied()
    }

    /// Sets a key's value.
    pub fn set(&mut self, key: Symbol, value: Symbol) {
        match self.0.iter_mut().find(|(own, _)| *own == key) {
            Some((_, own)) => *own = value,
            None => self.0.push((key, value)),
        }
    }
}

impl FromIterator<(Symbol, Symbol)> for Labels {
    fn from_iter<I: IntoIterator<Item = (Symbol, Symbol)>>(pairs: I) -> Self {
        let mut labels = Self::default();
        pairs.into_iter().for_each(|(key, value)| labels.set(key, value));
        labels
    }
}

/// What a label must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: Symbol,
    /// What must hold of its value.
    pub is: Condition,
}

/// What must hold of a label's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It is one of these.
    In(Vec<Symbol>),
    /// It is none of these, or there is no such label.
    NotIn(Vec<Symbol>),
    /// There is such a label.
    Exists,
    /// There is no such label.
    DoesNotExist,
}

impl Requirement {
    /// Whether the labels are so.
    pub fn holds(&self, labels: &Labels) -> bool {
        let value = labels.get(self.key);
        match &self.is {
            Condition::In(values) => value.is_some_and(|value| values.contains(&value)),
            Condition::NotIn(values) => value.is_none_or(|value| !values.contains(&value)),
            Condition::Exists => value.is_some(),
            Condition::DoesNotExist => value.is_none(),
        }
    }
}

/// A label selector: all of its requirements hold. [`Selector::Nothing`] is one that was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Selects nothing.
    Nothing,
    /// Selects what meets every requirement; everything, if there is none.
    All(Vec<Requirement>),
}

impl Selector {
    /// Whether it selects an object with these labels.
    pub fn selects(&self, labels: &Labels) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.iter().all(|one| one.holds(labels)),
        }
    }
}

/// Nodes a pod may run on (`nodeSelector` and required node affinity): one of the terms holds as a whole; any node where there is no
/// term.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeAffinity(pub Vec<Vec<Requirement>>);

impl NodeAffinity {
    /// Whether a node with these labels is one of them.
    pub fn admits(&self, labels: &Labels) -> bool {
        self.0.is_empty() || self.0.iter().any(|term| term.iter().all(|one| one.holds(labels)))
    }
}
