//! What is under way with the worker: loads, looks, steps, and what becomes of them when it is lost.
//!
//! One look or step waits for its answer at a time; whatever moved meanwhile is looked at after it.

use std::rc::Rc;

use zonefall_core::kernel::time::Time;
use zonefall_core::report::{CloseUp, Report};
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

use super::autoplay::Plan;
use super::bookmark::Bookmark;
use super::{Action, Effect, Playback, PlaybackCommand, State, Tone};
use crate::engine::protocol::{BranchId, LoadId, WorkerRequest, WorkerResponse};

/// What is under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Worker {
    /// The text of the scenario that runs.
    text: Rc<str>,
    /// The answer that is waited for.
    waiting: Option<Waiting>,
    /// What the last look or step was at: branch, time, message by message.
    viewed: Option<(BranchId, Time, bool)>,
    /// The part of the shown branch whose close-up was asked for last, in seconds, and the one that came last.
    pub(super) close_up_of: Option<[f64; 2]>,
    pub(super) close_up: Option<Rc<CloseUp>>,
    /// A step to ask for when the answer is there.
    next_step: Option<bool>,
    /// The load that the worker was lost with, until it is simulated to its end after all.
    lost: Option<LoadId>,
    /// There is no worker: the scenario brought two down, or none started. The next load starts one.
    dormant: bool,
    /// It plays by itself to the next event of interest, and nobody has interfered.
    autoplay: bool,
    plan: Option<Plan>,
    /// The user wants no motion.
    pub(super) reduced_motion: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    View,
    Step,
}

impl Worker {
    pub(super) fn new(reduced_motion: bool) -> Self {
        Self { reduced_motion, ..Self::default() }
    }

    /// The text of the scenario that runs.
    pub(super) fn text(&self) -> Rc<str> {
        Rc::clone(&self.text)
    }

    /// Answers that are still to come are for nobody.
    pub(super) fn forget(&mut self) {
        (self.waiting, self.viewed, self.next_step) = (None, None, None);
        (self.close_up_of, self.close_up) = (None, None);
    }
}

impl State {
    /// Another scenario runs from now on. It plays by itself to what there is to see, unless a bookmark says what the user saw.
    pub(super) fn runs(&mut self, scenario: Box<Scenario>, bookmark: &Bookmark, effects: &mut Vec<Effect>) {
        let scenario: Rc<Scenario> = Rc::from(scenario);
        let (selection, tab) = (self.selection, self.ui.tab);
        self.scenario = Some(Rc::clone(&scenario));
        self.worker.text = Rc::clone(&self.document.text);
        self.view = None;
        self.stepped.clear();
        self.worker.lost = None;
        let fits = self.returns(bookmark, &scenario);
        self.say_what_is_left_out(bookmark, fits);
        self.load(effects);
        if bookmark.is_empty() {
            self.selection = selection.filter(|selection| self.exists(*selection));
            self.ui.tab = tab;
            self.play_on();
        }
    }

    /// Has everything that is known loaded, forks included.
    fn load(&mut self, effects: &mut Vec<Effect>) {
        self.load.0 += 1;
        let load = self.load;
        self.worker.forget();
        if std::mem::take(&mut self.worker.dormant) {
            effects.push(Effect::Restart);
        }
        effects.push(Effect::Request(WorkerRequest::Load { load, text: self.worker.text.to_string(), seed: None }));
        for branch in &mut self.branches {
            (branch.now, branch.done, branch.gave_up, branch.halted) = (Time::ZERO, false, None, branch.deleted);
            if let Some((parent, at, intervention)) = branch.fork.clone() {
                effects.push(Effect::Request(WorkerRequest::Fork { load, branch: branch.id, parent, at, intervention }));
            }
            if branch.deleted {
                effects.push(Effect::Request(WorkerRequest::Halt { load, branch: branch.id, halted: true }));
            }
        }
        if Some(self.shown) < self.branches.last_key() {
            effects.push(Effect::Request(WorkerRequest::Show { load, branch: self.shown }));
        }
    }

    /// Whether there is no simulator until the user asks.
    pub fn is_stopped(&self) -> bool {
        self.worker.dormant
    }

