//! Volumes, images and processes: who may write to what, from when on.

use proptest::prelude::*;

use super::world::{KUBE_CLUSTER, Seen, act, at, broken, crash, cut, run, secs, with, workload, world};
use zonefall_core::ids::{EtcdId, MemberId, NodeKey, VolumeId, WorkloadId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::cluster::KubeCluster;
use zonefall_core::kube::ctx::ClusterCtx;
use zonefall_core::kube::name::{NodeName, PodName, PodTag};
use zonefall_core::kube::record::{PodFact, Reason};
use zonefall_core::kube::spec::{Image, Kind, Role, VolumeTemplate, Workload};
use zonefall_core::record::{EtcdRecord, Record, StopReason};
use zonefall_core::scenario::{CloudAnswer, CloudApi, Fault, FaultTarget, NodePartition, Scenario, Volume, ZonePower};
use zonefall_core::sim::{Options, Simulation, Stepping};

const W: WorkloadId = WorkloadId(0);
const LOST: NodeKey = NodeKey(1);
const ETCD: EtcdId = EtcdId(1);

fn pod(ordinal: u32) -> PodName {
    PodName { workload: W, tag: PodTag::Ordinal(ordinal) }
}

/// Three pods with a volume each, one in each of three zones of two nodes; the first on the node that is lost.
fn three() -> Workload {
    let mut set = workload("set", 0, 3);
    set.kind = Kind::StatefulSet { parallel: true };
    set.volume = Some(VolumeTemplate::new(false, 1 << 30));
    set.placed = (0..3).map(|k| (PodTag::Ordinal(k), NodeKey(2 * k + u32::from(k == 0)))).collect();
    set
}

/// The same as members of an etcd cluster of their own.
fn members() -> Scenario {
    let mut set = three();
    set.role = Role::Etcd(ETCD);
    let mut scenario = with(world(&[2, 2, 2]), set);
    let mut cluster = scenario.etcd[EtcdId(0)].clone();
    (cluster.name, cluster.managed) = ("shoot".to_owned(), true);
    let placed = scenario.kube.clusters[KUBE_CLUSTER].workloads[WorkloadId(0)].placed.clone();
    for (member, (_, key)) in cluster.members.iter_mut().zip(placed) {
        member.node = scenario.kube.clusters[KUBE_CLUSTER].nodes[key].node;
        member.volume = zonefall_core::ids::VolumeId(scenario.volumes.len() as u16);
        let (zone, disk) = (scenario.nodes[member.node].zone, scenario.volumes[VolumeId(0)].disk.clone());
        scenario.volumes.push(Volume { name: format!("vol-{}", member.name), zone, disk });
    }
    scenario.etcd.push(cluster);
    scenario
}

/// Takes a pod's object away, wherever it runs, as who cares for stale pods does.
fn force(cluster: &mut KubeCluster, name: PodName, ctx: &mut ClusterCtx<'_>) {
    let found = cluster.store().pods_of(name.workload).find(|(_, pod)| pod.name == name).map(|(id, _)| id);
    if let Some(id) = found {
        cluster.store_mut().terminate(id, ctx);
        if cluster.store().pod(id).is_some() {
            cluster.store_mut().remove(id, ctx);
        }
    }
}

/// The first pod's object is taken away at 1000 s.
fn forced(scenario: &Scenario) -> Seen {
    act(scenario, 1, |cluster, _, ctx| force(cluster, pod(0), ctx), [1_000].into_iter())
}

fn since(seen: &Seen, pod: PodName, s: u64) -> Vec<(Duration, PodFact)> {
    seen.of(pod).into_iter().filter(|(when, _)| *when >= at(s)).map(|(when, fact)| (when.since(at(s)), fact)).collect()
}

fn is_about(took: Duration, s: u64) -> bool {
    took >= secs(s) && took < secs(s) + Duration::from_millis(200)
}

#[test]
fn a_successor_waits_for_the_volume_until_it_is_taken_by_force() {
    let scenario = with(world(&[2, 2, 2]), three());
    for fault in [crash(&scenario, LOST), cut(&scenario, LOST)] {
        let is_cut = matches!(fault, Fault::NodePartition(NodePartition { .. }));
        let seen = forced(&broken(scenario.clone(), 100, None, fault));
        let mut facts = since(&seen, pod(0), 1_000);
        if is_cut {
            // It runs on until its volume is gone.
            assert_eq!(facts.remove(1), (Duration::ZERO, PodFact::OrphanedContainer(true)));
            let end = facts.iter().position(|(_, fact)| *fact == PodFact::OrphanedContainer(false)).expect("it ends");
            assert!(is_about(facts.remove(end).0, 370));
        }
        use PodFact::{Bound, Created, Ready, Removed, Started, VolumeAttached, VolumeDetached};
        let node = NodeName::Given(NodeKey(0));
        let kinds: Vec<_> = facts.iter().map(|(_, fact)| *fact).collect();
        let expected = [
            (Removed, 0),
            (Created, 0),
            (Bound(node), 0),
            (VolumeDetached { forced: true }, 360 + 10),
            (VolumeAttached(node), 360 + 10 + 10),
            (Started { restarts: 0 }, 360 + 10 + 10 + 2 + 5),
            (Ready(true), 360 + 10 + 10 + 2 + 5),
        ];
        assert_eq!(kinds, expected.map(|(fact, _)| fact));
        for ((took, fact), (_, about)) in facts.iter().zip(expected) {
            assert!(is_about(*took, about), "{fact:?} after {took:?}");
        }
    }
}

#[test]
fn a_volume_keeps_its_pod_in_its_zone_unless_it_is_regional() {
    for regional in [false, true] {
        let mut set = three();
        set.volume = Some(VolumeTemplate::new(regional, 1 << 30));
        let scenario = with(world(&[2, 2, 2]), set);
        let seen = forced(&broken(scenario, 100, Some(1_900), Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0))))));
        let facts = since(&seen, pod(0), 1_000);
        let refusal = facts.iter().find(|(_, fact)| matches!(fact, PodFact::Unschedulable(_)));
        let attached = facts.iter().find(|(_, fact)| matches!(fact, PodFact::VolumeAttached(_))).expect("in the end");
        if regional {
            assert_eq!(refusal, None);
            assert!(is_about(attached.0, 380), "{facts:?}");
        } else {
            assert_eq!(refusal.map(|(_, fact)| *fact), Some(PodFact::Unschedulable(Reason::VolumeZone)));
            // Power, boot, back-off; or the node itself, which still has it.
            assert!(attached.0 > secs(1_000 + 60), "{facts:?}");
        }
    }
}

