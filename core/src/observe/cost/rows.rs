//! Lines of the account as rows of a report.

use std::collections::BTreeMap;

use super::Line;
use super::price::{Charge, per_month, rounded};
use crate::ids::{SeedId, ZoneId};
use crate::kernel::time::Time;
use crate::kube::spec::gardener::FailureTolerance;
use crate::report::{CostKind, CostReport, ToleranceCostReport};
use crate::scenario::Scenario;
use crate::scenario::prices::Provider;

/// What everything costs in a month: by provider, kind, shoot, component and zones, in this order; nobody's first.
pub(super) fn cost(lines: &[Line], now: Time, scenario: &Scenario) -> Vec<CostReport> {
    type Key = (CostKind, Option<u16>, Option<String>, Option<(ZoneId, ZoneId)>, &'static str);
    let mut rows = Vec::new();
    for provider in &scenario.prices.providers {
        let mut sums: BTreeMap<Key, (f64, Charge)> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.quantity.is_some()) {
            let charge = line.quantity.charge(provider);
            let key = (line.quantity.kind(), line.shoot, line.component.clone(), line.zones, charge.unit.word());
            let (usd, of) = sums.entry(key).or_insert((0.0, Charge { quantity: 0.0, ..charge }));
            *usd += charge.usd;
            of.quantity += charge.quantity;
        }
        let zone = |zone: ZoneId| scenario.zones[zone].name.clone();
        rows.extend(sums.into_iter().map(|((kind, shoot, component, zones, _), (usd, of))| CostReport {
            provider: provider.name.clone(),
            kind,
            shoot: shoot.map(|shoot| scenario.kube.shoots[usize::from(shoot)].name.clone()),
            component,
            from_zone: zones.map(|(from, _)| zone(from)),
            to_zone: zones.map(|(_, to)| zone(to)),
            per_month_usd: rounded(usd * per_month(now)),
            quantity: rounded(of.quantity * per_month(now)),
            unit: of.unit,
        }));
    }
    rows
}

/// Where a shoot's costs are put: by what it survives at the start, and in which seed it is then.
fn place(scenario: &Scenario, shoot: u16) -> Option<(FailureTolerance, SeedId)> {
    let shoot = &scenario.kube.shoots[usize::from(shoot)];
    shoot.hosted.as_ref().map(|hosted| (shoot.tolerance, hosted.seed))
}

/// What a shoot costs in a month, by what it survives; nothing where all survive the same.
pub(super) fn tolerance(lines: &[Line], now: Time, scenario: &Scenario) -> Vec<ToleranceCostReport> {
    let places: Vec<(FailureTolerance, SeedId)> =
        (0..scenario.kube.shoots.len() as u16).filter_map(|shoot| place(scenario, shoot)).collect();
    let there: Vec<FailureTolerance> =
        FailureTolerance::ALL.into_iter().filter(|tolerance| places.iter().any(|(own, _)| own == tolerance)).collect();
    let mut rows = Vec::new();
    for provider in scenario.prices.providers.iter().filter(|_| there.len() > 1) {
        for tolerance in &there {
            let shoots = places.iter().filter(|(own, _)| own == tolerance).count() as f64;
            rows.extend(CostKind::ALL.map(|kind| {
                let of = |line: &&Line| line.quantity.kind() == kind && line.quantity.is_some();
                let own =
                    |line: &&Line| line.shoot.and_then(|shoot| place(scenario, shoot)).is_some_and(|(own, _)| own == *tolerance);
                let own_usd: f64 = lines.iter().filter(of).filter(own).map(|line| line.quantity.charge(provider).usd).sum();
                let shared = lines.iter().filter(of).filter(|line| line.shoot.is_none());
                let shared_usd: f64 = shared.map(|line| share(line, *tolerance, &places, provider)).sum();
                let usd = |sum: f64| rounded(sum / shoots * per_month(now));
                let (provider, shoots) = (provider.name.clone(), shoots as u32);
                ToleranceCostReport {
                    provider,
                    tolerance: *tolerance,
                    shoots,
                    kind,
                    own_usd: usd(own_usd),
                    shared_usd: usd(shared_usd),
                }
            }));
        }
    }
    rows
}

/// What of a seed's own costs the shoots of one tolerance bear: all of its shoots bear the same.
fn share(line: &Line, tolerance: FailureTolerance, places: &[(FailureTolerance, SeedId)], provider: &Provider) -> f64 {
    let there = places.iter().filter(|(_, seed)| Some(*seed) == line.seed);
    let (all, of) = there.fold((0, 0), |(all, of), (own, _)| (all + 1, of + u32::from(*own == tolerance)));
    if all == 0 { 0.0 } else { line.quantity.charge(provider).usd * f64::from(of) / f64::from(all) }
}
