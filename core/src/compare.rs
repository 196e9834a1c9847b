//! Runs beside each other: what each way to survive the same outage gives, and what it takes.
//!
//! ```text
//! (Scenario, Report) of each run --> compare() --> Comparison: a row per figure, a column per run
//! ```

mod workloads;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::report::{AccessReport, ComponentReport, EtcdReport, PendingReport, Report, length};
use crate::scenario::text;
use crate::scenario::{EtcdClusterSpec, Scenario};

/// Figures of several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Names of the scenarios, in the order given.
    pub scenarios: Vec<String>,
    /// The figures.
    pub rows: Vec<Row>,
}

/// One figure of each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// Its unit: `s`, `ms`, `%`, `USD`, or empty for what is counted or said.
    pub unit: String,
    /// Its value in each run; null: it has none there.
    pub values: Vec<Option<Value>>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number, in the row's unit.
    Number(f64),
    /// A text that is no number.
    Text(String),
}

/// Compares runs: figures of the whole first, then those of each component that lost a pod; of several of one name the longest times.
pub fn compare(runs: &[(&Scenario, &Report)]) -> Comparison {
    let number = |what: &str, unit: &str, of: &dyn Fn(&Scenario, &Report) -> f64| Row {
        what: what.to_owned(),
        unit: unit.to_owned(),
        values: runs.iter().map(|(scenario, report)| Some(Value::Number(of(scenario, report)))).collect(),
    };
    let text = |what: &str, of: &dyn Fn(&Scenario, &Report) -> Option<String>| Row {
        what: what.to_owned(),
        unit: String::new(),
        values: runs.iter().map(|(scenario, report)| of(scenario, report).map(Value::Text)).collect(),
    };
    let longest = |report: &Report, of: &dyn Fn(&EtcdReport) -> f64| report.etcd.values().map(of).fold(0.0, f64::max);
    let mut rows = vec![
        number("etcd unavailable for writes", "s", &|_, r| longest(r, &|etcd| etcd.write_unavailable_s)),
        number("etcd unavailable for linearizable reads", "s", &|_, r| longest(r, &|etcd| etcd.read_unavailable_s.linearizable)),
        number("API unavailable for writes", "s", &|_, r| r.api.values().map(|api| api.write_unavailable_s).fold(0.0, f64::max)),
        number("etcd without fault tolerance", "s", &|_, r| longest(r, &|etcd| etcd.no_fault_tolerance_s)),
        text("members that etcd can lose", &|_, report| weakest(report).map(tolerance)),
        text("etcd maintenance without downtime", &maintenance),
        number("committed entries lost", "", &|_, r| r.etcd.values().map(|etcd| etcd.rpo.lost_entries as f64).sum()),
        number("data-loss window", "s", &|_, r| longest(r, &lost_window)),
        number("data-loss window by configuration", "s", &|scenario, _| timed_window(scenario)),
        number("machines (maximum)", "", &|_, r| machines(r)),
        number("volumes", "", &|scenario, _| volumes(scenario)),
        number("pods at the end", "", &|_, r| r.pods.len() as f64),
    ];
    let pending = |of: fn(&PendingReport) -> usize| move |r: &Report| r.pending.as_ref().map_or(0, of) as f64;
    let (never, homeless) = (pending(|pending| pending.shoots.len()), pending(|pending| pending.pods.len()));
    let waiting = pending(|pending| pending.workloads.iter().map(|row| row.pods as usize).sum());
    let rows_of_pending = [
        number("control planes never created", "", &|_, r| never(r)),
        number("control planes with pods without a node", "", &|_, r| homeless(r)),
        number("pods of workloads without a node at the end", "", &|_, r| waiting(r)),
    ];
    rows.extend(rows_of_pending.into_iter().filter(is_somewhere));
    let clients = |of: fn(&AccessReport) -> u64| move |r: &Report| r.access.iter().map(of).sum::<u64>() as f64;
    let (affected, connections) = (clients(|row| row.affected), clients(|row| row.connections));
    let requests = |r: &Report| r.access.iter().filter_map(|row| row.requests.clone()).collect::<Vec<_>>();
    let failed = |r: &Report| {
        requests(r).iter().map(|requests| (requests.errors + requests.connection_lost + requests.timed_out) as f64).sum::<f64>()
    };
    // Where nothing was answered there is none.
    let slowest = |(_, report): &(&Scenario, &Report)| {
        requests(report).iter().filter_map(|requests| requests.p99_ms).reduce(f64::max).map(Value::Number)
    };
    let rows_of_clients = [
        number("API clients with an outage", "", &|_, r| affected(r)),
        number("longest outage of an API client", "s", &|_, r| r.access.iter().map(|row| row.longest_s).fold(0.0, f64::max)),
        number("new connections of API clients", "", &|_, r| connections(r)),
        number("failed requests of API clients", "", &|_, r| failed(r)),
        Row {
            what: "99th percentile of requests, slowest API client".to_owned(),
            unit: "ms".to_owned(),
            values: runs.iter().map(slowest).collect(),
        },
    ];
    rows.extend(rows_of_clients.into_iter().filter(is_somewhere));
    rows.extend(workloads::rows(runs));
    rows.extend(
        components(runs, "unavailable for", |component| Value::Number(component.unavailable_s)).into_iter().filter(is_somewhere),
    );
    rows.extend(components(runs, "fully redundant after", |component| {
        let back = component.ready_s.filter(|_| component.recovered == component.lost);
        back.map_or_else(|| Value::Text("never".to_owned()), Value::Number)
    }));
    Comparison { scenarios: runs.iter().map(|(scenario, _)| scenario.name.clone()).collect(), rows }
}

