//! The kubelet of a node: its lease, and the processes of its pods (`pkg/kubelet`, `component-helpers/apimachinery/lease`).
//!
//! Two truths stand beside each other: the pod in the store, and the process here. A kubelet that is cut off goes on running what it
//! had; one whose node has lost power starts it anew. What it does while the API does not answer it, it tells with the first lease it
//! can renew again. Leases are arithmetic: renewals at even intervals, of which only those count that reach the API. One that waits in vain
//! is tried again without a pause (`controller.go` there: five attempts of 10 s, then others with a back-off), and so arrives as soon as
//! the API answers. One that is refused waits for its next turn, as the node's status does.

use crate::api::Api;
use crate::ctx::{ApiClient, ClusterCtx, Route};
use crate::event::KubeEvent;
use crate::name::{MachineName, PodName};
use crate::node::process::Processes;
use crate::record::{KubeRecord, Loss, NodeFact, Ready};
use crate::store::Store;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Generation;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::{EtcdId, NodeKey, PodId};

/// A kubelet.
#[derive(Clone, Debug)]
pub struct Kubelet {
    key: NodeKey,
    host: HostId,
    powered: bool,
    lost: Option<Loss>,
    booted: bool,
    renewals: Periodic,
    /// Its node is to join, named after this machine.
    joins: Option<MachineName>,
    /// The API answers it from then on.
    connected: Option<Time>,
    /// When the API last ceased to answer it.
    unanswered: Time,
    /// Since then its requests have been refused, where others wait in vain.
    refused: bool,
    /// It has told the API what it did while it was out of reach.
    caught_up: bool,
    /// The last renewal before `connected`.
    renewed: Time,
    /// Generation of its start, or of the renewals over its present connection, of which several may be queued.
    generation: Generation,
    processes: Processes,
}

/// Upper bound of the time from a node's boot to its first renewal. Nodes that boot at one moment would renew at one moment ever after.
pub(crate) const MAX_JITTER: Duration = Duration::from_millis(1);

/// Why what runs on a host serves nobody; `None`: it may.
pub fn loss(host: HostId, net: &Network) -> Option<Loss> {
    match (net.is_powered(host), net.is_partitioned(host)) {
        (false, _) => Some(Loss::Power),
        (true, true) => Some(Loss::Network),
        (true, false) => None,
    }
}

impl Kubelet {
    /// A kubelet that has been running for long.
    pub fn new(key: NodeKey, host: HostId, ctx: &mut ClusterCtx<'_>) -> Self {
        let period = ctx.spec.timers.lease_renewal;
        let phase = ctx.draws(Purpose::Phase, key.0).draw(0).below(period.as_nanos());
        let renewals = Periodic::new(Time::from_nanos(phase), period);
        let kubelet = Self {
            key,
            host,
            powered: true,
            lost: None,
            booted: true,
            renewals,
            joins: None,
            connected: Some(Time::ZERO),
            unanswered: Time::ZERO,
            refused: false,
            caught_up: true,
            renewed: Time::ZERO,
            generation: Generation::ZERO,
            processes: Processes::new(key, host),
        };
        if ctx.stepping == Stepping::EveryEvent {
            kubelet.expect_renewal(ctx.now, ctx);
        }
        kubelet
    }

    /// The kubelet of a machine that was just switched on. Its node joins when it first reaches the API.
    pub fn joining(key: NodeKey, host: HostId, machine: MachineName, ctx: &mut ClusterCtx<'_>) -> Self {
        let mut kubelet = Self {
            key,
            host,
            powered: false,
            lost: None,
            booted: false,
            renewals: Periodic::new(ctx.now, ctx.spec.timers.lease_renewal),
            joins: Some(machine),
            connected: None,
            unanswered: Time::ZERO,
            refused: false,
            caught_up: false,
            renewed: Time::ZERO,
            generation: Generation::ZERO,
            processes: Processes::new(key, host),
        };
        kubelet.power_changed(ctx);
        kubelet
    }

    /// A pod has been running here for long.
    pub fn start_warm(&mut self, id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        self.processes.start_warm(id, store, ctx);
    }

    /// The last renewal up to and with `at` (or a little after it, where none came since).
    pub fn last_renewal(&self, at: Time) -> Time {
        let current = self.connected.and_then(|since| self.renewals.at_or_before(at).filter(|renewal| *renewal >= since));
        current.unwrap_or(self.renewed)
    }

    /// The next renewal after `now`, as far as anybody can tell.
    pub fn next_renewal(&self, now: Time) -> Option<Time> {
        self.connected.map(|_| self.renewals.after(now))
    }

    /// The network or the power of some hosts has changed.
    pub fn network_changed(&mut self, store: &Store, ctx: &mut ClusterCtx<'_>) {
        self.record_loss(store, ctx);
        self.power_changed(ctx);
    }

    /// What runs here serves nobody, or does again.
    fn record_loss(&mut self, store: &Store, ctx: &mut ClusterCtx<'_>) {
        let lost = loss(self.host, ctx.net);
        if let Some(node) = store.get_node(self.key)
            && std::mem::replace(&mut self.lost, lost) != lost
        {
            ctx.record(KubeRecord::Node(node.name, NodeFact::Lost(lost)));
        }
    }

    /// Its machine is switched off for good.
    pub fn switched_off(mut self, ctx: &mut ClusterCtx<'_>) {
        self.processes.power_lost(ctx);
        ctx.fx.kubelets_changed.push(ctx.cluster);
    }

