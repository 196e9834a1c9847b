//! The cluster autoscaler: machines for pods that find no node (`cluster-autoscaler/core/static_autoscaler.go`,
//! `clusterstate/clusterstate.go`).
//!
//! ```text
//!  every 10 s: machines that got no node in 20 min are taken back --> their deployment is left alone for 5 min (10, 20, 30)
//!              pods that no node suits, nor any that is coming --> more machines of the deployment that the expander chooses
//! ```
//!
//! A scan finds what the one before found unless something has changed or a deadline has passed: others are no events. With options of its
//! own ([`ClusterAutoscaler`]) it sizes node groups by GEP-24, balances them, and records each group where a scan finds it changed.

pub mod backoff;
pub mod balance;
pub mod deletion;
pub mod drainability;
pub mod estimate;
pub mod expander;
pub mod group;
pub mod health;
pub mod quota;
pub mod scale_down;
pub mod scale_up;
pub mod similar;
pub mod sizing;
pub mod unregistered;

use backoff::Backoff;
use deletion::Deletions;
use estimate::{missing, unschedulable_pods, upcoming};
use group::NodeGroup;
use health::{is_healthy, startups, too_many_unready};
use quota::Quota;
use scale_down::ScaleDown;
use scale_up::{Plan, ScaleUp};
use std::collections::{BTreeMap, BTreeSet};
use unregistered::{Unregistered, unregistered};
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_kube::controller::placement::Demand;
use zonefall_kube::controller::{Controller, Due, State};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::machine::MachineId;
use zonefall_kube::record::{GroupChoice, KubeRecord, NodeFact, NodeGroupFact, NodeGroupScan};
use zonefall_kube::spec::{Component, KubeClusterSpec};
use zonefall_kube::store::Change;
use zonefall_kube::store::Store;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::{MachineDeploymentId, TiVec};
use zonefall_scenario::kube::autoscaler::{ClusterAutoscaler, ScaleDownOptions};

/// Entity of the draws of its phase, beyond all nodes and namespaces.
const PHASE: u32 = u32::MAX - 1;

/// The shortest time: deadlines are over after them.
const INSTANT: Duration = Duration::from_nanos(1);

/// Nodes that it has asked for in a group (`ScaleUpRequest`).
#[derive(Clone, Copy, Debug)]
struct Request {
    /// How many, less those of which the cloud has said that it has none.
    nodes: u32,
    /// When they are overdue. A further increase begins the time again for all.
    until: Time,
}

/// What it waits for, as nodes and machines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Awaited {
    /// When the first of those that are not ready will count as unready, if no scan has seen that.
    starts: Option<Time>,
    /// Whether a group has fewer nodes than it is to have.
    is_missing: bool,
}

impl Awaited {
    fn find(scanned: Time, store: &Store, spec: &KubeClusterSpec) -> Self {
        let is_missing = |id| unregistered(id, store).next().is_some() || missing(id, store) > 0;
        Self {
            starts: startups(store).filter(|at| *at > scanned).min(),
            is_missing: spec.machine_deployments.keys().any(is_missing),
        }
    }
}

/// The autoscaler.
#[derive(Clone, Debug)]
pub struct Autoscaler {
    scans: Periodic,
    back_offs: TiVec<MachineDeploymentId, Option<Backoff>>,
    /// What it has asked for of each group, as long as nodes are missing.
    requests: TiVec<MachineDeploymentId, Option<Request>>,
    unregistered: Unregistered,
    /// Machines of which it knows that the cloud is out of stock.
    exhausted: BTreeSet<MachineId>,
    /// Groups similar to each, as far as a scale-up is balanced over them.
    similar: TiVec<MachineDeploymentId, Vec<MachineDeploymentId>>,
    /// Priority of each group, for the expander of that name.
    priorities: TiVec<MachineDeploymentId, Option<u32>>,
    /// What it last recorded of each group.
    recorded: TiVec<MachineDeploymentId, Option<NodeGroupScan>>,
    scale_down: ScaleDown,
    deletions: Deletions,
    scale_ups: u64,
    /// Something has changed since its last scan, and when that was.
    changed: bool,
    /// It knows of all changes. While a notification is on its way a scan finds nothing: the next one does.
    notified: bool,
    scanned: Time,
    /// Found at the last look; `None`: a node or a machine has changed since.
    awaited: Option<Awaited>,
    timer: Timer,
}

