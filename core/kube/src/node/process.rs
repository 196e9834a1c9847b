//! The processes of a node's pods (`pkg/kubelet/pod_workers.go`, `pkg/kubelet/volumemanager`).
//!
//! ```text
//!  Waiting --volume attached--> Mounting --> Pulling --> Starting --> Running --asked to end--> Stopping --> gone
//! ```
//!
//! What is under way goes on without the API; only what the API must say (the volume is attached, the pod is to end) waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::claim::Attachment;
use crate::ctx::{ClusterCtx, ProcessChange as Run};
use crate::event::KubeEvent;
use crate::name::{PodName, PodTag};
use crate::node::images::Images;
use crate::record::{KubeRecord, PodFact};
use crate::spec::{Role, Workload};
use crate::store::Store;
use zonefall_kernel::time::Duration;
use zonefall_kernel::timer::Generation;
use zonefall_network::HostId;
use zonefall_network::process::StopReason;
use zonefall_scenario::ids::{EtcdId, MemberId, NodeKey, PodId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// For its volume, or for another process of its name to end.
    Waiting,
    Mounting,
    Pulling,
    Starting,
    Running,
    Stopping,
}

impl State {
    /// There is a container.
    const fn is_process(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Stopping)
    }
}

#[derive(Clone, Copy, Debug)]
struct Process {
    name: PodName,
    /// The etcd member that it is.
    member: Option<MemberId>,
    /// Its workload's revision that it is of.
    revision: u32,
    /// How often it has crashed.
    crashes: u32,
    state: State,
    /// The API knows that it runs.
    reported: bool,
    /// It answers its readiness probe; most do as soon as they run.
    ready: bool,
    /// It runs, though its pod is gone, and its kubelet cannot know.
    orphaned: bool,
    /// Generation of its timer.
    generation: Generation,
}

impl Process {
    /// Whose volume it uses, if its pod has one.
    fn volume(&self) -> Option<PodName> {
        (self.state != State::Waiting).then_some(self.name)
    }
}

/// The processes on a node.
#[derive(Clone, Debug)]
pub struct Processes {
    node: NodeKey,
    host: HostId,
    /// Shared with clones as long as neither changes it.
    all: Arc<BTreeMap<PodId, Process>>,
    images: Images,
    /// Generation of the last timer: a process must not take the timer of one before for its own.
    generation: Generation,
}

fn workload<'a>(name: PodName, ctx: &ClusterCtx<'a>) -> &'a Workload {
    &ctx.spec.workloads[name.workload]
}

/// How long a process that was asked to stop goes on before it begins to.
fn shutdown_delay(workload: &Workload, ctx: &ClusterCtx<'_>) -> Duration {
    let delay = match workload.role {
        Role::ApiServer(cluster) => ctx.scenario.kube.clusters[cluster].shutdown_delay,
        Role::Controller(..) | Role::Etcd(_) | Role::Other => None,
    };
    delay.unwrap_or(Duration::ZERO)
}

/// From a crash until the process is started again (kubelet: 10 s after the first crash, then twice as long each time, at most 5 min).
fn crash_back_off(crashes: u32) -> Duration {
    Duration::from_secs((10 << crashes.min(5)).min(300))
}

/// The etcd member that a pod with its present volume is.
fn member(name: PodName, store: &Store, ctx: &ClusterCtx<'_>) -> Option<MemberId> {
    let workload = workload(name, ctx);
    let (Role::Etcd(cluster), PodTag::Ordinal(ordinal)) = (workload.role, name.tag) else { return None };
    let index = workload.member(&ctx.scenario.etcd[cluster], ordinal, store.volumes_before(name))?;
    Some(MemberId { cluster, index })
}

impl Processes {
    /// None yet.
    pub fn new(node: NodeKey, host: HostId) -> Self {
        Self { node, host, all: Arc::default(), images: Images::default(), generation: Generation::ZERO }
    }

