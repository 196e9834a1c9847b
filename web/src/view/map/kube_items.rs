//! What Kubernetes draws on the map: pods and machines, the heads of its nodes, the tray.

use yew::prelude::*;

use super::access_items::legend as legend_of_ways;
use super::layout::{BAR, Layout, NODE_HEAD, Rect};
use super::objects::{Mark, NodeObject, Objects, Thing};
use super::pick::{Pick, frame};
use super::shapes::px;
use crate::state::Selection;

#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct ThingProps {
    pub thing: Thing,
    pub rect: Rect,
    pub pick: Pick,
}

/// A pod or a machine: a cell, or a chip with words on it.
#[component]
pub(crate) fn ThingItem(props: &ThingProps) -> Html {
    let ThingProps { thing, rect, pick } = props;
    let kind = if matches!(thing.is, Selection::Machine(..)) { "machine" } else { "pod" };
    let cell = thing.text.is_empty();
    let side = if cell { rect.w } else { 10.0 };
    let at = if cell { (rect.x, rect.y) } else { (rect.x + 3.0, rect.y + (rect.h - side) / 2.0) };
    let inside = html! {
        <>
            { frame(*rect, if cell { side / 4.0 } else { 5.0 }) }
            { mark(thing.mark, at, side) }
            if cell { <title>{ &thing.label }</title> } else { <text class="words" x={px(rect.x + 15.0)} y={px(rect.y + rect.h / 2.0 + 4.0)}>{ &thing.text }</text> }
        </>
    };
    let class = classes!("thing", kind, if cell { "cell" } else { "badge" });
    pick.wrap(class, thing.label.clone(), format!("map-{kind}-{}", thing.name), inside)
}

/// A sign in a square: what it is shows in its shape, and in its colour.
fn mark(mark: Mark, (x, y): (f64, f64), side: f64) -> Html {
    let (in_, far) = (side * 0.14, side * 0.72);
    let (left, top, middle) = (x + in_, y + in_, y + side / 2.0);
    let square = |class: &'static str| html! { <rect {class} x={px(left)} y={px(top)} width={px(far)} height={px(far)} rx={px(side / 6.0)} /> };
    let line = |class: &'static str, d: String| html! { <path {class} {d} /> };
    let fall = format!("M{left:.1} {top:.1}l{far:.1} {far:.1}");
    let rise = format!("M{left:.1} {:.1}l{far:.1} {:.1}", top + far, -far);
    let inside = match mark {
        Mark::Ready => square("full"),
        Mark::Unready => {
            html! { <>{ square("outline") }{ line("full", format!("M{left:.1} {middle:.1}h{far:.1}v{:.1}h{:.1}z", far / 2.0, -far)) }</> }
        }
        Mark::Starting => {
            html! { <>{ square("outline") }<circle class="full" cx={px(x + side / 2.0)} cy={px(middle)} r={px(side / 7.0)} /></> }
        }
        Mark::Waiting => html! { <circle class="outline dashed" cx={px(x + side / 2.0)} cy={px(middle)} r={px(far / 2.0)} /> },
        Mark::Ending => html! { <>{ square("outline") }{ line("outline", rise) }</> },
        Mark::Lost => html! { <>{ line("outline thick", fall) }{ line("outline thick", rise) }</> },
    };
    html! { <g class={classes!("mark", mark.class())}>{ inside }</g> }
}

/// How a node is, beneath its name.
pub(crate) fn kube_head(node: &NodeObject, rect: Rect) -> Html {
    let y = rect.y + NODE_HEAD + 10.0;
    html! {
        <>
            <text class={classes!("state", "kube", node.tone)} x={px(rect.x + 8.0)} y={px(y)}>{ format!(" {}", node.state) }</text>
            if !node.phase.is_empty() {
                <text class="state kube quiet" text-anchor="end" x={px(rect.x + rect.w - 10.0)} y={px(y)}>{ format!(" {}", node.phase) }</text>
            }
        </>
    }
}

/// Parts of a bar of pods: what it is, where it begins, how wide it is, and how many they are if there is room to say it.
fn parts(node: &NodeObject, bar: Rect) -> Vec<(Mark, f64, f64, String)> {
    let all = node.pods.iter().sum::<usize>().max(1);
    let mut x = bar.x;
    let part = |(mark, count): (&Mark, &usize)| {
        let (left, w) = (x, bar.w * *count as f64 / all as f64);
        x += w;
        let words = count.to_string();
        let fits = w > words.len() as f64 * 7.0 + 4.0;
        (*mark, left, w, if fits { format!(" {words}") } else { String::new() })
    };
    let there = if bar.h > 0.0 { Mark::ALL.iter().zip(&node.pods) } else { [].iter().zip(&node.pods) };
    there.filter(|(_, count)| **count > 0).map(part).collect()
}

/// Pods as a bar: as wide as there are of each kind.
pub(crate) fn pods_bar(node: &NodeObject, bar: Rect) -> Html {
    let part = |(mark, left, w, words): (Mark, f64, f64, String)| {
        html! {
            <g class={classes!("part", mark.class())}>
                <rect x={px(left)} y={px(bar.y)} width={px((w - 1.0).max(1.0))} height={px(BAR)} rx="2" />
                <text x={px(left + w / 2.0)} y={px(bar.y + 12.0)} text-anchor="middle">{ words }</text>
            </g>
        }
    };
    parts(node, bar).into_iter().map(part).collect()
}

/// What is written on a node's card beneath its name.
pub(crate) fn seen(node: &NodeObject, bar: Rect) -> String {
    let phase = if node.phase.is_empty() { String::new() } else { format!(" {}", node.phase) };
    let numbers: String = parts(node, bar).into_iter().map(|(.., words)| words).collect();
    format!(" {}{phase}{numbers}", node.state)
}

/// The sign of machines, as in the list of events.
const MACHINE: &str = "▣";

/// What is written between the things: the tray's words, what the signs mean, how many machines have no node.
pub(crate) fn words(objects: &Objects, layout: &Layout) -> Html {
    let heaps = objects.heaps.iter().flatten().zip(layout.heaps.iter().flatten());
    let heaps =
        heaps.map(|(words, (x, y))| html! { <text class="heap" x={px(*x)} y={px(*y)}>{ format!("{MACHINE} {words}") }</text> });
    let tray = layout.tray.iter().map(|tray| {
        let legend = Mark::ALL.iter().zip(&tray.legend).map(|(kind, (x, y))| {
            html! { <>{ mark(*kind, (*x, y + 4.0), 13.0) }<text class="heap" x={px(x + 17.0)} y={px(y + 15.0)}>{ kind.describe() }</text></> }
        });
        let machines = tray.legend.last().map(|(x, y)| {
            html! { <text class="heap" x={px(*x)} y={px(y + 15.0)}>{ format!("{MACHINE} machines without a node") }</text> }
        });
        let rows = objects.rows.iter().zip(&tray.rows);
        let rows = rows.map(|(words, (x, y))| html! { <text class="tray" x={px(*x)} y={px(y + 15.0)}>{ words }</text> });
        html! { <g aria-hidden="true" class="legend">{ for legend }{ for machines }{ legend_of_ways(&tray.ways) }{ for rows }</g> }
    });
    html! { <>{ for tray }{ for heaps }</> }
}
