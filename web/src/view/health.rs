//! How each cluster does at the playhead: who leads, what is offered, what it can lose.

use std::collections::BTreeSet;

use yew::prelude::*;
use zonefall_core::etcd::view::EtcdClusterView;
use zonefall_core::ids::NodeKey;
use zonefall_core::kube::machine::Phase;
use zonefall_core::kube::record::Ready;
use zonefall_core::kube::view::{KubeClusterView, PodView};
use zonefall_core::record::Service;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

use super::labels;
use super::same::Same;

/// What the line shows.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct HealthProps {
    /// The world.
    pub scenario: Same<Scenario>,
    /// View of the current time.
    pub view: Same<SimulationView>,
}

const SERVICES: [Service; 3] = [Service::Write, Service::ReadLinearizable, Service::ReadSerializable];

/// A line per cluster.
#[component]
pub(crate) fn Health(props: &HealthProps) -> Html {
    let etcd = props.scenario.etcd.iter().zip(&props.view.etcd);
    let clusters = props.scenario.kube.clusters.iter().zip(&props.view.clusters).filter(|(_, now)| !now.nodes.is_empty());
    let (names, clusters): (Vec<_>, Vec<_>) = clusters.map(|(spec, now)| (spec.name.as_str(), now)).unzip();
    // Where there is Kubernetes there is little room: only those that are worst.
    let kube = !props.scenario.kube.clusters.is_empty();
    let (shown, well): (Vec<_>, Vec<_>) = etcd.partition(|(_, now)| {
        !kube
            || now.available.len() < SERVICES.len()
            || now.failure_tolerance.is_none_or(|failure_tolerance| failure_tolerance == 0)
    });
    let fails = |now: &EtcdClusterView| now.available.len() < SERVICES.len() || now.failure_tolerance.is_none();
    let few = !kube || shown.len() <= MOST;
    let named: Vec<_> = shown.iter().filter(|(_, now)| few || fails(now)).take(if kube { MOST } else { usize::MAX }).collect();
    let omitted = shown.len() - named.len();
    let lines = named.into_iter().map(|(spec, now)| line(&spec.name, now, spec, kube));
    html! {
        <ul class="health" aria-label="Clusters at the playhead" data-testid="health">
            if clusters.len() > MOST {
                { kubernetes(&format!("{} Kubernetes clusters", clusters.len()), &clusters) }
            } else {
                { for names.iter().zip(clusters.chunks(1)).map(|(name, cluster)| kubernetes(name, cluster)) }
            }
            { for lines }
            if omitted > 0 {
                <li class="warn"><span>{ format!("△ {omitted} etcd clusters tolerate no failure or have no quorum") }</span></li>
            } else if kube && shown.is_empty() && !well.is_empty() {
                <li class="good"><span>{ format!("✓ {} healthy and can tolerate a failure", etcds(well.len())) }</span></li>
            }
        </ul>
    }
}

/// Clusters that have a line of their own: of Kubernetes, and of etcd beside it.
const MOST: usize = 2;

fn etcds(count: usize) -> String {
    if count == 1 { "1 etcd cluster is".to_owned() } else { format!("{count} etcd clusters are") }
}

/// What Kubernetes clusters have, and how much of it is well.
fn kubernetes(name: &str, clusters: &[&KubeClusterView]) -> Html {
    let sum = |of: fn(&KubeClusterView) -> usize| clusters.iter().map(|now| of(now)).sum::<usize>();
    let nodes = sum(|now| now.nodes.iter().filter(|node| node.ready == Ready::True).count());
    let lost_nodes = sum(|now| now.nodes.iter().filter(|node| node.ready == Ready::True && node.lost.is_some()).count());
    let pods = sum(|now| now.pods.iter().filter(|pod| is_ready(pod)).count());
    let lost_pods = sum(|now| {
        let lost: BTreeSet<NodeKey> = now.nodes.iter().filter(|node| node.lost.is_some()).map(|node| node.key).collect();
        now.pods.iter().filter(|pod| is_ready(pod) && pod.node.is_some_and(|node| lost.contains(&node))).count()
    });
    let running = sum(|now| now.machines.iter().filter(|machine| machine.phase == Phase::Running).count());
    let machines = sum(|now| now.machines.len());
    // What the API has, which may be stale.
    let part = |well: usize, lost: usize, all: usize, what: &str| {
        let (tone, sign) = if well == all && lost == 0 { ("good", "✓") } else { ("warn", "△") };
        let undetected = if lost > 0 { format!(", {lost} of them lost, not yet detected") } else { String::new() };
        html! { <span class={tone}>{ format!("{sign} {well} of {all} {what}{undetected}") }</span> }
    };
    html! {
        <li>
            <strong>{ name }</strong>
            { part(nodes, lost_nodes, sum(|now| now.nodes.len()), "nodes ready") }
            if machines > 0 {
                { part(running, 0, machines, "machines running") }
            }
            { part(pods, lost_pods, sum(|now| now.pods.len()), "pods ready") }
        </li>
    }
}

fn is_ready(pod: &PodView) -> bool {
    pod.ready && !pod.terminating
}

fn line(name: &str, now: &EtcdClusterView, spec: &zonefall_core::scenario::EtcdClusterSpec, kube: bool) -> Html {
    let leader = now.leader.map(|index| &spec.members[index as usize].name);
    let (tone, failure_tolerance) = match now.failure_tolerance {
        None => ("bad", "✕ no quorum".to_owned()),
        Some(0) => ("warn", "△ quorum held, no failure tolerated".to_owned()),
        Some(1) => ("good", "✓ quorum held, 1 failure tolerated".to_owned()),
        Some(n) => ("good", format!("✓ quorum held, {n} failures tolerated")),
    };
    let service = |service: Service| {
        let there = now.available.contains(&service);
        let (class, sign) = if there { ("good", "✓") } else { ("bad", "✕") };
        html! { <span class={classes!("service", class)}>{ format!("{sign} {}", labels::service(service)) }</span> }
    };
    html! {
        <li>
            <strong>{ name }</strong>
            if let Some(leader) = leader { <span>{ format!("★ leader {leader}") }</span> } else { <span class="bad">{ "○ no leader" }</span> }
            <span class={tone}>{ failure_tolerance }</span>
            { for SERVICES.into_iter().filter(|service| !kube || now.failure_tolerance.is_some() && !now.available.contains(service)).map(service) }
        </li>
    }
}
