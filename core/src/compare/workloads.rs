//! Rows about workloads: their Services, rollouts, stores, budgets and pools of nodes.

use indexmap::IndexSet;

use super::{Row, Value, is_somewhere};
use crate::report::{BudgetReport, NodePoolReport, Report, RolloutReport, ServiceReport, ServiceTrafficReport, StoreLossReport};
use crate::scenario::Scenario;

type Runs<'a> = [(&'a Scenario, &'a Report)];

/// Those in which anything happened.
pub(super) fn rows(runs: &Runs<'_>) -> Vec<Row> {
    pools(runs).into_iter().chain(rollouts(runs)).chain(connections(runs)).filter(is_somewhere).collect()
}

fn row(runs: &Runs<'_>, what: &str, unit: &str, of: &dyn Fn(&Report) -> Option<Value>) -> Row {
    let values = runs.iter().map(|(_, report)| of(report)).collect();
    Row { what: what.to_owned(), unit: unit.to_owned(), values }
}

fn number(runs: &Runs<'_>, what: &str, unit: &str, of: &dyn Fn(&Report) -> f64) -> Row {
    row(runs, what, unit, &|report| Some(Value::Number(of(report))))
}

/// What scaling came to.
fn pools(runs: &Runs<'_>) -> [Row; 4] {
    let longest = |of: fn(&NodePoolReport) -> f64| move |report: &Report| report.node_pools.iter().map(of).fold(0.0, f64::max);
    let back_offs = |report: &Report| {
        report.node_pools.iter().flat_map(|pool| &pool.groups).map(|group| group.back_offs.len()).sum::<usize>() as f64
    };
    [
        number(runs, "nodes above the maximum of a pool (most)", "", &longest(|pool| f64::from(pool.exceeded_by))),
        number(runs, "a pool above its maximum for", "s", &longest(|pool| pool.exceeded_s)),
        number(runs, "a pool below its minimum for", "s", &longest(|pool| pool.below_minimum_s)),
        number(runs, "back-offs of node groups", "", &back_offs),
    ]
}

/// What rollouts took, and what they and evictions did.
fn rollouts(runs: &Runs<'_>) -> [Row; 10] {
    let longest = |is_meant: fn(&RolloutReport) -> bool| {
        move |report: &Report| {
            let meant = || report.rollouts.iter().filter(|rollout| is_meant(rollout));
            let never = meant().any(|rollout| !rollout.completed);
            let time = meant().map(|rollout| rollout.duration_s).reduce(f64::max)?;
            Some(if never { Value::Text("never".to_owned()) } else { Value::Number(time) })
        }
    };
    let sum = |of: fn(&RolloutReport) -> f64| move |report: &Report| report.rollouts.iter().map(of).sum::<f64>();
    let most = |of: fn(&RolloutReport) -> u32| move |report: &Report| report.rollouts.iter().map(of).max().unwrap_or(0).into();
    let lost = |losses: &[StoreLossReport]| losses.iter().map(|loss| loss.duration_s).sum::<f64>();
    let down = |services: &[ServiceReport]| services.iter().map(|service| service.unavailable_s).fold(0.0, f64::max);
    let several = |budgets: &[BudgetReport]| budgets.iter().map(|budget| budget.several_zones_s).fold(0.0, f64::max);
    [
        row(runs, "longest rollout of a good revision", "s", &longest(|rollout| !rollout.rollback && !rollout.bad)),
        row(runs, "longest rollback", "s", &longest(|rollout| rollout.rollback)),
        number(runs, "pods that ran a bad revision", "", &sum(|rollout| rollout.exposed_pods.into())),
        number(runs, "zones that ran a bad revision (most)", "", &most(|rollout| rollout.exposed_zones)),
        number(runs, "time of pods with a bad revision", "s", &sum(|rollout| rollout.exposed_pod_s)),
        number(runs, "zones disrupted at once by a rollout (most)", "", &most(|rollout| rollout.zones_disrupted)),
        number(runs, "requests that failed during rollouts, as time", "s", &sum(|rollout| rollout.failed_s)),
        number(runs, "replicated stores without quorum", "s", &|report| lost(&report.quorum_losses)),
        number(runs, "longest time of a Service without a pod that serves", "s", &|report| down(&report.services)),
        number(runs, "evictions in several zones at once, longest", "s", &|report| several(&report.budgets)),
    ]
}

