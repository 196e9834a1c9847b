//! Hand-written streams for each property of a cluster: one that keeps it, one that breaks it (the sections are those of the properties).

use std::sync::Arc;

use crate::ids::{KubeClusterId, MachineDeploymentId, NodeId, NodeKey, TiVec, WorkloadId, ZoneId};
use crate::invariant::{Checker, Invariants};
use crate::kernel::time::{Duration, Time};
use crate::kube::machine::Phase;
use crate::kube::name::{MachineName, NodeName, PodName, PodTag};
use crate::kube::record::KubeRecord::{self, ControllerActive, Lease, Machine, Node, Pod};
use crate::kube::record::PodFact::{
    Bound, Created, Evicted, OrphanedContainer, Ready, Removed, Started, Terminating, VolumeAttached, VolumeDetached,
};
use crate::kube::record::{Loss, MachineFact, NodeFact, PodFact, Ready as Condition, Replica};
use crate::kube::rule::labels::Condition::In;
use crate::kube::rule::labels::{Labels, NodeAffinity, Requirement, Selector, Symbol};
use crate::kube::rule::spread::Constraint;
use crate::kube::spec::autoscaler::Drainability;
use crate::kube::spec::controllers::Controllers;
use crate::kube::spec::int_or_percent::IntOrPercent::Int;
use crate::kube::spec::placement::{PodAffinity, Term};
use crate::kube::spec::routing::Routing;
use crate::kube::spec::update::Update;
use crate::kube::spec::usage::InFlight;
use crate::kube::spec::volume::Disks;
use crate::kube::spec::zone_aware::ZoneAware;
use crate::kube::spec::{
    self, BudgetLimit, Component, Image, Kind, KubeClusterSpec, MachineDeployment, MemberRange, NodeSpec, NodeTemplate,
    PodSelector, PoolShare, Resources, Role, Rollout, Timers, UnhealthyPods, VolumeTemplate, Workload,
};
use crate::observe::testing::{CLUSTER, member, three_zones};
use crate::record::{EtcdRecord, Record, StopReason};
use crate::scenario::Scenario;

const APP: Symbol = Symbol(100);
const KCM: Component = Component::ControllerManager;
const UNKNOWN: NodeFact = NodeFact::Ready(Condition::Unknown);
const CUT: NodeFact = NodeFact::Lost(Some(Loss::Network));
const DARK: NodeFact = NodeFact::Lost(Some(Loss::Power));
const STARTED: PodFact = Started { restarts: 0 };
const DETACHED: PodFact = VolumeDetached { forced: true };

fn workload(app: u32) -> Workload {
    let labels = Labels::from_iter([(APP, Symbol(101 + app))]);
    let selector = Selector::All(vec![Requirement { key: APP, is: In(vec![Symbol(101 + app)]) }]);
    Workload {
        name: format!("app-{app}"),
        namespace: Symbol(99),
        kind: Kind::Deployment,
        role: Role::Other,
        replicas: 3,
        hinted: false,
        labels,
        selector,
        requests: Resources { cpu_milli: 1_000, memory: 1, pods: 1 },
        affinity: NodeAffinity::default(),
        tolerations: Vec::new(),
        spread: Vec::new(),
        prefers: Vec::new(),
        pod_affinity: PodAffinity::default(),
        volume: None,
        image: Image { id: 0, bytes: 0 },
        max_unavailable: None,
        rollout: Rollout::default(),
        start: Duration::ZERO,
        stop: Duration::ZERO,
        update: Update::default(),
        placed: Vec::new(),
        member_range: MemberRange::default(),
        drainability: Drainability::default(),
    }
}

/// A budget of these workloads' pods.
fn budget(name: &str, apps: &[u32], limit: BudgetLimit) -> spec::Budget {
    let selector = Selector::All(vec![Requirement { key: APP, is: In(apps.iter().map(|app| Symbol(101 + app)).collect()) }]);
    let pods = PodSelector { namespace: Symbol(99), selector };
    spec::Budget { name: name.to_owned(), pods, limit, unhealthy_pods: UnhealthyPods::default() }
}