impl Autoscaler {
    /// Nothing has failed.
    fn new(ctx: &ClusterCtx<'_>) -> Self {
        let period = ctx.spec.timers.autoscaler.scan;
        let phase = ctx.draws(Purpose::Phase, PHASE).draw(0).below(period.as_nanos());
        let groups = ctx.spec.machine_deployments.len();
        let balances = options(ctx).is_some_and(|options| options.balance_similar_groups);
        let names = ctx.spec.machine_deployments.iter().map(|group| &*group.name);
        let priorities = options(ctx).map_or_else(|| vec![None; groups], |options| options.priorities_of(names));
        let similar = || group::similar(ctx.spec, |key| ctx.scenario.kube.word(key));
        Self {
            scans: Periodic::new(Time::from_nanos(phase), period),
            back_offs: vec![None; groups].into(),
            requests: vec![None; groups].into(),
            unregistered: Unregistered::new(groups),
            exhausted: BTreeSet::new(),
            similar: if balances { similar() } else { vec![Vec::new(); groups].into() },
            priorities: priorities.into(),
            recorded: vec![None; groups].into(),
            scale_down: ScaleDown::default(),
            deletions: Deletions::default(),
            scale_ups: 0,
            changed: true,
            notified: true,
            scanned: Time::ZERO,
            awaited: None,
            timer: Timer::new(),
        }
    }

    /// A scan.
    fn scan(&mut self, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.timer.fires(generation) {
            return;
        }
        if !self.notified {
            return;
        }
        (self.changed, self.scanned, self.awaited) = (false, ctx.now, None);
        self.deletions.clean_up(store, ctx);
        let options = options(ctx).cloned().unwrap_or_else(without_options);
        let groups = group::read(&options, ctx.spec, store);
        self.unregistered.observe(store, ctx.now);
        self.check_exhausted(&options, store, ctx);
        self.check_requests(store, ctx);
        let takes_back = self.take_back(&groups, store, ctx);
        let unhealthy = takes_back.is_none() && too_many_unready(store, ctx);
        if unhealthy {
            self.scale_down.clear();
        }
        let suspended = takes_back.or(unhealthy.then_some(GroupChoice::Suspended));
        let plan = match suspended {
            Some(choice) => Plan::nothing(choice, &groups),
            None => self.plan(&options, &groups, store, ctx),
        };
        self.record(&groups, &plan, ctx);
        if !plan.more.is_empty() {
            self.scale_ups += 1;
            self.scale_down.grows(ctx.now);
        } else if let (None, Some(options)) = (suspended, &options.scale_down) {
            self.delete_unneeded(options, &groups, store, ctx);
        }
        for (group, nodes) in plan.more {
            let asked = self.requests[group].map_or(0, |request| request.nodes);
            let until = ctx.now + ctx.spec.timers.autoscaler.provision;
            self.requests[group] = Some(Request { nodes: asked + nodes, until });
            store.machines.scale(group, store.machines.desired(group) + nodes, ctx);
        }
    }

    /// Gives up nodes that are not needed, and records what it finds of the others, where the scan before found something else.
    fn delete_unneeded(
        &mut self,
        options: &ScaleDownOptions,
        groups: &TiVec<MachineDeploymentId, NodeGroup>,
        store: &mut Store,
        ctx: &mut ClusterCtx<'_>,
    ) {
        let before = self.scale_down.verdicts().clone();
        let gone = self.scale_down.scan(options, groups, &self.deletions, store, ctx);
        for (node, verdict) in self.scale_down.verdicts() {
            if before.get(node) != Some(verdict) {
                let name = store.get_node(*node).expect("it was found").name;
                ctx.record(KubeRecord::Node(name, NodeFact::ScaleDown(*verdict)));
            }
        }
        for (node, group, drains) in gone {
            self.deletions.begin(node, group, drains, store, ctx);
        }
    }

