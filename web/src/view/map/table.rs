//! The map as tables: the same things, in the same words.

use yew::prelude::*;
use zonefall_core::ids::{ClientId, NodeId, ZoneId};
use zonefall_core::report::Report;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::picture::Picture;

use super::label;
use super::messages::words_of;
use super::model::{MemberFace, model};
use super::shapes::sign;
use crate::state::{Action, Selection};
use crate::view::same::Same;

/// What the tables show.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct MapTableProps {
    pub scenario: Same<Scenario>,
    pub picture: Option<Same<Picture>>,
    pub report: Option<Same<Report>>,
    pub selection: Option<Selection>,
    pub dispatch: Callback<Action>,
}

/// Zones with their nodes, members, links, clients and messages.
#[component]
pub(crate) fn MapTable(props: &MapTableProps) -> Html {
    let MapTableProps { scenario, picture, report, selection, dispatch } = props;
    let model = model(scenario, picture.as_deref(), report.as_deref());
    let pick = |is: Selection, text: &str, testid: String| {
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Select(Some(is)));
        html! {
            <button class="quiet" {onclick} aria-pressed={(*selection == Some(is)).to_string()} data-testid={testid}>{ text }</button>
        }
    };
    let zone_name = |z: ZoneId| model.zones[z.0 as usize].name.clone();
    let nodes = (0..).zip(&scenario.nodes).zip(&model.nodes).map(|((i, node), face)| {
        let zone = &model.zones[node.zone.0 as usize];
        let state = match label::zone_state(zone) {
            state if state.is_empty() => "well".to_owned(),
            state => state,
        };
        html! {
            <tr>
                <td>{ pick(Selection::Zone(node.zone), &zone.name, format!("row-zone-{}", zone.name)) }</td>
                <td>{ state }</td>
                <td>{ pick(Selection::Node(NodeId(i)), &face.name, format!("row-node-{}", face.name)) }</td>
                <td>{ if face.powered { "has power" } else { "✕ no power" } }</td>
            </tr>
        }
    });
    let member = |face: &MemberFace| {
        let node = &scenario.nodes[scenario.member(face.id).node.0 as usize];
        html! {
            <tr>
                <td>{ pick(Selection::Member(face.id), &face.name, format!("row-member-{}", face.name)) }</td>
                <td>{ format!("{} {}", sign(face.shape), face.role) }</td>
                <td class="number">{ face.term }</td>
                <td>{ &face.behind }{ " " }{ face.disk }</td>
                <td>{ &node.name }</td>
            </tr>
        }
    };
    let links = model.links.iter().map(|face| {
        let ends = (zone_name(face.a), zone_name(face.b));
        let is = Selection::Link(face.a, face.b);
        let state = face.cut.map(str::to_owned).or_else(|| face.degraded.clone()).unwrap_or_else(|| "well".to_owned());
        html! {
            <tr>
                <td>{ pick(is, &format!("{} – {}", ends.0, ends.1), format!("row-link-{}-{}", ends.0, ends.1)) }</td>
                <td class="number">{ &face.delay }</td>
                <td>{ state }</td>
                <td class="number">{ format!("{}/s", zonefall_core::observe::words::bytes(face.rate)) }</td>
            </tr>
        }
    });
    let clients = (0..).zip(&model.clients).map(|(i, face)| {
        let name = pick(Selection::Client(ClientId(i)), &face.name, format!("row-client-{}", face.name));
        html! { <tr><td>{ name }</td><td>{ &face.asks }</td></tr> }
    });
    let messages = picture.iter().flat_map(|p| p.etcd.iter().enumerate()).flat_map(|(cluster, now)| {
        now.messages.iter().map(move |message| html! { <li>{ words_of(message, cluster, scenario) }</li> })
    });
    html! {
        <div class="tables" tabindex="0" role="region" aria-label="Map as tables" data-testid="map-tables">
            { table("Zones and nodes", &["Zone", "State", "Node", "Power"], nodes.collect()) }
            { table("Members", &["Member", "Role", "Term", "Log and disk", "Node"], model.members.iter().flatten().map(member).collect()) }
            { table("Links", &["Link", "Delay", "State", "Traffic"], links.collect()) }
            { table("Clients", &["Client", "Asks"], clients.collect()) }
            <h2>{ "Messages under way" }</h2>
            <ul>{ for messages }</ul>
        </div>
    }
}

/// A table with a caption.
pub(crate) fn table(caption: &str, heads: &[&str], rows: Html) -> Html {
    html! {
        <table>
            <caption>{ caption }</caption>
            <thead><tr>{ for heads.iter().map(|head| html! { <th scope="col">{ *head }</th> }) }</tr></thead>
            <tbody>{ rows }</tbody>
        </table>
    }
}
