//! What was done, and where the user was, is found again: from a link, a file, the storage, and by Back.

use std::rc::Rc;

use super::script::{KILLED, Script, at_two_minutes};
use crate::engine::protocol::BranchId;
use crate::state::bookmark::Bookmark;
use crate::state::share::{LinkError, decode, encode, encode_bookmark};
use crate::state::{Action, DocumentAction, Effect, Selection, Start, State, Tab, UiAction};
use zonefall_core::ids::{MemberId, ZoneId};
use zonefall_core::scenario::{Scenario, default_scenario};

/// The default scenario with a branch and a view.
fn done() -> Script {
    let mut script = at_two_minutes();
    script.check(&[
        ("break member 1", &format!("{KILLED}, 2m 0s, playing 1x: fork 1 of 0 at 2m 0s, look 2m 0s")),
        ("done", &format!("{KILLED}, 2m 0s, playing 1x")),
        ("pause", &format!("{KILLED}, 2m 0s, paused 1x")),
        ("seek 3m", &format!("{KILLED}, 3m 0s, paused 1x")),
    ]);
    script.state.apply(Action::Ui(UiAction::Tab(Tab::Latency)));
    script.state.apply(Action::Ui(UiAction::Range(Some([100.0, 200.0]))));
    script.state.apply(Action::Select(Some(Selection::Zone(ZoneId(1)))));
    script
}

fn kept(effects: &[Effect]) -> Option<(Rc<str>, Bookmark, bool)> {
    effects.iter().find_map(|effect| match effect {
        Effect::Keep { text, bookmark, push } => Some((Rc::clone(text), bookmark.clone(), *push)),
        _ => None,
    })
}

/// What a user would see of it.
fn seen(state: &State) -> impl PartialEq + std::fmt::Debug {
    let branches: Vec<_> = state.branches.iter().map(|branch| (branch.name.clone(), branch.fork.clone())).collect();
    (branches, state.shown, state.playback.at, state.ui.range, state.ui.tab, state.selection)
}

#[test]
fn a_link_brings_back_what_was_done_and_where_the_user_was() {
    let script = done();
    let link = encode(default_scenario().json) + &encode_bookmark(&script.state.bookmark());
    let (text, bookmark) = decode(&link).unwrap();
    let (state, effects) = State::new(Start { text, bookmark, ..Start::default() });
    assert_eq!(seen(&state), seen(&script.state));
    assert!(!state.playback.playing);
    let requests = effects.iter().filter(|effect| matches!(effect, Effect::Request(_))).count();
    assert_eq!(requests, 2, "load, fork (which shows it); a look when the simulation is there: {effects:?}");
    assert!(script.state.bookmark().text().contains(&format!("1 branch ({KILLED})")), "{}", script.state.bookmark().text());
}

#[test]
fn a_file_carries_it_too_and_is_a_scenario() {
    let mut script = done();
    let effects = script.state.apply(Action::Save);
    let Some(Effect::Download(name, text)) = effects.first() else { panic!("{effects:?}") };
    assert_eq!(name, "zone-outage.json");
    Scenario::from_json(text).expect("simulations read it");
    let mut other = Script::new(Start { reduced_motion: true, ..Start::default() });
    other.state.apply(Action::Document(DocumentAction::Open(text.clone())));
    assert_eq!(seen(&other.state), seen(&script.state));
    assert!(!other.state.document.text.contains("bookmark"), "the form and the text are of the scenario alone");
}

#[test]
fn bookmarks_that_do_not_fit_leave_the_scenario_as_it_is() {
    let bookmark = done().state.bookmark();
    let json = serde_json::to_string(&bookmark).unwrap();
    for (from, to, fits) in [
        ("\"parent\":0", "\"parent\":7", false),
        ("\"index\":1", "\"index\":9", false),
        ("\"at_ns\":120000000000", "\"at_ns\":99999999999999999", false),
        ("\"shown\":1", "\"shown\":40", true),
        ("\"range\":[100.0,200.0]", "\"range\":[300.0,200.0]", true),
    ] {
        assert!(json.contains(from), "{json}");
        let bookmark: Bookmark = serde_json::from_str(&json.replace(from, to)).unwrap();
        let text = default_scenario().json.to_owned();
        let (state, _) = State::new(Start { text, bookmark, ..Start::default() });
        assert_eq!(state.notice.is_none(), fits, "{from}: {:?}", state.notice);
        assert_eq!(state.branches.len(), if fits { 2 } else { 1 }, "{from}");
        assert!(state.branch().is_some() && state.ui.range.is_none_or(|[from_s, to_s]| from_s < to_s));
    }
    let link = encode(default_scenario().json);
    assert_eq!(decode(&format!("{link}.AAAA")).unwrap_err(), LinkError::Packed);
    assert_eq!(decode(&(link.clone() + "." + &encode("7")[4..])).unwrap_err(), LinkError::Bookmark);
}

