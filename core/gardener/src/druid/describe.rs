//! What etcd-druid and gardenlet do to control planes, in plain words.

use crate::record::{DruidFact, MigrationFact, ToleranceFact};
use zonefall_kube::spec::gardener::Seed;
use zonefall_scenario::ids::{SeedId, TiSlice};

impl DruidFact {
    /// The fact in plain words; `set` is the name of the etcd cluster.
    pub fn describe(self, set: &str) -> String {
        match self {
            Self::Relaxed => format!("{set}: the zone anti-affinity of the members becomes preferred"),
            Self::Required => format!("{set}: the zone anti-affinity of the members becomes required again"),
            Self::Moves(ordinal) => {
                format!("{set}-{ordinal} is deleted with its volume to move out of a zone with an outage")
            }
            Self::Returns(ordinal) => {
                format!("{set}-{ordinal} is deleted with its volume to move to the recovered zone")
            }
            Self::Spent(ordinal) => {
                format!("{set}-{ordinal} cannot move again: it has reached the simulation's limit of member replacements")
            }
            Self::Restarts => format!("{set} restarts with TLS between its members"),
            Self::Grows(members) => format!("{set} is scaled to {members} members"),
        }
    }
}

impl ToleranceFact {
    /// The fact in plain words, of a shoot of this name.
    pub fn describe(self, shoot: &str) -> String {
        match self {
            Self::Admitted(to) => format!("shoot {shoot}: failure tolerance {} is requested", to.describe()),
            Self::Denied(to, denial) => format!("shoot {shoot}: failure tolerance {} is denied: {denial}", to.describe()),
            Self::Follows(to) => {
                format!("shoot {shoot}: etcd has failure tolerance {}; the other components follow", to.describe())
            }
            Self::Done(to) => format!("shoot {shoot} has failure tolerance {}", to.describe()),
        }
    }
}

impl MigrationFact {
    /// The fact in plain words, of a shoot of this name.
    pub fn describe(self, shoot: &str, seeds: &TiSlice<SeedId, Seed>) -> String {
        let name = |seed: SeedId| &seeds[seed].name;
        let text = match self {
            Self::Admitted(from, to) => format!("starts to migrate from seed {} to seed {}", name(from), name(to)),
            Self::Denied(to, denial) => format!("does not migrate to seed {}: {denial}", name(to)),
            Self::Leaves => "is migrated away: its API servers and controllers are scaled down".to_owned(),
            Self::Closed => "has no API server left: its etcd takes a final snapshot".to_owned(),
            Self::Kept => "has its etcd in the backup bucket: the members and their volumes are deleted".to_owned(),
            Self::Gone => "has no pods left on this seed".to_owned(),
            Self::Restores(_) => {
                "is restored on this seed: its etcd is restored from the backup bucket, one member first".to_owned()
            }
            Self::Restored => "has etcd: the API servers follow".to_owned(),
            Self::Serves => "has API servers: the other components and etcd members follow".to_owned(),
            Self::Done => "is migrated".to_owned(),
        };
        format!("shoot {shoot} {text}")
    }
}