/// Whether a figure is not zero in every run.
fn is_somewhere(row: &Row) -> bool {
    row.values.iter().flatten().any(|value| *value != Value::Number(0.0))
}

/// The longest time whose writes a switch-over has lost.
fn lost_window(etcd: &EtcdReport) -> f64 {
    etcd.failovers.iter().map(|switch| switch.lost_window_s).fold(0.0, f64::max)
}

/// How old the data of a member that takes over may be, uploads and paths aside: the other one of a pair gets a delta snapshot every so
/// often, or, a learner, an append or heartbeat. Of a quorum nobody takes over without all that is committed.
fn timed_window(scenario: &Scenario) -> f64 {
    let window = |cluster: &EtcdClusterSpec| {
        let backup = cluster.passive.as_ref()?.backup;
        Some(backup.map_or(cluster.options.heartbeat_interval, |backup| backup.delta_period))
    };
    scenario.etcd.iter().filter_map(window).max().map_or(0.0, length)
}

/// A row for each component that lost a pod in any run.
fn components(runs: &[(&Scenario, &Report)], what: &str, of: impl Fn(&ComponentReport) -> Value) -> Vec<Row> {
    let mut rows: IndexMap<&str, Vec<Option<Value>>> = IndexMap::new();
    for (k, (_, report)) in runs.iter().enumerate() {
        for component in &report.components {
            let value = &mut rows.entry(&component.component).or_insert_with(|| vec![None; runs.len()])[k];
            let other = of(component);
            *value = Some(value.take().map_or_else(|| other.clone(), |before| later(before, other.clone())));
        }
    }
    let row = |(name, values): (&str, _)| Row { what: format!("{name} {what}"), unit: "s".to_owned(), values };
    rows.into_iter().map(row).collect()
}

/// The etcd cluster that was without fault tolerance for longest.
fn weakest(report: &Report) -> Option<&EtcdReport> {
    report.etcd.values().max_by(|a, b| a.no_fault_tolerance_s.total_cmp(&b.no_fault_tolerance_s))
}