    /// A pod has been running here for long. (An etcd member may still be starting.)
    pub fn start_warm(&mut self, id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let name = store.pod(id).expect("who settles a pod has it").name;
        if !store.can_attach(name, self.node, ctx) {
            return self.sync(store, ctx);
        }
        self.images.start_warm(workload(name, ctx).image);
        store.start_with_volume(name, self.node, ctx);
        self.admit(id, name, store, ctx);
        self.set(id, State::Starting);
        self.report_status(id, Run::Starts, ctx);
        if self.serves(id, ctx) != Some(false) {
            self.runs(id, ctx);
            self.probed(id, true);
        }
        self.sync(store, ctx);
    }

    /// Brings processes to what the store wants, and tells the store what runs.
    pub fn sync(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let pods: Vec<PodId> = store.node(self.node).pods.iter().copied().collect();
        self.end_strays(&pods, ctx);
        let used: BTreeSet<PodName> = self.all.values().filter_map(Process::volume).collect();
        for name in store.mounted_on(self.node).into_iter().filter(|name| !used.contains(name)) {
            store.set_mounted(name, None);
        }
        for id in pods {
            self.sync_pod(id, store, ctx);
        }
        self.judge_orphans(true, store, ctx);
    }

    /// Pods that are gone need no process: those that are not among the node's.
    fn end_strays(&mut self, pods: &[PodId], ctx: &mut ClusterCtx<'_>) {
        let strays: Vec<(PodId, Process)> =
            self.all.iter().filter(|(id, _)| pods.binary_search(id).is_err()).map(|(id, process)| (*id, *process)).collect();
        for (id, process) in strays {
            match process.state {
                State::Waiting | State::Mounting | State::Pulling => drop(Arc::make_mut(&mut self.all).remove(&id)),
                State::Starting | State::Running => self.stop(id, ctx),
                State::Stopping => {}
            }
        }
    }

    fn sync_pod(&mut self, id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let pod = store.pod(id).expect("a node's pods are there");
        let (name, terminating, was_ready) = (pod.name, pod.terminating, pod.ready);
        let process = self.all.get(&id).copied();
        match (process.map(|process| process.state), terminating) {
            (None | Some(State::Waiting | State::Mounting | State::Pulling), true) => {
                if Arc::make_mut(&mut self.all).remove(&id).is_some_and(|process| process.state != State::Waiting) {
                    store.set_mounted(name, None);
                }
                store.remove(id, ctx);
            }
            (None, false) => {
                store.set_pod_ready(id, false, ctx);
                self.admit(id, name, store, ctx);
                self.advance(id, store, ctx);
            }
            (Some(State::Waiting), false) => self.advance(id, store, ctx),
            (Some(State::Starting | State::Running), true) => self.stop(id, ctx),
            (Some(State::Starting), false) => store.set_pod_ready(id, false, ctx),
            (Some(State::Running), false) => {
                // Most are as they were: spares looking them up again.
                let Process { reported, ready, .. } = process.expect("it runs");
                if !reported {
                    Arc::make_mut(&mut self.all).get_mut(&id).expect("it runs").reported = true;
                    store.start(id, ctx);
                }
                if ready != was_ready {
                    store.set_pod_ready(id, ready, ctx);
                }
            }
            (Some(State::Mounting | State::Pulling), false) | (Some(State::Stopping), _) => {}
        }
    }

    /// A process that waits may have what it waits for.
    fn advance(&mut self, id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let name = self.all[&id].name;
        if self.all.iter().any(|(other, process)| *other != id && process.name == name) {
            return;
        }
        match store.claim(name).map(|claim| claim.attachment) {
            Some(Attachment::Attached(node)) if node == self.node => {
                store.set_mounted(name, Some(node));
                self.turn(id, State::Mounting, ctx.spec.timers.mount, ctx);
            }
            Some(_) => {}
            None => self.pull(id, ctx),
        }
    }

    fn pull(&mut self, id: PodId, ctx: &mut ClusterCtx<'_>) {
        let image = workload(self.all[&id].name, ctx).image;
        let there = self.images.pull(image, ctx.spec.timers.pull_bytes_per_s, ctx.now);
        if there > ctx.now {
            self.turn(id, State::Pulling, there.since(ctx.now), ctx);
        } else {
            self.start(id, ctx);
        }
    }

