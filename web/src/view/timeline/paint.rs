//! The lanes on the screen, and the playhead above them.

use yew::prelude::*;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::Report;

use super::access_lanes;
use super::axis::Axis;
use super::lanes::{Bar, Lane, lanes};
use crate::view::hover::Hover;
use crate::view::map::shapes::px;
use crate::view::same::Same;

/// Height of the axis.
pub(crate) const HEAD: f64 = 20.0;
const BETWEEN: f64 = 4.0;
/// Width of a letter of the lanes, at most on average.
const LETTER: f64 = 6.3;
/// The same of a bold one.
const BOLD: f64 = 7.2;
/// Room for the knob that a thumb can hold, below the lanes; the style sheet leaves as much.
const KNOB: f64 = 28.0;

/// What is painted.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct PaintProps {
    pub report: Option<Same<Report>>,
    /// Name of the cluster.
    pub cluster: String,
    pub axis: Axis,
    /// Simulated up to here; `None`: to the end.
    pub live: Option<Time>,
    pub narrow: bool,
}

/// Height of all lanes.
pub(crate) fn height(report: Option<&Report>, cluster: &str, narrow: bool) -> f64 {
    of(report, cluster, narrow).iter().map(|lane| lane.height() + BETWEEN).sum::<f64>() + HEAD
}

/// The lanes that are shown; a narrow screen has room for what broke, who led, whether writes went, and which clients had an API server.
fn of(report: Option<&Report>, cluster: &str, narrow: bool) -> Vec<Lane> {
    let Some((report, etcd)) = report.and_then(|r| Some((r, r.etcd.get(cluster)?))) else { return Vec::new() };
    let (mut all, mut access) = (lanes(report, etcd), access_lanes::lanes(report, cluster));
    if !access.is_empty() {
        // Services of etcd that were always there leave their room to the API's clients.
        let is_more = |lane: &Lane| ["linearizable", "serializable", "quorum"].contains(&lane.name);
        all.retain(|lane| !is_more(lane) || !lane.bars.is_empty());
        all.append(&mut access);
    }
    if narrow {
        all.retain(|lane| ["faults", "leader", "writes", "clients"].contains(&lane.name));
    }
    all
}

/// The lanes.
#[component]
pub(crate) fn Paint(props: &PaintProps) -> Html {
    let PaintProps { report, cluster, axis, live, narrow } = props;
    let lanes = of(report.as_deref(), cluster, *narrow);
    let total = height(report.as_deref(), cluster, *narrow);
    let mut y = HEAD;
    let rows = lanes.iter().map(|lane| {
        let top = y;
        y += lane.height() + BETWEEN;
        draw(lane, axis, top, *narrow)
    });
    let rows: Html = rows.collect();
    let width = axis.right + axis.gutter;
    let several = report.as_deref().is_some_and(|report| report.etcd.len() > 1);
    let whose = several.then(|| whose(cluster, axis.left - 12.0));
    let ticks = zonefall_plots::ticks(axis.range.from_s, axis.range.to_s, ((axis.right - axis.left) / 90.0) as usize);
    html! {
        <svg class="lanes" width={px(width)} height={px(total)} aria-hidden="true">
            { for ticks.iter().map(|(s, words)| tick(axis, *s, words, total)) }
            { rows }
            if let Some(name) = whose { <text class="whose" x="4" y="11">{ name }</text> }
            if let Some(live) = live {
                <g class="ahead">
                    <rect x={px(axis.x(live.as_secs_f64()))} y={px(HEAD)} height={px(total - HEAD)}
                        width={px(axis.right - axis.x(live.as_secs_f64()))} />
                    <line x1={px(axis.x(live.as_secs_f64()))} x2={px(axis.x(live.as_secs_f64()))} y1={px(HEAD)} y2={px(total)} />
                </g>
            }
        </svg>
    }
}

/// Whose lanes these are, where there are several clusters: as much of the name as has room left of the axis.
fn whose(cluster: &str, room: f64) -> String {
    let most = (room / BOLD) as usize;
    let own = cluster.rsplit('/').next().unwrap_or(cluster);
    if own.chars().count() <= most { own.to_owned() } else { own.chars().take(most.saturating_sub(1)).chain(['…']).collect() }
}

/// A moment of the axis; its words stay between the names of the lanes and the edge of the screen.
fn tick(axis: &Axis, s: f64, words: &str, bottom: f64) -> Html {
    let x = axis.x(s);
    html! {
        <g class="tick">
            <line x1={px(x)} x2={px(x)} y1="15" y2={px(bottom)} />
            <text x={px(x)} y="11" text-anchor={anchor(axis, x, words)}>{ words }</text>
        </g>
    }
}

/// Where words begin that would like to be in the middle.
fn anchor(axis: &Axis, x: f64, words: &str) -> &'static str {
    let half = words.chars().count() as f64 * LETTER / 2.0;
    if x - half < axis.left - 2.0 {
        "start"
    } else if x + half > axis.right + axis.gutter {
        "end"
    } else {
        "middle"
    }
}

