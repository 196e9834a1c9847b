//! What is said of Kubernetes: whether each API answered and whether its controllers worked; of many control planes, by failure tolerance.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::{Paragraph, Sentence, Span, access, at, say, unavailable};
use crate::report::pending::MostFrequent;
use crate::report::{ApiOutageReport, ApiReport, ApiVantageReport, FailedPart, Report, vantage};
use crate::scenario::kube::gardener::FailureTolerance;
use crate::scenario::text;

/// Up to this number of APIs, each has a paragraph.
pub(super) const FEW: usize = 8;

/// Paragraphs about APIs, or about all of them.
pub(super) fn paragraphs(report: &Report) -> Vec<Paragraph> {
    if report.api.len() > FEW {
        return vec![Paragraph { cluster: "control planes".to_owned(), about_etcd: false, sentences: by_tolerance(report) }];
    }
    let paragraph = |(name, api): (&String, &ApiReport)| {
        // Who finds no way to an API that answers has none.
        let clients = access::clients(report, name);
        let sentences =
            clients.into_iter().chain(availability(api, access::whose(report, name))).chain(controllers(api)).collect();
        Paragraph { cluster: name.clone(), about_etcd: false, sentences }
    };
    report.api.iter().map(paragraph).collect()
}

impl ApiOutageReport {
    /// Nothing was answered, as far as the API's state tells.
    pub const fn is_whole(&self) -> bool {
        self.share >= 1.0 && !self.late
    }

    /// What was not answered, in words: `write`, `about a third of write`, `late write`.
    pub fn what(&self) -> String {
        self.what_of(&self.verb)
    }

    /// The same of several verbs at once.
    pub fn what_of(&self, verbs: &str) -> String {
        if self.late {
            format!("late {verbs}")
        } else if self.is_whole() {
            verbs.to_owned()
        } else {
            format!("{} of {verbs}", text::fraction(self.share))
        }
    }
}

/// Sentences about times without answers; `whose`: what follows the words about requests.
fn availability(api: &ApiReport, whose: &str) -> Vec<Sentence> {
    let stops = if whose.is_empty() { "stalled" } else { "failed" };
    let sentence = |verb: &str, requests: &str, part: &str| {
        let what = &format!("{requests}{whose}");
        let outages = api.outages.iter().filter(|outage| outage.verb == verb);
        let (late, by_state): (Vec<_>, Vec<_>) = outages.partition(|outage| outage.late);
        let (whole, parts): (Vec<_>, Vec<_>) = by_state.into_iter().partition(|outage| outage.is_whole());
        let span = |o: &ApiOutageReport| Span {
            from_s: o.from_s,
            to_s: o.to_s,
            unavailable_s: o.to_s - o.from_s,
            completed: o.completed,
        };
        let spans: Vec<Span> = whole.into_iter().map(span).collect();
        let late_s = late.iter().map(|o| o.to_s - o.from_s).sum();
        let of = |row: &ApiVantageReport| match verb {
            "read" => hit(row.reads, (row.read_unavailable_s, late_s)),
            _ => hit(row.writes, (row.write_unavailable_s, late_s)),
        };
        let part_s: f64 = parts.iter().map(|o| o.to_s - o.from_s).sum();
        let counted = FailedPart {
            lasted_s: spans.iter().map(|span| span.to_s - span.from_s).sum::<f64>() + part_s,
            part_s,
            share: if spans.is_empty() { parts.iter().map(|part| part.share).fold(0.0, f64::max) } else { 1.0 },
        };
        let counted_s = if verb == "read" { api.read_unavailable_s } else { api.write_unavailable_s };
        let rows = api.vantages.iter().map(|row| (&*row.from, of(row)));
        let who = vantage::who((rows, api.vantages.len()), &hit(counted, (counted_s, late_s)));
        // What the first sentence says is who was hit.
        let mut said = match (&spans[..], &parts[..], &late[..]) {
            ([], [], [_, ..]) => return slow(requests, &late, &who),
            ([], [_, ..], _) => stalled((part, stops), &parts, &who),
            (_, [], _) => unavailable(what, &spans, &who),
            _ => {
                let more = std::iter::once(say(" ")).chain(stalled((part, stops), &parts, ""));
                unavailable(what, &spans, &who).into_iter().chain(more).collect()
            }
        };
        if !late.is_empty() {
            said.push(say(" "));
            said.extend(slow(requests, &late, ""));
        }
        said
    };
    let words = |verb: &str| super::text(&sentence(verb, "", ""));
    if words("read") == words("write") {
        let part = if whose.is_empty() { "the API".to_owned() } else { format!("requests{whose}") };
        vec![sentence("write", "API reads and writes", &part)]
    } else {
        let of = |verb: &str, requests: &str| sentence(verb, requests, &format!("{requests}{whose}"));
        vec![of("write", "API writes"), of("read", "API reads")]
    }
}

