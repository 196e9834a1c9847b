//! The streams between members: sending, arriving, noticing that a peer is gone, and finding it again (`rafthttp`).

use crate::cluster::EtcdCluster;
use crate::codec::{self, Lane, upkeep};
use crate::ctx::EtcdCtx;
use crate::event::EtcdEvent;
use crate::member::MemberState;
use crate::peer::InFlight;
use crate::pipeline::Pipeline;
use crate::raft::message::{Kind, Message};
use crate::record::{EtcdRecord, Part};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Generation;
use zonefall_network::Network;
use zonefall_network::ledger::{Class, Ledger, Volume};
use zonefall_network::meter::Meter;
use zonefall_network::stream::{LANES, Moved, Outgoing};
use zonefall_network::wire::Burst;

impl EtcdCluster {
    /// Hands a message to its stream.
    pub(super) fn transmit(&mut self, message: Message, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = (message.from, message.to);
        let index = self.stream_index(from, to);
        let stream = &self.streams[index];
        if !stream.takes(ctx.now) {
            self.post(message, ctx);
            return;
        }
        if !stream.reader_open {
            // Written to a connection whose other end is gone: nobody ever learns.
            return;
        }
        let in_step = self.in_step[index] == (message.log_term, message.index) && message.log_term == message.term;
        let writes = codec::writes(&message, in_step);
        if message.kind == Kind::Append {
            self.in_step[index] = (message.term, message.index + message.entries.len());
        }
        let slot = self.put_in_flight(InFlight::new(message, index, Some(stream.epoch), writes, ctx.now));
        if !self.held[index].is_empty() || self.is_stream_blocked(index, ctx.net) {
            self.hold(index, slot, ctx.now);
        } else {
            self.launch(index, slot, ctx);
        }
    }

    pub(super) fn put_in_flight(&mut self, flight: InFlight) -> u32 {
        if let Some(slot) = self.free_slots.pop() {
            self.in_flight[slot as usize] = flight;
            slot
        } else {
            self.in_flight.push(flight);
            self.in_flight.len() as u32 - 1
        }
    }

    /// A message is no longer under way.
    pub(super) fn land(&mut self, slot: u32) -> Message {
        self.free_slots.push(slot);
        self.in_flight[slot as usize].message.take().expect("delivered once")
    }

    fn hold(&mut self, index: usize, slot: u32, now: Time) {
        let since = &mut self.streams[index].held_since;
        *since = Some(since.map_or(now, |since| since.min(now)));
        self.in_flight[slot as usize].arrives = None;
        self.held[index].push(slot);
    }

    /// Puts a message on its open path.
    fn launch(&mut self, index: usize, slot: u32, ctx: &mut EtcdCtx<'_>) {
        let flight = &self.in_flight[slot as usize];
        let message = flight.message.as_ref().expect("a message that is under way");
        let lane = codec::lane(message.kind);
        let class = codec::class(message);
        let bytes = flight.writes.bytes;
        let (burst, acks) = flight.writes.wire(ctx.net.tls);
        let (from, to) = self.ends(index);
        self.ledger.add(class, 1, bytes, burst + acks);
        if class == Class::Heartbeat {
            // They come evenly.
            self.meters[index].add_evenly(bytes, burst);
            let back = self.stream_index(to, from);
            self.meters[back].add_evenly(0, acks);
        } else {
            self.meter(index, ctx.now, bytes, burst, acks);
        }
        self.flying += 1;
        let hosts = [self.host(from), self.host(to)];
        let paths = ctx.net.both_ways(hosts[0], hosts[1]);
        // Those of a quiescent group are not sent one by one.
        let carded = if class == Class::Heartbeat { ctx.now } else { ctx.cards.carry(ctx.net, hosts, ctx.now, burst) };
        let carded = self.streams[index].in_order(lane as usize, carded);
        self.in_flight[slot as usize].carded = carded;
        self.tell_backlog(from, Part::Card, carded, ctx);
        if let Some(delivery) = self.streams[index].send(ctx.now, lane as usize, paths, (burst, carded)) {
            self.in_flight[slot as usize].leaves = delivery.leaves;
            self.queue_delivery(slot, delivery.at + self.options.rpc_overhead, ctx);
            if class != Class::Heartbeat {
                self.tell_backlog(from, Part::Link(to), delivery.leaves, ctx);
            }
        } else {
            let message = Outgoing { burst, tag: slot, class };
            let moved = self.streams[index].send_lossy(ctx.now, lane as usize, paths, message);
            self.messages_moved(index, moved, ctx);
            let stream = &self.streams[index];
            if stream.gives_up().is_some() || stream.timer.is_armed() {
                self.update_stream(index, ctx);
            }
        }
    }

