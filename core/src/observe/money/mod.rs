//! What runs costs: meters in exact integers, and what books of prices make of them when a report is asked for.
//!
//! ```text
//! Cloud (machines there) ----.
//! records (pods, volumes) ---+--> meters --> lines: kind, seed, shoot, component, zones, quantity --price--> rows, the bill
//! LinkTotals (IP bytes) -----'      '--> totals at the end of each window ----------------------------------------^
//! ```
//!
//! A line is a share of a meter. The lines of a kind add up to its meter exactly; dollars are the last step, and feed nothing.

mod bill;
mod owner;
mod price;
mod rows;
mod split;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bill::Totals;
use owner::{Owner, Owners};
use price::Quantity;
use split::Split;

use super::{Observer, traffic};
use crate::ids::{ClusterId, GroupId, PlaneId, SeedId, WorkloadId, ZoneId};
use crate::kernel::integral::Integral;
use crate::kernel::time::{Duration, Time};
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, PodFact};
use crate::network::wire::Burst;
use crate::record::Record;
use crate::report::{BillReport, CostReport, PriceReport, ToleranceCostReport};
use crate::scenario::Scenario;
use crate::scenario::prices::Shape;
use crate::sim::LinkTotals;

/// The component of room on machines that no pod asked for.
pub const UNUSED: &str = "unused";

/// Follows who uses machines and volumes.
#[derive(Clone, Debug)]
pub struct Money {
    scenario: Arc<Scenario>,
    owners: Arc<Owners>,
    split: Split,
    /// How long volumes have been there, by workload.
    volumes: BTreeMap<(PlaneId, WorkloadId), Integral>,
    /// Pods whose volume is there.
    claims: BTreeSet<(PlaneId, PodName)>,
    /// The totals at the end of each window.
    windows: Vec<(Time, Totals)>,
}

/// Meters that others keep: how long machines have been there by machine deployment, and bytes between endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Meters<'a> {
    /// Now.
    pub now: Time,
    /// [`Cloud::machine_time`](crate::gardener::machine::cloud::Cloud::machine_time).
    pub machines: &'a [(PlaneId, GroupId, u128)],
    /// [`Simulation::links`](crate::sim::Simulation::links).
    pub links: &'a [LinkTotals],
}

/// What a report says of money.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What everything costs, by whom it is for.
    pub cost: Vec<CostReport>,
    /// The prices that this rests on.
    pub prices: Vec<PriceReport>,
    /// What it costs over time.
    pub bill: Option<BillReport>,
    /// What shoots cost, by what they survive.
    pub tolerance: Vec<ToleranceCostReport>,
}

/// A share of a meter, and whose it is.
#[derive(Clone, Debug)]
struct Line {
    /// The seed it is in; `None`: it is no seed's.
    seed: Option<SeedId>,
    /// The shoot it is for: a place in [`KubeModel::shoots`](crate::kube::spec::KubeModel::shoots); `None`: the seed's own.
    shoot: Option<u16>,
    /// A workload, an etcd cluster, or [`UNUSED`].
    component: Option<String>,
    zones: Option<(ZoneId, ZoneId)>,
    quantity: Quantity,
}