/// Rows of all clients of Services together.
fn connections(runs: &[(&Scenario, &Report)]) -> Vec<Row> {
    let row = |what: &str, unit: &str, of: &dyn Fn(&[ServiceTrafficReport]) -> f64| Row {
        what: what.to_owned(),
        unit: unit.to_owned(),
        values: runs.iter().map(|(_, report)| Some(Value::Number(of(&report.service_traffic)))).collect(),
    };
    let sum = |of: fn(&ServiceTrafficReport) -> f64| move |all: &[ServiceTrafficReport]| all.iter().map(of).sum::<f64>();
    let (opened, failed) = (sum(|of| of.connections), sum(|of| of.refused + of.failed));
    let crossing = |all: &[ServiceTrafficReport]| {
        let flows = || all.iter().flat_map(|of| &of.zones);
        let (crossing, served) = flows().fold((0.0, 0.0), |(crossing, served), flow| {
            (crossing + if flow.from == flow.to { 0.0 } else { flow.connections }, served + flow.connections)
        });
        if served > 0.0 { 100.0 * crossing / served } else { 0.0 }
    };
    let overloaded = |all: &[ServiceTrafficReport]| all.iter().map(|of| of.overloaded_s).fold(0.0, f64::max);
    let mut rows = vec![
        row("connections of Services' clients", "", &|all| opened(all).round()),
        row("failed connections of Services' clients", "", &|all| failed(all).round()),
        row("connections to other zones, of those served", "%", &crossing),
        row("longest overload of a Service", "s", &overloaded),
    ];
    let providers = runs.iter().flat_map(|(_, report)| &report.service_traffic).flat_map(|of| of.usd_per_month.keys());
    for provider in providers.collect::<IndexSet<_>>() {
        let cost = |all: &[ServiceTrafficReport]| all.iter().filter_map(|of| of.usd_per_month.get(provider)).sum::<f64>();
        rows.push(row(&format!("traffic of Services between zones, a month ({provider})"), "USD", &cost));
    }
    rows.into_iter().filter(is_somewhere).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;
    use crate::compare::tests::ran;

    #[test]
    fn clients_of_services_have_rows() {
        let (scenario, report) = ran("kube-proxy-cross-zone");
        let (other, without) = ran("five-members");
        let compared = compare(&[(&scenario, &report), (&other, &without)]);
        let numbers = |what: &str| {
            let row = compared.rows.iter().find(|row| row.what == what).unwrap_or_else(|| panic!("{what}"));
            let number =
                |value: &Option<Value>| if let Some(Value::Number(number)) = value { *number } else { panic!("{row:?}") };
            row.values.iter().map(number).collect::<Vec<_>>()
        };
        let sum = |of: fn(&ServiceTrafficReport) -> f64| report.service_traffic.iter().map(of).sum::<f64>();
        assert_eq!(numbers("connections of Services' clients"), [sum(|of| of.connections).round(), 0.0]);
        assert_eq!(numbers("failed connections of Services' clients"), [sum(|of| of.refused + of.failed).round(), 0.0]);
        assert_eq!(numbers("traffic of Services between zones, a month (aws)"), [sum(|of| of.usd_per_month["aws"]), 0.0]);
        let of_those = numbers("connections to other zones, of those served");
        assert!((20.0..60.0).contains(&of_those[0]), "{of_those:?}");
        assert!(numbers("longest overload of a Service")[0] > 3_400.0);
    }

    #[test]
    fn strategies_have_rows() {
        let (scenario, report) = ran("rollout-strategies");
        let (other, without) = ran("five-members");
        let compared = compare(&[(&scenario, &report), (&other, &without)]);
        let values = |what: &str| &compared.rows.iter().find(|row| row.what == what).unwrap_or_else(|| panic!("{what}")).values;
        let exposed: u32 = report.rollouts.iter().map(|rollout| rollout.exposed_pods).sum();
        assert_eq!(values("pods that ran a bad revision")[..], [f64::from(exposed), 0.0].map(|n| Some(Value::Number(n))));
        assert!(exposed > 0);
        // What nobody rolls out takes no time.
        assert!(matches!(values("longest rollback")[..], [Some(_), None]));
        assert!(matches!(values("requests that failed during rollouts, as time")[0], Some(Value::Number(s)) if s > 0.0));
    }
}
