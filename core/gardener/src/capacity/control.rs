//! A control plane as pods that need room: series of pods that are alike, in the order in which they are placed.

use std::cmp::Reverse;

use super::supply::Amounts;
use zonefall_kube::rule::labels::Symbol;
use zonefall_kube::rule::taints;
use zonefall_kube::spec::placement::Constraint;
use zonefall_kube::spec::{Kind, MachineDeployment, Workload};
use zonefall_scenario::ids::{MachineDeploymentId, TiSlice};

/// What becomes of a pod whose zone is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It waits for the zone, where its volume is.
    Waits,
    /// It goes elsewhere.
    Moves,
    /// It goes elsewhere, and may share a zone with others of its kind (etcd-druid moves a member).
    Rebalanced,
}

/// Pods that are alike.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// What each needs.
    pub(super) requests: Amounts,
    /// So many.
    pub(super) count: u32,
    /// Per machine deployment: they may be on its nodes.
    pub(super) suits: Vec<bool>,
    /// Per machine deployment: its nodes count when they are spread, whatever their taints.
    pub(super) counts: Vec<bool>,
    /// No two in one zone; on one node.
    pub(super) apart: [bool; 2],
    /// How far the numbers of them in zones may differ; on nodes.
    pub(super) skew: [Option<u64>; 2],
    /// What becomes of them when their zone is lost.
    pub(super) lost: Lost,
}

/// What is placed as a whole.
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// Its pods.
    pub(super) series: Vec<Series>,
    /// All of them are in one zone.
    pub(super) pinned: bool,
}

const KEYS: [Symbol; 2] = [Symbol::ZONE, Symbol::HOSTNAME];

impl Control {
    /// The pods of workloads; those that `rebalances` names by their place are moved, volume and all, when their zone is lost.
    pub(super) fn new<'a>(
        workloads: impl IntoIterator<Item = &'a Workload>,
        rebalances: &[usize],
        machine_deployments: &TiSlice<MachineDeploymentId, MachineDeployment>,
    ) -> Self {
        let mut series = Vec::new();
        let mut pinned = false;
        for (k, workload) in workloads.into_iter().enumerate().filter(|(_, workload)| workload.kind != Kind::DaemonSet) {
            pinned |= workload.pod_affinity.affinity.required.iter().any(|term| term.key == Symbol::ZONE);
            series.push(Series::new(workload, rebalances.contains(&k), machine_deployments));
        }
        let is_free = |one: &Series| one.apart == [false; 2] && one.skew == [None; 2];
        series.sort_by_key(|one| (is_free(one), Reverse(one.requests.0[0]), Reverse(one.requests.0[1])));
        Self { series, pinned }
    }

    /// Pods that come before those of a series.
    pub(super) fn before(&self, series: usize) -> usize {
        self.series[..series].iter().map(|one| one.count as usize).sum()
    }
}

impl Series {
    fn new(workload: &Workload, rebalanced: bool, machine_deployments: &TiSlice<MachineDeploymentId, MachineDeployment>) -> Self {
        let admits = |deployment: &MachineDeployment| workload.affinity.admits(&deployment.template.labels);
        let tolerated =
            |deployment: &MachineDeployment| taints::forbidding(&deployment.template.taints, &workload.tolerations).is_none();
        let away = &workload.pod_affinity.anti_affinity.required;
        let skew = |key| {
            let constraints = workload.spread.iter().filter(|one: &&Constraint| one.key == key);
            constraints.map(|one| one.max_skew).min()
        };
        Self {
            requests: Amounts::of(workload),
            count: workload.replicas,
            suits: machine_deployments.iter().map(|deployment| admits(deployment) && tolerated(deployment)).collect(),
            counts: machine_deployments.iter().map(admits).collect(),
            apart: KEYS.map(|key| away.iter().any(|term| term.key == key)),
            skew: KEYS.map(skew),
            lost: match workload.volume {
                _ if rebalanced => Lost::Rebalanced,
                Some(volume) if !volume.regional => Lost::Waits,
                _ => Lost::Moves,
            },
        }
    }
}
