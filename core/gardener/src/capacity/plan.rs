//! The questions: how many, why not more, how many after the loss of a zone, how many seeds.

use std::collections::BTreeSet;

use super::control::Control;
use super::pack::Packing;
use super::supply::Supply;
use super::{Constraint, DemandReport, Figure, Headroom, Needed, Plan, SCHEMA, SeedPlan, ShootLimit};
use zonefall_kube::spec::capacity::{Demand, Reference};
use zonefall_kube::spec::gardener::{FailureTolerance, Hosted, Recovery, Seed, Shoot};
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::WorkloadId;

/// The capacity of a scenario's seeds; `None`: it has none.
pub fn plan(scenario: &Scenario) -> Option<Plan> {
    let model = &scenario.kube;
    let Demand { none, node, zone } = model.capacity.demand;
    let seeds = model.seeds.iter().zip(&model.capacity.references);
    let seeds: Vec<SeedPlan> = seeds.map(|(seed, references)| of_seed(scenario, seed, references)).collect();
    let demand = DemandReport { none, node, zone };
    (!seeds.is_empty()).then(|| Plan { schema: SCHEMA, scenario: scenario.name.clone(), demand, seeds })
}

fn of_seed(scenario: &Scenario, seed: &Seed, references: &[Reference]) -> SeedPlan {
    let model = &scenario.kube;
    let cluster = &model.clusters[seed.cluster];
    let is_here = |own: &&Hosted| model.seeds[own.seed].cluster == seed.cluster;
    let hosted = model.shoots.iter().filter_map(|shoot| shoot.hosted.as_ref());
    let hosted: Vec<&[WorkloadId]> = hosted.filter(is_here).map(|own| &own.workloads[..]).collect();
    // A place that is kept for a shoot which may come takes no room.
    let places: Vec<&Hosted> = model.shoots.iter().flat_map(Shoot::places).filter(is_here).collect();
    let workload = |id: &WorkloadId| &cluster.workloads[*id];
    let own = cluster.workloads.keys().filter(|id| !places.iter().any(|place| place.workloads.contains(id)));
    let own: Vec<WorkloadId> = own.collect();

    // Kinds: the references, what the seed runs for itself, the shoots that are there.
    let mut kinds: Vec<Control> = references.iter().map(|reference| of_reference(reference, cluster)).collect();
    let system = kinds.len();
    for workloads in std::iter::once(&own[..]).chain(hosted.iter().copied()) {
        kinds.push(Control::new(workloads.iter().map(workload), &[], &cluster.machine_deployments));
    }
    let supply = Supply::new(model, seed);
    let there: Vec<usize> = (system..kinds.len()).collect();
    let limit = seed.allocatable_shoots.saturating_sub(hosted.len() as u32);
    let several = seed.zones.len() > 1;
    let name = |zone: usize| scenario.zones[seed.zones[zone]].name.clone();
    let room = |(kind, reference): (usize, &Reference)| {
        let question = |loses_zone| Question { supply: &supply, kinds: &kinds, there: &there, kind, limit, loses_zone };
        Headroom {
            failure_tolerance: reference.tolerance,
            all_zones: question(false).answer(name),
            after_zone_loss: several.then(|| question(true).answer(name)),
        }
    };
    let needed = |loses_zone| {
        let tables = SeedFleet { supply: &supply, kinds: &kinds, system, limit: seed.allocatable_shoots, loses_zone };
        tables.needed(&model.capacity.demand, references)
    };
    SeedPlan {
        name: seed.name.clone(),
        multi_zonal: seed.is_multi_zonal(),
        hosted: hosted.len() as u32,
        headroom: references.iter().enumerate().map(room).collect(),
        needed: needed(false),
        needed_after_zone_loss: several.then(|| needed(true)),
    }
}

fn of_reference(reference: &Reference, cluster: &zonefall_kube::spec::KubeClusterSpec) -> Control {
    let moved = if reference.recovery == Recovery::Move { &reference.etcd[..] } else { &[] };
    Control::new(&reference.workloads, moved, &cluster.machine_deployments)
}

/// What was placed, and whether that is all of it.
fn packed<'a>(supply: &'a Supply, kinds: &'a [Control], all: impl IntoIterator<Item = usize>) -> (Packing<'a>, bool) {
    let mut packing = Packing::new(supply, kinds);
    let complete = all.into_iter().all(|kind| packing.place(kind));
    (packing, complete)
}

/// A supply without these constraints.
fn lifted(supply: &Supply, constraints: &[Constraint]) -> Supply {
    constraints.iter().fold(supply.clone(), |supply, constraint| supply.without(*constraint))
}

/// The first zone whose loss leaves too little room.
fn worst_zone(packing: &Packing<'_>, zones: usize) -> Option<usize> {
    (0..zones).find(|zone| !packing.clone().lose(*zone))
}

/// How many of one kind?
struct Question<'a> {
    supply: &'a Supply,
    kinds: &'a [Control],
    /// What is there already.
    there: &'a [usize],
    kind: usize,
    limit: u32,
    loses_zone: bool,
}

