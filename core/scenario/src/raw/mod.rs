//! Scenarios as people write them: these types are the file format.
//!
//! Nothing here is checked beyond the form; [`Scenario::from_json`](super::Scenario::from_json) does that. The JSON Schema comes
//! from these types and checks the form of every file; a test holds the two together. Beside what JSON Schema
//! knows, fields say `x-source` (where the default stands, "assumed" where nobody says), `x-default` (a default that depends on
//! other fields, in words), `x-min` and `x-max` (bounds of quantities with a unit). For forms they say `title` (the label), `examples` (what
//! stands there at first), `x-target` (what of the scenario may be named: `zone`, `node`, `member`, `volume`, `place`, or the list that
//! has it) and `x-form: json` (not in the form).

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
mod timers;
mod topology;
mod usage;
mod workload;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

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
pub use timers::*;
pub use topology::*;
pub use usage::*;
pub use workload::*;

use super::source::Contradiction;
use super::units::{Name, Span};

/// What to simulate, for how long, under which load and faults, and what must come out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Zonefall scenario")]
pub struct RawScenario {
    /// The JSON Schema of this file, for editors.
    #[serde(rename = "$schema", default)]
    pub schema: Option<String>,
    /// Short name, as the file is called.
    pub name: Name,
    /// One line for people.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub title: String,
    /// What the story shows, and what to look at.
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    pub description: String,
    /// Seed of every random draw, unless the caller names another.
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
    /// etcd clusters that nothing looks after.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub etcd: Vec<RawEtcdCluster>,
    /// Kubernetes clusters without Gardener.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub clusters: Vec<RawCluster>,
    /// Clusters that host control planes.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub seeds: Vec<RawSeed>,
    /// The cloud that machines come from.
    #[serde(default)]
    pub cloud: RawCloud,
    /// Clusters that are hosted.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub shoots: Vec<RawShoot>,
    /// What `zonefall capacity` plans for.
    #[serde(default)]
    pub capacity: RawCapacity,
    /// What is charged for what runs.
    #[serde(default)]
    pub prices: RawPrices,
    /// How what the control planes of shoots send is simulated, where they are in `use`.
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
    /// Faults at random times.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub random_faults: Vec<RawRandomFaults>,
    /// Planned changes of membership.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    pub operations: Vec<RawOperation>,
    /// How availability is judged.
    #[serde(default)]
    pub probe: RawProbe,
    /// Moments at which the report says where every pod is, and how every node and machine stands.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub observe_at: Vec<Span>,
    /// What the source of this scenario says and no run can show, with the reason.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub contradictions: Vec<Contradiction>,
    /// What must come out; a run whose report fails one of these has failed.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub expect: Vec<RawExpectation>,
}

fn one() -> u64 {
    1
}

/// How availability is judged: a virtual client asks all the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawProbe {
    /// The zone the probe stands in, or `best`: whichever zone fares best at each moment.
    #[schemars(extend("x-source" = "assumed: clients are in every zone"))]
    pub from: String,
    /// An answer that takes longer than this is no answer.
    #[schemars(extend(
        "x-min" = "1ms",
        "x-max" = "1h",
        "x-source" = "kubernetes/apiserver@24a394e5: etcd health and readiness check timeout"
    ))]
    pub deadline: Span,
}

impl Default for RawProbe {
    fn default() -> Self {
        Self { from: "best".to_owned(), deadline: Span(Duration::from_secs(2)) }
    }
}

/// One thing that must come out: a place in the report and a bound on what stands there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawExpectation {
    /// A place in the JSON report, such as `etcd.etcd-main.quorum_lost_s`,
    /// `etcd.etcd-main.members[name=etcd-main-1].up` or `count(etcd.etcd-main.outages[kind=write])`.
    #[schemars(length(max = 1_000))]
    pub that: String,
    /// Why it must come out so, in plain words.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub because: String,
    /// What must stand there.
    #[serde(flatten)]
    pub bound: RawBound,
}

/// What must stand at a place in the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawBound {
    /// Exactly this value.
    Is(serde_json::Value),
    /// Anything but this value.
    IsNot(serde_json::Value),
    /// A number between two, both included.
    Between([f64; 2]),
    /// A number, at least this.
    AtLeast(f64),
    /// A number, at most this.
    AtMost(f64),
    /// A text with these words in it, or an array with this item.
    Includes(String),
}