/// Nodes are in another zone than a volume; none need be in its own.
#[test]
fn a_pod_whose_zone_has_no_node_is_not_said_to_be_in_another_zone() {
    let scenario = with(world(&[2, 2, 2]), three());
    let scenario = broken(scenario, 100, None, Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))));
    let remove = |cluster: &mut KubeCluster, _: usize, ctx: &mut ClusterCtx<'_>| {
        for key in [0, 1] {
            cluster.store_mut().remove_node(NodeKey(key), ctx);
        }
    };
    let seen = act(&scenario, 1, remove, [1_000].into_iter());
    let refused = seen.pods(|fact| matches!(fact, PodFact::Unschedulable(_)));
    assert!(!refused.is_empty(), "its volume cannot move");
    let reasons = seen.pods(|fact| fact == PodFact::Unschedulable(Reason::NoNodesInVolumeZone));
    assert_eq!(reasons, refused);
}

#[test]
fn a_node_that_lives_hands_its_volume_over() {
    let scenario = with(world(&[2, 2, 2]), three());
    let end = |cluster: &mut KubeCluster, _: usize, ctx: &mut ClusterCtx<'_>| {
        let id = cluster.store().pods_of(W).next().expect("it is there").0;
        cluster.store_mut().terminate(id, ctx);
    };
    let seen = act(&scenario, 1, end, [100].into_iter());
    let facts = since(&seen, pod(0), 100);
    let gone = facts.iter().find(|(_, fact)| *fact == PodFact::Removed).expect("it ends");
    assert!(is_about(gone.0, 2));
    assert!(!facts.iter().any(|(_, fact)| *fact == PodFact::VolumeDetached { forced: true }), "{facts:?}");
    let ready = facts.iter().find(|(_, fact)| *fact == PodFact::Ready(true)).expect("it is back");
    // On the same node the volume stays; on another it moves.
    let moved = facts.iter().any(|(_, fact)| *fact == PodFact::VolumeDetached { forced: false });
    assert!(is_about(ready.0, if moved { 2 + 20 + 7 } else { 2 + 7 }), "{facts:?}");
}