/// How clients were hit: all of them for so long, or a part of them; where none was by the API's state, for which part of the time in which
/// requests were late (`late_s`) theirs were.
fn hit(of: FailedPart, (unavailable_s, late_s): (f64, f64)) -> String {
    if of.share <= 0.0 && unavailable_s > 0.0 && late_s > 0.0 {
        return format!("{} of the time", text::fraction((unavailable_s / late_s).min(1.0)));
    }
    if of.share <= 0.0 {
        return vantage::hit_for(unavailable_s);
    }
    if of.share < 1.0 {
        return format!("{} failed for {}", text::fraction(of.share), text::seconds(of.lasted_s));
    }
    let whole = vantage::hit_for(of.lasted_s - of.part_s);
    if of.part_s > 0.0 { format!("{whole}, and a part failed for {}", text::seconds(of.part_s)) } else { whole }
}

/// `About a third of the API stalled for 38 s.`: times in which a part of the resources, or of new clients, got no answers.
fn stalled((what, stops): (&str, &str), parts: &[&ApiOutageReport], whom: &str) -> Sentence {
    let most = text::fraction(parts.iter().map(|part| part.share).fold(0.0, f64::max));
    let end = |part: &ApiOutageReport| if part.completed { "" } else { ", to the end" };
    match parts {
        [] => Vec::new(),
        [one] => {
            // Most resources are back before the last of them.
            let [mean, all] = [one.unavailable_s / one.share, one.to_s - one.from_s].map(text::seconds);
            let some = if mean == all { String::new() } else { format!(" on average, some of it for {all}") };
            vec![
                say(format!("{} of {what} {stops} for ", capitalized(&most))),
                at(one.from_s, mean),
                say(format!("{some}{}{whom}.", end(one))),
            ]
        }
        [first, .., last] => {
            let total = text::seconds(parts.iter().map(|part| part.to_s - part.from_s).sum());
            let times = at(first.from_s, format!("{} times", parts.len()));
            vec![
                say(format!("A part of {what} ({most} at most) {stops} ")),
                times,
                say(format!(", for {total} in all{}{whom}.", end(last))),
            ]
        }
    }
}

/// `API writes were too slow for 5 min (13 % of the time on average).`: times in which requests were late, measured at the API servers,
/// whatever load balancer is before them.
fn slow(what: &str, late: &[&ApiOutageReport], whom: &str) -> Sentence {
    let (unavailable_s, lasted_s) =
        late.iter().fold((0.0, 0.0), |(sum, lasted), one| (sum + one.unavailable_s, lasted + (one.to_s - one.from_s)));
    let ([first, ..], [.., last]) = (late, late) else { return Vec::new() };
    let part = if lasted_s > 0.0 { unavailable_s / lasted_s } else { 1.0 };
    let of = if part >= 1.0 { String::new() } else { format!(" ({} of the time on average)", text::fraction(part)) };
    let times = if late.len() == 1 { String::new() } else { format!("{} times, ", late.len()) };
    let all = if late.len() == 1 { "" } else { " in all" };
    let end = match (last.completed, whom) {
        (true, _) => "",
        (false, "") => ", to the end",
        (false, _) => ", to the end,",
    };
    vec![
        say(format!("{what} were too slow ")),
        at(first.from_s, format!("{times}for {}{all}", text::seconds(lasted_s))),
        say(format!("{of}{end}{whom}.")),
    ]
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Controllers that could do nothing for a time, and for how long in all.
fn controllers(api: &ApiReport) -> Option<Sentence> {
    let mut inactive: IndexMap<&str, f64> = IndexMap::new();
    for gap in &api.no_leader {
        *inactive.entry(&gap.component).or_default() += gap.to_s - gap.from_s;
    }
    let all: Vec<String> = inactive.into_iter().map(|(name, s)| format!("{name} for {}", text::seconds(s))).collect();
    (!all.is_empty()).then(|| vec![say(format!("Inactive: {}.", text::list(&all)))])
}

/// Control planes of one failure tolerance.
#[derive(Default)]
struct Group<'a> {
    control_planes: usize,
    /// How long each API that had an outage did not take writes, in seconds.
    outages_s: Vec<f64>,
    /// APIs of which only a part stalled.
    stalled: usize,
    /// APIs without a whole outage whose writes were too slow at times. Those of which a part stalled, too, count as both.
    slow: usize,
    pods_lost: u64,
    pods_recovered: u64,
    pods_moved: u64,
    /// Reasons of pods without a node.
    pending: Vec<&'a str>,
}

