//! The map as tables: the same things, in the same words.

use yew::prelude::*;
use zonefall_core::ids::{NodeKey, ZoneId};
use zonefall_core::kube::describe::node_name;
use zonefall_core::kube::spec::KubeClusterSpec;
use zonefall_core::kube::view::KubeClusterView;
use zonefall_core::report::Report;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

use super::access::{self, AccessFace};
use super::element_id;
use super::label;
use super::messages::words_of;
use super::model::{MemberFace, model};
use super::objects::{Mark, Objects, mark_of, phase_words, waits_for};
use super::shapes::sign;
use crate::state::{Action, Selection};
use crate::view::same::Same;

/// What the tables show.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct MapTableProps {
    pub scenario: Same<Scenario>,
    pub view: Option<Same<SimulationView>>,
    pub report: Option<Same<Report>>,
    pub selection: Option<Selection>,
    pub objects: Same<Objects>,
    pub dispatch: Callback<Action>,
}

/// Zones with their nodes, members, links, clients and messages.
#[component]
pub(crate) fn MapTable(props: &MapTableProps) -> Html {
    let MapTableProps { scenario, view, report, selection, objects, dispatch } = props;
    let model = model(scenario, view.as_deref(), report.as_deref(), |_| true);
    let pick = |is: Selection, text: &str, testid: String| {
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Select(Some(is)));
        html! {
            <button class="quiet" {onclick} aria-pressed={(*selection == Some(is)).to_string()} data-testid={testid}>{ text }</button>
        }
    };
    let zone_name = |z: ZoneId| model.zones[z].name.clone();
    let nodes = scenario.nodes.iter_enumerated().zip(&model.nodes).map(|((id, node), face)| {
        let zone = &model.zones[node.zone];
        let state = match label::zone_state(zone) {
            state if state.is_empty() => "well".to_owned(),
            state => state,
        };
        html! {
            <tr>
                <td>{ pick(Selection::Zone(node.zone), &zone.name, format!("row-zone-{}", zone.name)) }</td>
                <td>{ state }</td>
                <td>{ pick(Selection::Node(id), &face.name, format!("row-node-{}", face.name)) }</td>
                <td>{ if face.powered { "has power" } else { "✕ no power" } }</td>
            </tr>
        }
    });
    let member = |face: &MemberFace| {
        let node = &scenario.nodes[scenario.member(face.id).node];
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
                <td class="number">{ format!("{}/s", zonefall_core::scenario::text::bytes(face.rate)) }</td>
            </tr>
        }
    });
    let clients = model.clients.iter_enumerated().filter(|(id, _)| scenario.clients[*id].server.is_none()).map(|(id, face)| {
        let name = pick(Selection::Client(id), &face.name, format!("row-client-{}", face.name));
        html! { <tr><td>{ name }</td><td>{ &face.sends }</td></tr> }
    });
    let messages = view.iter().flat_map(|p| p.etcd.iter_enumerated()).flat_map(|(cluster, now)| {
        now.messages.iter().map(move |message| html! { <li>{ words_of(message, cluster, scenario) }</li> })
    });
    html! {
        <div class="tables" tabindex="0" role="region" aria-label="Map as tables" data-testid="map-tables">
            { table("Zones and nodes", &["Zone", "State", "Node", "Power"], nodes.collect()) }
            if let Some(view) = view.as_ref().filter(|_| objects.crowd.kube) { { kubernetes(scenario, view, objects, &pick) } }
            if !scenario.load_balancers.is_empty() { { of_access(&access::faces(scenario, view.as_deref()), &pick) } }
            { table("Members", &["Member", "Role", "Term", "Log and disk", "Node"], model.members.iter().flatten().map(member).collect()) }
            { table("Links", &["Link", "Delay", "State", "Traffic"], links.collect()) }
            { table("Clients", &["Client", "Asks"], clients.collect()) }
            <h2>{ "Messages in flight" }</h2>
            <ul>{ for messages }</ul>
        </div>
    }
}

