//! The node lifecycle controller (`pkg/controller/nodelifecycle/node_lifecycle_controller.go`).
//!
//! ```text
//!  every period: lease not renewed for the grace period --> Ready=Unknown, its pods not ready --> queue of its zone
//!                                                                 |
//!                    NoSchedule as soon as it hears of it <-------'      queue --limiter of the zone--> NoExecute
//! ```
//!
//! Where all zones are fully disrupted it rather doubts itself: it takes the `NoExecute` taints away and adds none.
//!
//! A leader that takes over has seen nothing yet: its first look, at once, counts as the newest sign of every node; it takes `NoExecute`
//! taints away (`markNodeAsReachable` for nodes that are new to it) and queues those nodes anew.
//!
//! A period in which nothing can change is not an event: `arm_checks` finds the first that can. A lease counts from the look that
//! saw it, so a node is unknown at the first look at least the grace period after that one. (The source asks for more than the grace
//! period, but its looks slide by the time each takes, so that equal times pass.)

use crate::controller::{Controller, Due, State};
use crate::spec::{Component, KubeClusterSpec};
use crate::store::Change;
use std::collections::{BTreeMap, VecDeque};
use zonefall_scenario::Scenario;

use crate::controller::limiter::RateLimiter;
use crate::ctx::ClusterCtx;
use crate::kubelet::{Kubelet, MAX_JITTER};
use crate::record::{KubeRecord, Ready};
use crate::rule::taints::Effect;
use crate::rule::zone_state::{ZoneState, eviction_rate, zone_state};
use crate::store::Store;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_scenario::ids::{NodeKey, ZoneId};

/// What it remembers of a node.
#[derive(Clone, Copy, Debug)]
struct Health {
    /// The newest renewal it has seen.
    lease: Time,
    /// When it saw it.
    probe: Time,
}

#[derive(Clone, Debug)]
struct Zone {
    state: ZoneState,
    /// The state as it was last told: a leader that takes over begins with `Normal` itself.
    recorded: ZoneState,
    limiter: RateLimiter,
    /// Nodes to be tainted.
    queue: VecDeque<NodeKey>,
    /// Fires when its limiter has the next token.
    token: Timer,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    checks: Periodic,
    health: BTreeMap<NodeKey, Health>,
    zones: BTreeMap<ZoneId, Zone>,
    /// It was last told that nothing is evicted.
    recorded_paused: bool,
    /// It has looked, with the same latency, from then on; what it saw before is in `health`.
    since: Time,
    /// Nodes have changed since its last look.
    nodes_changed: bool,
    /// The time of its next look may be another.
    stale: bool,
    /// Fires at its next look.
    timer: Timer,
}

/// Entity of the draw of its phase, beyond all nodes.
const PHASE: u32 = u32::MAX;

impl Lifecycle {
    /// A controller that has seen all nodes healthy.
    pub fn new(store: &Store, ctx: &mut ClusterCtx<'_>) -> Self {
        let timers = &ctx.spec.timers;
        let phase = ctx.draws(Purpose::Phase, PHASE).draw(0).below(timers.monitor_period.as_nanos());
        let zone = || Zone::new(ZoneState::Normal, Timer::new(), ctx);
        Self {
            checks: Periodic::new(Time::from_nanos(phase), timers.monitor_period),
            health: store.nodes().map(|(key, _)| (key, Health { lease: Time::ZERO, probe: Time::ZERO })).collect(),
            zones: store.nodes().map(|(_, node)| (node.zone, zone())).collect(),
            recorded_paused: false,
            since: Time::ZERO,
            nodes_changed: false,
            stale: true,
            timer: Timer::new(),
        }
    }

    /// A node has joined: it counts as healthy from now on.
    fn add_node(&mut self, key: NodeKey, zone: ZoneId, ctx: &ClusterCtx<'_>) {
        self.health.insert(key, Health { lease: Time::ZERO, probe: ctx.now });
        self.zones.entry(zone).or_insert_with(|| Zone::new(ZoneState::Normal, Timer::new(), ctx));
        self.nodes_changed();
    }

    /// A node is gone.
    fn remove_node(&mut self, key: NodeKey) {
        self.health.remove(&key);
        self.zones.values_mut().for_each(|zone| zone.queue.retain(|queued| *queued != key));
        self.nodes_changed();
    }