/// `1, 0 from 10 min, 1 from 131.3 min`.
fn tolerance(etcd: &EtcdReport) -> String {
    let mut said: Vec<(i64, String)> = Vec::new();
    for row in &etcd.tolerance {
        if said.last().is_some_and(|(left, _)| *left == row.failure_tolerance) {
            continue;
        }
        let since = if row.from_s > 0.0 { format!(" from {}", text::seconds(row.from_s)) } else { String::new() };
        said.push((row.failure_tolerance, format!("{}{since}", row.failure_tolerance)));
    }
    said.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

/// A member may be restarted without downtime while a quorum can lose one; of a pair only one serves.
fn maintenance(scenario: &Scenario, report: &Report) -> Option<String> {
    let pairs = scenario.etcd.iter().any(|cluster| cluster.passive.is_some());
    weakest(report).map(|etcd| match etcd.no_fault_tolerance_s {
        0.0 if !pairs => "always".to_owned(),
        none if pairs || none >= report.simulated_s => "never".to_owned(),
        none => format!("except for {}", text::seconds(none)),
    })
}

/// The most machines at a time that the cloud had made or was making.
fn machines(report: &Report) -> f64 {
    let most = report.counts.values().map(|counts| {
        let all = [&counts.machines_running, &counts.machines_coming, &counts.machines_failing, &counts.machines_terminating];
        let refused = |k: usize| counts.machines_refused.get(k).copied().unwrap_or(0);
        let made = |k| all.iter().map(|series| series[k]).sum::<u32>() - refused(k);
        (0..counts.machines_running.len()).map(made).max().unwrap_or(0)
    });
    f64::from(most.sum::<u32>())
}

/// Volumes of pods, and of members of etcd that are none.
fn volumes(scenario: &Scenario) -> f64 {
    let workloads = scenario.kube.clusters.iter().flat_map(|cluster| &cluster.workloads);
    let pods: u32 = workloads.filter(|workload| workload.volume.is_some()).map(|workload| workload.replicas).sum();
    let members: usize = scenario.etcd.iter().filter(|etcd| !etcd.managed).map(|etcd| etcd.members.len()).sum();
    f64::from(pods) + members as f64
}

/// The longer of two times; never is longest.
fn later(a: Value, b: Value) -> Value {
    match (&a, &b) {
        (Value::Number(x), Value::Number(y)) if x < y => b,
        (Value::Number(_), Value::Text(_)) => b,
        _ => a,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::run::run;
    use crate::scenario::bundled;
    use crate::sim::Options;

    pub(super) fn ran(name: &str) -> (Scenario, Report) {
        let file = bundled().iter().find(|file| file.name == name).expect("it is bundled");
        let scenario = Scenario::from_json(file.json).expect("bundled scenarios are valid");
        let report = run(&Arc::new(scenario.clone()), 1, Options::default(), &mut |_, _| {}, &mut |_| {});
        (scenario, report)
    }

    #[test]
    fn options_differ_where_they_should() {
        let runs = ["zone-outage-option-1", "zone-outage-option-2"].map(ran);
        let compared = compare(&runs.each_ref().map(|(scenario, report)| (scenario, report)));
        assert_eq!(compared.scenarios, ["zone-outage-option-1", "zone-outage-option-2"]);
        let row = |what: &str| compared.rows.iter().find(|row| row.what == what).unwrap_or_else(|| panic!("{what}"));
        assert_eq!(row("volumes").values[0], row("volumes").values[1]);
        let Some(Value::Number(pods)) = row("pods at the end").values[0] else { panic!("no number") };
        assert!(matches!(row("pods at the end").values[1], Some(Value::Number(more)) if more > pods));
        let alone = row("kube-controller-manager unavailable for");
        assert!(matches!(alone.values[0], Some(Value::Number(seconds)) if seconds > 400.0), "{alone:?}");
        assert_eq!(alone.values[1], Some(Value::Number(0.0)));
        let Some(Value::Text(left)) = &row("members that etcd can lose").values[0] else { panic!("no words") };
        assert_eq!(left, "1, 0 from 10 min, 1 from 2.2 h");
        let Some(Value::Text(maintenance)) = &row("etcd maintenance without downtime").values[0] else { panic!("no words") };
        assert_eq!(maintenance, "except for 2 h");
    }

    /// GEP-20's recovery options and its active-passive ones, on the same outage of two hours.
    #[test]
    fn six_ways_to_survive_a_zone() {
        let options = ["1", "2", "3a", "3b"].map(|option| format!("zone-outage-option-{option}"));
        let pairs = ["active-passive-standby", "active-passive-learner"].map(str::to_owned);
        let runs: Vec<_> = options.iter().chain(&pairs).map(|name| ran(name)).collect();
        let compared = compare(&runs.iter().map(|(scenario, report)| (scenario, report)).collect::<Vec<_>>());
        let row = |what: &str| {
            let row = compared.rows.iter().find(|row| row.what == what).unwrap_or_else(|| panic!("{what}"));
            <[Option<Value>; 6]>::try_from(row.values.clone()).expect("six runs")
        };
        let numbers = |what: &str| {
            row(what).map(|value| match value {
                Some(Value::Number(number)) => number,
                other => panic!("{what}: {other:?}"),
            })
        };
        let texts = |what: &str| {
            row(what).map(|value| match value {
                Some(Value::Text(text)) => text,
                other => panic!("{what}: {other:?}"),
            })
        };
        let [one, two, _, moved, standby, learner] = [0, 1, 2, 3, 4, 5];
        let outage = 7_200.0;
        // A quorum elects; a pair fails three checks, 30 s apart, of a druid that may have to take its lease first.
        let writes = numbers("etcd unavailable for writes");
        assert!(writes[..standby].iter().all(|s| *s < 3.0) && writes[standby..].iter().all(|s| (60.0..120.0).contains(s)));
        let alone = numbers("etcd-main unavailable for");
        assert!(alone[..standby].iter().all(|s| *s == 0.0));
        assert!([standby, learner].iter().all(|k| (60.0..=writes[*k]).contains(&alone[*k])), "{alone:?}, {writes:?}");
        assert!(numbers("API unavailable for writes")[standby..].iter().all(|s| *s > 60.0));
        // Nobody stands by while the zone is out, as little as there is a third vote; but where druid moves members.
        let bare = numbers("etcd without fault tolerance");
        assert!((0..6).all(|k| if k == moved { bare[k] < outage / 4.0 } else { bare[k] >= outage }), "{bare:?}");
        for (k, left) in texts("members that etcd can lose").iter().enumerate() {
            assert!(left.starts_with("1, 0 from 10 min, "), "{left}");
            // One that takes over does not serve yet, and there is no other.
            assert_eq!(left.contains(", -1 from 11"), k >= standby, "{left}");
            assert!(left.contains(", 1 from 2.2 h"), "whole again: {left}");
        }
        let maintenance = texts("etcd maintenance without downtime");
        assert!((0..6).all(|k| (maintenance[k] == "never") == (k >= standby)), "{maintenance:?}");
        // Writes a second: 50 of the client, and of the control plane at rest (`IDLE_LOAD`) 4.7 to etcd-main (leases and their ends,
        // and the status of objects), 0.1 to etcd-events; at random while an etcd is disturbed. Each has snapshots of its own.
        let per_s = 54.7;
        let (_, report) = &runs[standby];
        let expected: f64 =
            report.etcd.iter().map(|(name, etcd)| lost_window(etcd) * if name.ends_with("events") { 0.117 } else { per_s }).sum();
        let (lost, window) = (numbers("committed entries lost"), numbers("data-loss window"));
        let timed = numbers("data-loss window by configuration");
        assert_eq!(timed.map(|s| (s * 1e3) as u64), [0, 0, 0, 0, 300_000, 100]);
        assert_eq!((&lost[..standby], &window[..standby]), (&[0.0; 4][..], &[0.0; 4][..]));
        assert!(lost[standby] > per_s && (lost[standby] - expected).abs() < 20.0, "{lost:?}, {window:?}, {expected}");
        assert!((1.0..timed[standby] + 1.0).contains(&window[standby]), "{window:?}");
        assert!(lost[learner] <= 10.0 && window[learner] <= 2.0 * timed[learner], "{lost:?}, {window:?}");
        // Two etcd clusters of two members, not three, with a pod and a volume each.
        let [pods, volumes] = ["pods at the end", "volumes"].map(|what| numbers(what).map(|count| count as i64));
        assert!([standby, learner].iter().all(|k| pods[*k] == pods[one] - 2 && volumes[*k] == volumes[one] - 2));
        assert!(pods[two] > pods[one] && volumes[two] == volumes[one] && volumes[moved] == volumes[one]);
        assert!(numbers("machines (maximum)").iter().all(|machines| (6.0..=12.0).contains(machines)));
        let whole = numbers("etcd-main fully redundant after");
        assert!((0..6).all(|k| (whole[k] < outage) == (k == moved)), "{whole:?}");
        let managed = numbers("kube-controller-manager unavailable for");
        assert!((0..6).all(|k| if k == two { managed[k] == 0.0 } else { (405.0..450.0).contains(&managed[k]) }), "{managed:?}");
    }

    /// The cloud makes none of the machines that are asked for: there are never more than the seven of the start.
    #[test]
    fn machines_that_were_refused_do_not_count() {
        let (scenario, report) = ran("eu-west-1a-outage");
        assert!(report.machines.len() > 12, "{}", report.machines.len());
        let compared = compare(&[(&scenario, &report)]);
        let row = compared.rows.iter().find(|row| row.what == "machines (maximum)").expect("a row of machines");
        assert_eq!(row.values, [Some(Value::Number(7.0))]);
    }

    #[test]
    fn where_nothing_was_answered_there_is_no_percentile() {
        let file = serde_json::json!({
            "name": "removed", "duration": "10m", "prices": {"books": []},
            "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
            "load_balancers": [{"name": "lb", "profile": "haproxy"}],
            "clusters": [{
                "name": "c", "zones": ["za", "zb", "zc"], "api_access": {"load_balancer": "lb"},
                "pools": [{"name": "p", "minimum": 3, "maximum": 3}],
                "api_clients": [{"name": "late", "runs_on": "workers", "rate": "1/s", "start": "2m", "timeout": "5s"}],
            }],
            "faults": [{"at": "1m", "kind": "lb_removed", "balancer": "lb"}],
        });
        let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        let report = run(&Arc::new(scenario.clone()), 1, Options::default(), &mut |_, _| {}, &mut |_| {});
        let compared = compare(&[(&scenario, &report)]);
        let value = |what: &str| compared.rows.iter().find(|row| row.what == what).map(|row| row.values[0].clone());
        assert!(matches!(value("failed requests of API clients"), Some(Some(Value::Number(failed))) if failed > 100.0));
        assert_eq!(value("99th percentile of requests, slowest API client"), None, "a row of nothing is left out");
    }

    #[test]
    fn never_is_the_longest_time() {
        let [short, long] = [1.0, 2.0].map(Value::Number);
        let never = Value::Text("never".to_owned());
        assert_eq!(later(short.clone(), long.clone()), long);
        assert_eq!(later(long.clone(), short), long);
        assert_eq!(later(long.clone(), never.clone()), never);
        assert_eq!(later(never.clone(), long), never);
    }
}
