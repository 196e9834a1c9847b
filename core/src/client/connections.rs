//! Connections of a client with the members (grpc-go `internal/transport/http2_client.go`, `keepalive`; `internal/backoff`; etcd's client
//! asks members in turn whose connection is ready: `round_robin`).
//!
//! ```text
//!      process ends on a living host: reset
//!   .-----------------------------------------------------------------------.
//!   |                                                                       v
//!  open --a request waits, packets vanish or nobody reads--> silent --> closed --dials, 1 s, 1.6 s, .. 120 s apart--> open
//!   ^                                                          |  `silence`: a keep-alive and its time-out
//!   '------------------- it is heard again --------------------'
//! ```
//!
//! Requests that wait at a member fail with their connection, and go on to another. While none is open, members are asked as if all were
//! (of what gRPC does then, requests that fail at once and are repeated, nothing is modelled). At rest nothing is kept but who is closed.

use crate::client::event::ClientEvent;
use crate::client::record::ClientRecord;
use crate::client::{Client, ClientCtx};
use crate::etcd::event::Answer;
use crate::ids::MemberId;
use crate::kernel::dist::scale;
use crate::kernel::time::{Duration, Time};
use crate::kernel::timer::{Generation, Timer};

/// From one dial to the next: at first, by how much more each time, at most, and by how much it is varied (`backoff.DefaultConfig`).
const BACKOFF: (Duration, f64, Duration, f64) = (Duration::from_secs(1), 1.6, Duration::from_secs(120), 0.2);

/// A dial that hears nothing takes this long at least (`minConnectTimeout`).
const DIAL: Duration = Duration::from_secs(20);

/// A connection with one member.
#[derive(Clone, Debug, Default)]
pub(super) struct Connection {
    state: State,
    timer: Timer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Requests may take it.
    #[default]
    Open,
    /// The same, and nothing is heard.
    Silent,
    /// It has been dialled so many times; a dial that hears nothing lasts till then.
    Closed { dials: u32, dialled_until: Time },
}

impl Connection {
    /// Whether the event of its timer still counts.
    pub(super) fn is_due(&self, generation: Generation) -> bool {
        self.timer.is_due(generation)
    }
}

impl Client {
    /// Whether its connections are its own: those for most requests of an API server are [its server's](crate::kube::api).
    fn has_connections(&self) -> bool {
        self.attachment.as_ref().map_or(self.spec.server.is_none(), |attachment| attachment.members.is_none())
    }

    /// What is sent to a member arrives and is read, and so is what it sends, if only by its kernel.
    fn hears(&self, member: u8, ctx: &ClientCtx<'_>) -> bool {
        let host = ctx.cluster.members[usize::from(member)].host;
        ctx.net.is_open(self.host, host) && !ctx.cluster.is_paused(member)
    }

    /// Whether the connection with a member is closed: requests take others while any is open.
    pub(super) fn is_closed(&self, member: u8) -> bool {
        matches!(self.connections[usize::from(member)].state, State::Closed { .. })
    }

    /// It is another process: its connections are new.
    pub(super) fn connect_anew(&mut self, ctx: &mut ClientCtx<'_>) {
        for member in 0..self.connections.len() as u8 {
            self.change(member, State::Open, None, ctx);
        }
    }

    /// Whether a member whose connection is closed takes another.
    fn is_answered(&self, member: u8, ctx: &ClientCtx<'_>) -> bool {
        self.hears(member, ctx) && ctx.cluster.serves_clients(member)
    }

    /// Whether a dial is refused at once: nothing listens there.
    fn is_refused(&self, member: u8, ctx: &ClientCtx<'_>) -> bool {
        self.hears(member, ctx) && !ctx.cluster.members[usize::from(member)].process.serves()
    }

