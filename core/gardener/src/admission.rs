//! Which change of its failure tolerance a shoot that has a seed may ask for (GEP-20, "Goals", "Non-Goals" and "Case #2: HA Shoot with
//! Assigned Seed and Updated Failure Tolerance"), and why it is denied that or another seed.

use std::fmt;

use serde::{Deserialize, Serialize};

use zonefall_kernel::traced;
pub use zonefall_kube::spec::gardener::FailureTolerance;
use zonefall_kube::spec::gardener::SeedRejection;

/// Why a change is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Denial {
    /// To survive a zone the shoot has to be on a multi-zonal seed.
    NotMultiZonal,
    /// From one zone to several.
    SingleToMultiZone,
    /// From several zones to one.
    MultiToSingleZone,
    /// From highly available to not.
    Downgrade,
}

traced! { enum Denial { NotMultiZonal = 0, SingleToMultiZone = 1, MultiToSingleZone = 2, Downgrade = 3 } }

impl fmt::Display for Denial {
    /// In the document's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotMultiZonal => {
                "the shoot is not already scheduled on a multi-zonal seed: create it from scratch, or have a Gardener operator move it to \
                 a proper seed first via control plane migration"
            }
            Self::SingleToMultiZone => {
                "upgrading from a single-zone shoot control plane to a multi-zonal shoot control plane is not supported"
            }
            Self::MultiToSingleZone => {
                "going back from a multi-zonal shoot control plane to a single-zone shoot control plane is not supported"
            }
            Self::Downgrade => "downgrading HA shoots to non-HA shoots is not supported",
        })
    }
}

/// Whether a shoot whose seed is multi-zonal or not may change its failure tolerance.
///
/// # Errors
/// Why it may not.
pub const fn admit(from: FailureTolerance, to: FailureTolerance, multi_zonal: bool) -> Result<(), Denial> {
    use FailureTolerance::{Node, None, Zone};
    match (from, to) {
        (None, None | Node) | (Node, Node) | (Zone, Zone) => Ok(()),
        (None, Zone) if multi_zonal => Ok(()),
        (None, Zone) => Err(Denial::NotMultiZonal),
        (Node, Zone) => Err(Denial::SingleToMultiZone),
        (Zone, Node) => Err(Denial::MultiToSingleZone),
        (Node | Zone, None) => Err(Denial::Downgrade),
    }
}

/// Why a shoot is not bound to another seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MigrationDenial {
    /// It has no control plane yet.
    Unscheduled,
    /// It is on its way already.
    Moves,
    /// It is there.
    Same,
    /// What the scheduler would say of that seed.
    Seed(SeedRejection),
}

traced! { enum MigrationDenial { Unscheduled = 0, Moves = 1, Same = 2, Seed(reason) = 3 } }

impl fmt::Display for MigrationDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unscheduled => f.write_str("no seed hosts it yet"),
            Self::Moves => f.write_str("it is on its way to another seed already"),
            Self::Same => f.write_str("it is there already"),
            Self::Seed(SeedRejection::Full) => f.write_str("that seed has no capacity for another shoot"),
            Self::Seed(SeedRejection::TooFewZones { found, needed }) => {
                write!(f, "the shoot is to survive a zone: expected a seed with {needed}, found one with {found}")
            }
            Self::Seed(SeedRejection::OtherRegion) => f.write_str("that seed is in another region"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FailureTolerance::{Node, None, Zone};
    use super::*;

    #[test]
    fn changes() {
        for (from, to, single_zonal, multi_zonal) in [
            (None, Node, Ok(()), Ok(())),
            (None, Zone, Err(Denial::NotMultiZonal), Ok(())),
            (Node, Zone, Err(Denial::SingleToMultiZone), Err(Denial::SingleToMultiZone)),
            (Zone, Node, Err(Denial::MultiToSingleZone), Err(Denial::MultiToSingleZone)),
            (Node, None, Err(Denial::Downgrade), Err(Denial::Downgrade)),
            (Zone, None, Err(Denial::Downgrade), Err(Denial::Downgrade)),
        ] {
            assert_eq!((admit(from, to, false), admit(from, to, true)), (single_zonal, multi_zonal), "{from:?} to {to:?}");
        }
        for same in [None, Node, Zone] {
            assert_eq!((admit(same, same, false), admit(same, same, true)), (Ok(()), Ok(())), "no change");
        }
    }
}
