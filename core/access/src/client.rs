//! A client of an API on its way: one HTTP/2 connection, and where it goes when that ends (client-go over Go's `net/http`).
//!
//! ```text
//!  dials --accepted--> open --reset, GOAWAY--> dials
//!    | '--30 s silent, or refused--> waits, or the next alternative      (back-off)
//!    |                  open --nothing passes--> silent --45 s after the last frame--> dials
//! ```
//!
//! The transport pings a connection that was silent for 30 s, and closes it 15 s later (`ReadIdleTimeout`, `PingTimeout`:
//! `k8s.io/apimachinery/pkg/util/net/http.go`). A request that has a deadline fails at it; its connection stays. With alternatives that failure
//! is a network error: the client goes on to the next one at once.
//!
//! A dial of the original host tries its addresses one after the other, each for an even part of the time that is left, at least 2 s
//! (Go's `net.Dialer`, `dialSerial` and `partialDeadline`). SYNs to an address are repeated after 1, 3, 7 and 15 s: a path that is mended
//! meanwhile is found at the next of them.

use crate::alt_svc::client::{Answer, Attempt, Client as Selector, Next};
use crate::record::Connection;
use crate::world::{Dialled, Line, LineState, World};
use zonefall_kernel::rng::{Draw, Stream};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_kube::ctx::Route;
use zonefall_network::HostId;

/// A connection without a frame for so long is pinged (`ReadIdleTimeout`).
const PING: Duration = Duration::from_secs(30);

/// A ping without an answer for so long ends its connection (`PingTimeout`).
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// A dial fails after this time (`rest.Config`, `net.Dialer.Timeout`).
const DIAL: Duration = Duration::from_secs(30);

/// An address of several is dialled for so long at least (`partialDeadline`).
const LEAST_DIAL: Duration = Duration::from_secs(2);

/// First time that a client waits after a failure, doubled with each in a row (the kubelet's lease controller: `backoffSteps`).
const BACK_OFF: Duration = Duration::from_millis(200);

/// The longest.
const MOST_BACK_OFF: Duration = Duration::from_secs(7);

/// A client's own timers are late by less than this.
pub(crate) const LATEST: Duration = Duration::from_millis(1);

/// Where a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// The original host: the load balancer.
    Origin,
    /// A server, by its key.
    Server(u32),
}

/// How often a client asks, and how long it waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Between two requests.
    pub(crate) period: Duration,
    /// A request fails after this time.
    pub(crate) deadline: Duration,
}

#[derive(Clone, Debug)]
enum State {
    Open {
        attempt: Attempt<Address>,
        line: Line,
        way: Duration,
        answers: bool,
        /// Its answers list alternatives.
        lists: bool,
    },
    Silent {
        attempt: Attempt<Address>,
        line: Line,
        until: Time,
        expired: bool,
    },
    Dials(Dial),
    Waits(Time),
}

/// An attempt that nobody answers yet.
#[derive(Clone, Debug)]
struct Dial {
    attempt: Attempt<Address>,
    /// Nodes of the balancer that are dialled, the present one last; none: the attempt is straight.
    nodes: Vec<u8>,
    /// When the present address was first dialled.
    since: Time,
    /// When it is given up.
    until: Time,
    /// When the attempt as a whole fails.
    deadline: Time,
}

/// A client.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    host: HostId,
    pace: Pace,
    selector: Option<Selector<Address>>,
    state: State,
    failures: u32,
    draws: Stream,
    drawn: u64,
    /// How late its timers are: they take whole seconds otherwise, as do leases that it renews and checks of the balancer, and what it does
    /// would come at the very moment of these.
    late: Duration,
    pub(crate) timer: Timer,
}

impl Client {
    /// A client that has no connection yet. `selector`: it uses alternatives.
    pub(crate) fn new(host: HostId, pace: Pace, selector: Option<Selector<Address>>, draws: Stream, now: Time) -> Self {
        let late = Duration::from_nanos(1 + draws.draw(0).below(LATEST.as_nanos() - 1));
        Self { host, pace, selector, state: State::Waits(now), failures: 0, draws, drawn: 0, late, timer: Timer::new() }
    }

    /// Host that it runs on.
    pub(crate) const fn host(&self) -> HostId {
        self.host
    }

    /// What it has of a connection.
    pub(crate) const fn connection(&self) -> Connection {
        match self.state {
            State::Open { line, answers: true, .. } => Connection::Open { server: line.server, through: line.through.is_some() },
            State::Open { line, .. } => Connection::Unanswered { server: line.server, through: line.through.is_some() },
            State::Silent { line, .. } => Connection::Silent { server: line.server, through: line.through.is_some() },
            State::Dials(_) | State::Waits(_) => Connection::None,
        }
    }

    /// Where its requests go.
    pub(crate) const fn route(&self) -> Route {
        match self.state {
            State::Open { line, way, .. } => Route::Server { key: line.server, way },
            State::Silent { .. } | State::Dials(_) | State::Waits(_) => Route::Nowhere,
        }
    }

