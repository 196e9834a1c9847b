//! The report for people: the verdict first, then the evidence.

use std::fmt::Write;

use zonefall_core::network::ledger::Class;
use zonefall_core::report::{
    Consistency, EtcdReport, ExpectationReport, OpKind, OutageKind, OutageReport, RefusedReport, Report, ViolationReport,
};
use zonefall_core::scenario::text::{self, clock};
use zonefall_core::sim::Role;

use crate::output::{BAD, DIM, GOOD, HEAD};
use crate::page::Page;
use crate::{kube, prices};

/// The whole report, with ANSI styles.
pub(crate) fn report(report: &Report, page: &Page) -> String {
    let mut parts = vec![opening(report, page)];
    parts.extend(kube::pending_control_planes(report.pending.as_ref(), page));
    parts.extend(refused(report, page));
    for (name, cluster) in &report.etcd {
        parts.extend(cluster_parts(name, cluster, report, page));
    }
    let quiet = report.etcd.values().filter(|cluster| is_quiet(cluster, report)).count();
    if quiet > 0 {
        let words = format!(
            "{DIM}{quiet} of {} etcd clusters had no outage, election or other event: see --format json.{DIM:#}",
            report.etcd.len()
        );
        parts.push(page.text("", &words));
    }
    parts.extend(kube::parts(report, page));
    parts.extend(traffic(report, page));
    parts.extend(messages(report, page));
    parts.extend(prices::tolerance(report, page));
    parts.extend(expectations(&report.expectations, page));
    parts.extend(violations(report, page));
    parts.join("\n")
}

fn opening(report: &Report, page: &Page) -> String {
    let mut text = page.text("", &format!("{HEAD}{}{HEAD:#}", report.title));
    let simulated = text::seconds(report.simulated_s);
    let Report { scenario, seed, trace_hash, .. } = report;
    text += &page.text("", &format!("{DIM}{scenario}, seed {seed}, {simulated} simulated, trace {trace_hash}{DIM:#}"));
    text.push('\n');
    for line in report.verdict().lines() {
        text += &page.text("", line);
    }
    if !report.faults.is_empty() {
        let rows = report.faults.iter().map(|f| {
            let length = if f.completed { text::seconds(f.to_s - f.from_s) } else { "to the end".to_owned() };
            vec![clock(f.from_s), length, f.what.clone()]
        });
        let _ = write!(text, "\n{HEAD}Faults{HEAD:#}\n{}", page.table(&["from", "for", "what"], rows, &[0, 1]));
    }
    text
}

/// Changes that were asked for and refused.
fn refused(report: &Report, page: &Page) -> Option<String> {
    let row = |of: &RefusedReport| vec![clock(of.at_s), of.operation.clone(), of.reason.clone()];
    let table = || page.table(&["at", "operation", "reason"], report.refused.iter().map(row), &[0]);
    (!report.refused.is_empty()).then(|| format!("{HEAD}Refused operations{HEAD:#}\n{}", table()))
}

/// Up to this number of clusters, each is reported, whatever happened to it.
const FEW: usize = 8;

/// Whether it is one of many, and has nothing to report but latencies.
fn is_quiet(cluster: &EtcdReport, report: &Report) -> bool {
    let EtcdReport { outages, elections, failovers, snapshots, catch_up, membership, tolerance, requests, alarms, .. } = cluster;
    report.etcd.len() > FEW
        && outages.is_empty()
        && elections.is_empty()
        && failovers.is_empty()
        && snapshots.is_empty()
        && catch_up.is_empty()
        && membership.is_empty()
        && alarms.is_empty()
        && tolerance.len() <= 1
        && requests.timed_out + requests.failed + requests.rejected == 0
}

fn cluster_parts(name: &str, cluster: &EtcdReport, report: &Report, page: &Page) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = |title: &str, table: String| parts.push(format!("{HEAD}{title} of {name}{HEAD:#}\n{table}"));
    if !cluster.outages.is_empty() {
        let rows = outages(&cluster.outages);
        part("Outages", page.table(&["from", "for", "service", "root cause"], rows, &[0, 1]));
    }
    if !cluster.elections.is_empty() {
        let rows = cluster
            .elections
            .iter()
            .map(|e| vec![clock(e.from_s), text::seconds(e.to_s - e.from_s), e.leader.clone(), e.term.to_string()]);
        part("Elections", page.table(&["from", "duration", "leader", "term"], rows, &[0, 1, 3]));
    }
    let quiet = is_quiet(cluster, report);
    if !quiet {
        part("Availability", availability(cluster, report.simulated_s, page));
    }
    if !cluster.latency.is_empty() {
        part("Latency (ms)", latency(cluster, page));
    }
    if !quiet {
        part("Members", members(cluster, page));
    }
    parts.push(repairs(name, cluster, page));
    parts.retain(|p| !p.is_empty());
    parts
}

