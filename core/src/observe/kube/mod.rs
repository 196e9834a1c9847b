//! What happened to pods, nodes and machines, for the report.

pub mod apis;
pub mod budgets;
pub mod counts;
pub mod disks;
pub mod drains;
pub mod failback;
pub mod hints;
pub mod migrations;
pub mod node_pools;
pub mod objects;
pub mod orphaned_containers;
pub mod pending;
pub mod recovery;
pub mod rollouts;
mod rows;
pub mod service_traffic;
pub mod services;
pub mod serving;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::etcd::passive::PassiveRecord;
use crate::ids::{EtcdId, KubeClusterId, WorkloadId};
use crate::kernel::time::Time;
use crate::kube::name::{PodName, PodTag};
use crate::kube::record::KubeRecord;
use crate::kube::spec::gardener::FailureTolerance;
use crate::kube::spec::{KubeClusterSpec, Task};
use crate::observe::Observer;
use crate::observe::availability::ApiRows;
use crate::record::{EtcdRecord, Record};
use crate::report::{
    ApiReport, BudgetReport, ComponentReport, CountsReport, DrainReport, HintsReport, MigrationReport, NodePoolReport,
    OrphanedContainerReport, RecoveryReport, RolloutReport, ServiceReport, ServiceTrafficReport, length,
};
use crate::scenario::{Scenario, Vantage};
use recovery::{Row, Step};

/// Follows all clusters.
#[derive(Clone, Debug)]
pub struct Kube {
    scenario: Arc<Scenario>,
    /// Whose API answered, and who acted.
    pub apis: apis::Apis,
    /// Pods that ran on though they were gone.
    pub orphaned_containers: orphaned_containers::OrphanedContainers,
    /// Who serves.
    pub serving: Arc<serving::Serving>,
    /// What was lost, and how it came back.
    pub recovery: Arc<recovery::Recovery>,
    /// How many stand where.
    pub counts: counts::Counts,
    /// Nodes that an operator drains.
    pub drains: drains::Drains,
    /// Shoots that were to move to another seed.
    pub migrations: migrations::Migrations,
    /// Services of clusters without Gardener.
    pub services: services::Services,
    /// Connections of Services' clients.
    pub service_traffic: service_traffic::Flows,
    /// Topology hints of Services.
    pub hints: hints::Hints,
    /// Node groups of pools.
    pub node_pools: node_pools::NodePools,
    /// Rollouts of workloads.
    pub rollouts: Arc<rollouts::Rollouts>,
    /// Budgets of evictions.
    pub budgets: Arc<budgets::Budgets>,
    /// Disks that pods use by name.
    pub disks: disks::Disks,
}

