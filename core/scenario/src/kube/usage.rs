//! What asks the API of a control plane, at rest and in use, and what that asks of etcd.
//!
//! [`IDLE_LOAD`] is the one place where the workload at rest is written down: who, how often, what, and what that rests on. Timers of real
//! components are policy; two rates were fitted on rows of GEP-20's appendix (`docs/validation.md`), which therefore validate nothing.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::KubeClusterSpec;
use super::fairness::request::{ApiCall, Resource};
use crate::{Change, Lease, Op};
use zonefall_kernel::time::Duration;

/// Bytes of an object's key: `/registry/leases/kube-system/kube-controller-manager` and the like.
pub const KEY_BYTES: u32 = 55;

/// Seconds of each minute that a burst lasts (assumed: a third of it).
pub const BURST_S: u64 = 20;

/// Who is told of what is written: one component stands for all that watch.
pub const WATCHER: &str = KCM;

/// Which of a control plane's etcd clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Objects {
    /// `etcd-main`.
    Main,
    /// `etcd-events`.
    Events,
}

/// Who asks an API server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caller {
    /// Itself: nothing reaches it from outside.
    Server,
    /// The processes of a component of the control plane, or what stands for it.
    Component(String),
    /// Kubelets and users: of a shoot through the load balancer of the seed.
    Outside,
}

/// Something that asks again and again, all of a control plane together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    /// What it is.
    pub what: String,
    /// Who asks.
    pub by: Caller,
    /// What an API server asks of etcd then; `None`: it answers from its watch cache.
    pub etcd: Option<(Objects, Op)>,
    /// How often: times in a million seconds, ...
    pub per_million_s: u64,
    /// ... for each of these.
    pub each: Each,
    /// Times as often while a burst lasts; 1: they come evenly.
    pub burst: u32,
    /// So many of them are simulated request by request: all, none, or a sample for the time they take. The others flow.
    pub one_by_one: u64,
    /// So many more are, while their etcd is disturbed: what they meet tells how available it was, but not how long requests take, of
    /// which they would be more than their share.
    pub while_disturbed: u64,
    /// Bytes of the question's body, from the caller to the server.
    pub question: u32,
    /// Bytes of the answer's.
    pub answer: u64,
    /// How many components watch such objects: each is told of a write, by its own server.
    pub watchers: u32,
    /// User, verb and resource, as flow schemas see them.
    pub call: ApiCall,
    /// Number of times that one is repeated which the API server rejected.
    pub retries: u32,
}

/// What a control plane may have more of at one time than at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Each {
    /// There is one of each control plane.
    Cluster,
    /// An API server.
    Server,
    /// A replica of kube-controller-manager that stands by for its leader.
    Standby,
    /// A node of the cluster, while its kubelet reaches the API.
    Node,
}

/// How many requests an API server works on at a time: one more is turned away at once, with 429 (`WithMaxInFlightLimit` in
/// kubernetes/apiserver@24a394e5, `pkg/server/filters/maxinflight.go`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Requests that change nothing (`--max-requests-inflight`); 0: any number.
    pub reads: u32,
    /// Requests that change something (`--max-mutating-requests-inflight`); 0: any number.
    pub writes: u32,
}

impl InFlight {
    /// The limit that such requests count for. None of them do that a server makes of itself: its loopback client is always let in, and
    /// its checks are no requests of the API.
    pub const fn limit(self, by: &Caller, op: Op) -> Option<NonZeroU32> {
        match (by, op) {
            (Caller::Server, _) | (_, Op::Watch) => None,
            (_, Op::Range { .. }) => NonZeroU32::new(self.reads),
            (_, Op::Put { .. } | Op::Txn { .. } | Op::Grant(_) | Op::Delete { .. }) => NonZeroU32::new(self.writes),
        }
    }
}

/// What a source of the workload at rest does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Writes an object of so many bytes, by a transaction.
    Write(u32),
    /// Writes a record that API servers keep for themselves.
    Keep(u32),
    /// Writes an event of so many bytes.
    Event(u32),
    /// Grants a lease of etcd.
    Grant(Lease),
    /// Reads an object of so many bytes, linearizably.
    Read(u32),
}

/// What there are more of the more there are of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// One of each control plane.
    Cluster,
    /// One of each worker node of the shoot.
    Node,
    /// One of each API server.
    Server,
    /// One of each replica that stands by for a leader.
    Standby,
}

/// What a rate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Timers and limits of real components, and what they are known to do.
    Policy,
    /// Chosen so that these rows of GEP-20's table come out.
    Fitted(&'static [u32]),
}

/// A part of the workload at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// What it is.
    pub what: &'static str,
    /// The component that does it; `""`: the API server itself; `"kubelet"`: from outside.
    pub by: &'static str,
    /// Where its objects are.
    pub objects: Objects,
    /// What it does.
    pub action: Action,
    /// What its objects are.
    pub resource: Resource,
    /// So often ...
    pub times: u64,
    /// ... in so many seconds ...
    pub in_s: u64,
    /// ... for each of these.
    pub per: Per,
    /// All of it in [`BURST_S`] of each minute, evenly; what flows is the mean, and its peak that.
    pub in_bursts: bool,
    /// Components that watch what it writes.
    pub watchers: u32,
    /// What the rate rests on.
    pub basis: Basis,
    /// Where it comes from.
    pub source: &'static str,
}