impl Question<'_> {
    fn answer(&self, name: impl Fn(usize) -> String) -> ShootLimit {
        let shoots = self.most();
        if shoots == self.limit {
            let [used, available] = [u64::from(shoots), u64::from(self.limit)];
            let constraint = Constraint::AllocatableShoots;
            let figure = Figure { constraint, unit: constraint.unit(), used, available, needed_for_one_more: used + 1 };
            return ShootLimit { shoots, zone: None, limiting_resources: vec![figure], alternatives: Vec::new() };
        }
        let (full, complete) = packed(self.supply, self.kinds, self.sequence(shoots + 1));
        let zone = worst_zone(&full, self.supply.zones).filter(|_| complete);
        let (binding, or) = self.binding(shoots + 1);
        let lifted = lifted(self.supply, &binding);
        let figure = |constraint: &Constraint| {
            // Room for rolling is room of one of these.
            let kept = [Constraint::NodeCidr, Constraint::Stock].into_iter().find(|other| or.contains(other));
            let counted = kept.filter(|_| *constraint == Constraint::Surge).unwrap_or(*constraint);
            Figure { constraint: *constraint, ..self.figure(counted, &lifted, shoots, zone) }
        };
        let figures = binding.iter().map(figure).collect();
        ShootLimit { shoots, zone: zone.map(name), limiting_resources: figures, alternatives: or }
    }

    fn sequence(&self, shoots: u32) -> impl Iterator<Item = usize> {
        self.there.iter().copied().chain((0..shoots).map(|_| self.kind))
    }

    fn fits(&self, supply: &Supply, shoots: u32) -> bool {
        let (packing, complete) = packed(supply, self.kinds, self.sequence(shoots));
        complete && (!self.loses_zone || worst_zone(&packing, supply.zones).is_none())
    }

    /// The largest number for which there is room.
    fn most(&self) -> u32 {
        let (mut packing, complete) = packed(self.supply, self.kinds, self.sequence(0));
        let mut placed = 0;
        while complete && placed < self.limit && packing.place(self.kind) {
            placed += 1;
        }
        if !self.loses_zone {
            return placed;
        }
        let (mut fits, mut fails) = (0, placed + 1);
        while fails - fits > 1 {
            let middle = u32::midpoint(fits, fails);
            if self.fits(self.supply, middle) { fits = middle } else { fails = middle }
        }
        fits
    }

    /// What keeps so many from having room, and what else would do.
    fn binding(&self, shoots: u32) -> (Vec<Constraint>, Vec<Constraint>) {
        let all = Constraint::OF_MACHINES;
        let fits = |without: &[Constraint]| self.fits(&lifted(self.supply, without), shoots);
        let mut alone: Vec<Constraint> = all.into_iter().filter(|one| fits(&[*one])).collect();
        if !alone.is_empty() {
            let or = alone.split_off(1);
            return (alone, or);
        }
        let mut together = all.to_vec();
        if !fits(&together) {
            return (Vec::new(), Vec::new());
        }
        // What need not be lifted stays, the last of them first.
        for one in all.into_iter().rev() {
            let others: Vec<Constraint> = together.iter().copied().filter(|own| *own != one).collect();
            if fits(&others) {
                together = others;
            }
        }
        (together, Vec::new())
    }

    fn figure(&self, constraint: Constraint, lifted: &Supply, shoots: u32, lost: Option<usize>) -> Figure {
        let (mut now, _) = packed(self.supply, self.kinds, self.sequence(shoots));
        let (mut then, _) = packed(lifted, self.kinds, self.sequence(shoots + 1));
        if let Some(zone) = lost {
            now.lose(zone);
            then.lose(zone);
        }
        let counts = Counts { supply: self.supply, shares: self.shares(lost) };
        let (used, needed_for_one_more) = (counts.used(constraint, &now), counts.used(constraint, &then));
        now.grow();
        Figure { constraint, unit: constraint.unit(), used, available: counts.available(constraint, &now), needed_for_one_more }
    }

    /// Machine deployments where some of its pods may be, of the zones that are left.
    fn shares(&self, lost: Option<usize>) -> Vec<usize> {
        let suits = |s: usize| self.kinds[self.kind].series.iter().any(|series| series.suits[s]);
        let all = self.supply.shares.iter().enumerate();
        all.filter(|(s, share)| suits(*s) && Some(share.zone) != lost).map(|(s, _)| s).collect()
    }
}

/// Counts what there is.
struct Counts<'a> {
    supply: &'a Supply,
    /// Machine deployments that count.
    shares: Vec<usize>,
}

