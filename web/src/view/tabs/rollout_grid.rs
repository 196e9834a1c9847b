//! The pods of a workload at the playhead, by zone and in their order: which revision each has, and how it stands; and what an operator may
//! ask for then: to roll the workload out or back, to pause its rollout or to resume it.

use std::collections::BTreeMap;

use yew::prelude::*;
use zonefall_core::ids::{KubeClusterId, WorkloadId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::name::PodTag;
use zonefall_core::kube::spec::{Kind, Workload};
use zonefall_core::kube::view::RolloutView;
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::kube::Task;
use zonefall_core::scenario::text::count;
use zonefall_core::sim::view::SimulationView;

use super::list::and_more;
use crate::engine::protocol::Intervention;
use crate::state::Action;
use crate::view::labels::clock;
use crate::view::map::objects::{Mark, mark_of};
use crate::view::same::Same;

/// Pods of a zone that are shown.
const MOST_PODS: usize = 200;
/// The zone of pods without a node.
const NO_NODE: &str = "no node";

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(super) struct GridProps {
    pub scenario: Same<Scenario>,
    pub view: Same<SimulationView>,
    pub cluster: KubeClusterId,
    pub workload: WorkloadId,
    pub dispatch: Callback<Action>,
}

/// See the module.
#[component]
pub(super) fn Grid(props: &GridProps) -> Html {
    let GridProps { scenario, view, cluster, workload, dispatch } = props;
    let Some(of) = rollout(view, *cluster, *workload) else { return Html::default() };
    let spec = &scenario.kube.clusters[*cluster].workloads[*workload];
    let zones = pods(scenario, view, *cluster, *workload);
    let row = |(zone, cells): (&String, &Vec<Cell>)| {
        html! {
            <tr>
                <th scope="row">{ zone.clone() }</th>
                <td><ul>{ for cells.iter().take(MOST_PODS).map(|cell| cell.show(of.revision)) }</ul>{ and_more(cells.len().saturating_sub(MOST_PODS) as u64, " pods") }</td>
            </tr>
        }
    };
    html! {
        <div class="rollout-now" data-testid="rollout-now">
            { buttons(spec, of, *cluster, view.at, dispatch) }
            <p>{ sum(spec, of, &zones) }</p>
            <table class="pod-grid" data-testid="pod-grid">
                <caption class="unseen">{ format!("Pods of {} by zone, with their revisions", spec.name) }</caption>
                <tbody>{ for zones.iter().map(row) }</tbody>
            </table>
        </div>
    }
}

/// Where a workload's rollout stands in the picture.
fn rollout(view: &SimulationView, cluster: KubeClusterId, workload: WorkloadId) -> Option<RolloutView> {
    view.clusters.get(cluster)?.rollouts.iter().find(|of| of.workload == workload).copied()
}

/// A pod.
#[derive(Clone, Debug, PartialEq)]
struct Cell {
    name: String,
    /// What is written on it: the ordinal in a StatefulSet.
    text: String,
    order: (u32, Time),
    revision: u32,
    /// Something is wrong with its revision.
    bad: bool,
    mark: Mark,
}

impl Cell {
    /// Its revision shows in its ground and its edge, and how it stands in its sign.
    fn show(&self, current: u32) -> Html {
        let revision = match self {
            Self { bad: true, .. } => "revision-bad",
            Self { revision, .. } if *revision == current => "revision-current",
            Self { .. } => "revision-other",
        };
        let bad = if self.bad { ", a bad one" } else { "" };
        let words = format!("{}: revision {}{bad}, {}", self.name, self.revision, self.mark.describe());
        html! {
            <li class={classes!("pod", revision, self.mark.class())} title={words.clone()} key={self.name.clone()}>
                <span aria-hidden="true">{ sign(self.mark) }{ &self.text }</span><span class="unseen">{ words }</span>
            </li>
        }
    }
}

const fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Ready => "✓",
        Mark::Unready => "△",
        Mark::Starting => "◌",
        Mark::Waiting => "○",
        Mark::Ending => "×",
        Mark::Lost => "✕",
    }
}

