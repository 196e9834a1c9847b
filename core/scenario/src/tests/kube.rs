//! Seeds and shoots: what a file says of them becomes clusters, nodes, workloads and etcd clusters.

use serde_json::{Value, json};

use super::*;
use crate::ids::{KubeClusterId, MachineDeploymentId, NodeKey, SeedId, WorkloadId, ZoneId};
use crate::kube::gardener::{FailureTolerance, Shoot};
use crate::kube::labels::{Labels, Symbol};
use crate::kube::name::{PodName, PodTag};
use crate::kube::taints::Effect;
use crate::kube::{Component, Kind, KubeClusterSpec, KubeModel, Role, Task, Timers, Workload};
use crate::units::int_or_percent::IntOrPercent;

pub(super) const OUTAGE: &str = include_str!("../../../../scenarios/eu-west-1a-outage.json");
const STRICT: &str = include_str!("../../../../scenarios/eu-west-1a-strict.json");

fn read(text: &str) -> Scenario {
    Scenario::from_json(text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A seed over three zones and whatever shoots are given.
pub(super) fn landscape(shoots: Value) -> Value {
    json!({
        "name": "landscape", "duration": "1h",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 7, "maximum": 12}],
        }],
        "shoots": shoots,
    })
}

fn workload<'a>(cluster: &'a KubeClusterSpec, model: &KubeModel, namespace: &str, name: &str) -> (WorkloadId, &'a Workload) {
    let found = cluster.workloads.position(|own| own.name == name && model.word(own.namespace) == namespace);
    let id = found.unwrap_or_else(|| panic!("{namespace}/{name}"));
    (id, &cluster.workloads[id])
}

fn label<'a>(model: &'a KubeModel, labels: &Labels, key: Symbol) -> &'a str {
    model.word(labels.get(key).expect("a label"))
}

#[test]
fn the_published_outage_says_all_that_is_published() {
    // Beside the 30 pods of the table, two of etcd-druid and two of gardenlet; and six that account for machines which none of the 30 needs.
    for (text, others, contradictions) in [(OUTAGE, 4 + 6, 10), (STRICT, 4, 10)] {
        let scenario = read(text);
        let (seed, shoot) = (&scenario.kube.seeds[SeedId(0)], &scenario.kube.shoots[0]);
        let cluster = &scenario.kube.clusters[KubeClusterId(0)];
        assert_eq!((seed.name.as_str(), seed.is_multi_zonal()), ("shoot--garden--aws-ha2", true));
        assert_eq!(scenario.kube.word(shoot.namespace), "shoot--garden--aws-ha");
        let machines: Vec<String> = cluster.nodes.iter().map(|node| node.machine.expect("a machine").text(cluster)).collect();
        assert_eq!(machines.len(), 7);
        for machine in ["cpu-worker-etcd-z1-66659-sf4wt", "cpu-worker-z3-5f499-hnrs6", "etcd-compaction-z1-6bd58-9ffc7"] {
            assert!(machines.contains(&format!("shoot--garden--aws-ha2-{machine}")), "{machine} of {machines:?}");
        }
        let mut pods = Vec::new();
        for (k, workload) in (0..).zip(&cluster.workloads) {
            assert_eq!(workload.placed.len(), workload.replicas as usize, "{}", workload.name);
            let name = |tag| PodName { workload: WorkloadId(k), tag }.text(cluster);
            let host = |node: NodeKey| scenario.nodes[cluster.nodes[node].node].name.clone();
            pods.extend(workload.placed.iter().map(|(tag, node)| (name(*tag), host(*node))));
        }
        assert_eq!(pods.len(), 30 + others);
        assert!(pods.contains(&("kube-apiserver-5fcb7f4bff-845p7".into(), "ip-10-242-73-89.eu-west-1.compute.internal".into())));
        let main = scenario.etcd.iter().find(|cluster| cluster.name == "shoot--garden--aws-ha/etcd-main").expect("etcd-main");
        assert!(main.managed && !main.options.pre_vote);
        let zones: Vec<&str> =
            main.members.iter().map(|member| scenario.zones[scenario.nodes[member.node].zone].name.as_str()).collect();
        assert_eq!(zones, ["eu-west-1c", "eu-west-1a", "eu-west-1b"]);
        assert_eq!(scenario.observe_at.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), ["9m", "45m"]);
        assert_eq!(scenario.contradictions.len(), contradictions);
    }
}

