//! Rollouts and zone-aware controllers of clusters without Gardener: what of them is wrong, and what they become.

use serde_json::{Value, json};

use crate::Scenario;
use crate::ids::{KubeClusterId, WorkloadId};
use crate::kube::update::{RevisionSpec, RollingUpdate, UpdateStrategy};
use crate::kube::zone_aware::{AutomaticRollback, LatencyAlarm, Rollback, ZoneBudgetAdmission};
use crate::units::int_or_percent::IntOrPercent::{Int, Percent};
use zonefall_kernel::time::{Duration, Time};

/// A cluster with a StatefulSet `db` and a Deployment `web`, with these fields of them and of the cluster.
fn file(db: Value, web: Value, cluster: Value) -> String {
    let merged = |mut value: Value, more: Value| {
        let Value::Object(more) = more else { panic!("fields are an object") };
        value.as_object_mut().expect("an object").extend(more);
        value
    };
    let db = merged(json!({"name": "db", "kind": "stateful_set", "replicas": 9}), db);
    let web = merged(json!({"name": "web", "kind": "deployment"}), web);
    let cluster = merged(
        json!({"name": "c", "zones": ["a"], "pools": [{"name": "p", "minimum": 1, "maximum": 1}], "workloads": [db, web]}),
        cluster,
    );
    let topology = json!({"regions": [{"name": "r", "zones": ["a"]}]});
    json!({"name": "plain", "duration": "1m", "topology": topology, "clusters": [cluster]}).to_string()
}

#[test]
fn rollouts_reach_the_model() {
    let db = json!({
        "update": {"partition": 3, "max_unavailable": "20%"},
        "min_ready": "10s",
        "quorum": true,
        "revisions": [
            {"never_ready": true},
            {
                "crashes_after": "1m", "error_rate": "5%", "errors_after": "2s", "latency": "100ms", "latency_after": "3s",
                "error_rate_beside_others": 0.5, "own_quorum": true,
            },
        ],
    });
    let web = json!({"min_ready": "5s", "progress_deadline": "3m"});
    let cluster = json!({
        "zone_aware_updates": [
            {"workload": "db", "max_unavailable": "33%", "pause_rollout_alarm": "e", "dry_run": true, "rollback": "readme",
             "bake_time": "2m"},
        ],
        "automatic_rollbacks": [{"workload": "web", "alarm": "e", "interval": "30s"}],
        "alarms": [
            {"name": "e", "rings": [{"at": "30s", "for": "2m"}], "error_rate": {"workload": "web", "threshold": "1%"},
             "latency": {"workload": "db", "threshold": "50ms", "period": "2m"}},
        ],
        "zone_disruption_budgets": [{"name": "z", "pods": "app=db", "max_unavailable": 2, "zdb": "strict"}],
    });
    let scenario = Scenario::from_json(&file(db, web, cluster)).unwrap_or_else(|errors| panic!("{errors}"));
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    let update = &cluster.workloads[WorkloadId(0)].update;
    let rolling = RollingUpdate { partition: 3, max_unavailable: Some(Percent(20)) };
    assert_eq!((update.strategy, update.min_ready), (UpdateStrategy::RollingUpdate(rolling), Duration::from_secs(10)));
    assert_eq!([0, 1, 2, 3].map(|number| update.revision(number).is_bad()), [false, true, true, false]);
    let (minute, s) = (Duration::from_secs(60), Duration::from_secs);
    let second = RevisionSpec {
        never_ready: false,
        crashes_after: Some(minute),
        error_rate: 0.05,
        errors_after: s(2),
        latency: Duration::from_millis(100),
        latency_after: s(3),
        error_rate_beside_others: 0.5,
        own_quorum: true,
    };
    assert_eq!((update.revision(2), update.quorum), (second, true));
    let web = &cluster.workloads[WorkloadId(1)].update;
    assert_eq!((web.min_ready, web.progress_deadline, web.quorum), (s(5), Some(s(180)), false));
    let rollback = AutomaticRollback { workload: WorkloadId(1), alarm: 0, interval: s(30), lasts: s(3_600) };
    assert_eq!(cluster.zone_aware.rollbacks, [rollback]);
    let [zau] = &cluster.zone_aware.updates[..] else { panic!("{:?}", cluster.zone_aware) };
    assert_eq!(zau.bake_time, s(120));
    assert_eq!((zau.workload, zau.alarm, zau.options.max_unavailable), (WorkloadId(0), Some(0), Percent(33)));
    assert!((zau.options.exponential_factor - 2.0).abs() < f64::EPSILON && zau.options.rollback == Rollback::Readme);
    let alarm = &cluster.zone_aware.alarms[0];
    assert_eq!(alarm.rings, [(Time::ZERO + s(30), Time::ZERO + s(150))]);
    assert_eq!(alarm.error_rate.map(|alarm| (alarm.workload, alarm.period)), Some((WorkloadId(1), minute)));
    let latency = LatencyAlarm { workload: WorkloadId(0), threshold: Duration::from_millis(50), period: s(120) };
    assert_eq!(alarm.latency, Some(latency));
    let budget = &cluster.zone_aware.budgets[0];
    assert_eq!((budget.max_unavailable, budget.admission), (Int(2), ZoneBudgetAdmission::Strict));
}

