//! Volumes keep their pods in their zones (`pkg/scheduler/framework/plugins/volumezone`).

use super::labels::{Labels, Symbol};
pub use zonefall_scenario::kube::placement::{Claim, Class, Volume};

/// The keys looked at, and the key that stands for one of the old ones on a node that lacks it.
const KEYS: [(Symbol, Option<Symbol>); 4] = [
    (Symbol::BETA_ZONE, Some(Symbol::ZONE)),
    (Symbol::BETA_REGION, Some(Symbol::REGION)),
    (Symbol::ZONE, None),
    (Symbol::REGION, None),
];

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
