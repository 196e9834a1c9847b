//! What capacity is planned for: the control plane that is counted in, as each seed would host it.

use super::passive;
use super::workload::{PlannedComponent, WorkloadContext, essential, planned};
use crate::kube::capacity::{Capacity, Demand};
use crate::kube::gardener::{FailureTolerance, Recovery, ZoneTolerance};
use crate::kube::profile;
use crate::kube::{MemberRange, Workload};
use crate::lowering::{CheckCtx, ClusterDraft, ClusterDrafts};
use crate::raw::{RawCapacity, RawKind, RawScenario};

const PATH: &str = "capacity.shoot";

/// Pods of a control plane that is counted in.
const MAX_PODS: u32 = 1_000;

/// Control planes to come. They are the last to get words, so that all others have those they would have without.
pub(super) fn validate(ctx: &mut CheckCtx<'_>, raw: &RawScenario, lowering: &mut ClusterDrafts) -> Capacity {
    let shoot = &raw.capacity.shoot;
    if raw.seeds.is_empty() && raw.capacity != RawCapacity::default() {
        ctx.error("capacity", "a plan", "a seed in `seeds` to plan with");
    }
    for (c, component) in shoot.components.iter().enumerate() {
        let path = format!("{PATH}.components[{c}]");
        if !component.pods.is_empty() {
            ctx.error(&format!("{path}.pods"), "pods", "none: this control plane is nowhere yet");
        }
        if component.kind == Some(RawKind::DaemonSet) {
            let expected = "`deployment` or `stateful_set`: a control plane has nothing on every node of its seed";
            ctx.error(&format!("{path}.kind"), "\"daemon_set\"", expected);
        }
    }
    let components = planned(ctx, lowering, (PATH, "components"), &profile::SHOOT, &shoot.components, shoot.only_listed);
    essential(ctx, PATH, &components);
    let demand = Demand { none: raw.capacity.demand.none, node: raw.capacity.demand.node, zone: raw.capacity.demand.zone };
    let mut tolerances = Vec::new();
    let pairs = passive::of_reference(ctx, &format!("{PATH}.etcd"), shoot);
    let clusters = std::mem::take(&mut lowering.clusters);
    for site in clusters.iter().filter(|site| site.valid && site.hosts_shoots) {
        let errors = ctx.errors.len();
        tolerances.push(of_seed(ctx, lowering, site, &components, shoot.recovery, pairs));
        // Another seed would have the same, or much of it.
        if ctx.errors.len() > errors {
            break;
        }
    }
    lowering.clusters = clusters;
    Capacity { demand, tolerances }
}

fn of_seed(
    ctx: &mut CheckCtx<'_>,
    lowering: &mut ClusterDrafts,
    site: &ClusterDraft,
    components: &[PlannedComponent<'_>],
    recovery: Recovery,
    pairs: bool,
) -> Vec<FailureTolerance> {
    let mut all = Vec::new();
    for tolerance in FailureTolerance::ALL {
        // Of one member nobody stands by.
        let pairs = pairs && tolerance != FailureTolerance::None;
        if site.seed.zone_tolerance < ZoneTolerance::needed(tolerance, pairs) {
            continue;
        }
        let pinned = tolerance != FailureTolerance::Zone && site.seed.zones.len() > 1;
        // It has no cluster of its own: nothing of it ever runs.
        let cluster = site.seed.cluster;
        let home = WorkloadContext {
            namespace: "shoot--garden--planned".to_owned(),
            tolerance,
            recovery,
            pairs,
            pinned,
            cluster,
            member_range: MemberRange::default(),
        };
        let errors = ctx.errors.len();
        let workload = |component: &PlannedComponent<'_>| component.workload(ctx, lowering, PATH, &home, site);
        let workloads: Vec<Workload> = components.iter().map(workload).collect();
        for (component, workload) in components.iter().zip(&workloads) {
            if home.pairs && component.is_etcd() && workload.replicas != 2 {
                let path = format!("{}.replicas", component.path(PATH));
                ctx.error(&path, workload.replicas.to_string(), passive::TWO_PODS);
            }
        }
        let pods: u32 = workloads.iter().map(|workload| workload.replicas).sum();
        if pods > MAX_PODS {
            ctx.error(&format!("{PATH}.components"), format!("{pods} pods"), format!("at most {MAX_PODS} in all"));
        }
        all.push(tolerance);
        if ctx.errors.len() > errors {
            break;
        }
    }
    all
}