/// Every node, pool and component of the published landscape says where it comes from.
#[test]
fn the_published_outage_marks_its_inputs() {
    for text in [OUTAGE, STRICT] {
        let raw = RawScenario::from_json(text).expect("its form is right");
        let seed = &raw.seeds[0];
        let components = seed.system.components.iter().chain(&raw.shoots[0].components).map(|one| &one.mark);
        let marks = seed.nodes.iter().map(|one| &one.mark).chain(seed.pools.iter().map(|one| &one.mark));
        let marks = marks.chain(raw.faults.iter().map(|one| &one.mark)).chain([&seed.control_plane.mark, &raw.shoots[0].mark]);
        for mark in marks.chain(components) {
            let source = mark.source.expect("a source");
            assert!(source == Source::Published || !mark.because.is_empty(), "{source:?} without a reason");
        }
        let scenario = read(text);
        assert!(
            scenario.inputs.iter().any(|input| input.path == "seeds[0].pools[0].taints[0]" && input.source == Source::Inferred)
        );
        assert_eq!(Scenario::from_raw(&raw), Ok(scenario));
    }
}

/// The strict one differs in how API server and resource manager are spread, as the document demands.
#[test]
fn strict_spreading_is_what_gardener_deploys() {
    let of = |text: &str, name: &str| {
        let scenario = read(text);
        let (_, workload) = workload(&scenario.kube.clusters[KubeClusterId(0)], &scenario.kube, "shoot--garden--aws-ha", name);
        let skews =
            |all: &[crate::kube::placement::Constraint]| all.iter().map(|one| (one.key, one.max_skew)).collect::<Vec<_>>();
        let away = &workload.pod_affinity.anti_affinity;
        (skews(&workload.spread), skews(&workload.prefers), away.required.len(), away.preferred.len())
    };
    let skews = vec![(Symbol::ZONE, 2), (Symbol::HOSTNAME, 1)];
    assert_eq!(of(STRICT, "kube-apiserver"), (skews.clone(), vec![], 0, 0));
    assert_eq!(of(OUTAGE, "kube-apiserver"), (vec![], skews, 0, 0));
    assert_eq!(of(STRICT, "gardener-resource-manager"), (vec![], vec![], 1, 0));
    assert_eq!(of(OUTAGE, "gardener-resource-manager"), (vec![], vec![], 0, 1));
}

#[test]
fn nodes_are_shared_out_over_zones() {
    let scenario = read(&landscape(json!([])).to_string());
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    let machine_deployments: Vec<_> = cluster
        .machine_deployments
        .iter()
        .map(|deployment| (deployment.name.as_str(), deployment.zone.0, deployment.minimum, deployment.maximum))
        .collect();
    assert_eq!(machine_deployments, [("seed-cpu-z1", 0, 3, 4), ("seed-cpu-z2", 1, 2, 4), ("seed-cpu-z3", 2, 2, 4)]);
    let of_group =
        |k| cluster.nodes.iter().filter(|node| node.machine.expect("a machine").deployment == MachineDeploymentId(k)).count();
    assert_eq!((0..3).map(of_group).collect::<Vec<_>>(), [3, 2, 2]);
    for node in &cluster.nodes {
        let machine = &scenario.nodes[node.node];
        assert_eq!(machine.name, node.machine.expect("a machine").text(cluster));
        assert_eq!(label(&scenario.kube, &node.template.labels, Symbol::HOSTNAME), machine.name);
        assert_eq!(label(&scenario.kube, &node.template.labels, Symbol::ZONE), scenario.zones[machine.zone].name);
        assert_eq!(label(&scenario.kube, &node.template.labels, Symbol::REGION), "r");
    }
    let hosts: Vec<ZoneId> = cluster.control_plane.iter().map(|host| scenario.nodes[*host].zone).collect();
    assert_eq!(hosts, [ZoneId(3); 3]);
    let etcd = &scenario.etcd[cluster.etcd];
    assert_eq!((etcd.name.as_str(), etcd.managed, etcd.members.len()), ("seed/etcd", false, 3));
    assert_eq!(cluster.timers, Timers::default());
}

