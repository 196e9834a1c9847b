//! Capacity counted by hand. (That it is what a run finds is tested on random seeds.)

use serde_json::{Value, json};

use super::*;
use crate::scenario::{RawScenario, Scenario};

/// Three zones with a pool `cpu` of 3 to 9 machines (8 CPUs each and plenty of the rest) that runs nothing for itself.
fn world() -> Value {
    json!({
        "name": "capacity", "duration": "1h",
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "seeds": [{
            "name": "seed", "zones": ["a", "b", "c"], "system": {"only_listed": true},
            "pools": [{
                "name": "cpu", "minimum": 3, "maximum": 9, "rollout": {"max_surge": 0, "max_unavailable": 1},
                "machine": {"type": "m", "cpu": 8, "memory": "64GiB", "pods": 1_000, "volumes": 100},
            }],
        }],
        "capacity": {"shoot": {"only_listed": true, "components": [
            {"name": "etcd-main", "cpu": 1, "memory": "1GiB"},
            {"name": "kube-apiserver", "cpu": 2, "memory": "2GiB"},
        ]}},
    })
}

/// An API server that fills a node together with a member of etcd, on a seed in one zone.
fn slots() -> Value {
    let mut world = world();
    world["seeds"][0]["zones"] = json!(["a"]);
    world["capacity"]["shoot"]["components"] = json!([
        {"name": "etcd-main", "cpu": 0.1, "memory": "1MiB"},
        {"name": "kube-apiserver", "cpu": 7.9, "memory": "1023MiB"},
    ]);
    world
}

fn changed(mut world: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = world.pointer_mut(parent).unwrap_or_else(|| panic!("no {pointer}"));
        parent[key] = value.clone();
    }
    world
}