    /// Records what a scan found of each group, where the one before found something else.
    fn record(&mut self, groups: &TiVec<MachineDeploymentId, NodeGroup>, plan: &Plan, ctx: &mut ClusterCtx<'_>) {
        if options(ctx).is_none() {
            return;
        }
        for (id, NodeGroup { limits, target, launched }) in groups.iter_enumerated() {
            let (minimum, maximum, choice) = (limits.minimum, limits.maximum, plan.choices[id]);
            let scan = NodeGroupScan { minimum, maximum, target: *target, launched: *launched, choice };
            if self.recorded[id].replace(scan) != Some(scan) {
                ctx.record(KubeRecord::NodeGroup(id, NodeGroupFact::Scanned(scan)));
            }
        }
    }

    /// Groups whose new machines the cloud is out of stock of have failed; what else was asked for is still awaited
    /// (`handleInstanceCreationErrors`).
    fn check_exhausted(&mut self, options: &ClusterAutoscaler, store: &Store, ctx: &mut ClusterCtx<'_>) {
        if !options.exhausted_at_once {
            return;
        }
        let machines = ctx.spec.machine_deployments.keys().flat_map(|group| unregistered(group, store));
        let now: BTreeSet<MachineId> = machines.filter(|(_, machine)| machine.exhausted).map(|(id, _)| id).collect();
        let mut failed: BTreeMap<MachineDeploymentId, u32> = BTreeMap::new();
        for machine in now.difference(&self.exhausted).filter_map(|id| store.machines.get(*id)) {
            *failed.entry(machine.name.deployment).or_default() += 1;
        }
        self.exhausted = now;
        for (group, nodes) in failed {
            let left = self.requests[group].map(|request| Request { nodes: request.nodes.saturating_sub(nodes), ..request });
            self.requests[group] = left.filter(|request| request.nodes > 0);
            self.back_off(group, true, ctx);
        }
    }

    /// A group has failed to grow.
    fn back_off(&mut self, group: MachineDeploymentId, exhausted: bool, ctx: &mut ClusterCtx<'_>) {
        let timers = &ctx.spec.timers.autoscaler;
        let past = self.back_offs[group].filter(|past| !past.is_stale(ctx.now, &timers.back_off));
        let back_off = Backoff::after_failure(past, ctx.now, &timers.back_off);
        self.back_offs[group] = Some(back_off);
        if options(ctx).is_some() {
            let seconds = (back_off.lasts.as_nanos() / 1_000_000_000) as u32;
            ctx.record(KubeRecord::NodeGroup(group, NodeGroupFact::BackedOff { seconds, exhausted }));
        }
    }

    /// What it asked for has come, or is overdue (`updateScaleRequests`).
    fn check_requests(&mut self, store: &Store, ctx: &mut ClusterCtx<'_>) {
        for group in ctx.spec.machine_deployments.keys() {
            let Some(request) = self.requests[group] else { continue };
            if missing(group, store) == 0 {
                // Upstream cleared the back-off here until 1.26, and keeps it since. It is kept while it holds, for part of the request may have failed.
                self.requests[group] = None;
                self.back_offs[group] = self.back_offs[group].filter(|back_off| back_off.holds(ctx.now));
            } else if ctx.now > request.until {
                self.requests[group] = None;
                self.back_off(group, false, ctx);
            }
        }
    }

    /// Nodes of a group that did not join in time, or of which it sees that they will not: how many without a machine, and the machines of
    /// the others.
    fn late(&self, group: MachineDeploymentId, store: &Store, ctx: &ClusterCtx<'_>) -> (u32, Vec<MachineId>) {
        let is_late = |since| ctx.now >= since + ctx.spec.timers.autoscaler.provision;
        self.unregistered.late(group, is_late, |id| is_seen_exhausted(id, store, ctx))
    }

