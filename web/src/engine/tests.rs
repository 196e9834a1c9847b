//! The session without a browser: what it tells is what the command line would have found.

mod close_up;
mod rolls;

use std::cell::Cell;
use std::sync::Arc;

use zonefall_core::ids::{EtcdId, FaultId, MemberId, NodeId, VolumeId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::report::Report;
use zonefall_core::run;
use zonefall_core::scenario::{
    Direction, DiskSlow, Fault, FaultTarget, GracefulStop, NodeCrash, PlannedFault, ProcessKill, Scenario, ZonePartition, bundled,
};
use zonefall_core::sim::Options;
use zonefall_core::sim::view::SimulationView;

use super::keyframes::{Keyframes, Limits, Watermark};
use super::protocol::{self, BranchId, Intervention, LoadId, WorkerRequest, WorkerResponse};
use super::session::Session;

const LOAD: LoadId = LoadId(1);
const MAIN: BranchId = BranchId(0);

/// A session with a clock that moves a hundredth of a millisecond whenever it is read.
struct Worker {
    session: Session,
    clock: Cell<f64>,
    memory_bytes: usize,
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }

    fn time(&mut self, end: Duration) -> Time {
        let fine = self.below(1 << 30) << 30 | self.below(1 << 30);
        Time::from_nanos(fine % end.as_nanos())
    }
}

fn text(name: &str) -> &'static str {
    bundled().iter().find(|scenario| scenario.name == name).expect("it is bundled").json
}

fn scenario(name: &str) -> Scenario {
    Scenario::from_json(text(name)).expect("bundled scenarios are valid")
}

impl Worker {
    fn new(limits: Limits) -> Self {
        Self { session: Session::new(limits), clock: Cell::new(0.0), memory_bytes: 1 << 20 }
    }

    fn loaded(name: &str) -> Self {
        let mut worker = Self::new(Limits { spacing: 30_000, ..Limits::default() });
        worker.session.request(WorkerRequest::Load { load: LOAD, text: text(name).to_owned(), seed: None });
        worker
    }

    fn work(&mut self) -> Vec<WorkerResponse> {
        let clock = &self.clock;
        let now_ms = || {
            clock.set(clock.get() + 0.01);
            clock.get()
        };
        self.session.work(now_ms, 0.2, self.memory_bytes)
    }

    /// Until nothing is left to do.
    fn finish(&mut self) -> Vec<WorkerResponse> {
        let mut responses = Vec::new();
        while !self.session.is_idle() {
            responses.extend(self.work());
        }
        responses
    }

    fn look(&mut self, at: Time, messages: bool) -> SimulationView {
        self.session.request(WorkerRequest::View { load: LOAD, at, messages });
        self.looked().0
    }

    fn step(&mut self, at: Time, forward: bool) -> (SimulationView, String) {
        self.session.request(WorkerRequest::Step { load: LOAD, at, forward });
        self.looked()
    }

    fn looked(&mut self) -> (SimulationView, String) {
        while !self.session.is_idle() {
            for response in self.work() {
                if let WorkerResponse::Viewed { view, event, .. } = response {
                    return (view, event);
                }
            }
        }
        panic!("a look is answered");
    }

    fn fork(&mut self, branch: u32, parent: u32, at: Time, intervention: Intervention) {
        self.session.request(WorkerRequest::Fork {
            load: LOAD,
            branch: BranchId(branch),
            parent: BranchId(parent),
            at,
            intervention,
        });
    }
}

fn cut(zone: u16, lasts: Option<Duration>) -> Intervention {
    Intervention::Inject {
        fault: Fault::ZonePartition(ZonePartition { zone: FaultTarget::Named(ZoneId(zone)), direction: Direction::Both }),
        lasts,
    }
}

fn fresh(scenario: &Arc<Scenario>) -> Report {
    run::run(scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {})
}

fn final_report(responses: &[WorkerResponse], of: BranchId) -> Report {
    let last = responses.iter().rev().find_map(|response| match response {
        WorkerResponse::Progress { branch, done: true, report: Some(report), .. } if *branch == of => Some(report),
        _ => None,
    });
    Report::clone(last.expect("the final report is told"))
}

/// All but the engine's effort.
fn world(mut view: SimulationView) -> SimulationView {
    view.events = 0;
    view
}

