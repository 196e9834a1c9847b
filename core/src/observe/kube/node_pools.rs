//! Node groups of pools: what each scan of the autoscaler found and did, and how far pools were from their limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::gardener::distribute::int_or_percent_over_zones;
use crate::ids::{KubeClusterId, MachineDeploymentId};
use crate::kernel::time::Time;
use crate::kube::describe::node_name;
use crate::kube::name::NodeName;
use crate::kube::record::{KubeRecord, NodeFact, NodeGroupFact, NodeGroupScan, ScaleDownVerdict};
use crate::kube::spec::{KubeClusterSpec, MachineDeployment, PoolShare};
use crate::report::{
    BackOffReport, KeptNodeReport, NodeGroupReport, NodeGroupScanReport, NodePoolReport, NodePoolScanReport, seconds,
};
use crate::scenario::Scenario;

/// Most scans of a pool that a report lists.
const SCANS: usize = 1_000;

/// Follows the pools of clusters whose autoscaler has options.
#[derive(Clone, Debug)]
pub struct NodePools {
    /// Shared with clones as long as neither changes them.
    pools: Arc<Vec<Pool>>,
}

#[derive(Clone, Debug)]
struct Pool {
    cluster: KubeClusterId,
    first: MachineDeploymentId,
    groups: Vec<Group>,
    /// When, and each group that has been scanned.
    scans: Vec<(Time, Vec<Option<NodeGroupScan>>)>,
    omitted: u64,
    most: u32,
    since: Time,
    exceeded_ns: u64,
    below_ns: u64,
    /// Nanoseconds times nodes.
    skew: u128,
    /// Nodes that scale-down left, since when and why.
    kept: BTreeMap<NodeName, (Time, ScaleDownVerdict)>,
    /// Nodes that were to be deleted and stayed, when and why.
    failures: Vec<(NodeName, (Time, ScaleDownVerdict))>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    launched: u32,
    /// From when, for how many seconds, and whether the cloud was out of stock.
    back_offs: Vec<(Time, u32, bool)>,
}

impl NodePools {
    /// The pools at the start.
    pub fn new(scenario: &Scenario) -> Self {
        let mut pools = Vec::new();
        for (cluster, spec) in scenario.kube.clusters.iter_enumerated() {
            if spec.controllers.cluster_autoscaler.is_none() {
                continue;
            }
            let firsts = spec.machine_deployments.iter_enumerated().filter(|(_, group)| group.pool.zone.0 == 0);
            pools.extend(firsts.map(|(first, group)| Pool::new(cluster, first, group.pool.zone.1, spec)));
        }
        Self { pools: Arc::new(pools) }
    }

    /// Takes note of a fact.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, fact: &KubeRecord, scenario: &Scenario) {
        if self.pools.is_empty() || !matches!(fact, KubeRecord::NodeGroup(..) | KubeRecord::Node(..)) {
            return;
        }
        let spec = &scenario.kube.clusters[cluster];
        let group = match *fact {
            KubeRecord::NodeGroup(id, _) => Some(id),
            KubeRecord::Node(
                node,
                NodeFact::Registered | NodeFact::Removed | NodeFact::ScaleDown(_) | NodeFact::ToBeDeleted | NodeFact::Kept(_),
            ) => match node {
                NodeName::Machine(machine) => Some(machine.deployment),
                NodeName::Given(key) => spec.nodes[key].machine.map(|machine| machine.deployment),
            },
            _ => None,
        };
        let Some(group) = group else { return };
        let of = |pool: &&mut Pool| pool.cluster == cluster && pool.place(group).is_some();
        let Some(pool) = Arc::make_mut(&mut self.pools).iter_mut().find(of) else { return };
        let place = pool.place(group).expect("it is one of the pool");
        match *fact {
            KubeRecord::NodeGroup(_, NodeGroupFact::Scanned(scan)) => pool.scanned(at, place, scan),
            KubeRecord::NodeGroup(_, NodeGroupFact::BackedOff { seconds, exhausted }) => {
                pool.groups[place].back_offs.push((at, seconds, exhausted));
            }
            KubeRecord::Node(_, NodeFact::Registered) => pool.count(at, spec, place, true),
            KubeRecord::Node(node, NodeFact::Removed) => {
                pool.count(at, spec, place, false);
                pool.kept.remove(&node);
            }
            KubeRecord::Node(node, NodeFact::ScaleDown(verdict)) => drop(pool.kept.insert(node, (at, verdict))),
            KubeRecord::Node(node, NodeFact::ToBeDeleted) => drop(pool.kept.insert(node, (at, ScaleDownVerdict::Deleting))),
            KubeRecord::Node(node, NodeFact::Kept(why)) => pool.failures.push((node, (at, why))),
            _ => {}
        }
    }

    /// All pools, as they stand `now`.
    pub fn rows(&self, now: Time, scenario: &Scenario) -> Vec<NodePoolReport> {
        self.pools.iter().map(|pool| pool.clone().row(now, scenario)).collect()
    }
}

