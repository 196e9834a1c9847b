//! The network: hosts, the paths between them, what blocks a path, and connections over it.
//!
//! ```text
//!  Stream::send(bytes) --path, loss, bandwidth--> Delivery::At(time) | Held (until the path heals) | Closed | Vanished
//!                       \--bytes, packets, ACKs--> Meter, Ledger
//! ```
//!
//! A blocked path is a black hole: packets vanish and nobody is told. A reset is what a living kernel answers for a dead process.
//! The two differ by orders of magnitude in the time until the other side knows.

pub mod card;
pub mod ledger;
pub mod meter;
pub mod process;
pub mod stream;
pub mod tcp;
pub mod vantage;
pub mod wire;

use zonefall_kernel::time::Duration;
use zonefall_scenario::ids::{BalancerId, FaultId, NodeId, TiVec, ZoneId};
use zonefall_scenario::{Direction, LinkChange, Path, Place, Scenario, network_card};

/// A host: a node, the unnamed machine of a client, or a machine that a cloud has made since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u16);

zonefall_scenario::index_vectors!(HostId(u16));

#[derive(Clone, Copy, Debug)]
struct Host {
    zone: ZoneId,
    /// Bytes per second that its network card carries.
    card_bytes_per_s: u64,
    /// Faults that keep it without power.
    powered_off: u16,
    cut_in: u16,
    cut_out: u16,
}

/// Hosts and paths.
#[derive(Clone, Debug)]
pub struct Network {
    hosts: TiVec<HostId, Host>,
    zones: usize,
    /// The region of each zone.
    regions: TiVec<ZoneId, u16>,
    usual: Vec<Path>,
    paths: Vec<Path>,
    same_host: Path,
    degraded: Vec<(FaultId, ZoneId, ZoneId, LinkChange)>,
    /// Pairs of places between which nothing passes. Those of two zones are in `paths`, too, as a loss of 1.
    blocked: Vec<(FaultId, Place, Place)>,
    zone_powered_off: TiVec<ZoneId, u16>,
    zone_cut_in: TiVec<ZoneId, u16>,
    zone_cut_out: TiVec<ZoneId, u16>,
    /// TLS on every connection.
    pub tls: bool,
    /// Bytes of a member's certificate.
    pub certificate_bytes: u32,
}

impl Network {
    /// The network of a scenario, whole. Hosts are its nodes, then one for each client that names no node, then the nodes of its load
    /// balancers.
    pub fn new(scenario: &Scenario) -> Self {
        let machines = scenario.nodes.iter().map(|node| (node.zone, node.card_bytes_per_s));
        let clients = scenario.clients.iter().map(|client| (client.zone, network_card::DEFAULT));
        let balancers = scenario.load_balancers.iter().flat_map(|balancer| &balancer.zones);
        let balancers = balancers.map(|zone| (*zone, network_card::DEFAULT));
        let host = |(zone, card_bytes_per_s)| Host { zone, card_bytes_per_s, powered_off: 0, cut_in: 0, cut_out: 0 };
        let zones = scenario.zones.len();
        Self {
            hosts: machines.chain(clients).chain(balancers).map(host).collect(),
            zones,
            regions: scenario.zones.iter().map(|zone| zone.region).collect(),
            usual: scenario.network.paths.clone(),
            paths: scenario.network.paths.clone(),
            same_host: scenario.network.same_host.clone(),
            degraded: Vec::new(),
            blocked: Vec::new(),
            zone_powered_off: vec![0; zones].into(),
            zone_cut_in: vec![0; zones].into(),
            zone_cut_out: vec![0; zones].into(),
            tls: scenario.network.tls,
            certificate_bytes: scenario.network.certificate_bytes,
        }
    }

    /// The host of a node.
    pub const fn host_of(node: NodeId) -> HostId {
        HostId(node.0)
    }

    /// The hosts of a load balancer's nodes, in the order of its zones or machines.
    pub fn hosts_of_balancer(balancer: BalancerId, scenario: &Scenario) -> Vec<HostId> {
        let machines = &scenario.load_balancers[balancer].machines;
        if !machines.is_empty() {
            return machines.iter().map(|node| Self::host_of(*node)).collect();
        }
        let before = scenario.load_balancers.iter().take(usize::from(balancer)).map(|other| other.zones.len()).sum::<usize>();
        let first = scenario.nodes.len() + scenario.clients.len() + before;
        (first..first + scenario.load_balancers[balancer].zones.len()).map(HostId::from).collect()
    }

