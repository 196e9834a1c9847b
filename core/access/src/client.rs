//! A client of an API: one HTTP/2 connection, and what the client does when that ends (client-go over Go's `net/http`).
//!
//! ```text
//!  dialling --accepted--> open --reset, GOAWAY--> dialling
//!    | '--30 s without a reply, or refused--> waiting (back-off), or the next alternative
//!    |                    open --no packet passes--> silent --45 s after the last frame--> dialling
//! ```
//!
//! The transport pings a connection that was silent for 30 s, and closes it 15 s later (`ReadIdleTimeout`, `PingTimeout`:
//! `k8s.io/apimachinery/pkg/util/net/http.go`). A request that times out does not close its connection. Of an alternative a time-out counts
//! as a network error: the client turns to the next alternative at once.

mod choice;
mod dials;
mod due;
mod seen;

use crate::address_book::{AddressBook, Lookup};
use crate::alt_svc::client::{Attempt, Client as Selector};
use crate::connection::{ClientCtx, Connection};
use crate::dial::{DIAL, dial_share};
use crate::record::Dialled;
use crate::reply::Reply;
use crate::requests::InFlight;
use dials::Hop;
use zonefall_kernel::dist::scale;
use zonefall_kernel::rng::{Draw, Stream};
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::HostId;
use zonefall_scenario::ids::BalancerId;

/// A connection without a frame for so long is pinged (`ReadIdleTimeout`).
const PING: Duration = Duration::from_secs(30);

/// A ping without an answer for so long ends its connection (`PingTimeout`).
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// Time that a client waits after a failure, doubled with each in a row (`component-helpers/apimachinery/lease/controller.go`,
/// `backoffEnsureLease`).
const BACK_OFF: Duration = Duration::from_millis(200);

/// The longest time that it waits (`maxBackoff` there).
const MAX_BACK_OFF: Duration = Duration::from_secs(7);

/// A client that has been running for long has dialled so often at most before the start.
const MOST_DIALS: u32 = 64;

/// The most moves at one moment. Servers whose lists are of different times may each list the other one and not itself: the client then
/// goes to and fro with each request.
const MOST_MOVES: u32 = 8;

/// Upper bound of the jitter of a client's timers.
pub(crate) const MAX_JITTER: Duration = Duration::from_millis(1);

/// Where a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// The original host: the load balancer.
    Origin,
    /// A server, by its key.
    Server(u32),
}

/// How often a client sends a request, and how long it waits for the response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestTimings {
    /// Between two requests.
    pub(crate) period: Duration,
    /// A request without a response fails after this time.
    pub(crate) timeout: Duration,
    /// Mean time after which its server closes a connection (GOAWAY); `None`: it does not.
    pub(crate) goaway: Option<Duration>,
}

#[derive(Clone, Debug)]
enum State {
    Open {
        attempt: Attempt<Address>,
        connection: Connection,
        way: Duration,
        /// Time that a response waits in a queue.
        wait: Duration,
        answers: bool,
        /// The server advertises alternatives.
        advertises: bool,
    },
    Silent {
        attempt: Attempt<Address>,
        connection: Connection,
        until: Time,
        expired: bool,
    },
    Dials(Dial),
    Waits(Time),
}

/// An attempt without a reply so far.
#[derive(Clone, Debug)]
struct Dial {
    attempt: Attempt<Address>,
    /// What the original host resolves to and is still to be dialled, the present one last; none: the attempt goes straight to a server.
    left: Vec<Hop>,
    /// The target of the balancer that packets to the present address are sent to.
    target: Option<u32>,
    handshake: Handshake,
    /// When the present address was first dialled.
    since: Time,
    /// When it is given up.
    until: Time,
    /// When the attempt as a whole fails.
    deadline: Time,
}

/// How far a dial of the present address has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    /// No packet has come back.
    Syn,
    /// The kernel of a node that relays has accepted the connection at this time, the node itself has not: its limit is reached.
    Backlog(Time),
    /// A node that relays has accepted it.
    Accepted,
}

