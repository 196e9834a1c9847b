//! Zonefall's simulator: what happens to a highly available control plane when a zone, a node, a link or a disk fails.
//!
//! No clock, file, thread, environment or user interface in here: the same scenario and seed give the same records on every
//! platform. See ARCHITECTURE.md for the map.

pub mod client;
pub mod compare;
pub mod fault;
pub mod invariant;
pub mod observe;
pub mod record;
pub mod report;
pub mod run;
pub mod sim;
#[cfg(test)]
mod tests;
pub mod traffic;

pub use zonefall_autoscaler as autoscaler;
pub use zonefall_cloud as cloud;
pub use zonefall_etcd as etcd;
pub use zonefall_gardener as gardener;
pub use zonefall_kernel as kernel;
pub use zonefall_kube as kube;
pub use zonefall_network as network;
pub use zonefall_scenario as scenario;
pub use zonefall_scenario::ids;
