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
//!   that the controller does not reach either. What it commits is lost when it is thrown away.
//! - Revisions come again after a loss: watchers that had seen them hear nothing until there are newer ones, as with etcd.
//! - A primary that lost its own disk is not restored in place: the standby takes over.
//!
//! The controller is etcd-druid's part. That of a cluster without a seed works while its zone has power; for a shoot's it is etcd-druid
//! of the seed, which checks and switches while it can act ([`EtcdCluster::is_checked_from`]) and from where it runs. When it could not for a
//! while it counts anew. The members are pods then: one that stands by is ready once it has restored something, and who was displaced is
//! started anew where it is (its pod is not deleted).
//!
//! Checks and polls are arithmetic ([`Periodic`]): in [`Stepping::FastForward`] only those are queued that can come to something. Each sees the
//! world as it was right before its moment ([`Seen`]), whatever else happens at that moment.

mod backup;
mod record;
mod switch;
pub use record::PassiveRecord;

use backup::Bucket;
pub(super) use switch::restored;

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::event::EtcdEvent;
use crate::member::MemberState;
use crate::record::EtcdRecord;
use crate::service::RequestKind;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::{Purpose, Stream as Draws};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_network::{HostId, Network};
use zonefall_scenario::text;
use zonefall_scenario::{ActivePassive, Controller, EtcdClusterSpec, Scenario};

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
    spec: ActivePassive,
    /// The member that clients are sent to.
    endpoint: u8,
    checks: Periodic,
    bucket: Option<Bucket>,
    timers: [Timer; PASSIVE_TIMERS],
    /// Where etcd-druid runs, while it can act.
    druid: Option<HostId>,
    /// The controller works.
    controller: Seen,
    /// The member that serves answers the controller.
    primary: Seen,
    /// The controller reaches the other one's machine, which runs.
    standby: Seen,
    /// Checks that have failed in a row.
    failures: u32,
    switch: Option<Switch>,
    /// The last index that was committed when the other took over, and the last that the displaced one has committed.
    accounted: u64,
    beyond: u64,
    /// Whether the other was last said to be able to take over.
    ready: bool,
}

/// A switch-over under way.
#[derive(Clone, Copy, Debug)]
struct Switch {
    /// Since when the one that served has not answered.
    silent: Time,
    /// The new one has begun its cluster.
    forked: bool,
}

/// Something that is so or not, and what it was right before the last moment it changed at.
#[derive(Clone, Copy, Debug)]
struct Seen {
    now: bool,
    before: bool,
    since: Time,
}

impl Seen {
    const fn new(now: bool) -> Self {
        Self { now, before: now, since: Time::ZERO }
    }

    fn update(&mut self, now: bool, at: Time) {
        if now != self.now {
            if self.since != at {
                (self.before, self.since) = (self.now, at);
            }
            self.now = now;
        }
    }

    /// As seen right before `at`, which is not before its last change.
    fn before(self, at: Time) -> bool {
        if self.since == at { self.before } else { self.now }
    }
}

impl Passive {
    /// As the cluster starts.
    pub(super) fn new(spec: &ActivePassive, cluster: &EtcdClusterSpec, seed: u64, entity: u64) -> Self {
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
    fn other(&self) -> u8 {
        1 - self.endpoint
    }

    /// Whether the controller reaches a host.
    fn reaches(&self, host: HostId, net: &Network) -> bool {
        match (self.spec.switching.controller, self.druid) {
            (Controller::Zone(zone), _) => net.reach(zone, host).is_some(),
            (Controller::Druid, Some(druid)) => net.is_powered(host) && net.is_open(druid, host),
            // Who acts next will be where it can.
            (Controller::Druid, None) | (Controller::Everywhere, _) => has_way_out(host, net),
        }
    }

    fn controller_works(&self, net: &Network) -> bool {
        match self.spec.switching.controller {
            Controller::Everywhere => true,
            Controller::Zone(zone) => net.hosts_in(zone).any(|host| net.is_powered(host)),
            Controller::Druid => self.druid.is_some(),
        }
    }
}

/// Whether a host runs and is not cut off from the rest of the world: then it reaches the bucket, and is reached from anywhere.
pub(super) fn has_way_out(host: HostId, net: &Network) -> bool {
    net.is_powered(host) && !net.is_partitioned(host)
}

impl EtcdCluster {
    /// Whether clients are sent to this member: to every one, where a quorum serves.
    pub fn is_in_service(&self, index: u8) -> bool {
        self.passive.as_deref().is_none_or(|passive| passive.endpoint == index)
    }

