//! Clients: load at a rate or over connections, time-outs, and further tries at other members.
//!
//! ```text
//!  Next (rate) or answer (connections) -> request -> path -> member -> Answer -> path -> done | another member
//!                                          \------ no answer in time: Deadline ------------^
//! ```
//!
//! A request that meets a dead process on a living host is refused at once; one that meets a black hole is missed only when its time
//! is up. That time is the client's own or the server's (`request_timeout`), whichever is shorter.

mod admission;
mod attachment;
mod choice;
mod connections;
mod delays;
mod describe;
pub mod event;
pub mod fairness;
pub mod in_flight;
mod process;
pub mod record;
pub mod requests;
mod watch;

use std::collections::VecDeque;

pub use crate::client::admission::longest_admission;
pub use crate::client::attachment::ServerAttachment;
use crate::client::connections::Connection;
use crate::client::delays::Trip;
use crate::client::event::{ClientEvent, ClientOutbox};
use crate::client::in_flight::InFlight;
use crate::client::process::Process;
use crate::client::record::{ClientRecord, Delay, RequestResult};
use crate::client::requests::Requests;
use crate::client::watch::Watch;
use crate::etcd::backlog::{self, Told};
use crate::etcd::cluster::EtcdCluster;
use crate::etcd::codec;
use crate::etcd::event::{Answer, EtcdEvent};
use crate::etcd::raft::entry::Token;
use crate::ids::{ClientId, Endpoint, EtcdId, MemberId, ZoneId};
use crate::kernel::rng::{Purpose, Stream};
use crate::kernel::time::{Duration, Time};
use crate::kernel::timer::{Generation, Timer};
use crate::network::card::Cards;
use crate::network::ledger::{Class, Ledger};
use crate::network::meter::Meter;
use crate::network::wire::Burst;
use crate::network::{HostId, Network, tcp};
use crate::scenario::{self, ApiServerClient, Load, Op, Scenario};

/// HTTP/2 frames, headers and gRPC prefix around a request or an answer (headers are compressed after the first).
pub const GRPC_OVERHEAD: u64 = 60;

/// One client.
#[derive(Clone, Debug)]
pub struct Client {
    id: ClientId,
    cluster: EtcdId,
    host: HostId,
    spec: scenario::Client,
    timeout: Duration,
    arrivals: Stream,
    delays: Stream,
    losses: Stream,
    /// What is drawn of connections, and how often.
    connection_draws: Stream,
    drawn: u64,
    /// With each member.
    connections: Vec<Connection>,
    sent: u64,
    arrived: u64,
    turn: u8,
    /// The only member that serves, as far as it has heard (active-passive clusters).
    endpoint: Option<u8>,
    requests: Requests,
    /// Requests it may still begin.
    left: u64,
    process: Process,
    /// Requests in the order of their deadlines.
    deadlines: VecDeque<(Time, Token)>,
    /// Fires when the oldest of them may be over.
    deadline_timer: Timer,
    watch: Watch,
    /// To each member and back.
    meters: Vec<(Meter, Meter)>,
    /// The same from when it, or a member, was in another zone: where both were.
    before: Vec<(u8, [ZoneId; 2], (Meter, Meter))>,
    /// The API server that it is a part of, if it is one of those that serve.
    attachment: Option<ServerAttachment>,
    /// See [`attachment::is_judged`].
    is_judged: bool,
    /// Its next request is queued.
    ticks: bool,
    /// The same by what it is.
    ledger: Ledger,
    /// The shortest wait that is told.
    least_told: Duration,
    /// What was told of each kind of [`Delay`].
    told: [Told; 8],
}

/// What a client may look at besides itself.
#[derive(Debug)]
pub struct ClientCtx<'a> {
    /// The current time.
    pub now: Time,
    /// Hosts and paths.
    pub net: &'a Network,
    /// What the network cards of hosts have to carry.
    pub cards: &'a mut Cards,
    /// The cluster it talks to.
    pub cluster: &'a mut EtcdCluster,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// What API servers work on.
    pub in_flight: &'a mut InFlight,
    /// What the run loop is asked to do.
    pub out: &'a mut dyn ClientOutbox,
}

