//! Quiescent groups: heartbeats by arithmetic.
//!
//! A healthy group without requests exchanges nothing but heartbeats and their answers, and their outcome is known: every follower
//! stays a follower. So at rest nothing is queued. [`EtcdCluster::resume`] accounts for the beats that have passed, as if each had been
//! sent: bytes, draws of delays, clocks, the leader's check of its quorum, and the one beat whose messages are under way. What the
//! members know afterwards is what message by message would have left, to the nanosecond. (Who only counts bytes wakes nobody:
//! [`EtcdCluster::links`].)
//!
//! ```text
//!   beat t0 ... try_quiesce: all quiet? -- no queue entries -- t: a request, a fault, the end --> resume(t)
//!       |  beats t0, t0+h, .. t0+(c-1)h < t  |  last heartbeat or its answer may still be under way: queued again
//! ```
//!
//! It is exact or it is off: with loss, or delays that could carry a beat into the next, the group runs message by message.

use crate::cluster::EtcdCluster;
use crate::codec;
use crate::ctx::EtcdCtx;
use crate::event::ProcessTimer;
use crate::member::Server;
use crate::peer::InFlight;
use crate::quiescent_group::{HeartbeatRound, Quiescence, is_following, is_idle, is_quiet, is_quiet_follower};
use crate::raft::message::{Kind, Message};
use crate::raft::quorum::Members;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::Network;
use zonefall_network::ledger::{Class, Volume};
use zonefall_network::stream;
use zonefall_network::wire::Burst;
use zonefall_scenario::Path;

impl EtcdCluster {
    /// Whether some of its members are quiescent.
    pub fn has_quiescent_members(&self) -> bool {
        self.quiescence.is_some()
    }

    /// Whether this member is part of a group at rest.
    pub(super) fn is_quiescent(&self, index: u8) -> bool {
        self.quiescence.is_some_and(|quiescence| quiescence.leader == index || quiescence.followers.contains(index))
    }

    /// At a beat of `leader`: lets the group rest, if it may.
    pub(super) fn try_quiesce(&mut self, leader: u8, ctx: &mut EtcdCtx<'_>) -> bool {
        if self.members[leader as usize].displaced {
            // The group of the one that displaced it may rest.
            return false;
        }
        let (followers, nearly) = self.may_rest(leader, ctx);
        self.flow_on(leader, followers, nearly, ctx);
        let Some(followers) = followers.filter(|_| self.stepping == Stepping::FastForward) else { return false };
        self.quiescence = Some(Quiescence { since: ctx.now, leader, followers });
        true
    }

    /// The followers of a group that may rest, and whether it may but for what flows.
    fn may_rest(&mut self, leader: u8, ctx: &EtcdCtx<'_>) -> (Option<Members>, bool) {
        let server = self.server_mut(leader);
        // Where it was frozen, this beat is late: the next one comes sooner.
        let late = !server.heartbeat_clock.ticks_at(ctx.now);
        let progress = (server.raft.log.last().wrapping_sub(self.flow.flowed()), self.members[leader as usize].read_rounds);
        let busy = std::mem::replace(&mut self.last_heartbeat, progress) != progress;
        let paused = self.members.iter().any(|member| member.pause.is_some() || member.is_defragmenting());
        if late || busy || paused || !self.transfers.is_empty() || !self.flows_easily() {
            return (None, false);
        }
        let followers = self.quiescent_followers(leader, is_quiet_follower, ctx);
        let quiet = |followers: &Members| {
            let led = self.server(leader).expect("a leader serves");
            self.is_still(leader, *followers) && is_quiet(led) && led.raft.is_settled(*followers)
        };
        let at_rest = followers.filter(quiet);
        let nearly = at_rest.is_none() && self.flows() && self.quiescent_followers(leader, is_following, ctx).is_some();
        (at_rest, nearly)
    }

    /// No message to or from the group is under way. (Silent members may speak to each other: two that are cut off together campaign, which
    /// does not end a rest either.)
    fn is_still(&self, leader: u8, followers: Members) -> bool {
        let belongs = |index: u8| index == leader || followers.contains(index);
        let concerns = |flight: &InFlight| {
            let (from, to) = self.ends(flight.stream as usize);
            flight.message.is_some() && flight.arrives.is_some() && (belongs(from) || belongs(to))
        };
        self.flying == 0 || !self.in_flight.iter().any(concerns)
    }

