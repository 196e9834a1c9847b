//! Machines and machine deployments as the API has them, and the only ways to change them: each leaves a record.

use std::collections::{BTreeMap, BTreeSet};

use crate::ctx::ClusterCtx;
use crate::machine::{Deletion, Machine, MachineId, MachineSet, Phase, Vm};
use crate::name::{MachineName, draw_suffix};
use crate::record::{KubeRecord, MachineFact};
use crate::spec::KubeClusterSpec;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::Time;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::{MachineDeploymentId, NodeKey, TiVec};

#[derive(Clone, Debug)]
struct Deployment {
    desired: u32,
    machines: BTreeSet<MachineId>,
    /// The oldest first; the last is the current one.
    sets: Vec<MachineSet>,
    /// Roll-outs so far: numbers of draws.
    rolled: u64,
    names: u64,
    changed: Time,
}

/// All machines of a cluster.
#[derive(Clone, Debug)]
pub struct MachineTables {
    machines: BTreeMap<MachineId, Machine>,
    /// Which of them is a node, or is to be it.
    by_node: BTreeMap<NodeKey, MachineId>,
    deployments: TiVec<MachineDeploymentId, Deployment>,
    made: u32,
    touched: BTreeSet<MachineDeploymentId>,
}

/// Draws for the hashes of templates, beyond those for names.
const TEMPLATES: u64 = 1 << 32;

/// Entity of the draws of a machine deployment's names, beyond all workloads.
const NAMES: u32 = 1 << 31;

impl MachineTables {
    /// The machines of the nodes of the start, all running.
    pub(super) fn new(spec: &KubeClusterSpec, ctx: &ClusterCtx<'_>) -> Self {
        let state = |deployment: MachineDeploymentId| {
            let names = spec.nodes.iter().filter_map(|node| node.machine).filter(|name| name.deployment == deployment);
            let (desired, template) = (names.clone().count() as u32, names.map(|name| name.template).next());
            let drawn = || ctx.draws(Purpose::Suffix, NAMES | u32::from(deployment.0)).draw(0).word() as u32;
            let sets = vec![MachineSet { template: template.unwrap_or_else(drawn), desired }];
            Deployment { desired, machines: BTreeSet::new(), sets, rolled: 0, names: 0, changed: Time::ZERO }
        };
        let deployments = spec.machine_deployments.keys().map(state).collect();
        let mut tables =
            Self { machines: BTreeMap::new(), by_node: BTreeMap::new(), deployments, made: 0, touched: BTreeSet::new() };
        for (key, node) in spec.nodes.iter_enumerated() {
            if let Some(name) = node.machine.filter(|_| spec.manages_machines()) {
                let id = tables.insert(name, Phase::Running, Vm::Absent, ctx.now);
                tables.switched_on(id, Network::host_of(node.node), key);
            }
        }
        tables
    }

    fn insert(&mut self, name: MachineName, phase: Phase, vm: Vm, now: Time) -> MachineId {
        let id = MachineId(self.made);
        self.made += 1;
        let (unready, deletion) = (None, Deletion::Status);
        let (surplus, exhausted) = (false, false);
        self.deployments[name.deployment].machines.insert(id);
        self.machines.insert(id, Machine { name, phase, since: now, created: now, vm, unready, deletion, surplus, exhausted });
        id
    }

    /// A machine, if it is (still) there.
    pub fn get(&self, id: MachineId) -> Option<&Machine> {
        self.machines.get(&id)
    }

    /// A machine that is there, to change what leaves no record.
    pub fn get_mut(&mut self, id: MachineId) -> &mut Machine {
        self.machines.get_mut(&id).expect("who changes a machine has it")
    }

    /// All machines, oldest first.
    pub fn machines(&self) -> impl Iterator<Item = (MachineId, &Machine)> {
        self.machines.iter().map(|(id, machine)| (*id, machine))
    }

    /// The machines of a machine deployment, oldest first.
    pub fn of(&self, deployment: MachineDeploymentId) -> impl Iterator<Item = (MachineId, &Machine)> {
        self.deployments[deployment].machines.iter().map(|id| (*id, &self.machines[id]))
    }

    /// The machine that is a node.
    pub fn of_node(&self, node: NodeKey) -> Option<MachineId> {
        self.by_node.get(&node).copied()
    }

    /// A machine is there, and is to be a node.
    pub fn switched_on(&mut self, id: MachineId, host: HostId, node: NodeKey) {
        self.get_mut(id).vm = Vm::Running(host, node);
        self.by_node.insert(node, id);
    }

    /// Machines wanted.
    pub fn desired(&self, deployment: MachineDeploymentId) -> u32 {
        self.deployments[deployment].desired
    }