#[test]
fn what_is_wrong_with_rollouts() {
    let update = |workload: &str| json!({"workload": workload, "max_unavailable": 1});
    for (db, web, cluster, expected) in [
        (
            json!({"update": {"on_delete": true, "partition": 1}}),
            json!({"update": {}, "min_ready": "1s", "revisions": [{"own_quorum": true}]}),
            json!({"automatic_rollbacks": [{"workload": "web", "alarm": "e", "interval": "2m", "for": "1m"}]}),
            "clusters[0].workloads[0].update: expected neither `partition` nor `max_unavailable`: they are of rolling updates; found `on_delete` with one of these\n\
             clusters[0].workloads[1].update: expected none: only a StatefulSet has it here; found it\n\
             clusters[0].workloads[1].revisions[0].own_quorum: expected a workload with `quorum`; found it\n\
             clusters[0].automatic_rollbacks[0].alarm: expected the name of an alarm: nothing (there are none); found \"e\"\n\
             clusters[0].automatic_rollbacks[0].interval: expected at most `for`: it would never look; found \"2m\"",
        ),
        (
            json!({"progress_deadline": "1m"}),
            json!({"min_ready": "10m"}),
            json!({}),
            "clusters[0].workloads[0].progress_deadline: expected none: only a Deployment has it here; found it\n\
             clusters[0].workloads[1].min_ready: expected less than `progress_deadline` (10m if left out); found \"10m\"",
        ),
        (
            json!({"update": {"on_delete": true}}),
            json!({}),
            json!({"zone_aware_updates": [update("db"), update("db"), update("web"), update("bd")]}),
            "clusters[0].zone_aware_updates[1].workload: expected each StatefulSet once; found \"db\" again\n\
             clusters[0].zone_aware_updates[2].workload: expected a StatefulSet; found \"web\"\n\
             clusters[0].zone_aware_updates[3].workload: expected the name of a workload (did you mean \"db\"?); found \"bd\"",
        ),
        (
            json!({"update": {"max_unavailable": "101%"}}),
            json!({}),
            json!({"zone_aware_updates": [{"workload": "db", "max_unavailable": "200%", "pause_rollout_alarm": "e"}]}),
            "clusters[0].workloads[0].update.max_unavailable: expected at most 100%; found \"101%\"\n\
             clusters[0].zone_aware_updates[0].workload: expected a StatefulSet with `update.on_delete`, or a `dry_run`: the program does nothing else; found \"db\" without `update.on_delete`\n\
             clusters[0].zone_aware_updates[0].max_unavailable: expected at most 100%; found \"200%\"\n\
             clusters[0].zone_aware_updates[0].pause_rollout_alarm: expected the name of an alarm: nothing (there are none); found \"e\"",
        ),
        (
            json!({}),
            json!({}),
            json!({
                "zone_disruption_budgets": [
                    {"name": "z", "pods": "app in (db, web)", "max_unavailable": 1},
                    {"name": "z", "pods": "app=db", "max_unavailable": "101%"},
                ],
                "alarms": [{"name": "a", "error_rate": {"workload": "wbe", "threshold": 0.5}}],
            }),
            "clusters[0].alarms[0].error_rate.workload: expected the name of a workload (did you mean \"web\"?); found \"wbe\"\n\
             clusters[0].zone_disruption_budgets[0].pods: expected pods of StatefulSets: the program knows no other controllers; found \"app in (db, web)\", which selects pods of web\n\
             clusters[0].zone_disruption_budgets[1].name: expected a name that no other has: it already names a zone disruption budget; found \"z\" again\n\
             clusters[0].zone_disruption_budgets[1].max_unavailable: expected at most 100%; found \"101%\"",
        ),
        (
            json!({"rollout": {"max_surge": 1, "max_unavailable": 0}}),
            json!({}),
            json!({}),
            "clusters[0].workloads[0].rollout: expected none: only a Deployment has it here; found it",
        ),
        (
            json!({"update": {"max_unavailable": 0}}),
            json!({"rollout": {"max_surge": 0, "max_unavailable": "0%"}}),
            json!({}),
            "clusters[0].workloads[0].update.max_unavailable: expected at least 1: the API rejects 0; found 0\n\
             clusters[0].workloads[1].rollout.max_unavailable: expected more than 0 where `max_surge` is 0: the API rejects it, because no pod could be replaced; found 0 of both",
        ),
        (
            json!({}),
            json!({"rollout": {"max_surge": "150%", "max_unavailable": "150%"}}),
            json!({"alarms": [{"name": "a", "rings": [{"at": "59s"}, {"at": "1m"}]}]}),
            "clusters[0].workloads[1].rollout.max_unavailable: expected at most 100%; found \"150%\"\n\
             clusters[0].alarms[0].rings[1].at: expected a time before the end of the run (`duration`); found \"1m\"",
        ),
    ] {
        let found = Scenario::from_json(&file(db, web, cluster)).err().map_or_else(String::new, |errors| errors.to_string());
        assert_eq!(found, expected);
    }
}

