//! API servers as their clients and balancers see them, and the list of alternatives that each adds to its answers.

use crate::alt_svc::advertiser::{Advertiser, KEEP};
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
    /// It adds alternatives to its answers.
    advertises: bool,
    advertiser: Advertiser<u32>,
    refreshes: Periodic,
}

impl Server {
    /// A server whose requests have come so regularly that it reads the endpoints at even intervals from `first` on.
    pub(crate) fn new(view: ServerView, process: u32, first: Time, advertises: bool) -> Self {
        let (advertiser, refreshes) = (Advertiser::default(), Periodic::new(first, KEEP));
        Self { view, process, advertises, advertiser, refreshes }
    }

    /// When it reads the endpoints next.
    pub(crate) fn next_refresh(&self, now: Time) -> Time {
        self.refreshes.after(now)
    }

    /// It reads the endpoints; whether its list has changed.
    pub(crate) fn read(&mut self, endpoints: &[u32]) -> bool {
        if !self.advertises {
            return false;
        }
        let before = self.advertiser.list().to_vec();
        self.advertiser.endpoints_read(endpoints.iter().copied());
        before != self.advertiser.list()
    }

    /// The list that it adds to its answers: to all but the one that has it read the endpoints, of thousands.
    pub(crate) fn list(&self) -> &[u32] {
        self.advertiser.list()
    }
}
