//! What the probe found when it last looked at a cluster: the services that it offers, and how many of its voters are connected.

use crate::record::Service;
use zonefall_network::vantage::Views;

/// What clients ask for, in the order of [`Services::views`].
pub(super) const ASKED: [Service; 3] = [Service::Write, Service::ReadLinearizable, Service::ReadSerializable];

/// What is offered, and how safely.
#[derive(Clone, Debug)]
pub(super) struct Services {
    /// A majority runs and is connected.
    pub(super) quorum: bool,
    pub(super) views: Views<3>,
    pub(super) connected_voters: ConnectedVoters,
}

/// How many voters hang together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ConnectedVoters {
    /// The most that run and reach one of them in both directions, itself included.
    pub(super) connected: u8,
    /// All there are.
    pub(super) voters: u8,
}

impl ConnectedVoters {
    /// Voters that may be lost with a majority left; negative: so many are missing.
    pub(super) const fn left(self) -> i8 {
        self.connected as i8 - (self.voters / 2 + 1) as i8
    }
}

impl Default for Services {
    fn default() -> Self {
        Self { quorum: true, views: Views::default(), connected_voters: ConnectedVoters::default() }
    }
}

impl Services {
    /// What is offered.
    pub(super) fn available(&self) -> impl Iterator<Item = Service> {
        let asked = ASKED.into_iter().zip(self.views.available()).filter_map(|(service, up)| up.then_some(service));
        self.quorum.then_some(Service::Quorum).into_iter().chain(asked)
    }
}
