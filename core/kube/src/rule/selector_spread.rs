//! Selector spread: the scheduler prefers nodes, and zones more than nodes, that have fewer pods of the same Services and controller
//! (`pkg/scheduler/framework/plugins/selectorspread`, with `helper/spread.go`; removed in kubernetes#117720, after topology spread had
//! replaced it).
//!
//! ```text
//!  score of a node = 100 x (most - own pods) / most
//!  with zones:       a third of that + two thirds of 100 x (most of a zone - pods of its zone) / most of a zone
//! ```

use std::collections::BTreeMap;

use super::labels::{Condition, Labels, Requirement, Selector, Symbol};

/// Part of the score that a node's zone decides.
const ZONE_WEIGHT: f64 = 2.0 / 3.0;

/// Best score of a node.
const MOST: f64 = 100.0;

/// A node that passed all filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<Z> {
    /// Its pods that the pod's selector selects: in the pod's namespace, and not terminating.
    pub pods: u64,
    /// Its zone, if it has one.
    pub zone: Option<Z>,
}

/// What selects the pods that a pod keeps away from: the labels of every Service that selects it (`services`, of its namespace) and the
/// selector of its controller (a `ReplicationController`, `ReplicaSet` or `StatefulSet`) together; nothing, where neither asks for any
/// label.
pub fn selector<'a>(labels: &Labels, services: impl IntoIterator<Item = &'a [Requirement]>, owner: &[Requirement]) -> Selector {
    let selects = |service: &&[Requirement]| service.iter().all(|one| one.holds(labels));
    let mut all: Vec<Requirement> = services.into_iter().filter(selects).flatten().cloned().collect();
    all.extend_from_slice(owner);
    if all.is_empty() { Selector::Nothing } else { Selector::All(all) }
}

/// A label that must have this value.
pub fn is(key: Symbol, value: Symbol) -> Requirement {
    Requirement { key, is: Condition::In(vec![value]) }
}

/// How well each of the candidates suits the pod, from 0 to 100. (A pod with spread constraints of its own is not scored.)
pub fn scores<Z: Copy + Ord>(candidates: &[Candidate<Z>]) -> Vec<i64> {
    let mut zones: BTreeMap<Z, u64> = BTreeMap::new();
    for candidate in candidates {
        if let Some(zone) = candidate.zone {
            *zones.entry(zone).or_default() += candidate.pods;
        }
    }
    let most = candidates.iter().map(|candidate| candidate.pods).max().unwrap_or(0);
    let most_of_a_zone = zones.values().copied().max().unwrap_or(0);
    let score = |candidate: &Candidate<Z>| {
        let node = emptiness(candidate.pods, most);
        candidate.zone.map_or(node, |zone| node * (1.0 - ZONE_WEIGHT) + ZONE_WEIGHT * emptiness(zones[&zone], most_of_a_zone))
    };
    candidates.iter().map(|candidate| score(candidate) as i64).collect()
}

/// 100 for none, 0 for the most of all.
fn emptiness(pods: u64, most: u64) -> f64 {
    if most == 0 { MOST } else { MOST * ((most - pods) as f64 / most as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(pods: u64, zone: u8) -> Candidate<u8> {
        Candidate { pods, zone: Some(zone) }
    }

    #[test]
    fn an_empty_zone_beats_an_empty_node_of_a_zone_with_pods() {
        assert_eq!(scores(&[node(0, 0), node(2, 1), node(0, 1)]), [100, 0, 33]);
        assert_eq!(scores(&[node(1, 0), node(1, 1), node(0, 1)]), [0, 0, 33], "two zones with a pod each are alike");
    }

    #[test]
    fn a_selector_without_labels_selects_nothing() {
        let pod = Labels::from_iter([(Symbol(20), Symbol(21))]);
        let other = [is(Symbol(20), Symbol(22))];
        assert_eq!(selector(&pod, [other.as_slice()], &[]), Selector::Nothing, "a Service of other pods");
        let own = [is(Symbol(20), Symbol(21))];
        assert_eq!(selector(&pod, [own.as_slice(), &other], &[]), Selector::All(own.to_vec()));
        assert_eq!(selector(&pod, [own.as_slice()], &own), Selector::All([own.clone(), own].concat()));
    }

    proptest! {
        #[test]
        fn scores_are_those_of_exact_fractions_cut_to_whole_numbers(
            nodes in prop::collection::vec((0..6_u64, prop::option::of(0..3_u8)), 1..9),
        ) {
            let candidates: Vec<Candidate<u8>> = nodes.into_iter().map(|(pods, zone)| Candidate { pods, zone }).collect();
            let most = candidates.iter().map(|node| node.pods).max().unwrap_or(0);
            let of_zone = |zone| candidates.iter().filter(|node| node.zone == Some(zone)).map(|node| node.pods).sum::<u64>();
            let most_of_a_zone = (0..3).map(of_zone).max().unwrap_or(0);
            for (node, found) in candidates.iter().zip(scores(&candidates)) {
                // Numerators and denominators, so that nothing is rounded: (a / b + 2 c / d) / 3.
                let part = |own: u64, most: u64| if most == 0 { (100, 1) } else { (100 * (most - own), most) };
                let (a, b) = part(node.pods, most);
                let (numerator, denominator) = match node.zone {
                    None => (a, b),
                    Some(zone) => {
                        let (c, d) = part(of_zone(zone), most_of_a_zone);
                        (a * d + 2 * c * b, 3 * b * d)
                    }
                };
                let exact = (numerator / denominator) as i64;
                // Floating point may cut a whole number to the one below.
                let is_whole = numerator % denominator == 0;
                prop_assert!(found == exact || is_whole && found == exact - 1, "found {}, exact {}", found, exact);
            }
        }

        #[test]
        fn one_pod_more_makes_no_node_better_than_it_was_beside_the_others(
            pods in prop::collection::vec(0..6_u64, 2..7),
            k in 0..2_usize,
        ) {
            let candidates = |pods: &[u64]| pods.iter().map(|pods| Candidate::<u8> { pods: *pods, zone: None }).collect::<Vec<_>>();
            let before = scores(&candidates(&pods));
            let mut more = pods.clone();
            more[k] += 1;
            let after = scores(&candidates(&more));
            for other in 0..pods.len() {
                prop_assert!(other == k || before[k] > before[other] || after[k] <= after[other]);
            }
        }
    }
}
