//! Active-passive clusters: of two members one serves, and the other takes over when a controller has not heard it for long enough
//! (GEP-20, appendix, "etcd Active-Passive Options", 1 and 2; [`ActivePassive`] has the timers).
//!
//! ```text
//!  option 1, hot standby                         option 2, perpetual learner
//!  clients --> primary (a cluster of one)        clients --> voter --appends--> learner
//!                 | snapshots every period
//!              bucket <--polls-- standby (no etcd runs there: its sidecar applies them)
//!
//!  check fails -- x failures --> Detected: clients are sent to the other; the old one is displaced
//!     option 1: applies all the bucket holds       option 2: restarts with --force-new-cluster
//!     --> Forked: a new raft group, of one member, with what it has --> elected --> Serving
//!  the displaced one is reached again --> Discarded --> stands by: from the bucket | as a new learner
//! ```
//!
//! - GEP-20 speaks of promoting the learner. etcd promotes only through a leader, and there is none: the only way is
//!   `--force-new-cluster`, which drops what the learner has not yet heard to be committed (`restartAsStandaloneNode`).
//! - A restored cluster would count terms (and entries) from 1 again. Here both go on, so that an index is the revision it stands for.
//! - A displaced member that still runs (it was cut off, not dead) still serves the clients that have not heard of the switch: those
//!   that the controller does not reach either. What it commits is lost when it is thrown away. (API servers leave it at once, also
//!   as clients of an etcd for events: a Kubernetes cluster has one store here.)
//! - Revisions come again after a loss: watchers that had seen them hear nothing until there are newer ones, as with etcd.
//! - A primary that lost its own disk is not restored in place: the standby takes over.
//!
//! The controller is etcd-druid's part. That of a cluster without a seed works while its zone has power; for a shoot's it is etcd-druid
//! of the seed, which checks and switches while it can act and from where it runs
//! ([`is_checked_from`](super::cluster::EtcdCluster::is_checked_from)). When it could not for a while it counts anew. The members are
//! pods then: one that stands by is ready once it has restored something, and who was displaced is started anew where it is (its pod is
//! not deleted).
//!
//! This folder is the state of a pair: what its controller sees, the bucket, and the facts for the records. What the controller and
//! the standby do is in [`failover`](super::failover).

pub(crate) mod bucket;
mod record;
pub use record::PassiveRecord;

use bucket::Bucket;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::rng::{Purpose, Stream as Draws};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::ZoneId;
use zonefall_scenario::{ActivePassive, Controller, EtcdClusterSpec, Vantage};

/// What an active-passive cluster waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassiveTimer {
    /// A health check of the member that serves.
    Check,
    /// A delta snapshot is due.
    Delta,
    /// A full snapshot is due.
    Full,
    /// A snapshot is in the bucket.
    Uploaded,
    /// The standby looks into the bucket.
    Poll,
    /// The standby has applied what it fetched.
    Applied,
}

const PASSIVE_TIMERS: usize = 6;

/// The state of an active-passive cluster beyond that of its members.
#[derive(Clone, Debug)]
pub struct Passive {
    pub(crate) spec: ActivePassive,
    /// The member that clients are sent to.
    pub(crate) endpoint: u8,
    pub(crate) checks: Periodic,
    pub(crate) bucket: Option<Bucket>,
    pub(crate) timers: [Timer; PASSIVE_TIMERS],
    /// Where etcd-druid runs, while it can act.
    pub(crate) druid: Option<HostId>,
    /// The controller works.
    pub(crate) controller: Seen,
    /// The member that serves answers the controller.
    pub(crate) primary: Seen,
    /// The controller reaches the other one's machine, which runs.
    pub(crate) standby: Seen,
    /// Checks that have failed in a row.
    pub(crate) failures: u32,
    pub(crate) switch: Option<Switch>,
    /// The last index that was committed when the other took over, and the last that the displaced one has committed.
    pub(crate) accounted: u64,
    pub(crate) beyond: u64,
    /// Whether the other was last said to be able to take over.
    pub(crate) ready: bool,
}