#[test]
fn shoots_become_planes_and_workloads() {
    let shoots = json!([{"name": "n", "count": 3, "failure_tolerance": "node"}, {"name": "z", "failure_tolerance": "zone", "recovery": "redundant"}, {"name": "o"}]);
    let scenario = read(&landscape(shoots).to_string());
    let model = &scenario.kube;
    let names: Vec<&str> = model.shoots.iter().map(|shoot| model.word(shoot.namespace)).collect();
    assert_eq!(names, ["shoot--garden--n-1", "shoot--garden--n-2", "shoot--garden--n-3", "shoot--garden--z", "shoot--garden--o"]);
    assert_eq!(model.clusters.len(), 6);
    let host = |k: usize| model.shoots[k].hosted.as_ref().expect("a seed");
    let seed = &model.clusters[KubeClusterId(0)];
    for (k, shoot) in model.shoots.iter().enumerate() {
        let (hosted, namespace) = (host(k), model.word(shoot.namespace));
        assert_eq!((hosted.seed, hosted.cluster), (SeedId(0), KubeClusterId(1 + k as u16)));
        let cluster = &model.clusters[hosted.cluster];
        assert_eq!(cluster.name, namespace);
        assert!(cluster.nodes.is_empty() && cluster.control_plane.is_empty() && cluster.workloads.is_empty());
        let main = &scenario.etcd[cluster.etcd];
        assert_eq!(main.name, format!("{namespace}/etcd-main"));
        let (id, workload) = workload(seed, model, namespace, "etcd-main");
        assert!(hosted.workloads.contains(&id));
        assert_eq!(workload.role, Role::Etcd(cluster.etcd));
        // Every member starts on the node of its pod, and has a volume in that zone.
        assert_eq!(main.members.len(), workload.placed.len());
        for (member, (tag, node)) in main.members.iter().zip(&workload.placed) {
            let PodTag::Ordinal(ordinal) = tag else { panic!("{tag:?}") };
            assert_eq!(member.name, format!("etcd-main-{ordinal}"));
            assert_eq!(member.node, seed.nodes[*node].node);
            assert_eq!(scenario.volumes[member.volume].zone, scenario.nodes[member.node].zone);
        }
        let mut nodes: Vec<NodeKey> = workload.placed.iter().map(|(_, node)| *node).collect();
        nodes.dedup();
        assert_eq!(nodes.len(), main.members.len(), "a node each");
        let zones = if shoot.tolerance == FailureTolerance::Zone { 3 } else { 1 };
        assert_eq!(hosted.zones.len(), zones);
        assert_eq!(workload.pod_affinity.affinity.required.len(), usize::from(zones == 1), "pinned to a zone");
    }
    // Shoots that are not over all zones take them in turn; only the first zone has three nodes.
    assert_eq!(host(4).zones, [ZoneId(1)]);
    let replicas = |namespace, name| workload(seed, model, namespace, name).1.replicas;
    assert_eq!(replicas("shoot--garden--z", "kube-controller-manager"), 2, "option 2");
    assert_eq!(replicas("shoot--garden--n-1", "kube-controller-manager"), 1);
    assert_eq!([replicas("shoot--garden--o", "etcd-main"), replicas("shoot--garden--o", "kube-apiserver")], [1, 1]);
    assert_eq!(workload(seed, model, "shoot--garden--z", "kube-apiserver").1.role, Role::ApiServer(KubeClusterId(4)));
    let controller = Role::Controller(KubeClusterId(4), Component::Scheduler);
    assert_eq!(workload(seed, model, "shoot--garden--z", "kube-scheduler").1.role, controller);
    assert_eq!(workload(seed, model, "garden", "gardenlet").1.role, Role::Controller(KubeClusterId(0), Component::Gardenlet));
    assert_eq!(workload(seed, model, "garden", "node-agents").1.kind, Kind::DaemonSet);
}

