//! The report in a few sentences.

use super::{EtcdReport, OutageKind, Report};
use crate::kernel::time::Duration;
use crate::observe::words;

/// One paragraph per cluster; with several clusters each begins with the cluster's name.
pub(super) fn verdict(report: &Report) -> String {
    let several = report.etcd.len() > 1;
    let paragraph = |(name, cluster): (&String, &EtcdReport)| {
        let sentences = sentences(cluster).join(" ");
        if several { format!("{name}: {sentences}") } else { sentences }
    };
    report.etcd.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

fn sentences(cluster: &EtcdReport) -> Vec<String> {
    let writes = service(cluster, OutageKind::Write, "Writes");
    let linearizable = service(cluster, OutageKind::ReadLinearizable, "Linearizable reads");
    let with_writes = linearizable.replacen("Linearizable reads", "Writes", 1) == writes;
    let mut all = if with_writes {
        vec![writes.replacen("Writes", "Writes and linearizable reads", 1)]
    } else {
        vec![writes, linearizable]
    };
    if intervals(cluster, OutageKind::Quorum).next().is_some() {
        all.push(format!("Quorum was gone for {}.", human(cluster.quorum_lost_s)));
        if intervals(cluster, OutageKind::ReadSerializable).next().is_none() {
            all.push("Serializable reads went on.".to_owned());
        }
    }
    if intervals(cluster, OutageKind::ReadSerializable).next().is_some() {
        all.push(service(cluster, OutageKind::ReadSerializable, "Serializable reads"));
    }
    all.push(match cluster.rpo.lost_entries {
        0 => "Nothing was lost.".to_owned(),
        1 => "One committed entry was lost.".to_owned(),
        n => format!("{n} committed entries were lost."),
    });
    all.extend(leader(cluster));
    all.extend(cluster.catch_up.last().map(|c| format!("{} caught up in {}.", c.member, human(c.took_s))));
    all
}

fn intervals(cluster: &EtcdReport, kind: OutageKind) -> impl Iterator<Item = &super::OutageReport> {
    cluster.outages.iter().filter(move |o| o.kind == kind)
}

fn service(cluster: &EtcdReport, kind: OutageKind, what: &str) -> String {
    let all: Vec<_> = intervals(cluster, kind).collect();
    let length = |o: &super::OutageReport| o.to_s - o.from_s;
    match &all[..] {
        [] => format!("{what} never stopped."),
        [one] if one.over => format!("{what} stopped for {}, then went on.", human(length(one))),
        [one] => format!("{what} stopped at {} and did not come back.", human(one.from_s)),
        [.., last] => {
            let total = human(all.iter().map(|o| length(o)).sum());
            let longest = human(all.iter().map(|o| length(o)).fold(0.0, f64::max));
            let n = all.len();
            let end = if last.over { "" } else { "; the last was not over at the end" };
            format!("{what} stopped {n} times, {total} in all, {longest} at most{end}.")
        }
    }
}

fn leader(cluster: &EtcdReport) -> Option<String> {
    let first = cluster.leaders.first()?;
    let last = cluster.leaders.last()?;
    let was = format!("The leader was in {}", first.zone);
    Some(match &cluster.leaders[1..] {
        [] if first.over => format!("{was}; nobody was elected after it."),
        [] => format!("The leader stayed in {}.", first.zone),
        [one] if one.over => format!("{was}; {} was elected, and leads no more.", one.leader),
        [one] if one.leader == first.leader => format!("{was}; {} was elected again.", one.leader),
        [one] => format!("{was}; {} was elected.", one.leader),
        more if last.over => format!("{was}; {} elections followed, and nobody leads at the end.", more.len()),
        more => format!("{was}; {} elections followed, and {} leads at the end.", more.len(), last.leader),
    })
}

/// Seconds of a report in plain words.
fn human(s: f64) -> String {
    words::duration(Duration::from_nanos((s * 1e9).round() as u64))
}
