//! Control planes that change: members that leave a zone and come back, shoots that are made to survive more.

mod migration;
mod pairs;

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::gardener::admission::Denial;
use zonefall_core::gardener::druid::{DruidFact, ToleranceFact};
use zonefall_core::gardener::outage::OutageFact;
use zonefall_core::gardener::record::GardenerRecord;
use zonefall_core::ids::{EtcdId, MemberId, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::record::{KubeRecord, PodFact, Reason};
use zonefall_core::kube::spec::gardener::FailureTolerance;
use zonefall_core::record::{EtcdRecord, Record};
use zonefall_core::report::Report;
use zonefall_core::run::Run;
use zonefall_core::scenario::{MemberChange, Scenario};
use zonefall_core::sim::{Options, Role, Stepping};

/// The etcd cluster of the shoot, after that of the seed.
const MAIN: EtcdId = EtcdId(1);

/// A seed over three zones with a shoot of an API server and etcd only.
fn landscape(shoot: &Value, duration: &str, faults: &Value, operations: &Value) -> Scenario {
    with_machines(9, shoot, duration, faults, operations)
}

/// The same with so many machines at most.
fn with_machines(maximum: u32, shoot: &Value, duration: &str, faults: &Value, operations: &Value) -> Scenario {
    parsed(&file(maximum, shoot, duration, faults, operations))
}

fn parsed(file: &Value) -> Scenario {
    Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

fn file(maximum: u32, shoot: &Value, duration: &str, faults: &Value, operations: &Value) -> Value {
    let components = json!([{"name": "etcd-main"}, {"name": "etcd-events"}, {"name": "kube-apiserver"}]);
    let mut own = json!({"name": "s", "only_listed": true, "components": components});
    own.as_object_mut().unwrap().extend(shoot.as_object().unwrap().clone());
    json!({
        "name": "landscape", "duration": duration,
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 6, "maximum": maximum}],
        }],
        "shoots": [own], "faults": faults, "operations": operations,
    })
}

/// A zone without power from 10 min on, for an hour: machines are neither deleted nor made there.
fn dark(zone: &str) -> Value {
    json!([
        {"at": "10m", "for": "1h", "kind": "zone_power", "zone": zone},
        {"at": "10m", "for": "1h", "kind": "cloud_api", "zone": zone, "create": "refused", "delete": "refused"},
    ])
}

struct Seen {
    records: Vec<(Time, Record)>,
    report: Report,
    run: Run,
}

/// Runs it in both modes: the same happens, and nothing that may not.
fn run(scenario: &Scenario, seed: u64) -> Seen {
    let once = |stepping| {
        let options = Options { stepping, ..Options::default() };
        let mut run = Run::checked(&Arc::new(scenario.clone()), seed, options);
        let mut records = Vec::new();
        run.advance(Time::ZERO + scenario.duration, &mut |at, record| {
            if !matches!(record, Record::Etcd(EtcdRecord::Raft(_))) {
                records.push((at, record.clone()));
            }
        });
        assert!(run.violations().is_empty(), "{:?}", run.violations());
        let mut report = run.report();
        report.events = 0;
        Seen { records, report, run }
    };
    let (fast, full) = (once(Stepping::FastForward), once(Stepping::EveryEvent));
    for (k, (fast, full)) in fast.records.iter().zip(&full.records).enumerate() {
        assert_eq!(fast, full, "record {k} of (fast, full)");
    }
    assert_eq!(fast.report, full.report, "(fast, full)");
    fast
}

impl Seen {
    fn kube<T>(&self, which: impl Fn(&KubeRecord) -> Option<T>) -> Vec<(f64, T)> {
        let fact = |(at, record): &(Time, Record)| match record {
            Record::Kube(_, fact) => which(fact).map(|found| (at.since(Time::ZERO).as_secs_f64(), found)),
            _ => None,
        };
        self.records.iter().filter_map(fact).collect()
    }

    fn gardener<T>(&self, which: impl Fn(&GardenerRecord) -> Option<T>) -> Vec<(f64, T)> {
        let fact = |(at, record): &(Time, Record)| match record {
            Record::Gardener(_, fact) => which(fact).map(|found| (at.since(Time::ZERO).as_secs_f64(), found)),
            _ => None,
        };
        self.records.iter().filter_map(fact).collect()
    }