/// A client.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    host: HostId,
    /// The load balancer that it is configured with.
    origin: BalancerId,
    timings: RequestTimings,
    selector: Option<Selector<Address>>,
    /// Addresses that it reads itself: it has a custom dialer or an in-memory DNS.
    book: Option<AddressBook>,
    /// Addresses that its custom dialer is still to dial before it gives up, the next one last.
    left: Vec<Address>,
    state: State,
    failures: u32,
    /// Its requests are simulated: it learns of alternatives when one is answered, and chooses among them for each. Any other client sends so
    /// many that it does all the time.
    is_simulated: bool,
    /// A request of it is sent now.
    sends: bool,
    /// When a request was last answered, until it has followed the list of that answer.
    answered: Option<Time>,
    /// When its first request is made that has no response so far, where those are simulated.
    first_unanswered: Option<Time>,
    /// When the server closes its connection (GOAWAY).
    goes_away: Option<Time>,
    /// What becomes of the requests of the connection or dial that ended with the last update.
    ended: InFlight,
    /// The alternative whose requests have expired last.
    expired: Option<Attempt<Address>>,
    /// What it has dialled last without success.
    dialled: Option<Dialled>,
    /// Its list of alternatives expired since it was last connected.
    list_expired: bool,
    /// Connections that it has opened with the last update, in order: whether each goes through the load balancer.
    opened: Vec<bool>,
    /// Its server has closed its connection with the last update (GOAWAY).
    has_gone_away: bool,
    /// How often it has moved to a server that was listed to it, all at this time.
    moves: (Time, u32),
    draws: Stream,
    drawn: u64,
    /// Added to each of its timers. Without it they would fire at the very moment of other events that come at whole seconds: renewals of
    /// leases, checks of the balancer.
    jitter: Duration,
}

impl Client {
    /// A client on a host, configured with a load balancer, that has no connection yet. `selector`: it uses alternatives.
    pub(crate) fn new(
        (host, origin): (HostId, BalancerId),
        timings: RequestTimings,
        selector: Option<Selector<Address>>,
        draws: Stream,
        now: Time,
    ) -> Self {
        let jitter = Duration::from_nanos(1 + draws.draw(0).below(MAX_JITTER.as_nanos() - 1));
        Self {
            host,
            origin,
            timings,
            selector,
            book: None,
            left: Vec::new(),
            state: State::Waits(now),
            failures: 0,
            is_simulated: false,
            sends: false,
            answered: None,
            first_unanswered: None,
            goes_away: None,
            ended: InFlight::Lost,
            expired: None,
            dialled: None,
            list_expired: false,
            opened: Vec::new(),
            has_gone_away: false,
            moves: (now, 0),
            draws,
            drawn: 0,
            jitter,
        }
    }

    /// Whether its requests are simulated one by one.
    pub(crate) const fn is_simulated(&mut self, is: bool) {
        self.is_simulated = is;
    }

    /// Its first request without a response so far is made at this time. `sends`: a request is sent now.
    pub(crate) const fn has_requests(&mut self, first_unanswered: Option<Time>, sends: bool) {
        (self.first_unanswered, self.sends) = (first_unanswered, sends);
    }

    /// A request has been answered.
    pub(crate) const fn answered(&mut self, now: Time) {
        self.answered = Some(now);
    }

    /// Host that it runs on.
    pub(crate) const fn host(&self) -> HostId {
        self.host
    }

    /// The load balancer that it is configured with.
    pub(crate) const fn origin(&self) -> BalancerId {
        self.origin
    }

    /// Whether it has moved so often at this moment that it stays where it is until its next request.
    pub(crate) fn goes_to_and_fro(&self, now: Time) -> bool {
        self.moves == (now, MOST_MOVES)
    }

    /// Number of addresses that are left, while it dials.
    #[cfg(test)]
    pub(crate) const fn addresses_left(&self) -> Option<usize> {
        if let State::Dials(dial) = &self.state { Some(dial.left.len()) } else { None }
    }

