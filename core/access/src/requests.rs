//! Requests of a process, one by one, over its connection.
//!
//! ```text
//!  made (Poisson) --limit of the rate (QPS)--> sent --queue of the balancer's node, way--> answered, or an error
//!                                   ^           |
//!                                   |           |--connection closed--> with alternatives sent again, else lost
//!                                   |           '--alternative timed out (prototype)--> waits for its own timeout
//!                                   '-- none is open: waits; lost when the client reached no server
//! ```
//!
//! Responses come over a connection in the order in which they were sent (TCP): one that could be there sooner waits for those before it,
//! also where nobody waits for these any more. Responses of another connection overtake them.
//!
//! Whatever its state, a request fails when its timeout is over. What it waits for the limit of the rate does not count (`client-go/rest/request.go`:
//! "Throttle the first try before setting up the timeout"). The server answers at once.

use std::collections::VecDeque;

use crate::connection::Connection;
use crate::queue::{Position, Queue};
use crate::record::RequestResult;
use zonefall_kernel::rng::Stream;
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::access::{ApiClientSpec, RateLimit, ResponseSizes};

/// What a server says that etcd does not answer (`ErrorToAPIStatus` of `apiserver/pkg/endpoints/handlers/responsewriters`). With it an error
/// leaves a balancer's queue later than the response before it.
const ERROR_BYTES: u64 = concat!(
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"etcdserver: request timed out","code":500}"#,
    "\n"
)
.len() as u64;

/// What becomes of requests whose connection or dial has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InFlight {
    /// They are lost, or of an alternative sent again.
    Lost,
    /// The server still answers what was sent.
    Answered,
    /// Nobody answers them, nor are they sent again: each fails when its timeout is over.
    Expire {
        /// They were sent to an alternative.
        at_alternative: bool,
    },
}

/// The connection of the process at present.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    /// Open; time of the way there and back but for the queue, and whether etcd answers the server.
    Open(Connection, Duration, bool),
    /// No packet passes.
    Silent(Connection),
    /// None is open; number of failures in a row to reach a server.
    Closed(u32),
}

#[derive(Clone, Copy, Debug)]
struct Request {
    made: Time,
    /// Its timeout begins then; `None`: it waits for the limit of the rate.
    started: Option<Time>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    request: Request,
    result: RequestResult,
    arrival: Arrival,
    /// Its connection is silent: the response does not arrive before packets pass again.
    is_silent: bool,
}

/// When the response to a request arrives.
#[derive(Clone, Copy, Debug)]
enum Arrival {
    At(Time),
    /// After the queue of a node, which it leaves then, and the way.
    Queued {
        node: u16,
        position: Position,
        leaves: Time,
        way: Duration,
    },
}

/// Requests sent over one connection, in order.
#[derive(Clone, Debug, Default)]
struct Exchange {
    sent: VecDeque<Sent>,
    /// The last response that nobody waits for any more: it is still on its way, and no later one arrives before it.
    late: Option<Arrival>,
}

/// The requests of one process.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    draws: Stream,
    /// Requests made so far.
    made: u64,
    /// When the next one is made.
    next: Time,
    /// When the token bucket would be full again, plus one token (the theoretical arrival time of the generic cell rate algorithm).
    full: Time,
    waiting: VecDeque<Request>,
    /// Number of these, the first ones, that have taken a token.
    admitted: usize,
    /// Number of changes of bandwidth that the times of responses take into account.
    changes: u32,
    /// What was sent over `connection`.
    exchange: Exchange,
    /// What is still answered over connections that were closed in order.
    closing: Vec<Exchange>,
    /// What nobody answers any more, until its timeout is over, and whether it was sent to an alternative.
    expiring: VecDeque<(Request, bool)>,
    connection: Option<Connection>,
    /// That connection leads to an alternative.
    is_alternative: bool,
    failures: u32,
}