/// A cluster of three nodes in a zone each, with room for three pods and a machine each; of its four workloads the first has a budget of
/// one, the second are etcd's members with volumes, the third is spread over zones and stays away from the second; of these two a budget
/// wants three pods. The fourth has a budget of one, and another one that selects it.
fn scenario() -> Scenario {
    let mut scenario = three_zones();
    let template = |zone: u32| {
        let labels = [(Symbol::HOSTNAME, Symbol(200 + zone)), (Symbol::ZONE, Symbol(300 + zone))];
        let allocatable = Resources { cpu_milli: 3_000, memory: 1 << 30, pods: 110 };
        NodeTemplate { labels: labels.into_iter().collect(), taints: Vec::new(), allocatable, volumes: 9, card_bytes_per_s: 1 }
    };
    let node = |k: u32| NodeSpec { node: NodeId(k as u16), template: template(k), machine: Some(machine(0, k)) };
    let deployment = |k: u32| {
        let (name, zone) = (format!("group-{k}"), ZoneId(k as u16));
        let pool = PoolShare { zone: (0, 1), minimum: 0, maximum: 3, rollout: Rollout::default() };
        MachineDeployment {
            name,
            zone,
            template: template(k),
            minimum: 3,
            maximum: 3,
            stock: None,
            added: false,
            scale_down_disabled: false,
            pool,
        }
    };
    let budgeted = Workload { max_unavailable: Some(1), ..workload(0) };
    let twice = Workload { max_unavailable: Some(1), ..workload(3) };
    let (kind, volume) = (Kind::StatefulSet { parallel: true }, Some(VolumeTemplate::new(false, 1 << 30)));
    let stateful = Workload { kind, volume, role: Role::Etcd(CLUSTER), ..workload(1) };
    let mut spread = workload(2);
    let (selector, others) = (spread.selector.clone(), stateful.selector.clone());
    spread.pod_affinity.anti_affinity.required = vec![Term { key: Symbol::HOSTNAME, selector: others }];
    spread.spread = vec![Constraint {
        key: Symbol::ZONE,
        max_skew: 1,
        selector,
        per_rollout: true,
        min_domains: 1,
        honors_affinity: true,
        honors_taints: true,
    }];
    scenario.kube.clusters = TiVec::from(vec![KubeClusterSpec {
        name: "seed".to_owned(),
        etcd: CLUSTER,
        added_hosts: 0,
        control_plane_machine: None,
        control_plane: vec![NodeId(0)],
        nodes: (0..3).map(node).collect(),
        machine_deployments: (0..2).map(deployment).collect(),
        workloads: vec![budgeted, stateful, spread, twice].into(),
        control_plane_namespaces: Vec::new(),
        routing: Routing::default(),
        resources: 66,
        shutdown_delay: None,
        access: None,
        not_advertising: Vec::new(),
        api_clients: TiVec::new(),
        timers: Timers::default(),
        requests: Vec::new(),
        in_flight: InFlight::default(),
        fairness: None,
        background: Vec::new(),
        controllers: Controllers::default(),
        components: Component::ALL.to_vec(),
        services: TiVec::new(),
        budgets: vec![
            budget("data", &[1, 2], BudgetLimit::MinAvailable(Int(3))),
            budget("twice", &[3], BudgetLimit::MaxUnavailable(Int(1))),
        ],
        zone_aware: ZoneAware::default(),
        disks: Disks::default(),
    }]);
    scenario
}

fn machine(deployment: u16, suffix: u32) -> MachineName {
    MachineName { deployment: MachineDeploymentId(deployment), template: 7, suffix }
}

fn phase(suffix: u32, phase: Phase) -> KubeRecord {
    Machine(machine(0, suffix), MachineFact::Phase(phase))
}

