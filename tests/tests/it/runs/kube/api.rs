//! What an API answers, and what waits while it answers nothing.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::world::{
    KUBE_CLUSTER, SHOOT, Seen, at, broken, crash, cut_zone, hosted, run, run_in, secs, watch, with, with_shoot, workload, world,
};
use zonefall_core::ids::{EtcdId, MemberId, NodeId, NodeKey, VolumeId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::name::PodName;
use zonefall_core::kube::record::{KubeRecord, NodeFact, PodFact, Ready, Replica, ServerFact, Verb};
use zonefall_core::kube::rule::taints::Effect;
use zonefall_core::kube::spec::{Component, Role};
use zonefall_core::scenario::testing::CLUSTER;
use zonefall_core::scenario::{
    Direction, DiskSlow, Fault, FaultTarget, NodeCrash, NodePartition, ProcessKill, Scenario, ZonePower, bundled,
};
use zonefall_core::sim::{Options, Simulation, Stepping};

/// Two nodes in each of three zones, six pods, one host that serves the API. The etcd members are in the zone of none of them.
fn seed_world() -> Scenario {
    hosted(with(world(&[2, 2, 2]), workload("web", 0, 6)), 1)
}

fn cut_node(node: NodeId) -> Fault {
    Fault::NodePartition(NodePartition { node: FaultTarget::Named(node), direction: Direction::Both })
}

fn member(index: u8) -> MemberId {
    MemberId { cluster: CLUSTER, index }
}

/// Two of three etcd members are out of reach: no quorum.
fn without_quorum(scenario: Scenario, cluster: EtcdId, from: u64, lasts: u64) -> Scenario {
    let members: Vec<NodeId> = scenario.etcd[cluster].members.iter().map(|member| member.node).collect();
    members[..2].iter().fold(scenario, |scenario, node| broken(scenario, from, Some(lasts), cut_node(*node)))
}

/// The members that the only API server has talked to.
fn links(seen: &Seen) -> Vec<(Time, Option<u8>)> {
    let link = |(when, _, fact): (Time, _, ServerFact)| match fact {
        ServerFact::Etcd(member) => Some((when, member)),
        _ => None,
    };
    seen.servers().into_iter().filter_map(link).collect()
}

#[test]
fn a_silent_member_is_left_when_the_keep_alive_says_so() {
    let scenario = seed_world();
    let mut waits = Vec::new();
    for seed in 0..12 {
        let linked = links(&run(&scenario, seed))[0].1.unwrap();
        let node = scenario.etcd[EtcdId(0)].members[linked as usize].node;
        let seen = run(&broken(scenario.clone(), 100, None, cut_node(node)), seed);
        let [_, silent, again] = links(&seen)[..] else { panic!("{:?}", links(&seen)) };
        assert_eq!(silent, (at(100), None));
        assert!(again.1.is_some_and(|member| member != linked));
        let wait = again.0.since(at(100));
        // 40 s of silence since etcd was last heard from, and 20 s for each dial to the very member that does not answer.
        let (silence, dials) = (wait.as_nanos() / secs(1).as_nanos() % 20, wait.as_nanos() / secs(20).as_nanos());
        assert!(silence == 0 && dials >= 2 || (15..20).contains(&silence) && dials >= 1, "{wait:?}");
        waits.push(wait);
    }
    waits.sort_unstable();
    assert!(waits[0] <= secs(40) && waits[11] >= secs(56), "dials are drawn: {waits:?}");
}

#[test]
fn new_connections_go_to_members_that_are_known_to_be_ready() {
    let bundled = bundled().iter().find(|file| file.name == "zone-outage-option-1").expect("it is bundled");
    let mut scenario = Scenario::from_json(bundled.json).expect("it is valid");
    scenario.duration = secs(30 * 60);
    let (mut known, mut unknown) = (0, 0);
    for seed in 0..16 {
        let seen = watch(&scenario, seed, Stepping::FastForward, 1, SHOOT).servers();
        for (runs, replica, _) in seen.iter().filter(|(when, _, fact)| *fact == ServerFact::Runs && *when > at(600)) {
            let linked = |(when, of, fact): &(Time, Replica, ServerFact)| {
                (of == replica && when >= runs && matches!(fact, ServerFact::Etcd(Some(_)))).then_some(*when)
            };
            assert_eq!(seen.iter().find_map(linked), Some(*runs), "the member in za is not among the endpoints: {seen:?}");
            known += 1;
        }
        // In the first two minutes nobody knows: those that were connected to it may dial it again.
        unknown += seen
            .iter()
            .filter(|(when, _, fact)| *when > at(640) && *when < at(720) && matches!(fact, ServerFact::Etcd(_)))
            .count();
    }
    assert!(known >= 8 && unknown > 0, "{known} servers started later, {unknown} dials before");
}

#[test]
fn a_member_that_ends_is_left_at_once() {
    let scenario = seed_world();
    let scenarios = (0..12).map(|seed| (seed, links(&run(&scenario, seed))[0].1.unwrap()));
    let followed: Vec<(u64, u8)> = scenarios.filter(|(_, linked)| *linked != 0).collect();
    assert!(!followed.is_empty());
    for (seed, linked) in followed {
        let seen = run(
            &broken(scenario.clone(), 100, Some(300), Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(linked))))),
            seed,
        );
        let [_, next] = links(&seen)[..] else { panic!("{:?}", links(&seen)) };
        assert!(next.0 == at(100) && next.1.is_some_and(|member| member != linked), "{next:?}");
        assert!(seen.availability(Verb::Write).is_empty(), "it led nothing: nobody notices");
    }
}

