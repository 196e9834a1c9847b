//! Clients that are parts of API servers: they ask from where their server is, the member that its connection is with.

use std::num::NonZeroU32;

use crate::client::in_flight::Places;
use crate::client::{Client, Surroundings};
use crate::ids::ZoneId;
use crate::network::HostId;
use crate::scenario::{Load, Op, Target};

/// An API server that clients are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Which, as [`Running::key`](crate::kube::api::Running::key) tells it from others.
    pub server: u32,
    /// Where it runs.
    pub host: HostId,
    /// In which zone.
    pub zone: ZoneId,
    /// The member that its connection is with; `None`: it goes round all of them.
    pub member: Option<u8>,
    /// Its share of what all of them ask together: so many of so many.
    pub share: (u64, u64),
}

impl Client {
    /// The places at its server that its requests take, and how many there are; `None`: they take none.
    pub(super) fn places(&self) -> Option<(Places, NonZeroU32)> {
        let (part, seat) = (self.spec.server?, self.seat?);
        let writes = !matches!(self.spec.op, Op::Range { .. });
        Some((Places { cluster: part.cluster, server: seat.server, writes }, part.limit?))
    }

    /// The server it is a part of is another, is elsewhere, or shares with more or fewer; or (`None`) none serves in its place.
    pub fn sit(&mut self, seat: Option<Seat>, at: &mut Surroundings<'_>) {
        if self.seat == seat {
            return;
        }
        self.seat = seat;
        // A watch ends with its connection.
        self.leave_watch(at);
        let Some(seat) = seat else { return };
        if seat.zone != self.spec.zone {
            for member in 0..self.meters.len() as u8 {
                let zone = at.net.zone(at.cluster.members[member as usize].host);
                self.member_leaves(member, zone);
            }
            self.spec.zone = seat.zone;
        }
        self.host = seat.host;
        self.spec.target = seat.member.map_or(Target::All, Target::Member);
        match self.spec.load {
            _ if self.spec.op == Op::Watch => self.seek(at),
            Load::Open { interval, poisson } if !self.ticks => {
                self.ticks = true;
                self.wait((interval, poisson), at);
            }
            Load::Open { .. } | Load::Closed { .. } => {}
        }
    }
}
