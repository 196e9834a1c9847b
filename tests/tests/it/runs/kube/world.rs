//! A small world: zones of nodes, a control plane in a zone of its own, Deployments; and what was seen of them.

use std::sync::Arc;

use zonefall_core::gardener::record::GardenerRecord;
use zonefall_core::ids::{EtcdId, KubeClusterId, NodeId, NodeKey, TiVec, VolumeId, WorkloadId, ZoneId};
use zonefall_core::invariant::{self, Checker};
use zonefall_core::kernel::dist::Latency;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::cluster::KubeCluster;
use zonefall_core::kube::ctx::ClusterCtx;
use zonefall_core::kube::name::{NodeName, PodName};
use zonefall_core::kube::record::{KubeRecord, NodeFact, PodFact, Ready, Replica, ServerFact, Verb};
use zonefall_core::kube::rule::labels::{Condition, Labels, NodeAffinity, Requirement, Selector, Symbol};
use zonefall_core::kube::rule::spread::Constraint;
use zonefall_core::kube::rule::taints::Effect;
use zonefall_core::kube::share::Share;
use zonefall_core::kube::spec::autoscaler::Drainability;
use zonefall_core::kube::spec::controllers::Controllers;
use zonefall_core::kube::spec::placement::PodAffinity;
use zonefall_core::kube::spec::routing::Routing;
use zonefall_core::kube::spec::update::Update;
use zonefall_core::kube::spec::usage::InFlight;
use zonefall_core::kube::spec::volume::Disks;
use zonefall_core::kube::spec::zone_aware::ZoneAware;
use zonefall_core::kube::spec::{
    Component, Image, Kind, KubeClusterSpec, MemberRange, NodeSpec, NodeTemplate, Resources, Role, Rollout, Timers,
    UNREACHABLE_TOLERATION, Workload, tolerates_unreachable,
};
use zonefall_core::record::Record;
use zonefall_core::scenario::network_card;
use zonefall_core::scenario::testing::{CLUSTER, three_zones};
use zonefall_core::scenario::{
    Direction, Fault, FaultTarget, Node, NodeCrash, NodePartition, Path, PlannedFault, Scenario, Volume, Zone, ZonePartition,
};
use zonefall_core::sim::{Options, Simulation, Stepping};

pub(super) const NAMESPACE: Symbol = Symbol(99);

/// Key of the label that pods of a workload have in common; its values are the symbols from here on.
const APP: u32 = 100;

/// The first cluster.
pub(super) const KUBE_CLUSTER: KubeClusterId = KubeClusterId(0);

/// The cluster that pods of the first serve.
pub(super) const SHOOT: KubeClusterId = KubeClusterId(1);

/// The zone of the control plane, where there are three others.
pub(super) const PARENT: ZoneId = ZoneId(3);

pub(super) fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

pub(super) fn at(s: u64) -> Time {
    Time::ZERO + secs(s)
}

/// The label of zone `k`.
pub(super) fn zone_label(k: u32) -> Symbol {
    Symbol(1_000 + k)
}