impl Kube {
    /// Nothing has happened yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let (apis, orphaned_containers, serving, recovery, drains, migrations, hints) = Default::default();
        let (counts, services) = (counts::Counts::new(scenario), services::Services::new(scenario));
        let (node_pools, service_traffic) = (node_pools::NodePools::new(scenario), service_traffic::Flows::new(scenario));
        let rollouts = Arc::new(rollouts::Rollouts::new(scenario));
        let (budgets, disks) = (Arc::new(budgets::Budgets::new(scenario)), disks::Disks::new(scenario));
        let scenario = Arc::clone(scenario);
        let mut kube = Self {
            scenario,
            apis,
            orphaned_containers,
            serving,
            recovery,
            counts,
            drains,
            migrations,
            services,
            service_traffic,
            hints,
            node_pools,
            rollouts,
            budgets,
            disks,
        };
        for (cluster, spec) in Arc::clone(&kube.scenario).etcd.iter_enumerated() {
            if let Some(passive) = &spec.passive {
                kube.switched(Time::ZERO, cluster, passive.primary);
            }
        }
        kube
    }

    /// Of two members of etcd this one is to serve now, the other stands by.
    fn switched(&mut self, at: Time, cluster: EtcdId, serves: u8) {
        let Some((cluster, workload)) = self.scenario.kube.stateful_set_of(cluster) else { return };
        for index in [0, 1] {
            let name = PodName { workload, tag: PodTag::Ordinal(index.into()) };
            Arc::make_mut(&mut self.serving).stands_by(at, cluster, name, index != serves);
        }
    }

    /// What was lost, in order, as it stands `now`.
    pub fn recoveries(&self, now: Time) -> Vec<RecoveryReport> {
        self.recovery.rows().map(|row| rows::recovery(row, now, &self.apis, &self.scenario)).collect()
    }

    /// Nodes that an operator drains, in order, as that stands `now`.
    pub fn drains(&self, now: Time) -> Vec<DrainReport> {
        self.drains.rows(now, &self.serving, &self.scenario)
    }

    /// Shoots that were asked to move to another seed, in order, as that stands `now`.
    pub fn migrations(&self, now: Time) -> Vec<MigrationReport> {
        self.migrations.rows(now, &self.apis, &self.scenario)
    }

    /// Services of clusters without Gardener, as they stand `now`.
    pub fn services(&self, now: Time) -> Vec<ServiceReport> {
        self.services.rows(now, &self.scenario)
    }

    /// Connections of Services' clients, as they stand `now`.
    pub fn service_traffic(&self, now: Time) -> Vec<ServiceTrafficReport> {
        self.service_traffic.rows(now, &self.serving, &self.scenario)
    }

    /// Rollouts, in the order they were asked for, as they stand `now`.
    pub fn rollouts(&self, now: Time) -> Vec<RolloutReport> {
        self.rollouts.rows(now)
    }

    /// What budgets let evictions do, as that stands `now`.
    pub fn budgets(&self, now: Time) -> Vec<BudgetReport> {
        self.budgets.rows(now)
    }

    /// While Services had topology hints, where any asks for them.
    pub fn hints(&self, now: Time) -> Vec<HintsReport> {
        self.hints.rows(now, &self.scenario)
    }

    /// Pools of clusters whose autoscaler has options.
    pub fn node_pools(&self, now: Time) -> Vec<NodePoolReport> {
        self.node_pools.rows(now, &self.scenario)
    }

    /// Each cluster's API, in the order of the scenario.
    /// Vantages are those of an etcd cluster's clients; `met`: what requests to an API met, and why it was unavailable.
    pub fn apis<'a>(
        &self,
        now: Time,
        vantages: &dyn Fn(EtcdId) -> Vec<Vantage>,
        met: &dyn Fn(KubeClusterId) -> ApiRows<'a>,
    ) -> IndexMap<String, ApiReport> {
        let model = &self.scenario.kube;
        let tolerance: BTreeMap<&str, FailureTolerance> =
            model.shoots.iter().map(|shoot| (model.word(shoot.namespace), shoot.tolerance)).collect();
        let row = |(id, cluster): (KubeClusterId, &KubeClusterSpec)| {
            let row = self.apis.row(id, &vantages(cluster.etcd), now, &self.scenario, &met(id));
            let failure_tolerance = tolerance.get(&*cluster.name).copied();
            (cluster.name.clone(), ApiReport { failure_tolerance, ..row })
        };
        model.clusters.iter_enumerated().map(row).collect()
    }

    /// How many nodes, pods and machines stood where, by cluster, `window_s` seconds between two looks.
    pub fn counts(&self, window_s: f64) -> IndexMap<String, CountsReport> {
        let name = |id: KubeClusterId| self.scenario.kube.clusters[id].name.clone();
        self.counts.rows(window_s).map(|(id, row)| (name(id), row)).collect()
    }

    /// Pods that ran on though they were gone.
    pub fn orphaned_containers(&self, now: Time) -> Vec<OrphanedContainerReport> {
        self.orphaned_containers.rows(now, &self.scenario)
    }

    /// The components that lost a pod, by cluster and in the order of the scenario.
    pub fn components(&self, now: Time) -> Vec<ComponentReport> {
        let scenario = &self.scenario;
        let mut of: BTreeMap<(KubeClusterId, WorkloadId), Vec<&Row>> = BTreeMap::new();
        for row in self.recovery.rows() {
            of.entry((row.cluster, row.pod.workload)).or_default().push(row);
        }
        let component = |((cluster, workload), rows): ((KubeClusterId, WorkloadId), Vec<&Row>)| {
            let spec = &scenario.kube.clusters[cluster];
            let recovered = || rows.iter().filter(|row| row.at(Step::Ready).is_some());
            let longest = |step: Step| rows.iter().filter_map(|row| row.at(step).map(|at| at.since(row.lost))).max().map(length);
            let name = &spec.workloads[workload];
            ComponentReport {
                cluster: spec.name.clone(),
                namespace: scenario.kube.word(name.namespace).to_owned(),
                component: name.name.clone(),
                lost: rows.len() as u64,
                recovered: recovered().count() as u64,
                moved: recovered().filter(|row| row.moved).count() as u64,
                detect_s: longest(Step::Detected),
                reschedule_s: longest(Step::Scheduled),
                ready_s: longest(Step::Ready),
                unavailable_s: length(self.serving.unavailable(cluster, workload, now)),
            }
        };
        of.into_iter().map(component).collect()
    }
}

impl Observer for Kube {
    fn record(&mut self, at: Time, record: &Record) {
        if let Record::Etcd(EtcdRecord::Passive(cluster, PassiveRecord::Detected { to, .. })) = record {
            self.switched(at, *cluster, *to);
        }
        if let Record::Gardener(_, fact) = record {
            self.migrations.record(at, fact);
        }
        if let Record::Rollout(cluster, fact) = record {
            Arc::make_mut(&mut self.rollouts).rollout(at, *cluster, *fact);
        }
        if let Record::FaultStarted(_) | Record::FaultEnded(_) = record {
            self.service_traffic.pass(at, &self.serving, &self.scenario);
            self.service_traffic.fault(record);
        }
        let Record::Kube(cluster, fact) = record else { return };
        if self.budgets.follows(*cluster, fact) {
            Arc::make_mut(&mut self.budgets).record(at, *cluster, fact);
        }
        self.disks.record(*cluster, fact);
        self.apis.record(at, *cluster, fact, &self.scenario);
        self.orphaned_containers.record(at, *cluster, fact);
        if let KubeRecord::Operation(Task::ScaleWorkload(scale)) = fact {
            let at_first = self.scenario.kube.clusters[*cluster].workloads[scale.workload].replicas;
            Arc::make_mut(&mut self.recovery).scale(*cluster, scale.workload, at_first, scale.replicas);
        }
        self.service_traffic.pass(at, &self.serving, &self.scenario);
        // Other records do not change them: clones go on sharing them.
        if matches!(fact, KubeRecord::Pod(..) | KubeRecord::Node(..)) {
            Arc::make_mut(&mut self.recovery).record(at, *cluster, fact, &self.serving, &self.scenario);
            Arc::make_mut(&mut self.serving).record(at, *cluster, fact);
        }
        if self.rollouts.follows(*cluster, fact) {
            Arc::make_mut(&mut self.rollouts).record(at, *cluster, fact, &self.serving);
        }
        self.services.record(at, *cluster, fact, &self.serving);
        self.service_traffic.record(*cluster, fact, &self.scenario);
        self.drains.record(at, *cluster, fact, &self.serving, &self.scenario);
        self.counts.record(*cluster, fact);
        self.hints.record(at, *cluster, fact);
        self.node_pools.record(at, *cluster, fact, &self.scenario);
    }
}
