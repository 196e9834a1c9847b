//! The kubelet of a node: its lease, and the processes of its pods (`pkg/kubelet`, `component-helpers/apimachinery/lease`).
//!
//! Two truths stand beside each other: the pod in the store, and the process here. A kubelet that is cut off goes on running what it
//! had; one whose node has lost power starts it anew. What it does while the API is out of reach it tells with the first lease it can
//! renew again. Leases are arithmetic: renewals at even intervals, of which only those count that reach the API.

use std::collections::BTreeMap;

use crate::ids::{NodeKey, PodId};
use crate::kernel::periodic::Periodic;
use crate::kernel::rng::Purpose;
use crate::kernel::time::{Duration, Time};
use crate::kube::context::Cx;
use crate::kube::event::KubeEvent;
use crate::kube::name::MachineName;
use crate::kube::record::Ready;
use crate::kube::store::Store;
use crate::network::{HostId, Network};
use crate::sim::Exact;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Running,
    Stopping,
}

#[derive(Clone, Copy, Debug)]
struct Process {
    state: State,
    /// The API knows that it runs.
    told: bool,
    /// Generation of its timer.
    serial: u32,
}

/// A kubelet.
#[derive(Clone, Debug)]
pub struct Kubelet {
    key: NodeKey,
    host: HostId,
    powered: bool,
    booted: bool,
    renewals: Periodic,
    /// Its node is to join, named after this machine.
    joins: Option<MachineName>,
    /// It reaches the API from then on.
    connected: Option<Time>,
    /// It has told the API what it did while it was out of reach.
    settled: bool,
    /// The last renewal before `connected`.
    renewed: Time,
    generation: u32,
    processes: BTreeMap<PodId, Process>,
    serial: u32,
}

impl Kubelet {
    /// A kubelet that has been running for long.
    pub fn new(key: NodeKey, host: HostId, cx: &mut Cx<'_>) -> Self {
        let period = cx.spec.timers.lease_renewal;
        let phase = cx.draws(Purpose::Phase, key.0).draw(0).below(period.as_nanos());
        let renewals = Periodic::new(Time::from_nanos(phase), period);
        let kubelet = Self {
            key,
            host,
            powered: true,
            booted: true,
            renewals,
            joins: None,
            connected: Some(Time::ZERO),
            settled: true,
            renewed: Time::ZERO,
            generation: 0,
            processes: BTreeMap::new(),
            serial: 0,
        };
        if cx.exact == Exact::Full {
            kubelet.expect_renewal(cx.now, cx);
        }
        kubelet
    }

    /// The kubelet of a machine that was just switched on. Its node joins when it first reaches the API.
    pub fn joining(key: NodeKey, host: HostId, machine: MachineName, cx: &mut Cx<'_>) -> Self {
        let mut kubelet = Self {
            key,
            host,
            powered: false,
            booted: false,
            renewals: Periodic::new(cx.now, cx.spec.timers.lease_renewal),
            joins: Some(machine),
            connected: None,
            settled: false,
            renewed: Time::ZERO,
            generation: 0,
            processes: BTreeMap::new(),
            serial: 0,
        };
        kubelet.surroundings_changed(cx);
        kubelet
    }