    /// When a machine of it was last made, removed or seen in another phase.
    pub fn changed(&self, deployment: MachineDeploymentId) -> Time {
        self.deployments[deployment].changed
    }

    /// The machine deployments that have changed since this was last asked for.
    pub(super) fn take_touched(&mut self) -> BTreeSet<MachineDeploymentId> {
        std::mem::take(&mut self.touched)
    }

    fn touch(&mut self, deployment: MachineDeploymentId, now: Time) {
        self.deployments[deployment].changed = now;
        self.touched.insert(deployment);
    }

    /// The machine sets of a machine deployment, the oldest first; the last is the current one.
    pub fn sets(&self, deployment: MachineDeploymentId) -> &[MachineSet] {
        &self.deployments[deployment].sets
    }

    /// Whether all machines of a machine deployment are of its current template: no roll-out is under way.
    pub fn is_rolled_out(&self, deployment: MachineDeploymentId) -> bool {
        let [current] = self.sets(deployment) else { return false };
        self.of(deployment).all(|(_, machine)| machine.name.template == current.template)
    }

    /// So many machines are wanted of each of these. Old ones that are to have none are forgotten: their last machines are on their way
    /// out.
    pub fn scale_sets(&mut self, deployment: MachineDeploymentId, sizes: &[u32]) {
        let sets = &mut self.deployments[deployment].sets;
        sets.iter_mut().zip(sizes).for_each(|(set, size)| set.desired = *size);
        let current = sets[sets.len() - 1].template;
        sets.retain(|set| set.desired > 0 || set.template == current);
    }

    /// The machines of a machine deployment are to be replaced by others, of a new template.
    pub fn roll(&mut self, deployment: MachineDeploymentId, ctx: &ClusterCtx<'_>) {
        let state = &mut self.deployments[deployment];
        state.rolled += 1;
        let draw = ctx.draws(Purpose::Suffix, NAMES | u32::from(deployment.0)).draw(TEMPLATES + state.rolled);
        state.sets.push(MachineSet { template: { draw }.word() as u32, desired: 0 });
        self.touched.insert(deployment);
    }

    /// Makes a machine of a template.
    pub fn create(&mut self, deployment: MachineDeploymentId, template: u32, ctx: &mut ClusterCtx<'_>) -> MachineId {
        let draws = ctx.draws(Purpose::Suffix, NAMES | u32::from(deployment.0));
        let state = &mut self.deployments[deployment];
        let name = loop {
            state.names += 1;
            let name = MachineName { deployment, template, suffix: draw_suffix(&mut draws.draw(state.names)) };
            if self.machines.values().all(|machine| machine.name != name) {
                break name;
            }
        };
        ctx.record(KubeRecord::Machine(name, MachineFact::Created));
        self.touch(deployment, ctx.now);
        self.insert(name, Phase::Pending, Vm::Absent, ctx.now)
    }

    /// A machine's phase; nothing if it is that.
    pub fn set_phase(&mut self, id: MachineId, phase: Phase, ctx: &mut ClusterCtx<'_>) {
        let machine = self.get_mut(id);
        if machine.phase != phase {
            (machine.phase, machine.since) = (phase, ctx.now);
            let name = machine.name;
            ctx.record(KubeRecord::Machine(name, MachineFact::Phase(phase)));
            self.touch(name.deployment, ctx.now);
        }
    }

    /// Whether the cloud is out of stock of a machine.
    pub fn set_exhausted(&mut self, id: MachineId, exhausted: bool, now: Time) {
        let machine = self.get_mut(id);
        if std::mem::replace(&mut machine.exhausted, exhausted) != exhausted {
            let deployment = machine.name.deployment;
            self.touch(deployment, now);
        }
    }

    /// There is no machine too many: one that was to go first stays.
    pub fn stays(&mut self, id: MachineId) {
        let machine = self.get_mut(id);
        if std::mem::take(&mut machine.surplus) {
            let deployment = machine.name.deployment;
            self.touched.insert(deployment);
        }
    }

    /// A machine goes.
    pub fn remove(&mut self, id: MachineId, ctx: &mut ClusterCtx<'_>) {
        let machine = self.machines.remove(&id).expect("who removes a machine has it");
        if let Some(node) = machine.node() {
            self.by_node.remove(&node);
        }
        self.deployments[machine.name.deployment].machines.remove(&id);
        ctx.record(KubeRecord::Machine(machine.name, MachineFact::Removed));
        self.touch(machine.name.deployment, ctx.now);
    }

    /// Another number of machines is wanted.
    pub fn scale(&mut self, deployment: MachineDeploymentId, desired: u32, ctx: &mut ClusterCtx<'_>) {
        self.deployments[deployment].desired = desired;
        ctx.record(KubeRecord::MachineDeploymentScaled(deployment, desired));
        self.touched.insert(deployment);
    }
}