    /// A request or a watch waits for a member: where nothing is heard, its connection has so long until it is closed.
    pub(super) fn expect_word(&mut self, member: u8, ctx: &mut ClientCtx<'_>) {
        let is_open = self.connections[usize::from(member)].state == State::Open;
        if is_open && self.has_connections() && ctx.net.is_powered(self.host) && !self.hears(member, ctx) {
            self.change(member, State::Silent, Some(ctx.now + self.spec.silence), ctx);
        }
    }

    /// A member has refused: where nothing listens any more, the connection is closed.
    pub(super) fn refused(&mut self, member: u8, ctx: &mut ClientCtx<'_>) {
        if self.has_connections() && !self.is_closed(member) && !ctx.cluster.members[usize::from(member)].process.serves() {
            self.close(member, ctx);
        }
    }

    fn change(&mut self, member: u8, state: State, due: Option<Time>, ctx: &mut ClientCtx<'_>) {
        let was_closed = self.is_closed(member);
        let connection = &mut self.connections[usize::from(member)];
        connection.state = state;
        if let Some((due, generation)) = connection.timer.rearm(due) {
            ctx.out.schedule(due, (self.id, ClientEvent::Connection { member, generation }));
        }
        let closed = self.is_closed(member);
        if was_closed != closed {
            let (client, from, member) = (self.id, self.spec.zone, MemberId { cluster: self.cluster, index: member });
            ctx.out.record(ClientRecord::Connection { client, from, member, open: !closed });
        }
    }

    /// The connection with a member that has been silent for long enough is closed; one that is closed is dialled.
    pub(super) fn connection_due(&mut self, member: u8, generation: Generation, ctx: &mut ClientCtx<'_>) {
        if !self.connections[usize::from(member)].timer.fires(generation) {
            return;
        }
        match self.connections[usize::from(member)].state {
            State::Open => unreachable!("nothing is due of an open connection"),
            State::Silent => self.close(member, ctx),
            State::Closed { .. } if self.is_answered(member, ctx) => self.change(member, State::Open, None, ctx),
            State::Closed { dials, .. } => self.dial(member, dials + 1, ctx),
        }
    }

    /// Closes a connection: what waits for its member goes on to another.
    fn close(&mut self, member: u8, ctx: &mut ClientCtx<'_>) {
        self.dial(member, 1, ctx);
        for token in self.requests.at(member) {
            self.answered(token, Answer::Unavailable, ctx);
        }
        self.leave_member(member, ctx);
    }

    /// A dial that is not answered, and when the next follows.
    fn dial(&mut self, member: u8, dials: u32, ctx: &mut ClientCtx<'_>) {
        let (base, factor, most, jitter) = BACKOFF;
        // More than enough to reach the longest.
        let wait = (1..dials.min(20)).fold(base, |wait, _| scale(wait, factor).min(most));
        self.drawn += 1;
        let part = self.connection_draws.draw(self.drawn).unit();
        let varied = scale(wait, 1.0 + jitter * (2.0 * part - 1.0));
        let lasts = if self.is_refused(member, ctx) { Duration::ZERO } else { DIAL };
        let state = State::Closed { dials, dialled_until: ctx.now + lasts };
        self.change(member, state, Some(ctx.now + varied.max(lasts)), ctx);
    }

    /// The network or a process may have changed: one that something waits for falls silent or is heard again, or one that is being dialled
    /// answers.
    pub(super) fn follow_connections(&mut self, ctx: &mut ClientCtx<'_>) {
        if !self.has_connections() {
            return;
        }
        for member in 0..self.connections.len() as u8 {
            if self.watches_at(member) || !self.requests.at(member).is_empty() {
                self.expect_word(member, ctx);
            }
            let opens = match self.connections[usize::from(member)].state {
                State::Open => false,
                State::Silent => self.hears(member, ctx),
                State::Closed { dialled_until, .. } => ctx.now < dialled_until && self.is_answered(member, ctx),
            };
            if opens {
                self.change(member, State::Open, None, ctx);
            }
        }
    }
}