const fn node(k: u32) -> NodeName {
    NodeName::Given(NodeKey(k))
}

/// Pod `k` of the workload with the budget.
const fn web(k: u32) -> PodName {
    PodName { workload: WorkloadId(0), tag: PodTag::Replica { template: 1, suffix: k } }
}

/// Pod `k` with a volume.
const fn db(k: u32) -> PodName {
    PodName { workload: WorkloadId(1), tag: PodTag::Ordinal(k) }
}

/// Pod `k` of those that are spread.
const fn spread(k: u32) -> PodName {
    PodName { workload: WorkloadId(2), tag: PodTag::Replica { template: 1, suffix: k } }
}

/// Pod `k` of those that two budgets select.
const fn twice(k: u32) -> PodName {
    PodName { workload: WorkloadId(3), tag: PodTag::Replica { template: 1, suffix: k } }
}

fn bound(pod: PodName, k: u32) -> [KubeRecord; 2] {
    [Pod(pod, Created), Pod(pod, Bound(node(k)))]
}

fn serving(pod: PodName, k: u32) -> Vec<KubeRecord> {
    [bound(pod, k), [Pod(pod, STARTED), Pod(pod, Ready(true))]].concat()
}

/// The properties that a stream breaks which begins with `start`, goes on with `rest` after so many seconds, each fact one later.
fn broken(start: &[KubeRecord], pause_s: u64, rest: &[Record]) -> Vec<&'static str> {
    let mut all = Invariants::new(&Arc::new(scenario()));
    for fact in start {
        all.record(Time::ZERO, &Record::Kube(KubeClusterId(0), *fact));
    }
    for (k, record) in (0..).zip(rest) {
        all.record(Time::ZERO + Duration::from_secs(pause_s + k), record);
    }
    let mut names: Vec<_> = all.violations().iter().map(|violation| violation.property).collect();
    names.dedup();
    names
}

/// The rest alone breaks these.
fn check(start: &[KubeRecord], rest: &[KubeRecord], expected: &[&str]) {
    check_later(start, 1, rest, expected);
}

fn check_later(start: &[KubeRecord], pause_s: u64, rest: &[KubeRecord], expected: &[&str]) {
    assert_eq!(broken(start, pause_s, &[]), [""; 0], "{start:?}");
    let records: Vec<_> = rest.iter().map(|fact| Record::Kube(KubeClusterId(0), *fact)).collect();
    assert_eq!(broken(start, pause_s, &records), expected, "{rest:?}");
}

#[test]
fn one_object_per_name() {
    let broken = ["one object per name"];
    let pod = Pod(web(0), Created);
    check(&[pod], &[Pod(web(0), Terminating), Pod(web(0), Removed), pod], &[]);
    check(&[pod], &[pod], &broken);
    check(&[], &[Pod(web(0), Removed)], &broken);
    let (name, made) = (NodeName::Machine(machine(1, 5)), MachineFact::Created);
    check(&[], &[Node(name, NodeFact::Registered), Node(name, NodeFact::Removed), Node(name, NodeFact::Registered)], &[]);
    check(&[], &[Node(node(0), NodeFact::Registered)], &broken);
    check(&[], &[Machine(machine(1, 5), made), Machine(machine(1, 5), MachineFact::Removed)], &[]);
    check(&[], &[Machine(machine(0, 0), made)], &broken);
    check(&[], &[Machine(machine(0, 9), MachineFact::Removed)], &broken);
}

