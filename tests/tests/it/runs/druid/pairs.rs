//! Shoots whose etcd clusters are pairs (GEP-20, appendix, "etcd Active-Passive Options"): druid switches, while it can act.

use serde_json::{Value, json};

use super::{MAIN, Seen, dark, file, landscape, parsed, run, zones};
use zonefall_core::ids::{MemberId, ZoneId};
use zonefall_core::kube::record::KubeRecord;
use zonefall_core::kube::spec::Component;
use zonefall_core::report::{EtcdReport, FailoverReport};
use zonefall_core::sim::Role;

/// From one check to the next, and so many must fail.
const CHECKS: (f64, f64) = (30.0, 3.0);
/// What a lease of a holder that is gone costs at most: it expires (15 s) after the last renewal was seen (up to 4.4 s after it), and
/// is taken at a try (4.4 s apart).
const LEASE: f64 = 24.0;
/// From the end of the checks: all of a small bucket is applied, the process starts and elects itself.
const TAKES_OVER: f64 = 8.0;

fn pair(mode: &str, tolerance: &str) -> Value {
    json!({"failure_tolerance": tolerance, "etcd": {"mode": {mode: {}}}})
}

/// Writes once a second to `etcd-main`, from outside the seed's zones.
fn with_writer(mut file: Value) -> Value {
    let writer = json!({"name": "w", "etcd": "shoot--garden--s/etcd-main", "zone": "parent", "op": "put", "rate": "1/s", "target": "leader"});
    file["clients"] = json!([writer]);
    file
}

fn etcd<'a>(seen: &'a Seen, set: &str) -> &'a EtcdReport {
    &seen.report.etcd[&format!("shoot--garden--s/{set}")]
}

fn only<'a>(seen: &'a Seen, set: &str) -> &'a FailoverReport {
    let [one] = &etcd(seen, set).failovers[..] else { panic!("{set}: {:?}", etcd(seen, set).failovers) };
    assert!(one.completed, "{one:?}");
    one
}

fn roles(seen: &Seen) -> [Role; 2] {
    let [first, second] = &seen.run.simulation().members(MAIN)[..] else { panic!("two members") };
    [first.role, second.role]
}

/// Whether each pod of `etcd-main` is ready at the end.
fn ready(seen: &Seen) -> Vec<(String, String, bool)> {
    let main = seen.report.pods.iter().filter(|pod| pod.owner == "etcd-main");
    let mut pods: Vec<_> = main.map(|pod| (pod.name.clone(), pod.zone.clone().unwrap_or_default(), pod.ready)).collect();
    pods.sort();
    pods
}

#[test]
fn both_pairs_of_a_shoot_survive_a_zone() {
    let both = [("hot_standby", Role::Standby, 0.0..301.0), ("learner", Role::Learner, 0.0..1.2)];
    for (mode, back, window) in both {
        for seed in [1, 2] {
            let seen = run(&parsed(&with_writer(file(9, &pair(mode, "zone"), "80m", &dark("za"), &json!([])))), seed);
            for set in ["etcd-main", "etcd-events"] {
                let switch = only(&seen, set);
                assert_eq!((switch.from.clone(), switch.to.clone()), (format!("{set}-0"), format!("{set}-1")));
                let (period, failures) = CHECKS;
                let noticed = switch.detected_s - 600.0;
                assert!((period * (failures - 1.0)..=period * failures + LEASE).contains(&noticed), "{mode}: {switch:?}");
                assert!(switch.serving_s - switch.detected_s < TAKES_OVER, "{mode}: {switch:?}");
                assert!((etcd(&seen, set).write_unavailable_s - switch.duration_s).abs() < 1e-6, "{mode}");
            }
            assert!(window.contains(&only(&seen, "etcd-main").lost_window_s), "{mode}: {:?}", only(&seen, "etcd-main"));
            // API servers find the member that serves: a dial that waits (20 s), a readiness check (10 s).
            let api = &seen.report.api["shoot--garden--s"];
            let took = only(&seen, "etcd-main").duration_s;
            assert!(
                (took..took + 40.0).contains(&api.write_unavailable_s),
                "{mode}: {took} s, API {} s",
                api.write_unavailable_s
            );
            // Its volume cannot leave za: one that could take over is missing for the hour, and until its pod is back and restored.
            let missing = etcd(&seen, "etcd-main").no_fault_tolerance_s;
            assert!((3_600.0..3_900.0).contains(&missing), "{mode}: {missing} s");
            assert_eq!(roles(&seen), [back, Role::Leader], "{mode}");
            assert_eq!(
                ready(&seen).iter().map(|(_, zone, ready)| (&zone[..], *ready)).collect::<Vec<_>>(),
                [("za", true), ("zb", true)]
            );
        }
    }
}

