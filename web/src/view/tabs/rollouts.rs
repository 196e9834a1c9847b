//! How workloads were rolled out: what each rollout came to, its pods at the playhead, its batches by zone on the run's axis, and who deleted
//! which pods.

use yew::prelude::*;
use zonefall_core::ids::{KubeClusterId, WorkloadId};
use zonefall_core::kernel::time::Time;
use zonefall_core::report::{BatchReport, Report, RolloutReport, StoreLossReport};
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

use super::bars::{Bars, HEAD};
use super::list::{List, and_more, beside, entry};
use super::rollout_grid::{Grid, budgets};
use crate::state::{Action, PlaybackCommand};
use crate::view::labels::{clock, length, moment};
use crate::view::map::shapes::px;
use crate::view::same::Same;
use crate::view::timeline::axis::{Axis, Range};

/// Workloads that are shown before any is rolled out.
const MOST_WORKLOADS: usize = 8;
/// Rollouts that are listed.
const MOST_ROLLOUTS: usize = 200;
/// Batches of a rollout that are listed.
const MOST_BATCHES: usize = 100;
/// Times without quorum that are listed.
const MOST_LOSSES: usize = 100;
/// Height of a zone: its name, its batches.
const ROW: f64 = 38.0;
const BAR: f64 = 16.0;

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct RolloutsProps {
    pub scenario: Option<Same<Scenario>>,
    /// The world at the playhead.
    pub view: Option<Same<SimulationView>>,
    pub report: Same<Report>,
    pub at: Time,
    pub range: Range,
    /// No drawing.
    pub tables: bool,
    pub dispatch: Callback<Action>,
}

/// All rollouts, and the batches of the chosen one.
#[component]
pub(crate) fn Rollouts(props: &RolloutsProps) -> Html {
    let RolloutsProps { report, at, range, .. } = props;
    let chosen = use_state_eq(|| 0);
    let Some(of) = report.rollouts.get(*chosen).or(report.rollouts.first()) else {
        return html! {
            <div class="waits" tabindex="0" role="region" aria-label="Rollouts">
                <p class="quiet nothing">{ "No workload was rolled out yet." }</p>
                { for recorded(props).into_iter().take(MOST_WORKLOADS).map(|((_, name), grid)| html! { <><h3>{ name }</h3>{ grid }</> }) }
                { budgets_now(props) }
                { losses(props) }
            </div>
        };
    };
    let now = recorded(props).into_iter().find(|((cluster, workload), _)| *cluster == of.cluster && *workload == of.workload);
    let row = |(place, of): (usize, &RolloutReport)| {
        let set = chosen.setter();
        let exposed = if of.exposed_pods > 0 {
            html! { <td class="number bad">{ format!("✕ {}", of.exposed_pods) }</td> }
        } else {
            html! { <td class="number">{ "–" }</td> }
        };
        let cells = html! { <>{ exposed }<td>{ state(of) }</td></> };
        entry(place == *chosen, move |_| set.set(place), format!("rollout-{place}"), name(of), cells)
    };
    let list = List {
        label: "Rollouts",
        testid: "rollouts",
        caption: "Rollouts: pods that ran a bad revision, and what became of them",
        heads: &[("Rollout", false), ("Exposed pods", true), ("State", false)],
        rows: report.rollouts.iter().take(MOST_ROLLOUTS).enumerate().map(row).collect(),
        more: report.rollouts.len().saturating_sub(MOST_ROLLOUTS) as u64,
    };
    let rows = {
        let (of, dispatch) = (of.clone(), props.dispatch.clone());
        Callback::from(move |axis: Axis| drawing(&of, &axis, &dispatch))
    };
    let lanes = zones(of).len() + usize::from(!of.paused_by_alarm.is_empty()) + usize::from(!of.quorum_lost.is_empty());
    let details = html! {
        <>
            { for now.map(|(_, grid)| grid) }
            <p>{ sum(of) }</p>
            if !props.tables { <Bars height={lanes as f64 * ROW} at={*at} range={*range} {rows} /> }
            { batches(of, props) }
            { budgets_now(props) }
            { losses(props) }
        </>
    };
    beside(list, format!("Batches of {}", name(of)), "rollout", details)
}

/// What budgets allow at the playhead.
fn budgets_now(props: &RolloutsProps) -> Html {
    props.scenario.as_ref().zip(props.view.as_ref()).map(|(scenario, view)| budgets(scenario, view)).unwrap_or_default()
}

