//! Scripts: rows of what happens and what the page then is and asks.
//!
//! ```text
//!   ("tick 0.2", "Original, 200ms, playing 1x: look 200ms")
//! ```
//!
//! The worker is played by the script: `told 35m` says that the shown branch is simulated up to there (`done`: to its end, with the
//! report of a real run), `looked` answers the last look or step.

use std::sync::{Arc, OnceLock};

use zonefall_core::ids::{EtcdId, FaultId, MemberId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::report::{CloseUp, Report};
use zonefall_core::run;
use zonefall_core::scenario::units::Span;
use zonefall_core::scenario::{Fault, FaultTarget, ProcessKill, Scenario, ZonePower, default_scenario};
use zonefall_core::sim::{Options, Simulation};

use crate::engine::protocol::{BranchId, Intervention, LoadId, WorkerRequest, WorkerResponse};
use crate::state::{Action, DocumentAction, Effect, PlaybackCommand, Start, State, Tab, UiAction, clock};

/// The page and what it last asked.
pub(super) struct Script {
    pub(super) state: State,
    /// The time of the last look or step asked.
    asked: Time,
    stepping: bool,
}

impl Script {
    /// The default scenario, just loaded.
    pub(super) fn new(start: Start) -> Self {
        let start = Start { text: default_scenario().json.to_owned(), ..start };
        let (state, effects) = State::new(start);
        let mut script = Self { state, asked: Time::ZERO, stepping: false };
        assert!(script.told(&effects).starts_with("load 1, look 0s"));
        script
    }

    /// Plays every row; each must come out as it says.
    pub(super) fn check(&mut self, rows: &[(&str, &str)]) {
        for (k, (action, expected)) in rows.iter().enumerate() {
            let effects = self.state.apply(self.action(action));
            let asked = self.told(&effects);
            let state = &self.state;
            let name = state.branch().map_or("nothing", |branch| branch.name.as_str());
            let how = if state.playback.playing { "playing" } else { "paused" };
            let mut found = format!("{name}, {}, {how} {}x", clock(state.playback.at), state.playback.speed);
            if !asked.is_empty() {
                found = format!("{found}: {asked}");
            }
            assert_eq!(&found, expected, "row {k}: {action} (notice: {:?})", state.notice);
        }
    }

    /// Real time passes until nothing plays; for how many seconds.
    pub(super) fn play_until_paused(&mut self) -> f64 {
        let mut seconds = 0.0;
        while self.state.playback.playing {
            self.state.apply(Action::Playback(PlaybackCommand::Tick(0.016)));
            seconds += 0.016;
            assert!(seconds < 20.0, "{:?}", self.state.playback);
        }
        seconds
    }

    fn action(&self, text: &str) -> Action {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let at = || Time::ZERO + rest.parse::<Span>().unwrap().0;
        let number = || rest.parse::<f64>().unwrap();
        let next = rest == "next";
        let intervention = match word {
            "break" => Some(Intervention::Inject { fault: fault(rest), lasts: None }),
            "mend" => Some(Intervention::Repair { fault: FaultId(rest.parse().unwrap()) }),
            _ => None,
        };
        match word {
            "toggle" => Action::Playback(PlaybackCommand::Toggle),
            "play" => Action::Playback(PlaybackCommand::Play),
            "on" => Action::Playback(PlaybackCommand::PlayOn),
            "halt" => Action::Halt(true),
            "go-on" => Action::Halt(false),
            "pause" => Action::Playback(PlaybackCommand::Pause),
            "faster" => Action::Playback(PlaybackCommand::Faster),
            "slower" => Action::Playback(PlaybackCommand::Slower),
            "home" => Action::Playback(PlaybackCommand::Home),
            "end" => Action::Playback(PlaybackCommand::End),
            "speed" => Action::Playback(PlaybackCommand::Speed(number())),
            "tick" => Action::Playback(PlaybackCommand::Tick(number())),
            "seek" => Action::Playback(PlaybackCommand::Seek(at())),
            "jump" => Action::Playback(PlaybackCommand::Jump(next)),
            "step" => Action::Playback(PlaybackCommand::Step(next)),
            "told" => Action::WorkerResponded(progress(self.state.load, self.state.shown, at(), None)),
            "done" => {
                let end = Time::ZERO + self.state.scenario.as_ref().unwrap().duration;
                Action::WorkerResponded(progress(self.state.load, self.state.shown, end, Some(report())))
            }
            "looked" => Action::WorkerResponded(self.answer()),
            "latency" => Action::Ui(UiAction::Tab(Tab::Latency)),
            "zoom" => {
                let (from_s, length_s) = rest.split_once(" for ").unwrap();
                let [from_s, length_s] = [from_s, length_s].map(|s| s.parse::<f64>().unwrap());
                Action::Ui(UiAction::Range(Some([from_s, from_s + length_s])))
            }
            "close-up" => Action::WorkerResponded(self.close_up(rest.parse().unwrap())),
            "lost" => Action::WorkerLost("out of memory".to_owned()),
            "show" => Action::Show(BranchId(rest.parse().unwrap())),
            "undo" => Action::UndoIntervention,
            "type" => Action::Document(DocumentAction::Type(self.state.document.text.replace("35m", rest))),
            "retype" => Action::Document(DocumentAction::Type(default_scenario().json.replace("35m", rest))),
            "open" => Action::Document(DocumentAction::Open(rest.to_owned())),
            _ => Action::Intervene(intervention.unwrap_or_else(|| panic!("what is {text:?}?"))),
        }
    }

    /// Effects as words; looks and steps are remembered for their answer.
    ///
    /// What the browser is to keep changes with nearly everything: tests of their own look at it.
    fn told(&mut self, effects: &[Effect]) -> String {
        let told = effects.iter().filter(|effect| !matches!(effect, Effect::Keep { .. }));
        let words: Vec<String> = told.map(|effect| self.words(effect)).collect();
        words.join(", ")
    }

    fn words(&mut self, effect: &Effect) -> String {
        match effect {
            Effect::Request(WorkerRequest::Load { load, .. }) => format!("load {}", load.0),
            Effect::Request(WorkerRequest::Fork { branch, parent, at, .. }) => {
                format!("fork {} of {} at {}", branch.0, parent.0, clock(*at))
            }
            Effect::Request(WorkerRequest::Show { branch, .. }) => format!("show {}", branch.0),
            Effect::Request(WorkerRequest::View { at, messages, .. }) => {
                (self.asked, self.stepping) = (*at, false);
                format!("look {}{}", clock(*at), if *messages { " closely" } else { "" })
            }
            Effect::Request(WorkerRequest::Step { at, forward, .. }) => {
                (self.asked, self.stepping) = (*at, true);
                format!("step {} from {}", if *forward { "on" } else { "back" }, clock(*at))
            }
            Effect::Request(WorkerRequest::Halt { branch, halted, .. }) => {
                format!("{} {}", if *halted { "halt" } else { "go on with" }, branch.0)
            }
            Effect::Request(WorkerRequest::CloseUp { from, to, .. }) => format!("close up {} to {}", clock(*from), clock(*to)),
            Effect::Request(WorkerRequest::Ping(_)) => "ping".to_owned(),
            Effect::Keep { push, .. } => (if *push { "push" } else { "keep" }).to_owned(),
            Effect::Remember(_) => "remember".to_owned(),
            Effect::Share(..) => "share".to_owned(),
            Effect::Download(..) => "download".to_owned(),
            Effect::Restart => "restart".to_owned(),
        }
    }

    /// A close-up of the ten seconds from there.
    fn close_up(&self, from_s: f64) -> WorkerResponse {
        let (latency, zone_pairs) = Default::default();
        let close_up = Box::new(CloseUp { from_s, to_s: from_s + 10.0, window_s: 0.05, latency, zone_pairs });
        WorkerResponse::CloseUp { load: self.state.load, branch: self.state.shown, close_up }
    }

    /// The answer to the last look or step: steps are two milliseconds long.
    fn answer(&self) -> WorkerResponse {
        let scenario = Arc::new(Scenario::from_json(default_scenario().json).unwrap());
        let mut view = Simulation::new(scenario, 1, Options::default()).view();
        let later = if self.stepping { Duration::from_millis(2) } else { Duration::ZERO };
        view.at = self.asked + later;
        let event = if self.stepping { "etcd-main-1 answers".to_owned() } else { String::new() };
        WorkerResponse::Viewed { load: self.state.load, branch: self.state.shown, view, event }
    }
}

/// The branch that killing the second member at two minutes makes.
pub(super) const KILLED: &str = "etcd-main-1 was killed (until repaired) at 2m 0s";

/// The default scenario, simulated to its end, with the playhead at two minutes.
pub(super) fn at_two_minutes() -> Script {
    let mut script = Script::new(Start { reduced_motion: true, ..Start::default() });
    script.check(&[
        ("pause", "Original, 0s, paused 1x"),
        ("looked", "Original, 0s, paused 1x"),
        ("done", "Original, 0s, paused 1x"),
        ("seek 2m", "Original, 2m 0s, paused 1x: look 2m 0s closely"),
        ("looked", "Original, 2m 0s, paused 1x"),
    ]);
    script
}

pub(super) fn progress(load: LoadId, branch: BranchId, now: Time, report: Option<&Report>) -> WorkerResponse {
    let done = report.is_some();
    let report = report.cloned().map(Box::new);
    WorkerResponse::Progress { load, branch, now, done, report, keyframes: 1, memory_bytes: 1, wall_ms: 1.0 }
}

/// The report of the default scenario.
pub(super) fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let scenario = Arc::new(Scenario::from_json(default_scenario().json).unwrap());
        run::run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {})
    })
}

fn fault(what: &str) -> Fault {
    let (kind, number) = what.split_once(' ').unwrap();
    let number: u16 = number.parse().unwrap();
    match kind {
        "member" => Fault::ProcessKill(ProcessKill(FaultTarget::Named(MemberId { cluster: EtcdId(0), index: number as u8 }))),
        "zone" => Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(number)))),
        _ => panic!("what is {kind:?}?"),
    }
}
