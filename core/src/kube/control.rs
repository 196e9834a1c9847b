//! What makes a plane work: its API servers, and the elections of the components that act through them.
//!
//! They run on the hosts of the control plane, or are pods of another plane, or of this one, which tells of them ([`Signal`]).

use crate::kernel::time::Duration;
use crate::kube::api::Api;
use crate::kube::context::{Cx, Process, Program, Signal};
use crate::kube::election::Election;
use crate::kube::event::KubeEvent;
use crate::kube::record::Replica;
use crate::kube::spec::{Component, Role};
use crate::network::{HostId, Network};
use crate::record::StopReason;

#[derive(Clone, Copy, Debug)]
struct Host {
    powered: bool,
    generation: u32,
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
    pub fn new(cx: &mut Cx<'_>) -> Self {
        let hosts = vec![Host { powered: true, generation: 0 }; cx.spec.control_plane.len()];
        let mut control =
            Self { api: Api::new(cx.spec.timers.api_overhead), elections: Component::ALL.map(Election::new), hosts };
        for index in 0..control.hosts.len() as u32 {
            control.on_host(index, Process::Runs, cx);
        }
        control
    }

    /// At the start everything has been running for long.
    pub fn settle(&mut self, cx: &mut Cx<'_>) {
        self.access_changed(cx);
        for election in &mut self.elections {
            election.settle(cx);
        }
    }

    /// Hosts may have lost power, or have it again.
    pub fn power_changed(&mut self, cx: &mut Cx<'_>) {
        for index in 0..self.hosts.len() as u32 {
            let host = &mut self.hosts[index as usize];
            let powered = cx.net.is_powered(Network::host_of(cx.spec.control_plane[index as usize]));
            if std::mem::replace(&mut host.powered, powered) == powered {
                continue;
            }
            host.generation += 1;
            if powered {
                let timers = &cx.spec.timers;
                let event = KubeEvent::ControlPlane(index, host.generation);
                cx.schedule(cx.now + timers.boot + timers.control_plane_start, event);
            } else {
                self.on_host(index, Process::Gone(StopReason::PowerLost), cx);
            }
        }
    }

    /// Something is due. Who gets answers from the API may be another thing afterwards.
    pub fn handle(&mut self, event: KubeEvent, cx: &mut Cx<'_>) {
        match event {
            KubeEvent::Link(server, generation) => self.api.redial(server, generation, cx),
            KubeEvent::Readiness(server, generation) => self.api.check(server, generation, cx),
            KubeEvent::ControlPlane(index, generation) => {
                if self.hosts[index as usize].generation == generation {
                    self.on_host(index, Process::Runs, cx);
                }
            }
            KubeEvent::Election(component, generation) => self.elections[component as usize].handle(generation, cx),
            _ => unreachable!("{event:?} is none of the control plane's"),
        }
    }

    fn on_host(&mut self, index: u32, process: Process, cx: &mut Cx<'_>) {
        let node = cx.spec.control_plane[index as usize];
        let (replica, host) = (Replica::Host(node), Network::host_of(node));
        // What the plane runs as pods of its own (a seed etcd-druid and gardenlet) needs its API first.
        let is_pod =
            |component| cx.spec.workloads.iter().any(|workload| workload.role == Role::Controller(cx.cluster, component));
        let on_hosts = Component::ALL.into_iter().filter(|component| !is_pod(*component));
        let controllers: Vec<Program> = on_hosts.map(Program::Controller).collect();
        for program in std::iter::once(Program::ApiServer).chain(controllers) {
            self.hear(&Signal { cluster: cx.cluster, program, key: index, replica, host, process }, cx);
        }
    }

    /// Hears of a process.
    pub fn hear(&mut self, signal: &Signal, cx: &mut Cx<'_>) {
        let Signal { program, key, replica, host, process, .. } = *signal;
        match (program, process) {
            (_, Process::Starts | Process::Ready(_)) => {}
            (Program::ApiServer, Process::Runs) => self.api.start(key, replica, host, cx),
            (Program::ApiServer, Process::Stops) => self.api.stop(key, cx),
            (Program::ApiServer, Process::Gone(_)) => self.api.remove(key, cx),
            (Program::Controller(component), _) => {
                let election = &mut self.elections[component as usize];
                match process {
                    Process::Starts | Process::Ready(_) => {}
                    Process::Runs => election.join(key, replica, host, &self.api, cx),
                    Process::Stops => election.leave(key, true, cx),
                    Process::Gone(_) => election.leave(key, false, cx),
                }
            }
        }
    }

    /// Follows what the API answers to whom now.
    pub fn access_changed(&mut self, cx: &mut Cx<'_>) {
        self.api.settle(cx);
        for election in &mut self.elections {
            election.access_changed(&self.api, cx);
        }
    }

    /// How long a write of a component takes now; `None`: it does not lead, or cannot write.
    pub fn gate(&self, component: Component) -> Option<Duration> {
        self.elections[component as usize].acts()
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
    pub fn arm(&mut self, cx: &mut Cx<'_>) {
        for election in &mut self.elections {
            election.arm(cx);
        }
    }
}
