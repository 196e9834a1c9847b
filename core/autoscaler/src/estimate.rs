//! How many nodes of a machine deployment pods need, were there more of it (`estimator/binpacking_estimator.go`,
//! `expander/waste/waste.go`).

use std::collections::BTreeSet;

use zonefall_kube::controller::daemon;
use zonefall_kube::controller::placement::{Assumed, Demand, Firsts};
use zonefall_kube::name::{MachineName, NodeName};
use zonefall_kube::rule::labels::{Labels, Symbol};
use zonefall_kube::rule::taints::{self, Taint};
use zonefall_kube::spec::{Kind, KubeClusterSpec, MachineDeployment, Resources, Workload};
use zonefall_kube::store::{Node, Store, TO_BE_DELETED};
use zonefall_network::HostId;
use zonefall_scenario::ids::{MachineDeploymentId, NodeKey, TiSlice};

/// More nodes of a machine deployment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleUpOption {
    /// Of which.
    pub group: MachineDeploymentId,
    /// How many.
    pub nodes: u32,
    /// Pods that fit on them.
    pub pods: u32,
    /// The part of their CPU and of their memory that the pods which need them do not request, summed.
    pub waste: f64,
}

/// Those of these pods that find no node, were all `coming` nodes (per machine deployment) there already.
pub fn unschedulable_pods(
    pods: &[Demand],
    coming: &TiSlice<MachineDeploymentId, u32>,
    spec: &KubeClusterSpec,
    store: &Store,
) -> (Vec<Demand>, Assumed) {
    let mut assumed = Assumed::default();
    for (group, count) in coming.iter_enumerated().filter(|(_, count)| **count > 0) {
        let node = next_node(group, spec, store);
        (0..*count).for_each(|_| add(&node, &mut assumed, store));
    }
    let mut left = Vec::new();
    let mut hopeless = BTreeSet::new();
    let mut firsts = Firsts::default();
    for pod in pods {
        if hopeless.contains(pod) {
            left.push(*pod);
            continue;
        }
        let first = firsts.of(*pod, &assumed, |_| false, spec, store);
        let place = first.and_then(|from| assumed.first_fit(*pod, from, spec, store));
        if let Some(node) = place {
            assumed.put(*pod, node, spec);
        } else {
            hopeless.insert(*pod);
            left.push(*pod);
        }
    }
    (left, assumed)
}

/// Those of these pods that would fit on a new node of a machine deployment, each by itself.
pub fn suitable(
    group: MachineDeploymentId,
    pods: &[Demand],
    assumed: &Assumed,
    spec: &KubeClusterSpec,
    store: &Store,
) -> BTreeSet<Demand> {
    let mut assumed = assumed.clone();
    let key = next(&assumed, store);
    add(&next_node(group, spec, store), &mut assumed, store);
    let all: BTreeSet<Demand> = pods.iter().copied().collect();
    all.into_iter().filter(|pod| assumed.first_fit(*pod, key, spec, store).is_some()).collect()
}

