//! Every share of a meter is somebody's, and once.

use serde_json::json;

use super::*;
use crate::ids::{KubeClusterId, NodeKey, WorkloadId, ZoneId};
use crate::kube::name::NodeName;
use crate::kube::record::NodeFact;
use crate::report::CostKind;
use crate::scenario::bundled;
use crate::scenario::prices::PriceBookName;
use crate::sim::{Options, Simulation, Stepping};

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
fn run(scenario: &Arc<Scenario>, stepping: Stepping, minutes: &[u64], look: &mut dyn FnMut(&CostObserver, Meters<'_>)) {
    let mut simulation = Simulation::new(Arc::clone(scenario), 1, Options { stepping, ..Options::default() });
    let mut cost = CostObserver::new(scenario);
    for minute in minutes {
        let now = Time::ZERO + Duration::from_secs(60 * minute);
        simulation.run_until(now, &mut |at, record| cost.record(at, record));
        let machines: Vec<_> = simulation.machine_time().collect();
        let written: Vec<_> = simulation.written().collect();
        look(&cost, Meters { now, machines: &machines, written: &written, links: &simulation.links() });
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
            Quantity::Balanced { bytes } => sums.balanced += bytes,
            Quantity::Crossing { bytes } => sums.crossing += bytes,
            Quantity::Stored { byte_ns } => sums.stored += byte_ns,
            Quantity::Uploads { requests } => sums.uploads += requests,
        }
    }
    sums
}

/// Pods move, machines and volumes come and go, control planes change seeds.
const STORIES: [&str; 8] = [
    "eu-west-1a-outage",
    "zone-outage-option-2",
    "zone-outage-option-3b",
    "rolling-maintenance",
    "ha-upgrade",
    "control-plane-migration",
    "cost-of-tolerance",
    "plain-cluster",
];

#[test]
fn the_shares_of_a_kind_add_up_to_its_meter() {
    for name in STORIES {
        let scenario = charged(name, "2h");
        run(&scenario, Stepping::FastForward, &[0, 1, 25, 61, 120], &mut |cost, meters| {
            let totals = cost.sums(meters);
            assert_eq!(sums(&cost.lines(meters)), totals, "{name}, {:?}", meters.now);
            let machines: u128 = meters.machines.iter().map(|(.., ns)| ns).sum();
            assert_eq!(totals.machines.values().sum::<u128>(), machines, "{name}");
            assert_eq!(machines > 0, meters.now > Time::ZERO, "{name}");
        });
    }
}

