//! The report in a few sentences, as words that know the moments they speak of.

mod access;
mod kube;
mod workloads;

use super::cluster::lasts_all_of;
use super::{BudgetReport, DeadlockReport, EtcdReport, OutageKind, OutageReport, PendingReport, Report, vantage};
use crate::etcd::command_bytes::is_full;
use crate::etcd::view::Down;
use crate::scenario::text;
use indexmap::IndexMap;

/// A few words of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Phrase {
    /// The words, with the spaces that belong between them and their neighbours.
    pub text: String,
    /// The moment they speak of, in seconds; `None` for words between.
    pub at_s: Option<f64>,
}

/// The sentences about one cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Paragraph {
    /// The cluster's name.
    pub cluster: String,
    /// Whether it is an etcd cluster; otherwise a Kubernetes cluster, or all of them.
    pub about_etcd: bool,
    /// Sentences, each of a few phrases; the most important one first.
    pub sentences: Vec<Vec<Phrase>>,
}

/// Kubernetes first, then each etcd cluster.
pub(super) fn paragraphs(report: &Report) -> Vec<Paragraph> {
    let etcd = |(name, cluster): (&String, &EtcdReport)| Paragraph {
        cluster: name.clone(),
        about_etcd: true,
        sentences: sentences(cluster),
    };
    kube::paragraphs(report).into_iter().chain(report.etcd.iter().map(etcd)).collect()
}

/// What is not there at all, and what became of workloads.
pub(super) fn headlines(report: &Report) -> Vec<String> {
    let pending = report.pending.iter().flat_map(PendingReport::sentences);
    pending.chain(deadlocks(report)).chain(several_zones(report)).chain(workloads::sentences(report)).collect()
}

/// All of it as text; with several clusters each paragraph begins with the name of the first that it is true of, and how many more.
/// What is not there at all comes first; where there are prices, they come last.
pub(super) fn verdict(report: &Report) -> String {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    // Of many control planes a sentence sums up what is said of their etcd clusters.
    let few = |paragraph: &Paragraph| !paragraph.about_etcd || report.api.len() <= kube::FEW;
    for paragraph in paragraphs(report).into_iter().filter(few) {
        let words = paragraph.sentences.iter().map(|sentence| text(sentence)).collect::<Vec<_>>().join(" ");
        match said.iter_mut().find(|(known, _)| *known == words) {
            Some((_, clusters)) => clusters.push(paragraph.cluster),
            None => said.push((words, vec![paragraph.cluster])),
        }
    }
    let several = report.etcd.len() + report.api.len() > 1;
    let line = |(words, clusters): &(String, Vec<String>)| match &clusters[..] {
        _ if !several => words.clone(),
        [one] => format!("{one}: {words}"),
        [one, another] => format!("{one} and {another}: {words}"),
        [one, more @ ..] => format!("{one} and {} more: {words}", more.len()),
        [] => unreachable!("what is said is said of a cluster"),
    };
    headlines(report).into_iter().chain(said.iter().map(line)).chain(report.month()).collect::<Vec<_>>().join(
        "
",
    )
}

/// Pods that find no node until somebody acts, and what ends that: a sentence for each namespace.
fn deadlocks(report: &Report) -> Vec<String> {
    let mut namespaces: IndexMap<(&str, &str), Vec<&DeadlockReport>> = IndexMap::new();
    for row in &report.failback {
        namespaces.entry((&row.cluster, &row.namespace)).or_default().extend(&row.deadlock);
    }
    let sentence = |((cluster, namespace), all): ((&str, &str), Vec<&DeadlockReport>)| {
        let of = of_cluster(cluster, report);
        let (first, count) = (all.first()?, |deadlock: &&DeadlockReport| deadlock.pods.len());
        let (pods, more) = (text::list(&first.pods), all[1..].iter().map(count).sum::<usize>());
        let more = if more == 0 { String::new() } else { format!(" (and {more} more pods)") };
        let (zone, others) = (&first.zone, text::list(&first.others));
        Some(format!(
            "Zonal deadlock in {namespace}{of}: {pods}{more} find no node, for their volumes are in {zone} and pods that they must share a \
             zone with are in {others}. Nothing moves those: scale their workloads to 0 replicas, and back once the others have nodes."
        ))
    };
    namespaces.into_iter().filter_map(sentence).collect()
}

