//! Branches and the playhead on them: interventions fork, undo goes back, commands move.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zonefall_core::ids::KubeClusterId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::report::Report;
use zonefall_core::scenario::kube::Task;
use zonefall_core::scenario::kube::gardener::Hosted;
use zonefall_core::scenario::units::Span;
use zonefall_core::scenario::{Fault, Scenario};

use super::playback::moment;
use super::{Branch, DocumentAction, Effect, PlaybackCommand, State, Tone};
use crate::engine::protocol::{BranchId, Intervention, WorkerRequest, asked};

/// Name of branch 0.
pub(super) const ORIGINAL: &str = "Original";
/// Branches at one time: each costs the worker memory.
pub(super) const MOST: usize = 64;

impl Branch {
    pub(super) fn new(id: BranchId, name: String, fork: Option<(BranchId, Time, Intervention)>) -> Self {
        let now = fork.as_ref().map_or(Time::ZERO, |(_, at, _)| *at);
        Self { id, name, fork, deleted: false, now, done: false, halted: false, wall_ms: 0.0, gave_up: None, report: None }
    }

    /// Whether its simulation is under way.
    pub fn is_under_way(&self) -> bool {
        !self.done && !self.halted && self.gave_up.is_none()
    }

    /// Simulated seconds per second of work; `None` before anything is known of it.
    pub fn rate(&self) -> Option<f64> {
        let start = self.fork.as_ref().map_or(Time::ZERO, |(_, at, _)| *at);
        Some(self.now.since(start).as_secs_f64() / (self.wall_ms / 1e3)).filter(|rate| rate.is_finite() && *rate > 0.0)
    }
}

impl State {
    pub(super) fn intervene(&mut self, intervention: Intervention, effects: &mut Vec<Effect>) {
        match self.fork(intervention) {
            Ok(request) => {
                self.playback.pause_at = None;
                self.playback.playing = true;
                self.worker.forget();
                effects.push(Effect::Request(request));
            }
            Err(why) => self.say(Tone::Error, why),
        }
    }

    fn fork(&mut self, intervention: Intervention) -> Result<WorkerRequest, String> {
        let at = self.playback.at;
        let branch = self.branch().ok_or("No simulation is running yet.")?;
        if self.is_stopped() {
            return Err("The simulator has stopped: press play to start it again.".to_owned());
        }
        if branch.now < at {
            return Err("The simulation has not reached this moment yet: try again shortly.".to_owned());
        }
        if branch.done && at >= branch.now {
            return Err("This is the end of the run: go back to an earlier moment first.".to_owned());
        }
        if self.branches.len() >= MOST {
            return Err(format!("At most {MOST} branches are possible: edit or reopen the scenario to start over."));
        }
        // Before its own fork a branch is its parent: what is done there is done to the parent.
        let mut parent = branch;
        while let Some((older, forked, _)) = &parent.fork
            && at < *forked
        {
            parent = &self.branches[*older];
        }
        let parent = parent.id;
        let name = format!("{} at {}", self.words(&intervention)?, clock(at));
        let id = self.branches.next_key();
        self.branches.push(Branch::new(id, name, Some((parent, at, intervention.clone()))));
        self.shown = id;
        Ok(WorkerRequest::Fork { load: self.load, branch: id, parent, at, intervention })
    }

    /// An intervention in plain words.
    fn words(&self, intervention: &Intervention) -> Result<String, String> {
        let scenario = self.scenario.as_ref().ok_or("No simulation is running yet.")?;
        match intervention {
            Intervention::Inject { fault, lasts } => Ok(fault.kind().began_for(scenario, *lasts)),
            Intervention::Roll { cluster, task } => Ok(asked(*cluster, *task, scenario)),
            Intervention::Repair { fault } => {
                let active = self.view.iter().flat_map(|view| &view.faults).find(|active| active.id == *fault);
                active.map(|active| active.fault.kind().ended(scenario)).ok_or_else(|| "This fault has already ended.".to_owned())
            }
        }
    }

