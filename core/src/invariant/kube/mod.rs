//! What holds of every cluster at every moment: one property per file, with the document it encodes.
//!
//! | property | file | source |
//! |---|---|---|
//! | one object per name | `identity.rs` | Kubernetes, "Object Names and IDs" |
//! | one writer per volume | `one_writer.rs` | Kubernetes, "Persistent Volumes"; GEP-20, "Impact of a Zone Outage" |
//! | zonal volumes stay | `zonal.rs` | Kubernetes, "Running in multiple zones" |
//! | no eviction without allowance | `budget.rs` | Kubernetes, "API-initiated Eviction" |
//! | a pod runs on one node | `one_node.rs` | Kubernetes, "Force Delete StatefulSet Pods" |
//! | one active leader per lease | `one_leader.rs` | Kubernetes, "Leases" |
//! | nodes are not over-committed | `capacity.rs` | Kubernetes, "Resource Management for Pods and Containers" |
//! | one replacement at a time | `replacement.rs` | GEP-20, "Impact of a Zone Outage" |
//! | machines stay within the maximum and the surge | `machine_limit.rs` | Kubernetes, "Deployments", section "Max Surge" |
//! | required constraints hold when bound | `constraints.rs` | GEP-20, "Scheduling Control Plane Components" |
//! | connections end where a server runs | `api_connections.rs` | RFC 9293, section 3.5.3; Kubernetes, `pkg/util/net/http.go` |
//!
//! ```text
//! Record --> All --> each property looks at (fact, objects as they were before it)
//!                --> Objects takes the fact in
//! ```
//!
//! [`objects`] mirrors what records say; nothing here reads a store.

mod api_connections;
mod budget;
mod capacity;
mod constraints;
mod identity;
mod machine_limit;
mod objects;
mod one_leader;
mod one_node;
mod one_writer;
mod replacement;
mod templates;
#[cfg(test)]
mod tests;
mod zonal;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{MOST_VIOLATIONS, Violation};
use crate::access::record::AccessRecord;
use crate::ids::{KubeClusterId, MemberId, NodeId, TiSlice, TiVec, WorkloadId};
use crate::kernel::time::Time;
use crate::kube::describe::node_name;
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::KubeRecord;
use crate::kube::spec::{KubeClusterSpec, Workload};
use crate::record::{EtcdRecord, Record};
use crate::scenario::Scenario;

use objects::Objects;

/// What a property sees beside a fact.
struct View<'a> {
    at: Time,
    cluster: KubeClusterId,
    scenario: &'a Scenario,
    /// The objects of all clusters before the fact.
    clusters: &'a TiSlice<KubeClusterId, Objects>,
    /// Members of etcd clusters that serve.
    running: &'a BTreeSet<MemberId>,
}

impl View<'_> {
    /// The cluster's objects.
    fn objects(&self) -> &Objects {
        &self.clusters[self.cluster]
    }

    /// The cluster as the scenario has it.
    fn spec(&self) -> &KubeClusterSpec {
        &self.scenario.kube.clusters[self.cluster]
    }

    /// All workloads of the cluster, as they are now.
    fn workloads(&self) -> impl Iterator<Item = (WorkloadId, &Workload)> {
        let ids = (0..self.spec().workloads.len() as u32).map(WorkloadId);
        ids.map(|id| (id, self.objects().templates.get(id, self.spec())))
    }

    /// How many pods a workload is to have: as it was scaled last.
    fn wanted(&self, id: WorkloadId, workload: &Workload) -> u32 {
        self.objects().scaled.get(&id).copied().unwrap_or(workload.replicas)
    }

    /// What a pod belongs to.
    fn workload(&self, pod: PodName) -> &Workload {
        self.objects().templates.get(pod.workload, self.spec())
    }

    fn pod(&self, name: PodName) -> String {
        name.text(self.spec())
    }

    fn node(&self, name: NodeName) -> String {
        node_name(name, self.spec(), self.scenario)
    }
}

/// One property of one cluster.
trait Property {
    /// Its name.
    const NAME: &'static str;

    /// Looks at a fact of its cluster. An error says what is broken.
    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String>;
}