    /// The container starts; an etcd member says itself when it serves.
    fn start(&mut self, id: PodId, ctx: &mut ClusterCtx<'_>) {
        let Process { name, member, .. } = self.all[&id];
        self.report_status(id, Run::Starts, ctx);
        match member {
            Some(_) => self.set(id, State::Starting),
            None => self.turn(id, State::Starting, workload(name, ctx).start, ctx),
        }
    }

    /// It runs. (An API server says itself when it is ready, which depends on etcd.)
    fn runs(&mut self, id: PodId, ctx: &mut ClusterCtx<'_>) {
        self.set(id, State::Running);
        let process = Arc::make_mut(&mut self.all).get_mut(&id).expect("it runs");
        let workload = workload(process.name, ctx);
        let revision = workload.update.revision(process.revision);
        process.ready = !matches!(workload.role, Role::ApiServer(_)) && !revision.never_ready;
        if let Some(after) = revision.crashes_after {
            ctx.schedule(ctx.now + after, KubeEvent::Process { node: self.node, pod: id, generation: self.generation });
        }
        self.report_status(id, Run::Runs, ctx);
    }

    /// Its process exits by itself, and is started again after a back-off (`CrashLoopBackOff`).
    fn crash(&mut self, id: PodId, ctx: &mut ClusterCtx<'_>) {
        let process = Arc::make_mut(&mut self.all).get_mut(&id).expect("it runs");
        let (name, back_off) = (process.name, crash_back_off(process.crashes));
        process.crashes += 1;
        self.turn(id, State::Starting, back_off + workload(name, ctx).start, ctx);
    }

    /// SIGTERM; SIGKILL after the grace period. An etcd member says itself when it has ended.
    fn stop(&mut self, id: PodId, ctx: &mut ClusterCtx<'_>) {
        let name = self.all[&id].name;
        let grace = ctx.spec.timers.pod_grace;
        let takes = match self.serves(id, ctx) {
            Some(true) => grace,
            Some(false) => Duration::ZERO,
            None => (shutdown_delay(workload(name, ctx), ctx) + workload(name, ctx).stop).min(grace),
        };
        self.turn(id, State::Stopping, takes, ctx);
        self.report_status(id, Run::Stops, ctx);
    }

    fn gone(&mut self, id: PodId, reason: StopReason, ctx: &mut ClusterCtx<'_>) {
        let process = self.all[&id];
        if process.orphaned {
            ctx.record(KubeRecord::Pod(process.name, PodFact::OrphanedContainer(false)));
        }
        if process.state.is_process() {
            self.report_status(id, Run::Gone(reason), ctx);
        }
        Arc::make_mut(&mut self.all).remove(&id);
    }

    /// A step of a process is done.
    pub fn timer(&mut self, id: PodId, generation: Generation, ctx: &mut ClusterCtx<'_>) {
        let Some(process) = self.all.get(&id).filter(|process| process.generation == generation) else { return };
        match process.state {
            State::Mounting => self.pull(id, ctx),
            State::Pulling => self.start(id, ctx),
            State::Starting => self.runs(id, ctx),
            State::Stopping => self.gone(id, StopReason::Killed, ctx),
            State::Running => self.crash(id, ctx),
            State::Waiting => unreachable!("{:?} has no timer", process.state),
        }
    }

    /// Whether the etcd member that a pod is serves (or stands by) here; `None`: it is none.
    fn serves(&self, id: PodId, ctx: &ClusterCtx<'_>) -> Option<bool> {
        let id = self.all[&id].member?;
        Some(ctx.storage.host(id) == self.host && ctx.storage.is_ready(id))
    }