#[test]
fn the_cloud_is_asked_until_it_moves_the_volume() {
    let scenario = with(world(&[2, 2, 2]), three());
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, LOST));
    let refused = |attach, from, lasts| {
        let scenario = broken(
            scenario.clone(),
            from,
            Some(lasts),
            Fault::CloudApi(CloudApi { zone: None, create: None, delete: None, attach, error_rate: 1.0 }),
        );
        let facts = since(&forced(&scenario), pod(0), 1_000);
        let when = |which: fn(&PodFact) -> bool| facts.iter().find(|(_, fact)| which(fact)).expect("in the end").0;
        let detached = when(|fact| matches!(fact, PodFact::VolumeDetached { forced: true }));
        (detached, when(|fact| matches!(fact, PodFact::VolumeAttached(_))))
    };
    // While it is to detach: asked again at least every 2 min and 2 s.
    let answer = Some(CloudAnswer::Unavailable);
    let (detached, attached) = refused(answer, 1_300, 700);
    assert!(detached >= secs(1_010) && detached < secs(1_010 + 122) && is_about(attached - detached, 10), "{detached:?}");
    // While it is to attach.
    let (detached, attached) = refused(answer, 1_365, 50);
    assert!(is_about(detached, 370) && attached >= secs(425) && attached < secs(475), "{detached:?} {attached:?}");
}

#[test]
fn pods_of_a_node_that_is_gone_are_collected() {
    let scenario = with(with(world(&[2, 2, 2]), three()), workload("web", 1, 6));
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, LOST));
    let seen = act(&scenario, 1, |cluster, _, ctx| cluster.store_mut().remove_node(LOST, ctx), [1_000].into_iter());
    let gone = seen.pods(|fact| fact == PodFact::Removed);
    assert_eq!(gone.len(), 2, "{gone:?}");
    // First missed within 20 s, and again 40 s later.
    assert!(gone.iter().all(|(when, _)| *when > at(1_040) && *when <= at(1_060) && *when == gone[0].0), "{gone:?}");
    // Whoever is gone uses no volume.
    let facts = since(&seen, pod(0), 1_000);
    let detached = facts.iter().find(|(_, fact)| matches!(fact, PodFact::VolumeDetached { .. }));
    assert!(
        detached
            .is_some_and(|(took, fact)| is_about(*took - gone[0].0.since(at(1_000)), 10)
                && *fact == PodFact::VolumeDetached { forced: false }),
        "{facts:?}"
    );
    assert!(
        facts.iter().any(|(_, fact)| *fact == PodFact::Bound(NodeName::Given(NodeKey(0))))
            && facts.iter().any(|(_, fact)| *fact == PodFact::Ready(true))
    );
}

#[test]
fn images_are_pulled_one_after_the_other_and_once() {
    let mut scenario = world(&[1]);
    for (k, mb) in [(0, 600), (1, 300), (0, 600)] {
        let mut web = workload(&format!("web-{k}-{mb}"), 0, 0);
        web.image = Image { id: k, bytes: mb * 1_000_000 };
        scenario = with(scenario, web);
    }
    let more = |cluster: &mut KubeCluster, _: usize, _: &mut ClusterCtx<'_>| {
        (0..3).for_each(|workload| cluster.store_mut().set_desired(WorkloadId(workload), 1));
    };
    let seen = act(&scenario, 1, more, [100].into_iter());
    let ready: Vec<_> = seen.pods(|fact| fact == PodFact::Ready(true)).into_iter().map(|(when, _)| when.since(at(100))).collect();
    assert_eq!(ready.len(), 3);
    for (took, about) in ready.iter().zip([10 + 5, 10 + 5, 10 + 5 + 5]) {
        assert!(is_about(*took, about), "{ready:?}");
    }
    // What a node's own pods need is there from the start: after a crash they start at once.
    scenario.kube.clusters[KUBE_CLUSTER].workloads.iter_mut().for_each(|web| web.replicas = 1);
    let seen = run(&broken(scenario.clone(), 100, Some(20), crash(&scenario, NodeKey(0))), 1);
    let back = seen.pods(|fact| fact == PodFact::Started { restarts: 1 });
    let booted = at(100 + 20 + 60 + 5);
    assert!(back.len() == 3 && back.iter().all(|(when, _)| when.since(booted) < Duration::from_millis(1)), "{back:?}");
}

