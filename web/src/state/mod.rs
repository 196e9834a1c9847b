//! Everything the page knows, and what can happen to it: no browser in here.
//!
//! ```text
//!   Action --State::apply--> (State, effects) --page--> worker, storage, address bar, files
//!      ^                                                   |
//!      '------------------- Tell, file, link --------------'
//! ```
//!
//! Nothing about clusters is decided here: pictures and reports come from the worker, scenarios are judged by zonefall-core.

mod autoplay;
pub mod bookmark;
mod branches;
mod close_up;
mod document;
pub mod layout;
mod playback;
mod rename;
pub mod share;
mod store;
#[cfg(test)]
mod tests;
mod ui;
mod worker;

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use zonefall_core::access::cluster::view::ClientKind;
use zonefall_core::ids::{BalancerId, ClientId, KubeClusterId, MemberId, NodeId, TiVec, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::ctx::ApiClient;
use zonefall_core::kube::name::{MachineName, PodName};
use zonefall_core::report::Report;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

pub use branches::clock;
pub use document::{Document, DocumentAction, Path, Problem, Step};
pub use playback::{EYE_SPEED, Playback, PlaybackCommand, SPEEDS};
pub use store::Store;
pub use ui::{Notice, Panel, Tab, Theme, Tone, Ui, UiAction};

use crate::engine::protocol::{BranchId, Intervention, LoadId, WorkerRequest, WorkerResponse};
use bookmark::Bookmark;
use document::Edited;
use worker::Worker;

/// What the page knows.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The scenario as it is edited: text, form, errors, undo. (`document.rs`)
    pub document: Rc<Document>,
    /// The scenario that runs: the last valid document.
    pub scenario: Option<Rc<Scenario>>,
    /// Number of the scenario in the worker.
    pub load: LoadId,
    /// Branches, 0 first. Undo of an intervention goes back to the parent.
    pub branches: TiVec<BranchId, Branch>,
    /// The branch on the screen: an index into `branches`.
    pub shown: BranchId,
    /// The world at the playhead, as last told.
    pub view: Option<Rc<SimulationView>>,
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
    /// What is under way with the worker. (`worker.rs`)
    worker: Worker,
    /// What the browser was last told to keep: the text of the scenario and the bookmark.
    kept: (Rc<str>, Bookmark),
}

/// How the page starts.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The scenario's text.
    pub text: String,
    /// What was done to it, and where the user was.
    pub bookmark: Bookmark,
    /// Looks, as they were remembered.
    pub ui: Ui,
    /// What there is to say about where the text came from.
    pub notice: Option<Notice>,
    /// The user wants no motion: nothing plays by itself.
    pub reduced_motion: bool,
}

/// One course of events.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Its number.
    pub id: BranchId,
    /// What it is called: "as written", "zone eu-west-1a lost power at 1m 2s".
    pub name: String,
    /// Where it left which branch, and by what intervention; `None` for the original scenario.
    pub fork: Option<(BranchId, Time, Intervention)>,
    /// It is listed no more. (Its number stays taken.)
    pub deleted: bool,
    /// Simulated up to here.
    pub now: Time,
    /// Simulated to the end.
    pub done: bool,
    /// The user has stopped its simulation, until they go on with it.
    pub halted: bool,
    /// Real time spent on simulating it so far, in milliseconds.
    pub wall_ms: f64,
    /// Why it was given up.
    pub gave_up: Option<String>,
    /// The report so far.
    pub report: Option<Rc<Report>>,
}

/// What is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Selection {
    /// A zone.
    Zone(ZoneId),
    /// A node.
    Node(NodeId),
    /// A member.
    Member(MemberId),
    /// The link between two zones (the smaller id first).
    Link(ZoneId, ZoneId),
    /// A client.
    Client(ClientId),
    /// A machine of a Kubernetes cluster, or the node it brought. It may not be there at the moment.
    Machine(KubeClusterId, MachineName),
    /// A pod of a Kubernetes cluster. It may not be there at the moment.
    Pod(KubeClusterId, PodName),
    /// A node of a load balancer, by its place among the balancer's zones.
    Balancer(BalancerId, u16),
    /// Clients of an API, of one kind and in one zone.
    ApiClients(KubeClusterId, ZoneId, ClientKind),
    /// A client of an API. It may not run at the moment.
    ApiClient(KubeClusterId, ApiClient),
}

