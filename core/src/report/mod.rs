//! The result of a run: plain data, printed as JSON, as a table or as charts.
//!
//! Conventions: names ending in `_s` are seconds since the start of the run (moments) or seconds (lengths), exact to the
//! nanosecond; `_ms` milliseconds; bytes are integers; rates are bytes per second. A moment that has not come is the end of the run,
//! with a flag beside it. The same scenario and seed give the same report on every platform, and, but for `events`, for either
//! value of [`Stepping`](crate::sim::Stepping).

mod access;
mod close_up;
mod cluster;
mod cost;
mod cost_tables;
mod disks;
mod kube;
mod machines;
mod node_pools;
mod pending;
mod refused;
mod rollout;
mod service_traffic;
mod services;
mod vantage;
mod verdict;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use access::*;
pub use close_up::*;
pub use cluster::*;
pub use cost::*;
pub use cost_tables::{CostSplit, TOLERANCE_NOTE, ToleranceTable};
pub use disks::*;
pub use kube::*;
pub use machines::*;
pub use node_pools::*;
pub use pending::*;
pub use refused::*;
pub use rollout::*;
pub use service_traffic::*;
pub use services::*;
pub use verdict::{Paragraph, Phrase};

use crate::kernel::time::{Duration, Time};
use crate::network::ledger::Class;
use crate::scenario::Scenario;
use crate::scenario::expect::Outcome;

/// Value of [`Report::schema`].
pub const SCHEMA: &str = "zonefall.report/2";

/// Fields of a [`Report`] that are about Kubernetes.
pub const KUBE_FIELDS: [&str; 10] = [
    "api",
    "pods",
    "nodes",
    "machines",
    "observed",
    "recovery",
    "recovery_omitted",
    "components",
    "orphaned_containers",
    "counts",
];

/// What one run of one scenario came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Its title, one line for people.
    pub title: String,
    /// Seed of every random draw of the run.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub simulated_s: f64,
    /// Events the engine handled: its effort, not a result.
    pub events: u64,
    /// `SipHash` over every record of the run but those inside raft, 16 hexadecimal digits. See [`crate::observe::trace`].
    pub trace_hash: String,
    /// How availability was judged. See [`crate::observe::availability`].
    pub probe: ProbeReport,
    /// Each etcd cluster by name, in the order of the scenario.
    pub etcd: IndexMap<String, EtcdReport>,
    /// Each Kubernetes API by the name of its cluster, in the order of the scenario. Where there is none, JSON has no fields of
    /// Kubernetes at all ([`KUBE_FIELDS`]).
    pub api: IndexMap<String, ApiReport>,
    /// Pods at the end.
    pub pods: Vec<PodReport>,
    /// Nodes at the end.
    pub nodes: Vec<NodeReport>,
    /// Machines at the end.
    pub machines: Vec<MachineReport>,
    /// How everything stood at each of the scenario's `observe_at`.
    pub observed: Vec<ObservedReport>,
    /// Pods that stopped serving and how each was replaced, in order; at most 10,000.
    pub recovery: Vec<RecoveryReport>,
    /// Pods that did not fit into [`Report::recovery`].
    pub recovery_omitted: u64,
    /// Components that lost a pod.
    pub components: Vec<ComponentReport>,
    /// Pods that ran on though their object was gone.
    pub orphaned_containers: Vec<OrphanedContainerReport>,
    /// Control planes and workloads that are not there, or not whole. Not in JSON where all are.
    #[serde(default)]
    pub pending: Option<PendingReport>,
    /// Changes that were asked for and refused, in order. Not in JSON where there are none.
    #[serde(default)]
    pub refused: Vec<RefusedReport>,
    /// Nodes that an operator drains, in order. Not in JSON where there are none.
    #[serde(default)]
    pub drains: Vec<DrainReport>,
    /// Shoots that were asked to move to another seed, in order. Not in JSON where there are none.
    #[serde(default)]
    pub migrations: Vec<MigrationReport>,
    /// Services of clusters without Gardener, cluster by cluster. Not in JSON where there are none.
    #[serde(default)]
    pub services: Vec<ServiceReport>,
    /// Connections of Services' clients, where the scenario says of any. Not in JSON where there are none.
    #[serde(default)]
    pub service_traffic: Vec<ServiceTrafficReport>,
    /// While Services had topology hints, and why not, Service by Service. Not in JSON where none asks for them.
    #[serde(default)]
    pub hints: Vec<HintsReport>,
    /// Pools of clusters whose autoscaler has options, with what each scan made of their node groups. Not in JSON where there are none.
    #[serde(default)]
    pub node_pools: Vec<NodePoolReport>,
    /// Rollouts of workloads of clusters without Gardener, in order. Not in JSON where there are none.
    #[serde(default)]
    pub rollouts: Vec<RolloutReport>,
    /// Times without quorum of workloads with `quorum`, in order. Not in JSON where there are none.
    #[serde(default)]
    pub quorum_losses: Vec<StoreLossReport>,
    /// What budgets of clusters without Gardener let evictions do, cluster by cluster. Not in JSON where there are none.
    #[serde(default)]
    pub budgets: Vec<BudgetReport>,
    /// Disks that pods use by name. Not in JSON where there are none.
    #[serde(default)]
    pub disks: Vec<DiskReport>,
    /// Outages as clients of the API saw them, in clusters with `api_access`. Not in JSON where there are none.
    #[serde(default)]
    pub access: Vec<AccessReport>,
    /// What stays skewed at the end though a zone is back, and what to do about it. Not in JSON where there is nothing.
    #[serde(default)]
    pub failback: Vec<FailbackReport>,
    /// Nodes, pods and machines over time, by cluster.
    pub counts: IndexMap<String, CountsReport>,
    /// Messages by what they are, counted where they are sent: as many bytes and packets as in [`Report::links`].
    #[serde(default)]
    pub messages: Vec<MessageReport>,
    /// Bytes between every two endpoints that have exchanged any, ordered by sender and receiver.
    pub links: Vec<LinkReport>,
    /// The same by zone pair (the inside of a zone included), ordered as the zones of the scenario.
    pub zone_pairs: Vec<ZonePairReport>,
    /// Length of one window of [`ZonePairReport::wire_bytes_per_s`], in seconds.
    pub traffic_window_s: f64,
    /// Length of one window of [`LatencyReport::windows`], in seconds: the same, so that both share an axis.
    pub latency_window_s: f64,
    /// What everything costs in a month, where the scenario has prices: by provider, kind, shoot, component and zones.
    #[serde(default)]
    pub cost: Vec<CostReport>,
    /// The prices that this rests on.
    #[serde(default)]
    pub prices: Vec<PriceReport>,
    /// Costs over time.
    #[serde(default)]
    pub bill: Option<BillReport>,
    /// What a shoot costs in a month, by what it survives. Not in JSON where all survive the same.
    #[serde(default)]
    pub tolerance_cost: Vec<ToleranceCostReport>,
    /// Faults in the order they started.
    pub faults: Vec<FaultReport>,
    /// What happened, in plain words and in order, without requests; at most [`STORY_LIMIT`](crate::observe::story::STORY_LIMIT).
    pub story: Vec<StoryLine>,
    /// Lines that did not fit into [`Report::story`].
    pub story_omitted: u64,
    /// How the scenario's expectations fared, in its order; judged at the end of a run (see [`Report::judge`]).
    pub expectations: Vec<ExpectationReport>,
    /// Broken invariants: each is a bug of the simulator. (That no byte is lost between [`Report::messages`] and [`Report::links`] is looked
    /// at in every run, the others where it was asked for.) Not in JSON where there are none.
    #[serde(default)]
    pub violations: Vec<ViolationReport>,
}

