//! How many nodes, machines and pods of a Kubernetes cluster are well, over time.

use yew::prelude::*;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::{CountsReport, Report};

use crate::view::map::shapes::px;
use crate::view::same::Same;
use crate::view::size::use_width;
use crate::view::timeline::axis::{Axis, Range};

/// Height of the words of a row, and of its picture.
const WORDS: f64 = 16.0;
const FIGURE: f64 = 22.0;

/// What is drawn.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct CountsProps {
    pub report: Same<Report>,
    /// Name of the cluster.
    pub cluster: String,
    pub at: Time,
    pub range: Range,
}

/// A row: what is counted, those that are well and all of them, at the end of each window.
type Row = (&'static str, Vec<u32>, Vec<u32>);

fn rows(of: &CountsReport) -> Vec<Row> {
    let sum = |parts: &[&Vec<u32>]| (0..parts[0].len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect::<Vec<u32>>();
    let CountsReport { machines_running, machines_coming, machines_failing, machines_terminating, .. } = of;
    let machines = sum(&[machines_running, machines_coming, machines_failing, machines_terminating]);
    let pods = sum(&[&of.pods_running, &of.pods_pending, &of.pods_terminating]);
    let all = [
        ("nodes ready", of.nodes_ready.clone(), sum(&[&of.nodes_ready, &of.nodes_not_ready])),
        ("machines running", machines_running.clone(), machines),
        ("pods running", of.pods_running.clone(), pods),
    ];
    // A cluster that manages no machines has none.
    all.into_iter().filter(|(.., all)| all.iter().any(|count| *count > 0)).collect()
}

/// A row for each kind, on the axis of the waits above.
#[component]
pub(crate) fn Counts(props: &CountsProps) -> Html {
    let CountsProps { report, cluster, at, range } = props;
    let node = use_node_ref();
    let width = use_width(&node);
    let Some(counts) = report.counts.get(cluster).filter(|counts| !counts.nodes_ready.is_empty()) else { return Html::default() };
    let axis = Axis { range: *range, left: 12.0, right: (width - 24.0).max(13.0), gutter: 24.0 };
    let at_s = at.as_secs_f64();
    let now = ((at_s / counts.window_s) as usize).min(counts.nodes_ready.len() - 1);
    let rows = rows(counts);
    let words: Vec<String> = rows.iter().map(|(what, well, all)| format!("{} of {} {what}", well[now], all[now])).collect();
    let row = |(i, (_, well, all)): (usize, &Row)| {
        let top = i as f64 * (WORDS + FIGURE);
        let most = all.iter().copied().max().unwrap_or(1).max(1);
        let area = |counted: &[u32]| {
            steps(counted, counts.window_s, &axis, (top + WORDS + FIGURE - 4.0, (FIGURE - 4.0) / f64::from(most)))
        };
        html! {
            <>
                <text x={px(axis.left)} y={px(top + 12.0)}>{ &words[i] }</text>
                <path class="all" d={area(all)} />
                <path class="well" d={area(well)} />
            </>
        }
    };
    let height = rows.len() as f64 * (WORDS + FIGURE);
    let x = px(axis.x(at_s));
    html! {
        <div ref={node} class="bars counts" role="img" aria-label={format!("{cluster}: {}", words.join(", "))} data-testid="counts">
            if width > 0.0 {
                <svg class="lanes" width={px(width)} height={px(height)} aria-hidden="true">
                    { for rows.iter().enumerate().map(row) }
                    if axis.shows(at_s, at_s) { <line class="now" x1={x.clone()} x2={x} y1="0" y2={px(height)} /> }
                </svg>
            }
        </div>
    }
}

/// The area under steps, from a base line up.
fn steps(counted: &[u32], window_s: f64, axis: &Axis, (base, unit): (f64, f64)) -> String {
    let mut path = format!("M{:.1} {base:.1}", axis.x(0.0));
    let mut last = None;
    for (i, &count) in counted.iter().enumerate().filter(|(i, _)| axis.shows(*i as f64 * window_s, (*i + 1) as f64 * window_s)) {
        if last != Some(count) {
            path.push_str(&format!("H{:.1}V{:.1}", axis.x(i as f64 * window_s), base - f64::from(count) * unit));
            last = Some(count);
        }
    }
    path.push_str(&format!("H{:.1}V{base:.1}z", axis.x(counted.len() as f64 * window_s)));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_where_the_count_changes_and_stay_in_the_range() {
        let axis = Axis { range: Range { from_s: 0.0, to_s: 40.0 }, left: 0.0, right: 400.0, gutter: 0.0 };
        assert_eq!(steps(&[2, 2, 1, 2], 10.0, &axis, (20.0, 10.0)), "M0.0 20.0H0.0V0.0H200.0V10.0H300.0V0.0H400.0V20.0z");
        let part = Axis { range: Range { from_s: 20.0, to_s: 30.0 }, ..axis };
        assert!(steps(&[2, 2, 1, 2], 10.0, &part, (20.0, 10.0)).ends_with("H400.0V20.0z"));
    }
}
