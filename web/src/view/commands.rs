//! Everything that can be done, with its name and its key: one list for keyboard, palette and help.

use zonefall_core::ids::MemberId;
use zonefall_core::report::Report;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::view::SimulationView;

use super::export::Export;
use super::inspector::interventions::{self, Offer};
use super::tabs::{Contents, FILTER_FIELD, TABS};
use super::timeline::TIME_FIELD;
use super::timeline::zoom::Zoom;
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
    /// To the interventions on the selected.
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
    ("k", Key::Kill, "Kill the selected process, or power off the selected node or zone"),
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
        Key::Kill | Key::CutOff | Key::Repair => intervene(key, state),
        Key::Zoom(zoom) => Some(CommandEffect::Zoom(zoom)),
        Key::Undo => Some(CommandEffect::Act(vec![Action::UndoIntervention])),
        Key::Filter => Some(CommandEffect::Focus(vec![Action::Ui(UiAction::Tab(Tab::Events))], FILTER_FIELD)),
        Key::GoTo => Some(CommandEffect::Focus(Vec::new(), TIME_FIELD)),
        Key::Help => ui(UiAction::Help(true)),
        Key::Palette => ui(UiAction::Palette(Some(String::new()))),
    }
}

/// Finds what a key does among all that is on offer.
type Find = fn(&[Offer]) -> Option<&Offer>;

/// What a key does to the selected object, or why it does nothing.
fn intervene(key: Key, state: &State) -> Option<CommandEffect> {
    let (scenario, view) = (state.scenario.as_deref()?, state.view.as_deref()?);
    let is = match state.selection? {
        Selection::Member(m) if key == Key::CutOff => Selection::Node(scenario.member(m).node),
        is => is,
    };
    let (name, find, otherwise): (_, Find, _) = match key {
        Key::Kill => ("K", interventions::kill, "This object is already stopped. Press M to repair it."),
        Key::CutOff => ("X", interventions::cut_off, "This object is already cut off. Press M to repair it."),
        _ => ("M", interventions::repair, "This object has no active fault."),
    };
    let offers = interventions::offers(is, scenario, view, report(state));
    let inert = interventions::inert(is, scenario, view).filter(|_| key != Key::Repair);
    let text = match (find(&offers), inert) {
        (Some(offer), None) => return Some(CommandEffect::Act(vec![Action::Intervene(offer.intervention.clone())])),
        (Some(_), Some(why)) => {
            let repair = interventions::repair(&offers).map_or("", |_| " Press M to repair it.");
            format!("{name} does nothing: {why}.{repair}")
        }
        (None, _) if key != Key::Repair && !interventions::is_breakable(is, scenario) => {
            format!("{name} does nothing here: select a zone, a node, a member or a link.")
        }
        (None, _) => otherwise.to_owned(),
    };
    Some(CommandEffect::Act(vec![Action::Say(Notice { tone: Tone::Info, text })]))
}

/// The report of what is shown, so far.
fn report(state: &State) -> Option<&Report> {
    state.branch()?.report.as_deref()
}

/// All commands that make sense in a state.
pub fn commands(state: &State) -> Vec<Command> {
    let keyed = KEYS
        .iter()
        .filter(|(_, key, _)| *key != Key::Palette)
        .filter_map(|(keys, key, about)| Some(Command { name: (*about).to_owned(), keys, effect: effect(*key, state)? }));
    let plain = |name: String, action: Action| Command { name, keys: "", effect: CommandEffect::Act(vec![action]) };
    let contents = state.scenario.as_ref().map(|scenario| Contents::of(scenario)).unwrap_or_default();
    let tabs = TABS.iter().filter(|(tab, ..)| contents.has(*tab));
    let tabs = tabs.map(|(tab, name, _)| plain(format!("Show {}", name.to_ascii_lowercase()), Action::Ui(UiAction::Tab(*tab))));
    let themes = [(Theme::System, "same as the system"), (Theme::Light, "light"), (Theme::Dark, "dark")];
    let themes = themes.map(|(theme, name)| plain(format!("Theme: {name}"), Action::Ui(UiAction::Theme(theme))));
    let share = Command {
        name: "Share: copy a link that contains the whole scenario".to_owned(),
        keys: "",
        effect: CommandEffect::Press("[data-testid='share']"),
    };
    let new = plain("New topology: zones, members, round trip, tolerance".to_owned(), Action::Ui(UiAction::NewTopology(true)));
    let tables = if state.ui.tables { "Show as graphics" } else { "Show as tables" };
    let tables = plain(tables.to_owned(), Action::Ui(UiAction::Tables(!state.ui.tables)));
    let exports =
        Export::ALL.map(|e| Command { name: format!("Export {}", e.label()), keys: "", effect: CommandEffect::Export(e) });
    let branches = state.branches.iter().filter(|b| b.id != state.shown && !b.deleted);
    let branches = branches.map(|b| plain(format!("Show branch: {}", b.name), Action::Show(b.id)));
    let open =
        bundled().iter().map(|b| plain(format!("Open {}", b.name), Action::Document(DocumentAction::Open(b.json.to_owned()))));
    let things = state.scenario.as_deref().map(things).unwrap_or_default();
    let injected = state
        .scenario
        .as_deref()
        .zip(state.view.as_deref())
        .map(|(scenario, view)| interventions(&things, scenario, view, report(state)));
    let things = things.into_iter().map(|(name, is)| plain(format!("Select {name}"), Action::Select(Some(is))));
    let all = keyed.chain([share, new]).chain(exports).chain(tabs).chain(themes).chain([tables]).chain(branches);
    all.chain(injected.into_iter().flatten()).chain(things).chain(open).collect()
}

