//! Costs as tables for people: the command line and the page print the same figures in the same words.

use indexmap::IndexMap;

use super::{CostKind, CostReport, PriceReport, Report, ToleranceCostReport};
use crate::scenario::kube::gardener::FailureTolerance;
use crate::scenario::prices::Check;
use crate::scenario::text::dollars;

/// What goes into the figures of a [`ToleranceTable`].
pub const TOLERANCE_NOTE: &str = "Shared: unrequested machine capacity, the seed's own components and its load balancer, in equal parts for \
                                  each of its shoots. Bytes: traffic of etcd, of the users of control planes, and of the scenario's \
                                  clients.";

/// What costs are split by, beside their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostSplit {
    /// By shoot.
    Shoot,
    /// By component.
    Component,
    /// By the zones that bytes leave and get to.
    ZonePair,
}

impl CostSplit {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Shoot, Self::Component, Self::ZonePair];

    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Shoot => "shoot",
            Self::Component => "component",
            Self::ZonePair => "zone pair",
        }
    }

    /// Where a row belongs; `None`: it is not of bytes, and has no zones.
    fn part(self, row: &CostReport) -> Option<String> {
        match self {
            Self::Shoot => Some(row.shoot.clone().unwrap_or_else(|| "no shoot".to_owned())),
            Self::Component => Some(row.component.clone().unwrap_or_else(|| row.kind.describe().to_owned())),
            Self::ZonePair => row.from_zone.as_ref().zip(row.to_zone.as_ref()).map(|(from, to)| format!("{from} → {to}")),
        }
    }
}

/// What a shoot costs with one provider, by failure tolerance: US dollars per shoot and month of 730 h.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToleranceTable {
    /// The provider.
    pub provider: String,
    /// The tolerances there are (`none`, `node`), then the steps from one to the next (`none → node`).
    pub head: Vec<String>,
    /// What for, and a figure for each of the head; last the sum.
    pub rows: Vec<(&'static str, Vec<String>)>,
}

impl CostKind {
    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Machine => "machines",
            Self::Volume => "volumes",
            Self::LoadBalancerHours => "load balancers",
            Self::LoadBalancerBytes => "bytes through load balancers",
            Self::CrossZone => "bytes between zones",
            Self::Backup => "backups of etcd",
        }
    }
}

impl Report {
    /// Names of the providers of the bill; none where there is no bill.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.bill.iter().flat_map(|bill| bill.providers.keys()).map(String::as_str)
    }

    /// The provider of the bill that is wanted, or the first one; `None` where there is no bill.
    pub fn provider(&self, wanted: Option<&str>) -> Option<&str> {
        self.providers().find(|provider| Some(*provider) == wanted).or_else(|| self.providers().next())
    }

    /// A provider with the region of its book: `aws eu-west-1`.
    pub fn provider_title(&self, provider: &str) -> String {
        let region = self.prices_of(provider).find_map(|price| price.region.as_ref());
        region.map_or_else(|| provider.to_owned(), |region| format!("{provider} {region}"))
    }

    /// How many of a provider's prices are how sure: `prices: 2 seen, 3 unverified`.
    pub fn how_sure(&self, provider: &str) -> String {
        let all = [Check::Seen, Check::SecondHand, Check::Memory, Check::Given];
        let count = |check: Check| (check, self.prices_of(provider).filter(|price| price.check == check).count());
        let words: Vec<String> =
            all.map(count).iter().filter(|(_, n)| *n > 0).map(|(check, n)| format!("{n} {}", check.describe())).collect();
        format!("prices: {}", words.join(", "))
    }

    fn prices_of(&self, provider: &str) -> impl Iterator<Item = &PriceReport> {
        self.prices.iter().filter(move |price| price.provider == provider)
    }

    /// US dollars in a month of each kind, by provider in the bill's order: kinds that cost nothing anywhere are left out.
    pub fn cost_by_kind(&self) -> Vec<(CostKind, Vec<f64>)> {
        let sum = |kind: CostKind, provider: &str| {
            let rows = self.cost.iter().filter(|row| row.kind == kind && row.provider == provider);
            rows.map(|row| row.per_month_usd).sum::<f64>()
        };
        let row = |kind| (kind, self.providers().map(|provider| sum(kind, provider)).collect::<Vec<f64>>());
        CostKind::ALL.map(row).into_iter().filter(|(_, usd)| usd.iter().any(|usd| *usd > 0.0)).collect()
    }

    /// US dollars in a month with one provider, of each part of a split; the dearest first.
    pub fn cost_split(&self, provider: &str, split: CostSplit) -> Vec<(String, f64)> {
        let mut parts: IndexMap<String, f64> = IndexMap::new();
        for row in self.cost.iter().filter(|row| row.provider == provider) {
            if let Some(part) = split.part(row) {
                *parts.entry(part).or_default() += row.per_month_usd;
            }
        }
        let mut parts: Vec<(String, f64)> = parts.into_iter().collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts
    }

    /// What a month costs with each provider if it goes on as it went, in words; `None` where there is no bill. This leaves out what clients
    /// of Services send to other zones, which has a sentence of its own.
    pub fn month(&self) -> Option<String> {
        let sum = |provider| self.cost.iter().filter(|row| row.provider == provider).map(|row| row.per_month_usd).sum::<f64>();
        let first = |i: usize| if i == 0 { " a month" } else { "" };
        let sums = self.providers().enumerate().map(|(i, name)| format!("{}{} ({name})", dollars(sum(name)), first(i)));
        let sums: Vec<String> = sums.collect();
        let service = |name: &str| self.service_traffic.iter().filter_map(|row| row.usd_per_month.get(name)).sum::<f64>();
        let services = self.providers().map(|name| (name, service(name))).filter(|(_, usd)| *usd > 0.0);
        let services: Vec<String> = services.map(|(name, usd)| format!("{} ({name})", dollars(usd))).collect();
        let more = match &services[..] {
            [] => String::new(),
            all => format!(" Traffic of Services between zones adds {}.", all.join(", ")),
        };
        (!sums.is_empty()).then(|| format!("It costs {}.{more}", sums.join(", ")))
    }

    /// What tolerance costs, where shoots differ in it: a table for each provider.
    pub fn tolerance_tables(&self) -> Vec<ToleranceTable> {
        if self.tolerance_cost.is_empty() {
            return Vec::new();
        }
        let table = |provider: &str| {
            let rows: Vec<&ToleranceCostReport> = self.tolerance_cost.iter().filter(|row| row.provider == provider).collect();
            tolerance_table(provider, &rows)
        };
        self.providers().map(table).collect()
    }
}

