//! The machines that a seed can have, per pool and zone.

use super::Constraint;
use crate::gardener::distribute::int_or_percent_over_zones;
use crate::ids::{MachineDeploymentId, TiVec, ZoneId};
use crate::kube::spec::KubeModel;
use crate::kube::spec::gardener::Seed;

/// More than anything is.
const NO_END: u64 = u64::MAX / 4;

/// Nodes of all seeds at the start of a run, at most: a limit of scenario files.
pub(super) const MOST_NODES: u64 = 4_000;

/// Machines of a pool in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// The machine deployment.
    pub(super) id: MachineDeploymentId,
    /// Which of the seed's pools.
    pub(super) pool: usize,
    /// Its zone.
    pub(super) zone: ZoneId,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Supply {
    /// Its machine deployments.
    pub(super) shares: Vec<Share>,
    /// Machines that the cloud has left.
    pub(super) stock: Vec<u64>,
    /// Nodes that there are addresses for.
    pub(super) addresses: u64,
}

impl Supply {
    pub(super) fn new(model: &KubeModel, seed: &Seed) -> Self {
        let cluster = &model.clusters[seed.cluster];
        let mut start: TiVec<_, u64> = vec![0; cluster.machine_deployments.len()].into();
        for machine in cluster.nodes.iter().filter_map(|node| node.machine) {
            start[machine.deployment] += 1;
        }
        let mut shares = Vec::new();
        for (p, pool) in seed.pools.iter().enumerate() {
            for k in 0..pool.zones {
                let id = MachineDeploymentId(pool.first.0 + k as u16);
                let deployment = &cluster.machine_deployments[id];
                let surge = int_or_percent_over_zones(k, pool.max_surge, pool.zones, pool.maximum);
                shares.push(Share {
                    id,
                    pool: p,
                    zone: deployment.zone,
                    start: start[id],
                    maximum: u64::from(deployment.maximum),
                    surge: u64::from(surge.of_rounded_up(deployment.maximum)),
                    stock: deployment.stock.map(usize::from),
                });
            }
        }
        Self { shares, stock: model.stock.iter().map(|left| u64::from(*left)).collect(), addresses: seed.addresses }
    }

    /// The same with a constraint of machines lifted; of pools' `maximum` there may be twice as many, and ten more in each zone.
    pub(super) fn without(&self, constraint: Constraint) -> Self {
        let mut lifted = self.clone();
        match constraint {
            Constraint::Surge => lifted.shares.iter_mut().for_each(|share| share.surge = 0),
            Constraint::NodeCidr => lifted.addresses = NO_END,
            Constraint::Stock => lifted.stock.fill(NO_END),
            Constraint::Maximum => lifted.shares.iter_mut().for_each(|share| share.maximum = share.maximum * 2 + 10),
            Constraint::AllocatableShoots | Constraint::Cpu | Constraint::Memory | Constraint::Volumes | Constraint::Pods => {}
        }
        lifted
    }

    /// Machines of each share, `most` in all unless more are there at the start: each in turn is of the share that has the fewest.
    pub(super) fn machines(&self, most: u64) -> Vec<u64> {
        let mut machines: Vec<u64> = self.shares.iter().map(|share| share.start).collect();
        while machines.iter().sum::<u64>() < most.min(MOST_NODES) {
            let growing = (0..machines.len()).filter(|s| self.can_grow(*s, &machines));
            let Some(next) = growing.min_by_key(|s| machines[*s]) else { break };
            machines[next] += 1;
        }
        machines
    }

    /// All machines that it can have.
    pub(super) fn all(&self) -> Vec<u64> {
        self.machines(MOST_NODES)
    }

    /// Whether a share may have a machine more.
    fn can_grow(&self, s: usize, machines: &[u64]) -> bool {
        let share = &self.shares[s];
        machines[s] < share.maximum
            && machines.iter().sum::<u64>() + self.surge() < self.addresses
            && share.stock.is_none_or(|stock| self.taken(machines, |own| own == stock) < self.stock[stock])
    }

    /// Machines taken from stocks since the start, with those that rolling takes.
    pub(super) fn taken(&self, machines: &[u64], of: impl Fn(usize) -> bool) -> u64 {
        let shares = self.shares.iter().zip(machines).filter(|(share, _)| share.stock.is_some_and(&of));
        shares.map(|(share, nodes)| nodes - share.start + share.surge).sum()
    }

    /// Machines that all pools together take beyond their nodes' while they are rolled.
    pub(super) fn surge(&self) -> u64 {
        self.shares.iter().map(|share| share.surge).sum()
    }
}
