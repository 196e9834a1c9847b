//! Control planes and workloads that are not there, or not whole: what the schedulers found no place for.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use crate::ids::{KubeClusterId, WorkloadId};
use crate::kube::spec::gardener::Shoot;
use crate::kube::spec::{Kind, Workload};
use crate::report::{
    MostFrequent, PendingPodsReport, PendingReport, PendingShootReport, PendingWorkloadReport, PodPhase, PodReport,
};
use crate::scenario::Scenario;

/// All of them, by the pods that there are, and how many each cluster wants of a workload; `None`: each is there, and whole.
pub fn pending(
    scenario: &Scenario,
    all: &[PodReport],
    wanted: impl Fn(KubeClusterId, WorkloadId) -> u32,
) -> Option<PendingReport> {
    let model = &scenario.kube;
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (pod, why) in all.iter().filter_map(|pod| Some((pod, pod.waits_for_node()?))) {
        reasons.entry(&pod.namespace).or_default().push(why);
    }
    let of_shoot = |shoot: &Shoot| {
        let reason = shoot.pending(|seed| &model.seeds[seed].name)?;
        Some(PendingShootReport { shoot: shoot.name.clone(), failure_tolerance: shoot.tolerance, reason })
    };
    let of_pods = |shoot: &Shoot| {
        let of_all = reasons.get(model.word(shoot.namespace))?;
        let reason = MostFrequent::of(of_all.iter().copied()).reason.to_owned();
        let (shoot, failure_tolerance) = (shoot.name.clone(), shoot.tolerance);
        Some(PendingPodsReport { shoot, failure_tolerance, pods: of_all.len() as u64, reason })
    };
    let shoots: Vec<_> = model.shoots.iter().filter_map(of_shoot).collect();
    let pods: Vec<_> = model.shoots.iter().filter_map(of_pods).collect();
    let control_planes = model.shoots.len() as u64;
    let workloads = workloads(scenario, all, wanted);
    let is_whole = shoots.is_empty() && pods.is_empty() && workloads.is_empty();
    (!is_whole).then_some(PendingReport { control_planes, shoots, pods, workloads })
}

/// Those that belong to no control plane.
fn workloads(
    scenario: &Scenario,
    pods: &[PodReport],
    wanted: impl Fn(KubeClusterId, WorkloadId) -> u32,
) -> Vec<PendingWorkloadReport> {
    let model = &scenario.kube;
    let of_shoots: BTreeSet<&str> = model.shoots.iter().map(|shoot| model.word(shoot.namespace)).collect();
    let mut workloads: IndexMap<(&str, &str, &str), (Vec<&str>, u64)> = IndexMap::new();
    for pod in pods.iter().filter(|pod| !of_shoots.contains(&*pod.namespace) && pod.phase != PodPhase::Terminating) {
        let (reasons, placed) = workloads.entry((&pod.cluster, &pod.namespace, &pod.owner)).or_default();
        let waits = pod.waits_for_node();
        *placed += u64::from(waits.is_none());
        reasons.extend(waits);
    }
    let all_wanted = |(cluster, namespace, owner): (&str, &str, &str)| {
        let (id, spec) = model.clusters.iter_enumerated().find(|(_, spec)| spec.name == cluster)?;
        let is_it = |of: &Workload| of.name == owner && model.word(of.namespace) == namespace && of.kind != Kind::DaemonSet;
        let (workload, _) = spec.workloads.iter_enumerated().find(|(_, of)| is_it(of))?;
        Some(u64::from(wanted(id, workload)))
    };
    let pending = workloads.into_iter().filter(|(_, (reasons, _))| !reasons.is_empty());
    let report = |(of, (reasons, placed)): ((&str, &str, &str), (Vec<&str>, u64))| PendingWorkloadReport {
        cluster: of.0.to_owned(),
        workload: format!("{}/{}", of.1, of.2),
        pods: reasons.len() as u64,
        all: all_wanted(of).unwrap_or(reasons.len() as u64 + placed),
        placed,
        reason: MostFrequent::of(reasons.into_iter()).reason.to_owned(),
    };
    pending.map(report).collect()
}
