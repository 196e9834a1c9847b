//! Control planes that are not there, or not whole: what the schedulers found no place for.

use std::collections::BTreeMap;

use crate::kube::spec::gardener::Shoot;
use crate::report::{MostFrequent, PendingPodsReport, PendingReport, PendingShootReport, PodReport};
use crate::scenario::Scenario;

/// All of them, by the pods that there are; `None`: each is there, and whole.
pub fn pending(scenario: &Scenario, pods: &[PodReport]) -> Option<PendingReport> {
    let model = &scenario.kube;
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (pod, why) in pods.iter().filter_map(|pod| Some((pod, pod.waits_for_node()?))) {
        reasons.entry(&pod.namespace).or_default().push(why);
    }
    let of_shoot = |shoot: &Shoot| {
        let reason = shoot.pending(|seed| &model.seeds[seed].name)?;
        Some(PendingShootReport { shoot: shoot.name.clone(), failure_tolerance: shoot.tolerance, reason })
    };
    let of_pods = |shoot: &Shoot| {
        let all = reasons.get(model.word(shoot.namespace))?;
        let reason = MostFrequent::of(all.iter().copied()).reason.to_owned();
        let (shoot, failure_tolerance) = (shoot.name.clone(), shoot.tolerance);
        Some(PendingPodsReport { shoot, failure_tolerance, pods: all.len() as u64, reason })
    };
    let shoots: Vec<_> = model.shoots.iter().filter_map(of_shoot).collect();
    let pods: Vec<_> = model.shoots.iter().filter_map(of_pods).collect();
    let control_planes = model.shoots.len() as u64;
    (!shoots.is_empty() || !pods.is_empty()).then_some(PendingReport { control_planes, shoots, pods })
}
