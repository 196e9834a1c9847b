//! Pod topology spread (`pkg/scheduler/framework/plugins/podtopologyspread`: `filtering.go`, `scoring.go`, `common.go`).
//!
//! ```text
//!  skew of a node = matching pods in its domain + 1 if the incoming pod matches - fewest matching pods in any domain
//! ```

use std::collections::BTreeMap;

use super::labels::{Labels, NodeAffinity, Selector, Symbol};
use super::taints::{self, Taint, Toleration};
pub use zonefall_scenario::kube::placement::Constraint;

/// A node as far as spreading goes.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerNode<'a> {
    /// Its labels.
    pub labels: &'a Labels,
    /// Its taints.
    pub taints: &'a [Taint],
}

/// A pod that has a node.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerPod<'a> {
    /// Its node: a place in the list of nodes.
    pub node: usize,
    /// Its namespace.
    pub namespace: Symbol,
    /// Its labels.
    pub labels: &'a Labels,
    /// Its workload's revision.
    pub revision: u32,
    /// It is terminating.
    pub terminating: bool,
}

/// The pod to be placed.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Its namespace.
    pub namespace: Symbol,
    /// Its labels.
    pub labels: &'a Labels,
    /// Its workload's revision.
    pub revision: u32,
    /// Where it may run.
    pub affinity: &'a NodeAffinity,
    /// What it tolerates.
    pub tolerations: &'a [Toleration],
}

/// What a filter says of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pod fits.
    Success,
    /// It does not; it might, were other pods not there.
    Unschedulable,
    /// It does not, whatever happens to pods: the node lacks a topology key.
    UnschedulableAndUnresolvable,
}

impl Incoming<'_> {
    /// Whether a node's pods are counted for a constraint.
    fn counts(&self, constraint: &Constraint, node: &SchedulerNode) -> bool {
        (!constraint.honors_affinity || self.affinity.admits(node.labels))
            && (!constraint.honors_taints || taints::forbidding(node.taints, self.tolerations).is_none())
    }

    /// Matching pods per node.
    fn matching(&self, constraint: &Constraint, nodes: usize, pods: &[SchedulerPod]) -> Vec<u64> {
        let mut matching = vec![0; nodes];
        for pod in pods {
            let matches = !pod.terminating
                && pod.namespace == self.namespace
                && (!constraint.per_rollout || pod.revision == self.revision)
                && constraint.selector.selects(pod.labels);
            matching[pod.node] += u64::from(matches);
        }
        matching
    }
}

fn has_all_keys(node: &SchedulerNode, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|constraint| node.labels.get(constraint.key).is_some())
}

/// How pods are spread that say nothing of it, and which this selects (`systemDefaultConstraints`): as well as can be. The selector of a
/// ReplicaSet names the hash of its template (`DefaultSelector`): then only pods of one rollout count (`per_rollout`).
pub fn system_defaults(selector: &Selector, per_rollout: bool) -> [Constraint; 2] {
    [(Symbol::HOSTNAME, 3), (Symbol::ZONE, 5)].map(|(key, max_skew)| Constraint {
        key,
        max_skew,
        selector: selector.clone(),
        per_rollout,
        min_domains: 1,
        honors_affinity: true,
        honors_taints: false,
    })
}

/// Which of the nodes a pod fits whose `constraints` must hold; one verdict per node.
pub fn filter(pod: &Incoming, constraints: &[Constraint], nodes: &[SchedulerNode], pods: &[SchedulerPod]) -> Vec<Verdict> {
    let mut verdicts = vec![Verdict::Success; nodes.len()];
    for constraint in constraints {
        let matching = pod.matching(constraint, nodes.len(), pods);
        let mut domains: BTreeMap<Symbol, u64> = BTreeMap::new();
        for (node, matching) in nodes.iter().zip(&matching) {
            if let Some(domain) = node.labels.get(constraint.key)
                && has_all_keys(node, constraints)
                && pod.counts(constraint, node)
            {
                *domains.entry(domain).or_default() += matching;
            }
        }
        let enough = domains.len() as u64 >= constraint.min_domains;
        let fewest = domains.values().min().filter(|_| enough).copied().unwrap_or(0);
        let own = u64::from(constraint.selector.selects(pod.labels));
        for (node, verdict) in nodes.iter().zip(&mut verdicts) {
            match node.labels.get(constraint.key) {
                _ if *verdict != Verdict::Success => {}
                None => *verdict = Verdict::UnschedulableAndUnresolvable,
                Some(domain) => {
                    let there = domains.get(&domain).copied().unwrap_or(0);
                    if there + own > fewest + constraint.max_skew {
                        *verdict = Verdict::Unschedulable;
                    }
                }
            }
        }
    }
    verdicts
}

