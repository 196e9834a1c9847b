//! Outages of an API as its clients saw them.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Clients of one kind, where their cluster has `api_access`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccessReport {
    /// The cluster.
    pub cluster: String,
    /// Which of its clients: `kubelets of workers`, `kubelets of control-plane hosts`, `kube-scheduler`.
    pub clients: String,
    /// Number of these clients: processes.
    pub count: u64,
    /// Number of clients that had an outage.
    pub affected: u64,
    /// Outages of these clients, in order: the 1,000 longest at most.
    pub outages: Vec<ClientOutageReport>,
    /// Outages that did not fit into [`AccessReport::outages`].
    pub omitted: u64,
    /// Length of the longest outage, in seconds.
    pub longest_s: f64,
    /// Sum over all outages, in seconds.
    pub total_s: f64,
    /// Number of connections that clients opened after the start.
    pub connections: u64,
    /// Of these, connections through the load balancer.
    pub via_load_balancer: u64,
    /// Number of these clients that are connected to each API server at the end, by the name of its host.
    pub per_server: IndexMap<String, u64>,
    /// Requests of clients from `api_clients`; null for others, whose requests are not counted.
    pub requests: Option<ClientRequestsReport>,
}

/// Requests of the processes of one client, from when they were made to when they were over: `answered`, with an `error`, without a
/// connection, or `timed_out`; and those `in_flight` at the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRequestsReport {
    /// Requests that an API server answered.
    pub answered: u64,
    /// Requests to which an API server without etcd returned an error.
    pub errors: u64,
    /// Requests whose connection was lost, or for which none could be opened.
    pub connection_lost: u64,
    /// Requests without a response within their timeout.
    pub timed_out: u64,
    /// Requests that were not over at the end of the run.
    pub in_flight: u64,
    /// Requests that failed, of those that were over, in percent; null where none was.
    pub failed_percent: Option<f64>,
    /// Median latency of the answered ones, in milliseconds, of a histogram with three significant digits; null where there are none.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// The longest, exact.
    pub max_ms: Option<f64>,
    /// Number of processes whose requests are all over.
    pub done: u64,
    /// When the last of these was done, in seconds; null where none was.
    pub done_s: Option<f64>,
}

/// A time in which a client had no open connection to an API server that answers: none at all, a silent one, or one to a server that only
/// returned errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientOutageReport {
    /// The client: `kubelet of w1`.
    pub client: String,
    /// From when, in seconds.
    pub from_s: f64,
    /// Until when, or the end of the run, in seconds.
    pub to_s: f64,
    /// Whether it ended before the run did.
    pub completed: bool,
    /// Of that, time in which the client waited for a silent connection, in seconds.
    pub silent_s: f64,
    /// Cause, in plain words.
    pub cause: String,
}