/// So many nodes in each zone, with room for 8 CPUs and 32 GiB, and a control plane in one zone more. Two hours.
pub(super) fn world(nodes_per_zone: &[u32]) -> Scenario {
    let mut scenario = three_zones();
    scenario.duration = secs(7_200);
    let zones = nodes_per_zone.len() + 1;
    scenario.zones = (0..zones).map(|zone| Zone { name: format!("zone-{zone}"), region: 0 }).collect();
    let path = Path { delay: Duration::from_micros(500), jitter: Latency::NONE, loss: 0.0, bytes_per_s: 1 << 30 };
    scenario.network.paths = vec![path; zones * zones];
    let parent = ZoneId(zones as u16 - 1);
    scenario.nodes.iter_mut().for_each(|node| node.zone = parent);
    scenario.volumes.iter_mut().for_each(|volume| volume.zone = parent);
    let mut nodes = TiVec::new();
    for (zone, count) in (0..).zip(nodes_per_zone) {
        for k in 0..*count {
            let node = scenario.nodes.next_key();
            let labels = [(Symbol::HOSTNAME, Symbol(2_000 + u32::from(node.0))), (Symbol::ZONE, zone_label(zone))];
            scenario.nodes.push(Node {
                name: format!("node-{zone}-{k}"),
                zone: ZoneId(zone as u16),
                card_bytes_per_s: network_card::DEFAULT,
            });
            let allocatable = Resources { cpu_milli: 8_000, memory: 32 << 30, pods: 110 };
            let template = NodeTemplate {
                labels: labels.into_iter().collect(),
                taints: Vec::new(),
                allocatable,
                volumes: 25,
                card_bytes_per_s: network_card::DEFAULT,
            };
            nodes.push(NodeSpec { node, template, machine: None });
        }
    }
    let (name, control_plane, timers) = ("seed".to_owned(), vec![NodeId(0)], Timers::default());
    scenario.kube.clusters = TiVec::from(vec![KubeClusterSpec {
        name,
        etcd: CLUSTER,
        added_hosts: 0,
        control_plane_machine: None,
        control_plane,
        nodes,
        machine_deployments: TiVec::new(),
        workloads: TiVec::new(),
        control_plane_namespaces: Vec::new(),
        routing: Routing::default(),
        resources: 66,
        shutdown_delay: None,
        access: None,
        not_advertising: Vec::new(),
        api_clients: TiVec::new(),
        timers,
        requests: Vec::new(),
        in_flight: InFlight::default(),
        fairness: None,
        background: Vec::new(),
        controllers: Controllers::default(),
        components: Component::ALL.to_vec(),
        services: TiVec::new(),
        budgets: Vec::new(),
        zone_aware: ZoneAware::default(),
        disks: Disks::default(),
    }]);
    scenario
}

/// A Deployment; `app` tells its pods from others'.
pub(super) fn workload(name: &str, app: u32, replicas: u32) -> Workload {
    let (key, value) = (Symbol(APP), Symbol(APP + 1 + app));
    Workload {
        name: name.to_owned(),
        namespace: NAMESPACE,
        kind: Kind::Deployment,
        role: Role::Other,
        replicas,
        hinted: false,
        labels: Labels::from_iter([(key, value)]),
        selector: Selector::All(vec![Requirement { key, is: Condition::In(vec![value]) }]),
        requests: Resources { cpu_milli: 100, memory: 1 << 28, pods: 1 },
        affinity: NodeAffinity::default(),
        tolerations: vec![tolerates_unreachable(UNREACHABLE_TOLERATION)],
        spread: Vec::new(),
        prefers: Vec::new(),
        pod_affinity: PodAffinity::default(),
        start: secs(5),
        stop: secs(2),
        volume: None,
        image: Image { id: 0, bytes: 0 },
        max_unavailable: None,
        rollout: Rollout::default(),
        update: Update::default(),
        placed: Vec::new(),
        member_range: MemberRange::default(),
        drainability: Drainability::default(),
    }
}

/// The workload's pods, spread over the values of a label.
pub(super) fn over(key: Symbol, max_skew: u64, workload: &Workload) -> Constraint {
    let selector = workload.selector.clone();
    Constraint { key, max_skew, selector, per_rollout: false, min_domains: 1, honors_affinity: true, honors_taints: false }
}

/// `scenario` with this workload more.
pub(super) fn with(mut scenario: Scenario, workload: Workload) -> Scenario {
    scenario.kube.clusters[KUBE_CLUSTER].workloads.push(workload);
    scenario
}

/// `scenario` with this fault more, at so many seconds; it lasts so many, or for ever.
pub(super) fn broken(mut scenario: Scenario, at_s: u64, lasts_s: Option<u64>, fault: Fault) -> Scenario {
    scenario.faults.push(PlannedFault { at: at(at_s), lasts: lasts_s.map(secs), fault });
    scenario
}

fn target(scenario: &Scenario, node: NodeKey) -> FaultTarget<NodeId> {
    FaultTarget::Named(scenario.kube.clusters[KUBE_CLUSTER].nodes[node].node)
}

/// The node's power fails.
pub(super) fn crash(scenario: &Scenario, node: NodeKey) -> Fault {
    Fault::NodeCrash(NodeCrash(target(scenario, node)))
}

/// The node is cut off.
pub(super) fn cut(scenario: &Scenario, node: NodeKey) -> Fault {
    Fault::NodePartition(NodePartition { node: target(scenario, node), direction: Direction::Both })
}

/// The zone is cut off.
pub(super) fn cut_zone(zone: ZoneId) -> Fault {
    Fault::ZonePartition(ZonePartition { zone: FaultTarget::Named(zone), direction: Direction::Both })
}