    /// A node's condition or taints have changed.
    fn nodes_changed(&mut self) {
        (self.nodes_changed, self.stale) = (true, true);
    }

    /// Kubelets came within reach or went out of it.
    fn reach_changed(&mut self) {
        self.stale = true;
    }

    /// Another process takes over: it knows nothing.
    fn begin(&mut self, store: &mut Store, kubelets: &BTreeMap<NodeKey, Kubelet>, ctx: &mut ClusterCtx<'_>) {
        self.health.clear();
        for zone in self.zones.values_mut() {
            zone.token.cancel();
            *zone = Zone::new(zone.recorded, zone.token, ctx);
        }
        // What let it begin may begin other periodic work at the same moment: their looks must not coincide for ever.
        let jitter = ctx.draws(Purpose::Phase, PHASE).draw(1).below(MAX_JITTER.as_nanos());
        self.checks = Periodic::new(ctx.now + Duration::from_nanos(jitter), ctx.spec.timers.monitor_period);
        self.since = ctx.now;
        self.check_all(store, kubelets, ctx);
    }

    /// It can write again: tokens may have come meanwhile.
    fn go_on(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        (self.since, self.stale) = (ctx.now, true);
        let zones: Vec<ZoneId> = self.zones.keys().copied().collect();
        for id in zones {
            self.zones.get_mut(&id).expect("it is one of them").token.cancel();
            self.release(id, store, ctx);
        }
    }

    /// Remembers what its looks have seen before now: it will not look for a while, or its news will be older or newer than so far.
    fn catch_up(&mut self, kubelets: &BTreeMap<NodeKey, Kubelet>, ctx: &ClusterCtx<'_>) {
        if self.since == ctx.now {
            return;
        }
        if let Some(check) = self.checks.before(ctx.now) {
            for (key, health) in &mut self.health {
                let seen = health.seeing(kubelets[key].last_renewal(check - ctx.latency), self.checks, self.since, ctx);
                if seen.probe <= check {
                    *health = seen;
                }
            }
        }
        self.since = ctx.now;
    }

    /// Its look at all nodes.
    fn check_all(&mut self, store: &mut Store, kubelets: &BTreeMap<NodeKey, Kubelet>, ctx: &mut ClusterCtx<'_>) {
        (self.nodes_changed, self.stale) = (false, true);
        self.timer.cancel();
        let mut counts: BTreeMap<ZoneId, (u64, u64)> = BTreeMap::new();
        for key in store.nodes().map(|(key, _)| key).collect::<Vec<_>>() {
            self.judge(key, store, &kubelets[&key], ctx);
            let node = store.node(key);
            let (ready, not_ready) = counts.entry(node.zone).or_default();
            match node.ready {
                Ready::True => *ready += 1,
                Ready::Unknown => *not_ready += 1,
            }
        }
        self.judge_zones(&counts, store, ctx);
        for zone in counts.into_keys() {
            self.release(zone, store, ctx);
        }
    }

    /// Brings a node's condition up to date, and its place in the queue.
    fn judge(&mut self, key: NodeKey, store: &mut Store, kubelet: &Kubelet, ctx: &mut ClusterCtx<'_>) {
        let before = store.node(key).ready;
        let renewal = kubelet.last_renewal(ctx.now - ctx.latency);
        let health = self.health.entry(key).or_insert_with(|| {
            store.set_unreachable(key, Effect::NoExecute, false, ctx);
            Health { lease: renewal, probe: ctx.now }
        });
        if renewal + ctx.latency <= ctx.now {
            *health = health.seeing(renewal, self.checks, self.since, ctx);
        }
        if before == Ready::True && ctx.now >= health.probe + ctx.spec.timers.monitor_grace {
            store.set_node_ready(key, Ready::Unknown, ctx);
            let pods: Vec<_> = store.node(key).pods.iter().copied().collect();
            for pod in pods {
                store.set_pod_ready(pod, false, ctx);
            }
        }
        let node = store.node(key);
        let queue = &mut self.zones.get_mut(&node.zone).expect("every node's zone is known").queue;
        let condition = if ctx.spec.timers.requeue_at_next_check { before } else { node.ready };
        match condition {
            Ready::True => {
                queue.retain(|queued| *queued != key);
                store.set_unreachable(key, Effect::NoExecute, false, ctx);
            }
            Ready::Unknown if !node.is_unreachable(Effect::NoExecute) && !queue.contains(&key) => queue.push_back(key),
            Ready::Unknown => {}
        }
    }

