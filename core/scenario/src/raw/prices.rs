//! Prices of what runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prices::{PriceBookName, PriceKind, Unit};
use crate::units::{Name, Size};

/// Prices of machines, volumes, load balancers and traffic between zones. Each provider is charged for the whole scenario, as
/// if it ran there. Without a book or price (`books: []`) no costs are computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawPrices {
    /// Price books, at most one per provider (`zonefall prices` prints them). Where they are left out and the book that comes instead
    /// lacks a price of something, no costs are computed, and a warning says why.
    #[schemars(
        length(max = 10),
        extend(
            "default" = ["aws-eu-west-1"],
            "x-default" = "aws-eu-west-1; none where `custom` has prices",
            "x-source" = "GEP-20: examples are in eu-west-1"
        )
    )]
    pub books: Option<Vec<PriceBookName>>,
    /// Shape that all machines are charged as: `<CPUs>cpu-<GiB>gib`.
    #[schemars(extend("x-default" = "as what they are (`pools[].machine`), by the cheapest type in the book that has as much", "x-source" = "clouds charge by the type of machine"))]
    pub machine: Option<String>,
    /// Custom prices: of a provider without a book, or to override those in its book.
    #[schemars(length(max = 1_000))]
    pub custom: Vec<RawPrice>,
}

/// A price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawPrice {
    /// Name of the provider.
    pub provider: Name,
    /// Kind of price.
    pub kind: PriceKind,
    /// Shape of the machine: `<CPUs>cpu-<GiB>gib`.
    #[serde(default)]
    #[schemars(extend("x-default" = "needed for a machine, and for nothing else", "x-source" = "clouds charge by the type of machine"))]
    pub machine: Option<String>,
    /// Size of the largest volume in this price tier.
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
    /// Unit of the price.
    pub unit: Unit,
    /// Date of the price: `2026-01` or `2026-01-31`.
    #[schemars(length(max = 10))]
    pub date: String,
    /// Source of the price.
    #[schemars(length(min = 1, max = 1_000))]
    pub source: String,
}
