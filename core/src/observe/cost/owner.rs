//! Whose workloads and etcd clusters are.

use std::collections::BTreeMap;

use super::UNUSED;
use crate::ids::{Endpoint, EtcdId, KubeClusterId, SeedId, TiVec, WorkloadId};
use crate::kube::spec::Role;
use crate::observe::traffic;
use crate::scenario::Scenario;

/// Whose something is, and what it is called there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    /// The seed it is in; `None`: it is in none.
    pub(super) seed: Option<SeedId>,
    /// The shoot it is for: a place in [`KubeModel::shoots`](crate::kube::spec::KubeModel::shoots); `None`: the seed's own.
    pub(super) shoot: Option<u16>,
    /// A workload or an etcd cluster.
    pub(super) component: String,
}

/// All owners of a scenario.
#[derive(Debug)]
pub(super) struct Owners {
    workloads: BTreeMap<(KubeClusterId, WorkloadId), Owner>,
    etcds: TiVec<EtcdId, Owner>,
}

impl Owners {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let kube = &scenario.kube;
        let nobodys = |name: &String| Owner { seed: None, shoot: None, component: name.clone() };
        let mut etcds: TiVec<_, Owner> = scenario.etcd.iter().map(|etcd| nobodys(&etcd.name)).collect();
        let mut workloads = BTreeMap::new();
        for (key, cluster) in kube.clusters.iter_enumerated() {
            let seed = kube.seeds.iter_enumerated().find(|(_, seed)| seed.cluster == key).map(|(id, _)| id);
            if seed.is_some() {
                etcds[cluster.etcd].seed = seed;
            }
            for (workload, spec) in cluster.workloads.iter_enumerated() {
                workloads.insert((key, workload), Owner { seed, ..nobodys(&spec.name) });
            }
        }
        for (k, shoot) in (0..).zip(&kube.shoots) {
            // Where it is at the start comes last: of a cluster that moves with it, that is its seed.
            for hosted in shoot.elsewhere.iter().chain(&shoot.hosted) {
                let cluster = kube.seeds[hosted.seed].cluster;
                for workload in &hosted.workloads {
                    let owner = workloads.get_mut(&(cluster, *workload)).expect("it is a workload of its seed");
                    owner.shoot = Some(k);
                    if let Role::Etcd(etcd) = kube.clusters[cluster].workloads[*workload].role {
                        etcds[etcd] = owner.clone();
                    }
                }
            }
        }
        Self { workloads, etcds }
    }

    /// Whose a workload of a seed is.
    pub(super) fn of(&self, cluster: KubeClusterId, workload: WorkloadId) -> &Owner {
        &self.workloads[&(cluster, workload)]
    }

    /// Whose an etcd cluster is.
    pub(super) fn of_cluster(&self, etcd: EtcdId) -> &Owner {
        &self.etcds[etcd]
    }

    /// Whose a node or a volume is that members of an etcd cluster have, or nobody.
    pub(super) fn of_etcd(&self, etcd: Option<EtcdId>) -> Owner {
        etcd.map_or_else(|| Owner { seed: None, shoot: None, component: UNUSED.to_owned() }, |etcd| self.etcds[etcd].clone())
    }

    /// Whose a part of a control plane is. One that runs on hosts has the name of its cluster before its own, as its etcd has.
    pub(super) fn of_control_plane(&self, id: KubeClusterId, part: &str, scenario: &Scenario) -> Owner {
        let cluster = &scenario.kube.clusters[id];
        let component = if cluster.is_hosted() { part.to_owned() } else { format!("{}/{part}", cluster.name) };
        Owner { component, ..self.of_cluster(cluster.etcd).clone() }
    }

    /// Whose bytes are that an endpoint sends: those of its etcd, or of the API servers that it is, or asks.
    pub(super) fn of_sender(&self, from: Endpoint, scenario: &Scenario) -> Owner {
        match from {
            Endpoint::Member(_) | Endpoint::Client(_) => self.of_cluster(traffic::cluster(from, scenario)).clone(),
            Endpoint::Servers(id) | Endpoint::Components(id) | Endpoint::Outside(id) | Endpoint::Users(id) => {
                self.of_control_plane(id, "kube-apiserver", scenario)
            }
        }
    }
}