/// Load balancers, and clients of APIs by kind and zone.
fn of_access(faces: &[AccessFace], pick: &dyn Fn(Selection, &str, String) -> Html) -> Html {
    let (balancers, clients): (Vec<_>, Vec<_>) = faces.iter().partition(|face| matches!(face.is, Selection::Balancer(..)));
    let row = |face: &&AccessFace| {
        let targets = face.targets.iter().flatten().map(|words| html! { <td>{ words }</td> });
        let name = pick(face.is, &face.name, format!("row-{}", element_id(face.is)));
        html! { <tr><td>{ name }</td><td>{ &face.zone }</td><td>{ &face.note }</td>{ for targets }<td>{ &face.details }</td></tr> }
    };
    let rows = |faces: &[&AccessFace]| faces.iter().map(row).collect::<Html>();
    html! {
        <>
            { table("Load balancers", &["Load balancer", "Zone", "Faults", "Health checks", "API servers", "In words"], rows(&balancers)) }
            { table("Clients of APIs", &["Clients", "Zone", "Served", "In words"], rows(&clients)) }
        </>
    }
}

/// Pods in the table, at most.
const MOST_PODS: usize = 500;

/// Nodes, machines and pods.
fn kubernetes(
    scenario: &Scenario,
    view: &SimulationView,
    objects: &Objects,
    pick: &dyn Fn(Selection, &str, String) -> Html,
) -> Html {
    let given = scenario.nodes.iter_enumerated().zip(&objects.nodes);
    let given = given.filter_map(|((id, node), object)| Some((Selection::Node(id), &node.name, object.as_ref()?)));
    let joined = objects.joined.iter().map(|joined| (joined.is, &joined.name, &joined.node));
    let nodes = given.chain(joined).map(|(is, name, object)| {
        html! {
            <tr>
                <td>{ pick(is, name, format!("row-kube-node-{name}")) }</td>
                <td>{ object.state }</td>
                <td>{ label::pods(&object.pods) }</td>
            </tr>
        }
    });
    let clusters = || scenario.kube.clusters.iter_enumerated().zip(&view.clusters);
    let node_of = |cluster: &KubeClusterView, spec: &KubeClusterSpec, key: Option<NodeKey>| {
        let node = cluster.nodes.iter().find(|node| Some(node.key) == key);
        node.map_or_else(|| "none".to_owned(), |node| node_name(node.name, spec, scenario))
    };
    let machines = clusters().flat_map(|((id, spec), cluster)| {
        cluster.machines.iter().map(move |machine| {
            let name = machine.name.text(spec);
            html! {
                <tr>
                    <td>{ pick(Selection::Machine(id, machine.name), &name, format!("row-machine-{name}")) }</td>
                    <td>{ &scenario.zones[machine.zone].name }</td>
                    <td>{ phase_words(machine.phase) }</td>
                    <td>{ node_of(cluster, spec, machine.node) }</td>
                </tr>
            }
        })
    });
    let pods = clusters().flat_map(|((id, spec), cluster)| {
        cluster.pods.iter().map(move |pod| {
            let (name, mark) = (pod.name.text(spec), mark_of(pod, cluster));
            let why = if mark == Mark::Waiting { waits_for(pod) } else { "" };
            html! {
                <tr>
                    <td>{ pick(Selection::Pod(id, pod.name), &name, format!("row-pod-{name}")) }</td>
                    <td>{ mark.describe() }</td>
                    <td>{ node_of(cluster, spec, pod.node) }</td>
                    <td>{ why }</td>
                </tr>
            }
        })
    });
    let all: usize = view.clusters.iter().map(|cluster| cluster.pods.len()).sum();
    html! {
        <>
            { table("Nodes of Kubernetes", &["Node", "State", "Pods"], nodes.collect()) }
            { table("Machines", &["Machine", "Zone", "Phase", "Node"], machines.collect()) }
            { table("Pods", &["Pod", "State", "Node", "Reason"], pods.take(MOST_PODS).collect()) }
            if all > MOST_PODS { <p class="quiet">{ format!("and {} more", all - MOST_PODS) }</p> }
        </>
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
