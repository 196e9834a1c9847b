//! Components as workloads of their clusters, with the pods that the file puts onto nodes.

use std::collections::BTreeMap;

use super::suitable;
use super::workload::{PlannedComponent, WorkloadContext};
use crate::error::quote;
use crate::ids::{NodeKey, WorkloadId};
use crate::kube::name::PodTag;
use crate::kube::{Kind, Workload};
use crate::lowering::{CheckCtx, ClusterDraft, ClusterDrafts};
use crate::units::Size;

/// A component more in a seed.
pub(super) fn deploy(
    ctx: &mut CheckCtx<'_>,
    lowering: &mut ClusterDrafts,
    s: usize,
    path: &str,
    home: &WorkloadContext,
    component: PlannedComponent<'_>,
) -> Option<WorkloadId> {
    let mut site = lowering.clusters.remove(s);
    let mut workload = component.workload(ctx, lowering, path, home, &site);
    let fits = lowering.has_pod_capacity(ctx, &component.path(path), u64::from(workload.replicas));
    let id = site.cluster.workloads.next_key();
    if fits {
        if workload.replicas > 0 || workload.kind == Kind::DaemonSet {
            suitable::warn(ctx, path, &component, &workload, &site);
        }
        component.give(ctx, path, &mut workload, &mut site);
        site.cluster.workloads.push(workload);
    }
    lowering.clusters.insert(s, site);
    fits.then_some(id)
}

impl PlannedComponent<'_> {
    /// Puts the pods that the file gives onto their nodes.
    fn give(&self, ctx: &mut CheckCtx<'_>, of: &str, workload: &mut Workload, site: &mut ClusterDraft) {
        let Some((_, raw)) = self.raw else { return };
        let mut seen = BTreeMap::new();
        for (p, pod) in raw.pods.iter().enumerate() {
            let path = format!("{}.pods[{p}]", self.path(of));
            let name = pod.name.as_str();
            let tag = PodTag::parse(workload.kind, &workload.name, name);
            match tag {
                None => ctx.error(&format!("{path}.name"), quote(name), form(workload)),
                Some(PodTag::Ordinal(ordinal)) if ordinal >= workload.replicas => {
                    let expected = format!("a pod of its {} replicas, numbered from 0", workload.replicas);
                    ctx.error(&format!("{path}.name"), quote(name), expected);
                }
                Some(tag) => {
                    if let Some(first) = seen.insert(tag, p) {
                        let expected = format!("a name that no other pod has: pods[{first}] has it");
                        ctx.error(&format!("{path}.name"), format!("{} again", quote(name)), expected);
                    }
                }
            }
            let node = site.nodes.find(ctx, &format!("{path}.node"), &pod.node).map(NodeKey::from);
            let (Some(tag), Some(node)) = (tag, node) else { continue };
            workload.placed.push((tag, node));
            self.take_place(ctx, &format!("{path}.node"), &pod.node, workload, node, site);
        }
        if raw.pods.len() > workload.replicas as usize && workload.kind == Kind::Deployment {
            let expected = format!("at most {}, its replicas", workload.replicas);
            ctx.error(&format!("{}.pods", self.path(of)), format!("{} pods", raw.pods.len()), expected);
        }
    }

    /// Puts a pod on the node that the file gives it, if it can be there.
    fn take_place(
        &self,
        ctx: &mut CheckCtx<'_>,
        path: &str,
        name: &str,
        workload: &Workload,
        node: NodeKey,
        site: &mut ClusterDraft,
    ) {
        if let Some(expected) = suitable::misfit(self, workload, node, site) {
            ctx.error(path, quote(name), expected);
            return;
        }
        if site.has_capacity(workload, node) {
            site.take(workload, node);
            return;
        }
        let used = site.used[node].plus(&workload.requests);
        let template = &site.cluster.nodes[node].template;
        let has = template.allocatable;
        let cpu = |milli: u64| milli as f64 / 1_000.0;
        let found = format!(
            "{}, where pods would request {} of {} CPUs, {} of {}, {} of {} pods and {} of {} volumes",
            quote(name),
            cpu(used.cpu_milli),
            cpu(has.cpu_milli),
            Size(used.memory),
            Size(has.memory),
            used.pods,
            has.pods,
            site.volumes[node] + u32::from(workload.volume.is_some()),
            template.volumes
        );
        ctx.error(path, found, "a node with room");
    }
}

/// What a pod of the workload can be called.
fn form(workload: &Workload) -> String {
    let letters = "letters that Kubernetes draws: bcdfghjklmnpqrstvwxz2456789";
    match workload.kind {
        Kind::Deployment => format!("{}-<hash of its template>-<5 letters>; {letters}", workload.name),
        Kind::StatefulSet { .. } => format!("{}-<number>", workload.name),
        Kind::DaemonSet => format!("{}-<5 letters>; {letters}", workload.name),
    }
}