    /// A pod has been running here for long.
    pub fn settle(&mut self, id: PodId, store: &mut Store, cx: &mut Cx<'_>) {
        self.processes.insert(id, Process { state: State::Running, told: false, serial: 0 });
        self.sync(store, cx);
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
    pub fn surroundings_changed(&mut self, cx: &mut Cx<'_>) {
        let powered = cx.net.is_powered(self.host);
        if powered != self.powered {
            self.powered = powered;
            self.generation += 1;
            if powered {
                cx.schedule(cx.now + cx.spec.timers.boot, KubeEvent::Booted(self.key, self.generation));
            } else {
                self.booted = false;
                self.processes.clear();
            }
        }
        self.look(cx);
    }

    /// The node has booted.
    pub fn booted(&mut self, generation: u32, cx: &mut Cx<'_>) {
        if generation == self.generation {
            self.booted = true;
            self.renewals = Periodic::new(cx.now, cx.spec.timers.lease_renewal);
            self.look(cx);
        }
    }

    /// Looks whether it reaches the API.
    fn look(&mut self, cx: &mut Cx<'_>) {
        let api = |node| cx.net.is_open(self.host, Network::host_of(node));
        let reaches = self.booted && cx.spec.control_plane.iter().any(|node| api(*node));
        if reaches == self.connected.is_some() {
            return;
        }
        self.generation += 1;
        if reaches {
            (self.connected, self.settled) = (Some(cx.now), false);
            let renewal = KubeEvent::Renew(self.key, self.generation);
            cx.schedule(self.renewals.at_or_after(cx.now), renewal);
        } else {
            // A renewal at this very moment does not arrive.
            self.renewed = self.last_renewal(cx.now - Duration::from_nanos(1));
            self.connected = None;
        }
    }

    fn expect_renewal(&self, now: Time, cx: &mut Cx<'_>) {
        if let Some(renewal) = self.next_renewal(now) {
            cx.schedule(renewal, KubeEvent::Renew(self.key, self.generation));
        }
    }

    /// Its node's condition has become unknown: if it can, it says otherwise with its next renewal.
    pub fn declared_unknown(&self, cx: &mut Cx<'_>) {
        if cx.exact == Exact::Fast && self.settled {
            self.expect_renewal(cx.now, cx);
        }
    }

    /// The lease is renewed.
    pub fn renew(&mut self, generation: u32, store: &mut Store, cx: &mut Cx<'_>) {
        if generation != self.generation {
            return;
        }
        if let Some(machine) = self.joins.take() {
            store.add_node(self.key, machine, self.host, cx);
        }
        if !self.settled || store.node(self.key).ready != Ready::True {
            self.settled = true;
            store.set_node_ready(self.key, Ready::True, cx);
            self.sync(store, cx);
        }
        if cx.exact == Exact::Full {
            self.expect_renewal(cx.now, cx);
        }
    }

    /// The API has something new for it, if it hears of it.
    pub fn notice(&mut self, store: &mut Store, cx: &mut Cx<'_>) {
        if self.connected.is_some() && self.settled {
            self.sync(store, cx);
        }
    }

    /// A process is ready or has ended.
    pub fn process(&mut self, id: PodId, serial: u32, store: &mut Store, cx: &mut Cx<'_>) {
        let Some(process) = self.processes.get_mut(&id).filter(|process| process.serial == serial) else { return };
        match process.state {
            State::Starting => process.state = State::Running,
            State::Stopping => drop(self.processes.remove(&id)),
            State::Running => unreachable!("a process that runs has no timer"),
        }
        self.notice(store, cx);
    }

    /// Brings processes to what the store wants, and tells the store what runs.
    fn sync(&mut self, store: &mut Store, cx: &mut Cx<'_>) {
        let pods: Vec<PodId> = store.node(self.key).pods.iter().copied().collect();
        for id in pods {
            let pod = store.pod(id).expect("a node's pods are there");
            let workload = &cx.spec.workloads[pod.name.workload.0 as usize];
            let process = self.processes.get_mut(&id);
            match (process.as_ref().map(|process| process.state), pod.terminating) {
                (None, true) => store.remove(id, cx),
                (None, false) => {
                    store.set_pod_ready(id, false, cx);
                    self.turn(id, State::Starting, workload.start, cx);
                }
                (Some(State::Starting | State::Running), true) => self.turn(id, State::Stopping, workload.stop, cx),
                (Some(State::Running), false) => {
                    if let Some(process) = process.filter(|process| !process.told) {
                        process.told = true;
                        store.start(id, cx);
                    }
                    store.set_pod_ready(id, true, cx);
                }
                (Some(State::Starting), false) | (Some(State::Stopping), _) => {}
            }
        }
    }

    fn turn(&mut self, id: PodId, state: State, takes: Duration, cx: &mut Cx<'_>) {
        self.serial += 1;
        self.processes.insert(id, Process { state, told: false, serial: self.serial });
        cx.schedule(cx.now + takes, KubeEvent::Process(self.key, id, self.serial));
    }
}
