//! Addresses of API servers that a client reads for itself and keeps in its process (Resilient Control Plane Networking, section
//! Alternatives: Custom Dialer, Custom In Memory DNS). They matter for new connections alone, and API servers need no change.
//!
//! ```text
//!  custom dialer: connected --every minute--> reads the `kubernetes` endpoints
//!                 dials: the address that it was last connected to, then the others at random, for up to 30 s each; at last the original host
//!  in-memory DNS: connected --every 10 s--> reads the `kubernetes` endpoints
//!                 dials: the address on its own host, then the others at random, 30 s in all
//!                 for 5 min no connection: forgets them, and the original host is resolved as usual
//! ```
//!
//! Both follow their prototypes: `aojea/client-go-multidialer@bd27a7b` (`multidialer/multidialer.go`, `resolver.go`) and
//! `aojea/library-go@e14526d` (`pkg/network/resolver/resolver.go`). Neither knows whether an address is healthy, sends a request again, or
//! leaves a connection that works. An established connection that falls silent is closed by HTTP/2 pings, as any other.

use zonefall_kernel::periodic::{Periodic, Stepping};
use zonefall_kernel::rng::Draw;
use zonefall_kernel::time::{Duration, Time};

/// How the addresses are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// A dialer tries them one after the other, each for the whole time of a dial, and the original host at last.
    CustomDialer,
    /// The name of the original host resolves to them, while there are any.
    InMemoryDns,
}

impl Lookup {
    /// Time between two reads of the endpoints (`time.Tick(60 * time.Second)`; `period`).
    pub(crate) const fn period(self) -> Duration {
        match self {
            Self::CustomDialer => Duration::from_secs(60),
            Self::InMemoryDns => Duration::from_secs(10),
        }
    }
}

/// A resolver whose reads have failed for longer than this forgets its addresses (`timeout`).
const STALE: Duration = Duration::from_secs(300);

/// The addresses that a client has read.
#[derive(Clone, Debug)]
pub(crate) struct AddressBook {
    lookup: Lookup,
    /// Keys of the servers, in the order of the endpoints.
    known: Vec<u32>,
    /// Server that its last connection leads to, if it was dialled by its address.
    last: Option<u32>,
    reads: Periodic,
    /// First failure since it was last connected.
    failing_since: Option<Time>,
    /// A resolver reads the endpoints before the client sends its first request.
    is_starting: bool,
}

impl AddressBook {
    /// That of a client that starts, and reads the endpoints at these times.
    pub(crate) const fn new(lookup: Lookup, reads: Periodic) -> Self {
        let is_starting = matches!(lookup, Lookup::InMemoryDns);
        Self { lookup, known: Vec::new(), last: None, reads, failing_since: None, is_starting }
    }

    /// That of a client that has been running for long, and has read these endpoints. A dialer has opened no connection since.
    pub(crate) fn read_long_ago(&mut self, endpoints: &[u32]) {
        self.known = endpoints.to_vec();
        self.is_starting = false;
    }

    /// How the addresses are used.
    pub(crate) const fn lookup(&self) -> Lookup {
        self.lookup
    }

    /// The addresses, by the keys of their servers.
    pub(crate) fn known(&self) -> &[u32] {
        &self.known
    }

    /// The order in which they are dialled.
    pub(crate) fn order(&self, is_local: impl Fn(u32) -> bool, draw: &mut Draw) -> Vec<u32> {
        let mut order = self.known.clone();
        for k in (1..order.len()).rev() {
            order.swap(k, draw.below(k as u64 + 1) as usize);
        }
        let is_first = |key: &u32| match self.lookup {
            Lookup::CustomDialer => self.last == Some(*key),
            Lookup::InMemoryDns => is_local(*key),
        };
        if let Some(place) = order.iter().position(is_first) {
            order[..=place].rotate_right(1);
        }
        order
    }

    /// It is connected to a server whose address it has dialled, or (`None`) to the original host.
    pub(crate) const fn connected(&mut self, address: Option<u32>) {
        if address.is_some() {
            self.last = address;
        }
        self.failing_since = None;
    }

    /// Whether the endpoints are read now, over an open connection: at the start of a resolver, and periodically.
    pub(crate) fn reads_at(&self, now: Time) -> bool {
        self.is_starting || self.reads.at_or_after(now) == now
    }

    /// A read is over. One that fails, or finds none, changes nothing. Returns whether the client's first connection is to be replaced: a
    /// resolver closes it so that the next one leads to an address.
    pub(crate) fn read(&mut self, endpoints: Option<&[u32]>) -> bool {
        if let Some(endpoints) = endpoints.filter(|endpoints| !endpoints.is_empty()) {
            self.known = endpoints.to_vec();
        }
        std::mem::take(&mut self.is_starting) && !self.known.is_empty()
    }

    /// The client has reached no server.
    pub(crate) fn failed(&mut self, now: Time) {
        self.is_starting = false;
        let since = *self.failing_since.get_or_insert(now);
        if self.lookup == Lookup::InMemoryDns && since + STALE < now {
            self.forget();
        }
    }

    /// It forgets the addresses: the original host is resolved as usual.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.failing_since = None;
    }

    /// When it reads the endpoints next, while it is connected to a server that etcd answers. Reads that find what is known are no events
    /// under fast-forward.
    pub(crate) fn next_read(&self, endpoints: &[u32], stepping: Stepping, now: Time) -> Option<Time> {
        let finds_news = self.known != endpoints && !endpoints.is_empty();
        (finds_news || stepping == Stepping::EveryEvent).then(|| self.reads.after(now))
    }
}
