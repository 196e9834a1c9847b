//! Everything that can be done, with its name and its key: one list for keyboard, palette and help.

use zonefall_core::ids::MemberId;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::view::SimulationView;

use super::export::Export;
use super::inspector::interventions::{self, Offer};
use super::tabs::{FILTER_FIELD, TABS};
use super::timeline::TIME_FIELD;
use super::timeline::zoom::Zoom;
use crate::form::new_scenario;
use crate::state::{Action, DocumentAction, Notice, Panel, PlaybackCommand, Selection, State, Tab, Theme, Tone, UiAction};

/// What a command comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandEffect {
    /// Actions, in order.
    Act(Vec<Action>),
    /// Actions, and then an element (by selector) has the focus.
    Focus(Vec<Action>, &'static str),
    /// A button of the page, by selector, is pressed.
    Press(&'static str),
    /// A file.
    Export(Export),
    /// Another part of the timeline.
    Zoom(Zoom),
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// What it is called.
    pub name: String,
    /// Its key; empty where it has none.
    pub keys: &'static str,
    /// What it comes to.
    pub effect: CommandEffect,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Play or pause.
    Toggle,
    /// Engine events.
    Step(bool),
    /// Events of interest.
    Jump(bool),
    /// Faster or slower.
    Speed(bool),
    /// To the start.
    Home,
    /// To the end.
    End,
    /// To the deeds of the selected.
    Fork,
    /// Kill the selected.
    Kill,
    /// Cut it off.
    CutOff,
    /// Mend it.
    Repair,
    /// Back to the parent branch.
    Undo,
    /// Zoom the timeline.
    Zoom(Zoom),
    /// Filter the events.
    Filter,
    /// Go to a time.
    GoTo,
    /// This list.
    Help,
    /// All commands.
    Palette,
}

/// The keys: as a keyboard event names them, what they do, and that in words.
pub const KEYS: [(&str, Key, &str); 22] = [
    ("Space", Key::Toggle, "Play or pause"),
    ("ArrowRight", Key::Step(true), "Next event"),
    ("ArrowLeft", Key::Step(false), "Previous event"),
    ("Shift+ArrowRight", Key::Jump(true), "Next event of interest"),
    ("Shift+ArrowLeft", Key::Jump(false), "Previous event of interest"),
    ("]", Key::Speed(true), "Faster"),
    ("[", Key::Speed(false), "Slower"),
    ("Home", Key::Home, "To the start"),
    ("End", Key::End, "To the end"),
    ("z", Key::Zoom(Zoom::Outage), "Zoom to the outage"),
    ("+", Key::Zoom(Zoom::In), "Zoom in"),
    ("-", Key::Zoom(Zoom::Out), "Zoom out"),
    ("0", Key::Zoom(Zoom::All), "Show the whole run"),
    ("f", Key::Fork, "Fork here: choose an intervention on the selected object"),
    ("k", Key::Kill, "Stop the selected object (kill its process, or cut its power)"),
    ("x", Key::CutOff, "Cut off the selected object"),
    ("m", Key::Repair, "Repair the selected object"),
    ("u", Key::Undo, "Undo: return to the parent branch"),
    ("/", Key::Filter, "Filter the events"),
    ("g", Key::GoTo, "Go to a time"),
    ("?", Key::Help, "Help and keys"),
    ("Ctrl+k", Key::Palette, "All commands"),
];

/// A key as people read it: `Shift+←`.
pub fn key_words(key: &str) -> String {
    let words = key.replace("ArrowLeft", "←").replace("ArrowRight", "→");
    if words.chars().count() == 1 { words.to_ascii_uppercase() } else { words.replace("+k", "+K") }
}

/// What a pressed key does in a state; `None` where there is nothing to do.
pub fn press(key: &str, state: &State) -> Option<CommandEffect> {
    if key == "Escape" && state.ui.sheet.is_some() {
        return Some(lower(state.ui.sheet));
    }
    let (_, key, _) = KEYS.iter().find(|(name, ..)| *name == key)?;
    effect(*key, state)
}

/// Takes a sheet away; the focus goes back to what raised it.
pub fn lower(sheet: Option<Panel>) -> CommandEffect {
    let from = match sheet {
        Some(Panel::Inspector) => "[data-testid='sheet-inspector']",
        _ => "[data-testid='sheet-scenario']",
    };
    CommandEffect::Focus(vec![Action::Ui(UiAction::Sheet(None))], from)
}

fn effect(key: Key, state: &State) -> Option<CommandEffect> {
    let play = |command| Some(CommandEffect::Act(vec![Action::Playback(command)]));
    let ui = |action| Some(CommandEffect::Act(vec![Action::Ui(action)]));
    let intervention = |find: fn(&[Offer]) -> Option<&Offer>, member_with_node: bool, otherwise: &str| {
        let (scenario, view) = (state.scenario.as_deref()?, state.view.as_deref()?);
        let is = match state.selection? {
            Selection::Member(m) if member_with_node => Selection::Node(scenario.member(m).node),
            is => is,
        };
        let offers = Some(interventions::offers(is, scenario, view)).filter(|offers| !offers.is_empty())?;
        Some(CommandEffect::Act(vec![match find(&offers) {
            Some(offer) => Action::Intervene(offer.intervention.clone()),
            None => Action::Say(Notice { tone: Tone::Info, text: otherwise.to_owned() }),
        }]))
    };
    match key {
        Key::Toggle => play(PlaybackCommand::Toggle),
        Key::Step(on) => play(PlaybackCommand::Step(on)),
        Key::Jump(on) => play(PlaybackCommand::Jump(on)),
        Key::Speed(true) => play(PlaybackCommand::Faster),
        Key::Speed(false) => play(PlaybackCommand::Slower),
        Key::Home => play(PlaybackCommand::Home),
        Key::End => play(PlaybackCommand::End),
        Key::Fork => {
            let up = Action::Ui(UiAction::Sheet(Some(Panel::Inspector)));
            let to = if state.selection.is_some() { ".interventions button" } else { "#map-scene [tabindex='0']" };
            Some(CommandEffect::Focus(vec![Action::Playback(PlaybackCommand::Pause), up], to))
        }
        Key::Kill => intervention(interventions::kill, false, "This object is already stopped. Press M to repair it."),
        Key::CutOff => intervention(interventions::cut_off, true, "This object is already cut off. Press M to repair it."),
        Key::Repair => intervention(interventions::repair, false, "This object has no active fault."),
        Key::Zoom(zoom) => Some(CommandEffect::Zoom(zoom)),
        Key::Undo => Some(CommandEffect::Act(vec![Action::UndoIntervention])),
        Key::Filter => Some(CommandEffect::Focus(vec![Action::Ui(UiAction::Tab(Tab::Events))], FILTER_FIELD)),
        Key::GoTo => Some(CommandEffect::Focus(Vec::new(), TIME_FIELD)),
        Key::Help => ui(UiAction::Help(true)),
        Key::Palette => ui(UiAction::Palette(Some(String::new()))),
    }
}

/// All commands that make sense in a state.
pub fn commands(state: &State) -> Vec<Command> {
    let keyed = KEYS
        .iter()
        .filter(|(_, key, _)| *key != Key::Palette)
        .filter_map(|(keys, key, about)| Some(Command { name: (*about).to_owned(), keys, effect: effect(*key, state)? }));
    let plain = |name: String, action: Action| Command { name, keys: "", effect: CommandEffect::Act(vec![action]) };
    let kube = state.scenario.as_ref().is_some_and(|scenario| !scenario.kube.clusters.is_empty());
    let tabs = TABS.iter().filter(|(tab, ..)| kube || *tab != Tab::Recovery);
    let tabs = tabs.map(|(tab, name, _)| plain(format!("Show {}", name.to_ascii_lowercase()), Action::Ui(UiAction::Tab(*tab))));
    let themes = [(Theme::System, "same as the system"), (Theme::Light, "light"), (Theme::Dark, "dark")];
    let themes = themes.map(|(theme, name)| plain(format!("Theme: {name}"), Action::Ui(UiAction::Theme(theme))));
    let share = Command {
        name: "Share: copy a link that contains the whole scenario".to_owned(),
        keys: "",
        effect: CommandEffect::Press("[data-testid='share']"),
    };
    let new = plain("New scenario: two zones, three members".to_owned(), Action::Document(DocumentAction::Open(new_scenario())));
    let tables = if state.ui.tables { "Show as graphics" } else { "Show as tables" };
    let tables = plain(tables.to_owned(), Action::Ui(UiAction::Tables(!state.ui.tables)));
    let exports =
        Export::ALL.map(|e| Command { name: format!("Export {}", e.label()), keys: "", effect: CommandEffect::Export(e) });
    let branches = state.branches.iter().filter(|b| b.id != state.shown && !b.deleted);
    let branches = branches.map(|b| plain(format!("Show branch: {}", b.name), Action::Show(b.id)));
    let open =
        bundled().iter().map(|b| plain(format!("Open {}", b.name), Action::Document(DocumentAction::Open(b.json.to_owned()))));
    let things = state.scenario.as_deref().map(things).unwrap_or_default();
    let injected =
        state.scenario.as_deref().zip(state.view.as_deref()).map(|(scenario, view)| interventions(&things, scenario, view));
    let things = things.into_iter().map(|(name, is)| plain(format!("Select {name}"), Action::Select(Some(is))));
    let all = keyed.chain([share, new]).chain(exports).chain(tabs).chain(themes).chain([tables]).chain(branches);
    all.chain(injected.into_iter().flatten()).chain(things).chain(open).collect()
}

/// All that can be done to each thing: `Power off: zone eu-west-1a`.
fn interventions(things: &[(String, Selection)], scenario: &Scenario, view: &SimulationView) -> Vec<Command> {
    let of = |(name, is): &(String, Selection)| {
        let command = |offer: Offer| Command {
            name: format!("{}: {name}", offer.label),
            keys: "",
            effect: CommandEffect::Act(vec![Action::Select(Some(*is)), Action::Intervene(offer.intervention)]),
        };
        interventions::offers(*is, scenario, view).into_iter().map(command).collect::<Vec<_>>()
    };
    things.iter().flat_map(of).collect()
}

fn things(scenario: &Scenario) -> Vec<(String, Selection)> {
    let zones = scenario.zones.iter_enumerated().map(|(id, zone)| (format!("zone {}", zone.name), Selection::Zone(id)));
    let nodes = scenario.nodes.iter_enumerated().map(|(id, node)| (format!("node {}", node.name), Selection::Node(id)));
    let members = scenario.etcd.iter_enumerated().flat_map(|(cluster, spec)| {
        (0..).zip(&spec.members).map(move |(index, member)| {
            let id = MemberId { cluster, index };
            (format!("member {}", member.name), Selection::Member(id))
        })
    });
    let clients = scenario.clients.iter_enumerated().filter(|(_, c)| c.server.is_none());
    let clients = clients.map(|(id, c)| (format!("client {}", c.name), Selection::Client(id)));
    let pairs = scenario.zones.keys().flat_map(|a| scenario.zones.keys().filter(move |b| a < *b).map(move |b| (a, b)));
    let links = pairs.map(|(a, b)| {
        let name = format!("link {} – {}", scenario.zones[a].name, scenario.zones[b].name);
        (name, Selection::Link(a, b))
    });
    zones.chain(members).chain(nodes).chain(clients).chain(links).collect()
}