#[test]
fn a_component_is_overridden_field_by_field() {
    let components = json!([
        {"name": "kube-apiserver", "cpu": 2, "start": "1m", "max_unavailable": 2},
        {"name": "loki", "absent": true},
        {"name": "extra", "kind": "stateful_set", "replicas": 2, "volume": "regional", "tolerates": ["x"], "tolerate_unreachable": "10s"},
    ]);
    let scenario = read(&landscape(json!([{"name": "s", "components": components}])).to_string());
    let (model, cluster) = (&scenario.kube, &scenario.kube.clusters[KubeClusterId(0)]);
    let (_, api) = workload(cluster, model, "shoot--garden--s", "kube-apiserver");
    assert_eq!((api.requests.cpu_milli, api.requests.memory, api.start), (2_000, 1 << 30, Duration::from_secs(60)));
    assert_eq!(api.max_unavailable, Some(2));
    assert!(!cluster.workloads.iter().any(|workload| workload.name == "loki"));
    let (_, extra) = workload(cluster, model, "shoot--garden--s", "extra");
    assert!(extra.volume.expect("a volume").regional);
    let lasts: Vec<_> = extra.tolerations.iter().map(|one| (one.key.map(|key| model.word(key)), one.effect, one.lasts)).collect();
    let unreachable = (Some("node.kubernetes.io/unreachable"), Some(Effect::NoExecute), Some(Duration::from_secs(10)));
    assert_eq!(lasts, [unreachable, (Some("x"), None, None)]);
}

/// Where nobody says which seed, it is the one that Gardener's scheduler would choose; and none where none fits.
#[test]
fn shoots_find_their_seeds() {
    let mut raw = landscape(json!([
        {"name": "a"}, {"name": "b", "failure_tolerance": "zone"}, {"name": "c"}, {"name": "d"}, {"name": "e", "failure_tolerance": "zone"},
    ]));
    raw["seeds"][0]["allocatable_shoots"] = json!(2);
    let small = json!({"name": "small", "zones": ["za"], "allocatable_shoots": 1, "pools": [{"name": "cpu", "minimum": 3, "maximum": 3}]});
    raw["seeds"].as_array_mut().expect("seeds").push(small);
    let scenario = read(&raw.to_string());
    let seeds: Vec<_> = scenario.kube.shoots.iter().map(|shoot| shoot.hosted.as_ref().map(|hosted| hosted.seed.0)).collect();
    assert_eq!(seeds, [Some(1), Some(0), Some(0), None, None]);
    let name = |seed: SeedId| scenario.kube.seeds[seed].name.as_str();
    let pending: Vec<_> = scenario.kube.shoots.iter().filter_map(|shoot| shoot.pending(name)).collect();
    let full = "seed does not have available capacity for shoots";
    let narrow = "seed is not multi-zonal, for a shoot control plane with failure tolerance type 'zone'";
    let event = |why: [&str; 2]| {
        let [seed, small] = why;
        format!("0/2 seed cluster candidate(s) are eligible for scheduling: {{seed => {seed}, small => {small}}}")
    };
    assert_eq!(pending, [event([full, full]), event([full, narrow])]);
}

