//! The document: edits of text and form, undo, problems.

use serde_json::{Value, json};
use zonefall_core::scenario::{bundled, default_scenario};

use super::script::Script;
use crate::state::{Action, Document, DocumentAction, Effect, Path, Start, State, Step, Tab, Theme, UiAction};

fn path(text: &str) -> Path {
    let step = |part: &str| part.parse().map_or_else(|_| Step::Key(part.to_owned()), Step::Index);
    text.split('/').filter(|part| !part.is_empty()).map(step).collect()
}

fn state() -> State {
    State::new(Start { text: default_scenario().json.to_owned(), ..Start::default() }).0
}

fn edit(state: &mut State, action: DocumentAction) -> usize {
    state.apply(Action::Document(action)).len()
}

fn at<'a>(document: &'a Document, place: &str) -> &'a Value {
    document.value.pointer(&format!("/{place}")).unwrap_or(&Value::Null)
}

#[test]
fn while_the_text_is_wrong_the_last_scenario_goes_on() {
    let mut script = Script::new(Start { reduced_motion: true, ..Start::default() });
    script.check(&[
        ("pause", "Original, 0s, paused 1x"),
        ("told 10m", "Original, 0s, paused 1x"),
        ("looked", "Original, 0s, paused 1x"),
        ("retype 35", "Original, 0s, paused 1x"),
        ("retype 3", "Original, 0s, paused 1x"),
        ("seek 1m", "Original, 1m 0s, paused 1x: look 1m 0s closely"),
    ]);
    assert_eq!(script.state.document.problems[0].path, "duration");
    script.check(&[
        // What is edited starts over.
        ("retype 30m", "Original, 0s, paused 1x: load 2, look 0s closely"),
        ("pause", "Original, 0s, paused 1x"),
        ("told 5m", "Original, 0s, paused 1x"),
        ("seek 1m", "Original, 1m 0s, paused 1x"),
        ("retype 33m", "Original, 0s, paused 1x: load 3, look 0s closely"),
        ("open nonsense", "Original, 0s, paused 1x"),
    ]);
    assert!(script.state.notice.is_some_and(|notice| notice.text.contains("expected JSON")));
}

#[test]
fn the_form_edits_the_text_and_undo_goes_over_both() {
    let mut state = state();
    let first = state.document.text.clone();
    assert_eq!(edit(&mut state, DocumentAction::Set(path("duration"), Some(json!("40m")))), 3);
    assert_eq!(edit(&mut state, DocumentAction::Set(path("duration"), Some(json!("40m")))), 0, "nothing has changed");
    assert!(state.document.text.contains("\"duration\": \"40m\""));
    assert_eq!(edit(&mut state, DocumentAction::Set(path("etcd/0/options/heartbeat_interval"), Some(json!("50ms")))), 3);
    assert_eq!(at(&state.document, "etcd/0/options/heartbeat_interval"), "50ms");
    edit(&mut state, DocumentAction::Set(path("etcd/0/options/heartbeat_interval"), None));
    assert_eq!(at(&state.document, "etcd/0/options"), &Value::Null, "options that say nothing go");
    let member = json!({"name": "etcd-main-3", "node": "node-a", "learner": true});
    assert_eq!(edit(&mut state, DocumentAction::Push(path("etcd/0/members"), member)), 3);
    edit(&mut state, DocumentAction::Push(path("operations"), json!({"at": "5m", "promote_member": "etcd-main-3"})));
    assert_eq!(at(&state.document, "operations/0/at"), "5m", "a list that was not there is made");
    edit(&mut state, DocumentAction::Rename(path("topology/nodes/0/name"), "machine".to_owned()));
    assert_eq!(at(&state.document, "etcd/0/members/3/node"), "machine");
    assert_eq!(state.document.problems, []);
    edit(&mut state, DocumentAction::Set(path("etcd/0/members/3"), None));
    assert!(
        state.document.problems.iter().any(|problem| problem.path.starts_with("operations[0]")),
        "{:?}",
        state.document.problems
    );
    edit(&mut state, DocumentAction::Type("{".to_owned()));
    assert_eq!(state.document.problems[0].line_column, Some((1, 1)));
    assert_eq!(at(&state.document, "duration"), "40m", "the form shows the last that was JSON");
    assert_eq!(edit(&mut state, DocumentAction::Set(path("duration"), Some(json!("1m")))), 0);
    assert!(state.notice.as_ref().is_some_and(|notice| notice.text.contains("JSON tab")));
    let last = state.document.text.clone();
    let mut versions = 0;
    while *state.document.text != *first {
        edit(&mut state, DocumentAction::Undo);
        versions += 1;
    }
    assert_eq!((versions, state.document.undo.len()), (8, 0));
    assert_eq!(edit(&mut state, DocumentAction::Undo), 0);
    for _ in 0..versions {
        edit(&mut state, DocumentAction::Redo);
    }
    assert_eq!(state.document.text, last);
    edit(&mut state, DocumentAction::Undo);
    edit(&mut state, DocumentAction::Set(path("seed"), Some(json!(7))));
    assert!(state.document.redo.is_empty(), "another way was taken");
}