/// The workloads whose revisions are recorded, by the names of cluster and workload: how each stands at the playhead.
fn recorded(props: &RolloutsProps) -> Vec<((String, String), Html)> {
    let (Some(scenario), Some(view)) = (&props.scenario, &props.view) else { return Vec::new() };
    let all = view.clusters.iter_enumerated().flat_map(|(id, cluster)| cluster.rollouts.iter().map(move |of| (id, of.workload)));
    let grid = |(cluster, workload): (KubeClusterId, WorkloadId)| {
        let spec = &scenario.kube.clusters[cluster];
        let (scenario, view, dispatch) = (scenario.clone(), view.clone(), props.dispatch.clone());
        let names = (spec.name.clone(), spec.workloads[workload].name.clone());
        (names, html! { <Grid {scenario} {view} {cluster} {workload} {dispatch} /> })
    };
    all.map(grid).collect()
}

/// `db to revision 1`, `db back to revision 0`.
fn name(of: &RolloutReport) -> String {
    let back = if of.rollback { "back " } else { "" };
    format!("{} {back}to revision {}", of.workload, of.revision)
}

fn state(of: &RolloutReport) -> Html {
    let after = length(of.duration_s);
    if of.completed {
        html! { <span class="good">{ format!("✓ complete after {after}") }</span> }
    } else {
        html! { <span class="bad">{ format!("✕ incomplete after {after}") }</span> }
    }
}

/// What became of a rollout, in sentences.
fn sum(of: &RolloutReport) -> String {
    let mut said = vec![format!("Asked for at {}.", clock(moment(of.requested_s), 0))];
    said.extend(of.automatic.then(|| "A pipeline rolled it back: its alarm rang.".to_owned()));
    said.extend(of.waits_for.as_ref().map(|why| format!("It {why}.")));
    said.extend(of.deadline_exceeded_s.map(|s| format!("It exceeded its progress deadline at {}.", clock(moment(s), 0))));
    if of.most_unavailable > 0 {
        let pods = if of.most_unavailable == 1 { "pod was" } else { "pods were" };
        let zones = if of.zones_disrupted == 1 { "zone" } else { "zones" };
        said.push(format!("At most {} {pods} unavailable, in {} {zones}.", of.most_unavailable, of.zones_disrupted));
    }
    let paused_s: f64 = of.paused_by_alarm.iter().map(|pause| pause.duration_s).sum();
    if paused_s > 0.0 {
        said.push(format!("Its alarm paused it for {}.", length(paused_s)));
    }
    if of.exposed_pod_s > 0.0 {
        said.push(format!("Pods ran the bad revision for {} in all.", length(of.exposed_pod_s)));
    }
    for (s, what) in [(of.failed_s, "failed"), (of.slow_s, "were slow")] {
        if s > 0.0 {
            said.push(format!("As many requests {what} as come in {}.", length(s)));
        }
    }
    said.join(" ")
}

/// Zones in the order in which they were begun.
fn zones(of: &RolloutReport) -> Vec<&str> {
    let mut zones: Vec<&str> = Vec::new();
    for zone in of.batches.iter().flat_map(|batch| &batch.zones) {
        if !zones.contains(&zone.as_str()) {
            zones.push(zone);
        }
    }
    zones
}

/// Batches in the rows of their zones; times in which its alarm paused it, and those without quorum.
fn drawing(of: &RolloutReport, axis: &Axis, dispatch: &Callback<Action>) -> Html {
    let lane = |(k, zone): (usize, &str)| {
        let top = HEAD + k as f64 * ROW;
        let here = of.batches.iter().filter(|batch| batch.zones.iter().any(|own| own == zone));
        let mark = |batch: &BatchReport| mark(batch.at_s, batch.at_s, "ready", &words(batch), axis, top + 17.0, dispatch);
        html! { <><text x={px(axis.left)} y={px(top + 13.0)}>{ zone.to_owned() }</text>{ for here.map(mark) }</> }
    };
    let all = zones(of);
    let below = |k: usize, name: &str, times: Vec<(f64, f64, &str)>| {
        let top = HEAD + (all.len() + k) as f64 * ROW;
        let time = |(from_s, lasted_s, words): (f64, f64, &str)| {
            mark(from_s, from_s + lasted_s, "ready open", words, axis, top + 17.0, dispatch)
        };
        html! { <><text x={px(axis.left)} y={px(top + 13.0)}>{ name.to_owned() }</text>{ for times.into_iter().map(time) }</> }
    };
    let pauses: Vec<_> = of.paused_by_alarm.iter().map(|pause| (pause.from_s, pause.duration_s, "paused by its alarm")).collect();
    let losses: Vec<_> = of.quorum_lost.iter().map(|loss| (loss.from_s, loss.duration_s, loss.cause.as_str())).collect();
    let place = usize::from(!pauses.is_empty());
    html! {
        <>
            { for all.iter().copied().enumerate().map(lane) }
            if !pauses.is_empty() { { below(0, "alarm", pauses) } }
            if !losses.is_empty() { { below(place, "no quorum", losses) } }
        </>
    }
}