    /// Where its present request goes; `None`: it waits.
    #[cfg(test)]
    pub(crate) const fn attempt(&self) -> Option<Attempt<Address>> {
        match &self.state {
            State::Open { attempt, .. } | State::Silent { attempt, .. } | State::Dials(Dial { attempt, .. }) => Some(*attempt),
            State::Waits(_) => None,
        }
    }

    /// Addresses that it has not given up, while it dials the original host.
    #[cfg(test)]
    pub(crate) const fn addresses_left(&self) -> Option<usize> {
        if let State::Dials(dial) = &self.state { Some(dial.nodes.len()) } else { None }
    }

    /// What it knows of alternatives.
    pub(crate) const fn selector(&self) -> Option<&Selector<Address>> {
        self.selector.as_ref()
    }

    fn draw(&mut self) -> Draw {
        self.drawn += 1;
        self.draws.draw(self.drawn)
    }

    /// Follows what has become of its connection, and does what is due.
    pub(crate) fn follow(&mut self, world: &World<'_>) {
        match &self.state {
            State::Open { attempt, line, lists, .. } => {
                let (attempt, line, lists) = (*attempt, *line, *lists);
                match world.state(self.host, line) {
                    LineState::Open(way) => self.is_open(attempt, line, way, world),
                    LineState::Reset => {
                        self.was_answered(attempt, lists, world.now);
                        self.begin(world);
                    }
                    LineState::Silent => self.falls_silent(attempt, line, lists, world),
                }
            }
            State::Silent { attempt, line, until, expired } => {
                let (attempt, line, until, expired) = (*attempt, *line, *until, *expired);
                match world.state(self.host, line) {
                    LineState::Open(way) => self.is_open(attempt, line, way, world),
                    LineState::Reset => self.begin(world),
                    LineState::Silent if until <= world.now => self.fails(attempt, expired, world),
                    LineState::Silent => {}
                }
            }
            State::Dials(dial) => {
                let dial = dial.clone();
                self.goes_on(dial, world);
            }
            State::Waits(until) => {
                if *until <= world.now {
                    self.begin(world);
                }
            }
        }
    }

    /// It has a connection that carries requests, and hears of alternatives with every answer.
    fn is_open(&mut self, attempt: Attempt<Address>, line: Line, way: Duration, world: &World<'_>) {
        let server = &world.servers[&line.server];
        let listed: Vec<Address> = server.list().iter().copied().map(Address::Server).collect();
        self.state = State::Open { attempt, line, way, answers: server.view.answers, lists: !listed.is_empty() };
        self.failures = 0;
        let Some(selector) = &mut self.selector else { return };
        let is_local = |address: &Address| is_on(self.host, *address, world);
        let listed = (!listed.is_empty()).then_some(listed);
        selector.answered(&attempt, Answer::Response { listed }, world.now, is_local);
        let next = self.choose(world);
        if next.to != attempt.to {
            self.dial(next, world);
        }
    }

    fn choose(&mut self, world: &World<'_>) -> Attempt<Address> {
        let (draws, drawn) = (self.draws, &mut self.drawn);
        let Some(selector) = &mut self.selector else { return Attempt { to: Address::Origin, is_alternative: false } };
        selector.choose(&Address::Origin, world.now, |n| {
            *drawn += 1;
            draws.draw(*drawn).below(n as u64) as usize
        })
    }

    /// Its next request.
    fn begin(&mut self, world: &World<'_>) {
        let attempt = self.choose(world);
        self.dial(attempt, world);
    }

    fn dial(&mut self, attempt: Attempt<Address>, world: &World<'_>) {
        let limit = if attempt.is_alternative { DIAL.min(self.pace.deadline) } else { DIAL };
        let deadline = world.now + limit + self.late;
        let nodes = match attempt.to {
            Address::Server(_) => Vec::new(),
            Address::Origin => {
                let mut draw = self.draw();
                match world.addresses(self.host, &mut draw) {
                    Some(nodes) => nodes,
                    None => return self.meets(attempt, world.dial_without_addresses(self.host), None, world),
                }
            }
        };
        self.next_address(Dial { attempt, nodes, since: world.now, until: deadline, deadline }, world);
    }

    /// The present address of an attempt is dialled for the first time.
    fn next_address(&mut self, mut dial: Dial, world: &World<'_>) {
        dial.since = world.now;
        let left = dial.deadline.since(world.now);
        let share = if dial.nodes.len() > 1 { (left / dial.nodes.len() as u64).max(LEAST_DIAL).min(left) } else { left };
        dial.until = world.now + share;
        let met = self.meets_address(&dial, world);
        self.meets(dial.attempt, met, Some(dial), world);
    }

