//! Control planes that are not there: shoots for which Gardener's scheduler found no seed.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::scenario::kube::gardener::FailureTolerance;

/// Control planes that are not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingReport {
    /// Control planes that the scenario asks for.
    pub control_planes: u64,
    /// Shoots that no seed takes: their control planes are never created.
    pub shoots: Vec<PendingShootReport>,
}

/// A shoot that no seed takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingShootReport {
    /// Its name.
    pub shoot: String,
    /// The failure that its control plane is to survive.
    pub failure_tolerance: FailureTolerance,
    /// Why each seed does not suit it, in the form of gardener-scheduler's event (`0/2 seed cluster candidate(s) are eligible for
    /// scheduling: {seed => reason, ...}`).
    pub reason: String,
}

impl PendingReport {
    /// One sentence for each kind of what is not there, with the reason that most of it has.
    pub fn sentences(&self) -> Vec<String> {
        let shoots = (!self.shoots.is_empty()).then(|| {
            let verb = if self.shoots.len() == 1 { "was" } else { "were" };
            let why = MostFrequent::of(self.shoots.iter().map(|shoot| shoot.reason.as_str()));
            format!("{} of {} control planes {verb} never created: {why}.", self.shoots.len(), self.control_planes)
        });
        shoots.into_iter().collect()
    }

    /// The heads of [`PendingReport::rows`].
    pub const HEADS: [&'static str; 4] = ["shoots", "failure tolerance", "state", "reason"];

    /// The shoots for a table, those that wait for the same reason in one row.
    pub fn rows(&self) -> Vec<[String; 4]> {
        let mut alike: IndexMap<(FailureTolerance, &str), Vec<&str>> = IndexMap::new();
        for PendingShootReport { shoot, failure_tolerance, reason } in &self.shoots {
            alike.entry((*failure_tolerance, reason)).or_default().push(shoot);
        }
        let row = |((tolerance, reason), shoots): ((FailureTolerance, &str), Vec<&str>)| {
            let shoots = match &shoots[..] {
                [one] => (*one).to_owned(),
                [first, .., last] => format!("{first} to {last} ({})", shoots.len()),
                [] => unreachable!("a row has a shoot"),
            };
            [shoots, tolerance.describe().to_owned(), "Pending".to_owned(), reason.to_owned()]
        };
        alike.into_iter().map(row).collect()
    }
}

/// The reason that most have.
struct MostFrequent<'a> {
    reason: &'a str,
    /// How many have another one.
    others: usize,
}

impl<'a> MostFrequent<'a> {
    /// Of at least one; of equals, the first.
    fn of(reasons: impl Iterator<Item = &'a str>) -> Self {
        let mut counts: IndexMap<&str, usize> = IndexMap::new();
        reasons.for_each(|reason| *counts.entry(reason).or_default() += 1);
        let all: usize = counts.values().sum();
        let most = counts.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
        let (reason, count) = most.expect("something is pending");
        Self { reason, others: all - count }
    }
}

impl fmt::Display for MostFrequent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.others {
            0 => f.write_str(self.reason),
            1 => write!(f, "{} (1 of them for another reason)", self.reason),
            n => write!(f, "{} ({n} of them for other reasons)", self.reason),
        }
    }
}
