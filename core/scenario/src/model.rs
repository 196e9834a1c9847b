//! A scenario that cannot be invalid: what the engine runs.
//!
//! Names are resolved to ids, units to integers, ranges checked. Only validation (and tests) build one.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::expect::Expectation;
use crate::fault::Fault;
use crate::ids::{ClientId, EtcdId, FaultId, MemberId, NodeId, TiVec, VolumeId, ZoneId};
use crate::kube::KubeModel;
use crate::load::Client;
use crate::options::EtcdOptions;
use crate::prices::Prices;
use crate::source::{Contradiction, Input};
use zonefall_kernel::dist::Latency;
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

/// A zone of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Index into [`Scenario::regions`].
    pub region: u16,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Where it stands.
    pub zone: ZoneId,
}

/// A zonal volume: it outlives processes and nodes, and never leaves its zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Its name, unique in the scenario.
    pub name: String,
    /// The zone it is in.
    pub zone: ZoneId,
    /// How fast it is.
    pub disk: Disk,
}

/// Speed of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Time of one fsync, without the transfer of its bytes.
    pub fsync: Latency,
    /// Sequential throughput in bytes per second.
    pub bytes_per_s: u64,
    /// Operations per second, each of up to [`IO_BYTES`]; `None`: as many as the throughput allows.
    pub iops: Option<u64>,
}

/// Most bytes of one operation of a volume: 256 KiB.
pub const IO_BYTES: u64 = 256 << 10;

/// How one zone pair (or the inside of a zone or a host) carries packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// One-way delay that every packet has.
    pub delay: Duration,
    /// Further one-way delay, drawn per message.
    pub jitter: Latency,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Throughput of one connection in bytes per second.
    pub bytes_per_s: u64,
}

/// Delays, loss, bandwidth and wire options of the whole world.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Directed zone pairs, row-major: `paths[from * zones + to]`; the diagonal is the inside of a zone.
    pub paths: Vec<Path>,
    /// Between two endpoints on one node.
    pub same_host: Path,
    /// TLS between members and from clients.
    pub tls: bool,
    /// Bytes of a member's certificate: both sides of a handshake send theirs.
    pub certificate_bytes: u32,
}

/// Bytes of a certificate (RSA with 2,048 bits, few names): of every scenario file's.
pub const CERTIFICATE_BYTES: u32 = 850;

/// An etcd cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct EtcdClusterSpec {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Timers, sizes and dialect.
    pub options: EtcdOptions,
    /// The first leader: the run starts with a settled cluster. `None`: the members start at time zero and elect one.
    pub initial_leader: Option<u8>,
    /// Log index (and revision) every member has committed and applied at the start.
    pub revision: u64,
    /// Size of the database at the start, in bytes.
    pub database_bytes: u64,
    /// Its members' processes are containers of pods (see [`Role::Etcd`](crate::kube::Role::Etcd)): they run while their pods do.
    pub managed: bool,
    /// Only one of its two members serves at a time; `None`: a majority of the voters does.
    pub passive: Option<crate::passive::ActivePassive>,
    /// Members, those of [`Operation`]s that add one included.
    pub members: Vec<Member>,
}

/// A member of an etcd cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name; unique among the members that are in the cluster at one time.
    pub name: String,
    /// The node its process runs on; of one that is a container, at the start (and nothing but a place holder for one that joins later).
    pub node: NodeId,
    /// Where its data is.
    pub volume: VolumeId,
    /// Without a vote (from the start, or when added).
    pub learner: bool,
    /// In the cluster from the start; otherwise an operation adds it.
    pub initial: bool,
    /// Starts behind the cluster: its own revision and database size in bytes.
    pub behind: Option<(u64, u64)>,
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

/// Work of an operator on a cluster's membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When it is asked for.
    pub at: Time,
    /// What is asked, of whichever member leads then.
    pub change: MemberChange,
}

/// A change of membership, one at a time as etcd does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberChange {
    /// Add this member (its `initial` is false) and start it once the change is committed.
    Add(MemberId),
    /// Remove it.
    Remove(MemberId),
    /// Give a learner its vote.
    Promote(MemberId),
}

/// How availability is judged: see `observe::availability` of zonefall-core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Where the probe stands; `None`: in the best placed zone.
    pub from: Option<ZoneId>,
    /// An answer that takes longer than this is no answer.
    pub deadline: Duration,
}

impl EtcdClusterSpec {
    /// Where every log ends at the start: a settled cluster has at least its leader's first, empty entry.
    pub fn first_index(&self) -> u64 {
        self.revision.max(u64::from(self.initial_leader.is_some()))
    }

    /// The member that a pod of the cluster is: it is another with each of its volumes, of which `volumes` came before. (Members of one
    /// name take turns.) `None`: there are no more.
    pub fn of_pod(&self, ordinal: u32, volumes: u8) -> Option<u8> {
        let name = &self.members.get(ordinal as usize)?.name;
        let turns = (0..).zip(&self.members).filter(|(_, member)| member.name == *name);
        turns.map(|(index, _)| index).nth(usize::from(volumes))
    }
}

impl Scenario {
    /// The member.
    pub fn member(&self, id: MemberId) -> &Member {
        &self.etcd[id.cluster].members[id.index as usize]
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
