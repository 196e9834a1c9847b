//! Ways of rolling out beside those of the zone-aware controllers: pauses, time between zones, pipelines that roll back; and who is told to
//! have done what.

use serde_json::{Value, json};

use zonefall_core::report::{Report, RolloutReport};

use super::zone_aware::{cluster, report};

/// A workload of pods that are ready 5 s after they start, with these fields more, rolled out at 5 min.
fn rolled(workload: Value, fields: Value, operations: &[Value], faults: Value) -> Report {
    let merged = |mut value: Value, more: Value| {
        let Value::Object(more) = more else { panic!("fields are an object") };
        value.as_object_mut().expect("an object").extend(more);
        value
    };
    let usual = json!({
        "name": "app", "kind": "stateful_set", "replicas": 6, "cpu": 0.05, "memory": "16MiB", "image": "1MiB", "start": "5s", "stop": "1s",
        "spread": [{"over": "zone", "max_skew": 1}], "revisions": [{}],
    });
    let cluster = cluster(2, merged(json!({"workloads": [merged(usual, workload)]}), fields));
    let roll = json!({"at": "5m", "roll_component": {"cluster": "c", "component": "app"}});
    report(cluster, Value::from([&[roll][..], operations].concat()), faults, 1)
}

fn operation(at: &str, kind: &str) -> Value {
    json!({"at": at, kind: {"cluster": "c", "component": "app"}})
}

/// When its batches were deleted, after it was asked for, in seconds.
fn batches(rollout: &RolloutReport) -> Vec<f64> {
    rollout.batches.iter().map(|batch| batch.at_s - rollout.requested_s).collect()
}

#[test]
fn a_paused_rollout_of_a_deployment_stands_still_and_is_not_rolled_back() {
    let deployment = || json!({"kind": "deployment", "rollout": {"max_surge": 1, "max_unavailable": 0}});
    let paused = [operation("303s", "pause_rollout"), operation("10m", "roll_back_component")];
    let report = rolled(deployment(), json!({}), &paused, json!([]));
    let [rollout] = &report.rollouts[..] else { panic!("{:?}", report.rollouts) };
    // The first new pod is there when it is paused; nothing is deleted for it.
    assert_eq!((rollout.completed, batches(rollout).len(), rollout.deadline_exceeded_s), (false, 0, None));
    let [refused] = &report.refused[..] else { panic!("{:?}", report.refused) };
    assert_eq!(
        (refused.operation.as_str(), refused.reason.as_str()),
        (
            "c: an operator rolls the pods of app back",
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again"
        )
    );
    let resumed = [operation("303s", "pause_rollout"), operation("10m", "resume_rollout")];
    let report = rolled(deployment(), json!({}), &resumed, json!([]));
    let [rollout] = &report.rollouts[..] else { panic!("{:?}", report.rollouts) };
    assert!(rollout.completed && rollout.duration_s > 300.0 && batches(rollout)[0] >= 300.0, "{rollout:?}");
}

#[test]
fn a_deployment_waits_until_new_pods_are_available() {
    let deployment = |min_ready: &str| json!({"kind": "deployment", "rollout": {"max_surge": 1, "max_unavailable": 0}, "min_ready": min_ready});
    for (min_ready, each) in [("0s", 5.0), ("40s", 45.0)] {
        let report = rolled(deployment(min_ready), json!({}), &[], json!([]));
        let found = batches(&report.rollouts[0]);
        assert_eq!(found.len(), 6);
        for (k, at) in (1..).zip(found) {
            let least = f64::from(k) * each;
            assert!((least..least + 8.0).contains(&at), "{min_ready}: batch {k} after {at} s");
        }
    }
}

