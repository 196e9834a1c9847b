//! Services as clients at each vantage have them: in a zone, or outside the region.

use crate::{HostId, Network};
use zonefall_kernel::time::Duration;
use zonefall_scenario::ids::ZoneId;
use zonefall_scenario::{Probe, ProbeFrom, Vantage};

impl Network {
    /// Vantages of clients of what runs on these hosts: every zone of their regions, then outside.
    pub fn vantages(&self, hosts: impl Iterator<Item = HostId>) -> Vec<Vantage> {
        let mut regions: Vec<u16> = hosts.map(|host| self.regions[self.zone(host)]).collect();
        regions.sort_unstable();
        regions.dedup();
        let zones = self.regions.iter_enumerated().filter(|(_, region)| regions.contains(region));
        zones.map(|(zone, _)| Vantage::Zone(zone)).chain([Vantage::Outside]).collect()
    }

    /// Typical time from a vantage to a host and back; `None`: no packet passes both ways. From outside, only the part within the region
    /// counts.
    pub fn reach_from(&self, vantage: Vantage, host: HostId) -> Option<Duration> {
        match vantage {
            Vantage::Zone(zone) => self.reach(zone, host),
            Vantage::Outside => (self.is_powered(host) && !self.is_partitioned(host)).then_some(Duration::ZERO),
        }
    }

    /// Whether clients there have power.
    pub fn has_clients(&self, vantage: Vantage) -> bool {
        !matches!(vantage, Vantage::Zone(zone) if self.zone_powered_off[zone] > 0)
    }

    /// Whether clients there have power and are not cut off.
    pub fn works(&self, vantage: Vantage) -> bool {
        let cut = |zone: ZoneId| self.zone_cut_in[zone] + self.zone_cut_out[zone] > 0;
        self.has_clients(vantage) && !matches!(vantage, Vantage::Zone(zone) if cut(zone))
    }
}

/// How much of a service clients have.
pub trait Extent: Copy + Ord {
    /// Nothing of it.
    const NONE: Self;
    /// All of it.
    const ALL: Self;
}

impl Extent for bool {
    const NONE: Self = false;
    const ALL: Self = true;
}

/// What clients have of `N` services, as last seen: whether they have each, or how much of it. All of them have all at the start.
#[derive(Clone, Debug)]
pub struct Views<const N: usize, T = bool> {
    /// What counts.
    available: [T; N],
    /// What clients at some vantages have otherwise; `None`: as it counts.
    apart: Vec<(Vantage, [Option<T>; N])>,
}

/// A service, by its place among all, that came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<T = bool> {
    /// As it counts.
    Counted {
        /// Which of them.
        service: usize,
        /// What clients have of it.
        has: T,
    },
    /// For clients at one vantage.
    Apart {
        /// Where the clients are.
        from: Vantage,
        /// Which of them.
        service: usize,
        /// What they have of it, where that is not what counts; `None`: it is again.
        has: Option<T>,
    },
}

impl<const N: usize, T: Extent> Default for Views<N, T> {
    fn default() -> Self {
        Self { available: [T::ALL; N], apart: Vec::new() }
    }
}

impl<const N: usize, T: Extent> Views<N, T> {
    /// What counts.
    pub const fn available(&self) -> [T; N] {
        self.available
    }

