//! What the controller of an active-passive pair does: it watches the member that serves, and lets the other take over
//! ([`passive`](super::passive) has the rules and the state).
//!
//! ```text
//!  anything changes --> reconcile: what the controller sees, who is ready --> what is due next is queued
//!    alarms --> switch.rs: health checks, switch-over, the displaced member     backup.rs: snapshots to the bucket and from it
//! ```
//!
//! Checks and polls are arithmetic ([`Periodic`](zonefall_kernel::periodic::Periodic)): in [`Stepping::FastForward`] only those are
//! queued that can come to something. Each sees the world as it was right before its moment
//! ([`Seen`](super::passive::Seen)), whatever else happens at that moment.

mod backup;
mod switch;

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::event::EtcdEvent;
use crate::member::MemberState;
use crate::passive::{Passive, PassiveRecord, PassiveTimer, has_way_out};
use crate::record::EtcdRecord;
use crate::service::RequestKind;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Generation;
use zonefall_network::{HostId, Network};
use zonefall_scenario::text;
use zonefall_scenario::{Scenario, Vantage};

impl EtcdCluster {
    /// Whether clients are sent to this member: to every one, where a quorum serves.
    pub fn is_in_service(&self, index: u8) -> bool {
        self.passive.as_deref().is_none_or(|passive| passive.endpoint == index)
    }

    /// Whether clients at a vantage ask this member: one that was displaced is still asked where nobody has told of the switch-over.
    pub(super) fn is_asked_from(&self, vantage: Vantage, index: u8, net: &Network) -> bool {
        let untold = |passive: &Passive| self.members[index as usize].displaced && !passive.tells(vantage, net);
        self.is_in_service(index) || self.passive.as_deref().is_some_and(untold)
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

    /// Whether a client on this host observes a switch-over now.
    pub fn announces_switchover(&self, host: HostId, net: &Network) -> bool {
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

    /// Its machine, or its container, runs, is not frozen, and has its volume.
    fn is_up(&self, index: u8) -> bool {
        let member = &self.members[index as usize];
        member.held_down == 0 && !member.halted && member.pause.is_none() && member.disk.is_present()
    }

    /// Whether it stands by with something that it has restored.
    pub(super) fn has_restored(&self, index: u8) -> bool {
        let member = &self.members[index as usize];
        member.state == MemberState::Standby && self.is_up(index) && !self.is_in_service(index) && member.disk.content.is_some()
    }

    fn serves(&self, index: u8, net: &Network) -> bool {
        // One that is full answers, and so would the other, which has the same.
        self.time_at(index, RequestKind::LinearizableRead, net).is_some()
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
