//! The whole page.

use yew::prelude::*;

use super::commands::{self, CommandEffect, commands, press};
use super::export::{Source, export};
use super::focus::focus_soon;
use super::header::{Header, HeaderProps};
use super::health::Health;
use super::inspector::Inspector;
use super::keys::use_keys;
use super::map::{Map, SkipToMap};
use super::overlay::{Help, NewTopology, NoticeLine, Palette};
use super::same::Same;
use super::size::{use_dark, use_media};
use super::slot::Slot;
use super::steady::use_steady;
use super::tabs::{Contents, Tabs};
use super::tiles::Tiles;
use super::timeline::axis::Range;
use super::timeline::zoom::Zoom;
use super::timeline::{Progress, Timeline};
use super::verdict::Verdict;
use super::watched::{View, use_cluster, use_view};
use crate::engine::protocol::BranchId;
use crate::state::{Action, EYE_SPEED, Notice, Panel, State, Tab, Theme, Tone};

/// What the page draws.
#[derive(Clone, PartialEq, Properties)]
pub struct PageProps {
    /// State of the whole page.
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
    let branch = state.branch();
    let scenario = state.scenario.as_ref().map(Same::from);
    let clusters = Same(use_memo(scenario.clone(), |scenario| {
        scenario.iter().flat_map(|s| s.etcd.iter().map(|c| c.name.clone())).collect::<Vec<String>>()
    }));
    let name = clusters.get(cluster).cloned().unwrap_or_default();
    let View { range, end, on_range, on_zoom, on_visit, dispatch } = use_view(&state, &name, &clusters, &on_cluster, dispatch);
    let report = branch.and_then(|b| b.report.as_ref()).map(Same::from);
    let view = state.view.as_ref().map(Same::from);
    let close_up = state.close_up().map(Same::from);
    let wrong = use_state_eq(|| None::<String>);
    let on_export = use_steady(on_export(&state, &name, range, dark, &wrong));
    let on_command = use_steady(on_command(&dispatch, &on_export, &on_zoom));
    {
        let (state, on_command) = (state.clone(), on_command.clone());
        use_keys(move |key| press(key, &state).map(|effect| on_command.emit(effect)).is_some());
    }
    let (at, playing, speed) = (state.playback.at, state.playback.playing, state.playback.speed);
    let unfinished = branch.filter(|b| !b.done && b.gave_up.is_none());
    let progress = unfinished.map(|b| Progress { now: b.now, rate: b.rate(), halted: b.halted });
    let dots = !playing || speed <= EYE_SPEED;
    let contents = scenario.as_ref().map(|scenario| Contents::of(scenario)).unwrap_or_default();
    let on_tab_range = on_range.clone();
    html! {
        <div class={classes!("page", state.ui.as_json.then_some("as-json"))} data-testid="page">
            <SkipToMap />
            <Header ..HeaderProps::of(&state, on_export, dispatch.clone()) />
            { panel(Panel::Scenario, "Scenario", state.ui.sheet, &on_command, html! { <Slot state={state.clone()} dispatch={dispatch.clone()} /> }) }
            <main class="stage">
                <Verdict report={report.clone()} loaded={scenario.is_some()} forked={state.shown != BranchId(0)} done={branch.is_some_and(|b| b.done)} stopped={state.is_stopped()} gave_up={branch.and_then(|b| b.gave_up.clone())}
                    {on_visit} />
                if let Some(report) = report.clone() {
                    <Tiles {report} cluster={name.clone()} provider={state.ui.provider.clone()} dispatch={dispatch.clone()} />
                }
                if let (Some(scenario), Some(view)) = (&scenario, &view) { <Health scenario={scenario.clone()} view={view.clone()} /> }
                if let Some(scenario) = scenario.clone() {
                    <Map stale={state.is_stale()} {scenario} view={view.clone()} report={report.clone()} selection={state.selection} {at} {dots} {dark}
                        table={state.ui.tables} dispatch={dispatch.clone()} />
                }
            </main>
            { panel(Panel::Inspector, "Inspector", state.ui.sheet, &on_command, html! {
                <Inspector scenario={scenario.clone()} view={view.clone()} report={report.clone()} selection={state.selection} dispatch={dispatch.clone()} />
            }) }
            <Timeline report={report.clone()} cluster={name} {end} {progress} {at} {playing} arrived={state.has_arrived()} {speed} {range} {narrow} {on_range} {on_zoom} dispatch={dispatch.clone()} />
            <Tabs {scenario} view={view.filter(|_| matches!(state.ui.tab, Tab::Access | Tab::Rollouts))} tab={state.ui.tab} tall={state.ui.tall} {report} {close_up} {clusters} {cluster} {on_cluster} filter={state.ui.filter.clone()} kinds={state.ui.kinds.clone()} {at} {range} on_range={on_tab_range} {contents} {dark}
                tables={state.ui.tables} provider={state.ui.provider.clone()} dispatch={dispatch.clone()} />
            if state.ui.help { <Help dispatch={dispatch.clone()} /> }
            if state.ui.new_topology { <NewTopology dispatch={dispatch.clone()} /> }
            if let Some(typed) = state.ui.palette.clone() {
                <Palette {typed} commands={commands(&state)} {on_command} dispatch={dispatch.clone()} />
            }
            { notice(&state, &wrong, &dispatch) }
            <div class="unseen" role="status" aria-live="polite">{ &state.stepped }</div>
        </div>
    }
}

/// A panel at the side; on a narrow screen a sheet that slides up.
fn panel(which: Panel, name: &'static str, up: Option<Panel>, on_command: &Callback<CommandEffect>, inside: Html) -> Html {
    let up = up == Some(which);
    let class = match which {
        Panel::Scenario => "panel scenario",
        Panel::Inspector => "panel inspector-panel",
    };
    let lower = {
        let on_command = on_command.clone();
        move |_: MouseEvent| on_command.emit(commands::lower(Some(which)))
    };
    html! {
        <aside {class} aria-label={name} data-up={up.to_string()} data-testid={format!("panel-{}", name.to_ascii_lowercase())}>
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
            Some(report) => export(
                what,
                &Source {
                    report,
                    close_up: state.close_up().map(AsRef::as_ref),
                    tab: state.ui.tab,
                    cluster: &cluster,
                    provider: state.ui.provider.as_deref(),
                    range,
                    dark,
                },
            ),
        };
        wrong.set(result.err());
    })
}

fn on_command(
    dispatch: &Callback<Action>,
    on_export: &Callback<super::export::Export>,
    on_zoom: &Callback<Zoom>,
) -> Callback<CommandEffect> {
    let (dispatch, on_export, on_zoom) = (dispatch.clone(), on_export.clone(), on_zoom.clone());
    Callback::from(move |effect| match effect {
        CommandEffect::Act(actions) => emit(&dispatch, actions),
        CommandEffect::Focus(actions, selector) => {
            emit(&dispatch, actions);
            focus_soon(selector);
        }
        CommandEffect::Press(selector) => super::focus::press(selector),
        CommandEffect::Export(what) => on_export.emit(what),
        CommandEffect::Zoom(zoom) => on_zoom.emit(zoom),
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
