//! Active-passive etcd clusters: what their modes mean, and what they refuse.

use serde_json::{Value, json};

use super::messages::{SMALL, changed, errors_of};
use super::*;
use crate::ids::EtcdId;

#[test]
fn active_passive_modes() {
    let two = json!([{"name": "m0", "node": "na"}, {"name": "m1", "node": "nb"}]);
    let with = |mode: Value, members: &Value, more: &str| {
        let mut raw = changed("/etcd/0/members", members.clone());
        raw["etcd"][0]["mode"] = mode;
        if !more.is_empty() {
            raw["operations"] = json!([{"at": "1m", "add_member": {"name": "m9", "node": "nc"}}]);
        }
        raw.to_string()
    };
    let hot = json!({"hot_standby": {"delta_snapshot_period": "1m", "controller_zone": "zc"}});
    let scenario = Scenario::from_json(&with(hot.clone(), &two, "")).expect("two members are a pair");
    let passive = scenario.etcd[EtcdId(0)].passive.clone().expect("a hot standby");
    assert_eq!((passive.primary, passive.switching.controller), (0, Controller::Zone(ids::ZoneId(2))));
    assert_eq!(passive.switching.failures, Switching::default().failures);
    let backup = Backup { delta_period: Duration::from_secs(60), ..Backup::default() };
    assert_eq!(passive.backup, Some(backup));
    let mut second: Value = serde_json::from_str(&with(json!({"learner": {}}), &two, "")).expect("JSON");
    second["etcd"][0]["initial"] = json!({"leader": "m1"});
    let scenario = Scenario::from_json(&second.to_string()).expect("either may be the first to serve");
    let cluster = &scenario.etcd[EtcdId(0)];
    assert_eq!(cluster.passive.as_ref().map(|passive| (passive.primary, passive.backup)), Some((1, None)));
    assert_eq!(cluster.members.iter().map(|member| member.learner).collect::<Vec<_>>(), [true, false]);
    let three = serde_json::from_str::<Value>(SMALL).expect("JSON")["etcd"][0]["members"].clone();
    let odd = json!([{"name": "m0", "node": "na"}, {"name": "m1", "node": "nb", "learner": true}]);
    for (text, expected) in [
        (
            with(hot.clone(), &three, ""),
            "etcd[0].members: expected two members (mode hot_standby): one active and one standby; found 3 members",
        ),
        (
            with(json!({"learner": {}}), &odd, ""),
            "etcd[0].members[1].learner: expected nothing: mode learner decides which member has a vote; found true",
        ),
        (
            with(hot, &two, "add"),
            "operations[0]: expected no change of a cluster whose mode is not quorum: its controller manages the members; found a change of main",
        ),
        (
            with(json!({"learner": {"controller_zone": "zz"}}), &two, ""),
            "etcd[0].mode.learner.controller_zone: expected the name of a zone: \"za\", \"zb\" or \"zc\" (did you mean \"za\"?); found \"zz\"",
        ),
    ] {
        assert_eq!(errors_of(&text), expected);
    }
}