/// How availability was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// Whose availability counts: `worst` of all vantages that are not cut off themselves, `best`, `outside`, or a zone.
    pub from: String,
    /// An answer that takes longer than this, in seconds, is no answer.
    pub deadline_s: f64,
}

/// Messages of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageReport {
    /// What they are.
    pub class: Class,
    /// Messages sent.
    pub count: u64,
    /// Application bytes.
    pub bytes: u64,
    /// Bytes on the wire: what was lost and sent again included, and the pure ACKs that answer them.
    pub wire_bytes: u64,
    /// Packets on the wire.
    pub packets: u64,
}

/// Bytes one endpoint sent to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// The cluster that the endpoints belong to or talk to.
    pub cluster: String,
    /// Sender: name of a member or a client.
    pub from: String,
    /// Receiver: name of a member or a client.
    pub to: String,
    /// Zone of the sender.
    pub from_zone: String,
    /// Zone of the receiver.
    pub to_zone: String,
    /// Application bytes: what the programs wrote (HTTP framing included, TLS and below not).
    pub bytes: u64,
    /// Bytes on the wire: with TLS records, Ethernet, IP and TCP headers, and pure ACKs of the other direction's data.
    pub wire_bytes: u64,
    /// Packets on the wire.
    pub packets: u64,
    /// `wire_bytes` over the simulated time, in bytes per second.
    pub mean_wire_bytes_per_s: f64,
    /// The largest mean over a window of ten seconds (windows laid end to end from the start), in bytes per second.
    pub peak_wire_bytes_per_s: f64,
}

/// Bytes one zone sent to another, or between endpoints inside one zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZonePairReport {
    /// Zone of the senders.
    pub from_zone: String,
    /// Zone of the receivers.
    pub to_zone: String,
    /// Application bytes.
    pub bytes: u64,
    /// Bytes on the wire.
    pub wire_bytes: u64,
    /// `wire_bytes` over the simulated time, in bytes per second.
    pub mean_wire_bytes_per_s: f64,
    /// The largest of [`ZonePairReport::wire_bytes_per_s`], in bytes per second.
    pub peak_wire_bytes_per_s: f64,
    /// Mean over each window of [`Report::traffic_window_s`], from the start; the last may be shorter. Bytes per second.
    pub wire_bytes_per_s: Vec<f64>,
}

/// A fault as it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultReport {
    /// When it started, in seconds.
    pub from_s: f64,
    /// When it ended, in seconds.
    pub to_s: f64,
    /// Whether it had ended when the run did.
    pub completed: bool,
    /// What broke, in plain words: `zone eu-west-1a lost power`.
    pub what: String,
}

