//! The machine controller and the machine sets (`pkg/util/provider/machinecontroller`, `pkg/controller/machineset.go`).
//!
//! ```text
//!  made --create--> Pending --node ready--> Running <--> Unknown --10 min, one at a time--> Failed
//!    '--refused--> CrashLoopBackOff            |                                              |
//!        '--20 min--> Failed                   '---- one too many ----> Terminating <---------'
//!                                     how is it? --> drain --> delete --> node object --> gone
//! ```

use std::collections::{BTreeMap, BTreeSet};
use zonefall_kube::controller::{Controller, Due, State};
use zonefall_kube::spec::{Component, KubeClusterSpec, MachineDeployment};
use zonefall_kube::store::Change;
use zonefall_scenario::Scenario;

use super::drain::{Drain, Progress, force};
use super::meltdown::{Judgement, SHORT_RETRY, judge, siblings};
use super::safety_freeze::SafetyFreeze;
use super::{LONG_RETRY, MEDIUM_RETRY, overshooting, rollout};
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::kubelet::Kubelet;
use zonefall_kube::machine::{Deletion, Machine, MachineId, MachineSet, Phase, Vm};
use zonefall_kube::record::{KubeRecord, MachineFact, Ready};
use zonefall_kube::store::Store;
use zonefall_scenario::CloudAnswer;
use zonefall_scenario::ids::{MachineDeploymentId, NodeKey};

/// Timer: it goes on after its API was out of reach.
const UNFREEZE: Due = Due { key: (1, 0), generation: Generation::ZERO };

/// Entity of the draw of the phase of its checks, beyond all nodes and namespaces.
const CHECKS: u32 = u32::MAX - 2;

/// The controllers of one cluster's machines.
#[derive(Clone, Debug)]
pub struct Machines {
    due: BTreeSet<(Time, MachineId)>,
    of: BTreeMap<MachineId, Time>,
    timer: Timer,
    /// It has let go first whatever else was queued for this time.
    yielded: Time,
    safety_freeze: SafetyFreeze,
    /// Drains of the nodes of machines that are to be deleted.
    drains: BTreeMap<MachineId, Drain>,
}

impl Machines {
    /// The machines of the start.
    fn new(ctx: &ClusterCtx<'_>) -> Self {
        let timers = &ctx.spec.timers.machines;
        let phase = ctx.draws(Purpose::Phase, CHECKS).draw(0).below(timers.check.as_nanos());
        Self {
            drains: BTreeMap::new(),
            due: BTreeSet::new(),
            of: BTreeMap::new(),
            timer: Timer::new(),
            yielded: Time::ZERO,
            safety_freeze: SafetyFreeze::new(Periodic::new(Time::from_nanos(phase), timers.check), timers.freeze),
        }
    }

    /// Whether it may act now.
    const fn may_act(&self) -> bool {
        self.safety_freeze.may_act()
    }

    /// Its API is within reach, or out of it.
    fn api_served(&mut self, served: bool, ctx: &mut ClusterCtx<'_>) {
        if served == self.safety_freeze.is_served() {
            return;
        }
        if served {
            ctx.timer(self.safety_freeze.api_recovered(ctx.now), UNFREEZE);
        } else {
            self.safety_freeze.api_gone(ctx.now);
        }
    }

    /// It goes on after its API was out of reach: it looks at everything anew. Was it frozen, then machines that are unknown get another
    /// chance.
    fn unfreeze(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let Some(was_frozen) = self.safety_freeze.resume(ctx.now) else { return };
        let of_phase = |phase| store.machines.machines().filter(move |(_, machine)| machine.phase == phase).map(|(id, _)| id);
        for id in of_phase(Phase::Unknown).collect::<Vec<_>>() {
            if was_frozen {
                store.machines.set_phase(id, Phase::Running, ctx);
                self.cancel(id);
            } else {
                let at = judgements(store.machines.get(id).expect("it is there"), ctx).at_or_after(ctx.now);
                self.wait(id, at);
            }
        }
        for id in store.machines.machines().map(|(id, _)| id).collect::<Vec<_>>() {
            self.watch_node(id, store, ctx);
        }
        ctx.spec.machine_deployments.keys().for_each(|deployment| self.sync(deployment, store, ctx));
    }

