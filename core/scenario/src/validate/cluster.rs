//! Kubernetes clusters without Gardener: their control planes and nodes are made as those of seeds, their workloads as the file says.

use super::CheckCtx;
use super::etcd::Members;
use super::gardener::deploy;
use super::kube::Builder;
use super::lower::Lowering;
use super::names::Names;
use super::topology::Topology;
use super::workload::{WorkloadContext, planned};
use crate::error::quote;
use crate::ids::KubeClusterId;
use crate::kube::MemberRange;
use crate::kube::gardener::{FailureTolerance, Recovery};
use crate::raw::{RawLeased, RawScenario};

/// All clusters, after the seeds, and what their names stand for.
pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    topology: &mut Topology,
    members: &mut Members,
    etcd_names: &mut Names,
    seeds: &Names,
    lowering: &mut Lowering,
) -> Names {
    let mut names = Names::new("a cluster");
    for (k, cluster) in raw.clusters.iter().enumerate() {
        let (path, errors) = (format!("clusters[{k}]"), ctx.errors.len());
        let place = format!("{path}.name");
        if seeds.get(cluster.name.as_str()).is_some() {
            ctx.error(&place, quote(cluster.name.as_str()), "a name that no seed has");
            continue;
        }
        names.add(ctx, &place, cluster.name.as_str(), lowering.sites.len());
        // Whatever a second one of the name has is there already.
        if ctx.errors.len() > errors {
            continue;
        }
        for (component, word) in
            [(RawLeased::KubeControllerManager, "kube_controller_manager"), (RawLeased::KubeScheduler, "kube_scheduler")]
        {
            if !cluster.components.contains(&component) {
                let expected = "`kube_controller_manager` and `kube_scheduler` among them: without, nothing is ever replaced";
                ctx.error(&format!("{path}.components"), format!("no {word}"), expected);
            }
        }
        let has = |component: RawLeased| cluster.components.contains(&component);
        if has(RawLeased::ClusterAutoscaler) && !has(RawLeased::MachineControllerManager) {
            let expected = "`machine_controller_manager` with it: nothing else makes the machines";
            ctx.error(&format!("{path}.components"), "cluster_autoscaler alone", expected);
        }
        for (c, component) in cluster.components.iter().enumerate() {
            if cluster.components[..c].contains(component) {
                ctx.error(&format!("{path}.components[{c}]"), "a component again", "each once");
            }
        }
        lowering.mark(ctx, &path, &cluster.mark);
        let (site, has_machines) = (cluster.site(), has(RawLeased::MachineControllerManager));
        let mut site =
            Builder { ctx, raw: &site, path: path.clone(), topology, lowering, has_machines }.build(k, members, etcd_names);
        (site.valid, site.hosts_shoots) = (ctx.errors.len() == errors, false);
        site.cluster.components = cluster.components.iter().map(|component| component.component()).collect();
        let (s, valid) = (lowering.sites.len(), site.valid);
        lowering.sites.push(site);
        let home = WorkloadContext {
            namespace: "default".to_owned(),
            tolerance: FailureTolerance::None,
            recovery: Recovery::Wait,
            pairs: false,
            pinned: false,
            cluster: KubeClusterId(s as u16),
            member_range: MemberRange::default(),
        };
        let all = planned(ctx, lowering, (&path, "workloads"), &[], &cluster.workloads, true);
        for workload in all.into_iter().filter(|_| valid) {
            deploy(ctx, lowering, s, &path, &home, workload);
        }
    }
    names
}