/// An active-passive pair that survives a zone has a member in each of two zones, and the first of them in turn in either; a seed over
/// two zones comes before one over three.
#[test]
fn pairs_that_survive_a_zone_need_two_zones() {
    for mode in [json!({"hot_standby": {}}), json!({"learner": {}})] {
        let pair = json!({"name": "pair", "count": 2, "failure_tolerance": "zone", "etcd": {"mode": mode}});
        let mut raw = landscape(json!([pair, {"name": "quorum", "failure_tolerance": "zone"}]));
        let two = json!({"name": "two", "zones": ["za", "zb"], "allow_even_zones": true, "pools": [{"name": "cpu", "minimum": 2, "maximum": 4}]});
        raw["seeds"].as_array_mut().expect("seeds").push(two);
        let scenario = read(&raw.to_string());
        let hosted = |shoot: &Shoot| shoot.hosted.as_ref().map(|hosted| (hosted.seed.0, hosted.zones.clone()));
        let [za, zb, zc] = [ZoneId(0), ZoneId(1), ZoneId(2)];
        let expected = [(1, vec![za, zb]), (1, vec![zb, za]), (0, vec![za, zb, zc])].map(Some);
        assert_eq!(scenario.kube.shoots.iter().map(hosted).collect::<Vec<_>>(), expected);
        // What the seed runs for itself survives the zone, too: without etcd-druid nobody switches.
        let cluster = &scenario.kube.clusters[scenario.kube.seeds[SeedId(1)].cluster];
        let (_, druid) = workload(cluster, &scenario.kube, "garden", "etcd-druid");
        let away = &druid.pod_affinity.anti_affinity.required;
        assert_eq!((druid.replicas, away.iter().map(|term| term.key).collect::<Vec<_>>()), (2, vec![Symbol::ZONE]));
        // The seed may forbid it.
        raw["seeds"][1]["multi_zonal"] = json!(false);
        let scenario = read(&raw.to_string());
        assert_eq!(
            scenario.kube.shoots.iter().map(|shoot| hosted(shoot).map(|(seed, _)| seed)).collect::<Vec<_>>(),
            [Some(0); 3]
        );
    }
}

