//! What API access draws on the map: nodes of load balancers and groups of clients, as chips, and the ways of requests, as lines.

use yew::prelude::*;

use super::access::{AccessFace, AccessWay, WayEnd, WayKind};
use super::layout::{Layout, Rect, way};
use super::pick::{Pick, frame};
use super::shapes::px;
use crate::state::Selection;

/// Lines that are drawn; of more, those of the selected.
const MOST_WAYS: usize = 60;

#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct AccessProps {
    pub face: AccessFace,
    pub rect: Rect,
    pub pick: Pick,
}

/// A node of a load balancer, or a group of clients: a chip at the foot of its zone.
#[component]
pub(crate) fn AccessItem(props: &AccessProps) -> Html {
    let AccessProps { face, rect, pick } = props;
    let (left, right) = (rect.x + 10.0, rect.x + rect.w - 10.0);
    let first = rect.y + if face.targets.is_some() { 15.0 } else { rect.h / 2.0 + 4.0 };
    let name = fitting(&face.name, right - left - face.note.chars().count() as f64 * 6.6 - 6.0);
    let right_text = |class: Classes, y: f64, words: String| {
        html! { <text {class} text-anchor="end" x={px(right)} y={px(y)}>{ words }</text> }
    };
    let inside = html! {
        <>
            { frame(*rect, 6.0) }
            <text class="name" x={px(left)} y={px(first)}>{ name }</text>
            { right_text(classes!("state", face.tone), first, format!(" {}", face.note)) }
            if let Some([found, truth]) = &face.targets {
                <text class={classes!("state", face.tone)} x={px(left)} y={px(first + 16.0)}>{ format!(" {found}") }</text>
                { right_text(classes!("state"), first + 16.0, format!(" {truth}")) }
            }
        </>
    };
    let (kind, class) = match face.is {
        Selection::Balancer(..) => ("balancer", "balancer"),
        _ => ("api-clients", "client"),
    };
    let testid = format!("map-{kind}-{}-{}", face.name, face.zone);
    pick.wrap(classes!("access", class, face.tone), label(name, face), testid, inside)
}

/// What is seen, as it is seen, and the rest.
fn label(name: &str, face: &AccessFace) -> String {
    let seen = [&face.note].into_iter().chain(face.targets.iter().flatten()).filter(|words| !words.is_empty());
    let seen = seen.fold(name.to_owned(), |all, words| format!("{all} {words}"));
    let rest = if name == face.name { String::new() } else { format!("{}, ", face.name) };
    format!("{seen}, {rest}{}", face.details)
}

/// The name, or without its cluster where `room` pixels are too few.
fn fitting(name: &str, room: f64) -> &str {
    let short = name.split_once(": ").map_or(name, |(_, kind)| kind);
    if name.chars().count() as f64 * 6.6 <= room { name } else { short }
}

/// Lines from clients to where their connections end; those of the selected stand out.
pub(crate) fn ways(ways: &[AccessWay], layout: &Layout, selected: Option<Selection>) -> Html {
    let concerns = |way: &AccessWay| selected == Some(way.from) || selected == Some(end(way));
    let few = ways.len() <= MOST_WAYS;
    let line = |(way_of, from, to, stands_out): (&AccessWay, Rect, Rect, bool)| {
        let curve = way(from, to);
        let (x, y) = curve.at(0.5);
        html! {
            <g class={classes!("access-way", way_of.kind.class(), stands_out.then_some("selected"))}>
                <path d={curve.path()} />
                if stands_out && way_of.count > 1 { <text text-anchor="middle" x={px(x)} y={px(y + 4.0)}>{ way_of.count }</text> }
            </g>
        }
    };
    let drawn = ways.iter().filter(|way| few || concerns(way));
    let placed = drawn.filter_map(|way| Some((way, place(way.from, layout)?, place(end(way), layout)?, concerns(way))));
    html! { <g aria-hidden="true">{ for placed.map(line) }</g> }
}

const fn end(way: &AccessWay) -> Selection {
    match way.to {
        WayEnd::Balancer(balancer, node) => Selection::Balancer(balancer, node),
        WayEnd::Host(node) => Selection::Node(node),
    }
}

fn place(is: Selection, layout: &Layout) -> Option<Rect> {
    match is {
        Selection::Node(node) => layout.nodes.get(usize::from(node)).copied(),
        _ => layout.access.iter().find(|(thing, _)| *thing == is).map(|(_, rect)| *rect),
    }
}

/// A line as in the map with the words for it, for the legend.
pub(crate) fn legend(places: &[(f64, f64)]) -> Html {
    let entry = |((_, class, words), (x, y)): (&(WayKind, &'static str, &'static str), &(f64, f64))| {
        html! {
            <>
                <g class={classes!("access-way", *class, "selected")}><path d={format!("M{x:.1} {:.1}h24", y + 10.5)} /></g>
                <text class="heap" x={px(x + 30.0)} y={px(y + 15.0)}>{ *words }</text>
            </>
        }
    };
    WayKind::ALL.iter().zip(places).map(entry).collect()
}
