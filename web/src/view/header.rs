//! The top line: name, scenario, new topology, branch, share, export, theme, help.

use std::sync::OnceLock;

use web_sys::HtmlSelectElement;
use yew::prelude::*;
use zonefall_core::scenario::bundled;

use super::export::Export;
use super::focus::focus_soon;
use super::icon::{Icon, icon, worded};
use super::menu::{Entry, Menu};
use super::same::Same;
use super::size::use_media;
use crate::engine::protocol::BranchId;
use crate::state::{Action, DocumentAction, Panel, State, Theme, UiAction};

/// What the line shows.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct HeaderProps {
    /// Name and title of the scenario that runs.
    pub scenario: Option<(String, String)>,
    /// It is a bundled one that was edited.
    pub changed: bool,
    /// Each branch and what it is called.
    pub branches: Vec<(BranchId, String)>,
    /// The branch on the screen.
    pub shown: BranchId,
    /// Colours of the page.
    pub theme: Theme,
    /// Tables instead of graphics.
    pub tables: bool,
    /// The sheet that is up on a narrow screen.
    pub sheet: Option<Panel>,
    /// Something is exported.
    pub on_export: Callback<Export>,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

impl HeaderProps {
    /// What the line shows of a state.
    pub(crate) fn of(state: &Same<State>, on_export: Callback<Export>, dispatch: Callback<Action>) -> Self {
        Self {
            scenario: state.scenario.as_ref().map(|s| (s.name.clone(), s.title.clone())),
            changed: state
                .scenario
                .as_ref()
                .is_some_and(|s| bundled().iter().any(|b| b.name == s.name && *b.json != *state.document.text)),
            branches: state.branches.iter().filter(|b| !b.deleted).map(|b| (b.id, b.name.clone())).collect(),
            shown: state.shown,
            theme: state.ui.theme,
            tables: state.ui.tables,
            sheet: state.ui.sheet,
            on_export,
            dispatch,
        }
    }
}

/// The line.
#[component]
pub(crate) fn Header(props: &HeaderProps) -> Html {
    let dispatch = &props.dispatch;
    let act = |action: Action| dispatch.reform(move |_: MouseEvent| action.clone());
    let (theme, next, name) = match props.theme {
        Theme::System => (Theme::Light, "light", "same as the system"),
        Theme::Light => (Theme::Dark, "dark", "light"),
        Theme::Dark => (Theme::System, "same as the system", "dark"),
    };
    let theme_name = format!("Theme: {name}; change to {next}");
    let tables = Action::Ui(UiAction::Tables(!props.tables));
    let (theme, help) = (Action::Ui(UiAction::Theme(theme)), Action::Ui(UiAction::Help(true)));
    // On a telephone there is room for one row: what is needed least is in one menu.
    let narrow = use_media("(max-width: 699px)");
    let export = |export: Export| Entry {
        label: export.label().to_owned(),
        testid: format!("export-{}", export.id()),
        act: props.on_export.reform(move |()| export),
    };
    let exports = Export::ALL.map(export);
    let entry = |label: &str, testid: &str, action: &Action| {
        let action = action.clone();
        Entry { label: label.to_owned(), testid: testid.to_owned(), act: dispatch.reform(move |()| action.clone()) }
    };
    let rare = if narrow {
        let shown = if props.tables { "Show as graphics" } else { "Show as tables" };
        let own = [entry(shown, "tables", &tables), entry(&theme_name, "theme", &theme), entry("Help and keys", "help", &help)];
        html! { <Menu label="Menu" icon={Icon::More} testid="export" entries={[&own[..], &exports].concat()} /> }
    } else {
        html! {
            <>
                <Menu label="Export" icon={Icon::Export} testid="export" entries={exports.to_vec()} />
                <button class="tool" onclick={act(tables)} aria-pressed={props.tables.to_string()}
                    aria-label="Show as tables" title="Show as tables" data-testid="tables">{ icon(Icon::Table) }</button>
                <button class="tool" onclick={act(theme)} aria-label={theme_name.clone()} title={theme_name}
                    data-testid="theme">{ icon(Icon::Theme) }</button>
                <button class="tool" onclick={act(help)} aria-label="Help and keys" title="Help and keys (?)"
                    data-testid="help">{ "?" }</button>
            </>
        }
    };
    html! {
        <header class="top">
            <h1 class="brand">{ "Zonefall" }</h1>
            <Scenarios scenario={props.scenario.clone()} changed={props.changed} dispatch={dispatch.clone()} />
            <button class="worded new" onclick={act(Action::Ui(UiAction::NewTopology(true)))} title="A scenario of your own: zones, members, round trip, tolerance"
                data-testid="new-topology">{ worded(Icon::Plus, "New topology") }</button>
            <Branches branches={props.branches.clone()} shown={props.shown} dispatch={dispatch.clone()} />
            <span class="spring"></span>
            <div class="sheets">
                { sheet_button(props, Panel::Scenario, worded(Icon::Scenario, "Scenario"), "sheet-scenario") }
                { sheet_button(props, Panel::Inspector, worded(Icon::Inspector, "Inspector"), "sheet-inspector") }
            </div>
            <button class="worded" onclick={act(Action::Share)} title="Copy a link that contains the scenario, its branches and this view"
                data-testid="share">{ worded(Icon::Share, "Share") }</button>
            { rare }
        </header>
    }
}

fn sheet_button(props: &HeaderProps, panel: Panel, name: Html, testid: &'static str) -> Html {
    let up = props.sheet == Some(panel);
    let next = (!up).then_some(panel);
    let onclick = props.dispatch.reform(move |_: MouseEvent| Action::Ui(UiAction::Sheet(next)));
    html! { <button class="worded" {onclick} aria-expanded={up.to_string()} data-testid={testid}>{ name }</button> }
}

