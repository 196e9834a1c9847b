//! How pods came back: components with their longest times, and what each pod of the chosen one waited for, on the run's axis.

use yew::prelude::*;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::{ComponentReport, RecoveryReport, Report, WaitReport};

use super::bars::{Bars, HEAD};
use super::counts::Counts;
use super::list::{List, and_more, beside, entry};
use crate::state::{Action, PlaybackCommand};
use crate::view::labels::{clock, length, moment};
use crate::view::map::shapes::px;
use crate::view::same::Same;
use crate::view::timeline::axis::{Axis, Range};

/// Components that are listed, the worst first.
const MOST_COMPONENTS: usize = 200;
/// Pods of a component whose waits are drawn.
const MOST_PODS: usize = 12;
/// Height of a pod: its words, its bar.
const ROW: f64 = 38.0;
const BAR: f64 = 16.0;

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct RecoveryProps {
    pub report: Same<Report>,
    pub at: Time,
    pub range: Range,
    /// Another part of the run is wanted.
    pub on_range: Callback<Range>,
    /// No drawing.
    pub tables: bool,
    pub dispatch: Callback<Action>,
}

/// A component: cluster, namespace, name.
type Which = (String, String, String);

fn which(of: &ComponentReport) -> Which {
    (of.cluster.clone(), of.namespace.clone(), of.component.clone())
}

/// Components, those that are not back first, then those that took longest.
fn worst_first(report: &Report) -> Vec<&ComponentReport> {
    let mut all: Vec<_> = report.components.iter().collect();
    let ready_s = |of: &ComponentReport| of.ready_s.unwrap_or(f64::INFINITY);
    all.sort_by(|a, b| (b.lost - b.recovered).cmp(&(a.lost - a.recovered)).then(ready_s(b).total_cmp(&ready_s(a))));
    all
}

/// The list and the chosen component.
#[component]
pub(crate) fn Recovery(props: &RecoveryProps) -> Html {
    let RecoveryProps { report, .. } = props;
    let chosen = use_state_eq(|| None::<Which>);
    let all = worst_first(report);
    let Some(first) = all.first() else { return html! { <p class="quiet nothing">{ "No pod was lost." }</p> } };
    let is = (*chosen).clone().filter(|is| all.iter().any(|of| which(of) == *is)).unwrap_or_else(|| which(first));
    let several = all.iter().any(|of| of.namespace != first.namespace || of.cluster != first.cluster);
    let time = |s: Option<f64>| s.map_or_else(|| "–".to_owned(), length);
    let row = |of: &&ComponentReport| {
        let (set, which) = (chosen.setter(), which(of));
        let name = if several { format!("{} ({})", of.component, of.namespace) } else { of.component.clone() };
        let back = if of.recovered < of.lost {
            html! { <td class="number bad">{ format!("✕ {} of {}", of.recovered, of.lost) }</td> }
        } else {
            html! { <td class="number">{ format!("{} of {}", of.recovered, of.lost) }</td> }
        };
        let cells = html! {
            <>
                { back }
                <td class="number">{ time(of.detect_s) }</td>
                <td class="number">{ time(of.reschedule_s) }</td>
                <td class="number">{ time(of.ready_s) }</td>
            </>
        };
        entry(which == is, move |_| set.set(Some(which.clone())), format!("component-{}", of.component), name, cells)
    };
    let list = List {
        label: "Components",
        testid: "components",
        caption: "Components that lost a pod, and the longest times to detection, to scheduling of the replacement, and to readiness",
        heads: &[("Component", false), ("Recovered", true), ("Detected", true), ("Scheduled", true), ("Ready", true)],
        rows: all.iter().take(MOST_COMPONENTS).map(row).collect(),
        more: all.len().saturating_sub(MOST_COMPONENTS) as u64,
    };
    let pods: Vec<&RecoveryReport> =
        report.recovery.iter().filter(|pod| (&pod.cluster, &pod.namespace, &pod.component) == (&is.0, &is.1, &is.2)).collect();
    let drawn: Vec<RecoveryReport> = pods.iter().take(MOST_PODS).map(|pod| (*pod).clone()).collect();
    let rows = |pods: Vec<RecoveryReport>, dispatch| Callback::from(move |axis: Axis| waits(&pods, &axis, &dispatch));
    let details = html! {
        <>
            if !props.tables { <Bars height={drawn.len() as f64 * ROW} at={props.at} range={props.range} rows={rows(drawn, props.dispatch.clone())} /> }
            { for pods.iter().take(MOST_PODS).map(|pod| words(pod, props)) }
            if !props.tables { <Counts report={report.clone()} cluster={is.0.clone()} at={props.at} range={props.range} /> }
            { and_more(pods.len().saturating_sub(MOST_PODS) as u64, " pods") }
        </>
    };
    beside(list, format!("Recovery of {}", is.2), "recovery", details)
}

