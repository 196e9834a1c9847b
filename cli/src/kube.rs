//! The Kubernetes part of the table: what was lost, how it recovered, and the objects at the end.

use std::collections::BTreeMap;

use zonefall_core::report::{
    AccessReport, ApiOutageReport, ApiReport, BudgetReport, ComponentReport, DiskReport, DrainReport, FailbackReport,
    MigrationReport, OrphanedContainerReport, PendingReport, PodReport, Report, RolloutReport, ServiceReport,
    ServiceTrafficReport, StoreLossReport,
};
use zonefall_core::scenario::text::{self, clock};

use crate::machines::{forced, kept_nodes, machines, node_pools, nodes};
use crate::output::HEAD;
use crate::page::{Page, table, table_of_clusters};

/// The tables about Kubernetes; none for a scenario without it.
pub(crate) fn parts(report: &Report, page: &Page) -> Vec<String> {
    let titled = |title: &str, table: String| (!table.is_empty()).then(|| format!("{HEAD}{title}{HEAD:#}\n{table}"));
    let parts = [
        titled("APIs", apis(report, page)),
        titled("Outages of APIs", api_outages(report, page)),
        titled("Components that lost a pod (longest times)", components(report, page)),
        titled("Drained nodes", drains(report, page)),
        titled("Pods deleted by force when the drain of their machine timed out", forced(report, page)),
        titled("Rollouts", rollouts(report, page)),
        titled("Quorum losses of replicated stores", quorum_losses(report, page)),
        titled("Budgets of evictions", budgets(report, page)),
        titled("Disks by name", disks(report, page)),
        titled("Control-plane migrations", migrations(report, page)),
        titled("Services", services(report, page)),
        titled("Clients of Services", service_traffic(report, page)),
        titled("Clients of API servers", access(report, page)),
        titled("Requests to API servers", requests(report, page)),
        titled("Topology hints of Services", hints(report, page)),
        titled("Node pools", node_pools(report, page)),
        titled("Nodes that the autoscaler did not delete", kept_nodes(report, page)),
        titled("Still skewed after the zone has recovered", failback(report, page)),
        titled("Pending pods at the end", pending(report, page)),
        titled(
            "Orphaned containers (still running after their pod was deleted)",
            orphaned_containers(&report.orphaned_containers, page),
        ),
        titled("Nodes at the end", nodes(report, page)),
        titled("Machines at the end", machines(report, page)),
    ];
    parts.into_iter().flatten().collect()
}

/// Control planes that are not there, or not whole; `None`: all are.
pub(crate) fn pending_control_planes(pending: Option<&PendingReport>, page: &Page) -> Option<String> {
    let rows: Vec<_> = pending?.rows().into_iter().map(Vec::from).collect();
    (!rows.is_empty()).then(|| format!("{HEAD}Pending control planes{HEAD:#}\n{}", page.table(&PendingReport::HEADS, rows, &[])))
}

/// APIs that were unavailable, or whose controllers were inactive, for a time.
fn apis(report: &Report, page: &Page) -> String {
    let rows = |(name, api): (&String, &ApiReport)| {
        let mut idle: BTreeMap<&str, f64> = BTreeMap::new();
        for gap in &api.no_leader {
            *idle.entry(&gap.component).or_default() += gap.to_s - gap.from_s;
        }
        let idle: Vec<_> = idle.into_iter().map(|(component, s)| format!("{component} {}", text::seconds(s))).collect();
        let idle = if idle.is_empty() { "-".to_owned() } else { idle.join(", ") };
        let row = |name: String, [reads, writes]: [f64; 2], idle| vec![name, text::seconds(reads), text::seconds(writes), idle];
        let apart = api.vantages_apart().map(|vantage| {
            let times = [vantage.read_unavailable_s, vantage.write_unavailable_s];
            row(format!("{name} from {}", vantage.from), times, String::new())
        });
        let all = row(name.clone(), [api.read_unavailable_s, api.write_unavailable_s], idle);
        let resources = api.resources.iter().map(|of| {
            row(format!("{name}, {} alone", of.resource), [of.read_unavailable_s, of.write_unavailable_s], String::new())
        });
        std::iter::once(all).chain(apart).chain(resources).collect::<Vec<_>>()
    };
    let is_troubled =
        |api: &ApiReport| !api.outages.is_empty() || !api.no_leader.is_empty() || api.vantages_apart().next().is_some();
    let troubled = report.api.iter().filter(|(_, api)| is_troubled(api));
    table(page, ["cluster", "no reads for", "no writes for", "inactive controllers"], troubled.flat_map(rows).collect(), &[1, 2])
}

