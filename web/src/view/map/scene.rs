//! The drawing itself.

use wasm_bindgen::JsCast;
use yew::prelude::*;
use zonefall_core::ids::{EtcdId, ZoneId};
use zonefall_core::kube::record::Loss;
use zonefall_core::report::Report;
use zonefall_core::scenario::{Direction, Scenario};
use zonefall_core::sim::view::SimulationView;

use super::access::{self, AccessFace};
use super::access_items::{self, AccessItem};
use super::items::{Client, Link, Member, Node, Zone};
use super::keys::{self, Way};
use super::kube_items::{ThingItem, words};
use super::layout::Layout;
use super::model::{MemberFace, Model, NodeFace, model};
use super::objects::Objects;
use super::pick::Pick;
use super::shapes::px;
use super::{element_id, layout};
use crate::state::{Action, Selection};
use crate::view::same::Same;

/// What the drawing shows.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct SceneProps {
    pub scenario: Same<Scenario>,
    pub view: Option<Same<SimulationView>>,
    pub report: Option<Same<Report>>,
    pub selection: Option<Selection>,
    pub objects: Same<Objects>,
    pub layout: Same<Layout>,
    /// Whether the inspector is a sheet.
    pub sheet: bool,
    pub dispatch: Callback<Action>,
}

/// Zones and all in them, and the links between.
#[component]
pub(crate) fn Scene(props: &SceneProps) -> Html {
    let SceneProps { scenario, view, report, selection, objects, layout, sheet, dispatch } = props;
    let is_drawn = |cluster: EtcdId| layout.members[cluster].iter().any(|rect| rect.h > 0.0);
    let model = model(scenario, view.as_deref(), report.as_deref(), is_drawn);
    let first = Selection::Zone(ZoneId(0));
    let shown = selection.map(|is| access::shown_as(is, view.as_deref()));
    let pick = |is: Selection| Pick {
        is,
        selected: shown == Some(is),
        stop: shown.unwrap_or(first) == is,
        sheet: *sheet,
        dispatch: dispatch.clone(),
    };
    let onkeydown = {
        let (scenario, layout, dispatch, selection) = (scenario.clone(), layout.clone(), dispatch.clone(), *selection);
        move |event: KeyboardEvent| on_key(&event, &scenario, &layout, selection, &dispatch)
    };
    let clear = dispatch.reform(|_: MouseEvent| Action::Select(None));
    let (w, h) = (layout.width, layout.height);
    html! {
        <svg class={classes!("scene", layout.tray.as_ref().map(|_| "tight"))} id="map-scene" width={px(w * layout.scale)} height={px(h * layout.scale)} viewBox={format!("0 0 {w:.0} {h:.0}")} role="group"
            aria-label="Map of zones, nodes and members" onclick={clear} {onkeydown}>
            { for layout.regions.iter().map(region) }
            { links(&model, layout, &pick, *selection) }
            { boxes(&model, objects, layout, &pick) }
            if !layout.compact { { streams(&model, layout) } }
            if let Some(view) = view { { access_items::ways(&access::ways(scenario, view), layout, shown) } }
            { chips(&model, layout, &pick) }
            { balancers_and_clients(&access::faces(scenario, view.as_deref()), layout, &pick) }
            { things(objects, layout, &pick) }
        </svg>
    }
}

fn region((name, rect): &(String, layout::Rect)) -> Html {
    html! {
        <g class="region">
            <rect x={px(rect.x)} y={px(rect.y)} width={px(rect.w)} height={px(rect.h)} rx="10" />
            <text x={px(rect.x + 10.0)} y={px(rect.y + 17.0)}>{ name }</text>
        </g>
    }
}

fn links(model: &Model, layout: &Layout, pick: &impl Fn(Selection) -> Pick, selection: Option<Selection>) -> Html {
    let name = |z: ZoneId| model.zones[z].name.clone();
    let link = |(face, place): (&super::model::LinkFace, &layout::LinkPlace)| {
        let is = Selection::Link(face.a, face.b);
        // Of a zone that is cut off its wall says it.
        let cut = face.cut.is_some() && [face.a, face.b].iter().all(|zone| model.zones[*zone].cut.is_none());
        let says = place.near || face.degraded.is_some() || cut || selection == Some(is);
        says.then(|| {
            html! { <Link key={element_id(is)} face={face.clone()} place={*place} pick={pick(is)} ends={(name(face.a), name(face.b))} /> }
        })
    };
    model.links.iter().zip(&layout.links).filter_map(link).collect()
}

