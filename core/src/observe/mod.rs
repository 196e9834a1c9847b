//! Observers: one per question, each turning [`Record`]s into its part of the [`Report`](crate::report::Report).
//!
//! ```text
//! Simulation --(Time, &Record)--> All --+--> leaders       who led when, elections, terms
//!                                       +--> availability  what was down, from when to when, and why (causes)
//!                                       +--> requests      how requests ended and how long they took
//!                                       +--> tolerance     members that may yet be lost
//!                                       +--> durability    committed data lost
//!                                       +--> failovers     who took over from whom, and what was lost with it
//!                                       +--> repair        snapshots, catch-up, membership
//!                                       +--> space         full databases, defragmentation
//!                                       +--> refused       changes that were asked for and denied
//!                                       +--> kube          pods, nodes and machines: what was lost, and how it came back
//!                                       +--> access        clients without an API server that answers
//!                                       +--> money         who used machines and volumes, where there are prices
//!                                       +--> faults        what broke
//!                                       +--> story         the event list in plain words
//!                                       +--> trace         the hash over all of it
//! ```
//!
//! An observer reads and counts; it never feeds back. All of them are plain data: cloning a run clones what it has seen.

pub mod access;
pub mod availability;
pub mod causes;
mod client_requests;
pub mod close_up;
pub mod cost;
pub mod describe;
pub mod durability;
pub mod failovers;
pub mod faults;
mod histogram;
pub mod kube;
pub mod leaders;
mod passive;
mod placements;
pub mod refused;
pub mod repair;
pub mod requests;
pub mod shares;
pub mod space;
pub mod story;
pub mod subject;
pub mod tolerance;
pub mod trace;
pub mod traffic;
pub mod vantages;
pub mod voters;
pub mod windows;

use std::sync::Arc;

use crate::access::record::AccessRecord;
use crate::gardener::record::GardenerRecord;
use crate::kernel::time::Time;
use crate::kube::machine::Phase;
use crate::kube::record::{KubeRecord, MachineFact, NodeFact};
use crate::record::{ClientRecord, Record};
use crate::rollout::record::RolloutRecord;
use crate::scenario::Scenario;

/// Reads the records of a run, in order.
pub trait Observer {
    /// Takes note of `record`, which happened at `at`. Times never decrease from call to call.
    fn record(&mut self, at: Time, record: &Record);
}

/// Every observer a report needs.
#[derive(Clone, Debug)]
pub struct Observers {
    /// Leaders, terms and elections.
    pub leaders: leaders::Leaders,
    /// Outages and their causes.
    pub availability: availability::Availability,
    /// Outages as clients of an API see them.
    pub access: access::Access,
    /// Requests and their latency.
    pub requests: requests::Requests,
    /// Members that may yet be lost.
    pub tolerance: tolerance::Tolerance,
    /// Data loss.
    pub durability: durability::Durability,
    /// Switch-overs of active-passive clusters.
    pub failovers: failovers::Failovers,
    /// Snapshots, catch-up, membership.
    pub repair: repair::Repair,
    /// Databases that were full.
    pub space: space::Space,
    /// Changes that were refused.
    pub refused: refused::Refused,
    /// Kubernetes: APIs, pods, nodes, machines.
    pub kube: kube::Kube,
    /// Who used machines and volumes; `None`: nothing is charged.
    pub cost: Option<cost::CostObserver>,
    /// Faults and their effects.
    pub faults: faults::Faults,
    /// Events in plain words.
    pub story: story::Story,
    /// Hash of the trace.
    pub trace: trace::TraceHash,
}

impl Observers {
    /// Observers of a run of `scenario`.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self {
            leaders: leaders::Leaders::new(scenario),
            availability: availability::Availability::new(scenario),
            access: access::Access::new(scenario),
            requests: requests::Requests::new(scenario),
            tolerance: tolerance::Tolerance::new(scenario.etcd.len()),
            durability: durability::Durability::new(scenario),
            failovers: failovers::Failovers::new(scenario),
            repair: repair::Repair::new(scenario),
            space: space::Space::new(scenario),
            refused: refused::Refused::new(scenario),
            kube: kube::Kube::new(scenario),
            cost: (!scenario.prices.providers.is_empty()).then(|| cost::CostObserver::new(scenario)),
            faults: faults::Faults::new(scenario),
            story: story::Story::new(scenario),
            trace: trace::TraceHash::new(),
        }
    }
}

impl Observer for Observers {
    fn record(&mut self, at: Time, record: &Record) {
        self.trace.record(at, record);
        // Most records of a busy run are requests: the others need not look at them.
        if matches!(record, Record::Client(ClientRecord::Request { .. })) {
            self.requests.record(at, record);
            self.availability.record(at, record);
            return;
        }
        if let Record::Kube(..) | Record::Gardener(..) | Record::Rollout(..) = record {
            // What a shoot is asked for, what operators do, and what becomes of pods and API servers explain outages.
            if let Record::Gardener(_, GardenerRecord::Migration(..) | GardenerRecord::Tolerance(..))
            | Record::Kube(
                _,
                KubeRecord::ApiServer(..)
                | KubeRecord::ApiAvailability { .. }
                | KubeRecord::ApiShare { .. }
                | KubeRecord::ApiShareFrom { .. }
                | KubeRecord::ApiShareOf { .. }
                | KubeRecord::Pod(..)
                | KubeRecord::Node(_, NodeFact::Removed | NodeFact::Lost(_) | NodeFact::ToBeDeleted | NodeFact::Kept(_))
                | KubeRecord::Machine(_, MachineFact::Phase(Phase::Failed))
                | KubeRecord::Operation(_),
            )
            | Record::Rollout(_, RolloutRecord::RolledBack(_)) = record
            {
                self.availability.record(at, record);
            }
            if let Record::Kube(_, KubeRecord::ApiServer(..) | KubeRecord::Operation(_)) = record {
                self.access.record(at, record);
            }
            if let Some(cost) = &mut self.cost {
                cost.record(at, record);
            }
            self.refused.record(at, record);
            self.kube.record(at, record);
            self.story.record(at, record);
            return;
        }
        if let Record::Access(_, fact) = record {
            if let AccessRecord::Target { .. } | AccessRecord::Registered { .. } | AccessRecord::ConnectionLimit { .. } = fact {
                self.availability.record(at, record);
            }
            self.access.record(at, record);
            self.story.record(at, record);
            return;
        }
        self.leaders.record(at, record);
        self.availability.record(at, record);
        self.tolerance.record(at, record);
        self.durability.record(at, record);
        self.failovers.record(at, record);
        self.repair.record(at, record);
        self.space.record(at, record);
        self.refused.record(at, record);
        self.kube.record(at, record);
        self.faults.record(at, record);
        self.access.record(at, record);
        self.story.record(at, record);
    }
}

#[cfg(test)]
pub(crate) mod testing;
