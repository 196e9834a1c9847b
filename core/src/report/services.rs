//! Services of a cluster, and their topology hints.

use serde::{Deserialize, Serialize};

/// What became of a Service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceReport {
    /// The cluster it is in.
    pub cluster: String,
    /// Its name.
    pub service: String,
    /// Number of endpoints that it lists at the end.
    pub endpoints: u64,
    /// Time in which no endpoint that it listed served, in seconds.
    pub unavailable_s: f64,
    /// Of that, time in which it listed none, in seconds.
    pub no_endpoints_s: f64,
    /// Time in which it listed an endpoint that did not serve, in seconds: clients that were sent there waited in vain.
    pub stale_s: f64,
    /// The same, summed over the endpoints, in seconds: two for a minute are 120.
    pub stale_endpoints_s: f64,
}

/// A time in which a Service had topology hints, or had none for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HintsReport {
    /// The seed it is in.
    pub seed: String,
    /// Its namespace and name.
    pub service: String,
    /// Each of its endpoints is for the clients of some zone.
    pub active: bool,
    /// From when, in seconds.
    pub from_s: f64,
    /// Until when, or the end of the run, in seconds.
    pub to_s: f64,
    /// Why it had none, in plain words; null: it had.
    pub why: Option<String>,
}
