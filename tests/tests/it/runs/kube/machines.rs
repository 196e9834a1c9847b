//! Machines that are given up and replaced: GEP-20, "Impact of a Zone Outage", in both cases.

use proptest::prelude::*;

use super::world::{KUBE_CLUSTER, Seen, at, broken, crash, cut_zone, latency, run, run_as, secs, with, workload, world};
use zonefall_core::gardener::machine::meltdown::{Sibling, in_progress};
use zonefall_core::gardener::outage::{OutageFact, OutageSign};
use zonefall_core::gardener::record::GardenerRecord;
use zonefall_core::ids::{MachineDeploymentId, NodeKey, TiVec, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::machine::Phase;
use zonefall_core::kube::name::{MachineName, NodeName, PodTag};
use zonefall_core::kube::record::{KubeRecord, MachineFact, NodeFact, PodFact, Ready};
use zonefall_core::kube::spec::int_or_percent::IntOrPercent::Int;
use zonefall_core::kube::spec::{Kind, MachineDeployment, PoolShare, Rollout, VolumeTemplate, Workload, tolerates_unreachable};
use zonefall_core::scenario::{CloudAnswer, CloudApi, Fault, FaultTarget, NodeCrash, Scenario, ZonePower};
use zonefall_core::sim::Stepping;

/// The same with a machine behind each node: one machine deployment for each zone, of not less than these and up to so many.
pub(super) fn with_machines(mut scenario: Scenario, maximum: u32) -> Scenario {
    let zone_of: TiVec<_, ZoneId> = scenario.nodes.iter().map(|node| node.zone).collect();
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    for (suffix, node) in (0..).zip(&mut cluster.nodes) {
        let zone = zone_of[node.node];
        if cluster.machine_deployments.last().is_none_or(|deployment| deployment.zone != zone) {
            let (name, template) = (format!("pool-z{}", zone.0), node.template.clone());
            let rollout = Rollout { max_surge: Int(1), max_unavailable: Int(0) };
            let pool = PoolShare { zone: (0, 1), minimum: 0, maximum, rollout };
            cluster.machine_deployments.push(MachineDeployment {
                name,
                zone,
                template,
                minimum: 0,
                maximum,
                pool,
                stock: None,
                added: false,
                scale_down_disabled: false,
            });
        }
        cluster.machine_deployments.last_mut().unwrap().minimum += 1;
        node.machine = Some(MachineName {
            deployment: MachineDeploymentId(cluster.machine_deployments.len() as u16 - 1),
            template: 7,
            suffix,
        });
    }
    scenario
}

/// The cloud answers so, in all zones.
pub(super) fn cloud(create: Option<CloudAnswer>, delete: Option<CloudAnswer>) -> Fault {
    Fault::CloudApi(CloudApi { zone: None, create, delete, attach: None, error_rate: 1.0 })
}

impl Seen {
    /// What was seen of machines.
    pub(super) fn machines(&self) -> Vec<(Time, MachineName, MachineFact)> {
        let machine = |(at, record): &(Time, KubeRecord)| match record {
            KubeRecord::Machine(name, fact) => Some((*at, *name, *fact)),
            _ => None,
        };
        self.0.iter().filter_map(machine).collect()
    }

    /// What was seen of a machine.
    fn machine(&self, name: MachineName) -> Vec<(Time, MachineFact)> {
        self.machines().into_iter().filter(|(_, own, _)| *own == name).map(|(at, _, fact)| (at, fact)).collect()
    }

    /// The machines that were made, and when.
    pub(super) fn made(&self) -> Vec<(Time, MachineName)> {
        self.machines().into_iter().filter(|(.., fact)| *fact == MachineFact::Created).map(|(at, name, _)| (at, name)).collect()
    }

    fn phases(&self, name: MachineName) -> Vec<MachineFact> {
        self.machine(name).into_iter().map(|(_, fact)| fact).collect()
    }
}

fn machine_of(scenario: &Scenario, node: u32) -> MachineName {
    scenario.kube.clusters[KUBE_CLUSTER].nodes[NodeKey(node)].machine.unwrap()
}

fn six() -> Scenario {
    with_machines(with(world(&[2, 2, 2]), workload("web", 0, 12)), 4)
}

const UNKNOWN: MachineFact = MachineFact::Phase(Phase::Unknown);
const RUNNING: MachineFact = MachineFact::Phase(Phase::Running);
const FAILED: MachineFact = MachineFact::Phase(Phase::Failed);
const TERMINATING: MachineFact = MachineFact::Phase(Phase::Terminating);
const CRASHING: MachineFact = MachineFact::Phase(Phase::CrashLoopBackOff);

/// The machines of each deployment as they stand after each record: never may one more be given up while one is replaced.
fn one_at_a_time(scenario: &Scenario, seen: &Seen) {
    let mut machines: Vec<(MachineName, Phase)> =
        scenario.kube.clusters[KUBE_CLUSTER].nodes.iter().map(|node| (node.machine.unwrap(), Phase::Running)).collect();
    for (when, name, fact) in seen.machines() {
        let place = machines.iter().position(|(own, _)| *own == name);
        match fact {
            MachineFact::Created => machines.push((name, Phase::Pending)),
            MachineFact::Removed => drop(machines.remove(place.unwrap())),
            MachineFact::DrainTimedOut => {}
            MachineFact::Phase(phase) => {
                let before = machines[place.unwrap()].1;
                if (before, phase) == (Phase::Unknown, Phase::Failed) {
                    let of_it = machines.iter().filter(|(own, _)| own.deployment == name.deployment);
                    let siblings: Vec<_> = of_it.map(|(_, phase)| Sibling { phase: *phase, preserved: false }).collect();
                    assert_eq!(in_progress(&siblings), 0, "{name:?} at {when:?}");
                }
                machines[place.unwrap()].1 = phase;
            }
        }
    }
}

#[test]
fn a_machine_whose_node_crashed_is_replaced() {
    let scenario = six();
    let seen = run(&broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(0))), 1);
    let old = seen.machine(machine_of(&scenario, 0));
    assert_eq!(old.iter().map(|(_, fact)| *fact).collect::<Vec<_>>(), [UNKNOWN, FAILED, TERMINATING, MachineFact::Removed]);
    assert_eq!(old[1].0.since(old[0].0), secs(600));
    let [(_, new)] = seen.made()[..] else { panic!("{:?}", seen.made()) };
    assert_eq!(seen.phases(new), [MachineFact::Created, RUNNING]);
    // Its node is gone with it, the other one has joined.
    assert_eq!(seen.node_facts(NodeFact::Removed).iter().map(|(_, node)| *node).collect::<Vec<_>>(), [NodeKey(0)]);
    let joined = seen.0.iter().find(|(_, fact)| *fact == KubeRecord::Node(NodeName::Machine(new), NodeFact::Registered));
    let (joined, removed) = (joined.unwrap().0, old[3].0);
    // A call to make it, power, boot.
    assert!(joined.since(seen.made()[0].0) >= secs(150) && joined.since(seen.made()[0].0) < secs(151));
    assert!(removed.since(old[2].0) >= secs(60) && removed.since(old[2].0) < secs(61));
    assert!(seen.nodes(Ready::Unknown).len() == 1 && seen.tainted().len() == 1);
}

