//! The connections of an API server to etcd: each resource, built in or custom, has a client of its own, each with its own connection
//! (kubernetes#111622), and the readiness check has one more.
//!
//! ```text
//!                     process ends on a living host: reset
//!   .------------------------------------------------------------------.
//!   v                                                                  |
//!  dial a member, drawn --> open --> silent (cut, power, pause) --35..40 s--> closed
//!   ^      |                  ^         |
//!   '20 s--' silent           '---------' the path is open again
//! ```
//!
//! Members are drawn for each connection by itself: when one of three falls silent, about a third of the resources waits for it, until
//! the keep-alive of its connection has found out. At rest all that is kept is the member of each connection, and who is asked.

use std::sync::Arc;

use super::{ENTITY, Etcd};
use crate::ctx::ClusterCtx;
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::HostId;

/// The connection of `coordination.k8s.io` leases: those of kubelets and of leaders.
pub(super) const LEASES: usize = 0;

/// The connection of pods, which stand for all that controllers work on.
pub(super) const PODS: usize = 1;

/// No member is there to dial.
const NONE: u8 = u8::MAX;

/// Etcd tells a watch this often that nothing has changed (`--watch-progress-notify-interval`, as kubeadm sets it); the keep-alive of a
/// connection counts from what was last heard. Connections of a server differ by whole seconds, so that those that end together are one
/// event. All share a random part of a second, so that no controller acts at the same instant.
const PROGRESS_S: u64 = 5;
/// A server notices the end of a dial up to this late (an assumption), so that no controller acts at the same instant.
const DIAL_SEEN: Duration = Duration::from_millis(1);

/// The connections of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections {
    /// The member that each is with, waits for, or dials: of all resources, then of the readiness check.
    members: Arc<[u8]>,
    /// Members that some are with.
    peers: Vec<Peer>,
    /// Those that are not open: silent, or dialled.
    waiting: Vec<Waiting>,
    /// Some have no member to dial.
    idle: bool,
}

/// A member that connections are with. A process of it that has started anew (another life) knows nothing of them.
#[derive(Clone, Copy, Debug)]
struct Peer {
    member: u8,
    life: u64,
    /// Packets vanish, or nobody reads them.
    silent: bool,
    /// Resources whose connection is with it.
    resources: u16,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    connection: u16,
    /// It is given up then.
    until: Time,
    dialled: bool,
}

/// What a server may do about its connections.
pub(super) struct Dialler<'a, 'b> {
    pub(super) host: HostId,
    pub(super) etcd: Etcd<'a>,
    pub(super) ctx: &'a ClusterCtx<'b>,
    /// Draws made so far by all servers.
    pub(super) draws: &'a mut u64,
    /// The members that it may talk to.
    pub(super) choice: &'a dyn Fn() -> Vec<u8>,
    /// It leaves a member that it could go on talking to.
    pub(super) leaves: &'a dyn Fn(u8) -> bool,
}

impl Dialler<'_, '_> {
    /// What is sent to a member arrives, and is read.
    fn is_open(&self, member: u8) -> bool {
        self.ctx.net.is_open(self.host, self.etcd.host(member)) && !self.etcd.is_frozen(member)
    }

    /// A member goes on serving those that are connected with it.
    fn serves(&self, peer: Peer) -> bool {
        self.etcd.life(peer.member) == Some(peer.life) && !(self.leaves)(peer.member)
    }

    fn stream(&self) -> Stream {
        self.ctx.draws(Purpose::Connection, ENTITY)
    }

    /// A random time, shorter than `of`.
    fn draw_part(&mut self, stream: Stream, of: Duration) -> Duration {
        Duration::from_nanos(self.draw(stream, of.as_nanos()))
    }

    fn draw(&mut self, stream: Stream, below: u64) -> u64 {
        *self.draws += 1;
        stream.draw(*self.draws).below(below)
    }
}

impl Connections {
    /// Of a server that keeps this number of resources; none is dialled yet.
    pub(super) fn new(resources: u16) -> Self {
        Self { members: vec![NONE; usize::from(resources) + 1].into(), peers: Vec::new(), waiting: Vec::new(), idle: true }
    }

    /// Resources, each with a connection.
    pub(super) fn resources(&self) -> usize {
        self.members.len() - 1
    }

    /// The member that a connection is with, where it is open; of the readiness check: [`Self::resources`].
    pub(super) fn member(&self, connection: usize) -> Option<u8> {
        let waits = || self.waiting.iter().any(|waiting| usize::from(waiting.connection) == connection);
        self.waits_for(connection).filter(|_| !waits())
    }

    /// The member that a connection is with, waits for, or dials.
    pub(super) fn waits_for(&self, connection: usize) -> Option<u8> {
        Some(self.members[connection]).filter(|member| *member != NONE)
    }

    /// The member that the connection of each resource is with, waits for, or dials; none of those that have no member to dial.
    pub(super) fn asked(&self) -> Arc<[u8]> {
        self.members[..self.resources()].iter().copied().filter(|member| *member != NONE).collect()
    }

    /// Whether the connection of any resource is with a member, waits for one, or dials one.
    pub(super) fn asks(&self) -> bool {
        self.members[..self.resources()].iter().any(|member| *member != NONE)
    }