    /// The followers of a group that may rest if all of them follow so.
    fn quiescent_followers(&self, leader: u8, follows: fn(&Server, &Server) -> bool, ctx: &EtcdCtx<'_>) -> Option<Members> {
        let led = self.server(leader)?;
        let conf_state = led.raft.conf_state;
        let mut followers = Members::EMPTY;
        for index in (0..self.members.len() as u8).filter(|&index| index != leader) {
            if self.is_dark(index, leader, ctx.net) {
                continue;
            }
            let follows = self.server(index).is_some_and(|server| follows(server, led));
            if !follows || !conf_state.members().contains(index) || !self.is_steady(leader, index, ctx) {
                return None;
            }
            followers.insert(index);
        }
        // A silent member must be silent to the followers too.
        let dark = |index: &u8| *index != leader && !followers.contains(*index);
        for silent in (0..self.members.len() as u8).filter(dark) {
            if followers.iter().any(|follower| !self.is_dark(silent, follower, ctx.net)) {
                return None;
            }
        }
        let heard = followers.iter().all(|index| led.raft.progress[index as usize].recent_active);
        let quorum = conf_state.quorum.has(|index| index == leader || followers.contains(index));
        let patience = self.options.tick * self.config.election_ticks > self.options.heartbeat_interval * 3;
        let quiet = heard && quorum && patience && self.config.election_heartbeats >= 2 && is_idle(led);
        quiet.then_some(followers)
    }

    /// Nothing can pass between these two, now or before the network or a process changes.
    fn is_dark(&self, silent: u8, other: u8, net: &Network) -> bool {
        // What is written to a blocked stream waits there, until its reader gives up.
        let open = |from: u8, to: u8| self.streams[self.stream_index(from, to)].reader_open;
        let speaks = |from: u8, to: u8| open(from, to) || self.takes_posts(to, from, net);
        self.server(silent).is_none() || (!speaks(silent, other) && !speaks(other, silent))
    }

    /// Both streams carry, lose nothing, and a beat's round trip ends before the next beat.
    fn is_steady(&self, leader: u8, follower: u8, ctx: &EtcdCtx<'_>) -> bool {
        let (there, back) = (self.stream_index(leader, follower), self.stream_index(follower, leader));
        let carries = |index: usize| {
            let stream = &self.streams[index];
            stream.reader_open && stream.writer_open && self.held[index].is_empty() && !self.is_stream_blocked(index, ctx.net)
        };
        let (a, b) = (self.host(leader), self.host(follower));
        let burst = Burst::of(200, ctx.net.tls);
        let round_trip = stream::bound(ctx.net.path(a, b), burst).zip(stream::bound(ctx.net.path(b, a), burst));
        carries(there)
            && carries(back)
            && round_trip
                .is_some_and(|(there, back)| there + back + self.options.rpc_overhead * 2 < self.options.heartbeat_interval)
    }

    /// Ends the rest: everything is as if every beat before now had been simulated.
    pub fn resume(&mut self, ctx: &mut EtcdCtx<'_>) {
        let Some(Quiescence { since, leader, followers }) = self.quiescence.take() else { return };
        let period = self.options.heartbeat_interval;
        let passed = ctx.now.since(since).as_nanos();
        // The first beat was due when rest began; one that is due right now is still to come.
        let count = passed.div_ceil(period.as_nanos()).max(1);
        let server = self.server_mut(leader);
        let heartbeats = server.raft.heartbeats + count;
        let every = server.raft.config.election_heartbeats;
        server.raft.heartbeats = heartbeats % every;
        // The last beat that checked the quorum, counted from 1; 0: none did.
        let checked = count.saturating_sub(heartbeats % every);
        if checked > 0 && server.raft.config.check_quorum {
            for (index, progress) in (0u8..).zip(&mut server.raft.progress) {
                progress.recent_active = index == leader;
            }
        }
        for follower in followers.iter() {
            let answered = self.account_heartbeats(leader, follower, since, count, ctx);
            if answered >= checked.max(1) {
                self.server_mut(leader).raft.progress[follower as usize].recent_active = true;
            }
        }
        // Heartbeats to those whose connection is closed came back as undeliverable, the last at least.
        let last_heartbeat = since + period * (count - 1);
        for silent in (0..self.members.len() as u8).filter(|&index| index != leader && !followers.contains(index)) {
            if !self.streams[self.stream_index(leader, silent)].takes(last_heartbeat) {
                self.server_mut(leader).raft.unreachable(silent);
            }
        }
        self.members[leader as usize].arm(ProcessTimer::HeartbeatTick, since + period * count, ctx);
        for follower in followers.iter() {
            self.arm_timer(follower, ctx);
        }
    }

    /// From now on message by message.
    pub fn disable_quiescence(&mut self, ctx: &mut EtcdCtx<'_>) {
        self.resume(ctx);
        self.stepping = Stepping::EveryEvent;
    }

    /// A beat of a group at rest.
    fn quiescent_heartbeat(&self, leader: u8, follower: u8, net: &Network) -> HeartbeatRound {
        let raft = &self.server(leader).expect("a leader serves").raft;
        let mut heartbeat = Message::new(Kind::Heartbeat, leader, follower);
        heartbeat.term = raft.term;
        heartbeat.commit = raft.log.committed;
        let mut answer = Message::new(Kind::HeartbeatResponse, follower, leader);
        answer.term = raft.term;
        let writes = [codec::writes(&heartbeat, false), codec::writes(&answer, false)];
        let bursts = writes.map(|writes| Burst::of(writes.bytes, net.tls));
        let streams = [self.stream_index(leader, follower), self.stream_index(follower, leader)];
        HeartbeatRound { streams, messages: [heartbeat, answer], writes, bursts }
    }