#[test]
fn a_server_talks_to_the_member_on_its_host_though_that_lags() {
    let file = |api_to_etcd: &str| {
        let text = json!({
            "name": "stacked",
            "duration": "3m",
            "topology": {"regions": [{"name": "r", "zones": ["a"]}]},
            "clusters": [{
                "name": "c",
                "zones": ["a"],
                "api_to_etcd": api_to_etcd,
                "control_plane": {"options": {"snapshot_count": 100, "catch_up_entries": 50}, "initial": {"database": "8GiB"}},
                "pools": [{"name": "p", "minimum": 1, "maximum": 1}],
            }],
            "clients": [{"name": "load", "etcd": "c/etcd", "zone": "a", "op": "put", "value": "1KiB", "rate": "20/s"}],
            "faults": [{"at": "60s", "for": "30s", "kind": "process_kill", "member": "c/etcd/etcd-2"}],
        });
        Scenario::from_json(&text.to_string()).expect("a scenario")
    };
    let scenario = file("local");
    let host = scenario.etcd[EtcdId(0)].members[2].node;
    let linked = |seen: &Seen| {
        let link = |(when, replica, fact): (Time, Replica, ServerFact)| match fact {
            ServerFact::Etcd(member) if replica == Replica::Host(host) => Some((when, member)),
            _ => None,
        };
        seen.servers().into_iter().filter_map(link).collect::<Vec<_>>()
    };
    let seen = run(&scenario, 1);
    let [(_, Some(2)), (left, None), (found, Some(2))] = linked(&seen)[..] else { panic!("{:?}", linked(&seen)) };
    // Its member starts again within a second or two; it then receives 8 GiB, for a minute and more.
    assert!(left == at(60) && found >= at(90) && found < at(93), "{found:?}");
    // Where it may talk to any, it talks to another one.
    let others = linked(&run(&file("any"), 1));
    assert!(others.iter().all(|(when, member)| *when < at(60) || member.is_some_and(|member| member != 2)), "{others:?}");
}

#[test]
fn a_path_that_is_open_again_soon_is_forgiven() {
    let scenario = seed_world();
    let linked = links(&run(&scenario, 1))[0].1;
    let node = scenario.etcd[EtcdId(0)].members[linked.unwrap() as usize].node;
    let seen = run(&broken(scenario, 100, Some(30), cut_node(node)), 1);
    assert_eq!(links(&seen)[1..], [(at(100), None), (at(130), linked)]);
}

fn unknown(seen: &Seen) -> Time {
    seen.nodes(Ready::Unknown)[0].0
}

/// Changes of objects.
fn changes(seen: &Seen) -> impl Iterator<Item = Time> {
    seen.0.iter().filter(|(_, fact)| matches!(fact, KubeRecord::Pod(..) | KubeRecord::Node(..))).map(|(when, _)| *when)
}

