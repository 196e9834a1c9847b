//! Interventions, branches, and workers that are lost.

use super::script::{KILLED, at_two_minutes, progress};
use crate::engine::protocol::{BranchId, LoadId, WorkerResponse};
use crate::state::Action;
use zonefall_core::kernel::time::Time;

#[test]
fn a_deed_forks_and_undo_goes_back() {
    let mut script = at_two_minutes();
    script.check(&[
        ("undo", "Original, 2m 0s, paused 1x"),
        ("break member 1", &format!("{KILLED}, 2m 0s, playing 1x: fork 1 of 0 at 2m 0s, look 2m 0s")),
        ("tick 0.1", &format!("{KILLED}, 2m 0s, playing 1x")),
        ("done", &format!("{KILLED}, 2m 0s, playing 1x")),
        ("looked", &format!("{KILLED}, 2m 0s, playing 1x")),
        ("seek 3m", &format!("{KILLED}, 3m 0s, playing 1x: look 3m 0s")),
        ("break zone 2", "zone eu-west-1c lost power at 3m 0s, 3m 0s, playing 1x: fork 2 of 1 at 3m 0s, look 3m 0s"),
        ("undo", &format!("{KILLED}, 3m 0s, paused 1x: show 1, look 3m 0s closely")),
        ("undo", "Original, 2m 0s, paused 1x: show 0, look 2m 0s closely"),
        // The other branch has not come as far: the playhead waits for it.
        ("seek 10m", "Original, 10m 0s, paused 1x"),
        ("show 2", "zone eu-west-1c lost power at 3m 0s, 10m 0s, paused 1x: show 2"),
        ("told 12m", "zone eu-west-1c lost power at 3m 0s, 10m 0s, paused 1x: look 10m 0s closely"),
        // Before its fork a branch is its parent.
        ("seek 150s", "zone eu-west-1c lost power at 3m 0s, 2m 30s, paused 1x"),
        (
            "break member 2",
            "etcd-main-2 was killed (until repaired) at 2m 30s, 2m 30s, playing 1x: fork 3 of 1 at 2m 30s, look 2m 30s",
        ),
        ("show 2", "zone eu-west-1c lost power at 3m 0s, 2m 30s, playing 1x: show 2, look 2m 30s"),
        ("seek 1m", "zone eu-west-1c lost power at 3m 0s, 1m 0s, playing 1x"),
        (
            "break member 2",
            "etcd-main-2 was killed (until repaired) at 1m 0s, 1m 0s, playing 1x: fork 4 of 0 at 1m 0s, look 1m 0s",
        ),
        ("show 9", "etcd-main-2 was killed (until repaired) at 1m 0s, 1m 0s, playing 1x"),
    ]);
    assert_eq!(script.state.branches.len(), 5);
}

#[test]
fn deeds_that_cannot_be_are_refused_and_say_why() {
    let mut script = at_two_minutes();
    for (row, why) in [
        (("mend 7", "Original, 2m 0s, paused 1x"), "already ended"),
        (("end", "Original, 35m 0s, paused 1x: look 35m 0s closely"), ""),
        (("break member 1", "Original, 35m 0s, paused 1x"), "end of the run"),
    ] {
        script.state.notice = None;
        script.check(&[row]);
        assert_eq!(script.state.notice.is_some(), !why.is_empty());
        assert!(script.state.notice.as_ref().is_none_or(|notice| notice.text.contains(why)), "{:?}", script.state.notice);
    }
    let mut script = at_two_minutes();
    script.check(&[
        ("break member 1", &format!("{KILLED}, 2m 0s, playing 1x: fork 1 of 0 at 2m 0s, look 2m 0s")),
        ("undo", "Original, 2m 0s, paused 1x: show 0, look 2m 0s closely"),
        ("seek 10m", "Original, 10m 0s, paused 1x"),
        ("show 1", &format!("{KILLED}, 10m 0s, paused 1x: show 1")),
        ("break zone 0", &format!("{KILLED}, 10m 0s, paused 1x")),
    ]);
    assert!(script.state.notice.as_ref().is_some_and(|notice| notice.text.contains("not reached this moment")));
    let mut script = at_two_minutes();
    for _ in 0..80 {
        script.state.apply(Action::Playback(crate::state::PlaybackCommand::Pause));
        script.state.apply(Action::Intervene(crate::engine::protocol::Intervention::Inject {
            fault: zonefall_core::scenario::Fault::ZonePower(zonefall_core::scenario::ZonePower(
                zonefall_core::scenario::FaultTarget::Named(zonefall_core::ids::ZoneId(0)),
            )),
            lasts: None,
        }));
    }
    assert_eq!(script.state.branches.len(), 64);
}