/// Outages of APIs; of reads and writes at once in one row.
fn api_outages(report: &Report, page: &Page) -> String {
    let what = |o: &ApiOutageReport| (o.from_s.to_bits(), o.to_s.to_bits(), o.share.to_bits(), o.late);
    let of_api = |(name, api): (&String, &ApiReport)| {
        let alike = api.outages.chunk_by(move |a, b| what(a) == what(b) && a.root_cause == b.root_cause);
        let row = |outages: &[ApiOutageReport]| {
            let first = &outages[0];
            let length = match first.completed {
                true if first.late => text::part(first.unavailable_s, first.to_s - first.from_s),
                true => text::seconds(first.to_s - first.from_s),
                false if first.late => format!("{}, to the end", text::seconds(first.unavailable_s)),
                false => "to the end".to_owned(),
            };
            let verbs: Vec<&str> = outages.iter().map(|outage| &*outage.verb).collect();
            let requests = first.what_of(&text::list(&verbs));
            vec![clock(first.from_s), length, name.clone(), requests, first.root_cause.clone()]
        };
        alike.map(row).collect::<Vec<_>>()
    };
    let rows = report.api.iter().flat_map(of_api).collect();
    table(page, ["from", "for", "cluster", "requests", "root cause"], rows, &[0, 1])
}

fn components(report: &Report, page: &Page) -> String {
    let time = |s: Option<f64>| s.map_or_else(|| "-".to_owned(), text::seconds);
    let row = |c: &ComponentReport| {
        let back = format!("{} of {}", c.recovered, c.lost);
        let times = [time(c.detect_s), time(c.reschedule_s), time(c.ready_s), text::seconds(c.unavailable_s)];
        [vec![c.cluster.clone(), c.namespace.clone(), c.component.clone(), back], times.to_vec()].concat()
    };
    let head = ["cluster", "namespace", "component", "recovered", "detected", "scheduled", "ready", "unavailable for"];
    table_of_clusters(report, page, head, report.components.iter().map(row).collect(), &[3, 4, 5, 6, 7])
}

fn pending(report: &Report, page: &Page) -> String {
    let row = |pod: &PodReport| {
        let why = pod.waits_for_node()?;
        Some(vec![pod.cluster.clone(), pod.namespace.clone(), pod.name.clone(), clock(pod.created_s), why.to_owned()])
    };
    let head = ["cluster", "namespace", "pod", "created at", "reason"];
    table_of_clusters(report, page, head, report.pods.iter().filter_map(row).collect(), &[3])
}

/// Nodes that an operator drains; where pods remain, a row for each of them.
fn drains(report: &Report, page: &Page) -> String {
    let rows = |of: &DrainReport| {
        let row = |state: String| vec![of.cluster.clone(), of.node.clone(), clock(of.requested_s), state];
        of.states(text::seconds).into_iter().map(row).collect::<Vec<_>>()
    };
    table(page, ["cluster", "node", "asked at", "state"], report.drains.iter().flat_map(rows).collect(), &[2])
}

fn zones(number: u32) -> String {
    if number == 1 { "1 zone".to_owned() } else { format!("{number} zones") }
}

fn quorum_losses(report: &Report, page: &Page) -> String {
    let row = |loss: &StoreLossReport| {
        let names = [loss.cluster.clone(), loss.workload.clone()];
        names.into_iter().chain([clock(loss.from_s), text::seconds(loss.duration_s), loss.cause.clone()]).collect()
    };
    let head = ["cluster", "workload", "from", "for", "cause"];
    table_of_clusters(report, page, head, report.quorum_losses.iter().map(row).collect(), &[2, 3])
}

fn rollouts(report: &Report, page: &Page) -> String {
    let row = |of: &RolloutReport| {
        let after = text::seconds(of.duration_s);
        let deadline = of.deadline_exceeded_s.map(|_| "exceeded its progress deadline");
        let why: Vec<&str> = deadline.into_iter().chain(of.waits_for.as_deref()).collect();
        let state = match &why[..] {
            _ if of.completed => format!("complete after {after}"),
            [] => format!("incomplete after {after}"),
            why => format!("incomplete after {after}: {}", why.join("; ")),
        };
        let back = match (of.rollback, of.automatic) {
            (false, _) => "",
            (true, false) => " (rollback)",
            (true, true) => " (automatic rollback)",
        };
        let what = format!("{}{back}", of.revision);
        let exposed = if of.exposed_pods == 0 {
            "-".to_owned()
        } else {
            format!("{} in {}, {}", of.exposed_pods, zones(of.exposed_zones), text::seconds(of.exposed_pod_s))
        };
        let unavailable = format!("{} in {}", of.most_unavailable, zones(of.zones_disrupted));
        let names = [of.cluster.clone(), of.workload.clone(), what].into_iter();
        names.chain([clock(of.requested_s), exposed, unavailable, text::seconds(of.failed_s), state]).collect()
    };
    let head = [
        "cluster",
        "workload",
        "to revision",
        "asked at",
        "pods on a bad revision",
        "most unavailable",
        "requests lost",
        "state",
    ];
    table_of_clusters(report, page, head, report.rollouts.iter().map(row).collect(), &[3, 6])
}

