//! What the probe found when it last looked at a cluster: the services that it offers, and how many of its voters are connected.

use crate::record::Service;

/// All services, in the order of [`Services::available`].
pub(super) const ALL: [Service; 4] = [Service::Quorum, Service::Write, Service::ReadLinearizable, Service::ReadSerializable];

/// What is offered, and how safely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Services {
    /// In the order of [`ALL`]; everything, before the first look.
    pub(super) available: [bool; 4],
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
        Self { available: [true; 4], connected_voters: ConnectedVoters::default() }
    }
}

impl Services {
    /// What is offered.
    pub(super) fn available(self) -> impl Iterator<Item = Service> {
        ALL.into_iter().zip(self.available).filter_map(|(service, up)| up.then_some(service))
    }
}