    /// Members of an etcd cluster may serve, or serve no more; whether that changes a process here.
    pub fn members_changed(&mut self, cluster: EtcdId, ctx: &mut ClusterCtx<'_>) -> bool {
        let of = |process: &Process| process.member.is_some_and(|member| member.cluster == cluster);
        let here: Vec<(PodId, State)> =
            self.all.iter().filter(|(_, process)| of(process)).map(|(id, process)| (*id, process.state)).collect();
        let mut changed = false;
        for (id, state) in here {
            match (state, self.serves(id, ctx) == Some(true)) {
                (State::Starting, true) => self.runs(id, ctx),
                // Its container starts anew.
                (State::Running, false) => self.set(id, State::Starting),
                (State::Stopping, false) => self.gone(id, StopReason::Stopped, ctx),
                _ => continue,
            }
            changed = true;
        }
        changed
    }

    /// A process is ready for clients, or no longer; whether it is here.
    pub fn probed(&mut self, id: PodId, ready: bool) -> bool {
        let here = self.all.get(&id).is_some_and(|process| process.state == State::Running);
        if here && let Some(process) = Arc::make_mut(&mut self.all).get_mut(&id) {
            process.ready = ready;
        }
        here
    }

    /// The node has lost power.
    pub fn power_lost(&mut self, ctx: &mut ClusterCtx<'_>) {
        for id in self.all.keys().copied().collect::<Vec<_>>() {
            self.gone(id, StopReason::PowerLost, ctx);
        }
        self.images.power_lost(ctx.now);
    }

    /// A volume was detached: who used it ends.
    pub fn volume_detached(&mut self, name: PodName, ctx: &mut ClusterCtx<'_>) {
        let users: Vec<PodId> =
            self.all.iter().filter(|(_, process)| process.volume() == Some(name)).map(|(id, _)| *id).collect();
        for id in users {
            self.gone(id, StopReason::VolumeDetached, ctx);
        }
    }

    /// Whether a process uses a pod's volume.
    #[cfg(feature = "testing")]
    pub fn uses_volume(&self, name: PodName) -> bool {
        self.all.values().any(|process| process.volume() == Some(name))
    }

    /// Whether its kubelet is `listening` or not, processes whose pod is gone are hazards or end soon.
    pub fn judge_orphans(&mut self, listening: bool, store: &Store, ctx: &mut ClusterCtx<'_>) {
        let orphaned = |id, process: &Process| !listening && process.state.is_process() && store.pod(id).is_none();
        if self.all.iter().all(|(id, process)| orphaned(*id, process) == process.orphaned) {
            return;
        }
        for (id, process) in Arc::make_mut(&mut self.all) {
            let orphaned = orphaned(*id, process);
            if std::mem::replace(&mut process.orphaned, orphaned) != orphaned {
                ctx.record(KubeRecord::Pod(process.name, PodFact::OrphanedContainer(orphaned)));
            }
        }
    }

    fn report_status(&self, id: PodId, process: Run, ctx: &mut ClusterCtx<'_>) {
        let Process { name, member, .. } = self.all[&id];
        ctx.report_status(id, name, member, self.host, process);
    }

    /// A pod is to run here.
    fn admit(&mut self, id: PodId, name: PodName, store: &Store, ctx: &ClusterCtx<'_>) {
        let (member, state) = (member(name, store, ctx), State::Waiting);
        let (revision, crashes) = (store.pod(id).map_or(0, |pod| pod.revision), 0);
        Arc::make_mut(&mut self.all).insert(
            id,
            Process {
                name,
                member,
                revision,
                crashes,
                state,
                reported: false,
                ready: true,
                orphaned: false,
                generation: self.generation,
            },
        );
    }

    /// It is in another state, for as long as it takes until something happens.
    fn set(&mut self, id: PodId, state: State) {
        self.generation = self.generation.next();
        let process = Arc::make_mut(&mut self.all).get_mut(&id).expect("who goes on is here");
        (process.state, process.reported, process.generation) = (state, false, self.generation);
    }

    fn turn(&mut self, id: PodId, state: State, takes: Duration, ctx: &mut ClusterCtx<'_>) {
        self.set(id, state);
        ctx.schedule(ctx.now + takes, KubeEvent::Process { node: self.node, pod: id, generation: self.generation });
    }
}