impl Counts<'_> {
    fn used(&self, constraint: Constraint, packing: &Packing<'_>) -> u64 {
        match constraint {
            Constraint::AllocatableShoots => 0,
            Constraint::Surge | Constraint::NodeCidr => {
                (0..self.supply.shares.len()).map(|s| packing.nodes(s)).sum::<u64>() + self.supply.surge()
            }
            Constraint::Stock => self.taken(packing),
            Constraint::Maximum => self.shares.iter().map(|s| packing.nodes(*s)).sum(),
            Constraint::Cpu => packing.used(&self.shares).0[0],
            Constraint::Memory => packing.used(&self.shares).0[1],
            Constraint::Volumes => packing.used(&self.shares).0[2],
            Constraint::Pods => packing.used(&self.shares).0[3],
        }
    }

    /// Machines beyond those of the start, of types that have a stock.
    fn taken(&self, packing: &Packing<'_>) -> u64 {
        let shares = self.shares.iter().map(|s| (*s, &self.supply.shares[*s])).filter(|(_, share)| share.stock.is_some());
        shares.map(|(s, share)| packing.nodes(s) - share.start + share.surge).sum()
    }

    /// What there is with all nodes that there can be.
    fn available(&self, constraint: Constraint, grown: &Packing<'_>) -> u64 {
        match constraint {
            Constraint::AllocatableShoots => 0,
            Constraint::Surge | Constraint::NodeCidr => self.supply.addresses,
            Constraint::Stock => self.stock(),
            Constraint::Maximum => self.shares.iter().map(|s| self.supply.shares[*s].maximum).sum(),
            Constraint::Cpu => self.room(grown, 0),
            Constraint::Memory => self.room(grown, 1),
            Constraint::Volumes => self.room(grown, 2),
            Constraint::Pods => self.room(grown, 3),
        }
    }

    fn stock(&self) -> u64 {
        let stocks: BTreeSet<usize> = self.shares.iter().filter_map(|s| self.supply.shares[*s].stock).collect();
        stocks.into_iter().map(|stock| self.supply.stock[stock]).sum()
    }

    fn room(&self, grown: &Packing<'_>, k: usize) -> u64 {
        self.shares.iter().map(|s| self.supply.shares[*s].room.0[k] * grown.nodes(*s)).sum()
    }
}

/// How many seeds that are alike?
struct SeedFleet<'a> {
    supply: &'a Supply,
    kinds: &'a [Control],
    /// What each runs for itself.
    system: usize,
    limit: u32,
    loses_zone: bool,
}

impl SeedFleet<'_> {
    fn needed(&self, demand: &Demand, references: &[Reference]) -> Needed {
        let of = |tolerance| {
            let asked = |reference: &Reference| if reference.tolerance == tolerance { demand.of(tolerance) } else { 0 };
            let hosts = demand.of(tolerance) == 0 || references.iter().any(|reference| reference.tolerance == tolerance);
            self.seeds(&references.iter().map(asked).collect::<Vec<_>>()).filter(|_| hosts)
        };
        let together: Vec<u32> = references.iter().map(|reference| demand.of(reference.tolerance)).collect();
        Needed {
            none: of(FailureTolerance::None),
            node: of(FailureTolerance::Node),
            zone: of(FailureTolerance::Zone),
            together: self.seeds(&together),
        }
    }

    /// The fewest seeds of which each has room for an equal share of each kind, a fraction counted as one.
    fn seeds(&self, demand: &[u32]) -> Option<u32> {
        let most: u32 = demand.iter().sum();
        if most == 0 {
            return Some(0);
        }
        // With as many seeds as shoots each has one of each kind at most.
        let (mut few, mut enough) = (0, most);
        if !self.fits(demand, enough) {
            return None;
        }
        while enough - few > 1 {
            let middle = u32::midpoint(few, enough);
            if self.fits(demand, middle) { enough = middle } else { few = middle }
        }
        Some(enough)
    }

    fn fits(&self, demand: &[u32], seeds: u32) -> bool {
        let shares: Vec<u32> = demand.iter().map(|count| count.div_ceil(seeds)).collect();
        let total: u32 = shares.iter().sum();
        if total > self.limit {
            return false;
        }
        let (packing, complete) = packed(self.supply, self.kinds, std::iter::once(self.system).chain(mixed(&shares)));
        complete && (!self.loses_zone || worst_zone(&packing, self.supply.zones).is_none())
    }
}

/// So many of each kind, evenly mixed: the next is of the kind that lags most behind its share.
fn mixed(counts: &[u32]) -> Vec<usize> {
    let total: u32 = counts.iter().sum();
    let mut done = vec![0_i64; counts.len()];
    let lag = |k: usize, n: u32, done: &[i64]| i64::from(n) * i64::from(counts[k]) - done[k] * i64::from(total);
    let next = |n| {
        let kind = (0..counts.len()).rev().max_by_key(|k| lag(*k, n, &done)).expect("some are asked for");
        done[kind] += 1;
        kind
    };
    (1..=total).map(next).collect()
}

#[cfg(test)]
#[test]
fn kinds_are_mixed_evenly() {
    assert_eq!(mixed(&[4, 2, 1]), [0, 1, 0, 2, 0, 1, 0]);
    assert_eq!(mixed(&[0, 2]), [1, 1]);
}