/// Which cluster it is in, where there are several.
fn of_cluster(name: &str, report: &Report) -> String {
    if report.api.len() > 1 { format!(" of {name}") } else { String::new() }
}

/// Budgets that let evictions disrupt several zones at once, or could not keep drains from it that had timed out: a sentence for each.
fn several_zones(report: &Report) -> Vec<String> {
    let sentence = |row: &BudgetReport| {
        let BudgetReport { cluster, kind, budget, granted, second_zone, second_zone_by_force, .. } = row;
        let (of, words) = (of_cluster(cluster, report), second_zone.as_ref()?);
        Some(if *second_zone_by_force {
            let allowed = if *granted == 0 { ", which allowed no eviction" } else { "" };
            format!("Several zones were disrupted at once against {kind} {budget}{of}{allowed}: {words}.")
        } else {
            format!("{kind} {budget}{of} let evictions disrupt several zones at once: {words}.")
        })
    };
    report.budgets.iter().filter_map(sentence).collect()
}

type Sentence = Vec<Phrase>;

fn text(sentence: &[Phrase]) -> String {
    sentence.iter().map(|phrase| phrase.text.as_str()).collect()
}

fn say(text: impl Into<String>) -> Phrase {
    Phrase { text: text.into(), at_s: None }
}

fn at(at_s: f64, text: impl Into<String>) -> Phrase {
    Phrase { text: text.into(), at_s: Some(at_s) }
}

fn sentences(cluster: &EtcdReport) -> Vec<Sentence> {
    let reads = "Linearizable reads";
    let words = |kind| text(&service(cluster, kind, ""));
    let stale_reads = intervals(cluster, OutageKind::ReadSerializable).next().is_some();
    let linearizable = words(OutageKind::Write) == words(OutageKind::ReadLinearizable);
    let alike = linearizable && stale_reads && words(OutageKind::Write) == words(OutageKind::ReadSerializable);
    let mut all = if linearizable {
        vec![service(cluster, OutageKind::Write, if alike { "Writes and reads" } else { "Writes and linearizable reads" })]
    } else {
        vec![service(cluster, OutageKind::Write, "Writes"), service(cluster, OutageKind::ReadLinearizable, reads)]
    };
    if let Some(first) = intervals(cluster, OutageKind::Quorum).next() {
        all.push(vec![say("Quorum was lost for "), at(first.from_s, text::seconds(cluster.quorum_lost_s)), say(".")]);
        if !stale_reads {
            all.push(vec![say("Serializable reads remained available.")]);
        }
    }
    if stale_reads && !alike {
        all.push(service(cluster, OutageKind::ReadSerializable, "Serializable reads"));
    }
    all.extend(taken_over(cluster));
    all.push(lost(cluster));
    all.extend(leader(cluster));
    all.extend(no_space(cluster));
    if cluster.requests.rejected > 0 {
        all.push(vec![say(format!("API servers rejected {} requests (429).", cluster.requests.rejected))]);
    }
    all.extend(
        cluster
            .catch_up
            .last()
            .map(|c| vec![say(format!("{} caught up in ", c.member)), at(c.at_s, text::seconds(c.duration_s)), say(".")]),
    );
    all.extend(down(cluster));
    all
}