fn budgets(report: &Report, page: &Page) -> String {
    let row = |of: &BudgetReport| {
        let numbers = [of.granted, of.refused, of.most_disrupted, of.zones_disrupted].map(|number| number.to_string());
        let two = of.second_zone.clone().unwrap_or_else(|| "-".to_owned());
        let names = [of.cluster.clone(), of.budget.clone(), of.kind.clone()];
        names.into_iter().chain(numbers).chain([text::seconds(of.several_zones_s), two]).collect()
    };
    let head =
        ["cluster", "budget", "kind", "granted", "refused", "most pods", "most zones", "several zones for", "a second zone"];
    table(page, head, report.budgets.iter().map(row).collect(), &[3, 4, 5, 6, 7])
}

fn disks(report: &Report, page: &Page) -> String {
    let list = |zones: &[String]| if zones.is_empty() { "-".to_owned() } else { zones.join(", then ") };
    let row = |of: &DiskReport| {
        let label = of.label_zone.clone().unwrap_or_else(|| of.lookup.replace('_', " "));
        let numbers = [of.lookup_calls, of.failed_attachments].map(|number| number.to_string());
        let names =
            [of.cluster.clone(), of.component.clone(), of.disk.clone(), of.zones.join(", "), label, list(&of.attached_zones)];
        names.into_iter().chain(numbers).collect()
    };
    let head = ["cluster", "workload", "disk", "exists in", "zone label", "attached in", "lookup calls", "failed attachments"];
    table(page, head, report.disks.iter().map(row).collect(), &[6, 7])
}

fn migrations(report: &Report, page: &Page) -> String {
    let row = |of: &MigrationReport| {
        let unwritten = text::seconds(of.write_unavailable_s);
        let state = match (&of.denied, of.waits.last().filter(|wait| !wait.completed)) {
            (Some(why), _) => format!("denied: {why}"),
            (None, Some(wait)) => format!("waits for {}", wait.waits_for),
            (None, None) => format!("migrated after {}", text::seconds(of.duration_s)),
        };
        vec![of.shoot.clone(), of.to.clone(), clock(of.requested_s), unwritten, state]
    };
    table(
        page,
        ["shoot", "to seed", "requested at", "no writes for", "state"],
        report.migrations.iter().map(row).collect(),
        &[2, 3],
    )
}

fn services(report: &Report, page: &Page) -> String {
    let row = |of: &ServiceReport| {
        let times = [of.unavailable_s, of.no_endpoints_s, of.stale_s].map(text::seconds);
        [of.cluster.clone(), of.service.clone(), of.endpoints.to_string()].into_iter().chain(times).collect()
    };
    let head = ["cluster", "Service", "endpoints", "unavailable for", "no endpoint for", "dead endpoints listed for"];
    table(page, head, report.services.iter().map(row).collect(), &[2, 3, 4, 5])
}

/// Connections of Services' clients; those that found no endpoint have failed, too.
fn service_traffic(report: &Report, page: &Page) -> String {
    let row = |of: &ServiceTrafficReport| {
        let cost: Vec<_> = of.usd_per_month.iter().map(|(name, usd)| format!("{} ({name})", text::dollars(*usd))).collect();
        let cells = [
            of.cluster.clone(),
            of.service.clone(),
            format!("{:.0}", of.connections),
            format!("{:.0}", of.refused + of.failed),
            format!("{:.1} %", of.cross_zone_percent),
            of.round_trip_ms.map_or_else(|| "-".to_owned(), |ms| text::seconds(ms / 1e3)),
            if cost.is_empty() { "-".to_owned() } else { cost.join(", ") },
            format!("{:.2} of an even share", of.greatest_load),
            text::seconds(of.overloaded_s),
        ];
        cells.to_vec()
    };
    let head = [
        "cluster",
        "Service",
        "connections",
        "failed",
        "to other zones",
        "round trip",
        "cost a month",
        "greatest load",
        "overloaded for",
    ];
    table_of_clusters(report, page, head, report.service_traffic.iter().map(row).collect(), &[2, 3, 4, 5, 6, 7, 8])
}