    pub(super) fn show(&mut self, branch: BranchId, effects: &mut Vec<Effect>) {
        if branch == self.shown || self.branches.get(branch).is_none() {
            return;
        }
        self.shown = branch;
        self.worker.forget();
        effects.push(Effect::Request(WorkerRequest::Show { load: self.load, branch }));
        self.stay_inside();
    }

    pub(super) fn rename_branch(&mut self, name: &str) {
        let name = name.trim();
        if let Some(branch) = self.branches.get_mut(self.shown).filter(|branch| branch.fork.is_some() && !name.is_empty()) {
            name.clone_into(&mut branch.name);
        }
    }

    pub(super) fn delete_branch(&mut self, effects: &mut Vec<Effect>) {
        let Some((parent, ..)) = self.branch().and_then(|branch| branch.fork.clone()) else { return };
        let deleted = self.shown;
        self.show(parent, effects);
        let mut gone = BTreeSet::from([deleted]);
        for branch in &mut self.branches {
            let left_one = branch.fork.as_ref().is_some_and(|(parent, ..)| gone.contains(parent));
            if branch.id == deleted || left_one {
                gone.insert(branch.id);
                branch.deleted = true;
                // Nobody looks at it any more.
                let halt = WorkerRequest::Halt { load: self.load, branch: branch.id, halted: true };
                effects.push(Effect::Request(halt));
            }
        }
    }

    /// Lists a deleted branch again, and has it simulated to its end.
    pub(super) fn undelete(&mut self, id: BranchId, effects: &mut Vec<Effect>) {
        if let Some(branch) = self.branches.get_mut(id).filter(|branch| branch.deleted) {
            (branch.deleted, branch.halted) = (false, false);
            effects.push(Effect::Request(WorkerRequest::Halt { load: self.load, branch: id, halted: false }));
        }
    }

    /// What was done on the shown branch, oldest first.
    fn done_on(&self, branch: &Branch) -> Vec<(Time, Intervention)> {
        let mut done = Vec::new();
        let mut next = branch.fork.as_ref();
        while let Some((parent, at, intervention)) = next {
            done.push((*at, intervention.clone()));
            next = self.branches[*parent].fork.as_ref();
        }
        done.reverse();
        done
    }

    /// Puts what was done on the shown branch into the scenario, as faults and operations: a repair ends the fault it repairs.
    pub(super) fn write_faults(&mut self, effects: &mut Vec<Effect>) {
        match self.with_faults() {
            Ok(document) => {
                self.edit(DocumentAction::Set(Vec::new(), Some(document)), effects);
                let (tone, text) = if self.document.problems.is_empty() {
                    (Tone::Info, "What was done on this branch is in the scenario now, as faults and operations.")
                } else {
                    (Tone::Error, "A scenario cannot have all that was done on this branch: the errors are marked in it.")
                };
                self.say(tone, text.to_owned());
            }
            Err(why) => self.say(Tone::Error, why),
        }
    }

