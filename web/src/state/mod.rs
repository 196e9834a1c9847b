//! Everything the page knows, and what can happen to it: no browser in here.
//!
//! ```text
//!   Action --State::apply--> (State, effects) --page--> worker, storage, address bar, files
//!      ^                                                   |
//!      '------------------- Tell, file, link --------------'
//! ```
//!
//! Nothing about clusters is decided here: pictures and reports come from the worker, scenarios are judged by zonefall-core.

mod document;
mod playback;
mod ui;

use std::rc::Rc;

use zonefall_core::ids::{MemberId, NodeId, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::report::Report;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::picture::Picture;

pub use document::{Document, DocumentAction, Path, Problem, Step};
pub use playback::{Playback, PlaybackCommand};
pub use ui::{Notice, Panel, Tab, Theme, Tone, Ui, UiAction};

use crate::engine::protocol::{Ask, BranchId, Deed, LoadId, Tell};

/// What the page knows.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The scenario as it is edited: text, form, errors, undo. (`document.rs`)
    pub document: Document,
    /// The scenario that runs: the last valid document.
    pub scenario: Option<Rc<Scenario>>,
    /// Number of the scenario in the worker.
    pub load: LoadId,
    /// Branches, 0 first. Undo of a deed goes back to the parent.
    pub branches: Vec<Branch>,
    /// The branch on the screen: an index into `branches`.
    pub shown: BranchId,
    /// The world at the playhead, as last told.
    pub picture: Option<Rc<Picture>>,
    /// The event last stepped to, in plain words.
    pub stepped: String,
    /// Playhead, speed. (`playback.rs`)
    pub playback: Playback,
    /// What the inspector shows.
    pub selection: Option<Selection>,
    /// Panels, theme, filter, overlays. (`ui.rs`)
    pub ui: Ui,
    /// A message for the user: what went wrong, or what was done.
    pub notice: Option<Notice>,
}

/// One course of events.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Its number.
    pub id: BranchId,
    /// What it is called: "as written", "zone eu-west-1a lost power at 1m 2s".
    pub name: String,
    /// Where it left which branch, and by what deed; `None` for the scenario as written.
    pub fork: Option<(BranchId, Time, Deed)>,
    /// Simulated up to here.
    pub now: Time,
    /// Simulated to the end.
    pub done: bool,
    /// Why it was given up.
    pub gave_up: Option<String>,
    /// The report so far.
    pub report: Option<Rc<Report>>,
    /// The same as the worker sent it: what is exported.
    pub report_json: Rc<str>,
}

/// What is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// A zone.
    Zone(ZoneId),
    /// A node.
    Node(NodeId),
    /// A member.
    Member(MemberId),
    /// The link between two zones (the smaller id first).
    Link(ZoneId, ZoneId),
}

/// What can happen. Groups have enums of their own in their files.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Edits of the document, undo, redo, other scenarios.
    Document(DocumentAction),
    /// Play, pause, speed, seek, step, jumps, and the passing of real time.
    Playback(PlaybackCommand),
    /// The worker says something.
    Told(Tell),
    /// The worker crashed or does not answer: it was started anew, and what was loaded is loaded again only when the user asks.
    WorkerLost(String),
    /// Select (or nothing).
    Select(Option<Selection>),
    /// Do something to the world at the playhead: forks.
    Do(Deed),
    /// Show another branch.
    Show(BranchId),
    /// Back to the branch this one left.
    UndoDeed,
    /// Panels, theme, filter, overlays.
    Ui(UiAction),
    /// Dismiss the notice.
    Dismiss,
}

/// What the page does after an action.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Tell the worker.
    Ask(Ask),
    /// Keep the document in the browser's storage.
    Save(String),
    /// Keep a preference (theme).
    Remember(Ui),
    /// Put the scenario into the address bar.
    Link(String),
    /// Start the worker anew.
    Restart,
}