/// All properties of all clusters.
#[derive(Clone, Debug)]
pub(super) struct KubeInvariants {
    scenario: Arc<Scenario>,
    objects: TiVec<KubeClusterId, Objects>,
    clusters: TiVec<KubeClusterId, ClusterProperties>,
    running: BTreeSet<MemberId>,
    /// Nodes without power.
    dark: BTreeSet<NodeId>,
}

#[derive(Clone, Debug, Default)]
struct ClusterProperties {
    identity: identity::Identity,
    one_writer: one_writer::OneWriter,
    zonal: zonal::Zonal,
    budget: budget::Budget,
    one_node: one_node::OneNode,
    one_leader: one_leader::OneLeader,
    capacity: capacity::Capacity,
    replacement: replacement::Replacement,
    machine_limit: machine_limit::MachineLimit,
    constraints: constraints::Constraints,
    api_connections: api_connections::ApiConnections,
}

impl KubeInvariants {
    /// Nothing is broken yet.
    pub(super) fn new(scenario: &Arc<Scenario>) -> Self {
        let objects: TiVec<_, Objects> = scenario.kube.clusters.iter().map(Objects::new).collect();
        let clusters = vec![ClusterProperties::default(); objects.len()].into();
        Self { scenario: Arc::clone(scenario), objects, clusters, running: BTreeSet::new(), dark: BTreeSet::new() }
    }

    /// Looks at a record.
    pub(super) fn record(&mut self, at: Time, record: &Record, found: &mut Vec<Violation>) {
        match record {
            Record::Etcd(EtcdRecord::MemberStarted(member)) => drop(self.running.insert(*member)),
            Record::Etcd(EtcdRecord::MemberStopped { member, .. }) => drop(self.running.remove(member)),
            Record::NodePower { node, up: false } => drop(self.dark.insert(*node)),
            Record::NodePower { node, up: true } => drop(self.dark.remove(node)),
            Record::Kube(cluster, fact) => self.fact(at, *cluster, fact, found),
            Record::Access(cluster, fact) => self.api_connections(at, *cluster, *fact, found),
            Record::Gardener(cluster, fact) => {
                let Self { scenario, objects, .. } = self;
                objects[*cluster].templates.record(fact, *cluster, scenario);
            }
            _ => {}
        }
    }

    fn api_connections(&mut self, at: Time, cluster: KubeClusterId, fact: AccessRecord, found: &mut Vec<Violation>) {
        let Self { scenario, objects, clusters, running, dark } = self;
        let view = View { at, cluster, scenario, clusters: objects, running };
        note(api_connections::ApiConnections::NAME, clusters[cluster].api_connections.access(fact, dark, &view), &view, found);
    }

    fn fact(&mut self, at: Time, cluster: KubeClusterId, fact: &KubeRecord, found: &mut Vec<Violation>) {
        let Self { scenario, objects, clusters, running, .. } = self;
        let view = View { at, cluster, scenario, clusters: objects, running };
        let properties = &mut clusters[cluster];
        check(&mut properties.identity, fact, &view, found);
        check(&mut properties.one_writer, fact, &view, found);
        check(&mut properties.zonal, fact, &view, found);
        check(&mut properties.budget, fact, &view, found);
        check(&mut properties.one_node, fact, &view, found);
        check(&mut properties.one_leader, fact, &view, found);
        check(&mut properties.capacity, fact, &view, found);
        check(&mut properties.replacement, fact, &view, found);
        check(&mut properties.machine_limit, fact, &view, found);
        check(&mut properties.constraints, fact, &view, found);
        note(api_connections::ApiConnections::NAME, properties.api_connections.kube(fact, &view), &view, found);
        let spec = &scenario.kube.clusters[cluster];
        objects[cluster].record(fact, spec);
    }
}

fn check<P: Property>(property: &mut P, fact: &KubeRecord, view: &View<'_>, found: &mut Vec<Violation>) {
    note(P::NAME, property.check(fact, view), view, found);
}

fn note(property: &'static str, result: Result<(), String>, view: &View<'_>, found: &mut Vec<Violation>) {
    if let Err(text) = result
        && found.len() < MOST_VIOLATIONS
    {
        found.push(Violation { at: view.at, property, text: format!("{}: {text}", view.spec().name) });
    }
}