#[test]
fn nothing_is_decided_while_the_api_is_away() {
    let scenario = seed_world();
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(1)));
    for seed in 0..8 {
        // Shorter than the renew deadline: it goes on with what it has seen before.
        let alone = run(&scenario, seed);
        let brief = run(&without_quorum(scenario.clone(), CLUSTER, 150, 3), seed);
        assert_eq!(brief.availability(Verb::Write).len(), 2, "{:?}", brief.availability(Verb::Write));
        assert_eq!(brief.leases(Component::ControllerManager).len(), 1);
        assert_eq!(unknown(&brief), unknown(&alone));
        // Longer: the process that leads then has seen no sign of the node, and waits for one as long as for any.
        let long = run(&without_quorum(scenario.clone(), CLUSTER, 150, 60), seed);
        let [_, (lost, None), (taken, Some(_))] = long.leases(Component::ControllerManager)[..] else { panic!("{long:#?}") };
        assert!(lost > at(150 + 10) && lost <= at(150 + 12), "{lost:?}");
        let back = long.availability(Verb::Write)[1].0;
        assert!(taken > back + secs(15) && taken < back + secs(15 + 9), "{back:?}, {taken:?}");
        // Its looks begin within a millisecond.
        let overdue = taken + secs(120);
        assert!((overdue..overdue + Duration::from_millis(1)).contains(&unknown(&long)), "{taken:?}, {:?}", unknown(&long));
        assert!(changes(&long).all(|when| when <= at(150) || when >= back));
        // When it is overdue already, it happens then.
        let late = run(&without_quorum(scenario.clone(), CLUSTER, 205, 6), seed);
        let back = late.availability(Verb::Write)[1].0;
        if late.leases(Component::ControllerManager).len() == 1 {
            assert!(unknown(&late) == unknown(&alone) || unknown(&late) >= back && unknown(&late) < back + secs(5));
        }
    }
}

/// A leader that takes over in the middle of the pods' patience: it counts anew.
#[test]
fn patience_begins_anew_with_another_leader() {
    let scenario = seed_world();
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(1)));
    let seen = run(&without_quorum(scenario.clone(), CLUSTER, 400, 30), 1);
    let taken = seen.leases(Component::ControllerManager)[2].0;
    let taints = seen.tainted();
    assert!(taints.len() == 2 && taints[0].0 < at(240) && taints[1].0 == taken, "{taints:?}");
    assert_eq!(seen.node_facts(NodeFact::Unreachable(Effect::NoExecute, false)), [(taken, NodeKey(1))]);
    let terminating = seen.pods(|fact| fact == PodFact::Terminating)[0].0;
    assert!(terminating >= taken + secs(300) && terminating < taken + secs(301), "{taken:?}, {terminating:?}");
    assert_eq!(seen.nodes(Ready::Unknown).len(), 1, "what is unknown stays so");
}

#[test]
fn slow_disks_slow_every_step() {
    let mut scenario = seed_world();
    for volume in 0..3 {
        let slow = Fault::DiskSlow(DiskSlow {
            volume: FaultTarget::Named(VolumeId(volume)),
            add: Duration::from_millis(700),
            factor: 1.0,
        });
        scenario = broken(scenario, 300, None, slow);
    }
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(1)));
    let seen = run(&scenario, 1);
    let last = |which: &dyn Fn(PodFact) -> bool| seen.pods(which).last().unwrap().0;
    let made = last(&|fact| fact == PodFact::Created).since(last(&|fact| fact == PodFact::Terminating));
    let bound = last(&|fact| matches!(fact, PodFact::Bound(_))).since(last(&|fact| fact == PodFact::Created));
    for step in [made, bound] {
        assert!(step > Duration::from_millis(700) && step < secs(2), "{step:?}");
    }
}

