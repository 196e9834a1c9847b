//! Lanes of API access: clients without an API server, and the leases of components.

use std::collections::BTreeMap;

use zonefall_core::report::{AccessReport, ApiReport, Report};
use zonefall_core::scenario::text;

use super::lanes::{Bar, Lane};
use crate::view::labels::length;

/// Kinds of clients that have a row: those with the longest outages.
const MOST_KINDS: usize = 4;
/// Components that have a row: those that led least.
const MOST_COMPONENTS: usize = 3;

/// The lanes of the cluster whose etcd is shown; none without API access.
pub(super) fn lanes(report: &Report, etcd: &str) -> Vec<Lane> {
    let Some((name, _)) = etcd.rsplit_once('/') else { return Vec::new() };
    let rows: Vec<&AccessReport> = report.access.iter().filter(|row| row.cluster == name).collect();
    match report.api.get(name) {
        Some(api) if !rows.is_empty() => vec![clients(rows), leases(api, report.simulated_s)],
        _ => Vec::new(),
    }
}

/// How many clients of a kind have no API server, from each moment on at which that changes.
pub(crate) fn affected(of: &AccessReport) -> Vec<(f64, i64)> {
    let mut changes: Vec<(f64, i64)> = of.outages.iter().flat_map(|outage| [(outage.from_s, 1), (outage.to_s, -1)]).collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut now = 0;
    let step = |(at_s, change)| {
        now += change;
        (at_s, now)
    };
    changes.into_iter().map(step).collect()
}

/// A row for each kind of clients that had an outage.
fn clients(mut kinds: Vec<&AccessReport>) -> Lane {
    let all = kinds.len();
    kinds.retain(|kind| kind.affected > 0);
    let hit = kinds.len();
    kinds.sort_by(|a, b| b.longest_s.total_cmp(&a.longest_s));
    kinds.truncate(MOST_KINDS);
    let failed = kinds.iter().filter_map(|kind| kind.requests.as_ref()?.failed_percent);
    let failed = failed.fold(0.0, f64::max);
    let sum = match hit {
        0 => "✓ no outage".to_owned(),
        _ if failed > 0.0 => format!("✕ {hit} of {all} kinds, {} failed", text::percent(failed)),
        _ => format!("✕ {hit} of {all} kinds"),
    };
    let bars = kinds.iter().enumerate().flat_map(|(row, kind)| outages(kind, row)).collect();
    Lane { name: "clients", sum, bars, rows: kinds.len().max(1), row_height: 14.0 }
}

/// Times in which clients of a kind had no API server; those that overlap are one bar.
fn outages(kind: &AccessReport, row: usize) -> Vec<Bar> {
    let mut bars = Vec::new();
    // From when on, and the most clients.
    let mut block: Option<(f64, i64)> = None;
    for (at_s, now) in affected(kind) {
        let (from_s, most) = block.unwrap_or((at_s, 0));
        block = Some((from_s, most.max(now)));
        if now == 0 {
            block = None;
            if at_s > from_s {
                bars.push(outage(kind, (from_s, at_s), most, row));
            }
        }
    }
    bars
}

fn outage(kind: &AccessReport, (from_s, to_s): (f64, f64), most: i64, row: usize) -> Bar {
    let (name, count) = (&kind.clients, kind.count);
    let whole = most.unsigned_abs() == count;
    let share = format!("{most} of {count} {name}");
    let lasts = length(to_s - from_s);
    let upto = if whole { "" } else { "up to " };
    Bar {
        from_s,
        to_s,
        text: format!("{upto}{share} without an API server for {lasts}"),
        short: vec![share, name.clone(), format!("{most} of {count}")],
        class: if whole { "outage" } else { "outage partial" }.to_owned(),
        row,
    }
}

/// A row for each component: times without a leader that can write, and who led when that changed.
fn leases(api: &ApiReport, until_s: f64) -> Lane {
    let mut lost: BTreeMap<&str, f64> = BTreeMap::new();
    for lease in &api.leases {
        lost.entry(&lease.component).or_default();
    }
    for gap in &api.no_leader {
        *lost.entry(&gap.component).or_default() += gap.to_s - gap.from_s;
    }
    let mut components: Vec<(&str, f64)> = lost.into_iter().collect();
    components.sort_by(|a, b| b.1.total_cmp(&a.1));
    let inactive = components.iter().filter(|(_, lost_s)| *lost_s > 0.0).count();
    let longest = api.no_leader.iter().map(|gap| gap.to_s - gap.from_s).fold(0.0, f64::max);
    let sum = match inactive {
        0 => "✓ held".to_owned(),
        _ => format!("✕ {inactive} lost, {}", length(longest)),
    };
    components.truncate(MOST_COMPONENTS);
    let bars =
        components.iter().enumerate().flat_map(|(row, (component, _))| of_component(api, component, row, until_s)).collect();
    Lane { name: "leases", sum, bars, rows: components.len().max(1), row_height: 14.0 }
}

