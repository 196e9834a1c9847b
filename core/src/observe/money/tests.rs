//! Every share of a meter is somebody's, and once.

use serde_json::json;

use super::*;
use crate::ids::NodeKey;
use crate::kube::name::NodeName;
use crate::kube::record::NodeFact;
use crate::scenario::bundled;
use crate::scenario::prices::BookName;
use crate::sim::{Exact, Options, Simulation};

/// A bundled scenario with the prices of AWS, for so long.
fn charged(name: &str, duration: &str) -> Arc<Scenario> {
    let file = bundled().iter().find(|file| file.name == name).expect("it is bundled");
    let mut json: serde_json::Value = serde_json::from_str(file.json).expect("bundled scenarios are JSON");
    (json["prices"], json["expect"]) = (json!({"books": ["aws-eu-west-1"], "machine": "8cpu-32gib"}), json!([]));
    json["duration"] = json!(duration);
    json.as_object_mut().expect("an object").shift_remove("observe_at");
    Arc::new(Scenario::from_json(&json.to_string()).unwrap_or_else(|errors| panic!("{name}: {errors}")))
}

/// A run up to each of these minutes; what is looked at sees the meters then.
fn run(scenario: &Arc<Scenario>, exact: Exact, minutes: &[u64], look: &mut dyn FnMut(&Money, Meters<'_>)) {
    let mut simulation = Simulation::new(Arc::clone(scenario), 1, Options { exact, ..Options::default() });
    let mut money = Money::new(scenario);
    for minute in minutes {
        let now = Time::ZERO + Duration::from_secs(60 * minute);
        simulation.run_until(now, &mut |at, record| money.record(at, record));
        let machines: Vec<_> = simulation.machine_time().collect();
        look(&money, Meters { now, machines: &machines, links: &simulation.links() });
    }
}

/// The meters, added up from whose they are.
fn sums(lines: &[Line]) -> Totals {
    let mut sums = Totals::default();
    for line in lines {
        match line.quantity {
            Quantity::Machine { shape, ns } => *sums.machines.entry(shape).or_default() += ns,
            Quantity::Volume { bytes, ns } => *sums.volumes.entry(bytes).or_default() += ns,
            Quantity::Balancer { ns } => sums.balancers += ns,
            Quantity::Crossing { bytes } => sums.crossing += bytes,
        }
    }
    sums
}

/// Pods move, machines and volumes come and go, control planes change seeds.
const STORIES: [&str; 7] = [
    "eu-west-1a-outage",
    "zone-outage-option-2",
    "zone-outage-option-3b",
    "rolling-maintenance",
    "ha-upgrade",
    "control-plane-migration",
    "cost-of-tolerance",
];

#[test]
fn the_shares_of_a_kind_add_up_to_its_meter() {
    for name in STORIES {
        let scenario = charged(name, "2h");
        run(&scenario, Exact::Fast, &[0, 1, 25, 61, 120], &mut |money, meters| {
            let totals = money.totals(meters);
            assert_eq!(sums(&money.lines(meters)), totals, "{name}, {:?}", meters.now);
            let machines: u128 = meters.machines.iter().map(|(.., ns)| ns).sum();
            assert_eq!(totals.machines.values().sum::<u128>(), machines, "{name}");
            assert_eq!(machines > 0, meters.now > Time::ZERO, "{name}");
        });
    }
}

#[test]
fn stops_and_skipped_heartbeats_change_no_share() {
    for name in ["zone-outage-option-3b", "control-plane-migration"] {
        let scenario = charged(name, "90m");
        let at_end = |exact, minutes: &[u64]| {
            let mut seen = String::new();
            run(&scenario, exact, minutes, &mut |money, meters| seen = format!("{:?}", money.lines(meters)));
            seen
        };
        let plain = at_end(Exact::Fast, &[90]);
        assert!(plain.contains("Crossing"), "{name}");
        assert_eq!(plain, at_end(Exact::Fast, &[1, 2, 3, 31, 61, 90]), "{name}");
        assert_eq!(plain, at_end(Exact::Full, &[90]), "{name}");
    }
}

#[test]
fn a_volume_is_charged_from_its_first_pod_until_it_is_discarded() {
    let scenario = charged("zone-outage-option-3b", "90m");
    let mut events: Vec<(Time, PodName, bool)> = Vec::new();
    let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
    let mut money = Money::new(&scenario);
    let (now, seed) = (Time::ZERO + scenario.duration, PlaneId(0));
    simulation.run_until(now, &mut |at, record| {
        money.record(at, record);
        if let Record::Kube(PlaneId(0), KubeRecord::Pod(pod, fact)) = record {
            let there = match fact {
                PodFact::Bound(_) => true,
                PodFact::VolumeDiscarded => false,
                _ => return,
            };
            events.push((at, *pod, there));
        }
    });
    let plane = &scenario.kube.planes[0];
    let main = (0..).map(WorkloadId).zip(&plane.workloads).find(|(_, own)| own.name == "etcd-main").expect("etcd-main").0;
    let discarded: Vec<_> = events.iter().filter(|(_, pod, there)| pod.workload == main && !there).collect();
    assert!(!discarded.is_empty(), "members are moved out of the zone that is out");
    // Three members all the while, but for the time that one of them had no volume.
    let gap = |(at, pod, _): &&(Time, PodName, bool)| {
        let next = events.iter().find(|(later, own, there)| later >= at && own == pod && *there);
        next.map_or(now, |(later, ..)| *later).since(*at).as_nanos()
    };
    let missing: u64 = discarded.iter().map(gap).sum();
    assert_eq!(money.volumes[&(seed, main)].at(now), u128::from(3 * now.as_nanos() - missing));
    assert_eq!(money.volume_bytes(seed, main), 25 << 30);
}

/// By hand: a machine of 8 CPUs and 32 GiB; etcd-main asks for 0.3 CPUs and 1 GiB, so 3/80 of the one and 1/32 of the other; loki for 0.1
/// and 0.5 GiB, so 1/80 and 1/64.
#[test]
fn a_machine_is_for_its_pods_by_the_larger_of_their_shares() {
    let scenario = charged("cost-of-tolerance", "1h");
    let plane = &scenario.kube.planes[0];
    let workload = |name: &str| WorkloadId(plane.workloads.iter().position(|own| own.name == name).expect("a workload") as u32);
    let pod = |name| PodName { workload: workload(name), tag: crate::kube::name::PodTag::Ordinal(0) };
    let node = NodeName::Given(NodeKey(0));
    let at = |s: u64| Time::from_nanos(s);
    let mut split = Split::new(&scenario);
    let mut note = |s, fact| split.record(at(s), PlaneId(0), &fact);
    note(0, KubeRecord::Pod(pod("etcd-main"), PodFact::Bound(node)));
    note(640, KubeRecord::Pod(pod("loki"), PodFact::Bound(node)));
    note(1_280, KubeRecord::Pod(pod("etcd-main"), PodFact::Removed));
    note(1_920, KubeRecord::Node(node, NodeFact::Removed));
    // Its node is gone, and with it what it may have been for.
    note(6_400, KubeRecord::Pod(pod("loki"), PodFact::Removed));
    let shape = Shape::of(8, 32);
    let used = split.used(at(9_999));
    assert_eq!(used[&(PlaneId(0), workload("etcd-main"), shape)], 2 * 24);
    assert_eq!(used[&(PlaneId(0), workload("loki"), shape)], 2 * 10);
    assert_eq!(used.len(), 2);
}

#[test]
fn pods_that_ask_for_more_than_there_is_share_it_in_proportion() {
    let mut scenario = Scenario::clone(&charged("cost-of-tolerance", "1h"));
    let requests = |cpu_milli, gib: u64| crate::kube::spec::Resources { cpu_milli, memory: gib << 30, pods: 1 };
    let workloads = &mut scenario.kube.planes[0].workloads;
    // One takes all of the CPU, the other half of the memory: 1 and 1/2.
    (workloads[0].requests, workloads[1].requests) = (requests(8_000, 1), requests(1, 16));
    let scenario = Arc::new(scenario);
    let mut split = Split::new(&scenario);
    for workload in [WorkloadId(0), WorkloadId(1)] {
        let pod = PodName { workload, tag: crate::kube::name::PodTag::Ordinal(0) };
        split.record(Time::ZERO, PlaneId(0), &KubeRecord::Pod(pod, PodFact::Bound(NodeName::Given(NodeKey(0)))));
    }
    let used: Vec<u128> = split.used(Time::from_nanos(300)).into_values().collect();
    assert_eq!(used, [200, 100]);
}

#[test]
fn bytes_within_a_zone_or_to_another_region_are_not_of_this_price() {
    let mut scenario = crate::observe::testing::three_zones();
    scenario.regions.push("far".to_owned());
    scenario.zones[2].region = 1;
    scenario.prices.providers = vec![BookName::GcpEuropeWest1.book().charges()];
    let scenario = Arc::new(scenario);
    let link = |from: u8, to: u8| LinkTotals {
        from: crate::ids::Endpoint::Member(crate::observe::testing::member(from)),
        to: crate::ids::Endpoint::Member(crate::observe::testing::member(to)),
        zones: (ZoneId(from.into()), ZoneId(to.into())),
        bytes: 1 << 30,
        wire_bytes: (1 << 30) + 14 * 100,
        packets: 100,
        peak_wire_bytes_per_s: 0.0,
    };
    let (money, links) = (Money::new(&scenario), [link(0, 0), link(0, 1), link(0, 2), link(1, 0)]);
    // A day: a month is 730/24 of it. A GiB each way, for the sender alone.
    let meters = Meters { now: Time::ZERO + Duration::from_secs(86_400), machines: &[], links: &links };
    let account = money.account(meters, Duration::from_secs(300));
    let rows: Vec<_> =
        account.cost.iter().map(|row| (row.from_zone.as_deref().unwrap(), row.component.as_deref().unwrap())).collect();
    assert_eq!(rows, [("z-a", "etcd-main"), ("z-b", "etcd-main")]);
    for row in &account.cost {
        assert!((row.quantity - 730.0 / 24.0).abs() < 1e-5 && (row.per_month_usd - 7.3 / 24.0).abs() < 1e-6, "{row:?}");
    }
}
