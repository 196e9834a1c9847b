//! What no scenario could hold is refused, also where a user injects it.

use serde_json::{Value, json};
use zonefall_kernel::time::Duration;

use super::messages::changed;
use super::*;
use crate::ids::{MemberId, NodeId, VolumeId, ZoneId};

#[test]
fn what_no_scenario_could_hold_is_refused() {
    let scenario = Scenario::from_json(default_scenario().json).expect("bundled scenarios are valid");
    let change = |delay, loss, bytes_per_s| LinkChange { delay, loss, bytes_per_s };
    let link = |change| Fault::LinkDegraded(LinkDegraded { a: ZoneId(0), b: ZoneId(1), change });
    let slow = |add, factor| Fault::DiskSlow(DiskSlow { volume: FaultTarget::Named(VolumeId(0)), add, factor });
    let member =
        |cluster, index| Fault::ProcessKill(ProcessKill(FaultTarget::Named(MemberId { cluster: EtcdId(cluster), index })));
    let zero = Duration::ZERO;
    let cloud = |zone, create, delete| Fault::CloudApi(CloudApi { zone, create, delete, attach: None, error_rate: 1.0 });
    let refused = Some(CloudAnswer::Refused);
    for (fault, expected) in [
        (Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(2)))), None),
        (Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(3)))), Some("no zone 3")),
        (Fault::NodeCrash(NodeCrash(FaultTarget::OfLeader(EtcdId(0)))), None),
        (Fault::NodeCrash(NodeCrash(FaultTarget::OfLeader(EtcdId(9)))), Some("no etcd cluster 9")),
        (Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(77)))), Some("no volume 77")),
        (member(0, 2), None),
        (member(0, 200), Some("no member 200")),
        (member(8, 0), Some("no etcd cluster 8")),
        (link(change(zero, 0.5, None)), None),
        (link(change(zero, f64::NAN, None)), Some("NaN")),
        (link(change(zero, 1.0, None)), None),
        (link(change(zero, 1.1, None)), Some("from 0 to 1")),
        (link(change(Duration::MAX, 0.0, None)), Some("of added delay")),
        (link(change(zero, 0.0, Some(0))), Some("1 B/s")),
        (link(change(zero, 0.0, None)), Some("expected added delay")),
        (slow(zero, 3.0), None),
        (slow(zero, f64::INFINITY), Some("inf")),
        (slow(zero, 1.0), Some("expected added time")),
        (slow(Duration::MAX, 1.0), Some("at most 1h added")),
        (cloud(Some(ZoneId(2)), Some(CloudAnswer::OutOfStock), refused), None),
        (cloud(Some(ZoneId(3)), None, refused), Some("no zone 3")),
        (cloud(None, None, Some(CloudAnswer::OutOfStock)), Some("fail as out of stock")),
        (cloud(None, None, None), Some("at least one kind of call")),
    ] {
        match (fault.check(&scenario), expected) {
            (Ok(()), None) => {}
            (Err(found), Some(expected)) => assert!(found.contains(expected), "{fault:?}: {found}"),
            (found, _) => panic!("{fault:?}: {found:?}"),
        }
    }
}

#[test]
fn amount_that_is_offered_is_the_amount_of_the_offered_fault() {
    let scenario = Scenario::from_json(default_scenario().json).expect("bundled scenarios are valid");
    let between = Hit::Link(Place::Zone(ZoneId(0)), Place::Zone(ZoneId(1)));
    let things = [
        Hit::Node(FaultTarget::Named(NodeId(0))),
        Hit::Zone(FaultTarget::Named(ZoneId(0))),
        Hit::Member(FaultTarget::Named(MemberId { cluster: EtcdId(0), index: 0 })),
        Hit::Volume(FaultTarget::Named(VolumeId(0))),
        between,
    ];
    let mut graded = 0;
    for offer in things.into_iter().flat_map(|thing| offers(thing, &scenario)) {
        assert_eq!(offer.fault.check(&scenario), Ok(()), "{}", offer.id);
        let Some(amount) = offer.fault.kind().amount() else { continue };
        assert_eq!(amount.put_into(&offer.fault, amount.usual, &scenario), Ok(offer.fault.clone()));
        assert!(amount.put_into(&offer.fault, "much", &scenario).is_err());
        graded += 1;
    }
    assert_eq!(graded, 5, "slow disk, slow network, and three of a link");
    let change = |delay, loss, bytes_per_s| LinkChange { delay: Duration::from_millis(delay), loss, bytes_per_s };
    for (usual, text, expected) in [
        (change(50, 0.0, None), "1 s", change(1_000, 0.0, None)),
        (change(0, 0.05, None), "30 %", change(0, 0.3, None)),
        (change(0, 0.0, Some(1 << 20)), "8kbit/s", change(0, 0.0, Some(1_000))),
    ] {
        let link = |change| Fault::LinkDegraded(LinkDegraded { a: ZoneId(0), b: ZoneId(1), change });
        let amount = link(usual).kind().amount().expect("a link is worse by something");
        assert_eq!(amount.put_into(&link(usual), text, &scenario), Ok(link(expected)));
    }
}

