//! The questions: how many, why not more, how many after the loss of a zone, how many seeds, how many machines.

use std::collections::BTreeSet;

use super::supply::{MOST_NODES, Supply};
use super::trial::{Shoots, Site, Trial};
use super::{
    Constraint, DemandReport, Figure, Headroom, Needed, NodesPlan, Plan, PoolNodes, SCHEMA, SCHEMA_OF_NODES, SeedPlan, ShootLimit,
};
use crate::ids::{SeedId, ZoneId};
use crate::kube::spec::capacity::Demand;
use crate::kube::spec::gardener::{FailureTolerance, Seed};
use crate::scenario::Scenario;
use crate::scenario::raw::{RawPool, RawScenario};

/// The capacity of a scenario's seeds; `None`: it has none. The file is that of the scenario.
pub fn plan(raw: &RawScenario, scenario: &Scenario) -> Option<Plan> {
    let seeds: Vec<SeedPlan> = scenario.kube.seeds.keys().map(|seed| of_seed(raw, scenario, seed)).collect();
    (!seeds.is_empty()).then(|| Plan { schema: SCHEMA, scenario: scenario.name.clone(), demand: demand(scenario), seeds })
}

/// How many machines of each pool the demand needs on one seed; `None`: the scenario has no seed. The file is that of the scenario.
pub fn plan_nodes(raw: &RawScenario, scenario: &Scenario) -> Option<NodesPlan> {
    let pools = scenario.kube.seeds.keys().flat_map(|seed| nodes_of_seed(raw, scenario, seed)).collect::<Vec<_>>();
    (!pools.is_empty()).then(|| NodesPlan {
        schema: SCHEMA_OF_NODES,
        scenario: scenario.name.clone(),
        demand: demand(scenario),
        pools,
    })
}

fn demand(scenario: &Scenario) -> DemandReport {
    let Demand { none, node, zone } = scenario.kube.capacity.demand;
    DemandReport { none, node, zone }
}

fn of_seed(raw: &RawScenario, scenario: &Scenario, id: SeedId) -> SeedPlan {
    let (model, seed) = (&scenario.kube, &scenario.kube.seeds[id]);
    let supply = Supply::new(model, seed);
    let hosted = model.shoots.iter().filter_map(|shoot| shoot.hosted.as_ref()).filter(|own| own.seed == id).count() as u32;
    let ground = Ground { site: Site::new(raw, scenario, id, true), supply: supply.clone(), zones: &seed.zones };
    let before = ground.trial(&supply, &[], &[]);
    let limit = seed.allocatable_shoots.saturating_sub(hosted);
    let name = |zone: ZoneId| scenario.zones[zone].name.clone();
    let several = seed.zones.len() > 1;
    let room = |&tolerance: &FailureTolerance| {
        let answer = |loses_zone, limit| Question { ground: &ground, tolerance, limit, loses_zone }.answer(name);
        let all_zones = answer(false, limit);
        Headroom { failure_tolerance: tolerance, after_zone_loss: several.then(|| answer(true, limit)), all_zones }
    };
    let empty = Ground { site: Site::new(raw, scenario, id, false), supply, zones: &seed.zones };
    let needed = |loses_zone| {
        let fleet = SeedFleet { ground: &empty, limit: seed.allocatable_shoots, loses_zone };
        fleet.needed(&model.capacity.demand, hosts(scenario, id))
    };
    SeedPlan {
        name: seed.name.clone(),
        multi_zonal: seed.is_multi_zonal(),
        hosted,
        hosted_without_room: before.filter(Trial::is_short).map_or(0, |trial| trial.pending_shoots() as u32),
        headroom: hosts(scenario, id).iter().map(room).collect(),
        needed: needed(false),
        needed_after_zone_loss: several.then(|| needed(true)),
    }
}

/// What control planes that a seed can host survive.
fn hosts(scenario: &Scenario, seed: SeedId) -> &[FailureTolerance] {
    &scenario.kube.capacity.tolerances[usize::from(seed)]
}

/// A seed, and the machines that it can have.
struct Ground<'a> {
    site: Site<'a>,
    supply: Supply,
    zones: &'a [ZoneId],
}

