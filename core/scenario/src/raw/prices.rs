//! What is charged for what runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prices::{PriceBookName, PriceKind, Unit};
use crate::units::{Name, Size};

/// What clouds charge for machines, volumes, load balancers and bytes between zones. Each provider is charged for the whole scenario, as
/// if it ran there. Nothing is metered where there is neither a book nor a price.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawPrices {
    /// Price books, at most one of each provider (`zonefall prices` prints them).
    #[schemars(length(max = 10))]
    pub books: Vec<PriceBookName>,
    /// All machines are charged as this one: `<CPUs>cpu-<GiB>gib`.
    #[schemars(extend("x-default" = "as what they are (`pools[].machine`)", "x-source" = "clouds charge by the type of machine"))]
    pub machine: Option<String>,
    /// Prices of a provider without a book, or instead of those in its book.
    #[schemars(length(max = 1_000))]
    pub custom: Vec<RawPrice>,
}

/// A price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawPrice {
    /// Who charges it.
    pub provider: Name,
    /// What for.
    pub kind: PriceKind,
    /// Which machine: `<CPUs>cpu-<GiB>gib`.
    #[serde(default)]
    #[schemars(extend("x-default" = "needed for a machine, and for nothing else", "x-source" = "clouds charge by the type of machine"))]
    pub machine: Option<String>,
    /// The largest volume that it is the price of.
    #[serde(default)]
    #[schemars(extend(
        "x-max" = "1PiB",
        "x-default" = "needed for a price per disk-month, and for nothing else",
        "x-source" = "clouds charge volumes by size or by tier"
    ))]
    pub up_to: Option<Size>,
    /// US dollars.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub usd: f64,
    /// For one of these.
    pub unit: Unit,
    /// When it was so: `2026-01` or `2026-01-31`.
    #[schemars(length(max = 10))]
    pub date: String,
    /// Where it stands.
    #[schemars(length(min = 1, max = 1_000))]
    pub source: String,
}
