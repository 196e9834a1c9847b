//! From where availability is judged.

use serde::{Deserialize, Serialize};

use crate::ids::ZoneId;
use crate::inventory::Inventory;
use zonefall_kernel::time::Duration;
use zonefall_kernel::traced;

/// Place of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Vantage {
    /// A zone.
    Zone(ZoneId),
    /// Outside the region, as users of an API are.
    Outside,
}

traced! { enum Vantage { Zone(zone) = 0, Outside = 1 } }

impl Vantage {
    /// Name of the zone, or `outside`.
    pub fn name(self, scenario: &dyn Inventory) -> &str {
        match self {
            Self::Zone(zone) => &scenario.zones()[zone].name,
            Self::Outside => "outside",
        }
    }
}

/// Vantages whose clients decide whether a service counts as available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeFrom {
    /// All that are connected to the rest of the world: the worst of them counts.
    Worst,
    /// Any: the best counts.
    Best,
    /// One of them.
    At(Vantage),
}

impl ProbeFrom {
    /// As a scenario file says it.
    pub fn name(self, scenario: &dyn Inventory) -> &str {
        match self {
            Self::Worst => "worst",
            Self::Best => "best",
            Self::At(vantage) => vantage.name(scenario),
        }
    }

    /// The zone, where it is one.
    pub const fn zone(self) -> Option<ZoneId> {
        match self {
            Self::At(Vantage::Zone(zone)) => Some(zone),
            Self::Worst | Self::Best | Self::At(Vantage::Outside) => None,
        }
    }
}

/// How availability is judged: see `observe::availability` of zonefall-core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whose availability counts.
    pub from: ProbeFrom,
    /// An answer that takes longer than this is no answer.
    pub deadline: Duration,
}
