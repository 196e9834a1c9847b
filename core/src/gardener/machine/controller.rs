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
use super::machine_tables::{Deletion, Machine, MachineId, MachineSet, MachineTables, Vm};
use super::meltdown::{Judgement, SHORT_RETRY, judge};
use super::safety_freeze::SafetyFreeze;
use super::{LONG_RETRY, MEDIUM_RETRY, Phase, rollout};
use crate::ids::{MachineDeploymentId, NodeKey};
use crate::kernel::periodic::Periodic;
use crate::kernel::rng::Purpose;
use crate::kernel::time::{Duration, Time};
use crate::kube::ctx::ClusterCtx;
use crate::kube::event::KubeEvent;
use crate::kube::kubelet::Kubelet;
use crate::kube::record::Ready;
use crate::kube::store::Store;
use crate::scenario::CloudAnswer;
use crate::sim::Stepping;

/// Entity of the draw of the phase of its checks, beyond all nodes and namespaces.
const CHECKS: u32 = u32::MAX - 2;

/// The controllers of one plane's machines.
#[derive(Clone, Debug)]
pub struct Machines {
    tables: MachineTables,
    due: BTreeSet<(Time, MachineId)>,
    of: BTreeMap<MachineId, Time>,
    armed: Option<Time>,
    generation: u32,
    safety_freeze: SafetyFreeze,
    /// Kubelets of machines that were switched on.
    switched_on: Vec<(NodeKey, Kubelet)>,
    /// Nodes of machines that are gone.
    switched_off: Vec<NodeKey>,
}

impl Machines {
    /// The machines of the start.
    pub fn new(ctx: &ClusterCtx<'_>) -> Self {
        let timers = &ctx.spec.timers.machines;
        let phase = ctx.draws(Purpose::Phase, CHECKS).draw(0).below(timers.check.as_nanos());
        Self {
            tables: MachineTables::new(ctx.spec, ctx),
            due: BTreeSet::new(),
            of: BTreeMap::new(),
            armed: None,
            generation: 0,
            safety_freeze: SafetyFreeze::new(Periodic::new(Time::from_nanos(phase), timers.check), timers.freeze),
            switched_on: Vec::new(),
            switched_off: Vec::new(),
        }
    }

    /// The machines.
    pub const fn tables(&self) -> &MachineTables {
        &self.tables
    }

    /// The machines, to be scaled.
    pub const fn tables_mut(&mut self) -> &mut MachineTables {
        &mut self.tables
    }

    /// Whether it may act now.
    const fn may_act(&self) -> bool {
        self.safety_freeze.may_act()
    }

    /// Its API is within reach, or out of it.
    pub fn api_served(&mut self, served: bool, ctx: &mut ClusterCtx<'_>) {
        if served == self.safety_freeze.is_served() {
            return;
        }
        if served {
            ctx.schedule(self.safety_freeze.api_recovered(ctx.now), KubeEvent::Unfreeze);
        } else {
            self.safety_freeze.api_gone(ctx.now);
        }
    }