    /// Messages under way on a lossy path arrive at other times than was foreseen.
    fn messages_moved(&mut self, index: usize, moved: Moved, ctx: &mut EtcdCtx<'_>) {
        for (class, burst) in moved.resent {
            self.ledger.add(class, 0, 0, burst);
            self.meter(index, ctx.now, 0, burst, Burst::default());
        }
        let (from, to) = self.ends(index);
        let usual = ctx.net.typical(self.host(from), self.host(to));
        let least = ctx.net.path(self.host(from), self.host(to)).delay;
        for (slot, at) in moved.arrivals {
            self.tell_backlog(from, Part::Loss(to), at - usual, ctx);
            let flight = &mut self.in_flight[slot as usize];
            flight.leaves = ctx.now;
            let at = at.max(flight.carded + least);
            self.queue_delivery(slot, at + self.options.rpc_overhead, ctx);
        }
    }

    /// Queues the delivery of a message; one that was queued before is void.
    pub(super) fn queue_delivery(&mut self, slot: u32, at: Time, ctx: &mut EtcdCtx<'_>) {
        self.deliveries = self.deliveries.wrapping_add(1);
        let flight = &mut self.in_flight[slot as usize];
        flight.arrives = Some(at);
        flight.delivery = self.deliveries;
        ctx.schedule(at, self.id, EtcdEvent::Deliver { slot, delivery: flight.delivery });
    }

    /// The loss of a stream's path may have changed. (Where nothing passes, what arrives waits for the path.)
    fn change_loss(&mut self, index: usize, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = self.ends(index);
        let (from, to) = (self.host(from), self.host(to));
        if ctx.net.is_open(from, to) {
            for lane in 0..LANES {
                let moved = self.streams[index].change_loss(ctx.now, lane, ctx.net.both_ways(from, to));
                self.messages_moved(index, moved, ctx);
            }
        }
    }

    /// The bandwidth of a stream's path may have changed: messages that wait to leave go at the new one, in their order.
    fn change_speed(&mut self, index: usize, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = self.ends(index);
        let speed = ctx.net.path(self.host(from), self.host(to)).bytes_per_s;
        let Some(stretch) = self.streams[index].change_speed(ctx.now, speed) else { return };
        let epoch = self.streams[index].epoch;
        for lane in 0..LANES {
            let in_lane = |flight: &InFlight| {
                let kind = flight.message.as_ref().map(|message| message.kind);
                let here = flight.stream as usize == index && flight.epoch == Some(epoch);
                flight.arrives.filter(|_| here && kind.is_some_and(|kind| codec::lane(kind) as usize == lane))
            };
            let flights = (0u32..).zip(&self.in_flight);
            let order = |(slot, flight): (u32, &InFlight)| Some((flight.leaves, in_lane(flight)?, flight.delivery, slot));
            let mut flights: Vec<_> = flights.filter_map(order).collect();
            flights.sort_unstable();
            let mut last = ctx.now;
            for (leaves, arrives, _, slot) in flights {
                let carded = self.in_flight[slot as usize].carded;
                let waits = |leaves: Time| leaves.max(carded).since(ctx.now);
                last = last.max(arrives - waits(leaves) + waits(stretch.of(leaves)));
                if leaves > ctx.now {
                    self.in_flight[slot as usize].leaves = stretch.of(leaves);
                    self.queue_delivery(slot, last, ctx);
                    self.streams[index].last_arrives(lane, last - self.options.rpc_overhead);
                }
            }
        }
    }

