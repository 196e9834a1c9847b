//! Which nodes suit a workload by their labels and size, in words of the file.

use std::collections::BTreeSet;

use super::workload::PlannedComponent;
use crate::error::{one_of, quote};
use crate::ids::NodeKey;
use crate::kube::autoscaler::Sizing;
use crate::kube::gardener::Pool;
use crate::kube::labels::{NodeAffinity, Symbol};
use crate::kube::taints::are_tolerated;
use crate::kube::volume::VolumeSource;
use crate::kube::{Component, Kind, KubeClusterSpec, MachineDeployment, NodeSpec, NodeTemplate, Workload};
use crate::lowering::{CheckCtx, ClusterDraft};
use crate::units::Size;

/// Warns where pods would wait for ever: of the nodes of the start and those that the cluster could get, none suits their node affinity,
/// or none of these has taints that they tolerate, or none is large enough; or there are too few zones of these.
pub(super) fn warn(ctx: &mut CheckCtx<'_>, of: &str, component: &PlannedComponent<'_>, workload: &Workload, site: &ClusterDraft) {
    let (cluster, affinity) = (&site.cluster, &workload.affinity);
    let there = cluster.nodes.iter().filter(|node| affinity.admits(&node.template.labels)).map(|node| &node.template);
    let may_come = |deployment: &&MachineDeployment| may_grow(deployment, cluster) && admits_new(affinity, deployment);
    let coming = cluster.machine_deployments.iter().filter(may_come).map(|deployment| &deployment.template);
    let mut suitable: Vec<&NodeTemplate> = there.chain(coming).collect();
    let path = component.path(of);
    if suitable.is_empty() {
        return warn_of_affinity(ctx, &path, component, cluster);
    }
    let place = format!("that is in {} or can come", quote(&cluster.name));
    suitable.retain(|template| are_tolerated(&template.taints, &workload.tolerations));
    if suitable.is_empty() {
        let expected = format!("taints of a node {place}: its pods find no node");
        return ctx.warn(&format!("{path}.tolerates"), "those of no node that suits it otherwise", expected);
    }
    suitable.retain(|template| workload.requests.fits(&template.allocatable));
    if suitable.is_empty() {
        let found = format!("{} CPUs and {}", workload.requests.cpu_milli as f64 / 1_000.0, Size(workload.requests.memory));
        let expected = format!("requests of a pod that fit onto an empty node {place}: its pods find no node");
        return ctx.warn(&path, found, expected);
    }
    warn_of_zones(ctx, &path, workload, cluster, &suitable);
}

fn warn_of_affinity(ctx: &mut CheckCtx<'_>, path: &str, component: &PlannedComponent<'_>, cluster: &KubeClusterSpec) {
    match (component.node_affinity_terms(), component.pool()) {
        ([], None) if component.raw.is_none() => {}
        ([], None) => {
            let expected = format!("a pool of {} that has a node or can get one: its pods find no node", quote(&cluster.name));
            ctx.warn(path, "none", expected);
        }
        ([], Some(pool)) => {
            let expected = "a pool that has a node or can get one: its pods find no node";
            ctx.warn(&format!("{path}.pool"), quote(pool), expected);
        }
        (terms, pool) => {
            let among = pool.map_or_else(String::new, |pool| format!(" of its pool {}", quote(pool)));
            let expected =
                format!("labels of a node{among} that is in {} or can come: its pods find no node", quote(&cluster.name));
            ctx.warn(&format!("{path}.node_affinity"), one_of(terms.iter().map(String::as_str)), expected);
        }
    }
}

/// Warns of pods that must not share a zone where there are more of them than zones, and of volumes in zones without a node for their pod.
fn warn_of_zones(ctx: &mut CheckCtx<'_>, path: &str, workload: &Workload, cluster: &KubeClusterSpec, suitable: &[&NodeTemplate]) {
    let zone_of = |template: &NodeTemplate| template.labels.get(Symbol::ZONE);
    let zones: BTreeSet<Symbol> = suitable.iter().filter_map(|template| zone_of(template)).collect();
    let mut apart = workload.pod_affinity.anti_affinity.required.iter();
    let is_apart = apart.any(|term| term.key == Symbol::ZONE && term.selector.selects(&workload.labels));
    if is_apart && workload.kind != Kind::DaemonSet && workload.replicas as usize > zones.len() {
        let expected =
            format!("at most {}, the zones of nodes that suit it: of more pods than that some find no node", zones.len());
        ctx.warn(&format!("{path}.replicas"), format!("{} that must not share a zone", workload.replicas), expected);
    }
    if workload.volume.is_some_and(|volume| volume.source == VolumeSource::Immediate) {
        let workers = cluster.nodes.iter().filter(|node| !cluster.control_plane.contains(&node.node));
        let mut provisioned: BTreeSet<Symbol> = workers.filter_map(|node| zone_of(&node.template)).collect();
        if provisioned.is_empty() {
            provisioned.extend(cluster.machine_deployments.iter().filter_map(|deployment| zone_of(&deployment.template)));
        }
        // Volumes take turns over the zones.
        let used = (workload.replicas as usize).min(provisioned.len());
        if used > provisioned.intersection(&zones).count() {
            let expected = "wait_for_first_consumer: volumes are provisioned in zones without a node that suits it, too, and their pods find none";
            ctx.warn(&format!("{path}.volume_binding"), "immediate", expected);
        }
    }
}

/// What a node that suits the workload would have that this one does not have; `None`: it suits.
pub(super) fn misfit(
    component: &PlannedComponent<'_>,
    workload: &Workload,
    node: NodeKey,
    site: &ClusterDraft,
) -> Option<String> {
    let of_pool = |pool: &&str| site.pools.get(pool).is_some_and(|pool| is_of_pool(&site.cluster.nodes[node], pool, site));
    if let Some(pool) = component.pool().filter(|pool| !of_pool(pool)) {
        return Some(format!("a node of its `pool` {}", quote(pool)));
    }
    if !site.admits(workload, node) {
        let terms = one_of(component.node_affinity_terms().iter().map(String::as_str));
        return Some(format!("a node with labels that its `node_affinity` asks for, {terms}"));
    }
    let expected = "a node whose taints it tolerates (`tolerates`)";
    (!site.tolerates(workload, node)).then(|| expected.to_owned())
}

/// Whether a node is of the pool at this place in the file.
fn is_of_pool(node: &NodeSpec, pool: usize, site: &ClusterDraft) -> bool {
    let Pool { first, zones, .. } = site.seed.pools[pool];
    let share = node.machine.map(|machine| u32::from(machine.deployment.0));
    share.is_some_and(|share| (u32::from(first.0)..u32::from(first.0) + zones).contains(&share))
}

/// Whether a machine deployment can get nodes that it does not have at the start.
fn may_grow(deployment: &MachineDeployment, cluster: &KubeClusterSpec) -> bool {
    let has = |component| cluster.components.contains(&component);
    // The other strategies lend nodes to groups that have no share of the maximum.
    let maximum = if cluster.sizing() == Sizing::Static { deployment.maximum } else { deployment.pool.maximum };
    let by_controllers = deployment.minimum > 0 || has(Component::Autoscaler) && maximum > 0;
    deployment.added || has(Component::MachineControllerManager) && by_controllers
}

/// Whether a node that a machine deployment gets later suits, whose host name no file can know.
fn admits_new(affinity: &NodeAffinity, deployment: &MachineDeployment) -> bool {
    let mut labels = deployment.template.labels.clone();
    labels.set(Symbol::HOSTNAME, Symbol::host(NodeKey(0)));
    affinity.admits(&labels)
}