/// By hand: a node that two clusters share is a half each; of another, one member of `main` has all, of the third nobody anything. The
/// volume of the member that is added after 10 min is 20 min old.
#[test]
fn nodes_and_volumes_of_etcd_cost_as_long_as_they_are_there() {
    let member = |name: &str, node: &str| json!({"name": name, "node": node});
    let node = |name: &str| json!({"name": name, "zone": "a"});
    let file = json!({
        "name": "etcd", "duration": "1h",
        "topology": {"regions": [{"name": "r", "zones": ["a"]}], "nodes": [node("n0"), node("n1"), node("n2")]},
        "etcd": [
            {"name": "main", "members": [member("m-0", "n0")]},
            {"name": "events", "members": [member("e-0", "n0")], "volume_size": "10GiB"},
        ],
        "operations": [{"at": "10m", "etcd": "main", "add_member": member("m-1", "n1")}],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    run(&scenario, Stepping::FastForward, &[30], &mut |cost, meters| {
        let lines = cost.lines(meters);
        assert_eq!(sums(&lines), cost.sums(meters));
        let minute = 60 * 1_000_000_000_u128;
        let quantity = |component: &str, kind: CostKind| -> u128 {
            let own = lines.iter().filter(|line| line.component.as_deref() == Some(component) && line.quantity.kind() == kind);
            own.map(|line| match line.quantity {
                Quantity::Machine { shape, ns } if shape == Shape::of(2, 8) => ns,
                Quantity::Volume { bytes, ns } => u128::from(bytes >> 30) * ns,
                other => panic!("{other:?}"),
            })
            .sum()
        };
        let machines = ["main", "events", UNUSED].map(|component| quantity(component, CostKind::Machine));
        assert_eq!(machines, [45 * minute, 15 * minute, 30 * minute]);
        let volumes = ["main", "events", UNUSED].map(|component| quantity(component, CostKind::Volume));
        assert_eq!(volumes, [25 * 50 * minute, 10 * 30 * minute, 0]);
        let provider = &scenario.prices.providers[0];
        let hour = Quantity::Machine { shape: Shape::of(2, 8), ns: 60 * minute }.charge(provider);
        assert!((hour.usd - 0.107).abs() < USD, "m5.large in eu-west-1");
    });
}

/// Three shoots that survive nothing, a node and a zone, each with three API servers, one update of 2 KiB in a second from outside, and
/// kubelets where it is `idle`.
fn used(idle: bool, faults: &serde_json::Value) -> Arc<Scenario> {
    let file = bundled().iter().find(|file| file.name == "cost-of-tolerance").expect("it is bundled");
    let mut json: serde_json::Value = serde_json::from_str(file.json).expect("bundled scenarios are JSON");
    let update = json!({"name": "update", "verb": "update", "rate": "1/s", "object": "2KiB", "watchers": 0});
    let shoot = |name: &str, seed: &str, tolerance: &str| {
        json!({
            "name": name, "seed": seed, "failure_tolerance": tolerance, "use": {"idle": idle, "requests": [update]},
            "components": [{"name": "kube-apiserver", "replicas": 3}],
        })
    };
    json["shoots"] = json!([shoot("plain", "s-none", "none"), shoot("node", "s-node", "node"), shoot("zone", "s-zone", "zone")]);
    (json["duration"], json["expect"], json["faults"]) = (json!("2h"), json!([]), faults.clone());
    Arc::new(Scenario::from_json(&json.to_string()).unwrap_or_else(|errors| panic!("{errors}")))
}

/// The lines of some kinds of a shoot.
fn of_shoot<'a>(lines: &'a [Line], shoot: u16, kinds: &'a [CostKind]) -> impl Iterator<Item = (&'a str, Quantity)> {
    let own = lines.iter().filter(move |line| line.shoot == Some(shoot) && kinds.contains(&line.quantity.kind()));
    own.map(|line| (line.component.as_deref().expect("a component"), line.quantity))
}

const USD: f64 = 1e-9;

#[test]
fn load_balancers_of_a_provider_are_charged_by_the_hour() {
    for (profile, hours) in [("aws_nlb", 2.0), ("haproxy", 0.0)] {
        let file = bundled().iter().find(|file| file.name == "apiserver-crash").expect("it is bundled");
        let mut json: serde_json::Value = serde_json::from_str(file.json).expect("bundled scenarios are JSON");
        (json["prices"], json["expect"]) = (json!({"books": ["aws-eu-west-1"], "machine": "8cpu-32gib"}), json!([]));
        json["load_balancers"].as_array_mut().expect("two").iter_mut().for_each(|balancer| balancer["profile"] = json!(profile));
        let scenario = Arc::new(Scenario::from_json(&json.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
        run(&scenario, Stepping::FastForward, &[60], &mut |cost, meters| {
            let lines = cost.lines(meters);
            assert_eq!(sums(&lines), cost.sums(meters));
            let own = lines.iter().filter(|line| matches!(line.quantity, Quantity::Balancer { .. }));
            let usd: f64 = own.map(|line| line.quantity.charge(&scenario.prices.providers[0]).usd).sum();
            assert!((usd - hours * 0.0252).abs() < USD, "{profile}: {usd}");
        });
    }
}

/// By hand: question and answer are 60 bytes of frames, 2,048 of the object and 22 of TLS each, in two packets with 52 of IP and TCP; each
/// is answered by an ACK, which is 52 bytes.
#[test]
fn what_comes_from_outside_is_charged_by_the_byte_of_the_load_balancer() {
    let scenario = used(false, &json!([]));
    let mut looks = 0;
    run(&scenario, Stepping::FastForward, &[30, 60], &mut |cost, meters| {
        let lines = cost.lines(meters);
        let wanted = meters.now.as_nanos() / 1_000_000_000 * 2 * (60 + 2_048 + 22 + 2 * 52 + 52);
        for shoot in 0..3 {
            let own: Vec<_> = of_shoot(&lines, shoot, &[CostKind::LoadBalancerBytes]).collect();
            let [(component, of @ Quantity::Balanced { bytes })] = own[..] else { panic!("{own:?}") };
            // Bytes and packets (of 14 bytes less than Ethernet has) are rounded: in four ways between up to nine pairs of zones.
            assert!(component == "kube-apiserver" && bytes.abs_diff(wanted) <= 36 * 14, "{shoot}: {own:?}, {wanted}");
            let price = [0.006 / 1e9, 0.008 / 1_073_741_824.0, 0.005 / 1e9];
            for (provider, price) in scenario.prices.providers.iter().zip(price) {
                assert!((of.charge(provider).usd - bytes as f64 * price).abs() < USD, "{}", provider.name);
            }
        }
        assert_eq!(sums(&lines), cost.sums(meters));
        looks += 1;
    });
    assert_eq!(looks, 2);
}

/// By hand: 12 full snapshots of 64 MiB, and 2,048 bytes with a key of 55 each second, which are kept for 15 days. A delta snapshot is one
/// part, a full one 13 of 5 MiB; each takes two requests more: 288 times 3, and 15, in a day.
#[test]
fn backups_are_charged_for_what_the_bucket_holds_and_what_uploads_it() {
    let scenario = used(false, &json!([]));
    run(&scenario, Stepping::FastForward, &[60], &mut |cost, meters| {
        let lines = cost.lines(meters);
        let hour = 3_600 * 1_000_000_000_u128;
        let byte_ns = 12 * (64 << 20) * hour + 3_600 * 2_103 * 15 * 24 * hour;
        for shoot in 0..3 {
            let own: Vec<_> = of_shoot(&lines, shoot, &[CostKind::Backup]).collect();
            let [stored, uploads] = [Quantity::Stored { byte_ns }, Quantity::Uploads { requests: 879 * hour }];
            assert_eq!(own, [("etcd-main", stored), ("etcd-main", uploads)], "{shoot}");
            let (gib, thousands) = (byte_ns as f64 / hour as f64 / 730.0 / 1_073_741_824.0, 0.879 / 24.0);
            for (provider, (held, put)) in scenario.prices.providers.iter().zip([(0.023, 0.005), (0.02, 0.005), (0.0196, 0.0054)])
            {
                assert!((stored.charge(provider).usd - gib * held).abs() < USD, "{}", provider.name);
                assert!((uploads.charge(provider).usd - thousands * put).abs() < USD, "{}", provider.name);
            }
        }
    });
}

/// Hosts of a control plane are charged by their size, if the file has it, for as long as the run lasts; nobody backs up their etcd.
#[test]
fn hosts_of_a_control_plane_are_charged_as_the_machines_they_are() {
    let with = |machine: serde_json::Value| {
        let file = bundled().iter().find(|file| file.name == "plain-cluster").expect("it is bundled");
        let mut json: serde_json::Value = serde_json::from_str(file.json).expect("bundled scenarios are JSON");
        json["expect"] = json!([]);
        json["clusters"][0]["control_plane"] = json!({"machine": machine});
        let scenario = Arc::new(Scenario::from_json(&json.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
        let mut hosts = Vec::new();
        run(&scenario, Stepping::FastForward, &[120], &mut |cost, meters| {
            let lines = cost.lines(meters);
            assert_eq!(sums(&lines), cost.sums(meters));
            assert!(lines.iter().all(|line| line.quantity.kind() != CostKind::Backup || !line.quantity.is_some()));
            let own = lines.into_iter().filter(|line| line.component.as_deref() == Some("plain/control-plane"));
            hosts.extend(own.map(|line| line.quantity));
            let crossing = cost.lines(meters).into_iter().filter(|line| line.quantity.kind() == CostKind::CrossZone);
            let whose: BTreeSet<String> = crossing.map(|line| line.component.expect("a part of the control plane")).collect();
            assert!(whose.iter().eq(&["plain/etcd", "plain/kube-apiserver"]), "{whose:?}");
        });
        hosts
    };
    let ns = 3 * 2 * 3_600 * 1_000_000_000;
    assert_eq!(with(json!({"cpu": 4, "memory": "16GiB"})), [Quantity::Machine { shape: Shape::of(4, 16), ns }]);
    assert_eq!(with(json!(null)), []);
}

/// "only the leading sidecar uploads" (GEP-20): whatever is tolerated, by the byte.
#[test]
fn backups_cost_the_same_whatever_is_tolerated() {
    run(&used(true, &json!([])), Stepping::FastForward, &[60], &mut |cost, meters| {
        let lines = cost.lines(meters);
        let of = |shoot| of_shoot(&lines, shoot, &[CostKind::Backup]).collect::<Vec<_>>();
        assert_eq!(of(0).len(), 2);
        assert!(of(0) == of(1) && of(1) == of(2), "{:?}", [of(0), of(1), of(2)]);
    });
}

#[test]
fn what_cannot_be_written_is_not_backed_up() {
    let faults = json!([{"at": "30m", "kind": "zone_power", "zone": "za"}]);
    let mut written = Vec::new();
    run(&used(false, &faults), Stepping::FastForward, &[30, 60], &mut |_, meters| written.push(meters.written.to_vec()));
    let added: Vec<u64> = written[0].iter().zip(&written[1]).map(|((_, before), (_, after))| after - before).collect();
    // The zone is that of the first two; the third is without a leader for seconds, or not at all.
    assert_eq!(added[..2], [0, 0]);
    assert!(added[2] > 1_700 * 2_103 && added[2] <= 1_800 * 2_103, "{added:?}");
}

#[test]
fn stops_and_skipped_heartbeats_change_no_share() {
    for name in ["zone-outage-option-3b", "control-plane-migration"] {
        let scenario = charged(name, "90m");
        let at_end = |stepping, minutes: &[u64]| {
            let mut seen = String::new();
            run(&scenario, stepping, minutes, &mut |cost, meters| seen = format!("{:?}", cost.lines(meters)));
            seen
        };
        let plain = at_end(Stepping::FastForward, &[90]);
        assert!(plain.contains("Crossing"), "{name}");
        assert_eq!(plain, at_end(Stepping::FastForward, &[1, 2, 3, 31, 61, 90]), "{name}");
        assert_eq!(plain, at_end(Stepping::EveryEvent, &[90]), "{name}");
    }
}

#[test]
fn a_volume_is_charged_from_its_first_pod_until_it_is_discarded() {
    let scenario = charged("zone-outage-option-3b", "90m");
    let mut events: Vec<(Time, PodName, bool)> = Vec::new();
    let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
    let mut cost = CostObserver::new(&scenario);
    let (now, seed) = (Time::ZERO + scenario.duration, KubeClusterId(0));
    simulation.run_until(now, &mut |at, record| {
        cost.record(at, record);
        if let Record::Kube(KubeClusterId(0), KubeRecord::Pod(pod, fact)) = record {
            let there = match fact {
                PodFact::Bound(_) => true,
                PodFact::VolumeDiscarded => false,
                _ => return,
            };
            events.push((at, *pod, there));
        }
    });
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    let main = cluster.workloads.iter_enumerated().find(|(_, own)| own.name == "etcd-main").expect("etcd-main").0;
    let discarded: Vec<_> = events.iter().filter(|(_, pod, there)| pod.workload == main && !there).collect();
    assert!(!discarded.is_empty(), "members are moved out of the zone that is out");
    // Three members all the while, but for the time that one of them had no volume.
    let gap = |(at, pod, _): &&(Time, PodName, bool)| {
        let next = events.iter().find(|(later, own, there)| later >= at && own == pod && *there);
        next.map_or(now, |(later, ..)| *later).since(*at).as_nanos()
    };
    let missing: u64 = discarded.iter().map(gap).sum();
    assert_eq!(cost.volumes[&(seed, main)].at(now), u128::from(3 * now.as_nanos() - missing));
    assert_eq!(cost.volume_bytes(seed, main), 25 << 30);
}

/// By hand: a machine of 8 CPUs and 32 GiB; etcd-main asks for 0.3 CPUs and 1 GiB, so 3/80 of the one and 1/32 of the other; loki for 0.1
/// and 0.5 GiB, so 1/80 and 1/64.
#[test]
fn a_machine_is_for_its_pods_by_the_larger_of_their_shares() {
    let scenario = charged("cost-of-tolerance", "1h");
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    let workload = |name: &str| cluster.workloads.position(|own| own.name == name).expect("a workload");
    let pod = |name| PodName { workload: workload(name), tag: crate::kube::name::PodTag::Ordinal(0) };
    let node = NodeName::Given(NodeKey(0));
    let at = |s: u64| Time::from_nanos(s);
    let mut split = Split::new(&scenario);
    let mut note = |s, fact| split.record(at(s), KubeClusterId(0), &fact);
    note(0, KubeRecord::Pod(pod("etcd-main"), PodFact::Bound(node)));
    note(640, KubeRecord::Pod(pod("loki"), PodFact::Bound(node)));
    note(1_280, KubeRecord::Pod(pod("etcd-main"), PodFact::Removed));
    note(1_920, KubeRecord::Node(node, NodeFact::Removed));
    // Its node is gone, and with it what it may have been for.
    note(6_400, KubeRecord::Pod(pod("loki"), PodFact::Removed));
    let shape = Shape::of(8, 32);
    let used = split.used(at(9_999));
    assert_eq!(used[&(KubeClusterId(0), workload("etcd-main"), shape)], 2 * 24);
    assert_eq!(used[&(KubeClusterId(0), workload("loki"), shape)], 2 * 10);
    assert_eq!(used.len(), 2);
}

#[test]
fn pods_that_ask_for_more_than_there_is_share_it_in_proportion() {
    let mut scenario = Scenario::clone(&charged("cost-of-tolerance", "1h"));
    let requests = |cpu_milli, gib: u64| crate::kube::spec::Resources { cpu_milli, memory: gib << 30, pods: 1 };
    let workloads = &mut scenario.kube.clusters[KubeClusterId(0)].workloads;
    // One takes all of the CPU, the other half of the memory: 1 and 1/2.
    (workloads[WorkloadId(0)].requests, workloads[WorkloadId(1)].requests) = (requests(8_000, 1), requests(1, 16));
    let scenario = Arc::new(scenario);
    let mut split = Split::new(&scenario);
    for workload in [WorkloadId(0), WorkloadId(1)] {
        let pod = PodName { workload, tag: crate::kube::name::PodTag::Ordinal(0) };
        split.record(Time::ZERO, KubeClusterId(0), &KubeRecord::Pod(pod, PodFact::Bound(NodeName::Given(NodeKey(0)))));
    }
    let used: Vec<u128> = split.used(Time::from_nanos(300)).into_values().collect();
    assert_eq!(used, [200, 100]);
}

#[test]
fn bytes_within_a_zone_or_to_another_region_are_not_of_this_price() {
    let mut scenario = crate::observe::testing::three_zones();
    scenario.regions.push("far".to_owned());
    scenario.zones[ZoneId(2)].region = 1;
    scenario.prices.providers = vec![PriceBookName::GcpEuropeWest1.book().charges()];
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
    let (cost, links) = (CostObserver::new(&scenario), [link(0, 0), link(0, 1), link(0, 2), link(1, 0)]);
    // A day: a month is 730/24 of it. A GiB each way, for the sender alone.
    let meters = Meters { now: Time::ZERO + Duration::from_secs(86_400), machines: &[], written: &[], links: &links };
    let account = cost.account(meters, Duration::from_secs(300));
    let rows: Vec<_> =
        account.cost.iter().map(|row| (row.from_zone.as_deref().unwrap(), row.component.as_deref().unwrap())).collect();
    assert_eq!(rows, [("z-a", "etcd-main"), ("z-b", "etcd-main")]);
    for row in &account.cost {
        assert!((row.quantity - 730.0 / 24.0).abs() < 1e-5 && (row.per_month_usd - 7.3 / 24.0).abs() < 1e-6, "{row:?}");
    }
}
