//! Shoots that were asked to move to another seed: how far that came, and what each step waited for.

use super::apis::Apis;
use crate::gardener::druid::MigrationFact;
use crate::gardener::record::GardenerRecord;
use crate::ids::SeedId;
use crate::kernel::time::{Duration, Time};
use crate::kube::spec::Component;
use crate::report::{MigrationReport, WaitReport, length, seconds};
use crate::scenario::Scenario;
use crate::scenario::text;

/// Follows all of them.
#[derive(Clone, Debug, Default)]
pub struct Migrations {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    shoot: u16,
    asked: Time,
    answer: MigrationFact,
    /// Steps taken since, of [`STEPS`] one after the other.
    steps: Vec<Time>,
}

/// The steps, each with what is waited for before it; by the old seed first, then by the new one.
const STEPS: [(&str, &str); 8] = [
    ("leaves", "the gardenlet of its old seed to start the migration"),
    ("closed", "its API servers to stop"),
    ("kept", "a snapshot of its etcd to be uploaded to the backup bucket"),
    ("gone", "its remaining pods to be deleted"),
    ("restores", "the gardenlet of its new seed"),
    ("restored", "its etcd to be restored from the backup bucket"),
    ("serves", "its API servers to be ready"),
    ("done", "its other components and etcd members to be ready"),
];

/// So many are the old seed's.
const OLD: usize = 4;

impl Migrations {
    /// Takes note of a fact.
    pub fn record(&mut self, at: Time, fact: &GardenerRecord) {
        let GardenerRecord::Migration(shoot, fact) = *fact else { return };
        if matches!(fact, MigrationFact::Admitted(..) | MigrationFact::Denied(..)) {
            self.rows.push(Row { shoot, asked: at, answer: fact, steps: Vec::new() });
        } else {
            let under_way = |row: &&mut Row| row.shoot == shoot && matches!(row.answer, MigrationFact::Admitted(..));
            self.rows.iter_mut().rfind(under_way).expect("what goes on was admitted").steps.push(at);
        }
    }

    /// All of them, in the order they were asked for, as they stand `now`.
    pub fn rows(&self, now: Time, apis: &Apis, scenario: &Scenario) -> Vec<MigrationReport> {
        self.rows.iter().map(|row| row.report(now, apis, scenario)).collect()
    }
}

impl Row {
    fn report(&self, now: Time, apis: &Apis, scenario: &Scenario) -> MigrationReport {
        let model = &scenario.kube;
        let shoot = &model.shoots[usize::from(self.shoot)];
        let name = |seed: SeedId| model.seeds[seed].name.clone();
        let (from, to, denied) = match self.answer {
            MigrationFact::Admitted(from, to) => (Some(from), to, None),
            MigrationFact::Denied(to, denial) => (None, to, Some(denial.to_string())),
            _ => unreachable!("{:?} answers nothing", self.answer),
        };
        let over = self.steps.len() == STEPS.len();
        let until = if over { self.steps[STEPS.len() - 1] } else { now };
        let down =
            shoot.hosted.as_ref().filter(|_| from.is_some()).map(|hosted| apis.no_writes(hosted.cluster, self.asked, until));
        MigrationReport {
            shoot: shoot.name.clone(),
            from: from.map(name),
            to: name(to),
            requested_s: seconds(self.asked),
            denied,
            write_unavailable_s: length(down.unwrap_or(Duration::ZERO)),
            duration_s: length(if from.is_some() { until.since(self.asked) } else { Duration::ZERO }),
            completed: over || from.is_none(),
            waits: from.map(|from| self.waits(now, [from, to], apis, scenario)).unwrap_or_default(),
        }
    }

    /// The steps taken, and the one that is waited for.
    fn waits(&self, now: Time, [from, to]: [SeedId; 2], apis: &Apis, scenario: &Scenario) -> Vec<WaitReport> {
        let ends = self.steps.iter().map(|at| (*at, true)).chain(std::iter::once((now, false)));
        let (mut since, mut waits) = (self.asked, Vec::new());
        for ((until, what), (end, over)) in STEPS.into_iter().zip(ends) {
            let seed = &scenario.kube.seeds[if waits.len() < OLD { from } else { to }];
            let late = describe_idle(&seed.name, apis.idle(seed.cluster, Component::Gardenlet, since, end));
            let (until, from_s, to_s) = (until.to_owned(), seconds(since), seconds(end));
            waits.push(WaitReport { until, from_s, to_s, completed: over, waits_for: format!("{what}{late}") });
            since = end;
        }
        waits
    }
}

fn describe_idle(seed: &str, idle: Duration) -> String {
    if idle == Duration::ZERO {
        return String::new();
    }
    format!("; for {} the {} of {seed} was inactive", text::duration(idle), Component::Gardenlet.name())
}
