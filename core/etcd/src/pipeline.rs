//! POSTs to a peer whose stream is closed (`rafthttp/pipeline.go`, `peer.pick`).
//!
//! The receiver dials a stream, and only one that both ends want is made: who does not know yet who dials it answers 404. Its address it
//! learns from the request all the same (`X-PeerURLs`; `addRemoteFromRequest` in `rafthttp/http.go`, `Transport.AddRemote`), so that it
//! answers by POSTs, until it has applied the change that makes the other its peer.
//!
//! ```text
//!   stream open ------------------------------------> stream
//!   closed --a free worker of four--dial, if it must--> POST --> answered: the worker is free
//!     \--nobody there, or 64 wait--> unreachable
//! ```

use crate::cluster::EtcdCluster;
use crate::codec;
use crate::ctx::EtcdCtx;
use crate::peer::InFlight;
use crate::raft::message::Message;
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::Network;
use zonefall_network::wire::Burst;

/// POSTs to one peer at a time (`connPerPipeline`).
const WORKERS: usize = 4;

/// Messages that wait for a worker (`pipelineBufSize`).
const BUFFER: u64 = 64;

/// POSTs from one member to another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipeline {
    /// When each worker has the answer to its last POST; `None`: it has no connection.
    workers: [Option<Time>; WORKERS],
}

impl Pipeline {
    /// The worker that begins next, when, and whether it has to dial; `None` if too many wait for one.
    fn next(&mut self, now: Time, round_trip: Duration) -> Option<(usize, Time, bool)> {
        // The path may have become faster since.
        let longest = now + round_trip * (1 + BUFFER / WORKERS as u64);
        self.workers.iter_mut().flatten().for_each(|free| *free = (*free).min(longest));
        let idle = self.workers.iter().position(|free| free.is_some_and(|free| free <= now));
        let first = || (0..WORKERS).min_by_key(|&worker| self.workers[worker]).expect("there are some");
        let worker = idle.unwrap_or_else(first);
        let free = self.workers[worker];
        let begins = free.map_or(now, |free| free.max(now));
        let waiting = begins.since(now).as_nanos() * WORKERS as u64 / round_trip.as_nanos().max(1);
        if waiting > BUFFER {
            return None;
        }
        Some((worker, begins, free.is_none()))
    }
}

impl EtcdCluster {
    /// Whether one member has come to know another.
    pub(super) fn knows(&self, index: u8, other: u8) -> bool {
        self.server(index).is_some_and(|server| server.known.contains(other))
    }

    /// A member comes to know another, and dials it (`Transport.AddPeer`).
    pub(super) fn meet(&mut self, index: u8, other: u8, ctx: &mut EtcdCtx<'_>) {
        let known = &mut self.server_mut(index).known;
        if index == other || known.contains(other) {
            return;
        }
        known.insert(other);
        let inward = self.stream_index(other, index);
        self.streams[inward].dialing_since = ctx.now;
        self.update_stream(inward, ctx);
        self.update_stream(self.stream_index(index, other), ctx);
    }

    /// Whether a member takes what another sends it by POST. (Who finds nobody is told at once here; a dial that is not refused takes 2 s, and
    /// four POSTs to a frozen process hang. The sender only looks for its peer meanwhile.)
    pub(super) fn takes_posts(&self, index: u8, from: u8, net: &Network) -> bool {
        self.responsive(index).is_some()
            && !self.members[index as usize].displaced
            && net.is_open(self.host(from), self.host(index))
    }

    /// Sends a message by POST.
    pub(super) fn post(&mut self, message: Message, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = (message.from, message.to);
        let index = self.stream_index(from, to);
        let hosts = [self.host(from), self.host(to)];
        let tls = ctx.net.tls;
        let round_trip = ctx.net.round_trip(hosts[0], hosts[1]);
        let dial = if tls { round_trip * 2 } else { round_trip };
        let next = self.takes_posts(to, from, ctx.net).then(|| self.pipelines[index].next(ctx.now, round_trip)).flatten();
        let Some((worker, begins, dials)) = next else { return self.not_posted(from, to) };
        let writes = codec::post::request(&message);
        let (burst, answer) = (Burst::of(writes.bytes, tls), Burst::of(codec::post::ANSWER, tls));
        let handshake = if dials { codec::post::handshake(tls, ctx.net.certificate_bytes) } else { Burst::default() };
        let paths = ctx.net.both_ways(hosts[0], hosts[1]);
        let (takes, again) = self.streams[index].post(paths, burst);
        let carded = ctx.cards.carry(ctx.net, hosts, ctx.now, burst);
        let leaves = carded.max(if dials { begins + dial } else { begins });
        let arrives = leaves + takes + self.options.rpc_overhead;
        self.pipelines[index].workers[worker] = Some(arrives + ctx.net.typical(hosts[1], hosts[0]));
        self.ledger.add(codec::class(&message), 1, writes.bytes, burst + again + answer + handshake * 2);
        self.meter(index, ctx.now, writes.bytes, burst + again + handshake, answer + handshake);
        self.flying += 1;
        let slot = self.put_in_flight(InFlight { leaves, carded, ..InFlight::new(message, index, None, writes, ctx.now) });
        self.queue_delivery(slot, arrives, ctx);
    }

    /// A POST arrives, if anybody is there to take it.
    pub(super) fn receive_post(&mut self, message: Message, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = (message.from, message.to);
        if self.takes_posts(to, from, ctx.net) {
            self.receive(message, ctx);
        } else {
            self.not_posted(from, to);
        }
    }

    /// The sender is told that nobody takes it.
    fn not_posted(&mut self, from: u8, to: u8) {
        if let Some(server) = self.members[from as usize].process.server_mut() {
            server.raft.unreachable(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_post_waits_for_a_worker_and_too_many_are_dropped() {
        let [round_trip, dial] = [2, 5].map(Duration::from_millis);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut pipeline = Pipeline::default();
        let mut post = |ms| {
            let (worker, begins, dials) = pipeline.next(at(ms), round_trip)?;
            pipeline.workers[worker] = Some(begins + if dials { dial + round_trip } else { round_trip });
            Some((begins, dials))
        };
        for _ in 0..WORKERS {
            assert_eq!(post(0), Some((at(0), true)), "each worker dials once");
        }
        assert_eq!(post(1), Some((at(7), false)), "the first answer is there after a dial and a round trip");
        assert_eq!(post(9), Some((at(9), false)), "and from then on after a round trip");
        let taken = (0..1_000).take_while(|_| post(9).is_some()).count();
        assert!((60..80).contains(&taken), "{taken} are under way or wait");
        assert_eq!(post(100), Some((at(100), false)));
    }

    #[test]
    fn what_was_to_wait_on_a_slow_path_waits_no_longer_once_it_is_fast() {
        let [slow, fast] = [10, 1].map(|scale| Duration::from_millis(scale * 100));
        let mut pipeline = Pipeline { workers: [Some(Time::ZERO + slow * 16); WORKERS] };
        assert_eq!(pipeline.next(Time::ZERO, fast), None, "as many wait as may");
        let at = Time::ZERO + fast * 2;
        let (_, begins, _) = pipeline.next(at, fast).expect("fewer do");
        assert!(begins <= at + fast * 16, "{begins:?}");
    }
}
