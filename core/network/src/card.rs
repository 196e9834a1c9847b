//! Network cards: what a host sends to others shares the bandwidth of its card. Where more is offered than it carries, a queue builds.
//!
//! ```text
//!  message --connection (path's bandwidth)--\
//!          \--card (shared by the host)------+--later of the two--> path
//!  database: a lease of the card's bandwidth, renewed with each of its steps
//! ```
//!
//! Linux sends fairly by flow: `fq_codel` (RFC 8290, the default of systemd) and `fq` go round the flows that have packets queued, and the
//! first packet of a flow that had none goes before all of those. So here
//!
//! - a message of one packet waits for other such messages only. It takes its share of the card from the rest;
//! - a longer one is through when all that was offered before is, or when each of the others that are queued has sent as much as it has,
//!   whichever is first. Of messages of one size that is first in, first out;
//! - a database has what messages leave, and the share of one flow at least. It follows what they take from one of its steps to the next
//!   (100 ms); meanwhile they have at least the share that they would have in a queue of such flows.
//!
//! Heartbeats, keep-alives and pure ACKs pass freely: a packet of a flow that is nearly always idle, of which a thousand groups send 2 MB/s
//! at most. (So groups at rest stay arithmetic.) A message that was told when it is through keeps that time. A queue has no limit, as if
//! each connection's send buffer were large enough.
//!
//! A queue as an integer time (when all of it is through) costs a comparison where there is none, and gives no card more than its rate.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::wire::Burst;
use crate::{HostId, Network};
use zonefall_kernel::time::{Duration, Time};

/// A database looks so often how much of a card it may have, or more rarely.
pub const STEP: Duration = Duration::from_millis(100);

/// What the cards of all hosts have to carry.
#[derive(Clone, Debug, Default)]
pub struct Cards(BTreeMap<HostId, Card>);

#[derive(Clone, Debug, Default)]
struct Card {
    /// When messages of one packet are through that were offered so far.
    short: Time,
    /// When all messages are.
    all: Time,
    /// When each longer one is.
    ends: BinaryHeap<Reverse<Time>>,
    /// Bytes of messages so far.
    carried: u64,
    /// Databases that are being sent.
    leases: u64,
    /// Bytes per second that they have.
    leased: u64,
}

/// What a database on its way has of its sender's card.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    host: HostId,
    bytes_per_s: u64,
    since: Time,
    /// Bytes of messages until then.
    carried: u64,
}

impl Cards {
    /// A message is written at `now`: when the sender's card has carried it. What stays on a host meets no card.
    pub fn carry(&mut self, net: &Network, [from, to]: [HostId; 2], now: Time, burst: Burst) -> Time {
        if from == to {
            return now;
        }
        let card = self.0.entry(from).or_default();
        card.forget(now);
        card.carried += burst.bytes;
        let others = card.ends.len() as u64;
        let transfer = Duration::of_transfer(burst.bytes, card.left(net.card(from)));
        let short = card.short.max(now);
        card.all = card.all.max(now) + transfer;
        if burst.packets <= 1 {
            card.short = short + transfer;
            return card.short;
        }
        let end = card.all.min(short + transfer * (others + 1));
        card.ends.push(Reverse(end));
        end
    }

    /// Bytes per second that a database may be sent at which could be sent at `wanted`, until its next step.
    pub fn lease(&mut self, net: &Network, host: HostId, now: Time, wanted: u64, lease: &mut Option<Lease>) -> u64 {
        let before = lease.take();
        if let Some(before) = before {
            self.release(before);
        }
        let rate = net.card(host);
        let card = self.0.entry(host).or_default();
        card.forget(now);
        card.leases += 1;
        let (since, carried) = before.map_or((now, card.carried), |before| (before.since, before.carried));
        let offered = Duration::of_transfer(card.carried - carried, rate) + card.all.max(now).since(now);
        let step = now.since(since).max(STEP).as_nanos();
        let taken = (u128::from(rate) * u128::from(offered.as_nanos().min(step)) / u128::from(step)) as u64;
        let left = rate.saturating_sub(card.leased).saturating_sub(taken);
        let flows = (card.ends.len() as u64).max(u64::from(taken > 0));
        let bytes_per_s = wanted.min(left.max(rate / (flows + card.leases))).max(1);
        card.leased += bytes_per_s;
        *lease = Some(Lease { host, bytes_per_s, since: now, carried: card.carried });
        bytes_per_s
    }

    /// A database needs its sender's card no longer.
    pub fn release(&mut self, lease: Lease) {
        if let Some(card) = self.0.get_mut(&lease.host) {
            card.leases -= 1;
            card.leased -= lease.bytes_per_s;
        }
    }

    /// A host has lost power, and what waited for its card.
    pub fn clear(&mut self, host: HostId) {
        if let Some(card) = self.0.get_mut(&host) {
            (card.short, card.all) = (Time::ZERO, Time::ZERO);
            card.ends.clear();
        }
    }
}