fn s(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

#[test]
fn the_report_is_that_of_the_command_line() {
    for bundled in bundled() {
        let expected = fresh(&Arc::new(scenario(bundled.name)));
        for spacing in [100_000, 1_000_000] {
            let mut worker = Worker::new(Limits { spacing, slice: 777, ..Limits::default() });
            worker.session.request(WorkerRequest::Load { load: LOAD, text: bundled.json.to_owned(), seed: None });
            let responses = worker.finish();
            assert_eq!(final_report(&responses, MAIN), expected, "{}", bundled.name);
            let reports =
                responses.iter().filter(|response| matches!(response, WorkerResponse::Progress { report: Some(_), .. })).count();
            assert!(reports >= 2, "a report at the start and one at the end");
        }
    }
}

#[test]
fn looks_are_what_a_fresh_run_shows() {
    for name in ["zone-outage", "isolated-leader", "far-behind-follower", "five-members"] {
        let scenario = Arc::new(scenario(name));
        let mut worker = Worker::loaded(name);
        worker.finish();
        let mut dice = Dice(7);
        for _ in 0..5 {
            let at = dice.time(scenario.duration);
            // A look, one a stride later, and one before it again.
            for at in [at, at + Duration::from_millis(dice.below(300)), at] {
                let mut fresh = run::Run::new(&scenario, scenario.seed, Options::default());
                fresh.advance(at, &mut |_, _| {});
                let seen = worker.look(at, dice.below(2) == 0);
                assert_eq!(world(seen), world(fresh.simulation().view()), "{name} at {at:?}");
            }
        }
    }
}

#[test]
fn a_fork_is_the_scenario_with_the_same_fault_planned() {
    let mut dice = Dice(3);
    for round in 0..6 {
        let name = ["zone-outage", "two-zones-big", "isolated-leader"][round % 3];
        let mut planned = scenario(name);
        let at = dice.time(planned.duration);
        let lasts = [None, Some(Duration::from_millis(90_001))][dice.below(2) as usize];
        let Intervention::Inject { fault, .. } = cut(dice.below(2) as u16, lasts) else { unreachable!("a cut breaks") };
        planned.faults.push(PlannedFault { at, lasts, fault: fault.clone() });
        let mut expected = fresh(&Arc::new(planned));
        let mut worker = Worker::loaded(name);
        if round < 3 {
            worker.finish();
        }
        worker.fork(1, 0, at, Intervention::Inject { fault, lasts });
        let mut found = final_report(&worker.finish(), BranchId(1));
        (expected.events, found.events) = (0, 0);
        assert_eq!(found, expected, "{name}, round {round}, at {at:?}");
    }
}

#[test]
fn a_fork_of_a_fork_mends_and_looks_know_what_was_done() {
    let mut worker = Worker::loaded("five-members");
    worker.finish();
    let before = worker.look(s(100), false);
    worker.fork(1, 0, s(100), cut(0, None));
    worker.finish();
    assert_eq!(world(worker.look(Time::from_nanos(s(100).as_nanos() - 1), false)).faults, world(before).faults);
    let broken = worker.look(s(110), false);
    let cut_off = broken.faults.iter().find(|active| active.from == s(100)).expect("it is broken").id;
    worker.fork(2, 1, s(130), Intervention::Repair { fault: cut_off });
    worker.finish();
    let is_cut = |view: &SimulationView| view.faults.iter().any(|active| active.id == cut_off && active.from == s(100));
    assert!(is_cut(&worker.look(s(129), false)));
    assert!(!is_cut(&worker.look(s(130), false)));
    // Switching shows the other course at once.
    worker.session.request(WorkerRequest::Show { load: LOAD, branch: BranchId(1) });
    assert!(is_cut(&worker.look(s(130), false)));
    worker.session.request(WorkerRequest::Show { load: LOAD, branch: MAIN });
    assert!(!is_cut(&worker.look(s(110), false)));
}

#[test]
fn steps_go_there_and_back_again() {
    let mut worker = Worker::loaded("isolated-leader");
    worker.finish();
    let mut at = s(60);
    let mut forth = Vec::new();
    for _ in 0..200 {
        let (view, event) = worker.step(at, true);
        assert!(view.at > at && !event.is_empty(), "{event} at {:?}", view.at);
        at = view.at;
        forth.push((world(view), event));
    }
    assert!(forth.iter().any(|(_, event)| event.contains("arrives at")), "{forth:?}");
    for (expected, said) in forth.iter().rev().skip(1) {
        let (view, event) = worker.step(at, false);
        assert_eq!((&world(view.clone()), &event), (expected, said));
        at = view.at;
    }
    // An intervention is a step.
    worker.fork(1, 0, s(61), cut(1, None));
    worker.finish();
    let mut last = Time::from_nanos(s(61).as_nanos() - 1);
    let mut said = Vec::new();
    while last < s(61) {
        let (view, event) = worker.step(last, true);
        last = view.at;
        said.push(event);
    }
    assert!(said.iter().any(|event| event.contains("cut off")), "{said:?}");
    // The ends of the run are no wall.
    let (start, _) = worker.step(Time::ZERO, false);
    assert_eq!(start.at, Time::ZERO);
    let end = Time::ZERO + scenario("isolated-leader").duration;
    let (last, said) = worker.step(end, true);
    assert_eq!((last.at, said.as_str()), (end, "no further event before the end"));
}

#[test]
fn of_several_looks_the_last_is_answered_and_asks_are_heard_between_slices() {
    let mut worker = Worker::loaded("zone-outage");
    worker.work();
    for at in [10, 700, 300] {
        worker.session.request(WorkerRequest::View { load: LOAD, at: s(at), messages: false });
    }
    worker.session.request(WorkerRequest::Ping(9));
    let responses = worker.work();
    assert_eq!(responses.first(), Some(&WorkerResponse::Pong(9)));
    let mut responses: Vec<_> = responses.into_iter().chain(worker.finish()).collect();
    responses.retain(|response| matches!(response, WorkerResponse::Viewed { .. }));
    let [WorkerResponse::Viewed { view, .. }] = &responses[..] else { panic!("{responses:?}") };
    assert!(view.at <= s(300), "the head was not there yet, and it may not take long");
    assert_eq!(worker.look(s(300), false).at, s(300));
    assert_eq!(worker.look(Time::MAX, false).at, Time::ZERO + scenario("zone-outage").duration);
}

/// The next view is asked for before the last one is there.
#[test]
fn views_without_end_leave_the_simulation_half_of_the_time() {
    let finished_ms = |asks: bool| {
        let mut worker = Worker::new(Limits { spacing: 1 << 40, slice: 20, ..Limits::default() });
        worker.session.request(WorkerRequest::Load { load: LOAD, text: text("zone-outage").to_owned(), seed: None });
        let (mut now, mut views) = (Time::ZERO, 0_u32);
        loop {
            if asks {
                // Back and forth: there is one keyframe, so that each view is simulated from the start.
                let at = if views % 2 == 0 { now } else { Time::from_nanos(now.as_nanos() / 2) };
                worker.session.request(WorkerRequest::View { load: LOAD, at, messages: false });
            }
            for response in worker.work() {
                match response {
                    WorkerResponse::Progress { done: true, .. } => return (worker.clock.get(), views),
                    WorkerResponse::Progress { now: reached, .. } => now = reached,
                    WorkerResponse::Viewed { .. } => views += 1,
                    _ => {}
                }
            }
        }
    };
    let ((alone, _), (watched, views)) = (finished_ms(false), finished_ms(true));
    assert!(views > 3 && watched < 3.0 * alone, "{watched} ms with {views} views, {alone} ms without");
}

#[test]
fn a_halted_branch_rests_and_can_be_looked_at_until_it_goes_on() {
    let mut worker = Worker::loaded("zone-outage");
    worker.work();
    let halt = |halted| WorkerRequest::Halt { load: LOAD, branch: MAIN, halted };
    worker.session.request(halt(true));
    worker.finish();
    let reached = worker.look(s(2_100), false).at;
    assert!(reached > Time::ZERO && reached < s(2_100), "{reached:?}");
    worker.session.request(halt(false));
    assert_eq!(final_report(&worker.finish(), MAIN), fresh(&Arc::new(scenario("zone-outage"))));
}

#[test]
fn memory_thins_the_keyframes_and_looks_stay_right() {
    let mut worker = Worker::loaded("five-members");
    let kept = |responses: &[WorkerResponse]| {
        responses.iter().rev().find_map(|response| match response {
            WorkerResponse::Progress { keyframes, .. } => Some(*keyframes),
            _ => None,
        })
    };
    let plenty = kept(&worker.finish()).expect("progress is told");
    let stepping = worker.look(s(500), false);
    let mut worker = Worker::loaded("five-members");
    worker.memory_bytes = 300 << 20;
    worker.work();
    worker.work();
    worker.memory_bytes = 400 << 20;
    let few = kept(&worker.finish()).expect("progress is told");
    assert!(few * 3 < plenty, "{few} of {plenty}");
    assert_eq!(worker.look(s(500), false).etcd, stepping.etcd);
    // Memory that does not grow any more is no reason to drop anything.
    let mut watermark = Watermark::default();
    let passed = [50, 101, 101, 104, 110, 110, 90, 111, 120].map(|memory| watermark.is_passed(memory, 100));
    assert_eq!(passed, [false, true, false, false, true, false, false, false, true]);
    assert!(Keyframes::default().at(Time::MAX).is_none());
}

#[test]
fn a_branch_that_runs_away_is_given_up_and_the_session_lives_on() {
    let gave_up = |responses: &[WorkerResponse]| {
        responses.iter().find_map(|response| match response {
            WorkerResponse::GaveUp { branch, why, .. } => Some((*branch, why.clone())),
            _ => None,
        })
    };
    let mut worker = Worker::loaded("five-members");
    worker.work();
    worker.memory_bytes = 2 << 30;
    let (branch, why) = gave_up(&worker.finish()).expect("it is given up");
    assert_eq!(branch, MAIN);
    assert!(why.contains("2 GiB"), "{why}");
    worker.fork(1, 0, s(1), cut(0, None));
    assert!(gave_up(&worker.finish()).expect("its parent is gone").1.contains("aborted"));
    worker.session.request(WorkerRequest::View { load: LOAD, at: s(1), messages: true });
    assert!(worker.finish().is_empty());
    // The memory was freed, though it looks the same.
    worker.session.request(WorkerRequest::Load { load: LOAD, text: text("slow-disk").to_owned(), seed: Some(2) });
    assert_eq!(final_report(&worker.finish(), MAIN).seed, 2);

    let limits = Limits { most_events_at_once: 2, slice: 1, ..Limits::default() };
    let mut worker = Worker::new(limits);
    worker.session.request(WorkerRequest::Load { load: LOAD, text: text("five-members").to_owned(), seed: None });
    let (_, why) = gave_up(&worker.finish()).expect("it is given up");
    assert!(why.contains("does not advance"), "{why}");
}

#[test]
fn hostile_asks_are_refused_in_words_or_ignored() {
    let mut worker = Worker::loaded("zone-outage");
    let kill = |cluster, index| Fault::ProcessKill(ProcessKill(FaultTarget::Named(MemberId { cluster: EtcdId(cluster), index })));
    let node = |id| Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(id))));
    let slow = |factor| Fault::DiskSlow(DiskSlow { volume: FaultTarget::Named(VolumeId(0)), add: Duration::ZERO, factor });
    let end = Time::ZERO + scenario("zone-outage").duration;
    let of = |fault| Intervention::Inject { fault, lasts: None };
    let rows = [
        (0, s(1), of(kill(0, 99)), "no member 99"),
        (0, s(1), of(kill(7, 0)), "no etcd cluster 7"),
        (0, s(1), of(node(65_535)), "no node 65535"),
        (0, s(1), of(slow(f64::NAN)), "NaN"),
        (0, end, of(node(0)), "end of the run"),
        (0, Time::MAX, of(node(0)), "end of the run"),
        (77, s(1), of(node(0)), "does not exist"),
        (0, s(1), Intervention::Repair { fault: FaultId(4_000) }, "nothing to repair"),
        (0, s(1), Intervention::Inject { fault: node(0), lasts: Some(Duration::ZERO) }, "no time"),
    ];
    for (number, (parent, at, intervention, expected)) in (10u32..).zip(rows) {
        worker.fork(number, parent, at, intervention.clone());
        let responses = worker.finish();
        let why = responses.iter().find_map(|response| match response {
            WorkerResponse::GaveUp { branch, why, .. } if *branch == BranchId(number) => Some(why.as_str()),
            _ => None,
        });
        assert!(why.is_some_and(|why| why.contains(expected)), "{intervention:?}: {responses:?}");
    }
    // Of another scenario, of no branch, of a branch that is there.
    worker.session.request(WorkerRequest::View { load: LoadId(2), at: s(1), messages: true });
    worker.session.request(WorkerRequest::Show { load: LOAD, branch: BranchId(400) });
    worker.fork(0, 0, s(1), of(node(0)));
    assert!(worker.finish().is_empty());
    for text in ["", "{", "[]", "{\"name\": 3}", "\u{0}"] {
        worker.session.request(WorkerRequest::Load { load: LoadId(3), text: text.to_owned(), seed: None });
        assert!(matches!(&worker.finish()[..], [WorkerResponse::Invalid { load: LoadId(3), errors }] if !errors.is_empty()));
        worker.session.request(WorkerRequest::Step { load: LoadId(3), at: s(1), forward: false });
        assert!(worker.finish().is_empty());
    }
}

