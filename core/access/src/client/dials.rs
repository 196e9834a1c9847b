//! What a client dials: the load balancer, or addresses of API servers that it has read itself.

use super::{Address, Client, Dial, Handshake, State};
use crate::address_book::{AddressBook, Lookup};
use crate::alt_svc::client::Attempt;
use crate::connection::{ClientCtx, Connection};
use crate::dial::{DIAL, TLS_HANDSHAKE, is_syn};
use crate::limit::{AtLimit, Slot};
use crate::record::Dialled;
use crate::reply::Reply;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::time::{Duration, Time};

/// An address that is dialled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hop {
    /// A node of the balancer.
    Node(u16),
    /// A server, by its key.
    Server(u32),
}

impl Client {
    /// It connects for its next request.
    pub(super) fn reconnect(&mut self, ctx: &ClientCtx<'_>) {
        self.left.clear();
        let Some(book) = self.book.clone().filter(|book| !book.known().is_empty()) else {
            let attempt = self.choose(ctx.now);
            return self.dial(attempt, ctx);
        };
        let mut draw = self.draw();
        let host = self.host;
        let mut order = book.order(|key| ctx.balancer.host(key) == Some(host), &mut draw);
        order.reverse();
        match book.lookup() {
            Lookup::CustomDialer => {
                self.left = std::iter::once(Address::Origin).chain(order.into_iter().map(Address::Server)).collect();
                self.dial_next_of_dialer(ctx);
            }
            Lookup::InMemoryDns => {
                let deadline = ctx.now + DIAL + self.jitter;
                let (attempt, left) = (ORIGIN, order.into_iter().map(Hop::Server).collect());
                self.dial_next(Dial::new(attempt, left, deadline, ctx.now), ctx);
            }
        }
    }

    /// A custom dialer dials the next of its addresses; whether there is one.
    pub(super) fn dial_next_of_dialer(&mut self, ctx: &ClientCtx<'_>) -> bool {
        let next = self.left.pop();
        if let Some(to) = next {
            self.dial(Attempt { to, is_alternative: false }, ctx);
        }
        next.is_some()
    }

    /// A reply to the address that is dialled at present.
    pub(super) fn dial_address(&mut self, dial: &mut Dial, ctx: &ClientCtx<'_>) -> Reply<Connection> {
        match (dial.attempt.to, dial.left.last().copied()) {
            (Address::Server(key), _) | (Address::Origin, Some(Hop::Server(key))) => {
                let is_alternative = dial.attempt.is_alternative;
                self.dialled = Some(if ctx.in_cluster_network { Dialled::Server } else { Dialled::Outside { is_alternative } });
                ctx.dial_server(self.host, key)
            }
            (Address::Origin, Some(Hop::Node(node))) => self.dial_node(node, dial, ctx),
            (Address::Origin, None) => self.dial_without_addresses(ctx),
        }
    }

    /// A reply to a dial of a node of the balancer, or to another packet of it.
    fn dial_node(&mut self, node: u16, dial: &mut Dial, ctx: &ClientCtx<'_>) -> Reply<Connection> {
        let mut draw = self.draw();
        let before = dial.handshake;
        if before == Handshake::Syn
            && let Some(at_limit) = ctx.at_limit(self.host, node)
        {
            self.dialled = Some(Dialled::AtLimit);
            if at_limit == AtLimit::Backlog {
                dial.handshake = Handshake::Backlog(ctx.now);
                self.stay_at(node, dial, ctx.now);
            }
            return Reply::Silence;
        }
        let reply = ctx.dial_node(self.host, node, &mut dial.target, &mut draw);
        self.dialled = Some(if dial.target.is_some_and(|key| ctx.is_sent_to_itself(self.host, node, key)) {
            Dialled::Itself
        } else {
            Dialled::Balancer { list_expired: self.list_expired }
        });
        if ctx.spec.relays && dial.target.is_some() && before == Handshake::Syn {
            dial.handshake = Handshake::Accepted;
            self.stay_at(node, dial, ctx.now);
        }
        reply
    }

    /// A connection to a node that relays has been accepted: no other address is dialled any more.
    fn stay_at(&self, node: u16, dial: &mut Dial, now: Time) {
        dial.left = vec![Hop::Node(node)];
        dial.deadline = dial.deadline.min(now + TLS_HANDSHAKE + self.jitter);
        dial.until = dial.deadline;
    }

    /// Whether a dial sends another packet now: a SYN is repeated, or the connection that was in the backlog of a node is accepted.
    pub(super) fn is_continued(&self, dial: &mut Dial, ctx: &ClientCtx<'_>) -> bool {
        if let (Handshake::Backlog(_), Some(Hop::Node(node))) = (dial.handshake, dial.left.last()) {
            if ctx.has_accepted(*node) {
                dial.handshake = Handshake::Accepted;
            }
            return dial.handshake == Handshake::Accepted;
        }
        is_syn(dial.since + self.jitter, ctx.now)
    }

