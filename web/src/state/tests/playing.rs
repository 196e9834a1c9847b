//! The playhead.

use zonefall_core::kernel::time::Time;

use super::script::{Script, report};
use crate::state::{Action, Playback, PlaybackCommand, Start};

fn still() -> Script {
    Script::new(Start { reduced_motion: true, ..Start::default() })
}

#[test]
fn it_waits_for_the_simulation_and_goes_on_to_the_end() {
    let mut script = still();
    script.check(&[
        // Pausing takes the controls: nothing plays by itself from here.
        ("pause", "Original, 0s, paused 1x"),
        ("looked", "Original, 0s, paused 1x"),
        ("play", "Original, 0s, playing 1x: look 0s"),
        ("tick 0.1", "Original, 0s, playing 1x"),
        ("told 150ms", "Original, 0s, playing 1x"),
        ("tick 0.1", "Original, 0.1s, playing 1x"),
        // One look at a time: what moved meanwhile is looked at after the answer.
        ("tick 0.1", "Original, 0.15s, playing 1x"),
        ("looked", "Original, 0.15s, playing 1x: look 0.15s"),
        ("tick 0.1", "Original, 0.15s, playing 1x"),
        ("looked", "Original, 0.15s, playing 1x"),
        ("done", "Original, 0.15s, playing 1x"),
        ("speed 1e4", "Original, 0.15s, playing 10000x"),
        ("tick 0.2", "Original, 33m 20.15s, playing 10000x: look 33m 20.15s"),
        ("looked", "Original, 33m 20.15s, playing 10000x"),
        ("tick 0.2", "Original, 35m 0s, paused 10000x: look 35m 0s closely"),
        ("looked", "Original, 35m 0s, paused 10000x"),
        ("tick 0.2", "Original, 35m 0s, paused 10000x"),
        ("toggle", "Original, 0s, playing 10000x: look 0s"),
        ("toggle", "Original, 0s, paused 10000x"),
    ]);
}

#[test]
fn what_is_shown_of_latency_is_asked_for_once_when_it_is_simulated() {
    let mut script = still();
    let fits = |script: &Script| script.state.close_up().map(|part| part.from_s);
    script.check(&[
        ("pause", "Original, 0s, paused 1x"),
        ("looked", "Original, 0s, paused 1x"),
        ("zoom 60 for 10", "Original, 0s, paused 1x"),
        ("latency", "Original, 0s, paused 1x"),
        ("told 69s", "Original, 0s, paused 1x"),
        ("told 70s", "Original, 0s, paused 1x: close up 1m 0s to 1m 10s"),
        ("told 80s", "Original, 0s, paused 1x"),
        ("close-up 60", "Original, 0s, paused 1x"),
    ]);
    assert_eq!(fits(&script), Some(60.0));
    // Nearer, it is of use until a finer one is there; beside it, not.
    script.check(&[("zoom 61 for 2", "Original, 0s, paused 1x: close up 1m 1s to 1m 3s")]);
    assert_eq!(fits(&script), Some(60.0));
    script.check(&[("zoom 55 for 10", "Original, 0s, paused 1x: close up 55s to 1m 5s")]);
    assert_eq!(fits(&script), None);
    script.check(&[("close-up 55", "Original, 0s, paused 1x")]);
    assert_eq!(fits(&script), Some(55.0));
    // Another branch has others.
    script.state.apply(Action::Playback(PlaybackCommand::Seek(Time::from_nanos(56_000_000_000))));
    script.check(&[
        ("looked", "Original, 56s, paused 1x"),
        ("break member 1", "etcd-main-1 was killed (until repaired) at 56s, 56s, playing 1x: fork 1 of 0 at 56s, look 56s"),
    ]);
    assert_eq!(fits(&script), None);
}