fn planned(world: &Value) -> SeedPlan {
    let text = world.to_string();
    let scenario = Scenario::from_json(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let raw = RawScenario::from_json(&text).expect("it is valid");
    plan(&raw, &scenario).expect("it has a seed").seeds.remove(0)
}

const POOL: &str = "/seeds/0/pools/0";

fn of(plan: &SeedPlan, tolerance: FailureTolerance) -> &Headroom {
    plan.headroom.iter().find(|room| room.failure_tolerance == tolerance).expect("the seed can host it")
}

/// Shoots, what binds, its figures.
fn told(bound: &ShootLimit) -> (u32, Option<Constraint>, [u64; 3]) {
    let figure = bound.limiting_resources.first();
    (
        bound.shoots,
        figure.map(|figure| figure.constraint),
        figure.map_or([0; 3], |own| [own.used, own.available, own.needed_for_one_more]),
    )
}

/// Nine machines: three in each zone, 24 CPUs there and 72 in all. A shoot that survives a zone has a member of etcd (1 CPU) and an API
/// server (2) in each zone, which would be 24 / 3 = 8 shoots. But members come first, and the scheduler spreads pods: eight are 3, 3 and 2
/// on the nodes of a zone and leave 5, 5 and 6 CPUs, for 2 + 2 + 3 API servers: 7 shoots, which use 7 x 9 = 63 CPUs; one more would use 72.
///
/// Without a zone: its members of etcd wait; its API servers move, half to either zone. A zone then has 1 + 2 + 2 / 2 = 4 CPUs of each
/// shoot: 24 / 4 = 6 shoots, which use 48 of 48 CPUs; one more would use 56 (seven members and seven API servers in each zone, seven
/// more API servers in both).
///
/// Without failure tolerance: one member and one API server in one zone, 3 CPUs: 7 shoots in each zone as above, 21 in all. A zone lost, 7
/// API servers are to move (14 CPUs). With 3k shoots, k in each zone, there are 2 x (24 - 3k) CPUs for 2k: at most 6 in each zone, 18 in
/// all; then 2 x 6 CPUs are left for 6 API servers. With 19, 7 of them in the first zone, 7 are to move.
#[test]
fn by_cpu_before_and_after_the_loss_of_a_zone() {
    let demand = ("/capacity/demand", json!({"none": 50, "zone": 100}));
    let zones_only = ("/capacity/shoot/components/1/spread", json!([{"over": "zone", "max_skew": 2}]));
    let plan = planned(&changed(world(), &[demand, zones_only]));
    let zone = of(&plan, FailureTolerance::Zone);
    assert_eq!(told(&zone.all_zones), (7, Some(Constraint::Cpu), [63_000, 72_000, 72_000]));
    assert_eq!(zone.all_zones.alternatives, [Constraint::Maximum]);
    let after = zone.after_zone_loss.as_ref().expect("there are zones left");
    assert_eq!(told(after), (6, Some(Constraint::Cpu), [48_000, 48_000, 56_000]));
    assert_eq!(after.zone.as_deref(), Some("a"));
    let none = of(&plan, FailureTolerance::None);
    assert_eq!(told(&none.all_zones).0, 21);
    let after = none.after_zone_loss.as_ref().expect("there are zones left");
    assert_eq!((told(after).0, after.zone.as_deref()), (18, Some("a")));
    // 100 / 7 and 100 / 6; 50 / 21 and 50 / 18. Together: of 17 seeds each has 6 and 3, 63 CPUs.
    let Needed { none, zone, together, .. } = plan.needed;
    assert_eq!((none, zone, together), (Some(3), Some(15), Some(17)));
    let Needed { none, zone, .. } = plan.needed_after_zone_loss.expect("there are zones left");
    assert_eq!((none, zone), (Some(3), Some(17)));
    // No two API servers of a shoot on one node: there is as much room.
    let bound = of(&planned(&world()), FailureTolerance::Zone).after_zone_loss.clone().expect("there are zones left");
    assert_eq!(told(&bound), (6, Some(Constraint::Cpu), [48_000, 48_000, 56_000]));
}

/// With 12 GiB on each machine a zone has 36; a shoot that survives a zone needs 1 + 2 there: 12 shoots by memory, and 7 by CPU. With
/// 6 GiB a zone has 18: 6 shoots; 6 x 9 GiB are all 54, and one more would use 63.
#[test]
fn by_memory() {
    const GIB: u64 = 1 << 30;
    let zone = |memory: &str| {
        let plan = planned(&changed(world(), &[(&format!("{POOL}/machine/memory"), json!(memory))]));
        told(&of(&plan, FailureTolerance::Zone).all_zones)
    };
    assert_eq!(zone("12GiB").0, 7);
    assert_eq!(zone("6GiB"), (6, Some(Constraint::Memory), [54 * GIB, 54 * GIB, 63 * GIB]));
}

/// Two volumes can be attached to each machine, six in each zone; a shoot that survives a zone has one there: 6 shoots and 18 volumes.
/// One without failure tolerance has one in all: 18 shoots.
#[test]
fn by_volumes() {
    let plan = planned(&changed(world(), &[(&format!("{POOL}/machine/volumes"), json!(2))]));
    assert_eq!(told(&of(&plan, FailureTolerance::Zone).all_zones), (6, Some(Constraint::Volumes), [18, 18, 21]));
    assert_eq!(told(&of(&plan, FailureTolerance::None).all_zones), (18, Some(Constraint::Volumes), [18, 18, 19]));
    // A member of etcd waits for its volume's zone and needs no other: CPU bounds what is left as without that limit.
    let after = of(&plan, FailureTolerance::Zone).after_zone_loss.as_ref().expect("there are zones left");
    assert_eq!(told(after).0, 6);
}

/// Four pods on each machine, twelve in each zone, of which a shoot that survives a zone has two: 6.
#[test]
fn by_pods() {
    let plan = planned(&changed(world(), &[(&format!("{POOL}/machine/pods"), json!(4))]));
    assert_eq!(told(&of(&plan, FailureTolerance::Zone).all_zones), (6, Some(Constraint::Pods), [36, 36, 42]));
}

/// A /20 holds 16 parts of /24, of which each node takes one; a shoot fills a node. Rolling the pool takes machines as well: with
/// three kept for that there are 13 nodes, and room for one more if they were not kept.
#[test]
fn by_addresses_and_by_surge() {
    let shoots = |surge: Value| {
        let changes = [
            ("/seeds/0/node_cidr", json!("10.0.0.0/20")),
            (&format!("{POOL}/maximum"), json!(30)),
            (&format!("{POOL}/rollout/max_surge"), surge),
        ];
        let plan = planned(&changed(slots(), &changes));
        let bound = &of(&plan, FailureTolerance::None).all_zones;
        (told(bound), bound.alternatives.clone())
    };
    let (cidr, or) = shoots(json!(0));
    assert_eq!(cidr, (16, Some(Constraint::NodeCidr), [16, 16, 17]));
    assert_eq!(or, [Constraint::Cpu], "on larger machines there is room too");
    let (surge, or) = shoots(json!(3));
    assert_eq!(surge, (13, Some(Constraint::Surge), [16, 16, 17]));
    assert_eq!(or, [Constraint::NodeCidr, Constraint::Cpu]);
    // A tenth of 30 machines is three.
    assert_eq!(shoots(json!("10%")).0, surge);
}

/// Three machines are there and the cloud has four more, one of which rolling takes.
#[test]
fn by_stock() {
    let changes = [
        ("/cloud", json!({"stock": [{"machine": "m", "zone": "a", "count": 4}]})),
        (&format!("{POOL}/maximum"), json!(30)),
        (&format!("{POOL}/rollout/max_surge"), json!(1)),
    ];
    let plan = planned(&changed(slots(), &changes));
    assert_eq!(told(&of(&plan, FailureTolerance::None).all_zones), (6, Some(Constraint::Surge), [4, 4, 5]));
    let plan = planned(&changed(slots(), &[&changes[..2], &[(&format!("{POOL}/rollout/max_surge"), json!(0))]].concat()));
    assert_eq!(told(&of(&plan, FailureTolerance::None).all_zones), (7, Some(Constraint::Stock), [4, 4, 5]));
    // Nothing is left, not even for rolling: a machine more is one from the stock.
    let nothing =
        [("/cloud", json!({"stock": [{"machine": "m", "zone": "a", "count": 0}]})), changes[1].clone(), changes[2].clone()];
    let plan = planned(&changed(slots(), &nothing));
    assert_eq!(told(&of(&plan, FailureTolerance::None).all_zones), (3, Some(Constraint::Stock), [0, 0, 1]));
}

/// The seed takes five shoots, of which it hosts two: three more, however much room there is.
#[test]
fn by_the_seeds_own_limit() {
    let shoot = world()["capacity"]["shoot"]["components"].clone();
    let changes = [
        ("/seeds/0/allocatable_shoots", json!(5)),
        ("/shoots", json!([{"name": "s", "count": 2, "only_listed": true, "components": shoot}])),
        ("/capacity/demand", json!({"node": 11})),
    ];
    let plan = planned(&changed(world(), &changes));
    assert_eq!(plan.hosted, 2);
    assert_eq!(told(&of(&plan, FailureTolerance::None).all_zones), (3, Some(Constraint::AllocatableShoots), [3, 3, 4]));
    // Seeds to come host nothing yet: a zone has room for two shoots that survive a node (9 CPUs each), a seed for six, and takes five.
    assert_eq!(plan.needed.node, Some(3));
}

/// No two members of etcd on one node, and two nodes at most, which are there: nothing but more nodes would do.
#[test]
fn by_nodes() {
    let changes =
        [("/seeds/0/zones", json!(["a"])), (&format!("{POOL}/minimum"), json!(1)), (&format!("{POOL}/maximum"), json!(2))];
    let plan = planned(&changed(world(), &changes));
    assert_eq!(told(&of(&plan, FailureTolerance::Node).all_zones), (0, Some(Constraint::Maximum), [2, 2, 3]));
    assert!(of(&plan, FailureTolerance::Node).all_zones.alternatives.is_empty());
    assert_eq!(plan.needed_after_zone_loss, None, "no zone would be left");
    assert!(plan.headroom.iter().all(|room| room.failure_tolerance != FailureTolerance::Zone && room.after_zone_loss.is_none()));
}

/// Nodes are full by CPU and by memory, and there can be no more of them for two reasons.
#[test]
fn by_several_together() {
    let changes = [
        ("/seeds/0/node_cidr", json!("10.0.0.0/22")),
        (&format!("{POOL}/maximum"), json!(4)),
        (&format!("{POOL}/machine/memory"), json!("1GiB")),
    ];
    let plan = planned(&changed(slots(), &changes));
    let bound = &of(&plan, FailureTolerance::None).all_zones;
    let constraints: Vec<_> = bound.limiting_resources.iter().map(|figure| figure.constraint).collect();
    assert_eq!((bound.shoots, &constraints[..]), (4, &[Constraint::Cpu, Constraint::Memory][..]));
}

#[test]
fn where_pods_may_be() {
    let taint = [(&*format!("{POOL}/taints"), json!([{"key": "etcd"}])), ("/capacity/demand", json!({"none": 1}))];
    let plan = planned(&changed(slots(), &taint));
    assert_eq!(told(&of(&plan, FailureTolerance::None).all_zones), (0, None, [0; 3]));
    assert_eq!((plan.needed.none, plan.needed.node, plan.needed.together), (None, Some(0), None));
    let all = [0, 1].map(|k| (format!("/capacity/shoot/components/{k}/tolerates"), json!(["etcd"])));
    let all: Vec<(&str, Value)> = all.iter().map(|(pointer, value)| (&**pointer, value.clone())).collect();
    let tolerates = [&taint[..], &all].concat();
    let plan = planned(&changed(slots(), &tolerates));
    assert_eq!(told(&of(&plan, FailureTolerance::None).all_zones).0, 9);
}

/// Of 8 CPUs an agent takes 1 on every node; what the seed runs for itself takes 7 more on one of nine, which has nothing else. Members of
/// etcd come first, on the node that has the fewest pods: the ninth leaves no node for it. Eight shoots of 3.5 use 28 CPUs, with those 44.
#[test]
fn what_a_seed_runs_for_itself_comes_first() {
    let system = json!({"only_listed": true, "components": [
        {"name": "agent", "kind": "daemon_set", "cpu": 1, "memory": "1MiB"},
        {"name": "big", "kind": "deployment", "cpu": 7, "memory": "1MiB"},
    ]});
    let changes = [("/seeds/0/system", system), ("/capacity/shoot/components/1/cpu", json!(3.4))];
    let plan = planned(&changed(slots(), &changes));
    assert_eq!(told(&of(&plan, FailureTolerance::None).all_zones), (8, Some(Constraint::Cpu), [44_000, 72_000, 47_500]));
}

/// What is bound to a lost zone needs no room elsewhere, unless it is moved: three members fill three nodes of nine, one in
/// each zone. Three shoots fill all.
#[test]
fn members_of_etcd_wait_or_are_moved() {
    let shoots = |changes: &[(&str, Value)]| {
        let members = json!([{"name": "etcd-main", "cpu": 7.9, "memory": "1GiB"}, {"name": "kube-apiserver", "cpu": 0.01}]);
        let members = ("/capacity/shoot/components", members);
        let plan = planned(&changed(changed(world(), &[members]), changes));
        let room = of(&plan, FailureTolerance::Zone);
        (room.all_zones.shoots, room.after_zone_loss.as_ref().expect("there are zones left").shoots)
    };
    assert_eq!(shoots(&[]), (3, 3), "all members of the zone wait");
    // A zone that is left has 3 nodes for N members, and N / 2 more.
    assert_eq!(shoots(&[("/capacity/shoot/recovery", json!("move"))]), (3, 2));
    let regional = ("/capacity/shoot/components/0/volume", json!("regional"));
    assert_eq!(shoots(std::slice::from_ref(&regional)), (3, 3), "they may not share a zone");
    let anywhere = ("/capacity/shoot/components/0/anti_affinity", json!([{"over": "host"}]));
    assert_eq!(shoots(&[regional, anywhere]), (3, 2));
}

/// Of pairs there are two members, but for a control plane that survives nothing: nobody stands by for its one.
#[test]
fn pairs_have_two_members() {
    let room = |mode: Value| {
        let machine = json!({"type": "m", "cpu": 1_000, "memory": "6400GiB", "pods": 1_000, "volumes": 4});
        let mut world = changed(world(), &[("/seeds/0/pools/0/machine", machine)]);
        world["capacity"]["shoot"]["etcd"] = json!({"mode": mode});
        let plan = planned(&world);
        FailureTolerance::ALL.map(|tolerance| of(&plan, tolerance).all_zones.shoots)
    };
    // 36 volumes in all, 4 on each of three nodes in a zone. Of three members one is in each zone, of two in two of them.
    assert_eq!(room(json!("quorum")), [36, 12, 12]);
    for mode in ["hot_standby", "learner"] {
        assert_eq!(room(json!({ mode: {} })), [36, 18, 18]);
    }
}

/// On a seed over two zones only pairs survive a zone: of the volumes, 4 on each of three nodes in a zone, each takes one in both.
#[test]
fn pairs_survive_a_zone_where_there_are_two() {
    let room = |mode: Value| {
        let two = [
            ("/seeds/0/zones", json!(["a", "b"])),
            ("/seeds/0/allow_even_zones", json!(true)),
            (&format!("{POOL}/maximum"), json!(6)),
            (&format!("{POOL}/machine"), json!({"cpu": 1_000, "memory": "6400GiB", "pods": 1_000, "volumes": 4})),
            ("/capacity/shoot/etcd", json!({"mode": mode})),
        ];
        let plan = planned(&changed(world(), &two));
        plan.headroom.iter().map(|room| (room.failure_tolerance, room.all_zones.shoots)).collect::<Vec<_>>()
    };
    let zone = |rooms: &[(FailureTolerance, u32)]| rooms.iter().find(|room| room.0 == FailureTolerance::Zone).map(|room| room.1);
    assert_eq!(zone(&room(json!("quorum"))), None);
    for mode in ["hot_standby", "learner"] {
        assert_eq!(zone(&room(json!({ mode: {} }))), Some(12));
    }
}

/// A shoot that may come later takes no room, and ties nothing of the seed's to a zone.
#[test]
fn a_place_for_a_shoot_that_may_come_takes_no_room() {
    let mut world = world();
    let mut other = world["seeds"][0].clone();
    other["name"] = json!("other");
    world["seeds"].as_array_mut().unwrap().push(other);
    world["seeds"][0]["system"] = json!({"only_listed": true, "components": [{"name": "dns", "kind": "deployment", "replicas": 3, "spread": [{"over": "zone", "max_skew": 1}]}]});
    world["shoots"] = json!([{"name": "s", "seed": "other"}]);
    let before = planned(&world);
    world["operations"] = json!([{"at": "10m", "migrate_shoot": {"shoot": "s", "seed": "seed"}}]);
    assert_eq!(planned(&world), before);
    assert!(of(&before, FailureTolerance::None).all_zones.shoots > 0);
}

/// What a seed hosts may be more than it has room for: then it has none for others, and the plan says how many do not fit.
#[test]
fn an_overfull_seed_says_how_many_do_not_fit() {
    let shoots = json!([{"name": "s", "count": 12, "only_listed": true, "components": [
        {"name": "etcd-main", "cpu": 0.1, "memory": "1GiB"}, {"name": "kube-apiserver", "cpu": 7, "memory": "1GiB"},
    ]}]);
    let plan = planned(&changed(world(), &[("/shoots", shoots)]));
    // Nine machines with room for one API server each.
    assert_eq!((plan.hosted, plan.hosted_without_room), (12, 3));
    assert!(plan.headroom.iter().all(|room| room.all_zones.shoots == 0), "{:?}", plan.headroom);
}

/// Shoots of several kinds need no more seeds together than each kind has of its own: of seeds that take two shoots each, none has one of
/// all three kinds.
#[test]
fn seeds_for_all_are_at_most_those_for_each() {
    let changes = [("/seeds/0/allocatable_shoots", json!(2)), ("/capacity/demand", json!({"none": 2, "node": 1, "zone": 1}))];
    let Needed { none, node, zone, together } = planned(&changed(world(), &changes)).needed;
    assert_eq!((none, node, zone, together), (Some(1), Some(1), Some(1), Some(3)));
}

/// Shoots of one kind alone are wanted, which the seed cannot host: no machine is needed for the others, not even for the seed's own pods.
#[test]
fn no_machine_is_needed_together_where_none_is_needed_of_each() {
    let changes = [
        ("/seeds/0/zones", json!(["a"])),
        ("/seeds/0/system/components", json!([{"name": "own", "kind": "deployment", "cpu": 1, "memory": "1GiB"}])),
        ("/capacity/demand", json!({"zone": 1})),
    ];
    let text = changed(world(), &changes).to_string();
    let scenario = Scenario::from_json(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let raw = RawScenario::from_json(&text).expect("it is valid");
    let Needed { none, node, zone, together } = plan_nodes(&raw, &scenario).expect("it has a seed").pools[0].needed;
    assert_eq!([none, node, zone, together], [Some(0), Some(0), None, Some(0)]);
}

/// A pool with a taint that nothing tolerates, beside one with room for all.
#[test]
fn a_pool_that_nothing_needs_has_no_machine() {
    let mut world = changed(world(), &[("/capacity/demand", json!({"none": 2, "zone": 1}))]);
    let mut tainted = world["seeds"][0]["pools"][0].clone();
    (tainted["name"], tainted["taints"]) = (json!("tainted"), json!([{"key": "dedicated", "effect": "no_schedule"}]));
    world["seeds"][0]["pools"].as_array_mut().expect("pools").push(tainted);
    let text = world.to_string();
    let scenario = Scenario::from_json(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let raw = RawScenario::from_json(&text).expect("it is valid");
    let pools = plan_nodes(&raw, &scenario).expect("it has a seed").pools;
    let [cpu, tainted] = &pools[..] else { panic!("{pools:?}") };
    assert!(cpu.needed.together > Some(0), "{cpu:?}");
    for Needed { none, node, zone, together } in [&tainted.needed, tainted.needed_after_zone_loss.as_ref().expect("three zones")]
    {
        assert_eq!([none, node, zone, together], [&Some(0); 4], "{tainted:?}");
    }
}