    fn with_faults(&self) -> Result<Value, String> {
        let (Some(scenario), Some(branch)) = (&self.scenario, self.branch()) else {
            return Err("No simulation is running yet.".to_owned());
        };
        if !self.document.problems.is_empty() {
            return Err("The scenario has errors: fix them first.".to_owned());
        }
        let mut document = (*self.document.value).clone();
        let faults = list(&mut document, "faults")?;
        // A fault of the file that stands for several, one for each volume, ends as a whole: none of them is found.
        let is_plain = scenario.faults.len() == faults.len();
        let mut began: Vec<Option<Time>> = scenario.faults.iter().filter(|_| is_plain).map(|planned| Some(planned.at)).collect();
        began.resize(faults.len(), None);
        let mut asked_for = Vec::new();
        for (at, intervention) in self.done_on(branch) {
            match intervention {
                Intervention::Inject { fault, lasts } => {
                    faults.push(written(scenario, at, &fault, lasts));
                    began.push(Some(at));
                }
                Intervention::Repair { fault } => {
                    let all = branch.report.as_ref().map_or(&[][..], |report| &report.faults);
                    let fault = fault.0 as usize;
                    let repaired = all.get(fault).ok_or("The simulation has not reached the repair yet: try again shortly.")?;
                    // Of those that began at one moment, the file's come first, in its order.
                    let from = moment(repaired.from_s);
                    let rank = all[..fault].iter().filter(|other| moment(other.from_s) == from).count();
                    let k = (0..began.len()).filter(|k| began[*k] == Some(from)).nth(rank);
                    let file = k.and_then(|k| faults[k].as_object_mut());
                    let file =
                        file.ok_or_else(|| format!("This repair cannot be written into the scenario: {}.", repaired.what))?;
                    file.insert("for".to_owned(), Value::from(Span(at.since(from)).to_string()));
                }
                Intervention::Roll { cluster, task } => asked_for.extend(written_task(scenario, at, cluster, task)),
            }
        }
        if !asked_for.is_empty() {
            list(&mut document, "operations")?.append(&mut asked_for);
        }
        Ok(document)
    }

    pub(super) fn undo_intervention(&mut self, effects: &mut Vec<Effect>) {
        let Some((parent, at, _)) = self.branch().and_then(|branch| branch.fork.clone()) else {
            self.say(Tone::Info, "There is nothing to undo: this is the original branch.".to_owned());
            return;
        };
        self.show(parent, effects);
        self.playback.go(at);
        self.playback.playing = false;
    }

    pub(super) fn halt(&mut self, halted: bool, effects: &mut Vec<Effect>) {
        if let Some(branch) = self.branches.get_mut(self.shown).filter(|branch| branch.halted != halted && !branch.done) {
            branch.halted = halted;
            effects.push(Effect::Request(WorkerRequest::Halt { load: self.load, branch: branch.id, halted }));
        }
    }

    /// A run that is over, or was given up, goes no further: a playhead that waited past its end stands at its end.
    pub(super) fn stay_inside(&mut self) {
        let Some(branch) = self.branch() else { return };
        let end = branch.now;
        if (branch.done || branch.gave_up.is_some()) && self.playback.at > end {
            self.playback.go(end);
        }
    }

    pub(super) fn play(&mut self, command: PlaybackCommand, effects: &mut Vec<Effect>) {
        let Some(branch) = self.branch() else { return };
        let (now, over) = (branch.now, branch.done || branch.gave_up.is_some());
        match command {
            PlaybackCommand::Toggle if self.playback.playing => self.playback.playing = false,
            PlaybackCommand::Toggle | PlaybackCommand::Play => {
                self.restart_worker(effects);
                if over && self.playback.at >= now {
                    self.playback.go(Time::ZERO);
                }
                self.playback.playing = true;
            }
            PlaybackCommand::PlayOn => {
                self.restart_worker(effects);
                self.play_on();
            }
            PlaybackCommand::Pause => self.playback.playing = false,
            PlaybackCommand::Speed(speed) => self.playback.set_speed(speed),
            PlaybackCommand::Faster => self.playback.faster(),
            PlaybackCommand::Slower => self.playback.slower(),
            PlaybackCommand::Seek(at) => self.playback.go(at.min(now)),
            PlaybackCommand::Step(forward) => self.step(forward, effects),
            PlaybackCommand::Jump(forward) => self.jump(forward, now),
            PlaybackCommand::Home => self.playback.go(Time::ZERO),
            PlaybackCommand::End => self.playback.go(now),
            PlaybackCommand::Tick(seconds) => self.tick(seconds),
        }
    }

    fn jump(&mut self, forward: bool, now: Time) {
        let (at, moments) = (self.playback.at, self.moments());
        let mut moments = moments.into_iter().filter(|moment| *moment <= now);
        let to = if forward { moments.find(|moment| *moment > at) } else { moments.rfind(|moment| *moment < at) };
        self.playback.playing = false;
        self.playback.go(to.unwrap_or(if forward { now } else { Time::ZERO }));
    }
}