impl Card {
    /// Bytes per second that databases leave to one message more.
    fn left(&self, rate: u64) -> u64 {
        let flows = self.ends.len() as u64 + 1;
        let fair = u128::from(rate) * u128::from(flows) / u128::from(flows + self.leases);
        rate.saturating_sub(self.leased).max(fair as u64).max(1)
    }

    fn forget(&mut self, now: Time) {
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= now) {
            self.ends.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_kernel::rng::{Purpose, Stream};
    use zonefall_scenario::ids::NodeId;
    use zonefall_scenario::testing::{at, three_zones};

    const HERE: HostId = HostId(0);
    const THERE: [HostId; 2] = [HERE, HostId(1)];
    const MB: u64 = 1_000_000;

    /// The first host sends 100 MB/s.
    fn net() -> Network {
        let mut scenario = three_zones();
        scenario.nodes[NodeId(0)].card_bytes_per_s = 100 * MB;
        Network::new(&scenario)
    }

    fn long(bytes: u64) -> Burst {
        Burst { packets: 2, bytes }
    }

    const SHORT: Burst = Burst { packets: 1, bytes: 1_000 };

    #[test]
    fn long_messages_queue_and_short_ones_pass_them() {
        let (net, mut cards) = (net(), Cards::default());
        assert_eq!(cards.carry(&net, THERE, at(0), long(MB)), at(10));
        assert_eq!(cards.carry(&net, THERE, at(0), long(MB)), at(20));
        assert_eq!(cards.carry(&net, THERE, at(0), SHORT), at(0) + Duration::from_micros(10));
        assert_eq!(cards.carry(&net, THERE, at(0), SHORT), at(0) + Duration::from_micros(20));
        // The short ones took their part.
        assert_eq!(cards.carry(&net, THERE, at(0), long(MB)), at(30) + Duration::from_micros(20));
        // Another host, and what stays on this one.
        assert_eq!(
            cards.carry(&net, [HostId(1), HERE], at(0), long(MB)).since(at(0)),
            Duration::of_transfer(MB, net.card(HostId(1)))
        );
        assert_eq!(cards.carry(&net, [HERE, HERE], at(0), long(MB)), at(0));
        cards.clear(HERE);
        assert_eq!(cards.carry(&net, THERE, at(1), long(MB)), at(11));
    }

    #[test]
    fn a_small_message_waits_for_as_much_of_each_other() {
        let (net, mut cards) = (net(), Cards::default());
        for _ in 0..4 {
            cards.carry(&net, THERE, at(0), long(100 * MB));
        }
        assert_eq!(cards.carry(&net, THERE, at(0), long(MB)), at(50));
        // It took its share: the next large one is through 1 MB later.
        assert_eq!(cards.carry(&net, THERE, at(0), long(100 * MB)), at(5_010));
    }

    /// Messages of 10 ms each, offered at random at half the card's rate, wait as in a queue M/D/1: `rho / (2 (1 - rho))` of a service
    /// time, 5 ms.
    #[test]
    fn messages_of_one_size_wait_as_in_a_queue_m_d_1() {
        let (net, mut cards, draws) = (net(), Cards::default(), Stream::new(1, Purpose::Arrival, 1));
        let (mut now, mut waited, count) = (at(0), 0.0, 200_000);
        for k in 0..count {
            now += Duration::from_nanos((draws.draw(k).exponential() * 2e7) as u64);
            waited += (cards.carry(&net, THERE, now, long(MB)).since(now).as_nanos() - 10_000_000) as f64;
        }
        let mean_ms = waited / count as f64 / 1e6;
        assert!((mean_ms - 5.0).abs() < 0.1, "{mean_ms} ms");
    }

    #[test]
    fn a_database_has_what_messages_leave_and_a_fair_share_at_least() {
        let (net, mut cards, mut lease) = (net(), Cards::default(), None);
        assert_eq!(cards.lease(&net, HERE, at(0), 60 * MB, &mut lease), 60 * MB);
        // Messages have the rest.
        assert_eq!(cards.carry(&net, THERE, at(0), long(MB)), at(20));
        // They took a tenth of the card in the last step.
        assert_eq!(cards.lease(&net, HERE, at(100), 200 * MB, &mut lease), 90 * MB);
        // Nine are queued: it is the tenth flow.
        for _ in 0..9 {
            cards.carry(&net, THERE, at(150), long(10 * MB));
        }
        assert_eq!(cards.lease(&net, HERE, at(200), 200 * MB, &mut lease), 10 * MB);
        let mut other = None;
        assert_eq!(cards.lease(&net, HERE, at(200), 200 * MB, &mut other), 100 * MB / 11);
        [lease, other].into_iter().flatten().for_each(|lease| cards.release(lease));
        let mut alone = None;
        assert_eq!(cards.lease(&net, HERE, at(60_000), 200 * MB, &mut alone), 100 * MB);
    }
}