#[test]
fn what_rollouts_cannot_use_is_warned_of() {
    let warnings = |cluster: Value| {
        let scenario = Scenario::from_json(&file(json!({"update": {"on_delete": true}}), json!({}), cluster));
        let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}"));
        scenario.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let budgets = |pods: &str| {
        json!({
            "budgets": [{"name": "b", "pods": pods, "max_unavailable": 1}],
            "zone_disruption_budgets": [{"name": "z", "pods": pods, "max_unavailable": 1}],
        })
    };
    assert_eq!(warnings(budgets("app=db")), [""; 0]);
    let expected = "expected labels of the pods of a workload: the budget limits nothing; found \"app=bd\"";
    assert_eq!(
        warnings(budgets("app=bd")),
        [format!("clusters[0].zone_disruption_budgets[0].pods: {expected}"), format!("clusters[0].budgets[0].pods: {expected}")]
    );
    assert_eq!(
        warnings(json!({"zone_aware_updates": [{"workload": "db", "max_unavailable": "0%"}]})),
        [
            "clusters[0].zone_aware_updates[0].max_unavailable: expected more than 0: otherwise it deletes no pod, and the rollout never ends; found \"0%\""
        ]
    );
    let factor =
        |factor: f64| json!({"zone_aware_updates": [{"workload": "db", "max_unavailable": 1, "exponential_factor": factor}]});
    assert_eq!(
        warnings(factor(0.5)),
        [
            "clusters[0].zone_aware_updates[0].exponential_factor: expected 0, or at least 1: after its first pod it deletes no other, and the rollout never ends; found 0.5"
        ]
    );
    assert_eq!([0.0, 1.0].map(|right| warnings(factor(right)).len()), [0, 0]);
}

