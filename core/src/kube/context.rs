//! What a plane's handlers see and ask for.

use crate::etcd::cluster::Cluster;
use crate::gardener::machine::cloud::Cloud;
use crate::ids::PlaneId;
use crate::kernel::rng::{Purpose, Stream};
use crate::kernel::time::Time;
use crate::kube::event::KubeEvent;
use crate::kube::name::PodName;
use crate::kube::record::KubeRecord;
use crate::kube::spec::{PlaneSpec, Role};
use crate::network::{HostId, Network};
use crate::record::{Record, StopReason};
use crate::scenario::Scenario;
use crate::sim::Exact;
use crate::sim::event::{Effects, Event};

/// What all planes see and ask for.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// Now.
    pub now: Time,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Hosts and paths.
    pub net: &'a mut Network,
    /// The etcd clusters.
    pub etcd: &'a [Cluster],
    /// Where machines come from.
    pub cloud: &'a mut Cloud,
    /// What is asked for.
    pub fx: &'a mut Effects,
}

/// What one plane sees and asks for.
#[derive(Debug)]
pub struct Cx<'a> {
    /// Now.
    pub now: Time,
    /// Which plane.
    pub plane: PlaneId,
    /// The plane as the scenario has it.
    pub spec: &'a PlaneSpec,
    /// Seed of all draws.
    pub seed: u64,
    /// How periodic work is simulated.
    pub exact: Exact,
    /// Hosts and paths.
    pub net: &'a mut Network,
    /// The etcd clusters.
    pub etcd: &'a [Cluster],
    /// Where machines come from.
    pub cloud: &'a mut Cloud,
    /// What is asked for.
    pub fx: &'a mut Effects,
    /// What others than this plane want to hear of it.
    pub signals: Vec<Signal>,
}

/// What has happened in a plane that others depend on.
#[derive(Clone, Copy, Debug)]
pub enum Signal {
    /// Of a pod's process.
    Process {
        /// The pod.
        pod: PodName,
        /// What it is for.
        role: Role,
        /// Where it runs.
        host: HostId,
        /// What has happened.
        state: ProcessState,
    },
}

/// What happens to a pod's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// Its container starts.
    Starts,
    /// It is ready, as its kubelet sees it.
    Runs,
    /// It is asked to stop.
    Stops,
    /// It is no more.
    Gone(StopReason),
}

impl Cx<'_> {
    /// Queues an event of this plane.
    pub fn schedule(&mut self, at: Time, event: KubeEvent) {
        self.fx.schedule.push((at, Event::Kube(self.plane, event)));
    }

    /// Tells something of this plane.
    pub fn record(&mut self, record: KubeRecord) {
        self.fx.record(Record::Kube(self.plane, record));
    }

    /// A stream of draws for something of this plane.
    pub fn draws(&self, purpose: Purpose, entity: u32) -> Stream {
        Stream::new(self.seed, purpose, u64::from(self.plane.0) << 32 | u64::from(entity))
    }
}