#[test]
fn branches_are_renamed_and_deleted_with_what_left_them() {
    let mut script = done();
    script.state.apply(Action::RenameBranch("  no voter 1 ".to_owned()));
    assert_eq!(script.state.branch().unwrap().name, "no voter 1");
    script.check(&[
        ("break zone 2", "zone eu-west-1c lost power at 3m 0s, 3m 0s, playing 1x: fork 2 of 1 at 3m 0s, look 3m 0s"),
        ("pause", "zone eu-west-1c lost power at 3m 0s, 3m 0s, paused 1x"),
        ("show 1", "no voter 1, 3m 0s, paused 1x: show 1, look 3m 0s closely, close up 1m 40s to 3m 20s"),
    ]);
    let effects = script.state.apply(Action::DeleteBranch);
    assert_eq!(script.state.shown, BranchId(0));
    let halted = effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Request(crate::engine::protocol::WorkerRequest::Halt { halted: true, .. })));
    assert_eq!(halted.count(), 2, "the other one left it");
    assert!(script.state.bookmark().text().starts_with("no branch"));
    script.state.apply(Action::DeleteBranch);
    script.state.apply(Action::RenameBranch("other".to_owned()));
    assert_eq!(script.state.branch().unwrap().name, "Original");
}

#[test]
fn back_goes_to_the_branch_before_without_simulating_anything_again() {
    let mut script = Script::new(Start { reduced_motion: true, ..Start::default() });
    script.check(&[("pause", "Original, 0s, paused 1x"), ("done", "Original, 0s, paused 1x")]);
    let first = (script.state.running(), script.state.bookmark());
    let member = Selection::Member(MemberId { cluster: zonefall_core::ids::EtcdId(0), index: 1 });
    let (_, _, push) = kept(&script.state.apply(Action::Select(Some(member)))).unwrap();
    assert!(!push, "what is selected is no step to come back to");
    let fault = zonefall_core::scenario::NodeCrash(zonefall_core::scenario::FaultTarget::Named(zonefall_core::ids::NodeId(0)));
    let intervention = crate::engine::protocol::Intervention::Inject { fault: fault.into(), lasts: None };
    let (text, second, push) = kept(&script.state.apply(Action::Intervene(intervention))).unwrap();
    assert!(push);
    let load = script.state.load;
    let effects = script.state.apply(Action::Return(first.0.to_string(), first.1));
    assert_eq!((script.state.shown, script.state.load, kept(&effects).map(|(.., push)| push)), (BranchId(0), load, Some(false)));
    script.state.apply(Action::Return(text.to_string(), second));
    assert_eq!((script.state.shown, script.state.load), (BranchId(1), load));
    let opened = kept(&script.state.apply(Action::Document(DocumentAction::Type(text.replace("35m", "36m"))))).unwrap();
    assert!(opened.2, "another scenario is a step");
}