    fn meets_address(&mut self, dial: &Dial, world: &World<'_>) -> Dialled {
        match (dial.attempt.to, dial.nodes.last()) {
            (Address::Server(key), _) => world.dial_server(self.host, key),
            (Address::Origin, Some(node)) => {
                let mut draw = self.draw();
                world.dial_node(self.host, *node, &mut draw)
            }
            (Address::Origin, None) => world.dial_without_addresses(self.host),
        }
    }

    /// An address has answered, or has not (`dial`: it may yet).
    fn meets(&mut self, attempt: Attempt<Address>, met: Dialled, dial: Option<Dial>, world: &World<'_>) {
        match (met, dial) {
            (Dialled::Open(line), _) => match world.state(self.host, line) {
                LineState::Open(way) => self.is_open(attempt, line, way, world),
                LineState::Reset | LineState::Silent => self.fails(attempt, false, world),
            },
            (Dialled::Refused, Some(mut dial)) if dial.nodes.len() > 1 => {
                dial.nodes.pop();
                self.next_address(dial, world);
            }
            (Dialled::Silent, Some(dial)) => self.state = State::Dials(dial),
            (Dialled::Refused | Dialled::Silent, _) => self.fails(attempt, false, world),
        }
    }

    /// Nobody has answered a dial so far.
    fn goes_on(&mut self, mut dial: Dial, world: &World<'_>) {
        if dial.until <= world.now {
            if dial.nodes.len() > 1 {
                dial.nodes.pop();
                self.next_address(dial, world);
            } else {
                let expired = dial.attempt.is_alternative && self.pace.deadline <= DIAL;
                self.fails(dial.attempt, expired, world);
            }
        } else if is_syn(dial.since + self.late, world.now) {
            let met = self.meets_address(&dial, world);
            self.meets(dial.attempt, met, Some(dial), world);
        }
    }

    /// Nothing passes over its connection any more.
    fn falls_silent(&mut self, attempt: Attempt<Address>, line: Line, lists: bool, world: &World<'_>) {
        self.was_answered(attempt, lists, world.now);
        let mut draw = self.draw();
        let ahead = draw.unit();
        let period = self.pace.period.min(PING);
        let part = |share: f64| Duration::from_nanos((period.as_nanos() as f64 * share) as u64);
        let closed = world.now + PING + PING_TIMEOUT - part(1.0 - ahead);
        let failed = world.now + part(ahead) + self.pace.deadline;
        let expired = attempt.is_alternative && failed < closed;
        let until = if expired { failed } else { closed };
        self.state = State::Silent { attempt, line, until, expired };
    }

    /// The last of many answers: what it `lists` is as old as that.
    fn was_answered(&mut self, attempt: Attempt<Address>, lists: bool, now: Time) {
        if let Some(selector) = &mut self.selector {
            let listed = || selector.alternatives().listed().iter().map(|entry| entry.authority).collect();
            let listed = lists.then(listed);
            selector.answered(&attempt, Answer::Response { listed }, now, |_| false);
        }
    }

    /// An attempt has failed. `expired`: with the deadline of its request.
    fn fails(&mut self, attempt: Attempt<Address>, expired: bool, world: &World<'_>) {
        let mut failed = attempt;
        while let Some(selector) = &mut self.selector {
            let rules = selector.rules();
            if selector.answered(&failed, Answer::NetworkError, world.now, |_| false) == Next::Return {
                break;
            }
            failed = self.choose(world);
            if expired && rules == crate::alt_svc::Rules::Code {
                // Retries of the prototype carry the context that has expired: each fails before it is sent.
                continue;
            }
            return self.dial(failed, world);
        }
        let wait = if expired { self.pace.period } else { BACK_OFF * (1 << self.failures.min(10)) };
        self.failures += 1;
        self.state = State::Waits(world.now + wait.min(MOST_BACK_OFF) + self.late);
    }

    /// When something is due.
    pub(crate) fn next(&self, now: Time) -> Option<Time> {
        match &self.state {
            State::Open { attempt, .. } => {
                let free = self.selector.as_ref().filter(|_| !attempt.is_alternative)?.alternatives().next_free();
                free.map(|at| at + self.late).filter(|at| *at > now)
            }
            State::Silent { until, .. } | State::Waits(until) => Some(*until),
            State::Dials(dial) => Some(next_syn(dial.since + self.late, now).map_or(dial.until, |syn| syn.min(dial.until))),
        }
    }
}

fn is_on(host: HostId, address: Address, world: &World<'_>) -> bool {
    match address {
        Address::Origin => false,
        Address::Server(key) => world.balancer.host(key) == Some(host),
    }
}

/// Times at which SYNs are repeated (`tcp_syn_retries`: after 1, 2, 4, 8 and 16 s).
fn syns(since: Time) -> impl Iterator<Item = Time> {
    (1..6).map(move |k| since + Duration::from_secs((1 << k) - 1))
}

fn is_syn(since: Time, now: Time) -> bool {
    syns(since).any(|syn| syn == now)
}

fn next_syn(since: Time, now: Time) -> Option<Time> {
    syns(since).find(|syn| *syn > now)
}
