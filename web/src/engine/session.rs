//! What the worker does, without a browser: takes what the page asks, works in slices, tells.
//!
//! ```text
//!   ask(Ask) --> branches, the view that is asked for           (at once, never simulates)
//!   work()   --> the view first, then the head of the shown branch, then of the others  --> Vec<Tell>
//! ```
//!
//! Between two calls of [`Session::work`] the worker hears what else is asked. A view is never thrown away half done, or a user who
//! drags the playhead would see nothing move.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonefall_core::kernel::time::Time;
use zonefall_core::scenario::Scenario;

use super::branch::Branch;
use super::branch_run::BranchRun;
use super::close_up::CloserLook;
use super::cursor::{Cursor, ViewRequest};
use super::keyframes::{Keyframes, Limits, Watermark};
use super::protocol::{BranchId, Intervention, LoadId, WorkerRequest, WorkerResponse};

/// A look beyond the head waits so long for it, in milliseconds of work.
const PATIENCE_MS: f64 = 100.0;
/// Between two words on a branch's progress, in milliseconds.
const PROGRESS_MS: f64 = 100.0;
/// Between two reports, in milliseconds; longer where making one takes long.
const REPORT_MS: f64 = 400.0;
/// A report may take this share of the time.
const REPORT_SHARE: f64 = 0.1;

/// A scenario, its branches and what the page wants to see of them.
#[derive(Debug, Default)]
pub struct Session {
    limits: Limits,
    responses: Vec<WorkerResponse>,
    load: LoadId,
    scenario: Option<Arc<Scenario>>,
    branches: BTreeMap<BranchId, Branch>,
    shown: BranchId,
    cursor: Option<Cursor>,
    /// The view in hand, and since when.
    view_request: Option<(ViewRequest, f64)>,
    /// The next one.
    next_view_request: Option<ViewRequest>,
    /// The part that is to be looked at closely, and the look that is under way.
    close_up_request: Option<(Time, Time)>,
    closer_look: Option<CloserLook>,
    /// How much longer views took than the simulation, in milliseconds: the next view waits until the simulation has had as much.
    owed_ms: f64,
    spacing: u64,
    thinned: Watermark,
    given_up: Watermark,
    progress: LastSent,
}

/// When what was told last, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct LastSent {
    branch: Option<BranchId>,
    progress_ms: f64,
    report_ms: f64,
    report_took_ms: f64,
}

impl Session {
    /// Nothing is loaded.
    pub fn new(limits: Limits) -> Self {
        Self { limits, spacing: limits.spacing, ..Self::default() }
    }

    /// Takes an ask; what is to say to it, [`Session::work`] returns.
    pub fn request(&mut self, request: WorkerRequest) {
        let of = match request {
            WorkerRequest::Ping(n) => {
                self.responses.push(WorkerResponse::Pong(n));
                return;
            }
            WorkerRequest::Load { load, text, seed } => {
                self.load(load, &text, seed);
                return;
            }
            WorkerRequest::Fork { load, .. }
            | WorkerRequest::Show { load, .. }
            | WorkerRequest::View { load, .. }
            | WorkerRequest::Step { load, .. }
            | WorkerRequest::CloseUp { load, .. }
            | WorkerRequest::Halt { load, .. } => load,
        };
        if of != self.load || self.scenario.is_none() {
            return;
        }
        match request {
            WorkerRequest::Fork { branch, parent, at, intervention, .. } if !self.branches.contains_key(&branch) => {
                match self.fork(parent, at, intervention) {
                    Ok(forked) => {
                        self.branches.insert(branch, forked);
                        self.show(branch);
                    }
                    Err(why) => self.responses.push(WorkerResponse::GaveUp { load: of, branch, why }),
                }
            }
            WorkerRequest::Show { branch, .. } if self.branches.contains_key(&branch) => self.show(branch),
            WorkerRequest::View { at, messages, .. } => self.next_view_request = Some(ViewRequest::At { at, messages }),
            WorkerRequest::Step { at, forward, .. } => self.next_view_request = Some(ViewRequest::Step { at, forward }),
            WorkerRequest::CloseUp { from, to, .. } => (self.close_up_request, self.closer_look) = (Some((from, to)), None),
            WorkerRequest::Halt { branch, halted, .. } => {
                if let Some(branch) = self.branches.get_mut(&branch) {
                    branch.halted = halted;
                }
            }
            WorkerRequest::Fork { .. } | WorkerRequest::Show { .. } | WorkerRequest::Load { .. } | WorkerRequest::Ping(_) => {}
        }
    }

