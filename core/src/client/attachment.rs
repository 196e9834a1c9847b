//! Clients that are parts of API servers: they ask from where their server is, the members that its connections are with.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::client::in_flight::Seats;
use crate::client::record::RequestResult;
use crate::client::{Client, ClientCtx};
use crate::etcd::service::RequestKind;
use crate::ids::ZoneId;
use crate::kernel::time::Duration;
use crate::network::HostId;
use crate::scenario::kube::usage::Caller;
use crate::scenario::{self, Load, Op, Scenario, Target, Vantage};

/// An API server that clients are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAttachment {
    /// Which, as [`Running::key`](crate::kube::api::Running::key) tells it from others.
    pub server: u32,
    /// Where it runs.
    pub host: HostId,
    /// In which zone.
    pub zone: ZoneId,
    /// The member of each connection that its requests may take, one drawn for each request; `None`: they go round all members.
    pub members: Option<Arc<[u8]>>,
    /// Its share of what all of them ask together: so many of so many.
    pub share: (u64, u64),
}

/// Whether it is asked how long its requests should take: not if their latency does not count for an API (they are for etcd-events, or the
/// server's own), nor if they are of a client that chooses members.
pub(super) fn is_judged(scenario: &Scenario, client: &scenario::Client) -> bool {
    let Some(part) = client.server else { return matches!(client.target, Target::Member(_)) };
    let cluster = &scenario.kube.clusters[part.cluster];
    part.requests
        .is_some_and(|requests| client.etcd == cluster.etcd && cluster.asked()[usize::from(requests)].by != Caller::Server)
}

impl Client {
    /// The places at its server that its requests take, and how many there are; `None`: they take none.
    pub(super) fn seats(&self) -> Option<(Seats, NonZeroU32)> {
        let (part, attachment) = (self.spec.server?, self.attachment.as_ref()?);
        let writes = !matches!(self.spec.op, Op::Range { .. });
        Some((Seats { cluster: part.cluster, server: attachment.server, writes }, part.limit?))
    }

    /// How long etcd and the network take for a request that takes a connection with this member now, as the probes see it: queues, full
    /// servers and lost packets are not known to them; for ever where the way to the member is closed, or it cannot answer. `None`: that
    /// is not asked, or nobody outside the API server's host can send it there.
    pub(super) fn expected(&self, member: u8, ctx: &ClientCtx<'_>) -> Option<Duration> {
        if !self.is_judged {
            return None;
        }
        if self.spec.server.is_some() {
            let vantages = [Vantage::Outside, Vantage::Zone(self.spec.zone)];
            vantages.into_iter().find_map(|vantage| ctx.net.reach_from(vantage, self.host))?;
        }
        let kind = RequestKind::of_api(!matches!(self.spec.op, Op::Range { .. }));
        let host = ctx.cluster.members[usize::from(member)].host;
        let time = ctx.cluster.time_at(member, kind, ctx.net).filter(|_| ctx.net.is_open(self.host, host));
        Some(time.map_or(Duration::MAX, |time| ctx.net.round_trip(self.host, host) + time))
    }

    /// The member of the connection that the next request takes.
    pub(super) fn connection(&mut self) -> Option<u8> {
        let members = self.attachment.as_ref()?.members.as_ref()?;
        self.drawn += 1;
        let drawn = self.connection_draws.draw(self.drawn).below(members.len() as u64);
        Some(members[drawn as usize])
    }

    /// The process of its API server has ended, and with it the requests that members have not answered.
    pub fn server_stopped(&mut self, ctx: &mut ClientCtx<'_>) {
        for token in self.requests.sent().collect::<Vec<_>>() {
            self.finish(token, RequestResult::Lost, ctx);
        }
    }

    /// The server it is a part of is another, is elsewhere, or shares with more or fewer; or (`None`) none serves in its place.
    pub fn attach(&mut self, attachment: Option<ServerAttachment>, ctx: &mut ClientCtx<'_>) {
        if self.attachment == attachment {
            return;
        }
        // A watch ends with its connection.
        self.leave_watch(ctx);
        self.attachment = attachment;
        let Some(attachment) = &self.attachment else { return };
        let (zone, host) = (attachment.zone, attachment.host);
        self.spec.target = attachment.members.as_ref().map_or(Target::All, |members| Target::Member(members[0]));
        if std::mem::replace(&mut self.host, host) != host {
            self.connect_anew(ctx);
        }
        if zone != self.spec.zone {
            for member in 0..self.meters.len() as u8 {
                let zone = ctx.net.zone(ctx.cluster.members[member as usize].host);
                self.member_leaves(member, zone);
            }
            self.spec.zone = zone;
        }
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
