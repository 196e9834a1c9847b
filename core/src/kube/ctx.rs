//! What a plane's handlers see and ask for.

use std::sync::Arc;

use crate::etcd::cluster::EtcdCluster;
use crate::gardener::garden::Garden;
use crate::gardener::machine::cloud::Cloud;
use crate::ids::{KubeClusterId, MemberId, PodId};
use crate::kernel::rng::{Purpose, Stream};
use crate::kernel::time::{Duration, Time};
use crate::kube::event::KubeEvent;
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, Replica};
use crate::kube::services::Services;
use crate::kube::spec::{Component, KubeClusterSpec, Role};
use crate::network::{HostId, Network};
use crate::record::{Record, StopReason};
use crate::scenario::Scenario;
use crate::sim::Stepping;
use crate::sim::event::{ContainerEvent, Effects, Event};

/// What all planes see and ask for.
#[derive(Debug)]
pub struct KubeCtx<'a> {
    /// Now.
    pub now: Time,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Hosts and paths.
    pub net: &'a mut Network,
    /// The etcd clusters.
    pub etcd: &'a [Arc<EtcdCluster>],
    /// Where machines come from.
    pub cloud: &'a mut Cloud,
    /// What is asked for.
    pub fx: &'a mut Effects,
}

/// What one plane sees and asks for.
#[derive(Debug)]
pub struct ClusterCtx<'a> {
    /// Now.
    pub now: Time,
    /// Which plane.
    pub cluster: KubeClusterId,
    /// The plane as the scenario has it.
    pub spec: &'a KubeClusterSpec,
    /// All of the scenario.
    pub scenario: &'a Scenario,
    /// From a write until those who watch hear of it: as long as the API takes to write now.
    pub latency: Duration,
    /// Seed of all draws.
    pub seed: u64,
    /// How periodic work is simulated.
    pub stepping: Stepping,
    /// Hosts and paths.
    pub net: &'a mut Network,
    /// The etcd clusters.
    pub etcd: &'a [Arc<EtcdCluster>],
    /// Where machines come from.
    pub cloud: &'a mut Cloud,
    /// Which shoot is bound to which seed.
    pub garden: &'a mut Garden,
    /// What Services tell those who dial.
    pub services: &'a mut Services,
    /// What is asked for.
    pub fx: &'a mut Effects,
    /// What other planes are to hear.
    pub process_statuses: &'a mut Vec<ProcessStatus>,
}

/// What a plane hears of a process that serves its API or acts through it.
#[derive(Clone, Copy, Debug)]
pub struct ProcessStatus {
    /// The plane that is to hear of it.
    pub cluster: KubeClusterId,
    /// Which program.
    pub program: Program,
    /// Tells it from the plane's other processes of this program.
    pub key: u32,
    /// The process, as records name it.
    pub replica: Replica,
    /// Where it runs.
    pub host: HostId,
    /// What has become of it.
    pub process: ProcessChange,
}

/// A program that makes a plane work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The API server.
    ApiServer,
    /// A program that acts through it.
    Controller(Component),
}

/// What becomes of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessChange {
    /// Its container starts.
    Starts,
    /// It runs and is ready for work.
    Runs,
    /// It was asked to stop.
    Stops,
    /// It is gone.
    Gone(StopReason),
    /// It is ready for clients, or no longer: what the plane of its pod hears.
    Ready(bool),
}

/// Bits of the number of a pod.
const PODS: u32 = 24;

impl ClusterCtx<'_> {
    /// Queues an event of this plane.
    pub fn schedule(&mut self, at: Time, event: KubeEvent) {
        self.fx.schedule.push((at, Event::Kube(self.cluster, event)));
    }

    /// Tells something of this plane.
    pub fn record(&mut self, record: KubeRecord) {
        self.fx.record(Record::Kube(self.cluster, record));
    }

    /// A stream of draws for something of this plane.
    pub fn draws(&self, purpose: Purpose, entity: u32) -> Stream {
        Stream::new(self.seed, purpose, u64::from(self.cluster.0) << 32 | u64::from(entity))
    }

    /// Tells whom a pod works for (as an etcd member: `member`), if it does, what becomes of its process on a host. (Before a process runs anew the one before it is
    /// gone.)
    pub fn report_status(&mut self, id: PodId, name: PodName, member: Option<MemberId>, host: HostId, process: ProcessChange) {
        let workload = &self.spec.workloads[name.workload.0 as usize];
        let (cluster, program) = match workload.role {
            Role::ApiServer(cluster) => (cluster, Program::ApiServer),
            Role::Controller(cluster, component) => (cluster, Program::Controller(component)),
            Role::Etcd(_) | Role::Other => return self.container_event(member, host, process),
        };
        let replica = Replica::Pod(self.cluster, name);
        // Numbers of pods of different seeds must not be the same.
        let key = id.0 | u32::from(workload.member_range.first) << PODS;
        self.process_statuses.push(ProcessStatus { cluster, program, key, replica, host, process });
    }

    /// Tells the kubelet of an API server, if it is a pod, whether it is ready for clients. (Where it is none, nobody asks.)
    pub fn answers_probe(&mut self, key: u32, replica: Replica, host: HostId, ready: bool) {
        if let Replica::Pod(cluster, _) = replica {
            let (program, key, process) = (Program::ApiServer, key & ((1 << PODS) - 1), ProcessChange::Ready(ready));
            self.process_statuses.push(ProcessStatus { cluster, program, key, replica, host, process });
        }
    }

    /// The container of an etcd member starts or ends.
    fn container_event(&mut self, member: Option<MemberId>, host: HostId, process: ProcessChange) {
        let Some(member) = member else { return };
        self.fx.container_events.extend(match process {
            ProcessChange::Starts => Some(ContainerEvent::Run { member, host }),
            ProcessChange::Runs | ProcessChange::Ready(_) => None,
            ProcessChange::Stops => Some(ContainerEvent::Terminate { member, host }),
            ProcessChange::Gone(reason) => Some(ContainerEvent::Halt { member, host, reason }),
        });
    }
}
