//! Sentences about the clients of an API: how many had an outage, how long the longest one was, and its cause.

use super::{Sentence, at, say};
use crate::report::{AccessReport, Report};
use crate::scenario::text;

/// What follows the words about requests to an API with a load balancer before it: its availability is what new clients get.
pub(super) fn whose(report: &Report, cluster: &str) -> &'static str {
    let is_behind = report.access.iter().any(|row| row.cluster == cluster);
    if is_behind { " of new clients (through the load balancer)" } else { "" }
}

/// A sentence about the clients of a cluster with `api_access`.
pub(super) fn clients(report: &Report, cluster: &str) -> Option<Sentence> {
    let rows: Vec<&AccessReport> = report.access.iter().filter(|row| row.cluster == cluster).collect();
    let sum = |of: fn(&AccessReport) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
    let (count, affected) = (sum(|row| row.count), sum(|row| row.affected));
    if count == 0 {
        return None;
    }
    let longest = rows.iter().flat_map(|row| &row.outages).max_by(|a, b| (a.to_s - a.from_s).total_cmp(&(b.to_s - b.from_s)));
    Some(match longest {
        None => vec![say(format!("An API server answered all {count} clients at all times."))],
        Some(longest) => {
            let end = if longest.completed { "" } else { ", to the end" };
            vec![
                say(format!("{affected} of {count} clients had no API server that answered, for up to ")),
                at(longest.from_s, format!("{}{end}", text::seconds(longest.to_s - longest.from_s))),
                say(format!(". Cause for {}: {}.", longest.client, longest.cause)),
            ]
        }
    })
}