#[test]
fn what_runs_on_though_its_object_is_gone_is_a_hazard() {
    let scenario = with(world(&[2, 2, 2]), workload("web", 0, 6));
    let remove = |cluster: &mut KubeCluster, _: usize, ctx: &mut ClusterCtx<'_>| {
        let here: Vec<_> =
            cluster.store().node(LOST).pods.iter().map(|id| cluster.store().pod(*id).expect("it is there").name).collect();
        for name in here {
            force(cluster, name, ctx);
        }
    };
    let orphans = |scenario: &Scenario| {
        let seen = act(scenario, 1, remove, [1_000].into_iter());
        let of =
            |on| seen.pods(|fact| fact == PodFact::OrphanedContainer(on)).into_iter().map(|(when, _)| when).collect::<Vec<_>>();
        (of(true), of(false))
    };
    // Until its kubelet hears of it.
    let (began, ended) = orphans(&broken(scenario.clone(), 100, Some(2_000), cut(&scenario, LOST)));
    assert_eq!(began, [at(1_000)]);
    assert!(ended.len() == 1 && ended[0] >= at(2_100) && ended[0] < at(2_110), "{ended:?}");
    // Until its node loses power.
    let cut_off = broken(scenario.clone(), 100, None, cut(&scenario, LOST));
    let (_, ended) = orphans(&broken(cut_off, 1_500, None, crash(&scenario, LOST)));
    assert_eq!(ended, [at(1_500)]);
    // A node without power runs nothing; one within reach hears of it.
    for dark in [broken(scenario.clone(), 100, None, crash(&scenario, LOST)), scenario] {
        assert_eq!(orphans(&dark), (vec![], vec![]));
    }
}

/// What happened to the first member: started where, or stopped why.
fn lives(scenario: &Scenario) -> Vec<(Time, Option<StopReason>)> {
    let mut simulation = Simulation::new(std::sync::Arc::new(scenario.clone()), 1, Options::default());
    let mut seen = Vec::new();
    let first = MemberId { cluster: ETCD, index: 0 };
    let mut sink = |at, record: &Record| match record {
        Record::Etcd(EtcdRecord::MemberStarted(member)) if *member == first => seen.push((at, None)),
        Record::Etcd(EtcdRecord::MemberStopped { member, reason }) if *member == first => seen.push((at, Some(*reason))),
        _ => {}
    };
    simulation.run_until(at(1_000), &mut sink);
    simulation.act(KUBE_CLUSTER, |cluster, ctx| force(cluster, pod(0), ctx));
    simulation.run_until(Time::ZERO + scenario.duration, &mut sink);
    seen
}

#[test]
fn a_member_goes_where_its_pod_goes() {
    let scenario = members();
    let start_up = scenario.etcd[EtcdId(1)].options.start_up;
    for (fault, reason, ends) in [
        (crash(&scenario, LOST), StopReason::PowerLost, secs(100)),
        (cut(&scenario, LOST), StopReason::VolumeDetached, secs(1_370)),
    ] {
        let scenario = broken(scenario.clone(), 100, None, fault);
        let lives = lives(&scenario);
        assert_eq!(lives.iter().map(|(_, what)| *what).collect::<Vec<_>>(), [None, Some(reason), None], "{lives:?}");
        assert!(is_about(lives[1].0.since(Time::ZERO), ends.as_nanos() / 1_000_000_000), "{lives:?}");
        let back = lives[2].0.since(at(1_000));
        assert!(back >= secs(382) + start_up && back < secs(383) + start_up, "{back:?}");
        // The pod is ready when its member serves.
        let seen = forced(&scenario);
        let ready = since(&seen, pod(0), 1_000).into_iter().find(|(_, fact)| *fact == PodFact::Ready(true));
        assert_eq!(ready.map(|(took, _)| took), Some(back));
    }
}