#[test]
fn any_sequence_of_asks_is_survived() {
    for seed in 0..8 {
        let mut dice = Dice(seed);
        let mut worker = Worker::new(Limits { spacing: 3_000, keyframe_bytes: 8 << 20, ..Limits::default() });
        for _ in 0..40 {
            let load = LoadId(u32::from(dice.below(20) > 0));
            let at = if dice.below(30) == 0 { Time::MAX } else { dice.time(Duration::from_secs(700)) };
            let [branch, parent] = [0; 2].map(|_| BranchId(dice.below(8) as u32));
            let zone = dice.below(4) as u16;
            worker.session.request(match dice.below(12) {
                0 if dice.below(3) == 0 => {
                    WorkerRequest::Load { load: LoadId(1), text: text("slow-disk").to_owned(), seed: Some(seed) }
                }
                0 | 1 => WorkerRequest::Load { load: LoadId(1), text: text("isolated-leader").to_owned(), seed: None },
                2 => WorkerRequest::Fork {
                    load,
                    branch,
                    parent,
                    at,
                    intervention: cut(zone, Some(Duration::from_millis(dice.below(99_999)))),
                },
                3 => WorkerRequest::Fork {
                    load,
                    branch,
                    parent,
                    at,
                    intervention: Intervention::Repair { fault: FaultId(dice.below(3) as u32) },
                },
                4 => {
                    let fault = Fault::GracefulStop(GracefulStop(FaultTarget::OfLeader(EtcdId(dice.below(2) as u16))));
                    WorkerRequest::Fork { load, branch, parent, at, intervention: Intervention::Inject { fault, lasts: None } }
                }
                5 => WorkerRequest::Show { load, branch },
                6 | 7 => WorkerRequest::Step { load, at, forward: dice.below(2) == 0 },
                8 => WorkerRequest::Ping(seed as u32),
                _ => WorkerRequest::View { load, at, messages: dice.below(2) == 0 },
            });
            worker.memory_bytes += dice.below(3 << 20) as usize;
            for _ in 0..dice.below(6) {
                worker.work();
            }
        }
        worker.finish();
    }
}

