//! Which pods serve, in truth: ready as their API has it, on a node that is neither without power nor cut off. Pods on a node that is cut
//! off run on for each other, whatever their API says of them meanwhile. Those on a node that loses power end with it: until its kubelet has
//! started them again, they serve nobody, though their API may not have noticed.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::{NodeName, PodName, PodTag};
use crate::kube::record::{KubeRecord, Loss, NodeFact, PodFact};

/// Follows all pods.
#[derive(Clone, Debug, Default)]
pub struct Serving {
    pods: BTreeMap<(KubeClusterId, PodName), Pod>,
    nodes: BTreeMap<(KubeClusterId, NodeName), Node>,
    workloads: BTreeMap<(KubeClusterId, WorkloadId), Workload>,
    /// Pods that stand by: ready as they may be, they serve nobody.
    standby: BTreeSet<(KubeClusterId, PodName)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pod {
    node: Option<NodeName>,
    ready: bool,
    /// Its process has been ready, as its API last heard of it, and has not ended since with the power of its node.
    runs: bool,
    /// It was asked to end: nobody is sent there any more.
    terminating: bool,
}

impl Pod {
    /// Whether it serves those that reach its node.
    const fn serves(&self) -> bool {
        self.ready && self.runs
    }

    /// Its API says so, of a pod on a node that may be lost.
    fn set_ready(&mut self, ready: bool, lost: Option<Loss>) {
        self.ready = ready;
        // That a pod is not ready may be said by who cannot see it: of a node that is cut off.
        if ready || lost != Some(Loss::Network) {
            self.runs = ready;
        }
    }

