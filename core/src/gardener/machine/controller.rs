//! The machine controller and the machine sets (`pkg/util/provider/machinecontroller`, `pkg/controller/machineset.go`).
//!
//! ```text
//!  made --create--> Pending --node ready--> Running <--> Unknown --10 min, one at a time--> Failed
//!    '--refused--> CrashLoopBackOff            |                                              |
//!        '--20 min--> Failed                   '---- one too many ----> Terminating <---------'
//!                                     how is it? --> drain --> delete --> node object --> gone
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::drain::Drain;
use super::fleet::{Deletion, Fleet, Machine, MachineId, Set, Vm};
use super::freeze::Freeze;
use super::meltdown::{Judgement, SHORT_RETRY, judge};
use super::{LONG_RETRY, MEDIUM_RETRY, Phase, rollout};
use crate::ids::{MachineDeploymentId, NodeKey};
use crate::kernel::periodic::Periodic;
use crate::kernel::rng::Purpose;
use crate::kernel::time::{Duration, Time};
use crate::kube::context::Cx;
use crate::kube::event::KubeEvent;
use crate::kube::kubelet::Kubelet;
use crate::kube::record::Ready;
use crate::kube::store::Store;
use crate::scenario::CloudAnswer;
use crate::sim::Exact;

/// Entity of the draw of the phase of its checks, beyond all nodes and namespaces.
const CHECKS: u32 = u32::MAX - 2;

/// The controllers of one plane's machines.
#[derive(Clone, Debug)]
pub struct Machines {
    fleet: Fleet,
    due: BTreeSet<(Time, MachineId)>,
    of: BTreeMap<MachineId, Time>,
    armed: Option<Time>,
    generation: u32,
    freeze: Freeze,
    /// Kubelets of machines that were switched on.
    switched_on: Vec<(NodeKey, Kubelet)>,
    /// Nodes of machines that are gone.
    switched_off: Vec<NodeKey>,
}

impl Machines {
    /// The machines of the start.
    pub fn new(cx: &Cx<'_>) -> Self {
        let timers = &cx.spec.timers.machines;
        let phase = cx.draws(Purpose::Phase, CHECKS).draw(0).below(timers.check.as_nanos());
        Self {
            fleet: Fleet::new(cx.spec, cx),
            due: BTreeSet::new(),
            of: BTreeMap::new(),
            armed: None,
            generation: 0,
            freeze: Freeze::new(Periodic::new(Time::from_nanos(phase), timers.check), timers.freeze),
            switched_on: Vec::new(),
            switched_off: Vec::new(),
        }
    }