#[test]
fn a_deployment_that_makes_no_progress_exceeds_its_deadline_and_goes_on() {
    let never =
        |deadline: &str| json!({"kind": "deployment", "revisions": [{"never_ready": true}], "progress_deadline": deadline});
    let exceeded = |deadline| rolled(never(deadline), json!({}), &[], json!([])).rollouts[0].deadline_exceeded_s;
    let at = exceeded("2m").expect("nothing is ready");
    assert!((420.0..424.0).contains(&at), "{at}");
    assert_eq!(exceeded("1h"), None);
    let crashing = json!({"kind": "deployment", "revisions": [{"crashes_after": "90s"}], "progress_deadline": "2m"});
    let report = rolled(crashing, json!({}), &[], json!([]));
    assert!(report.rollouts[0].completed && report.rollouts[0].deadline_exceeded_s.is_none());
}

#[test]
fn a_zone_serves_for_the_bake_time_before_the_next_one_begins() {
    let set = || json!({"parallel": true, "update": {"on_delete": true}});
    let update = |bake_time: &str| json!({"zone_aware_updates": [{"workload": "app", "max_unavailable": 2, "exponential_factor": 0, "bake_time": bake_time}]});
    for (bake_time, between) in [("0s", 6.0), ("90s", 96.0)] {
        let report = rolled(set(), update(bake_time), &[], json!([]));
        let rollout = &report.rollouts[0];
        assert!(rollout.completed && rollout.zones_disrupted == 1, "{rollout:?}");
        let found = batches(rollout);
        assert_eq!(found.len(), 3, "a zone each");
        for pair in found.windows(2) {
            let apart = pair[1] - pair[0];
            assert!((between..between + 4.0).contains(&apart), "{bake_time}: {apart} s");
        }
    }
    // The alarm is asked when the time is over, so it sees what shows meanwhile.
    let bad =
        json!({"parallel": true, "update": {"on_delete": true}, "revisions": [{"error_rate": "50%", "errors_after": "1m"}]});
    let alarmed = |bake_time: &str| {
        let update = json!({
            "workload": "app", "max_unavailable": 2, "exponential_factor": 0, "bake_time": bake_time, "pause_rollout_alarm": "errors",
        });
        let alarm = json!({"name": "errors", "error_rate": {"workload": "app", "threshold": "5%"}});
        rolled(bad.clone(), json!({"zone_aware_updates": [update], "alarms": [alarm]}), &[], json!([])).rollouts[0].exposed_zones
    };
    assert_eq!((alarmed("0s"), alarmed("2m")), (3, 1));
}

/// They come with the new revision.
#[test]
fn the_bake_time_is_kept_though_the_next_zone_holds_new_pods_already() {
    let set = json!({"parallel": true, "update": {"on_delete": true}});
    let update =
        json!({"zone_aware_updates": [{"workload": "app", "max_unavailable": 2, "exponential_factor": 0, "bake_time": "90s"}]});
    let scale = json!({"at": "303s", "scale_workload": {"cluster": "c", "workload": "app", "replicas": 9}});
    let report = rolled(set, update, &[scale], json!([]));
    let rollout = &report.rollouts[0];
    assert!(rollout.completed, "{rollout:?}");
    let found = batches(rollout);
    assert_eq!(found.len(), 3, "a zone each");
    for pair in found.windows(2) {
        assert!((95.0..105.0).contains(&(pair[1] - pair[0])), "{found:?}");
    }
}

#[test]
fn a_rollback_to_a_bad_revision_has_exposed_pods_of_its_own() {
    let bad = || json!({"revisions": [{"error_rate": "50%"}]});
    let back =
        |times: [&str; 2]| rolled(bad(), json!({}), &times.map(|at| operation(at, "roll_back_component")), json!([])).rollouts;
    // Each pod takes 6 s, one after the other.
    let [first, good, again] = &back(["10m", "15m"])[..] else { panic!("three rollouts") };
    assert_eq!([first, good, again].map(|row| (row.bad, row.exposed_pods)), [(true, 6), (false, 0), (true, 6)]);
    assert!((6.0 * 300.0 - 60.0..6.0 * 300.0 + 60.0).contains(&first.exposed_pod_s), "{}", first.exposed_pod_s);
    assert!((6.0 * 1_500.0 - 150.0..6.0 * 1_500.0).contains(&again.exposed_pod_s), "{}", again.exposed_pod_s);
    // Pods that it finds are its own from then on.
    let [first, _, again] = &back(["400s", "403s"])[..] else { panic!("three rollouts") };
    assert!((6.0 * 70.0..6.0 * 103.0).contains(&first.exposed_pod_s), "{}", first.exposed_pod_s);
    assert!((6.0 * 1_997.0 - 50.0..6.0 * 1_997.0).contains(&again.exposed_pod_s), "{}", again.exposed_pod_s);
}