/// Outages, those of several services with one interval and one cause in one row.
fn outages(all: &[OutageReport]) -> impl Iterator<Item = Vec<String>> {
    let what = |o: &OutageReport| [o.from_s, o.to_s, o.unavailable_s].map(f64::to_bits);
    all.chunk_by(move |a, b| what(a) == what(b) && a.root_cause == b.root_cause).map(|outages| {
        let first = &outages[0];
        let whole = first.is_whole();
        let length = if first.completed || !whole { first.length() } else { "to the end".to_owned() };
        let kinds: Vec<_> = outages.iter().map(|o| kind(o.kind).to_owned()).collect();
        vec![clock(first.from_s), length, text::list(&kinds), first.root_cause.clone()]
    })
}

fn availability(cluster: &EtcdReport, simulated_s: f64, page: &Page) -> String {
    let row = |what: &str, unavailable_s: f64| {
        let share = if simulated_s > 0.0 { 100.0 * (1.0 - unavailable_s / simulated_s) } else { 100.0 };
        // Rounded down: 99.9999 % with an outage is not 100 %.
        let share = format!("{:.4} %", (share * 1e4).floor() / 1e4);
        vec![what.to_owned(), share, text::seconds(unavailable_s)]
    };
    let rows = [
        row(kind(OutageKind::Write), cluster.write_unavailable_s),
        row(kind(OutageKind::ReadLinearizable), cluster.read_unavailable_s.linearizable),
        row(kind(OutageKind::ReadSerializable), cluster.read_unavailable_s.serializable),
        row(kind(OutageKind::Quorum), cluster.quorum_lost_s),
    ];
    let apart = cluster.vantages_apart().flat_map(|vantage| {
        let row = |service: OutageKind, s| row(&format!("{} from {}", kind(service), vantage.from), s);
        [
            row(OutageKind::Write, vantage.write_unavailable_s),
            row(OutageKind::ReadLinearizable, vantage.read_unavailable_s.linearizable),
            row(OutageKind::ReadSerializable, vantage.read_unavailable_s.serializable),
        ]
    });
    let rows = rows.into_iter().chain(apart);
    page.table(&["service", "availability", "unavailable for"], rows, &[1, 2])
}

fn latency(cluster: &EtcdReport, page: &Page) -> String {
    let ms = |v: Option<f64>| v.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"));
    let rejects = cluster.requests.rejected > 0;
    let rows = cluster.latency.iter().map(|l| {
        let op = match (l.op, l.consistency) {
            (OpKind::Put, _) => "put",
            (OpKind::Delete, _) => "delete",
            (OpKind::Txn, _) => "transaction",
            (OpKind::Grant, _) => "lease",
            (OpKind::Watch, _) => "watch",
            (OpKind::Range, Consistency::Linearizable) => "linearizable read",
            (OpKind::Range, Consistency::Serializable) => "serializable read",
        };
        let counts = [l.count, l.timed_out, l.failed].map(|n| n.to_string());
        let mut row = vec![op.to_owned(), l.from_zone.clone(), l.target.clone()];
        row.extend([ms(l.p50_ms), ms(l.p90_ms), ms(l.p99_ms), ms(l.max_ms)]);
        row.extend(counts);
        row.extend(rejects.then(|| l.rejected.to_string()));
        row
    });
    let head = ["request", "from", "to", "p50", "p90", "p99", "max", "ok", "timed out", "failed", "rejected"];
    let columns = head.len() - usize::from(!rejects);
    page.table(&head[..columns], rows, &[3, 4, 5, 6, 7, 8, 9, 10][..columns - 3])
}

fn members(cluster: &EtcdReport, page: &Page) -> String {
    let rows = cluster.members.iter().map(|m| {
        let role = match m.role {
            Role::Follower => "follower",
            Role::PreCandidate | Role::Candidate => "candidate",
            Role::Leader => "leader",
            Role::Learner => "learner",
            Role::Absent => "not in the cluster",
            Role::Standby => "standby",
        };
        let role = if m.up || matches!(m.role, Role::Standby | Role::Absent) { role } else { "down" };
        vec![m.name.clone(), m.zone.clone(), m.node.clone(), role.to_owned(), m.term.to_string(), m.committed.to_string()]
    });
    page.table(&["member", "zone", "node", "role at the end", "term", "committed"], rows, &[4, 5])
}

