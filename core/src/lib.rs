//! Zonefall's simulator: what happens to a highly available control plane when a zone, a node, a link or a disk fails.
//!
//! No clock, file, thread, environment or user interface in here: the same scenario and seed give the same records on every
//! platform. See ARCHITECTURE.md for the map.
//!
//! # In your own tests
//!
//! Five names are enough: a [`Scenario`] is read from JSON, [`simulate`] runs it to a [`Report`], [`expect()`] holds a place of the report
//! against a bound. A [`Run`] stops on the way, and its [`Simulation`] takes faults that the file does not have.
//!
//! ```
//! use zonefall_core::{Scenario, expect, simulate};
//!
//! let scenario = Scenario::from_json(
//!     r#"{
//!         "name": "ours",
//!         "duration": "20m",
//!         "topology": {"regions": [{"name": "eu", "zones": ["a", "b", "c"]}]},
//!         "clusters": [{
//!             "name": "prod",
//!             "zones": ["a", "b", "c"],
//!             "pools": [{"name": "worker", "minimum": 3, "maximum": 3}],
//!             "workloads": [{"name": "web", "kind": "deployment", "replicas": 3, "spread": [{"over": "zone", "max_skew": 1}]}]
//!         }],
//!         "faults": [{"at": "5m", "for": "10m", "kind": "zone_power", "zone": "a"}]
//!     }"#,
//! )?;
//! for seed in 0..5 {
//!     let report = simulate(scenario.clone(), seed);
//!     expect(&report, "etcd.prod/etcd.write_unavailable_s").at_most(3.0);
//!     expect(&report, "api.prod.write_unavailable_s").at_most(3.0);
//!     expect(&report, "count(pods[ready=true])").is(3);
//! }
//! # Ok::<(), zonefall_core::scenario::Errors>(())
//! ```
//!
//! To break something in the middle of a run, and look at it while it is broken:
//!
//! ```
//! use std::sync::Arc;
//! use zonefall_core::kernel::time::{Duration, Time};
//! use zonefall_core::scenario::{FaultTarget, NodeCrash, default_scenario};
//! use zonefall_core::{Run, Scenario, expect};
//!
//! let scenario = Arc::new(Scenario::from_json(default_scenario().json)?);
//! let mut run = Run::new(&scenario, 1, Default::default());
//! run.advance(Time::ZERO + Duration::from_secs(30), &mut |_, _| {});
//! let node = scenario.node("node-a").expect("the scenario has this node");
//! run.simulation_mut().inject(&NodeCrash(FaultTarget::Named(node)).into(), Some(Duration::from_secs(20)));
//! run.advance(Time::ZERO + Duration::from_secs(40), &mut |at, record| println!("{at:?} {record:?}"));
//! expect(&run.report(), "etcd.etcd-main.members[node=node-a].up").is(false);
//! # Ok::<(), zonefall_core::scenario::Errors>(())
//! ```

pub mod capacity;
pub mod client;
pub mod compare;
pub mod expect;
pub mod fault;
pub mod invariant;
pub mod observe;
pub mod record;
pub mod report;
pub mod run;
pub mod sim;
pub mod traffic;

use std::sync::Arc;

pub use expect::expect;
pub use report::Report;
pub use run::Run;
pub use scenario::Scenario;
pub use sim::Simulation;

pub use zonefall_access as access;
pub use zonefall_autoscaler as autoscaler;
pub use zonefall_cloud as cloud;
pub use zonefall_etcd as etcd;
pub use zonefall_gardener as gardener;
pub use zonefall_kernel as kernel;
pub use zonefall_kube as kube;
pub use zonefall_network as network;
pub use zonefall_rollout as rollout;
pub use zonefall_scenario as scenario;
pub use zonefall_scenario::ids;

/// Runs a scenario to its end and holds its own expectations against the report ([`Report::passed`]). The same scenario and seed give the
/// same report.
pub fn simulate(scenario: impl Into<Arc<Scenario>>, seed: u64) -> Report {
    run::run(&scenario.into(), seed, sim::Options::default(), &mut |_, _| {}, &mut |_| {})
}
