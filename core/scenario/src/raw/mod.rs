//! Scenarios as people write them: these types are the file format.
//!
//! Nothing here is checked beyond the form; [`Scenario::from_json`](super::Scenario::from_json) does that. The JSON Schema comes
//! from these types and checks the form of every file; a test holds the two together. Beside what JSON Schema
//! knows, fields say `x-source` (where the default stands, "assumed" where nobody says), `x-default` (a default that depends on
//! other fields, in words), `x-min` and `x-max` (bounds of quantities with a unit). For forms they say `title` (the label), `examples` (what
//! stands there at first), `x-target` (what of the scenario may be named: `zone`, `node`, `member`, `volume`, `place`, or the list that
//! has it) and `x-form: json` (not in the form).

mod access;
mod capacity;
mod cluster;
mod cost;
mod etcd;
mod events;
mod gardener;
mod kube;
mod load;
mod passive;
mod prices;
mod rollout;
mod source;
mod timers;
mod topology;
mod usage;
mod workload;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

pub use crate::etcd_member::{RawBehind, RawMember};
pub use access::*;
pub use capacity::*;
pub use cluster::*;
pub use cost::*;
pub use etcd::*;
pub use events::*;
pub use gardener::*;
pub use kube::*;
pub use load::*;
pub use passive::*;
pub use prices::*;
pub use rollout::*;
pub use source::*;
pub use timers::*;
pub use topology::*;
pub use usage::*;
pub use workload::*;

use super::source::Contradiction;
use super::units::{Name, Span};

/// A scenario: clusters, load, faults and expectations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Zonefall scenario")]
pub struct RawScenario {
    /// The JSON Schema of this file, for editors.
    #[serde(rename = "$schema", default)]
    pub schema: Option<String>,
    /// Short name, as in the file name.
    pub name: Name,
    /// Title in one line.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub title: String,
    /// Description of what the scenario shows.
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    pub description: String,
    /// Branches and view that the page saved with the scenario. Simulations ignore it.
    #[serde(default)]
    #[schemars(extend("x-form" = "json"))]
    pub bookmark: Option<serde_json::Value>,
    /// Seed number for random draws; `--seed` overrides it.
    #[serde(default = "one")]
    #[schemars(extend("x-source" = "any number does"))]
    pub seed: u64,
    /// Simulated time of the run, at most 10 years.
    #[schemars(extend("x-min" = "1ms", "x-max" = "3653d"))]
    pub duration: Span,
    /// Regions, zones, nodes and volumes.
    pub topology: RawTopology,
    /// Delays, loss, bandwidth and wire options.
    #[serde(default)]
    pub network: RawNetwork,
    /// etcd clusters outside Kubernetes.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub etcd: Vec<RawEtcdCluster>,
    /// Kubernetes clusters without Gardener.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub clusters: Vec<RawCluster>,
    /// Load balancers in front of the API servers of `clusters`.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub load_balancers: Vec<RawLoadBalancer>,
    /// Kubernetes clusters that host control planes of shoots.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub seeds: Vec<RawSeed>,
    /// The cloud provider of the machines.
    #[serde(default)]
    pub cloud: RawCloud,
    /// Clusters whose control planes run in seeds.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub shoots: Vec<RawShoot>,
    /// Demand that `zonefall capacity` plans for.
    #[serde(default)]
    pub capacity: RawCapacity,
    /// Prices of machines, volumes, load balancers and traffic.
    #[serde(default)]
    pub prices: RawPrices,
    /// How the traffic of control planes with `use` is simulated.
    #[serde(default)]
    #[schemars(extend("x-source" = "cheap, and as exact as bytes need it"))]
    pub traffic: RawTraffic,
    /// Clients of etcd clusters.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    pub clients: Vec<RawClient>,
    /// Planned faults.
    #[serde(default)]
    #[schemars(length(max = 100_000))]
    pub faults: Vec<RawFault>,
    /// Random faults.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub random_faults: Vec<RawRandomFaults>,
    /// Planned operations, such as membership changes, drains and rolling updates.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    pub operations: Vec<RawOperation>,
    /// Probe that measures availability.
    #[serde(default)]
    pub probe: RawProbe,
    /// Times at which the report lists every pod, node and machine.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub observe_at: Vec<Span>,
    /// Statements of the scenario's source that no run can reproduce, with the reason.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub contradictions: Vec<Contradiction>,
    /// Expected values in the report; the run fails if one is not met.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub expect: Vec<RawExpectation>,
}

fn one() -> u64 {
    1
}

/// Probe that measures availability: a virtual client that sends requests all the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawProbe {
    /// Where the clients are whose availability counts: a zone, `outside` (the region, as users of an API are), `worst` (at each moment the
    /// worst of all that are not cut off themselves) or `best`. The report has a row for each of them in any case.
    #[schemars(extend("x-source" = "assumed: clients are in every zone, and outside"))]
    pub from: String,
    /// Timeout of the probe.
    #[schemars(extend(
        "x-min" = "1ms",
        "x-max" = "1h",
        "x-source" = "kubernetes/apiserver@24a394e5: etcd health and readiness check timeout"
    ))]
    pub deadline: Span,
}

impl Default for RawProbe {
    fn default() -> Self {
        Self { from: "worst".to_owned(), deadline: Span(Duration::from_secs(2)) }
    }
}

/// An expectation: a path in the report and a condition on its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawExpectation {
    /// Path in the JSON report, such as `etcd.etcd-main.quorum_lost_s`,
    /// `etcd.etcd-main.members[name=etcd-main-1].up` or `count(etcd.etcd-main.outages[kind=write])`.
    #[schemars(length(max = 1_000))]
    pub that: String,
    /// Reason for the expectation, for the report.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub because: String,
    /// Condition on the value.
    #[serde(flatten)]
    pub bound: RawBound,
}

/// Condition on a value in the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawBound {
    /// The value is equal to this.
    Is(serde_json::Value),
    /// The value is not equal to this.
    IsNot(serde_json::Value),
    /// The number is between these two, both included.
    Between([f64; 2]),
    /// The number is at least this.
    AtLeast(f64),
    /// The number is at most this.
    AtMost(f64),
    /// The text contains these words, or the array contains this item.
    Includes(String),
}
