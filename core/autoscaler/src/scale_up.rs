//! Which node groups grow for pods that find no node, and by how much (`core/scaleup/orchestrator/orchestrator.go`).
//!
//! ```text
//!  groups that may grow --estimate--> options --expander--> one --balance--> it and the groups similar to it
//! ```

use std::collections::BTreeSet;

use zonefall_kernel::rng::Purpose;
use zonefall_kube::controller::placement::{Assumed, Demand};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::record::GroupChoice;
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{MachineDeploymentId, TiVec};
use zonefall_scenario::kube::autoscaler::{ClusterAutoscaler, NodeCount};

use crate::balance::{self, balance, balance_live};
use crate::estimate::{ScaleUpOption, estimate, suitable};
use crate::expander;
use crate::group::{NodeGroup, all_limits};
use crate::quota::Quota;

/// Entity of its choices among equals, beyond all workloads.
const TIE: u32 = u32::MAX;

/// What a scale-up goes by.
pub struct ScaleUp<'a> {
    /// Options of the autoscaler.
    pub options: &'a ClusterAutoscaler,
    /// Groups as the scan found them.
    pub groups: &'a TiVec<MachineDeploymentId, NodeGroup>,
    /// Groups similar to each.
    pub similar: &'a TiVec<MachineDeploymentId, Vec<MachineDeploymentId>>,
    /// Why groups cannot grow; `None`: they can.
    pub refused: TiVec<MachineDeploymentId, Option<GroupChoice>>,
    /// Pods that find no node.
    pub pods: &'a [Demand],
    /// Nodes that are on their way, and the pods that they will have.
    pub assumed: &'a Assumed,
    /// Priorities of groups.
    pub priorities: &'a TiVec<MachineDeploymentId, Option<u32>>,
    /// What the cluster may get in all.
    pub quota: Quota,
    /// Scale-ups so far: number of the draw among equals.
    pub drawn: u64,
}

/// What comes of a scale-up.
#[derive(Debug)]
pub struct Plan {
    /// Groups that grow, and the number of nodes that each gets.
    pub more: Vec<(MachineDeploymentId, u32)>,
    /// What became of each group.
    pub choices: TiVec<MachineDeploymentId, GroupChoice>,
}

impl Plan {
    /// No group grows, for one reason.
    pub fn nothing(choice: GroupChoice, groups: &TiVec<MachineDeploymentId, NodeGroup>) -> Self {
        Self { more: Vec::new(), choices: groups.iter().map(|_| choice).collect() }
    }
}

impl ScaleUp<'_> {
    /// Chooses a group and shares the nodes out.
    pub fn plan(&self, store: &Store, ctx: &ClusterCtx<'_>) -> Plan {
        let ids = || ctx.spec.machine_deployments.keys();
        let partners: TiVec<MachineDeploymentId, Vec<MachineDeploymentId>> =
            ids().map(|id| self.partners(id, store, ctx)).collect();
        let option = |id: MachineDeploymentId| {
            if self.refused[id].is_some() {
                return None;
            }
            let room = self.room(&partners[id], ctx).min(self.quota.nodes.unwrap_or(u32::MAX));
            estimate(id, room, self.pods, self.assumed, ctx.spec, store)
        };
        let options: TiVec<MachineDeploymentId, Option<ScaleUpOption>> = ids().map(option).collect();
        let mut choices: TiVec<MachineDeploymentId, GroupChoice> = ids()
            .map(|id| match (self.refused[id], &options[id]) {
                (Some(why), _) => why,
                (None, None) => GroupChoice::Unsuitable,
                (None, Some(_)) => GroupChoice::Passed,
            })
            .collect();
        let mut more = Vec::new();
        if let Some(best) = self.draw(options.into_iter().flatten().collect(), ctx) {
            let group = &partners[best.group];
            let before = self.targets(group);
            let nodes = self.quota.capped(best.nodes, &ctx.spec.machine_deployments[best.group].template.allocatable);
            let after = self.share(group, nodes, ctx);
            more = group.iter().zip(before.iter().zip(after)).map(|(id, (before, after))| (*id, after - before)).collect();
            more.retain(|(_, nodes)| *nodes > 0);
            for (id, _) in &more {
                choices[*id] = GroupChoice::Balanced;
            }
            // Also where similar groups get all nodes.
            choices[best.group] = GroupChoice::Chosen;
        }
        Plan { more, choices }
    }

    /// A group, and those that may grow along with it: similar ones that these pods fit, too
    /// (`core/scaleup/orchestrator/orchestrator.go`).
    fn partners(&self, id: MachineDeploymentId, store: &Store, ctx: &ClusterCtx<'_>) -> Vec<MachineDeploymentId> {
        let may_grow = |id: &MachineDeploymentId| self.refused[*id].is_none();
        if !may_grow(&id) || !self.similar[id].iter().any(may_grow) {
            return vec![id];
        }
        let pods = |id| -> BTreeSet<Demand> { suitable(id, self.pods, self.assumed, ctx.spec, store) };
        let own = pods(id);
        let similar = self.similar[id].iter().copied().filter(may_grow).filter(|other| pods(*other).is_superset(&own));
        std::iter::once(id).chain(similar).collect()
    }

    fn targets(&self, groups: &[MachineDeploymentId]) -> Vec<u32> {
        groups.iter().map(|id| self.groups[*id].target).collect()
    }

    /// Nodes that these groups may get together.
    fn room(&self, groups: &[MachineDeploymentId], ctx: &ClusterCtx<'_>) -> u32 {
        let room = |id: &MachineDeploymentId| self.groups[*id].limits.maximum.saturating_sub(self.groups[*id].target);
        let most = groups.iter().map(room).sum();
        let after = self.share(groups, most, ctx);
        after.iter().zip(self.targets(groups)).map(|(after, before)| after - before).sum()
    }

    /// Sizes of these groups with `add` nodes more.
    fn share(&self, groups: &[MachineDeploymentId], add: u32, ctx: &ClusterCtx<'_>) -> Vec<u32> {
        if self.options.count != NodeCount::Live {
            let size = |id: &MachineDeploymentId| balance::NodeGroup {
                size: self.groups[*id].target,
                max: self.groups[*id].limits.maximum,
            };
            return balance(&groups.iter().map(size).collect::<Vec<_>>(), add);
        }
        balance_live(&self.targets(groups), add, |sizes| {
            let mut counts: TiVec<MachineDeploymentId, u32> = self.groups.iter().map(|group| group.target).collect();
            groups.iter().zip(sizes).for_each(|(id, size)| counts[*id] = *size);
            let limits = all_limits(self.options, &counts, ctx.spec);
            groups.iter().map(|id| limits[*id].maximum).collect()
        })
    }

    /// One of the options that the expanders leave.
    fn draw(&self, options: Vec<ScaleUpOption>, ctx: &ClusterCtx<'_>) -> Option<ScaleUpOption> {
        let best = expander::best(options, &self.options.expander, self.priorities);
        let mut tie = ctx.draws(Purpose::Tie, TIE).draw(self.drawn);
        (!best.is_empty()).then(|| best[tie.below(best.len() as u64) as usize])
    }
}