impl Requests {
    /// A process that starts now.
    pub(crate) fn new(draws: Stream, spec: &ApiClientSpec, now: Time) -> Self {
        let mut new = Self {
            draws,
            made: 0,
            next: now,
            full: Time::ZERO,
            waiting: VecDeque::new(),
            admitted: 0,
            changes: 0,
            exchange: Exchange::default(),
            closing: Vec::new(),
            expiring: VecDeque::new(),
            connection: None,
            is_alternative: false,
            failures: 0,
        };
        new.next = now + new.gap(spec);
        new
    }

    /// Time until the next request.
    fn gap(&self, spec: &ApiClientSpec) -> Duration {
        let drawn = self.draws.draw(2 * self.made).exponential();
        Duration::from_nanos(((spec.rate.interval().as_nanos() as f64 * drawn) as u64).saturating_add(1))
    }

    fn bytes(&self, spec: &ApiClientSpec) -> u64 {
        match spec.response_sizes {
            ResponseSizes::Constant => spec.response,
            ResponseSizes::Exponential => {
                let drawn = self.draws.draw(2 * self.made + 1).exponential();
                (spec.response as f64 * drawn) as u64
            }
        }
    }

    /// Whether all its requests were made.
    fn is_exhausted(&self, spec: &ApiClientSpec) -> bool {
        spec.requests.is_some_and(|most| self.made >= most)
    }

    /// Whether all its requests are over.
    pub(crate) fn is_done(&self, spec: &ApiClientSpec) -> bool {
        self.is_exhausted(spec) && self.in_flight() == 0
    }

    /// Requests made so far.
    #[cfg(test)]
    pub(crate) const fn made(&self) -> u64 {
        self.made
    }

    /// Requests that are under way.
    pub(crate) fn in_flight(&self) -> usize {
        self.waiting.len() + self.expiring.len() + self.exchanges().map(|exchange| exchange.sent.len()).sum::<usize>()
    }