    /// Counts a message and the ACKs that answer it.
    pub(super) fn meter(&mut self, index: usize, at: Time, bytes: u64, burst: Burst, acks: Burst) {
        let (from, to) = self.ends(index);
        self.meters[index].add(at, bytes, burst);
        let back = self.stream_index(to, from);
        self.meters[back].add(at, 0, acks);
    }

    /// A message arrives, unless its path or its connection is gone meanwhile.
    pub(super) fn deliver(&mut self, slot: u32, delivery: u32, ctx: &mut EtcdCtx<'_>) {
        if self.in_flight[slot as usize].delivery != delivery {
            return;
        }
        self.flying -= 1;
        let flight = &self.in_flight[slot as usize];
        let index = flight.stream as usize;
        let Some(epoch) = flight.epoch else {
            let message = self.land(slot);
            self.receive_post(message, ctx);
            return;
        };
        let stream = &self.streams[index];
        let stale = stream.epoch != epoch || !stream.reader_open;
        if !stale && self.is_stream_blocked(index, ctx.net) {
            self.hold(index, slot, ctx.now);
            return;
        }
        let message = self.land(slot);
        if stale {
            return;
        }
        self.streams[index].last_heard = ctx.now;
        self.receive(message, ctx);
    }

    /// Hands a message to the raft of its receiver.
    pub(super) fn receive(&mut self, message: Message, ctx: &mut EtcdCtx<'_>) {
        let to = message.to;
        let removed = self.members[message.from as usize].state == MemberState::Removed;
        let Some(server) = self.members[to as usize].process.server_mut() else { return };
        // Who has applied the sender's removal turns it away (`IsIDRemoved`); who has not must still hear of it.
        if !removed || server.raft.conf_state.members().contains(message.from) {
            server.raft.step(ctx.now, message);
            self.after(to, ctx);
        }
    }

    /// Everything that may have changed for the streams of two hosts has: looks at each stream again.
    pub fn network_changed(&mut self, ctx: &mut EtcdCtx<'_>) {
        for index in 0..self.streams.len() {
            let (from, to) = self.ends(index);
            if from != to {
                self.change_speed(index, ctx);
                self.change_loss(index, ctx);
                self.update_stream(index, ctx);
            }
        }
        ctx.fx.service_changed.push(self.id);
    }

    /// Whether a member's process speaks to others: not to the one that displaced it.
    fn runs(&self, member: u8) -> bool {
        let member = &self.members[member as usize];
        member.process.serves() && !member.displaced && member.pause.is_none()
    }

    /// Sets a stream's timer by what is true now.
    pub(super) fn update_stream(&mut self, index: usize, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = self.ends(index);
        let blocked = self.is_stream_blocked(index, ctx.net);
        let (writes, reads) = (self.runs(from), self.runs(to));
        let knows = self.knows(to, from) && self.knows(from, to);
        let open_both = ctx.net.is_open(self.host(from), self.host(to));
        let round_trip = ctx.net.round_trip(self.host(from), self.host(to));
        let tls = ctx.net.tls;
        let powered = ctx.net.is_powered(self.host(from));
        let paused = self.is_paused(from);
        self.count_upkeep(index, ctx.now);
        let usual = ctx.net.typical(self.host(to), self.host(from));
        let stream = &mut self.streams[index];
        if !stream.reader_open && open_both {
            // What is written to a connection that the other side has closed or forgotten is answered with a reset by its kernel.
            stream.reset_at.get_or_insert(ctx.now + usual);
        }
        let due = if stream.reader_open {
            if blocked || paused || !stream.writer_open {
                stream.silent_since.get_or_insert(ctx.now);
                Some(stream.patience_ends().max(ctx.now))
            } else if let Some(again) = stream.next_retransmission(ctx.now) {
                Some(again.min(stream.patience_ends()).max(ctx.now))
            } else {
                // Nothing was lost, or all of it is under way again.
                stream.resume();
                stream.gives_up().map(|at| at.max(ctx.now))
            }
        } else if writes && reads && open_both && knows {
            let handshake = if tls { round_trip * 5 / 2 } else { round_trip * 3 / 2 };
            Some(stream.next_dial(ctx.now) + handshake)
        } else {
            stream.refused = powered && open_both && !(writes && knows) && !paused;
            None
        };
        match due {
            Some(at) => {
                let generation = stream.timer.arm(at);
                ctx.schedule(at, self.id, EtcdEvent::Stream { stream: index as u16, generation });
            }
            None => stream.timer.cancel(),
        }
    }

