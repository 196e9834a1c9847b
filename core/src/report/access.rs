//! How clients reached the API servers of a cluster.

use serde::{Deserialize, Serialize};

/// Clients of one kind, where their cluster has `api_access`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccessReport {
    /// The cluster.
    pub cluster: String,
    /// Which of its clients: `kubelets of workers`, `kubelets of control-plane hosts`, `kube-scheduler`.
    pub clients: String,
    /// How many there were, each process for itself.
    pub count: u64,
    /// How many of them had no connection that carries requests, or one to a server that only gave errors, at some time.
    pub hit: u64,
    /// Such times in all, in order of their beginnings; at most 1,000.
    pub cut_off: Vec<CutOffReport>,
    /// Times that did not fit into [`AccessReport::cut_off`].
    pub omitted: u64,
    /// The longest of these times, in seconds.
    pub longest_s: f64,
    /// Their sum, in seconds.
    pub total_s: f64,
    /// Connections that were opened, but for those of the start.
    pub connections: u64,
    /// Of these, those through the load balancer.
    pub through_balancer: u64,
}

/// A time in which a client had no connection that carries requests, or one to a server that only gave errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutOffReport {
    /// The client: `kubelet of w1`.
    pub client: String,
    /// From when, in seconds.
    pub from_s: f64,
    /// Until when, or the end of the run, in seconds.
    pub to_s: f64,
    /// Whether it had ended when the run did.
    pub completed: bool,
    /// Of that, the time in which it waited for a connection that had fallen silent, in seconds.
    pub silent_s: f64,
    /// Why, in plain words.
    pub cause: String,
}