    /// A new host, as dark as its zone is, whose network card carries so many bytes per second.
    pub fn add_host(&mut self, zone: ZoneId, card_bytes_per_s: u64) -> HostId {
        assert!(u16::try_from(self.hosts.len()).is_ok(), "there are fewer than 65,536 machines in a run");
        let powered_off = self.zone_powered_off[zone];
        self.hosts.push_and_get_key(Host { zone, card_bytes_per_s, powered_off, cut_in: 0, cut_out: 0 })
    }

    /// Bytes per second that a host's network card carries.
    pub fn card(&self, host: HostId) -> u64 {
        self.hosts[host].card_bytes_per_s
    }

    /// The zone a host stands in.
    pub fn zone(&self, host: HostId) -> ZoneId {
        self.hosts[host].zone
    }

    /// Every host of a zone.
    pub fn hosts_in(&self, zone: ZoneId) -> impl Iterator<Item = HostId> {
        self.hosts.iter_enumerated().filter(move |(_, host)| host.zone == zone).map(|(id, _)| id)
    }

    /// How packets travel from one host to another.
    pub fn path(&self, from: HostId, to: HostId) -> &Path {
        if from == to {
            return &self.same_host;
        }
        &self.paths[self.pair(self.zone(from), self.zone(to))]
    }

    /// The same there and back.
    pub fn both_ways(&self, a: HostId, b: HostId) -> [&Path; 2] {
        [self.path(a, b), self.path(b, a)]
    }

    /// The place of two zones among [`Self::paths`].
    fn pair(&self, from: ZoneId, to: ZoneId) -> usize {
        usize::from(from) * self.zones + usize::from(to)
    }

    /// Whether the host has power.
    pub fn is_powered(&self, host: HostId) -> bool {
        self.hosts[host].powered_off == 0
    }

    /// Whether packets vanish on their way (not whether the sender has power to send any).
    pub fn is_blocked(&self, from: HostId, to: HostId) -> bool {
        let (a, b) = (&self.hosts[from], &self.hosts[to]);
        let across = a.zone != b.zone && (self.zone_cut_out[a.zone] > 0 || self.zone_cut_in[b.zone] > 0);
        let between = || self.path(from, to).loss >= 1.0 || self.is_pair_blocked(from, to);
        b.powered_off > 0 || across || (from != to && (a.cut_out > 0 || b.cut_in > 0 || between()))
    }

    fn is_pair_blocked(&self, one: HostId, other: HostId) -> bool {
        let is_at = |host: HostId, place: Place| match place {
            Place::Zone(zone) => self.zone(host) == zone,
            Place::Node(node) => host == Self::host_of(node),
        };
        let joins = |a: Place, b: Place| is_at(one, a) && is_at(other, b) || is_at(one, b) && is_at(other, a);
        self.blocked.iter().any(|&(_, a, b)| joins(a, b))
    }

    /// Whether it, or its zone, is cut off from the rest of the world in some direction.
    pub fn is_partitioned(&self, host: HostId) -> bool {
        let host = &self.hosts[host];
        host.cut_in + host.cut_out + self.zone_cut_in[host.zone] + self.zone_cut_out[host.zone] > 0
    }

    /// Whether packets pass both ways.
    pub fn is_open(&self, a: HostId, b: HostId) -> bool {
        !self.is_blocked(a, b) && !self.is_blocked(b, a)
    }

    /// Typical time from somewhere in `zone` to a host and back; `None`: no packet passes both ways.
    pub fn reach(&self, zone: ZoneId, host: HostId) -> Option<Duration> {
        let to = &self.hosts[host];
        let cut = |zone: ZoneId| self.zone_cut_in[zone] + self.zone_cut_out[zone] > 0;
        let across = to.zone != zone && (cut(zone) || cut(to.zone));
        let path = |a: ZoneId, b: ZoneId| &self.paths[self.pair(a, b)];
        let (there, back) = (path(zone, to.zone), path(to.zone, zone));
        let is_host = |place: Place| matches!(place, Place::Node(node) if Self::host_of(node) == host);
        let is_zone = |place: Place| place == Place::Zone(zone);
        let between = there.loss.max(back.loss) >= 1.0
            || self.blocked.iter().any(|&(_, a, b)| is_zone(a) && is_host(b) || is_zone(b) && is_host(a));
        let one_way = |path: &Path| path.delay + path.jitter.typical();
        (to.powered_off + to.cut_in + to.cut_out == 0 && !across && !between).then(|| one_way(there) + one_way(back))
    }

    /// Typical time there and back, for a connection without load.
    pub fn round_trip(&self, a: HostId, b: HostId) -> Duration {
        self.typical(a, b) + self.typical(b, a)
    }