/// All that can be done to each thing: `Power off: zone eu-west-1a`.
fn interventions(
    things: &[(String, Selection)],
    scenario: &Scenario,
    view: &SimulationView,
    report: Option<&Report>,
) -> Vec<Command> {
    let of = |(name, is): &(String, Selection)| {
        let command = |offer: Offer| Command {
            name: format!("{}: {name}", offer.label.replace(" this link", "")),
            keys: "",
            effect: CommandEffect::Act(vec![Action::Select(Some(*is)), Action::Intervene(offer.intervention)]),
        };
        interventions::offers(*is, scenario, view, report).into_iter().map(command).collect::<Vec<_>>()
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
    let balancers = scenario.load_balancers.iter_enumerated();
    let balancers = balancers.map(|(id, balancer)| (format!("load balancer {}", balancer.name), Selection::Balancer(id, 0)));
    zones.chain(members).chain(nodes).chain(balancers).chain(clients).chain(links).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::protocol::WorkerResponse;
    use crate::state::Start;
    use zonefall_core::ids::{ClientId, EtcdId, NodeId, ZoneId};
    use zonefall_core::scenario::default_scenario;
    use zonefall_core::scenario::fault::{Fault, FaultTarget, ZonePower};
    use zonefall_core::sim::{Options, Simulation};

    /// The default scenario, a zone of which has no power.
    fn dark() -> State {
        let (mut state, _) =
            State::new(Start { text: default_scenario().json.to_owned(), reduced_motion: true, ..Start::default() });
        let scenario = Arc::new(Scenario::from_json(default_scenario().json).unwrap());
        let mut simulation = Simulation::new(scenario, 1, Options::default());
        simulation.inject(&Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))), None);
        let view = simulation.view();
        let viewed = WorkerResponse::Viewed { load: state.load, branch: state.shown, view, event: String::new() };
        state.apply(Action::WorkerResponded(viewed));
        state
    }

    #[test]
    fn keys_say_why_they_do_nothing() {
        let mut state = dark();
        let member = |index| Selection::Member(MemberId { cluster: EtcdId(0), index });
        for (is, key, expected) in [
            (Selection::Node(NodeId(0)), "k", "K does nothing: node node-a has no power. Press M to repair it."),
            (Selection::Node(NodeId(0)), "x", "X does nothing: node node-a has no power. Press M to repair it."),
            (member(0), "k", "K does nothing: etcd-main-0 does not run: its node has no power. Press M to repair it."),
            (member(0), "x", "X does nothing: node node-a has no power. Press M to repair it."),
            (Selection::Zone(ZoneId(0)), "k", "This object is already stopped. Press M to repair it."),
            (Selection::Zone(ZoneId(0)), "x", "X does nothing: no node of zone eu-west-1a has power. Press M to repair it."),
            (Selection::Client(ClientId(0)), "k", "K does nothing here: select a zone, a node, a member or a link."),
            (Selection::Client(ClientId(0)), "x", "X does nothing here: select a zone, a node, a member or a link."),
            (member(1), "m", "This object has no active fault."),
        ] {
            state.apply(Action::Select(Some(is)));
            let Some(CommandEffect::Act(actions)) = press(key, &state) else { panic!("{key} on {is:?}") };
            let [Action::Say(notice)] = &actions[..] else { panic!("{key} on {is:?}: {actions:?}") };
            assert_eq!(notice.text, expected, "{key} on {is:?}");
        }
        for (is, key) in [(member(1), "k"), (member(1), "x"), (Selection::Link(ZoneId(0), ZoneId(1)), "x"), (member(0), "m")] {
            state.apply(Action::Select(Some(is)));
            let Some(CommandEffect::Act(actions)) = press(key, &state) else { panic!("{key} on {is:?}") };
            assert!(matches!(actions[..], [Action::Intervene(_)]), "{key} on {is:?}: {actions:?}");
        }
    }

    #[test]
    fn the_list_has_what_stops_a_process_and_cuts_a_link() {
        let names: Vec<String> = commands(&dark()).into_iter().map(|command| command.name).collect();
        for expected in [
            "Kill process (restarted after 1.5 s): member etcd-main-1",
            "Stop until repaired: member etcd-main-1",
            "Stop gracefully: member etcd-main-1",
            "Cut: link eu-west-1a – eu-west-1b",
        ] {
            assert!(names.iter().any(|name| name == expected), "{expected}: {names:?}");
        }
    }
}
