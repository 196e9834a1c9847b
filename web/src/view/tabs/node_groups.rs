//! Node groups of pools: their limits and nodes over time, and what each scan of the cluster autoscaler did with them, and why.

use yew::prelude::*;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::{BackOffReport, NodeGroupReport, NodeGroupScanReport, NodePoolReport, Report};

use super::bars::{Bars, HEAD, area};
use super::list::{List, and_more, beside, entry};
use crate::state::{Action, PlaybackCommand};
use crate::view::labels::{clock, length, moment};
use crate::view::map::shapes::px;
use crate::view::same::Same;
use crate::view::timeline::axis::{Axis, Range};

/// Pools that are listed.
const MOST_POOLS: usize = 200;
/// Scans and back-offs of a pool that are listed.
const MOST_ROWS: usize = 200;
/// Height of a group: its words, its nodes.
const ROW: f64 = 44.0;
const AREA: f64 = 24.0;

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct NodeGroupsProps {
    pub report: Same<Report>,
    pub at: Time,
    pub range: Range,
    /// No drawing.
    pub tables: bool,
    pub dispatch: Callback<Action>,
}

/// All pools, and the groups of the chosen one.
#[component]
pub(crate) fn NodeGroups(props: &NodeGroupsProps) -> Html {
    let NodeGroupsProps { report, at, range, .. } = props;
    let chosen = use_state_eq(|| 0);
    let is = if *chosen < report.node_pools.len() { *chosen } else { 0 };
    let Some(of) = report.node_pools.get(is) else {
        return html! { <p class="quiet nothing">{ "No node groups yet." }</p> };
    };
    let row = |(place, of): (usize, &NodePoolReport)| {
        let set = chosen.setter();
        let beyond = if of.exceeded_by > 0 {
            html! { <td class="number bad">{ format!("✕ {} for {}", of.exceeded_by, length(of.exceeded_s)) }</td> }
        } else {
            html! { <td class="number">{ "–" }</td> }
        };
        let cells = html! {
            <>
                <td class="number">{ format!("{} of {}", launched(of), of.maximum) }</td>
                { beyond }
                <td class="number">{ format!("{:.1}", of.mean_skew) }</td>
            </>
        };
        entry(place == is, move |_| set.set(place), format!("pool-{place}"), name(of), cells)
    };
    let list = List {
        label: "Pools",
        testid: "node-pools",
        caption: "Pools: nodes, nodes beyond the maximum, and the mean difference between zones",
        heads: &[("Pool", false), ("Nodes at the end", true), ("Beyond maximum", true), ("Mean skew", true)],
        rows: report.node_pools.iter().take(MOST_POOLS).enumerate().map(row).collect(),
        more: report.node_pools.len().saturating_sub(MOST_POOLS) as u64,
    };
    let rows = {
        let (of, end_s) = (of.clone(), report.simulated_s);
        Callback::from(move |axis: Axis| drawing(&of, end_s, &axis))
    };
    let details = html! {
        <>
            <p>{ sum(of) }</p>
            if !props.tables {
                <p class="quiet">{ "Filled: nodes. Line: nodes that are wanted. Dashes: at most. Bars: left alone after a failure." }</p>
                <Bars height={(of.groups.len() + 1) as f64 * ROW} at={*at} range={*range} {rows} />
            }
            { groups(of) }
            { back_offs(of, props) }
            { scans(of, props) }
        </>
    };
    beside(list, format!("Node groups of {}", name(of)), "node-groups", details)
}

fn name(of: &NodePoolReport) -> String {
    format!("{}: {}", of.cluster, of.pool)
}

fn launched(of: &NodePoolReport) -> u32 {
    of.groups.iter().map(|group| group.launched).sum()
}

/// What became of a pool, in sentences.
fn sum(of: &NodePoolReport) -> String {
    let mut said = vec![format!("{} to {} nodes; it had at most {}.", of.minimum, of.maximum, of.most_launched)];
    if of.exceeded_by > 0 {
        said.push(format!("It exceeded its maximum by up to {}, for {}.", of.exceeded_by, length(of.exceeded_s)));
    }
    if of.below_minimum_s > 0.0 {
        said.push(format!(
            "It had fewer nodes than its minimum for {}: the autoscaler does not make up for them.",
            length(of.below_minimum_s)
        ));
    }
    said.join(" ")
}

