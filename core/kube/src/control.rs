//! What makes a cluster work: its API servers, and the elections of the components that act through them.
//!
//! They run on the hosts of the control plane, or are pods of another cluster, or of this one, which tells of them ([`ProcessStatus`]).

use crate::api::Api;
use crate::ctx::{ApiClient, ClusterCtx, ProcessChange, ProcessStatus, Program};
use crate::election::Election;
use crate::event::KubeEvent;
use crate::record::Replica;
use crate::spec::{Component, Role};
use zonefall_kernel::time::Duration;
use zonefall_kernel::timer::Timer;
use zonefall_network::process::StopReason;
use zonefall_network::{HostId, Network};

/// From the end of the shutdown delay until an API server on a host has exited; assumed. (Go's HTTP/2 server waits 1 s for its clients to
/// reply to GOAWAY; with `--shutdown-send-retry-after` `apiserver/pkg/server/genericapiserver.go` plans 2 s for that. Without, a server
/// waits for requests in flight, up to their timeout.)
const EXIT: Duration = Duration::from_secs(2);

/// Whether a host is part of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Not, or not yet.
    Absent,
    /// It is.
    Present,
    /// Until its API server has exited, which was asked to stop.
    Leaving,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    presence: Presence,
    powered: bool,
    /// Its programs run, except for an API server that a fault holds down.
    runs: bool,
    /// Faults that hold its API server down.
    held: u16,
    /// Fires when its programs run again.
    start: Timer,
    /// Fires when its API server exits, which was asked to stop.
    exit: Timer,
}

impl Host {
    /// A process of its API server exists.
    fn has_api_server(&self) -> bool {
        self.runs && self.held == 0 || self.exit.is_armed()
    }
}

/// What a fault does to the API server on a control-plane host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiServerHold {
    /// SIGKILL. The fault holds the server down from then on.
    Kill,
    /// SIGTERM, likewise.
    Stop,
    /// The fault has ended.
    Release,
}

/// API servers and elections.
#[derive(Clone, Debug)]
pub struct Control {
    /// API servers.
    pub api: Api,
    elections: [Election; Component::ALL.len()],
    hosts: Vec<Host>,
}

impl Control {
    /// Nothing runs yet but what was there before: hosts with power.
    pub fn new(ctx: &mut ClusterCtx<'_>) -> Self {
        let (all, at_start) = (ctx.spec.control_plane.len(), ctx.spec.hosts_at_start().len());
        let presence = |place| if place < at_start { Presence::Present } else { Presence::Absent };
        let host = |place| {
            let presence = presence(place);
            Host { presence, powered: true, runs: false, held: 0, start: Timer::new(), exit: Timer::new() }
        };
        let hosts = (0..all).map(host).collect();
        let mut control =
            Self { api: Api::new(ctx.spec.timers.api_overhead), elections: Component::ALL.map(Election::new), hosts };
        for index in 0..at_start as u32 {
            control.on_host(index, ProcessChange::Runs, ctx);
        }
        control
    }

    /// At the start everything has been running for long.
    pub fn start_warm(&mut self, ctx: &mut ClusterCtx<'_>) {
        self.access_changed(ctx);
        for election in &mut self.elections {
            election.start_warm(ctx);
        }
    }

