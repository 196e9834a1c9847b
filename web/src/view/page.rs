//! The whole page.

use yew::prelude::*;
use zonefall_core::kernel::time::Time;

use super::commands::{Deal, commands, press};
use super::export::{Source, export};
use super::focus::focus_soon;
use super::header::{Header, HeaderProps};
use super::health::Health;
use super::inspector::Inspector;
use super::keys::use_keys;
use super::map::Map;
use super::overlay::{Help, NoticeLine, Palette};
use super::same::Same;
use super::size::{use_dark, use_media};
use super::slot::Slot;
use super::tabs::Tabs;
use super::timeline::Timeline;
use super::timeline::axis::Range;
use super::verdict::Verdict;
use crate::engine::protocol::BranchId;
use crate::state::{Action, EYE_SPEED, Notice, Panel, Selection, State, Theme, Tone, UiAction};

/// What the page draws.
#[derive(Clone, PartialEq, Properties)]
pub struct PageProps {
    /// Everything.
    pub state: Same<State>,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// See the module.
#[component]
pub fn Page(props: &PageProps) -> Html {
    let PageProps { state, dispatch } = props.clone();
    let dark = use_dark(state.ui.theme);
    let narrow = use_media("(max-width: 699px)");
    use_theme(state.ui.theme);
    let (cluster, on_cluster) = use_cluster(&state);
    let end = state.scenario.as_ref().map_or(Time::ZERO, |s| Time::ZERO + s.duration);
    let (range, on_range) = use_range(&state, end);
    let branch = state.branch();
    let report = branch.and_then(|b| b.report.as_ref()).map(Same::from);
    let scenario = state.scenario.as_ref().map(Same::from);
    let picture = state.picture.as_ref().map(Same::from);
    let clusters: Vec<String> = scenario.iter().flat_map(|s| s.etcd.iter().map(|c| c.name.clone())).collect();
    let name = clusters.get(cluster).cloned().unwrap_or_default();
    let wrong = use_state_eq(|| None::<String>);
    let on_export = on_export(&state, &name, range, dark, &wrong);
    let on_deal = on_deal(&dispatch, &on_export);
    {
        let (state, on_deal) = (state.clone(), on_deal.clone());
        use_keys(move |key| press(key, &state).map(|deal| on_deal.emit(deal)).is_some());
    }
    let (at, playing, speed) = (state.playback.at, state.playback.playing, state.playback.speed);
    let live = branch.filter(|b| !b.done).map(|b| b.now);
    let dots = !playing || speed <= EYE_SPEED;
    html! {
        <div class="page" data-testid="page">
            <Header ..HeaderProps::of(&state, on_export, dispatch.clone()) />
            { panel(Panel::Scenario, "Scenario", state.ui.sheet, &dispatch, html! { <Slot state={state.clone()} dispatch={dispatch.clone()} /> }) }
            <main class="stage">
                <Verdict report={report.clone()} loaded={scenario.is_some()} forked={state.shown != BranchId(0)} done={branch.is_some_and(|b| b.done)} gave_up={branch.and_then(|b| b.gave_up.clone())}
                    dispatch={dispatch.clone()} />
                if let (Some(scenario), Some(picture)) = (&scenario, &picture) { <Health scenario={scenario.clone()} picture={picture.clone()} /> }
                if let Some(scenario) = scenario.clone() {
                    <Map {scenario} picture={picture.clone()} report={report.clone()} selection={state.selection} {at} {dots} {dark}
                        table={state.ui.tables} dispatch={dispatch.clone()} />
                }
            </main>
            { panel(Panel::Inspector, "Inspector", state.ui.sheet, &dispatch, html! {
                <Inspector {scenario} {picture} report={report.clone()} selection={state.selection} dispatch={dispatch.clone()} />
            }) }
            <Timeline report={report.clone()} cluster={name} {end} {live} {at} {playing} {speed} {range} {narrow} {on_range} dispatch={dispatch.clone()} />
            <Tabs tab={state.ui.tab} {report} {clusters} {cluster} {on_cluster} filter={state.ui.filter.clone()} kinds={state.ui.kinds.clone()} {at} {range} {dark}
                tables={state.ui.tables} dispatch={dispatch.clone()} />
            if state.ui.help { <Help dispatch={dispatch.clone()} /> }
            if let Some(typed) = state.ui.palette.clone() {
                <Palette {typed} commands={commands(&state)} {on_deal} dispatch={dispatch.clone()} />
            }
            { notice(&state, &wrong, &dispatch) }
            <div class="unseen" role="status" aria-live="polite">{ &state.stepped }</div>
        </div>
    }
}

/// A panel at the side; on a narrow screen a sheet that slides up.
fn panel(which: Panel, name: &'static str, up: Option<Panel>, dispatch: &Callback<Action>, inside: Html) -> Html {
    let up = up == Some(which);
    let class = match which {
        Panel::Scenario => "panel scenario",
        Panel::Inspector => "panel inspector-panel",
    };
    let lower = dispatch.reform(|_: MouseEvent| Action::Ui(UiAction::Sheet(None)));
    let on_escape = dispatch.clone();
    let onkeydown = move |event: KeyboardEvent| {
        if up && event.key() == "Escape" && !event.default_prevented() {
            event.prevent_default();
            on_escape.emit(Action::Ui(UiAction::Sheet(None)));
        }
    };
    html! {
        <aside {class} aria-label={name} data-up={up.to_string()} {onkeydown} data-testid={format!("panel-{}", name.to_ascii_lowercase())}>
            <button class="tool lower" onclick={lower} aria-label={format!("Close {}", name.to_ascii_lowercase())}>{ super::icon::icon(super::icon::Icon::Close) }</button>
            { inside }
        </aside>
    }
}

/// Says the theme to the style sheet.
#[hook]
fn use_theme(theme: Theme) {
    use_effect_with(theme, |theme| {
        if let Some(root) = gloo::utils::document().document_element() {
            // Neither can fail: the name is a valid one.
            let _ = match theme {
                Theme::System => root.remove_attribute("data-theme"),
                Theme::Light => root.set_attribute("data-theme", "light"),
                Theme::Dark => root.set_attribute("data-theme", "dark"),
            };
        }
    });
}

/// The cluster whose lanes and charts are shown: that of the selected member, else the one chosen last.
#[hook]
fn use_cluster(state: &Same<State>) -> (usize, Callback<usize>) {
    let chosen = use_state_eq(|| 0_usize);
    let set = chosen.setter();
    use_effect_with(state.selection, move |selection| {
        if let Some(Selection::Member(member)) = selection {
            set.set(member.cluster.0 as usize);
        }
    });
    let count = state.scenario.as_ref().map_or(0, |s| s.etcd.len());
    let set = chosen.setter();
    ((*chosen).min(count.saturating_sub(1)), Callback::from(move |cluster| set.set(cluster)))
}

/// The part of the run that is shown: all of it at first; while playing it follows the playhead.
#[hook]
fn use_range(state: &Same<State>, end: Time) -> (Range, Callback<Range>) {
    let range = use_state_eq(|| Range::whole(end));
    let set = range.setter();
    use_effect_with(end, move |end| set.set(Range::whole(*end)));
    let set = range.setter();
    let shown = if state.playback.playing { range.following(state.playback.at.as_secs_f64(), end) } else { *range };
    use_effect_with(shown, move |shown| set.set(*shown));
    let set = range.setter();
    (shown, Callback::from(move |range| set.set(range)))
}

fn on_export(
    state: &Same<State>,
    cluster: &str,
    range: Range,
    dark: bool,
    wrong: &UseStateHandle<Option<String>>,
) -> Callback<super::export::Export> {
    let (state, cluster, wrong) = (state.clone(), cluster.to_owned(), wrong.clone());
    Callback::from(move |what| {
        let branch = state.branch();
        let report = branch.and_then(|b| b.report.as_ref());
        let result = match report {
            None => Err("There is nothing to export yet.".to_owned()),
            Some(report) => export(what, &Source { report, tab: state.ui.tab, cluster: &cluster, range, dark }),
        };
        wrong.set(result.err());
    })
}

fn on_deal(dispatch: &Callback<Action>, on_export: &Callback<super::export::Export>) -> Callback<Deal> {
    let (dispatch, on_export) = (dispatch.clone(), on_export.clone());
    Callback::from(move |deal| match deal {
        Deal::Act(actions) => emit(&dispatch, actions),
        Deal::Focus(actions, selector) => {
            emit(&dispatch, actions);
            focus_soon(selector);
        }
        Deal::Export(what) => on_export.emit(what),
    })
}

fn emit(dispatch: &Callback<Action>, actions: Vec<Action>) {
    for action in actions {
        dispatch.emit(action);
    }
}

/// The state's notice, or what went wrong with an export.
fn notice(state: &State, wrong: &UseStateHandle<Option<String>>, dispatch: &Callback<Action>) -> Html {
    let own = wrong.as_ref().map(|text| Notice { tone: Tone::Error, text: text.clone() });
    let (wrong, dispatch) = (wrong.clone(), dispatch.clone());
    let dispatch = Callback::from(move |action: Action| {
        wrong.set(None);
        dispatch.emit(action);
    });
    html! { <NoticeLine notice={own.or_else(|| state.notice.clone())} {dispatch} /> }
}
