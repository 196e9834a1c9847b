//! Properties that hold at every moment of every run: one per file, with the section of the paper it encodes.
//!
//! The paper is Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)"; Figure 3 lists the
//! first four.
//!
//! | property | file | source |
//! |---|---|---|
//! | election safety | `election_safety.rs` | §5.2, Figure 3 |
//! | log matching | `log_matching.rs` | §5.3, Figure 3 |
//! | leader completeness | `leader_completeness.rs` | §5.4, Figure 3; §5.4.2 for the commit rule |
//! | state machine safety | `state_machine_safety.rs` | §5.4.3, Figure 3 |
//! | durability | `durability.rs` | §5.1 and Figure 2 (persistent state), §5.3 (a committed entry is on a majority) |
//! | one process per member | `one_process.rs` | §5.1 and Figure 2 (persistent state) |
//! | losses reported | `forks.rs` | GEP-20, appendix: who takes over in an active-passive cluster begins a group of its own |
//!
//! Those of Kubernetes are in [`kube`].
//!
//! ```text
//! Record --> All --> each property looks at (record, logs as they were before it)
//!                --> Logs takes the record in
//! ```
//!
//! The logs are mirrored once ([`logs`]) and shared. Everything about logs is constant time per record, amortised, and bounded in
//! memory but for the terms (one small row per election). Nothing here reads the engine's own state: the records alone must convince.

mod durability;
mod election_safety;
mod forks;
mod kube;
mod leader_completeness;
mod log_matching;
pub mod logs;
mod one_process;
mod state_machine_safety;
mod table;

use std::fmt::Debug;
use std::sync::Arc;

use crate::ids::{EtcdId, TiVec};
use crate::kernel::time::Time;
use crate::observe::voters::cluster_of;
use crate::record::{ClientRecord, Record};
use crate::scenario::Scenario;

use logs::Logs;

/// A broken property: a bug of the simulator (or a planted one).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When it was noticed.
    pub at: Time,
    /// Which property.
    pub property: &'static str,
    /// What was seen.
    pub text: String,
}

/// Violations kept; the first ones say it all.
pub const MOST_VIOLATIONS: usize = 100;

/// One property of one cluster.
trait Property {
    /// Its name.
    const NAME: &'static str;

    /// Looks at a record of its cluster, `logs` being as they were before it. An error says what is broken.
    fn check(&mut self, record: &Record, logs: &Logs) -> Result<(), String>;
}

/// Whoever checks the records of a run: [`Invariants`]. A trait, so that a program that never has a run checked, as the page, need not
/// carry the checks.
pub trait Checker: Debug {
    /// Looks at a record.
    fn record(&mut self, at: Time, record: &Record);

    /// Violations so far, in order; at most [`MOST_VIOLATIONS`].
    fn violations(&self) -> &[Violation];

    /// The checker as it is now.
    fn boxed(&self) -> Box<dyn Checker>;
}

impl Clone for Box<dyn Checker> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}

/// All properties of all clusters.
#[derive(Clone, Debug)]
pub struct Invariants {
    clusters: TiVec<EtcdId, forks::EtcdForks>,
    kube: kube::KubeInvariants,
    violations: Vec<Violation>,
}

/// The properties of one raft group.
#[derive(Clone, Debug)]
struct Group {
    logs: Logs,
    election_safety: election_safety::ElectionSafety,
    log_matching: log_matching::LogMatching,
    leader_completeness: leader_completeness::LeaderCompleteness,
    state_machine_safety: state_machine_safety::StateMachineSafety,
    durability: durability::Durability,
    one_process: one_process::OneProcess,
}

impl Group {
    fn new(logs: Logs, durability: durability::Durability) -> Self {
        Self {
            logs,
            election_safety: election_safety::ElectionSafety::default(),
            log_matching: log_matching::LogMatching::default(),
            leader_completeness: leader_completeness::LeaderCompleteness::default(),
            state_machine_safety: state_machine_safety::StateMachineSafety::default(),
            durability,
            one_process: one_process::OneProcess::default(),
        }
    }

    fn record(&mut self, at: Time, record: &Record, cluster: &str, found: &mut Vec<Violation>) {
        let logs = &self.logs;
        check(&mut self.election_safety, logs, at, record, cluster, found);
        check(&mut self.log_matching, logs, at, record, cluster, found);
        check(&mut self.leader_completeness, logs, at, record, cluster, found);
        check(&mut self.state_machine_safety, logs, at, record, cluster, found);
        check(&mut self.durability, logs, at, record, cluster, found);
        check(&mut self.one_process, logs, at, record, cluster, found);
        self.logs.record(record);
    }
}

impl Invariants {
    /// Nothing is broken yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let clusters = scenario.etcd.iter().map(forks::EtcdForks::new).collect();
        Self { clusters, kube: kube::KubeInvariants::new(scenario), violations: Vec::new() }
    }
}

impl Checker for Invariants {
    fn record(&mut self, at: Time, record: &Record) {
        // Requests are most records of a busy run and of no interest here.
        if matches!(record, Record::Client(ClientRecord::Request { .. })) {
            return;
        }
        self.kube.record(at, record, &mut self.violations);
        let Some(id) = cluster_of(record) else { return };
        self.clusters[id].record(at, record, &mut self.violations);
    }

    fn violations(&self) -> &[Violation] {
        &self.violations
    }

    fn boxed(&self) -> Box<dyn Checker> {
        Box::new(self.clone())
    }
}

fn check<P: Property>(property: &mut P, logs: &Logs, at: Time, record: &Record, cluster: &str, found: &mut Vec<Violation>) {
    if let Err(text) = property.check(record, logs) {
        note(found, at, P::NAME, cluster, &text);
    }
}

fn note(found: &mut Vec<Violation>, at: Time, property: &'static str, cluster: &str, text: &str) {
    if found.len() < MOST_VIOLATIONS {
        found.push(Violation { at, property, text: format!("{cluster}: {text}") });
    }
}

#[cfg(test)]
mod tests;
