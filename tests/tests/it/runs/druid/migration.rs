//! Control planes that move to another seed.

use serde_json::{Value, json};

use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use zonefall_core::gardener::druid::MigrationFact::{self, *};
use zonefall_core::gardener::garden::MigrationDenial;
use zonefall_core::ids::SeedId;
use zonefall_core::kube::spec::gardener::{SeedRejection, ZoneTolerance};
use zonefall_core::record::{ClientRecord, RequestResult};
use zonefall_core::report::MigrationReport;

/// The shoot's etcd, after those of the seeds.
const SHOP: &str = "shoot--garden--s/etcd-main";
const NARROW: SeedId = SeedId(0);
const WIDE: SeedId = SeedId(1);
/// The first seed has one zone, and the shoot needs three.
const TOO_FEW: SeedRejection = SeedRejection::TooFewZones { found: ZoneTolerance::None, needed: ZoneTolerance::Quorum };

/// A seed in zone `za`, one over three zones, another over three, full; their own control planes elsewhere. The shoot is in the first.
fn world(shoot: &Value, operations: &Value, faults: &Value) -> Value {
    let components = json!([{"name": "etcd-main"}, {"name": "etcd-events"}, {"name": "kube-apiserver"}]);
    let mut own = json!({"name": "s", "seed": "narrow", "only_listed": true, "components": components});
    own.as_object_mut().unwrap().extend(shoot.as_object().unwrap().clone());
    let seed = |name: &str, zones: Value, parent: &str, nodes: u32| {
        let pools = json!([{"name": "cpu", "minimum": nodes, "maximum": nodes + 3}]);
        json!({"name": name, "zones": zones, "control_plane": {"zones": [parent]}, "pools": pools})
    };
    let mut full = seed("full", json!(["za", "zb", "zc"]), "pb", 3);
    full["allocatable_shoots"] = json!(0);
    json!({
        "name": "world", "duration": "60m",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "pa", "pb"]}, {"name": "far", "zones": ["fa"]}]},
        "seeds": [
            seed("narrow", json!(["za"]), "pa", 3), seed("wide", json!(["za", "zb", "zc"]), "pb", 6),
            full, seed("far", json!(["fa"]), "pb", 3),
        ],
        "shoots": [own], "operations": operations, "faults": faults,
    })
}

/// Another seed over three zones.
fn with_another(file: &mut Value) {
    let mut other = file["seeds"][1].clone();
    other["name"] = json!("other");
    file["seeds"].as_array_mut().unwrap().push(other);
}