fn of_component(api: &ApiReport, component: &str, row: usize, until_s: f64) -> Vec<Bar> {
    let bar = |(from_s, to_s): (f64, f64), text: String, short: &str, class: &str| Bar {
        from_s,
        to_s,
        text,
        short: vec![short.to_owned()],
        class: class.to_owned(),
        row,
    };
    let gaps: Vec<(f64, f64)> =
        api.no_leader.iter().filter(|gap| gap.component == component).map(|gap| (gap.from_s, gap.to_s)).collect();
    let changes: Vec<(f64, Option<&str>)> = api
        .leases
        .iter()
        .filter(|lease| lease.component == component)
        .map(|lease| (lease.at_s, lease.holder.as_deref()))
        .collect();
    // Between two gaps it has a leader: the last one whose lease began before.
    let ends = gaps.iter().map(|gap| gap.0).chain([until_s]);
    let starts = [0.0].into_iter().chain(gaps.iter().map(|gap| gap.1));
    let held = starts.zip(ends).filter(|(from_s, to_s)| to_s > from_s).map(|(from_s, to_s)| {
        let holder = changes.iter().rfind(|(at_s, holder)| *at_s < to_s && holder.is_some()).and_then(|(_, holder)| *holder);
        let text = holder.map_or_else(|| format!("{component}: active"), |holder| format!("{component}: active {holder}"));
        bar((from_s, to_s), text, component, "held")
    });
    let mut bars: Vec<Bar> = held.collect();
    bars.extend(gaps.iter().map(|(from_s, to_s)| {
        let text = format!("{component}: not active for {}", length(to_s - from_s));
        bar((*from_s, *to_s), text, "not active", "vacant")
    }));
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::report::{ClientOutageReport, LeaseReport, NoLeaderReport};

    fn kind(outages: &[(f64, f64)]) -> AccessReport {
        let outage = |&(from_s, to_s): &(f64, f64)| ClientOutageReport {
            client: "kubelet of w1".to_owned(),
            from_s,
            to_s,
            completed: true,
            silent_s: 0.0,
            cause: String::new(),
        };
        AccessReport {
            cluster: "c".to_owned(),
            clients: "kubelets of workers".to_owned(),
            count: 2,
            affected: outages.len() as u64,
            outages: outages.iter().map(outage).collect(),
            omitted: 0,
            longest_s: 20.0,
            total_s: 35.0,
            connections: 0,
            via_load_balancer: 0,
            per_server: [].into_iter().collect(),
            requests: None,
        }
    }

    #[test]
    fn outages_of_clients_that_overlap_are_one_bar_with_the_most_at_once() {
        let kind = kind(&[(10.0, 30.0), (20.0, 40.0), (60.0, 70.0)]);
        let lane = clients(vec![&kind]);
        let bars: Vec<_> = lane.bars.iter().map(|bar| (bar.from_s, bar.to_s, bar.text.as_str(), bar.class.as_str())).collect();
        assert_eq!(
            bars,
            [
                (10.0, 40.0, "2 of 2 kubelets of workers without an API server for 30 s", "outage"),
                (60.0, 70.0, "up to 1 of 2 kubelets of workers without an API server for 10 s", "outage partial"),
            ]
        );
        assert_eq!((lane.rows, lane.sum.as_str()), (1, "✕ 1 of 1 kinds"));
    }

    #[test]
    fn lane_without_an_outage_is_a_line() {
        let kind = kind(&[]);
        let lane = clients(vec![&kind]);
        assert_eq!((lane.rows, lane.bars.len(), lane.sum.as_str()), (1, 0, "✓ no outage"));
    }

    #[test]
    fn component_is_active_but_for_the_time_without_a_leader() {
        let api = ApiReport {
            no_leader: vec![NoLeaderReport { component: "kube-scheduler".to_owned(), from_s: 10.0, to_s: 40.0, completed: true }],
            leases: vec![LeaseReport { at_s: 38.0, component: "kube-scheduler".to_owned(), holder: Some("on m1".to_owned()) }],
            ..ApiReport::default()
        };
        let lane = leases(&api, 100.0);
        let bars: Vec<_> = lane.bars.iter().map(|bar| (bar.from_s, bar.to_s, bar.text.as_str(), bar.class.as_str())).collect();
        assert_eq!(
            bars,
            [
                (0.0, 10.0, "kube-scheduler: active", "held"),
                (40.0, 100.0, "kube-scheduler: active on m1", "held"),
                (10.0, 40.0, "kube-scheduler: not active for 30 s", "vacant"),
            ]
        );
        assert_eq!(lane.sum, "✕ 1 lost, 30 s");
    }
}