impl Ground<'_> {
    /// The seed as it starts with all machines of a supply.
    fn trial(&self, supply: &Supply, lifted: &[Constraint], shoots: &Shoots) -> Option<Trial> {
        self.site.start(&self.supply, &supply.all(), lifted, shoots)
    }

    /// Whether all that it hosts then has room, after the loss of any one zone, too.
    fn fits(&self, trial: Option<Trial>, loses_zone: bool) -> bool {
        trial.is_some_and(|trial| trial.fits() && (!loses_zone || self.worst_zone(&trial).is_none()))
    }

    /// The first zone whose loss leaves too little room.
    fn worst_zone(&self, trial: &Trial) -> Option<ZoneId> {
        self.zones.iter().copied().find(|zone| !trial.without(*zone).fits())
    }

    fn lifted(&self, constraints: &[Constraint]) -> Supply {
        constraints.iter().fold(self.supply.clone(), |supply, constraint| supply.without(*constraint))
    }
}

/// The smallest number above `fails` that does, given that `fits` does: it does, and the one before it does not.
fn fewest(mut fails: u64, mut fits: u64, does: impl Fn(u64) -> bool) -> u64 {
    while fits - fails > 1 {
        let middle = u64::midpoint(fits, fails);
        if does(middle) { fits = middle } else { fails = middle }
    }
    fits
}

/// How many of one kind?
struct Question<'a> {
    ground: &'a Ground<'a>,
    tolerance: FailureTolerance,
    limit: u32,
    loses_zone: bool,
}

impl Question<'_> {
    fn answer(&self, name: impl Fn(ZoneId) -> String) -> ShootLimit {
        let shoots = self.most();
        if shoots == self.limit {
            let [used, available] = [u64::from(shoots), u64::from(self.limit)];
            let constraint = Constraint::AllocatableShoots;
            let figure = Figure { constraint, unit: constraint.unit(), used, available, needed_for_one_more: used + 1 };
            return ShootLimit { shoots, zone: None, limiting_resources: vec![figure], alternatives: Vec::new() };
        }
        let full = self.ground.trial(&self.ground.supply, &[], &self.shoots(shoots + 1));
        let zone = full.as_ref().filter(|trial| self.loses_zone && trial.fits()).and_then(|trial| self.ground.worst_zone(trial));
        let full = full.map(|trial| zone.map(|zone| trial.without(zone)).unwrap_or(trial));
        let (binding, or) = self.binding(shoots + 1, |one| full.as_ref().is_none_or(|trial| trial.lacks(one)));
        let figure = |constraint: &Constraint| {
            // Room for rolling is room of one of these.
            let kept = [Constraint::NodeCidr, Constraint::Stock].into_iter().find(|other| or.contains(other));
            let counted = kept.filter(|_| *constraint == Constraint::Surge).unwrap_or(*constraint);
            Figure { constraint: *constraint, ..self.figure(counted, &binding, shoots, zone) }
        };
        let figures = binding.iter().map(figure).collect();
        ShootLimit { shoots, zone: zone.map(name), limiting_resources: figures, alternatives: or }
    }

    fn shoots(&self, count: u32) -> [(FailureTolerance, u32); 1] {
        [(self.tolerance, count)]
    }

    /// Whether so many have room on a seed with some constraints lifted.
    fn fits(&self, lifted: &[Constraint], shoots: u32) -> bool {
        let supply = self.ground.lifted(lifted);
        self.ground.fits(self.ground.trial(&supply, lifted, &self.shoots(shoots)), self.loses_zone)
    }

    /// A number that has room where one more has none.
    fn most(&self) -> u32 {
        fewest(0, u64::from(self.limit) + 1, |shoots| !self.fits(&[], shoots as u32)) as u32 - 1
    }

    /// What keeps so many from having room, and what else would do. Of what nodes hold only what pods lack is asked about: other nodes
    /// might have room by chance.
    fn binding(&self, shoots: u32, lacks: impl Fn(Constraint) -> bool) -> (Vec<Constraint>, Vec<Constraint>) {
        let machines = self.ground.supply.all();
        let matters = |one: &Constraint| {
            if one.is_of_machines() { self.ground.supply.without(*one).all() != machines } else { lacks(*one) }
        };
        let mut alone: Vec<Constraint> =
            Constraint::OF_SEEDS.into_iter().filter(|one| matters(one) && self.fits(&[*one], shoots)).collect();
        if !alone.is_empty() {
            let or = alone.split_off(1);
            return (alone, or);
        }
        let mut together = Constraint::OF_SEEDS.to_vec();
        if !self.fits(&together, shoots) {
            return (Vec::new(), Vec::new());
        }
        // What need not be lifted stays, the last of them first.
        for one in Constraint::OF_SEEDS.into_iter().rev() {
            let others: Vec<Constraint> = together.iter().copied().filter(|own| *own != one).collect();
            if self.fits(&others, shoots) {
                together = others;
            }
        }
        (together, Vec::new())
    }

    fn figure(&self, constraint: Constraint, binding: &[Constraint], shoots: u32, lost: Option<ZoneId>) -> Figure {
        let (own, lifted) = (&self.ground.supply, self.ground.lifted(binding));
        let after = |trial: Trial| match lost {
            Some(zone) => trial.without(zone),
            None => trial,
        };
        let then = self.ground.trial(&lifted, binding, &self.shoots(shoots + 1)).map(after);
        let (machines, all) = (own.all(), lifted.all());
        let few: u64 = machines.iter().sum();
        let more = || {
            let trial = |most| self.ground.site.start(own, &lifted.machines(most), binding, &self.shoots(shoots + 1));
            lifted.machines(fewest(few, all.iter().sum(), |most| self.ground.fits(trial(most), self.loses_zone)))
        };
        let suits =
            |s: usize| then.as_ref().is_some_and(|trial| trial.suits(&trial.spec().machine_deployments[own.shares[s].id]));
        let counted: Vec<usize> = (0..machines.len()).filter(|s| suits(*s) && Some(own.shares[*s].zone) != lost).collect();
        let amounts = |k: usize| {
            let ids: Vec<_> = counted.iter().map(|s| own.shares[*s].id).collect();
            let now = self.ground.trial(own, &[], &self.shoots(shoots)).map(after);
            let [used, available] = now.map_or([0; 2], |trial| trial.amounts(&ids)[k]);
            [used, available, then.as_ref().map_or(0, |trial| trial.amounts(&ids)[k][0])]
        };
        let sum = |machines: &[u64]| counted.iter().map(|s| machines[*s]).sum::<u64>();
        let [used, available, needed_for_one_more] = match constraint {
            Constraint::AllocatableShoots => [0; 3],
            Constraint::Surge | Constraint::NodeCidr => {
                [few + own.surge(), own.addresses, more().iter().sum::<u64>() + own.surge()]
            }
            Constraint::Stock => {
                let stocks: BTreeSet<usize> = own.shares.iter().filter_map(|share| share.stock).collect();
                let left = stocks.iter().map(|stock| own.stock[*stock]).sum();
                // Where too few are left to roll what is there, rolling takes what is left.
                let taken = stocks.iter().map(|stock| own.taken(&machines, |other| other == *stock).min(own.stock[*stock]));
                let (used, all) = (taken.sum::<u64>(), |machines: &[u64]| own.taken(machines, |_| true));
                [used, left, used + all(&more()) - all(&machines)]
            }
            Constraint::Maximum => [sum(&machines), counted.iter().map(|s| own.shares[*s].maximum).sum(), sum(&more())],
            Constraint::Cpu => amounts(0),
            Constraint::Memory => amounts(1),
            Constraint::Volumes => amounts(2),
            Constraint::Pods => amounts(3),
        };
        Figure { constraint, unit: constraint.unit(), used, available, needed_for_one_more }
    }
}