#[test]
fn speeds_go_by_ones_and_threes_and_stay_in_bounds() {
    let mut script = still();
    script.check(&[
        ("pause", "Original, 0s, paused 1x"),
        ("faster", "Original, 0s, paused 3x"),
        ("faster", "Original, 0s, paused 10x"),
        ("speed 47", "Original, 0s, paused 47x"),
        ("slower", "Original, 0s, paused 30x"),
        ("speed 1e9", "Original, 0s, paused 100000x"),
        ("faster", "Original, 0s, paused 100000x"),
        ("speed 0", "Original, 0s, paused 0.001x"),
        ("slower", "Original, 0s, paused 0.001x"),
        ("faster", "Original, 0s, paused 0.003x"),
        ("speed NaN", "Original, 0s, paused 0.003x"),
        ("speed -1", "Original, 0s, paused 0.001x"),
    ]);
    assert!(Playback::usual_speeds().is_sorted());
}

#[test]
fn seeking_stays_in_what_is_simulated_and_slow_pictures_show_messages() {
    let mut script = still();
    script.check(&[
        ("pause", "Original, 0s, paused 1x"),
        ("told 10m", "Original, 0s, paused 1x"),
        ("looked", "Original, 0s, paused 1x"),
        ("seek 20m", "Original, 10m 0s, paused 1x: look 10m 0s closely"),
        ("looked", "Original, 10m 0s, paused 1x"),
        ("seek 90s", "Original, 1m 30s, paused 1x: look 1m 30s closely"),
        ("looked", "Original, 1m 30s, paused 1x"),
        ("play", "Original, 1m 30s, playing 1x: look 1m 30s"),
        ("looked", "Original, 1m 30s, playing 1x"),
        ("speed 0.03", "Original, 1m 30s, playing 0.03x: look 1m 30s closely"),
        ("looked", "Original, 1m 30s, playing 0.03x"),
        ("tick 0.1", "Original, 1m 30.003s, playing 0.03x: look 1m 30.003s closely"),
        // A page that slept does not leap.
        ("tick 500", "Original, 1m 30.011s, playing 0.03x"),
        ("tick -1", "Original, 1m 30.011s, playing 0.03x"),
        ("end", "Original, 10m 0s, playing 0.03x"),
        ("home", "Original, 0s, playing 0.03x"),
    ]);
}

#[test]
fn steps_ask_the_worker_and_wait_for_each_other() {
    let mut script = still();
    script.check(&[
        ("told 10m", "Original, 0s, paused 1x"),
        ("looked", "Original, 0s, paused 1x"),
        ("step next", "Original, 0s, paused 1x: step on from 0s"),
        ("step next", "Original, 0s, paused 1x"),
        ("step next", "Original, 0s, paused 1x"),
        ("looked", "Original, 0.002s, paused 1x: step on from 0.002s"),
        ("looked", "Original, 0.004s, paused 1x"),
        ("step back", "Original, 0.004s, paused 1x: step back from 0.004s"),
    ]);
    assert_eq!(script.state.stepped, "etcd-main-1 answers");
}

#[test]
fn jumps_go_from_moment_to_moment() {
    let mut script = still();
    script.check(&[("pause", "Original, 0s, paused 1x"), ("done", "Original, 0s, paused 1x")]);
    let moments = script.state.moments();
    assert!(moments.len() >= 4 && moments.is_sorted(), "{moments:?}");
    assert!(moments.contains(&Time::from_nanos(60_000_000_000)), "the fault is one: {moments:?}");
    let end = Time::from_nanos(2_100_000_000_000);
    for moment in moments.iter().copied().filter(|moment| *moment > Time::ZERO).chain([end]) {
        script.state.apply(Action::Playback(PlaybackCommand::Jump(true)));
        assert_eq!(script.state.playback.at, moment);
    }
    for moment in moments.iter().rev().copied().chain([Time::ZERO]).filter(|moment| *moment < end) {
        script.state.apply(Action::Playback(PlaybackCommand::Jump(false)));
        assert_eq!(script.state.playback.at, moment);
    }
}

/// When the default scenario's writes come back, in seconds.
fn writes_are_back() -> f64 {
    let outages = &report().etcd["etcd-main"].outages;
    outages.iter().filter(|outage| outage.from_s < 100.0).map(|outage| outage.to_s).fold(0.0, f64::max)
}