#[test]
fn a_rollout_that_is_not_complete_says_what_it_waits_for() {
    let deployment = |more: Value| {
        let mut all = json!({"kind": "deployment", "progress_deadline": "1h"});
        all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        all
    };
    let surge = |max_surge: u32| json!({"max_surge": max_surge, "max_unavailable": 0});
    let paused = operation("303s", "pause_rollout");
    for (workload, operations, expected) in [
        (deployment(json!({"rollout": surge(1)})), vec![paused], "is paused"),
        (
            json!({"parallel": true, "min_ready": "1h", "update": {"max_unavailable": 2}}),
            vec![],
            "waits for app-4 and app-5 to be available (`min_ready`)",
        ),
        (
            deployment(json!({"rollout": surge(1), "min_ready": "50m"})),
            vec![],
            "waits for a new pod to be available (`min_ready`)",
        ),
        (
            deployment(json!({"rollout": surge(2), "revisions": [{"never_ready": true}]})),
            vec![],
            "waits for 2 new pods to be ready",
        ),
    ] {
        let report = rolled(workload, json!({}), &operations, json!([]));
        assert_eq!((report.rollouts[0].completed, report.rollouts[0].waits_for.as_deref()), (false, Some(expected)));
    }
}

#[test]
fn a_pipeline_rolls_back_once_when_its_alarm_rings() {
    let alarms = json!([
        {"name": "errors", "error_rate": {"workload": "app", "threshold": "10%"}},
        {"name": "latency", "latency": {"workload": "app", "threshold": "100ms"}},
    ]);
    let rollback = |alarm: &str| json!({"workload": "app", "alarm": alarm, "interval": "20s", "for": "10m"});
    let late = |revision: Value, alarm: &str| {
        let deployment = json!({"kind": "deployment", "revisions": [revision]});
        rolled(deployment, json!({"alarms": alarms, "automatic_rollbacks": [rollback(alarm)]}), &[], json!([]))
    };
    // Each shows 2 min after it is ready; of a minute the share is reached after 12 s, the mean latency after 30 s.
    for (revision, alarm, shows) in [
        (json!({"error_rate": "50%", "errors_after": "2m"}), "errors", 132.0),
        (json!({"latency": "200ms", "latency_after": "2m"}), "latency", 150.0),
    ] {
        let report = late(revision, alarm);
        let [rollout, back] = &report.rollouts[..] else { panic!("{alarm}: {:?}", report.rollouts) };
        assert!(rollout.completed && back.completed && back.rollback && back.automatic, "{alarm}: {back:?}");
        let looked = back.requested_s - 300.0;
        // New pods are ready from 5 to 12 s on; it looks every 20 s.
        assert!((shows + 5.0..shows + 32.0).contains(&looked) && (looked / 20.0).fract() < 0.01, "{alarm}: after {looked} s");
        assert_eq!(rollout.slow_s > 0.0, alarm == "latency");
    }
    for (revision, alarm) in [
        (json!({}), "errors"),
        (json!({"error_rate": "50%", "errors_after": "20m"}), "errors"),
        (json!({"latency": "50ms"}), "latency"),
    ] {
        assert_eq!(late(revision.clone(), alarm).rollouts.len(), 1, "{revision}");
    }
}