#[test]
fn a_member_is_in_its_new_place_for_its_peers() {
    let scenario = broken(members(), 100, None, crash(&members(), LOST));
    let mut simulation = Simulation::new(std::sync::Arc::new(scenario.clone()), 1, Options::default());
    simulation.run_until(at(1_000), &mut |_, _| {});
    simulation.act(KUBE_CLUSTER, |cluster, ctx| force(cluster, pod(0), ctx));
    simulation.run_until(at(2_000), &mut |_, _| {});
    let members = simulation.members(ETCD);
    assert!(members.iter().all(|member| member.down.is_none() && member.last_index == members[0].last_index), "{members:?}");
    // Its new node gone, too, it is gone with it.
    simulation.try_inject(&crash(&scenario, NodeKey(0)), None).expect("it is a node");
    simulation.run_until(at(2_001), &mut |_, _| {});
    assert!(simulation.members(ETCD)[0].down.is_some());
    assert_eq!(simulation.members(ETCD)[1].down, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever is cut, crashes or is removed: one node at most uses a volume.
    #[test]
    fn one_writer_per_volume(
        seed: u64, etcd: bool, patience in 1..400u64,
        faults in prop::collection::vec((0..2_000u64, prop::option::of(1..900u64), 0..6u32, any::<bool>()), 1..6),
        removals in prop::collection::vec((1..3_000u64, 0..3u32), 0..6),
    ) {
        let mut scenario = if etcd { members() } else { with(world(&[2, 2, 2]), three()) };
        scenario.duration = secs(4_000);
        scenario.kube.clusters[KUBE_CLUSTER].timers.force_detach = secs(patience);
        for (when, lasts, node, power) in faults {
            let fault = if power { crash(&scenario, NodeKey(node)) } else { cut(&scenario, NodeKey(node)) };
            scenario = broken(scenario, when, lasts, fault);
        }
        let mut removals = removals;
        removals.sort_unstable();
        let seen = act(&scenario, seed, |cluster, k, ctx| force(cluster, pod(removals[k].1), ctx), removals.iter().map(|(when, _)| *when));
        for k in 0..3 {
            let mut attached = false;
            for (when, fact) in seen.of(pod(k)) {
                match fact {
                    PodFact::VolumeAttached(_) => {
                        prop_assert!(!attached, "{when:?}");
                        attached = true;
                    }
                    PodFact::VolumeDetached { .. } => attached = false,
                    PodFact::Started { .. } => prop_assert!(attached, "{when:?}"),
                    _ => {}
                }
            }
        }
        let options = Options { stepping: Stepping::FastForward, ..Options::default() };
        let mut simulation = Simulation::new(std::sync::Arc::new(scenario.clone()), seed, options);
        let mut due = removals.iter().peekable();
        for second in 0..4_000 {
            simulation.run_until(at(second), &mut |_, _| {});
            while let Some((_, ordinal)) = due.next_if(|(when, _)| *when == second) {
                simulation.act(KUBE_CLUSTER, |cluster, ctx| force(cluster, pod(*ordinal), ctx));
            }
            for k in 0..3 {
                let users = users_of_volume(&simulation, pod(k));
                prop_assert!(users.len() <= 1, "{users:?} use the volume of {k} at {second} s");
            }
        }
    }
}

/// The nodes on which a process uses a pod's volume.
fn users_of_volume(simulation: &Simulation, name: PodName) -> Vec<NodeKey> {
    let kubelets = simulation.cluster(KUBE_CLUSTER).state().kubelets.iter();
    kubelets.filter(|(_, kubelet)| kubelet.uses_volume(name)).map(|(key, _)| *key).collect()
}
