//! What is not there, or not whole: shoots for which gardener-scheduler found no seed, and pods for which kube-scheduler found no node.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::scenario::kube::gardener::FailureTolerance;

/// Control planes and workloads that are not there, or not whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingReport {
    /// Control planes that the scenario asks for.
    pub control_planes: u64,
    /// Shoots that no seed takes: their control planes are never created.
    pub shoots: Vec<PendingShootReport>,
    /// Shoots whose control planes have pods without a node. (A pod keeps its node for life: these never ran.)
    pub pods: Vec<PendingPodsReport>,
    /// Other workloads with pods without a node at the end.
    pub workloads: Vec<PendingWorkloadReport>,
}

/// A shoot that no seed takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingShootReport {
    /// Its name.
    pub shoot: String,
    /// The failure that its control plane is to survive.
    pub failure_tolerance: FailureTolerance,
    /// Why each seed does not suit it, in the form of gardener-scheduler's event (`0/2 seed cluster candidate(s) are eligible for
    /// scheduling: {seed => reason, ...}`).
    pub reason: String,
}

/// Pods of a control plane that have no node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingPodsReport {
    /// The shoot.
    pub shoot: String,
    /// The failure that its control plane is to survive.
    pub failure_tolerance: FailureTolerance,
    /// Number of pods.
    pub pods: u64,
    /// Why no node suits most of them, in the form of kube-scheduler's event (`0/6 nodes are available: ...`).
    pub reason: String,
}

/// Pods of a workload that have no node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingWorkloadReport {
    /// The cluster it runs in.
    pub cluster: String,
    /// Its namespace and name: `default/web`.
    pub workload: String,
    /// Number of pods without a node.
    pub pods: u64,
    /// Number of its pods that are wanted; of a DaemonSet, number of its pods.
    pub all: u64,
    /// Number of its pods that have a node: a rollout may make more than are wanted.
    #[serde(default)]
    pub placed: u64,
    /// Why no node suits most of them, in the form of kube-scheduler's event (`0/6 nodes are available: ...`).
    pub reason: String,
}

impl PendingReport {
    /// One sentence for each kind of what is not there, with the reason that most of it has.
    pub fn sentences(&self) -> Vec<String> {
        let shoots = (!self.shoots.is_empty()).then(|| {
            let verb = if self.shoots.len() == 1 { "was" } else { "were" };
            let why = MostFrequent::of(self.shoots.iter().map(|shoot| shoot.reason.as_str()));
            format!("{} of {} control planes {verb} never created: {why}.", self.shoots.len(), self.control_planes)
        });
        let pods = (!self.pods.is_empty()).then(|| {
            let verb = if self.pods.len() == 1 { "has" } else { "have" };
            let all: u64 = self.pods.iter().map(|row| row.pods).sum();
            let why = MostFrequent::of(self.pods.iter().map(|row| row.reason.as_str()));
            format!(
                "{} of {} control planes {verb} pods without a node, {all} in all: {why}.",
                self.pods.len(),
                self.control_planes
            )
        });
        let workloads = match &self.workloads[..] {
            [] => None,
            [PendingWorkloadReport { cluster, workload, pods, all, placed, reason }] => {
                let verb = if *pods == 1 { "has" } else { "have" };
                let (number, besides) = match pods + placed > *all {
                    true if *pods == 1 => ("1 pod".to_owned(), format!(", {placed} others have one, and {all} are wanted")),
                    true => (format!("{pods} pods"), format!(", {placed} others have one, and {all} are wanted")),
                    false => (format!("{pods} of {all} pods"), String::new()),
                };
                Some(format!("{number} of {workload} in {cluster} {verb} no node{besides}: {reason}."))
            }
            several => {
                let pods: u64 = several.iter().map(|row| row.pods).sum();
                let why = MostFrequent::of(several.iter().map(|row| row.reason.as_str()));
                Some(format!("{} workloads have pods without a node, {pods} in all: {why}.", several.len()))
            }
        };
        shoots.into_iter().chain(pods).chain(workloads).collect()
    }

    /// The heads of [`PendingReport::rows`].
    pub const HEADS: [&'static str; 4] = ["shoots", "failure tolerance", "state", "reason"];

    /// The shoots for a table, those that wait for the same reason in one row.
    pub fn rows(&self) -> Vec<[String; 4]> {
        let mut alike: IndexMap<(FailureTolerance, String, &str), Vec<&str>> = IndexMap::new();
        for PendingShootReport { shoot, failure_tolerance, reason } in &self.shoots {
            alike.entry((*failure_tolerance, "Pending".to_owned(), reason)).or_default().push(shoot);
        }
        for PendingPodsReport { shoot, failure_tolerance, pods, reason } in &self.pods {
            let state = if *pods == 1 { "1 pod Pending".to_owned() } else { format!("{pods} pods Pending") };
            alike.entry((*failure_tolerance, state, reason)).or_default().push(shoot);
        }
        let row = |((tolerance, state, reason), shoots): ((FailureTolerance, String, &str), Vec<&str>)| {
            let shoots = match &shoots[..] {
                [one] => (*one).to_owned(),
                [first, .., last] => format!("{first} to {last} ({})", shoots.len()),
                [] => unreachable!("a row has a shoot"),
            };
            [shoots, tolerance.describe().to_owned(), state, reason.to_owned()]
        };
        alike.into_iter().map(row).collect()
    }
}

/// The reason that most have.
pub(crate) struct MostFrequent<'a> {
    pub(crate) reason: &'a str,
    /// How many have another one.
    others: usize,
}

impl<'a> MostFrequent<'a> {
    /// Of at least one; of equals, the first.
    pub(crate) fn of(reasons: impl Iterator<Item = &'a str>) -> Self {
        let mut counts: IndexMap<&str, usize> = IndexMap::new();
        reasons.for_each(|reason| *counts.entry(reason).or_default() += 1);
        let all: usize = counts.values().sum();
        let most = counts.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
        let (reason, count) = most.expect("something is pending");
        Self { reason, others: all - count }
    }
}

impl fmt::Display for MostFrequent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.others {
            0 => f.write_str(self.reason),
            1 => write!(f, "{} (1 of them for another reason)", self.reason),
            n => write!(f, "{} ({n} of them for other reasons)", self.reason),
        }
    }
}
