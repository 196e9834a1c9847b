//! What the handlers of a cluster see and ask for, and the ports to what lies beside Kubernetes.

use std::any::{Any, TypeId};
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::event::KubeEvent;
use crate::name::PodName;
use crate::record::{KubeRecord, Replica, Verb};
use crate::services::Services;
use crate::spec::{Component, KubeClusterSpec, Role};
use zonefall_cloud::Cloud;
use zonefall_kernel::outbox::Outbox;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::traced;
use zonefall_network::process::StopReason;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::{ApiClientId, EtcdId, KubeClusterId, MemberId, NodeId, NodeKey, PodId};
use zonefall_scenario::{Scenario, Vantage};

/// What etcd answers, and when: the storage of an API.
pub trait Storage: Debug {
    /// Members of a cluster, past and future ones included.
    fn members(&self, etcd: EtcdId) -> u8;
    /// Where a member runs, or is to run.
    fn host(&self, member: MemberId) -> HostId;
    /// Number of the life of a member's process; `None` while none runs.
    fn life(&self, member: MemberId) -> Option<u64>;
    /// Whether the process of a member is frozen: its kernel keeps connections, and nobody answers.
    fn is_frozen(&self, member: MemberId) -> bool;
    /// Whether a member is a voter that belongs to its cluster and serves, and that its Service lists.
    fn is_endpoint(&self, member: MemberId) -> bool;
    /// Whether the pod of a member is ready: it serves or stands by.
    fn is_ready(&self, member: MemberId) -> bool;
    /// Whether the Service of etcd lists a member.
    fn is_listed(&self, member: MemberId) -> bool;
    /// Whether a member is known to be behind the one that serves.
    fn lags(&self, member: MemberId) -> bool;
    /// Whether a member has a vote and serves with it.
    fn serves_as_voter(&self, member: MemberId) -> bool;
    /// The leader of a cluster.
    fn leader(&self, etcd: EtcdId) -> Option<u8>;
    /// How long a linearizable read at a member, or a write, takes there; `None`: it is not answered.
    fn time_at(&self, member: MemberId, verb: Verb, net: &Network) -> Option<Duration>;
    /// From where clients use a cluster.
    fn vantages(&self, etcd: EtcdId, net: &Network) -> Vec<Vantage>;
    /// Bytes of a snapshot that can be uploaded to the backup bucket now.
    fn snapshot_bytes(&self, etcd: EtcdId, now: Time, net: &Network) -> Option<u64>;
}

/// A program that asks the API of its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ApiClient {
    /// The kubelet of a node.
    Kubelet(NodeKey),
    /// A process of a component that elects its leader, by its key.
    Candidate(Component, u32),
    /// A process of a further client ([`KubeClusterSpec::api_clients`]), and the node that it runs on.
    Further(ApiClientId, NodeId),
}

traced! { enum ApiClient { Kubelet(node) = 0, Candidate(component, key) = 1, Further(client, node) = 2 } }

/// Route of a client's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The nearest server that answers; for a component on a control-plane host the server there (kubeadm), or any.
    Nearest,
    /// One server, over an open connection.
    Server {
        /// Key of the server.
        key: u32,
        /// Time of the way there and back.
        way: Duration,
    },
    /// None: no open connection.
    Nowhere {
        /// Requests wait for a reply to the dial, or on a silent connection. Else they fail at once.
        waits: bool,
    },
}

/// A client that knows only the original host of an API and connects to it now, as each run of kubectl does.
#[derive(Clone, Copy, Debug)]
pub struct NewClient<'a> {
    /// Where it is.
    pub from: Vantage,
    /// It waits this long for an answer.
    pub deadline: Duration,
    /// Keys of the API servers that accept connections.
    pub listening: &'a [u32],
    /// Hosts and paths.
    pub net: &'a Network,
    /// The scenario.
    pub scenario: &'a Scenario,
}

/// An end that the connection of a new client may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewConnection {
    /// Its chance; those of all ends add up to 1.
    pub chance: f64,
    /// Key of the server that accepts it, and the time of all dials with that of the way there and back; `None`: no server does in time.
    pub server: Option<(u32, Duration)>,
}

/// Which API server each client reaches.
pub trait ApiPath: Debug {
    /// Route of a client's requests at this time.
    fn route(&self, cluster: KubeClusterId, client: ApiClient) -> Route;

    /// Ends of the connection of a new client; `None`: it reaches the servers that are ready, as no load balancer stands before them.
    fn new_connections(&self, cluster: KubeClusterId, client: &NewClient<'_>) -> Option<Vec<NewConnection>>;
}

/// Every client reaches the nearest server.
#[derive(Clone, Copy, Debug)]
pub struct NearestServer;

impl ApiPath for NearestServer {
    fn route(&self, _: KubeClusterId, _: ApiClient) -> Route {
        Route::Nearest
    }

    fn new_connections(&self, _: KubeClusterId, _: &NewClient<'_>) -> Option<Vec<NewConnection>> {
        None
    }
}

/// Where events and records go.
pub trait KubeOutbox: Outbox<(KubeClusterId, KubeEvent), (KubeClusterId, KubeRecord)> {
    /// Tells a fact of a controller that Kubernetes does not know, in the same order.
    fn record_other(&mut self, record: &dyn Any);
}

/// What handlers ask for besides events and records.
#[derive(Clone, Debug, Default)]
pub struct KubeEffects {
    /// Containers of etcd members that start or end.
    pub container_events: Vec<ContainerEvent>,
    /// Clusters of etcd whose Service hints others than before.
    pub hinted: Vec<EtcdId>,
    /// Machines that are deleted.
    pub deleted_vms: Vec<HostId>,
    /// Clusters whose API answers a kubelet from now on, or no longer.
    pub kubelets_changed: Vec<KubeClusterId>,
    /// Clusters with [`KubeClusterSpec::access`] whose API servers or clients may have changed.
    pub servers_changed: Vec<KubeClusterId>,
}

impl KubeEffects {
    /// Nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.container_events.is_empty()
            && self.hinted.is_empty()
            && self.deleted_vms.is_empty()
            && self.kubelets_changed.is_empty()
            && self.servers_changed.is_empty()
    }
}