/// What was there at the start is available: no timer for it may reach another controller.
#[test]
fn pods_of_the_start_are_available_whatever_other_controllers_there_are() {
    let of = |name: &str| json!({"name": name, "kind": "deployment", "replicas": 2, "cpu": 0.05, "memory": "16MiB", "min_ready": "10s"});
    let fields = json!({
        "workloads": [of("other"), of("app")],
        "alarms": [{"name": "never"}],
        "automatic_rollbacks": [{"workload": "app", "alarm": "never"}],
    });
    let report = rolled(json!({}), fields, &[], json!([]));
    // A pipeline's workload is followed though nothing is wrong with its revisions.
    assert!(report.rollouts[0].completed, "{:?}", report.rollouts);
}

#[test]
fn a_loss_of_quorum_that_lasts_over_a_rollback_is_told_of_both_and_a_scale_is_a_cause() {
    let store = || json!({"replicas": 5, "parallel": true, "quorum": true, "update": {"max_unavailable": 3}, "revisions": [{"never_ready": true}]});
    let report = rolled(store(), json!({}), &[operation("6m", "roll_back_component")], json!([]));
    let [rollout, back] = &report.rollouts[..] else { panic!("{:?}", report.rollouts) };
    let (lost, goes_on) = (&rollout.quorum_lost[0], &back.quorum_lost[0]);
    assert!((58.0..60.1).contains(&lost.duration_s), "until the rollback: {lost:?}");
    assert_eq!((goes_on.cause.as_str(), goes_on.from_s), (lost.cause.as_str(), 360.0));
    let scale = json!({"at": "6m", "scale_workload": {"cluster": "c", "workload": "app", "replicas": 12}});
    let report = rolled(json!({"replicas": 5, "parallel": true, "quorum": true}), json!({}), &[scale], json!([]));
    assert!(report.rollouts[0].completed && report.rollouts[0].quorum_lost.is_empty(), "it was over: {:?}", report.rollouts);
    assert_eq!(
        report.quorum_losses[0].cause,
        "scaled to 12 pods while app-5, app-6, app-7, app-8, app-9, app-10 and app-11 were not ready"
    );
}

#[test]
fn rollouts_of_ordinary_workloads_are_in_the_report() {
    for kind in ["stateful_set", "deployment"] {
        let report = rolled(json!({"kind": kind, "revisions": []}), json!({}), &[], json!([]));
        let [rollout] = &report.rollouts[..] else { panic!("{kind}: {:?}", report.rollouts) };
        let pods: usize = rollout.batches.iter().map(|batch| batch.pods.len()).sum();
        assert!(rollout.completed && (rollout.revision, pods) == (1, 6), "{rollout:?}");
    }
}

#[test]
fn pods_that_a_scale_down_removes_are_in_no_batch_of_a_rollout() {
    let scale = json!({"at": "303s", "scale_workload": {"cluster": "c", "workload": "app", "replicas": 4}});
    let pods = |workload: Value| -> Vec<String> {
        let report = rolled(workload, json!({}), std::slice::from_ref(&scale), json!([]));
        let [rollout] = &report.rollouts[..] else { panic!("{:?}", report.rollouts) };
        assert!(rollout.completed, "{rollout:?}");
        rollout.batches.iter().flat_map(|batch| batch.pods.clone()).collect()
    };
    // The first had been replaced by then.
    assert_eq!(pods(json!({"kind": "stateful_set"})), ["app-5", "app-3", "app-2", "app-1", "app-0"]);
    let deployment = pods(json!({"kind": "deployment", "rollout": {"max_surge": 1, "max_unavailable": 0}}));
    assert_eq!(deployment.len(), 4, "two of six old ones go for the scale: {deployment:?}");
}

/// New pods that start, and old ones that terminate once others are ready, are missed by nobody.
#[test]
fn a_deployment_disrupts_no_more_zones_than_it_lacks_pods() {
    for (surge, unavailable) in [(0, 1), (0, 2), (1, 0), (1, 1), (3, 0), (3, 1), (3, 3), (6, 0), (6, 4)] {
        let fields = json!({"kind": "deployment", "rollout": {"max_surge": surge, "max_unavailable": unavailable}});
        let report = rolled(fields, json!({}), &[], json!([]));
        let rollout = &report.rollouts[0];
        assert!(rollout.completed && rollout.most_unavailable <= unavailable, "{rollout:?}");
        assert_eq!(
            rollout.zones_disrupted,
            unavailable.min(rollout.most_unavailable).min(3),
            "{surge}, {unavailable}: {rollout:?}"
        );
        assert!(unavailable > 1 || rollout.several_zones_s <= 0.0, "{surge}, {unavailable}: {rollout:?}");
    }
}

