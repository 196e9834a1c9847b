//! What it costs over time: totals at the end of each window, and what was added in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::price::Quantity;
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

/// The bill of each provider. Meters turn into dollars once, as totals in whole nano-dollars; what a window adds is the difference of
/// two of them. So windows add up to their kind, and kinds to what is charged in all, exactly.
pub(super) fn report(windows: &[(Time, Arc<Totals>)], window: Duration, scenario: &Scenario) -> BillReport {
    let bill = |provider: &Provider| {
        let running = CostKind::ALL.map(|kind| (kind, running(windows, kind, provider)));
        let total = |i: usize| usd(running.iter().map(|(_, so_far)| so_far[i]).sum());
        let total_usd = (0..windows.len()).map(total).collect();
        let added = |so_far: &[u64]| {
            let before = std::iter::once(&0).chain(so_far);
            so_far.iter().zip(before).map(|(now, before)| usd(now - before)).collect()
        };
        let kinds = running.iter().map(|(kind, so_far)| (*kind, added(so_far))).collect();
        (provider.name.clone(), ProviderBill { kinds, total_usd })
    };
    BillReport { window_s: length(window), providers: scenario.prices.providers.iter().map(bill).collect() }
}

/// Nano-dollars of a kind until the end of each window. They never get less, though bytes may by some: rounded ones less rounded headers.
fn running(windows: &[(Time, Arc<Totals>)], kind: CostKind, provider: &Provider) -> Vec<u64> {
    let until = |so_far: &mut u64, (_, totals): &(Time, Arc<Totals>)| {
        *so_far = (totals.usd(kind, provider) * NANO).round().max(*so_far as f64) as u64;
        Some(*so_far)
    };
    windows.iter().scan(0, until).collect()
}

const NANO: f64 = 1e9;

fn usd(nanos: u64) -> f64 {
    nanos as f64 / NANO
}