/// Who is down at the end, what the next loss would cost, and who does not start by itself.
fn down(cluster: &EtcdReport) -> Option<Sentence> {
    let of = |reasons: &[Down]| -> Vec<&str> {
        let down = cluster.members.iter().filter(|member| member.down.is_some_and(|down| reasons.contains(&down)));
        down.map(|member| member.name.as_str()).collect()
    };
    let (all, empty) = (of(&[Down::HeldDown, Down::NoData, Down::Starting]), of(&[Down::NoData]));
    let verb = match all.len() {
        0 => return None,
        1 => "was",
        _ => "were",
    };
    let at_the_limit = cluster.tolerance.last().is_some_and(|row| row.failure_tolerance == 0 && row.voters > 1);
    let next = if at_the_limit { "; the loss of one more voter costs the quorum" } else { "" };
    let whose = if all.len() == 1 { "It".to_owned() } else { text::list(&empty) };
    let lost = match empty.len() {
        0 => String::new(),
        1 => format!(" {whose} has lost its data, and starts when it is removed and added again."),
        _ => format!(" {whose} have lost their data, and start when they are removed and added again."),
    };
    Some(vec![say(format!("{} {verb} down at the end{next}.{lost}", text::list(&all)))])
}

/// Whose database was full, and what makes writes possible again.
fn no_space(cluster: &EtcdReport) -> Option<Sentence> {
    let quota = text::bytes(cluster.quota_bytes);
    let Some(first) = cluster.alarms.first() else {
        // No put that members take for one has raised the alarm.
        let full = cluster.members.iter().find(|member| is_full(member.database_bytes, cluster.quota_bytes))?;
        return Some(vec![say(format!(
            "The database of {} has reached its quota of {quota}: it refuses what is put.",
            full.name
        ))]);
    };
    let mut sentence =
        vec![say(format!("The database of {} ", first.member)), at(first.from_s, format!("exceeded its quota of {quota}"))];
    sentence.push(say(if cluster.alarms.last()?.completed {
        ": no member wrote what grows until the NOSPACE alarm was disarmed."
    } else {
        ": no member writes what grows until an operator compacts, defragments the members and disarms the NOSPACE alarm."
    }));
    Some(sentence)
}

/// Who took over: the last time it happened, and how often.
fn taken_over(cluster: &EtcdReport) -> Option<Sentence> {
    let last = cluster.failovers.last()?;
    let mut sentence = vec![];
    if cluster.failovers.len() > 1 {
        sentence.push(say(format!("There were {} failovers; in the last one ", cluster.failovers.len())));
    }
    sentence.push(at(last.detected_s, last.to.clone()));
    sentence.push(say(if last.completed {
        format!(" took over from {}, {} after it stopped responding.", last.from, text::seconds(last.duration_s))
    } else {
        format!(" started to take over from {}, but did not finish before the end.", last.from)
    }));
    Some(sentence)
}

fn lost(cluster: &EtcdReport) -> Sentence {
    let what = match cluster.rpo.lost_entries {
        0 => return vec![say("Nothing was lost.")],
        1 => "One committed entry".to_owned(),
        n => format!("{} committed entries", text::count(n)),
    };
    let verb = if cluster.rpo.lost_entries == 1 { " was lost." } else { " were lost." };
    vec![Phrase { text: what, at_s: cluster.rpo.events.first().map(|loss| loss.at_s) }, say(verb)]
}

fn intervals(cluster: &EtcdReport, kind: OutageKind) -> impl Iterator<Item = &OutageReport> {
    cluster.outages.iter().filter(move |o| o.kind == kind)
}

fn service(cluster: &EtcdReport, kind: OutageKind, what: &str) -> Sentence {
    let span = |o: &OutageReport| Span { from_s: o.from_s, to_s: o.to_s, unavailable_s: o.unavailable_s, completed: o.completed };
    let spans: Vec<Span> = intervals(cluster, kind).map(span).collect();
    if spans.is_empty() && cluster.unobserved.contains(&kind) {
        let known = "were always available by the members' state; no requests tell of them, and others were late.";
        return vec![say(format!("{what} {known}"))];
    }
    unavailable(what, &spans, &whom(cluster, kind))
}

/// A time without a service, in seconds, and whether it ended before the run did.
#[derive(Clone, Copy)]
struct Span {
    from_s: f64,
    to_s: f64,
    /// How much of it.
    unavailable_s: f64,
    completed: bool,
}