/// What becomes of the process of an etcd member that is a container.
#[derive(Clone, Copy, Debug)]
pub enum ContainerEvent {
    /// It starts.
    Run {
        /// Member of etcd.
        member: MemberId,
        /// Host that its container runs on.
        host: HostId,
    },
    /// It is asked to stop.
    Terminate {
        /// Member of etcd.
        member: MemberId,
        /// Host that its container runs on.
        host: HostId,
    },
    /// It is no more.
    Halt {
        /// Member of etcd.
        member: MemberId,
        /// Host that its container ran on.
        host: HostId,
        /// Why it stopped.
        reason: StopReason,
    },
    /// The Service lists it for new connections, or does not.
    List {
        /// Member of etcd.
        member: MemberId,
        /// Whether it is listed.
        listed: bool,
    },
}

/// What all clusters see and ask for.
#[derive(Debug)]
pub struct KubeCtx<'a> {
    /// The current time.
    pub now: Time,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Hosts and paths.
    pub net: &'a mut Network,
    /// The etcd clusters.
    pub storage: &'a dyn Storage,
    /// Which API server each client reaches.
    pub path: &'a dyn ApiPath,
    /// Where machines and volumes come from.
    pub cloud: &'a mut Cloud,
    /// What controllers that Kubernetes does not know share over all clusters.
    pub shared: &'a mut dyn Any,
    /// Takes events and records.
    pub out: &'a mut (dyn KubeOutbox + 'static),
    /// What else is asked for.
    pub fx: &'a mut KubeEffects,
}

/// What one cluster sees and asks for.
#[derive(Debug)]
pub struct ClusterCtx<'a> {
    /// The current time.
    pub now: Time,
    /// Number of the cluster.
    pub cluster: KubeClusterId,
    /// The cluster as the scenario has it.
    pub spec: &'a KubeClusterSpec,
    /// All of the scenario.
    pub scenario: &'a Scenario,
    /// From a write until those who watch are notified: as long as the API takes to write now.
    pub latency: Duration,
    /// Seed of all draws.
    pub seed: u64,
    /// How periodic work is simulated.
    pub stepping: Stepping,
    /// Hosts and paths.
    pub net: &'a mut Network,
    /// The etcd clusters.
    pub storage: &'a dyn Storage,
    /// Which API server each client reaches.
    pub path: &'a dyn ApiPath,
    /// Where machines and volumes come from.
    pub cloud: &'a mut Cloud,
    /// What controllers that Kubernetes does not know share over all clusters.
    pub shared: &'a mut dyn Any,
    /// What Services of etcd tell those who dial.
    pub services: &'a mut Services,
    /// Takes events and records.
    pub out: &'a mut (dyn KubeOutbox + 'static),
    /// What else is asked for.
    pub fx: &'a mut KubeEffects,
    /// What other clusters are to be notified of.
    pub process_statuses: &'a mut Vec<ProcessStatus>,
    /// Place of the controller in the table that is at work.
    pub controller: u8,
    /// Keys for work queues.
    pub notifications: Vec<Notification>,
}

/// A key for a work queue.
#[derive(Clone, Copy, Debug)]
pub struct Notification {
    /// Type of the controller; `None`: the one that is at work.
    pub controller: Option<TypeId>,
    /// Its work queue.
    pub queue: u8,
    /// Key of the object.
    pub key: u32,
}

/// What has become of a process that serves the API of a cluster or acts through it.
#[derive(Clone, Copy, Debug)]
pub struct ProcessStatus {
    /// The cluster that is to be notified of it.
    pub cluster: KubeClusterId,
    /// Program that it runs.
    pub program: Program,
    /// Tells it from the cluster's other processes of this program.
    pub key: u32,
    /// The process, as records name it.
    pub replica: Replica,
    /// Host that it runs on.
    pub host: HostId,
    /// What has become of it.
    pub process: ProcessChange,
}

/// A program that makes a cluster work.
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
    /// It is ready for clients, or no longer: what the cluster of its pod is notified of.
    Ready(bool),
}

/// Bits of the number of a pod.
const PODS: u32 = 24;

impl ClusterCtx<'_> {
    /// Queues an event of this cluster.
    pub fn schedule(&mut self, at: Time, event: KubeEvent) {
        self.out.schedule(at, (self.cluster, event));
    }

    /// Tells a fact of this cluster.
    pub fn record(&mut self, record: KubeRecord) {
        self.out.record((self.cluster, record));
    }

    /// A stream of draws for something of this cluster.
    pub fn draws(&self, purpose: Purpose, entity: u32) -> Stream {
        Stream::new(self.seed, purpose, u64::from(self.cluster.0) << 32 | u64::from(entity))
    }

    /// Notifies the cluster that a pod works for (as an etcd member: `member`), if it does, of what becomes of its process on a host.
    /// (Before a process runs again the one before it is gone.)
    pub fn report_status(&mut self, id: PodId, name: PodName, member: Option<MemberId>, host: HostId, process: ProcessChange) {
        let workload = &self.spec.workloads[name.workload];
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

    /// Notifies the kubelet of an API server, if it is a pod, of whether it is ready for clients. (On a host nobody probes it.)
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
