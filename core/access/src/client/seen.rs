//! What others see of a client.

use super::{Address, Attempt, Client, Dial, State};
use crate::record::{ConnectionState, Detail, Dialled};
use crate::requests::Link;
use zonefall_kube::ctx::Route;

impl Client {
    /// State of its connection.
    pub(crate) fn connection_state(&self) -> ConnectionState {
        let (State::Open { connection, .. } | State::Silent { connection, .. }) = self.state else {
            return ConnectionState::None;
        };
        let (server, through) = (connection.server, connection.through.is_some());
        match self.state {
            State::Open { way, wait, .. } if way + wait >= self.timings.timeout => ConnectionState::Late { server, through },
            State::Open { answers: true, .. } => ConnectionState::Open { server, through },
            State::Open { .. } => ConnectionState::Unanswered { server, through },
            State::Silent { .. } | State::Dials(_) | State::Waits(_) => ConnectionState::Silent { server, through },
        }
    }

    /// What it has dialled last without success.
    pub(crate) const fn dials(&self) -> Option<Dialled> {
        self.dialled
    }

    /// What the state of its connection does not tell of the last update. `before`: that state, and what it dialled.
    pub(crate) fn details(&self, before: (ConnectionState, Option<Dialled>)) -> impl Iterator<Item = Detail> {
        let gone_away = self.has_gone_away.then_some(Detail::GoneAway);
        let connected = self.opened.iter().map(|through| Detail::Connected { through: *through });
        let last = match self.state {
            State::Open { way, wait, .. } => {
                let is_late = way < self.timings.timeout && way + wait >= self.timings.timeout;
                (is_late && self.connection_state() != before.0).then_some(Detail::Queues)
            }
            State::Silent { .. } | State::Dials(_) | State::Waits(_) => {
                self.dialled.filter(|_| self.dialled != before.1).map(Detail::Dials)
            }
        };
        gone_away.into_iter().chain(connected).chain(last)
    }

    /// Its connection, for requests that are simulated one by one.
    pub(crate) const fn link(&self) -> Link {
        match self.state {
            State::Open { connection, way, answers, .. } => Link::Open(connection, way, answers),
            State::Silent { connection, .. } => Link::Silent(connection),
            State::Dials(_) | State::Waits(_) => Link::Closed(self.failures),
        }
    }

    /// Where its requests go.
    pub(crate) fn route(&self) -> Route {
        match self.state {
            State::Open { connection, way, wait, .. } if way + wait < self.timings.timeout => {
                Route::Server { key: connection.server, way: way + wait }
            }
            State::Open { .. } | State::Silent { .. } | State::Dials(_) => Route::Nowhere { waits: true },
            State::Waits(_) => Route::Nowhere { waits: false },
        }
    }

    /// Host that its present request goes to; `None`: it waits.
    pub(crate) const fn attempt(&self) -> Option<Attempt<Address>> {
        match &self.state {
            State::Open { attempt, .. } | State::Silent { attempt, .. } | State::Dials(Dial { attempt, .. }) => Some(*attempt),
            State::Waits(_) => None,
        }
    }

    /// Whether its requests go to an alternative.
    pub(crate) fn is_at_alternative(&self) -> bool {
        self.attempt().is_some_and(|attempt| attempt.is_alternative)
    }
}