/// Snapshots, catch-up, losses, changes of membership and full databases: one line each, where there are any.
fn repairs(name: &str, cluster: &EtcdReport, page: &Page) -> String {
    let mut lines: Vec<(f64, String)> = Vec::new();
    for s in &cluster.snapshots {
        let (bytes, took) = (text::bytes(s.bytes), text::seconds(s.to_s - s.from_s));
        let end = if s.ok { "in" } else { "unfinished after" };
        lines.push((s.from_s, format!("{} sent a snapshot ({bytes}) to {} {end} {took}", s.from, s.to)));
    }
    for c in &cluster.catch_up {
        lines.push((
            c.at_s,
            format!(
                "{} caught up ({} entries, {}) {} after its start",
                c.member,
                c.entries,
                text::bytes(c.bytes),
                text::seconds(c.duration_s)
            ),
        ));
    }
    for l in &cluster.rpo.events {
        lines.push((l.at_s, format!("{} committed entries lost: {}", l.entries, l.cause)));
    }
    for m in &cluster.membership {
        let result = m.refused.as_ref().map_or_else(|| "done".to_owned(), |why| format!("refused: {why}"));
        lines.push((m.at_s, format!("{}: {result}", m.change)));
    }
    for a in &cluster.alarms {
        let end = if a.completed { "disarmed after" } else { "on for" };
        let (bytes, quota) = (text::bytes(a.bytes), text::bytes(cluster.quota_bytes));
        let took = text::seconds(a.to_s - a.from_s);
        lines.push((
            a.from_s,
            format!("NOSPACE alarm: the database of {} has {bytes} of its quota of {quota}; {end} {took}", a.member),
        ));
    }
    for d in &cluster.defragmentations {
        let [before, after] = [d.before_bytes, d.after_bytes].map(text::bytes);
        lines.push((d.at_s, format!("{} defragmented: {before}, now {after}, in {}", d.member, text::seconds(d.duration_s))));
    }
    if lines.is_empty() {
        return String::new();
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rows = lines.into_iter().map(|(at, what)| vec![clock(at), what]);
    format!("{HEAD}Repairs of {name}{HEAD:#}\n{}", page.table(&["at", "what"], rows, &[0]))
}

fn traffic(report: &Report, page: &Page) -> Option<String> {
    let rate = |r: f64| format!("{}/s", text::bytes(r.round() as u64));
    let rows = report.zone_pairs.iter().map(|p| {
        let to = if p.from_zone == p.to_zone { "(inside)".to_owned() } else { p.to_zone.clone() };
        let (bytes, wire) = (text::bytes(p.bytes), text::bytes(p.wire_bytes));
        let (mean, peak) = (rate(p.mean_wire_bytes_per_s), rate(p.peak_wire_bytes_per_s));
        vec![p.from_zone.clone(), to, bytes, wire, mean, peak]
    });
    let head = ["from zone", "to zone", "application", "on the wire", "mean", "peak"];
    let text = || format!("{HEAD}Traffic{HEAD:#}\n{}", page.table(&head, rows, &[2, 3, 4, 5]));
    (!report.zone_pairs.is_empty()).then(text)
}

/// The same traffic by what it is.
fn messages(report: &Report, page: &Page) -> Option<String> {
    let rows = report.messages.iter().map(|m| {
        let (bytes, wire) = (text::bytes(m.bytes), text::bytes(m.wire_bytes));
        vec![class(m.class).to_owned(), m.count.to_string(), bytes, wire]
    });
    let head = ["what", "sent", "application", "on the wire"];
    let text = || format!("{HEAD}Messages{HEAD:#}\n{}", page.table(&head, rows, &[1, 2, 3]));
    (!report.messages.is_empty()).then(text)
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Heartbeat => "heartbeats",
        Class::Append => "appends",
        Class::Proposal => "forwarded proposals",
        Class::ReadIndex => "read-index requests",
        Class::Vote => "votes",
        Class::Upkeep => "keep-alives and probes",
        Class::Snapshot => "snapshots",
        Class::EtcdRequest => "requests to etcd",
        Class::EtcdAnswer => "responses of etcd",
        Class::WatchEvent => "watch events of etcd",
        Class::ApiRequest => "requests to API servers",
        Class::ApiAnswer => "responses of API servers",
        Class::ApiEvent => "watch events of API servers",
    }
}

fn expectations(all: &[ExpectationReport], page: &Page) -> Option<String> {
    if all.is_empty() {
        return None;
    }
    let mut text = format!("{HEAD}Expectations{HEAD:#}\n");
    for e in all {
        let (style, mark) = if e.ok { (GOOD, "✓") } else { (BAD, "✗") };
        let first = format!("  {style}{mark}{style:#} ");
        let because = if e.because.is_empty() { String::new() } else { format!(" {DIM}({}){DIM:#}", e.because) };
        text += &page.line(&first, &format!("{} is {}; expected {}{because}", e.that, e.actual, e.expected));
    }
    Some(text)
}

fn violations(report: &Report, page: &Page) -> Option<String> {
    let first = format!("  {BAD}✗{BAD:#} ");
    let line = |v: &ViolationReport| page.line(&first, &format!("{} {}: {}", clock(v.at_s), v.property, v.text));
    let lines: String = report.violations.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("{HEAD}Broken invariants{HEAD:#}\n{lines}"))
}

fn kind(kind: OutageKind) -> &'static str {
    match kind {
        OutageKind::Quorum => "quorum",
        OutageKind::Write => "write",
        OutageKind::ReadLinearizable => "linearizable read",
        OutageKind::ReadSerializable => "serializable read",
    }
}