/// How many seeds that are alike?
struct SeedFleet<'a> {
    ground: &'a Ground<'a>,
    limit: u32,
    loses_zone: bool,
}

impl SeedFleet<'_> {
    fn needed(&self, demand: &Demand, hosts: &[FailureTolerance]) -> Needed {
        let [none, node, zone] = FailureTolerance::ALL.map(|tolerance| match demand.of(tolerance) {
            0 => Some(0),
            count if hosts.contains(&tolerance) => self.seeds_of(tolerance, count),
            _ => None,
        });
        let parts = FailureTolerance::ALL.into_iter().zip([none, node, zone]).filter(|(tolerance, _)| hosts.contains(tolerance));
        let parts: Option<Vec<u32>> = parts.map(|(_, part)| part).collect();
        Needed { none, node, zone, together: parts.map(|parts| self.together(demand, hosts, &parts)) }
    }

    /// The fewest seeds for shoots of one kind, an equal share on each.
    fn seeds_of(&self, tolerance: FailureTolerance, count: u32) -> Option<u32> {
        let fits = |shoots: u64| self.fits(&[(tolerance, shoots as u32)]);
        let most = fewest(0, u64::from(self.limit.min(count)) + 1, |shoots| !fits(shoots)) - 1;
        // A smaller share than the largest might have no room: nodes are filled in another way.
        let mut seeds = (most > 0).then(|| u64::from(count).div_ceil(most)..=u64::from(count))?;
        seeds.find(|seeds| fits(u64::from(count).div_ceil(*seeds))).map(|seeds| seeds as u32)
    }

    /// The fewest seeds of which each has room for an equal share of each kind, a fraction counted as one; never more than if each kind
    /// had seeds of its own.
    fn together(&self, demand: &Demand, hosts: &[FailureTolerance], parts: &[u32]) -> u32 {
        let (apart, least) = (parts.iter().sum::<u32>(), parts.iter().copied().max().unwrap_or(0));
        let share = |seeds: u64| -> Vec<(FailureTolerance, u32)> {
            hosts.iter().map(|tolerance| (*tolerance, u64::from(demand.of(*tolerance)).div_ceil(seeds) as u32)).collect()
        };
        if apart == least {
            return apart;
        }
        fewest(u64::from(least) - 1, u64::from(apart), |seeds| self.fits(&share(seeds))) as u32
    }

    fn fits(&self, shoots: &Shoots) -> bool {
        let total: u32 = shoots.iter().map(|(_, count)| count).sum();
        total <= self.limit && self.ground.fits(self.ground.trial(&self.ground.supply, &[], shoots), self.loses_zone)
    }
}