    /// What the beats of a group at rest have brought its streams until now (that of this moment included), but which is not counted yet.
    pub(super) fn quiescent_volumes(&self, now: Time, net: &Network) -> impl Iterator<Item = (usize, Volume)> {
        let nobody = Quiescence { since: now, leader: 0, followers: Members::EMPTY };
        let Quiescence { since, leader, followers } = self.quiescence.unwrap_or(nobody);
        followers.iter().flat_map(move |follower| {
            let round = self.quiescent_heartbeat(leader, follower, net);
            let period = self.options.heartbeat_interval;
            let last = now.since(since).as_nanos() / period.as_nanos();
            let (stream, path) = (&self.streams[round.streams[0]], net.path(self.host(leader), self.host(follower)));
            // A draw is needed only where the last heartbeat may still be under way.
            let sent = since + period * last + self.options.rpc_overhead;
            let has_arrived = stream::bound(path, round.bursts[0]).is_some_and(|longest| sent + longest <= now)
                || sent + stream.delay_of(stream.sent() + last, path, round.bursts[0]) <= now;
            [0, 1].map(|way| (round.streams[way], round.carried(way, [last + 1, last + u64::from(has_arrived)])))
        })
    }

    /// Accounts for `count` beats from `since` on to one follower; how many answers the leader has.
    fn account_heartbeats(&mut self, leader: u8, follower: u8, since: Time, count: u64, ctx: &mut EtcdCtx<'_>) -> u64 {
        let (a, b) = (self.host(leader), self.host(follower));
        let round = self.quiescent_heartbeat(leader, follower, ctx.net);
        let ([there, back], [burst, answer_burst]) = (round.streams, round.bursts);
        let (first, first_answer) = (self.streams[there].sent(), self.streams[back].sent());
        // When the heartbeat of beat `k` (from 0) arrives, and when its answer does.
        let (interval, rpc_overhead) = (self.options.heartbeat_interval, self.options.rpc_overhead);
        let arrival = |cluster: &Self, k: u64| {
            since + interval * k + cluster.streams[there].delay_of(first + k, ctx.net.path(a, b), burst) + rpc_overhead
        };
        let answered_at = |cluster: &Self, k: u64| {
            arrival(cluster, k)
                + cluster.streams[back].delay_of(first_answer + k, ctx.net.path(b, a), answer_burst)
                + rpc_overhead
        };
        let last = count - 1;
        let arrives = arrival(self, last);
        let heard = if arrives < ctx.now { count } else { last };
        let answers = heard;
        let received = if heard == count && answered_at(self, last) < ctx.now { count } else { last };
        if heard > 0 {
            let at = arrival(self, heard - 1);
            self.streams[there].last_heard = at;
            self.server_mut(follower).raft.clock.reset(at);
        }
        if received > 0 {
            self.streams[back].last_heard = answered_at(self, received - 1);
        }
        let due = answered_at(self, last);
        let lane = codec::lane(Kind::Heartbeat) as usize;
        let transfer = |burst: Burst, path: &Path| Duration::of_transfer(burst.bytes, path.bytes_per_s);
        let sent = since + interval * last;
        // The FIFO knows nothing of the hand-over at its end.
        let (path, path_back) = (ctx.net.path(a, b), ctx.net.path(b, a));
        let leaves = sent + transfer(burst, path);
        self.streams[there].skip(count, lane, leaves, arrives - rpc_overhead, path.bytes_per_s);
        let mut answer_leaves = Time::ZERO;
        if answers > 0 {
            answer_leaves = arrival(self, answers - 1) + transfer(answer_burst, path_back);
            let at = answered_at(self, answers - 1) - rpc_overhead;
            self.streams[back].skip(answers, lane, answer_leaves, at, path_back.bytes_per_s);
        }
        for (way, index) in round.streams.into_iter().enumerate() {
            let Volume { count, bytes, wire } = round.carried(way, [count, answers]);
            self.ledger.add(Class::Heartbeat, count, bytes, wire);
            self.meters[index].add_evenly(bytes, wire);
        }
        let (way, [sent, leaves], at) = match (heard == count, received == count) {
            (true, true) => return count,
            (true, false) => (1, [arrives, answer_leaves], due),
            (false, _) => (0, [sent, leaves], arrives),
        };
        let HeartbeatRound { streams, messages, writes, .. } = round;
        let ([heartbeat, answer], index, writes) = (messages, streams[way], writes[way]);
        let message = if way == 0 { heartbeat } else { answer };
        let epoch = Some(self.streams[index].epoch);
        let slot = self.put_in_flight(InFlight { leaves, ..InFlight::new(message, index, epoch, writes, sent) });
        self.flying += 1;
        self.queue_delivery(slot, at, ctx);
        received
    }
}