impl Money {
    /// Nothing has happened yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let (volumes, claims, windows) = Default::default();
        let owners = Arc::new(Owners::new(scenario));
        Self { scenario: Arc::clone(scenario), owners, split: Split::new(scenario), volumes, claims, windows }
    }

    /// Takes the totals at the end of a window.
    pub fn sample(&mut self, meters: Meters<'_>) {
        self.windows.push((meters.now, self.totals(meters)));
    }

    /// All meters, of everybody together.
    fn totals(&self, Meters { now, machines, links }: Meters<'_>) -> Totals {
        let mut totals = Totals::default();
        for (plane, group, ns) in machines {
            *totals.machines.entry(self.shape(*plane, *group)).or_default() += ns;
        }
        for ((plane, workload), volumes) in &self.volumes {
            *totals.volumes.entry(self.volume_bytes(*plane, *workload)).or_default() += volumes.at(now);
        }
        totals.balancers = self.scenario.kube.seeds.len() as u128 * u128::from(now.as_nanos());
        totals.crossing = self.crossing(links).map(|(_, bytes)| bytes).sum();
        totals
    }

    /// The same, by whom they are for.
    fn lines(&self, meters: Meters<'_>) -> Vec<Line> {
        let mut lines = self.machine_lines(meters);
        for ((plane, workload), volumes) in &self.volumes {
            let quantity = Quantity::Volume { bytes: self.volume_bytes(*plane, *workload), ns: volumes.at(meters.now) };
            lines.push(self.line(*plane, *workload, quantity));
        }
        for seed in (0..self.scenario.kube.seeds.len() as u16).map(SeedId) {
            let quantity = Quantity::Balancer { ns: meters.now.as_nanos().into() };
            lines.push(Line { seed: Some(seed), shoot: None, component: None, zones: None, quantity });
        }
        let mut crossing: BTreeMap<(ClusterId, (ZoneId, ZoneId)), u64> = BTreeMap::new();
        for (link, bytes) in self.crossing(meters.links) {
            *crossing.entry((traffic::cluster(link.from, &self.scenario), link.zones)).or_default() += bytes;
        }
        for ((cluster, zones), bytes) in crossing {
            let Owner { seed, shoot, component } = self.owners.of_cluster(cluster).clone();
            lines.push(Line {
                seed,
                shoot,
                component: Some(component),
                zones: Some(zones),
                quantity: Quantity::Crossing { bytes },
            });
        }
        lines
    }

    fn machine_lines(&self, Meters { now, machines, .. }: Meters<'_>) -> Vec<Line> {
        let mut unused: BTreeMap<(PlaneId, Shape), u128> = BTreeMap::new();
        for (plane, group, ns) in machines {
            *unused.entry((*plane, self.shape(*plane, *group))).or_default() += ns;
        }
        let mut lines = Vec::new();
        for ((plane, workload, shape), ns) in self.split.used(now) {
            lines.push(self.line(plane, workload, Quantity::Machine { shape, ns }));
            let left = unused.get_mut(&(plane, shape)).and_then(|left| left.checked_sub(ns).map(|less| *left = less));
            left.expect("pods are on machines that are there");
        }
        for ((plane, shape), ns) in unused {
            let quantity = Quantity::Machine { shape, ns };
            let component = Some(UNUSED.to_owned());
            let seed = self.scenario.kube.seeds.iter().position(|seed| seed.plane == plane).map(|k| SeedId(k as u16));
            lines.push(Line { seed, shoot: None, component, zones: None, quantity });
        }
        lines
    }

    /// A share of a workload.
    fn line(&self, plane: PlaneId, workload: WorkloadId, quantity: Quantity) -> Line {
        let Owner { seed, shoot, component } = self.owners.of(plane, workload).clone();
        Line { seed, shoot, component: Some(component), zones: None, quantity }
    }

    fn shape(&self, plane: PlaneId, group: GroupId) -> Shape {
        self.scenario.prices.shape(&self.scenario.kube.planes[plane.0 as usize].groups[group.0 as usize])
    }

    fn volume_bytes(&self, plane: PlaneId, workload: WorkloadId) -> u64 {
        let workload = &self.scenario.kube.planes[plane.0 as usize].workloads[workload.0 as usize];
        workload.volume.map_or(0, |volume| volume.bytes)
    }

    /// The links between zones of one region, and their bytes as IP packets. (What one region sends to another has other prices.)
    fn crossing<'a>(&'a self, links: &'a [LinkTotals]) -> impl Iterator<Item = (&'a LinkTotals, u64)> {
        let region = |zone: ZoneId| self.scenario.zones[zone.0 as usize].region;
        let crosses = move |(from, to): (ZoneId, ZoneId)| from != to && region(from) == region(to);
        let bytes = |link: &LinkTotals| Burst { packets: link.packets, bytes: link.wire_bytes }.ip_bytes();
        links.iter().filter(move |link| crosses(link.zones)).map(move |link| (link, bytes(link)))
    }

    /// What a report says; `window`: how long those of the bill are.
    pub fn account(&self, meters: Meters<'_>, window: Duration) -> Account {
        let mut windows = self.windows.clone();
        if windows.last().is_none_or(|(at, _)| *at < meters.now) {
            windows.push((meters.now, self.totals(meters)));
        }
        let lines = self.lines(meters);
        Account {
            cost: rows::cost(&lines, meters.now, &self.scenario),
            prices: price::used(&self.scenario),
            bill: Some(bill::report(&windows, window, &self.scenario)),
            tolerance: rows::tolerance(&lines, meters.now, &self.scenario),
        }
    }
}

impl Observer for Money {
    fn record(&mut self, at: Time, record: &Record) {
        let Record::Kube(plane, fact) = record else { return };
        self.split.record(at, *plane, fact);
        let KubeRecord::Pod(pod, fact) = fact else { return };
        let plane_spec = &self.scenario.kube.planes[plane.0 as usize];
        let has_volume = || plane_spec.workloads[pod.workload.0 as usize].volume.is_some();
        match fact {
            PodFact::Bound(_) if has_volume() && self.claims.insert((*plane, *pod)) => {
                self.volumes.entry((*plane, pod.workload)).or_default().add(at);
            }
            PodFact::VolumeDiscarded if self.claims.remove(&(*plane, *pod)) => {
                self.volumes.entry((*plane, pod.workload)).or_default().remove(at);
            }
            _ => {}
        }
    }
}
