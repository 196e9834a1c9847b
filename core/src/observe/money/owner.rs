//! Whose workloads and etcd clusters are.

use std::collections::BTreeMap;

use crate::ids::{ClusterId, Endpoint, PlaneId, SeedId, WorkloadId};
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
    workloads: BTreeMap<(PlaneId, WorkloadId), Owner>,
    clusters: Vec<Owner>,
}

impl Owners {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let kube = &scenario.kube;
        let nobodys = |name: &String| Owner { seed: None, shoot: None, component: name.clone() };
        let mut clusters: Vec<Owner> = scenario.etcd.iter().map(|cluster| nobodys(&cluster.name)).collect();
        let mut workloads = BTreeMap::new();
        for (id, seed) in (0..).map(SeedId).zip(&kube.seeds) {
            let plane = &kube.planes[seed.plane.0 as usize];
            clusters[plane.etcd.0 as usize].seed = Some(id);
            for (workload, spec) in (0..).map(WorkloadId).zip(&plane.workloads) {
                workloads.insert((seed.plane, workload), Owner { seed: Some(id), ..nobodys(&spec.name) });
            }
        }
        for (k, shoot) in (0..).zip(&kube.shoots) {
            // Where it is at the start comes last: of a cluster that moves with it, that is its seed.
            for hosted in shoot.elsewhere.iter().chain(&shoot.hosted) {
                let plane = kube.seeds[hosted.seed.0 as usize].plane;
                for workload in &hosted.workloads {
                    let owner = workloads.get_mut(&(plane, *workload)).expect("it is a workload of its seed");
                    owner.shoot = Some(k);
                    if let Role::Etcd(cluster) = kube.planes[plane.0 as usize].workloads[workload.0 as usize].role {
                        clusters[cluster.0 as usize] = owner.clone();
                    }
                }
            }
        }
        Self { workloads, clusters }
    }

    /// Whose a workload of a seed is.
    pub(super) fn of(&self, plane: PlaneId, workload: WorkloadId) -> &Owner {
        &self.workloads[&(plane, workload)]
    }

    /// Whose an etcd cluster is.
    pub(super) fn of_cluster(&self, cluster: ClusterId) -> &Owner {
        &self.clusters[cluster.0 as usize]
    }

    /// Whose bytes are that an endpoint sends: those of its etcd, or of the API servers that it is, or asks.
    pub(super) fn of_sender(&self, from: Endpoint, scenario: &Scenario) -> Owner {
        let owner = self.of_cluster(traffic::cluster(from, scenario)).clone();
        match from {
            Endpoint::Member(_) | Endpoint::Client(_) => owner,
            Endpoint::Servers(_) | Endpoint::Components(_) | Endpoint::Outside(_) => {
                Owner { component: "kube-apiserver".to_owned(), ..owner }
            }
        }
    }
}
