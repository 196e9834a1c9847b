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

/// Index of the zone, among `zones` zones with nodes in order of their names, in which the volume of a `StatefulSet`'s pod is provisioned with
/// `Immediate` binding: zones take turns by ordinal, and a hash of the set's name says which is first (`pkg/volume/util`,
/// `ChooseZoneForVolume`). `zones` is at least 1.
pub fn choose(zones: usize, stateful_set: &str, ordinal: u32) -> usize {
    // The claim is named `<volume>-<StatefulSet>-<ordinal>`. Without the ordinal, only what follows the last dash is hashed.
    let base = stateful_set.rsplit('-').next().unwrap_or_default();
    (fnv1(base).wrapping_add(ordinal) as usize) % zones
}

/// The hash FNV-1 of 32 bits (`hash/fnv`, `New32`).
fn fnv1(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| hash.wrapping_mul(0x0100_0193) ^ u32::from(byte))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the hash's authors (Fowler, Noll, Vo: draft-eastlake-fnv, `test_fnv.c`).
    #[test]
    fn volumes_of_a_stateful_set_take_turns_over_the_zones() {
        assert_eq!([fnv1(""), fnv1("a"), fnv1("foobar")], [0x811c_9dc5, 0x050c_5d7e, 0x31f0_b262]);
        let first = choose(3, "db", 0);
        assert_eq!([1, 2, 3, 4].map(|ordinal| choose(3, "db", ordinal)), [1, 2, 0, 1].map(|k| (first + k) % 3));
        assert_eq!(choose(5, "team-a-db", 2), choose(5, "db", 2), "only what follows the last dash counts");
    }
}
