//! A seed with so many machines and shoots, as a run starts it: the scenario file that says so, and where the simulator places its pods.
//!
//! Nothing here decides where a pod may be. The file is validated like any other, which gives members of etcd their nodes; the
//! simulation of it places all other pods with the scheduler that runs, in its order.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Constraint;
use super::supply::Supply;
use crate::autoscaler::estimate::unschedulable_pods;
use crate::gardener::druid::relaxed;
use crate::ids::{KubeClusterId, MachineDeploymentId, SeedId, TiVec, WorkloadId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::controller::placement::Demand;
use crate::kube::name::NodeName;
use crate::kube::rule::taints;
use crate::kube::spec::gardener::{FailureTolerance, Recovery, Shoot};
use crate::kube::spec::{KubeClusterSpec, MachineDeployment, Role, Workload};
use crate::kube::store::{Node, Pod, Store};
use crate::scenario::Scenario;
use crate::scenario::raw::{
    RawApiServers, RawCapacity, RawMode, RawPool, RawReference, RawScenario, RawSeedNode, RawShoot, RawShootEtcd, RawSource,
};
use crate::scenario::units::{Name, Size};
use crate::sim::{Options, Simulation};

/// The scheduler has tried again by then whatever found no node at first.
const RETRIES: Duration = Duration::from_secs(10);

/// So many shoots of each failure tolerance.
pub(super) type Shoots = [(FailureTolerance, u32)];

/// A seed of a file, with nothing that happens in it.
pub(super) struct Site<'a> {
    file: RawScenario,
    scenario: &'a Scenario,
    seed: SeedId,
    /// Control planes that are planned.
    reference: RawReference,
}

impl<'a> Site<'a> {
    /// The seed with the shoots that it hosts at the start, or empty but for what it runs for itself.
    pub(super) fn new(raw: &RawScenario, scenario: &'a Scenario, seed: SeedId, hosts: bool) -> Self {
        let file = RawScenario {
            bookmark: None,
            etcd: Vec::new(),
            clusters: Vec::new(),
            shoots: if hosts { hosted(raw, scenario, seed) } else { Vec::new() },
            capacity: RawCapacity::default(),
            clients: Vec::new(),
            faults: Vec::new(),
            random_faults: Vec::new(),
            operations: Vec::new(),
            observe_at: Vec::new(),
            contradictions: Vec::new(),
            expect: Vec::new(),
            ..raw.clone()
        };
        Self { file, scenario, seed, reference: raw.capacity.shoot.clone() }
    }

    /// How the seed starts with so many machines (of each share of the supply) and further shoots; `None`: there are no nodes for members
    /// of etcd, or a scenario cannot be so large.
    pub(super) fn start(&self, supply: &Supply, machines: &[u64], lifted: &[Constraint], shoots: &Shoots) -> Option<Trial> {
        let mut file = self.file.clone();
        let seed = &mut file.seeds[usize::from(self.seed)];
        // Who asks counts shoots and addresses.
        (seed.allocatable_shoots, seed.node_cidr, seed.node_prefix) = (2_000, "0.0.0.0/0".to_owned(), 24);
        let mut given = std::mem::take(&mut seed.nodes);
        for (share, count) in supply.shares.iter().zip(machines) {
            let (pool, zone) = (&mut seed.pools[share.pool], &self.scenario.zones[share.zone].name);
            let zones = supply.shares.iter().filter(|own| own.pool == share.pool).count() as u64;
            pool.maximum = pool.maximum.max((count * zones) as u32);
            let here = |node: &mut RawSeedNode| node.pool == pool.name.as_str() && node.zone == *zone;
            seed.nodes.extend(given.extract_if(.., here).take(*count as usize));
            let there = seed.nodes.iter().filter(|node| node.pool == pool.name.as_str() && node.zone == *zone).count() as u64;
            for k in there..*count {
                let name = format!("{}-{}-{zone}-more-{k}", seed.name, pool.name).parse().ok()?;
                let (pool, zone) = (pool.name.to_string(), zone.clone());
                seed.nodes.push(RawSeedNode { name, pool, zone, machine: None, mark: RawSource::default() });
            }
        }
        for pool in &mut seed.pools {
            if !seed.nodes.iter().any(|node| node.pool == pool.name.as_str()) {
                // None is given, and none is made.
                (pool.minimum, pool.start) = (0, None);
            }
            lift(pool, lifted);
        }
        let (seed, hosted) = (seed.name.to_string(), file.shoots.len());
        for (tolerance, count) in shoots.iter().filter(|(_, count)| *count > 0) {
            file.shoots.push(self.planned(&seed, *tolerance, *count)?);
        }
        let scenario = Arc::new(Scenario::from_raw(&file).ok()?);
        let cluster = scenario.kube.seeds[self.seed].cluster;
        let simulation = Simulation::new(Arc::clone(&scenario), scenario.seed, Options::default());
        let mut trial = Trial { simulation, cluster, hosted, lost: None };
        if trial.can_retry() {
            trial.simulation.run_until(Time::ZERO + RETRIES, &mut |_, _| {});
        }
        Some(trial)
    }

