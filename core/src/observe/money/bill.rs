//! What it costs over time: totals at the end of each window, and what was added in it.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::price::{Quantity, rounded};
use crate::kernel::time::{Duration, Time};
use crate::report::{BillReport, CostKind, ProviderBill, length};
use crate::scenario::Scenario;
use crate::scenario::prices::{Provider, Shape};

/// All meters since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Nanoseconds of machines, by what they are charged as.
    pub(super) machines: BTreeMap<Shape, u128>,
    /// Nanoseconds of volumes, by their bytes.
    pub(super) volumes: BTreeMap<u64, u128>,
    /// Nanoseconds of load balancers.
    pub(super) balancers: u128,
    /// Bytes through them.
    pub(super) balanced: u64,
    /// Bytes that have left a zone for another one of its region.
    pub(super) crossing: u64,
    /// Bytes of backups, times nanoseconds.
    pub(super) stored: u128,
    /// Requests in a day that upload them, times nanoseconds.
    pub(super) uploads: u128,
}

impl Totals {
    /// What was added since `before`.
    fn since(&self, before: &Self) -> Self {
        fn less<K: Copy + Ord>(now: &BTreeMap<K, u128>, before: &BTreeMap<K, u128>) -> BTreeMap<K, u128> {
            now.iter().map(|(key, ns)| (*key, ns - before.get(key).copied().unwrap_or_default())).collect()
        }
        Self {
            machines: less(&self.machines, &before.machines),
            volumes: less(&self.volumes, &before.volumes),
            balancers: self.balancers - before.balancers,
            balanced: self.balanced.saturating_sub(before.balanced),
            // Rounded bytes less rounded headers may be some bytes less than before.
            crossing: self.crossing.saturating_sub(before.crossing),
            stored: self.stored - before.stored,
            uploads: self.uploads - before.uploads,
        }
    }

    fn quantities(&self) -> impl Iterator<Item = Quantity> {
        let machines = self.machines.iter().map(|(shape, ns)| Quantity::Machine { shape: *shape, ns: *ns });
        let volumes = self.volumes.iter().map(|(bytes, ns)| Quantity::Volume { bytes: *bytes, ns: *ns });
        let others = [
            Quantity::Balancer { ns: self.balancers },
            Quantity::Balanced { bytes: self.balanced },
            Quantity::Crossing { bytes: self.crossing },
            Quantity::Stored { byte_ns: self.stored },
            Quantity::Uploads { requests: self.uploads },
        ];
        machines.chain(volumes).chain(others).filter(|quantity| quantity.is_some())
    }

    /// US dollars of a kind.
    fn usd(&self, kind: CostKind, provider: &Provider) -> f64 {
        self.quantities().filter(|quantity| quantity.kind() == kind).map(|quantity| quantity.charge(provider).usd).sum()
    }
}

/// The bill of each provider.
pub(super) fn report(windows: &[(Time, Totals)], window: Duration, scenario: &Scenario) -> BillReport {
    let start = Totals::default();
    let before = std::iter::once(&start).chain(windows.iter().map(|(_, totals)| totals));
    let added: Vec<Totals> = windows.iter().zip(before).map(|((_, totals), before)| totals.since(before)).collect();
    let bill = |provider: &Provider| {
        let series = |kind| added.iter().map(|window| rounded(window.usd(kind, provider))).collect();
        let total =
            |(_, totals): &(Time, Totals)| rounded(CostKind::ALL.into_iter().map(|kind| totals.usd(kind, provider)).sum());
        let kinds: IndexMap<CostKind, Vec<f64>> = CostKind::ALL.into_iter().map(|kind| (kind, series(kind))).collect();
        (provider.name.clone(), ProviderBill { kinds, total_usd: windows.iter().map(total).collect() })
    };
    BillReport { window_s: length(window), providers: scenario.prices.providers.iter().map(bill).collect() }
}