impl Span {
    /// For how long, in words.
    fn length(self) -> String {
        text::part(self.unavailable_s, self.to_s - self.from_s)
    }
}

/// When a service was unavailable, and for whom.
fn unavailable(what: &str, all: &[Span], whom: &str) -> Sentence {
    match all {
        [] => vec![say(format!("{what} were always available{whom}."))],
        [one] if one.completed || !lasts_all_of(one.unavailable_s, one.to_s - one.from_s) => {
            vec![say(format!("{what} were unavailable for ")), at(one.from_s, one.length()), say(format!("{whom}."))]
        }
        [one] => vec![
            say(format!("{what} were unavailable from ")),
            at(one.from_s, text::moment(one.from_s)),
            say(format!(" to the end{whom}.")),
        ],
        [first, .., last] => {
            let total = text::seconds(all.iter().map(|span| span.unavailable_s).sum());
            let longest = all.iter().reduce(|a, b| if b.unavailable_s > a.unavailable_s { b } else { a }).unwrap_or(last);
            let mut sentence = vec![
                say(format!("{what} were unavailable ")),
                at(first.from_s, format!("{} times", all.len())),
                say(format!(", {total} total, longest ")),
                at(longest.from_s, longest.length()),
            ];
            if !last.completed {
                sentence.extend([say("; "), at(last.from_s, "the last outage"), say(" lasted to the end")]);
            }
            sentence.push(say(format!("{whom}.")));
            sentence
        }
    }
}

/// Which clients that was true of, where it was not true of all.
fn whom(cluster: &EtcdReport, kind: OutageKind) -> String {
    let compared = || cluster.vantages.iter().filter_map(|row| Some((&*row.from, cluster.compared(row, kind)?)));
    let counted_s = compared().next().map_or(0.0, |(_, (counted_s, _))| counted_s);
    let rows = compared().map(|(from, (_, own_s))| (from, vantage::hit_for(own_s)));
    vantage::who((rows, cluster.vantages.len()), &vantage::hit_for(counted_s))
}

fn leader(cluster: &EtcdReport) -> Option<Sentence> {
    let first = cluster.leaders.first()?;
    let last = cluster.leaders.last()?;
    // A cluster may start without one.
    let late = first.from_s > 0.0;
    let was =
        say(format!("{} in {}; ", if late { "There was no leader at first, then one" } else { "The leader was" }, first.zone));
    let elections = |more: &[_], at_s, who: &str| {
        vec![
            was.clone(),
            say(format!("{} elections followed, and ", more.len())),
            at(at_s, who),
            say(" is the leader at the end."),
        ]
    };
    Some(match &cluster.leaders[1..] {
        [] if first.completed => vec![was, at(first.to_s, "no other member"), say(" was elected.")],
        [] if late => {
            vec![say("There was no leader at first; "), at(first.from_s, first.leader.clone()), say(" was elected.")]
        }
        [] => vec![say(format!("The leader stayed in {}.", first.zone))],
        [one] => {
            let end = match one {
                one if one.completed => " was elected, but is no longer the leader.",
                one if one.leader == first.leader => " was elected again.",
                _ => " was elected.",
            };
            vec![was, at(one.from_s, one.leader.clone()), say(end)]
        }
        more if last.completed => elections(more, last.to_s, "no member"),
        more => elections(more, last.from_s, &last.leader),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_to_the_end_is_told_whatever_its_last_bit() {
        let (from_s, to_s, unavailable_s) = (39.191_091_089, 40.427_372_962, 1.236_281_873);
        assert!(to_s - from_s > unavailable_s, "as the floating-point numbers are");
        let words = |unavailable_s| {
            let sentence = unavailable("Writes", &[Span { from_s, to_s, unavailable_s, completed: false }], "");
            sentence.into_iter().map(|phrase| phrase.text).collect::<String>()
        };
        assert!(words(unavailable_s).ends_with(" to the end."), "{}", words(unavailable_s));
        assert!(!words(unavailable_s - 0.1).contains("to the end"), "{}", words(unavailable_s - 0.1));
    }
}