    /// Those of connections that were closed, which came before, first.
    fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.closing.iter().chain([&self.exchange])
    }

    /// When the timeout begins of the first request that has no response so far.
    pub(crate) fn first_unanswered(&self, spec: &ApiClientSpec, now: Time) -> Option<Time> {
        let mut sent = self.exchanges().filter_map(|exchange| exchange.first_unanswered(now));
        let request = sent.next().or_else(|| self.waiting.front());
        let made = request.map(|request| request.made).or_else(|| (!self.is_exhausted(spec)).then_some(self.next))?;
        Some(request.and_then(|request| request.started).unwrap_or_else(|| made.max(self.next_token(spec))))
    }

    /// When a request may take a token.
    fn next_token(&self, spec: &ApiClientSpec) -> Time {
        Time::ZERO + self.full.since(Time::ZERO + allowance(spec.limit))
    }

    /// Whether a request is sent now if there is a connection.
    pub(crate) fn sends(&self, spec: &ApiClientSpec, now: Time) -> bool {
        let makes = self.next <= now && !self.is_exhausted(spec);
        (makes || self.admitted < self.waiting.len()) && self.full <= now + allowance(spec.limit)
    }

    /// Moves on to `now`. `is_alternative`: the connection leads to an alternative. `ended`: what becomes of requests of the one before. Calls
    /// `over` for each request that is over then, with the time since it was made. Returns whether one has expired that an alternative did not answer.
    pub(crate) fn update(
        &mut self,
        spec: &ApiClientSpec,
        (link, is_alternative, ended): (Link, bool, InFlight),
        queues: &mut [Queue],
        now: Time,
        over: &mut dyn FnMut(RequestResult, Duration),
    ) -> bool {
        let mut end = |request: Request, result| over(result, now.since(request.made));
        let changes = queues.iter().map(Queue::changes).sum();
        if std::mem::replace(&mut self.changes, changes) != changes {
            let arrivals = self.closing.iter_mut().chain([&mut self.exchange]).flat_map(Exchange::arrivals);
            arrivals.for_each(|arrival| arrival.adapt(queues, now));
        }
        for exchange in self.closing.iter_mut().chain([&mut self.exchange]) {
            exchange.update(spec.timeout, now, &mut end);
        }
        self.closing.retain(|exchange| !exchange.sent.is_empty());
        let mut expired = false;
        while let Some((request, at_alternative)) = self.expiring.pop_front_if(|(request, _)| request.is_late(spec.timeout, now))
        {
            expired |= at_alternative;
            end(request, RequestResult::TimedOut);
        }
        while let Some(request) = self.waiting.pop_front_if(|request| request.is_late(spec.timeout, now)) {
            self.admitted = self.admitted.saturating_sub(1);
            end(request, RequestResult::TimedOut);
        }
        self.follow((link, is_alternative, ended), spec.timeout, now, &mut end);
        while self.next <= now && !self.is_exhausted(spec) {
            self.waiting.push_back(Request { made: self.next, started: None, bytes: self.bytes(spec) });
            self.made += 1;
            self.next += self.gap(spec);
        }
        while self.admitted < self.waiting.len() && self.full <= now + allowance(spec.limit) {
            self.waiting[self.admitted].started = Some(now);
            self.admitted += 1;
            if let Some(limit) = spec.limit {
                self.full = self.full.max(now) + limit.qps.interval();
            }
        }
        let Link::Open(connection, way, answers) = link else { return expired };
        for request in self.waiting.drain(..self.admitted) {
            let arrival = match connection.through {
                Some(node) => {
                    let queue = &mut queues[usize::from(node)];
                    let position = queue.push(if answers { request.bytes } else { ERROR_BYTES }, now);
                    Arrival::Queued { node, position, leaves: queue.leaves(position), way }
                }
                None => Arrival::At(now + way),
            };
            let result = if answers { RequestResult::Answered } else { RequestResult::Error };
            self.exchange.sent.push_back(Sent { request, result, arrival, is_silent: false });
        }
        self.admitted = 0;
        expired
    }

    /// The process ends, and with it what is under way.
    pub(crate) fn stop(self, now: Time, over: &mut dyn FnMut(RequestResult, Duration)) {
        let sent = self.closing.into_iter().chain([self.exchange]).flat_map(|exchange| exchange.sent);
        let left = sent.map(|sent| sent.request).chain(self.expiring.into_iter().map(|(request, _)| request)).chain(self.waiting);
        left.for_each(|request| over(RequestResult::ConnectionLost, now.since(request.made)));
    }

    /// What becomes of requests where the connection has changed.
    fn follow(
        &mut self,
        (link, is_alternative, ended): (Link, bool, InFlight),
        timeout: Option<Duration>,
        now: Time,
        end: &mut dyn FnMut(Request, RequestResult),
    ) {
        let connection = match link {
            Link::Open(connection, ..) | Link::Silent(connection) => Some(connection),
            Link::Closed(_) => None,
        };
        let expire = if let InFlight::Expire { at_alternative } = ended { timeout.map(|_| at_alternative) } else { None };
        if connection != self.connection {
            self.connection = connection;
            let was_alternative = std::mem::replace(&mut self.is_alternative, is_alternative);
            let mut old = std::mem::take(&mut self.exchange);
            // What a server still answers goes on beside the new connection.
            if ended == InFlight::Answered && old.sent.front().is_some_and(|sent| !sent.is_silent) {
                self.closing.push(std::mem::take(&mut old));
            }
            if let Some(at_alternative) = expire {
                self.expiring.extend(old.sent.drain(..).map(|sent| (sent.request, at_alternative)));
            }
            for sent in old.sent.into_iter().rev() {
                if was_alternative {
                    self.waiting.push_front(sent.request);
                    self.admitted += 1;
                } else {
                    end(sent.request, RequestResult::ConnectionLost);
                }
            }
        }
        if let Some(at_alternative) = expire {
            let asked = self.waiting.drain(..std::mem::take(&mut self.admitted));
            self.expiring.extend(asked.map(|request| (request, at_alternative)));
        }
        match link {
            Link::Open(_, way, _) => {
                self.failures = 0;
                for sent in self.exchange.sent.iter_mut().filter(|sent| sent.is_silent) {
                    sent.is_silent = false;
                    sent.arrival.not_before(now, way);
                }
            }
            Link::Silent(_) => self.exchange.sent.iter_mut().for_each(|sent| sent.is_silent = true),
            Link::Closed(failures) => {
                if failures > std::mem::replace(&mut self.failures, failures) {
                    // Those that wait for a token have not asked for a connection (client-go `rest/request.go`, `tryThrottle`).
                    let asked = std::mem::take(&mut self.admitted);
                    self.waiting.drain(..asked).for_each(|request| end(request, RequestResult::ConnectionLost));
                }
            }
        }
    }

    /// When something is due next.
    pub(crate) fn next_due(&self, spec: &ApiClientSpec) -> Option<Time> {
        let made = (!self.is_exhausted(spec)).then_some(self.next);
        let first = || self.exchanges().filter_map(|exchange| exchange.sent.front().map(|sent| (exchange, sent)));
        let arrival = first().filter_map(|(exchange, sent)| exchange.arrival(sent)).min();
        let oldest = self
            .waiting
            .front()
            .into_iter()
            .chain(self.expiring.front().map(|(request, _)| request))
            .chain(first().map(|(_, sent)| &sent.request));
        let started = oldest.filter_map(|request| request.started).min();
        let expires = spec.timeout.zip(started).map(|(timeout, at)| at + timeout);
        let token = (self.admitted < self.waiting.len()).then(|| self.next_token(spec));
        [made, arrival, expires, token].into_iter().flatten().min()
    }
}

