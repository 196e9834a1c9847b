//! Clients that are parts of API servers: they ask from where their server is, the member that its connection is with.

use std::num::NonZeroU32;

use crate::client::in_flight::Seats;
use crate::client::{Client, ClientCtx};
use crate::ids::ZoneId;
use crate::network::HostId;
use crate::scenario::{Load, Op, Target};

/// An API server that clients are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerAttachment {
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
    pub(super) fn seats(&self) -> Option<(Seats, NonZeroU32)> {
        let (part, attachment) = (self.spec.server?, self.attachment?);
        let writes = !matches!(self.spec.op, Op::Range { .. });
        Some((Seats { cluster: part.cluster, server: attachment.server, writes }, part.limit?))
    }

    /// The server it is a part of is another, is elsewhere, or shares with more or fewer; or (`None`) none serves in its place.
    pub fn attach(&mut self, attachment: Option<ServerAttachment>, ctx: &mut ClientCtx<'_>) {
        if self.attachment == attachment {
            return;
        }
        self.attachment = attachment;
        // A watch ends with its connection.
        self.leave_watch(ctx);
        let Some(attachment) = attachment else { return };
        if attachment.zone != self.spec.zone {
            for member in 0..self.meters.len() as u8 {
                let zone = ctx.net.zone(ctx.cluster.members[member as usize].host);
                self.member_leaves(member, zone);
            }
            self.spec.zone = attachment.zone;
        }
        self.host = attachment.host;
        self.spec.target = attachment.member.map_or(Target::All, Target::Member);
        match self.spec.load {
            _ if self.spec.op == Op::Watch => self.seek(ctx),
            Load::Open { interval, poisson } if !self.ticks => {
                self.ticks = true;
                self.wait((interval, poisson), ctx);
            }
            Load::Open { .. } | Load::Closed { .. } => {}
        }
    }
}
