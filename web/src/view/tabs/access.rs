//! How clients reached their API: the kinds of clients, how many of each had no API server that answered, over time, and why.

use yew::prelude::*;
use zonefall_core::access::cluster::view::ClientView;
use zonefall_core::ids::KubeClusterId;
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::ctx::ApiClient;
use zonefall_core::observe::access::{group, name as client_name};
use zonefall_core::report::{AccessReport, ClientOutageReport, ClientRequestsReport, Report};
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::text::count;
use zonefall_core::sim::view::SimulationView;

use super::bars::{Bars, HEAD, area};
use super::list::{List, and_more, beside, entry};
use crate::state::{Action, PlaybackCommand, Selection};
use crate::view::labels::{clock, length, moment};
use crate::view::map::shapes::px;
use crate::view::same::Same;
use crate::view::timeline::access_lanes::affected;
use crate::view::timeline::axis::{Axis, Range};

/// Outages of a kind of clients that are listed.
const MOST_OUTAGES: usize = 100;
/// Clients that are listed by their names.
const MOST_CLIENTS: usize = 60;
/// Height of a kind of clients: its words, its area.
const ROW: f64 = 38.0;
const AREA: f64 = 18.0;

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct AccessProps {
    pub scenario: Same<Scenario>,
    /// The clients that run.
    pub view: Option<Same<SimulationView>>,
    pub report: Same<Report>,
    pub at: Time,
    pub range: Range,
    /// No drawing.
    pub tables: bool,
    pub dispatch: Callback<Action>,
}

/// The kinds of clients, and the outages of the chosen one.
#[component]
pub(crate) fn Access(props: &AccessProps) -> Html {
    let AccessProps { report, at, range, .. } = props;
    let chosen = use_state_eq(|| None::<usize>);
    let worst = || report.access.iter().enumerate().max_by(|(_, a), (_, b)| a.longest_s.total_cmp(&b.longest_s));
    let Some(is) = chosen.filter(|is| *is < report.access.len()).or_else(|| worst().map(|(place, _)| place)) else {
        return html! { <p class="quiet nothing">{ "No clients yet." }</p> };
    };
    let row = |(place, of): (usize, &AccessReport)| {
        let set = chosen.setter();
        let affected = format!("{} of {}", count(of.affected), count(of.count));
        let affected = if of.affected > 0 {
            html! { <td class="number bad">{ format!("✕ {affected}") }</td> }
        } else {
            html! { <td class="number">{ affected }</td> }
        };
        let longest = if of.longest_s > 0.0 { length(of.longest_s) } else { "–".to_owned() };
        let cells = html! { <>{ affected }<td class="number">{ longest }</td></> };
        entry(place == is, move |_| set.set(Some(place)), format!("clients-{}", name(of)), name(of), cells)
    };
    let list = List {
        label: "Clients of APIs",
        testid: "clients",
        caption: "Clients of APIs by kind: how many had an outage, and the longest one",
        heads: &[("Clients", false), ("Affected", true), ("Longest outage", true)],
        rows: report.access.iter().enumerate().map(row).collect(),
        more: 0,
    };
    let of = &report.access[is];
    let rows = {
        let report = report.clone();
        Callback::from(move |axis: Axis| areas(&report, &axis))
    };
    let details = html! {
        <>
            { for of.requests.as_ref().map(|requests| html! { <p data-testid="client-requests">{ sum(requests) }</p> }) }
            if !props.tables { <Bars height={report.access.len() as f64 * ROW} at={*at} range={*range} {rows} /> }
            { running(of, props) }
            { outages(of, props) }
        </>
    };
    beside(list, "Outages of clients".to_owned(), "client-outages", details)
}

fn name(of: &AccessReport) -> String {
    format!("{}: {}", of.cluster, of.clients)
}

/// The requests of a kind of clients, in a sentence.
fn sum(requests: &ClientRequestsReport) -> String {
    let ended = [
        (requests.answered, "answered"),
        (requests.errors, "errors"),
        (requests.connection_lost, "lost with their connection"),
        (requests.timed_out, "timed out"),
        (requests.in_flight, "in flight"),
    ];
    let ended: Vec<String> =
        ended.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{} {what}", count(*number))).collect();
    let latency = match (requests.p50_ms, requests.p99_ms) {
        (Some(p50), Some(p99)) => format!("; half answered within {}, 99 % within {}", length(p50 / 1e3), length(p99 / 1e3)),
        _ => String::new(),
    };
    format!("Requests: {}{latency}.", if ended.is_empty() { "none yet".to_owned() } else { ended.join(", ") })
}

