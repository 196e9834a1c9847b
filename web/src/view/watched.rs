//! What of the run is looked at: which cluster, which part of its time. It goes where something happens.
//!
//! ```text
//!   a moment of the verdict   -> its cluster, its outage       the playhead leaves -> the part it is in
//!   the first outage was seen -> the outage                    an intervention     -> the seconds after it
//! ```

use std::rc::Rc;

use yew::prelude::*;
use zonefall_core::ids::EtcdId;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::{EtcdReport, Report};
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::kube::balancers::balancers;

use super::labels::moment;
use super::same::Same;
use super::steady::use_steady;
use super::timeline::axis::Range;
use super::timeline::zoom::{Zoom, visit, watch};
use crate::state::{Action, PlaybackCommand, Selection, State, UiAction};

/// What is looked at, and how that is changed.
pub(crate) struct View {
    /// The part of the run.
    pub range: Range,
    /// The end of the run.
    pub end: Time,
    /// Another part.
    pub on_range: Callback<Range>,
    /// Another part, in words.
    pub on_zoom: Callback<Zoom>,
    /// A moment of a cluster.
    pub on_visit: Callback<(String, f64)>,
    /// Where actions go: interventions are watched from near.
    pub dispatch: Callback<Action>,
}

/// The cluster whose lanes and charts are shown: that of the selected member, load balancer or client of an API, else the one chosen last, else the one that is affected.
#[hook]
pub(crate) fn use_cluster(state: &Same<State>) -> (usize, Callback<usize>) {
    let chosen = use_state_eq(|| None::<usize>);
    let set = chosen.setter();
    use_effect_with(state.scenario.as_ref().map(|s| s.name.clone()), move |_| set.set(None));
    let set = chosen.setter();
    let etcd = state.scenario.as_ref().zip(state.selection).and_then(|(scenario, is)| etcd_of(is, scenario));
    use_effect_with((state.selection, etcd), move |(_, etcd)| {
        if let Some(etcd) = etcd {
            set.set(Some(usize::from(*etcd)));
        }
    });
    let clusters = state.scenario.as_ref().map_or(0, |scenario| scenario.etcd.len());
    let report = state.branch().and_then(|branch| branch.report.as_deref());
    let cluster = (*chosen).or_else(|| affected(report?)).unwrap_or(0);
    let set = chosen.setter();
    (cluster.min(clusters.saturating_sub(1)), use_steady(Callback::from(move |cluster| set.set(Some(cluster)))))
}

/// The etcd cluster that a member is of, or that stores what the API of a client or load balancer serves.
fn etcd_of(is: Selection, scenario: &Scenario) -> Option<EtcdId> {
    let clusters = &scenario.kube.clusters;
    match is {
        Selection::Member(member) => Some(member.cluster),
        Selection::ApiClients(cluster, ..) | Selection::ApiClient(cluster, _) => Some(clusters[cluster].etcd),
        Selection::Balancer(balancer, _) => {
            clusters.iter().find(|cluster| balancers(cluster).contains(&balancer)).map(|cluster| cluster.etcd)
        }
        _ => None,
    }
}

/// Number of the first cluster that had an outage, else of the first that lost a member.
fn affected(report: &Report) -> Option<usize> {
    let first = |is: fn(&EtcdReport) -> bool| report.etcd.values().position(is);
    first(|etcd| !etcd.outages.is_empty()).or_else(|| first(|etcd| etcd.tolerance.len() > 1))
}

/// The part of the run that is shown: all of it at first. It follows the playhead.
#[hook]
pub(crate) fn use_view(
    state: &Same<State>,
    cluster: &str,
    clusters: &Same<Vec<String>>,
    on_cluster: &Callback<usize>,
    dispatch: Callback<Action>,
) -> View {
    let end = state.scenario.as_ref().map_or(Time::ZERO, |s| Time::ZERO + s.duration);
    let range = state.ui.range.map_or_else(|| Range::whole(end), |[from_s, to_s]| Range { from_s, to_s });
    let on_range = use_steady(dispatch.reform(move |range: Range| {
        let part = (range != Range::whole(end)).then_some([range.from_s, range.to_s]);
        Action::Ui(UiAction::Range(part))
    }));
    let report = state.branch().and_then(|branch| branch.report.clone());
    let (at, speed) = (state.playback.at, state.playback.speed);
    {
        let (on_range, report, cluster) = (on_range.clone(), report.clone(), cluster.to_owned());
        use_effect_with(state.playback.arrived, move |arrived| {
            let outage = arrived.and_then(|at| visit(report.as_deref()?, &cluster, at.as_secs_f64(), end));
            if let Some(outage) = outage {
                on_range.emit(outage);
            }
        });
    }
    let on_zoom = {
        let (report, cluster) = (report.clone(), cluster.to_owned());
        use_steady(on_range.reform(move |zoom: Zoom| zoom.of(range, at.as_secs_f64(), end, report.as_deref(), &cluster)))
    };
    let on_visit = use_steady(on_visit(report, clusters, &on_range, on_cluster, end, &dispatch));
    let dispatch = {
        let on_range = on_range.clone();
        use_steady(Callback::from(move |action: Action| {
            if matches!(action, Action::Intervene(_)) {
                on_range.emit(watch(range, at, speed, end));
            }
            dispatch.emit(action);
        }))
    };
    View { range, end, on_range, on_zoom, on_visit, dispatch }
}

fn on_visit(
    report: Option<Rc<Report>>,
    clusters: &Same<Vec<String>>,
    on_range: &Callback<Range>,
    on_cluster: &Callback<usize>,
    end: Time,
    dispatch: &Callback<Action>,
) -> Callback<(String, f64)> {
    let (clusters, on_range, on_cluster, dispatch) = (clusters.clone(), on_range.clone(), on_cluster.clone(), dispatch.clone());
    Callback::from(move |(name, at_s): (String, f64)| {
        if let Some(cluster) = clusters.iter().position(|one| *one == name) {
            on_cluster.emit(cluster);
        }
        if let Some(outage) = report.as_deref().and_then(|report| visit(report, &name, at_s, end)) {
            on_range.emit(outage);
        }
        // It is there to be looked at: whatever plays would run away from it.
        dispatch.emit(Action::Playback(PlaybackCommand::Pause));
        dispatch.emit(Action::Playback(PlaybackCommand::Seek(moment(at_s))));
    })
}