#[test]
fn pods_go_to_the_node_of_a_new_machine() {
    // No other node has room for the pods of the one that crashed.
    let mut web = workload("web", 0, 6);
    web.requests.cpu_milli = 6_000;
    let scenario = with_machines(with(world(&[2, 2, 2]), web), 2);
    let seen = run(&broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(0))), 1);
    let [(_, new)] = seen.made()[..] else { panic!("{:?}", seen.made()) };
    let bound = seen.pods(|fact| fact == PodFact::Bound(NodeName::Machine(new)));
    assert_eq!(bound.len(), 1, "{seen:#?}");
    assert!(seen.of(bound[0].1).iter().any(|(_, fact)| *fact == PodFact::Ready(true)));
    // That node is as mortal as others.
    let again = broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(0)));
    let again = broken(again, 1_500, Some(4_000), Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))));
    let seen = run(&again, 1);
    let lost =
        seen.0.iter().filter(|(_, fact)| *fact == KubeRecord::Node(NodeName::Machine(new), NodeFact::Ready(Ready::Unknown)));
    assert_eq!(lost.count(), 1);
    one_at_a_time(&again, &seen);
}

/// GEP-20, "Machines cannot be deleted": one machine of each deployment is Terminating for good, its replacement cannot be made, the
/// others stay Unknown.
#[test]
fn a_dead_zone_where_machines_can_neither_be_deleted_nor_made() {
    let scenario = six();
    let broken_ = broken(scenario.clone(), 100, None, cut_zone(ZoneId(0)));
    let broken_ = broken(broken_, 100, None, cloud(Some(CloudAnswer::Refused), Some(CloudAnswer::Refused)));
    let mut now_and_then = broken_.clone();
    now_and_then.duration = secs(1_800);
    let seen = run(&now_and_then, 1);
    let of_zone: Vec<_> = (0..2).map(|node| seen.phases(machine_of(&scenario, node))).collect();
    assert_eq!(of_zone, [vec![UNKNOWN, FAILED, TERMINATING], vec![UNKNOWN]]);
    let [(_, new)] = seen.made()[..] else { panic!("{:?}", seen.made()) };
    assert_eq!(seen.phases(new), [MachineFact::Created, CRASHING]);
    // Later the replacement is given up and replaced in its turn, until there are five machines where two are wanted and one may be in
    // surplus; of the old ones no other is given up.
    let seen = run(&broken_, 1);
    assert_eq!(seen.phases(machine_of(&scenario, 1)), [UNKNOWN]);
    assert_eq!(seen.phases(new), [MachineFact::Created, CRASHING, FAILED, TERMINATING]);
    let last: Vec<MachineFact> = seen.made().iter().filter_map(|(_, name)| seen.phases(*name).last().copied()).collect();
    assert_eq!(last, [TERMINATING; 3]);
    let (made, given_up) = (seen.made()[0].0, seen.made()[1].0);
    assert!(given_up.since(made) >= secs(20 * 60) && given_up.since(made) < secs(23 * 60 + 1), "{made:?} {given_up:?}");
    one_at_a_time(&broken_, &seen);
}