    /// A stream's timer rings: it gives up, sends again or connects.
    pub(super) fn stream_timer(&mut self, index: usize, generation: Generation, ctx: &mut EtcdCtx<'_>) {
        if !self.streams[index].timer.fires(generation) {
            return;
        }
        self.disturb(ctx);
        let stream = &self.streams[index];
        if !stream.reader_open {
            self.connect(index, ctx);
        } else if self.is_stream_blocked(index, ctx.net) || !stream.writer_open {
            self.lose(index, ctx);
        } else if ctx.now >= stream.patience_ends() {
            // The path healed, but the back-off was longer than the reader's patience.
            self.lose(index, ctx);
        } else if stream.gives_up().is_some_and(|at| at <= ctx.now) {
            self.lose(index, ctx);
        } else {
            self.count_upkeep(index, ctx.now);
            self.streams[index].resume();
            for slot in std::mem::take(&mut self.held[index]) {
                self.launch(index, slot, ctx);
            }
        }
    }

    /// The reader gives the connection up.
    fn lose(&mut self, index: usize, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = self.ends(index);
        self.close_reader(index, ctx);
        ctx.record(EtcdRecord::PeerLost { from: self.members[from as usize].id, to: self.members[to as usize].id });
        self.update_stream(index, ctx);
        ctx.fx.service_changed.push(self.id);
    }

    /// Ends a connection at the reader's side and forgets what waited in it.
    pub(super) fn close_reader(&mut self, index: usize, ctx: &mut EtcdCtx<'_>) {
        self.count_upkeep(index, ctx.now);
        let stream = &mut self.streams[index];
        stream.reader_open = false;
        stream.dialing_since = ctx.now;
        stream.resume();
        stream.timer.cancel();
        for slot in std::mem::take(&mut self.held[index]) {
            self.in_flight[slot as usize].message = None;
            self.free_slots.push(slot);
        }
    }

    fn connect(&mut self, index: usize, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = self.ends(index);
        self.pipelines[index] = Pipeline::default();
        self.streams[index].connect(ctx.now);
        self.streams[index].timer.cancel();
        self.upkeep_since[index] = ctx.now;
        self.in_step[index] = (0, 0);
        ctx.record(EtcdRecord::PeerFound { from: self.members[from as usize].id, to: self.members[to as usize].id });
        ctx.fx.service_changed.push(self.id);
    }

    /// A process is gone: what its peers notice, and when. `reset`: its kernel lives and tells them.
    pub(super) fn peer_stopped(&mut self, gone: u8, reset: bool, ctx: &mut EtcdCtx<'_>) {
        for other in (0..self.members.len() as u8).filter(|&other| other != gone) {
            let inward = self.stream_index(other, gone);
            if self.streams[inward].reader_open {
                self.close_reader(inward, ctx);
            }
            let told = reset && ctx.net.is_open(self.host(gone), self.host(other));
            // A reset ends the other side's writing when it arrives; until then, and where the host is dark, it writes into the void.
            let notice = ctx.now + ctx.net.typical(self.host(gone), self.host(other));
            if told {
                self.streams[inward].reset_at.get_or_insert(notice);
            }
            self.streams[inward].timer.cancel();
            self.pipelines[inward] = Pipeline::default();
            let outward = self.stream_index(gone, other);
            self.count_upkeep(outward, ctx.now);
            self.streams[outward].writer_open = false;
            self.pipelines[outward] = Pipeline::default();
            if !self.streams[outward].reader_open {
                self.update_stream(outward, ctx);
                continue;
            }
            let stream = &mut self.streams[outward];
            // The reset comes after all that was written before.
            let notice = notice.max(stream.last_arrival() + self.options.rpc_overhead);
            stream.silent_since.get_or_insert(ctx.now);
            let at = if told { notice } else { stream.patience_ends().max(ctx.now) };
            stream.refused = told;
            let generation = stream.timer.arm(at);
            ctx.schedule(at, self.id, EtcdEvent::Stream { stream: outward as u16, generation });
        }
        ctx.fx.service_changed.push(self.id);
    }

