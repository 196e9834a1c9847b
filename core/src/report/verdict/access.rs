//! What is said of the clients of an API: who had no API server that answered, for how long, and why.

use super::{Sentence, at, say};
use crate::report::{AccessReport, Report};
use crate::scenario::text;

/// A sentence about the clients of a cluster, where it says how they reach its API servers.
pub(super) fn clients(report: &Report, cluster: &str) -> Option<Sentence> {
    let rows: Vec<&AccessReport> = report.access.iter().filter(|row| row.cluster == cluster).collect();
    let sum = |of: fn(&AccessReport) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
    let (count, hit) = (sum(|row| row.count), sum(|row| row.hit));
    if count == 0 {
        return None;
    }
    let longest = rows.iter().flat_map(|row| &row.cut_off).max_by(|a, b| (a.to_s - a.from_s).total_cmp(&(b.to_s - b.from_s)));
    Some(match longest {
        None => vec![say(format!("None of its {count} clients lost its way to an API server."))],
        Some(longest) => {
            let lasted = text::seconds(longest.to_s - longest.from_s);
            let end = if longest.completed { "" } else { " and to the end" };
            vec![
                say(format!(
                    "{hit} of its {count} clients had no API server that answered; the longest, {}, for ",
                    longest.client
                )),
                at(longest.from_s, format!("{lasted}{end}")),
                say(format!(": {}.", longest.cause)),
            ]
        }
    })
}