    /// Nothing is left to do until something is asked.
    pub fn is_idle(&self) -> bool {
        let seen = self.view_request.is_none() && self.next_view_request.is_none();
        let seen = seen && self.close_up_request.is_none() && self.closer_look.is_none();
        self.responses.is_empty() && seen && !self.branches.values().any(Branch::is_under_way)
    }

    /// Works for about `budget_ms` by the clock `now_ms`, at least one slice; `memory_bytes` is what the worker uses now. Returns what the
    /// page is to be told, in order.
    pub fn work(&mut self, now_ms: impl Fn() -> f64, budget_ms: f64, memory_bytes: usize) -> Vec<WorkerResponse> {
        let now_ms: &dyn Fn() -> f64 = &now_ms;
        let end = now_ms() + budget_ms;
        self.keep_within(memory_bytes);
        loop {
            let began = now_ms();
            let looked = self.see(now_ms, end);
            let saw = now_ms();
            let busy = self.simulate(now_ms, memory_bytes);
            // Half of the time is the simulation's: a page that plays asks for views without end.
            self.owed_ms = if busy { (self.owed_ms + (saw - began) - (now_ms() - saw)).max(0.0) } else { 0.0 };
            // A slice for a slice, beside the simulation.
            let closer = self.look_closer();
            if now_ms() >= end || !(looked || busy || closer) {
                return std::mem::take(&mut self.responses);
            }
        }
    }

    fn load(&mut self, load: LoadId, text: &str, seed: Option<u64>) {
        // Dropped before the next is made, and memory's high-water marks stay.
        let (limits, mut responses) = (self.limits, std::mem::take(&mut self.responses));
        let (thinned, given_up) = (self.thinned, self.given_up);
        *self = Self { load, thinned, given_up, ..Self::new(limits) };
        match Scenario::from_json(text) {
            Ok(scenario) => {
                let scenario = Arc::new(scenario);
                let head = BranchRun::new(&scenario, seed.unwrap_or(scenario.seed));
                let mut keyframes = Keyframes::default();
                keyframes.offer(&head, self.spacing);
                self.branches.insert(BranchId(0), Branch::new(head, Vec::new(), keyframes));
                self.scenario = Some(scenario);
            }
            Err(errors) => {
                let row = |error: &zonefall_core::scenario::Error| {
                    (error.path.clone(), format!("expected {}; found {}", error.expected, error.found))
                };
                responses.push(WorkerResponse::Invalid { load, errors: errors.iter().map(row).collect() });
            }
        }
        self.responses = responses;
    }

    fn fork(&self, parent: BranchId, at: Time, intervention: Intervention) -> Result<Branch, String> {
        let scenario = self.scenario.as_ref().ok_or("no scenario is loaded")?;
        if self.branches.len() >= self.limits.most_branches {
            return Err(format!("expected at most {} branches", self.branches.len()));
        }
        if at >= Time::ZERO + scenario.duration {
            return Err("an intervention must be before the end of the run".to_owned());
        }
        intervention.check(scenario)?;
        let parent = self.branches.get(&parent).ok_or("its parent branch does not exist")?;
        let head = parent.nearest(at).ok_or("its parent branch was aborted")?.clone();
        let mut interventions: Vec<_> = parent.interventions.iter().filter(|(when, _)| *when <= at).cloned().collect();
        interventions.push((at, intervention));
        Ok(Branch::new(head, interventions, parent.keyframes.up_to(at)))
    }

    fn show(&mut self, branch: BranchId) {
        self.shown = branch;
        (self.view_request, self.next_view_request, self.owed_ms) = (None, None, 0.0);
        (self.close_up_request, self.closer_look) = (None, None);
        self.progress = LastSent { report_took_ms: self.progress.report_took_ms, ..LastSent::default() };
    }

    /// Works on the view, until `end` at most; whether there is one that the clock cut short.
    fn see(&mut self, now_ms: &dyn Fn() -> f64, end: f64) -> bool {
        if self.view_request.is_none() && self.owed_ms == 0.0 {
            self.view_request = self.next_view_request.take().map(|view_request| (view_request, now_ms()));
        }
        let Some((view_request, since)) = self.view_request else { return false };
        let Some((scenario, branch)) = self.scenario.as_ref().zip(self.branches.get(&self.shown)) else { return false };
        let run_end = Time::ZERO + scenario.duration;
        let wanted = view_request.at().min(run_end);
        let interventions_done = branch.interventions.last().is_none_or(|(at, _)| branch.now() >= *at);
        let patient = now_ms() - since < PATIENCE_MS || !interventions_done;
        if branch.now() < wanted && branch.is_under_way() && patient {
            return false;
        }
        let at = wanted.min(branch.now());
        let Some(mut cursor) = Cursor::find(self.cursor.take(), self.shown, branch, at) else {
            self.view_request = None;
            return false;
        };
        while !cursor.advance(branch, at, self.limits.slice) {
            if now_ms() >= end {
                self.cursor = Some(cursor);
                return true;
            }
        }
        let view_request = match view_request {
            ViewRequest::At { messages, .. } => ViewRequest::At { at, messages },
            ViewRequest::Step { forward, .. } => ViewRequest::Step { at, forward },
        };
        let (view, event) = cursor.view(branch, view_request, run_end);
        (self.cursor, self.view_request) = (Some(cursor), None);
        self.responses.push(WorkerResponse::Viewed { load: self.load, branch: self.shown, view, event });
        self.next_view_request.is_some() && self.owed_ms == 0.0
    }