/// What a pod waited for, as a table; each step is a way to its moment.
fn words(pod: &RecoveryReport, props: &RecoveryProps) -> Html {
    let seek = |s: f64| props.dispatch.reform(move |_: MouseEvent| Action::Playback(PlaybackCommand::Seek(moment(s))));
    let wait = |wait: &WaitReport| {
        let step = if wait.completed { wait.until.clone() } else { format!("not {}", wait.until) };
        let tone = classes!("step-name", (!wait.completed).then_some("bad"));
        html! {
            <tr>
                <td class={tone}><i class={classes!("step", wait.until.clone())} aria-hidden="true"></i>{ step }</td>
                <td><button class="quiet" onclick={seek(wait.to_s)} data-testid={format!("wait-{}", wait.until)}>{ clock(moment(wait.to_s), 0) }</button></td>
                <td class="number">{ length(wait.to_s - wait.from_s) }</td>
                <td>{ &wait.waits_for }</td>
            </tr>
        }
    };
    let lead = 0.1 * pod.duration_s.max(1.0);
    let near =
        Range { from_s: (pod.lost_s - lead).max(0.0), to_s: (pod.lost_s + pod.duration_s + lead).min(props.report.simulated_s) };
    let larger = props.on_range.reform(move |_: MouseEvent| near);
    html! {
        <table>
            <caption>
                { format!("{}: ", pod.pod) }<button class="moment" onclick={seek(pod.lost_s)}>{ format!("{} at {}", pod.why, clock(moment(pod.lost_s), 0)) }</button>
                { ", " }<span class={if pod.completed { "good" } else { "bad" }}>{ outcome(pod) }</span>{ " " }
                if !props.tables { <button class="moment" onclick={larger}>{ "Zoom in" }</button> }
            </caption>
            <thead><tr><th scope="col">{ "Step" }</th><th scope="col">{ "At" }</th><th scope="col" class="number">{ "After" }</th><th scope="col">{ "Waited for" }</th></tr></thead>
            <tbody>{ for pod.waits.iter().chain(&served(pod)).map(wait) }</tbody>
        </table>
    }
}

/// The last step, where it was taken together with the one before.
fn served(pod: &RecoveryReport) -> Option<WaitReport> {
    let ready_s = pod.ready_s.filter(|_| pod.completed && pod.waits.last().is_some_and(|wait| wait.until != "ready"))?;
    let waits_for = "nothing: it is ready as soon as it has started".to_owned();
    Some(WaitReport { until: "ready".to_owned(), from_s: ready_s, to_s: ready_s, completed: true, waits_for })
}

fn outcome(pod: &RecoveryReport) -> String {
    let took = length(pod.duration_s);
    match (pod.completed, &pod.replacement) {
        (true, Some(by)) if *by != pod.pod => format!("✓ {by} is ready after {took}"),
        (true, _) => format!("✓ ready again after {took}"),
        (false, _) => format!("✕ not recovered after {took}"),
    }
}

/// The waits as bars.
fn waits(pods: &[RecoveryReport], axis: &Axis, dispatch: &Callback<Action>) -> Html {
    let row = |(i, pod): (usize, &RecoveryReport)| {
        let top = HEAD + i as f64 * ROW;
        html! {
            <>
                <text x={px(axis.left)} y={px(top + 13.0)}>{ &pod.pod }</text>
                { for pod.waits.iter().filter(|wait| axis.shows(wait.from_s, wait.to_s)).map(|wait| bar(wait, axis, top + 17.0, dispatch)) }
            </>
        }
    };
    html! { <>{ for pods.iter().enumerate().map(row) }</> }
}

fn bar(wait: &WaitReport, axis: &Axis, y: f64, dispatch: &Callback<Action>) -> Html {
    let (from, to) = (axis.x(wait.from_s), axis.x(wait.to_s));
    let to = to.max(from + 2.0);
    let at_s = wait.from_s;
    let onclick = dispatch.reform(move |_: MouseEvent| Action::Playback(PlaybackCommand::Seek(moment(at_s))));
    let words = if wait.completed { wait.until.clone() } else { format!("not {}: {}", wait.until, wait.waits_for) };
    let fits = |words: &str| words.chars().count() as f64 * 6.3 + 10.0 <= to - from;
    html! {
        <g class={classes!("wait", wait.until.clone(), (!wait.completed).then_some("open"))} {onclick}>
            <rect x={px(from)} y={px(y)} width={px(to - from)} height={px(BAR)} rx={if to - from > 6.0 { "2" } else { "0" }}>
                <title>{ format!("{}, {}: {}", wait.until, length(wait.to_s - wait.from_s), wait.waits_for) }</title>
            </rect>
            if fits(&words) { <text x={px(from + 5.0)} y={px(y + 12.0)}>{ words }</text> }
        </g>
    }
}
