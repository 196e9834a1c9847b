//! The lower part: events, charts, report. Charts share the timeline's axis and the playhead.

mod access;
mod bars;
mod chart;
mod cost;
mod counts;
mod events;
mod list;
mod matrix;
mod node_groups;
mod recovery;
mod report;
mod rollout_grid;
mod rollouts;
mod service_flows;

use std::collections::BTreeSet;

use yew::prelude::*;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::{CloseUp, Report, StoryKind};
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::kube::KubeClusterSpec;
use zonefall_core::sim::view::SimulationView;

use super::icon::{Icon, icon};
use super::labels::moment;
use super::same::Same;
use super::timeline::axis::Range;
use crate::state::{Action, Tab, UiAction};
use access::Access;
use chart::{Chart, Kind};
use cost::{CostTables, no_prices, providers};
use events::Events;
pub(crate) use events::FILTER_FIELD;
use matrix::Matrix;
use node_groups::NodeGroups;
use recovery::Recovery;
use report::ReportTables;
use rollouts::Rollouts;
use service_flows::ServiceFlows;

/// Tabs in order: which, name, name for tests.
pub const TABS: [(Tab, &str, &str); 10] = [
    (Tab::Events, "Events", "tab-events"),
    (Tab::Recovery, "Recovery", "tab-recovery"),
    (Tab::Rollouts, "Rollouts", "tab-rollouts"),
    (Tab::NodeGroups, "Node groups", "tab-node-groups"),
    (Tab::Access, "Access", "tab-access"),
    (Tab::Availability, "Availability", "tab-availability"),
    (Tab::Latency, "Latency", "tab-latency"),
    (Tab::Traffic, "Traffic", "tab-traffic"),
    (Tab::Cost, "Cost", "tab-cost"),
    (Tab::Report, "Report", "tab-report"),
];

/// What a scenario has of which there are tabs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Kubernetes clusters.
    pub kube: bool,
    /// Workloads whose rollouts the report follows, or budgets of evictions.
    pub rollouts: bool,
    /// Clusters whose autoscaler has options.
    pub node_groups: bool,
    /// Clusters whose clients reach the API through a load balancer.
    pub access: bool,
}

impl Contents {
    /// What a scenario has.
    pub fn of(scenario: &Scenario) -> Self {
        let clusters = &scenario.kube.clusters;
        let is_followed = |cluster: &KubeClusterSpec| {
            let has_budgets = !cluster.budgets.is_empty() || !cluster.zone_aware.budgets.is_empty();
            has_budgets || cluster.workloads.iter().any(|workload| workload.update.is_recorded())
        };
        let rollouts = clusters.iter().any(is_followed);
        let node_groups = clusters
            .iter()
            .any(|cluster| cluster.controllers.cluster_autoscaler.is_some() && !cluster.machine_deployments.is_empty());
        let access = clusters.iter().any(|cluster| cluster.access.is_some());
        Self { kube: !clusters.is_empty(), rollouts, node_groups, access }
    }

    /// Whether there is such a tab.
    pub const fn has(self, tab: Tab) -> bool {
        match tab {
            Tab::Recovery => self.kube,
            Tab::Rollouts => self.rollouts,
            Tab::NodeGroups => self.node_groups,
            Tab::Access => self.access,
            _ => true,
        }
    }
}