impl Pool {
    fn new(cluster: KubeClusterId, first: MachineDeploymentId, zones: u32, spec: &KubeClusterSpec) -> Self {
        let mut groups = vec![Group::default(); zones as usize];
        let mut pool = Self {
            cluster,
            first,
            groups: Vec::new(),
            scans: Vec::new(),
            omitted: 0,
            most: 0,
            since: Time::ZERO,
            exceeded_ns: 0,
            below_ns: 0,
            skew: 0,
            kept: BTreeMap::new(),
            failures: Vec::new(),
        };
        let start = spec.nodes.iter().filter_map(|node| node.machine).map(|machine| machine.deployment);
        for deployment in start {
            let place = usize::from(deployment).checked_sub(usize::from(first));
            if let Some(group) = place.and_then(|place| groups.get_mut(place)) {
                group.launched += 1;
            }
        }
        pool.groups = groups;
        pool.most = pool.launched();
        pool
    }

    /// Which of its groups that of a machine deployment is.
    fn place(&self, deployment: MachineDeploymentId) -> Option<usize> {
        let place = usize::from(deployment).checked_sub(usize::from(self.first))?;
        (place < self.groups.len()).then_some(place)
    }

    fn launched(&self) -> u32 {
        self.groups.iter().map(|group| group.launched).sum()
    }

    fn scanned(&mut self, at: Time, place: usize, scan: NodeGroupScan) {
        if self.scans.last().is_none_or(|(last, _)| *last != at) {
            let before = self.scans.last().map_or_else(|| vec![None; self.groups.len()], |(_, groups)| groups.clone());
            if self.scans.len() == SCANS {
                self.omitted += 1;
                self.scans.pop();
            }
            self.scans.push((at, before));
        }
        let (_, groups) = self.scans.last_mut().expect("there is one by now");
        groups[place] = Some(scan);
    }

    /// A node has joined, or is gone.
    fn count(&mut self, at: Time, spec: &KubeClusterSpec, place: usize, joined: bool) {
        self.pass(at, &spec.machine_deployments[self.first].pool);
        let launched = &mut self.groups[place].launched;
        *launched = if joined { *launched + 1 } else { launched.saturating_sub(1) };
        self.most = self.most.max(self.launched());
    }

    /// Adds up the time since the last change.
    fn pass(&mut self, now: Time, limits: &PoolShare) {
        let passed = now.since(self.since).as_nanos();
        let all = self.launched();
        let counts = || self.groups.iter().map(|group| group.launched);
        let skew = counts().max().unwrap_or(0) - counts().min().unwrap_or(0);
        self.exceeded_ns += if all > limits.maximum { passed } else { 0 };
        self.below_ns += if all < limits.minimum { passed } else { 0 };
        self.skew += u128::from(passed) * u128::from(skew);
        self.since = now;
    }