    /// The alternatives that it knows.
    pub(crate) const fn selector(&self) -> Option<&Selector<Address>> {
        self.selector.as_ref()
    }

    fn draw(&mut self) -> Draw {
        self.drawn += 1;
        self.draws.draw(self.drawn)
    }

    /// It has been running for long: a dial that fails is over, and the client has dialled again.
    pub(crate) fn settle(&mut self, ctx: &ClientCtx<'_>) {
        self.has_read_endpoints(Lookup::InMemoryDns, ctx);
        self.settle_connection(ctx);
        if !matches!(self.state, State::Open { .. }) && self.forget_addresses() {
            // None of the addresses has answered for long.
            self.settle_connection(ctx);
            self.has_read_endpoints(Lookup::InMemoryDns, ctx);
        }
        // What its dialer has read since it connected has not moved it.
        self.has_read_endpoints(Lookup::CustomDialer, ctx);
    }

    fn settle_connection(&mut self, ctx: &ClientCtx<'_>) {
        for _ in 0..MOST_DIALS {
            self.update(ctx);
            if let State::Open { .. } = self.state {
                return;
            }
            self.state = State::Waits(ctx.now);
        }
        self.update(ctx);
    }

    /// Servers, paths or the balancer may have changed, or something is due.
    pub(crate) fn update(&mut self, ctx: &ClientCtx<'_>) {
        (self.ended, self.has_gone_away) = (InFlight::Lost, false);
        self.opened.clear();
        match &self.state {
            State::Open { attempt, connection, wait, advertises, .. } => {
                let (attempt, connection, wait, advertises) = (*attempt, *connection, *wait, *advertises);
                let is_over = self.goes_away.is_some_and(|at| at <= ctx.now);
                match ctx.state(self.host, connection) {
                    Reply::Accepted(way) if !is_over => {
                        // To read is no occasion to look at the balancer's queue: under fast-forward not all reads are events.
                        let wait = if self.reads_now(ctx.now) { wait } else { ctx.wait(connection) };
                        self.read_endpoints(connection, ctx);
                        if advertises && ctx.servers[&connection.server].list().is_empty() {
                            self.renew_list(attempt, true, ctx.now);
                        }
                        self.connected(attempt, connection, (way, wait), ctx);
                    }
                    reply @ (Reply::Accepted(_) | Reply::Refused | Reply::Closed) => {
                        self.has_gone_away = matches!(reply, Reply::Accepted(_));
                        if self.has_gone_away || ctx.drains(connection) {
                            self.ended = InFlight::Answered;
                        }
                        self.renew_list(attempt, advertises, ctx.now);
                        self.reconnect(ctx);
                    }
                    Reply::Silence => self.fall_silent(attempt, connection, advertises, ctx),
                }
            }
            State::Silent { attempt, connection, until, expired } => {
                let (attempt, connection, until, expired) = (*attempt, *connection, *until, *expired);
                match ctx.state(self.host, connection) {
                    Reply::Accepted(way) => self.connected(attempt, connection, (way, ctx.wait(connection)), ctx),
                    Reply::Refused | Reply::Closed => self.reconnect(ctx),
                    Reply::Silence if until <= ctx.now => self.fail(attempt, expired, ctx),
                    Reply::Silence => self.leave_origin(attempt, ctx),
                }
            }
            State::Dials(dial) => {
                let dial = dial.clone();
                let attempt = dial.attempt;
                self.continue_dial(dial, ctx);
                if let State::Dials(_) = self.state {
                    self.leave_origin(attempt, ctx);
                }
            }
            State::Waits(until) => {
                if *until <= ctx.now {
                    self.reconnect(ctx);
                }
            }
        }
    }

