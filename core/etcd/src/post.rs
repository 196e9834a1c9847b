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
use zonefall_network::Network;
use zonefall_network::wire::Burst;

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

    /// A member gets a new identity under its old number. Messages posted under the old identity are refused (`IsIDRemoved`), and so are
    /// messages posted to it (`EtcdServer.Process` compares the receiver since etcd 3.4.32 and 3.5.14: etcd-io/etcd#17078).
    pub(super) fn drop_posts(&mut self, index: u8) {
        for slot in 0..self.in_flight.len() as u32 {
            let flight = &self.in_flight[slot as usize];
            let (from, to) = self.ends(flight.stream.into());
            if (from == index || to == index) && flight.epoch.is_none() && flight.message.is_some() {
                self.flying -= 1;
                self.land(slot);
                self.in_flight[slot as usize].delivery = 0;
            }
        }
    }

    /// The sender is told that nobody takes it.
    fn not_posted(&mut self, from: u8, to: u8) {
        if let Some(server) = self.members[from as usize].process.server_mut() {
            server.raft.unreachable(to);
        }
    }
}
