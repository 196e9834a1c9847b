//! Pods near to each other, and away from each other (`pkg/scheduler/framework/plugins/interpodaffinity`: `filtering.go`, `scoring.go`).
//!
//! Both count pods per value of a topology key: once for all nodes, and for all pods that are alike at once.

use std::collections::BTreeMap;

use super::labels::{Labels, Symbol};
use super::spread::SchedulerNode;
pub use zonefall_scenario::kube::placement::{Affinity, PodAffinity, Term};

/// A pod as far as its likes and dislikes go.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    /// Its namespace.
    pub namespace: Symbol,
    /// Its labels.
    pub labels: &'a Labels,
    /// Whom it is to be near to and away from.
    pub affinity: &'a PodAffinity,
}

/// Pods that are alike and have nodes. Those on their way out count until they are gone.
#[derive(Clone, Debug)]
pub struct Placed<'a> {
    /// What they are.
    pub pod: Pod<'a>,
    /// The node of each: a place in the list of nodes.
    pub nodes: Vec<usize>,
}

/// What the filter says of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pod fits.
    Success,
    /// A pod it must be near to is missing.
    Affinity,
    /// A pod it must be away from is there.
    AntiAffinity,
    /// A pod is there that must be away from it.
    ExistingAntiAffinity,
}

/// A required affinity of a pod that is there counts as much as a preferred one of this weight (`hardPodAffinityWeight`).
const HARD_AFFINITY_WEIGHT: i64 = 1;

/// Best score of a node.
const MOST: f64 = 100.0;

impl Pod<'_> {
    /// Whether one of its terms means another pod.
    fn means(&self, term: &Term, other: &Pod) -> bool {
        self.namespace == other.namespace && term.selector.selects(other.labels)
    }

    /// Whether it likes or dislikes another pod: where neither of two does the other, neither counts for the other's place.
    pub fn minds(&self, other: &Pod) -> bool {
        let PodAffinity { affinity: near, anti_affinity: away } = self.affinity;
        let terms = |of: &Affinity| {
            of.required.iter().any(|term| self.means(term, other)) || of.preferred.iter().any(|(_, term)| self.means(term, other))
        };
        terms(near) || terms(away)
    }

    /// Whether it is what all pods are that this one must be near to.
    fn must_be_near(&self, other: &Pod) -> bool {
        self.affinity.affinity.required.iter().all(|term| self.means(term, other))
    }
}

/// Weights by topology key and its value.
#[derive(Default)]
struct Tally(BTreeMap<Symbol, BTreeMap<Symbol, i64>>);

impl Tally {
    /// Adds `weight` at the values that a key has on the nodes of pods.
    fn add(&mut self, key: Symbol, weight: i64, pods: &Placed, nodes: &[SchedulerNode]) {
        for value in pods.nodes.iter().filter_map(|&node| nodes[node].labels.get(key)) {
            *self.0.entry(key).or_default().entry(value).or_default() += weight;
        }
    }

    /// What was added where a node is, for each key of which anything was.
    fn at(&self, node: &SchedulerNode) -> impl Iterator<Item = (Symbol, i64)> {
        self.0.iter().filter_map(|(key, values)| Some((*key, *values.get(&node.labels.get(*key)?)?)))
    }

    /// Whether anything was added where a node is, for the key of a term.
    fn is_at(&self, term: &Term, node: &SchedulerNode) -> bool {
        self.at(node).any(|(key, _)| key == term.key)
    }
}

