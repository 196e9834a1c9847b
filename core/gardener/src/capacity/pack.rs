//! Control planes on the nodes of a seed, one after the other: what is where, and whether one more has room.

use std::cmp::Reverse;
use std::ops::Range;

use super::control::{Control, Lost, Series};
use super::supply::{Amounts, Supply};

#[derive(Clone, Copy, Debug)]
struct Node {
    share: usize,
    used: Amounts,
}

#[derive(Clone, Copy, Debug)]
struct Pod {
    series: usize,
    node: usize,
}

/// Why a pod has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unschedulable {
    /// Its rules allow no zone.
    Constraints,
    /// No zone that they allow has room.
    Capacity,
}

/// Where to go back to.
struct Mark {
    pods: usize,
    nodes: usize,
    full: Vec<usize>,
}

/// What is where.
#[derive(Clone, Debug)]
pub(super) struct Packing<'a> {
    supply: &'a Supply,
    kinds: &'a [Control],
    nodes: Vec<Node>,
    /// Per machine deployment: its nodes.
    of_share: Vec<Vec<usize>>,
    /// Per machine deployment: so many of its first nodes have no room for any pod.
    full: Vec<usize>,
    /// What any pod needs at least.
    least: Amounts,
    pods: Vec<Pod>,
    /// What was placed: its kind, and where its pods begin.
    placed: Vec<(usize, usize)>,
    /// Per zone: what its pods need.
    used: Vec<Amounts>,
    lost: Option<usize>,
}

impl<'a> Packing<'a> {
    /// The seed as it starts, without pods.
    pub(super) fn new(supply: &'a Supply, kinds: &'a [Control]) -> Self {
        let requests = kinds.iter().flat_map(|kind| &kind.series).map(|series| series.requests);
        let mut packing = Self {
            supply,
            kinds,
            nodes: Vec::new(),
            of_share: vec![Vec::new(); supply.shares.len()],
            full: vec![0; supply.shares.len()],
            least: requests.reduce(Amounts::least).unwrap_or_default(),
            pods: Vec::new(),
            placed: Vec::new(),
            used: vec![Amounts::default(); supply.zones],
            lost: None,
        };
        for (s, share) in supply.shares.iter().enumerate() {
            for _ in 0..share.start {
                packing.open(s);
            }
        }
        packing
    }

    /// Places a control plane of this kind, if all of it has room.
    pub(super) fn place(&mut self, kind: usize) -> bool {
        let control = &self.kinds[kind];
        let from = self.pods.len();
        let before = self.mark();
        let placed = if control.pinned {
            let mut zones = self.emptiest_first().into_iter();
            zones.any(|zone| self.place_all(control, from, Some(zone)) || self.undo(&before, control, &[]))
        } else {
            self.place_all(control, from, None) || self.undo(&before, control, &[])
        };
        if placed {
            self.placed.push((kind, from));
        }
        placed
    }

    fn place_all(&mut self, control: &Control, from: usize, zone: Option<usize>) -> bool {
        for (s, series) in control.series.iter().enumerate() {
            for _ in 0..series.count {
                let first = from + control.before(s);
                let Ok(node) = self.place_pod(series, first..self.pods.len(), zone) else { return false };
                self.pods.push(Pod { series: s, node });
                self.take(node, series.requests);
            }
        }
        true
    }

    /// Loses a zone; whether everything that can move has room in the others.
    pub(super) fn lose(&mut self, zone: usize) -> bool {
        self.lost = Some(zone);
        (0..self.placed.len()).all(|k| {
            let (kind, from) = self.placed[k];
            let to = self.placed.get(k + 1).map_or(self.pods.len(), |(_, next)| *next);
            let control = &self.kinds[kind];
            let moves = |pod: &usize| {
                let Pod { series, node } = self.pods[*pod];
                self.zone(node) == zone && control.series[series].lost != Lost::Waits
            };
            let moving: Vec<usize> = (from..to).filter(moves).collect();
            if control.pinned && !moving.is_empty() {
                self.emptiest_first().into_iter().any(|zone| self.move_all(control, from, &moving, Some(zone)))
            } else {
                self.move_all(control, from, &moving, None)
            }
        })
    }