    /// Typical one-way delay.
    pub fn typical(&self, from: HostId, to: HostId) -> Duration {
        let path = self.path(from, to);
        path.delay + path.jitter.typical()
    }

    /// A host loses power (`true`) or one fault less keeps it dark; whether that changed anything.
    pub fn set_powered_off(&mut self, host: HostId, powered_off: bool) -> bool {
        let count = &mut self.hosts[host].powered_off;
        let before = *count > 0;
        *count = if powered_off { *count + 1 } else { *count - 1 };
        before != (*count > 0)
    }

    /// A zone loses power (`true`) or one fault less keeps it dark; the hosts for which that changed anything.
    pub fn set_zone_powered_off(&mut self, zone: ZoneId, powered_off: bool) -> Vec<HostId> {
        let count = &mut self.zone_powered_off[zone];
        *count = if powered_off { *count + 1 } else { *count - 1 };
        let hosts: Vec<HostId> = self.hosts_in(zone).collect();
        hosts.into_iter().filter(|host| self.set_powered_off(*host, powered_off)).collect()
    }

    /// Cuts a zone's boundary, or takes one cut away.
    pub fn partition_zone(&mut self, zone: ZoneId, direction: Direction, cut: bool) {
        adjust(&mut self.zone_cut_in[zone], &mut self.zone_cut_out[zone], direction, cut);
    }

    /// Cuts a host off, or takes one cut away.
    pub fn partition_host(&mut self, host: HostId, direction: Direction, cut: bool) {
        let host = &mut self.hosts[host];
        adjust(&mut host.cut_in, &mut host.cut_out, direction, cut);
    }

    /// Makes the path between two zones worse, in both directions.
    pub fn degrade(&mut self, fault: FaultId, a: ZoneId, b: ZoneId, change: LinkChange) {
        self.degraded.push((fault, a, b, change));
        self.recompute();
    }

    /// Lets nothing pass between two places, in both directions; twice the same zone is the inside of that zone.
    pub fn block(&mut self, fault: FaultId, a: Place, b: Place) {
        self.blocked.push((fault, a, b));
        self.recompute();
    }

    /// Takes a degradation or a block away.
    pub fn restore(&mut self, fault: FaultId) {
        self.degraded.retain(|(id, ..)| *id != fault);
        self.blocked.retain(|(id, ..)| *id != fault);
        self.recompute();
    }

    fn recompute(&mut self) {
        self.paths.clone_from(&self.usual);
        let blocks = LinkChange { delay: Duration::ZERO, loss: 1.0, bytes_per_s: None };
        let blocked = self.blocked.iter().filter_map(|&(id, a, b)| match (a, b) {
            (Place::Zone(a), Place::Zone(b)) => Some((id, a, b, blocks)),
            _ => None,
        });
        for (_, a, b, change) in self.degraded.iter().copied().chain(blocked) {
            let (there, back) = (self.pair(a, b), self.pair(b, a));
            let both = if there == back { vec![there] } else { vec![there, back] };
            for place in both {
                let path = &mut self.paths[place];
                path.delay = path.delay + change.delay;
                path.loss = path.loss.max(change.loss);
                path.bytes_per_s = path.bytes_per_s.min(change.bytes_per_s.unwrap_or(u64::MAX));
            }
        }
    }
}

fn adjust(inward: &mut u16, outward: &mut u16, direction: Direction, cut: bool) {
    let change = |count: &mut u16| *count = if cut { *count + 1 } else { *count - 1 };
    if direction != Direction::Out {
        change(inward);
    }
    if direction != Direction::In {
        change(outward);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_scenario::testing::three_zones;

    #[test]
    fn a_new_host_shares_its_zones_lot() {
        let mut net = Network::new(&three_zones());
        let zone = ZoneId(0);
        let old = net.hosts_in(zone).next().unwrap();
        assert_eq!(net.set_zone_powered_off(zone, true), net.hosts_in(zone).collect::<Vec<_>>());
        net.partition_zone(zone, Direction::Both, true);
        let (new, elsewhere) = (net.add_host(zone, 1), net.add_host(ZoneId(1), 1));
        assert!(!net.is_powered(new) && net.is_powered(elsewhere));
        assert!(net.set_zone_powered_off(zone, true).is_empty());
        assert!(net.set_zone_powered_off(zone, false).is_empty());
        assert!(net.set_zone_powered_off(zone, false).contains(&new));
        assert!(net.is_powered(new) && net.is_open(old, new) && !net.is_open(elsewhere, new));
        net.partition_zone(zone, Direction::Both, false);
        assert!(net.is_open(elsewhere, new));
    }
}
