//! Whether a cluster, or a group of it, has so many nodes that are not ready that the autoscaler rather does nothing there
//! (`clusterstate/clusterstate.go`: `updateReadinessStats`, `IsClusterHealthy`, `updateAcceptableRanges`, `IsNodeGroupHealthy`).
//!
//! ```text
//!  joins --15 min--> a node that is not ready counts as unready; before, as not started
//!    '--tainted as to be deleted--> counts as deleted, ready or not: the provider of the machine-controller-manager does not say which
//!                                   nodes have an instance (`HasInstance`), so that the taint decides
//! ```
//!
//! A node is ready by its condition (`utils/kubernetes/ready.go`). The taint of one that is unreachable plays no part in that: it follows the
//! condition, and may stay for a moment when the node is back.

use crate::estimate::registered;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::record::Ready;
use zonefall_kube::store::{Node, Store, TO_BE_DELETED};
use zonefall_scenario::ids::MachineDeploymentId;
use zonefall_scenario::kube::machine::AutoscalerTimers;

/// A node that is not ready is still starting for so long (`MaxNodeStartupTime`).
const STARTUP: Duration = Duration::from_secs(15 * 60);

#[derive(Clone, Copy, Debug, Default)]
struct Readiness {
    ready: u32,
    unready: u32,
    not_started: u32,
}

impl Readiness {
    fn of<'a>(nodes: impl Iterator<Item = &'a Node>, now: Time) -> Self {
        let stay = nodes.filter(|node| !node.taints.contains(&TO_BE_DELETED));
        stay.fold(Self::default(), |mut all, node| {
            let count = match node.ready {
                Ready::True => &mut all.ready,
                Ready::Unknown if starts_until(node).is_some_and(|until| until > now) => &mut all.not_started,
                Ready::Unknown => &mut all.unready,
            };
            *count += 1;
            all
        })
    }
}

/// Until when a node counts as one that starts; `None`: it was there before the run.
fn starts_until(node: &Node) -> Option<Time> {
    node.joined.map(|joined| joined + STARTUP)
}

/// When nodes that are not ready will count as unready.
pub fn startups(store: &Store) -> impl Iterator<Item = Time> {
    store.nodes().filter(|(_, node)| node.ready != Ready::True).filter_map(|(_, node)| starts_until(node))
}

/// So many nodes are unready that it rather does nothing (`IsClusterHealthy`).
pub fn too_many_unready(store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    let all = store.nodes().count() as u32;
    too_many(Readiness::of(store.nodes().map(|(_, node)| node), ctx.now).unready, all, &ctx.spec.timers.autoscaler)
}

/// So few nodes of a group are ready, of those that it is to have, that more would not help (`IsNodeGroupHealthy`). `awaited`: nodes of these
/// that it has asked for, or that did not join in time. What the machine-controller-manager replaces is none of them.
pub fn is_healthy(id: MachineDeploymentId, awaited: u32, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    let least = store.machines.desired(id).saturating_sub(awaited);
    if store.machines.of(id).next().is_none() {
        return least == 0;
    }
    has_enough(least, Readiness::of(registered(id, store), ctx.now), &ctx.spec.timers.autoscaler)
}

/// Whether as many nodes of a group are ready as it is to have at least, but for those that may always be missing.
const fn has_enough(least: u32, Readiness { ready, unready, not_started }: Readiness, timers: &AutoscalerTimers) -> bool {
    !too_many(least.saturating_sub(ready), ready + unready + not_started, timers)
}

const fn too_many(unready: u32, all: u32, timers: &AutoscalerTimers) -> bool {
    unready > timers.unready && unready * 100 > all * timers.unready_percent
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_network::HostId;
    use zonefall_scenario::ids::ZoneId;
    use zonefall_scenario::kube::NodeTemplate;
    use zonefall_scenario::kube::Resources;
    use zonefall_scenario::kube::labels::Labels;
    use zonefall_scenario::kube::name::{MachineName, NodeName};

    #[test]
    fn nodes_that_are_starting_or_being_deleted_are_not_unready() {
        let now = Time::ZERO + Duration::from_secs(3_600);
        let (labels, allocatable) = (Labels::default(), Resources::default());
        let template = NodeTemplate { labels, taints: Vec::new(), allocatable, volumes: 0, card_bytes_per_s: 0 };
        let node = |ready: Ready, age_s: Option<u64>, goes: bool| {
            let name = NodeName::Machine(MachineName { deployment: MachineDeploymentId(0), template: 0, suffix: 0 });
            let mut node = Node::new(name, HostId(0), ZoneId(0), &template);
            (node.ready, node.joined) = (ready, age_s.map(|age| now - Duration::from_secs(age)));
            node.taints.extend(goes.then_some(TO_BE_DELETED));
            node
        };
        let nodes = [
            node(Ready::True, None, false),
            node(Ready::True, Some(1), false),
            node(Ready::True, None, true),
            node(Ready::Unknown, None, true),
            node(Ready::Unknown, Some(899), false),
            node(Ready::Unknown, Some(900), false),
            node(Ready::Unknown, None, false),
        ];
        let Readiness { ready, unready, not_started } = Readiness::of(nodes.iter(), now);
        assert_eq!([ready, unready, not_started], [2, 2, 1]);
    }

    #[test]
    fn nodes_that_are_being_replaced_are_missing_and_those_asked_for_are_not() {
        let timers = AutoscalerTimers::default();
        let ready = |ready: u32| Readiness { ready, unready: 0, not_started: 0 };
        // Of eight none is there, all are: three may be missing always, and of more 45 %.
        for (target, awaited, there, expected) in [
            (8, 0, 0, false),
            (8, 8, 0, true),
            (8, 4, 1, true),
            (3, 0, 0, true),
            (8, 0, 8, true),
            (8, 0, 4, false),
            (16, 0, 12, true),
        ] {
            assert_eq!(has_enough(target - awaited, ready(there), &timers), expected, "{target} {awaited} {there}");
        }
    }
}