    /// Control planes to come, as the file has them in `capacity.shoot`.
    fn planned(&self, seed: &str, failure_tolerance: FailureTolerance, count: u32) -> Option<RawShoot> {
        let reference = &self.reference;
        // Of one member nobody stands by.
        let mode = if failure_tolerance == FailureTolerance::None { RawMode::Quorum } else { reference.etcd.mode.clone() };
        Some(RawShoot {
            name: format!("planned-{}", failure_tolerance.describe()).parse().ok()?,
            count,
            seed: Some(seed.to_owned()),
            failure_tolerance,
            namespace: None,
            recovery: reference.recovery,
            etcd: RawShootEtcd { mode, ..RawShootEtcd::default() },
            api_servers: RawApiServers::default(),
            usage: None,
            components: reference.components.clone(),
            only_listed: reference.only_listed,
            mark: RawSource::default(),
        })
    }
}

/// The shoots that a seed hosts at the start, each for itself.
fn hosted(raw: &RawScenario, scenario: &Scenario, seed: SeedId) -> Vec<RawShoot> {
    let mut all = scenario.kube.shoots.iter();
    let name = &scenario.kube.seeds[seed].name;
    let each = |entry: &RawShoot| {
        let numbered =
            |k: u32, name: &Name| if entry.count > 1 { format!("{name}-{k}").parse().ok() } else { Some(name.clone()) };
        let here = |shoot: &Shoot| shoot.hosted.as_ref().is_some_and(|hosted| hosted.seed == seed);
        let own = (1..=entry.count).zip(all.by_ref()).filter(|(_, shoot)| here(shoot));
        let one = own.filter_map(|(k, _)| {
            let namespace = entry.namespace.as_ref().and_then(|name| numbered(k, name));
            Some(RawShoot { name: numbered(k, &entry.name)?, count: 1, seed: Some(name.clone()), namespace, ..entry.clone() })
        });
        one.collect::<Vec<_>>()
    };
    raw.shoots.iter().flat_map(each).collect()
}

/// Gives a pool's machines as much as a file can say of what is lifted.
fn lift(pool: &mut RawPool, lifted: &[Constraint]) {
    for constraint in lifted {
        match constraint {
            Constraint::Cpu => pool.machine.cpu = 1_024.0,
            Constraint::Memory => pool.machine.memory = Size(64 << 40),
            Constraint::Pods => pool.machine.pods = 1_000,
            Constraint::Volumes => pool.machine.volumes = 1_000,
            Constraint::AllocatableShoots
            | Constraint::Surge
            | Constraint::NodeCidr
            | Constraint::Stock
            | Constraint::Maximum => {}
        }
    }
}

/// A seed as a run starts it.
pub(super) struct Trial {
    simulation: Simulation,
    cluster: KubeClusterId,
    /// Shoots that come before those that are planned.
    hosted: usize,
    lost: Option<ZoneId>,
}

impl Trial {
    /// A run as it stands, without planned shoots.
    pub(super) fn of(run: Simulation, cluster: KubeClusterId, lost: Option<ZoneId>) -> Self {
        let hosted = run.scenario().kube.shoots.len();
        Self { simulation: run, cluster, hosted, lost }
    }

    /// Whether every pod of the planned shoots has a node, and no other pod waits for one that a further machine would be.
    pub(super) fn fits(&self) -> bool {
        let planned = &self.shoots()[self.hosted..];
        let of_planned = |pod: &Pod| {
            let mut hosted = planned.iter().filter_map(|shoot| shoot.hosted.as_ref());
            hosted.any(|hosted| hosted.workloads.contains(&pod.name.workload))
        };
        !self.is_short() && (self.lost.is_some() || !self.pending().any(of_planned))
    }

    /// Whether a pod waits that would find room on a further machine. (Others wait for a zone, or their rules leave no place.)
    pub(super) fn is_short(&self) -> bool {
        let waiting = self.left(&self.demands(), 0);
        self.left(&waiting, 1).len() < waiting.len()
    }

    /// Whether a pod that found no node has one by now, since others have theirs.
    fn can_retry(&self) -> bool {
        let pods = self.demands();
        self.left(&pods, 0).len() < pods.len()
    }

    /// What the pods demand that have no node.
    fn demands(&self) -> Vec<Demand> {
        self.pending().map(|pod| Demand::of(pod, self.store())).collect()
    }