fn boxes(model: &Model, objects: &Objects, layout: &Layout, pick: &impl Fn(Selection) -> Pick) -> Html {
    let zones = model.zones.iter_enumerated().zip(&layout.zones).map(|((id, face), rect)| {
        let is = Selection::Zone(id);
        html! { <Zone key={element_id(is)} face={face.clone()} rect={*rect} pick={pick(is)} /> }
    });
    let given = model.nodes.iter_enumerated().zip(&objects.nodes);
    let given = given.map(|((id, face), object)| (Selection::Node(id), face.clone(), object.clone()));
    let joined = objects.joined.iter().map(|node| {
        let cut = (node.lost == Some(Loss::Network)).then_some(Direction::Both);
        let face = NodeFace { name: node.name.clone(), powered: node.lost != Some(Loss::Power), cut, link: None };
        (node.is, face, Some(node.node.clone()))
    });
    let nodes = given.chain(joined).zip(layout.nodes.iter().zip(&layout.bars)).map(|((is, face, object), (rect, bar))| {
        html! { <Node key={element_id(is)} {face} {object} bar={*bar} rect={*rect} pick={pick(is)} /> }
    });
    zones.chain(nodes).collect()
}

/// What Kubernetes has that is drawn by itself, and the words between.
fn things(objects: &Objects, layout: &Layout, pick: &impl Fn(Selection) -> Pick) -> Html {
    let items = objects.things.iter().zip(&layout.things).map(|(thing, (is, rect))| {
        html! { <ThingItem key={element_id(*is)} thing={thing.clone()} rect={*rect} pick={pick(*is)} /> }
    });
    html! { <>{ words(objects, layout) }{ for items }</> }
}

/// What API access has on the map.
fn balancers_and_clients(faces: &[AccessFace], layout: &Layout, pick: &impl Fn(Selection) -> Pick) -> Html {
    let item = |(is, rect): &(Selection, layout::Rect)| {
        let face = faces.iter().find(|face| face.is == *is)?;
        Some(html! { <AccessItem key={element_id(*is)} face={face.clone()} rect={*rect} pick={pick(*is)} /> })
    };
    layout.access.iter().filter_map(item).collect()
}

fn chips(model: &Model, layout: &Layout, pick: &impl Fn(Selection) -> Pick) -> Html {
    let rect = |face: &MemberFace| layout.members[face.id.cluster][face.id.index as usize];
    let members = model.members.iter().flatten().map(|face| (face, rect(face))).filter(|(_, rect)| rect.h > 0.0);
    let members = members.map(|(face, rect)| {
        let is = Selection::Member(face.id);
        html! { <Member key={element_id(is)} face={face.clone()} {rect} compact={layout.compact} tight={layout.tray.is_some()} pick={pick(is)} /> }
    });
    let clients = model.clients.iter_enumerated().zip(&layout.clients).filter(|(_, rect)| rect.h > 0.0);
    let clients = clients.map(|((id, face), rect)| {
        let is = Selection::Client(id);
        html! { <Client key={element_id(is)} face={face.clone()} rect={*rect} pick={pick(is)} /> }
    });
    members.chain(clients).collect()
}

/// Faint lines from each leader to those that follow it: the ways messages take.
fn streams(model: &Model, layout: &Layout) -> Html {
    use super::model::Shape;
    let lines = model.members.iter().zip(&layout.members).flat_map(|(faces, rects)| {
        let leader = faces.iter().position(|f| f.shape == Shape::Leader);
        leader.into_iter().flat_map(move |leader| {
            let followers = (0..faces.len()).filter(move |&i| i != leader && faces[i].shape != Shape::Down);
            followers.map(move |i| layout::way(rects[leader], rects[i]).path())
        })
    });
    lines.map(|d| html! { <path class="stream" {d} /> }).collect()
}

fn on_key(
    event: &KeyboardEvent,
    scenario: &Scenario,
    layout: &Layout,
    selection: Option<Selection>,
    dispatch: &Callback<Action>,
) {
    if event.ctrl_key() || event.meta_key() || event.alt_key() || event.shift_key() {
        return;
    }
    let focused = focused(scenario, layout);
    let from = focused.or(selection).unwrap_or(Selection::Zone(ZoneId(0)));
    let to = match (Way::of(&event.key()), event.key().as_str()) {
        (Some(way), _) => keys::next(scenario, layout, from, way),
        (None, "Enter" | " ") => Some(from),
        _ => return,
    };
    event.prevent_default();
    event.stop_propagation();
    if let Some(to) = to {
        dispatch.emit(Action::Select(Some(to)));
        focus(&element_id(to));
    }
}

/// The thing that has the keyboard's focus.
fn focused(scenario: &Scenario, layout: &Layout) -> Option<Selection> {
    let id = gloo::utils::document().active_element()?.id();
    keys::all(scenario, layout).into_iter().find(|is| element_id(*is) == id)
}

fn focus(id: &str) {
    let element = gloo::utils::document().get_element_by_id(id);
    if let Some(element) = element.and_then(|e| e.dyn_into::<web_sys::SvgElement>().ok()) {
        // A thing that cannot take the focus is still selected.
        let _ = element.focus();
    }
}
