//! Node groups as a scan finds them: one for each machine deployment.

use zonefall_kube::machine::Phase;
use zonefall_kube::rule::labels::Symbol;
use zonefall_kube::spec::{KubeClusterSpec, MachineDeployment, Resources};
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{MachineDeploymentId, NodeKey, TiVec};
use zonefall_scenario::kube::autoscaler::{ClusterAutoscaler, NodeCount, Sizing};

use crate::similar::{Comparator, IGNORED, Quantities, Ratios, ResourceKind, SampleNode};
use crate::sizing::{Limits, limits};

/// A node group at the start of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// Nodes that it may have.
    pub limits: Limits,
    /// Nodes that are wanted of it.
    pub target: u32,
    /// Nodes that have joined, healthy or not.
    pub launched: u32,
}

/// All groups at the start of a scan.
pub fn read(options: &ClusterAutoscaler, spec: &KubeClusterSpec, store: &Store) -> TiVec<MachineDeploymentId, NodeGroup> {
    let ids = || spec.machine_deployments.keys();
    let launched: TiVec<MachineDeploymentId, u32> = ids().map(|id| launched(id, store)).collect();
    let targets: TiVec<MachineDeploymentId, u32> = ids().map(|id| store.machines.desired(id)).collect();
    let counts = match options.count {
        NodeCount::Materialized => &launched,
        NodeCount::Targets | NodeCount::Live => &targets,
    };
    let limits = all_limits(options, counts, spec);
    let group = |id: MachineDeploymentId| NodeGroup { limits: limits[id], target: targets[id], launched: launched[id] };
    ids().map(group).collect()
}

/// Nodes of a group that have joined.
fn launched(id: MachineDeploymentId, store: &Store) -> u32 {
    let joined = |node| store.get_node(node).is_some();
    store.machines.of(id).filter(|(_, machine)| machine.node().is_some_and(joined)).count() as u32
}

/// A machine of some group brought a node, and nobody has given it up.
pub fn is_kept(key: NodeKey, store: &Store) -> bool {
    let machine = store.machines.of_node(key).and_then(|id| store.machines.get(id));
    machine.is_some_and(|machine| matches!(machine.phase, Phase::Running | Phase::Unknown) && !machine.surplus)
}

/// Limits of all groups, from the nodes of each that count. Where targets count, no group gets more than the pool has left: the
/// backward-compatible formula alone lets groups have their shares when others have been lent nodes.
pub fn all_limits(
    options: &ClusterAutoscaler,
    counts: &TiVec<MachineDeploymentId, u32>,
    spec: &KubeClusterSpec,
) -> TiVec<MachineDeploymentId, Limits> {
    let mut all: TiVec<MachineDeploymentId, Limits> = TiVec::with_capacity(spec.machine_deployments.len());
    while all.len() < spec.machine_deployments.len() {
        let first = all.next_key();
        let MachineDeployment { pool, minimum, maximum, .. } = &spec.machine_deployments[first];
        if options.sizing == Sizing::Static {
            // They were distributed when the machine deployments were made.
            all.push(Limits { minimum: *minimum, maximum: *maximum });
        } else {
            let end = MachineDeploymentId::from(all.len() + pool.zone.1 as usize);
            let (pool, counts) = (Limits { minimum: pool.minimum, maximum: pool.maximum }, &counts[first..end].raw);
            let left = pool.maximum.saturating_sub(counts.iter().sum());
            let group = |(limits, count): (Limits, &u32)| match options.count {
                NodeCount::Materialized => limits,
                NodeCount::Targets | NodeCount::Live => Limits { maximum: limits.maximum.min(count + left), ..limits },
            };
            all.extend(limits(options.sizing, pool, counts).into_iter().zip(counts).map(group));
        }
    }
    all
}

/// The groups that are similar to each, itself left out. `word`: the key of a label.
pub fn similar<'a>(
    spec: &KubeClusterSpec,
    word: impl Fn(Symbol) -> &'a str,
) -> TiVec<MachineDeploymentId, Vec<MachineDeploymentId>> {
    let groups = &spec.machine_deployments;
    let keys = groups.iter().flat_map(|group| group.template.labels.iter().map(|(key, _)| key));
    let ignored = keys.filter(|key| IGNORED.contains(&word(*key))).collect();
    let comparator = Comparator::Resources { ignored, ratios: Ratios::default() };
    let samples: TiVec<MachineDeploymentId, SampleNode> = groups.iter().map(sample).collect();
    let alike = |one, other| one != other && comparator.are_similar(&samples[one], &samples[other]);
    groups.keys().map(|one| groups.keys().filter(|other| alike(one, *other)).collect()).collect()
}

/// A node of a group. Daemons are on all nodes alike: what they request makes no difference.
fn sample(group: &MachineDeployment) -> SampleNode<'_> {
    let Resources { cpu_milli, memory, pods } = group.template.allocatable;
    let quantities = [(ResourceKind::Cpu, cpu_milli), (ResourceKind::Memory, memory), (ResourceKind::Pods, pods)];
    let all: Quantities = quantities.into_iter().map(|(kind, quantity)| (kind, quantity as i64)).collect();
    SampleNode { capacity: all.clone(), allocatable: all, requested: Quantities::new(), labels: &group.template.labels }
}
