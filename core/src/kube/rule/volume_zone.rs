//! Volumes keep their pods in their zones (`pkg/scheduler/framework/plugins/volumezone`).

use super::labels::{Labels, Symbol};

/// The keys looked at, and the key that stands for one of the old ones on a node that lacks it.
const KEYS: [(Symbol, Option<Symbol>); 4] = [
    (Symbol::BETA_ZONE, Some(Symbol::ZONE)),
    (Symbol::BETA_REGION, Some(Symbol::REGION)),
    (Symbol::ZONE, None),
    (Symbol::REGION, None),
];

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

/// Whether a pod with this volume may run on a node with these labels.
pub fn admits(volume: &Volume, node: &Labels) -> bool {
    if KEYS.iter().all(|(key, _)| node.get(*key).is_none()) {
        return true;
    }
    volume.0.iter().all(|(key, values)| {
        let newer = KEYS.iter().find(|(own, _)| own == key).and_then(|(_, newer)| *newer);
        let value = node.get(*key).or_else(|| node.get(newer?));
        value.is_some_and(|value| values.contains(&value))
    })
}

/// What the filter says of a pod's claims on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to look at, or decided later.
    Skip,
    /// It may run here.
    Fits,
    /// It may not, whatever happens to other pods.
    Rejected,
}

/// The filter: every claim must fit.
pub fn filter(claims: &[Claim], node: &Labels) -> Verdict {
    let of = |claim: &Claim| match claim {
        Claim::Bound(volume) if volume.0.is_empty() => Verdict::Skip,
        Claim::Bound(volume) if admits(volume, node) => Verdict::Fits,
        Claim::Unbound(Class::WaitForFirstConsumer) => Verdict::Skip,
        Claim::Bound(_) | Claim::Unbound(_) => Verdict::Rejected,
    };
    let verdicts = claims.iter().map(of);
    verdicts.fold(Verdict::Skip, |worst, one| match (worst, one) {
        (Verdict::Rejected, _) | (_, Verdict::Rejected) => Verdict::Rejected,
        (Verdict::Fits, _) | (_, Verdict::Fits) => Verdict::Fits,
        _ => Verdict::Skip,
    })
}
