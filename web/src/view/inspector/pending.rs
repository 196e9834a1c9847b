//! Why a pod has no node: the first filter that each node fails, and what the last scan of the autoscaler made of each node group.

use yew::prelude::*;
use zonefall_core::kube::describe::node_name;
use zonefall_core::report::Report;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

use crate::state::Selection;
use crate::view::labels::{clock, moment};

/// Node groups that are listed.
const MOST_GROUPS: usize = 50;

/// The panel of a pod without a node.
pub(super) fn panel(is: Selection, scenario: &Scenario, view: &SimulationView, report: Option<&Report>) -> Html {
    let nodes = nodes(is, scenario, view);
    if nodes.is_empty() {
        return Html::default();
    }
    let row = |(name, more, why): (String, String, String)| {
        html! { <tr><td>{ name }<br /><span class="quiet">{ more }</span></td><td>{ why }</td></tr> }
    };
    let groups = report.map(|report| groups(is, scenario, view, report)).unwrap_or_default();
    html! {
        <div class="refusals" data-testid="refusals">
            <h3>{ "Why no node suits it" }</h3>
            <table>
                <caption class="unseen">{ "The first filter of the scheduler that each node fails" }</caption>
                <thead><tr><th scope="col">{ "Node" }</th><th scope="col">{ "Refused for" }</th></tr></thead>
                <tbody>{ for nodes.into_iter().map(row) }</tbody>
            </table>
            if !groups.is_empty() {
                <table>
                    <caption class="unseen">{ "What the autoscaler made of each node group" }</caption>
                    <thead><tr><th scope="col">{ "Node group" }</th><th scope="col">{ "At the last scan that found a change" }</th></tr></thead>
                    <tbody>{ for groups.into_iter().map(row) }</tbody>
                </table>
            }
        </div>
    }
}

/// Each node with its zone, and why it does not suit the pod.
fn nodes(is: Selection, scenario: &Scenario, view: &SimulationView) -> Vec<(String, String, String)> {
    let Selection::Pod(id, pod) = is else { return Vec::new() };
    let (spec, Some(cluster)) = (&scenario.kube.clusters[id], view.clusters.get(id)) else { return Vec::new() };
    let Some(pending) = cluster.pending.iter().find(|pending| pending.pods.contains(&pod)) else { return Vec::new() };
    let row = |(key, refusal): &(_, Option<zonefall_core::kube::reasons::Refusal>)| {
        let node = cluster.nodes.iter().find(|node| node.key == *key)?;
        let why = refusal.map_or_else(|| "nothing: it is free by now".to_owned(), |refusal| refusal.describe());
        Some((node_name(node.name, spec, scenario), scenario.zones[node.zone].name.clone(), why))
    };
    pending.nodes.iter().filter_map(row).collect()
}

/// Each node group of the pod's cluster: its nodes of its maximum, and what the last scan that found a change did with it, and why.
fn groups(is: Selection, scenario: &Scenario, view: &SimulationView, report: &Report) -> Vec<(String, String, String)> {
    let Selection::Pod(id, _) = is else { return Vec::new() };
    let cluster = &scenario.kube.clusters[id].name;
    let mut rows = Vec::new();
    for pool in report.node_pools.iter().filter(|pool| pool.cluster == *cluster) {
        let scans = pool.scans.partition_point(|scan| moment(scan.at_s) <= view.at);
        let Some(scan) = scans.checked_sub(1).map(|last| &pool.scans[last]) else { continue };
        for (group, at) in pool.groups.iter().zip(&scan.groups) {
            let why = format!("{} ({})", at.why, clock(moment(scan.at_s), 0));
            rows.push((group.machine_deployment.clone(), format!("{} of {}", at.launched, at.maximum), why));
        }
    }
    rows.truncate(MOST_GROUPS);
    rows
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zonefall_core::kernel::time::{Duration, Time};
    use zonefall_core::run::Run;
    use zonefall_core::scenario::bundled;
    use zonefall_core::sim::Options;

    use super::*;

    /// The panel of a pod of a bundled scenario at a moment: its nodes, and its node groups.
    fn told(name: &str, pod: &str, s: u64) -> [Vec<(String, String, String)>; 2] {
        let text = bundled().iter().find(|bundled| bundled.name == name).expect("it is bundled").json;
        let scenario = Arc::new(Scenario::from_json(text).expect("bundled scenarios are valid"));
        let mut run = Run::new(&scenario, scenario.seed, Options::default());
        run.advance(Time::ZERO + Duration::from_secs(s), &mut |_, _| {});
        let (view, report) = (run.simulation().view(), run.report());
        let (id, spec) = scenario.kube.clusters.iter_enumerated().next().expect("it has a cluster");
        let mut pods = view.clusters[id].pods.iter();
        let is = Selection::Pod(id, pods.find(|own| own.name.text(spec).starts_with(pod)).expect("it is there").name);
        [nodes(is, &scenario, &view), groups(is, &scenario, &view, &report)]
    }

    #[test]
    fn each_node_says_what_it_refuses_a_pod_for_and_each_group_why_it_does_not_grow() {
        let [nodes, _] = told("volume-binding", "db-2", 3_600);
        let told_of: Vec<_> = nodes.iter().map(|(_, zone, why)| (zone.as_str(), why.as_str())).collect();
        let (full, dark, elsewhere) =
            (("za", "Insufficient cpu"), ("zb", "untolerated taints"), ("zc", "its volume is in another zone"));
        assert_eq!(told_of, [full, full, dark, dark, elsewhere, elsewhere]);
        let [nodes, groups] = told("gep24-existing-solution", "zb-only", 2_700);
        assert!(nodes.iter().any(|(_, _, why)| why == "node affinity or node selector is not satisfied"), "{nodes:?}");
        let at_maximum = |(name, nodes, why): &(String, String, String)| {
            name.starts_with("shoot-") && nodes.contains(" of ") && why.starts_with("at its maximum (00:")
        };
        assert!(!groups.is_empty() && groups.iter().all(at_maximum), "{groups:?}");
        // A pod that has a node.
        assert_eq!(told("plain-cluster", "web-", 60)[0], []);
    }
}