impl Request {
    fn is_late(&self, timeout: Option<Duration>, now: Time) -> bool {
        self.started.zip(timeout).is_some_and(|(at, timeout)| at + timeout <= now)
    }
}

impl Exchange {
    /// When the response to one of its requests arrives, but for those before it.
    fn arrival(&self, sent: &Sent) -> Option<Time> {
        let late = self.late.map_or(Time::ZERO, Arrival::time);
        sent.time().map(|at| at.max(late))
    }

    fn arrivals(&mut self) -> impl Iterator<Item = &mut Arrival> {
        self.sent.iter_mut().map(|sent| &mut sent.arrival).chain(&mut self.late)
    }

    fn first_unanswered(&self, now: Time) -> Option<&Request> {
        self.sent.iter().find(|sent| self.arrival(sent).is_none_or(|at| at > now)).map(|sent| &sent.request)
    }

    /// Ends requests that were answered by `now`, and those whose timeout is over: the first ones, as the order of both is that of requests.
    fn update(&mut self, timeout: Option<Duration>, now: Time, end: &mut dyn FnMut(Request, RequestResult)) {
        while let Some(first) = self.sent.front() {
            let arrival = self.arrival(first);
            let result = if arrival.is_some_and(|at| at <= now) {
                first.result
            } else if first.request.is_late(timeout, now) {
                self.late = self.late.into_iter().chain([first.arrival]).max_by_key(|arrival| arrival.time());
                RequestResult::TimedOut
            } else {
                return;
            };
            end(first.request, result);
            self.sent.pop_front();
        }
    }
}

impl Sent {
    /// When its response could arrive.
    fn time(&self) -> Option<Time> {
        (!self.is_silent).then(|| self.arrival.time())
    }
}

impl Arrival {
    fn time(self) -> Time {
        match self {
            Self::At(at) => at,
            Self::Queued { leaves, way, .. } => leaves + way,
        }
    }

    /// Packets pass again: what has left the queue since is sent once more.
    fn not_before(&mut self, now: Time, over: Duration) {
        match self {
            Self::At(at) => *at = now + over,
            Self::Queued { leaves, way, .. } => (*leaves, *way) = ((*leaves).max(now), over),
        }
    }

    /// The bandwidth of a queue that it is still in may have changed.
    fn adapt(&mut self, queues: &[Queue], now: Time) {
        if let Self::Queued { node, position, leaves, .. } = self
            && *leaves > now
        {
            *leaves = queues[usize::from(*node)].leaves(*position);
        }
    }
}

/// How far a token may be taken in advance.
fn allowance(limit: Option<RateLimit>) -> Duration {
    limit.map_or(Duration::ZERO, |limit| limit.qps.interval() * u64::from(limit.burst - 1))
}