    /// It goes on after its API was out of reach: it looks at everything anew. Was it frozen, then machines that are unknown get another
    /// chance.
    pub fn unfreeze(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let Some(was_frozen) = self.safety_freeze.resume(ctx.now) else { return };
        let of_phase = |phase| self.tables.machines().filter(move |(_, machine)| machine.phase == phase).map(|(id, _)| id);
        for id in of_phase(Phase::Unknown).collect::<Vec<_>>() {
            if was_frozen {
                self.tables.set_phase(id, Phase::Running, ctx);
                self.cancel(id);
            } else {
                let at = judgements(self.tables.get(id).expect("it is there"), ctx).at_or_after(ctx.now);
                self.wait(id, at);
            }
        }
        for id in self.tables.machines().map(|(id, _)| id).collect::<Vec<_>>() {
            self.watch(id, store, ctx);
        }
        (0..ctx.spec.machine_deployments.len() as u16)
            .map(MachineDeploymentId)
            .for_each(|deployment| self.sync(deployment, store, ctx));
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
    pub fn take_touched(&mut self, ctx: &ClusterCtx<'_>) -> BTreeSet<MachineDeploymentId> {
        let touched = self.tables.take_touched();
        let waits = |(id, machine): &(MachineId, &Machine)| {
            machine.phase == Phase::Unknown && touched.contains(&machine.name.deployment) && !self.of.contains_key(id)
        };
        let waiting = self.tables.machines().filter(waits);
        for (id, at) in waiting.map(|(id, machine)| (id, judgements(machine, ctx).after(ctx.now))).collect::<Vec<_>>() {
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
    pub fn node_changed(&mut self, node: NodeKey, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if self.may_act()
            && let Some(id) = self.tables.of_node(node)
        {
            self.watch(id, store, ctx);
        }
    }

    /// Does what is due.
    pub fn handle(&mut self, generation: u32, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if generation != self.generation {
            return;
        }
        self.armed = None;
        while let Some((_, id)) = self.due.first().copied().filter(|(at, _)| *at <= ctx.now) {
            self.cancel(id);
            self.reconcile(id, store, ctx);
        }
    }

    /// Queues its next deed.
    pub fn arm(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        let next = self.due.first().map(|(at, _)| (*at).max(ctx.now)).filter(|_| is_active && self.may_act());
        if next != self.armed {
            (self.armed, self.generation) = (next, self.generation + 1);
            if let Some(at) = next {
                ctx.schedule(at, KubeEvent::Machines(self.generation));
            }
        }
    }

    fn reconcile(&mut self, id: MachineId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let machine = self.tables.get(id).expect("what is due is there");
        match (machine.phase, machine.vm) {
            (Phase::Terminating, _) => self.terminate(id, store, ctx),
            (Phase::Pending | Phase::CrashLoopBackOff, Vm::Absent) => self.create(id, ctx),
            (Phase::Pending | Phase::CrashLoopBackOff, Vm::Creating) => self.switch_on(id, store, ctx),
            (Phase::Pending, Vm::Running(..)) => self.tables.set_phase(id, Phase::Failed, ctx),
            (Phase::Unknown, _) => self.judge(id, ctx),
            (Phase::CrashLoopBackOff | Phase::Running | Phase::Failed, _) => unreachable!("{machine:?} waits for nothing"),
        }
    }

    fn create(&mut self, id: MachineId, ctx: &mut ClusterCtx<'_>) {
        let machine = self.tables.get(id).expect("who makes a machine has it");
        let (deployment, created) = (&ctx.spec.machine_deployments[machine.name.deployment.0 as usize], machine.created);
        match ctx.cloud.create(deployment) {
            Ok(()) => {
                self.tables.set_phase(id, Phase::Pending, ctx);
                self.tables.get_mut(id).vm = Vm::Creating;
                self.wait(id, ctx.now + ctx.spec.timers.machines.create);
            }
            Err(_) if ctx.now >= created + ctx.spec.timers.machines.creation => self.tables.set_phase(id, Phase::Failed, ctx),
            Err(answer) => {
                self.tables.set_phase(id, Phase::CrashLoopBackOff, ctx);
                self.wait(id, ctx.now + retry(answer));
            }
        }
    }

    fn switch_on(&mut self, id: MachineId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let machine = self.tables.get_mut(id);
        let zone = ctx.spec.machine_deployments[machine.name.deployment.0 as usize].zone;
        let (host, node) = (ctx.net.add_host(zone), store.number_node());
        machine.vm = Vm::Running(host, node);
        ctx.cloud.switched_on(ctx.cluster, machine.name.deployment, ctx.now);
        let (name, given_up) = (machine.name, machine.created + ctx.spec.timers.machines.creation);
        self.switched_on.push((node, Kubelet::joining(node, host, name, ctx)));
        self.wait(id, given_up.max(ctx.now));
    }

    /// Sees how a machine's node is.
    fn watch(&mut self, id: MachineId, store: &Store, ctx: &mut ClusterCtx<'_>) {
        let machine = self.tables.get_mut(id);
        let node = machine.node().and_then(|node| store.get_node(node));
        let is_ready = node.is_some_and(|node| node.ready == Ready::True);
        machine.unready = if is_ready { None } else { machine.unready.or(Some(ctx.now)) };
        match (machine.phase, is_ready) {
            (Phase::Pending | Phase::Unknown, true) => {
                self.tables.set_phase(id, Phase::Running, ctx);
                self.cancel(id);
            }
            (Phase::Running, false) => {
                self.tables.set_phase(id, Phase::Unknown, ctx);
                self.wait(id, ctx.now + ctx.spec.timers.machines.health);
            }
            _ => {}
        }
    }

    /// Whether a machine whose node has not been healthy for long is given up.
    fn judge(&mut self, id: MachineId, ctx: &mut ClusterCtx<'_>) {
        let machine = self.tables.get(id).expect("who is judged is there");
        let deployment = machine.name.deployment;
        let siblings = self.tables.siblings(deployment);
        // What has changed at this very moment counts as change under way: no queue decides.
        let lock_held = self.tables.changed(deployment) == ctx.now;
        match judge(ctx.now.since(machine.since), ctx.spec.timers.machines.health, &siblings, lock_held) {
            Judgement::Failed => self.tables.set_phase(id, Phase::Failed, ctx),
            // Nothing else can come of it until a sibling changes.
            Judgement::Wait(_) if ctx.stepping == Stepping::FastForward && !lock_held => {}
            Judgement::Wait(wait) => self.wait(id, ctx.now + wait),
        }
    }

    fn terminate(&mut self, id: MachineId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let machine = self.tables.get_mut(id);
        let (zone, node) = (ctx.spec.machine_deployments[machine.name.deployment.0 as usize].zone, machine.node());
        match machine.deletion {
            Deletion::Status => match ctx.cloud.manages(zone) {
                Err(answer) => self.wait(id, ctx.now + retry(answer)),
                Ok(()) if machine.vm == Vm::Absent => self.gone(id, ctx),
                Ok(()) => {
                    let drains = machine.unready.is_none_or(|since| ctx.now <= since + ctx.spec.timers.machines.beyond_draining);
                    machine.deletion = if drains { Deletion::Drain(Drain::new(ctx.now)) } else { Deletion::Delete };
                    self.terminate(id, store, ctx);
                }
            },
            Deletion::Drain(ref mut drain) => {
                if node.is_none_or(|node| drain.go_on(node, store, ctx)) {
                    machine.deletion = Deletion::Delete;
                    self.terminate(id, store, ctx);
                } else {
                    self.wait(id, ctx.now + SHORT_RETRY);
                }
            }
            Deletion::Delete => match ctx.cloud.manages(zone) {
                Err(CloudAnswer::Unavailable) => self.wait(id, ctx.now + SHORT_RETRY),
                Err(_) => self.wait(id, ctx.now + LONG_RETRY),
                Ok(()) => {
                    machine.deletion = Deletion::Deleting;
                    self.wait(id, ctx.now + ctx.spec.timers.machines.delete);
                }
            },
            Deletion::Deleting => {
                if let Vm::Running(host, node) = machine.vm {
                    ctx.cloud.switched_off(ctx.cluster, machine.name.deployment, ctx.now);
                    ctx.fx.deleted_vms.push(host);
                    self.switched_off.push(node);
                    if store.get_node(node).is_some() {
                        store.remove_node(node, ctx);
                    }
                }
                let deployment = machine.name.deployment;
                ctx.cloud.take_back(&ctx.spec.machine_deployments[deployment.0 as usize]);
                self.gone(id, ctx);
            }
        }
    }

    fn gone(&mut self, id: MachineId, ctx: &mut ClusterCtx<'_>) {
        self.tables.remove(id, ctx);
        self.cancel(id);
    }

    /// The machine deployment and its machine sets: a roll-out goes on, machines that were given up are deleted, and there are as many
    /// others as are wanted.
    pub fn sync(&mut self, deployment: MachineDeploymentId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.may_act() {
            return;
        }
        let sizes = rollout::sizes(deployment, &self.tables, ctx);
        rollout::repel(deployment, &self.tables, store);
        for (set, desired) in self.tables.sets(deployment).to_vec().into_iter().zip(&sizes) {
            self.sync_set(deployment, MachineSet { desired: *desired, ..set }, ctx);
        }
        self.tables.scale_sets(deployment, &sizes);
    }

    fn sync_set(&mut self, deployment: MachineDeploymentId, set: MachineSet, ctx: &mut ClusterCtx<'_>) {
        let (mut keep, mut delete) = (Vec::new(), Vec::new());
        for (id, machine) in self.tables.of(deployment).filter(|(_, machine)| machine.name.template == set.template) {
            match machine.phase {
                Phase::Terminating => {}
                Phase::Failed => delete.push(id),
                Phase::CrashLoopBackOff | Phase::Pending | Phase::Unknown | Phase::Running => keep.push((rank(machine), id)),
            }
        }
        keep.sort_unstable_by_key(|(rank, id)| (*rank, std::cmp::Reverse(*id)));
        let desired = set.desired as usize;
        delete.extend(keep.iter().take(keep.len().saturating_sub(desired)).map(|(_, id)| *id));
        for id in delete {
            self.tables.set_phase(id, Phase::Terminating, ctx);
            self.wait(id, ctx.now + ctx.latency);
        }
        for _ in keep.len()..desired {
            let id = self.tables.create(deployment, set.template, ctx);
            self.wait(id, ctx.now + ctx.latency);
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
    (!machine.surplus, phase)
}

/// When a machine that is unknown is judged.
fn judgements(machine: &Machine, ctx: &ClusterCtx<'_>) -> Periodic {
    Periodic::new(machine.since + ctx.spec.timers.machines.health, SHORT_RETRY)
}

/// When the cloud is asked again (`machineCreateErrorHandler`).
const fn retry(answer: CloudAnswer) -> Duration {
    match answer {
        CloudAnswer::Unavailable => SHORT_RETRY,
        CloudAnswer::Refused | CloudAnswer::OutOfStock => MEDIUM_RETRY,
    }
}