fn tolerance_table(provider: &str, all: &[&ToleranceCostReport]) -> ToleranceTable {
    let there = FailureTolerance::ALL.into_iter().filter(|tolerance| all.iter().any(|row| row.tolerance == *tolerance));
    let there: Vec<FailureTolerance> = there.collect();
    let of = |kind: Option<CostKind>, part: fn(&ToleranceCostReport) -> f64| {
        let usd = |tolerance: &FailureTolerance| {
            let rows = all.iter().filter(|row| row.tolerance == *tolerance);
            rows.filter(|row| kind.is_none_or(|kind| kind == row.kind)).map(|row| part(row)).sum::<f64>()
        };
        there.iter().map(usd).collect::<Vec<f64>>()
    };
    let own: fn(&ToleranceCostReport) -> f64 = |row| row.own_usd;
    let shared: fn(&ToleranceCostReport) -> f64 = |row| row.shared_usd;
    let rows = [
        ("machines, requested by its pods", of(Some(CostKind::Machine), own)),
        ("machines, shared", of(Some(CostKind::Machine), shared)),
        ("volumes", of(Some(CostKind::Volume), own)),
        ("volumes, shared", of(Some(CostKind::Volume), shared)),
        ("load balancer, shared", of(Some(CostKind::LoadBalancerHours), shared)),
        ("bytes through the load balancer", of(Some(CostKind::LoadBalancerBytes), own)),
        ("bytes between zones", of(Some(CostKind::CrossZone), own)),
        ("bytes between zones, shared", of(Some(CostKind::CrossZone), shared)),
        ("backups of etcd", of(Some(CostKind::Backup), own)),
        ("all", of(None, |row| row.own_usd + row.shared_usd)),
    ];
    let mut head: Vec<String> = there.iter().map(|tolerance| tolerance.describe().to_owned()).collect();
    head.extend(there.windows(2).map(|pair| format!("{} → {}", pair[0].describe(), pair[1].describe())));
    let cells = |usd: &[f64]| {
        let plain = usd.iter().map(|usd| format!("{usd:.2}"));
        plain.chain(usd.windows(2).map(|pair| format!("{:+.2}", pair[1] - pair[0]))).collect()
    };
    let shown = rows.into_iter().filter(|(_, usd)| usd.iter().any(|usd| *usd > 0.0));
    ToleranceTable { provider: provider.to_owned(), head, rows: shown.map(|(what, usd)| (what, cells(&usd))).collect() }
}