fn draw(lane: &Lane, axis: &Axis, top: f64, narrow: bool) -> Html {
    let middle = top + lane.height() / 2.0 + 4.0;
    let shown: Vec<&Bar> = lane.bars.iter().filter(|bar| axis.shows(bar.from_s, bar.to_s)).collect();
    let bars = shown.iter().map(|bar| {
        let after = shown.iter().filter(|other| other.row == bar.row && other.from_s > bar.from_s);
        let next = after.map(|other| axis.x(other.from_s)).fold(axis.right, f64::min);
        draw_bar(bar, axis, (top + bar.row as f64 * lane.row_height, lane.row_height), next)
    });
    let base = top + lane.height() / 2.0;
    html! {
        <g class={classes!("lane", lane.name.replace(' ', "-"))}>
            <text class="lane-name" x={px(axis.left - 10.0)} y={px(middle)} text-anchor="end">{ lane.name }</text>
            if lane.rows == 1 { <line class="base" x1={px(axis.left)} x2={px(axis.right)} y1={px(base)} y2={px(base)} /> }
            { for bars }
            if !narrow { <text class="lane-sum" x={px(axis.right + 10.0)} y={px(middle)}>{ &lane.sum }</text> }
        </g>
    }
}

/// A bar, at least two pixels wide: an outage of a second in a run of an hour is still to be seen.
fn draw_bar(bar: &Bar, axis: &Axis, (top, height): (f64, f64), next: f64) -> Html {
    let from = axis.x(bar.from_s);
    let to = axis.x(bar.to_s).max(from + 2.0);
    let needs = |words: &str| words.chars().count() as f64 * LETTER + 10.0;
    let mut words = [&bar.text].into_iter().chain(&bar.short);
    let inside = words.find(|words| to - from >= needs(words));
    // Beside the bar only what is short, and not in the lane of leaders: the next one begins where the last ends.
    let beside = bar.short.last().unwrap_or(&bar.text);
    let fits_beside = next - to >= needs(beside) && (bar.class == "fault" || bar.class.starts_with("outage"));
    let place = inside.map(|words| (from + 5.0, words)).or(fits_beside.then_some((to + 5.0, beside)));
    let y = top + height / 2.0 + 4.0;
    html! {
        <g class={classes!("bar", bar.class.clone())}>
            <rect x={px(from)} y={px(top + 1.0)} width={px(to - from)} height={px(height - 2.0)} rx={if to - from > 6.0 { "2" } else { "0" }}>
                <title>{ &bar.text }</title>
            </rect>
            if let Some((x, words)) = place { <text class={inside.map(|_| "inside")} x={px(x)} y={px(y)}>{ words }</text> }
        </g>
    }
}

/// The playhead, and a knob that a thumb can hold.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct PlayheadProps {
    pub axis: Axis,
    pub at: Time,
    pub height: f64,
    pub narrow: bool,
}

/// A line through all lanes, at the playhead.
#[component]
pub(crate) fn Playhead(props: &PlayheadProps) -> Html {
    let PlayheadProps { axis, at, height, narrow } = props;
    let s = at.as_secs_f64();
    if !axis.shows(s, s) {
        return Html::default();
    }
    let x = axis.x(s);
    let (knob, bottom) = if *narrow {
        // Below the lanes: a thumb there hides nothing.
        (format!("M{x:.1} {height:.1}a13 13 0 1 1 -0.1 0z"), height + KNOB)
    } else {
        (format!("M{:.1} 6h12v7l-6 6l-6-6z", x - 6.0), *height)
    };
    html! {
        <svg class="playhead" width={px(axis.right + 14.0)} height={px(bottom)} aria-hidden="true">
            <line x1={px(x)} x2={px(x)} y1="12" y2={px(*height)} />
            <path d={knob} />
        </svg>
    }
}

#[derive(Clone, PartialEq, Properties)]
pub(crate) struct HoverLineProps {
    pub axis: Axis,
    pub height: f64,
}

/// A line at the moment under the pointer, while that is in a chart.
#[component]
pub(crate) fn HoverLine(props: &HoverLineProps) -> Html {
    let HoverLineProps { axis, height } = props;
    let hover = use_context::<Hover>().and_then(|hover| *hover).filter(|s| axis.shows(*s, *s));
    let Some(s) = hover else { return Html::default() };
    let x = px(axis.x(s));
    html! {
        <svg class="playhead hover" width={px(axis.right + 1.0)} height={px(*height)} aria-hidden="true" data-testid="hover">
            <line x1={x.clone()} x2={x} y1="12" y2={px(*height)} />
        </svg>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::timeline::axis::Range;

    #[test]
    fn words_of_the_axis_stay_on_the_screen_and_off_the_names() {
        let axis = Axis::new(Range { from_s: 0.0, to_s: 2_100.0 }, 390.0);
        for (s, words, expected) in
            [(0.0, "0", "start"), (0.0, "1:01.25", "start"), (600.0, "10 min", "middle"), (2_100.0, "35 min", "end")]
        {
            assert_eq!(anchor(&axis, axis.x(s), words), expected, "{words} at {s}");
        }
    }

    #[test]
    fn the_name_of_the_cluster_ends_before_the_axis() {
        let (phone, desk) = (Axis::gutters(390.0).0 - 12.0, Axis::gutters(1_440.0).0 - 12.0);
        for (cluster, room, expected) in [
            ("etcd-events", desk, "etcd-events"),
            ("etcd-events", phone, "etcd-ev…"),
            ("shoot--garden--aws-ha/etcd-main", phone, "etcd-ma…"),
            ("a-cluster-withaverylongname", desk, "a-cluster-…"),
        ] {
            assert_eq!(whose(cluster, room), expected);
        }
    }
}