#[test]
fn what_an_older_load_or_another_branch_says_is_void() {
    let mut script = at_two_minutes();
    let before = script.state.clone();
    let old = LoadId(0);
    for response in [
        progress(old, BranchId(0), Time::MAX, None),
        WorkerResponse::Invalid { load: old, errors: vec![("$".to_owned(), "no".to_owned())] },
        WorkerResponse::GaveUp { load: old, branch: BranchId(0), why: "no".to_owned() },
        progress(script.state.load, BranchId(9), Time::MAX, None),
        WorkerResponse::GaveUp { load: script.state.load, branch: BranchId(9), why: "no".to_owned() },
        WorkerResponse::Ready { build: String::new() },
        WorkerResponse::Pong(1),
    ] {
        assert!(script.state.apply(Action::WorkerResponded(response)).is_empty());
        script.state.notice = None;
        assert_eq!(script.state, before);
    }
}

#[test]
fn a_lost_worker_gets_everything_again_but_not_for_ever() {
    let mut script = at_two_minutes();
    let again = "restart, load 2, fork 1 of 0 at 2m 0s, fork 2 of 0 at 2m 0s, show 1";
    script.check(&[
        ("break member 1", &format!("{KILLED}, 2m 0s, playing 1x: fork 1 of 0 at 2m 0s, look 2m 0s")),
        ("undo", "Original, 2m 0s, paused 1x: show 0, look 2m 0s closely"),
        ("break zone 2", "zone eu-west-1c lost power at 2m 0s, 2m 0s, playing 1x: fork 2 of 0 at 2m 0s, look 2m 0s"),
        ("show 1", &format!("{KILLED}, 2m 0s, playing 1x: show 1, look 2m 0s")),
        ("lost", &format!("{KILLED}, 2m 0s, playing 1x: {again}")),
        ("tick 0.1", &format!("{KILLED}, 2m 0s, playing 1x")),
        ("told 3m", &format!("{KILLED}, 2m 0s, playing 1x: look 2m 0s")),
        ("lost", &format!("{KILLED}, 2m 0s, paused 1x")),
        ("step next", &format!("{KILLED}, 2m 0s, paused 1x")),
        ("break zone 1", &format!("{KILLED}, 2m 0s, paused 1x")),
        ("lost", &format!("{KILLED}, 2m 0s, paused 1x")),
        ("play", &format!("{KILLED}, 2m 0s, playing 1x: restart, load 3, fork 1 of 0 at 2m 0s, fork 2 of 0 at 2m 0s, show 1")),
        ("lost", &format!("{KILLED}, 2m 0s, playing 1x: restart, load 4, fork 1 of 0 at 2m 0s, fork 2 of 0 at 2m 0s, show 1")),
        // Another scenario starts with a clean slate.
        ("type 36m", "Original, 0s, paused 1x: load 5, look 0s closely"),
        ("pause", "Original, 0s, paused 1x"),
        ("lost", "Original, 0s, paused 1x: restart, load 6, look 0s closely"),
        ("done", "Original, 0s, paused 1x"),
        // It was simulated to its end: the next loss is the first again.
        ("lost", "Original, 0s, paused 1x: restart, load 7, look 0s closely"),
        ("lost", "Original, 0s, paused 1x"),
    ]);
    let notice = script.state.notice.unwrap();
    assert!(notice.text.contains("out of memory") && notice.text.contains("kept"), "{notice:?}");
}
