//! Nodes and machines as they are at the end of a run.

use serde::{Deserialize, Serialize};

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeReport {
    /// The cluster it belongs to.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// Its zone.
    pub zone: String,
    /// Its condition `Ready`: `True`, or `Unknown` where its kubelet is silent.
    pub ready: String,
    /// Its taints, as `key=value:effect`.
    pub taints: Vec<String>,
    /// The machine behind it; null: it has none.
    pub machine: Option<String>,
}

impl NodeReport {
    /// Whether it takes no more pods (`kubectl`: `SchedulingDisabled`).
    pub fn is_cordoned(&self) -> bool {
        self.taints.iter().any(|taint| taint == "node.kubernetes.io/unschedulable:NoSchedule")
    }
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineReport {
    /// The cluster it belongs to.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// Its machine deployment.
    pub deployment: String,
    /// Its zone.
    pub zone: String,
    /// `Pending`, `Running`, `Unknown`, `Failed`, `Terminating` or `CrashLoopBackOff`.
    pub phase: String,
    /// How old it is, in seconds, counted from the start of the run for those that were there.
    pub age_s: f64,
    /// Its node; null: none has joined.
    pub node: Option<String>,
    /// A roll-out is still to replace it: it is of an older template than its machine deployment.
    #[serde(default)]
    pub outdated: bool,
    /// The cloud was out of stock when it was last asked for the machine.
    #[serde(default)]
    pub out_of_stock: bool,
}