    fn row(mut self, now: Time, scenario: &Scenario) -> NodePoolReport {
        let cluster = &scenario.kube.clusters[self.cluster];
        let share = cluster.machine_deployments[self.first].pool;
        self.pass(now, &share);
        let first = &cluster.machine_deployments[self.first].name;
        let pool = first.strip_prefix(&format!("{}-", cluster.name)).and_then(|name| name.strip_suffix("-z1")).unwrap_or(first);
        let all_ns = now.since(Time::ZERO).as_nanos().max(1);
        let group = |(place, group): (usize, &Group)| {
            let deployment = MachineDeploymentId::from(usize::from(self.first) + place);
            group_row(&cluster.machine_deployments[deployment], group, scenario)
        };
        let kept = |(node, (since, why)): (&NodeName, &(Time, ScaleDownVerdict))| KeptNodeReport {
            node: node_name(*node, cluster, scenario),
            since_s: seconds(*since),
            why: why.describe().to_owned(),
        };
        NodePoolReport {
            cluster: cluster.name.clone(),
            pool: pool.to_owned(),
            minimum: share.minimum,
            maximum: share.maximum,
            groups: self.groups.iter().enumerate().map(group).collect(),
            sizes: sizes(&self.scans),
            scans: self.scans.iter().map(|(at, groups)| scan_row(*at, groups)).collect(),
            scans_omitted: self.omitted,
            most_launched: self.most,
            exceeded_by: self.most.saturating_sub(share.maximum),
            exceeded_s: self.exceeded_ns as f64 / 1e9,
            below_minimum_s: self.below_ns as f64 / 1e9,
            mean_skew: self.skew as f64 / all_ns as f64,
            scale_down: self.kept.iter().map(kept).collect(),
            scale_down_failures: self.failures.iter().map(|(node, reason)| kept((node, reason))).collect(),
        }
    }
}

fn group_row(deployment: &MachineDeployment, group: &Group, scenario: &Scenario) -> NodeGroupReport {
    let PoolShare { zone: (zone, zones), minimum, maximum, rollout } = deployment.pool;
    let back_off = |(from, duration_s, exhausted): &(Time, u32, bool)| BackOffReport {
        from_s: seconds(*from),
        duration_s: f64::from(*duration_s),
        why: if *exhausted { "the cloud is out of stock" } else { "its nodes were overdue" }.to_owned(),
    };
    NodeGroupReport {
        machine_deployment: deployment.name.clone(),
        zone: scenario.zones[deployment.zone].name.clone(),
        minimum: deployment.minimum,
        maximum: deployment.maximum,
        max_surge: int_or_percent_over_zones(zone, rollout.max_surge, zones, maximum).to_string(),
        max_unavailable: int_or_percent_over_zones(zone, rollout.max_unavailable, zones, minimum).to_string(),
        launched: group.launched,
        back_offs: group.back_offs.iter().map(back_off).collect(),
    }
}

fn scan_row(at: Time, groups: &[Option<NodeGroupScan>]) -> NodePoolScanReport {
    debug_assert!(groups.iter().all(Option::is_some), "a scan tells of all groups of a pool");
    let groups: Vec<NodeGroupScanReport> = groups
        .iter()
        .flatten()
        .map(|NodeGroupScan { minimum, maximum, target, launched, choice }| NodeGroupScanReport {
            minimum: *minimum,
            maximum: *maximum,
            target: *target,
            launched: *launched,
            why: choice.describe().to_owned(),
        })
        .collect();
    NodePoolScanReport { at_s: seconds(at), groups }
}

/// Minimum, maximum and launched nodes of the groups, each time that one of these was another.
fn sizes(scans: &[(Time, Vec<Option<NodeGroupScan>>)]) -> Vec<String> {
    let size = |group: &NodeGroupScan| format!("{}:{}:{}", group.minimum, group.maximum, group.launched);
    let of_scan =
        |(_, groups): &(Time, Vec<Option<NodeGroupScan>>)| groups.iter().flatten().map(size).collect::<Vec<_>>().join(", ");
    let mut all: Vec<String> = scans.iter().map(of_scan).collect();
    all.dedup();
    all
}
