//! The part of a report that is about money. Where a scenario has no prices, JSON has none of it.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::scenario::kube::gardener::FailureTolerance;
use crate::scenario::prices::{Check, PriceKind, Unit};

/// What costs are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostKind {
    /// Machines, as long as they are there.
    Machine,
    /// Volumes, from when they are first used until they are discarded.
    Volume,
    /// Load balancers: one of each seed.
    LoadBalancerHours,
    /// Bytes through load balancers, there and back, as IP packets.
    LoadBalancerBytes,
    /// Bytes between zones of a region, as IP packets.
    CrossZone,
    /// Backups of etcd in a bucket: what it holds, and the requests that upload it.
    Backup,
}

impl CostKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Machine, Self::Volume, Self::LoadBalancerHours, Self::LoadBalancerBytes, Self::CrossZone, Self::Backup];
}

/// What a part of the scenario costs in a month of 730 h, if it goes on as it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostReport {
    /// Who charges it.
    pub provider: String,
    /// What for.
    pub kind: CostKind,
    /// For which shoot; null: it is a seed's own.
    pub shoot: Option<String>,
    /// For which component: a workload or an etcd cluster; `unused`: room on machines that no pod asked for; null: for none.
    pub component: Option<String>,
    /// Zone of the sender; null: not of bytes.
    pub from_zone: Option<String>,
    /// Zone of the receiver.
    pub to_zone: Option<String>,
    /// US dollars in a month.
    pub per_month_usd: f64,
    /// So much in a month.
    pub quantity: f64,
    /// Of these.
    pub unit: Unit,
}

/// A price that costs rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriceReport {
    /// Who charges it.
    pub provider: String,
    /// The region of its book; null: it has none.
    pub region: Option<String>,
    /// What for.
    pub kind: PriceKind,
    /// What the provider calls that.
    pub what: String,
    /// US dollars.
    pub usd: f64,
    /// For one of these.
    pub unit: Unit,
    /// When it was so.
    pub date: String,
    /// Where it stands.
    pub source: String,
    /// How sure it is.
    pub check: Check,
}

/// Costs over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BillReport {
    /// Length of a window, in seconds: that of [`Report::traffic_window_s`](super::Report::traffic_window_s).
    pub window_s: f64,
    /// By provider.
    pub providers: IndexMap<String, ProviderBill>,
}

/// What a provider charges over time, to a billionth of a dollar: the kinds' windows add up to the totals exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderBill {
    /// By kind: US dollars in each window from the start; the last may be shorter.
    pub kinds: IndexMap<CostKind, Vec<f64>>,
    /// US dollars of all kinds from the start to the end of each window.
    pub total_usd: Vec<f64>,
}

/// What a shoot costs in a month on the average of those that survive the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToleranceCostReport {
    /// Who charges it.
    pub provider: String,
    /// What the shoots survive at the start.
    pub tolerance: FailureTolerance,
    /// So many are on the average.
    pub shoots: u32,
    /// What for.
    pub kind: CostKind,
    /// What is theirs: US dollars of each.
    pub own_usd: f64,
    /// What is their seeds' own, and room that nobody asked for, shared out over the shoots of each seed alike: US dollars of each.
    pub shared_usd: f64,
}