/// What the workload at rest depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Worker nodes of the shoot.
    pub nodes: u32,
    /// API servers.
    pub servers: u32,
    /// Replicas that stand by for each leader.
    pub standbys: u32,
}

impl Source {
    /// Times in a million seconds.
    pub const fn per_million_s(&self, size: Size) -> u64 {
        let count = match self.per {
            Per::Cluster => 1,
            Per::Node => size.nodes,
            Per::Server => size.servers,
            Per::Standby => size.standbys,
        };
        self.times * count as u64 * 1_000_000 / self.in_s
    }

    /// What etcd is asked.
    pub const fn op(&self) -> Op {
        match self.action {
            Action::Event(value_bytes) => Op::Txn { change: Change::Event, key_bytes: KEY_BYTES, value_bytes },
            Action::Write(value_bytes) => Op::Txn { change: Change::Update, key_bytes: KEY_BYTES, value_bytes },
            Action::Keep(value_bytes) => Op::Txn { change: Change::Own, key_bytes: KEY_BYTES, value_bytes },
            Action::Grant(lease) => Op::Grant(lease),
            Action::Read(value_bytes) => Op::Range { linearizable: true, keys: 1, key_bytes: KEY_BYTES, value_bytes },
        }
    }

    /// As requests, where there are so many worker nodes.
    fn requests(&self, nodes: u32) -> Requests {
        let object = match self.action {
            Action::Write(bytes) | Action::Event(bytes) | Action::Keep(bytes) | Action::Read(bytes) => bytes,
            Action::Grant(_) => 0,
        };
        Requests {
            what: self.what.to_owned(),
            by: match self.by {
                "" => Caller::Server,
                "kubelet" => Caller::Outside,
                component => Caller::Component(component.to_owned()),
            },
            etcd: Some((self.objects, self.op())),
            per_million_s: self.per_million_s(Size { nodes, servers: 1, standbys: 1 }),
            each: match self.per {
                Per::Cluster | Per::Node => Each::Cluster,
                Per::Server => Each::Server,
                Per::Standby => Each::Standby,
            },
            burst: if self.in_bursts { (60 / BURST_S) as u32 } else { 1 },
            one_by_one: 0,
            while_disturbed: 0,
            question: if matches!(self.action, Action::Write(_) | Action::Event(_)) { object } else { 0 },
            answer: object.into(),
            watchers: self.watchers,
            call: self.call(nodes),
            retries: 0,
        }
    }

    /// Of a component one process at a time makes the requests; of kubelets those of all nodes do.
    fn call(&self, nodes: u32) -> ApiCall {
        let (user, users) = match (self.by, self.per) {
            ("kubelet", Per::Node) => (ApiCall::NODE.to_owned(), nodes.max(1)),
            (component, _) => (ApiCall::user_of_component(component), 1),
        };
        let verb = match self.action {
            Action::Read(_) => "get",
            Action::Event(_) => "create",
            Action::Write(_) | Action::Keep(_) | Action::Grant(_) => "update",
        };
        ApiCall { user, users, verb, resource: self.resource }
    }
}

const fn source(
    what: &'static str,
    by: &'static str,
    action: Action,
    (times, in_s, per): (u64, u64, Per),
    source: &'static str,
) -> Source {
    Source {
        what,
        by,
        objects: Objects::Main,
        action,
        resource: Resource::ConfigMaps,
        times,
        in_s,
        per,
        in_bursts: false,
        watchers: 0,
        basis: Basis::Policy,
        source,
    }
}

/// Told to so many components.
const fn watched(watchers: u32, source: Source) -> Source {
    Source { watchers, ..source }
}

/// About leases, which flow schemas tell from other objects.
const fn of_leases(source: Source) -> Source {
    Source { resource: Resource::Leases, ..source }
}

const fn fitted(rows: &'static [u32], source: Source) -> Source {
    Source { basis: Basis::Fitted(rows), ..source }
}

const fn events(source: Source) -> Source {
    Source { objects: Objects::Events, resource: Resource::Events, ..source }
}

const KCM: &str = "kube-controller-manager";
const ELECTIONS: &str =
    "4 leases (controller-manager, scheduler, cloud-controller-manager, cluster-autoscaler), each every 2 s (defaults.csv)";

/// How often API servers compact etcd: `--etcd-compaction-interval` of kube-apiserver.
pub const COMPACTION_INTERVAL: Duration = Duration::from_secs(COMPACTION_S);
const COMPACTION_S: u64 = 300;
const COMPACTIONS: &str = "every 5 min a key is written and the compaction proposed, by one of them (storage/etcd3/compact.go)";