    /// A machine deployment has changed: its machines that wait for others to be replaced are judged again.
    fn deployment_changed(&mut self, deployment: MachineDeploymentId, store: &Store, ctx: &ClusterCtx<'_>) {
        let waits = |(id, machine): &(MachineId, &Machine)| machine.phase == Phase::Unknown && !self.of.contains_key(id);
        let waiting: Vec<_> = store
            .machines
            .of(deployment)
            .filter(waits)
            .map(|(id, machine)| (id, judgements(machine, ctx).after(ctx.now)))
            .collect();
        for (id, at) in waiting {
            self.wait(id, at);
        }
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
    fn node_changed(&mut self, node: NodeKey, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if self.may_act()
            && let Some(id) = store.machines.of_node(node)
        {
            self.watch_node(id, store, ctx);
        }
    }

    /// Does what is due, after all else of that time: machines boot, join and go in whole seconds from one another, and its timer is
    /// armed at other times in one mode of stepping than in the other.
    fn act(&mut self, generation: Generation, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if !self.timer.fires(generation) || std::mem::replace(&mut self.yielded, ctx.now) != ctx.now {
            return;
        }
        while let Some((_, id)) = self.due.first().copied().filter(|(at, _)| *at <= ctx.now) {
            self.cancel(id);
            self.advance(id, state, ctx);
        }
    }

    /// Queues what it does next.
    fn arm_next(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        let next = self.due.first().map(|(at, _)| (*at).max(ctx.now)).filter(|_| is_active && self.may_act());
        ctx.rearm(&mut self.timer, next);
    }

    fn advance(&mut self, id: MachineId, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let store = &mut state.store;
        let machine = store.machines.get(id).expect("what is due is there");
        match (machine.phase, machine.vm) {
            (Phase::Terminating, _) => self.terminate(id, state, ctx),
            (Phase::Pending | Phase::CrashLoopBackOff, Vm::Absent) => self.create(id, store, ctx),
            (Phase::Pending | Phase::CrashLoopBackOff, Vm::Creating(_)) => self.switch_on(id, state, ctx),
            (Phase::Pending, Vm::Running(..)) => store.machines.set_phase(id, Phase::Failed, ctx),
            (Phase::Unknown, _) => self.judge(id, store, ctx),
            (Phase::CrashLoopBackOff | Phase::Running | Phase::Failed, _) => unreachable!("{machine:?} waits for nothing"),
        }
    }

    fn create(&mut self, id: MachineId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let machine = store.machines.get(id).expect("who makes a machine has it");
        let (deployment, created) = (&ctx.spec.machine_deployments[machine.name.deployment], machine.created);
        let answer = ctx.cloud.create(deployment);
        store.machines.set_exhausted(id, answer == Err(CloudAnswer::OutOfStock), ctx.now);
        match answer {
            Ok(()) => {
                store.machines.set_phase(id, Phase::Pending, ctx);
                let done = ctx.now + ctx.spec.timers.machines.create;
                store.machines.get_mut(id).vm = Vm::Creating(done);
                self.wait(id, done);
            }
            Err(_) if ctx.now >= created + ctx.spec.timers.machines.creation => store.machines.set_phase(id, Phase::Failed, ctx),
            Err(answer) => {
                store.machines.set_phase(id, Phase::CrashLoopBackOff, ctx);
                self.wait(id, ctx.now + retry(answer));
            }
        }
    }

    fn switch_on(&mut self, id: MachineId, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let store = &mut state.store;
        let node = store.number_node();
        let machine = store.machines.get(id).expect("what is switched on is there");
        let (name, given_up) = (machine.name, machine.created + ctx.spec.timers.machines.creation);
        let MachineDeployment { zone, template, .. } = &ctx.spec.machine_deployments[name.deployment];
        let host = ctx.net.add_host(*zone, template.card_bytes_per_s);
        store.machines.switched_on(id, host, node);
        ctx.cloud.switched_on(ctx.cluster, name.deployment, ctx.now);
        state.switched_on.push((node, Kubelet::joining(node, host, name, ctx)));
        self.wait(id, given_up.max(ctx.now));
    }

    /// Sees how a machine's node is.
    fn watch_node(&mut self, id: MachineId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let node = store.machines.get(id).and_then(Machine::node).and_then(|node| store.get_node(node));
        let is_ready = node.is_some_and(|node| node.ready == Ready::True);
        let machine = store.machines.get_mut(id);
        machine.unready = if is_ready { None } else { machine.unready.or(Some(ctx.now)) };
        match (machine.phase, is_ready) {
            (Phase::Pending | Phase::Unknown, true) => {
                store.machines.set_phase(id, Phase::Running, ctx);
                self.cancel(id);
            }
            (Phase::Running, false) => {
                store.machines.set_phase(id, Phase::Unknown, ctx);
                self.wait(id, ctx.now + ctx.spec.timers.machines.health);
            }
            _ => {}
        }
    }

    /// Whether a machine whose node has not been healthy for long is given up.
    fn judge(&mut self, id: MachineId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let machine = store.machines.get(id).expect("who is judged is there");
        let deployment = machine.name.deployment;
        let others = siblings(deployment, &store.machines);
        // What has changed at this very moment counts as change under way: no queue decides.
        let lock_held = store.machines.changed(deployment) == ctx.now;
        match judge(ctx.now.since(machine.since), ctx.spec.timers.machines.health, &others, lock_held) {
            Judgement::Failed => store.machines.set_phase(id, Phase::Failed, ctx),
            // Nothing else can come of it until a sibling changes.
            Judgement::Wait(_) if ctx.stepping == Stepping::FastForward && !lock_held => {}
            Judgement::Wait(wait) => self.wait(id, ctx.now + wait),
        }
    }

    fn terminate(&mut self, id: MachineId, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let store = &mut state.store;
        let machine = store.machines.get_mut(id);
        let (zone, node) = (ctx.spec.machine_deployments[machine.name.deployment].zone, machine.node());
        match machine.deletion {
            Deletion::Status => match ctx.cloud.manages(zone) {
                Err(answer) => self.wait(id, ctx.now + retry(answer)),
                Ok(()) if machine.vm == Vm::Absent => self.gone(id, store, ctx),
                Ok(()) => {
                    let drains = machine.unready.is_none_or(|since| ctx.now <= since + ctx.spec.timers.machines.beyond_draining);
                    machine.deletion = if drains { Deletion::Drain } else { Deletion::Delete };
                    self.terminate(id, state, ctx);
                }
            },
            Deletion::Drain => {
                let name = machine.name;
                let drain = self.drains.entry(id).or_insert_with(|| Drain::new(ctx.now));
                let progress = node.map_or(Progress::Done, |node| drain.go_on(node, store, ctx));
                if progress == Progress::TimedOut {
                    ctx.record(KubeRecord::Machine(name, MachineFact::DrainTimedOut));
                    if let Some(node) = node {
                        force(node, store, ctx);
                    }
                }
                if progress == Progress::GoesOn {
                    self.wait(id, ctx.now + SHORT_RETRY);
                } else {
                    self.drains.remove(&id);
                    store.machines.get_mut(id).deletion = Deletion::Delete;
                    self.terminate(id, state, ctx);
                }
            }
            Deletion::Delete => match ctx.cloud.manages(zone) {
                Err(CloudAnswer::Unavailable) => self.wait(id, ctx.now + SHORT_RETRY),
                Err(_) => self.wait(id, ctx.now + LONG_RETRY),
                Ok(()) => {
                    let done = ctx.now + ctx.spec.timers.machines.delete;
                    machine.deletion = Deletion::Deleting(done);
                    self.wait(id, done);
                }
            },
            Deletion::Deleting(_) => {
                let (deployment, vm) = (machine.name.deployment, machine.vm);
                if let Vm::Running(host, node) = vm {
                    ctx.cloud.switched_off(ctx.cluster, deployment, ctx.now);
                    ctx.fx.deleted_vms.push(host);
                    state.switched_off.push(node);
                    if store.get_node(node).is_some() {
                        store.remove_node(node, ctx);
                    }
                }
                ctx.cloud.take_back(&ctx.spec.machine_deployments[deployment]);
                self.gone(id, store, ctx);
            }
        }
    }

    fn gone(&mut self, id: MachineId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        store.machines.remove(id, ctx);
        self.cancel(id);
        self.drains.remove(&id);
    }

    /// When a machine needs it next, as far as its object says; `None`: not until something changes.
    fn next_for(machine: &Machine, ctx: &ClusterCtx<'_>) -> Option<Time> {
        let known = ctx.now + ctx.latency;
        let at = match (machine.phase, machine.vm, machine.deletion) {
            (Phase::Terminating, _, Deletion::Deleting(done))
            | (Phase::Pending | Phase::CrashLoopBackOff, Vm::Creating(done), _) => done,
            (Phase::Pending, Vm::Running(..), _) => machine.created + ctx.spec.timers.machines.creation,
            (Phase::Terminating, ..) | (Phase::Pending | Phase::CrashLoopBackOff, Vm::Absent, _) => known,
            (Phase::Unknown, ..) => judgements(machine, ctx).at_or_after(known),
            (Phase::Running | Phase::Failed, ..) | (Phase::CrashLoopBackOff, Vm::Running(..), _) => return None,
        };
        Some(at.max(known))
    }

    /// The machine deployment and its machine sets: a roll-out goes on, machines that were given up are deleted, and there are as many
    /// others as are wanted.
    fn sync(&mut self, deployment: MachineDeploymentId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.may_act() {
            return;
        }
        let sizes = rollout::sizes(deployment, &store.machines, ctx);
        rollout::repel(deployment, store);
        for (set, desired) in store.machines.sets(deployment).to_vec().into_iter().zip(&sizes) {
            self.sync_set(deployment, MachineSet { desired: *desired, ..set }, store, ctx);
        }
        store.machines.scale_sets(deployment, &sizes);
    }

    fn sync_set(&mut self, deployment: MachineDeploymentId, set: MachineSet, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let (mut all, mut keep, mut delete) = (0, Vec::new(), Vec::new());
        for (id, machine) in store.machines.of(deployment).filter(|(_, machine)| machine.name.template == set.template) {
            all += 1;
            match machine.phase {
                Phase::Terminating => {}
                Phase::Failed => delete.push(id),
                Phase::CrashLoopBackOff | Phase::Pending | Phase::Unknown | Phase::Running => keep.push((rank(machine), id)),
            }
        }
        keep.sort_unstable_by_key(|(rank, id)| (*rank, std::cmp::Reverse(*id)));
        let desired = set.desired as usize;
        let stay = keep.split_off(keep.len().saturating_sub(desired));
        delete.extend(keep.iter().map(|(_, id)| *id));
        for (_, id) in &stay {
            store.machines.stays(*id);
        }
        for id in delete {
            store.machines.set_phase(id, Phase::Terminating, ctx);
            self.wait(id, ctx.now + ctx.latency);
        }
        let update = rollout::update(deployment, &store.machines, ctx);
        let is_frozen = overshooting::is_frozen(all, update.replicas, update.surge);
        let missing = if is_frozen { 0 } else { desired.saturating_sub(stay.len()) };
        for _ in 0..missing {
            let id = store.machines.create(deployment, set.template, ctx);
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

impl Machines {
    /// Every cluster has it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self::new(ctx)))
    }
}

/// Keys of its work queues: 0 a node; 1 a machine deployment.
impl Controller for Machines {
    fn component(&self) -> Option<Component> {
        Some(Component::MachineControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        match *change {
            Change::Condition(node) | Change::Registered(node) | Change::Unregistered(node) => ctx.enqueue(0, node.0),
            Change::MachineDeployment(deployment) => {
                self.deployment_changed(deployment, &state.store, ctx);
                ctx.enqueue(1, deployment.0.into());
            }
            _ => {}
        }
    }

    fn reconcile(&mut self, queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if queue == 0 {
            self.node_changed(NodeKey(key), &mut state.store, ctx);
        } else {
            self.sync(MachineDeploymentId(key as u16), &mut state.store, ctx);
        }
    }

    fn list(&self, state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        let nodes = state.store.nodes().map(|(node, _)| (0, node.0));
        nodes.chain((0..ctx.spec.machine_deployments.len() as u32).map(|deployment| (1, deployment))).collect()
    }

    /// Another process takes over: it finds the machines as their objects say, and has refused, drained and frozen nothing.
    fn forget(&mut self, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.due.clear();
        self.of.clear();
        self.drains.clear();
        self.safety_freeze.forget();
        for (id, machine) in state.store.machines.machines() {
            if let Some(at) = Self::next_for(machine, ctx) {
                self.wait(id, at);
            }
        }
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if due == UNFREEZE {
            self.unfreeze(&mut state.store, ctx);
        } else {
            self.act(due.generation, state, ctx);
        }
    }

    fn arm(&mut self, is_active: bool, _state: &State, ctx: &mut ClusterCtx<'_>) {
        self.api_served(is_active, ctx);
        self.arm_next(is_active, ctx);
    }

    fn describe_work(&self, queue: u8) -> &'static str {
        if queue == 0 {
            "the machine controller observes changes of nodes"
        } else {
            "the machine set controller observes changes of machines"
        }
    }

    fn describe_due(&self, due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        let text = if *due == UNFREEZE {
            "the machine controller resumes: its API is available again"
        } else {
            "the machine controller reconciles a machine"
        };
        text.to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