/// What can happen. Groups have enums of their own in their files.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Edits of the document, undo, redo, other scenarios.
    Document(DocumentAction),
    /// Play, pause, speed, seek, step, jumps, and the passing of real time.
    Playback(PlaybackCommand),
    /// The worker says something.
    WorkerResponded(WorkerResponse),
    /// The worker crashed or does not answer, and why. A new one gets everything that was loaded, but for a scenario that has brought two
    /// down in a row: that one only when the user asks (plays it, or edits it).
    WorkerLost(String),
    /// Select (or nothing).
    Select(Option<Selection>),
    /// Do something to the world at the playhead: forks.
    Intervene(Intervention),
    /// Show another branch.
    Show(BranchId),
    /// Back to the branch this one left.
    UndoIntervention,
    /// The shown branch gets another name.
    RenameBranch(String),
    /// The shown branch, and those that left it, are listed no more; its parent is shown.
    DeleteBranch,
    /// What was done on the shown branch becomes faults of the scenario.
    WriteFaults,
    /// Back to where a bookmark was made: of this scenario.
    Return(String, Bookmark),
    /// A link to all of this goes to the clipboard.
    Share,
    /// The scenario goes into a file, and what was done to it.
    Save,
    /// Stop simulating the shown branch, or (`false`) go on with it.
    Halt(bool),
    /// Panels, theme, filter, overlays.
    Ui(UiAction),
    /// Say something to the user.
    Say(Notice),
    /// Dismiss the notice.
    Dismiss,
}

/// What the page does after an action.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Tell the worker.
    Request(WorkerRequest),
    /// Keep the scenario and what was done to it, in the browser's storage and its address bar.
    Keep {
        /// The text of the scenario.
        text: Rc<str>,
        /// What was done to it, and where the user is.
        bookmark: Bookmark,
        /// Back comes here again.
        push: bool,
    },
    /// Keep a preference (theme).
    Remember(Ui),
    /// Hand the user a file: its name and its text.
    Download(String, String),
    /// Copy a link to this.
    Share(Rc<str>, Bookmark),
    /// Start the worker anew.
    Restart,
}

impl State {
    /// The page at its start, and what is to do first.
    pub fn new(start: Start) -> (Self, Vec<Effect>) {
        let (document, scenario) = Document::new(&start.text);
        let mut state = Self {
            document: Rc::new(document),
            scenario: None,
            load: LoadId::default(),
            branches: TiVec::new(),
            shown: BranchId::default(),
            view: None,
            stepped: String::new(),
            playback: Playback { playing: false, ..Playback::default() },
            selection: None,
            ui: start.ui,
            notice: start.notice,
            worker: Worker::new(start.reduced_motion),
            kept: (Rc::from(""), Bookmark::default()),
        };
        let mut effects = Vec::new();
        if let Some(scenario) = scenario {
            state.runs(scenario, &start.bookmark, &mut effects);
            state.kept = (state.running(), state.bookmark());
            state.request_view(&mut effects);
        }
        (state, effects)
    }

    /// The branch on the screen; none before the first valid scenario.
    pub fn branch(&self) -> Option<&Branch> {
        self.branches.get(self.shown)
    }

    /// The moments of interest of the shown branch, ascending: faults, elections and outages, their starts and ends.
    pub fn moments(&self) -> Vec<Time> {
        self.branch().and_then(|branch| branch.report.as_deref()).map_or_else(Vec::new, branches::moments)
    }

    /// Takes an action in; returns what is to do, in this order.
    pub fn apply(&mut self, action: Action) -> Vec<Effect> {
        let mut effects = Vec::new();
        let at = self.playback.at;
        self.cancel_autoplay(&action);
        let (by_user, push) = (is_by_user(&action), !matches!(action, Action::Return(..)));
        match action {
            Action::Document(action) => self.edit(action, &mut effects),
            Action::Playback(command) => self.play(command, &mut effects),
            Action::WorkerResponded(response) => self.worker_responded(response, &mut effects),
            Action::WorkerLost(why) => self.worker_lost(&why, &mut effects),
            Action::Select(selection) => self.selection = selection.filter(|selection| self.exists(*selection)),
            Action::Intervene(intervention) => self.intervene(intervention, &mut effects),
            Action::Show(branch) => self.show(branch, &mut effects),
            Action::UndoIntervention => self.undo_intervention(&mut effects),
            Action::RenameBranch(name) => self.rename_branch(&name),
            Action::DeleteBranch => self.delete_branch(&mut effects),
            Action::WriteFaults => self.write_faults(&mut effects),
            Action::Return(text, bookmark) => self.return_to(text, bookmark, &mut effects),
            Action::Share => {
                self.keeps(push, &mut effects);
                effects.push(Effect::Share(self.running(), self.bookmark()));
            }
            Action::Save => self.save(&mut effects),
            Action::Halt(halted) => self.halt(halted, &mut effects),
            Action::Ui(action) => self.ui.apply(action, &mut effects),
            Action::Say(notice) => self.notice = Some(notice),
            Action::Dismiss => self.notice = None,
        }
        if self.playback.at != at {
            self.follow_playhead();
        }
        self.request_view(&mut effects);
        self.request_close_up(&mut effects);
        if by_user {
            self.keeps(push, &mut effects);
        }
        effects
    }