    /// Gives pods of a lost zone another place, all that may have one or none.
    fn move_all(&mut self, control: &Control, from: usize, moving: &[usize], zone: Option<usize>) -> bool {
        let before = self.mark();
        let mut moved = Vec::new();
        for &pod in moving {
            let Pod { series: s, node: old } = self.pods[pod];
            let series = &control.series[s];
            let first = from + control.before(s);
            match self.place_pod(series, first..first + series.count as usize, zone) {
                Ok(node) => {
                    self.pods[pod].node = node;
                    self.take(node, series.requests);
                    moved.push((pod, old));
                }
                Err(Unschedulable::Constraints) => {}
                Err(Unschedulable::Capacity) => return self.undo(&before, control, &moved),
            }
        }
        true
    }

    /// A node for one more pod of a series, of which `own` are there.
    fn place_pod(&mut self, series: &Series, own: Range<usize>, zone: Option<usize>) -> Result<usize, Unschedulable> {
        let own = self.pods[own].iter().map(|pod| pod.node);
        let like: Vec<usize> = own.filter(|node| Some(self.zone(*node)) != self.lost).collect();
        let zones = zone.map_or_else(|| self.emptiest_first(), |zone| vec![zone]);
        let mut refused = Unschedulable::Constraints;
        for zone in zones {
            if !self.may_be_in(series, zone, &like) {
                continue;
            }
            if let Some(node) = self.node_in(series, zone, &like) {
                return Ok(node);
            }
            refused = Unschedulable::Capacity;
        }
        Err(refused)
    }

    /// Zones that are left, that of the smallest share in use first, then the largest.
    fn emptiest_first(&self) -> Vec<usize> {
        let mut zones: Vec<usize> = (0..self.supply.zones).filter(|zone| Some(*zone) != self.lost).collect();
        let key = |zone: &usize| {
            let (Amounts(used), Amounts(holds)) = (self.used[*zone], self.supply.holds[*zone]);
            let share = |k: usize| u128::from(used[k]) * 1_000_000_000 / u128::from(holds[k].max(1));
            (share(0) + share(1), Reverse(holds[0]))
        };
        zones.sort_by_key(key);
        zones
    }

    /// Whether a series may have a pod more in a zone (pod anti-affinity, topology spread).
    fn may_be_in(&self, series: &Series, zone: usize, like: &[usize]) -> bool {
        let of_zone = |zone: usize| move |(_, share): &(usize, &super::supply::Share)| share.zone == zone;
        let shares = || self.supply.shares.iter().enumerate();
        let there = |zone: usize| like.iter().filter(|node| self.zone(**node) == zone).count() as u64;
        let rebalanced = self.lost.is_some() && series.lost == Lost::Rebalanced;
        if !shares().filter(of_zone(zone)).any(|(s, _)| series.suits[s]) || (series.apart[0] && !rebalanced && there(zone) > 0) {
            return false;
        }
        series.skew[0].is_none_or(|skew| {
            let counts = |zone: &usize| shares().filter(of_zone(*zone)).any(|(s, _)| series.counts[s]);
            let fewest = (0..self.supply.zones).filter(counts).map(there).min().unwrap_or(0);
            there(zone) < fewest + skew
        })
    }

    /// The first node of a zone for a pod, or another one.
    fn node_in(&mut self, series: &Series, zone: usize, like: &[usize]) -> Option<usize> {
        let shares = (0..self.supply.shares.len()).filter(|s| self.supply.shares[*s].zone == zone && series.suits[*s]);
        let shares: Vec<usize> = shares.collect();
        for &s in &shares {
            self.skip_full(s);
            let room = self.supply.shares[s].room;
            let suits =
                |node: &&usize| self.nodes[**node].used.plus(series.requests).fits(room) && self.may_be_on(series, **node, like);
            if let Some(node) = self.of_share[s][self.full[s]..].iter().find(suits) {
                return Some(*node);
            }
        }
        let s = shares.into_iter().find(|s| series.requests.fits(self.supply.shares[*s].room) && self.can_grow(*s))?;
        Some(self.open(s))
    }

    /// Whether a series may have a pod more on a node.
    fn may_be_on(&self, series: &Series, node: usize, like: &[usize]) -> bool {
        let there = |node: usize| like.iter().filter(|own| **own == node).count() as u64;
        match (there(node), series.skew[1]) {
            (0, _) => true,
            _ if series.apart[1] => false,
            (_, None) => true,
            (own, Some(skew)) => {
                let counted = self.of_share.iter().zip(&series.counts).filter(|(_, counts)| **counts);
                let fewest = counted.flat_map(|(nodes, _)| nodes).map(|node| there(*node)).min().unwrap_or(0);
                own < fewest + skew
            }
        }
    }