/// Best score of a node.
const MOST: i64 = 100;

/// How well the nodes suit a pod whose `constraints` should hold: 0 to 100 for each of `candidates` (places in the list of nodes, those
/// that passed all filters). `require_all_keys` is off for the scheduler's own constraints, which it gives pods that have none.
pub fn score(
    pod: &Incoming,
    constraints: &[Constraint],
    require_all_keys: bool,
    nodes: &[SchedulerNode],
    candidates: &[usize],
    pods: &[SchedulerPod],
) -> Vec<i64> {
    let takes_part = |node: &SchedulerNode| !require_all_keys || has_all_keys(node, constraints);
    let judged: Vec<usize> = candidates.iter().copied().filter(|&node| takes_part(&nodes[node])).collect();
    let mut raw = vec![0.0; nodes.len()];
    for constraint in constraints {
        let matching = pod.matching(constraint, nodes.len(), pods);
        let is_hostname = constraint.key == Symbol::HOSTNAME;
        let value = |node: usize| nodes[node].labels.get(constraint.key);
        let mut domains: BTreeMap<Symbol, u64> = BTreeMap::new();
        // By host name each node is a domain of its own.
        if !is_hostname {
            domains.extend(judged.iter().filter_map(|&node| Some((value(node)?, 0))));
            for (node, view) in nodes.iter().enumerate() {
                if takes_part(view)
                    && pod.counts(constraint, view)
                    && let Some(count) = value(node).and_then(|domain| domains.get_mut(&domain))
                {
                    *count += matching[node];
                }
            }
        }
        let size = if is_hostname { judged.len() } else { domains.len() };
        let weight = libm::log(size as f64 + 2.0);
        for &node in &judged {
            if let Some(domain) = value(node) {
                let there = if is_hostname { matching[node] } else { domains[&domain] };
                raw[node] += there as f64 * weight + (constraint.max_skew - 1) as f64;
            }
        }
    }
    let rounded = |node: usize| libm::round(raw[node]) as i64;
    let least = judged.iter().map(|&node| rounded(node)).min().unwrap_or(0);
    let most = judged.iter().map(|&node| rounded(node)).max().unwrap_or(0);
    let normalized = |node: usize| match () {
        () if !takes_part(&nodes[node]) => 0,
        () if most == 0 => MOST,
        () => MOST * (most + least - rounded(node)) / most,
    };
    candidates.iter().map(|&node| normalized(node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_scenario::ids::NodeKey;

    /// One zone was away: all pods of the old revision are in the two others.
    #[test]
    fn only_pods_of_one_replica_set_count_by_default() {
        let labels = [0, 1, 2].map(|zone| {
            let mut labels = Labels::default();
            labels.set(Symbol::ZONE, Symbol(100 + zone));
            labels.set(Symbol::HOSTNAME, Symbol::host(NodeKey(zone)));
            labels
        });
        let nodes = labels.each_ref().map(|labels| SchedulerNode { labels, taints: &[] });
        let own = Labels::default();
        let pod = |node, revision| SchedulerPod { node, namespace: Symbol(1), labels: &own, revision, terminating: false };
        let pods = [pod(1, 0), pod(1, 0), pod(2, 0), pod(2, 0), pod(0, 1)];
        let affinity = NodeAffinity::default();
        let incoming = Incoming { namespace: Symbol(1), labels: &own, revision: 1, affinity: &affinity, tolerations: &[] };
        let scores = |per_rollout| {
            let constraints = system_defaults(&Selector::All(Vec::new()), per_rollout);
            score(&incoming, &constraints, false, &nodes, &[0, 1, 2], &pods)
        };
        let [first, second, third] = scores(true)[..] else { panic!("three nodes") };
        assert!(first < second && second == third, "the first has a pod of this revision");
        assert!(scores(false)[0] > scores(false)[1]);
    }
}
