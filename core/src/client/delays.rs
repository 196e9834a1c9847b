//! What requests wait for on their way, told where it takes long.

use crate::client::record::{ClientRecord, Delay};
use crate::client::{Client, ClientCtx};
use crate::etcd::raft::entry::Token;
use crate::ids::MemberId;
use crate::kernel::time::{Duration, Time};
use crate::network::wire::Burst;

/// A message's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    /// How long a connection takes to write it.
    pub(super) transfer: Duration,
    /// When the sender's network card has carried it.
    pub(super) carded: Time,
    /// Time on the way.
    pub(super) way: Duration,
    /// How much longer that is because packets are lost.
    pub(super) lost: Duration,
    /// Its packets, and their ACKs.
    pub(super) sent: [Burst; 2],
}

impl Client {
    /// Tells where a message waits long: for the client or its link, for the path's bandwidth, for lost packets.
    pub(super) fn tell_delays(&mut self, member: u8, [client, link, loss]: [Duration; 3], ctx: &mut ClientCtx<'_>) {
        for (by, wait) in [(Delay::Client, client), (Delay::Link, link), (Delay::Loss, loss)] {
            self.tell_delay(member, by, wait, ctx);
        }
    }

    /// Tells that a request has waited in vain for a member, if its process did not run, and does not.
    pub(super) fn tell_down(&mut self, token: Token, ctx: &mut ClientCtx<'_>) {
        let was_down = self.requests.get(token).is_some_and(|request| request.is_down);
        if was_down && !ctx.cluster.members[usize::from(token.member)].process.serves() {
            self.tell_delay(token.member, Delay::Down, self.timeout, ctx);
        }
    }

    /// Tells how long a message waits for one thing, if that is long.
    pub(super) fn tell_delay(&mut self, member: u8, by: Delay, wait: Duration, ctx: &mut ClientCtx<'_>) {
        if self.told[by as usize].tells(ctx.now, wait, self.least_told) {
            let (client, from, member) = (self.id, self.spec.zone, MemberId { cluster: self.cluster, index: member });
            ctx.out.record(ClientRecord::Delayed { client, from, member, by, wait });
        }
    }
}
