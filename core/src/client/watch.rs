//! A client's watch: events come late, never not at all, while the cluster still has their revisions.
//!
//! ```text
//!   attached --path blocked--> held --healed--> next retransmission: everything since the last event that was sent
//!      ^                        |
//!      |                        `--no word for `silence`--> gives the member up
//!      `-- another member, from the same revision <--- seeks <---`---- the member's process is gone
//! ```
//!
//! A client whose machine has lost power begins anew when it is back: it lists, and watches from there.

use crate::client::event::ClientEvent;
use crate::client::record::RequestResult;
use crate::client::{Client, ClientCtx, FAILURE_PAUSE, GRPC_OVERHEAD, Trip};
use crate::etcd::command_bytes::{WatchScope, event_bytes};
use crate::etcd::event::Watched;
use crate::ids::MemberId;
use crate::kernel::time::{Duration, Time};
use crate::network::ledger::Class;
use crate::network::stream;
use crate::scenario::Op;

/// Where a watch stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    /// The member it is attached to.
    at: Option<u8>,
    /// Index of the last entry whose event is on its way or here; `None`: it begins with the present.
    seen: Option<u64>,
    /// When the first event that waits for the path was written.
    held_since: Option<Time>,
    /// Nobody could be reached: it waits for a change.
    seeking: bool,
}

impl Watch {
    /// Whether some member sends it events.
    pub(super) fn is_attached(&self) -> bool {
        self.at.is_some()
    }
}

impl Client {
    fn schedule(&self, when: Time, event: ClientEvent, ctx: &mut ClientCtx<'_>) {
        ctx.out.schedule(when, (self.id, event));
    }

    fn is_connected_to(&self, member: u8, ctx: &ClientCtx<'_>) -> bool {
        !ctx.net.is_blocked(ctx.cluster.members[member as usize].host, self.host)
    }

    /// Looks for a member to watch at, unless it has one that it hears.
    pub(super) fn seek(&mut self, ctx: &mut ClientCtx<'_>) {
        if !self.is_on(ctx) {
            return;
        }
        if self.watch.at.is_some() {
            return;
        }
        let n = ctx.cluster.members.len() as u8;
        let first = self.first_member(ctx);
        let reached = |&index: &u8| {
            self.endpoint.is_none_or(|endpoint| endpoint == index)
                && ctx.net.is_open(self.host, ctx.cluster.members[index as usize].host)
        };
        let candidates: Vec<u8> = (0..n).map(|step| (first + step) % n).filter(reached).collect();
        self.watch.at = candidates.into_iter().find(|&index| ctx.cluster.watch(index, self.id));
        self.watch.seeking = self.watch.at.is_none();
        if let Some(member) = self.watch.at {
            self.watch.seen.get_or_insert_with(|| ctx.cluster.applied_at(member));
            self.catch_up(member, ctx);
            self.expect_word(member, ctx);
        }
    }

    /// Whether it watches at a member.
    pub(super) fn watches_at(&self, member: u8) -> bool {
        self.watch.at == Some(member)
    }

    /// Its connection with a member is closed: a watch there goes on elsewhere.
    pub(super) fn leave_member(&mut self, member: u8, ctx: &mut ClientCtx<'_>) {
        if self.watches_at(member) {
            self.detach(ctx);
            self.seek(ctx);
        }
    }

    /// Watches nothing any more; what comes next it lists anew.
    pub(super) fn leave_watch(&mut self, ctx: &mut ClientCtx<'_>) {
        self.detach(ctx);
        self.watch = Watch::default();
    }

    fn detach(&mut self, ctx: &mut ClientCtx<'_>) {
        if let Some(member) = self.watch.at.take() {
            ctx.cluster.unwatch(member, self.id);
        }
        self.watch.held_since = None;
    }

    /// Sends what the member has applied since the last event.
    fn catch_up(&mut self, member: u8, ctx: &mut ClientCtx<'_>) {
        let seen = self.watch.seen.unwrap_or(0);
        for watched in ctx.cluster.events_after(member, seen, ctx.now) {
            self.send_event(watched, ctx);
        }
    }