#[test]
fn what_is_offered_can_be_written_into_the_file_it_is_offered_for() {
    let mut written = 0;
    for bundled in crate::bundled() {
        let scenario = Scenario::from_json(bundled.json).expect("bundled scenarios are valid");
        let zones = scenario.zones.keys().map(|zone| Hit::Zone(FaultTarget::Named(zone)));
        let nodes = scenario.nodes.keys().take(3).map(|node| Hit::Node(FaultTarget::Named(node)));
        let leaders = scenario.etcd.keys().take(1).map(|etcd| Hit::Node(FaultTarget::OfLeader(etcd)));
        let members = scenario.etcd.keys().take(5).map(|cluster| MemberId { cluster, index: 0 });
        let members = members
            .flat_map(|id| [Hit::Member(FaultTarget::Named(id)), Hit::Volume(FaultTarget::Named(scenario.member(id).volume))]);
        let link = [Hit::Link(Place::Zone(ZoneId(0)), Place::Zone(ZoneId((scenario.zones.len() - 1) as u16)))];
        let things: Vec<Hit> = zones.chain(nodes).chain(leaders).chain(members).chain(link).collect();
        for fault in things.into_iter().flat_map(|thing| offers(thing, &scenario)).map(|offer| offer.fault) {
            let mut file: serde_json::Value = serde_json::from_str(bundled.json).expect("it is JSON");
            let raw = fault.kind().raw(&scenario);
            file["faults"] = serde_json::json!([{"at": "1s"}]);
            let fields = serde_json::to_value(&raw).expect("plain data");
            file["faults"][0].as_object_mut().expect("a fault").extend(fields.as_object().expect("fields").clone());
            match Scenario::from_json(&file.to_string()) {
                Ok(again) => assert_eq!(again.faults[0].fault, fault, "{}: {raw:?}", bundled.name),
                // The claim of a pod keeps its lost volume: a file may not have that fault, whoever writes it.
                Err(errors) => assert!(errors.to_string().contains("claim"), "{}: {raw:?}: {errors}", bundled.name),
            }
            written += 1;
        }
    }
    assert!(written > 500, "{written}");
}

/// Of the same thing that is broken already, or of one that it needs, for as long as the fault lasts.
#[test]
fn faults_that_change_nothing_are_warned_of() {
    let warnings = |faults: Value| {
        let scenario = Scenario::from_json(&changed("/faults", faults).to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        scenario.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let fault = |at: &str, lasts: &str, what: Value| {
        let mut fault = json!({"at": at, "for": lasts});
        fault.as_object_mut().expect("an object").extend(what.as_object().expect("an object").clone());
        fault
    };
    let crash = || json!({"kind": "node_crash", "node": "na"});
    let pause = || json!({"kind": "process_pause", "member": "m0"});
    let power = || json!({"kind": "zone_power", "zone": "za"});
    let slow = || json!({"kind": "disk_slow", "volume": "m0", "add": "1s"});
    let of = |k: usize, other: usize| {
        format!(
            "faults[{k}]: expected something that works then: faults[{other}] has broken it already; found a fault that changes nothing"
        )
    };
    assert_eq!(warnings(json!([fault("2m", "1m", crash()), fault("1m", "4m", crash())])), [of(0, 1)]);
    assert_eq!(warnings(json!([fault("1m", "4m", power()), fault("2m", "3m", crash())])), [of(1, 0)]);
    for dark in [crash(), power()] {
        assert_eq!(warnings(json!([fault("1m", "2m", dark), fault("2m", "5m", pause())])), [of(1, 0)]);
    }
    // One that lasts longer, one of something else, one that begins when the other is over, and what adds up.
    let other = json!({"kind": "node_crash", "node": "nb"});
    for fine in [
        [fault("1m", "4m", crash()), fault("2m", "4m", crash())],
        [fault("1m", "4m", crash()), fault("2m", "1m", other)],
        [fault("1m", "1m", crash()), fault("2m", "1m", pause())],
        [fault("1m", "4m", slow()), fault("2m", "1m", slow())],
    ] {
        assert_eq!(warnings(json!(fine)), Vec::<String>::new(), "{fine:?}");
    }
}