impl Client {
    /// The client at time zero; its first event goes to `out`.
    pub fn new(scenario: &Scenario, id: ClientId, seed: u64, out: &mut dyn ClientOutbox) -> Self {
        let spec = scenario.client(id).clone();
        let cluster = &scenario.etcd[spec.etcd];
        // Clients' own machines follow the nodes in the list of hosts.
        let host = spec.node.map_or(HostId(scenario.nodes.len() as u16 + id.0), Network::host_of);
        let entity = 1 << 40 | u64::from(id.0);
        let first = if spec.op == Op::Watch { ClientEvent::Watch } else { ClientEvent::Next };
        if spec.server.is_none() {
            out.schedule(spec.start, (id, first));
        }
        Self {
            id,
            cluster: spec.etcd,
            host,
            timeout: spec.timeout.min(cluster.options.request_timeout),
            arrivals: Stream::new(seed, Purpose::Arrival, entity),
            delays: Stream::new(seed, Purpose::Delay, entity),
            losses: Stream::new(seed, Purpose::Loss, entity),
            connection_draws: Stream::new(seed, Purpose::Connection, entity),
            drawn: 0,
            connections: vec![Connection::default(); cluster.members.len()],
            sent: 0,
            arrived: 0,
            turn: 0,
            endpoint: cluster.passive.as_ref().map(|passive| passive.primary),
            requests: Requests::new(id),
            left: spec.requests.unwrap_or(u64::MAX),
            process: Process::default(),
            deadlines: VecDeque::new(),
            deadline_timer: Timer::new(),
            watch: Watch::default(),
            meters: vec![Default::default(); cluster.members.len()],
            before: Vec::new(),
            attachment: None,
            is_judged: attachment::is_judged(scenario, &spec),
            ticks: spec.server.is_none(),
            ledger: Ledger::default(),
            least_told: backlog::least(scenario.probe.deadline),
            told: Default::default(),
            spec,
        }
    }

    /// Handles an event.
    pub fn handle(&mut self, event: ClientEvent, ctx: &mut ClientCtx<'_>) {
        match event {
            ClientEvent::Next => self.next(ctx),
            ClientEvent::Deadline(generation) => self.deadline(generation, ctx),
            ClientEvent::Connection { member, generation } => self.connection_due(member, generation, ctx),
            ClientEvent::Answer { token, answer } => self.answer_arrives(token, answer, ctx),
            ClientEvent::Read { token, answer } => self.answered(token, answer, ctx),
            ClientEvent::Repeat(token) => self.repeat(token, ctx),
            ClientEvent::ServerDue { key, generation } => self.server_is_due(key, generation, ctx),
            ClientEvent::Resume => {
                if self.is_on(ctx) {
                    self.begin(ctx);
                }
            }
            ClientEvent::Watched { member, since } => self.watched(member, since, ctx),
            ClientEvent::Watch => self.seek(ctx),
            ClientEvent::Retransmitted => self.retransmitted(ctx),
        }
    }

    fn is_on(&self, ctx: &ClientCtx<'_>) -> bool {
        ctx.now < self.spec.stop && (self.spec.server.is_none() || self.attachment.is_some())
    }

    fn next(&mut self, ctx: &mut ClientCtx<'_>) {
        if !self.is_on(ctx) || self.left == 0 {
            self.ticks = false;
            return;
        }
        match self.spec.load {
            Load::Open { interval, poisson } => {
                self.begin(ctx);
                self.wait((interval, poisson), ctx);
            }
            Load::Closed { connections } => (0..connections).for_each(|_| self.begin(ctx)),
        }
    }

    /// Queues the next request of its rate.
    fn wait(&mut self, (interval, poisson): (Duration, bool), ctx: &mut ClientCtx<'_>) {
        let (own, of) = self.attachment.as_ref().map_or((1, 1), |attachment| attachment.share);
        let interval = interval * of / own;
        let gap =
            if poisson { crate::kernel::dist::scale(interval, self.arrivals.draw(self.arrived).exponential()) } else { interval };
        self.arrived += 1;
        ctx.out.schedule(ctx.now + gap, (self.id, ClientEvent::Next));
    }

    fn send(&mut self, mut token: Token, ctx: &mut ClientCtx<'_>) {
        let member = self.requests.get(token).expect("an open request").member;
        token.member = member;
        let host = ctx.cluster.members[member as usize].host;
        let due = ctx.now + self.timeout;
        // Requests that were answered have no deadline any more; without this they would fill the clones of a run.
        while self.deadlines.pop_front_if(|(_, token)| self.requests.get(*token).is_none()).is_some() {}
        self.deadlines.push_back((due, token));
        if !self.deadline_timer.is_armed() {
            self.queue_deadline(due, ctx.out);
        }
        self.expect_word(member, ctx);
        let is_down = !ctx.cluster.members[usize::from(member)].process.serves();
        self.requests.get_mut(token).expect("an open request").is_down = is_down;
        let bytes = GRPC_OVERHEAD + codec::request_body(self.spec.op);
        if ctx.net.is_blocked(self.host, host) {
            return;
        }
        let Trip { transfer, carded, way, lost, sent } = self.travel(Class::EtcdRequest, [self.host, host], bytes, ctx);
        let left = match self.spec.process {
            None => ctx.now + transfer,
            Some(cost) => {
                let written = self.process.work(cost, ctx.now, bytes);
                self.process.send(written, transfer) + cost.rpc_overhead
            }
        };
        let arrival = left.max(carded) + way + lost;
        self.tell_delays(member, [left.since(ctx.now) - transfer, transfer, lost], ctx);
        self.tell_delay(member, Delay::OwnCard, carded.since(ctx.now), ctx);
        self.meter(member, true, ctx.now, bytes, sent);
        ctx.out.schedule(arrival, (self.cluster, EtcdEvent::Request(token)));
    }

