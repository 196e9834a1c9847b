//! What was sent so far: by link, where it travels, and by what it is, where it is made.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::client::Client;
use crate::ids::{Endpoint, KubeClusterId, MemberId, ZoneId};
use crate::kernel::time::Time;
use crate::network::ledger::Ledger;
use crate::network::meter::Meter;
use crate::network::wire::Burst;
use crate::sim::Simulation;

/// Bytes one endpoint has sent to another since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkTotals {
    /// Endpoint that sends.
    pub from: Endpoint,
    /// Endpoint that receives.
    pub to: Endpoint,
    /// Where they were meanwhile: a member that has moved since has a link more.
    pub zones: (ZoneId, ZoneId),
    /// Application bytes: what the programs wrote (HTTP framing included, TLS and below not).
    pub bytes: u64,
    /// Bytes on the wire: with TLS records, Ethernet, IP and TCP headers, pure ACKs of the other direction's data.
    pub wire_bytes: u64,
    /// Packets on the wire.
    pub packets: u64,
    /// The largest wire bytes in any [`PEAK_WINDOW`](crate::network::meter::PEAK_WINDOW) (windows laid end to end from the
    /// start) per second, on top of heartbeats and keep-alives, which are even.
    pub peak_wire_bytes_per_s: f64,
}

/// Bytes that all of one zone have sent to all of another since the start.
pub type Pairs = BTreeMap<(ZoneId, ZoneId), PairTotals>;

/// What went from one zone to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairTotals {
    /// Application bytes.
    pub bytes: u64,
    /// On the wire.
    pub wire: Burst,
}

impl PairTotals {
    /// Adds what a link has carried.
    pub fn add(&mut self, link: &LinkTotals) {
        self.bytes += link.bytes;
        self.wire += Burst { packets: link.packets, bytes: link.wire_bytes };
    }
}

/// A link with its meter: sender, receiver and the zones of both.
type Metered = (Endpoint, Endpoint, (ZoneId, ZoneId), Meter);

impl Simulation {
    /// Bytes between every two endpoints that have exchanged any, in order of `(from, to)`. Groups at rest are counted up to now.
    pub fn links(&self) -> Vec<LinkTotals> {
        debug_assert!(self.traffic.is_fresh(&self.traffic_ctx()), "what flows has changed unnoticed");
        let time = self.now.since(Time::ZERO);
        let totals = |(from, to, zones, meter): Metered| LinkTotals {
            from,
            to,
            zones,
            bytes: meter.bytes,
            wire_bytes: meter.wire.bytes,
            packets: meter.wire.packets,
            peak_wire_bytes_per_s: meter.peak_per_s(time),
        };
        let mut links: Vec<LinkTotals> = self.metered().filter(|(.., meter)| meter.wire.bytes > 0).map(totals).collect();
        links.sort_by_key(|link| (link.from, link.to, link.zones));
        // Each part of an API server has meters of its own.
        links.dedup_by(|more, link| {
            let same = (more.from, more.to, more.zones) == (link.from, link.to, link.zones);
            if same {
                link.bytes += more.bytes;
                link.wire_bytes += more.wire_bytes;
                link.packets += more.packets;
                link.peak_wire_bytes_per_s += more.peak_wire_bytes_per_s;
            }
            same
        });
        self.add_flows(&mut links);
        links.sort_by_key(|link| (link.from, link.to, link.zones));
        links
    }

