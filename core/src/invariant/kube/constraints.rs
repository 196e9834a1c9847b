//! Required constraints hold when a pod is bound: topology spread that must hold (`DoNotSchedule`) and required anti-affinity (GEP-20,
//! section "Scheduling Control Plane Components"), both counted anew. What is only preferred may not hold, and what held may cease to.

use std::collections::BTreeMap;

use super::objects::Node;
use super::{Property, View};
use crate::ids::WorkloadId;
use crate::kernel::time::Time;
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::rule::labels::{Selector, Symbol};
use crate::kube::rule::spread::Constraint;
use crate::kube::rule::taints::forbidding;
use crate::kube::spec::{Kind, Workload};

/// Needs no memory but the objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints;

/// The workloads of a namespace whose pods are selected.
fn selected<'a>(
    namespace: Symbol,
    selector: &'a Selector,
    view: &'a View<'_>,
) -> impl Iterator<Item = (WorkloadId, &'a Workload)> {
    view.workloads().filter(move |(_, other)| other.namespace == namespace && selector.selects(&other.labels))
}

/// Whether a node's domain is one of those that are compared.
fn is_eligible(node: &Node, constraint: &Constraint, workload: &Workload) -> bool {
    workload.spread.iter().all(|one| node.labels.get(one.key).is_some())
        && (!constraint.honors_affinity || workload.affinity.admits(&node.labels))
        && (!constraint.honors_taints || forbidding(&node.taints, &workload.tolerations).is_none())
}

/// How many more pods the domain has than the one with the fewest, with one more there.
fn skew(name: PodName, constraint: &Constraint, domain: Symbol, view: &View<'_>) -> u64 {
    let mut counts: BTreeMap<Symbol, u64> = BTreeMap::new();
    let (objects, workload) = (view.objects(), view.workload(name));
    let own_revision = objects.pods.get(&name).map(|pod| pod.revision);
    let eligible = |node: &Node| is_eligible(node, constraint, workload).then(|| node.labels.get(constraint.key)).flatten();
    for node in objects.nodes.values() {
        counts.extend(eligible(node).map(|domain| (domain, counts.get(&domain).copied().unwrap_or(0))));
    }
    for (id, _) in selected(workload.namespace, &constraint.selector, view) {
        let is_other = |revision| constraint.per_rollout && id == name.workload && Some(revision) != own_revision;
        for (_, pod) in objects.pods_of(id).filter(|(_, pod)| !pod.terminating && !is_other(pod.revision)) {
            if let Some(domain) = objects.node_of(pod).and_then(eligible) {
                *counts.entry(domain).or_default() += 1;
            }
        }
    }
    let enough = counts.len() as u64 >= constraint.min_domains;
    let fewest = counts.values().min().filter(|_| enough).copied().unwrap_or(0);
    let own = u64::from(constraint.selector.selects(&workload.labels));
    (counts.get(&domain).copied().unwrap_or(0) + own).saturating_sub(fewest)
}

fn spread(name: PodName, node: &Node, view: &View<'_>) -> Result<(), String> {
    let workload = view.workload(name);
    for constraint in &workload.spread {
        let Some(domain) = node.labels.get(constraint.key) else {
            return Err(format!("{} is bound to a node that lacks a topology key", view.pod(name)));
        };
        let skew = skew(name, constraint, domain, view);
        if skew > constraint.max_skew {
            return Err(format!(
                "{} increases the skew of its domain to {skew}; the maximum is {}",
                view.pod(name),
                constraint.max_skew
            ));
        }
    }
    Ok(())
}

/// Neither may the pod be near to those it must be away from, nor those be that must be away from it.
fn apart(name: PodName, at: NodeName, node: &Node, view: &View<'_>) -> Result<(), String> {
    let (objects, workload) = (view.objects(), view.workload(name));
    for (id, other) in view.workloads() {
        if other.namespace != workload.namespace {
            continue;
        }
        let own = workload.pod_affinity.anti_affinity.required.iter().filter(|term| term.selector.selects(&other.labels));
        let theirs = other.pod_affinity.anti_affinity.required.iter().filter(|term| term.selector.selects(&workload.labels));
        let domains: Vec<_> = own.chain(theirs).filter_map(|term| Some((term.key, node.labels.get(term.key)?))).collect();
        if domains.is_empty() {
            continue;
        }
        let is_near = |there: &Node| domains.iter().any(|(key, domain)| there.labels.get(*key) == Some(*domain));
        if let Some((near, _)) = objects.pods_of(id).find(|(_, pod)| objects.node_of(pod).is_some_and(is_near)) {
            return Err(format!(
                "{} is bound to {}, against its anti-affinity to {}",
                view.pod(name),
                view.node(at),
                view.pod(near)
            ));
        }
    }
    Ok(())
}

impl Property for Constraints {
    const NAME: &'static str = "required constraints hold when bound";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        let KubeRecord::Pod(name, PodFact::Bound(at)) = *fact else { return Ok(()) };
        let Some(node) = view.objects().nodes.get(&at) else { return Ok(()) };
        // Nobody asks a scheduler where an agent is to be, nor where the scenario's own pods are at the start.
        let workload = view.workload(name);
        let is_given = view.at == Time::ZERO && workload.placed.iter().any(|(tag, _)| *tag == name.tag);
        if workload.kind == Kind::DaemonSet || is_given {
            return Ok(());
        }
        spread(name, node, view)?;
        apart(name, at, node, view)
    }
}
