//! Node groups as a scan finds them: one for each machine deployment.

use zonefall_kube::machine::Phase;
use zonefall_kube::rule::labels::Symbol;
use zonefall_kube::spec::{KubeClusterSpec, MachineDeployment, Resources};
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{MachineDeploymentId, NodeKey, TiVec};
use zonefall_scenario::kube::autoscaler::{ClusterAutoscaler, NodeCount, Sizing};

use crate::estimate::{registered, requested_by_daemons};
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
    let launched: TiVec<MachineDeploymentId, u32> = ids().map(|id| registered(id, store).count() as u32).collect();
    let targets: TiVec<MachineDeploymentId, u32> = ids().map(|id| store.machines.desired(id)).collect();
    let counts = match options.count {
        NodeCount::Materialized => &launched,
        NodeCount::Targets | NodeCount::Live => &targets,
    };
    let limits = all_limits(options, counts, spec);
    let group = |id: MachineDeploymentId| NodeGroup { limits: limits[id], target: targets[id], launched: launched[id] };
    ids().map(group).collect()
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
    let samples: TiVec<MachineDeploymentId, SampleNode> = groups.iter().map(|group| sample(group, spec)).collect();
    let alike = |one, other| one != other && comparator.are_similar(&samples[one], &samples[other]);
    groups.keys().map(|one| groups.keys().filter(|other| alike(one, *other)).collect()).collect()
}

/// A node of a group, with the pods of DaemonSets that belong on it: of CPU and memory alone upstream counts what pods request.
fn sample<'a>(group: &'a MachineDeployment, spec: &KubeClusterSpec) -> SampleNode<'a> {
    let template = &group.template;
    let quantities = |cpu_milli: u64, memory: u64| [(ResourceKind::Cpu, cpu_milli as i64), (ResourceKind::Memory, memory as i64)];
    let Resources { cpu_milli, memory, pods } = template.allocatable;
    let all: Quantities = quantities(cpu_milli, memory).into_iter().chain([(ResourceKind::Pods, pods as i64)]).collect();
    let daemons = requested_by_daemons(&template.labels, &template.taints, spec);
    let requested = quantities(daemons.cpu_milli, daemons.memory).into();
    SampleNode { capacity: all.clone(), allocatable: all, requested, labels: &template.labels }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_scenario::Scenario;
    use zonefall_scenario::ids::KubeClusterId;

    /// Groups similar to the first of three zones, where a DaemonSet of as many CPUs, of 8, belongs on nodes with such a label.
    fn similar_to_first(cpus: f64, affinity: &str) -> usize {
        let file = format!(
            r#"{{
                "name": "daemons", "duration": "1m",
                "topology": {{"regions": [{{"name": "r", "zones": ["za", "zb", "zc"]}}]}},
                "clusters": [{{
                    "name": "c", "zones": ["za", "zb", "zc"],
                    "pools": [{{"name": "p", "minimum": 3, "maximum": 3, "machine": {{"cpu": 8, "memory": "32GiB"}}}}],
                    "workloads": [{{
                        "name": "agent", "kind": "daemon_set", "cpu": {cpus}, "memory": "1MiB", "node_affinity": ["{affinity}"]
                    }}]
                }}]
            }}"#
        );
        let scenario = Scenario::from_json(&file).unwrap_or_else(|errors| panic!("{errors}"));
        let spec = &scenario.kube.clusters[KubeClusterId(0)];
        similar(spec, |key| scenario.kube.word(key))[MachineDeploymentId(0)].len()
    }

    /// `compare_nodegroups.go`: what is free may differ by 5 %.
    #[test]
    fn groups_differ_where_pods_of_a_daemon_set_belong_on_nodes_of_one_alone() {
        let in_one = "topology.kubernetes.io/zone in (za)";
        assert_eq!([2.0, 0.3].map(|cpus| similar_to_first(cpus, in_one)), [0, 2]);
        assert_eq!(similar_to_first(2.0, "kubernetes.io/os=linux"), 2, "all alike");
    }
}
