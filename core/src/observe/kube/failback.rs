//! What stays skewed after a zone is back, and what an operator must do about it. Nothing moves a pod that runs: constraints count when
//! a pod is placed, volumes stay in their zone, machines that took the place of others stay (GEP-20, "Recovery from Zone Failure";
//! Kubernetes, "Pod Topology Spread Constraints", known limitations).
//!
//! All of it follows from what a workload demands of zones, and from where its pods and volumes are; names play no part.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{MachineDeploymentId, WorkloadId, ZoneId};
use crate::kube::cluster::KubeCluster;
use crate::kube::machine::{Machine, Phase};
use crate::kube::name::PodName;
use crate::kube::record::{Ready, Reason};
use crate::kube::rule::labels::Symbol;
use crate::kube::rule::taints::Effect;
use crate::kube::spec::placement::Constraint;
use crate::kube::spec::{Kind, KubeClusterSpec, Workload};
use crate::kube::store::{Node, Pod, Store};
use crate::observe::faults::RecoveredZone;
use crate::report::{DeadlockReport, FailbackReport};
use crate::scenario::Scenario;

/// How pods of a workload are kept apart over zones, where they may share one.
enum Apart {
    /// They must not differ by more than that many (`DoNotSchedule`).
    Within(u64),
    /// They should not (`ScheduleAnyway`, preferred anti-affinity).
    Preferably,
}

/// What is skewed now that some zones are `back`.
pub fn failback<'a>(
    clusters: impl Iterator<Item = &'a KubeCluster>,
    scenario: &Scenario,
    back: &[RecoveredZone],
) -> Vec<FailbackReport> {
    let mut all = Vec::new();
    for (cluster, spec) in clusters.zip(&scenario.kube.clusters) {
        Reporter { store: cluster.store() }.report(spec, scenario, back, &mut all);
    }
    all
}

struct Reporter<'a> {
    store: &'a Store,
}