/// The pools of a seed, and how many machines of each the demand needs on this one seed, empty but for what it runs for itself.
fn nodes_of_seed(raw: &RawScenario, scenario: &Scenario, id: SeedId) -> Vec<PoolNodes> {
    let seed: &Seed = &scenario.kube.seeds[id];
    let supply = Supply::new(&scenario.kube, seed);
    let ground = Ground { site: Site::new(raw, scenario, id, false), supply, zones: &seed.zones };
    let demand = scenario.kube.capacity.demand;
    let of_pool = |(pool, raw): (usize, &RawPool)| {
        // No fewer than without the loss of a zone, and together no fewer than for each kind.
        let needed = |loses_zone, least: &Needed| {
            let count = |shoots: &Shoots, least: &[Option<u32>]| {
                if shoots.iter().all(|(_, count)| *count == 0) {
                    return Some(0);
                }
                let least = least.iter().flatten().copied().max().unwrap_or(0);
                machines_for(&ground, pool, (shoots, loses_zone), least.into())
            };
            let of = |tolerance, least| match demand.of(tolerance) {
                0 => Some(0),
                shoots if hosts(scenario, id).contains(&tolerance) => count(&[(tolerance, shoots)], &[least]),
                _ => None,
            };
            let none = of(FailureTolerance::None, least.none);
            let node = of(FailureTolerance::Node, least.node);
            let zone = of(FailureTolerance::Zone, least.zone);
            let all: Vec<_> = hosts(scenario, id).iter().map(|tolerance| (*tolerance, demand.of(*tolerance))).collect();
            Needed { none, node, zone, together: count(&all, &[none, node, zone, least.together]) }
        };
        let usually = needed(false, &Needed { none: None, node: None, zone: None, together: None });
        PoolNodes {
            seed: seed.name.clone(),
            pool: raw.name.to_string(),
            machine: raw.machine.kind.as_ref().map(ToString::to_string),
            needed_after_zone_loss: (seed.zones.len() > 1).then(|| needed(true, &usually)),
            needed: usually,
        }
    };
    raw.seeds[usize::from(id)].pools.iter().enumerate().map(of_pool).collect()
}

/// The fewest machines of a pool, and no fewer than `least`, with which shoots have room, spread over its zones, beside all that other pools
/// can have.
fn machines_for(ground: &Ground<'_>, pool: usize, (shoots, loses_zone): (&Shoots, bool), least: u64) -> Option<u32> {
    let others = ground.supply.all();
    let machines = |count: u64| -> Vec<u64> {
        let shares = || ground.supply.shares.iter().filter(|share| share.pool == pool);
        let zones = shares().count() as u64;
        let mut own = (0..zones).map(|k| count / zones + u64::from(k < count % zones));
        ground
            .supply
            .shares
            .iter()
            .zip(&others)
            .map(|(share, other)| if share.pool == pool { own.next().expect("a number for each share") } else { *other })
            .collect()
    };
    let fits = |count: u64| ground.fits(ground.site.start(&ground.supply, &machines(count), &[], shoots), loses_zone);
    if least == 0 && fits(0) {
        return Some(0);
    }
    let (mut fails, mut enough) = (least.max(1) - 1, least.max(1));
    while !fits(enough) {
        if enough == MOST_NODES {
            return None;
        }
        (fails, enough) = (enough, (2 * enough).min(MOST_NODES));
    }
    Some(fewest(fails, enough, fits) as u32)
}