#[test]
fn the_first_scenario_plays_to_just_after_its_first_outage() {
    let mut script = Script::new(Start::default());
    script.check(&[("tick 0.1", "Original, 0s, playing 1x"), ("done", "Original, 0s, playing 20x")]);
    let seconds = script.play_until_paused();
    let at = script.state.playback.at.as_secs_f64();
    assert!((5.0..11.0).contains(&seconds), "it took {seconds} s");
    assert!(at > writes_are_back() && at < writes_are_back() + 3.0, "{at} s");
    assert_eq!((script.state.playback.speed, script.state.playback.pause_at), (1.0, None));
}

#[test]
fn what_is_opened_or_edited_plays_from_its_start_and_play_on_goes_to_the_next_event() {
    let mut script = Script::new(Start::default());
    script.check(&[
        ("done", "Original, 0s, playing 20x"),
        ("seek 20m", "Original, 20m 0s, playing 20x"),
        ("speed 1000", "Original, 20m 0s, playing 1000x"),
        ("type 36m", "Original, 0s, playing 1x: load 2, look 0s"),
        ("done", "Original, 0s, playing 20x"),
    ]);
    assert!(!script.state.has_arrived());
    script.play_until_paused();
    assert!(script.state.has_arrived());
    // Power comes back after half an hour: the next event of interest after the outage.
    script.state.apply(Action::Playback(PlaybackCommand::PlayOn));
    let seconds = script.play_until_paused();
    let at = script.state.playback.at.as_secs_f64();
    assert!((5.0..11.0).contains(&seconds) && (1_860.0..1_864.0).contains(&at), "{seconds} s, at {at} s");
    assert!(script.state.has_arrived());
    script.state.apply(Action::Playback(PlaybackCommand::Home));
    assert!(!script.state.has_arrived(), "there is nothing to play on from");
}

#[test]
fn a_view_of_another_moment_is_stale_and_a_simulation_can_be_halted() {
    let mut script = still();
    script.check(&[
        ("pause", "Original, 0s, paused 1x"),
        ("looked", "Original, 0s, paused 1x"),
        ("told 10m", "Original, 0s, paused 1x"),
    ]);
    assert!(!script.state.is_stale());
    script.check(&[("seek 5m", "Original, 5m 0s, paused 1x: look 5m 0s closely")]);
    assert!(script.state.is_stale());
    script.check(&[("looked", "Original, 5m 0s, paused 1x"), ("play", "Original, 5m 0s, playing 1x: look 5m 0s")]);
    script.check(&[("tick 0.2", "Original, 5m 0.2s, playing 1x")]);
    assert!(!script.state.is_stale(), "it trails by a moment");
    script.check(&[
        ("seek 10m", "Original, 10m 0s, playing 1x"),
        ("halt", "Original, 10m 0s, playing 1x: halt 0"),
        ("halt", "Original, 10m 0s, playing 1x"),
        ("tick 0.2", "Original, 10m 0s, paused 1x"),
        ("go-on", "Original, 10m 0s, paused 1x: go on with 0"),
    ]);
    let branch = script.state.branch().unwrap();
    assert!(branch.is_under_way() && branch.rate() == Some(600_000.0), "{branch:?}");
}

#[test]
fn nothing_plays_by_itself_for_who_wants_no_motion_or_has_taken_the_controls() {
    let mut script = still();
    script.state.apply(script_done(&script));
    let at = script.state.playback.at.as_secs_f64();
    assert!(!script.state.playback.playing && at > writes_are_back() && at < writes_are_back() + 3.0, "{at} s");
    let mut script = Script::new(Start::default());
    script.check(&[
        ("speed 3", "Original, 0s, playing 3x"),
        ("done", "Original, 0s, playing 3x"),
        ("tick 0.1", "Original, 0.3s, playing 3x"),
    ]);
    let mut script = Script::new(Start::default());
    script.check(&[
        ("done", "Original, 0s, playing 20x"),
        ("toggle", "Original, 0s, paused 20x"),
        ("toggle", "Original, 0s, playing 20x"),
    ]);
    assert_eq!(script.state.playback.pause_at, None);
}

fn script_done(script: &Script) -> Action {
    let end = Time::ZERO + script.state.scenario.as_ref().unwrap().duration;
    Action::WorkerResponded(super::script::progress(script.state.load, script.state.shown, end, Some(report())))
}