    /// etcd-druid can act from now on, on this host, or can no longer.
    pub fn is_checked_from(&mut self, druid: Option<HostId>, ctx: &mut EtcdCtx<'_>) {
        let passive = self.passive_mut();
        passive.druid = druid;
        if druid.is_some() {
            passive.failures = 0;
        }
        self.reconcile(ctx);
    }

    /// The only member that clients are sent to; `None`: they may ask any.
    pub fn endpoint(&self) -> Option<u8> {
        self.passive.as_deref().map(|passive| passive.endpoint)
    }

    /// Whether a client there hears of a switch-over now.
    pub fn tells(&self, host: HostId, net: &Network) -> bool {
        self.passive.as_deref().is_some_and(|passive| passive.reaches(host, net))
    }

    /// A member has applied entries up to `applied`: whether they are the cluster's. Those of a displaced one are not, once another
    /// goes on without them.
    pub(super) fn counts(&mut self, index: u8, applied: u64) -> bool {
        if !self.members[index as usize].displaced {
            return true;
        }
        let Some(passive) = self.passive.as_deref_mut() else { return false };
        passive.beyond = passive.beyond.max(applied);
        passive.switch.is_some_and(|switch| !switch.forked)
    }

    /// Whether this member could take over if it had more.
    pub(super) fn is_awaited(&self, index: u8) -> bool {
        self.passive.as_deref().is_some_and(|passive| !passive.ready && passive.other() == index)
    }

    fn passive_mut(&mut self) -> &mut Passive {
        self.passive.as_deref_mut().expect("an active-passive cluster")
    }

    /// Its machine, or its container, runs and has its volume.
    fn is_up(&self, index: u8) -> bool {
        let member = &self.members[index as usize];
        member.held_down == 0 && !member.halted && member.disk.is_present()
    }

    /// Whether it stands by with something that it has restored.
    pub(super) fn has_restored(&self, index: u8) -> bool {
        let member = &self.members[index as usize];
        member.state == MemberState::Standby && self.is_up(index) && !self.is_in_service(index) && member.disk.content.is_some()
    }

    fn serves(&self, index: u8, net: &Network) -> bool {
        self.time_at(index, RequestKind::Write, net).is_some()
    }

    /// Something that the controller or the standby looks at may have changed.
    pub fn reconcile(&mut self, ctx: &mut EtcdCtx<'_>) {
        let Some(passive) = self.passive.as_deref() else { return };
        let (endpoint, other) = (passive.endpoint, passive.other());
        let serves = self.serves(endpoint, ctx.net);
        if serves && passive.switch.is_some_and(|switch| switch.forked) {
            self.passive_mut().switch = None;
            ctx.record(EtcdRecord::Passive(self.id, PassiveRecord::Serving { member: endpoint }));
        }
        let passive = self.passive_mut();
        let switching = passive.switch.is_some();
        let sees = |cluster: &Self, index: u8| {
            let passive = cluster.passive.as_deref().expect("an active-passive cluster");
            passive.reaches(cluster.host(index), ctx.net) && cluster.is_up(index)
        };
        // Who is taking over is given the time it takes.
        let primary = sees(self, endpoint) && (switching || serves);
        let standby = sees(self, other);
        let ways = [0, 1].map(|index| self.is_up(index) && has_way_out(self.host(index), ctx.net));
        let passive = self.passive_mut();
        passive.controller.update(passive.controller_works(ctx.net), ctx.now);
        passive.primary.update(primary, ctx.now);
        passive.standby.update(standby, ctx.now);
        if let Some(bucket) = &mut passive.bucket {
            bucket.see(ways, ctx.now);
        }
        self.record_readiness(ctx);
        self.restore(ctx);
        self.arm_checks(ctx);
        self.arm_backup(ctx);
    }

