//! The node of each pod, and the pods of each node.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{KubeClusterId, WorkloadId};
use crate::kube::name::{NodeName, PodName, PodTag};

/// A pod of a cluster.
type Key = (KubeClusterId, PodName);

/// Pods and their nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Placements {
    /// The node of each pod.
    nodes: BTreeMap<Key, NodeName>,
    /// The same pods, by node.
    pods: BTreeMap<(KubeClusterId, NodeName), BTreeSet<PodName>>,
}

impl Placements {
    /// Puts a pod on a node, and takes it off the one where it was.
    pub(super) fn insert(&mut self, key: Key, node: NodeName) {
        self.remove(&key);
        self.nodes.insert(key, node);
        self.pods.entry((key.0, node)).or_default().insert(key.1);
    }

    /// Removes a pod, and returns its node.
    pub(super) fn remove(&mut self, key: &Key) -> Option<NodeName> {
        let node = self.nodes.remove(key)?;
        if let Entry::Occupied(mut there) = self.pods.entry((key.0, node)) {
            there.get_mut().remove(&key.1);
            if there.get().is_empty() {
                there.remove();
            }
        }
        Some(node)
    }

    /// Removes all pods of a node, and returns them.
    pub(super) fn remove_on(&mut self, cluster: KubeClusterId, node: NodeName) -> BTreeSet<PodName> {
        let pods = self.pods.remove(&(cluster, node)).unwrap_or_default();
        for pod in &pods {
            self.nodes.remove(&(cluster, *pod));
        }
        pods
    }

    /// The node of a pod.
    pub(super) fn get(&self, key: &Key) -> Option<NodeName> {
        self.nodes.get(key).copied()
    }

    /// All pods, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, NodeName)> {
        self.nodes.iter().map(|(key, node)| (*key, *node))
    }

    /// Pods of a node, in order.
    pub(super) fn on(&self, cluster: KubeClusterId, node: NodeName) -> impl Iterator<Item = PodName> {
        self.pods.get(&(cluster, node)).into_iter().flatten().copied()
    }

    /// Pods of a workload, in order.
    pub(super) fn of(&self, cluster: KubeClusterId, workload: WorkloadId) -> impl Iterator<Item = (PodName, NodeName)> {
        let first = PodName { workload, tag: PodTag::Replica { template: 0, suffix: 0 } };
        let from = self.nodes.range((cluster, first)..).map(|((of, pod), node)| (*of, *pod, *node));
        from.take_while(move |(of, pod, _)| (*of, pod.workload) == (cluster, workload)).map(|(_, pod, node)| (pod, node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeKey;

    const CLUSTER: KubeClusterId = KubeClusterId(0);

    fn pod(workload: u32, ordinal: u32) -> PodName {
        PodName { workload: WorkloadId(workload), tag: PodTag::Ordinal(ordinal) }
    }

    #[test]
    fn pods_are_found_by_node_and_by_workload() {
        let [a, b] = [0, 1].map(|key| NodeName::Given(NodeKey(key)));
        let mut placements = Placements::default();
        for (workload, ordinal, node) in [(0, 0, a), (0, 1, b), (1, 0, a), (2, 0, b)] {
            placements.insert((CLUSTER, pod(workload, ordinal)), node);
        }
        placements.insert((CLUSTER, pod(0, 1)), a);
        assert_eq!(placements.on(CLUSTER, a).collect::<Vec<_>>(), [pod(0, 0), pod(0, 1), pod(1, 0)]);
        assert_eq!(placements.on(CLUSTER, b).collect::<Vec<_>>(), [pod(2, 0)]);
        assert_eq!(placements.of(CLUSTER, WorkloadId(0)).collect::<Vec<_>>(), [(pod(0, 0), a), (pod(0, 1), a)]);
        assert_eq!(placements.of(KubeClusterId(1), WorkloadId(0)).count(), 0);
        assert_eq!(placements.remove(&(CLUSTER, pod(0, 0))), Some(a));
        assert_eq!(placements.remove_on(CLUSTER, a), BTreeSet::from([pod(0, 1), pod(1, 0)]));
        assert_eq!(placements.iter().collect::<Vec<_>>(), [((CLUSTER, pod(2, 0)), b)]);
    }
}