    fn druid(&self) -> Vec<(f64, DruidFact)> {
        self.gardener(|fact| if let GardenerRecord::Druid(_, fact) = fact { Some(*fact) } else { None })
    }

    fn outages(&self) -> Vec<(f64, OutageFact)> {
        self.gardener(|fact| if let GardenerRecord::ZoneOutage(_, fact) = fact { Some(*fact) } else { None })
    }

    /// How long the shoot's etcd had nothing to lose.
    fn no_fault_tolerance_s(&self) -> f64 {
        self.report.etcd["shoot--garden--s/etcd-main"].no_fault_tolerance_s
    }

    /// The zones of those that vote at the end.
    fn zones(&self) -> Vec<ZoneId> {
        zones(&self.run)
    }

    /// Changes of members of the shoot's etcd that were applied.
    fn changes(&self) -> Vec<MemberChange> {
        let applied = |record: &Record| match record {
            Record::Etcd(EtcdRecord::Membership { change, refused: None }) => Some(*change),
            _ => None,
        };
        let of_main = |change: &MemberChange| {
            let (MemberChange::Add(id) | MemberChange::Remove(id) | MemberChange::Promote(id)) = change;
            id.cluster == MAIN
        };
        self.records.iter().filter_map(|(_, record)| applied(record)).filter(of_main).collect()
    }
}

fn zones(run: &Run) -> Vec<ZoneId> {
    let votes = |role| matches!(role, Role::Follower | Role::Leader | Role::Candidate | Role::PreCandidate);
    let there = run.simulation().members(MAIN).into_iter().filter(|member| votes(member.role));
    let mut zones: Vec<ZoneId> = there.map(|member| run.simulation().zone_of(member.member)).collect();
    zones.sort_unstable();
    zones
}

fn member(index: u8) -> MemberId {
    MemberId { cluster: MAIN, index }
}

fn zonal(recovery: &str) -> Value {
    json!({"failure_tolerance": "zone", "recovery": recovery})
}

#[test]
fn a_member_leaves_a_dead_zone_and_comes_back() {
    let waits = run(&landscape(&zonal("wait"), "100m", &dark("za"), &json!([])), 1);
    let moves = run(&landscape(&zonal("move"), "100m", &dark("za"), &json!([])), 1);
    assert!(waits.druid().is_empty() && waits.changes().is_empty());
    let [(told, OutageFact::Detected(_)), (over, OutageFact::Ended)] = moves.outages()[..] else {
        panic!("{:?}", moves.outages())
    };
    use DruidFact::{Moves, Relaxed, Required, Returns};
    let facts: Vec<DruidFact> = moves.druid().into_iter().map(|(_, fact)| fact).collect();
    assert_eq!(facts, [Relaxed, Relaxed, Moves(0), Moves(0), Required, Required, Returns(0), Returns(0)]);
    assert!(moves.druid()[..3].iter().all(|(at, _)| *at - told < 1.0), "at once");
    assert!(moves.druid()[4..7].iter().all(|(at, _)| *at - over < 1.0), "at once");
    // One identity after the other, each without a vote first.
    let [first, second] = [(0, 3), (3, 6)].map(|(old, new)| {
        [MemberChange::Remove(member(old)), MemberChange::Add(member(new)), MemberChange::Promote(member(new))]
    });
    assert_eq!(moves.changes(), [first, second].concat());
    // The outage must be told first; then it takes minutes, and not until the zone is back.
    let gained = waits.no_fault_tolerance_s() - moves.no_fault_tolerance_s();
    assert!(moves.no_fault_tolerance_s() < told - 600.0 + 180.0 + 180.0, "{} s, told at {told}", moves.no_fault_tolerance_s());
    assert!(gained > 3_600.0 - (told - 600.0) - 300.0, "{gained} s gained");
    assert_eq!(moves.zones(), [ZoneId(0), ZoneId(1), ZoneId(2)]);
    let writes = |seen: &Seen| seen.report.etcd["shoot--garden--s/etcd-main"].write_unavailable_s;
    assert!(writes(&moves) <= writes(&waits), "{} s, {} s", writes(&moves), writes(&waits));
    let names: Vec<&str> = moves.report.etcd["shoot--garden--s/etcd-main"].members.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["etcd-main-1", "etcd-main-2", "etcd-main-0"]);
}