/// What was seen of the cluster.
#[derive(Debug, PartialEq)]
pub(super) struct Seen(pub(super) Vec<(Time, KubeRecord)>, pub(super) Vec<(Time, GardenerRecord)>);

/// `scenario` with a control plane of so many hosts, in a zone each, that have nothing else to do. (etcd stays where it is.)
pub(super) fn hosted(mut scenario: Scenario, hosts: u16) -> Scenario {
    scenario.kube.clusters[KUBE_CLUSTER].control_plane.clear();
    for k in 0..hosts {
        let host = scenario.nodes.push_and_get_key(Node {
            name: format!("control-plane-{k}"),
            zone: ZoneId(k),
            card_bytes_per_s: network_card::DEFAULT,
        });
        scenario.kube.clusters[KUBE_CLUSTER].control_plane.push(host);
    }
    scenario
}

/// `scenario` with a cluster more, served by so many pods of the first: API servers, and controller managers. Its etcd has nodes of its
/// own in the zone of the control plane.
pub(super) fn with_shoot(mut scenario: Scenario, pods: u32) -> Scenario {
    let zone = scenario.nodes[NodeId(0)].zone;
    let mut etcd = scenario.etcd[EtcdId(0)].clone();
    "shoot/etcd-main".clone_into(&mut etcd.name);
    for (k, member) in (0..).zip(&mut etcd.members) {
        member.name = format!("shoot-etcd-main-{k}");
        let volume = Volume { name: format!("shoot-volume-{k}"), ..scenario.volumes[VolumeId(0)].clone() };
        member.node = scenario.nodes.push_and_get_key(Node {
            name: format!("shoot-etcd-{k}"),
            zone,
            card_bytes_per_s: network_card::DEFAULT,
        });
        member.volume = scenario.volumes.push_and_get_key(volume);
    }
    let id = scenario.etcd.push_and_get_key(etcd);
    let (name, timers) = ("shoot".to_owned(), Timers::default());
    let (control_plane_namespaces, routing) = (Vec::new(), Routing::default());
    scenario.kube.clusters.push(KubeClusterSpec {
        name,
        etcd: id,
        added_hosts: 0,
        control_plane_machine: None,
        control_plane: Vec::new(),
        nodes: TiVec::new(),
        machine_deployments: TiVec::new(),
        workloads: TiVec::new(),
        control_plane_namespaces,
        routing,
        resources: 66,
        shutdown_delay: None,
        access: None,
        not_advertising: Vec::new(),
        api_clients: TiVec::new(),
        timers,
        requests: Vec::new(),
        in_flight: InFlight::default(),
        fairness: None,
        background: Vec::new(),
        controllers: Controllers::default(),
        components: Component::ALL.to_vec(),
        services: TiVec::new(),
        budgets: Vec::new(),
        zone_aware: ZoneAware::default(),
        disks: Disks::default(),
    });
    let manager = Role::Controller(SHOOT, Component::ControllerManager);
    for (app, name, role) in [(50, "kube-apiserver", Role::ApiServer(SHOOT)), (51, "kube-controller-manager", manager)] {
        let mut workload = Workload { role, ..workload(name, app, pods) };
        workload.spread = vec![over(Symbol::HOSTNAME, 1, &workload)];
        scenario = with(scenario, workload);
    }
    scenario
}

/// What happens in the cluster, tick by tick and without the ticks that change nothing: the same, and no invariant breaks.
pub(super) fn run(scenario: &Scenario, seed: u64) -> Seen {
    run_in(scenario, seed, KUBE_CLUSTER)
}

/// The same in any cluster.
pub(super) fn run_in(scenario: &Scenario, seed: u64, cluster: KubeClusterId) -> Seen {
    let [fast, full] = [Stepping::FastForward, Stepping::EveryEvent].map(|stepping| watch(scenario, seed, stepping, 1, cluster));
    same(&fast, &full, scenario, seed);
    fast
}

/// The same in every cluster, in their order.
pub(super) fn run_everywhere(scenario: &Scenario, seed: u64) -> TiVec<KubeClusterId, Seen> {
    let [fast, full] = [Stepping::FastForward, Stepping::EveryEvent].map(|stepping| watch_all(scenario, seed, stepping, 1));
    for (fast, full) in fast.iter().zip(&full) {
        same(fast, full, scenario, seed);
    }
    fast
}