/// Nobody checks while the seed's API does not answer: the shoot waits for the seed.
#[test]
fn a_seed_without_a_control_plane_switches_late() {
    let mut faults = dark("za");
    faults.as_array_mut().expect("faults").push(json!({"at": "9m", "for": "20m", "kind": "zone_power", "zone": "parent"}));
    for mode in ["hot_standby", "learner"] {
        let seen = run(&landscape(&pair(mode, "zone"), "60m", &faults, &json!([])), 3);
        let is_active = seen.kube(|fact| match fact {
            KubeRecord::ControllerActive(Component::Druid, is_active) => Some(*is_active),
            _ => None,
        });
        let again = is_active.iter().find(|(at, is_active)| *is_active && *at > 600.0).expect("the seed comes back").0;
        assert!(again > 29.0 * 60.0, "{is_active:?}");
        let (period, failures) = CHECKS;
        let switch = only(&seen, "etcd-main");
        assert!((period * (failures - 1.0)..=period * failures).contains(&(switch.detected_s - again)), "{again}: {switch:?}");
        assert!((switch.at_s - 600.0).abs() < 1e-6, "silent since the power went: {switch:?}");
    }
}

/// The only pod of druid is in the zone: nobody checks until it is evicted and runs elsewhere.
#[test]
fn a_druid_that_is_gone_switches_late() {
    let mut file = file(9, &pair("learner", "zone"), "40m", &dark("za"), &json!([]));
    let node = |zone: &str, k: u32| json!({"name": format!("node-{zone}{k}"), "pool": "cpu", "zone": format!("z{zone}")});
    file["seeds"][0]["nodes"] = ["a", "b", "c"].iter().flat_map(|zone| [node(zone, 1), node(zone, 2)]).collect();
    let druid = |node: &str| json!([{"name": "etcd-druid", "replicas": 1, "pods": [{"name": "etcd-druid-6b94bcbc4-9bz8q", "node": node}]}]);
    let detected = ["node-a1", "node-b1"].map(|node| {
        file["seeds"][0]["system"] = json!({"components": druid(node)});
        only(&run(&parsed(&file), 1), "etcd-main").detected_s - 600.0
    });
    let (period, failures) = CHECKS;
    assert!((period * (failures - 1.0)..=period * failures).contains(&detected[1]), "{detected:?}");
    // 2 min of grace and 5 min of toleration, less the age of a lease (10 s); then as ever.
    assert!(detected[0] > 410.0 + period * (failures - 1.0), "{detected:?}");
}

/// A node fails: the other member takes over, and the pod is replaced in its zone, with its volume.
#[test]
fn who_loses_its_node_comes_back_on_another() {
    for (mode, back) in [("hot_standby", Role::Standby), ("learner", Role::Learner)] {
        let mut file = file(18, &pair(mode, "node"), "60m", &json!([]), &json!([]));
        let node = |k: u32| json!({"name": format!("node-{k}"), "pool": "cpu", "zone": "za"});
        file["seeds"][0]["nodes"] = (0..6).map(node).collect();
        let pods =
            |set: &str| json!([{"name": format!("{set}-0"), "node": "node-0"}, {"name": format!("{set}-1"), "node": "node-1"}]);
        for (k, set) in ["etcd-main", "etcd-events"].iter().enumerate() {
            file["shoots"][0]["components"][k]["pods"] = pods(set);
        }
        file["faults"] = json!([{"at": "10m", "kind": "node_crash", "node": "node-0"}]);
        let seen = run(&parsed(&file), 1);
        assert_eq!(roles(&seen), [back, Role::Leader], "{mode}");
        assert!(ready(&seen).iter().all(|(_, zone, ready)| zone == "za" && *ready), "{mode}: {:?}", ready(&seen));
        let moved = seen.run.simulation().node_name_of(MemberId { cluster: MAIN, index: 0 });
        assert!(moved != "node-0" && moved != "node-1", "{moved}");
        assert_eq!(only(&seen, "etcd-events").to, "etcd-events-1");
    }
}

/// A zone that is cut off goes on with what it has, which is thrown away when it is back.
#[test]
fn who_was_cut_off_is_displaced() {
    let cut = json!([{"at": "10m", "for": "5m", "kind": "zone_partition", "zone": "za"}]);
    for (mode, back) in [("hot_standby", Role::Standby), ("learner", Role::Learner)] {
        let seen = run(&landscape(&pair(mode, "zone"), "30m", &cut, &json!([])), 2);
        assert_eq!(only(&seen, "etcd-main").to, "etcd-main-1");
        assert_eq!(roles(&seen), [back, Role::Leader], "{mode}");
        assert!(ready(&seen).iter().all(|(.., ready)| *ready), "{mode}: {:?}", ready(&seen));
    }
}

/// Members are restarted one after the other: each time etcd is gone for as long as the one that serves takes to come back, which is
/// too short for a switch.
#[test]
fn a_rollout_interrupts_and_does_not_switch() {
    let roll = json!([{"at": "10m", "roll_component": {"shoot": "s", "component": "etcd-main"}}]);
    for mode in ["hot_standby", "learner"] {
        let seen = run(&landscape(&pair(mode, "zone"), "30m", &json!([]), &roll), 1);
        assert_eq!(etcd(&seen, "etcd-main").failovers, [], "{mode}");
        let gone = etcd(&seen, "etcd-main").write_unavailable_s;
        assert!((0.5..60.0).contains(&gone), "{mode}: {gone} s");
        assert!(ready(&seen).iter().all(|(.., ready)| *ready), "{mode}: {:?}", ready(&seen));
        assert_eq!(zones(&seen.run).len(), 1, "{mode}: one votes");
        assert!(seen.run.simulation().zone_of(MemberId { cluster: MAIN, index: 0 }) == ZoneId(0));
    }
}
