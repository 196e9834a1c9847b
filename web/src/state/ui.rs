//! Panels, theme, filter and overlays.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use zonefall_core::report::StoryKind;

use super::Effect;

/// How the page looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ui {
    /// Colours of the page.
    pub theme: Theme,
    /// What the lower part shows.
    pub tab: Tab,
    /// The lower part has more of the page than the map.
    pub tall: bool,
    /// What the scenario panel shows: the form, or the text.
    pub as_json: bool,
    /// The sheet that is up on a narrow screen.
    pub sheet: Option<Panel>,
    /// Filter of the event list.
    pub filter: String,
    /// Kinds of events that are listed; none: all are.
    pub kinds: BTreeSet<StoryKind>,
    /// Keys are explained.
    pub help: bool,
    /// A new topology is chosen.
    pub new_topology: bool,
    /// The list of commands is open, with what was typed into it.
    pub palette: Option<String>,
    /// Every picture is shown as a table instead.
    pub tables: bool,
    /// The part of the run that is shown, from and to, in seconds; `None`: all of it.
    pub range: Option<[f64; 2]>,
    /// The provider whose bill is shown; none, or one that has no bill: the first that has.
    pub provider: Option<String>,
}

/// The shortest part of a run that is shown, in seconds.
pub(super) const SHORTEST_S: f64 = 0.001;

/// Colours of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Light colours, whatever the system prefers.
    Light,
    /// Dark colours, whatever the system prefers.
    Dark,
}

/// The lower part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tab {
    /// Events in plain words.
    #[default]
    Events,
    /// How pods came back.
    Recovery,
    /// How workloads were rolled out.
    Rollouts,
    /// How pools grew and shrank.
    NodeGroups,
    /// How clients reached their API.
    Access,
    /// Availability over time.
    Availability,
    /// Latency over time.
    Latency,
    /// Bytes between zones over time.
    Traffic,
    /// What it costs.
    Cost,
    /// The report in words and numbers.
    Report,
}

/// Panels that are sheets on a narrow screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// The scenario.
    Scenario,
    /// The inspector.
    Inspector,
}

/// Changes of the page's looks.
#[derive(Clone, Debug, PartialEq)]
pub enum UiAction {
    /// The next theme.
    Theme(Theme),
    /// Show a tab.
    Tab(Tab),
    /// More room for the lower part, or less.
    Tall(bool),
    /// Form or text.
    AsJson(bool),
    /// Raise a sheet (or none).
    Sheet(Option<Panel>),
    /// Filter the events.
    Filter(String),
    /// List a kind of events, or no longer.
    Kind(StoryKind),
    /// Explain the keys, or stop.
    Help(bool),
    /// Choose a new topology, or stop.
    NewTopology(bool),
    /// Open the list of commands, type into it, or close it.
    Palette(Option<String>),
    /// Tables instead of pictures.
    Tables(bool),
    /// Show this part of the run, or all of it.
    Range(Option<[f64; 2]>),
    /// Show a provider's bill.
    Provider(String),
}

/// A message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How bad.
    pub tone: Tone,
    /// Text of the notice.
    pub text: String,
}

/// How bad a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Good to know.
    Info,
    /// Something went wrong.
    Error,
}

impl Ui {
    pub(super) fn apply(&mut self, action: UiAction, effects: &mut Vec<Effect>) {
        let remembered = matches!(action, UiAction::Theme(_) | UiAction::AsJson(_) | UiAction::Tables(_));
        match action {
            UiAction::Theme(theme) => self.theme = theme,
            UiAction::Tab(tab) => self.tab = tab,
            UiAction::Tall(tall) => self.tall = tall,
            UiAction::AsJson(as_json) => self.as_json = as_json,
            UiAction::Sheet(sheet) => self.sheet = sheet,
            UiAction::Filter(filter) => self.filter = filter,
            UiAction::Kind(kind) => {
                if !self.kinds.remove(&kind) {
                    self.kinds.insert(kind);
                }
            }
            UiAction::Help(help) => self.help = help,
            UiAction::NewTopology(open) => self.new_topology = open,
            UiAction::Palette(palette) => self.palette = palette,
            UiAction::Tables(tables) => self.tables = tables,
            UiAction::Range(range) => {
                self.range = range.filter(|[from_s, to_s]| from_s.is_finite() && to_s - from_s >= SHORTEST_S);
            }
            UiAction::Provider(provider) => self.provider = Some(provider),
        }
        if remembered {
            effects.push(Effect::Remember(self.clone()));
        }
    }
}
