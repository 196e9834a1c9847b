//! The report in words and numbers: every figure that the charts rest on.

use yew::prelude::*;
use zonefall_core::report::{
    ApiOutageReport, ApiResourceReport, ApiVantageReport, EtcdReport, PendingReport, RefusedReport, Report,
};
use zonefall_core::scenario::text::bytes;

use crate::view::labels::{clock, length, moment, outage};
use crate::view::same::Same;
use zonefall_core::scenario::text::count;

/// What is reported.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct ReportProps {
    pub report: Same<Report>,
}

type Cells = Vec<String>;

/// All tables.
#[component]
pub(crate) fn ReportTables(props: &ReportProps) -> Html {
    let report = &props.report;
    let run = [
        ("scenario", report.scenario.clone()),
        ("seed", report.seed.to_string()),
        ("simulated", length(report.simulated_s)),
        ("events", count(report.events)),
    ];
    html! {
        <div class="tables report" tabindex="0" role="region" aria-label="Report" data-testid="report">
            <dl class="facts run">
                { for run.into_iter().map(|(name, value)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> }) }
                <dt>{ "trace hash" }</dt><dd data-testid="trace-hash">{ &report.trace_hash }</dd>
            </dl>
            { expectations(report) }
            { pending(report) }
            { refused(report) }
            { for report.etcd.iter().map(|(name, cluster)| etcd(name, cluster)) }
            { kubernetes(report) }
            { faults(report) }
            { pairs(report) }
            { links(report) }
        </div>
    }
}