/// A node loses power for good, and this share of the calls to create and delete machines fails: how many calls to create one failed in
/// 30 minutes, and when the machine that replaces it ran.
fn replacement(error_rate: f64, seed: u64) -> (usize, Option<Time>) {
    let unavailable = Some(CloudAnswer::Unavailable);
    let fails = CloudApi { zone: None, create: unavailable, delete: unavailable, attach: None, error_rate };
    let crash = crash(&six(), NodeKey(0));
    let mut scenario = broken(broken(six(), 100, None, crash), 100, None, fails.into());
    scenario.duration = secs(1_800);
    let seen = run(&scenario, seed);
    let failed = seen.machines().iter().filter(|(.., fact)| *fact == CRASHING).count();
    let new: Vec<MachineName> = seen.made().into_iter().map(|(_, name)| name).collect();
    let runs = seen.machines().into_iter().find(|(_, name, fact)| *fact == RUNNING && new.contains(name)).map(|(at, ..)| at);
    (failed, runs)
}

#[test]
fn machines_are_made_though_a_share_of_the_calls_fails() {
    let (works, never) = (replacement(1e-9, 1), replacement(1.0, 1));
    assert!(works.0 == 0 && works.1.is_some(), "{works:?}");
    assert!(never.0 > 0 && never.1.is_none(), "{never:?}");
    let some: Vec<_> = (0..8).map(|seed| replacement(0.6, seed)).collect();
    assert!(some.iter().all(|(_, made)| made.is_some()), "{some:?}");
    assert!(some.iter().any(|(failed, made)| *failed > 0 && *made > works.1), "some were asked for again: {some:?}");
    assert_ne!(some[0], some[1], "which calls fail depends on the seed");
}

/// GEP-20, "Machines can be deleted": the machine goes, the one that replaces it waits for its node.
#[test]
fn a_dead_zone_where_machines_can_be_deleted() {
    let scenario = broken(six(), 100, None, Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))));
    let seen = run(&scenario, 1);
    // Each is given up 20 minutes after it was made, for as long as this goes on; the other old one is Unknown all the while.
    let gone: Vec<_> = seen.machines().into_iter().filter(|(.., fact)| *fact == MachineFact::Removed).collect();
    assert!(gone.len() > 2 && seen.made().len() == gone.len(), "{gone:#?}");
    assert_eq!(seen.phases(machine_of(&scenario, 1)), [UNKNOWN]);
    let first = seen.made()[0].1;
    assert_eq!(seen.phases(first), [MachineFact::Created, FAILED, TERMINATING, MachineFact::Removed]);
    assert!(seen.made().iter().all(|(_, name)| !seen.phases(*name).contains(&RUNNING)), "without power none joins");
    one_at_a_time(&scenario, &seen);
    // With power again, all is well again.
    let healed = broken(six(), 100, Some(3_000), Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))));
    let seen = run(&healed, 1);
    let last = seen.machines().into_iter().rfind(|(.., fact)| matches!(fact, MachineFact::Phase(_)));
    assert!(matches!(last, Some((when, _, RUNNING)) if when > at(3_100)), "{last:?}");
    one_at_a_time(&healed, &seen);
}