    /// Members with open connections, and for how many resources.
    pub(super) fn open(&self) -> impl Iterator<Item = (u8, u16)> {
        self.peers.iter().filter(|peer| !peer.silent).map(|peer| (peer.member, peer.resources))
    }

    /// When the next connection is given up.
    pub(super) fn next(&self) -> Option<Time> {
        self.waiting.iter().map(|waiting| waiting.until).min()
    }

    /// Follows what has become of the members and of the paths to them.
    pub(super) fn follow(&mut self, dialler: &mut Dialler<'_, '_>) {
        let is_fine = |peer: &Peer| dialler.is_open(peer.member) && dialler.serves(*peer);
        if !self.idle && self.waiting.is_empty() && self.peers.iter().all(is_fine) {
            return;
        }
        let mut redialled = Vec::new();
        let mut silent = Vec::new();
        for peer in std::mem::take(&mut self.peers) {
            if !dialler.is_open(peer.member) {
                silent.extend((!peer.silent).then_some(peer.member));
                self.peers.push(Peer { silent: true, ..peer });
                continue;
            }
            if dialler.serves(peer) {
                self.peers.push(Peer { silent: false, ..peer });
            } else {
                redialled.extend(self.with(peer.member));
            }
            self.waiting.retain(|waiting| waiting.dialled || self.members[usize::from(waiting.connection)] != peer.member);
        }
        for member in silent {
            self.fall_silent(member, dialler);
        }
        for waiting in std::mem::take(&mut self.waiting) {
            let member = self.members[usize::from(waiting.connection)];
            if !waiting.dialled || !dialler.is_open(member) {
                self.waiting.push(waiting);
            } else if let Some(life) = dialler.etcd.life(member) {
                self.connect(member, life);
            } else {
                redialled.push(waiting.connection);
            }
        }
        if self.idle {
            redialled.extend((0u16..).zip(&*self.members).filter(|(_, member)| **member == NONE).map(|(place, _)| place));
        }
        self.dial(redialled, dialler);
        self.count();
    }

    /// Gives up those that have been silent, or dialled, for long enough.
    pub(super) fn give_up(&mut self, dialler: &mut Dialler<'_, '_>) {
        let now = dialler.ctx.now;
        let due = self.waiting.extract_if(.., |waiting| waiting.until <= now).map(|waiting| waiting.connection).collect();
        self.dial(due, dialler);
        self.count();
    }

    /// Counts what each member has; those with nothing are none.
    fn count(&mut self) {
        let mut peers = std::mem::take(&mut self.peers);
        peers.retain_mut(|peer| {
            let resources = self.resources();
            let (mut any, mut count) = (false, 0);
            for place in self.with(peer.member) {
                any = true;
                count += u16::from(usize::from(place) < resources);
            }
            peer.resources = count;
            any
        });
        self.peers = peers;
    }

    /// Connections that are with a member, silent ones among them.
    fn with(&self, member: u8) -> impl Iterator<Item = u16> {
        let dialled = |place: u16| self.waiting.iter().any(|waiting| waiting.dialled && waiting.connection == place);
        let of_member = (0u16..).zip(&*self.members).filter(move |(_, with)| **with == member).map(|(place, _)| place);
        of_member.filter(move |place| !dialled(*place))
    }

    /// A member has fallen silent.
    fn fall_silent(&mut self, member: u8, dialler: &mut Dialler<'_, '_>) {
        let (stream, now, silence) = (dialler.stream(), dialler.ctx.now, dialler.ctx.spec.timers.etcd_silence);
        let connections: Vec<u16> = self.with(member).collect();
        let part = dialler.draw_part(stream, Duration::from_secs(1));
        for connection in connections {
            let heard = Duration::from_secs(dialler.draw(stream, PROGRESS_S)) + part;
            self.waiting.push(Waiting { connection, until: now + silence - heard.min(silence), dialled: false });
        }
    }

    fn connect(&mut self, member: u8, life: u64) {
        if self.peers.iter().all(|peer| peer.member != member) {
            self.peers.push(Peer { member, life, silent: false, resources: 0 });
        }
    }

    /// Dials, with each of these, one of the members that do not refuse at once.
    fn dial(&mut self, connections: Vec<u16>, dialler: &mut Dialler<'_, '_>) {
        if connections.is_empty() {
            return;
        }
        let alive = |member: u8| dialler.etcd.life(member).filter(|_| dialler.is_open(member));
        let there = (dialler.choice)().into_iter().map(|member| (member, alive(member)));
        let members: Vec<(u8, Option<u64>)> =
            there.filter(|(member, life)| life.is_some() || !dialler.is_open(*member)).collect();
        let stream = dialler.stream();
        let until = dialler.ctx.now + dialler.ctx.spec.timers.etcd_dial + dialler.draw_part(stream, DIAL_SEEN);
        let mut with: Vec<u8> = self.members.to_vec();
        for connection in connections {
            let place = usize::from(connection);
            let Some(last) = members.len().checked_sub(1) else {
                with[place] = NONE;
                continue;
            };
            let drawn = if last == 0 { 0 } else { dialler.draw(stream, members.len() as u64) };
            let (member, life) = members[drawn as usize];
            with[place] = member;
            match life {
                Some(life) => self.connect(member, life),
                None => self.waiting.push(Waiting { connection, until, dialled: true }),
            }
        }
        self.idle = with.contains(&NONE);
        self.members = with.into();
    }
}