#[test]
fn meanwhile_two_share_a_zone() {
    let scenario = landscape(&zonal("move"), "60m", &dark("zb"), &json!([]));
    let seen = run(&scenario, 2);
    let zones = seen.zones();
    assert_eq!(zones.len(), 3);
    assert!(!zones.contains(&ZoneId(1)) && zones.contains(&ZoneId(0)) && zones.contains(&ZoneId(2)), "{zones:?}");
    // Bytes count for the zones they were exchanged between: the sums of both views agree.
    let of = |from: &str, to: &str| {
        let links = seen.report.links.iter().filter(|link| link.from_zone == from && link.to_zone == to);
        links.map(|link| link.wire_bytes).sum::<u64>()
    };
    for pair in &seen.report.zone_pairs {
        assert_eq!(of(&pair.from_zone, &pair.to_zone), pair.wire_bytes, "{} to {}", pair.from_zone, pair.to_zone);
    }
}

/// Preferring a zone of its own does not help a pod whose volume is in the dead one; a regional volume comes along, data and all.
#[test]
fn a_preference_needs_volumes_that_can_move() {
    let refused = |seen: &Seen| {
        let zone =
            |fact: &KubeRecord| matches!(fact, KubeRecord::Pod(_, PodFact::Unschedulable(Reason::VolumeZone))).then_some(());
        !seen.kube(zone).is_empty()
    };
    let mut shoot = zonal("preferred");
    let stays = run(&landscape(&shoot, "80m", &dark("za"), &json!([])), 1);
    shoot["etcd"] = json!({"volumes": "regional"});
    let moves = run(&landscape(&shoot, "80m", &dark("za"), &json!([])), 1);
    assert!(refused(&stays) && !refused(&moves));
    assert!(moves.no_fault_tolerance_s() < 1_800.0 && stays.no_fault_tolerance_s() > 3_500.0, "{}", moves.no_fault_tolerance_s());
    // It is the same member, elsewhere.
    assert!(moves.changes().is_empty());
    let moved: Vec<_> =
        moves.records.iter().filter(|(_, record)| matches!(record, Record::Etcd(EtcdRecord::MemberMoved { .. }))).collect();
    assert!(moved.len() >= 2, "one of each cluster: {moved:?}");
    let zones = moves.zones();
    assert!(zones.len() == 3 && !zones.contains(&ZoneId(0)), "{zones:?}");
}

/// While one is on its way another zone fails: nothing more is moved, and two of two voters are needed until it is back.
#[test]
fn a_second_failure_stops_the_move() {
    let scenario = landscape(&zonal("move"), "60m", &dark("za"), &json!([]));
    let first = run(&scenario, 3);
    let (moved, _) = first.druid().into_iter().find(|(_, fact)| matches!(fact, DruidFact::Moves(_))).expect("it moves");
    let mut faults = dark("za");
    let at = format!("{}ms", (moved * 1e3) as u64 + 2_000);
    let second = json!({"at": at, "for": "10m", "kind": "zone_power", "zone": "zb"});
    faults.as_array_mut().unwrap().push(second);
    let seen = run(&landscape(&zonal("move"), "100m", &faults, &json!([])), 3);
    let of_events = |(_, fact): &(f64, DruidFact)| matches!(fact, DruidFact::Moves(_));
    let moves: Vec<f64> = seen.druid().into_iter().filter(of_events).map(|(at, _)| at).collect();
    assert!(moves[1] > moved + 600.0, "not before all that are left serve: {moves:?}");
    assert!(seen.report.etcd["shoot--garden--s/etcd-main"].quorum_lost_s > 300.0);
    assert_eq!(seen.zones(), [ZoneId(0), ZoneId(1), ZoneId(2)]);
}

/// The seed's own control plane is away when the outage is told: druid acts when it is back.
#[test]
fn without_its_api_druid_does_nothing() {
    let mut faults = dark("za");
    faults.as_array_mut().unwrap().push(json!({"at": "20m", "for": "30m", "kind": "zone_power", "zone": "parent"}));
    let seen = run(&landscape(&zonal("move"), "60m", &faults, &json!([])), 1);
    let druid = seen.druid();
    assert!(!druid.is_empty() && druid.iter().all(|(at, _)| *at > 50.0 * 60.0), "{druid:?}");
}