    /// The same by pairs of zones, from one look to the next: what flows is summed up before it is rounded, so it may be a few bytes more
    /// than that of the links together.
    pub fn pairs(&self) -> Pairs {
        debug_assert!(self.traffic.is_fresh(&self.traffic_ctx()), "what flows has changed unnoticed");
        let mut pairs = Pairs::new();
        for (zones, amount) in self.traffic.pairs(self.now) {
            let (_, bytes, wire) = amount.whole();
            pairs.insert(zones, PairTotals { bytes, wire });
        }
        // There are many links and few zones.
        let zones = self.scenario.zones.len();
        let mut metered = vec![PairTotals::default(); zones * zones];
        let mut add = |(from, to): (ZoneId, ZoneId), bytes: u64, wire: Burst| {
            let pair = &mut metered[usize::from(from.0) * zones + usize::from(to.0)];
            pair.bytes += bytes;
            pair.wire += wire;
        };
        self.clusters.iter().for_each(|cluster| cluster.carried(self.now, &self.network, &mut add));
        self.metered_clients().for_each(|(.., zones, meter)| add(zones, meter.bytes, meter.wire));
        for (place, more) in metered.into_iter().enumerate().filter(|(_, more)| more.wire.bytes > 0) {
            let pair = pairs.entry((ZoneId((place / zones) as u16), ZoneId((place % zones) as u16))).or_default();
            pair.bytes += more.bytes;
            pair.wire += more.wire;
        }
        pairs
    }

    /// What came through the load balancers of all control planes, there and back, as IP packets: from one look to the next, as [`Self::pairs`].
    pub fn balanced(&self) -> u64 {
        self.traffic.balanced(self.now).whole().2.ip_bytes()
    }

    /// What control planes that are in use have written to their etcd: bytes of keys and values.
    pub fn written(&self) -> impl Iterator<Item = (KubeClusterId, u64)> {
        self.traffic.written(self.now)
    }

    /// What was sent message by message, or by groups at rest.
    fn metered(&self) -> impl Iterator<Item = Metered> {
        let members = self.clusters.iter().flat_map(|cluster| {
            let links = cluster.links(self.now, &self.network);
            links.map(|(from, to, zones, meter)| (Endpoint::Member(from), Endpoint::Member(to), zones, meter))
        });
        members.chain(self.metered_clients())
    }

    /// What clients and members have sent each other.
    fn metered_clients(&self) -> impl Iterator<Item = Metered> {
        self.counted_clients().flat_map(|client| {
            let zone = |index| self.zone_of(MemberId { cluster: client.cluster(), index });
            client.meters(zone)
        })
    }

    /// Clients whose bytes are counted: not those of an API that is not in use.
    fn counted_clients(&self) -> impl Iterator<Item = &Client> {
        let counts = |client: &&Arc<Client>| {
            client.server().is_none_or(|part| !self.scenario.kube.clusters[part.cluster].requests.is_empty())
        };
        self.clients.iter().filter(counts).map(|client| &**client)
    }

    /// What flows between two that are metered, too, is one link with it.
    fn add_flows(&self, links: &mut Vec<LinkTotals>) {
        let mut places: BTreeMap<_, usize> =
            links.iter().enumerate().map(|(k, link)| ((link.from, link.to, link.zones), k)).collect();
        for (key, amount, most) in self.traffic.totals(self.now) {
            let (_, bytes, wire) = amount.whole();
            let (from, to, zones) = (key.from, key.to, key.zones);
            if wire.bytes == 0 {
                continue;
            }
            let place = *places.entry((from, to, zones)).or_insert_with(|| {
                links.push(LinkTotals { from, to, zones, bytes: 0, wire_bytes: 0, packets: 0, peak_wire_bytes_per_s: 0.0 });
                links.len() - 1
            });
            let link = &mut links[place];
            link.bytes += bytes;
            link.wire_bytes += wire.bytes;
            link.packets += wire.packets;
            link.peak_wire_bytes_per_s += most;
        }
    }

    /// The same by what it is, counted where it is sent.
    pub fn messages(&self) -> Ledger {
        let members = self.clusters.iter().map(|cluster| cluster.messages(self.now, &self.network));
        let mut all = self.traffic.ledger(self.now);
        members.chain(self.counted_clients().map(Client::messages)).for_each(|ledger| all += ledger);
        all
    }
}
