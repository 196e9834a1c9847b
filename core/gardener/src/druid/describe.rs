//! What etcd-druid and gardenlet do to control planes, in plain words.

use super::{DruidFact, FailureTolerance, MigrationFact, ToleranceFact};
use zonefall_kube::spec::gardener::Seed;
use zonefall_scenario::ids::SeedId;

impl DruidFact {
    /// What happens to the pods of an etcd cluster of this name.
    pub fn describe(self, set: &str) -> String {
        match self {
            Self::Relaxed => format!("{set}: members may share a zone, though they prefer not to"),
            Self::Required => format!("{set}: members must be in zones of their own again"),
            Self::Moves(ordinal) => {
                format!("{set}-{ordinal} leaves its zone, which has an outage: it is deleted with its volume")
            }
            Self::Returns(ordinal) => {
                format!("{set}-{ordinal} makes room for one in the zone that has recovered: it is deleted with its volume")
            }
            Self::Spent(ordinal) => {
                format!("{set}-{ordinal} should move, but has been as many members as this simulation allows for: it stays")
            }
            Self::Restarts => format!("{set} starts anew, with TLS between its members"),
            Self::Grows(members) => format!("{set} is to have {members} members"),
        }
    }
}

impl ToleranceFact {
    /// What becomes of a shoot of this name.
    pub fn describe(self, shoot: &str) -> String {
        match self {
            Self::Admitted(to) => format!("shoot {shoot} is to survive {}", failure(to)),
            Self::Denied(to, denial) => format!("shoot {shoot} is not made to survive {}: {denial}", failure(to)),
            Self::Follows(to) => format!("shoot {shoot}: etcd survives {}, the other components follow", failure(to)),
            Self::Done(to) => format!("shoot {shoot} survives {}", failure(to)),
        }
    }
}

impl MigrationFact {
    /// What becomes of a shoot of this name.
    pub fn describe(self, shoot: &str, seeds: &[Seed]) -> String {
        let name = |seed: SeedId| &seeds[usize::from(seed.0)].name;
        let text = match self {
            Self::Admitted(from, to) => format!("is to move from seed {} to seed {}", name(from), name(to)),
            Self::Denied(to, denial) => format!("does not move to seed {}: {denial}", name(to)),
            Self::Leaves => "leaves: its API servers and controllers are to end".to_owned(),
            Self::Closed => "has no API server left: its etcd makes a last snapshot".to_owned(),
            Self::Kept => "has its etcd in the backup bucket: the members are to end, with their volumes".to_owned(),
            Self::Gone => "has nothing left here".to_owned(),
            Self::Restores(_) => "arrives: its etcd is restored from the backup bucket, one member first".to_owned(),
            Self::Restored => "has its etcd: API servers follow".to_owned(),
            Self::Serves => "has its API servers: the other components and members follow".to_owned(),
            Self::Done => "is there".to_owned(),
        };
        format!("shoot {shoot} {text}")
    }
}

/// What is to be survived.
pub const fn failure(tolerance: FailureTolerance) -> &'static str {
    match tolerance {
        FailureTolerance::None => "no failure",
        FailureTolerance::Node => "the failure of a node",
        FailureTolerance::Zone => "the failure of a zone",
    }
}