#[test]
fn back_finds_branches_that_were_renamed_or_deleted_since() {
    let mut script = done();
    let first = (script.state.running().to_string(), script.state.bookmark());
    script.state.apply(Action::RenameBranch("no voter 1".to_owned()));
    script.check(&[
        ("seek 1m", "no voter 1, 1m 0s, paused 1x: close up 40s to 2m 20s"),
        ("break zone 2", "zone eu-west-1c lost power at 1m 0s, 1m 0s, playing 1x: fork 2 of 0 at 1m 0s, look 1m 0s"),
        ("done", "zone eu-west-1c lost power at 1m 0s, 1m 0s, playing 1x: close up 40s to 2m 20s"),
        ("pause", "zone eu-west-1c lost power at 1m 0s, 1m 0s, paused 1x"),
    ]);
    let load = script.state.load;
    let seen =
        |state: &State| (state.branch().unwrap().name.clone(), state.load, state.branches.iter().filter(|b| !b.deleted).count());
    // Renamed: it keeps its name of today, and the branch after it stays.
    script.state.apply(Action::Return(first.0.clone(), first.1.clone()));
    assert_eq!(seen(&script.state), ("no voter 1".to_owned(), load, 3));
    assert_eq!(script.state.playback.at, zonefall_core::kernel::time::Time::from_nanos(180_000_000_000));
    // Deleted: it is listed again, and goes on.
    let (_, without, push) = kept(&script.state.apply(Action::DeleteBranch)).unwrap();
    assert!(push);
    let effects = script.state.apply(Action::Return(first.0.clone(), first.1.clone()));
    assert_eq!(seen(&script.state), ("no voter 1".to_owned(), load, 3));
    let goes_on = |effect: &Effect| {
        matches!(effect, Effect::Request(crate::engine::protocol::WorkerRequest::Halt { branch: BranchId(1), halted: false, .. }))
    };
    assert!(effects.iter().any(goes_on), "{effects:?}");
    script.state.apply(Action::Return(first.0.clone(), without));
    assert_eq!(seen(&script.state).0, "Original");
    // Of another moment it is another branch.
    let other = serde_json::to_string(&first.1).unwrap().replace("\"at_ns\":120000000000", "\"at_ns\":121000000000");
    script.state.apply(Action::Return(first.0, serde_json::from_str(&other).unwrap()));
    assert_ne!(script.state.load, load);
}

#[test]
fn what_a_bookmark_says_in_words_of_another_version_is_left_out_and_told() {
    let json = serde_json::to_string(&done().state.bookmark()).unwrap();
    for (from, to, left_out) in [
        ("\"tab\":\"Latency\"", "\"tab\":\"Gallery\"", "the tab"),
        ("{\"Zone\":1}", "{\"Rack\":1}", "the selection"),
        ("\"range\":[100.0,200.0]", "\"range\":\"all\"", "the zoom"),
        ("\"at_ns\":180000000000", "\"at_ns\":-1", "the time"),
        ("ProcessKill", "ProcessCrash", "some of its branches"),
    ] {
        assert!(json.contains(from), "{json}");
        let json = json.replace(from, to);
        let link = format!("{}.{}", encode(default_scenario().json), &encode(&json)[4..]);
        let (text, bookmark) = decode(&link).unwrap_or_else(|why| panic!("{to}: {why}"));
        let (state, _) = State::new(Start { text: text.clone(), bookmark, ..Start::default() });
        let check = |state: &State, how: &str| {
            let notice = state.notice.as_ref().map_or("", |notice| notice.text.as_str());
            assert!(notice.contains(&format!("cannot read all that came with it: {left_out}.")), "{how} {to}: {notice}");
            assert!(state.scenario.is_some() && left_out.contains("branch") != (state.branches.len() == 2), "{how} {to}");
            assert_eq!(state.ui.tab == Tab::Latency, left_out != "the tab", "{how} {to}: the rest is as it was");
        };
        check(&state, "link");
        let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
        file["bookmark"] = serde_json::from_str(&json).unwrap();
        let (mut state, _) = State::new(Start { text: "{}".to_owned(), ..Start::default() });
        state.apply(Action::Document(DocumentAction::Open(file.to_string())));
        check(&state, "file");
    }
    let mut file: serde_json::Value = serde_json::from_str(default_scenario().json).unwrap();
    file["bookmark"] = serde_json::json!("2026");
    let (mut state, _) = State::new(Start { text: "{}".to_owned(), ..Start::default() });
    state.apply(Action::Document(DocumentAction::Open(file.to_string())));
    let notice = state.notice.as_ref().map_or("", |notice| notice.text.as_str());
    assert!(notice.contains("its branches and its view") && state.playback.playing, "{notice}");
    assert!(!state.document.text.contains("bookmark"));
}