/// A bar from one moment to another, a way to the first.
fn mark(from_s: f64, to_s: f64, class: &'static str, words: &str, axis: &Axis, y: f64, dispatch: &Callback<Action>) -> Html {
    if !axis.shows(from_s, to_s) {
        return Html::default();
    }
    let (from, to) = (axis.x(from_s), axis.x(to_s));
    let onclick = dispatch.reform(move |_: MouseEvent| Action::Playback(PlaybackCommand::Seek(moment(from_s))));
    html! {
        <g class={classes!("wait", class)} {onclick}>
            <rect x={px(from)} y={px(y)} width={px((to - from).max(3.0))} height={px(BAR)}><title>{ words.to_owned() }</title></rect>
        </g>
    }
}

/// `3 pods by ZoneAwareUpdate: db-5, db-4, db-2`.
fn words(batch: &BatchReport) -> String {
    let pods = if batch.pods.len() == 1 { "pod" } else { "pods" };
    format!("{} {pods} by {}: {}", batch.pods.len(), batch.by, batch.pods.join(", "))
}

fn seek(s: f64, props: &RolloutsProps) -> Callback<MouseEvent> {
    props.dispatch.reform(move |_: MouseEvent| Action::Playback(PlaybackCommand::Seek(moment(s))))
}

/// Batches as a table; each is a way to its moment.
fn batches(of: &RolloutReport, props: &RolloutsProps) -> Html {
    let row = |(place, batch): (usize, &BatchReport)| {
        html! {
            <tr>
                <td><button class="quiet" onclick={seek(batch.at_s, props)} data-testid={format!("batch-{place}")}>{ clock(moment(batch.at_s), 0) }</button></td>
                <td>{ &batch.by }</td>
                <td>{ batch.zones.join(", ") }</td>
                <td>{ batch.pods.join(", ") }</td>
            </tr>
        }
    };
    html! {
        <>
            <table>
                <caption>{ format!("{}: pods deleted at one moment", name(of)) }</caption>
                <thead><tr><th scope="col">{ "At" }</th><th scope="col">{ "By" }</th><th scope="col">{ "Zone" }</th><th scope="col">{ "Pods" }</th></tr></thead>
                <tbody>{ for of.batches.iter().take(MOST_BATCHES).enumerate().map(row) }</tbody>
            </table>
            { and_more(of.batches.len().saturating_sub(MOST_BATCHES) as u64, " batches") }
        </>
    }
}

/// Times without quorum of all stores as a table, rolled out then or not.
fn losses(props: &RolloutsProps) -> Html {
    let all = &props.report.quorum_losses;
    let Some(first) = all.first() else { return Html::default() };
    let several = all.iter().any(|loss| loss.cluster != first.cluster);
    let row = |loss: &StoreLossReport| {
        html! {
            <tr>
                if several { <td>{ &loss.cluster }</td> }
                <td>{ &loss.workload }</td>
                <td><button class="quiet" onclick={seek(loss.from_s, props)}>{ clock(moment(loss.from_s), 0) }</button></td>
                <td class="number">{ length(loss.duration_s) }</td>
                <td>{ &loss.cause }</td>
            </tr>
        }
    };
    html! {
        <>
            <table data-testid="quorum-losses">
                <caption>{ "Replicated stores: time without quorum" }</caption>
                <thead>
                    <tr>
                        if several { <th scope="col">{ "Cluster" }</th> }
                        <th scope="col">{ "Workload" }</th><th scope="col">{ "From" }</th><th scope="col" class="number">{ "For" }</th><th scope="col">{ "Cause" }</th>
                    </tr>
                </thead>
                <tbody>{ for all.iter().take(MOST_LOSSES).map(row) }</tbody>
            </table>
            { and_more(all.len().saturating_sub(MOST_LOSSES) as u64, "") }
        </>
    }
}