    /// Those of these pods that find no node, with so many more of each machine deployment in the zones that are left.
    fn left(&self, pods: &[Demand], more: u32) -> Vec<Demand> {
        let deployments = self.spec().machine_deployments.iter();
        let more: TiVec<_, u32> =
            deployments.map(|deployment| if Some(deployment.zone) == self.lost { 0 } else { more }).collect();
        unschedulable_pods(pods, &more, self.spec(), self.store()).0
    }

    /// Whether a node has too little of this for a pod that waits.
    pub(super) fn lacks(&self, of: Constraint) -> bool {
        let lacks = |workload: &Workload, node: &Node| {
            let (requested, allocatable) = (node.requested.plus(&workload.requests), &node.allocatable);
            match of {
                Constraint::Cpu => requested.cpu_milli > allocatable.cpu_milli,
                Constraint::Memory => requested.memory > allocatable.memory,
                Constraint::Pods => requested.pods > allocatable.pods,
                Constraint::Volumes => workload.volume.is_some() && node.with_volume >= node.volumes,
                Constraint::AllocatableShoots
                | Constraint::Surge
                | Constraint::NodeCidr
                | Constraint::Stock
                | Constraint::Maximum => false,
            }
        };
        let nodes = || self.store().nodes().map(|(_, node)| node).filter(|node| Some(node.zone) != self.lost);
        let waiting: BTreeSet<WorkloadId> = self.pending().map(|pod| pod.name.workload).collect();
        waiting.into_iter().any(|id| nodes().any(|node| lacks(&self.spec().workloads[id], node)))
    }

    /// Shoots of the seed with a pod that has no node.
    pub(super) fn pending_shoots(&self) -> usize {
        let waits = |workload: &WorkloadId| self.store().pods_of(*workload).any(|(_, pod)| pod.node.is_none());
        let hosted = self.shoots().iter().filter_map(|shoot| shoot.hosted.as_ref());
        hosted.filter(|hosted| hosted.workloads.iter().any(waits)).count()
    }

    /// The same after the loss of a zone: what can move has moved, where there is room.
    pub(super) fn without(&self, zone: ZoneId) -> Self {
        let moves = |shoot: &&Shoot| shoot.recovery == Recovery::Move && shoot.tolerance == FailureTolerance::Zone;
        let hosted = self.shoots().iter().filter(moves).filter_map(|shoot| shoot.hosted.as_ref());
        let sets = hosted.flat_map(|hosted| &hosted.workloads).map(|id| (*id, &self.spec().workloads[*id]));
        let sets = sets.filter(|(_, workload)| matches!(workload.role, Role::Etcd(_)));
        let sets = sets.map(|(id, workload)| (id, relaxed(workload))).collect();
        let mut simulation = self.simulation.clone();
        simulation.lose_zone(self.cluster, zone, sets);
        Self { simulation, lost: Some(zone), ..*self }
    }

    /// What pods request of the nodes of machine deployments, and what these hold: thousandths of a CPU, bytes of memory, volumes, pods.
    pub(super) fn amounts(&self, of: &[MachineDeploymentId]) -> [[u64; 2]; 4] {
        let counts = |node: &&Node| {
            let NodeName::Given(key) = node.name else { return false };
            self.spec().nodes[key].machine.is_some_and(|machine| of.contains(&machine.deployment))
        };
        let mut sums = [[0; 2]; 4];
        for node in self.store().nodes().map(|(_, node)| node).filter(counts) {
            let (requested, allocatable) = (&node.requested, &node.allocatable);
            let each = [
                [requested.cpu_milli, allocatable.cpu_milli],
                [requested.memory, allocatable.memory],
                [u64::from(node.with_volume), u64::from(node.volumes)],
                [requested.pods, allocatable.pods],
            ];
            for (sum, own) in sums.iter_mut().flatten().zip(each.into_iter().flatten()) {
                *sum += own;
            }
        }
        sums
    }

    /// Whether a planned pod may be on nodes of a machine deployment.
    pub(super) fn suits(&self, deployment: &MachineDeployment) -> bool {
        let planned = self.shoots()[self.hosted..].iter().filter_map(|shoot| shoot.hosted.as_ref());
        let mut workloads = planned.flat_map(|hosted| &hosted.workloads).map(|id| &self.spec().workloads[*id]);
        workloads.any(|workload: &Workload| {
            workload.affinity.admits(&deployment.template.labels)
                && taints::forbidding(&deployment.template.taints, &workload.tolerations).is_none()
        })
    }

    fn pending(&self) -> impl Iterator<Item = &Pod> {
        self.store().pods().map(|(_, pod)| pod).filter(|pod| pod.node.is_none())
    }

    fn shoots(&self) -> &[Shoot] {
        &self.simulation.scenario().kube.shoots
    }

    fn store(&self) -> &Store {
        self.simulation.cluster(self.cluster).store()
    }

    pub(super) fn spec(&self) -> &KubeClusterSpec {
        &self.simulation.scenario().kube.clusters[self.cluster]
    }
}