/// Healing is the seed's: the hosted cluster's own etcd has no part in it.
#[test]
fn a_shoot_without_quorum_is_healed_by_its_seed() {
    let scenario = hosted(with_shoot(with(world(&[2, 2, 2]), workload("web", 0, 6)), 3), 1);
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(1)));
    let alone = run(&scenario, 1);
    let headless = without_quorum(scenario.clone(), EtcdId(1), 90, 3_000);
    // But that its API servers fail their readiness probes, one after the other.
    let is_probe = |(when, record): &(Time, KubeRecord)| {
        let server = |name: PodName| scenario.kube.clusters[KUBE_CLUSTER].workloads[name.workload].role == Role::ApiServer(SHOOT);
        matches!(record, KubeRecord::Pod(name, PodFact::Ready(_)) if server(*name)) && *when > at(90)
    };
    let (probes, healed): (Vec<_>, Vec<_>) = run(&headless, 1).0.into_iter().partition(is_probe);
    assert_eq!(Seen(healed, alone.1.clone()), alone);
    let period = scenario.kube.clusters[SHOOT].timers.readiness_period;
    for (ready, from) in [(false, at(90) + period * 2), (true, at(3_090))] {
        let turned = probes.iter().filter(|(_, record)| matches!(record, KubeRecord::Pod(_, PodFact::Ready(is)) if *is == ready));
        let turned: Vec<Time> = turned.map(|(when, _)| *when).collect();
        assert!(turned.len() == 3 && turned.iter().all(|when| *when > from && *when < from + period + secs(2)), "{turned:?}");
    }
    let shoot = run_in(&headless, 1, SHOOT);
    assert_eq!(shoot.availability(Verb::Write)[0], (at(90), false));
    // And the other way round: a seed without quorum heals late, which its shoots do not notice.
    let seedless = without_quorum(scenario, CLUSTER, 150, 600);
    assert!(run(&seedless, 1).pods(|fact| fact == PodFact::Terminating)[0].0 > at(750 + 420));
    assert!(run_in(&seedless, 1, SHOOT).availability(Verb::Write).is_empty());
}

#[test]
fn an_api_is_served_by_pods() {
    let scenario = |pods| with_shoot(world(&[2, 2, 2]), pods);
    // The only one is gone with its node: until its replacement is ready.
    let one = scenario(1);
    let node = run(&one, 1).node_of(run(&one, 1).pods(|fact| fact == PodFact::Created)[0].1).unwrap();
    let seen = |scenario: &Scenario| {
        let scenario = broken(scenario.clone(), 100, None, crash(scenario, node));
        (run(&scenario, 1), run_in(&scenario, 1, SHOOT).availability(Verb::Write))
    };
    let (seed, availability) = seen(&one);
    let pods = seed.pods(|fact| fact == PodFact::Ready(true));
    let replaced = pods.iter().find(|(when, pod)| *when > at(100) && pod.workload.0 == 0).unwrap().0;
    assert_eq!(availability, [(at(100), false), (replaced, true)]);
    assert!(seen(&scenario(3)).1.is_empty());
}

/// Many clusters cost nothing while nothing happens in them.
#[test]
fn at_rest_nothing_is_queued() {
    let mut scenario = with_shoot(seed_world(), 3);
    scenario.duration = secs(3_600);
    let mut simulation = Simulation::new(Arc::new(scenario), 1, Options::default());
    while let Some(step) = simulation.step_described(&mut |_, _| {}) {
        assert!(step.text.iter().all(|words| !words.starts_with("seed:") && !words.starts_with("shoot:")), "{:?}", step.text);
    }
}

