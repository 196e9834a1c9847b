//! The pods of a workload at the playhead, by zone and in their order: which revision each has, and how it stands; and what an operator may
//! ask for then: to roll the workload out or back, to pause its rollout or to resume it. And what budgets of evictions allow then.

use std::collections::BTreeMap;

use yew::prelude::*;
use zonefall_core::ids::{KubeClusterId, WorkloadId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::name::PodTag;
use zonefall_core::kube::spec::{Kind, Workload};
use zonefall_core::kube::store::{BudgetKey, BudgetView};
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
/// Budgets that are listed.
const MOST_BUDGETS: usize = 100;
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
            <p>{ sum(spec, of, &zones) }</p>
            <table class="pod-grid" data-testid="pod-grid">
                <caption class="unseen">{ format!("Pods of {} by zone, with their revisions", spec.name) }</caption>
                <tbody>{ for zones.iter().map(row) }</tbody>
            </table>
            <p class="quiet">{ "Dashed: another revision than the wanted one. Red: something is wrong with its revision. ✓ ready, △ not ready, \
                ◌ starting, ○ no node, × terminating, ✕ lost." }</p>
            { buttons(spec, of, *cluster, view.at, dispatch) }
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
    for cells in zones.values_mut() {
        cells.sort_by_key(|cell| cell.order);
    }
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

/// The budgets of all clusters, and what each allows at the playhead.
pub(super) fn budgets(scenario: &Scenario, view: &SimulationView) -> Html {
    let rows: Vec<_> =
        view.clusters.iter_enumerated().flat_map(|(id, cluster)| budget_rows(scenario, id, &cluster.budgets)).collect();
    if rows.is_empty() {
        return Html::default();
    }
    let row = |(name, allows): (String, String)| html! { <tr><td>{ name }</td><td>{ allows }</td></tr> };
    html! {
        <table data-testid="budgets-now">
            <caption>{ format!("Budgets at {}", clock(view.at, 0)) }</caption>
            <thead><tr><th scope="col">{ "Budget" }</th><th scope="col">{ "Evictions that it allows" }</th></tr></thead>
            <tbody>{ for rows.into_iter().take(MOST_BUDGETS).map(row) }</tbody>
        </table>
    }
}

/// A budget's name, and `2`, or `0 in za, 2 in zb`.
fn budget_rows(scenario: &Scenario, cluster: KubeClusterId, budgets: &[BudgetView]) -> Vec<(String, String)> {
    let spec = &scenario.kube.clusters[cluster];
    let mut rows: Vec<(String, String)> = Vec::new();
    for BudgetView { budget, allowed } in budgets {
        let (name, allows) = match *budget {
            BudgetKey::Own(workload) => (spec.workloads[workload].name.clone(), allowed.to_string()),
            BudgetKey::Named(k) => (spec.budgets[k as usize].name.clone(), allowed.to_string()),
            BudgetKey::Zone(k, zone) => {
                (spec.zone_aware.budgets[k as usize].name.clone(), format!("{allowed} in {}", scenario.zones[zone].name))
            }
        };
        match rows.last_mut().filter(|(last, _)| *last == name && matches!(budget, BudgetKey::Zone(..))) {
            Some((_, zones)) => *zones += &format!(", {allows}"),
            None => rows.push((name, allows)),
        }
    }
    rows
}

/// What an operator may ask for at the playhead.
fn buttons(spec: &Workload, of: RolloutView, cluster: KubeClusterId, at: Time, dispatch: &Callback<Action>) -> Html {
    let button = |label: &'static str, testid: &'static str, task: Task| {
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Intervene(Intervention::Roll { cluster, task }));
        html! { <button {onclick} data-testid={testid}>{ label }</button> }
    };
    let name = format!("Rollout of {}, at {}", spec.name, clock(at, 0));
    let (pause, label, testid) = if of.paused {
        (Task::ResumeRollout(of.workload), "Resume", "resume-rollout")
    } else {
        (Task::PauseRollout(of.workload), "Pause", "pause-rollout")
    };
    html! {
        <div class="rollout-asks" role="group" aria-label={name}>
            { button("Roll out", "roll-out", Task::RollComponent(of.workload)) }
            if spec.kind == Kind::Deployment { { button(label, testid, pause) } }
            if of.rolled { { button("Roll back", "roll-back", Task::RollBackComponent(of.workload)) } }
        </div>
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zonefall_core::kernel::time::Duration;
    use zonefall_core::run::Run;
    use zonefall_core::scenario::bundled;
    use zonefall_core::sim::Options;

    use super::*;

    const CLUSTER: KubeClusterId = KubeClusterId(0);

    /// A workload of a bundled scenario at a moment.
    fn at(name: &str, workload: &str, s: u64) -> (Arc<Scenario>, SimulationView, WorkloadId) {
        let text = bundled().iter().find(|bundled| bundled.name == name).expect("it is bundled").json;
        let scenario = Arc::new(Scenario::from_json(text).expect("bundled scenarios are valid"));
        let mut run = Run::new(&scenario, scenario.seed, Options::default());
        run.advance(Time::ZERO + Duration::from_secs(s), &mut |_, _| {});
        let mut workloads = scenario.kube.clusters[CLUSTER].workloads.iter_enumerated();
        let id = workloads.find(|(_, spec)| spec.name == workload).expect("it is there").0;
        (Arc::clone(&scenario), run.simulation().view(), id)
    }

    fn said(name: &str, workload: &str, s: u64) -> String {
        let (scenario, view, id) = at(name, workload, s);
        let of = rollout(&view, CLUSTER, id).expect("its revisions are recorded");
        sum(&scenario.kube.clusters[CLUSTER].workloads[id], of, &pods(&scenario, &view, CLUSTER, id))
    }

    #[test]
    fn budgets_say_what_they_allow_now() {
        let rows = |s| {
            let (scenario, view, _) = at("two-zones-drained", "plain", s);
            budget_rows(&scenario, CLUSTER, &view.clusters[CLUSTER].budgets)
        };
        let text = |rows: [(&str, &str); 3]| rows.map(|(name, allows)| (name.to_owned(), allows.to_owned()));
        let (two, none) = ("2 in za, 2 in zb, 2 in zc", "0 in za, 0 in zb, 0 in zc");
        assert_eq!(rows(240), text([("plain", "2"), ("code", two), ("strict", two)]));
        assert_eq!(rows(330), text([("plain", "0"), ("code", none), ("strict", "1 in za, 0 in zb, 0 in zc")]));
    }

    #[test]
    fn pods_stand_in_their_zones_by_ordinal_and_are_counted_by_revision() {
        let (scenario, view, id) = at("rollback-order", "code", 240);
        let zones = pods(&scenario, &view, CLUSTER, id);
        for cells in zones.values() {
            let ordinals: Vec<u32> = cells.iter().map(|cell| cell.order.0).collect();
            assert!(ordinals.is_sorted() && ordinals.len() > 1, "{ordinals:?}");
            assert!(cells.iter().all(|cell| cell.text == cell.order.0.to_string() && cell.mark == Mark::Ready && !cell.bad));
        }
        let all = zones.values().map(Vec::len).sum::<usize>();
        assert_eq!(
            said("rollback-order", "code", 240),
            format!("{all} pods: {all} of revision 0; {all} ready. Wanted: revision 0.")
        );
        let expected = "9 pods: 3 of revision 0, 6 of revision 1 (bad); 8 ready, 1 starting. Wanted: revision 1 (bad).";
        assert_eq!(said("rollback-order", "code", 470), expected);
    }
}