    /// What a message meets on its way.
    fn travel(&mut self, class: Class, [from, to]: [HostId; 2], bytes: u64, ctx: &mut ClientCtx<'_>) -> Trip {
        let net = ctx.net;
        let k = self.sent;
        self.sent += 1;
        let path = net.path(from, to);
        let burst = Burst::of(bytes, net.tls);
        let (lost, again) = tcp::alone([self.losses, self.delays], k, net.both_ways(from, to), burst);
        let transfer = Duration::of_transfer(burst.bytes, path.bytes_per_s);
        let (sent, acks) = (burst + again, burst.acks());
        self.ledger.add(class, 1, bytes, sent + acks);
        let way = path.delay + path.jitter.sample(|| self.delays.draw(k));
        let carded = ctx.cards.carry(net, [from, to], ctx.now, burst);
        Trip { transfer, carded, way, lost, sent: [sent, acks] }
    }

    fn meter(&mut self, member: u8, there: bool, now: Time, bytes: u64, [sent, acks]: [Burst; 2]) {
        let (to, from) = &mut self.meters[member as usize];
        let (forth, back) = if there { (to, from) } else { (from, to) };
        forth.add(now, bytes, sent);
        back.add(now, 0, acks);
    }

    /// What this client asks.
    pub fn op(&self) -> Op {
        self.spec.op
    }

    /// How long it waits for one member's answer.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// A member sends an answer (or its host refuses the connection) at `leaves`.
    pub fn respond(&mut self, leaves: Time, token: Token, answer: Answer, ctx: &mut ClientCtx<'_>) {
        let host = ctx.cluster.members[token.member as usize].host;
        if self.requests.get(token).is_none() || ctx.net.is_blocked(host, self.host) {
            return;
        }
        let bytes = self.answer_bytes(answer);
        let Trip { transfer, carded, way, lost, sent } = self.travel(Class::EtcdAnswer, [host, self.host], bytes, ctx);
        let through = match self.spec.process {
            None => leaves + transfer,
            Some(cost) => self.process.receive(leaves, transfer) + cost.rpc_overhead,
        };
        let arrival = through.max(carded) + way + lost;
        self.tell_delays(token.member, [through.since(leaves) - transfer, transfer, lost], ctx);
        self.tell_delay(token.member, Delay::Card, carded.since(ctx.now), ctx);
        self.meter(token.member, false, leaves, bytes, sent);
        ctx.out.schedule(arrival, (self.id, ClientEvent::Answer { token, answer }));
    }

    fn answer_bytes(&self, answer: Answer) -> u64 {
        GRPC_OVERHEAD + if answer == Answer::Ok { codec::answer_body(self.spec.op) } else { 40 }
    }

    /// An answer is here; its process has still to read it.
    fn answer_arrives(&mut self, token: Token, answer: Answer, ctx: &mut ClientCtx<'_>) {
        let Some(cost) = self.spec.process.filter(|_| self.requests.get(token).is_some()) else {
            self.answered(token, answer, ctx);
            return;
        };
        let read = self.process.work(cost, ctx.now, self.answer_bytes(answer));
        ctx.out.schedule(read, (self.id, ClientEvent::Read { token, answer }));
    }

    fn answered(&mut self, token: Token, answer: Answer, ctx: &mut ClientCtx<'_>) {
        if self.requests.get(token).is_none() {
            return;
        }
        match answer {
            Answer::Ok | Answer::TooLarge | Answer::NoSpace | Answer::TooManyRequests => self.finish(token, answer.into(), ctx),
            Answer::Unavailable => {
                self.refused(token.member, ctx);
                // Closing the connection may have done it.
                if self.requests.get(token).is_some() {
                    self.try_another(token, RequestResult::Failed, ctx);
                }
            }
        }
    }

    fn try_another(&mut self, token: Token, result: RequestResult, ctx: &mut ClientCtx<'_>) {
        self.look_up(ctx);
        let request = self.requests.get(token).expect("an open request");
        // A client that begins no more requests ends those that are under way; a server that is gone has none.
        let is_there = self.spec.server.is_none() || self.attachment.is_some();
        if request.tries >= self.spec.retries || !is_there {
            self.finish(token, result, ctx);
            return;
        }
        let next = self.next_member(request.member, ctx);
        let token = self.requests.retry(token, next);
        self.send(token, ctx);
    }

