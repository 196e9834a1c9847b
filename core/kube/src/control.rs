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

#[derive(Clone, Copy, Debug)]
struct Host {
    powered: bool,
    /// Its programs run, except for an API server that was killed.
    runs: bool,
    /// Faults that keep its API server killed.
    killed: u16,
    /// Fires when its programs run again.
    start: Timer,
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
        let hosts = vec![Host { powered: true, runs: false, killed: 0, start: Timer::new() }; ctx.spec.control_plane.len()];
        let mut control =
            Self { api: Api::new(ctx.spec.timers.api_overhead), elections: Component::ALL.map(Election::new), hosts };
        for index in 0..control.hosts.len() as u32 {
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
            if powered {
                let at = ctx.now + ctx.spec.timers.boot + ctx.spec.timers.control_plane_start;
                ctx.schedule(at, KubeEvent::ControlPlane { host: index, generation: host.start.arm(at) });
            } else {
                host.start.cancel();
                self.on_host(index, ProcessChange::Gone(StopReason::PowerLost), ctx);
            }
        }
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
            KubeEvent::Election { component, generation } => {
                self.elections[component as usize].handle(generation, &self.api, ctx);
            }
            _ => unreachable!("{event:?} is none of the control plane's"),
        }
    }

    fn on_host(&mut self, index: u32, process: ProcessChange, ctx: &mut ClusterCtx<'_>) {
        let node = ctx.spec.control_plane[index as usize];
        self.hosts[index as usize].runs = process == ProcessChange::Runs;
        let (replica, host) = (Replica::Host(node), Network::host_of(node));
        // What the cluster runs as pods of its own (a seed etcd-druid and gardenlet) needs its API first.
        let is_pod =
            |component| ctx.spec.workloads.iter().any(|workload| workload.role == Role::Controller(ctx.cluster, component));
        let on_hosts = ctx.spec.components.iter().copied().filter(|component| !is_pod(*component));
        let controllers: Vec<Program> = on_hosts.map(Program::Controller).collect();
        let server = (self.hosts[index as usize].killed == 0).then_some(Program::ApiServer);
        for program in server.into_iter().chain(controllers) {
            self.process_changed(&ProcessStatus { cluster: ctx.cluster, program, key: index, replica, host, process }, ctx);
        }
    }

    /// One fault more (`killed`) or less keeps the API server on a host down.
    pub fn kill_api_server(&mut self, index: u32, killed: bool, ctx: &mut ClusterCtx<'_>) {
        let host = &mut self.hosts[index as usize];
        let before = host.killed;
        host.killed = if killed { before + 1 } else { before - 1 };
        if host.runs && (before == 0) != (host.killed == 0) {
            let node = ctx.spec.control_plane[index as usize];
            let (replica, host) = (Replica::Host(node), Network::host_of(node));
            let process = if killed { ProcessChange::Gone(StopReason::Killed) } else { ProcessChange::Runs };
            let program = Program::ApiServer;
            self.process_changed(&ProcessStatus { cluster: ctx.cluster, program, key: index, replica, host, process }, ctx);
        }
    }

    /// Candidates of all elections, and their hosts.
    pub fn candidates(&self) -> impl Iterator<Item = (ApiClient, HostId)> {
        self.elections.iter().flat_map(Election::candidates)
    }

    /// Hears of a process.
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