/// Both modes have seen the same.
pub(super) fn same(fast: &Seen, full: &Seen, scenario: &Scenario, seed: u64) {
    for (k, (fast, full)) in fast.0.iter().zip(&full.0).enumerate() {
        assert_eq!(fast, full, "record {k} of (fast, full) under seed {seed}: {:?}", scenario.faults);
    }
    assert_eq!(fast.0.len(), full.0.len(), "records of (fast, full) under seed {seed}: {:?}", scenario.faults);
}

/// The same, while of the first workload other numbers of pods are wanted from some seconds on.
pub(super) fn run_with(scenario: &Scenario, seed: u64, desired: &[(u64, u32)]) -> Seen {
    let action = |cluster: &mut KubeCluster, k: usize, _: &mut ClusterCtx<'_>| {
        cluster.store_mut().set_desired(WorkloadId(0), desired[k].1);
    };
    act(scenario, seed, action, desired.iter().map(|(second, _)| *second))
}

/// The same, with something done to the cluster at some seconds; the deed is told how many there were before.
pub(super) fn act(
    scenario: &Scenario,
    seed: u64,
    action: impl Fn(&mut KubeCluster, usize, &mut ClusterCtx<'_>),
    when: impl Iterator<Item = u64> + Clone,
) -> Seen {
    let once = |stepping| {
        let (mut simulation, mut invariants) = watched(scenario, seed, stepping);
        let (mut seen, mut others) = (Vec::new(), Vec::new());
        let mut sink = |at, record: &Record| {
            invariants.record(at, record);
            if let Record::Kube(KUBE_CLUSTER, fact) = record {
                seen.push((at, *fact));
            }
            if let Record::Gardener(KUBE_CLUSTER, fact) = record {
                others.push((at, *fact));
            }
        };
        for (k, second) in when.clone().enumerate() {
            simulation.run_until(at(second), &mut sink);
            simulation.act(KUBE_CLUSTER, |cluster, ctx| action(cluster, k, ctx));
        }
        simulation.run_until(Time::ZERO + scenario.duration, &mut sink);
        assert_eq!(invariants.violations(), [], "under seed {seed}: {:?}", scenario.faults);
        Seen(seen, others)
    };
    let (fast, full) = (once(Stepping::FastForward), once(Stepping::EveryEvent));
    assert_eq!(fast, full, "(fast, full) under seed {seed}");
    fast
}

/// From a write until those who watch hear of it, at the start.
pub(super) fn latency(scenario: &Scenario, seed: u64) -> Duration {
    Simulation::new(Arc::new(scenario.clone()), seed, Options::default()).cluster(KUBE_CLUSTER).latency()
}

/// The same in one mode, stopping `pieces - 1` times on the way.
pub(super) fn run_as(scenario: &Scenario, seed: u64, stepping: Stepping, pieces: u64) -> Seen {
    watch(scenario, seed, stepping, pieces, KUBE_CLUSTER)
}

/// The same in any cluster.
pub(super) fn watch(scenario: &Scenario, seed: u64, stepping: Stepping, pieces: u64, cluster: KubeClusterId) -> Seen {
    watch_all(scenario, seed, stepping, pieces).swap_remove(cluster)
}

/// The same in every cluster, in their order.
fn watch_all(scenario: &Scenario, seed: u64, stepping: Stepping, pieces: u64) -> TiVec<KubeClusterId, Seen> {
    let (mut simulation, mut invariants) = watched(scenario, seed, stepping);
    let mut seen: TiVec<_, Seen> = scenario.kube.clusters.iter().map(|_| Seen(Vec::new(), Vec::new())).collect();
    for piece in 1..=pieces {
        // Multiplied first: the last piece ends with the run.
        let until = Time::ZERO + Duration::from_nanos(scenario.duration.as_nanos() * piece / pieces);
        simulation.run_until(until, &mut |at, record: &Record| {
            invariants.record(at, record);
            if let Record::Kube(cluster, fact) = record {
                seen[*cluster].0.push((at, *fact));
            }
            if let Record::Gardener(cluster, fact) = record {
                seen[*cluster].1.push((at, *fact));
            }
        });
    }
    assert_eq!(invariants.violations(), [], "under seed {seed}: {:?}", scenario.faults);
    seen
}

/// A simulation, and what must hold in it.
pub(super) fn watched(scenario: &Scenario, seed: u64, stepping: Stepping) -> (Simulation, invariant::Invariants) {
    let (scenario, options) = (Arc::new(scenario.clone()), Options { stepping, raft_records: true, ..Options::default() });
    (Simulation::new(Arc::clone(&scenario), seed, options), invariant::Invariants::new(&scenario))
}

impl Seen {
    /// Pods of which such a fact was seen, and when.
    pub(super) fn pods(&self, which: impl Fn(PodFact) -> bool) -> Vec<(Time, PodName)> {
        let pod = |(at, record): &(Time, KubeRecord)| match record {
            KubeRecord::Pod(name, fact) if which(*fact) => Some((*at, *name)),
            _ => None,
        };
        self.0.iter().filter_map(pod).collect()
    }

    /// What was seen of a pod.
    pub(super) fn of(&self, pod: PodName) -> Vec<(Time, PodFact)> {
        let fact = |(at, record): &(Time, KubeRecord)| match record {
            KubeRecord::Pod(name, fact) if *name == pod => Some((*at, *fact)),
            _ => None,
        };
        self.0.iter().filter_map(fact).collect()
    }

    /// Where a pod was bound.
    pub(super) fn node_of(&self, pod: PodName) -> Option<NodeKey> {
        self.of(pod).into_iter().find_map(|(_, fact)| match fact {
            PodFact::Bound(NodeName::Given(node)) => Some(node),
            _ => None,
        })
    }

    /// The pods that were bound to a node before the first second was over.
    pub(super) fn first_pods_on(&self, node: NodeKey) -> Vec<PodName> {
        let bound = self.pods(|fact| fact == PodFact::Bound(NodeName::Given(node)));
        bound.into_iter().filter(|(when, _)| *when < at(1)).map(|(_, pod)| pod).collect()
    }

    /// When the API began or ceased to answer such requests.
    pub(super) fn availability(&self, which: Verb) -> Vec<(Time, bool)> {
        let up = |(at, record): &(Time, KubeRecord)| match record {
            KubeRecord::ApiAvailability { verb, up } if *verb == which => Some((*at, *up)),
            _ => None,
        };
        self.0.iter().filter_map(up).collect()
    }

    /// For which shares of its resources the API answered such requests, one after the other.
    pub(super) fn shares(&self, which: Verb) -> Vec<Share> {
        let share = |(_, record): &(Time, KubeRecord)| match record {
            KubeRecord::ApiShare { verb, share } if *verb == which => Some(*share),
            _ => None,
        };
        self.0.iter().filter_map(share).collect()
    }

    /// Who held the lease of a component, from when.
    pub(super) fn leases(&self, of: Component) -> Vec<(Time, Option<Replica>)> {
        let lease = |(at, record): &(Time, KubeRecord)| match record {
            KubeRecord::Lease(component, holder) if *component == of => Some((*at, *holder)),
            _ => None,
        };
        self.0.iter().filter_map(lease).collect()
    }

    /// What was seen of API servers.
    pub(super) fn servers(&self) -> Vec<(Time, Replica, ServerFact)> {
        let server = |(at, record): &(Time, KubeRecord)| match record {
            KubeRecord::ApiServer(replica, fact) => Some((*at, *replica, *fact)),
            _ => None,
        };
        self.0.iter().filter_map(server).collect()
    }

    /// When nodes were seen to become so.
    pub(super) fn nodes(&self, ready: Ready) -> Vec<(Time, NodeKey)> {
        self.node_facts(NodeFact::Ready(ready))
    }

    /// When nodes were tainted `NoExecute`.
    pub(super) fn tainted(&self) -> Vec<(Time, NodeKey)> {
        self.node_facts(NodeFact::Unreachable(Effect::NoExecute, true))
    }

    /// When such a fact of nodes was seen.
    pub(super) fn node_facts(&self, which: NodeFact) -> Vec<(Time, NodeKey)> {
        let node = |(at, record): &(Time, KubeRecord)| match record {
            KubeRecord::Node(NodeName::Given(node), fact) if *fact == which => Some((*at, *node)),
            _ => None,
        };
        self.0.iter().filter_map(node).collect()
    }
}