#[test]
fn letters_typed_one_after_the_other_are_one_step_of_undo() {
    let mut state = state();
    let first = state.document.text.to_string();
    let place = first.find("Zone outage").or_else(|| first.find("A zone")).unwrap();
    let typed = |text: &str| format!("{}{text}{}", &first[..place], &first[place..]);
    for text in ["a", "ab", "abc", "ab", "abé"] {
        edit(&mut state, DocumentAction::Type(typed(text)));
    }
    assert_eq!(state.document.undo.len(), 1);
    let elsewhere = format!(" {}", typed("abé"));
    edit(&mut state, DocumentAction::Type(elsewhere.clone()));
    edit(&mut state, DocumentAction::Type(format!("\n{elsewhere}")));
    edit(&mut state, DocumentAction::Type(bundled()[1].json.to_owned()));
    assert_eq!(state.document.undo.len(), 4);
    for _ in 0..4 {
        edit(&mut state, DocumentAction::Undo);
    }
    assert_eq!(*state.document.text, *first);
}

#[test]
fn what_is_opened_again_starts_over() {
    let mut script = Script::new(Start { reduced_motion: true, ..Start::default() });
    let open = format!("open {}", default_scenario().json);
    script.check(&[
        ("told 10m", "Original, 0s, paused 1x"),
        ("seek 1m", "Original, 1m 0s, paused 1x"),
        (&open, "Original, 0s, paused 1x: load 2, look 0s closely"),
    ]);
    assert!(script.state.document.undo.is_empty());
}

#[test]
fn undo_remembers_much_but_not_everything() {
    let mut state = state();
    for seed in 0..500 {
        edit(&mut state, DocumentAction::Set(path("seed"), Some(json!(seed))));
    }
    assert_eq!(state.document.undo.len(), 200);
    let mut state = State::new(Start::default()).0;
    for k in 0..6 {
        let text = format!("{{\"title\": \"{k}{}\"}}", "x".repeat(3 << 20));
        edit(&mut state, DocumentAction::Open(text));
    }
    assert_eq!(state.document.undo.len(), 2, "8 MiB of them");
}

#[test]
fn paths_that_lead_nowhere_do_nothing() {
    let mut state = state();
    let text = state.document.text.clone();
    for action in [
        DocumentAction::Set(path("name/x/y"), Some(json!(1))),
        DocumentAction::Set(path("etcd/9/name"), Some(json!("x"))),
        DocumentAction::Set(path("etcd/9"), None),
        DocumentAction::Set(path("nothing/here"), None),
        DocumentAction::Set(Vec::new(), None),
        DocumentAction::Push(path("name"), json!(1)),
        DocumentAction::Rename(path("etcd/9/name"), "x".to_owned()),
    ] {
        assert_eq!(edit(&mut state, action.clone()), 0, "{action:?}");
        assert_eq!(state.document.text, text, "{action:?}");
    }
}

#[test]
fn looks_are_remembered_where_they_are_a_preference() {
    let mut state = state();
    for (action, effects) in [
        (UiAction::Theme(Theme::Dark), 1),
        (UiAction::Tab(Tab::Latency), 0),
        (UiAction::Filter("quorum".to_owned()), 0),
        (UiAction::AsJson(true), 1),
        (UiAction::Help(true), 0),
    ] {
        let told = state.apply(Action::Ui(action));
        assert_eq!(told.iter().filter(|effect| matches!(effect, Effect::Remember(_))).count(), effects);
    }
    assert!(state.ui.as_json && state.ui.help && state.ui.theme == Theme::Dark);
}
