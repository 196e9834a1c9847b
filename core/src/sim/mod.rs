//! The simulation: world, run loop and what a caller can do with them.

use std::sync::Arc;

use crate::ids::{ClusterId, Endpoint, MemberId};
use crate::kernel::time::{Duration, Time};
use crate::record::Record;
use crate::scenario::{Fault, Scenario};

/// How heartbeats and other periodic work are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exact {
    /// Message by message, always.
    Full,
    /// Groups at rest queue nothing; their traffic is accounted for on demand. Same records, same bytes, fewer events.
    #[default]
    Fast,
}

/// How to run a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How periodic work is simulated.
    pub exact: Exact,
    /// Emit [`Record::Raft`] for the invariants.
    pub raft_records: bool,
}

/// A running simulation; a clone is a keyframe or a fork.
#[derive(Clone, Debug)]
pub struct Simulation {
    scenario: Arc<Scenario>,
}

/// A member now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// Which.
    pub member: MemberId,
    /// Its role.
    pub role: Role,
    /// Its term.
    pub term: u64,
    /// Its process serves.
    pub up: bool,
    /// Last index of its log.
    pub last_index: u64,
    /// Committed, as it knows.
    pub committed: u64,
    /// Bytes of its database.
    pub database_bytes: u64,
}

/// Role of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Follows (or looks for) a leader.
    Follower,
    /// Asks whether it would win.
    PreCandidate,
    /// Asks for votes.
    Candidate,
    /// Leads.
    Leader,
    /// Follows without a vote.
    Learner,
    /// Not in the cluster: not yet added, or removed.
    Absent,
}

/// Bytes one endpoint has sent to another since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkTotals {
    /// Sender.
    pub from: Endpoint,
    /// Receiver.
    pub to: Endpoint,
    /// Application bytes: what the programs wrote (HTTP framing included, TLS and below not).
    pub bytes: u64,
    /// Bytes on the wire: with TLS records, Ethernet, IP and TCP headers, pure ACKs of the other direction's data.
    pub wire_bytes: u64,
    /// Packets on the wire.
    pub packets: u64,
    /// The largest wire bytes in any [`PEAK_WINDOW`] (windows laid end to end from the start), per second.
    pub peak_wire_bytes_per_s: f64,
}

/// The window of [`LinkTotals::peak_wire_bytes_per_s`].
pub const PEAK_WINDOW: Duration = Duration::from_secs(10);

#[expect(clippy::todo, clippy::needless_pass_by_value, unused_variables, reason = "the engine lands in the next commits")]
impl Simulation {
    /// The scenario at time zero. `seed` replaces the scenario's own.
    pub fn new(scenario: Arc<Scenario>, seed: u64, options: Options) -> Self {
        todo!()
    }

    /// The scenario.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// The current time.
    pub fn now(&self) -> Time {
        todo!()
    }

    /// Handles every event up to and with `until` and moves the clock there; `sink` receives each record in order.
    pub fn run_until(&mut self, until: Time, sink: &mut impl FnMut(Time, &Record)) {
        todo!()
    }

    /// Breaks something now, for `lasts` or to the end of the run.
    pub fn inject(&mut self, fault: Fault, lasts: Option<Duration>) {
        todo!()
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        todo!()
    }

    /// The members of a cluster, in the scenario's order.
    pub fn members(&mut self, cluster: ClusterId) -> Vec<MemberStatus> {
        todo!()
    }

    /// Bytes between every two endpoints that have exchanged any, in order of `(from, to)`.
    pub fn links(&mut self) -> Vec<LinkTotals> {
        todo!()
    }
}