    /// The user asks for what brought the worker down.
    pub(super) fn restart_worker(&mut self, effects: &mut Vec<Effect>) {
        if self.worker.dormant {
            self.notice = None;
            self.worker.lost = None;
            self.load(effects);
        }
    }

    pub(super) fn worker_lost(&mut self, why: &str, effects: &mut Vec<Effect>) {
        self.worker.forget();
        if self.branches.is_empty() || self.worker.lost == Some(self.load) || self.worker.dormant {
            self.worker.dormant = true;
            self.playback.playing = false;
            let text = format!("The simulator stopped: {why}. Your scenario is kept; change it, or press play to try again.");
            self.say(Tone::Error, text);
            return;
        }
        effects.push(Effect::Restart);
        self.say(Tone::Error, format!("The simulator stopped: {why}. It was restarted with your scenario."));
        self.load(effects);
        self.worker.lost = Some(self.load);
    }

    pub(super) fn worker_responded(&mut self, response: WorkerResponse, effects: &mut Vec<Effect>) {
        match response {
            WorkerResponse::Ready { .. } | WorkerResponse::Pong(_) => {}
            WorkerResponse::Invalid { load, errors } if load == self.load => {
                Rc::make_mut(&mut self.document).refuse(&errors);
                self.say(Tone::Error, "The simulator cannot run this scenario: the errors are marked in it.".to_owned());
            }
            WorkerResponse::Progress { load, branch, now, done, report, wall_ms, .. } if load == self.load => {
                self.progress(branch, (now, wall_ms), done, report);
            }
            WorkerResponse::Viewed { load, branch, view, event } if load == self.load && branch == self.shown => {
                self.viewed(view, event, effects);
            }
            WorkerResponse::CloseUp { load, branch, close_up } if load == self.load && branch == self.shown => {
                self.worker.close_up = Some(Rc::from(close_up));
            }
            WorkerResponse::GaveUp { load, branch, why } if load == self.load => {
                if let Some(branch) = self.branches.get_mut(branch) {
                    branch.gave_up = Some(why.clone());
                    self.say(Tone::Error, format!("The simulation was aborted: {why}"));
                }
            }
            // About what was loaded or shown before.
            WorkerResponse::Invalid { .. }
            | WorkerResponse::Progress { .. }
            | WorkerResponse::Viewed { .. }
            | WorkerResponse::CloseUp { .. }
            | WorkerResponse::GaveUp { .. } => {}
        }
    }

    fn progress(&mut self, id: BranchId, (now, wall_ms): (Time, f64), done: bool, report: Option<Box<Report>>) {
        let Some(branch) = self.branches.get_mut(id) else { return };
        branch.now = branch.now.max(now);
        branch.done |= done;
        branch.wall_ms = wall_ms;
        if let Some(report) = report {
            branch.report = Some(Rc::from(report));
        }
        if self.branches.iter().all(|branch| branch.done || branch.halted || branch.deleted) {
            self.worker.lost = None;
        }
        if id == self.shown {
            self.stay_inside();
            self.plan_autoplay();
        }
    }

    fn viewed(&mut self, view: SimulationView, event: String, effects: &mut Vec<Effect>) {
        let answered = self.worker.waiting.take();
        if answered == Some(Waiting::Step) {
            self.playback.go(view.at);
            self.worker.viewed = Some((self.shown, view.at, true));
            self.stepped = event;
        }
        self.view = Some(Rc::new(view));
        if let Some(forward) = self.worker.next_step.take() {
            self.step(forward, effects);
        }
    }

    /// Asks for the world at the playhead, unless it is known, an answer is under way, or the simulation has not come there yet.
    pub(super) fn request_view(&mut self, effects: &mut Vec<Effect>) {
        let Some(branch) = self.branch() else { return };
        let (at, messages) = (self.playback.at, self.playback.shows_messages());
        let wanted = Some((self.shown, at, messages));
        let there = branch.now >= at || branch.gave_up.is_some();
        if !there || self.worker.dormant || self.worker.waiting.is_some() || self.worker.viewed == wanted {
            return;
        }
        if self.worker.viewed.is_none_or(|(_, looked, _)| looked != at) {
            self.stepped.clear();
        }
        self.worker.viewed = wanted;
        self.worker.waiting = Some(Waiting::View);
        effects.push(Effect::Request(WorkerRequest::View { load: self.load, at, messages }));
    }