    /// A process serves again: its readers dial at once, its peers at their next attempt.
    pub(super) fn peer_started(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        for other in (0..self.members.len() as u8).filter(|&other| other != index) {
            let inward = self.stream_index(other, index);
            self.streams[inward].dialing_since = ctx.now;
            self.update_stream(inward, ctx);
            let outward = self.stream_index(index, other);
            // A reader that still waits for the silent old process finds its connection reset.
            if self.streams[outward].reader_open && self.runs(other) {
                self.lose(outward, ctx);
            } else {
                self.update_stream(outward, ctx);
            }
        }
    }

    /// Counts what has kept a connected stream alive since it was last counted.
    pub(super) fn count_upkeep(&mut self, index: usize, now: Time) {
        let since = std::mem::replace(&mut self.upkeep_since[index], now);
        if !self.streams[index].is_alive() {
            return;
        }
        let Volume { count, bytes, wire } = upkeep_of(now.since(since), self.kept_alive);
        self.meters[index].add_evenly(bytes, wire);
        self.ledger.add(Class::Upkeep, count, bytes, wire);
    }

    /// What streams have carried until now, but which is not counted yet: their upkeep, and the heartbeats of a group at rest.
    pub(super) fn uncounted(&self, now: Time, net: &Network) -> impl Iterator<Item = (usize, Class, Volume)> {
        let alive = self.streams.iter().zip(&self.upkeep_since).enumerate().filter(|(_, (stream, _))| stream.is_alive());
        // Most were connected at one moment.
        let mut last = (now, upkeep_of(Duration::ZERO, self.kept_alive));
        let upkeep = alive.map(move |(index, (_, since))| {
            if last.0 != *since {
                last = (*since, upkeep_of(now.since(*since), self.kept_alive));
            }
            (index, Class::Upkeep, last.1)
        });
        upkeep.chain(self.quiescent_volumes(now, net).map(|(index, volume)| (index, Class::Heartbeat, volume)))
    }

    /// The meters of all streams as of `now`.
    pub(super) fn metered(&self, now: Time, net: &Network) -> Vec<Meter> {
        let mut meters = self.meters.clone();
        for (index, _, Volume { bytes, wire, .. }) in self.uncounted(now, net) {
            meters[index].add_evenly(bytes, wire);
        }
        meters
    }

    /// What the members have sent each other as of `now`, by what it is.
    pub fn messages(&self, now: Time, net: &Network) -> Ledger {
        let mut ledger = self.ledger;
        for (_, class, Volume { count, bytes, wire }) in self.uncounted(now, net) {
            ledger.add(class, count, bytes, wire);
        }
        ledger
    }
}

/// What keeps one direction alive for some time. `wire`: see [`EtcdCluster::kept_alive`].
fn upkeep_of(time: Duration, wire: Burst) -> Volume {
    const PERIOD: u64 = 20_000_000_000;
    let ns = time.as_nanos();
    let (periods, rest) = (ns / PERIOD, ns % PERIOD);
    let share = |per_period: u64| per_period * periods + per_period * rest / PERIOD;
    let (count, bytes) = (share(upkeep::MESSAGES_PER_20S), share(upkeep::BYTES_PER_20S));
    Volume { count, bytes, wire: Burst { packets: share(wire.packets), bytes: share(wire.bytes) } }
}

const _: () = assert!(Lane::Append as usize + 1 == LANES);
