//! Quick actions, where nothing is selected: what people come to see, in one click.

use yew::prelude::*;
use zonefall_core::ids::{EtcdId, MemberId};
use zonefall_core::report::Report;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Role;
use zonefall_core::sim::view::SimulationView;

use super::interventions::offers;
use crate::engine::protocol::Intervention;
use crate::state::{Action, Selection};
use crate::view::focus::focus_soon;
use crate::view::labels::clock;

/// An intervention with the words for it.
struct Suggestion {
    id: &'static str,
    words: String,
    is: Selection,
    intervention: Intervention,
}

/// What can be done to the first leader there is, and to its zone.
fn suggestions(scenario: &Scenario, view: &SimulationView, report: Option<&Report>) -> Vec<Suggestion> {
    let leader = (0..).zip(&view.etcd).find_map(|(cluster, now)| {
        let index = now.members.iter().position(|m| m.status.down.is_none() && m.status.role == Role::Leader)?;
        Some(MemberId { cluster: EtcdId(cluster), index: index as u8 })
    });
    let Some(leader) = leader else { return Vec::new() };
    let zone = scenario.zone_of(leader);
    let (member, home) = (&scenario.member(leader).name, &scenario.zones[zone].name);
    let access =
        scenario.kube.clusters.iter().find_map(|cluster| Some((cluster.access?.balancer, *cluster.control_plane.first()?)));
    let of_access = access.into_iter().flat_map(|(balancer, host)| {
        let (balancer_name, host_name) = (&scenario.load_balancers[balancer].name, &scenario.nodes[host].name);
        [
            ("lb-cut-off", format!("Cut off {balancer_name}, the load balancer"), Selection::Balancer(balancer, 0)),
            ("kill-api-server", format!("Kill the API server on {host_name}"), Selection::Node(host)),
        ]
    });
    let wanted = [
        ("power-off", format!("Power off {home}, the leader's zone"), Selection::Zone(zone)),
        ("cut-off", format!("Cut off {home}; it keeps running"), Selection::Zone(zone)),
        ("kill", format!("Kill {member}, the leader; it is restarted"), Selection::Member(leader)),
        ("slow-disk", format!("Slow the disk of {member}"), Selection::Member(leader)),
    ];
    let offered = |(id, words, is): (&'static str, String, Selection)| {
        let offer = offers(is, scenario, view, report).into_iter().find(|offer| offer.id == id)?;
        Some(Suggestion { id, words, is, intervention: offer.intervention })
    };
    wanted.into_iter().chain(of_access).filter_map(offered).collect()
}

pub(super) fn section(scenario: &Scenario, view: &SimulationView, report: Option<&Report>, dispatch: &Callback<Action>) -> Html {
    let suggestions = suggestions(scenario, view, report);
    if suggestions.is_empty() {
        return Html::default();
    }
    let button = |Suggestion { id, words, is, intervention }: Suggestion| {
        let dispatch = dispatch.clone();
        let onclick = move |_: MouseEvent| {
            dispatch.emit(Action::Select(Some(is)));
            dispatch.emit(Action::Intervene(intervention.clone()));
            // The button goes away; what was done it to is what is read next.
            focus_soon("#inspected");
        };
        html! { <li><button class="intervention" {onclick} data-testid={format!("try-{id}")}>{ words }</button></li> }
    };
    html! {
        <>
            <h3>{ format!("Quick actions, at {}", clock(view.at, 3)) }</h3>
            <ul class="to-try" data-testid="to-try">{ for suggestions.into_iter().map(button) }</ul>
        </>
    }
}
