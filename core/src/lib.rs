//! Zonefall's simulator: what happens to a highly available control plane when a zone, a node, a link or a disk fails.
//!
//! No clock, file, thread, environment or user interface in here: the same scenario and seed give the same records on every
//! platform. See ARCHITECTURE.md for the map.

pub mod autoscaler;
pub mod client;
pub mod cloud;
pub mod compare;
pub mod fault;
pub mod gardener;
pub mod invariant;
pub mod kube;
pub mod observe;
pub mod record;
pub mod report;
pub mod run;
pub mod sim;
pub mod traffic;

pub use zonefall_etcd as etcd;
pub use zonefall_kernel as kernel;
pub use zonefall_network as network;
pub use zonefall_scenario as scenario;
pub use zonefall_scenario::ids;
