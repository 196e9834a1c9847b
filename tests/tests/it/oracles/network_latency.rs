//! etcd's benchmark tool on AWS: every row within its bound, topologies in their order (see [`zonefall_tests::latency`]).

use zonefall_tests::latency::laboratory::simulate;
use zonefall_tests::latency::study::{Results, Study};
use zonefall_tests::threads::parallel;

use super::{Outcome, say};

/// A file's rows, simulated.
pub(crate) fn results(text: &str) -> Result<Results, String> {
    let run = |study: &Study| {
        let rows = study.rows();
        parallel(rows.len(), |k| simulate(rows[k], &study.bench))
    };
    Study::of(text)?.simulated(run)
}

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    match results(text) {
        Ok(results) => {
            say(&results.markdown());
            outcome.rows = results.count();
            outcome.failures = results.failures();
        }
        Err(why) => outcome.failures.push(format!("not understood: {why}")),
    }
    outcome
}