    /// Whether it serves and is to go on.
    const fn stays(&self) -> bool {
        self.serves() && !self.terminating
    }
}

#[derive(Clone, Debug, Default)]
struct Node {
    lost: Option<Loss>,
    pods: BTreeSet<PodName>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Workload {
    /// Pods that serve, without those that were asked to end.
    serving: u32,
    /// Since when none serves, once one has.
    none_since: Option<Time>,
    none: Duration,
}

impl Serving {
    /// Takes note of a fact.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord) {
        match *record {
            KubeRecord::Pod(name, PodFact::Created) => drop(self.pods.insert((cluster, name), Pod::default())),
            KubeRecord::Pod(name, PodFact::Bound(node)) => {
                if let Some(pod) = self.pods.get_mut(&(cluster, name)) {
                    pod.node = Some(node);
                }
                self.nodes.entry((cluster, node)).or_default().pods.insert(name);
            }
            KubeRecord::Pod(name, PodFact::Ready(ready)) => {
                self.change(at, cluster, name, |pod, lost| pod.set_ready(ready, lost));
            }
            KubeRecord::Pod(name, PodFact::Terminating) => self.change(at, cluster, name, |pod, _| pod.terminating = true),
            KubeRecord::Pod(name, PodFact::Removed) => {
                self.change(at, cluster, name, |pod, lost| pod.set_ready(false, lost));
                if let Some(Pod { node: Some(node), .. }) = self.pods.remove(&(cluster, name)) {
                    self.nodes.entry((cluster, node)).or_default().pods.remove(&name);
                }
            }
            KubeRecord::Node(name, NodeFact::Lost(lost)) => {
                let node = self.nodes.entry((cluster, name)).or_default();
                let before = std::mem::replace(&mut node.lost, lost).is_some();
                for name in &node.pods {
                    let Some(pod) = self.pods.get_mut(&(cluster, *name)) else { continue };
                    let served = !before && pod.stays();
                    pod.runs &= lost != Some(Loss::Power);
                    if !self.standby.contains(&(cluster, *name)) {
                        let workload = self.workloads.entry((cluster, name.workload)).or_default();
                        workload.count(at, served, lost.is_none() && pod.stays());
                    }
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, at: Time, cluster: KubeClusterId, name: PodName, change: impl FnOnce(&mut Pod, Option<Loss>)) {
        let Some(pod) = self.pods.get_mut(&(cluster, name)) else { return };
        let lost = pod.node.and_then(|node| self.nodes.get(&(cluster, node))?.lost);
        let before = pod.stays() && lost.is_none();
        change(pod, lost);
        if self.standby.contains(&(cluster, name)) {
            return;
        }
        self.workloads.entry((cluster, name.workload)).or_default().count(at, before, pod.stays() && lost.is_none());
    }

    /// A pod stands by from now on (`standby`), or serves in the other's place.
    pub fn stands_by(&mut self, at: Time, cluster: KubeClusterId, name: PodName, standby: bool) {
        let key = (cluster, name);
        let ready = self.serves(cluster, name) && self.pods.get(&key).is_some_and(Pod::stays);
        let changes = if standby { self.standby.insert(key) } else { self.standby.remove(&key) };
        if changes && ready {
            self.workloads.entry((cluster, name.workload)).or_default().count(at, standby, !standby);
        }
    }

    /// The pods that a node has, and whether each is ready as its API has it, and has not ended since.
    pub fn pods_on(&self, cluster: KubeClusterId, node: NodeName) -> impl Iterator<Item = (PodName, bool)> {
        let pods = self.nodes.get(&(cluster, node)).into_iter().flat_map(|node| &node.pods);
        pods.map(move |name| (*name, self.pods.get(&(cluster, *name)).is_some_and(Pod::serves)))
    }

    /// The nodes of a workload's pods that run, one for each pod.
    pub fn nodes_of_running(&self, cluster: KubeClusterId, workload: WorkloadId) -> impl Iterator<Item = NodeName> {
        self.of(cluster, workload).filter_map(move |(name, pod)| pod.node.filter(|_| self.runs(cluster, name)))
    }

    /// The node of a pod that is lost, and why it is.
    pub fn lost_node(&self, cluster: KubeClusterId, pod: PodName) -> Option<(NodeName, Loss)> {
        let node = self.node_of(cluster, pod)?;
        Some((node, self.nodes.get(&(cluster, node))?.lost?))
    }

    /// The node of a pod.
    pub fn node_of(&self, cluster: KubeClusterId, pod: PodName) -> Option<NodeName> {
        self.pods.get(&(cluster, pod))?.node
    }

    /// Whether a pod serves.
    pub fn serves(&self, cluster: KubeClusterId, name: PodName) -> bool {
        let lost = |node| self.nodes.get(&(cluster, node)).is_some_and(|node| node.lost.is_some());
        self.pods.get(&(cluster, name)).is_some_and(|pod| pod.serves() && pod.node.is_some_and(|node| !lost(node)))
    }

    /// Whether a pod answers those that reach its node.
    pub fn runs(&self, cluster: KubeClusterId, name: PodName) -> bool {
        let has_power = |node| self.nodes.get(&(cluster, node)).is_none_or(|node| node.lost != Some(Loss::Power));
        self.pods.get(&(cluster, name)).is_some_and(|pod| pod.runs && pod.node.is_some_and(has_power))
    }

    /// How many other pods of its workload serve, without those that were asked to end.
    pub fn others_that_serve(&self, cluster: KubeClusterId, name: PodName) -> u32 {
        let all = self.workloads.get(&(cluster, name.workload)).map_or(0, |workload| workload.serving);
        let own = self.serves(cluster, name) && self.pods.get(&(cluster, name)).is_some_and(Pod::stays);
        all - u32::from(own && !self.standby.contains(&(cluster, name)))
    }

    /// How many other pods its workload has that were not asked to end.
    pub fn others(&self, cluster: KubeClusterId, name: PodName) -> u32 {
        self.of(cluster, name.workload).filter(|(other, pod)| *other != name && !pod.terminating).count() as u32
    }

    /// Pods of a workload that are not ready and were not asked to end, with their nodes.
    pub fn not_ready(&self, cluster: KubeClusterId, workload: WorkloadId) -> impl Iterator<Item = (PodName, Option<NodeName>)> {
        self.of(cluster, workload).filter(|(_, pod)| !pod.ready && !pod.terminating).map(|(name, pod)| (name, pod.node))
    }

    fn of(&self, cluster: KubeClusterId, workload: WorkloadId) -> impl Iterator<Item = (PodName, &Pod)> {
        // The first name there is.
        let first = PodName { workload, tag: PodTag::Replica { template: 0, suffix: 0 } };
        let all = self.pods.range((cluster, first)..);
        all.take_while(move |((of, name), _)| *of == cluster && name.workload == workload).map(|((_, name), pod)| (*name, pod))
    }

    /// Time until `now` in which no pod of a workload served, from when the first one did. One that was asked to end counts no longer: its
    /// Services do not list it.
    pub fn unavailable(&self, cluster: KubeClusterId, workload: WorkloadId, now: Time) -> Duration {
        let Some(Workload { none_since, none, .. }) = self.workloads.get(&(cluster, workload)) else { return Duration::ZERO };
        *none + none_since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

impl Workload {
    /// One of its pods served or did not, and now does or does not.
    fn count(&mut self, at: Time, before: bool, now: bool) {
        match (before, now) {
            (false, true) => {
                self.serving += 1;
                if let Some(since) = self.none_since.take() {
                    self.none = self.none + at.since(since);
                }
            }
            (true, false) => {
                self.serving -= 1;
                if self.serving == 0 {
                    self.none_since = Some(at);
                }
            }
            (true, true) | (false, false) => {}
        }
    }
}
