//! The list of alternatives that an API server adds to its answers (openshift/kubernetes@75a200ac
//! `apiserver/pkg/server/filters/alternative_services.go`).
//!
//! ```text
//!  answer --list younger than 60 s--> with the list
//!     '--- older, or none yet --> without, and the endpoints are read --at least two addresses--> new list
//! ```

use zonefall_kernel::time::{Duration, Time};

/// How long a list is used from the start of the refresh that made it (`cacheTTL`): 6/7 of the shutdown delay of OpenShift's API servers.
pub const KEEP: Duration = Duration::from_secs(60);

/// The shortest time for which a list is used, where servers stop without a delay.
const SHORTEST: Duration = Duration::from_millis(100);

/// Reading the endpoints fails after this time.
pub const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// What an API server adds to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advertisement<'a, A> {
    /// The list; empty as long as no refresh has succeeded.
    List(&'a [A]),
    /// Nothing: it reads the endpoints meanwhile.
    Refresh,
}

/// The list of an API server, with addresses of type `A`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertiser<A> {
    list: Vec<A>,
    /// How long it is used.
    keep: Duration,
    /// Fewer addresses make no list.
    fewest: usize,
    /// A server that is asked to stop advertises the others alone from then on.
    drops_itself: bool,
    /// Start of the last refresh.
    refreshed: Option<Time>,
}

impl<A: Clone + PartialEq> Advertiser<A> {
    /// As the prototype: a single server is no alternative.
    pub const fn prototype() -> Self {
        Self { list: Vec::new(), keep: KEEP, fewest: 2, drops_itself: false, refreshed: None }
    }

    /// As the document, with this shutdown delay.
    pub fn document(delay: Duration) -> Self {
        let keep = KEEP.min(delay * 6 / 7).max(SHORTEST);
        Self { list: Vec::new(), keep, fewest: 1, drops_itself: true, refreshed: None }
    }

    /// How long a list is used.
    pub const fn keep(&self) -> Duration {
        self.keep
    }

    /// Whether a server that is asked to stop advertises the others alone from then on.
    pub const fn drops_itself(&self) -> bool {
        self.drops_itself
    }

    /// A request is answered.
    pub fn answer(&mut self, now: Time) -> Advertisement<'_, A> {
        if self.refreshed.is_some_and(|start| now < start + self.keep) {
            return Advertisement::List(&self.list);
        }
        self.refreshed = Some(now);
        Advertisement::Refresh
    }

    /// The list as it is now.
    pub fn list(&self) -> &[A] {
        &self.list
    }

    /// The endpoints could not be read though it is time for it. The document keeps a list no longer than that.
    pub fn endpoints_not_read(&mut self) {
        if self.drops_itself {
            self.list.clear();
        }
    }

    /// A refresh has read the addresses of the `kubernetes` endpoints, in their order.
    pub fn endpoints_read(&mut self, addresses: impl IntoIterator<Item = A>) {
        let mut list: Vec<A> = Vec::new();
        for address in addresses {
            if !list.contains(&address) {
                list.push(address);
            }
        }
        if list.len() >= self.fewest {
            self.list = list;
        }
    }
}