/// Outages of clients, by kind, with the cause of the longest one.
fn access(report: &Report, page: &Page) -> String {
    let row = |of: &AccessReport| {
        let longest = of.outages.iter().max_by(|a, b| (a.to_s - a.from_s).total_cmp(&(b.to_s - b.from_s)));
        let cause = longest.map_or_else(|| "-".to_owned(), |time| format!("{} at {}", time.cause, clock(time.from_s)));
        let affected = format!("{} of {}", of.affected, of.count);
        let opened = format!("{} ({})", of.connections, of.via_load_balancer);
        let now: Vec<String> = of.per_server.values().map(ToString::to_string).collect();
        vec![
            of.cluster.clone(),
            of.clients.clone(),
            affected,
            text::seconds(of.longest_s),
            text::seconds(of.total_s),
            opened,
            now.join(" / "),
            cause,
        ]
    };
    let head = [
        "cluster",
        "clients",
        "affected",
        "longest outage",
        "total",
        "new connections (via balancer)",
        "per server at the end",
        "cause of the longest",
    ];
    table(page, head, report.access.iter().map(row).collect(), &[2, 3, 4, 5, 6])
}

/// Requests of further clients.
fn requests(report: &Report, page: &Page) -> String {
    let row = |of: &AccessReport| {
        let requests = of.requests.as_ref()?;
        let ms = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}"));
        let counts = [requests.answered, requests.errors, requests.connection_lost, requests.timed_out, requests.in_flight];
        let latency = [requests.p50_ms, requests.p99_ms, requests.max_ms].map(ms);
        let done =
            requests.done_s.map_or_else(|| "-".to_owned(), |at| format!("{} of {} at {}", requests.done, of.count, clock(at)));
        let names = [of.cluster.clone(), of.clients.clone()].into_iter();
        Some(names.chain(counts.map(|count| count.to_string())).chain(latency).chain([done]).collect())
    };
    let head = [
        "cluster",
        "requests of",
        "answered",
        "errors",
        "connection lost",
        "timed out",
        "in flight",
        "p50 ms",
        "p99 ms",
        "max ms",
        "done",
    ];
    table(page, head, report.access.iter().filter_map(row).collect(), &[2, 3, 4, 5, 6, 7, 8, 9])
}

/// Those of one seed that fared alike are one row.
fn hints(report: &Report, page: &Page) -> String {
    let mut alike: BTreeMap<[String; 4], Vec<&str>> = BTreeMap::new();
    for of in report.hints.chunk_by(|a, b| (&a.seed, &a.service) == (&b.seed, &b.service)) {
        let had: f64 = of.iter().filter(|row| row.active).map(|row| row.to_s - row.from_s).sum();
        let lost = of.iter().skip(1).find(|row| !row.active).map_or_else(|| "-".to_owned(), |row| clock(row.from_s));
        let last = &of[of.len() - 1];
        let end = last.why.as_ref().map_or_else(|| format!("on since {}", clock(last.from_s)), |why| format!("off: {why}"));
        alike.entry([last.seed.clone(), text::seconds(had), lost, end]).or_default().push(&last.service);
    }
    let row = |([seed, had, lost, end], services): ([String; 4], Vec<&str>)| {
        let more = if services.len() > 1 { format!(" and {} more", services.len() - 1) } else { String::new() };
        vec![seed, format!("{}{more}", services[0]), had, lost, end]
    };
    let head = ["seed", "Service", "with hints for", "first lost at", "at the end"];
    table(page, head, alike.into_iter().map(row).collect(), &[2, 3])
}

fn failback(report: &Report, page: &Page) -> String {
    let row = |of: &FailbackReport| {
        let zones: Vec<_> = of.per_zone.iter().map(|(zone, pods)| format!("{pods} {zone}")).collect();
        let component = if of.namespace.is_empty() { of.component.clone() } else { format!("{}/{}", of.namespace, of.component) };
        vec![of.cluster.clone(), component, zones.join(", "), of.remedy.clone()]
    };
    table_of_clusters(report, page, ["cluster", "component", "where", "remedy"], report.failback.iter().map(row).collect(), &[])
}

fn orphaned_containers(all: &[OrphanedContainerReport], page: &Page) -> String {
    let row = |container: &OrphanedContainerReport| {
        let length = if container.completed { text::seconds(container.to_s - container.from_s) } else { "to the end".to_owned() };
        vec![container.namespace.clone(), container.pod.clone(), clock(container.from_s), length]
    };
    table(page, ["namespace", "pod", "from", "for"], all.iter().map(row).collect(), &[2, 3])
}