/// Once for each entry of the file, whose shoots are all alike.
#[test]
fn a_shoot_that_no_seed_takes_is_warned_of() {
    let warnings = |allocatable: u32, shoots: Value| {
        let mut raw = landscape(shoots);
        raw["seeds"][0]["allocatable_shoots"] = json!(allocatable);
        read(&raw.to_string()).warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let shoots = || json!([{"name": "a", "count": 2}, {"name": "b", "count": 2}, {"name": "c"}]);
    let expected = "expected seeds that take all, with room by `allocatable_shoots`; for failure tolerance zone with a pool without taints that has at least 3 nodes in an odd number of at least 3 zones (GEP-20, Hosting an HA Shoot Control Plane with zone Failure Tolerance)";
    let why = "control planes that are never created: 0/1 seed cluster candidate(s) are eligible for scheduling: {seed => seed does not \
               have available capacity for shoots}";
    let of = |path: &str, count: &str| format!("{path}: {expected}; found {count} {why}");
    assert_eq!(warnings(5, shoots()), Vec::<String>::new());
    assert_eq!(warnings(3, shoots()), [of("shoots[1]", "1 of 2"), of("shoots[2]", "1 of 1")]);
    let pair = json!([{"name": "p", "failure_tolerance": "zone", "etcd": {"mode": {"learner": {}}}}]);
    let zones =
        "zone with a pool without taints that has at least 2 nodes in at least 2 zones (GEP-20, etcd Active-Passive Options);";
    assert!(warnings(0, pair.clone())[0].contains(zones), "{:?}", warnings(0, pair));
    let in_seed = |change: &dyn Fn(&mut Value)| {
        let mut raw = landscape(json!([{"name": "a", "failure_tolerance": "zone"}]));
        change(&mut raw["seeds"][0]);
        read(&raw.to_string()).warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let tainted = in_seed(&|seed| seed["pools"][0]["taints"] = json!([{"key": "special", "effect": "no_schedule"}]));
    let two_zones = in_seed(&|seed| (seed["zones"], seed["allow_even_zones"]) = (json!(["za", "zb"]), json!(true)));
    let why = "{seed => seed is not multi-zonal, for a shoot control plane with failure tolerance type 'zone'}";
    for warnings in [tainted, two_zones] {
        assert!(warnings.iter().any(|warning| warning.starts_with("shoots[0]: ") && warning.ends_with(why)), "{warnings:?}");
    }
}

/// GEP-20 does not say that the first approach of its third option needs volumes that can leave their zone.
#[test]
fn a_preference_that_volumes_thwart_is_warned_of() {
    let warnings = |tolerance: &str, recovery: &str, volumes: &str| {
        let shoot = json!({"name": "a", "failure_tolerance": tolerance, "recovery": recovery, "etcd": {"volumes": volumes}});
        let text = landscape(json!([{"name": "b"}, shoot])).to_string();
        read(&text).warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let expected = "shoots[1].recovery: expected `etcd.volumes` regional, or another recovery: a volume of one zone keeps its member there \
                    (GEP-20, Option #3, Approach-#1); found preferred, with zonal volumes, which changes nothing";
    assert_eq!(warnings("zone", "preferred", "zonal"), [expected]);
    for (tolerance, recovery, volumes) in
        [("zone", "preferred", "regional"), ("zone", "wait", "zonal"), ("zone", "move", "zonal"), ("node", "preferred", "zonal")]
    {
        assert_eq!(warnings(tolerance, recovery, volumes), Vec::<String>::new(), "{tolerance}, {recovery}, {volumes}");
    }
}

#[test]
fn a_failure_tolerance_asked_for_twice_is_warned_of() {
    let warnings = |start: &str, asked: &[&str]| {
        let mut raw = landscape(json!([{"name": "a", "failure_tolerance": start}]));
        // The last in time stands first in the file.
        let operations = asked.iter().enumerate().rev();
        raw["operations"] = operations
            .map(|(k, to)| json!({"at": format!("{}m", k + 1), "set_failure_tolerance": {"shoot": "a", "to": to}}))
            .collect();
        read(&raw.to_string()).warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let of = |k: usize, has: &str| {
        format!(
            "operations[{k}].set_failure_tolerance.to: expected another failure tolerance than {has}, which the shoot has already; \
             found a change that changes nothing"
        )
    };
    assert_eq!(warnings("node", &["node"]), [of(0, "node")]);
    assert_eq!(warnings("none", &["node", "node"]), [of(0, "node")]);
    assert_eq!(warnings("none", &["none", "node"]), [of(1, "none")]);
    assert_eq!(warnings("none", &["node"]), Vec::<String>::new());
    // Whether the first is admitted depends on the seed that the shoot is in then.
    assert_eq!(warnings("none", &["zone", "zone"]), Vec::<String>::new());
}

/// Other names of zones, in the same places, change names only.
#[test]
fn names_of_zones_are_only_names() {
    let shoots = json!([{"name": "n", "count": 2, "failure_tolerance": "node"}, {"name": "z", "failure_tolerance": "zone"}]);
    let text = landscape(shoots).to_string();
    let other = text.replace("\"za\"", "\"zx\"").replace("\"zb\"", "\"za\"").replace("\"zx\"", "\"zb\"");
    let (mut one, mut other) = (read(&text), read(&other));
    let swapped = |word: &String| match word.as_str() {
        "za" => "zb".to_owned(),
        "zb" => "za".to_owned(),
        _ => word.clone(),
    };
    one.kube.words = one.kube.words.iter().map(swapped).collect();
    for scenario in [&mut one, &mut other] {
        scenario.zones.clear();
    }
    assert_eq!(one, other);
}

#[test]
fn a_degraded_storage_is_every_volume_of_the_zone() {
    let mut raw = landscape(json!([{"name": "z", "failure_tolerance": "zone"}]));
    raw["faults"] = json!([
        {"at": "1m", "kind": "storage_degraded", "zone": "za", "factor": 200, "for": "20m"},
        {"at": "2m", "kind": "process_kill", "member": "shoot--garden--z/etcd-main/etcd-main-1"},
        {"at": "3m", "kind": "cloud_api", "zone": "zb", "create": "out_of_stock"},
    ]);
    let scenario = read(&raw.to_string());
    let slow = |fault: &PlannedFault| match fault.fault {
        Fault::DiskSlow(DiskSlow { volume: FaultTarget::Named(volume), .. }) => Some(scenario.volumes[volume].name.clone()),
        _ => None,
    };
    let volumes: Vec<String> = scenario.faults.iter().filter_map(slow).collect();
    assert_eq!(volumes, ["shoot--garden--z/etcd-main-0", "shoot--garden--z/etcd-events-0"]);
    let Fault::ProcessKill(ProcessKill(FaultTarget::Named(member))) = scenario.faults[2].fault else {
        panic!("{:?}", scenario.faults[2])
    };
    assert_eq!(scenario.member(member).name, "etcd-main-1");
    let answers = (None, None, Some(CloudAnswer::OutOfStock));
    assert_eq!(
        scenario.faults[3].fault,
        Fault::CloudApi(CloudApi {
            zone: Some(ZoneId(1)),
            create: answers.2,
            delete: answers.0,
            attach: answers.1,
            error_rate: 1.0
        })
    );
}

#[test]
fn machines_come_from_stocks() {
    let mut raw = landscape(json!([]));
    raw["seeds"][0]["pools"][0]["machine"] = json!({"type": "m5.large"});
    raw["cloud"] = json!({"stock": [{"machine": "m5.large", "zone": "zb", "count": 4}]});
    let scenario = read(&raw.to_string());
    let stocks: Vec<Option<u16>> =
        scenario.kube.clusters[KubeClusterId(0)].machine_deployments.iter().map(|deployment| deployment.stock).collect();
    assert_eq!((stocks, scenario.kube.stock.as_slice()), (vec![None, Some(0), None], &[4][..]));
}

#[test]
fn a_machine_takes_so_many_volumes() {
    let mut raw = landscape(json!([{"name": "s", "failure_tolerance": "zone"}]));
    raw["seeds"][0]["pools"][0]["machine"] = json!({"volumes": 1});
    let scenario = read(&raw.to_string());
    let volumes = scenario.kube.clusters[KubeClusterId(0)].nodes.iter().map(|node| node.template.volumes);
    assert_eq!(volumes.collect::<Vec<_>>(), [1; 7], "room for the six of its etcd clusters");
    raw["shoots"][0]["count"] = json!(2);
    let errors = Scenario::from_json(&raw.to_string()).expect_err("no room").to_string();
    assert!(errors.contains("; found \"etcd-main\", for whose 3 members there are no nodes"), "{errors}");
}

#[test]
fn operators_roll_and_drain() {
    let mut raw = landscape(json!([{"name": "s", "failure_tolerance": "zone", "count": 2}]));
    raw["seeds"][0]["nodes"] = json!([{"name": "a", "pool": "cpu", "zone": "za"}, {"name": "b", "pool": "cpu", "zone": "zb"}, {"name": "c", "pool": "cpu", "zone": "zc"}]);
    raw["seeds"][0]["pools"].as_array_mut().expect("pools").push(json!({
        "name": "cpu-z1", "minimum": 3, "maximum": 6, "rollout": {"max_surge": "50%", "max_unavailable": 1},
    }));
    raw["operations"] = json!([
        {"at": "20m", "roll_pool": {"seed": "seed", "pool": "cpu"}},
        {"at": "15m", "roll_pool": {"seed": "seed", "pool": "cpu", "zone": "zb"}},
        {"at": "10m", "drain_node": {"seed": "seed", "node": "b"}},
        {"at": "12m", "roll_component": {"shoot": "s-2", "component": "kube-apiserver"}},
        {"at": "12m", "roll_component": {"seed": "seed", "component": "istiod"}},
    ]);
    let scenario = read(&raw.to_string());
    let (cluster, model) = (&scenario.kube.clusters[KubeClusterId(0)], &scenario.kube);
    let (api_server, spec) = workload(cluster, model, "shoot--garden--s-2", "kube-apiserver");
    assert_eq!((spec.rollout.max_surge, spec.rollout.max_unavailable), (IntOrPercent::Percent(25), IntOrPercent::Int(0)));
    assert!(spec.spread.iter().all(|constraint| constraint.per_rollout));
    let asked: Vec<(u64, Task)> = model.operations.iter().map(|one| (one.at.as_nanos() / 60_000_000_000, one.task)).collect();
    let (istiod, _) = workload(cluster, model, "garden", "istiod");
    let machines = [0, 1, 2].map(|deployment| (20, Task::RollMachines(MachineDeploymentId(deployment))));
    let others = [(10, Task::DrainNode(NodeKey(1))), (12, Task::RollComponent(api_server)), (12, Task::RollComponent(istiod))];
    let others = others.into_iter().chain([(15, Task::RollMachines(MachineDeploymentId(1)))]);
    assert_eq!(asked, others.chain(machines).collect::<Vec<_>>());
    assert_eq!(cluster.machine_deployments[MachineDeploymentId(4)].pool.zone, (1, 3));
    let (_, manager) = workload(cluster, model, "shoot--garden--s-1", "gardener-resource-manager");
    assert_eq!(manager.rollout.max_unavailable, IntOrPercent::Int(1), "each has a zone to itself");
}

#[test]
fn what_operators_cannot_ask_for() {
    let mut raw = landscape(json!([{"name": "s"}]));
    raw["operations"] = json!([
        {"at": "2h", "roll_pool": {"seed": "seed", "pool": "cpus"}},
        {"at": "10m", "etcd": "etcd", "drain_node": {"seed": "seeds", "node": "b"}},
        {"at": "12m", "roll_component": {"shoot": "t", "component": "kube-apiserver"}},
        {"at": "12m", "roll_component": {"shoot": "s", "component": "kube-apiservers"}},
        {"at": "12m", "roll_component": {"seed": "seed", "component": "node-agents"}},
        {"at": "13m", "roll_pool": {"seed": "seed", "pool": "cpu", "zone": "zx"}},
        {"at": "14m", "roll_pool": {"seed": "seed", "pool": "cpu", "zone": "parent"}},
    ]);
    let errors = Scenario::from_json(&raw.to_string()).expect_err("mistakes").to_string();
    for (path, found) in [
        ("operations[0].at", "\"2h\""),
        ("operations[0].roll_pool.pool", "\"cpus\""),
        ("operations[1].etcd", "\"etcd\""),
        ("operations[1].drain_node.seed", "\"seeds\""),
        ("operations[2].roll_component.shoot", "\"t\""),
        ("operations[3].roll_component.component", "\"kube-apiservers\""),
        ("operations[4].roll_component.component", "\"node-agents\", a DaemonSet"),
        ("operations[5].roll_pool.zone", "\"zx\""),
        ("operations[6].roll_pool.zone", "\"parent\""),
    ] {
        let (start, end) = (format!("{path}: expected "), format!("; found {found}"));
        assert!(errors.lines().any(|line| line.starts_with(&start) && line.ends_with(&end)), "{path}: {errors}");
    }
    assert_eq!(errors.lines().count(), 9, "{errors}");
}

/// Two compaction intervals are ten minutes.
#[test]
fn an_initial_database_without_room_for_an_object_is_warned_of() {
    let warnings = |verb: &str, database: &str| {
        let requests = json!([{"name": "upd", "verb": verb, "rate": "40/s", "object": "4KiB"}]);
        let shoot =
            json!({"name": "a", "use": {"idle": false, "requests": requests}, "etcd": {"initial": {"database": database}}});
        read(&landscape(json!([shoot])).to_string()).warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let small = warnings("update", "64MiB");
    assert!(
        matches!(&small[..], [one] if one.starts_with("shoots[0].etcd.initial.database: expected more than 9") && one.ends_with("found \"64MiB\"")),
        "{small:?}"
    );
    assert_eq!(warnings("update", "128MiB"), Vec::<String>::new());
    assert_eq!(warnings("create", "64MiB"), Vec::<String>::new());
}
