//! A client's watch: events come late, never not at all, while the cluster still has their revisions.
//!
//! ```text
//!   attached --path blocked--> held --healed--> next retransmission: everything since the last event that was sent
//!      ^                        |
//!      |                        `--no word for its time-out--> gives the member up
//!      `-- another member, from the same revision <--- seeks <---`---- the member's process is gone
//! ```
//!
//! A client whose machine has lost power begins anew when it is back: it lists, and watches from there.

use crate::client::{Client, FAILURE_PAUSE, GRPC_OVERHEAD, Surroundings};
use crate::etcd::ready::{Watcher, event_bytes};
use crate::ids::MemberId;
use crate::kernel::time::Time;
use crate::network::ledger::Class;
use crate::network::stream;
use crate::record::RequestResult;
use crate::scenario::Op;
use crate::sim::event::{ClientEvent, Event, Watched};

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
    fn schedule(&self, when: Time, event: ClientEvent, at: &mut Surroundings<'_>) {
        at.fx.schedule.push((when, Event::Client(self.id, event)));
    }

    fn hears(&self, member: u8, at: &Surroundings<'_>) -> bool {
        !at.net.is_blocked(at.cluster.members[member as usize].host, self.host)
    }

    /// Looks for a member to watch at, unless it has one that it hears.
    pub(super) fn seek(&mut self, at: &mut Surroundings<'_>) {
        if !self.is_on(at) {
            return;
        }
        if let Some(member) = self.watch.at {
            let silent = self.watch.held_since.is_some_and(|since| at.now >= since + self.timeout) && !self.hears(member, at);
            if !silent {
                return;
            }
            self.detach(at);
        }
        let n = at.cluster.members.len() as u8;
        let first = self.first_member(at);
        let reached = |&index: &u8| {
            self.endpoint.is_none_or(|endpoint| endpoint == index)
                && at.net.is_open(self.host, at.cluster.members[index as usize].host)
        };
        let candidates: Vec<u8> = (0..n).map(|step| (first + step) % n).filter(reached).collect();
        self.watch.at = candidates.into_iter().find(|&index| at.cluster.watch(index, self.id));
        self.watch.seeking = self.watch.at.is_none();
        if let Some(member) = self.watch.at {
            self.watch.seen.get_or_insert_with(|| at.cluster.applied_at(member));
            self.catch_up(member, at);
        }
    }

    /// Watches nothing any more; what comes next it lists anew.
    pub(super) fn leave_watch(&mut self, at: &mut Surroundings<'_>) {
        self.detach(at);
        self.watch = Watch::default();
    }

    fn detach(&mut self, at: &mut Surroundings<'_>) {
        if let Some(member) = self.watch.at.take() {
            at.cluster.unwatch(member, self.id);
        }
        self.watch.held_since = None;
    }

    /// Sends what the member has applied since the last event.
    fn catch_up(&mut self, member: u8, at: &mut Surroundings<'_>) {
        let seen = self.watch.seen.unwrap_or(0);
        for watched in at.cluster.events_after(member, seen, at.now) {
            self.send_event(watched, at);
        }
    }

    /// A member this client watches at has applied something.
    pub fn notify(&mut self, watched: Watched, at: &mut Surroundings<'_>) {
        let member = watched.member.index;
        let known = self.watch.seen.is_some_and(|seen| watched.index <= seen);
        if self.watch.at != Some(member) || known || self.watch.held_since.is_some() {
            return;
        }
        if self.hears(member, at) || self.event_bytes(&watched) == 0 {
            self.send_event(watched, at);
        } else {
            self.watch.held_since = Some(at.now);
            self.schedule(at.now + self.timeout, ClientEvent::Watch, at);
        }
    }

    /// Bytes of what it is told; 0: nothing.
    fn event_bytes(&self, watched: &Watched) -> u64 {
        event_bytes(watched.command, if self.spec.server.is_some() { Watcher::ApiServer } else { Watcher::All })
    }

    fn send_event(&mut self, watched: Watched, at: &mut Surroundings<'_>) {
        let member = watched.member.index;
        let host = at.cluster.members[member as usize].host;
        self.watch.seen = Some(watched.index);
        let event = self.event_bytes(&watched);
        if event == 0 {
            return;
        }
        let bytes = GRPC_OVERHEAD + event;
        let (transfer, way, sent) = self.travel(Class::WatchEvent, [host, self.host], bytes, at.net);
        let arrival = watched.at + transfer + way;
        self.meter(member, false, watched.at, bytes, sent);
        self.schedule(arrival, ClientEvent::Watched { member, since: watched.first_applied }, at);
    }

    /// An event arrives; its entry was first applied anywhere at `since`.
    pub(super) fn watched(&mut self, member: u8, since: Time, at: &mut Surroundings<'_>) {
        if !at.net.is_powered(self.host) {
            return;
        }
        let member = MemberId { cluster: self.cluster, index: member };
        self.tell(member, at.now.since(since), RequestResult::Ok, at.fx);
    }

    /// What waited for the path is sent again; it gets through, unless the path is blocked anew.
    pub(super) fn retransmitted(&mut self, at: &mut Surroundings<'_>) {
        if let Some(member) = self.watch.at
            && self.watch.held_since.is_some()
            && self.hears(member, at)
        {
            self.watch.held_since = None;
            self.catch_up(member, at);
        }
    }

    /// The process it watches at is gone; `reset`: its kernel says so.
    pub(super) fn watched_member_stopped(&mut self, member: u8, reset: bool, at: &mut Surroundings<'_>) {
        if self.watch.at != Some(member) {
            return;
        }
        self.watch.at = None;
        self.watch.held_since = None;
        let host = at.cluster.members[member as usize].host;
        let told = reset && self.hears(member, at);
        let notice = if told { at.net.round_trip(host, self.host) } else { self.timeout };
        self.schedule(at.now + notice, ClientEvent::Watch, at);
    }

    /// The network, a process or a member's standing may have changed.
    pub fn surroundings_changed(&mut self, at: &mut Surroundings<'_>) {
        if self.spec.op != Op::Watch {
            return;
        }
        if !at.net.is_powered(self.host) {
            self.watch.seeking |= self.watch.at.is_some();
            self.watch.seen = None;
            self.detach(at);
        } else if self.watch.seeking {
            self.watch.seeking = false;
            self.schedule(at.now + FAILURE_PAUSE, ClientEvent::Watch, at);
        } else if let Watch { at: Some(member), held_since: Some(since), .. } = self.watch
            && self.hears(member, at)
        {
            self.schedule(stream::retransmission(since, at.now), ClientEvent::Retransmitted, at);
        }
    }
}