    /// Asks for the next event, or the one before.
    pub(super) fn step(&mut self, forward: bool, effects: &mut Vec<Effect>) {
        self.playback.playing = false;
        if self.branches.is_empty() || self.worker.dormant {
            return;
        }
        if self.worker.waiting.is_some() {
            self.worker.next_step = Some(forward);
            return;
        }
        self.worker.waiting = Some(Waiting::Step);
        effects.push(Effect::Request(WorkerRequest::Step { load: self.load, at: self.playback.at, forward }));
    }

    /// Whoever takes the controls has them.
    pub(super) fn cancel_autoplay(&mut self, action: &Action) {
        let by_user = match action {
            Action::Playback(PlaybackCommand::Tick(_)) => false,
            Action::Playback(_)
            | Action::Document(_)
            | Action::Intervene(_)
            | Action::Show(_)
            | Action::UndoIntervention
            | Action::DeleteBranch
            | Action::WriteFaults
            | Action::Return(..) => true,
            Action::WorkerResponded(_)
            | Action::WorkerLost(_)
            | Action::Select(_)
            | Action::Ui(_)
            | Action::Halt(_)
            | Action::RenameBranch(_)
            | Action::Share
            | Action::Save
            | Action::Say(_)
            | Action::Dismiss => false,
        };
        if by_user && self.worker.autoplay {
            self.worker.autoplay = false;
            self.worker.plan = None;
            self.playback.pause_at = None;
        }
    }

    /// Plays by itself from the playhead to the next event of interest, unless the user wants no motion: then the playhead goes there as
    /// soon as it is known.
    pub(super) fn play_on(&mut self) {
        (self.worker.autoplay, self.worker.plan) = (true, None);
        self.playback.playing = !self.worker.reduced_motion;
        self.plan_autoplay();
    }

    /// Whether it paused by itself at an event of interest, with more to come.
    pub fn has_arrived(&self) -> bool {
        let Playback { at, playing, arrived, .. } = self.playback;
        !playing && arrived == Some(at) && self.branch().is_some_and(|branch| at < branch.now || !branch.done)
    }

    /// Whether what is shown is of another moment than the playhead's: it waits for the simulation, or for a view that is on its way. A
    /// view that trails a playhead that moves by less than half a second does not count.
    pub fn is_stale(&self) -> bool {
        let Some(view) = &self.view else { return false };
        let (at, Playback { at: playhead, playing, speed, .. }) = (view.at, self.playback);
        let off_s = if at > playhead { at.since(playhead) } else { playhead.since(at) }.as_secs_f64();
        off_s > if playing { 0.5 * speed } else { 0.0 }
    }

    /// Plans as soon as the report knows where to.
    fn plan_autoplay(&mut self) {
        let Some(branch) = self.branch().filter(|_| self.worker.autoplay && self.worker.plan.is_none()) else { return };
        let (from, done) = (self.playback.at, branch.done);
        let Some(plan) = branch.report.as_deref().and_then(|report| Plan::of(report, from, done)) else { return };
        if self.worker.reduced_motion {
            plan.skip(&mut self.playback);
            self.worker.autoplay = false;
        } else {
            plan.drive(&mut self.playback);
            self.worker.plan = Some(plan);
        }
    }

    /// Real time has passed.
    pub(super) fn tick(&mut self, seconds: f64) {
        let Some(branch) = self.branch() else { return };
        let (now, over) = (branch.now, !branch.is_under_way());
        let before = self.playback.at;
        self.playback.tick(seconds, now, over);
        let Some(plan) = self.worker.plan else {
            // It stopped before anything was known to play to.
            self.worker.autoplay &= self.playback.playing;
            return;
        };
        if self.playback.playing {
            plan.brake(before, &mut self.playback);
            plan.drive(&mut self.playback);
        } else {
            self.worker.autoplay = false;
            self.worker.plan = None;
            self.playback.set_speed(1.0);
        }
    }
}
