//! Connections of Services' clients, as kube-proxy spreads them.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Connections of the clients of a Service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceTrafficReport {
    /// Its cluster.
    pub cluster: String,
    /// Its name.
    pub service: String,
    /// Connections that its clients opened.
    pub connections: f64,
    /// Connections that found no endpoint.
    pub refused: f64,
    /// Connections that found one which did not answer: its node had no power or was out of the client's reach, or its container was not
    /// ready.
    pub failed: f64,
    /// Part of those that were served which left the zone of their client, in percent.
    pub cross_zone_percent: f64,
    /// Mean time that a packet takes to the endpoint and back, without those that are lost, in milliseconds; `None`: none was served.
    pub round_trip_ms: Option<f64>,
    /// Connections by the zones of client and endpoint, in the order of the scenario.
    pub zones: Vec<ZoneFlowReport>,
    /// Bytes that cross zones in a month, in GB, were every month like this.
    pub cross_zone_gb_per_month: f64,
    /// What these cost in a month, by provider, in USD; of providers in the scenario's prices.
    pub usd_per_month: IndexMap<String, f64>,
    /// Most that an endpoint had, as a multiple of an even share.
    pub greatest_load: f64,
    /// Time in which some endpoint had more connections than it serves, in seconds.
    pub overloaded_s: f64,
    /// Longest queue of an endpoint, in connections.
    pub longest_queue: f64,
}

/// Connections from a zone to a zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZoneFlowReport {
    /// Zone of the clients.
    pub from: String,
    /// Zone of the endpoints.
    pub to: String,
    /// Number of connections.
    pub connections: f64,
    /// Mean time that a packet takes there and back, without those that are lost, in milliseconds.
    pub round_trip_ms: Option<f64>,
}