#[test]
fn a_partitioned_rollout_is_complete_when_the_pods_from_the_partition_on_are_new() {
    for (partition, deleted) in [(0, 6), (4, 2), (6, 0), (10, 0)] {
        let report = rolled(json!({"update": {"partition": partition}}), json!({}), &[], json!([]));
        let rollout = &report.rollouts[0];
        assert_eq!((rollout.completed, rollout.batches.len()), (true, deleted), "{rollout:?}");
    }
}

#[test]
fn a_rollout_behind_a_pod_that_is_never_ready_says_so() {
    let stuck = || json!({"revisions": [{"never_ready": true}]});
    let waits_for = |operations: &[Value]| {
        let rollout = rolled(stuck(), json!({}), operations, json!([])).rollouts.swap_remove(0);
        assert!(!rollout.completed, "{rollout:?}");
        rollout.waits_for
    };
    let told = Some("waits for app-5 to be ready".to_owned());
    assert_eq!(waits_for(&[]), told);
    // As it stood when it was rolled back.
    assert_eq!(waits_for(&[operation("10m", "roll_back_component")]), told);
}

/// Whoever takes the majority away, and whether there ever was a rollout or not.
#[test]
fn a_rollout_whose_pods_nobody_deletes_says_so() {
    let report = rolled(json!({"update": {"on_delete": true}}), json!({}), &[operation("10m", "roll_component")], json!([]));
    for rollout in &report.rollouts {
        let why = rollout.waits_for.as_deref();
        assert_eq!((rollout.completed, why), (false, Some("waits for somebody to delete its pods (`update.on_delete`)")));
    }
    assert_eq!(report.rollouts.len(), 2);
}

/// `DeploymentComplete` asks for `status.replicas`, which leaves pods out that are terminating.
#[test]
fn a_rollout_of_a_deployment_does_not_wait_for_the_last_pod_to_end() {
    let deployment = json!({"kind": "deployment", "rollout": {"max_surge": 1, "max_unavailable": 0}, "stop": "25s"});
    let report = rolled(deployment, json!({}), &[], json!([]));
    let rollout = &report.rollouts[0];
    let last = batches(rollout).pop().expect("pods are replaced");
    assert!(rollout.completed && (rollout.duration_s - last).abs() < 0.1, "{} s, the last after {last} s", rollout.duration_s);
}

#[test]
fn a_loss_of_quorum_outside_a_rollout_is_told() {
    let drain = |node: &str| json!({"at": "20m", "drain_node": {"cluster": "c", "node": node}});
    let drains = ["za-1", "za-2", "zb-1", "zb-2"].map(drain);
    let store = || json!({"replicas": 3, "quorum": true});
    let rolled_first = rolled(store(), json!({}), &drains, json!([]));
    assert!(rolled_first.rollouts[0].completed && rolled_first.rollouts[0].quorum_lost.is_empty(), "{:?}", rolled_first.rollouts);
    let mut file = json!({
        "name": "app", "kind": "stateful_set", "cpu": 0.05, "memory": "16MiB", "image": "1MiB", "start": "5s", "stop": "1s",
        "spread": [{"over": "zone", "max_skew": 1}],
    });
    file.as_object_mut().expect("an object").extend(store().as_object().expect("an object").clone());
    let never_rolled = report(cluster(2, json!({"workloads": [file]})), Value::from(&drains[..]), json!([]), 1);
    assert!(never_rolled.rollouts.is_empty());
    for report in [rolled_first, never_rolled] {
        let [loss] = &report.quorum_losses[..] else { panic!("{:?}", report.quorum_losses) };
        // No node of the third zone may take them.
        assert!((1_199.0..=1_200.0).contains(&loss.duration_s), "{loss:?}");
        assert!(loss.cause.starts_with("the drain of za-") && loss.cause.contains(" and the drain of zb-"), "{loss:?}");
        assert_eq!((loss.cluster.as_str(), loss.workload.as_str()), ("c", "app"));
    }
}