#[test]
fn one_writer_per_volume() {
    let broken = ["one writer per volume"];
    let start = [bound(db(0), 0).as_slice(), &[Pod(db(0), VolumeAttached(node(0)))]].concat();
    check(&start, &[Pod(db(0), STARTED)], &[]);
    check(&bound(db(0), 0), &[Pod(db(0), STARTED)], &broken);
    check(&start, &[Pod(db(0), DETACHED), Pod(db(0), STARTED)], &broken);
    check(&start, &[Pod(db(0), DETACHED), Pod(db(0), VolumeAttached(node(0)))], &[]);
    check(&start, &[Pod(db(0), VolumeAttached(node(0)))], &broken);
    check(&start, &[Pod(db(0), DETACHED), Pod(db(0), DETACHED)], &broken);
    // Its member must have ended in between.
    let kube = |fact| Record::Kube(KubeClusterId(0), Pod(db(0), fact));
    let moves = [Record::Etcd(EtcdRecord::MemberStarted(member(0))), kube(DETACHED), kube(VolumeAttached(node(0)))];
    assert_eq!(super::tests::broken(&start, 1, &moves), broken);
    let mut ends = moves.to_vec();
    ends.insert(2, Record::Etcd(EtcdRecord::MemberStopped { member: member(0), reason: StopReason::VolumeDetached }));
    assert_eq!(super::tests::broken(&start, 1, &ends), [""; 0]);
}

#[test]
fn zonal_volumes_stay() {
    let broken = ["zonal volumes stay"];
    let again = |k| [[Pod(db(0), Terminating), Pod(db(0), Removed)], bound(db(0), k)].concat();
    check(&bound(db(0), 0), &again(0), &[]);
    check(&bound(db(0), 0), &again(1), &broken);
    check(&bound(db(0), 0), &[Pod(db(0), VolumeAttached(node(1)))], &broken);
    // Other pods go where they like.
    let web = [bound(web(0), 0).as_slice(), &[Pod(web(0), Terminating), Pod(web(0), Removed)], &bound(web(0), 1)].concat();
    check(&web, &[], &[]);
}

#[test]
fn no_eviction_without_allowance() {
    let broken = ["no eviction without allowance"];
    let evicted = |k| [Pod(web(k), Evicted(true)), Pod(web(k), Terminating)];
    let three: Vec<_> = (0..3).flat_map(|k| serving(web(k), k)).collect();
    check(&three, &evicted(0), &[]);
    check(&three, &[evicted(0), evicted(1)].concat(), &broken);
    check(&three, &[evicted(0).as_slice(), &[Pod(web(1), Evicted(false))]].concat(), &[]);
    // One that is not ready spends the allowance too, as soon as the controller must have heard of it.
    let unready = [three.as_slice(), &[Pod(web(2), Ready(false))]].concat();
    check(&unready, &evicted(0), &[]);
    check_later(&unready, 13, &evicted(0), &broken);
    check_later(&unready, 13, &evicted(2), &[]);
    // A controller that does not act hears of nothing; one that was just back, not yet.
    let deaf = [unready.as_slice(), &[ControllerActive(KCM, false)]].concat();
    check_later(&deaf, 100, &evicted(0), &[]);
    let [first, second] = evicted(0);
    check_later(&deaf, 100, &[Lease(KCM, Some(Replica::Host(NodeId(0)))), ControllerActive(KCM, true), first, second], &[]);
}

#[test]
fn no_eviction_without_allowance_of_a_budget_of_several_workloads() {
    let broken = ["no eviction without allowance"];
    let evicted = |pod| [Pod(pod, Evicted(true)), Pod(pod, Terminating)];
    let serving_set = |k: u32, on: u32| {
        let attached = [Pod(db(k), VolumeAttached(node(on))), Pod(db(k), STARTED), Pod(db(k), Ready(true))];
        [bound(db(k), on).as_slice(), &attached].concat()
    };
    // Three that must all stay; then one more, whichever it is.
    let three = [serving_set(0, 0), serving_set(1, 1), serving(spread(0), 2)].concat();
    let four = [three.clone(), serving_set(2, 1)].concat();
    for pod in [db(0), spread(0)] {
        check(&three, &evicted(pod), &broken);
        check(&four, &evicted(pod), &[]);
    }
    check(&four, &[evicted(db(0)), evicted(spread(0))].concat(), &broken);
    let unready = [four.as_slice(), &[Pod(db(1), Ready(false))]].concat();
    check(&unready, &evicted(spread(0)), &[]);
    check_later(&unready, 13, &evicted(spread(0)), &broken);
    // One that is selected twice leaves by no eviction while it runs, and by any before it does.
    check(&serving(twice(0), 0), &evicted(twice(0)), &broken);
    check(&bound(twice(0), 0), &evicted(twice(0)), &[]);
}