    /// Works on the close-up for a slice; whether there is more to do.
    fn look_closer(&mut self) -> bool {
        let Some(branch) = self.branches.get_mut(&self.shown) else { return false };
        if let Some(part) = self.close_up_request.take() {
            self.closer_look = CloserLook::new(branch, part);
        }
        let Some(look) = &mut self.closer_look else { return false };
        if let Some(close_up) = look.advance(branch, self.limits.slice) {
            let (load, branch, close_up) = (self.load, self.shown, Box::new(close_up));
            self.responses.push(WorkerResponse::CloseUp { load, branch, close_up });
            self.closer_look = None;
        }
        self.closer_look.is_some()
    }

    /// Simulates a slice of the first branch that needs it, the shown one first; whether there was one.
    fn simulate(&mut self, now_ms: &dyn Fn() -> f64, memory_bytes: usize) -> bool {
        let Some(id) = self.under_way() else { return false };
        let branch = self.branches.get_mut(&id).expect("it is under way");
        let began = now_ms();
        let worked = branch.work(&self.limits, self.spacing);
        branch.wall_ms += now_ms() - began;
        match worked {
            Ok(()) => self.send_progress(id, now_ms, memory_bytes),
            Err(why) => self.give_up(id, why),
        }
        true
    }

    fn under_way(&self) -> Option<BranchId> {
        let shown = self.branches.get(&self.shown).filter(|branch| branch.is_under_way()).map(|_| self.shown);
        shown.or_else(|| self.branches.iter().find(|(_, branch)| branch.is_under_way()).map(|(id, _)| *id))
    }

    fn give_up(&mut self, id: BranchId, why: String) {
        if let Some(branch) = self.branches.get_mut(&id) {
            branch.give_up();
            self.responses.push(WorkerResponse::GaveUp { load: self.load, branch: id, why });
        }
        if id == self.shown {
            (self.cursor, self.view_request) = (None, None);
        }
    }

    fn send_progress(&mut self, id: BranchId, now_ms: &dyn Fn() -> f64, memory_bytes: usize) {
        let branch = self.branches.get_mut(&id).expect("it was worked on");
        let (now, done) = (now_ms(), branch.is_done());
        let sent = &mut self.progress;
        let first = sent.branch != Some(id);
        if !(first || done || now - sent.progress_ms >= PROGRESS_MS) {
            return;
        }
        sent.branch = Some(id);
        sent.progress_ms = now;
        let pause = REPORT_MS.max(sent.report_took_ms / REPORT_SHARE);
        let mut report = None;
        if first || done || now - sent.report_ms >= pause {
            report = branch.report().map(Box::new);
            sent.report_ms = now_ms();
            sent.report_took_ms = sent.report_ms - now;
        }
        let (now, wall_ms) = (branch.now(), branch.wall_ms);
        let keyframes = self.keyframes();
        let memory_bytes = memory_bytes as u64;
        self.responses.push(WorkerResponse::Progress {
            load: self.load,
            branch: id,
            now,
            done,
            report,
            keyframes,
            memory_bytes,
            wall_ms,
        });
    }

    fn keyframes(&self) -> u32 {
        let mut all = BTreeSet::new();
        all.extend(self.branches.values().flat_map(|branch| branch.keyframes.identities()));
        all.len() as u32
    }

    /// Thins the keyframes, or gives a branch up, when memory has grown too far.
    fn keep_within(&mut self, memory_bytes: usize) {
        if self.thinned.is_passed(memory_bytes, self.limits.keyframe_bytes) {
            // All branches at once: what they share stays shared.
            self.branches.values_mut().for_each(|branch| branch.keyframes.thin());
            self.spacing = self.spacing.saturating_mul(2);
        }
        if let Some(id) = self.under_way()
            && self.given_up.is_passed(memory_bytes, self.limits.most_bytes)
        {
            let used = zonefall_core::scenario::text::bytes(memory_bytes as u64);
            self.give_up(id, format!("the simulation needs too much memory ({used})"));
        }
    }
}