#[test]
fn what_an_api_does_is_told_in_words() {
    let scenario = hosted(with_shoot(world(&[2, 2, 2]), 1), 1);
    let scenario = broken(
        scenario.clone(),
        100,
        Some(200),
        Fault::NodeCrash(NodeCrash(FaultTarget::Named(scenario.kube.clusters[KUBE_CLUSTER].control_plane[0]))),
    );
    let scenario = without_quorum(without_quorum(scenario, CLUSTER, 600, 60), EtcdId(1), 600, 60);
    let said: Vec<String> = [KUBE_CLUSTER, SHOOT]
        .into_iter()
        .flat_map(|cluster| {
            let spec = &scenario.kube.clusters[cluster];
            run_in(&scenario, 1, cluster).0.into_iter().map(|(_, fact)| fact.describe(spec, &scenario)).collect::<Vec<_>>()
        })
        .collect();
    for expected in [
        "seed: API server on control-plane-0 is running",
        "seed: API server on control-plane-0 has stopped",
        "seed: API server on control-plane-0 is ready",
        "seed: API server on control-plane-0 is not ready: etcd does not answer",
        "seed: API server on control-plane-0 is connected to etcd-main-",
        "seed: API writes are unavailable",
        "seed: API reads are available",
        "seed: kube-scheduler has no leader",
        "seed: kube-scheduler is inactive",
        "seed: kube-scheduler is active",
        "seed: kube-controller-manager on control-plane-0 is the leader",
        "shoot: kube-controller-manager kube-controller-manager-",
        "shoot: API server kube-apiserver-",
    ] {
        assert!(said.iter().any(|words| words.starts_with(expected)), "{expected} is not among {said:#?}");
    }
}

fn any_fault(scenario: &Scenario, kind: u8, which: u32) -> Fault {
    let etcd = || NodeId((which % 3) as u16);
    let shoot = || scenario.etcd[EtcdId(1)].members[which as usize % 3].node;
    let host = || scenario.kube.clusters[KUBE_CLUSTER].control_plane[which as usize % 2];
    match kind {
        0 => cut_node(etcd()),
        1 => Fault::NodeCrash(NodeCrash(FaultTarget::Named(etcd()))),
        2 => Fault::ProcessKill(ProcessKill(FaultTarget::Named(member((which % 3) as u8)))),
        3 => cut_node(host()),
        4 => Fault::NodeCrash(NodeCrash(FaultTarget::Named(host()))),
        5 => cut_zone(ZoneId(which as u16 % 4)),
        6 => Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(which as u16 % 4)))),
        7 => crash(scenario, NodeKey(which % 4)),
        8 => cut_node(shoot()),
        _ => {
            let (volume, add) = (FaultTarget::Named(VolumeId(which as u16 % 6)), Duration::from_millis(u64::from(which) * 900));
            Fault::DiskSlow(DiskSlow { volume, add, factor: 1.0 })
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn whatever_breaks_ticks_and_pauses_change_nothing(
        seed: u64, faults in prop::collection::vec((20..900u64, 1..400u64, 0..10u8, 0..12u32), 1..7),
    ) {
        let mut scenario = hosted(with_shoot(with(world(&[2, 1, 1]), workload("web", 0, 5)), 2), 2);
        // (One that writes slowly does write, but counts as away.)
        let is_slow = faults.iter().any(|(.., kind, _)| *kind == 9);
        for (from, lasts, kind, which) in faults {
            let fault = any_fault(&scenario, kind, which);
            scenario = broken(scenario, from, Some(lasts), fault);
        }
        scenario.duration = secs(1_800);
        for cluster in [KUBE_CLUSTER, SHOOT] {
            let seen = run_in(&scenario, seed, cluster);
            let (mut up, mut is_active) = (true, [true; Component::ALL.len()]);
            for (when, fact) in &seen.0 {
                match fact {
                    KubeRecord::ApiAvailability { verb: Verb::Write, up: now } => up = *now,
                    KubeRecord::ControllerActive(component, now) => is_active[*component as usize] = *now,
                    KubeRecord::Pod(_, PodFact::Created | PodFact::Terminating) | KubeRecord::Node(_, NodeFact::Unreachable(..)) => {
                        prop_assert!(is_active[Component::ControllerManager as usize], "{fact:?} at {when:?}");
                    }
                    KubeRecord::Pod(_, PodFact::Bound(_)) => {
                        prop_assert!(is_active[Component::Scheduler as usize], "{fact:?} at {when:?}");
                    }
                    _ => {}
                }
                match fact {
                    // What is so, whoever knows it.
                    KubeRecord::Node(_, NodeFact::Lost(_)) => {}
                    KubeRecord::Pod(..) | KubeRecord::Node(..) => prop_assert!(up || is_slow || *when == at(0), "{fact:?} at {when:?}"),
                    _ => {}
                }
            }
            prop_assert_eq!(&seen, &watch(&scenario, seed, Stepping::FastForward, 7, cluster));
        }
    }
}