    fn dial(&mut self, attempt: Attempt<Address>, ctx: &ClientCtx<'_>) {
        // The request that is sent now has chosen.
        self.sends = false;
        let limit = if attempt.is_alternative { DIAL.min(self.timings.timeout) } else { DIAL };
        let deadline = ctx.now + limit + self.jitter;
        let left = match attempt.to {
            Address::Server(_) => Vec::new(),
            Address::Origin => {
                let mut draw = self.draw();
                let Some(nodes) = ctx.addresses(self.host, &mut draw) else {
                    let reply = self.dial_without_addresses(ctx);
                    return self.dialled(attempt, reply, None, ctx);
                };
                nodes.into_iter().map(Hop::Node).collect()
            }
        };
        self.dial_next(Dial::new(attempt, left, deadline, ctx.now), ctx);
    }

    /// It dials the last of the addresses that are left.
    fn dial_next(&mut self, mut dial: Dial, ctx: &ClientCtx<'_>) {
        (dial.since, dial.target, dial.handshake) = (ctx.now, None, Handshake::Syn);
        let left = dial.deadline.since(ctx.now);
        dial.until = ctx.now + dial_share(left, dial.left.len());
        let reply = self.dial_address(&mut dial, ctx);
        self.dialled(dial.attempt, reply, Some(dial), ctx);
    }

    /// An address has replied, or has not (it still may while `dial` lasts).
    fn dialled(&mut self, attempt: Attempt<Address>, reply: Reply<Connection>, dial: Option<Dial>, ctx: &ClientCtx<'_>) {
        match (reply, dial) {
            (Reply::Accepted(connection), _) => match ctx.state(self.host, connection) {
                Reply::Accepted(way) => {
                    self.opened.push(connection.through.is_some());
                    if self.first_read_moves_it(attempt, connection, ctx) {
                        return self.reconnect(ctx);
                    }
                    self.answered = None;
                    let mean = self.timings.goaway;
                    self.goes_away = mean.map(|mean| ctx.now + scale(mean, self.draw().exponential()) + self.jitter);
                    self.connected(attempt, connection, (way, ctx.wait(connection)), ctx);
                }
                Reply::Refused | Reply::Closed | Reply::Silence => self.fail(attempt, false, ctx),
            },
            (Reply::Refused, Some(mut dial)) if dial.left.len() > 1 => {
                dial.left.pop();
                self.dial_next(dial, ctx);
            }
            (Reply::Silence, Some(dial)) => self.state = State::Dials(dial),
            (Reply::Refused | Reply::Closed | Reply::Silence, _) => self.fail(attempt, false, ctx),
        }
    }

    /// A dial without a reply so far goes on: with another SYN, with the next address, or as a failure.
    fn continue_dial(&mut self, mut dial: Dial, ctx: &ClientCtx<'_>) {
        if dial.until <= ctx.now {
            if dial.left.len() > 1 {
                dial.left.pop();
                self.dial_next(dial, ctx);
            } else {
                let expired = dial.attempt.is_alternative && self.timings.timeout <= DIAL;
                self.fail(dial.attempt, expired, ctx);
            }
        } else if self.is_continued(&mut dial, ctx) {
            let reply = self.dial_address(&mut dial, ctx);
            self.dialled(dial.attempt, reply, Some(dial), ctx);
        }
    }

    /// No packet passes over its connection any more.
    fn fall_silent(&mut self, attempt: Attempt<Address>, connection: Connection, advertises: bool, ctx: &ClientCtx<'_>) {
        self.renew_list(attempt, advertises, ctx.now);
        let mut draw = self.draw();
        let ahead = draw.unit();
        let period = self.timings.period.min(PING);
        let part = |share: f64| Duration::from_nanos((period.as_nanos() as f64 * share) as u64);
        let closed = ctx.now + PING + PING_TIMEOUT - part(1.0 - ahead);
        let made = self.first_unanswered.unwrap_or_else(|| ctx.now + part(ahead));
        let failed = made + self.timings.timeout;
        let expired = attempt.is_alternative && failed < closed;
        let until = if expired { failed } else { closed };
        self.state = State::Silent { attempt, connection, until, expired };
    }

    /// What becomes of the requests of the connection or dial that ended with the last update.
    pub(crate) const fn ended(&self) -> InFlight {
        self.ended
    }
}
