//! The zone map: zones, nodes, members, clients and the links between zones, as SVG; messages on a canvas above it.
//!
//! ```text
//!   Scenario, width --layout--> places \
//!   Picture, Report --model---> faces  --> Scene (SVG; Yew draws what changed)
//!   Picture --objects---------> pods, machines, nodes of Kubernetes; their number (crowd) --> places
//!   Picture --access----------> load balancers, clients of APIs and their ways
//!   Picture, playhead -----------------> Messages (canvas; drawn each frame, outside of Yew)
//! ```

pub mod access;
mod access_items;
pub mod crowd;
mod items;
mod keys;
mod kube_items;
pub(crate) mod label;
pub mod layout;
mod messages;
pub mod model;
pub mod objects;
mod pick;
mod scene;
pub mod shapes;
mod table;

use yew::prelude::*;
use zonefall_core::access::cluster::view::ClientKind;
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::ctx::ApiClient;
use zonefall_core::kube::name::{MachineName, PodName, PodTag};
use zonefall_core::report::Report;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

use crate::state::{Action, PlaybackCommand, SPEEDS, Selection};
use crate::view::focus::focus;
use crate::view::same::Same;
use crate::view::size::{use_media, use_size};
pub(crate) use items::term_class;
pub(crate) use table::table;

use messages::Messages;
use objects::objects;
use scene::Scene;
use table::MapTable;

/// The speed at which messages can be followed on their way between two zones.
const SLOWEST: f64 = SPEEDS[0];

/// Room above and below the drawing, in pixels.
const AIR: f64 = 24.0;

/// What the map shows.
#[derive(Clone, PartialEq, Properties)]
pub struct MapProps {
    /// The world.
    pub scenario: Same<Scenario>,
    /// The world at a moment.
    pub view: Option<Same<SimulationView>>,
    /// What knows the rates.
    pub report: Option<Same<Report>>,
    /// What is selected.
    pub selection: Option<Selection>,
    /// The world is of another moment than the playhead's: a newer one is on its way.
    pub stale: bool,
    /// The playhead.
    pub at: Time,
    /// Whether messages are drawn.
    pub dots: bool,
    /// The dark theme.
    pub dark: bool,
    /// A table instead.
    pub table: bool,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// The map.
#[component]
pub fn Map(props: &MapProps) -> Html {
    let node = use_node_ref();
    let (width, height) = use_size(&node);
    // As in the style sheet of the page.
    let sheet = use_media("(max-width: 1099px)");
    let MapProps { scenario, view, report, selection, at, dots, dark, table, dispatch, stale } = props.clone();
    let objects = use_memo((scenario.clone(), view.clone()), |(scenario, view)| objects(scenario, view.as_deref()));
    let layout = use_memo((scenario.clone(), objects.crowd.clone(), width, height), |(scenario, crowd, width, height)| {
        layout::fit(scenario, crowd, *width, height - AIR)
    });
    let (objects, layout) = (Same(objects), Same(layout));
    let inside = if table {
        html! { <MapTable {scenario} {view} {report} {selection} {objects} {dispatch} /> }
    } else if width > 0.0 {
        html! {
            <div class="map-sheet">
                if !dots { <TooFast dispatch={dispatch.clone()} /> }
                <Scene scenario={scenario.clone()} view={view.clone()} {report} {selection} {objects} layout={layout.clone()} {sheet} {dispatch} />
                if let Some(view) = view.filter(|_| dots) {
                    <Messages {scenario} {view} {layout} {at} {dark} />
                }
            </div>
        }
    } else {
        Html::default()
    };
    html! { <div class={classes!("map", stale.then_some("stale"), props.view.is_none().then_some("unknown"))} id="map" ref={node} data-testid="map">
        { inside }
        if stale { <p class="catching-up" role="status" data-testid="catching-up">{ "Catching up" }</p> }
    </div> }
}

/// The way to the map for those who have no pointer, past the scenario's form; not seen by others.
#[component]
pub fn SkipToMap() -> Html {
    let onclick = |_: MouseEvent| focus("#map-scene [tabindex='0'], #map button");
    html! { <button class="skip" {onclick} data-testid="skip-to-map">{ "Skip to the map" }</button> }
}

#[derive(Clone, PartialEq, Properties)]
struct TooFastProps {
    dispatch: Callback<Action>,
}

/// Why no messages are seen, and what to do about it.
#[component]
fn TooFast(props: &TooFastProps) -> Html {
    let onclick = props.dispatch.reform(|_: MouseEvent| Action::Playback(PlaybackCommand::Speed(SLOWEST)));
    html! {
        <p class="too-fast quiet">
            { "Too fast to see messages. " }
            <button class="moment" {onclick} data-testid="slow-down">{ format!("Slow down to {SLOWEST}x") }</button>
        </p>
    }
}

/// Id of the element that shows a thing.
pub fn element_id(is: Selection) -> String {
    match is {
        Selection::Zone(z) => format!("map-z{}", z.0),
        Selection::Node(n) => format!("map-n{}", n.0),
        Selection::Member(m) => format!("map-m{}-{}", m.cluster.0, m.index),
        Selection::Link(a, b) => format!("map-l{}-{}", a.0, b.0),
        Selection::Client(c) => format!("map-c{}", c.0),
        Selection::Machine(cluster, MachineName { deployment, template, suffix }) => {
            format!("map-v{}-{}-{template}-{suffix}", cluster.0, deployment.0)
        }
        Selection::Pod(cluster, PodName { workload, tag }) => {
            let (a, b) = match tag {
                PodTag::Replica { template, suffix } => (template, suffix),
                PodTag::Ordinal(number) | PodTag::Agent(number) => (0, number),
            };
            format!("map-p{}-{}-{a}-{b}", cluster.0, workload.0)
        }
        Selection::Balancer(balancer, node) => format!("map-b{}-{node}", balancer.0),
        Selection::ApiClients(cluster, zone, kind) => {
            let kind = match kind {
                ClientKind::Kubelets => "kubelets".to_owned(),
                ClientKind::Components => "components".to_owned(),
                ClientKind::Further(client) => client.0.to_string(),
            };
            format!("map-a{}-{}-{kind}", cluster.0, zone.0)
        }
        Selection::ApiClient(cluster, client) => match client {
            ApiClient::Kubelet(node) => format!("map-a{}-kubelet-{}", cluster.0, node.0),
            ApiClient::Candidate(component, key) => format!("map-a{}-{}-{key}", cluster.0, component.name()),
            ApiClient::Further(client, node) => format!("map-a{}-{}-on-{}", cluster.0, client.0, node.0),
        },
    }
}
