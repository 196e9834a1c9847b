//! What a pod says of where it may run: how its kind is spread, which volumes it claims.

use super::labels::{Selector, Symbol};

/// One constraint of a pod, of those that must hold (`DoNotSchedule`) or of those that should (`ScheduleAnyway`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The node label whose values are the domains (`topologyKey`).
    pub key: Symbol,
    /// How far domains may differ, from 1.
    pub max_skew: u64,
    /// Which pods are counted.
    pub selector: Selector,
    /// Of its own workload, only pods of its own revision (`gardener.cloud/rolloutVersion`, `matchLabelKeys: [pod-template-hash]`):
    /// those that a roll-out is about to replace count no more.
    pub per_rollout: bool,
    /// With fewer domains than this the fewest is taken to be none, from 1.
    pub min_domains: u64,
    /// Nodes the pod may not run on are left out (`nodeAffinityPolicy: Honor`, the default).
    pub honors_affinity: bool,
    /// Nodes whose taints the pod does not tolerate are left out (`nodeTaintsPolicy: Honor`; the default is `Ignore`).
    pub honors_taints: bool,
}

/// A claim of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Bound to a volume.
    Bound(Volume),
    /// Not bound, of this class.
    Unbound(Class),
}

/// A volume's topology: for some of the four keys, the values one of which a node must have. (A label of several values is split at
/// `__`.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume(pub Vec<(Symbol, Vec<Symbol>)>);

/// The storage class of a claim that is not bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It names none.
    None,
    /// It names one that does not exist.
    Missing,
    /// A volume is made at once: it should have been there.
    Immediate,
    /// A volume is made where the pod is placed.
    WaitForFirstConsumer,
}

/// Pods that a pod is to be near to or away from: those that are selected, of its own namespace (`PodAffinityTerm`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The node label whose equal values mean "near" (`topologyKey`).
    pub key: Symbol,
    /// Which pods are meant.
    pub selector: Selector,
}

/// Terms of a pod, all of one kind: to be near, or to be away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity {
    /// Those that must hold (`requiredDuringSchedulingIgnoredDuringExecution`).
    pub required: Vec<Term>,
    /// Those that should, with their weights, 1 to 100 (`preferredDuringSchedulingIgnoredDuringExecution`).
    pub preferred: Vec<(u32, Term)>,
}

/// Which pods a pod is to be near to, and which away from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAffinity {
    /// Near (`podAffinity`).
    pub affinity: Affinity,
    /// Away (`podAntiAffinity`).
    pub anti_affinity: Affinity,
}

impl Affinity {
    const fn is_empty(&self) -> bool {
        self.required.is_empty() && self.preferred.is_empty()
    }
}

impl PodAffinity {
    /// Whether it says nothing.
    pub const fn is_empty(&self) -> bool {
        self.affinity.is_empty() && self.anti_affinity.is_empty()
    }
}