#[test]
fn a_pod_runs_on_one_node() {
    let broken = ["a pod runs on one node"];
    let (later, gone) = (Node(node(2), CUT), [Pod(web(0), Terminating), Pod(web(0), Removed)]);
    check(&bound(web(0), 0), &[Pod(web(0), Bound(node(1)))], &broken);
    check(&[Pod(web(0), Created)], &[Pod(web(0), STARTED)], &broken);
    check(&[Pod(web(0), Created), Node(node(0), NodeFact::Removed)], &[Pod(web(0), Bound(node(0)))], &broken);
    // Gone, cut off, and nobody tells.
    let silent = |start: &[KubeRecord], lost| [start, &[Node(node(0), lost), Node(node(0), UNKNOWN)], &gone].concat();
    check(&silent(&serving(web(0), 0), CUT), &[later], &broken);
    check(&silent(&serving(web(0), 0), CUT), &[Pod(web(0), OrphanedContainer(true)), later], &broken);
    let told = [silent(&serving(web(0), 0), CUT).as_slice(), &[Pod(web(0), OrphanedContainer(true))]].concat();
    check(&told, &[later], &[]);
    // It does not run without power, or before it was started; it has ended where it is heard.
    check(&silent(&serving(web(0), 0), DARK), &[later], &[]);
    check(&silent(&bound(web(0), 0), CUT), &[later], &[]);
    check(&[serving(web(0), 0).as_slice(), &gone].concat(), &[later], &[]);
    let heard = [Pod(web(0), Terminating), Node(node(0), CUT), Node(node(0), UNKNOWN), Pod(web(0), Removed)];
    check(&[serving(web(0), 0).as_slice(), &heard].concat(), &[later], &[]);
}

#[test]
fn one_active_leader_per_lease() {
    let broken = ["one active leader per lease"];
    let (one, other) = (Replica::Host(NodeId(0)), Replica::Pod(KubeClusterId(0), web(0)));
    let takes = |replica| Lease(KCM, Some(replica));
    let start = [takes(one)];
    check(&start, &[takes(other)], &broken);
    check(&start, &[Lease(KCM, None), ControllerActive(KCM, true)], &broken);
    check(&start, &[Lease(KCM, None), Lease(KCM, None)], &broken);
    check(&start, &[Lease(Component::Scheduler, Some(other)), ControllerActive(Component::Scheduler, true)], &[]);
    // One that gave up at 0 s had last renewed its lease of 15 s at -12 s.
    let given_up = [takes(one), Lease(KCM, None)];
    check_later(&given_up, 2, &[takes(other)], &broken);
    check_later(&given_up, 3, &[takes(other)], &[]);
    // A pod that is asked to stop gives it away.
    let pod = [bound(web(0), 0).as_slice(), &[takes(other)]].concat();
    check(&[pod.as_slice(), &[Lease(KCM, None)]].concat(), &[takes(one)], &broken);
    check(&[pod.as_slice(), &[Pod(web(0), Terminating), Lease(KCM, None)]].concat(), &[takes(one)], &[]);
}

#[test]
fn nodes_are_not_over_committed() {
    let three: Vec<_> = (0..3).flat_map(|k| bound(web(k), 0)).collect();
    check(&three, &bound(web(3), 1), &[]);
    check(&three, &bound(web(3), 0), &["nodes are not over-committed"]);
    let gone = [Pod(web(0), Terminating), Pod(web(0), Removed)];
    check(&[three.as_slice(), &gone].concat(), &bound(web(3), 0), &[]);
    // A new node of that name is empty, and so is that of a machine.
    let name = NodeName::Machine(machine(0, 9));
    let new = [Node(name, NodeFact::Registered), Pod(web(3), Created), Pod(web(3), Bound(name))];
    check(&three, &new, &[]);
}