fn scenario(file: &Value) -> Scenario {
    Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

fn moves(at: &str, seed: &str) -> Value {
    json!({"at": at, "migrate_shoot": {"shoot": "s", "seed": seed}})
}

fn steps(seen: &Seen) -> Vec<(f64, MigrationFact)> {
    seen.gardener(|fact| if let GardenerRecord::Migration(0, fact) = fact { Some(*fact) } else { None })
}

fn facts(seen: &Seen) -> Vec<MigrationFact> {
    steps(seen).into_iter().map(|(_, fact)| fact).collect()
}

/// When a step was taken, in seconds.
fn at(seen: &Seen, which: MigrationFact) -> f64 {
    steps(seen).into_iter().find(|(_, fact)| *fact == which).unwrap_or_else(|| panic!("{which:?}: {:?}", steps(seen))).0
}

fn row(seen: &Seen) -> &MigrationReport {
    &seen.report.migrations[0]
}

fn all(from: SeedId, to: SeedId, tolerance: FailureTolerance) -> [MigrationFact; 9] {
    [Admitted(from, to), Leaves, Closed, Kept, Gone, Restores(tolerance), Restored, Serves, Done]
}

#[test]
fn a_control_plane_moves() {
    let seen = run(&scenario(&world(&json!({}), &json!([moves("10m", "wide")]), &json!([]))), 1);
    assert_eq!(facts(&seen), all(NARROW, WIDE, FailureTolerance::None));
    let there = |cluster: &str| {
        seen.report.pods.iter().filter(|pod| pod.cluster == cluster && pod.namespace == "shoot--garden--s").count()
    };
    assert_eq!((there("narrow"), there("wide")), (0, 3));
    // Its API is away from when its servers go to when others are there.
    let api = &seen.report.api["shoot--garden--s"];
    let [gap] = &api.outages.iter().filter(|gap| gap.verb == "write").collect::<Vec<_>>()[..] else {
        panic!("{:?}", api.outages)
    };
    assert!(gap.from_s > at(&seen, Leaves) && gap.from_s <= at(&seen, Closed) && gap.completed, "{gap:?}");
    assert!(gap.to_s > at(&seen, Restored) && gap.to_s <= at(&seen, Serves), "{gap:?}");
    assert!((row(&seen).write_unavailable_s - (gap.to_s - gap.from_s)).abs() < 1e-6 && row(&seen).completed);
    let causes = |cluster: &str| seen.report.etcd[cluster].outages.iter().map(|gap| gap.root_cause.clone()).collect::<Vec<_>>();
    for cluster in [SHOP, "shoot--garden--s/etcd-events"] {
        assert!(
            !causes(cluster).is_empty() && causes(cluster).iter().all(|why| why.contains("the shoot migrates to seed wide")),
            "{:?}",
            causes(cluster)
        );
    }
    assert_eq!(seen.report.etcd[SHOP].rpo.lost_entries, 0);
    let events = &seen.report.etcd["shoot--garden--s/etcd-events"].rpo;
    assert!(events.lost_entries > 0 && events.events[0].cause.contains("no backup"), "{events:?}");
}

/// Nobody writes while the snapshot is under way, though etcd serves: what is in the bucket is all there is.
#[test]
fn etcd_is_closed_to_clients() {
    let mut file = world(&json!({"etcd": {"initial": {"database": "1GiB"}}}), &json!([moves("10m", "wide")]), &json!([]));
    file["clients"] = writes();
    let seen = run(&scenario(&file), 1);
    let (closed, restored) = (at(&seen, Closed), at(&seen, Restored));
    assert!(at(&seen, Kept) - closed > 20.0);
    let done = |(at, record): &(Time, Record)| match record {
        Record::Client(ClientRecord::Request { result: RequestResult::Ok, .. }) => Some(at.since(Time::ZERO).as_secs_f64()),
        _ => None,
    };
    let done: Vec<f64> = seen.records.iter().filter_map(done).collect();
    assert!(done.iter().any(|at| *at < closed) && done.iter().any(|at| *at > restored));
    assert!(!done.iter().any(|at| (closed + 0.1..restored - 10.0).contains(at)), "closed at {closed}, restored at {restored}");
}

/// A control plane of three members and API servers: one member is restored, and serves alone until the API is back.
#[test]
fn the_other_members_follow() {
    let tolerant = json!({"failure_tolerance": "zone", "seed": "wide"});
    let mut file = world(&tolerant, &json!([moves("10m", "other")]), &json!([]));
    with_another(&mut file);
    let seen = run(&scenario(&file), 1);
    assert_eq!(facts(&seen), all(WIDE, SeedId(4), FailureTolerance::Zone));
    let voters = |at: f64| {
        let rows = &seen.report.etcd[SHOP].tolerance;
        rows.iter().rfind(|row| row.from_s <= at).expect("told from the start").voters
    };
    assert_eq!([0.0, at(&seen, Restored), at(&seen, Serves), at(&seen, Done)].map(voters), [3, 1, 1, 3]);
    let nodes: Vec<&str> = seen.report.etcd[SHOP].members.iter().map(|member| member.node.as_str()).collect();
    assert!(nodes.len() == 3 && nodes.iter().all(|node| node.starts_with("other")), "{nodes:?}");
    assert_eq!(seen.report.etcd[SHOP].rpo.lost_entries, 0);
}

#[test]
fn what_does_not_fit_is_denied() {
    let elsewhere = |seed, why| Denied(seed, MigrationDenial::Seed(why));
    let zonal = json!({"failure_tolerance": "zone", "seed": "wide"});
    for (shoot, to, denied, words) in [
        (json!({}), "narrow", Denied(NARROW, MigrationDenial::Same), "it is there already"),
        (json!({}), "full", elsewhere(SeedId(2), SeedRejection::Full), "no capacity for another shoot"),
        (json!({}), "far", elsewhere(SeedId(3), SeedRejection::OtherRegion), "in another region"),
        (
            zonal,
            "narrow",
            elsewhere(NARROW, TOO_FEW),
            "expected a seed with a suitable pool over three zones, found one with no suitable pool over two",
        ),
    ] {
        let seen = run(&scenario(&world(&shoot, &json!([moves("10m", to)]), &json!([]))), 1);
        assert_eq!(facts(&seen), [denied]);
        assert!(row(&seen).denied.as_ref().is_some_and(|why| why.contains(words)), "{:?}", row(&seen));
        assert!(seen.report.story.iter().any(|line| line.text.contains(words)), "it is told");
        assert!(seen.report.api["shoot--garden--s"].outages.is_empty());
        let [refused] = &seen.report.refused[..] else { panic!("{:?}", seen.report.refused) };
        assert_eq!((refused.at_s, &refused.operation), (600.0, &format!("migrate shoot s to seed {to}")));
        assert!(refused.reason.contains(words), "{refused:?}");
    }
}

/// One thing after the other: who is on the way is not sent elsewhere, and asked for more it is made to survive that when it is there.
#[test]
fn what_is_asked_for_meanwhile() {
    let operations = json!([moves("10m", "wide"), moves("10m1s", "narrow"), asks("10m2s", "zone"), moves("40m", "narrow")]);
    let seen = run(&scenario(&world(&json!({}), &operations, &json!([]))), 1);
    let denied = [Denied(NARROW, MigrationDenial::Moves), Denied(NARROW, MigrationDenial::Seed(TOO_FEW))];
    assert_eq!(facts(&seen).into_iter().filter(|fact| matches!(fact, Denied(..))).collect::<Vec<_>>(), denied);
    use ToleranceFact::{Admitted as Granted, Done as Survives, Follows};
    assert_eq!(
        tolerances(&seen),
        [FailureTolerance::Zone]
            .map(Granted)
            .into_iter()
            .chain([Follows(FailureTolerance::Zone), Survives(FailureTolerance::Zone)])
            .collect::<Vec<_>>()
    );
    let asked = seen.gardener(|fact| matches!(fact, GardenerRecord::Tolerance(_, Granted(_))).then_some(()));
    assert!((asked[0].0 - at(&seen, Done)).abs() < 1e-6, "when it is there");
    assert_eq!(seen.report.etcd[SHOP].members.len(), 3);
}

/// While it is made to survive a zone it is to move: first the one, then the other.
#[test]
fn what_is_under_way_comes_to_its_end_before_it_leaves() {
    for after in ["10m", "600000500us", "610s", "640s"] {
        let mut file = world(&json!({"seed": "wide"}), &json!([asks("10m", "zone"), moves(after, "other")]), &json!([]));
        with_another(&mut file);
        let seen = run(&scenario(&file), 1);
        assert_eq!(facts(&seen), all(WIDE, SeedId(4), FailureTolerance::Zone), "{after}");
        use ToleranceFact::{Admitted as Granted, Done as Survives, Follows};
        let zone = FailureTolerance::Zone;
        assert_eq!(tolerances(&seen), [Granted(zone), Follows(zone), Survives(zone)], "{after}");
        let survives = seen.gardener(|fact| matches!(fact, GardenerRecord::Tolerance(_, Survives(_))).then_some(()))[0].0;
        assert!(at(&seen, Leaves) >= survives, "{after}");
    }
}

/// It is bound to another seed, which its old one has not heard of yet: what it is asked for is the new one's to admit.
#[test]
fn the_seed_it_is_bound_to_answers() {
    for (from, to) in [("wide", "narrow"), ("narrow", "wide"), ("other", "wide")] {
        for meanwhile in ["10m", "600000500us", "601s"] {
            let operations = json!([moves("10m", to), asks(meanwhile, "zone")]);
            let mut file = world(&json!({"seed": from}), &operations, &json!([]));
            with_another(&mut file);
            let seen = run(&scenario(&file), 1);
            let what = format!("{from} to {to}, {meanwhile}: {:?}", tolerances(&seen));
            let is_answer = |fact: &&ToleranceFact| matches!(fact, ToleranceFact::Admitted(_) | ToleranceFact::Denied(..));
            let answers: Vec<bool> =
                tolerances(&seen).iter().filter(is_answer).map(|fact| matches!(fact, ToleranceFact::Admitted(_))).collect();
            let [admitted] = answers[..] else { panic!("one answer: {what}") };
            // Of what is asked for at once either may be heard first.
            assert!(meanwhile == "10m" || admitted == (to != "narrow"), "{what}");
            assert_eq!(row(&seen).denied.is_some(), admitted && to == "narrow", "{what}");
            assert!(row(&seen).completed, "{what}");
            assert_eq!(seen.report.etcd[SHOP].members.len(), if admitted { 3 } else { 1 }, "{what}");
        }
    }
}

#[test]
fn there_and_back() {
    let seen = run(&scenario(&world(&json!({}), &json!([moves("10m", "wide"), moves("30m", "narrow")]), &json!([]))), 1);
    let none = FailureTolerance::None;
    assert_eq!(facts(&seen), [all(NARROW, WIDE, none), all(WIDE, NARROW, none)].concat());
    let pods: Vec<_> = seen.report.pods.iter().filter(|pod| pod.namespace == "shoot--garden--s").collect();
    assert!(pods.len() == 3 && pods.iter().all(|pod| pod.cluster == "narrow" && pod.ready), "{pods:?}");
    assert_eq!(seen.report.etcd[SHOP].rpo.lost_entries, 0);
}

/// What is restarted is restarted where it is.
#[test]
fn its_components_are_restarted_where_they_are() {
    let restart = |at: &str| json!({"at": at, "roll_component": {"shoot": "s", "component": "kube-apiserver"}});
    let operations = json!([restart("5m"), moves("10m", "wide"), restart("30m")]);
    let seen = run(&scenario(&world(&json!({}), &operations, &json!([]))), 1);
    let told: Vec<_> = seen.report.story.iter().filter(|line| line.text.contains("operator")).collect();
    assert_eq!(told.iter().map(|line| line.at_s).collect::<Vec<_>>(), [300.0, 1800.0]);
    assert!(told[0].text.contains("narrow") && told[1].text.contains("wide"), "{told:?}");
    let since = seen.report.pods.iter().find(|pod| pod.cluster == "wide" && pod.name.starts_with("kube-apiserver")).unwrap();
    assert!(since.ready, "{since:?}");
}

/// The old seed's own control plane is away: nobody hands over, and the shoot serves on where it is.
#[test]
fn without_its_api_a_seed_hands_nothing_over() {
    let faults = json!([{"at": "9m", "for": "20m", "kind": "zone_power", "zone": "pa"}]);
    let seen = run(&scenario(&world(&json!({}), &json!([moves("10m", "wide")]), &faults)), 1);
    assert!(at(&seen, Admitted(NARROW, WIDE)) < 601.0 && at(&seen, Leaves) > 29.0 * 60.0, "{:?}", steps(&seen));
    let wait = &row(&seen).waits[0];
    assert!(wait.until == "leaves" && wait.waits_for.contains("the gardenlet of narrow was inactive"), "{wait:?}");
    assert!(row(&seen).completed && row(&seen).write_unavailable_s < 300.0, "{:?}", row(&seen));
}

/// The zone of the old seed fails when its API servers are gone: etcd's last snapshot waits for it, and holds everything.
#[test]
fn a_zone_fails_before_the_snapshot() {
    let faults = json!([{"at": "600500ms", "for": "20m", "kind": "zone_power", "zone": "za"}]);
    let seen = run(&scenario(&world(&json!({}), &json!([moves("10m", "wide")]), &faults)), 1);
    assert!(at(&seen, Kept) > 30.0 * 60.0, "{:?}", steps(&seen));
    assert!(row(&seen).completed && seen.report.etcd[SHOP].rpo.lost_entries == 0);
}

/// A load on etcd that stands for what API servers write.
fn writes() -> Value {
    json!([{"name": "load", "etcd": SHOP, "zone": "za", "op": "put", "rate": "20/s"}])
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::with_cases(10) })]

    /// The API is away for as long as the snapshot takes to the bucket and from there, and a time that no size changes.
    #[test]
    fn its_timers_make_the_downtime(mib in 0..4_000_u64, up in 5..200_u64, down in 5..200_u64) {
        let run_with = |mib: u64| {
            let database = json!({"initial": {"database": format!("{mib}MiB")}});
            let mut file = world(&json!({"etcd": database}), &json!([moves("10m", "wide")]), &json!([]));
            file["seeds"][0]["timers"] = json!({"snapshot_upload": format!("{up}MiB/s")});
            file["seeds"][1]["timers"] = json!({"snapshot_restore": format!("{down}MiB/s")});
            run(&scenario(&file), 1)
        };
        let (small, large) = (run_with(1), run_with(1 + mib));
        let took = |from: MigrationFact, to: MigrationFact| [&small, &large].map(|seen| at(seen, to) - at(seen, from));
        let (upload, restore) = (mib as f64 / up as f64, mib as f64 / down as f64);
        let [few, many] = took(Closed, Kept);
        prop_assert!((many - few - upload).abs() < 0.1, "{few} s, {many} s, {upload} s more");
        let [few, many] = took(Gone, Restored);
        prop_assert!((many - few - restore).abs() < 3.0, "an election more or less: {few} s, {many} s, {restore} s more");
        let [few, many] = [&small, &large].map(|seen| row(seen).write_unavailable_s);
        prop_assert!((many - few - upload - restore).abs() < 20.0, "a check of readiness more or less: {few} s, {many} s");
    }

    /// Whatever fails for ten minutes on the way: it arrives, and nothing is lost that was acknowledged.
    #[test]
    fn nothing_acknowledged_is_lost(seed: u64, after in 0..120_000_u64, zone in 0..5_usize, cut: bool) {
        let zone = ["za", "zb", "zc", "pa", "pb"][zone];
        let kind = if cut { "zone_partition" } else { "zone_power" };
        let faults = json!([{"at": format!("{}ms", 600_000 + after), "for": "10m", "kind": kind, "zone": zone}]);
        let mut file = world(&json!({}), &json!([moves("10m", "wide")]), &faults);
        file["clients"] = writes();
        let seen = run(&scenario(&file), seed);
        let etcd = &seen.report.etcd[SHOP];
        prop_assert!(row(&seen).completed, "{:?}", row(&seen));
        prop_assert_eq!(etcd.rpo.lost_entries, 0);
        let acknowledged = etcd.requests.ok;
        let kept = seen.report.etcd[SHOP].members.iter().map(|member| member.committed).max().unwrap_or(0);
        prop_assert!(acknowledged > 10_000 && kept >= 10_000 + acknowledged, "{acknowledged} of {kept}");
    }

    /// Whatever it is asked for, in whatever order, while something fails: half an hour later it is in one seed, all of it serves there,
    /// and it survives what was admitted last.
    #[test]
    fn whatever_it_is_asked_for(
        seed: u64,
        first in 0..3_usize,
        wishes in prop::collection::vec((0..90_000_u64, 0..7_usize), 1..7),
        fault in (0..90_000_u64, 0..5_usize, any::<bool>()),
    ) {
        let names = ["narrow", "wide", "other"];
        let mut at = 600_000;
        let operations: Vec<Value> = wishes.iter().map(|(after, wish)| {
            at += after / if wish % 2 == 0 { 1 } else { 50_000 };
            let at = format!("{at}ms");
            match wish {
                0..5 => moves(&at, ["narrow", "wide", "other", "full", "far"][*wish]),
                5 => asks(&at, "zone"),
                _ => asks(&at, "node"),
            }
        }).collect();
        let (after, zone, cut) = fault;
        let kind = if cut { "zone_partition" } else { "zone_power" };
        let zone = ["za", "zb", "zc", "pa", "pb"][zone];
        let faults = json!([{"at": format!("{}ms", 600_000 + after), "for": "5m", "kind": kind, "zone": zone}]);
        let mut file = world(&json!({"seed": names[first]}), &json!(operations), &faults);
        with_another(&mut file);
        file["duration"] = json!("90m");
        let seen = run(&scenario(&file), seed);
        let mut is_in = names[first].to_owned();
        for row in &seen.report.migrations {
            prop_assert!(row.completed, "{row:?}");
            if row.denied.is_none() {
                prop_assert_eq!(row.from.as_ref(), Some(&is_in));
                is_in.clone_from(&row.to);
            }
        }
        let survives = tolerances(&seen).into_iter().rev().find_map(|fact| match fact {
            ToleranceFact::Admitted(to) => Some(to),
            _ => None,
        });
        let done = matches!(tolerances(&seen).last(), None | Some(ToleranceFact::Done(_) | ToleranceFact::Denied(..)));
        prop_assert!(done, "{:?}", tolerances(&seen));
        let etcd = if survives.unwrap_or_default() == FailureTolerance::None { 1 } else { 3 };
        prop_assert_eq!(seen.report.etcd[SHOP].members.len(), etcd);
        let pods: Vec<_> = seen.report.pods.iter().filter(|pod| pod.namespace == "shoot--garden--s").collect();
        prop_assert!(pods.iter().all(|pod| pod.cluster == is_in), "{is_in}: {pods:?}");
    }
}