/// A table; a column of nothing but numbers is set to the right, its head too.
pub(super) fn rows(caption: &str, heads: &[&str], rows: impl Iterator<Item = Cells>) -> Html {
    let rows: Vec<Cells> = rows.collect();
    if rows.is_empty() {
        return Html::default();
    }
    let numeric = |cell: &String| {
        cell == "none" || cell.trim_start_matches(['<', ' ', '$', '+', '-']).starts_with(|c: char| c.is_ascii_digit())
    };
    let class = |column: usize| match () {
        () if rows.iter().all(|cells| numeric(&cells[column])) => Some("number"),
        () if rows.iter().any(|cells| cells[column].len() > 40) => Some("prose"),
        () => None,
    };
    let classes: Vec<_> = (0..heads.len()).map(class).collect();
    let head = |(head, class): (&&str, Option<&'static str>)| html! { <th scope="col" {class}>{ *head }</th> };
    let row = |cells: &Cells| {
        let cells = cells.iter().zip(&classes).map(|(cell, class)| html! { <td class={*class}>{ cell }</td> });
        html! { <tr>{ for cells }</tr> }
    };
    html! {
        <table>
            <caption>{ caption.to_owned() }</caption>
            <thead><tr>{ for heads.iter().zip(classes.iter().copied()).map(head) }</tr></thead>
            <tbody>{ for rows.iter().map(row) }</tbody>
        </table>
    }
}

fn expectations(report: &Report) -> Html {
    let row = |e: &zonefall_core::report::ExpectationReport| {
        vec![
            if e.ok { "✓ met" } else { "✕ not met" }.to_owned(),
            e.that.clone(),
            e.actual.clone(),
            e.expected.clone(),
            e.because.clone(),
        ]
    };
    rows("Expectations", &["Result", "Value of", "Actual", "Expected", "Because"], report.expectations.iter().map(row))
}

/// Control planes that are not there, or not whole.
fn pending(report: &Report) -> Html {
    let all = report.pending.iter().flat_map(PendingReport::rows).map(Vec::from);
    rows("Pending control planes", &["Shoots", "Failure tolerance", "State", "Reason"], all)
}

/// Changes that were asked for and refused.
fn refused(report: &Report) -> Html {
    let row = |of: &RefusedReport| vec![clock(moment(of.at_s), 3), of.operation.clone(), of.reason.clone()];
    rows("Refused operations", &["At", "Operation", "Reason"], report.refused.iter().map(row))
}

fn etcd(name: &str, cluster: &EtcdReport) -> Html {
    let when = |s: f64| clock(moment(s), 3);
    let ms = |v: Option<f64>| v.map_or("none".to_owned(), |v| format!("{v:.2}"));
    let sums = [
        vec!["writes unavailable".to_owned(), length(cluster.write_unavailable_s)],
        vec!["linearizable reads unavailable".to_owned(), length(cluster.read_unavailable_s.linearizable)],
        vec!["serializable reads unavailable".to_owned(), length(cluster.read_unavailable_s.serializable)],
        vec!["quorum lost".to_owned(), length(cluster.quorum_lost_s)],
        vec!["leader changes".to_owned(), count(cluster.leader_changes)],
        vec!["committed entries lost".to_owned(), count(cluster.rpo.lost_entries)],
        vec!["requests succeeded".to_owned(), count(cluster.requests.ok)],
        vec!["requests timed out".to_owned(), count(cluster.requests.timed_out)],
        vec!["requests failed".to_owned(), count(cluster.requests.failed)],
    ];
    let rejected = cluster.requests.rejected;
    let rejected = (rejected > 0).then(|| vec!["requests rejected (429)".to_owned(), count(rejected)]);
    let apart = cluster.vantages_apart().map(|row| {
        let reads = &row.read_unavailable_s;
        let times = [row.write_unavailable_s, reads.linearizable, reads.serializable].map(length);
        [row.from.clone()].into_iter().chain(times).collect()
    });
    let outages = cluster.outages.iter().map(|o| {
        let end = if o.completed { o.length() } else { format!("{} (ongoing)", o.length()) };
        vec![outage(o.kind).to_owned(), when(o.from_s), end, o.root_cause.clone()]
    });
    let latency = cluster.latency.iter().map(|l| {
        let values = [l.p50_ms, l.p90_ms, l.p99_ms, l.max_ms].map(ms);
        let counts = [l.count, l.timed_out, l.failed].map(count);
        [zonefall_plots::latency::label(l)].into_iter().chain(counts).chain(values).collect()
    });
    let members = cluster.members.iter().map(|m| {
        let role = if m.up { format!("{:?}", m.role).to_ascii_lowercase() } else { "down".to_owned() };
        let numbers = [count(m.term), count(m.last_index), count(m.committed), bytes(m.database_bytes)];
        [m.name.clone(), m.zone.clone(), m.node.clone(), role].into_iter().chain(numbers).collect()
    });
    let elections =
        cluster.elections.iter().map(|e| vec![e.leader.clone(), count(e.term), when(e.to_s), length(e.to_s - e.from_s)]);
    let snapshots = cluster.snapshots.iter().map(|s| {
        let how = if s.ok { "restored" } else { "not received" };
        vec![s.from.clone(), s.to.clone(), bytes(s.bytes), when(s.from_s), length(s.to_s - s.from_s), how.to_owned()]
    });
    let catch_up = cluster
        .catch_up
        .iter()
        .map(|c| vec![c.member.clone(), when(c.at_s), count(c.entries), bytes(c.bytes), length(c.duration_s)]);
    html! {
        <>
            <h2>{ name }</h2>
            { rows("Summary", &["Figure", "Value"], sums.into_iter().chain(rejected)) }
            { rows("Unavailable for clients elsewhere", &["Clients in", "Writes", "Linearizable reads", "Serializable reads"], apart) }
            { rows("Outages", &["Service", "From", "For", "Root cause"], outages) }
            { rows("Latency in ms", &["Requests", "Succeeded", "Timed out", "Failed", "p50", "p90", "p99", "Max"], latency) }
            { rows("Elections", &["Leader", "Term", "At", "Duration"], elections) }
            { rows("Members at the end", &["Member", "Zone", "Node", "Role", "Term", "Last entry", "Committed", "Database"], members) }
            { rows("Snapshots sent", &["From", "To", "Size", "At", "Duration", "Result"], snapshots) }
            { rows("Catch-up after a start", &["Member", "At", "Entries", "Bytes", "Duration"], catch_up) }
        </>
    }
}

/// What became of Kubernetes; nothing where there is none.
fn kubernetes(report: &Report) -> Html {
    let when = |s: f64| clock(moment(s), 3);
    let lasts = |from_s: f64, to_s: f64, over: bool| {
        if over { length(to_s - from_s) } else { format!("{} (ongoing)", length(to_s - from_s)) }
    };
    let time = |s: Option<f64>| s.map_or("none".to_owned(), length);
    let components = report.components.iter().map(|c| {
        let names = [c.component.clone(), c.namespace.clone(), c.cluster.clone(), count(c.lost), count(c.recovered)];
        names.into_iter().chain([c.detect_s, c.reschedule_s, c.ready_s].map(time)).chain([length(c.unavailable_s)]).collect()
    });
    let outages = report.api.iter().flat_map(|(name, api)| {
        let row = |o: &ApiOutageReport| {
            let lasted = lasts(o.from_s, o.to_s, o.completed);
            let lasted = if o.late { format!("{} of {lasted}", length(o.unavailable_s)) } else { lasted };
            vec![name.clone(), o.what(), when(o.from_s), lasted, o.root_cause.clone()]
        };
        api.outages.iter().map(row).collect::<Vec<_>>()
    });
    let apart = report.api.iter().flat_map(|(name, api)| {
        let row = |row: &ApiVantageReport| {
            vec![name.clone(), row.from.clone(), length(row.read_unavailable_s), length(row.write_unavailable_s)]
        };
        api.vantages_apart().map(row).collect::<Vec<_>>()
    });
    let by_resource = report.api.iter().flat_map(|(name, api)| {
        let row = |row: &ApiResourceReport| {
            vec![name.clone(), row.resource.clone(), length(row.read_unavailable_s), length(row.write_unavailable_s)]
        };
        api.resources.iter().map(row).collect::<Vec<_>>()
    });
    let clients = report.access.iter().map(|of| {
        let affected = format!("{} of {}", count(of.affected), count(of.count));
        let times = [of.longest_s, of.total_s].map(length);
        let opened = [of.connections, of.via_load_balancer].map(count);
        [of.cluster.clone(), of.clients.clone(), affected].into_iter().chain(times).chain(opened).collect()
    });
    let requests = report.access.iter().filter_map(|of| {
        let requests = of.requests.as_ref()?;
        let ended =
            [requests.answered, requests.errors, requests.connection_lost, requests.timed_out, requests.in_flight].map(count);
        let time = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), |ms| length(ms / 1e3));
        let latency = [requests.p50_ms, requests.p99_ms, requests.max_ms].map(time);
        Some([of.cluster.clone(), of.clients.clone()].into_iter().chain(ended).chain(latency).collect())
    });
    let idle = report.api.iter().flat_map(|(name, api)| {
        api.no_leader
            .iter()
            .map(move |i| vec![name.clone(), i.component.clone(), when(i.from_s), lasts(i.from_s, i.to_s, i.completed)])
    });
    let orphaned = report.orphaned_containers.iter().map(|h| {
        vec![h.pod.clone(), h.namespace.clone(), h.cluster.clone(), when(h.from_s), lasts(h.from_s, h.to_s, h.completed)]
    });
    let pods = report.pods.iter().map(|p| {
        let node = p.node.clone().unwrap_or_else(|| "none".to_owned());
        let ready = if p.ready { "ready" } else { "not ready" };
        vec![
            p.name.clone(),
            p.namespace.clone(),
            format!("{:?}", p.phase),
            ready.to_owned(),
            node,
            p.reason.clone().unwrap_or_default(),
        ]
    });
    let nodes = report.nodes.iter().map(|n| {
        let machine = n.machine.clone().unwrap_or_else(|| "none".to_owned());
        vec![n.name.clone(), n.zone.clone(), n.ready.clone(), n.taints.join(", "), machine]
    });
    let machines = report.machines.iter().map(|m| {
        let node = m.node.clone().unwrap_or_else(|| "none".to_owned());
        vec![m.name.clone(), m.zone.clone(), m.phase.clone(), length(m.age_s), node]
    });
    let services = report.services.iter().map(|s| {
        let times = [s.unavailable_s, s.no_endpoints_s, s.stale_s].map(length);
        [s.service.clone(), s.cluster.clone(), s.endpoints.to_string()].into_iter().chain(times).collect()
    });
    let listed = ["Service", "Cluster", "Endpoints", "Unavailable for", "No endpoint for", "Dead endpoints listed for"];
    let asked = [
        "Cluster",
        "Clients",
        "Answered",
        "Errors",
        "Connection lost",
        "Timed out",
        "In flight",
        "Median",
        "99th percentile",
        "Longest",
    ];
    let longest = ["Component", "Namespace", "Cluster", "Lost", "Recovered", "Detected", "Scheduled", "Ready", "Unavailable for"];
    html! {
        <>
            { rows("Components that lost a pod (longest times)", &longest, components) }
            { rows("Unavailable APIs", &["Cluster", "Requests", "From", "For", "Root cause"], outages) }
            { rows("Unavailable APIs for clients elsewhere", &["Cluster", "Clients in", "Reads", "Writes"], apart) }
            { rows("Unavailable APIs, by resource", &["Cluster", "Resource", "Reads", "Writes"], by_resource) }
            { rows("Clients of APIs", &["Cluster", "Clients", "Affected", "Longest outage", "Total", "New connections", "Via load balancer"], clients) }
            { rows("Requests of clients of APIs", &asked, requests) }
            { rows("Inactive controllers", &["Cluster", "Component", "From", "For"], idle) }
            { rows("Orphaned containers (still running after their pod was deleted)", &["Pod", "Namespace", "Cluster", "From", "For"], orphaned) }
            { rows("Services", &listed, services) }
            { moves(report) }
            { rows("Nodes at the end", &["Node", "Zone", "Ready", "Taints", "Machine"], nodes) }
            { rows("Machines at the end", &["Machine", "Zone", "Phase", "Age", "Node"], machines) }
            { rows("Pods at the end", &["Pod", "Namespace", "Phase", "Ready", "Node", "Reason"], pods.take(MOST_PODS)) }
        </>
    }
}