#[derive(Clone, PartialEq, Properties)]
struct ScenariosProps {
    scenario: Option<(String, String)>,
    changed: bool,
    dispatch: Callback<Action>,
}

/// Names of the bundled scenarios, and what the list calls them.
fn titles() -> &'static [(&'static str, String)] {
    static TITLES: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();
    let title = |json: &str| {
        let value = serde_json::from_str::<serde_json::Value>(json).ok()?;
        Some(value.get("title")?.as_str()?.to_owned())
    };
    TITLES.get_or_init(|| {
        bundled().iter().map(|b| (b.name, format!("{}: {}", b.name, title(b.json).unwrap_or_default()))).collect()
    })
}

#[component]
fn Scenarios(props: &ScenariosProps) -> Html {
    let onchange = props.dispatch.reform(|event: Event| {
        let name = event.target_unchecked_into::<HtmlSelectElement>().value();
        let json = bundled().iter().find(|b| b.name == name).map_or("", |b| b.json);
        Action::Document(DocumentAction::Open(json.to_owned()))
    });
    let changed = props.changed;
    let chosen = props.scenario.as_ref().map(|(name, _)| name.as_str());
    // What is none of the bundled ones, or no longer, has a line of its own: so all of them can be chosen.
    let own = props.scenario.as_ref().filter(|(name, _)| changed || bundled().iter().all(|b| b.name != *name));
    let own = own.map(|(name, title)| {
        let (value, text) = if changed {
            (format!("{name} (changed)"), format!("Changed: {title}"))
        } else {
            (name.clone(), format!("{name}: {title}"))
        };
        html! { <option {value} selected=true disabled=true>{ text }</option> }
    });
    let option = |(name, title): &(&'static str, String)| {
        html! { <option value={*name} selected={!changed && chosen == Some(*name)}>{ title }</option> }
    };
    html! {
        <label class="chooser scenarios">
            <span class="unseen">{ "Scenario" }</span>
            <select {onchange} title={chosen.map(str::to_owned)} data-testid="scenario-chooser">
                { for titles().iter().map(option) }
                { own }
            </select>
        </label>
    }
}

#[derive(Clone, PartialEq, Properties)]
struct BranchesProps {
    branches: Vec<(BranchId, String)>,
    shown: BranchId,
    dispatch: Callback<Action>,
}

#[derive(Clone, PartialEq, Properties)]
struct NameFieldProps {
    name: String,
    naming: UseStateSetter<bool>,
    dispatch: Callback<Action>,
}

/// The name of the shown branch, typed over: Enter takes it, Escape does not.
#[component]
fn NameField(props: &NameFieldProps) -> Html {
    let typed = use_state_eq(|| props.name.clone());
    let oninput = {
        let set = typed.setter();
        move |event: InputEvent| set.set(event.target_unchecked_into::<web_sys::HtmlInputElement>().value())
    };
    let onkeydown = {
        let (props, name) = (props.clone(), (*typed).clone());
        move |event: KeyboardEvent| {
            match event.key().as_str() {
                "Enter" => props.dispatch.emit(Action::RenameBranch(name.clone())),
                "Escape" => {}
                _ => return,
            }
            event.prevent_default();
            props.naming.set(false);
        }
    };
    let onblur = {
        let naming = props.naming.clone();
        move |_: FocusEvent| naming.set(false)
    };
    html! {
        <input type="text" maxlength="200" aria-label="Name of the branch" value={(*typed).clone()} {oninput} {onkeydown} {onblur}
            data-testid="branch-name" />
    }
}

#[component]
fn Branches(props: &BranchesProps) -> Html {
    let naming = use_state_eq(|| false);
    if props.branches.is_empty() {
        return Html::default();
    }
    let onchange = props.dispatch.reform(|event: Event| {
        let id = event.target_unchecked_into::<HtmlSelectElement>().value();
        Action::Show(BranchId(id.parse().unwrap_or(0)))
    });
    let option = |(id, name): &(BranchId, String)| {
        html! { <option value={id.0.to_string()} selected={*id == props.shown}>{ name }</option> }
    };
    let undo = props.dispatch.reform(|_: MouseEvent| Action::UndoIntervention);
    let entry = |label: &str, testid: &str, act: Callback<()>| Entry { label: label.to_owned(), testid: testid.to_owned(), act };
    let act = |action: Action| props.dispatch.reform(move |()| action.clone());
    let rename = {
        let set = naming.setter();
        Callback::from(move |()| {
            set.set(true);
            focus_soon("[data-testid='branch-name']");
        })
    };
    let entries = vec![
        entry("Rename", "branch-rename", rename),
        entry("Delete", "branch-delete", act(Action::DeleteBranch)),
        entry("Write into the scenario", "branch-write", act(Action::WriteFaults)),
    ];
    let name = props.branches.iter().find(|(id, _)| *id == props.shown).map(|(_, name)| name.clone()).unwrap_or_default();
    let (forked, several) = (props.shown != BranchId(0), props.branches.len() > 1);
    html! {
        <div class={classes!("branch", forked.then_some("forked"), several.then_some("several"))}>
            <label class="chooser">
                { icon(Icon::Branch) }
                <span class="unseen">{ "Branch" }</span>
                if *naming {
                    <NameField {name} naming={naming.setter()} dispatch={props.dispatch.clone()} />
                } else {
                    <select {onchange} data-testid="branch-chooser">{ for props.branches.iter().map(option) }</select>
                }
            </label>
            if forked { <Menu label="Branch" icon={Icon::Branch} testid="branch-menu" {entries} /> }
            if forked { <button onclick={undo} title="Return to the parent branch (U)" data-testid="undo-intervention">{ "Undo" }</button> }
        </div>
    }
}