    /// Looks again from each vantage: `have` says what clients there have.
    pub fn look(
        &mut self,
        probe: Probe,
        mut vantages: Vec<Vantage>,
        net: &Network,
        have: impl Fn(Vantage) -> [T; N],
    ) -> Vec<Change<T>> {
        if let ProbeFrom::At(vantage) = probe.from
            && !vantages.contains(&vantage)
        {
            vantages.push(vantage);
        }
        let seen: Vec<(Vantage, [T; N])> = vantages.into_iter().map(|vantage| (vantage, have(vantage))).collect();
        let available: [T; N] = std::array::from_fn(|service| {
            let of = |counts: &dyn Fn(Vantage) -> bool| {
                let of = seen.iter().filter(|(vantage, _)| counts(*vantage)).map(|(_, has)| has[service]);
                (of.clone().min(), of.max())
            };
            match probe.from {
                ProbeFrom::Worst => of(&|vantage| net.works(vantage)).0.unwrap_or(T::ALL),
                ProbeFrom::Best => of(&|vantage| net.has_clients(vantage)).1.unwrap_or(T::NONE),
                ProbeFrom::At(only) => of(&|vantage| vantage == only).1.unwrap_or(T::NONE),
            }
        });
        // Where nobody has power nobody misses more than the others do.
        let with_clients = seen.into_iter().filter(|(vantage, _)| net.has_clients(*vantage));
        let otherwise = |(vantage, has): (Vantage, [T; N])| {
            let apart: [Option<T>; N] = std::array::from_fn(|k| (has[k] != available[k]).then_some(has[k]));
            apart.iter().any(Option::is_some).then_some((vantage, apart))
        };
        let apart: Vec<_> = with_clients.filter_map(otherwise).collect();
        let mut changes = Vec::new();
        for service in (0..N).filter(|&service| self.available[service] != available[service]) {
            changes.push(Change::Counted { service, has: available[service] });
        }
        let state = |all: &[(Vantage, [Option<T>; N])], of: Vantage| {
            all.iter().find(|(vantage, _)| *vantage == of).map_or([None; N], |(_, has)| *has)
        };
        let gone = self.apart.iter().filter(|(vantage, _)| apart.iter().all(|(other, _)| other != vantage));
        for &(from, _) in apart.iter().chain(gone) {
            let (before, now) = (state(&self.apart, from), state(&apart, from));
            let changed = (0..N).filter(|&service| before[service] != now[service]);
            changes.extend(changed.map(|service| Change::Apart { from, service, has: now[service] }));
        }
        *self = Self { available, apart };
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_scenario::Direction;
    use zonefall_scenario::testing::three_zones;

    const A: Vantage = Vantage::Zone(ZoneId(0));

    /// A service on the node of the first zone, and what of it counts and clients in each zone and outside have.
    fn seen(from: ProbeFrom, change: impl FnOnce(&mut Network)) -> (bool, [bool; 4]) {
        let mut net = Network::new(&three_zones());
        change(&mut net);
        let host = HostId(0);
        let mut views = Views::<1>::default();
        let probe = Probe { from, deadline: Duration::from_secs(2) };
        let vantages = net.vantages([host].into_iter());
        let changes = views.look(probe, vantages.clone(), &net, |vantage| [net.reach_from(vantage, host).is_some()]);
        let [available] = views.available();
        assert_eq!(changes.contains(&Change::Counted { service: 0, has: false }), !available);
        assert_eq!(vantages.len(), 4);
        let apart = |from| changes.contains(&Change::Apart { from, service: 0, has: Some(!available) });
        (available, std::array::from_fn(|k| available != apart(vantages[k])))
    }

    #[test]
    fn the_worst_vantage_that_is_connected_counts() {
        let cut = |zone| move |net: &mut Network| net.partition_zone(ZoneId(zone), Direction::Both, true);
        let all = |from| seen(from, |_| ());
        assert_eq!(all(ProbeFrom::Worst), (true, [true; 4]));
        // The zone of the service is cut off: inside nobody notices.
        let inside = [true, false, false, false];
        assert_eq!(seen(ProbeFrom::Worst, cut(0)), (false, inside));
        assert_eq!(seen(ProbeFrom::Best, cut(0)), (true, inside));
        assert_eq!(seen(ProbeFrom::At(A), cut(0)), (true, inside));
        assert_eq!(seen(ProbeFrom::At(Vantage::Outside), cut(0)), (false, inside));
        // Another one is: its clients do not count, for they have nothing else either.
        assert_eq!(seen(ProbeFrom::Worst, cut(1)), (true, [true, false, true, true]));
        // Only the way between two zones is gone: both are connected to the rest of the world.
        let between = |net: &mut Network| {
            let zone = |k| zonefall_scenario::Place::Zone(ZoneId(k));
            net.block(zonefall_scenario::ids::FaultId(0), zone(0), zone(1));
        };
        assert_eq!(seen(ProbeFrom::Worst, between), (false, [true, false, true, true]));
    }

    #[test]
    fn a_zone_without_power_has_no_clients_who_miss_anything() {
        let dark = |zone| move |net: &mut Network| drop(net.set_zone_powered_off(ZoneId(zone), true));
        assert_eq!(seen(ProbeFrom::Worst, dark(0)), (false, [false; 4]));
        assert_eq!(seen(ProbeFrom::Worst, dark(1)), (true, [true; 4]));
        let dark_and_cut_off = |net: &mut Network| {
            dark(1)(net);
            net.partition_zone(ZoneId(1), Direction::Both, true);
        };
        assert_eq!(seen(ProbeFrom::Worst, dark_and_cut_off), (true, [true; 4]));
    }
}
