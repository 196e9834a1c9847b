//! Tables about nodes and machines: pools, what keeps the autoscaler from deleting nodes, drains that timed out, and what is there at the end.

use std::collections::BTreeMap;

use zonefall_core::report::{KeptNodeReport, MachineReport, NodePoolReport, NodeReport, RecoveryReport, Report};
use zonefall_core::scenario::text;

use crate::page::{Page, table, table_of_clusters};

/// Pools whose node groups the autoscaler sizes: how each stands, and how far it was beyond its maximum.
pub(crate) fn node_pools(report: &Report, page: &Page) -> String {
    let row = |pool: &NodePoolReport| {
        let groups: Vec<_> = pool.groups.iter().map(|group| format!("{} {}", group.launched, group.zone)).collect();
        let beyond = match pool.exceeded_by {
            0 => "-".to_owned(),
            nodes => format!("{nodes} for {}", text::seconds(pool.exceeded_s)),
        };
        let back_offs: usize = pool.groups.iter().map(|group| group.back_offs.len()).sum();
        let limits = format!("{} to {}", pool.minimum, pool.maximum);
        let (skew, back_offs) = (format!("{:.2}", pool.mean_skew), back_offs.to_string());
        vec![format!("{}/{}", pool.cluster, pool.pool), limits, groups.join(", "), beyond, skew, back_offs]
    };
    let head = ["pool", "limits", "nodes at the end", "beyond the maximum", "mean skew", "back-offs"];
    table(page, head, report.node_pools.iter().map(row).collect(), &[4, 5])
}

/// Of each pool, nodes that were to be deleted and stayed, then those at the end, by the reason.
pub(crate) fn kept_nodes(report: &Report, page: &Page) -> String {
    let rows = |pool: &NodePoolReport| {
        let row = |nodes: String, since: f64, why: String| {
            vec![format!("{}/{}", pool.cluster, pool.pool), nodes, text::clock(since), why]
        };
        let failures = pool.scale_down_failures.iter();
        let failed = failures.map(|of| row(of.node.clone(), of.since_s, format!("its deletion was given up: {}", of.why)));
        let mut by_reason: BTreeMap<&str, Vec<&KeptNodeReport>> = BTreeMap::new();
        pool.scale_down.iter().for_each(|node| by_reason.entry(&node.why).or_default().push(node));
        let kept = by_reason.into_iter().map(|(why, nodes)| {
            let since = nodes.iter().map(|node| node.since_s).fold(f64::INFINITY, f64::min);
            let names = nodes.iter().map(|node| node.node.clone()).collect::<Vec<_>>();
            row(text::list(&names), since, why.to_owned())
        });
        failed.chain(kept).collect::<Vec<_>>()
    };
    let head = ["pool", "nodes", "since", "why"];
    table(page, head, report.node_pools.iter().flat_map(rows).collect(), &[2])
}

/// Pods whose machine was deleted with them.
pub(crate) fn forced(report: &Report, page: &Page) -> String {
    let row = |pod: &RecoveryReport| {
        let refused = pod.eviction_refused_s.filter(|_| pod.why == "drain timed out")?;
        let names = [pod.cluster.clone(), pod.namespace.clone(), pod.pod.clone(), pod.node.clone()];
        let times = [text::clock(pod.lost_s), text::seconds(refused), text::seconds(pod.duration_s)];
        Some(names.into_iter().chain(times).collect())
    };
    let head = ["cluster", "namespace", "pod", "node", "at", "eviction refused for", "ready again after"];
    table_of_clusters(report, page, head, report.recovery.iter().filter_map(row).collect(), &[4, 5, 6])
}

/// By cluster and zone: how many nodes are ready, and the names of those that are not, and of those that are cordoned, if any are.
pub(crate) fn nodes(report: &Report, page: &Page) -> String {
    let mut zones: BTreeMap<[&str; 2], Vec<&NodeReport>> = BTreeMap::new();
    for node in &report.nodes {
        zones.entry([&node.cluster, &node.zone]).or_default().push(node);
    }
    let columns = if report.nodes.iter().any(NodeReport::is_cordoned) { 5 } else { 4 };
    let row = |([cluster, zone], nodes): ([&str; 2], Vec<&NodeReport>)| {
        let names = |which: fn(&NodeReport) -> bool| {
            let names: Vec<_> = nodes.iter().filter(|node| which(node)).map(|node| node.name.clone()).collect();
            if names.is_empty() { "-".to_owned() } else { text::list(&names) }
        };
        let ready = nodes.iter().filter(|node| node.ready == "True").count().to_string();
        let all =
            [cluster.to_owned(), zone.to_owned(), ready, names(|node| node.ready != "True"), names(NodeReport::is_cordoned)];
        all.into_iter().take(columns).collect::<Vec<_>>()
    };
    if zones.is_empty() {
        return String::new();
    }
    page.table(&["cluster", "zone", "ready", "not ready", "cordoned"][..columns], zones.into_iter().map(row), &[2])
}

/// By machine deployment: how many machines stand where, which of them a roll-out is still to replace, and whether the cloud is out of stock.
pub(crate) fn machines(report: &Report, page: &Page) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<&MachineReport>> = BTreeMap::new();
    for machine in &report.machines {
        groups.entry((&machine.zone, &machine.deployment)).or_default().push(machine);
    }
    let row = |((zone, deployment), machines): ((&str, &str), Vec<&MachineReport>)| {
        let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
        for machine in &machines {
            *phases.entry(&machine.phase).or_default() += 1;
        }
        let phases: Vec<_> = phases.into_iter().map(|(phase, count)| format!("{count} {phase}")).collect();
        let mut text = phases.join(", ");
        let outdated = machines.iter().filter(|machine| machine.outdated && machine.phase != "Terminating").count();
        if outdated > 0 {
            text += &format!("; {outdated} still to be replaced by the roll-out");
        }
        if machines.iter().any(|machine| machine.out_of_stock) {
            text += "; the cloud is out of stock";
        }
        vec![zone.to_owned(), deployment.to_owned(), text]
    };
    table(page, ["zone", "machine deployment", "machines"], groups.into_iter().map(row).collect(), &[])
}