/// A sentence for each failure tolerance, then one about etcd.
fn by_tolerance(report: &Report) -> Vec<Sentence> {
    let mut groups: BTreeMap<FailureTolerance, Group<'_>> = BTreeMap::new();
    let tolerance = |cluster: &str| report.api.get(cluster).and_then(|api| api.failure_tolerance);
    for (api, tolerance) in report.api.values().filter_map(|api| Some((api, api.failure_tolerance?))) {
        let group = groups.entry(tolerance).or_default();
        group.control_planes += 1;
        let writes = || api.outages.iter().filter(|outage| outage.verb == "write");
        let whole = writes().filter(|outage| outage.is_whole()).map(|outage| outage.to_s - outage.from_s);
        let unavailable_s: f64 = whole.sum();
        group.outages_s.extend(Some(unavailable_s).filter(|s| *s > 0.0));
        let not_whole = |late: bool| usize::from(unavailable_s == 0.0 && writes().any(|outage| outage.late == late));
        group.stalled += not_whole(false);
        group.slow += not_whole(true);
    }
    for component in &report.components {
        if let Some(group) = tolerance(&component.namespace).and_then(|of| groups.get_mut(&of)) {
            group.pods_lost += component.lost;
            group.pods_recovered += component.recovered;
            group.pods_moved += component.moved;
        }
    }
    for pod in &report.pods {
        if let Some((of, reason)) = tolerance(&pod.namespace).zip(pod.waits_for_node())
            && let Some(group) = groups.get_mut(&of)
        {
            group.pending.push(reason);
        }
    }
    let of_group = |(tolerance, group): (FailureTolerance, Group<'_>)| vec![say(group.describe(tolerance))];
    groups.into_iter().map(of_group).chain([etcd(report)]).collect()
}

impl Group<'_> {
    fn describe(mut self, tolerance: FailureTolerance) -> String {
        self.outages_s.sort_by(f64::total_cmp);
        let all = self.control_planes;
        let outages = match &self.outages_s[..] {
            [] if self.stalled + self.slow > 0 => {
                format!("API writes of none of {all} control planes were unavailable as a whole")
            }
            [] => format!("API writes of all {all} control planes were always available"),
            times => {
                let [median, longest] = [times[times.len() / 2], times[times.len() - 1]].map(text::seconds);
                format!(
                    "API writes of {} of {all} control planes were unavailable, median {median}, longest {longest}",
                    times.len()
                )
            }
        };
        let others = if self.outages_s.is_empty() { "" } else { " others" };
        let stalled = match self.stalled {
            0 => String::new(),
            some => format!("; of {some}{others} a part stalled"),
        };
        let slow = match self.slow {
            0 => String::new(),
            some => format!("; of {some}{others} writes were too slow at times"),
        };
        let pods = if self.pods_lost == 0 {
            "no pod was lost".to_owned()
        } else {
            let Self { pods_lost, pods_recovered, pods_moved, .. } = &self;
            let moved = if *pods_moved == 0 { String::new() } else { format!(", {pods_moved} on other nodes") };
            format!("{pods_lost} pods were lost, {pods_recovered} of them recovered{moved}")
        };
        let pending = if self.pending.is_empty() {
            String::new()
        } else {
            format!("; {} pods are pending: {}", self.pending.len(), MostFrequent::of(self.pending.into_iter()))
        };
        format!("Failure tolerance {}: {outages}{stalled}{slow}; {pods}{pending}.", tolerance.describe())
    }
}