/// A switch-over under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switch {
    /// Since when the one that served has not answered.
    pub(crate) silent: Time,
    /// The new one has begun its cluster.
    pub(crate) forked: bool,
}

/// Something that is so or not, and what it was right before the last moment it changed at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) now: bool,
    before: bool,
    pub(crate) since: Time,
}

impl Seen {
    const fn new(now: bool) -> Self {
        Self { now, before: now, since: Time::ZERO }
    }

    pub(crate) fn update(&mut self, now: bool, at: Time) {
        if now != self.now {
            if self.since != at {
                (self.before, self.since) = (self.now, at);
            }
            self.now = now;
        }
    }

    /// As seen right before `at`, which is not before its last change.
    pub(crate) fn before(self, at: Time) -> bool {
        if self.since == at { self.before } else { self.now }
    }
}

impl Passive {
    /// As the cluster starts.
    pub(crate) fn new(spec: &ActivePassive, cluster: &EtcdClusterSpec, seed: u64, entity: u64) -> Self {
        let draws = Draws::new(seed, Purpose::Phase, entity);
        let phase = |k: u64, period: Duration| {
            Periodic::new(Time::ZERO + Duration::from_nanos(draws.draw(k).below(period.as_nanos())), period)
        };
        Self {
            endpoint: spec.primary,
            checks: phase(0, spec.switching.check_period),
            bucket: spec.backup.map(|backup| Bucket::new(backup, cluster, phase)),
            timers: [Timer::default(); PASSIVE_TIMERS],
            druid: None,
            controller: Seen::new(true),
            primary: Seen::new(true),
            standby: Seen::new(true),
            failures: 0,
            switch: None,
            accounted: 0,
            beyond: 0,
            ready: false,
            spec: spec.clone(),
        }
    }

    /// The member that does not serve.
    pub(crate) fn other(&self) -> u8 {
        1 - self.endpoint
    }

    /// Whether the controller reaches a host.
    pub(crate) fn reaches(&self, host: HostId, net: &Network) -> bool {
        match (self.spec.switching.controller, self.druid) {
            (Controller::Zone(zone), _) => net.reach(zone, host).is_some(),
            (Controller::Druid, Some(druid)) => net.is_powered(host) && net.is_open(druid, host),
            // Who acts next will be where it can.
            (Controller::Druid, None) | (Controller::Everywhere, _) => has_way_out(host, net),
        }
    }

    /// Whether clients at a vantage observe a switch-over now.
    pub(crate) fn tells(&self, vantage: Vantage, net: &Network) -> bool {
        match (vantage, self.spec.switching.controller, self.druid) {
            (Vantage::Zone(zone), ..) => net.hosts_in(zone).any(|host| self.reaches(host, net)),
            (Vantage::Outside, Controller::Zone(zone), _) => {
                is_any(zone, net, |host| has_way_out(host, net)).unwrap_or_else(|| net.works(Vantage::Zone(zone)))
            }
            (Vantage::Outside, Controller::Druid, Some(druid)) => has_way_out(druid, net),
            (Vantage::Outside, Controller::Druid | Controller::Everywhere, _) => true,
        }
    }

    pub(crate) fn controller_works(&self, net: &Network) -> bool {
        match self.spec.switching.controller {
            Controller::Everywhere => true,
            Controller::Zone(zone) => {
                is_any(zone, net, |host| net.is_powered(host)).unwrap_or_else(|| net.has_clients(Vantage::Zone(zone)))
            }
            Controller::Druid => self.druid.is_some(),
        }
    }
}

/// Whether that is so of any machine in a zone; `None`: the scenario names none there.
fn is_any(zone: ZoneId, net: &Network, is_so: impl Fn(HostId) -> bool) -> Option<bool> {
    let mut hosts = net.hosts_in(zone).peekable();
    hosts.peek().copied().map(|_| hosts.any(is_so))
}

/// Whether a host runs and is not cut off from the rest of the world: then it reaches the bucket, and is reached from anywhere.
pub(crate) fn has_way_out(host: HostId, net: &Network) -> bool {
    net.is_powered(host) && !net.is_partitioned(host)
}
