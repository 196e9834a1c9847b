//! A part of a run in finer windows than a report of all of it has.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::LatencyReport;

/// Latency and traffic of a part of a run. Windows begin at multiples of their length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CloseUp {
    /// Where the first window begins, in seconds since the start of the run.
    pub from_s: f64,
    /// Where the last window ends, in seconds since the start of the run.
    pub to_s: f64,
    /// Length of a window, in seconds; the last may be shorter.
    pub window_s: f64,
    /// Requests that ended in the part, by etcd cluster: the rows of [`EtcdReport::latency`](super::EtcdReport::latency) that have any.
    pub latency: IndexMap<String, Vec<LatencyReport>>,
    /// Bytes between zones, ordered as the zones of the scenario.
    pub zone_pairs: Vec<ZonePairWindows>,
}

/// Bytes one zone sent to another, window by window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZonePairWindows {
    /// Zone of the senders.
    pub from_zone: String,
    /// Zone of the receivers.
    pub to_zone: String,
    /// Mean over each window of [`CloseUp::window_s`], in bytes per second.
    pub wire_bytes_per_s: Vec<f64>,
}