    /// The part of the run that is shown moves with a playhead that leaves it; its length stays.
    fn follow_playhead(&mut self) {
        let (Some([from_s, to_s]), Some(scenario)) = (self.ui.range, &self.scenario) else { return };
        let at_s = self.playback.at.as_secs_f64();
        if !(from_s..=to_s).contains(&at_s) {
            let length = to_s - from_s;
            let from_s = (at_s - 0.2 * length).clamp(0.0, (scenario.duration.as_secs_f64() - length).max(0.0));
            self.ui.range = Some([from_s, from_s + length]);
        }
    }

    /// Another scenario with its bookmark, or an earlier step of this one.
    fn return_to(&mut self, text: String, bookmark: Bookmark, effects: &mut Vec<Effect>) {
        if !self.goes_back(&text, &bookmark, effects) {
            self.open(DocumentAction::Open(text), &bookmark, effects);
        }
    }

    fn edit(&mut self, action: DocumentAction, effects: &mut Vec<Effect>) {
        match action {
            DocumentAction::Open(text) => {
                let (text, bookmark) = Bookmark::take(text);
                self.open(DocumentAction::Open(text), &bookmark, effects);
            }
            action => self.open(action, &Bookmark::default(), effects),
        }
    }

    fn open(&mut self, action: DocumentAction, bookmark: &Bookmark, effects: &mut Vec<Effect>) {
        let opens = matches!(action, DocumentAction::Open(_));
        match Rc::make_mut(&mut self.document).apply(action) {
            Err(why) => self.say(Tone::Error, why),
            Ok(Edited::Not) => {}
            Ok(Edited::To(None)) if opens => {
                let text = "This scenario has errors, which are marked in the form. The last valid scenario keeps running.";
                self.say(Tone::Error, text.to_owned());
            }
            Ok(Edited::To(None)) => {}
            Ok(Edited::To(Some(scenario))) => {
                self.notice = None;
                self.runs(scenario, bookmark, effects);
            }
        }
    }

    fn say(&mut self, tone: Tone, text: String) {
        self.notice = Some(Notice { tone, text });
    }

    /// Whether the scenario has such a thing.
    fn exists(&self, selection: Selection) -> bool {
        let Some(scenario) = &self.scenario else { return false };
        let zone = |zone: ZoneId| scenario.zones.get(zone).is_some();
        let cluster = |id: KubeClusterId| scenario.kube.clusters.get(id);
        let has_clients = |id: KubeClusterId, kind: ClientKind| {
            cluster(id).is_some_and(|cluster| match kind {
                ClientKind::Kubelets | ClientKind::Components => cluster.access.is_some(),
                ClientKind::Further(client) => cluster.api_clients.get(client).is_some(),
            })
        };
        match selection {
            Selection::Zone(id) => zone(id),
            Selection::Link(a, b) => zone(a) && zone(b),
            Selection::Node(id) => scenario.nodes.get(id).is_some(),
            Selection::Client(id) => scenario.clients.get(id).is_some(),
            Selection::Machine(id, name) => {
                cluster(id).is_some_and(|cluster| cluster.machine_deployments.get(name.deployment).is_some())
            }
            Selection::Pod(id, name) => cluster(id).is_some_and(|cluster| cluster.workloads.get(name.workload).is_some()),
            Selection::Balancer(id, node) => {
                scenario.load_balancers.get(id).is_some_and(|balancer| usize::from(node) < balancer.zones.len())
            }
            Selection::ApiClients(id, at, kind) => zone(at) && has_clients(id, kind),
            Selection::ApiClient(id, client) => has_clients(id, ClientKind::of(client)),
            Selection::Member(id) => {
                let cluster = scenario.etcd.get(id.cluster);
                cluster.is_some_and(|cluster| cluster.members.get(id.index as usize).is_some())
            }
        }
    }
}

/// Whether the user's hand is in it: then where it leads is worth keeping.
const fn is_by_user(action: &Action) -> bool {
    !matches!(action, Action::Playback(PlaybackCommand::Tick(_)) | Action::WorkerResponded(_) | Action::WorkerLost(_))
}
