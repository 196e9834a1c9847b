//! What was asked for and refused: changes of shoots and of the membership of etcd, and rollbacks.

use std::sync::Arc;

use super::Observer;
use crate::gardener::admission::MigrationDenial;
use crate::gardener::druid::{MigrationFact, ToleranceFact};
use crate::gardener::record::GardenerRecord;
use crate::kernel::time::Time;
use crate::kube::record::KubeRecord;
use crate::kube::spec::Task;
use crate::kube::spec::gardener::{FailureTolerance, ToleranceChange};
use crate::record::{EtcdRecord, Record};
use crate::report::{RefusedReport, seconds};
use crate::scenario::{Scenario, text};

/// Collects refusals.
#[derive(Clone, Debug)]
pub struct Refused {
    scenario: Arc<Scenario>,
    rows: Vec<RefusedReport>,
}

impl Refused {
    /// Nothing yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { scenario: Arc::clone(scenario), rows: Vec::new() }
    }

    /// All refusals up to `now`, in order.
    pub fn rows(&self, now: Time) -> Vec<RefusedReport> {
        let model = &self.scenario.kube;
        // No controller answers for a shoot that is in no seed.
        let nowhere = |asked: &&ToleranceChange| asked.at <= now && model.shoots[usize::from(asked.shoot)].hosted.is_none();
        let unanswered = model.changes.iter().filter(nowhere).map(|asked| RefusedReport {
            at_s: seconds(asked.at),
            operation: self.set_tolerance(asked.shoot, asked.to),
            reason: MigrationDenial::Unscheduled.to_string(),
        });
        let mut all: Vec<_> = self.rows.iter().cloned().chain(unanswered).collect();
        all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        all
    }

    fn set_tolerance(&self, shoot: u16, to: FailureTolerance) -> String {
        format!("set failure tolerance of shoot {} to {}", self.shoot(shoot), to.describe())
    }

    fn shoot(&self, shoot: u16) -> &str {
        &self.scenario.kube.shoots[usize::from(shoot)].name
    }
}

impl Observer for Refused {
    fn record(&mut self, at: Time, record: &Record) {
        let (operation, reason) = match record {
            Record::Gardener(_, GardenerRecord::Tolerance(shoot, ToleranceFact::Denied(to, why))) => {
                (self.set_tolerance(*shoot, *to), why.to_string())
            }
            Record::Gardener(_, GardenerRecord::Migration(shoot, MigrationFact::Denied(to, why))) => {
                let seed = &self.scenario.kube.seeds[*to].name;
                (format!("migrate shoot {} to seed {seed}", self.shoot(*shoot)), why.to_string())
            }
            Record::Kube(cluster, KubeRecord::OperationRefused(task)) => {
                let cluster = &self.scenario.kube.clusters[*cluster];
                let asked = format!("{}: an operator {}", cluster.name, task.describe(cluster, &*self.scenario));
                let reason = match task {
                    Task::PauseRollout(_) => "is already paused",
                    Task::ResumeRollout(_) => "is not paused",
                    Task::ShiftZone(_) => "traffic is shifted away from a zone already",
                    _ => "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again",
                };
                (asked, reason.to_owned())
            }
            Record::Etcd(EtcdRecord::Membership { change, refused: Some(why) }) => {
                (text::membership_change(*change, &*self.scenario), (*why).to_owned())
            }
            Record::Etcd(EtcdRecord::Maintenance { cluster, task, refused: Some(why) }) => {
                let cluster = &self.scenario.etcd[*cluster].name;
                (format!("{cluster}: {}", text::maintenance(*task, &*self.scenario)), (*why).to_owned())
            }
            _ => return,
        };
        self.rows.push(RefusedReport { at_s: seconds(at), operation, reason });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::observe::testing::{at, member, three_zones};
    use crate::scenario::MemberChange;

    fn told(refused: &Refused, now: Time) -> Vec<(f64, String, String)> {
        refused.rows(now).into_iter().map(|row| (row.at_s, row.operation, row.reason)).collect()
    }

    #[test]
    fn changes_of_membership_that_etcd_refuses() {
        let mut refused = Refused::new(&Arc::new(three_zones()));
        let change = MemberChange::Remove(member(1));
        refused.record(at(5_000), &Record::Etcd(EtcdRecord::Membership { change, refused: None }));
        let why = "etcdserver: unhealthy cluster";
        refused.record(at(6_000), &Record::Etcd(EtcdRecord::Membership { change, refused: Some(why) }));
        assert_eq!(told(&refused, at(9_000)), [(6.0, "remove etcd-main-1".to_owned(), why.to_owned())]);
    }

    /// Its control plane is in no seed whose controllers could answer.
    #[test]
    fn a_change_of_a_shoot_without_a_seed() {
        let file = json!({
            "name": "landscape", "duration": "10m",
            "topology": {"regions": [{"name": "r", "zones": ["za"]}]},
            "seeds": [{"name": "seed", "zones": ["za"], "allocatable_shoots": 0, "pools": [{"name": "cpu", "minimum": 3, "maximum": 3}]}],
            "shoots": [{"name": "s"}],
            "operations": [{"at": "5s", "set_failure_tolerance": {"shoot": "s", "to": "node"}}],
        });
        let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        let refused = Refused::new(&Arc::new(scenario));
        assert_eq!(told(&refused, at(4_000)), []);
        let operation = "set failure tolerance of shoot s to node".to_owned();
        assert_eq!(told(&refused, at(5_000)), [(5.0, operation, "no seed hosts it yet".to_owned())]);
    }
}
