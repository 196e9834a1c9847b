//! What etcd-druid and gardenlet do to control planes, in plain words.

use super::{DruidFact, FailureTolerance, ToleranceFact};

impl DruidFact {
    /// What happens to the pods of an etcd cluster of this name.
    pub fn words(self, set: &str) -> String {
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
    pub fn words(self, shoot: &str) -> String {
        match self {
            Self::Admitted(to) => format!("shoot {shoot} is to survive {}", failure(to)),
            Self::Denied(to, denial) => format!("shoot {shoot} is not made to survive {}: {denial}", failure(to)),
            Self::Follows(to) => format!("shoot {shoot}: etcd survives {}, the other components follow", failure(to)),
            Self::Done(to) => format!("shoot {shoot} survives {}", failure(to)),
        }
    }
}

const fn failure(tolerance: FailureTolerance) -> &'static str {
    match tolerance {
        FailureTolerance::None => "no failure",
        FailureTolerance::Node => "the failure of a node",
        FailureTolerance::Zone => "the failure of a zone",
    }
}
