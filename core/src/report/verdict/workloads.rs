//! Sentences about workloads: Services without a pod that serves, rollouts that end badly, replicated stores without quorum.

use indexmap::IndexMap;

use crate::report::{Report, RolloutReport, ServiceReport, StoreLossReport};
use crate::scenario::text;

/// One sentence for each kind of trouble, about the workload that has most of it.
pub(super) fn sentences(report: &Report) -> Vec<String> {
    [services(report), stores(report), unfinished(report), failed_requests(report)].into_iter().flatten().collect()
}

/// A workload or Service, with its cluster where there are several.
fn named(report: &Report, cluster: &str, name: &str) -> String {
    if report.api.len() > 1 { format!("{name} in {cluster}") } else { name.to_owned() }
}

/// How many others had the same trouble.
fn more(others: usize, what: &str) -> String {
    match others {
        0 => String::new(),
        1 => format!(" (and 1 {what} more)"),
        n => format!(" (and {n} {what}s more)"),
    }
}

/// Which Service was without a pod that served for longest.
fn services(report: &Report) -> Option<String> {
    let down: Vec<&ServiceReport> = report.services.iter().filter(|service| service.unavailable_s > 0.0).collect();
    let longest = down.iter().copied().reduce(|a, b| if b.unavailable_s > a.unavailable_s { b } else { a })?;
    let (name, time) = (named(report, &longest.cluster, &longest.service), text::seconds(longest.unavailable_s));
    let others = more(down.len() - 1, "Service");
    Some(format!("No pod of Service {name} served for {time}{others}."))
}

/// Which store was without quorum for longest, and why it first was.
fn stores(report: &Report) -> Option<String> {
    let mut losses: IndexMap<(&str, &str), Vec<&StoreLossReport>> = IndexMap::new();
    for loss in &report.quorum_losses {
        losses.entry((&loss.cluster, &loss.workload)).or_default().push(loss);
    }
    let others = losses.len().saturating_sub(1);
    let total = |losses: &[&StoreLossReport]| losses.iter().map(|loss| loss.duration_s).sum::<f64>();
    let ((cluster, workload), longest) = losses.into_iter().reduce(|a, b| if total(&b.1) > total(&a.1) { b } else { a })?;
    let (name, time) = (named(report, cluster, workload), text::seconds(total(&longest)));
    let times = if longest.len() > 1 { format!(", {} times", longest.len()) } else { String::new() };
    let (first, cause) = (if longest.len() > 1 { ". First: " } else { ": " }, &longest[0].cause);
    Some(format!("{name} had no quorum for {time}{times}{}{first}{cause}.", more(others, "store")))
}

/// Which rollout was under way for longest when the run ended.
fn unfinished(report: &Report) -> Option<String> {
    let is_open = |of: &&RolloutReport| !of.completed && of.requested_s + of.duration_s >= report.simulated_s;
    let open: Vec<&RolloutReport> = report.rollouts.iter().filter(is_open).collect();
    let longest = open.iter().copied().reduce(|a, b| if b.duration_s > a.duration_s { b } else { a })?;
    let what = if longest.rollback { "rollback" } else { "rollout" };
    let deadline = longest.deadline_exceeded_s.map_or("", |_| ", beyond its progress deadline");
    let why = longest.waits_for.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let (name, others) = (named(report, &longest.cluster, &longest.workload), more(open.len() - 1, "rollout"));
    let (revision, time) = (longest.revision, text::seconds(longest.duration_s));
    Some(format!("The {what} of {name} to revision {revision} was incomplete at the end, after {time}{deadline}{others}{why}."))
}

/// To which workload most requests failed while it was rolled out, or ran a revision with which something is wrong.
fn failed_requests(report: &Report) -> Option<String> {
    let mut failed: IndexMap<(&str, &str), (f64, bool)> = IndexMap::new();
    for rollout in report.rollouts.iter().filter(|rollout| rollout.failed_s > 0.0) {
        let (time, stays) = failed.entry((&rollout.cluster, &rollout.workload)).or_default();
        *time += rollout.failed_s;
        *stays |= rollout.bad && rollout.completed;
    }
    let others = more(failed.len().saturating_sub(1), "workload");
    let ((cluster, workload), (most, stays)) = failed.into_iter().reduce(|a, b| if b.1.0 > a.1.0 { b } else { a })?;
    let (name, time) = (named(report, cluster, workload), text::seconds(most));
    let bad = if stays { " or ran a bad revision" } else { "" };
    Some(format!("While {name} was rolled out{bad}, as many requests failed as it gets in {time}{others}."))
}
