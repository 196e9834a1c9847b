//! Ways to API servers: load balancers in front of them, and clients that find them without one (Resilient Control Plane Networking,
//! an enhancement of OpenShift).
//!
//! ```text
//!  client --original host--> load balancer --targets that its checks found healthy--> API server
//!     |                                                                                 |  ^
//!     |<--- Alt-Svc: the addresses in the `kubernetes` endpoints -----------------------'  |
//!     '--- later requests: straight to one of these addresses -----------------------------'
//! ```
//!
//! What is here are rules: pure functions and small state machines that know the current time as an argument, and neither hosts nor
//! paths. [`balancer`] has those of load balancers, [`alt_svc`] those of alternative services.

pub mod alt_svc;
pub mod balancer;
