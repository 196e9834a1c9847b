//! Outages of an API as its clients saw them.

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
    /// Outages of these clients, in order; at most 1,000.
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
