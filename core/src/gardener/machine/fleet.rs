//! Machines and machine deployments as the API has them, and the only ways to change them: each leaves a record.

use std::collections::{BTreeMap, BTreeSet};

use super::Phase;
use super::drain::Drain;
use super::meltdown::Sibling;
use crate::ids::{MachineDeploymentId, NodeKey};
use crate::kernel::rng::Purpose;
use crate::kernel::time::Time;
use crate::kube::context::Cx;
use crate::kube::name::{MachineName, draw_suffix};
use crate::kube::record::{KubeRecord, MachineFact};
use crate::kube::spec::KubeClusterSpec;
use crate::network::{HostId, Network};

/// A machine of a plane, numbered in the order they are made; a number is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineId(u32);

/// What the cloud has made of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vm {
    /// Nothing yet.
    Absent,
    /// It is being made.
    Creating,
    /// It is there: its host, and the node it is to be.
    There(HostId, NodeKey),
}

/// How far the deletion of a machine has come.
#[derive(Clone, Copy, Debug)]
pub enum Deletion {
    /// The cloud is asked how it is.
    Status,
    /// Its node is drained.
    Drain(Drain),
    /// The cloud is asked to delete it.
    Delete,
    /// The cloud does so.
    Deleting,
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: MachineName,
    /// Where it stands, and since when.
    pub phase: Phase,
    /// Since when.
    pub since: Time,
    /// When it was made.
    pub created: Time,
    /// What there is of it.
    pub vm: Vm,
    /// Its node has not been ready since then.
    pub unready: Option<Time>,
    /// While [`Phase::Terminating`].
    pub deletion: Deletion,
    /// It goes first where there are too many.
    pub unwanted: bool,
}

impl Machine {
    /// The node it is, or is to be.
    pub const fn node(&self) -> Option<NodeKey> {
        match self.vm {
            Vm::There(_, node) => Some(node),
            Vm::Absent | Vm::Creating => None,
        }
    }
}

/// Machines of one template of a machine deployment (a `MachineSet`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// The hash of its template.
    pub template: u32,
    /// Machines that it is to have.
    pub wanted: u32,
}

#[derive(Clone, Debug)]
struct Deployment {
    desired: u32,
    /// The oldest first; the last is the current one.
    sets: Vec<Set>,
    /// Roll-outs so far: numbers of draws.
    rolled: u64,
    names: u64,
    changed: Time,
}

/// All machines of a plane.
#[derive(Clone, Debug)]
pub struct Fleet {
    machines: BTreeMap<MachineId, Machine>,
    deployments: Vec<Deployment>,
    made: u32,
    touched: BTreeSet<MachineDeploymentId>,
}

/// Draws for the hashes of templates, beyond those for names.
const TEMPLATES: u64 = 1 << 32;

/// Entity of the draws of a machine deployment's names, beyond all workloads.
const NAMES: u32 = 1 << 31;

impl Fleet {
    /// The machines of the nodes of the start, all running.
    pub fn new(spec: &KubeClusterSpec, cx: &Cx<'_>) -> Self {
        let state = |deployment: MachineDeploymentId| {
            let names = spec.nodes.iter().filter_map(|node| node.machine).filter(|name| name.deployment == deployment);
            let (desired, template) = (names.clone().count() as u32, names.map(|name| name.template).next());
            let drawn = || cx.draws(Purpose::Suffix, NAMES | u32::from(deployment.0)).draw(0).word() as u32;
            let sets = vec![Set { template: template.unwrap_or_else(drawn), wanted: desired }];
            Deployment { desired, sets, rolled: 0, names: 0, changed: Time::ZERO }
        };
        let deployments = (0..spec.machine_deployments.len() as u16).map(MachineDeploymentId).map(state).collect();
        let mut fleet = Self { machines: BTreeMap::new(), deployments, made: 0, touched: BTreeSet::new() };
        for (key, node) in (0..).map(NodeKey).zip(&spec.nodes) {
            if let Some(name) = node.machine {
                fleet.insert(name, Phase::Running, Vm::There(Network::host_of(node.node), key), cx.now);
            }
        }
        fleet
    }

    fn insert(&mut self, name: MachineName, phase: Phase, vm: Vm, now: Time) -> MachineId {
        let id = MachineId(self.made);
        self.made += 1;
        let (unready, deletion, unwanted) = (None, Deletion::Status, false);
        self.machines.insert(id, Machine { name, phase, since: now, created: now, vm, unready, deletion, unwanted });
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
        self.machines().filter(move |(_, machine)| machine.name.deployment == deployment)
    }