/// The workload of a control plane at rest. Who watches what is assumed: the garbage collector of kube-controller-manager everything, and
/// four components more the nodes.
pub const IDLE_LOAD: [Source; 19] = [
    of_leases(watched(1, source("leaders renew", KCM, Action::Write(400), (2, 1, Per::Cluster), ELECTIONS))),
    of_leases(source("and look before", KCM, Action::Read(400), (2, 1, Per::Cluster), ELECTIONS)),
    of_leases(source(
        "candidates look",
        KCM,
        Action::Read(400),
        (5, 4, Per::Standby),
        "standbys of each of the 4, each every 3.2 s: 2 s with a jitter of up to 1.2 (defaults.csv)",
    )),
    of_leases(watched(
        1,
        source(
            "CSI sidecars renew",
            "csi-driver-controller",
            Action::Write(400),
            (1, 1, Per::Cluster),
            "5 sidecars, each every 5 s (csi-lib-utils, not verified)",
        ),
    )),
    of_leases(source("CSI sidecars look before", "csi-driver-controller", Action::Read(400), (1, 1, Per::Cluster), "as often")),
    of_leases(watched(
        1,
        source(
            "kubelets renew node leases",
            "kubelet",
            Action::Write(450),
            (1, 10, Per::Node),
            "each every 10 s (defaults.csv); size not verified",
        ),
    )),
    source("API servers renew their own leases", "", Action::Keep(100), (1, 10, Per::Server), "each every 10 s (not verified)"),
    source(
        "with a lease of etcd",
        "",
        Action::Grant(Lease::ApiServer),
        (1, 10, Per::Server),
        "each renewal grants one: of its 15 s at most 5 % may have passed for it to be used again (storage/etcd3/lease_manager.go)",
    ),
    watched(5, source("status of nodes, endpoints and the like", KCM, Action::Write(2_048), (1, 2, Per::Cluster), "assumed")),
    source("API servers check etcd", "", Action::Read(60), (1, 5, Per::Server), "2 checks in 10 s (not verified)"),
    source("API servers list their leases", "", Action::Read(100), (1, 10, Per::Server), "with each renewal (not verified)"),
    events(source(
        "API servers check the etcd of events",
        "",
        Action::Read(60),
        (1, 5, Per::Server),
        "2 checks in 10 s (not verified)",
    )),
    source("a sidecar checks etcd", "", Action::Read(60), (1, 5, Per::Cluster), "each 5 s (not verified)"),
    fitted(
        &[6],
        source(
            "other quorum reads: monitors, care controllers, admission",
            KCM,
            Action::Read(2_048),
            (9, 1, Per::Cluster),
            "a rate",
        ),
    ),
    Source {
        in_bursts: true,
        ..fitted(
            &[1],
            source(
                "a controller's minutely sync (gardener-resource-manager)",
                "gardener-resource-manager",
                Action::Read(2_048),
                (26, 3, Per::Cluster),
                "a rate, 26/s while it lasts; the sync period of a minute is not verified",
            ),
        )
    },
    source("API servers compact", "", Action::Keep(16), (2, COMPACTION_S, Per::Cluster), COMPACTIONS),
    events(source("API servers compact the etcd of events", "", Action::Keep(16), (2, COMPACTION_S, Per::Cluster), COMPACTIONS)),
    events(source("events", "kubelet", Action::Event(700), (1, 300, Per::Node), "0.2 of each node in a minute, assumed")),
    events(source(
        "with leases of an hour",
        "",
        Action::Grant(Lease::Event),
        (1, 60, Per::Server),
        "a server attaches the events of a minute to one lease (storage/etcd3/lease_manager.go; fewer where fewer events come)",
    )),
];

impl KubeClusterSpec {
    /// What asks its API, counted or not.
    pub fn asked(&self) -> &[Requests] {
        if self.requests.is_empty() { &self.background } else { &self.requests }
    }

    /// The same, to be changed.
    pub fn asked_mut(&mut self) -> &mut [Requests] {
        if self.requests.is_empty() { &mut self.background } else { &mut self.requests }
    }
}

/// The workload at rest of a control plane whose shoot has so many worker nodes.
pub fn idle_load(nodes: u32) -> Vec<Requests> {
    IDLE_LOAD.iter().map(|source| source.requests(nodes)).filter(|requests| requests.per_million_s > 0).collect()
}

/// The workload at rest of a cluster whose API servers run on hosts (kubeadm), with so many nodes; `None`: those that it has at the time.
///
/// Its one etcd holds the events, too: no API server watches them there (`watch-cache-sizes`), and none checks another etcd.
pub fn stacked_idle_load(nodes: Option<u32>) -> Vec<Requests> {
    let is_of_another_etcd = |source: &Source| source.objects == Objects::Events && source.op().lease().is_none();
    let sources = IDLE_LOAD.iter().filter(|source| !is_of_another_etcd(source));
    let requests = sources.map(|source| {
        let mut requests = source.requests(nodes.unwrap_or(1));
        if nodes.is_none() && source.per == Per::Node {
            requests.each = Each::Node;
        }
        if let Some((objects, _)) = &mut requests.etcd {
            *objects = Objects::Main;
        }
        requests
    });
    requests.filter(|requests| requests.per_million_s > 0).collect()
}