/// Nodes that are drained, control planes that move, and what is not back where it was.
fn moves(report: &Report) -> Html {
    let migrations = report.migrations.iter().map(|m| {
        let waits = m.waits.last().filter(|wait| !wait.completed).map(|wait| format!("waits for {}", wait.waits_for));
        let state = m.denied.clone().or(waits).unwrap_or_else(|| format!("migrated after {}", length(m.duration_s)));
        vec![m.shoot.clone(), m.to.clone(), clock(moment(m.requested_s), 3), length(m.write_unavailable_s), state]
    });
    let drains = report.drains.iter().flat_map(|d| {
        let row = move |state: String| vec![d.node.clone(), d.cluster.clone(), clock(moment(d.requested_s), 3), state];
        d.states(length).into_iter().map(row)
    });
    let failback = report.failback.iter().map(|f| {
        let zones: Vec<String> = f.per_zone.iter().map(|(zone, pods)| format!("{zone} {pods}")).collect();
        vec![f.component.clone(), f.namespace.clone(), f.cluster.clone(), zones.join(", "), f.remedy.clone()]
    });
    let skewed = ["Component", "Namespace", "Cluster", "Where", "Remedy"];
    html! {
        <>
            { rows("Drained nodes", &["Node", "Cluster", "Asked at", "State"], drains) }
            { rows("Control-plane migrations", &["Shoot", "To", "Requested at", "No writes for", "State"], migrations) }
            { rows("Still skewed after the zone has recovered", &skewed, failback) }
        </>
    }
}

