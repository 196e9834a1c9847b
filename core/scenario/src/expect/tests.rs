//! Places in a report, and bounds on what stands there.

use serde_json::json;

use super::*;

fn check(expectation: &Value, ok: bool, found: &str) {
    let report = json!({
        "etcd": {"etcd-main": {
            "quorum_lost_s": 0.0,
            "write_unavailable_s": 1.25,
            "members": [
                {"name": "etcd-main-0", "up": true, "role": "follower"},
                {"name": "etcd-main-1", "up": true, "role": "leader"},
            ],
            "outages": [
                {"kind": "write", "from_s": 60, "share": 0.5, "root_cause": "zone eu-west-1a lost power"},
                {"kind": "write", "from_s": 70, "root_cause": "leader gone"},
                {"kind": "quorum", "from_s": 80, "root_cause": "x"},
            ],
        }},
        "big": [{"bytes": u64::MAX - 2}, {"bytes": 2}],
        "long": "a cause that is longer than anyone would want to read but for the very word that differs",
        "links": [{"from_zone": "a", "to_zone": "b", "bytes": 10}, {"from_zone": "a", "to_zone": "c", "bytes": 20}],
    });
    let raw: RawExpectation = serde_json::from_value(expectation.clone()).expect("a well-formed expectation");
    let outcome = Expectation::parse(&raw).expect("a readable path").check(&report);
    assert_eq!((outcome.ok, outcome.actual.as_str()), (ok, found), "{expectation}: {}", outcome.text);
}

#[test]
fn places_and_bounds() {
    check(&json!({"that": "etcd.etcd-main.quorum_lost_s", "is": 0}), true, "0");
    check(&json!({"that": "etcd.etcd-main.quorum_lost_s", "is_not": 0}), false, "0");
    check(&json!({"that": "etcd.\"etcd-main\".write_unavailable_s", "between": [0.8, 3.5]}), true, "1.25");
    check(&json!({"that": "etcd.etcd-main.write_unavailable_s", "at_least": 2}), false, "1.25");
    check(&json!({"that": "etcd.etcd-main.write_unavailable_s", "at_most": 2}), true, "1.25");
    check(&json!({"that": "etcd.etcd-main.members[name=etcd-main-1].role", "is": "leader"}), true, "\"leader\"");
    check(&json!({"that": "etcd.etcd-main.members[*].up", "is": true}), true, "true");
    check(&json!({"that": "etcd.etcd-main.members[*].role", "is": "leader"}), false, "\"follower\" for one of 2");
    check(
        &json!({"that": "etcd.etcd-main.members[name=etcd-main-9].up", "is": true}),
        false,
        "nothing: no element has what the filters ask for",
    );
    check(&json!({"that": "count(etcd.etcd-main.outages[kind=write])", "is": 2}), true, "2");
    check(&json!({"that": "count(etcd.etcd-main.outages[kind=read])", "is": 0}), true, "0");
    check(&json!({"that": "count(etcd.etcd-main.outages)", "is": 3}), true, "3");
    check(&json!({"that": "etcd.etcd-main.outages[kind=write][-1].root_cause", "includes": "leader"}), true, "\"leader gone\"");
    check(&json!({"that": "etcd.etcd-main.outages[0].from_s", "is": 60.0}), true, "60");
    check(&json!({"that": "sum(links[from_zone=a].bytes)", "is": 30}), true, "30");
    check(&json!({"that": "max(links[from_zone=a][to_zone=b].bytes)", "is": 10}), true, "10");
    check(&json!({"that": "sum(big[*].bytes)", "at_least": 5_103_571_831_u64}), true, "18446744073709551615");
    check(&json!({"that": "sum(etcd.etcd-main.outages[from_s=60].share)", "is": 0.5}), true, "0.5");
    check(&json!({"that": "min(links[*].bytes)", "is": 10}), true, "10");
    let long = "a cause that is longer than anyone would want to read but for the very word that differs";
    check(&json!({"that": "long", "includes": "like"}), false, &format!("{long:?}"));
    check(&json!({"that": "sum(links[*].to_zone)", "is": 0}), false, "\"b\", which is no number");
    check(&json!({"that": "max(links[from_zone=z].bytes)", "is": 10}), false, "nothing: no element has what the filters ask for");
}

#[test]
fn a_place_that_is_not_there_fails_and_says_what_is() {
    check(
        &json!({"that": "etcd.etcd-man.quorum_lost_s", "is": 0}),
        false,
        "there is no \"etcd-man\" in etcd, only \"etcd-main\" (did you mean \"etcd-main\"?)",
    );
    check(
        &json!({"that": "count(etcd.etcd-main.outage)", "is": 0}),
        false,
        "there is no \"outage\" in etcd.etcd-main, only \"quorum_lost_s\", \"write_unavailable_s\", \"members\" or \"outages\" (did you mean \"outages\"?)",
    );
    check(
        &json!({"that": "etcd.etcd-main.outages[7].kind", "is": "x"}),
        false,
        "there is no [7] in etcd.etcd-main.outages: 3 there",
    );
    check(&json!({"that": "links[0].bytes.more", "is": 1}), false, "there is no \"more\" in links[0].bytes, which is 10");
}

#[test]
fn unreadable_paths_are_refused() {
    for text in ["", ".", "a..b", "a[", "a[x]", "a[=x]", "\"a", "a]b", "a[0]b", "sum(", "count()"] {
        assert!(ReportPath::parse(text).is_err(), "{text}");
    }
}