/// One line of the event list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoryLine {
    /// When, in seconds.
    pub at_s: f64,
    /// What, in plain words.
    pub text: String,
    /// What kind of event it is.
    pub kind: StoryKind,
    /// Name of the etcd or Kubernetes cluster it happens to; null: it is about zones, nodes or links.
    pub cluster: Option<String>,
    /// Names of the members, nodes, zones or volumes it is about; may be empty.
    pub about: Vec<String>,
    /// Something that was wrong is right again: a fault ended, a member serves, a leader is elected, a service is there.
    pub completed: bool,
}

/// Kinds of events in the event list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryKind {
    /// A fault began or ended.
    Fault,
    /// Who leads.
    Election,
    /// A member's process started, stopped or refused to start.
    Member,
    /// A change of membership.
    Membership,
    /// A database on its way, full or compacted, or a member that has caught up.
    Snapshot,
    /// A service, or an API, came or went.
    Availability,
    /// Committed data is gone.
    Loss,
    /// A node, or the nodes of a zone, as Kubernetes sees them.
    Node,
    /// A machine, as it is made, fails and goes.
    Machine,
    /// A pod for which there is no place, or that is in two.
    Pod,
}

/// How an expectation fared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectationReport {
    /// Whether it holds.
    pub ok: bool,
    /// The place in this report.
    pub that: String,
    /// What stands there, or why nothing does.
    pub actual: String,
    /// What must stand there.
    pub expected: String,
    /// Why, as the scenario says; may be empty.
    pub because: String,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViolationReport {
    /// When it was noticed, in seconds.
    pub at_s: f64,
    /// The property: `election safety`, ...
    pub property: String,
    /// What was seen.
    pub text: String,
}

impl Report {
    /// As JSON, as the command line prints it.
    pub fn to_json(&self) -> Value {
        let mut json = serde_json::to_value(self).expect("a report is plain data");
        if let Value::Object(fields) = &mut json {
            let nothing = [
                ("violations", self.violations.is_empty()),
                ("pending", self.pending.is_none()),
                ("refused", self.refused.is_empty()),
                ("drains", self.drains.is_empty()),
                ("migrations", self.migrations.is_empty()),
                ("services", self.services.is_empty()),
                ("service_traffic", self.service_traffic.is_empty()),
                ("hints", self.hints.is_empty()),
                ("node_pools", self.node_pools.is_empty()),
                ("rollouts", self.rollouts.is_empty()),
                ("quorum_losses", self.quorum_losses.is_empty()),
                ("budgets", self.budgets.is_empty()),
                ("disks", self.disks.is_empty()),
                ("access", self.access.is_empty()),
                ("failback", self.failback.is_empty()),
                ("cost", self.bill.is_none()),
                ("prices", self.bill.is_none()),
                ("bill", self.bill.is_none()),
                ("tolerance_cost", self.tolerance_cost.is_empty()),
            ];
            for (field, _) in nothing.iter().filter(|(_, nothing)| *nothing) {
                fields.shift_remove(*field);
            }
            for field in KUBE_FIELDS.iter().filter(|_| self.api.is_empty()) {
                fields.shift_remove(*field);
            }
        }
        json
    }

    /// Holds the scenario's expectations against the report.
    pub fn judge(&mut self, scenario: &Scenario) {
        self.expectations.clear();
        if scenario.expect.is_empty() {
            return;
        }
        let json = self.to_json();
        self.expectations = scenario.expect.iter().map(|expectation| expectation.check(&json).into()).collect();
    }

    /// Whether every expectation judged holds and no invariant is broken.
    pub fn passed(&self) -> bool {
        self.expectations.iter().all(|e| e.ok) && self.violations.is_empty()
    }

    /// A few sentences for people: what stopped, for how long, what was lost, who leads now.
    pub fn verdict(&self) -> String {
        verdict::verdict(self)
    }

    /// Its first sentences: what is not there at all, and what became of workloads.
    pub fn headlines(&self) -> Vec<String> {
        verdict::headlines(self)
    }

    /// The others, cut into phrases that know their moments: one paragraph per cluster.
    pub fn verdict_parts(&self) -> Vec<Paragraph> {
        verdict::paragraphs(self)
    }
}

impl From<Outcome> for ExpectationReport {
    fn from(outcome: Outcome) -> Self {
        let Outcome { ok, that, actual, expected, because, text: _ } = outcome;
        Self { ok, that, actual, expected, because }
    }
}

/// Seconds since the start, for a report.
pub(crate) fn seconds(at: Time) -> f64 {
    at.as_secs_f64()
}

/// Length in seconds, for a report.
pub(crate) fn length(d: Duration) -> f64 {
    d.as_secs_f64()
}

/// Bytes per second over `over`, to three decimals; zero over no time.
pub(crate) fn rate(bytes: u64, over: Duration) -> f64 {
    if over == Duration::ZERO { 0.0 } else { (bytes as f64 / over.as_secs_f64() * 1e3).round() / 1e3 }
}