    fn skip_full(&mut self, s: usize) {
        let (nodes, room) = (&self.of_share[s], self.supply.shares[s].room);
        while nodes.get(self.full[s]).is_some_and(|node| !self.nodes[*node].used.plus(self.least).fits(room)) {
            self.full[s] += 1;
        }
    }

    /// Whether a machine deployment may have a machine more.
    fn can_grow(&self, s: usize) -> bool {
        let share = &self.supply.shares[s];
        self.lost != Some(share.zone)
            && self.nodes(s) < share.maximum
            && self.machines() < self.supply.addresses
            && share.stock.is_none_or(|stock| self.taken(stock) < self.supply.stock[stock])
    }

    /// A node more.
    fn open(&mut self, s: usize) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node { share: s, used: Amounts::default() });
        self.of_share[s].push(node);
        node
    }

    /// Has all the nodes that it can have.
    pub(super) fn grow(&mut self) {
        for s in 0..self.supply.shares.len() {
            while self.can_grow(s) {
                self.open(s);
            }
        }
    }

    /// Machines, with those that rolling takes.
    fn machines(&self) -> u64 {
        self.nodes.len() as u64 + self.supply.surge()
    }

    /// Machines taken from a stock since the start, with those that rolling takes.
    fn taken(&self, stock: usize) -> u64 {
        let shares = self.supply.shares.iter().enumerate().filter(|(_, share)| share.stock == Some(stock));
        shares.map(|(s, share)| self.nodes(s) - share.start + share.surge).sum()
    }

    /// Nodes of a machine deployment.
    pub(super) fn nodes(&self, share: usize) -> u64 {
        self.of_share[share].len() as u64
    }

    /// What pods on the nodes of machine deployments need.
    pub(super) fn used(&self, shares: &[usize]) -> Amounts {
        let nodes = shares.iter().flat_map(|s| &self.of_share[*s]);
        nodes.fold(Amounts::default(), |sum, node| sum.plus(self.nodes[*node].used))
    }

    fn zone(&self, node: usize) -> usize {
        self.supply.shares[self.nodes[node].share].zone
    }

    fn take(&mut self, node: usize, requests: Amounts) {
        let zone = self.zone(node);
        self.nodes[node].used = self.nodes[node].used.plus(requests);
        self.used[zone] = self.used[zone].plus(requests);
    }

    fn give_back(&mut self, node: usize, requests: Amounts) {
        let zone = self.zone(node);
        self.nodes[node].used = self.nodes[node].used.minus(requests);
        self.used[zone] = self.used[zone].minus(requests);
    }

    fn mark(&self) -> Mark {
        Mark { pods: self.pods.len(), nodes: self.nodes.len(), full: self.full.clone() }
    }

    /// Takes back what was done since a mark, for a control plane of which these pods were moved from their nodes. False: it failed.
    fn undo(&mut self, mark: &Mark, control: &Control, moved: &[(usize, usize)]) -> bool {
        for Pod { series, node } in self.pods.split_off(mark.pods) {
            self.give_back(node, control.series[series].requests);
        }
        for &(pod, old) in moved {
            let Pod { series, node } = self.pods[pod];
            self.give_back(node, control.series[series].requests);
            self.pods[pod].node = old;
        }
        for node in self.nodes.split_off(mark.nodes) {
            self.of_share[node.share].pop();
        }
        self.full.clone_from(&mark.full);
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::supply::Share;
    use super::*;

    fn share(zone: usize, maximum: u64, room: [u64; 4]) -> Share {
        Share { zone, room: Amounts(room), start: 1, maximum, surge: 1, stock: (zone == 0).then_some(0) }
    }

    /// Two pools over three zones: shares 0 to 2 and 3 to 5.
    fn supply(maximum: u64, rooms: [[u64; 4]; 2], stock: u64, addresses: u64) -> Supply {
        let shares: Vec<Share> = (0..6).map(|s| share(s % 3, maximum, rooms[s / 3])).collect();
        let holds = (0..3).map(|zone| shares[zone].room.plus(shares[zone + 3].room).times(maximum)).collect();
        Supply { zones: 3, shares, stock: vec![stock], addresses, holds }
    }

    fn series() -> impl Strategy<Value = Series> {
        let numbers = (1..5_u64, 1..5_u64, 0..2_u64, 1..4_u32);
        let rules = (any::<[bool; 2]>(), [prop::option::of(1..3_u64), prop::option::of(1..3_u64)], any::<bool>(), 0..3_usize);
        (numbers, rules).prop_map(|((cpu, memory, volumes, count), (apart, skew, first_pool, lost))| {
            let suits: Vec<bool> = (0..6).map(|s| !first_pool || s < 3).collect();
            let lost = [Lost::Waits, Lost::Moves, Lost::Rebalanced][lost];
            Series { requests: Amounts([cpu, memory, volumes, 1]), count, suits: suits.clone(), counts: suits, apart, skew, lost }
        })
    }

    fn control() -> impl Strategy<Value = Control> {
        (prop::collection::vec(series(), 1..4), any::<bool>()).prop_map(|(series, pinned)| Control { series, pinned })
    }

    /// Most and fewest of these places.
    fn skew(places: &[usize], of: impl Iterator<Item = usize>) -> u64 {
        let count = |place: usize| places.iter().filter(|own| **own == place).count() as u64;
        let counts: Vec<u64> = of.map(count).collect();
        counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0)
    }

    /// Recounts everything: no node is overfull, no limit of machines is passed, every rule of pods holds.
    fn recount(packing: &Packing<'_>) {
        let supply = packing.supply;
        let mut used: BTreeMap<usize, Amounts> = BTreeMap::new();
        for (k, (kind, from)) in packing.placed.iter().enumerate() {
            let to = packing.placed.get(k + 1).map_or(packing.pods.len(), |(_, next)| *next);
            let (control, pods) = (&packing.kinds[*kind], &packing.pods[*from..to]);
            assert_eq!(pods.len() as u32, control.series.iter().map(|series| series.count).sum::<u32>());
            let zone = |pod: &Pod| packing.zone(pod.node);
            assert!(!control.pinned || packing.lost.is_some() || pods.iter().all(|pod| zone(pod) == zone(&pods[0])));
            for pod in pods {
                let node = used.entry(pod.node).or_default();
                *node = node.plus(control.series[pod.series].requests);
                assert!(control.series[pod.series].suits[packing.nodes[pod.node].share]);
            }
            for (s, series) in control.series.iter().enumerate() {
                let nodes: Vec<usize> = pods.iter().filter(|pod| pod.series == s).map(|pod| pod.node).collect();
                let zones: Vec<usize> = nodes.iter().map(|node| packing.zone(*node)).collect();
                let distinct = |places: &[usize]| places.iter().collect::<std::collections::BTreeSet<_>>().len();
                assert!(!series.apart[1] || distinct(&nodes) == nodes.len());
                if packing.lost.is_some() {
                    continue;
                }
                assert!(!series.apart[0] || distinct(&zones) == zones.len());
                assert!(series.skew[0].is_none_or(|most| skew(&zones, 0..3) <= most), "{zones:?}");
                let counted = (0..packing.nodes.len()).filter(|node| series.counts[packing.nodes[*node].share]);
                assert!(series.skew[1].is_none_or(|most| skew(&nodes, counted) <= most), "{nodes:?}");
            }
        }
        for (node, used) in used {
            assert!(used.fits(supply.shares[packing.nodes[node].share].room), "{used:?} on a node");
        }
        let grown = packing.nodes.len() > supply.shares.len();
        assert!(!grown || packing.nodes.len() as u64 + 6 <= supply.addresses);
        assert!((0..6).all(|s| packing.nodes(s) <= supply.shares[s].maximum));
        let in_first = packing.nodes(0) + packing.nodes(3);
        assert!(in_first == 2 || in_first <= supply.stock[0], "one of each at the start, one of each for rolling");
    }

    proptest! {
        #[test]
        fn every_placement_is_allowed(
            maximum in 1..4_u64,
            rooms in [[6..12_u64, 6..12, 1..6, 4..12], [6..12_u64, 6..12, 1..6, 4..12]],
            stock in 0..8_u64,
            addresses in 6..24_u64,
            kinds in prop::collection::vec(control(), 1..3),
            lost in 0..3_usize,
        ) {
            let supply = supply(maximum, rooms, stock, addresses);
            let mut packing = Packing::new(&supply, &kinds);
            let mut placed = 0;
            while packing.place(placed % kinds.len()) {
                placed += 1;
                recount(&packing);
            }
            recount(&packing);
            prop_assert_eq!(packing.placed.len(), placed, "what has no room leaves nothing behind");
            if packing.lose(lost) {
                recount(&packing);
            }
        }
    }
}