    /// Gives up nodes that did not join in time, down to the minimum; why, if there were any (`removeOldUnregisteredNodes`,
    /// `fixNodeGroupSize`, `deleteCreatedNodesWithErrors`).
    fn take_back(
        &mut self,
        groups: &TiVec<MachineDeploymentId, NodeGroup>,
        store: &mut Store,
        ctx: &mut ClusterCtx<'_>,
    ) -> Option<GroupChoice> {
        let mut why = None;
        for (id, group) in groups.iter_enumerated() {
            let spare = store.machines.desired(id).saturating_sub(group.limits.minimum);
            let (others, mut machines) = self.late(id, store, ctx);
            let others = others.min(spare);
            machines.truncate((spare - others) as usize);
            let back = others + machines.len() as u32;
            if back > 0 {
                let is_late = others > 0 || machines.iter().any(|machine| !is_seen_exhausted(*machine, store, ctx));
                why = Some(if is_late || why == Some(GroupChoice::TakesBack) {
                    GroupChoice::TakesBack
                } else {
                    GroupChoice::OutOfStock
                });
                self.unregistered.give_up(id, others, &machines);
                for machine in machines {
                    store.machines.get_mut(machine).surplus = true;
                }
                store.machines.scale(id, store.machines.desired(id) - back, ctx);
            }
        }
        why
    }

    /// The machines that pods need, of the group that the expander chooses.
    fn plan(
        &self,
        options: &ClusterAutoscaler,
        groups: &TiVec<MachineDeploymentId, NodeGroup>,
        store: &Store,
        ctx: &ClusterCtx<'_>,
    ) -> Plan {
        let pods: Vec<Demand> = store.unschedulable().map(|(_, pod)| Demand::of(pod, store)).collect();
        if pods.is_empty() {
            return Plan::nothing(GroupChoice::Idle, groups);
        }
        let ids = || ctx.spec.machine_deployments.keys();
        let late = |id| {
            let (others, machines) = self.late(id, store, ctx);
            others + machines.len() as u32
        };
        let coming: TiVec<_, u32> = ids().map(|id| upcoming(id, late(id), store)).collect();
        let (pods, assumed) = unschedulable_pods(&pods, &coming, ctx.spec, store);
        if pods.is_empty() {
            return Plan::nothing(GroupChoice::Coming, groups);
        }
        let quota = Quota::left(options, &coming, ctx.spec, store);
        if quota.nodes == Some(0) {
            return Plan::nothing(GroupChoice::NodesTotal, groups);
        }
        let one_fits = |id: MachineDeploymentId| quota.capped(1, &ctx.spec.machine_deployments[id].template.allocatable) > 0;
        let refused = |id: MachineDeploymentId| match &groups[id] {
            _ if self.back_offs[id].is_some_and(|back_off| back_off.holds(ctx.now)) => Some(GroupChoice::BackedOff),
            _ if !is_healthy(id, late(id) + self.requests[id].map_or(0, |request| request.nodes), store, ctx) => {
                Some(GroupChoice::Unhealthy)
            }
            _ if store.shifted() == Some(ctx.spec.machine_deployments[id].zone) => Some(GroupChoice::Shifted),
            group if group.limits.maximum <= group.target => Some(GroupChoice::AtMaximum),
            _ if !one_fits(id) => Some(GroupChoice::ResourcesTotal),
            _ => None,
        };
        let refused = ids().map(refused).collect();
        let (pods, assumed, similar, priorities, drawn) = (&pods, &assumed, &self.similar, &self.priorities, self.scale_ups);
        ScaleUp { options, groups, similar, refused, pods, assumed, priorities, quota, drawn }.plan(store, ctx)
    }

    /// Queues its next scan, if it may act: the next of all, or the next that may find something else.
    fn arm_scans(&mut self, is_active: bool, store: &Store, ctx: &mut ClusterCtx<'_>) {
        if (is_active && self.timer.deadline() == Some(ctx.now)) || ctx.spec.machine_deployments.is_empty() {
            return;
        }
        let next = match ctx.stepping {
            Stepping::EveryEvent => Some(self.scans.after(ctx.now)),
            Stepping::FastForward => {
                let awaited = *self.awaited.get_or_insert_with(|| Awaited::find(self.scanned, store, ctx.spec));
                debug_assert_eq!(awaited, Awaited::find(self.scanned, store, ctx.spec), "a node has changed unnoticed");
                self.next_finding(awaited, store, ctx)
            }
        };
        let next = next.filter(|_| is_active);
        ctx.rearm(&mut self.timer, next);
    }