/// What the tabs show.
#[derive(Clone, PartialEq, Properties)]
pub struct TabsProps {
    /// The open tab.
    pub tab: Tab,
    /// The world.
    pub scenario: Option<Same<Scenario>>,
    /// The world at a moment.
    pub view: Option<Same<SimulationView>>,
    /// Whether it has more of the page than the map.
    pub tall: bool,
    /// The report so far.
    pub report: Option<Same<Report>>,
    /// What is shown of it, in finer windows, where that is known.
    pub close_up: Option<Same<CloseUp>>,
    /// All clusters, and which is shown.
    pub clusters: Same<Vec<String>>,
    /// Index of the shown one.
    pub cluster: usize,
    /// Another cluster is wanted.
    pub on_cluster: Callback<usize>,
    /// Filter of the events.
    pub filter: String,
    /// Kinds of events that are listed; none: all are.
    pub kinds: BTreeSet<StoryKind>,
    /// The playhead.
    pub at: Time,
    /// The part of the run that is shown.
    pub range: Range,
    /// Another part is wanted.
    pub on_range: Callback<Range>,
    /// What the scenario has.
    pub contents: Contents,
    /// The dark theme.
    pub dark: bool,
    /// Tables instead of charts.
    pub tables: bool,
    /// The provider whose bill is wanted, as [`Report::provider`] takes it.
    pub provider: Option<String>,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// The list of tabs and the open one.
#[component]
pub fn Tabs(props: &TabsProps) -> Html {
    let TabsProps { report, close_up, clusters, cluster, filter, kinds, at, range, on_range, dark, tables, dispatch, .. } =
        props.clone();
    let open = shown(props);
    let inside = match (report, clusters.get(cluster).cloned()) {
        (Some(report), Some(cluster)) => {
            let chart = |kind: Kind| {
                html! { <Chart {kind} report={report.clone()} close_up={close_up.clone()} cluster={cluster.clone()} {at} {range} {dark} {tables} dispatch={dispatch.clone()} /> }
            };
            match open {
                Tab::Events => {
                    let current = report.story.partition_point(|line| moment(line.at_s) <= at);
                    html! { <Events report={report.clone()} {current} {filter} {kinds} {dispatch} /> }
                }
                Tab::Recovery => html! { <Recovery {report} {at} {range} {on_range} {tables} {dispatch} /> },
                Tab::Rollouts => {
                    let (scenario, view) = (props.scenario.clone(), props.view.clone());
                    html! { <Rollouts {scenario} {view} {report} {at} {range} {tables} {dispatch} /> }
                }
                Tab::NodeGroups => html! { <NodeGroups {report} {at} {range} {tables} {dispatch} /> },
                Tab::Access => match props.scenario.clone() {
                    Some(scenario) => {
                        html! { <Access {scenario} view={props.view.clone()} {report} {at} {range} {tables} {dispatch} /> }
                    }
                    None => Html::default(),
                },
                Tab::Availability => chart(Kind::Availability),
                Tab::Latency => chart(Kind::Latency),
                Tab::Traffic => above(
                    "Bytes from zone to zone",
                    chart(Kind::Traffic),
                    html! { <><Matrix report={report.clone()} /><ServiceFlows {report} /></> },
                ),
                Tab::Cost => match report.provider(props.provider.as_deref()).map(|name| AttrValue::from(name.to_owned())) {
                    None => no_prices(),
                    Some(provider) => {
                        let chart =
                            html! { <>{ providers(&report, &provider, &dispatch) }{ chart(Kind::Bill(provider.clone())) }</> };
                        above("Cost", chart, html! { <CostTables {report} {provider} /> })
                    }
                },
                Tab::Report => html! { <ReportTables {report} /> },
            }
        }
        _ => html! { <p class="quiet nothing">{ "No simulation yet." }</p> },
    };
    let tall = props.tall;
    let onclick = props.dispatch.reform(move |_: MouseEvent| Action::Ui(UiAction::Tall(!tall)));
    html! {
        <section class={classes!("details", tall.then_some("tall"), props.contents.kube.then_some("kube"))} aria-label="Details">
            <div class="tab-bar">
                { tab_list(props) }
                if clusters.len() > 1 { <Chooser {clusters} {cluster} on_cluster={props.on_cluster.clone()} /> }
                <button class="tool larger" {onclick} aria-pressed={tall.to_string()} aria-label="Larger details" title="Larger details"
                    data-testid="tall">{ icon(Icon::Taller) }</button>
            </div>
            <div class="tab-panel" role="tabpanel" id="tab-panel" aria-labelledby={tab_id(open)} data-testid="tab-panel">{ inside }</div>
        </section>
    }
}

/// A chart above what it rests on.
fn above(name: &'static str, chart: Html, tables: Html) -> Html {
    html! {
        <div class="charted">
            { chart }
            <div class="tables" tabindex="0" role="region" aria-label={name} data-testid="charted">{ tables }</div>
        </div>
    }
}

/// The tabs there are.
fn tabs(contents: Contents) -> Vec<(Tab, &'static str, &'static str)> {
    TABS.into_iter().filter(|(tab, ..)| contents.has(*tab)).collect()
}

/// The open one.
fn shown(props: &TabsProps) -> Tab {
    if props.contents.has(props.tab) { props.tab } else { Tab::Events }
}

fn tab_id(tab: Tab) -> &'static str {
    TABS.iter().find(|(t, ..)| *t == tab).map_or("", |(.., id)| id)
}

fn tab_list(props: &TabsProps) -> Html {
    let (tabs, open) = (tabs(props.contents), shown(props));
    let now = tabs.iter().position(|(tab, ..)| *tab == open).unwrap_or(0);
    let all = tabs.clone();
    let onkeydown = props.dispatch.clone();
    let onkeydown = move |event: KeyboardEvent| {
        let to = match event.key().as_str() {
            "ArrowRight" => (now + 1) % all.len(),
            "ArrowLeft" => (now + all.len() - 1) % all.len(),
            "Home" => 0,
            "End" => all.len() - 1,
            _ => return,
        };
        event.prevent_default();
        onkeydown.emit(Action::Ui(UiAction::Tab(all[to].0)));
        super::focus::focus(&format!("#{}", all[to].2));
    };
    let tab = |(tab, name, id): &(Tab, &'static str, &'static str)| {
        let (tab, open) = (*tab, *tab == open);
        let onclick = props.dispatch.reform(move |_: MouseEvent| Action::Ui(UiAction::Tab(tab)));
        html! {
            <button role="tab" id={*id} aria-selected={open.to_string()} aria-controls="tab-panel" tabindex={if open { "0" } else { "-1" }}
                {onclick} data-testid={*id}>{ *name }</button>
        }
    };
    html! { <div class="tab-list" role="tablist" aria-label="Details" {onkeydown}>{ for tabs.iter().map(tab) }</div> }
}

#[derive(Clone, PartialEq, Properties)]
struct ChooserProps {
    clusters: Same<Vec<String>>,
    cluster: usize,
    on_cluster: Callback<usize>,
}

/// Which cluster is shown: of thousands, hence not drawn with each frame.
#[component]
fn Chooser(props: &ChooserProps) -> Html {
    let onchange = props
        .on_cluster
        .reform(|event: Event| event.target_unchecked_into::<web_sys::HtmlSelectElement>().value().parse().unwrap_or(0));
    let option = |(i, name): (usize, &String)| {
        html! { <option value={i.to_string()} selected={i == props.cluster}>{ name }</option> }
    };
    html! {
        <label class="chooser">
            <span class="quiet">{ "cluster" }</span>
            <select {onchange} data-testid="cluster-chooser">{ for props.clusters.iter().enumerate().map(option) }</select>
        </label>
    }
}