    fn finish(&mut self, token: Token, result: RequestResult, ctx: &mut ClientCtx<'_>) {
        let request = self.requests.close(token);
        self.leave(request.place, ctx);
        let member = MemberId { cluster: self.cluster, index: request.member };
        let latency = ctx.now.since(request.since);
        self.record_result(member, ([latency, request.waited(ctx.now)], request.expected), result, ctx.out);
        if let Load::Closed { .. } = self.spec.load
            && self.is_on(ctx)
        {
            if result == RequestResult::Ok {
                self.begin(ctx);
            } else {
                // What fails at once must not spin.
                ctx.out.schedule(ctx.now + FAILURE_PAUSE, (self.id, ClientEvent::Resume));
            }
        }
    }

    fn record_result(
        &self,
        member: MemberId,
        ([latency, waited], expected): ([Duration; 2], Option<Duration>),
        result: RequestResult,
        out: &mut dyn ClientOutbox,
    ) {
        out.record(self.ended(member, ([latency, waited], expected), result));
    }

    fn ended(
        &self,
        member: MemberId,
        ([latency, waited], expected): ([Duration; 2], Option<Duration>),
        result: RequestResult,
    ) -> ClientRecord {
        let (client, from, op) = (self.id, self.spec.zone, self.spec.op);
        ClientRecord::Request { client, from, op, member, latency, waited, expected, result }
    }

    /// Requests under way for longer than that, as if they ended now without an answer.
    pub fn overdue(&self, now: Time, deadline: Duration) -> impl Iterator<Item = ClientRecord> {
        let overdue = self.requests.open_ones().filter(move |request| now.since(request.since) > deadline);
        overdue.map(move |request| {
            let member = MemberId { cluster: self.cluster, index: request.member };
            let times = [now.since(request.since), request.waited(now)];
            self.ended(member, (times, request.expected), RequestResult::TimedOut)
        })
    }

    fn queue_deadline(&mut self, due: Time, out: &mut dyn ClientOutbox) {
        out.schedule(due, (self.id, ClientEvent::Deadline(self.deadline_timer.arm(due))));
    }

    /// The time of the oldest tries may be up; most were answered long ago.
    fn deadline(&mut self, generation: Generation, ctx: &mut ClientCtx<'_>) {
        if !self.deadline_timer.fires(generation) {
            return;
        }
        while let Some(&(due, token)) = self.deadlines.front() {
            let open = self.requests.get(token).is_some();
            if open && due > ctx.now {
                self.queue_deadline(due, ctx.out);
                return;
            }
            self.deadlines.pop_front();
            if open {
                self.tell_down(token, ctx);
                self.try_another(token, RequestResult::TimedOut, ctx);
            }
        }
    }

    /// A member's process is gone; `reset`: its clients know at once.
    pub fn member_stopped(&mut self, member: u8, reset: bool, ctx: &mut ClientCtx<'_>) {
        self.watched_member_stopped(member, reset, ctx);
        if reset {
            for token in self.requests.at(member) {
                self.respond(ctx.now, token, Answer::Unavailable, ctx);
            }
        }
    }

    /// The cluster it talks to.
    pub fn cluster(&self) -> EtcdId {
        self.cluster
    }

    /// A member leaves a zone.
    pub fn member_leaves(&mut self, member: u8, zone: ZoneId) {
        let meters = std::mem::take(&mut self.meters[member as usize]);
        if meters.0.wire != Burst::default() || meters.1.wire != Burst::default() {
            self.before.push((member, [self.spec.zone, zone], meters));
        }
    }

    /// What it and the members have sent each other, by what it is.
    pub fn messages(&self) -> Ledger {
        self.ledger
    }

    /// The API server that it is a part of, where it is.
    pub const fn server(&self) -> Option<ApiServerClient> {
        self.spec.server
    }

    /// Bytes to every member and back, and between which zones; `zone` is where a member is now.
    pub fn meters(&self, zone: impl Fn(u8) -> ZoneId) -> impl Iterator<Item = (Endpoint, Endpoint, (ZoneId, ZoneId), Meter)> {
        let own = self.spec.zone;
        let now = (0..).zip(&self.meters).map(move |(index, meters)| (index, [own, zone(index)], *meters));
        self.before.iter().copied().chain(now).flat_map(|(index, [own, zone], (forth, back))| {
            let client = self.spec.server.map_or(Endpoint::Client(self.id), |part| Endpoint::Servers(part.cluster));
            let member = Endpoint::Member(MemberId { cluster: self.cluster, index });
            [(client, member, (own, zone), forth), (member, client, (zone, own), back)]
        })
    }
}

/// After a failure a connection waits this long before its next request.
const FAILURE_PAUSE: Duration = Duration::from_millis(100);