/// Packs pods on new nodes of a machine deployment, at most `room`, first fit; `None` where none of them fits on such a node. Pods that ask for
/// the largest part of a node come first (`estimator/decreasing_pod_orderer.go`).
pub fn estimate(
    group: MachineDeploymentId,
    room: u32,
    pods: &[Demand],
    assumed: &Assumed,
    spec: &KubeClusterSpec,
    store: &Store,
) -> Option<ScaleUpOption> {
    let mut assumed = assumed.clone();
    let before = assumed.nodes.len();
    let first = next(&assumed, store);
    let another = next_node(group, spec, store);
    let (mut packed, mut count) = (Resources::default(), 0);
    let mut hopeless = BTreeSet::new();
    let allocatable = &spec.machine_deployments[group].template.allocatable;
    let part = |pod: &Demand| {
        let requests = &spec.workloads[pod.workload].requests;
        requests.cpu_milli as f64 / allocatable.cpu_milli as f64 + requests.memory as f64 / allocatable.memory as f64
    };
    let mut decreasing: Vec<(f64, &Demand)> = pods.iter().map(|pod| (part(pod), pod)).collect();
    decreasing.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    for (_, pod) in decreasing {
        if hopeless.contains(pod) {
            continue;
        }
        let mut node = assumed.first_fit(*pod, first, spec, store);
        if node.is_none() && assumed.nodes.len() - before < room as usize {
            let last = next(&assumed, store);
            add(&another, &mut assumed, store);
            node = assumed.first_fit(*pod, last, spec, store);
            if node.is_none() {
                assumed.nodes.pop();
            }
        }
        if let Some(node) = node {
            assumed.put(*pod, node, spec);
            packed = packed.plus(&spec.workloads[pod.workload].requests);
            count += 1;
        } else {
            hopeless.insert(*pod);
        }
    }
    let nodes = (assumed.nodes.len() - before) as u32;
    let unused = |packed: u64, each: u64| 1.0 - packed as f64 / (u64::from(nodes) * each) as f64;
    let waste = || unused(packed.cpu_milli, allocatable.cpu_milli) + unused(packed.memory, allocatable.memory);
    (nodes > 0).then(|| ScaleUpOption { group, nodes, pods: count, waste: waste() })
}

fn next(assumed: &Assumed, store: &Store) -> NodeKey {
    NodeKey(store.next_node().0 + assumed.nodes.len() as u32)
}

/// A node as the next machine of a deployment will bring it, with the pods that belong to every node.
fn next_node(id: MachineDeploymentId, spec: &KubeClusterSpec, store: &Store) -> Node {
    let group: &MachineDeployment = &spec.machine_deployments[id];
    // It is nobody's: only its labels, its taints and its size count.
    let name = NodeName::Machine(MachineName { deployment: id, template: 0, suffix: 0 });
    let mut node = Node::new(name, HostId(u16::MAX), group.zone, &group.template);
    node.labels.set(Symbol::HOSTNAME, Symbol::host(store.next_node()));
    node.requested = requested_by_daemons(&node.labels, &node.taints, spec);
    node
}

/// What pods of DaemonSets request on a node with these labels and taints.
pub fn requested_by_daemons(labels: &Labels, taints: &[Taint], spec: &KubeClusterSpec) -> Resources {
    let daemons = spec.workloads.iter().filter(|workload| workload.kind == Kind::DaemonSet);
    let suit = |workload: &&Workload| {
        workload.affinity.admits(labels) && taints::forbidding(taints, &daemon::tolerations(workload)).is_none()
    };
    daemons.filter(suit).fold(Resources::default(), |all, workload| all.plus(&workload.requests))
}

fn add(node: &Node, assumed: &mut Assumed, store: &Store) {
    let (key, mut node) = (next(assumed, store), node.clone());
    node.labels.set(Symbol::HOSTNAME, Symbol::host(key));
    assumed.nodes.push((key, node));
}

/// Nodes that were asked for and have not joined: those that have, dead or alive, count as there (`areThereUpcomingNodesInNodeGroup`).
pub fn missing(group: MachineDeploymentId, store: &Store) -> u32 {
    store.machines.desired(group).saturating_sub(registered(group, store).count() as u32)
}

/// Nodes that pods may wait for, but for those that have timed out (`GetUpcomingNodes`). A node that is tainted as to be deleted is not
/// there, even while its group still has its size: the provider of the machine-controller-manager does not say which nodes have an instance
/// (`HasInstance`), so that the taint decides.
pub fn upcoming(group: MachineDeploymentId, timed_out: u32, store: &Store) -> u32 {
    let stay = registered(group, store).filter(|node| !node.taints.contains(&TO_BE_DELETED));
    store.machines.desired(group).saturating_sub(stay.count() as u32 + timed_out)
}

/// Nodes of a group that have joined.
pub fn registered(group: MachineDeploymentId, store: &Store) -> impl Iterator<Item = &Node> {
    store.machines.of(group).filter_map(|(_, machine)| store.get_node(machine.node()?))
}
