//! A scenario that cannot be invalid: what the engine runs.
//!
//! Names are resolved to ids, units to integers, ranges checked. Only validation (and tests) build one.

use serde::{Deserialize, Serialize};

use crate::access::LoadBalancer;
use crate::error::Error;
use crate::etcd::{EtcdClusterSpec, MaintenanceOperation, Member, Operation};
use crate::expect::Expectation;
use crate::fault::Fault;
use crate::ids::{BalancerId, ClientId, EtcdId, FaultId, MemberId, NodeId, TiSlice, TiVec, VolumeId, ZoneId};
use crate::inventory::Inventory;
use crate::kube::KubeModel;
use crate::load::Client;
use crate::prices::Prices;
use crate::probe::Probe;
use crate::source::{Contradiction, Input};
use crate::topology::{Network, Node, Volume, Zone};
use zonefall_kernel::time::{Duration, Time};

/// What to simulate, for how long, under which load and faults, and what must come out.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Short name, as in `scenarios/<name>.json`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What the story shows.
    pub description: String,
    /// Seed of every random draw unless the caller names another.
    pub seed: u64,
    /// Simulated time of the run.
    pub duration: Duration,
    /// Regions, each with a name.
    pub regions: Vec<String>,
    /// Zones of all regions.
    pub zones: TiVec<ZoneId, Zone>,
    /// Nodes (machines).
    pub nodes: TiVec<NodeId, Node>,
    /// Zonal volumes. A member without a named volume has one of its own, named after it, in its node's zone.
    pub volumes: TiVec<VolumeId, Volume>,
    /// Delays, loss, bandwidth and wire options.
    pub network: Network,
    /// etcd clusters, at least one.
    pub etcd: TiVec<EtcdId, EtcdClusterSpec>,
    /// Kubernetes clusters.
    pub kube: KubeModel,
    /// Load balancers in front of API servers.
    pub load_balancers: TiVec<BalancerId, LoadBalancer>,
    /// What is charged for what runs.
    pub prices: Prices,
    /// Clients of etcd.
    pub clients: TiVec<ClientId, Client>,
    /// Planned faults.
    pub faults: Vec<PlannedFault>,
    /// Random fault processes.
    pub random_faults: Vec<RandomFaults>,
    /// Planned work of an operator.
    pub operations: Vec<Operation>,
    /// Work on the databases of etcd clusters, in order of time.
    pub maintenance: Vec<MaintenanceOperation>,
    /// How availability is judged.
    pub probe: Probe,
    /// What must come out.
    pub expect: Vec<Expectation>,
    /// Moments at which the report says how everything stands, as written and as meant.
    pub observe_at: Vec<(String, Time)>,
    /// Where what the file says comes from, as far as it says so.
    pub inputs: Vec<Input>,
    /// What a source says and no run can show.
    pub contradictions: Vec<Contradiction>,
    /// What the file may say and probably does not mean, one for each path; nothing of it changes the run.
    pub warnings: Vec<Error>,
}

/// A fault with its time and its end.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    /// When it starts.
    pub at: Time,
    /// How long it lasts; `None`: to the end of the run.
    pub lasts: Option<Duration>,
    /// What breaks.
    pub fault: Fault,
}

/// Time between failures, or to repair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lifetime {
    /// Memoryless, with this mean.
    Exponential {
        /// Mean of the distribution.
        mean: Duration,
    },
    /// Wearing out (`shape` > 1) or infant mortality (`shape` < 1).
    Weibull {
        /// Scale (63.2 % have failed by then).
        scale: Duration,
        /// Shape of the distribution.
        shape: f64,
    },
    /// Multiplicative spread.
    LogNormal {
        /// Median of the distribution.
        median: Duration,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

/// What a random process breaks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RandomTarget {
    /// The node loses power.
    Node(NodeId),
    /// The zone loses power.
    Zone(ZoneId),
    /// The volume is lost.
    Volume(VolumeId),
}

/// An alternating renewal process for each thing: up for `between`, down for `repair`.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomFaults {
    /// Each has a process of its own.
    pub targets: Vec<RandomTarget>,
    /// Time from repair to the next failure.
    pub between: Lifetime,
    /// Time to repair.
    pub repair: Lifetime,
}

impl Inventory for Scenario {
    fn zones(&self) -> &TiSlice<ZoneId, Zone> {
        &self.zones
    }

    fn nodes(&self) -> &TiSlice<NodeId, Node> {
        &self.nodes
    }

    fn volumes(&self) -> &TiSlice<VolumeId, Volume> {
        &self.volumes
    }

    fn etcd(&self) -> &TiSlice<EtcdId, EtcdClusterSpec> {
        &self.etcd
    }

    fn kube(&self) -> &KubeModel {
        &self.kube
    }

    fn load_balancers(&self) -> &TiSlice<BalancerId, LoadBalancer> {
        &self.load_balancers
    }
}

impl Scenario {
    /// The member.
    pub fn member(&self, id: MemberId) -> &Member {
        Inventory::member(self, id)
    }

    /// The zone a member's node stands in; that of one whose process is a container, at the start.
    pub fn zone_of(&self, id: MemberId) -> ZoneId {
        self.nodes[self.member(id).node].zone
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.position(|node| node.name == name)
    }

    /// The zone of this name.
    pub fn zone(&self, name: &str) -> Option<ZoneId> {
        self.zones.position(|zone| zone.name == name)
    }

    /// The client.
    pub fn client(&self, id: ClientId) -> &Client {
        &self.clients[id]
    }
}

/// A fault as it happened: what it aimed at is known now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActiveFault {
    /// Its number in this run.
    pub id: FaultId,
    /// The fault, every [`FaultTarget`](crate::FaultTarget) of it named.
    pub fault: Fault,
    /// When it started.
    pub from: Time,
}