impl Reporter<'_> {
    fn report(&self, spec: &KubeClusterSpec, scenario: &Scenario, back: &[RecoveredZone], all: &mut Vec<FailbackReport>) {
        let name = |zone: ZoneId| scenario.zones[zone].name.clone();
        let row = |namespace: &str, component: &str, zones: &BTreeMap<ZoneId, u32>, skew: u32, remedy: String| FailbackReport {
            cluster: spec.name.clone(),
            namespace: namespace.to_owned(),
            component: component.to_owned(),
            skew,
            per_zone: zones.iter().map(|(zone, pods)| (name(*zone), *pods)).collect(),
            remedy,
            deadlock: None,
        };
        for id in spec.workloads.keys() {
            let workload = self.store.template(id, spec);
            let zones = self.zones(id, workload);
            let (most, least) = (zones.values().max().copied().unwrap_or(0), zones.values().min().copied().unwrap_or(0));
            let fair = u32::from(!self.store.desired(id).is_multiple_of(zones.len().max(1) as u32));
            let is_short = |back: &RecoveredZone| zones.get(&back.zone) == Some(&least);
            if let Some(deadlock) = self.deadlock(id, name, spec) {
                let row = row(scenario.kube.word(workload.namespace), &workload.name, &zones, most - least, deadlock.remedy());
                all.push(FailbackReport { deadlock: Some(deadlock), ..row });
            } else if most - least > fair
                && back.iter().any(is_short)
                && let Some(apart) = apart(workload)
            {
                let remedy = self.remedy(id, workload, &apart, most, &zones, spec);
                all.push(row(scenario.kube.word(workload.namespace), &workload.name, &zones, most - least, remedy));
            }
        }
        for (deployment, group) in spec.machine_deployments.iter_enumerated() {
            let more = self.replacements(deployment, spec, back);
            if more > 0 {
                let remedy = format!("drain {more} of its nodes and scale it down: they replaced nodes of the failed zone");
                let machines = BTreeMap::from([(group.zone, self.machines(deployment).count() as u32)]);
                all.push(row("", &group.name, &machines, more, remedy));
            }
        }
    }

    /// Machines that nobody has given up.
    fn machines(&self, deployment: MachineDeploymentId) -> impl Iterator<Item = &Machine> {
        let machines = self.store.machines.of(deployment).map(|(_, machine)| machine);
        machines.filter(|machine| !matches!(machine.phase, Phase::Failed | Phase::Terminating))
    }

    /// Machines of a machine deployment that were created while another zone of its pool had failed, as far as it has more of them than
    /// at the start, and than some other zone of the pool has now. (What a roll-out has beyond those wanted does not count.)
    fn replacements(&self, deployment: MachineDeploymentId, spec: &KubeClusterSpec, back: &[RecoveredZone]) -> u32 {
        let count = |id| self.store.machines.desired(id).min(self.machines(id).count() as u32);
        let machines = spec.nodes.iter().filter_map(|node| node.machine);
        let at_start = machines.filter(|machine| machine.deployment == deployment).count() as u32;
        let (place, zones) = spec.machine_deployments[deployment].pool.zone;
        let first = usize::from(deployment) - place as usize;
        let others = || (first..first + zones as usize).map(MachineDeploymentId::from).filter(|other| *other != deployment);
        let failed = |zone: ZoneId| others().any(|other| spec.machine_deployments[other].zone == zone);
        let created = |zone: &RecoveredZone| {
            self.machines(deployment).filter(|machine| (zone.from..=zone.to).contains(&machine.created)).count() as u32
        };
        let replaced = back.iter().filter(|recovered| failed(recovered.zone)).map(created).max().unwrap_or(0);
        let level = others().map(count).min().unwrap_or(0).max(at_start);
        replaced.min(count(deployment).saturating_sub(level))
    }

    /// Pods that find no node though there are nodes where their volumes are: those that they must share a zone with are elsewhere. (Of
    /// the nodes in other zones the filter of volumes says why, before that of affinity is asked.)
    fn deadlock(&self, id: WorkloadId, name: impl Fn(ZoneId) -> String, spec: &KubeClusterSpec) -> Option<DeadlockReport> {
        let home = |pod: &Pod| self.store.claim(pod.name).filter(|claim| claim.zone.is_some()).map(|claim| claim.home);
        let is_stuck = |pod: &&Pod| {
            pod.node.is_none()
                && !pod.terminating
                && pod.unschedulable.is_some_and(|reasons| reasons.last() == Reason::PodAffinity)
        };
        let stuck: Vec<&Pod> = self.store.pods_of(id).map(|(_, pod)| pod).filter(is_stuck).collect();
        let volumes = stuck.iter().find_map(|pod| home(pod))?;
        let own = self.store.template(id, spec);
        let near = |other: &Workload| {
            let terms = own.pod_affinity.affinity.required.iter();
            other.namespace == own.namespace && terms.clone().any(|term| term.selector.selects(&other.labels))
        };
        let others = self.store.templates_in(own.namespace, spec).filter(|(_, other)| near(other));
        let pods = others.flat_map(|(id, _)| self.store.pods_of(id)).filter_map(|(_, pod)| self.store.get_node(pod.node?));
        let elsewhere: BTreeSet<ZoneId> = pods.map(|node| node.zone).filter(|zone| *zone != volumes).collect();
        (!elsewhere.is_empty()).then(|| DeadlockReport {
            pods: stuck.iter().filter(|pod| home(pod) == Some(volumes)).map(|pod| pod.name.text(spec)).collect(),
            zone: name(volumes),
            others: elsewhere.into_iter().map(name).collect(),
        })
    }

    /// Pods of a workload by zone, in zones where they may run.
    fn zones(&self, id: WorkloadId, workload: &Workload) -> BTreeMap<ZoneId, u32> {
        let suits = |node: &Node| {
            let mut repelling = node.taints.iter().filter(|taint| taint.effect != Effect::PreferNoSchedule);
            node.ready == Ready::True
                && workload.affinity.admits(&node.labels)
                && repelling.all(|taint| workload.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
        };
        let mut zones: BTreeMap<ZoneId, u32> =
            self.store.nodes().filter(|(_, node)| suits(node)).map(|(_, node)| (node.zone, 0)).collect();
        for (_, pod) in self.store.pods_of(id).filter(|(_, pod)| !pod.terminating) {
            let zone = pod.node.and_then(|node| self.store.get_node(node)).map(|node| node.zone);
            if let Some(pods) = zone.and_then(|zone| zones.get_mut(&zone)) {
                *pods += 1;
            }
        }
        zones
    }

    fn remedy(
        &self,
        id: WorkloadId,
        workload: &Workload,
        apart: &Apart,
        most: u32,
        zones: &BTreeMap<ZoneId, u32>,
        spec: &KubeClusterSpec,
    ) -> String {
        let crowded = |name: PodName| {
            let node = self.store.named(name)?.node.and_then(|node| self.store.get_node(node))?;
            (zones.get(&node.zone) == Some(&most)).then_some(name)
        };
        let last = self.store.pods_of(id).filter_map(|(_, pod)| crowded(pod.name)).max();
        match (workload.volume, last, apart) {
            (Some(volume), Some(pod), _) if volume.has_no_fixed_zone() => {
                format!(
                    "delete the pod {}; its volume follows it: the scheduler spreads pods only when it binds them",
                    pod.text(spec)
                )
            }
            (Some(_), Some(pod), _) => {
                format!(
                    "delete the pod {} with its claim: its volume cannot leave the zone, and a new one is created in another zone",
                    pod.text(spec)
                )
            }
            (_, _, Apart::Within(skew)) => {
                format!(
                    "restart it (kubectl rollout restart): the scheduler enforces the topology spread (maxSkew {skew}) only when it binds a pod"
                )
            }
            (_, _, Apart::Preferably) => {
                "restart it (kubectl rollout restart): the scheduler spreads its pods only when it binds them".to_owned()
            }
        }
    }
}

/// How a workload's pods are kept apart over zones. `None`: they are not, all are in one zone, or no two can be in one.
fn apart(workload: &Workload) -> Option<Apart> {
    let affinity = &workload.pod_affinity;
    let pinned = affinity.affinity.required.iter().any(|term| term.key == Symbol::ZONE);
    if pinned || workload.kind == Kind::DaemonSet {
        return None;
    }
    let over_zones = |constraints: &[Constraint]| constraints.iter().find(|one| one.key == Symbol::ZONE).map(|one| one.max_skew);
    let preferred = affinity.anti_affinity.preferred.iter().any(|(_, term)| term.key == Symbol::ZONE);
    over_zones(&workload.spread)
        .map(Apart::Within)
        .or_else(|| (preferred || over_zones(&workload.prefers).is_some()).then_some(Apart::Preferably))
}