/// The pods of a workload by zone, those of a StatefulSet by ordinal, others by age.
fn pods(scenario: &Scenario, view: &SimulationView, id: KubeClusterId, workload: WorkloadId) -> BTreeMap<String, Vec<Cell>> {
    let (spec, cluster) = (&scenario.kube.clusters[id], &view.clusters[id]);
    let nodes: BTreeMap<_, _> = cluster.nodes.iter().map(|node| (node.key, node.zone)).collect();
    let mut zones: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
    for pod in cluster.pods.iter().filter(|pod| pod.name.workload == workload) {
        let zone = pod.node.and_then(|node| nodes.get(&node));
        let zone = zone.map_or_else(|| NO_NODE.to_owned(), |zone| scenario.zones[*zone].name.clone());
        let (ordinal, text) = match pod.name.tag {
            PodTag::Ordinal(ordinal) => (ordinal, ordinal.to_string()),
            PodTag::Replica { .. } | PodTag::Agent(_) => (0, String::new()),
        };
        let bad = spec.workloads[workload].update.revision(pod.revision).is_bad();
        let (name, mark) = (pod.name.text(spec), mark_of(pod, cluster));
        let cell = Cell { name, text, order: (ordinal, pod.created), revision: pod.revision, bad, mark };
        zones.entry(zone).or_default().push(cell);
    }
    zones.values_mut().for_each(|cells| cells.sort_by_key(|cell| cell.order));
    zones
}

/// `30 pods: 24 of revision 0, 6 of revision 1 (bad); 28 ready, 2 terminating. Wanted: revision 1.`
fn sum(spec: &Workload, of: RolloutView, zones: &BTreeMap<String, Vec<Cell>>) -> String {
    let all = || zones.values().flatten();
    let mut revisions: BTreeMap<u32, u64> = BTreeMap::new();
    all().for_each(|cell| *revisions.entry(cell.revision).or_default() += 1);
    let bad = |revision: u32| if spec.update.revision(revision).is_bad() { " (bad)" } else { "" };
    let revisions: Vec<String> = revisions
        .into_iter()
        .map(|(revision, pods)| format!("{} of revision {revision}{}", count(pods), bad(revision)))
        .collect();
    let marks = Mark::ALL.into_iter().map(|mark| (all().filter(|cell| cell.mark == mark).count() as u64, mark.describe()));
    let marks: Vec<String> =
        marks.filter(|(pods, _)| *pods > 0).map(|(pods, words)| format!("{} {words}", count(pods))).collect();
    let pods = all().count() as u64;
    let paused = if of.paused { ", paused" } else { "" };
    let wanted = format!("Wanted: revision {}{}{paused}.", of.revision, bad(of.revision));
    if pods == 0 {
        return format!("No pods. {wanted}");
    }
    let noun = if pods == 1 { "pod" } else { "pods" };
    format!("{} {noun}: {}; {}. {wanted}", count(pods), revisions.join(", "), marks.join(", "))
}

/// What an operator may ask for at the playhead.
fn buttons(spec: &Workload, of: RolloutView, cluster: KubeClusterId, at: Time, dispatch: &Callback<Action>) -> Html {
    let button = |label: &'static str, testid: &'static str, task: Task| {
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Intervene(Intervention::Roll { cluster, task }));
        html! { <button class="intervention" {onclick} data-testid={testid}>{ label }</button> }
    };
    let name = format!("Rollout of {}, at {}", spec.name, clock(at, 0));
    let (pause, label, testid) = if of.paused {
        (Task::ResumeRollout(of.workload), "Resume", "resume-rollout")
    } else {
        (Task::PauseRollout(of.workload), "Pause", "pause-rollout")
    };
    html! {
        <div class="interventions" role="group" aria-label={name}>
            { button("Roll out", "roll-out", Task::RollComponent(of.workload)) }
            if spec.kind == Kind::Deployment { { button(label, testid, pause) } }
            if of.rolled { { button("Roll back", "roll-back", Task::RollBackComponent(of.workload)) } }
        </div>
    }
}