    /// The machines.
    pub const fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The machines, to be scaled.
    pub const fn fleet_mut(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    /// Whether it may act now.
    const fn may_act(&self) -> bool {
        self.freeze.may_act()
    }

    /// Its API is within reach, or out of it.
    pub fn api_served(&mut self, served: bool, cx: &mut Cx<'_>) {
        if served == self.freeze.is_served() {
            return;
        }
        if served {
            cx.schedule(self.freeze.api_back(cx.now), KubeEvent::Thaw);
        } else {
            self.freeze.api_gone(cx.now);
        }
    }

    /// It goes on after its API was out of reach: it looks at everything anew. Was it frozen, then machines that are unknown get another
    /// chance.
    pub fn thaw(&mut self, store: &mut Store, cx: &mut Cx<'_>) {
        let Some(was_frozen) = self.freeze.resume(cx.now) else { return };
        let of_phase = |phase| self.fleet.machines().filter(move |(_, machine)| machine.phase == phase).map(|(id, _)| id);
        for id in of_phase(Phase::Unknown).collect::<Vec<_>>() {
            if was_frozen {
                self.fleet.set_phase(id, Phase::Running, cx);
                self.cancel(id);
            } else {
                let at = judgements(self.fleet.get(id).expect("it is there"), cx).at_or_after(cx.now);
                self.wait(id, at);
            }
        }
        for id in self.fleet.machines().map(|(id, _)| id).collect::<Vec<_>>() {
            self.watch(id, store, cx);
        }
        (0..cx.spec.machine_deployments.len() as u16)
            .map(MachineDeploymentId)
            .for_each(|deployment| self.sync(deployment, store, cx));
    }

    /// Kubelets of machines that were switched on since this was last asked for.
    pub fn take_switched_on(&mut self) -> Vec<(NodeKey, Kubelet)> {
        std::mem::take(&mut self.switched_on)
    }

    /// Nodes of machines that were deleted since this was last asked for.
    pub fn take_switched_off(&mut self) -> Vec<NodeKey> {
        std::mem::take(&mut self.switched_off)
    }

    /// The machine deployments that have changed since this was last asked for. Machines that wait for others to be replaced hear of it.
    pub fn take_touched(&mut self, cx: &Cx<'_>) -> BTreeSet<MachineDeploymentId> {
        let touched = self.fleet.take_touched();
        let waits = |(id, machine): &(MachineId, &Machine)| {
            machine.phase == Phase::Unknown && touched.contains(&machine.name.deployment) && !self.of.contains_key(id)
        };
        let waiting = self.fleet.machines().filter(waits);
        for (id, at) in waiting.map(|(id, machine)| (id, judgements(machine, cx).after(cx.now))).collect::<Vec<_>>() {
            self.wait(id, at);
        }
        touched
    }

    fn wait(&mut self, id: MachineId, at: Time) {
        self.cancel(id);
        self.of.insert(id, at);
        self.due.insert((at, id));
    }

    fn cancel(&mut self, id: MachineId) {
        if let Some(at) = self.of.remove(&id) {
            self.due.remove(&(at, id));
        }
    }

    /// Hears of a node.
    pub fn node_changed(&mut self, node: NodeKey, store: &mut Store, cx: &mut Cx<'_>) {
        if self.may_act()
            && let Some(id) = self.fleet.of_node(node)
        {
            self.watch(id, store, cx);
        }
    }

    /// Does what is due.
    pub fn handle(&mut self, generation: u32, store: &mut Store, cx: &mut Cx<'_>) {
        if generation != self.generation {
            return;
        }
        self.armed = None;
        while let Some((_, id)) = self.due.first().copied().filter(|(at, _)| *at <= cx.now) {
            self.cancel(id);
            self.reconcile(id, store, cx);
        }
    }

    /// Queues its next deed.
    pub fn arm(&mut self, acts: bool, cx: &mut Cx<'_>) {
        let next = self.due.first().map(|(at, _)| (*at).max(cx.now)).filter(|_| acts && self.may_act());
        if next != self.armed {
            (self.armed, self.generation) = (next, self.generation + 1);
            if let Some(at) = next {
                cx.schedule(at, KubeEvent::Machines(self.generation));
            }
        }
    }

    fn reconcile(&mut self, id: MachineId, store: &mut Store, cx: &mut Cx<'_>) {
        let machine = self.fleet.get(id).expect("what is due is there");
        match (machine.phase, machine.vm) {
            (Phase::Terminating, _) => self.terminate(id, store, cx),
            (Phase::Pending | Phase::CrashLoopBackOff, Vm::Absent) => self.create(id, cx),
            (Phase::Pending | Phase::CrashLoopBackOff, Vm::Creating) => self.switch_on(id, store, cx),
            (Phase::Pending, Vm::There(..)) => self.fleet.set_phase(id, Phase::Failed, cx),
            (Phase::Unknown, _) => self.judge(id, cx),
            (Phase::CrashLoopBackOff | Phase::Running | Phase::Failed, _) => unreachable!("{machine:?} waits for nothing"),
        }
    }

    fn create(&mut self, id: MachineId, cx: &mut Cx<'_>) {
        let machine = self.fleet.get(id).expect("who makes a machine has it");
        let (deployment, created) = (&cx.spec.machine_deployments[machine.name.deployment.0 as usize], machine.created);
        match cx.cloud.create(deployment) {
            Ok(()) => {
                self.fleet.set_phase(id, Phase::Pending, cx);
                self.fleet.get_mut(id).vm = Vm::Creating;
                self.wait(id, cx.now + cx.spec.timers.machines.create);
            }
            Err(_) if cx.now >= created + cx.spec.timers.machines.creation => self.fleet.set_phase(id, Phase::Failed, cx),
            Err(answer) => {
                self.fleet.set_phase(id, Phase::CrashLoopBackOff, cx);
                self.wait(id, cx.now + retry(answer));
            }
        }
    }

    fn switch_on(&mut self, id: MachineId, store: &mut Store, cx: &mut Cx<'_>) {
        let machine = self.fleet.get_mut(id);
        let zone = cx.spec.machine_deployments[machine.name.deployment.0 as usize].zone;
        let (host, node) = (cx.net.add_host(zone), store.number_node());
        machine.vm = Vm::There(host, node);
        cx.cloud.switched_on(cx.cluster, machine.name.deployment, cx.now);
        let (name, given_up) = (machine.name, machine.created + cx.spec.timers.machines.creation);
        self.switched_on.push((node, Kubelet::joining(node, host, name, cx)));
        self.wait(id, given_up.max(cx.now));
    }

    /// Sees how a machine's node is.
    fn watch(&mut self, id: MachineId, store: &Store, cx: &mut Cx<'_>) {
        let machine = self.fleet.get_mut(id);
        let node = machine.node().and_then(|node| store.get_node(node));
        let is_ready = node.is_some_and(|node| node.ready == Ready::True);
        machine.unready = if is_ready { None } else { machine.unready.or(Some(cx.now)) };
        match (machine.phase, is_ready) {
            (Phase::Pending | Phase::Unknown, true) => {
                self.fleet.set_phase(id, Phase::Running, cx);
                self.cancel(id);
            }
            (Phase::Running, false) => {
                self.fleet.set_phase(id, Phase::Unknown, cx);
                self.wait(id, cx.now + cx.spec.timers.machines.health);
            }
            _ => {}
        }
    }

    /// Whether a machine whose node has not been healthy for long is given up.
    fn judge(&mut self, id: MachineId, cx: &mut Cx<'_>) {
        let machine = self.fleet.get(id).expect("who is judged is there");
        let deployment = machine.name.deployment;
        let siblings = self.fleet.siblings(deployment);
        // What has changed at this very moment counts as change under way: no queue decides.
        let lock_held = self.fleet.changed(deployment) == cx.now;
        match judge(cx.now.since(machine.since), cx.spec.timers.machines.health, &siblings, lock_held) {
            Judgement::Failed => self.fleet.set_phase(id, Phase::Failed, cx),
            // Nothing else can come of it until a sibling changes.
            Judgement::Wait(_) if cx.exact == Exact::Fast && !lock_held => {}
            Judgement::Wait(wait) => self.wait(id, cx.now + wait),
        }
    }

    fn terminate(&mut self, id: MachineId, store: &mut Store, cx: &mut Cx<'_>) {
        let machine = self.fleet.get_mut(id);
        let (zone, node) = (cx.spec.machine_deployments[machine.name.deployment.0 as usize].zone, machine.node());
        match machine.deletion {
            Deletion::Status => match cx.cloud.manages(zone) {
                Err(answer) => self.wait(id, cx.now + retry(answer)),
                Ok(()) if machine.vm == Vm::Absent => self.gone(id, cx),
                Ok(()) => {
                    let drains = machine.unready.is_none_or(|since| cx.now <= since + cx.spec.timers.machines.beyond_draining);
                    machine.deletion = if drains { Deletion::Drain(Drain::new(cx.now)) } else { Deletion::Delete };
                    self.terminate(id, store, cx);
                }
            },
            Deletion::Drain(ref mut drain) => {
                if node.is_none_or(|node| drain.go_on(node, store, cx)) {
                    machine.deletion = Deletion::Delete;
                    self.terminate(id, store, cx);
                } else {
                    self.wait(id, cx.now + SHORT_RETRY);
                }
            }
            Deletion::Delete => match cx.cloud.manages(zone) {
                Err(CloudAnswer::Unavailable) => self.wait(id, cx.now + SHORT_RETRY),
                Err(_) => self.wait(id, cx.now + LONG_RETRY),
                Ok(()) => {
                    machine.deletion = Deletion::Deleting;
                    self.wait(id, cx.now + cx.spec.timers.machines.delete);
                }
            },
            Deletion::Deleting => {
                if let Vm::There(host, node) = machine.vm {
                    cx.cloud.switched_off(cx.cluster, machine.name.deployment, cx.now);
                    cx.fx.deleted_vms.push(host);
                    self.switched_off.push(node);
                    if store.get_node(node).is_some() {
                        store.remove_node(node, cx);
                    }
                }
                let deployment = machine.name.deployment;
                cx.cloud.take_back(&cx.spec.machine_deployments[deployment.0 as usize]);
                self.gone(id, cx);
            }
        }
    }

    fn gone(&mut self, id: MachineId, cx: &mut Cx<'_>) {
        self.fleet.remove(id, cx);
        self.cancel(id);
    }

    /// The machine deployment and its machine sets: a roll-out goes on, machines that were given up are deleted, and there are as many
    /// others as are wanted.
    pub fn sync(&mut self, deployment: MachineDeploymentId, store: &mut Store, cx: &mut Cx<'_>) {
        if !self.may_act() {
            return;
        }
        let sizes = rollout::sizes(deployment, &self.fleet, cx);
        rollout::repel(deployment, &self.fleet, store);
        for (set, wanted) in self.fleet.sets(deployment).to_vec().into_iter().zip(&sizes) {
            self.sync_set(deployment, Set { wanted: *wanted, ..set }, cx);
        }
        self.fleet.scale_sets(deployment, &sizes);
    }

    fn sync_set(&mut self, deployment: MachineDeploymentId, set: Set, cx: &mut Cx<'_>) {
        let (mut keep, mut delete) = (Vec::new(), Vec::new());
        for (id, machine) in self.fleet.of(deployment).filter(|(_, machine)| machine.name.template == set.template) {
            match machine.phase {
                Phase::Terminating => {}
                Phase::Failed => delete.push(id),
                Phase::CrashLoopBackOff | Phase::Pending | Phase::Unknown | Phase::Running => keep.push((rank(machine), id)),
            }
        }
        keep.sort_unstable_by_key(|(rank, id)| (*rank, std::cmp::Reverse(*id)));
        let wanted = set.wanted as usize;
        delete.extend(keep.iter().take(keep.len().saturating_sub(wanted)).map(|(_, id)| *id));
        for id in delete {
            self.fleet.set_phase(id, Phase::Terminating, cx);
            self.wait(id, cx.now + cx.latency);
        }
        for _ in keep.len()..wanted {
            let id = self.fleet.create(deployment, set.template, cx);
            self.wait(id, cx.now + cx.latency);
        }
    }
}

/// Which machine goes first where there are too many (`getMachinesToDelete`); of equals the youngest.
fn rank(machine: &Machine) -> (bool, u8) {
    let phase = match machine.phase {
        Phase::Terminating => 0,
        Phase::Failed => 1,
        Phase::CrashLoopBackOff => 2,
        Phase::Unknown => 3,
        Phase::Pending => 4,
        Phase::Running => 5,
    };
    (!machine.unwanted, phase)
}

/// When a machine that is unknown is judged.
fn judgements(machine: &Machine, cx: &Cx<'_>) -> Periodic {
    Periodic::new(machine.since + cx.spec.timers.machines.health, SHORT_RETRY)
}

/// When the cloud is asked again (`machineCreateErrorHandler`).
const fn retry(answer: CloudAnswer) -> Duration {
    match answer {
        CloudAnswer::Unavailable => SHORT_RETRY,
        CloudAnswer::Refused | CloudAnswer::OutOfStock => MEDIUM_RETRY,
    }
}