#[test]
fn report_names_who_deleted_each_pod() {
    let crash = |node: &str| json!({"at": "301s", "for": "20m", "kind": "node_crash", "node": node});
    let crash = json!([crash("za-1"), crash("za-2")]);
    let stuck = json!({"parallel": true, "revisions": [{"never_ready": true}]});
    let report = rolled(stuck, json!({}), &[], crash);
    let by: Vec<&str> = report.rollouts.iter().flat_map(|rollout| &rollout.batches).map(|batch| batch.by.as_str()).collect();
    assert!(by.contains(&"taint eviction") && by.contains(&"StatefulSet controller"), "{by:?}");
    let rollout = &report.rollouts[0];
    let own: Vec<String> = rollout
        .batches
        .iter()
        .filter(|batch| batch.by == "StatefulSet controller")
        .flat_map(|batch| batch.pods.clone())
        .collect();
    let sequence = rollout.sequence.split(|c: char| !c.is_ascii_digit()).filter(|ordinal| !ordinal.is_empty());
    assert_eq!(sequence.map(|ordinal| format!("app-{ordinal}")).collect::<Vec<_>>(), own, "{}", rollout.sequence);
}

#[test]
fn report_names_who_caused_a_quorum_loss() {
    let store = |most: u32| json!({"replicas": 5, "parallel": true, "quorum": true, "update": {"max_unavailable": most}});
    let losses = |most| rolled(store(most), json!({}), &[], json!([])).rollouts[0].quorum_lost.clone();
    assert_eq!(losses(2), []);
    let all = losses(3);
    assert_eq!(all[0].cause, "StatefulSet controller deleted app-4, app-3 and app-2");
    // Their ends take 1 s, their starts 5 s.
    assert!((6.0..9.0).contains(&all[0].duration_s), "{:?}", all[0]);
    // The next go as soon as one of these is ready.
    assert!(all[1..].iter().all(|loss| loss.cause.contains(" while app-")), "{all:?}");
    // While a node is down each deletion counts double.
    let crash = json!([{"at": "4m", "for": "20m", "kind": "node_crash", "node": "za-1"}]);
    let report = rolled(store(2), json!({}), &[], crash);
    let causes: Vec<&str> = report.rollouts[0].quorum_lost.iter().map(|loss| loss.cause.as_str()).collect();
    assert!(causes.iter().all(|cause| cause.contains(" while app-")), "{causes:?}");
}

/// An alarm that rings from 6 min to 10 min; the rollout begins at 5 min, and the next one at 8 min.
#[test]
fn the_times_in_which_an_alarm_pauses_rollouts_are_told() {
    let set = json!({"parallel": true, "update": {"on_delete": true}, "start": "30s"});
    let update = json!({
        "zone_aware_updates": [{"workload": "app", "max_unavailable": 1, "exponential_factor": 0, "pause_rollout_alarm": "errors"}],
        "alarms": [{"name": "errors", "rings": [{"at": "6m", "for": "4m"}]}],
    });
    let report = rolled(set, update, &[operation("8m", "roll_component")], json!([]));
    let pauses =
        |k: usize| report.rollouts[k].paused_by_alarm.iter().map(|pause| (pause.from_s, pause.from_s + pause.duration_s));
    let (first, second): (Vec<_>, Vec<_>) = (pauses(0).collect(), pauses(1).collect());
    let [(from, to)] = first[..] else { panic!("{first:?}") };
    assert!((360.0..365.0).contains(&from) && (to - 480.0).abs() < 1e-9, "{first:?}");
    let [(from, to)] = second[..] else { panic!("{second:?}") };
    assert!((from - 480.0).abs() < 1e-9 && (600.0..605.0).contains(&to), "{second:?}");
}