/// A figure of the groups at each scan, until the end of the run.
fn over_time(of: &NodePoolReport, end_s: f64, figure: impl Fn(&[NodeGroupScanReport]) -> u32) -> Vec<(f64, i64)> {
    let steps = of.scans.iter().map(|scan| (scan.at_s, i64::from(figure(&scan.groups))));
    steps.chain([(end_s, 0)]).collect()
}

/// Nodes of the zone that has most, beyond those of the one that has fewest.
fn skew(groups: &[NodeGroupScanReport]) -> u32 {
    let launched = || groups.iter().map(|group| group.launched);
    launched().max().unwrap_or(0) - launched().min().unwrap_or(0)
}

/// The nodes of each group, its limits and the times for which it was left alone; below them the skew.
fn drawing(of: &NodePoolReport, end_s: f64, axis: &Axis) -> Html {
    let all = of.scans.iter().flat_map(|scan| &scan.groups);
    let most = all.map(|group| group.launched.max(group.maximum).max(group.target)).max().unwrap_or(1).max(1);
    let unit = AREA / f64::from(most);
    let top = |row: usize| HEAD + row as f64 * ROW;
    let shape = |class: &'static str, steps: &[(f64, i64)], row: usize| html! { <path {class} d={area(steps, unit, axis, top(row) + ROW - 4.0)} /> };
    let lane = |(k, group): (usize, &NodeGroupReport)| {
        let figure = |of_group: fn(&NodeGroupScanReport) -> u32| over_time(of, end_s, |groups| groups.get(k).map_or(0, of_group));
        let back_off = |back_off: &BackOffReport| {
            let (from, to) = (back_off.from_s, back_off.from_s + back_off.duration_s);
            let (y, height) = (px(top(k) + ROW - 4.0 - AREA), px(AREA));
            axis.shows(from, to).then(|| {
                let (x, width) = (px(axis.x(from)), px((axis.x(to) - axis.x(from)).max(2.0)));
                html! { <rect class="back-off" {x} {y} {width} {height}><title>{ &back_off.why }</title></rect> }
            })
        };
        html! {
            <>
                { shape("launched", &figure(|group| group.launched), k) }
                { for group.back_offs.iter().filter_map(back_off) }
                { shape("target", &figure(|group| group.target), k) }
                { shape("maximum", &figure(|group| group.maximum), k) }
                <text x={px(axis.left)} y={px(top(k) + 12.0)}>{ format!("{}: {} nodes at the end", group.zone, group.launched) }</text>
            </>
        }
    };
    let last = of.groups.len();
    html! {
        <g class="node-groups">
            { for of.groups.iter().enumerate().map(lane) }
            { shape("skew", &over_time(of, end_s, skew), last) }
            <text x={px(axis.left)} y={px(top(last) + 12.0)}>{ format!("skew: {:.1} nodes on average", of.mean_skew) }</text>
        </g>
    }
}

/// The groups as a table.
fn groups(of: &NodePoolReport) -> Html {
    let row = |group: &NodeGroupReport| {
        html! {
            <tr>
                <td>{ &group.zone }</td>
                <td>{ &group.machine_deployment }</td>
                <td class="number">{ group.minimum }</td>
                <td class="number">{ group.maximum }</td>
                <td class="number">{ group.launched }</td>
            </tr>
        }
    };
    html! {
        <table>
            <caption>{ "Node groups, with their shares of the pool's limits" }</caption>
            <thead><tr><th scope="col">{ "Zone" }</th><th scope="col">{ "Machine deployment" }</th><th scope="col" class="number">{ "Minimum" }</th><th scope="col" class="number">{ "Maximum" }</th><th scope="col" class="number">{ "Nodes at the end" }</th></tr></thead>
            <tbody>{ for of.groups.iter().map(row) }</tbody>
        </table>
    }
}

