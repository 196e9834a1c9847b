//! What Gardener does to control planes, in plain words.

use crate::outage::{OutageFact, OutageSign};
use crate::record::GardenerRecord;
use zonefall_kube::spec::KubeClusterSpec;
use zonefall_scenario::Scenario;

impl GardenerRecord {
    /// The record in plain words, names resolved.
    pub fn describe(&self, cluster: &KubeClusterSpec, scenario: &Scenario) -> String {
        let text = match *self {
            Self::ZoneOutage(zone, fact) => {
                let zone = &scenario.zones[zone].name;
                match fact {
                    OutageFact::Detected(OutageSign::DeletionFails) => {
                        format!("gardenlet detects an outage of {zone}: machines cannot be deleted")
                    }
                    OutageFact::Detected(OutageSign::DeletionWorks) => {
                        format!("gardenlet detects an outage of {zone}: new machines do not join")
                    }
                    OutageFact::Ended => format!("gardenlet detects that {zone} has recovered: a machine is running again"),
                }
            }
            Self::Druid(set, fact) => {
                let set = &cluster.workloads[set];
                fact.describe(&format!("{}/{}", scenario.kube.word(set.namespace), set.name))
            }
            Self::Tolerance(shoot, fact) => fact.describe(&scenario.kube.shoots[usize::from(shoot)].name),
            Self::Migration(shoot, fact) => fact.describe(&scenario.kube.shoots[usize::from(shoot)].name, &scenario.kube.seeds),
        };
        format!("{}: {text}", cluster.name)
    }
}