    /// What it has at a node of its load balancer.
    pub(crate) fn slot(&self) -> Option<Slot> {
        match &self.state {
            State::Open { connection, .. } | State::Silent { connection, .. } => connection.through.map(Slot::Accepted),
            State::Dials(dial) => match (dial.handshake, dial.left.last()) {
                (Handshake::Backlog(since), Some(Hop::Node(node))) => Some(Slot::Waits(*node, since)),
                (Handshake::Accepted, Some(Hop::Node(node))) => Some(Slot::Accepted(*node)),
                _ => None,
            },
            State::Waits(_) => None,
        }
    }

    /// It dials the original host where that has no addresses.
    pub(super) fn dial_without_addresses(&mut self, ctx: &ClientCtx<'_>) -> Reply<Connection> {
        let own = ctx.own_server(self.host);
        self.dialled = Some(own.map_or(Dialled::Balancer { list_expired: self.list_expired }, |_| Dialled::Itself));
        ctx.dial_without_addresses(self.host)
    }

    /// An open connection leads to a server: the endpoints are read if it is time. Returns whether a resolver has read them for the first
    /// time, and its client leaves that connection.
    pub(super) fn read_endpoints(&mut self, connection: Connection, ctx: &ClientCtx<'_>) -> bool {
        let Some(book) = self.book.as_mut().filter(|book| book.reads_at(ctx.now)) else { return false };
        let answers = ctx.servers[&connection.server].view.answers;
        book.read(answers.then_some(ctx.endpoints))
    }

    /// Whether the endpoints are read now.
    pub(super) fn reads_now(&self, now: Time) -> bool {
        self.book.as_ref().is_some_and(|book| book.reads_at(now))
    }

    /// A dial has succeeded. Returns whether its connection only served to read the endpoints.
    pub(super) fn first_read_moves_it(&mut self, attempt: Attempt<Address>, connection: Connection, ctx: &ClientCtx<'_>) -> bool {
        self.left.clear();
        let Some(book) = &mut self.book else { return false };
        book.connected(if let Address::Server(key) = attempt.to { Some(key) } else { None });
        self.read_endpoints(connection, ctx)
    }

    /// It reads addresses of API servers itself. `long_ago`: it has done so for long.
    pub(crate) fn reads_addresses(&mut self, lookup: Lookup, long_ago: bool, now: Time) {
        let period = lookup.period();
        let first = if long_ago { Duration::from_nanos(self.draw().below(period.as_nanos())) } else { period };
        self.book = Some(AddressBook::new(lookup, Periodic::new(now + first + self.jitter, period)));
    }

    /// The addresses that it has read itself.
    pub(crate) const fn book(&self) -> Option<&AddressBook> {
        self.book.as_ref()
    }

    /// A resolver forgets its addresses; whether the client has one.
    pub(super) fn forget_addresses(&mut self) -> bool {
        let book = self.book.as_mut().filter(|book| book.lookup() == Lookup::InMemoryDns);
        book.map(AddressBook::forget).is_some()
    }

    /// Server that it dials or is connected to straight.
    #[cfg(test)]
    pub(crate) fn dialled_server(&self) -> Option<u32> {
        match &self.state {
            State::Open { connection, .. } | State::Silent { connection, .. } => {
                connection.through.is_none().then_some(connection.server)
            }
            State::Dials(Dial { attempt, left, .. }) => match (attempt.to, left.last().copied()) {
                (Address::Server(key), _) | (Address::Origin, Some(Hop::Server(key))) => Some(key),
                (Address::Origin, _) => None,
            },
            State::Waits(_) => None,
        }
    }

    /// It has been running for long, and has read the endpoints in this way.
    pub(super) fn has_read_endpoints(&mut self, lookup: Lookup, ctx: &ClientCtx<'_>) {
        if let Some(book) = self.book.as_mut().filter(|book| book.lookup() == lookup) {
            book.read_long_ago(ctx.endpoints);
        }
    }
}

/// An attempt to reach the original host.
pub(super) const ORIGIN: Attempt<Address> = Attempt { to: Address::Origin, is_alternative: false };

impl Dial {
    /// A dial that fails at a deadline, of these addresses, the first one last.
    pub(super) const fn new(attempt: Attempt<Address>, left: Vec<Hop>, deadline: Time, now: Time) -> Self {
        Self { attempt, left, target: None, handshake: Handshake::Syn, since: now, until: deadline, deadline }
    }
}
