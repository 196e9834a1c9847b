//! Taints of nodes, and tolerations of pods (`api/core/v1/toleration.go`).

use serde::{Deserialize, Serialize};

use super::labels::Symbol;
use zonefall_kernel::time::Duration;

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// They are not placed here.
    NoSchedule,
    /// They are placed here if nowhere else.
    PreferNoSchedule,
    /// They are not placed here, and those that are here must go.
    NoExecute,
}

/// Keeps pods away from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// Key of the taint.
    pub key: Symbol,
    /// Value; `None` is the empty one.
    pub value: Option<Symbol>,
    /// What it does.
    pub effect: Effect,
}

/// What a pod puts up with. `None` is "whatever it is".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The taint's key.
    pub key: Option<Symbol>,
    /// The taint's value.
    pub value: Match,
    /// The taint's effect.
    pub effect: Option<Effect>,
    /// How long it puts up with `NoExecute`; `None` is for ever.
    pub lasts: Option<Duration>,
}

/// Operator of a toleration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// Any value (`Exists`).
    Exists,
    /// This value (`Equal`); `None` is the empty one.
    Equal(Option<Symbol>),
}

impl Toleration {
    /// Whether it is about this taint.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let value = match self.value {
            Match::Exists => true,
            Match::Equal(value) => value == taint.value,
        };
        value && self.key.is_none_or(|key| key == taint.key) && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

/// Whether pods with these tolerations may be placed on a node with these taints.
pub(crate) fn are_tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    let mut repelling = taints.iter().filter(|taint| taint.effect != Effect::PreferNoSchedule);
    repelling.all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}