    /// `handleDisruption`: what zones are like, and what follows for their limiters.
    fn judge_zones(&mut self, counts: &BTreeMap<ZoneId, (u64, u64)>, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let options = &ctx.spec.timers.disruption;
        let is_full = |state: ZoneState| state == ZoneState::FullDisruption;
        let state = |(ready, not_ready): (u64, u64)| zone_state(ready, not_ready, options);
        if counts.is_empty() {
            return;
        }
        let was_paused = counts.keys().all(|zone| is_full(self.zones[zone].state));
        let is_paused = counts.values().all(|count| is_full(state(*count)));
        for (id, zone) in &mut self.zones {
            // Zones may have no nodes any more.
            let count = counts.get(id).copied().unwrap_or_default();
            let new = state(count);
            if is_paused && !was_paused {
                zone.queue.clear();
                zone.limiter.set_rate(0.0, ctx.now);
            } else if !is_paused && (was_paused || new != zone.state) {
                zone.limiter.set_rate(eviction_rate(new, count.0 + count.1, options), ctx.now);
            }
            if new != zone.state {
                zone.state = new;
            }
            if new != zone.recorded {
                zone.recorded = new;
                ctx.record(KubeRecord::Zone(*id, new));
            }
        }
        if std::mem::replace(&mut self.recorded_paused, is_paused) != is_paused {
            ctx.record(KubeRecord::EvictionPaused(is_paused));
        }
        if is_paused == was_paused {
            return;
        }
        for (key, health) in &mut self.health {
            if is_paused {
                store.set_unreachable(*key, Effect::NoExecute, false, ctx);
            } else {
                health.probe = ctx.now;
            }
        }
    }

    /// Taints the nodes of a zone that its limiter lets through.
    fn release(&mut self, id: ZoneId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let zone = self.zones.get_mut(&id).expect("every node's zone is known");
        while !zone.queue.is_empty() && zone.limiter.take(ctx.now) {
            let key = zone.queue.pop_front().expect("it is not empty");
            if store.node(key).ready == Ready::Unknown {
                store.set_unreachable(key, Effect::NoExecute, true, ctx);
            }
        }
        let next = zone.limiter.next().filter(|_| !zone.queue.is_empty());
        if let Some((at, generation)) = zone.token.rearm(next) {
            ctx.timer(at, Due { key: (1, u32::from(id.0)), generation });
        }
    }

    /// A zone's limiter may have a token.
    fn token(&mut self, id: ZoneId, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let zone = self.zones.get_mut(&id).expect("every node's zone is known");
        if !zone.token.fires(generation) {
            return;
        }
        self.stale = true;
        // A look at this very moment comes first, and releases what it leaves.
        if self.timer.deadline() != Some(ctx.now) {
            self.release(id, store, ctx);
        }
    }

    /// `NoSchedule` follows a node's condition at once.
    fn follow_condition(key: NodeKey, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let Some(node) = store.get_node(key) else { return };
        let unreachable = node.ready == Ready::Unknown;
        store.set_unreachable(key, Effect::NoSchedule, unreachable, ctx);
    }

    /// Queues its next look, if it may act: the next of all, or the next at which something may change.
    fn arm_checks(&mut self, is_active: bool, store: &Store, kubelets: &BTreeMap<NodeKey, Kubelet>, ctx: &mut ClusterCtx<'_>) {
        if !is_active {
            self.timer.cancel();
            return;
        }
        // One that is due now sees what has changed.
        if !std::mem::take(&mut self.stale) || self.timer.deadline() == Some(ctx.now) {
            return;
        }
        let timers = &ctx.spec.timers;
        // A look may come just when a token does, and releases the node in its own place.
        let evicts = self.zones.values().any(|zone| zone.token.is_armed());
        let skips = ctx.stepping == Stepping::FastForward
            && !evicts
            && timers.monitor_grace >= timers.lease_renewal + timers.monitor_period;
        let wanted = if self.nodes_changed || !skips {
            Some(self.checks.after(ctx.now))
        } else {
            let healthy = store.nodes().filter(|(_, node)| node.ready == Ready::True);
            healthy.filter_map(|(key, _)| self.expiry(key, &kubelets[&key], ctx)).min()
        };
        ctx.rearm(&mut self.timer, wanted);
    }