/// A list of a scenario file, made if it is not there.
fn list<'a>(document: &'a mut Value, name: &str) -> Result<&'a mut Vec<Value>, String> {
    let list = document.as_object_mut().map(|fields| fields.entry(name).or_insert_with(|| Value::Array(Vec::new())));
    list.and_then(Value::as_array_mut).ok_or_else(|| format!("The scenario has no list of {name}."))
}

/// A rollout as a scenario file asks for it.
fn written_task(scenario: &Scenario, at: Time, cluster: KubeClusterId, task: Task) -> Option<Value> {
    let kind = match task {
        Task::RollComponent(_) => "roll_component",
        Task::RollBackComponent(_) => "roll_back_component",
        Task::PauseRollout(_) => "pause_rollout",
        Task::ResumeRollout(_) => "resume_rollout",
        _ => return None,
    };
    let id = task.rolls()?;
    let (spec, kube) = (&scenario.kube.clusters[cluster], &scenario.kube);
    let hosts = |hosted: &Hosted| kube.seeds[hosted.seed].cluster == cluster && hosted.workloads.contains(&id);
    let shoot = kube.shoots.iter().find(|shoot| shoot.places().any(hosts));
    let seed = kube.seeds.iter().find(|seed| seed.cluster == cluster);
    let (owner, name) = match (shoot, seed) {
        (Some(shoot), _) => ("shoot", &shoot.name),
        (None, Some(seed)) => ("seed", &seed.name),
        (None, None) => ("cluster", &spec.name),
    };
    Some(json!({"at": Span(at.since(Time::ZERO)).to_string(), kind: {owner: name, "component": spec.workloads[id].name}}))
}

/// A fault as a scenario file says it.
fn written(scenario: &Scenario, at: Time, fault: &Fault, lasts: Option<Duration>) -> Value {
    let mut file = serde_json::to_value(fault.kind().raw(scenario)).expect("a fault is plain data");
    if let Some(fields) = file.as_object_mut() {
        fields.insert("at".to_owned(), Value::from(Span(at.since(Time::ZERO)).to_string()));
        if let Some(lasts) = lasts {
            fields.insert("for".to_owned(), Value::from(Span(lasts).to_string()));
        }
    }
    file
}

/// The moments of interest of a report, ascending.
pub(super) fn moments(report: &Report) -> Vec<Time> {
    let end = |to_s: f64, over: bool| over.then_some(to_s);
    let faults = report.faults.iter().flat_map(|fault| [Some(fault.from_s), end(fault.to_s, fault.completed)]);
    let clusters = report.etcd.values().flat_map(|cluster| {
        let elections = cluster.elections.iter().flat_map(|election| [Some(election.from_s), Some(election.to_s)]);
        let outages = cluster.outages.iter().flat_map(|outage| [Some(outage.from_s), end(outage.to_s, outage.completed)]);
        elections.chain(outages)
    });
    let mut all = BTreeSet::new();
    all.extend(faults.chain(clusters).flatten().map(|at_s| moment(at_s).as_nanos()));
    all.into_iter().map(Time::from_nanos).collect()
}

/// A moment as people say it: `1m 2s`, `1h 0m 2.345s`, milliseconds at most.
pub fn clock(at: Time) -> String {
    let ms = (at.as_nanos() + 500_000) / 1_000_000;
    let (minutes, seconds) = (ms / 60_000, ms % 60_000);
    let fraction = format!("{:03}", seconds % 1_000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let seconds = format!("{}{point}{fraction}s", seconds / 1_000);
    match (minutes / 1_440, minutes / 60 % 24, minutes % 60) {
        (0, 0, 0) => seconds,
        (0, 0, m) => format!("{m}m {seconds}"),
        (0, h, m) => format!("{h}h {m}m {seconds}"),
        (d, h, m) => format!("{d}d {h}h {m}m {seconds}"),
    }
}