    /// Its host, while it runs.
    pub fn runs_on(&self) -> Option<HostId> {
        self.booted.then_some(self.host)
    }

    /// Where it runs, while the API answers it.
    pub fn connected_from(&self) -> Option<HostId> {
        self.connected.map(|_| self.host)
    }

    fn power_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        let powered = ctx.net.is_powered(self.host);
        if powered != self.powered {
            self.powered = powered;
            self.generation = self.generation.next();
            if powered {
                ctx.schedule(ctx.now + ctx.spec.timers.boot, KubeEvent::Booted { node: self.key, generation: self.generation });
            } else {
                self.booted = false;
                self.processes.power_lost(ctx);
            }
        }
    }

    /// The node has booted.
    pub fn booted(&mut self, generation: Generation, api: &Api, store: &Store, ctx: &mut ClusterCtx<'_>) {
        if generation == self.generation {
            self.booted = true;
            let jitter = ctx.draws(Purpose::Phase, self.key.0).draw(1).below(MAX_JITTER.as_nanos());
            self.renewals = Periodic::new(ctx.now + Duration::from_nanos(jitter), ctx.spec.timers.lease_renewal);
            self.look(api, store, ctx);
        }
    }

    /// Looks whether the API answers it.
    pub fn look(&mut self, api: &Api, store: &Store, ctx: &mut ClusterCtx<'_>) {
        let route = ctx.path.route(ctx.cluster, ApiClient::Kubelet(self.key));
        let reaches = self.booted && api.leases_over(route, self.host, ctx.net).write.is_some();
        if !reaches {
            self.refused = route == Route::Nearest && !api.is_offered();
        }
        if reaches == self.connected.is_some() {
            return;
        }
        self.generation = self.generation.next();
        if reaches {
            (self.connected, self.caught_up) = (Some(ctx.now), false);
            let renewal = KubeEvent::Renew { node: self.key, generation: self.generation };
            let is_trying = !self.refused && self.renewals.at_or_before(ctx.now).is_some_and(|turn| turn >= self.unanswered);
            if is_trying {
                self.renewed = ctx.now;
            }
            ctx.schedule(if is_trying { ctx.now } else { self.renewals.at_or_after(ctx.now) }, renewal);
        } else {
            // A renewal at this very moment does not arrive.
            self.renewed = self.last_renewal(ctx.now - Duration::from_nanos(1));
            (self.connected, self.unanswered) = (None, ctx.now);
        }
        ctx.fx.kubelets_changed.push(ctx.cluster);
        self.pod_removed(store, ctx);
    }

    fn expect_renewal(&self, now: Time, ctx: &mut ClusterCtx<'_>) {
        if let Some(renewal) = self.next_renewal(now) {
            ctx.schedule(renewal, KubeEvent::Renew { node: self.key, generation: self.generation });
        }
    }

    /// Its node's condition has become unknown: if it can, it says otherwise with its next renewal.
    pub fn declared_unknown(&self, ctx: &mut ClusterCtx<'_>) {
        if ctx.stepping == Stepping::FastForward && self.caught_up {
            self.expect_renewal(ctx.now, ctx);
        }
    }

    /// The lease is renewed.
    pub fn renew(&mut self, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if generation != self.generation {
            return;
        }
        if let Some(machine) = self.joins.take() {
            store.add_node(self.key, machine, self.host, ctx);
        }
        if !self.caught_up || store.node(self.key).ready != Ready::True {
            self.caught_up = true;
            store.set_node_ready(self.key, Ready::True, ctx);
            self.processes.sync(store, ctx);
        }
        if ctx.stepping == Stepping::EveryEvent {
            self.expect_renewal(ctx.now, ctx);
        }
    }

    /// It hears of what changes in the API.
    const fn listens(&self) -> bool {
        self.connected.is_some() && self.caught_up
    }

    /// The API may have something new for it, or it for the API.
    pub fn notice(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if self.listens() {
            self.processes.sync(store, ctx);
        } else {
            self.processes.judge_orphans(false, store, ctx);
        }
    }

    /// A step of a process is done.
    pub fn process(&mut self, id: PodId, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        self.processes.timer(id, generation, ctx);
        self.notice(store, ctx);
    }

    /// Members of an etcd cluster have started or stopped.
    pub fn members_changed(&mut self, cluster: EtcdId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if self.processes.members_changed(cluster, ctx) {
            self.notice(store, ctx);
        }
    }

    /// An API server is ready for clients, or no longer.
    pub fn probed(&mut self, id: PodId, ready: bool, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if self.processes.probed(id, ready) {
            self.notice(store, ctx);
        }
    }

    /// The volume of a pod was detached from its node.
    pub fn volume_detached(&mut self, name: PodName, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        self.processes.volume_detached(name, ctx);
        self.notice(store, ctx);
    }

    /// Whether a process uses a pod's volume here.
    #[cfg(feature = "testing")]
    pub fn uses_volume(&self, name: PodName) -> bool {
        self.processes.uses_volume(name)
    }

    /// A pod of its node is gone: a hazard, if it cannot know.
    pub fn pod_removed(&mut self, store: &Store, ctx: &mut ClusterCtx<'_>) {
        self.processes.judge_orphans(self.listens(), store, ctx);
    }
}