    /// A member this client watches at has applied something.
    pub fn notify(&mut self, watched: Watched, ctx: &mut ClientCtx<'_>) {
        let member = watched.member.index;
        let known = self.watch.seen.is_some_and(|seen| watched.index <= seen);
        if self.watch.at != Some(member) || known || self.watch.held_since.is_some() {
            return;
        }
        if self.is_connected_to(member, ctx) || self.event_bytes(&watched) == 0 {
            self.send_event(watched, ctx);
        } else {
            self.watch.held_since = Some(ctx.now);
        }
    }

    /// Bytes of what it is told; 0: nothing.
    fn event_bytes(&self, watched: &Watched) -> u64 {
        event_bytes(watched.command, if self.spec.server.is_some() { WatchScope::ApiServer } else { WatchScope::All })
    }

    fn send_event(&mut self, watched: Watched, ctx: &mut ClientCtx<'_>) {
        let member = watched.member.index;
        let host = ctx.cluster.members[member as usize].host;
        self.watch.seen = Some(watched.index);
        let event = self.event_bytes(&watched);
        if event == 0 {
            return;
        }
        let bytes = GRPC_OVERHEAD + event;
        let Trip { transfer, carded, way, lost, sent } = self.travel(Class::WatchEvent, [host, self.host], bytes, ctx);
        let arrival = (watched.at + transfer).max(carded) + way + lost;
        self.meter(member, false, watched.at, bytes, sent);
        self.schedule(arrival, ClientEvent::Watched { member, since: watched.first_applied }, ctx);
    }

    /// An event arrives; its entry was first applied anywhere at `since`.
    pub(super) fn watched(&mut self, member: u8, since: Time, ctx: &mut ClientCtx<'_>) {
        if !ctx.net.is_powered(self.host) {
            return;
        }
        let member = MemberId { cluster: self.cluster, index: member };
        self.record_result(member, ([ctx.now.since(since), Duration::ZERO], None), RequestResult::Ok, ctx.out);
    }

    /// What waited for the path is sent again; it gets through, unless the path is blocked anew.
    pub(super) fn retransmitted(&mut self, ctx: &mut ClientCtx<'_>) {
        if let Some(member) = self.watch.at
            && self.watch.held_since.is_some()
            && self.is_connected_to(member, ctx)
        {
            self.watch.held_since = None;
            self.catch_up(member, ctx);
        }
    }

    /// The process it watches at is gone; `reset`: its kernel says so.
    pub(super) fn watched_member_stopped(&mut self, member: u8, reset: bool, ctx: &mut ClientCtx<'_>) {
        if self.watch.at != Some(member) {
            return;
        }
        self.watch.at = None;
        self.watch.held_since = None;
        let host = ctx.cluster.members[member as usize].host;
        let told = reset && self.is_connected_to(member, ctx);
        let notice = if told { ctx.net.round_trip(host, self.host) } else { self.spec.silence };
        self.schedule(ctx.now + notice, ClientEvent::Watch, ctx);
    }

    /// The network, a process or a member's standing may have changed.
    pub fn network_changed(&mut self, ctx: &mut ClientCtx<'_>) {
        self.follow_connections(ctx);
        if self.spec.op != Op::Watch {
            return;
        }
        if !ctx.net.is_powered(self.host) {
            self.watch.seeking |= self.watch.at.is_some();
            self.watch.seen = None;
            self.detach(ctx);
        } else if self.watch.seeking {
            self.watch.seeking = false;
            self.schedule(ctx.now + FAILURE_PAUSE, ClientEvent::Watch, ctx);
        } else if let Watch { at: Some(member), held_since: Some(since), .. } = self.watch
            && self.is_connected_to(member, ctx)
        {
            self.schedule(stream::retransmission(since, ctx.now), ClientEvent::Retransmitted, ctx);
        }
    }
}
