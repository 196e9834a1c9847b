//! What a quantity costs by a book.

use crate::kernel::time::Time;
use crate::report::{CostKind, PriceReport};
use crate::scenario::Scenario;
use crate::scenario::prices::{Price, PriceKind, Provider, Shape, Unit};

/// A month, as clouds have it: 730 h, in nanoseconds.
const MONTH_NS: f64 = 730.0 * HOUR_NS;
const HOUR_NS: f64 = 3.6e12;

/// So much of what is charged for, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Time of machines.
    Machine { shape: Shape, ns: u128 },
    /// Time of volumes of so many bytes.
    Volume { bytes: u64, ns: u128 },
    /// Time of load balancers.
    Balancer { ns: u128 },
    /// Bytes through load balancers.
    Balanced { bytes: u64 },
    /// Bytes that have left a zone, and got to another.
    Crossing { bytes: u64 },
    /// Bytes in a bucket, times nanoseconds.
    Stored { byte_ns: u128 },
    /// Requests in a day, times nanoseconds.
    Uploads { requests: u128 },
}

/// What a quantity comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    pub(super) quantity: f64,
    pub(super) unit: Unit,
    pub(super) usd: f64,
}

impl Quantity {
    pub(super) const fn kind(self) -> CostKind {
        match self {
            Self::Machine { .. } => CostKind::Machine,
            Self::Volume { .. } => CostKind::Volume,
            Self::Balancer { .. } => CostKind::LoadBalancerHours,
            Self::Balanced { .. } => CostKind::LoadBalancerBytes,
            Self::Crossing { .. } => CostKind::CrossZone,
            Self::Stored { .. } | Self::Uploads { .. } => CostKind::Backup,
        }
    }

    /// Whether there is any of it.
    pub(super) const fn is_some(self) -> bool {
        match self {
            Self::Machine { ns, .. } | Self::Volume { ns, .. } | Self::Balancer { ns } => ns > 0,
            Self::Balanced { bytes } | Self::Crossing { bytes } => bytes > 0,
            Self::Stored { byte_ns: of } | Self::Uploads { requests: of } => of > 0,
        }
    }

    /// What it costs.
    pub(super) fn charge(self, provider: &Provider) -> Charge {
        let known = |price: Option<&Price>| price.expect("validation has seen that there is a price").clone();
        let (quantity, price) = match self {
            Self::Machine { shape, ns } => (ns as f64 / HOUR_NS, known(provider.machine(shape))),
            Self::Balancer { ns } => (ns as f64 / HOUR_NS, known(provider.only(PriceKind::LoadBalancerHours))),
            Self::Volume { bytes, ns } => {
                let price = known(provider.volume(bytes));
                let size = if price.unit == Unit::DiskMonth { 1.0 } else { bytes as f64 / GIB };
                (size * ns as f64 / MONTH_NS, price)
            }
            Self::Balanced { bytes } => {
                let price = known(provider.only(PriceKind::LoadBalancerBytes));
                (bytes as f64 / size(price.unit), price)
            }
            Self::Crossing { bytes } => {
                let out = known(provider.only(PriceKind::CrossZoneOut));
                let both = out.usd + known(provider.only(PriceKind::CrossZoneIn)).usd;
                (bytes as f64 / size(out.unit), Price { usd: both, ..out })
            }
            Self::Stored { byte_ns } => (byte_ns as f64 / GIB / MONTH_NS, known(provider.only(PriceKind::BackupStorage))),
            Self::Uploads { requests } => {
                (requests as f64 / (24.0 * HOUR_NS) / 1e3, known(provider.only(PriceKind::BackupRequests)))
            }
        };
        Charge { quantity, unit: price.unit, usd: quantity * price.usd }
    }
}

const GIB: f64 = (1_u64 << 30) as f64;

/// Bytes of a unit of bytes.
pub(in crate::observe) fn size(unit: Unit) -> f64 {
    if unit == Unit::Gib { GIB } else { 1e9 }
}

/// From what was used until `now` to what a month of it would be; nothing of no time.
pub(super) fn per_month(now: Time) -> f64 {
    if now == Time::ZERO { 0.0 } else { MONTH_NS / now.as_nanos() as f64 }
}

/// To a millionth: finer differences are those of rounding. (The sum of nothing is -0.)
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6 + 0.0
}

/// The prices that there is something for in a scenario, provider by provider.
pub(super) fn used(scenario: &Scenario) -> Vec<PriceReport> {
    let (shapes, volumes) = (scenario.prices.shapes(&scenario.kube), scenario.prices.volume_sizes(&scenario.kube));
    let mut rows = Vec::new();
    for provider in &scenario.prices.providers {
        let mut used: Vec<Option<&Price>> = shapes.iter().map(|shape| provider.machine(*shape)).collect();
        used.extend(volumes.iter().map(|bytes| provider.volume(*bytes)));
        let has_balancer = !scenario.kube.seeds.is_empty() || scenario.load_balancers.iter().any(|balancer| balancer.is_charged);
        used.extend(has_balancer.then(|| provider.only(PriceKind::LoadBalancerHours)));
        let in_use = |kind: &PriceKind| {
            scenario.kube.has_shoots_in_use() || matches!(kind, PriceKind::CrossZoneOut | PriceKind::CrossZoneIn)
        };
        let bytes = [
            PriceKind::LoadBalancerBytes,
            PriceKind::CrossZoneOut,
            PriceKind::CrossZoneIn,
            PriceKind::BackupStorage,
            PriceKind::BackupRequests,
        ];
        used.extend(bytes.into_iter().filter(in_use).map(|kind| provider.only(kind)));
        let mut of: Vec<&Price> = used.into_iter().flatten().collect();
        of.dedup();
        rows.extend(of.into_iter().map(|price| row(provider, price)));
    }
    rows
}

fn row(provider: &Provider, price: &Price) -> PriceReport {
    PriceReport {
        provider: provider.name.clone(),
        region: provider.region.clone(),
        kind: price.item.kind(),
        what: price.what.clone().into_owned(),
        usd: price.usd,
        unit: price.unit,
        date: price.date.clone().into_owned(),
        source: price.source.clone().into_owned(),
        check: price.check,
    }
}