fn seek(s: f64, props: &NodeGroupsProps) -> Callback<MouseEvent> {
    props.dispatch.reform(move |_: MouseEvent| Action::Playback(PlaybackCommand::Seek(moment(s))))
}

/// Times for which groups were left alone.
fn back_offs(of: &NodePoolReport, props: &NodeGroupsProps) -> Html {
    let mut all: Vec<(&str, &BackOffReport)> =
        of.groups.iter().flat_map(|group| group.back_offs.iter().map(|one| (group.zone.as_str(), one))).collect();
    if all.is_empty() {
        return Html::default();
    }
    all.sort_by(|(_, a), (_, b)| a.from_s.total_cmp(&b.from_s));
    let row = |(zone, one): &(&str, &BackOffReport)| {
        html! {
            <tr>
                <td><button class="quiet" onclick={seek(one.from_s, props)} aria-label={format!("Go to {}", clock(moment(one.from_s), 0))}>{ clock(moment(one.from_s), 0) }</button></td>
                <td class="number">{ length(one.duration_s) }</td>
                <td>{ *zone }</td>
                <td>{ &one.why }</td>
            </tr>
        }
    };
    let left_out = all.len().saturating_sub(MOST_ROWS) as u64;
    html! {
        <>
        <table data-testid="back-offs">
            <caption>{ "Groups left alone after a failure (back-off)" }</caption>
            <thead><tr><th scope="col">{ "From" }</th><th scope="col" class="number">{ "For" }</th><th scope="col">{ "Zone" }</th><th scope="col">{ "Why" }</th></tr></thead>
            <tbody>{ for all.iter().take(MOST_ROWS).map(row) }</tbody>
        </table>
        { and_more(left_out, "") }
        </>
    }
}

/// Scans that found a group changed; each is a way to its moment.
fn scans(of: &NodePoolReport, props: &NodeGroupsProps) -> Html {
    let now = of.scans.partition_point(|scan| moment(scan.at_s) <= props.at);
    let from = now.saturating_sub(MOST_ROWS / 2).min(of.scans.len().saturating_sub(MOST_ROWS));
    let cell = |group: &NodeGroupScanReport| {
        let NodeGroupScanReport { minimum, maximum, target, launched, why } = group;
        let wanted = if target == launched { String::new() } else { format!(", {target} wanted") };
        html! { <td>{ format!("{minimum}:{maximum}:{launched}{wanted}: {why}") }</td> }
    };
    let row = |(place, scan): (usize, &zonefall_core::report::NodePoolScanReport)| {
        html! {
            <tr class={(place + 1 == now).then_some("current")}>
                <td><button class="quiet" onclick={seek(scan.at_s, props)} aria-label={format!("Go to {}", clock(moment(scan.at_s), 0))} data-testid={format!("scan-{place}")}>{ clock(moment(scan.at_s), 0) }</button></td>
                { for scan.groups.iter().map(cell) }
            </tr>
        }
    };
    let left_out = of.scans_omitted + of.scans.len().saturating_sub(MOST_ROWS) as u64;
    html! {
        <>
            <table data-testid="scans">
                <caption>{ "Scans that found another number or another reason: minimum:maximum:nodes of each group, and what the scan did with it" }</caption>
                <thead><tr><th scope="col">{ "At" }</th>{ for of.groups.iter().map(|group| html! { <th scope="col">{ &group.zone }</th> }) }</tr></thead>
                <tbody>{ for of.scans.iter().enumerate().skip(from).take(MOST_ROWS).map(row) }</tbody>
            </table>
            { and_more(left_out, " scans") }
        </>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skew_is_the_difference_between_the_fullest_zone_and_the_emptiest() {
        let group = |launched| NodeGroupScanReport { minimum: 0, maximum: 4, target: launched, launched, why: String::new() };
        assert_eq!(skew(&[group(3), group(1), group(2)]), 2);
        assert_eq!(skew(&[]), 0);
    }
}