/// Pods in the table, at most.
const MOST_PODS: usize = 500;

fn faults(report: &Report) -> Html {
    let row = |f: &zonefall_core::report::FaultReport| {
        let end = if f.completed { length(f.to_s - f.from_s) } else { "to the end".to_owned() };
        vec![f.what.clone(), clock(moment(f.from_s), 3), end]
    };
    rows("Faults", &["Fault", "From", "For"], report.faults.iter().map(row))
}

fn pairs(report: &Report) -> Html {
    let row = |p: &zonefall_core::report::ZonePairReport| {
        let rate = |v: f64| format!("{}/s", bytes(v as u64));
        vec![
            p.from_zone.clone(),
            p.to_zone.clone(),
            bytes(p.wire_bytes),
            rate(p.mean_wire_bytes_per_s),
            rate(p.peak_wire_bytes_per_s),
        ]
    };
    rows("Bytes between zones", &["From", "To", "On the wire", "Mean", "Peak"], report.zone_pairs.iter().map(row))
}

fn links(report: &Report) -> Html {
    let row = |l: &zonefall_core::report::LinkReport| {
        vec![l.from.clone(), l.to.clone(), bytes(l.bytes), bytes(l.wire_bytes), count(l.packets)]
    };
    rows("Bytes between endpoints", &["From", "To", "Written", "On the wire", "Packets"], report.links.iter().map(row))
}