/// The clients of a kind that run, in the order of their names: each is a way to the inspector.
fn running(of: &AccessReport, props: &AccessProps) -> Html {
    let clients = props.view.iter().flat_map(|view| &view.access).flat_map(|access| {
        let (cluster, spec) = (access.cluster, &props.scenario.kube.clusters[access.cluster]);
        let is_one = move |client: &&ClientView| spec.name == of.cluster && group(client.client, spec) == of.clients;
        access.clients.iter().filter(is_one).map(move |client| (cluster, client.client))
    });
    let (first, more): (Vec<_>, Vec<_>) = clients.enumerate().partition(|(place, _)| *place < MOST_CLIENTS);
    let button = |(_, (cluster, client)): (usize, (KubeClusterId, ApiClient))| {
        let name = client_name(client, &props.scenario.kube.clusters[cluster], &props.scenario);
        let onclick = props.dispatch.reform(move |_: MouseEvent| Action::Select(Some(Selection::ApiClient(cluster, client))));
        html! { <li><button class="quiet" {onclick} data-testid={format!("inspect-{name}")}>{ name }</button></li> }
    };
    html! {
        <ul class="running" aria-label="Clients that run: select one to inspect it" data-testid="running-clients">
            { for first.into_iter().map(button) }
            if !more.is_empty() { <li class="quiet">{ format!("and {} more", count(more.len() as u64)) }</li> }
        </ul>
    }
}

/// Outages as a table; each is a way to its moment.
fn outages(of: &AccessReport, props: &AccessProps) -> Html {
    if of.outages.is_empty() {
        return html! { <p class="quiet">{ format!("{}: an API server answered all the time.", name(of)) }</p> };
    }
    let seek = |s: f64| props.dispatch.reform(move |_: MouseEvent| Action::Playback(PlaybackCommand::Seek(moment(s))));
    let row = |(place, outage): (usize, &ClientOutageReport)| {
        let lasted = length(outage.to_s - outage.from_s);
        let lasted = if outage.completed { lasted } else { format!("{lasted} (ongoing)") };
        html! {
            <tr>
                <td>{ &outage.client }</td>
                <td><button class="quiet" onclick={seek(outage.from_s)} data-testid={format!("client-outage-{place}")}>{ clock(moment(outage.from_s), 0) }</button></td>
                <td class="number">{ lasted }</td>
                <td class="number">{ length(outage.silent_s) }</td>
                <td>{ &outage.cause }</td>
            </tr>
        }
    };
    let left = of.outages.len().saturating_sub(MOST_OUTAGES) as u64 + of.omitted;
    html! {
        <>
            <table>
                <caption>{ format!("{}: time without an API server that answered", name(of)) }</caption>
                <thead><tr>
                    <th scope="col">{ "Client" }</th><th scope="col">{ "From" }</th><th scope="col" class="number">{ "For" }</th>
                    <th scope="col" class="number">{ "Connection silent" }</th><th scope="col">{ "Cause" }</th>
                </tr></thead>
                <tbody>{ for of.outages.iter().take(MOST_OUTAGES).enumerate().map(row) }</tbody>
            </table>
            { and_more(left, " outages") }
        </>
    }
}

/// The share of each kind of clients that has an outage, as areas.
fn areas(report: &Report, axis: &Axis) -> Html {
    let row = |(i, of): (usize, &AccessReport)| {
        let top = HEAD + i as f64 * ROW;
        let base = px(top + ROW - 4.0);
        html! {
            <>
                <line class="base" x1={px(axis.left)} x2={px(axis.right)} y1={base.clone()} y2={base} />
                <path class="affected" d={area(&affected(of), AREA / of.count.max(1) as f64, axis, top + ROW - 4.0)} />
                <text x={px(axis.left)} y={px(top + 13.0)}>{ name(of) }</text>
            </>
        }
    };
    html! { <>{ for report.access.iter().enumerate().map(row) }</> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_of_clients_add_up() {
        let outage = |from_s, to_s| ClientOutageReport {
            client: "kubelet of w1".to_owned(),
            from_s,
            to_s,
            completed: true,
            silent_s: 0.0,
            cause: String::new(),
        };
        let of = AccessReport {
            cluster: "c".to_owned(),
            clients: "kubelets of workers".to_owned(),
            count: 4,
            affected: 2,
            outages: vec![outage(10.0, 30.0), outage(10.0, 20.0), outage(20.0, 25.0)],
            omitted: 0,
            longest_s: 20.0,
            total_s: 35.0,
            connections: 0,
            via_load_balancer: 0,
            per_server: [].into_iter().collect(),
            requests: None,
        };
        assert_eq!(affected(&of), [(10.0, 1), (10.0, 2), (20.0, 1), (20.0, 2), (25.0, 1), (30.0, 0)]);
        let axis = Axis { range: Range { from_s: 0.0, to_s: 100.0 }, left: 0.0, right: 100.0, gutter: 0.0 };
        let path = area(&affected(&of), AREA / of.count as f64, &axis, 20.0);
        assert!(path.starts_with("M0.0 20.0L10.0 20.0L10.0 15.5L10.0 15.5L10.0 11.0") && path.ends_with("L30.0 20.0Z"), "{path}");
    }
}