#[test]
fn what_is_out_of_stock_is_not_made() {
    let mut scenario = six();
    scenario.kube.stock = vec![0];
    scenario.kube.clusters[KUBE_CLUSTER].machine_deployments[MachineDeploymentId(0)].stock = Some(0);
    scenario.duration = secs(2_000);
    let seen = run(&broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(0))), 1);
    let [(_, new)] = seen.made()[..] else { panic!("{:?}", seen.made()) };
    // Until the old one is back in stock.
    assert_eq!(seen.phases(new), [MachineFact::Created, CRASHING, MachineFact::Phase(Phase::Pending), RUNNING]);
}

/// When outages were seen to begin and to end.
fn outages(seen: &Seen) -> Vec<(Time, ZoneId, OutageFact)> {
    let outage = |(at, record): &(Time, GardenerRecord)| match record {
        GardenerRecord::ZoneOutage(zone, fact) => Some((*at, *zone, *fact)),
        _ => None,
    };
    seen.1.iter().filter_map(outage).collect()
}

#[test]
fn a_zone_outage_is_told_from_machines_and_nodes() {
    let power = Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(1))));
    let undeletable = broken(six(), 100, Some(3_000), cloud(Some(CloudAnswer::Refused), Some(CloudAnswer::Refused)));
    for (scenario, how) in [(six(), OutageSign::DeletionWorks), (undeletable, OutageSign::DeletionFails)] {
        let mut scenario = broken(scenario, 100, Some(3_000), power.clone());
        let seen = run(&scenario, 1);
        let [(began, ZoneId(1), OutageFact::Detected(as_)), (over, ZoneId(1), OutageFact::Ended)] = outages(&seen)[..] else {
            panic!("{:?}", outages(&seen))
        };
        assert_eq!(as_, how);
        let given_up = seen.machines().into_iter().find(|(.., fact)| *fact == FAILED).unwrap().0;
        let notified = latency(&scenario, 1);
        assert_eq!(began.since(given_up), secs(5 * 60) + notified, "2 + 10 + 5 minutes");
        // With power again: the first node that is back has to boot.
        assert!(over >= at(3_160) && over < at(3_175), "{over:?}");
        // One that lasts for less than the threshold is none.
        scenario.kube.clusters[KUBE_CLUSTER].timers.outage = secs(3_000);
        assert!(outages(&run(&scenario, 1)).is_empty());
    }
    // Nor is a node, or a zone that is cut off until its nodes are given up and no longer.
    let few = broken(six(), 100, None, crash(&six(), NodeKey(2)));
    assert!(outages(&run(&few, 1)).is_empty());
    let short = broken(six(), 100, Some(700), cut_zone(ZoneId(1)));
    assert!(outages(&run(&short, 1)).is_empty());
}