/// Which of the nodes a pod fits: says so of any of them.
pub fn filter<'a>(
    pod: &Pod<'a>,
    placed: &[Placed<'_>],
    nodes: &[SchedulerNode<'_>],
) -> impl Fn(&SchedulerNode<'_>) -> Verdict + use<'a> {
    let PodAffinity { affinity: near, anti_affinity: away } = pod.affinity;
    let (mut wanted, mut unwanted, mut unwilling) = (Tally::default(), Tally::default(), Tally::default());
    for others in placed {
        if pod.must_be_near(&others.pod) {
            for term in &near.required {
                wanted.add(term.key, 1, others, nodes);
            }
        }
        for term in away.required.iter().filter(|term| pod.means(term, &others.pod)) {
            unwanted.add(term.key, 1, others, nodes);
        }
        for term in others.pod.affinity.anti_affinity.required.iter().filter(|term| others.pod.means(term, pod)) {
            unwilling.add(term.key, 1, others, nodes);
        }
    }
    // The first of pods that are to be near to each other may go anywhere.
    let is_first = wanted.0.is_empty() && pod.must_be_near(pod);
    move |node| match () {
        () if !near.required.iter().all(|term| node.labels.get(term.key).is_some()) => Verdict::Affinity,
        () if !is_first && !near.required.iter().all(|term| wanted.is_at(term, node)) => Verdict::Affinity,
        () if away.required.iter().any(|term| unwanted.is_at(term, node)) => Verdict::AntiAffinity,
        () if unwilling.at(node).next().is_some() => Verdict::ExistingAntiAffinity,
        () => Verdict::Success,
    }
}

/// How well the nodes suit a pod, by what it and the pods that are there would like: 0 to 100 for each of `candidates` (places in the
/// list of nodes, those that passed all filters); 0 for all where nobody cares.
pub fn score(pod: &Pod, placed: &[Placed], nodes: &[SchedulerNode], candidates: &[usize]) -> Vec<i64> {
    let mut tally = Tally::default();
    for others in placed {
        let mut add = |by: &Pod, about: &Pod, weight: i64, term: &Term| {
            if by.means(term, about) {
                tally.add(term.key, weight, others, nodes);
            }
        };
        for (by, about) in [(pod, &others.pod), (&others.pod, pod)] {
            for (weight, term) in &by.affinity.affinity.preferred {
                add(by, about, i64::from(*weight), term);
            }
            for (weight, term) in &by.affinity.anti_affinity.preferred {
                add(by, about, -i64::from(*weight), term);
            }
        }
        for term in &others.pod.affinity.affinity.required {
            add(&others.pod, pod, HARD_AFFINITY_WEIGHT, term);
        }
    }
    let sums: Vec<i64> = candidates.iter().map(|&node| tally.at(&nodes[node]).map(|(_, weight)| weight).sum()).collect();
    let least = sums.iter().min().copied().unwrap_or(0);
    let span = sums.iter().max().copied().unwrap_or(0) - least;
    let normalized = |sum: i64| if span == 0 { 0 } else { (MOST * ((sum - least) as f64 / span as f64)) as i64 };
    sums.into_iter().map(normalized).collect()
}

#[cfg(test)]
mod tests {
    use super::super::labels::{Condition, Requirement, Selector};
    use super::Verdict::{AntiAffinity, ExistingAntiAffinity, Success};
    use super::*;
    use proptest::prelude::*;

    const HOST: Symbol = Symbol::HOSTNAME;
    const ZONE: Symbol = Symbol::ZONE;
    /// Kinds of pods; a namespace.
    const WEB: Symbol = Symbol(10);
    const DB: Symbol = Symbol(11);
    const HERE: Symbol = Symbol(20);

    /// Every pod is of a kind: a label without a value.
    const NO_VALUE: Symbol = Symbol(30);

    fn of_kinds(kinds: &[Symbol]) -> Labels {
        kinds.iter().map(|kind| (*kind, NO_VALUE)).collect()
    }

    fn term(key: Symbol, kind: Symbol) -> Term {
        Term { key, selector: Selector::All(vec![Requirement { key: kind, is: Condition::Exists }]) }
    }

    fn near(required: Vec<Term>) -> PodAffinity {
        PodAffinity { affinity: Affinity { required, preferred: Vec::new() }, ..PodAffinity::default() }
    }

    fn away(required: Vec<Term>) -> PodAffinity {
        PodAffinity { anti_affinity: Affinity { required, preferred: Vec::new() }, ..PodAffinity::default() }
    }

    /// A node for each number, its zone.
    fn labels_of(zones: &[u32]) -> Vec<Labels> {
        let labels = |(host, zone): (u32, &u32)| Labels::from_iter([(HOST, Symbol(100 + host)), (ZONE, Symbol(200 + zone))]);
        (0..).zip(zones).map(labels).collect()
    }

    fn views(labels: &[Labels]) -> Vec<SchedulerNode<'_>> {
        labels.iter().map(|labels| SchedulerNode { labels, taints: &[] }).collect()
    }

    /// Labels, likes and dislikes, nodes.
    type Pods<'a> = (&'a [Symbol], &'a PodAffinity, &'a [usize]);

    /// What `judge` says of a pod of these kinds among others, all of one namespace, on two nodes in each of two zones.
    fn judged<T>(
        kinds: &[Symbol],
        affinity: &PodAffinity,
        others: &[Pods],
        judge: impl Fn(&Pod, &[Placed], &[SchedulerNode]) -> T,
    ) -> T {
        let labels: Vec<Labels> = others.iter().map(|(kinds, ..)| of_kinds(kinds)).collect();
        let all = others.iter().zip(&labels);
        let placed: Vec<Placed> = all
            .map(|((_, affinity, nodes), labels)| Placed {
                pod: Pod { namespace: HERE, labels, affinity },
                nodes: nodes.to_vec(),
            })
            .collect();
        let own = of_kinds(kinds);
        judge(&Pod { namespace: HERE, labels: &own, affinity }, &placed, &views(&labels_of(&[1, 1, 2, 2])))
    }

    fn filtered(kinds: &[Symbol], affinity: &PodAffinity, others: &[Pods]) -> Vec<Verdict> {
        judged(kinds, affinity, others, |pod, placed, nodes| nodes.iter().map(filter(pod, placed, nodes)).collect())
    }

    #[test]
    fn a_series_is_kept_in_the_zone_of_its_first() {
        let pinned = near(vec![term(ZONE, WEB)]);
        assert_eq!(filtered(&[WEB], &pinned, &[]), [Success; 4], "the first goes anywhere");
        let found = filtered(&[WEB], &pinned, &[(&[WEB], &pinned, &[3])]);
        assert_eq!(found, [Verdict::Affinity, Verdict::Affinity, Success, Success], "the second goes where the first is");
        assert_eq!(filtered(&[DB], &pinned, &[]), [Verdict::Affinity; 4], "one that is not of the series waits for its first");
    }

    #[test]
    fn a_node_without_the_key_is_near_nobody() {
        let (labels, free) = (of_kinds(&[WEB]), near(vec![term(Symbol::REGION, WEB)]));
        let pod = Pod { namespace: HERE, labels: &labels, affinity: &free };
        let nodes = labels_of(&[1]);
        let nodes = views(&nodes);
        assert_eq!(filter(&pod, &[], &nodes)(&nodes[0]), Verdict::Affinity, "not even the first may go there");
    }

    #[test]
    fn only_pods_that_meet_all_terms_are_company() {
        let both = near(vec![term(ZONE, WEB), term(HOST, DB)]);
        let none = PodAffinity::default();
        let apart: [Pods; 2] = [(&[WEB], &none, &[0]), (&[DB], &none, &[0])];
        assert_eq!(filtered(&[], &both, &apart), [Verdict::Affinity; 4]);
        let found = filtered(&[], &both, &[(&[WEB, DB], &none, &[0])]);
        assert_eq!(found, [Success, Verdict::Affinity, Verdict::Affinity, Verdict::Affinity]);
    }

    #[test]
    fn dislikes_hold_both_ways() {
        let none = PodAffinity::default();
        let (host, zone) = (away(vec![term(HOST, WEB)]), away(vec![term(ZONE, WEB)]));
        let found = filtered(&[WEB], &host, &[(&[WEB], &none, &[0, 2])]);
        assert_eq!(found, [AntiAffinity, Success, AntiAffinity, Success]);
        let found = filtered(&[WEB], &zone, &[(&[WEB], &none, &[0])]);
        assert_eq!(found, [AntiAffinity, AntiAffinity, Success, Success]);
        let found = filtered(&[WEB], &none, &[(&[DB], &zone, &[3])]);
        assert_eq!(found, [Success, Success, ExistingAntiAffinity, ExistingAntiAffinity]);
        assert_eq!(filtered(&[DB], &none, &[(&[DB], &zone, &[3])]), [Success; 4], "it dislikes others");
    }

    #[test]
    fn other_namespaces_are_nobodys_business() {
        let (labels, nodes) = (of_kinds(&[WEB]), labels_of(&[1]));
        let dislikes = away(vec![term(HOST, WEB)]);
        let pod = |namespace| Pod { namespace, labels: &labels, affinity: &dislikes };
        let nodes = views(&nodes);
        let verdict = |there| filter(&pod(HERE), &[Placed { pod: pod(there), nodes: vec![0] }], &nodes)(&nodes[0]);
        assert_eq!((verdict(HERE), verdict(Symbol(21))), (AntiAffinity, Success));
    }

    fn scored(kinds: &[Symbol], affinity: &PodAffinity, others: &[Pods], candidates: &[usize]) -> Vec<i64> {
        judged(kinds, affinity, others, |pod, placed, nodes| score(pod, placed, nodes, candidates))
    }

    #[test]
    fn preferences_of_all_are_added_up() {
        let prefers = |preferred| Affinity { required: Vec::new(), preferred };
        let (like, dislike) = (prefers(vec![(50, term(ZONE, WEB))]), prefers(vec![(100, term(HOST, WEB))]));
        let both = PodAffinity { affinity: like.clone(), anti_affinity: dislike };
        let (likes, none) = (PodAffinity { affinity: like, anti_affinity: Affinity::default() }, PodAffinity::default());
        let all = &[0, 1, 2, 3];
        // Two of the zone, one of which is on the node: 0, 100, 50 less, 0.
        assert_eq!(scored(&[DB], &both, &[(&[WEB], &none, &[0])], all), [0, 100, 50, 50]);
        assert_eq!(scored(&[WEB], &none, &[(&[DB], &likes, &[0]), (&[DB], &both, &[2])], all), [100, 100, 0, 100]);
        // A required affinity counts one, against fifty of a preferred one.
        let pinned = near(vec![term(ZONE, WEB)]);
        assert_eq!(scored(&[WEB], &none, &[(&[DB], &pinned, &[0, 0, 0])], all), [100, 100, 0, 0]);
        assert_eq!(scored(&[WEB], &none, &[(&[DB], &pinned, &[0]), (&[DB], &likes, &[2])], all), [0, 0, 100, 100]);
        assert_eq!(scored(&[DB], &none, &[(&[WEB], &both, &[0])], all), [0; 4], "nobody cares");
        assert_eq!(scored(&[DB], &both, &[(&[WEB], &none, &[0])], &[2, 1]), [0, 100], "the worst of all is no candidate");
        assert!(scored(&[DB], &both, &[], &[]).is_empty());
    }

    /// Whether a pod at `there` is near a node in the sense of a term.
    fn is_near(term: &Term, node: &Labels, there: &Labels) -> bool {
        node.get(term.key).is_some() && node.get(term.key) == there.get(term.key)
    }

    fn terms() -> impl Strategy<Value = PodAffinity> {
        let term =
            (prop::bool::ANY, 10..12_u32).prop_map(|(by_host, kind)| term(if by_host { HOST } else { ZONE }, Symbol(kind)));
        let some = || prop::collection::vec(term.clone(), 0..3);
        (some(), some()).prop_map(|(likes, dislikes)| PodAffinity { anti_affinity: away(dislikes).anti_affinity, ..near(likes) })
    }

    proptest! {
        /// Counted pod by pod and node by node it comes out the same.
        #[test]
        fn counting_is_looking(
            own in (terms(), 10..12_u32),
            others in prop::collection::vec((terms(), 10..12_u32, prop::collection::vec(0..5_usize, 0..3)), 0..4),
        ) {
            let labels: Vec<Labels> = others.iter().map(|(_, kind, _)| of_kinds(&[Symbol(*kind)])).collect();
            let placed: Vec<Placed> = others.iter().zip(&labels).map(|((affinity, _, nodes), labels)| {
                Placed { pod: Pod { namespace: HERE, labels, affinity }, nodes: nodes.clone() }
            }).collect();
            let nodes = labels_of(&[1, 1, 2, 2, 3]);
            let mine = of_kinds(&[Symbol(own.1)]);
            let pod = Pod { namespace: HERE, labels: &mine, affinity: &own.0 };
            let there: Vec<(&Pod, &Labels)> =
                placed.iter().flat_map(|one| one.nodes.iter().map(|&node| (&one.pod, &nodes[node]))).collect();
            let PodAffinity { affinity: near, anti_affinity: away } = pod.affinity;
            let company: Vec<&Labels> = there.iter().filter(|(other, _)| pod.must_be_near(other)).map(|(_, at)| *at).collect();
            let is_first = company.is_empty() && pod.must_be_near(&pod);
            let views = views(&nodes);
            let filtered = views.iter().map(filter(&pod, &placed, &views));
            for (node, found) in nodes.iter().zip(filtered) {
                let lonely = near.required.iter().any(|term| !company.iter().any(|at| is_near(term, node, at)));
                let dislikes = away.required.iter()
                    .any(|term| there.iter().any(|(other, at)| pod.means(term, other) && is_near(term, node, at)));
                let is_disliked = there.iter().any(|(other, at)| {
                    other.affinity.anti_affinity.required.iter().any(|term| other.means(term, &pod) && is_near(term, node, at))
                });
                let wanted = match () {
                    () if lonely && !is_first => Verdict::Affinity,
                    () if dislikes => AntiAffinity,
                    () if is_disliked => ExistingAntiAffinity,
                    () => Success,
                };
                prop_assert_eq!(found, wanted);
            }
        }
    }
}