    /// The same, as meltdown protection sees them.
    pub fn siblings(&self, deployment: MachineDeploymentId) -> Vec<Sibling> {
        self.of(deployment).map(|(_, machine)| Sibling { phase: machine.phase, preserved: false }).collect()
    }

    /// The machine that is a node.
    pub fn of_node(&self, node: NodeKey) -> Option<MachineId> {
        self.machines().find(|(_, machine)| machine.node() == Some(node)).map(|(id, _)| id)
    }

    /// Machines wanted.
    pub fn desired(&self, deployment: MachineDeploymentId) -> u32 {
        self.deployments[deployment.0 as usize].desired
    }

    /// When a machine of it was last made, removed or seen in another phase.
    pub fn changed(&self, deployment: MachineDeploymentId) -> Time {
        self.deployments[deployment.0 as usize].changed
    }

    /// The machine deployments that have changed since this was last asked for.
    pub fn take_touched(&mut self) -> BTreeSet<MachineDeploymentId> {
        std::mem::take(&mut self.touched)
    }

    fn touch(&mut self, deployment: MachineDeploymentId, now: Time) {
        self.deployments[deployment.0 as usize].changed = now;
        self.touched.insert(deployment);
    }

    /// The machine sets of a machine deployment, the oldest first; the last is the current one.
    pub fn sets(&self, deployment: MachineDeploymentId) -> &[Set] {
        &self.deployments[deployment.0 as usize].sets
    }

    /// So many machines are wanted of each of these. Old ones that are to have none are forgotten: their last machines are on their way
    /// out.
    pub fn scale_sets(&mut self, deployment: MachineDeploymentId, sizes: &[u32]) {
        let sets = &mut self.deployments[deployment.0 as usize].sets;
        sets.iter_mut().zip(sizes).for_each(|(set, size)| set.wanted = *size);
        let current = sets[sets.len() - 1].template;
        sets.retain(|set| set.wanted > 0 || set.template == current);
    }

    /// The machines of a machine deployment are to be replaced by others, of a new template.
    pub fn roll(&mut self, deployment: MachineDeploymentId, cx: &Cx<'_>) {
        let state = &mut self.deployments[deployment.0 as usize];
        state.rolled += 1;
        let draw = cx.draws(Purpose::Suffix, NAMES | u32::from(deployment.0)).draw(TEMPLATES + state.rolled);
        state.sets.push(Set { template: { draw }.word() as u32, wanted: 0 });
        self.touched.insert(deployment);
    }

    /// Makes a machine of a template.
    pub fn create(&mut self, deployment: MachineDeploymentId, template: u32, cx: &mut Cx<'_>) -> MachineId {
        let draws = cx.draws(Purpose::Suffix, NAMES | u32::from(deployment.0));
        let state = &mut self.deployments[deployment.0 as usize];
        let name = loop {
            state.names += 1;
            let name = MachineName { deployment, template, suffix: draw_suffix(&mut draws.draw(state.names)) };
            if self.machines.values().all(|machine| machine.name != name) {
                break name;
            }
        };
        cx.record(KubeRecord::Machine(name, MachineFact::Created));
        self.touch(deployment, cx.now);
        self.insert(name, Phase::Pending, Vm::Absent, cx.now)
    }

    /// A machine's phase; nothing if it is that.
    pub fn set_phase(&mut self, id: MachineId, phase: Phase, cx: &mut Cx<'_>) {
        let machine = self.get_mut(id);
        if machine.phase != phase {
            (machine.phase, machine.since) = (phase, cx.now);
            let name = machine.name;
            cx.record(KubeRecord::Machine(name, MachineFact::Phase(phase)));
            self.touch(name.deployment, cx.now);
        }
    }

    /// A machine goes.
    pub fn remove(&mut self, id: MachineId, cx: &mut Cx<'_>) {
        let machine = self.machines.remove(&id).expect("who removes a machine has it");
        cx.record(KubeRecord::Machine(machine.name, MachineFact::Removed));
        self.touch(machine.name.deployment, cx.now);
    }

    /// Another number of machines is wanted.
    pub fn scale(&mut self, deployment: MachineDeploymentId, desired: u32, cx: &mut Cx<'_>) {
        self.deployments[deployment.0 as usize].desired = desired;
        cx.record(KubeRecord::MachineDeploymentScaled(deployment, desired));
        self.touched.insert(deployment);
    }
}