    /// The look at which a node's grace period is over, unless it sees another renewal by then.
    fn expiry(&self, key: NodeKey, kubelet: &Kubelet, ctx: &ClusterCtx<'_>) -> Option<Time> {
        let after = |health: Health| {
            self.checks.at_or_after(health.probe + ctx.spec.timers.monitor_grace).max(self.checks.after(ctx.now))
        };
        let mut health = self.health[&key];
        // A renewal in flight may arrive after the look.
        for renewal in [kubelet.last_renewal(ctx.now - ctx.latency), kubelet.last_renewal(ctx.now)] {
            if renewal + ctx.latency <= after(health) {
                health = health.seeing(renewal, self.checks, self.since, ctx);
            }
        }
        let check = after(health);
        let seen = kubelet.next_renewal(ctx.now).is_some_and(|renewal| renewal + ctx.latency <= check);
        (!seen).then_some(check)
    }
}

impl Health {
    /// After a renewal: it counts from the first look that sees it, of those since then.
    fn seeing(self, renewal: Time, checks: Periodic, since: Time, ctx: &ClusterCtx<'_>) -> Self {
        let visible = (renewal + ctx.latency).max(since);
        if renewal > self.lease { Self { lease: renewal, probe: checks.at_or_after(visible) } } else { self }
    }
}

impl Zone {
    fn new(recorded: ZoneState, token: Timer, ctx: &ClusterCtx<'_>) -> Self {
        let limiter = RateLimiter::new(ctx.spec.timers.disruption.rate);
        Self { state: ZoneState::Normal, recorded, limiter, queue: VecDeque::new(), token }
    }
}

impl Lifecycle {
    /// Every cluster has it.
    pub fn factory(state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self::new(&state.store, ctx)))
    }
}

/// Key of its work queue: a node. Timers: its look at all nodes; the limiter of a zone (key 1 and the zone).
impl Controller for Lifecycle {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        match *change {
            Change::Condition(node) => {
                self.nodes_changed();
                ctx.enqueue(0, node.0);
            }
            Change::Taints(_) => self.nodes_changed(),
            Change::Registered(node) => self.add_node(node, state.store.node(node).zone, ctx),
            Change::Unregistered(node) => self.remove_node(node),
            Change::Access => self.reach_changed(),
            _ => {}
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        Self::follow_condition(NodeKey(key), &mut state.store, ctx);
    }

    fn list(&self, state: &State, _ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        state.store.nodes().map(|(node, _)| (0, node.0)).collect()
    }

    fn forget(&mut self, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.begin(&mut state.store, &state.kubelets, ctx);
    }

    fn gate_changed(&mut self, is_open: bool, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if is_open { self.go_on(&mut state.store, ctx) } else { self.catch_up(&state.kubelets, ctx) }
    }

    fn access_changes(&mut self, state: &State, ctx: &ClusterCtx<'_>) {
        self.catch_up(&state.kubelets, ctx);
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        match due.key {
            (0, _) => {
                if self.timer.fires(due.generation) {
                    self.check_all(&mut state.store, &state.kubelets, ctx);
                }
            }
            (_, zone) => self.token(ZoneId(zone as u16), due.generation, &mut state.store, ctx),
        }
    }

    fn arm(&mut self, is_active: bool, state: &State, ctx: &mut ClusterCtx<'_>) {
        self.arm_checks(is_active, &state.store, &state.kubelets, ctx);
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the node lifecycle controller observes changes of nodes"
    }

    fn describe_due(&self, due: &Due, _spec: &KubeClusterSpec, scenario: &Scenario) -> String {
        match due.key {
            (0, _) => "the node lifecycle controller checks all nodes".to_owned(),
            (_, zone) => format!(
                "the node lifecycle controller may taint another node of {} for eviction",
                scenario.zones[ZoneId(zone as u16)].name
            ),
        }
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