#[test]
fn one_replacement_at_a_time() {
    let broken = ["one replacement at a time"];
    let unknown = [phase(0, Phase::Unknown), phase(1, Phase::Unknown)];
    let failed = [phase(0, Phase::Failed), phase(1, Phase::Failed)];
    check(&unknown, &failed[..1], &[]);
    check(&unknown, &failed, &broken);
    check(&unknown, &[phase(0, Phase::Failed), phase(0, Phase::Terminating), phase(1, Phase::Failed)], &broken);
    check(&unknown, &[phase(2, Phase::Pending), phase(1, Phase::Failed)], &broken);
    // Another machine deployment is nobody's sibling; and what never came is given up by itself.
    let made = [Machine(machine(1, 0), MachineFact::Created), Machine(machine(1, 1), MachineFact::Created)];
    check(&[unknown.as_slice(), &made].concat(), &failed[..1], &[]);
    let given_up = MachineFact::Phase(Phase::Failed);
    check(&made, &[Machine(machine(1, 0), given_up), Machine(machine(1, 1), given_up)], &[]);
}

#[test]
fn machines_stay_within_the_maximum_and_the_surge() {
    let broken = ["machines stay within the maximum and the surge"];
    let created = |suffix| Machine(machine(0, suffix), MachineFact::Created);
    let other = |suffix| Machine(machine(1, suffix), MachineFact::Created);
    // Three run, as many as there may be; a quarter more, rounded up, is the surge.
    check(&[], &[created(3), other(0), other(1)], &[]);
    check(&[created(3)], &[created(4)], &broken);
    // A machine set of another template counts, and what is on its way out does not.
    let newer = Machine(MachineName { template: 8, ..machine(0, 4) }, MachineFact::Created);
    check(&[created(3)], &[newer], &broken);
    check(&[created(3), phase(0, Phase::Terminating)], &[created(4)], &[]);
    check(&[created(3), phase(0, Phase::Failed)], &[created(4)], &[]);
    check(&[created(3), phase(0, Phase::Unknown)], &[created(4)], &broken);
    check(&[created(3), phase(3, Phase::CrashLoopBackOff)], &[created(4)], &broken);
    check(&[created(3), Machine(machine(0, 0), MachineFact::Removed)], &[created(4)], &[]);
}

#[test]
fn required_constraints_hold_when_bound() {
    let broken = ["required constraints hold when bound"];
    check(&bound(spread(0), 0), &bound(spread(1), 1), &[]);
    check(&bound(spread(0), 0), &bound(spread(1), 0), &broken);
    // A pod that is on its way out counts no more; a zone whose nodes it may not run on is none.
    check(&[bound(spread(0), 0).as_slice(), &[Pod(spread(0), Terminating)]].concat(), &bound(spread(1), 0), &[]);
    let cordoned = [bound(spread(0), 0).as_slice(), &[1, 2].map(|k| Node(node(k), NodeFact::Cordoned))].concat();
    check(&cordoned, &bound(spread(1), 0), &[]);
    // Nor does one of another template.
    let old = PodName { workload: WorkloadId(2), tag: PodTag::Replica { template: 0, suffix: 0 } };
    check(&bound(old, 0), &bound(spread(1), 0), &[]);
    // Apart, whoever comes first.
    check(&bound(db(0), 0), &bound(spread(0), 1), &[]);
    check(&bound(db(0), 0), &bound(spread(0), 0), &broken);
    check(&bound(spread(0), 0), &bound(db(0), 0), &broken);
    check(&bound(spread(0), 0), &bound(web(0), 0), &[]);
}