    /// Hosts may have lost power, or have it again.
    pub fn power_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        for index in 0..self.hosts.len() as u32 {
            let host = &mut self.hosts[index as usize];
            let powered = ctx.net.is_powered(Network::host_of(ctx.spec.control_plane[index as usize]));
            if std::mem::replace(&mut host.powered, powered) == powered {
                continue;
            }
            if powered && host.presence == Presence::Present {
                let at = ctx.now + ctx.spec.timers.boot + ctx.spec.timers.control_plane_start;
                ctx.schedule(at, KubeEvent::ControlPlane { host: index, generation: host.start.arm(at) });
            } else if !powered && host.presence != Presence::Absent {
                host.start.cancel();
                host.exit.cancel();
                self.on_host(index, ProcessChange::Gone(StopReason::PowerLost), ctx);
                self.has_exited(index);
            }
        }
    }

    /// A host joins the control plane.
    pub fn add_host(&mut self, index: u32, ctx: &mut ClusterCtx<'_>) {
        let host = &mut self.hosts[index as usize];
        host.presence = Presence::Present;
        if host.powered {
            // The API server that it had before exits first.
            let exits = host.exit.deadline().map_or(ctx.now, |at| at + Duration::from_nanos(1));
            let at = (ctx.now + ctx.spec.timers.control_plane_start).max(exits);
            ctx.schedule(at, KubeEvent::ControlPlane { host: index, generation: host.start.arm(at) });
        }
    }

    /// A host leaves the control plane: its API server exits in its own time, its components at once.
    pub fn remove_host(&mut self, index: u32, ctx: &mut ClusterCtx<'_>) {
        let host = &mut self.hosts[index as usize];
        host.presence = Presence::Leaving;
        host.start.cancel();
        let (runs, had_api_server, stops) = (host.runs, host.has_api_server(), host.exit.is_armed());
        host.runs = false;
        if had_api_server && !stops {
            self.stop_api_server(index, ctx);
        }
        if runs {
            self.components_changed(index, ProcessChange::Stops, ctx);
        }
        self.has_exited(index);
    }

    /// A host that leaves has left once its API server is gone.
    fn has_exited(&mut self, index: u32) {
        let host = &mut self.hosts[index as usize];
        if host.presence == Presence::Leaving && !host.has_api_server() {
            host.presence = Presence::Absent;
        }
    }

    /// Places of the hosts that are part of the control plane, whether they run or not.
    pub fn hosts(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.hosts).filter(|(_, host)| host.presence != Presence::Absent).map(|(place, _)| place)
    }

    /// Something is due. Who gets answers from the API may be another thing afterwards.
    pub fn handle(&mut self, event: KubeEvent, ctx: &mut ClusterCtx<'_>) {
        match event {
            KubeEvent::Link { server, generation } => self.api.redial(server, generation, ctx),
            KubeEvent::Readiness { server, generation } => self.api.check(server, generation, ctx),
            KubeEvent::Closes { server, generation } => self.api.close(server, generation, ctx),
            KubeEvent::ControlPlane { host, generation } => {
                if self.hosts[host as usize].start.fires(generation) {
                    self.on_host(host, ProcessChange::Runs, ctx);
                }
            }
            KubeEvent::ApiServerExits { host, generation } => {
                if self.hosts[host as usize].exit.fires(generation) {
                    self.api_server_changed(host, ProcessChange::Gone(StopReason::Stopped), ctx);
                    self.has_exited(host);
                    if self.hosts[host as usize].has_api_server() {
                        self.api_server_changed(host, ProcessChange::Runs, ctx);
                    }
                }
            }
            KubeEvent::Election { component, generation } => {
                self.elections[component as usize].handle(generation, &self.api, ctx);
            }
            _ => unreachable!("{event:?} is none of the control plane's"),
        }
    }

    fn on_host(&mut self, index: u32, process: ProcessChange, ctx: &mut ClusterCtx<'_>) {
        self.hosts[index as usize].runs = process == ProcessChange::Runs;
        if process != ProcessChange::Runs || self.hosts[index as usize].held == 0 {
            self.api_server_changed(index, process, ctx);
        }
        self.components_changed(index, process, ctx);
    }

    fn components_changed(&mut self, index: u32, process: ProcessChange, ctx: &mut ClusterCtx<'_>) {
        let node = ctx.spec.control_plane[index as usize];
        let (replica, host) = (Replica::Host(node), Network::host_of(node));
        // What the cluster runs as pods of its own (a seed etcd-druid and gardenlet) needs its API first.
        let is_pod =
            |component| ctx.spec.workloads.iter().any(|workload| workload.role == Role::Controller(ctx.cluster, component));
        let on_hosts = ctx.spec.components.iter().copied().filter(|component| !is_pod(*component));
        let controllers: Vec<Program> = on_hosts.map(Program::Controller).collect();
        for program in controllers {
            self.process_changed(&ProcessStatus { cluster: ctx.cluster, program, key: index, replica, host, process }, ctx);
        }
    }

    /// A fault of the API server on a host begins or ends. One that was asked to stop exits before it starts again.
    pub fn hold_api_server(&mut self, index: u32, hold: ApiServerHold, ctx: &mut ClusterCtx<'_>) {
        let host = &mut self.hosts[index as usize];
        let (exists, stops) = (host.has_api_server(), host.exit.is_armed());
        match hold {
            ApiServerHold::Kill | ApiServerHold::Stop => host.held += 1,
            ApiServerHold::Release => host.held -= 1,
        }
        let process = match hold {
            ApiServerHold::Kill if exists => {
                host.exit.cancel();
                ProcessChange::Gone(StopReason::Killed)
            }
            ApiServerHold::Stop if exists && !stops => return self.stop_api_server(index, ctx),
            ApiServerHold::Release if !exists && host.has_api_server() => ProcessChange::Runs,
            ApiServerHold::Kill | ApiServerHold::Stop | ApiServerHold::Release => return,
        };
        self.api_server_changed(index, process, ctx);
        self.has_exited(index);
    }

    /// SIGTERM to the API server on a host.
    fn stop_api_server(&mut self, index: u32, ctx: &mut ClusterCtx<'_>) {
        let at = ctx.now + ctx.spec.shutdown_delay.unwrap_or(Duration::ZERO) + EXIT;
        let generation = self.hosts[index as usize].exit.arm(at);
        ctx.schedule(at, KubeEvent::ApiServerExits { host: index, generation });
        self.api_server_changed(index, ProcessChange::Stops, ctx);
    }

    fn api_server_changed(&mut self, index: u32, process: ProcessChange, ctx: &mut ClusterCtx<'_>) {
        let node = ctx.spec.control_plane[index as usize];
        let (program, replica, host) = (Program::ApiServer, Replica::Host(node), Network::host_of(node));
        self.process_changed(&ProcessStatus { cluster: ctx.cluster, program, key: index, replica, host, process }, ctx);
    }

    /// Candidates of all elections, and their hosts.
    pub fn candidates(&self) -> impl Iterator<Item = (ApiClient, HostId)> {
        self.elections.iter().flat_map(Election::candidates)
    }

    /// A process has changed.
    pub fn process_changed(&mut self, status: &ProcessStatus, ctx: &mut ClusterCtx<'_>) {
        let ProcessStatus { program, key, replica, host, process, .. } = *status;
        match (program, process) {
            (_, ProcessChange::Starts | ProcessChange::Ready(_)) => {}
            (Program::ApiServer, ProcessChange::Runs) => self.api.start(key, replica, host, ctx),
            (Program::ApiServer, ProcessChange::Stops) => self.api.stop(key, ctx),
            (Program::ApiServer, ProcessChange::Gone(_)) => self.api.remove(key, ctx),
            (Program::Controller(component), _) => {
                let election = &mut self.elections[component as usize];
                match process {
                    ProcessChange::Starts | ProcessChange::Ready(_) => {}
                    ProcessChange::Runs => election.join(key, replica, host, &self.api, ctx),
                    ProcessChange::Stops => election.leave(key, true, ctx),
                    ProcessChange::Gone(_) => election.leave(key, false, ctx),
                }
            }
        }
    }

    /// Follows what the API answers to whom now.
    pub fn access_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        self.api.publish_access(ctx);
        for election in &mut self.elections {
            election.access_changed(&self.api, ctx);
        }
    }

    /// How long a write of a component takes now; `None`: it does not lead, or cannot write.
    pub fn gate(&self, component: Component) -> Option<Duration> {
        self.elections[component as usize].is_active()
    }

    /// Where the process of a component runs that leads and can write.
    pub fn host(&self, component: Component) -> Option<HostId> {
        self.elections[component as usize].host()
    }

    /// Changes with every leader of a component.
    pub const fn term(&self, component: Component) -> u64 {
        self.elections[component as usize].term()
    }

    /// Queues what is due next.
    pub fn arm(&mut self, ctx: &mut ClusterCtx<'_>) {
        for election in &mut self.elections {
            election.arm(ctx);
        }
    }
}
