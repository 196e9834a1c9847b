//! Control planes and workloads that are not there, or not whole: what the schedulers found no place for.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use crate::kube::spec::gardener::Shoot;
use crate::report::{MostFrequent, PendingPodsReport, PendingReport, PendingShootReport, PendingWorkloadReport, PodReport};
use crate::scenario::Scenario;

/// All of them, by the pods that there are; `None`: each is there, and whole.
pub fn pending(scenario: &Scenario, all: &[PodReport]) -> Option<PendingReport> {
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
    let workloads = workloads(scenario, all);
    let is_whole = shoots.is_empty() && pods.is_empty() && workloads.is_empty();
    (!is_whole).then_some(PendingReport { control_planes, shoots, pods, workloads })
}

/// Those that belong to no control plane.
fn workloads(scenario: &Scenario, pods: &[PodReport]) -> Vec<PendingWorkloadReport> {
    let model = &scenario.kube;
    let of_shoots: BTreeSet<&str> = model.shoots.iter().map(|shoot| model.word(shoot.namespace)).collect();
    let mut workloads: IndexMap<(&str, &str, &str), (Vec<&str>, u64)> = IndexMap::new();
    for pod in pods.iter().filter(|pod| !of_shoots.contains(&*pod.namespace)) {
        let (reasons, all) = workloads.entry((&pod.cluster, &pod.namespace, &pod.owner)).or_default();
        reasons.extend(pod.waits_for_node());
        *all += 1;
    }
    let pending = workloads.into_iter().filter(|(_, (reasons, _))| !reasons.is_empty());
    let report = |((cluster, namespace, owner), (reasons, all)): ((&str, &str, &str), (Vec<&str>, u64))| PendingWorkloadReport {
        cluster: cluster.to_owned(),
        workload: format!("{namespace}/{owner}"),
        pods: reasons.len() as u64,
        all,
        reason: MostFrequent::of(reasons.into_iter()).reason.to_owned(),
    };
    pending.map(report).collect()
}
