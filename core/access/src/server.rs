//! API servers as their clients and balancers see them, and the list of alternatives that each adds to its answers.

use crate::alt_svc::advertiser::Advertiser;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::time::Time;
use zonefall_network::HostId;

/// What Kubernetes says of an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// Its key: the place of its host in the control plane.
    pub key: u32,
    /// Host that it runs on.
    pub host: HostId,
    /// It accepts connections.
    pub listens: bool,
    /// etcd answers it: writes of leases succeed.
    pub answers: bool,
    /// What it says of itself (`/readyz`).
    pub readyz: bool,
    /// It was asked to stop.
    pub stops: bool,
}

/// A server that runs.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) view: ServerView,
    /// Number of its process.
    pub(crate) process: u32,
    /// `None`: it adds no alternatives to its answers.
    advertiser: Option<Advertiser<u32>>,
    refreshes: Periodic,
}

impl Server {
    /// A server whose requests have come so regularly that it reads the endpoints at these times.
    pub(crate) const fn new(view: ServerView, process: u32, refreshes: Periodic, advertiser: Option<Advertiser<u32>>) -> Self {
        Self { view, process, advertiser, refreshes }
    }

    /// When it reads the endpoints next.
    pub(crate) fn next_refresh(&self, now: Time) -> Time {
        self.refreshes.after(now)
    }

    /// It reads the endpoints; whether its list has changed.
    pub(crate) fn read(&mut self, endpoints: &[u32]) -> bool {
        let Some(advertiser) = &mut self.advertiser else { return false };
        let before = advertiser.list().to_vec();
        advertiser.endpoints_read(endpoints.iter().copied());
        before != advertiser.list()
    }

    /// It cannot read the endpoints; whether its list has changed.
    pub(crate) fn cannot_read(&mut self) -> bool {
        let Some(advertiser) = &mut self.advertiser else { return false };
        let before = advertiser.list().len();
        advertiser.endpoints_not_read();
        before != advertiser.list().len()
    }

    /// Whether it reads the endpoints as soon as they have changed: none so far, or all but its own.
    pub(crate) fn reads_at_once(&self) -> bool {
        self.list().is_empty() || self.view.stops && self.advertiser.as_ref().is_some_and(Advertiser::drops_itself)
    }

    /// The list that it adds to its answers: to all but the one that has it read the endpoints, of thousands.
    pub(crate) fn list(&self) -> &[u32] {
        self.advertiser.as_ref().map_or(&[], Advertiser::list)
    }
}
