//! Taints of nodes, and what pods tolerate (`component-helpers/scheduling/corev1`, `api/core/v1/toleration.go`,
//! `pkg/controller/tainteviction`).

use super::labels::Symbol;
use crate::kernel::time::Duration;

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// They are not placed here.
    NoSchedule,
    /// They are placed here if nowhere else.
    PreferNoSchedule,
    /// They are not placed here, and those that are here must go.
    NoExecute,
}

/// Keeps pods away from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Key.
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

/// The first taint that keeps a pod from being placed on a node.
pub fn forbidding<'a>(taints: &'a [Taint], tolerations: &[Toleration]) -> Option<&'a Taint> {
    let forbids = |taint: &&Taint| taint.effect != Effect::PreferNoSchedule;
    taints.iter().filter(forbids).find(|taint| !tolerations.iter().any(|own| own.tolerates(taint)))
}

/// How a pod leaves a node because of its `NoExecute` taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// It stays.
    Forever,
    /// It goes after so long: zero where a taint is not tolerated at all.
    For(Duration),
}

/// How long a pod stays on a node with these taints. Of the tolerations, the first that fits a taint counts; the most impatient of
/// these decides.
pub fn stay(taints: &[Taint], tolerations: &[Toleration]) -> Stay {
    let mut least = Stay::Forever;
    for taint in taints.iter().filter(|taint| taint.effect == Effect::NoExecute) {
        let lasts = tolerations.iter().find(|own| own.tolerates(taint)).map_or(Some(Duration::ZERO), |used| used.lasts);
        least = match (least, lasts) {
            (stay, None) => stay,
            (Stay::Forever, Some(lasts)) => Stay::For(lasts),
            (Stay::For(stay), Some(lasts)) => Stay::For(stay.min(lasts)),
        };
    }
    least
}
