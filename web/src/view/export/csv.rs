//! The data of a tab as comma-separated values (RFC 4180): one line of names, then one line per row.

use serde_json::Value;
use zonefall_core::report::{EtcdReport, Report};

use crate::state::Tab;
use crate::view::labels::outage;

/// What the data of a tab is called.
pub fn name(tab: Tab) -> &'static str {
    match tab {
        Tab::Events => "events",
        Tab::Recovery => "recovery",
        Tab::Rollouts => "rollouts",
        Tab::NodeGroups => "node-groups",
        Tab::Access => "access",
        Tab::Availability => "availability",
        Tab::Latency => "latency",
        Tab::Traffic => "traffic",
        Tab::Cost => "cost",
        Tab::Report => "report",
    }
}

/// The data of a tab.
pub fn of(tab: Tab, report: &Report, cluster: &str) -> String {
    let etcd = report.etcd.get(cluster);
    let rows = match tab {
        Tab::Events => events(report),
        Tab::Recovery => recovery(report),
        Tab::Rollouts => rollouts(report),
        Tab::NodeGroups => node_groups(report),
        Tab::Access => access(report),
        Tab::Availability => etcd.map(availability).unwrap_or_default(),
        Tab::Latency => etcd.map(|etcd| latency(report, etcd)).unwrap_or_default(),
        Tab::Traffic => traffic(report),
        Tab::Cost => cost(report),
        Tab::Report => links(report),
    };
    rows.iter().map(|row| row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n").collect()
}

type Rows = Vec<Vec<String>>;

fn heads(names: &[&str]) -> Rows {
    vec![names.iter().map(|&name| name.to_owned()).collect()]
}

fn events(report: &Report) -> Rows {
    let mut rows = heads(&["at_s", "event"]);
    rows.extend(report.story.iter().map(|line| vec![line.at_s.to_string(), line.text.clone()]));
    rows
}

fn recovery(report: &Report) -> Rows {
    let mut rows =
        heads(&["cluster", "namespace", "component", "pod", "replacement", "until", "from_s", "to_s", "completed", "waits_for"]);
    rows.extend(report.recovery.iter().flat_map(|pod| {
        pod.waits.iter().map(move |wait| {
            let names = [&pod.cluster, &pod.namespace, &pod.component, &pod.pod].map(String::clone);
            let replacement = pod.replacement.clone().unwrap_or_default();
            let times = [wait.from_s.to_string(), wait.to_s.to_string(), wait.completed.to_string()];
            let wait = [wait.until.clone()].into_iter().chain(times).chain([wait.waits_for.clone()]);
            names.into_iter().chain([replacement]).chain(wait).collect()
        })
    }));
    rows
}

fn rollouts(report: &Report) -> Rows {
    let mut rows = heads(&["cluster", "workload", "rollback", "revision", "at_s", "by", "zones", "pods"]);
    rows.extend(report.rollouts.iter().flat_map(|of| {
        of.batches.iter().map(move |batch| {
            let which = [of.cluster.clone(), of.workload.clone(), of.rollback.to_string(), of.revision.to_string()];
            let what = [batch.at_s.to_string(), batch.by.clone(), batch.zones.join(" "), batch.pods.join(" ")];
            which.into_iter().chain(what).collect()
        })
    }));
    rows
}

fn node_groups(report: &Report) -> Rows {
    let mut rows =
        heads(&["cluster", "pool", "machine_deployment", "zone", "at_s", "minimum", "maximum", "target", "launched", "why"]);
    for of in &report.node_pools {
        rows.extend(of.scans.iter().flat_map(|scan| {
            of.groups.iter().zip(&scan.groups).map(|(group, found)| {
                let names = [&of.cluster, &of.pool, &group.machine_deployment, &group.zone].map(String::clone);
                let counts = [found.minimum, found.maximum, found.target, found.launched].map(|count| count.to_string());
                names.into_iter().chain([scan.at_s.to_string()]).chain(counts).chain([found.why.clone()]).collect()
            })
        }));
    }
    rows
}

fn access(report: &Report) -> Rows {
    let mut rows = heads(&["cluster", "clients", "client", "from_s", "to_s", "completed", "silent_s", "cause"]);
    rows.extend(report.access.iter().flat_map(|of| {
        of.outages.iter().map(move |outage| {
            let names = [&of.cluster, &of.clients, &outage.client].map(String::clone);
            let times = [outage.from_s, outage.to_s].map(|s| s.to_string());
            let how = [outage.completed.to_string(), outage.silent_s.to_string(), outage.cause.clone()];
            names.into_iter().chain(times).chain(how).collect()
        })
    }));
    rows
}

fn availability(cluster: &EtcdReport) -> Rows {
    let mut rows = heads(&["service", "from_s", "to_s", "completed", "root_cause", "unavailable_s"]);
    rows.extend(cluster.outages.iter().map(|o| {
        let times = [o.from_s.to_string(), o.to_s.to_string(), o.completed.to_string()];
        let how = [o.root_cause.clone(), o.unavailable_s.to_string()];
        [outage(o.kind).to_owned()].into_iter().chain(times).chain(how).collect()
    }));
    rows
}

fn latency(report: &Report, cluster: &EtcdReport) -> Rows {
    let mut rows = heads(&["requests", "from_s", "count", "failed", "p50_ms", "p90_ms", "p99_ms"]);
    let ms = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
    for l in &cluster.latency {
        let (name, windows) = (zonefall_plots::latency::label(l), &l.windows);
        rows.extend((0..windows.count.len()).map(|i| {
            let from_s = i as f64 * report.latency_window_s;
            let counts = [windows.count[i], windows.failed[i]].map(|n| n.to_string());
            let values = [windows.p50_ms[i], windows.p90_ms[i], windows.p99_ms[i]].map(ms);
            [name.clone(), from_s.to_string()].into_iter().chain(counts).chain(values).collect()
        }));
    }
    rows
}

fn traffic(report: &Report) -> Rows {
    let mut rows = heads(&["from_zone", "to_zone", "from_s", "wire_bytes_per_s"]);
    for pair in &report.zone_pairs {
        rows.extend(pair.wire_bytes_per_s.iter().enumerate().map(|(i, rate)| {
            let from_s = i as f64 * report.traffic_window_s;
            vec![pair.from_zone.clone(), pair.to_zone.clone(), from_s.to_string(), rate.to_string()]
        }));
    }
    rows
}

fn cost(report: &Report) -> Rows {
    let mut rows =
        heads(&["provider", "kind", "shoot", "component", "from_zone", "to_zone", "per_month_usd", "quantity", "unit"]);
    rows.extend(report.cost.iter().map(|row| {
        let names = [&row.shoot, &row.component, &row.from_zone, &row.to_zone].map(|name| name.clone().unwrap_or_default());
        let amounts = [row.per_month_usd.to_string(), row.quantity.to_string(), row.unit.word().to_owned()];
        [row.provider.clone(), row.kind.describe().to_owned()].into_iter().chain(names).chain(amounts).collect()
    }));
    rows
}

fn links(report: &Report) -> Rows {
    let mut rows = heads(&["cluster", "from", "to", "from_zone", "to_zone", "bytes", "wire_bytes", "packets"]);
    rows.extend(report.links.iter().map(|l| {
        let names = [&l.cluster, &l.from, &l.to, &l.from_zone, &l.to_zone].map(String::clone);
        names.into_iter().chain([l.bytes, l.wire_bytes, l.packets].map(|n| n.to_string())).collect()
    }));
    rows
}

/// A cell, in quotes where it needs them. A leading sign that a spreadsheet would take for a formula is made text.
fn quoted(cell: &str) -> String {
    let is_number = || serde_json::from_str::<Value>(cell).is_ok_and(|value| value.is_number());
    let formula = cell.starts_with(['=', '+', '-', '@']) && !is_number();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        for (cell, expected) in
            [("plain", "plain"), ("a, b", "\"a, b\""), ("say \"x\"", "\"say \"\"x\"\"\""), ("=1+1", "'=1+1"), ("-1.5", "-1.5")]
        {
            assert_eq!(quoted(cell), expected);
        }
    }
}