fn asks(at: &str, to: &str) -> Value {
    json!({"at": at, "set_failure_tolerance": {"shoot": "s", "to": to}})
}

fn tolerances(seen: &Seen) -> Vec<ToleranceFact> {
    let facts = seen.gardener(|fact| if let GardenerRecord::Tolerance(_, fact) = fact { Some(*fact) } else { None });
    facts.into_iter().map(|(_, fact)| fact).collect()
}

#[test]
fn a_shoot_is_made_to_survive_a_zone() {
    let operations = json!([asks("10m", "zone"), asks("40m", "node"), asks("41m", "none")]);
    let seen = run(&landscape(&json!({}), "60m", &json!([]), &operations), 1);
    use FailureTolerance::{Node, None, Zone};
    use ToleranceFact::{Admitted, Denied, Done, Follows};
    let expected =
        [Admitted(Zone), Follows(Zone), Done(Zone), Denied(Node, Denial::MultiToSingleZone), Denied(None, Denial::Downgrade)];
    assert_eq!(tolerances(&seen), expected);
    let facts: Vec<DruidFact> = seen.druid().into_iter().map(|(_, fact)| fact).collect();
    assert_eq!(facts, [DruidFact::Restarts, DruidFact::Restarts, DruidFact::Grows(3), DruidFact::Grows(3)]);
    // One after the other: no second learner before the first has its vote.
    let [MemberChange::Add(a), MemberChange::Promote(b), MemberChange::Add(c), MemberChange::Promote(d)] = seen.changes()[..]
    else {
        panic!("{:?}", seen.changes())
    };
    assert!(a == b && c == d && a != c);
    assert_eq!(seen.zones(), [ZoneId(0), ZoneId(1), ZoneId(2)]);
    let etcd = &seen.report.etcd["shoot--garden--s/etcd-main"];
    assert!(etcd.write_unavailable_s > 2.0 && etcd.write_unavailable_s < 60.0, "{} s", etcd.write_unavailable_s);
    assert_eq!(etcd.members.len(), 3);
    let servers = seen.report.pods.iter().filter(|pod| pod.name.starts_with("kube-apiserver") && pod.ready);
    assert_eq!(servers.count(), 3);
}

/// Its API servers are rolled out, no two on a node: that ends where a fourth node can come to their zone, while the old one is there.
#[test]
fn a_shoot_is_made_to_survive_a_node_in_its_zone() {
    use FailureTolerance::{Node, Zone};
    use ToleranceFact::{Admitted, Denied, Done, Follows};
    for (maximum, ends) in [(12, true), (9, false)] {
        let operations = json!([asks("10m", "node"), asks("50m", "zone")]);
        let seen = run(&with_machines(maximum, &json!({}), "60m", &json!([]), &operations), 4);
        let done = ends.then_some(Done(Node));
        let expected = [Admitted(Node), Follows(Node)].into_iter().chain(done).chain([Denied(Zone, Denial::SingleToMultiZone)]);
        assert_eq!(tolerances(&seen), expected.collect::<Vec<_>>());
        let zones = seen.zones();
        assert!(zones.len() == 3 && zones.iter().all(|zone| *zone == zones[0]), "{zones:?}");
        assert!(seen.report.story.iter().any(|line| line.text.contains("is not supported")), "the refusal is told");
        let refused: Vec<_> = seen.report.refused.iter().map(|row| (row.at_s, &*row.operation, &*row.reason)).collect();
        let reason = Denial::SingleToMultiZone.to_string();
        assert_eq!(refused, [(3_000.0, "set failure tolerance of shoot s to zone", &*reason)]);
    }
}

#[test]
fn a_file_tells_of_an_upgrade() {
    let text = include_str!("../../../../../scenarios/ha-upgrade.json");
    let scenario = Arc::new(Scenario::from_json(text).unwrap_or_else(|errors| panic!("{errors}")));
    let report = zonefall_core::run::run_checked(&scenario, 1, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    let failed: Vec<_> = report.expectations.iter().filter(|one| !one.ok).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