/// No machine is given up because the control plane is out of reach.
#[test]
fn machine_controller_gives_nothing_up_while_its_api_is_out_of_reach() {
    let control_plane = six().kube.clusters[KUBE_CLUSTER].control_plane[0];
    let scenario = broken(six(), 100, Some(1_400), Fault::NodeCrash(NodeCrash(FaultTarget::Named(control_plane))));
    let seen = run(&scenario, 1);
    assert!(seen.nodes(Ready::Unknown).is_empty() && seen.machines().is_empty(), "{seen:#?}");
    // A node that died before is given up by the process that takes over: what its predecessor knew of a freeze is gone.
    let dead = broken(six(), 50, None, crash(&six(), NodeKey(0)));
    let dead = broken(dead, 500, Some(1_000), Fault::NodeCrash(NodeCrash(FaultTarget::Named(control_plane))));
    let facts = run(&dead, 1).machine(machine_of(&dead, 0));
    let [(_, UNKNOWN), (failed, FAILED), ..] = facts[..] else { panic!("{facts:?}") };
    // Boot, start, and a lease that is anybody's again after 15 s.
    assert!(failed >= at(1_595) && failed < at(1_605), "{facts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn given_up_when_unknown_for_long_enough(
        seed: u64, health_s in 60..1_500u64, creation_s in 120..1_500u64, refuses: bool, zones in prop::array::uniform2(1..4u32),
        faults in prop::collection::vec((20..2_000u64, 10..3_000u64, 0..5u8, 0..12u32), 1..5),
    ) {
        let mut scenario = with_machines(with(world(&zones), workload("web", 0, 6)), 4);
        let nodes: u32 = zones.iter().sum();
        let timers = &mut scenario.kube.clusters[KUBE_CLUSTER].timers.machines;
        (timers.health, timers.creation) = (secs(health_s), secs(creation_s));
        if refuses {
            scenario = broken(scenario, 50, Some(2_500), cloud(Some(CloudAnswer::Refused), Some(CloudAnswer::Unavailable)));
        }
        // With its host the controller's process is gone; another one judges when it is there.
        let survives = faults.iter().all(|(.., kind, _)| *kind != 3);
        for (from, lasts, kind, which) in faults {
            let zone = ZoneId(which as u16 % 2);
            let fault = match kind {
                0 | 1 => crash(&scenario, NodeKey(which % nodes)),
                2 => cut_zone(zone),
                3 => Fault::NodeCrash(NodeCrash(FaultTarget::Named(scenario.kube.clusters[KUBE_CLUSTER].control_plane[0]))),
                _ => Fault::ZonePower(ZonePower(FaultTarget::Named(zone))),
            };
            scenario = broken(scenario, from, Some(lasts), fault);
        }
        scenario.duration = secs(5_000);
        let seen = run(&scenario, seed);
        prop_assert_eq!(&seen, &run_as(&scenario, seed, Stepping::FastForward, 7));
        one_at_a_time(&scenario, &seen);
        for (_, name, _) in seen.machines() {
            let facts = seen.machine(name);
            for pair in facts.windows(2).filter(|pair| (pair[0].1, pair[1].1) == (UNKNOWN, FAILED)) {
                let waited = pair[1].0.since(pair[0].0);
                prop_assert!(waited >= secs(health_s) && (waited - secs(health_s)).as_nanos().is_multiple_of(secs(5).as_nanos()));
            }
        }
        // Whoever is the first of its deployment to be unknown is given up exactly then.
        let unknown = seen.machines().into_iter().find(|(.., fact)| *fact == UNKNOWN);
        if let Some((since, name, _)) = unknown {
            let next = seen.machine(name).into_iter().find(|(when, _)| *when > since);
            if let Some((failed, FAILED)) = next.filter(|_| survives) {
                prop_assert_eq!(failed.since(since), secs(health_s));
            }
        }
    }
}

/// A node that is back before its machine could be deleted is emptied first.
#[test]
fn drained_before_it_is_deleted() {
    let patient = vec![tolerates_unreachable(secs(7_000))];
    let volume = Some(VolumeTemplate::new(false, 1 << 30));
    let placed = (0..3).map(|ordinal| (PodTag::Ordinal(ordinal), NodeKey(0))).collect();
    let kind = Kind::StatefulSet { parallel: true };
    let db = Workload { kind, volume, placed, tolerations: patient.clone(), ..workload("db", 0, 3) };
    let web = Workload { tolerations: patient, ..workload("web", 1, 6) };
    let scenario = with_machines(with(with(world(&[1, 1, 1]), db), web), 4);
    let scenario = broken(scenario, 100, Some(1_000), cut_zone(ZoneId(0)));
    let scenario = broken(scenario, 100, Some(1_500), cloud(None, Some(CloudAnswer::Unavailable)));
    let seen = run(&scenario, 1);
    let (drained, gone) = (at(1_600), seen.node_facts(NodeFact::Removed)[0].0);
    assert!(seen.node_facts(NodeFact::Cordoned).iter().all(|(when, node)| *when >= drained && *node == NodeKey(0)));
    let ending = seen.pods(|fact| fact == PodFact::Terminating);
    let times = |workload: u32| ending.iter().filter(move |(_, pod)| pod.workload.0 == workload).map(|(when, _)| *when);
    let (dbs, webs): (Vec<_>, Vec<_>) = (times(0).collect(), times(1).collect());
    assert!(dbs.len() == 3 && webs.len() == 2 && webs.iter().all(|when| *when == dbs[0]), "{dbs:?} {webs:?}");
    assert!(webs[0] >= drained && webs[0] <= drained + secs(5));
    let removed = seen.pods(|fact| fact == PodFact::Removed);
    assert!(removed.len() == 5 && removed.iter().all(|(when, _)| *when < gone), "{removed:?}");
    // A look every 5 s whether the one before has stopped, which takes 2 s.
    assert_eq!([dbs[1].since(dbs[0]), dbs[2].since(dbs[1])], [secs(5), secs(5)]);
    // Whoever left runs again: nobody went back to the node.
    assert!(seen.pods(|fact| fact == PodFact::Bound(NodeName::Given(NodeKey(0)))).iter().all(|(when, _)| *when < at(1)));
}