    fn next_finding(&self, Awaited { starts, is_missing }: Awaited, store: &Store, ctx: &ClusterCtx<'_>) -> Option<Time> {
        if self.changed && options(ctx).is_some() {
            // What it finds of its groups is recorded, whether pods ask for nodes or not.
            return Some(self.scans.after(ctx.now));
        }
        let scale_down = options(ctx).and_then(|options| self.scale_down.next(options.scale_down.as_ref()?, ctx.now));
        let timed = scale_down.into_iter().chain(starts).min();
        let timed = timed.map(|at| self.scans.at_or_after(at).max(self.scans.after(ctx.now)));
        let has_asked = self.requests.iter().any(Option::is_some);
        let late = self.unregistered.deadlines(ctx.spec.timers.autoscaler.provision);
        let was_missing = late.clone().next().is_some();
        if !has_asked && !was_missing && store.unschedulable().next().is_none() && !is_missing {
            return timed;
        }
        if self.changed {
            return Some(self.scans.after(ctx.now));
        }
        let retries = self.back_offs.iter().flatten().map(|back_off| back_off.until + INSTANT);
        let overdue = self.requests.iter().flatten().map(|request| request.until + INSTANT);
        late.chain(retries)
            .chain(overdue)
            .filter(|at| *at > self.scanned)
            .min()
            .map(|at| self.scans.at_or_after(at).max(self.scans.after(ctx.now)))
            .into_iter()
            .chain(timed)
            .min()
    }
}

/// Its options, where the scenario has any.
fn options<'a>(ctx: &ClusterCtx<'a>) -> Option<&'a ClusterAutoscaler> {
    ctx.spec.controllers.cluster_autoscaler.as_ref()
}

/// Whether it sees at once that the cloud is out of stock of a machine.
fn is_seen_exhausted(machine: MachineId, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    let sees_stock = options(ctx).is_some_and(|options| options.exhausted_at_once);
    sees_stock && store.machines.get(machine).is_some_and(|machine| machine.exhausted)
}

/// How it works where the scenario says nothing of it.
fn without_options() -> ClusterAutoscaler {
    ClusterAutoscaler { balance_similar_groups: false, exhausted_at_once: false, ..ClusterAutoscaler::default() }
}

impl Autoscaler {
    /// Every cluster has it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self::new(ctx)))
    }
}

impl Controller for Autoscaler {
    fn component(&self) -> Option<Component> {
        Some(Component::Autoscaler)
    }

    /// Key of its work queue: zero, whatever has changed.
    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if matches!(change, Change::Condition(_) | Change::Registered(_) | Change::Unregistered(_) | Change::MachineDeployment(_))
        {
            self.awaited = None;
        }
        let concerns = match change {
            Change::Readiness(_) | Change::Members(_) | Change::Network | Change::Access => false,
            Change::Budget => options(ctx).is_some_and(|options| options.scale_down.is_some()),
            _ => true,
        };
        if concerns {
            self.notified = false;
            ctx.enqueue(0, 0);
        }
    }

    fn reconcile(&mut self, _queue: u8, _key: u32, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        (self.notified, self.changed) = (true, true);
    }

    /// Another process takes over: it scans from now on, and knows of no request and no failure.
    fn forget(&mut self, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.scans = Periodic::new(ctx.now, ctx.spec.timers.autoscaler.scan);
        self.back_offs.fill(None);
        self.requests.fill(None);
        self.unregistered.forget();
        self.exhausted.clear();
        self.scale_down.forget();
        self.deletions.forget();
        (self.changed, self.notified, self.scanned, self.awaited) = (true, true, ctx.now, None);
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let store = &mut state.store;
        if due.key.0 != deletion::DUE {
            return self.scan(due.generation, store, ctx);
        }
        if let Some(all @ ClusterAutoscaler { scale_down: Some(options), .. }) = options(ctx) {
            let groups = group::read(all, ctx.spec, store);
            self.deletions.act(due.generation, options, &groups, store, ctx);
        }
    }

    fn arm(&mut self, is_active: bool, state: &State, ctx: &mut ClusterCtx<'_>) {
        self.arm_scans(is_active, &state.store, ctx);
        self.deletions.arm(is_active, ctx);
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the cluster autoscaler observes changes of pods, nodes and machines"
    }

    fn describe_due(&self, due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        let text = if due.key.0 == deletion::DUE {
            "the cluster autoscaler goes on with a node that it deletes"
        } else {
            "the cluster autoscaler looks for unschedulable pods"
        };
        text.to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
