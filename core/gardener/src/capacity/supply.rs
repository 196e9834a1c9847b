//! What a seed can have for pods: machines per pool and zone, and what each of them holds.

use super::Constraint;
use crate::distribute::int_or_percent_over_zones;
use zonefall_kube::rule::taints;
use zonefall_kube::spec::gardener::Seed;
use zonefall_kube::spec::{Kind, KubeModel, MachineDeployment, Resources, Workload};
use zonefall_scenario::ids::{MachineDeploymentId, TiSlice, TiVec, WorkloadId};

/// Thousandths of a CPU, bytes of memory, volumes, pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts(pub(super) [u64; 4]);

/// More than anything is.
const NO_END: u64 = u64::MAX / 4;

impl Amounts {
    pub(super) const fn new(resources: &Resources, volumes: u64) -> Self {
        Self([resources.cpu_milli, resources.memory, volumes, resources.pods])
    }

    /// What each pod of a workload needs.
    pub(super) const fn of(workload: &Workload) -> Self {
        Self::new(&workload.requests, workload.volume.is_some() as u64)
    }

    fn with(self, other: Self, both: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|k| both(self.0[k], other.0[k])))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    pub(super) fn times(self, count: u64) -> Self {
        Self(self.0.map(|amount| amount.saturating_mul(count)))
    }

    pub(super) fn least(self, other: Self) -> Self {
        self.with(other, u64::min)
    }

    pub(super) fn fits(self, room: Self) -> bool {
        self.0.iter().zip(room.0).all(|(needed, there)| *needed <= there)
    }
}

/// Machines of a pool in a zone.
#[derive(Clone, Debug)]
pub(super) struct Share {
    /// Which of the seed's zones.
    pub(super) zone: usize,
    /// What a node has for pods of control planes.
    pub(super) room: Amounts,
    /// Nodes at the start.
    pub(super) start: u64,
    /// Nodes at most.
    pub(super) maximum: u64,
    /// Machines that rolling takes beyond those of its nodes.
    pub(super) surge: u64,
    /// The stock that further machines come from.
    pub(super) stock: Option<usize>,
}

/// What a seed can have.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    /// Its zones.
    pub(super) zones: usize,
    /// Its machine deployments.
    pub(super) shares: Vec<Share>,
    /// Machines that the cloud has left.
    pub(super) stock: Vec<u64>,
    /// Nodes that there are addresses for.
    pub(super) addresses: u64,
    /// Per zone: what its nodes hold at their most, to tell how full it is.
    pub(super) holds: Vec<Amounts>,
}

impl Supply {
    pub(super) fn new(model: &KubeModel, seed: &Seed) -> Self {
        let cluster = &model.clusters[seed.cluster];
        let mut start: TiVec<_, u64> = vec![0; cluster.machine_deployments.len()].into();
        for machine in cluster.nodes.iter().filter_map(|node| node.machine) {
            start[machine.deployment] += 1;
        }
        let mut shares = Vec::new();
        for pool in &seed.pools {
            for k in 0..pool.zones {
                let id = MachineDeploymentId(pool.first.0 + k as u16);
                let deployment = &cluster.machine_deployments[id];
                let surge = int_or_percent_over_zones(k, pool.max_surge, pool.zones, pool.maximum);
                shares.push(Share {
                    zone: seed.zones.iter().position(|zone| *zone == deployment.zone).expect("pools are in the seed's zones"),
                    room: room(deployment, &cluster.workloads),
                    start: start[id],
                    maximum: u64::from(deployment.maximum),
                    surge: u64::from(surge.of_rounded_up(deployment.maximum)),
                    stock: deployment.stock.map(usize::from),
                });
            }
        }
        let stock: Vec<u64> = model.stock.iter().map(|left| u64::from(*left)).collect();
        let mut holds = vec![Amounts::default(); seed.zones.len()];
        for share in &shares {
            let left = share.stock.map_or(NO_END, |k| share.start + stock[k]);
            holds[share.zone] = holds[share.zone].plus(share.room.times(share.maximum.min(left)));
        }
        Self { zones: seed.zones.len(), shares, stock, addresses: seed.addresses, holds }
    }

    /// The same with a constraint lifted.
    pub(super) fn without(&self, constraint: Constraint) -> Self {
        let mut lifted = self.clone();
        let resource = |k: usize| move |share: &mut Share| share.room.0[k] = NO_END;
        match constraint {
            Constraint::AllocatableShoots => {}
            Constraint::Surge => lifted.shares.iter_mut().for_each(|share| share.surge = 0),
            Constraint::NodeCidr => lifted.addresses = NO_END,
            Constraint::Stock => lifted.stock.fill(NO_END),
            Constraint::Cpu => lifted.shares.iter_mut().for_each(resource(0)),
            Constraint::Memory => lifted.shares.iter_mut().for_each(resource(1)),
            Constraint::Volumes => lifted.shares.iter_mut().for_each(resource(2)),
            Constraint::Pods => lifted.shares.iter_mut().for_each(resource(3)),
            Constraint::Maximum => lifted.shares.iter_mut().for_each(|share| share.maximum = NO_END),
        }
        lifted
    }

    /// Machines that all pools together take beyond their nodes' while they are rolled.
    pub(super) fn surge(&self) -> u64 {
        self.shares.iter().map(|share| share.surge).sum()
    }
}

/// What a node has left beside its DaemonSets' pods.
fn room(deployment: &MachineDeployment, workloads: &TiSlice<WorkloadId, Workload>) -> Amounts {
    let template = &deployment.template;
    let stands = |workload: &&Workload| {
        workload.kind == Kind::DaemonSet
            && workload.affinity.admits(&template.labels)
            && taints::forbidding(&template.taints, &workload.tolerations).is_none()
    };
    let has = Amounts::new(&template.allocatable, u64::from(template.volumes));
    workloads.iter().filter(stands).fold(has, |left, workload| left.minus(Amounts::of(workload)))
}