#[test]
fn settings_of_rollouts_that_change_nothing_are_warned_of() {
    let budget = |name: &str, pods: &str| json!({"name": name, "pods": pods, "max_unavailable": 1});
    let zone_budget = |name: &str, zdb: &str| json!({"name": name, "pods": "app=db", "max_unavailable": 1, "zdb": zdb});
    let alarm = |threshold: f64| json!({"alarms": [{"name": "a", "error_rate": {"workload": "web", "threshold": threshold}}]});
    let (of, none) = (|path: &str, text: &str| vec![format!("clusters[0].{path}: expected {text}")], Vec::new);
    let several = |found: &str| format!("pods of no other budget: the API evicts no pod that several select; found {found}");
    for (db, cluster, expected) in [
        (
            json!({"revisions": [{"errors_after": "1s"}, {"errors_after": "1s", "error_rate": 0.1}]}),
            json!({}),
            of(
                "workloads[0].revisions[0].errors_after",
                "an `error_rate` of more than 0 beside it: it changes nothing; found \"1s\"",
            ),
        ),
        (
            json!({"revisions": [{"latency_after": "1s"}, {"latency_after": "1s", "latency": "1s"}]}),
            json!({}),
            of("workloads[0].revisions[0].latency_after", "a `latency` beside it: it changes nothing; found \"1s\""),
        ),
        (json!({}), alarm(0.0), of("alarms[0].error_rate.threshold", "more than 0: it rings always; found 0")),
        (json!({}), alarm(0.01), none()),
        (
            json!({"max_unavailable": 1}),
            json!({"budgets": [budget("b", "app=db")]}),
            of("budgets[0].pods", &several("\"app=db\", which selects those of db, as its own `max_unavailable` does")),
        ),
        (
            json!({}),
            json!({"budgets": [budget("a", "app=db"), budget("b", "app in (db, web)")]}),
            of("budgets[1].pods", &several("\"app in (db, web)\", which selects those of db, as budgets[0] does")),
        ),
        (json!({"max_unavailable": 1}), json!({"budgets": [budget("b", "app=web")]}), none()),
        (
            json!({}),
            json!({"zone_disruption_budgets": [zone_budget("y", "code"), zone_budget("z", "code")]}),
            of(
                "zone_disruption_budgets[1].pods",
                "pods of no other one with `zdb: \"code\"`: the program asks the first; \
                 found \"app=db\", which selects those of db, as zone_disruption_budgets[0] does",
            ),
        ),
        (json!({}), json!({"zone_disruption_budgets": [zone_budget("y", "strict"), zone_budget("z", "code")]}), none()),
        (json!({}), json!({"zone_disruption_budgets": [zone_budget("y", "code"), zone_budget("z", "strict")]}), none()),
    ] {
        let scenario = Scenario::from_json(&file(db, json!({}), cluster)).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(scenario.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_rollout_that_replaces_no_pod_is_warned_of() {
    let of = |text: &str| vec![format!("operations[0].roll_component.component: expected {text}")];
    let partition = |partition: u32| json!({"update": {"partition": partition}});
    let on_delete = || json!({"update": {"on_delete": true}});
    let scaled = json!({"at": "20s", "scale_workload": {"cluster": "c", "workload": "db", "replicas": 12}});
    let updated = json!({"zone_aware_updates": [{"workload": "db", "max_unavailable": 1}]});
    let all_left = "an `update.partition` below its 9 replicas: no pod is replaced; found one of 9";
    let nobody =
        "one whose pods somebody deletes, as a ZoneAwareUpdate does: none is replaced; found one with `update.on_delete`";
    for (db, cluster, more, expected) in [
        (partition(9), json!({}), None, of(all_left)),
        (partition(8), json!({}), None, Vec::new()),
        (partition(9), json!({}), Some(scaled.clone()), Vec::new()),
        (on_delete(), json!({}), None, of(nobody)),
        (on_delete(), updated, None, Vec::new()),
        (on_delete(), json!({}), Some(scaled), Vec::new()),
    ] {
        let mut file: Value = serde_json::from_str(&file(db, json!({}), cluster)).expect("JSON");
        let roll = json!({"at": "10s", "roll_component": {"cluster": "c", "component": "db"}});
        file["operations"] = [roll].into_iter().chain(more).collect();
        let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(scenario.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_rollback_before_any_rollout_is_warned_of() {
    let mut file: Value = serde_json::from_str(&file(json!({}), json!({}), json!({}))).expect("JSON");
    let operation = |at: &str, kind: &str, component: &str| json!({"at": at, kind: {"cluster": "c", "component": component}});
    file["operations"] = json!([
        operation("20s", "roll_back_component", "db"),
        operation("10s", "roll_component", "db"),
        operation("20s", "roll_back_component", "web"),
    ]);
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let warned: Vec<String> = scenario.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warned,
        [
            "operations[2].roll_back_component.component: expected a component that was rolled out before: there is no revision to return to, and nothing happens; found one that was not"
        ]
    );
}

#[test]
fn a_pool_that_is_too_small_for_its_zones_is_warned_of() {
    // Only a static distribution leaves zones without nodes for good.
    for (maximum, sizing, found) in
        [(0, "static", 0), (1, "static", 1), (2, "static", 0), (1, "lax_greedy", 0), (1, "backward_compatible", 0)]
    {
        let components = json!(["kube_controller_manager", "kube_scheduler", "machine_controller_manager", "cluster_autoscaler"]);
        let cluster = json!({
            "zones": ["a", "b"], "pools": [{"name": "p", "minimum": 0, "maximum": maximum}], "components": components,
            "controllers": {"cluster_autoscaler": {"sizing": sizing}},
        });
        let mut file: Value = serde_json::from_str(&file(json!({}), json!({}), cluster)).expect("JSON");
        file["topology"]["regions"][0]["zones"] = json!(["a", "b"]);
        let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        let warned: Vec<String> = scenario.warnings.iter().map(ToString::to_string).collect();
        let expected =
            "clusters[0].pools[0].maximum: expected at least 2, a node for each zone of the pool: some zones get none; found 1";
        assert_eq!(warned.iter().filter(|warning| *warning == expected).count(), found, "{maximum}, {sizing}: {warned:?}");
    }
}

#[test]
fn operations_on_a_cluster_that_failed_add_no_error() {
    let mut file: Value =
        serde_json::from_str(&file(json!({}), json!({}), json!({"controllers": {"cluster_autoscaler": {}}}))).expect("JSON");
    file["operations"] = json!([
        {"at": "10s", "roll_component": {"cluster": "c", "component": "db"}},
        {"at": "10s", "scale_workload": {"cluster": "c", "workload": "db", "replicas": 3}},
    ]);
    let errors = Scenario::from_json(&file.to_string()).expect_err("no component reads the options").to_string();
    assert!(errors.starts_with("clusters[0].controllers.cluster_autoscaler: ") && errors.lines().count() == 1, "{errors}");
}

#[test]
fn workloads_that_operations_roll_are_followed() {
    let mut file: Value = serde_json::from_str(&file(json!({}), json!({}), json!({}))).expect("JSON");
    file["operations"] = json!([{"at": "10s", "pause_rollout": {"cluster": "c", "component": "web"}}]);
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let followed = scenario.kube.clusters[KubeClusterId(0)].workloads.iter().map(|workload| workload.update.followed);
    assert_eq!(followed.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn stale_cache_is_one_of_a_cluster_with_zone_aware_updates() {
    let stale = |cluster: &str, fields: Value| {
        let mut file: Value =
            serde_json::from_str(&file(json!({"update": {"on_delete": true}}), json!({}), fields)).expect("JSON");
        file["faults"] = json!([{"at": "10s", "for": "20s", "kind": "stale_cache", "cluster": cluster}]);
        Scenario::from_json(&file.to_string())
    };
    let updates = json!({"zone_aware_updates": [{"workload": "db", "max_unavailable": 1}]});
    let scenario = stale("c", updates.clone()).unwrap_or_else(|errors| panic!("{errors}"));
    let fault = &scenario.faults[0].fault;
    let kind = fault.kind();
    assert_eq!(
        [kind.began(&scenario), kind.ongoing(&scenario), kind.ended(&scenario)],
        [
            "the cache of c's ZoneAwareUpdate controller became stale",
            "the cache of c's ZoneAwareUpdate controller still stale",
            "the cache of c's ZoneAwareUpdate controller is up to date again",
        ]
    );
    let raw = serde_json::to_value(kind.raw(&scenario)).expect("plain data");
    assert_eq!(raw, json!({"kind": "stale_cache", "cluster": "c"}));
    assert_eq!(fault.check(&scenario), Ok(()));
    assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
    let bakes = json!({"zone_aware_updates": [{"workload": "db", "max_unavailable": 1, "bake_time": "1m"}]});
    let warned = stale("c", bakes).unwrap_or_else(|errors| panic!("{errors}")).warnings;
    let told = "faults[0].cluster: expected a cluster whose `zone_aware_updates` have no `bake_time`: it stands for operators, who see the pods as they are; found \"c\"";
    assert_eq!(warned.iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
    let error = |cluster: &str, fields: Value| stale(cluster, fields).expect_err("it is wrong").to_string();
    let expected = "faults[0].cluster: expected the name of a cluster with `zone_aware_updates`";
    assert_eq!(error("d", updates), format!("{expected}: \"c\" (did you mean \"c\"?); found \"d\""));
    assert_eq!(error("c", json!({})), format!("{expected}: there is none; found \"c\""));
    let without = Scenario::from_json(&file(json!({}), json!({}), json!({}))).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(fault.check(&without), Err("expected the name of a cluster with `zone_aware_updates`".to_owned()));
}