#[test]
fn times_and_seeds_survive_the_journey_exactly() {
    let end = Time::from_nanos(u64::MAX - 1);
    let fault = Fault::DiskSlow(DiskSlow {
        volume: FaultTarget::OfLeader(EtcdId(65_535)),
        add: Duration::from_nanos((1 << 53) + 1),
        factor: 1.1,
    });
    for request in [
        WorkerRequest::Load { load: LoadId(u32::MAX), text: "{\"a\": \"\\u0000 \u{1F4A5}\"}".to_owned(), seed: Some(u64::MAX) },
        WorkerRequest::Fork {
            load: LOAD,
            branch: BranchId(3),
            parent: MAIN,
            at: end,
            intervention: Intervention::Inject { fault, lasts: Some(Duration::from_nanos((1 << 60) + 1)) },
        },
        WorkerRequest::View { load: LOAD, at: Time::from_nanos((1 << 53) + 1), messages: true },
    ] {
        assert_eq!(protocol::read(&protocol::write(&request)), Some(request));
    }
    for name in ["many-shoots", "five-members"] {
        for response in Worker::loaded(name).finish() {
            assert_eq!(protocol::read(&protocol::write(&response)), Some(response));
        }
    }
    let mut worker = Worker::loaded("five-members");
    worker.finish();
    let view = worker.look(Time::from_nanos(123_456_789_123), true);
    let response = WorkerResponse::Viewed { load: LOAD, branch: MAIN, view, event: "é".to_owned() };
    assert_eq!(protocol::read(&protocol::write(&response)), Some(response));
    assert_eq!(protocol::read::<WorkerRequest>(b"{}"), None);
}