    fn record_readiness(&mut self, ctx: &mut EtcdCtx<'_>) {
        let member = self.passive_mut().other();
        let ready = self.passive_mut().standby.now && self.could_take_over(member);
        if std::mem::replace(&mut self.passive_mut().ready, ready) != ready {
            ctx.record(EtcdRecord::Passive(self.id, PassiveRecord::Ready { member, ready }));
        }
    }

    fn arm_checks(&mut self, ctx: &mut EtcdCtx<'_>) {
        let stepping = self.stepping;
        let other = self.passive_mut().other();
        let in_role = self.is_in_role(other);
        let passive = self.passive_mut();
        let idle = passive.primary.now && passive.failures == 0 && in_role;
        if stepping == Stepping::EveryEvent || !idle {
            let next = passive.checks.after(ctx.now);
            self.arm(PassiveTimer::Check, next, ctx);
        }
    }

    /// Queues an alarm, unless one is queued.
    fn arm(&mut self, kind: PassiveTimer, at: Time, ctx: &mut EtcdCtx<'_>) {
        let timer = &mut self.passive_mut().timers[kind as usize];
        if !timer.is_armed() {
            let generation = timer.arm(at);
            ctx.schedule(at, self.id, EtcdEvent::Passive { timer: kind, generation });
        }
    }

    fn disarm(&mut self, kind: PassiveTimer) {
        self.passive_mut().timers[kind as usize].cancel();
    }

    /// Whether an alarm still counts.
    pub(super) fn is_due(&self, kind: PassiveTimer, generation: Generation) -> bool {
        self.passive.as_deref().is_some_and(|passive| passive.timers[kind as usize].is_due(generation))
    }

    /// What an alarm that counts is for.
    pub(super) fn describe_timer(&self, kind: PassiveTimer, scenario: &Scenario) -> String {
        let passive = self.passive.as_deref().expect("an active-passive cluster");
        let name = |index: u8| text::member(scenario, self.members[index as usize].id);
        let (serves, other) = (name(passive.endpoint), name(passive.other()));
        match kind {
            PassiveTimer::Check => format!("etcd-druid checks {serves}"),
            PassiveTimer::Delta => format!("a delta snapshot of {serves} is due"),
            PassiveTimer::Full => format!("a full snapshot of {serves} is due"),
            PassiveTimer::Uploaded => format!("the upload of a snapshot of {serves} is complete"),
            PassiveTimer::Poll => format!("{other} looks for new snapshots in the backup bucket"),
            PassiveTimer::Applied => "the standby has applied the snapshots that it fetched".to_owned(),
        }
    }

    /// An alarm rings.
    pub(super) fn fire_timer(&mut self, kind: PassiveTimer, generation: Generation, ctx: &mut EtcdCtx<'_>) {
        if !self.passive_mut().timers[kind as usize].fires(generation) {
            return;
        }
        match kind {
            PassiveTimer::Check => self.check(ctx),
            PassiveTimer::Delta => self.snapshot_due(false, ctx),
            PassiveTimer::Full => self.snapshot_due(true, ctx),
            PassiveTimer::Uploaded => self.uploaded(ctx),
            PassiveTimer::Poll => self.poll(ctx),
            PassiveTimer::Applied => self.snapshots_applied(ctx),
        }
        self.reconcile(ctx);
    }

    /// Whether the member that does not serve is what it should be.
    fn is_in_role(&self, index: u8) -> bool {
        let member = &self.members[index as usize];
        let by_bucket = self.passive.as_deref().is_some_and(|passive| passive.bucket.is_some());
        match member.state {
            MemberState::Standby => by_bucket,
            MemberState::Joined => !by_bucket && !member.displaced && (member.process.serves() || member.disk.content.is_some()),
            MemberState::Future | MemberState::Removed => false,
        }
    }
}