#[test]
fn what_was_done_is_written_into_the_scenario_as_faults() {
    let mut script = done();
    let before = script.state.document.value["faults"].as_array().unwrap().len();
    script.state.apply(Action::WriteFaults);
    assert_eq!(script.state.document.problems, []);
    let faults = script.state.document.value["faults"].as_array().unwrap().clone();
    assert_eq!(faults.len(), before + 1);
    assert_eq!(faults[before], serde_json::json!({"kind": "process_kill", "member": "etcd-main-1", "at": "2m"}));
    assert_eq!((script.state.branches.len(), script.state.shown), (1, BranchId(0)));
    // With the length that it has.
    let mut script = at_two_minutes();
    let killed = zonefall_core::scenario::FaultTarget::Named(MemberId { cluster: zonefall_core::ids::EtcdId(0), index: 1 });
    let fault = zonefall_core::scenario::ProcessKill(killed).into();
    let lasts = Some(zonefall_core::kernel::time::Duration::from_millis(1_500));
    script.state.apply(Action::Intervene(crate::engine::protocol::Intervention::Inject { fault, lasts }));
    assert_eq!(script.state.branch().unwrap().name, "etcd-main-1 was killed (restarted after 1.5 s) at 2m 0s");
    script.state.apply(Action::WriteFaults);
    let written = &script.state.document.value["faults"][before];
    assert_eq!(*written, serde_json::json!({"kind": "process_kill", "member": "etcd-main-1", "at": "2m", "for": "1.5s"}));
    // A repair of the file's own fault ends it there.
    let mut script = Script::new(Start { reduced_motion: true, ..Start::default() });
    script.check(&[
        ("pause", "Original, 0s, paused 1x"),
        ("done", "Original, 0s, paused 1x"),
        ("seek 90s", "Original, 1m 30s, paused 1x"),
    ]);
    let repair = crate::engine::protocol::Intervention::Repair { fault: zonefall_core::ids::FaultId(0) };
    let fork = Bookmark::default();
    let json = serde_json::to_value(&fork).unwrap();
    let mut json = json.as_object().unwrap().clone();
    json["branches"] = serde_json::json!([{"name": "r", "parent": 0, "at_ns": 90_000_000_000_u64, "intervention": repair}]);
    json["shown"] = serde_json::json!(1);
    json["at_ns"] = serde_json::json!(90_000_000_000_u64);
    let bookmark = serde_json::from_value(json.into()).unwrap();
    script.state.apply(Action::Return(script.state.running().to_string(), bookmark));
    script.state.apply(Action::WriteFaults);
    assert!(script.state.notice.as_ref().is_some_and(|notice| notice.text.contains("not reached")), "{:?}", script.state.notice);
    script.check(&[("done", "r, 1m 30s, paused 1x: look 1m 30s closely")]);
    script.state.apply(Action::WriteFaults);
    assert_eq!(script.state.document.value["faults"][0]["for"], "30s", "{:?}", script.state.notice);
}

#[test]
fn a_rollout_is_written_into_the_scenario_as_an_operation() {
    use crate::engine::protocol::Intervention;
    use zonefall_core::ids::KubeClusterId;
    use zonefall_core::scenario::kube::Task;

    let text = zonefall_core::scenario::bundled().iter().find(|bundled| bundled.name == "rollback-order").unwrap().json;
    let mut script = Script::new(Start { reduced_motion: true, ..Start::default() });
    script.state.apply(Action::Document(DocumentAction::Open(text.to_owned())));
    script.check(&[
        ("pause", "Original, 0s, paused 1x"),
        ("done", "Original, 0s, paused 1x"),
        ("seek 2m", "Original, 2m 0s, paused 1x"),
    ]);
    let workloads = &script.state.scenario.as_ref().unwrap().kube.clusters[KubeClusterId(0)].workloads;
    let id = workloads.iter_enumerated().find(|(_, workload)| workload.name == "code").unwrap().0;
    let task = Task::RollComponent(id);
    script.state.apply(Action::Intervene(Intervention::Roll { cluster: KubeClusterId(0), task }));
    assert_eq!(script.state.branch().unwrap().name, "an operator restarts the pods of code at 2m 0s");
    script.state.apply(Action::WriteFaults);
    let operations = script.state.document.value["operations"].as_array().unwrap();
    let expected = serde_json::json!({"at": "2m", "roll_component": {"cluster": "cells", "component": "code"}});
    assert_eq!(operations.last(), Some(&expected));
    assert_eq!(script.state.document.problems, []);
}