fn etcd(report: &Report) -> Sentence {
    let all = report.etcd.len();
    let lost: u64 = report.etcd.values().map(|etcd| etcd.rpo.lost_entries).sum();
    let times: Vec<f64> = report.etcd.values().map(|etcd| etcd.write_unavailable_s).filter(|s| *s > 0.0).collect();
    let lost =
        if lost == 0 { "nothing was lost".to_owned() } else { format!("{} committed entries were lost", text::count(lost)) };
    vec![say(if times.is_empty() {
        format!("Writes of all {all} etcd clusters were always available; {lost}.")
    } else {
        let longest = text::seconds(times.iter().copied().fold(0.0, f64::max));
        format!("Writes of {} of {all} etcd clusters were unavailable, longest {longest}; {lost}.", times.len())
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_that_moved_are_told_from_those_that_came_back() {
        let group = Group { control_planes: 3, pods_lost: 4, pods_recovered: 3, pods_moved: 2, ..Group::default() };
        assert_eq!(
            group.describe(FailureTolerance::Node),
            "Failure tolerance node: API writes of all 3 control planes were always available; 4 pods were lost, 3 of them recovered, 2 on \
             other nodes."
        );
    }

    #[test]
    fn pods_that_are_pending_are_told_with_the_reason_that_most_have() {
        let (cpu, taints) =
            ("0/3 nodes are available: 3 Insufficient cpu", "0/3 nodes are available: 3 node(s) had untolerated taint(s)");
        let told = |pending: &[&'static str]| {
            let group = Group { control_planes: 2, pending: pending.to_vec(), ..Group::default() };
            let said = group.describe(FailureTolerance::Zone);
            let start = "Failure tolerance zone: API writes of all 2 control planes were always available; no pod was lost";
            said.strip_prefix(start).unwrap_or_else(|| panic!("{said}")).to_owned()
        };
        assert_eq!(told(&[]), ".");
        assert_eq!(told(&[cpu; 3]), format!("; 3 pods are pending: {cpu}."));
        assert_eq!(told(&[taints, cpu, cpu, taints, cpu]), format!("; 5 pods are pending: {cpu} (2 of them for other reasons)."));
    }

    #[test]
    fn who_was_hit_is_told_in_whole_times_and_parts() {
        let check = |[lasted_s, part_s, share]: [f64; 3], late: (f64, f64), expected: &str| {
            assert_eq!(hit(FailedPart { lasted_s, part_s, share }, late), expected);
        };
        // For two minutes all, for five a third: 220 s on average.
        check([420.0, 300.0, 1.0], (220.0, 0.0), "for 2 min, and a part failed for 5 min");
        check([120.0, 0.0, 1.0], (120.0, 0.0), "for 2 min");
        check([300.0, 300.0, 0.333], (100.0, 0.0), "about a third failed for 5 min");
        check([0.0; 3], (30.0, 300.0), "10 % of the time");
        check([0.0; 3], (0.0, 300.0), "");
    }

    fn late(from_s: f64, to_s: f64, share: f64, completed: bool) -> ApiOutageReport {
        let unavailable_s = (to_s - from_s) * share;
        let (verb, root_cause) = ("write".to_owned(), String::new());
        ApiOutageReport { verb, from_s, to_s, completed, share, late: true, unavailable_s, root_cause }
    }

    #[test]
    fn slow_requests_are_told_with_the_share_of_them_that_was_late() {
        let check = |late: &[ApiOutageReport], expected: &str| {
            let sentence = slow("API writes", &late.iter().collect::<Vec<_>>(), " for clients in a");
            assert_eq!(super::super::text(&sentence), expected);
        };
        check(&[late(10.0, 50.0, 1.0, true)], "API writes were too slow for 40 s for clients in a.");
        let two = [late(10.0, 50.0, 0.5, true), late(100.0, 140.0, 0.5, false)];
        check(
            &two,
            "API writes were too slow 2 times, for 80 s in all (about half of the time on average), to the end, for clients in a.",
        );
    }

    #[test]
    fn apis_that_were_slow_are_told_from_those_of_which_a_part_stalled() {
        let group = Group { control_planes: 3, stalled: 1, slow: 2, ..Group::default() };
        assert_eq!(
            group.describe(FailureTolerance::Node),
            "Failure tolerance node: API writes of none of 3 control planes were unavailable as a whole; of 1 a part stalled; of 2 writes \
             were too slow at times; no pod was lost."
        );
    }
}
