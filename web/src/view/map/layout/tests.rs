//! Nothing overlaps, and a map is as large as its room.

use std::sync::Arc;

use zonefall_core::ids::KubeClusterId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::scenario::bundled;
use zonefall_core::sim::{Options, Simulation};

use super::*;
use crate::view::map::objects::objects;

fn inside(inner: Rect, outer: Rect) -> bool {
    inner.x >= outer.x
        && inner.y >= outer.y
        && inner.x + inner.w <= outer.x + outer.w + 0.01
        && inner.y + inner.h <= outer.y + outer.h + 0.01
}

fn apart(a: Rect, b: Rect) -> bool {
    a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y
}

fn plain(scenario: &Scenario, width: f64) -> Layout {
    layout(scenario, &Crowd::new(scenario), width)
}

fn check(scenario: &Scenario, crowd: &Crowd, width: f64) {
    let layout = layout(scenario, crowd, width);
    let at = format!("{} at {width}", scenario.name);
    let sheet = Rect { x: 0.0, y: 0.0, w: layout.width, h: layout.height };
    for (i, zone) in layout.zones.iter_enumerated() {
        assert!(inside(*zone, sheet), "{at}: {zone:?}");
        assert!(layout.zones[..i].iter().all(|other| apart(*zone, *other)), "{at}");
    }
    for (node, card) in layout.nodes.iter().zip(&crowd.cards) {
        assert!(inside(*node, layout.zones[card.zone]), "{at}: {:?}", card.is);
        for member in &card.members {
            assert!(inside(layout.members[member.cluster][member.index as usize], *node), "{at}: {member:?}");
        }
        for thing in card.cells.iter().chain(&card.badge) {
            assert!(inside(layout.things[*thing].1, *node), "{at}: {:?} on {:?}", crowd.ids[*thing], card.is);
        }
    }
    for (zone, heaps) in layout.zones.iter().zip(&crowd.heaps) {
        assert!(heaps.iter().flatten().all(|thing| inside(layout.things[*thing].1, *zone)), "{at}");
    }
    let access = crowd.access.iter_enumerated().flat_map(|(zone, things)| things.iter().map(move |_| zone));
    for (i, (zone, (is, rect))) in access.zip(&layout.access).enumerate() {
        assert!(rect.h > 0.0 && inside(*rect, layout.zones[zone]), "{at}: {is:?} at {rect:?}");
        let others = layout.access[..i].iter().map(|(_, other)| other).chain(&layout.nodes).chain(&layout.clients);
        assert!(others.into_iter().all(|other| apart(*rect, *other)), "{at}: {is:?} at {rect:?} is on another");
    }
    for (i, (is, rect)) in layout.things[..crowd.ids.len()].iter().enumerate() {
        assert!(rect.h > 0.0 && inside(*rect, sheet), "{at}: {is:?} at {rect:?}");
        let others = &layout.things[..i];
        assert!(others.iter().all(|(_, other)| apart(*rect, *other)), "{at}: {is:?} at {rect:?} is on another");
    }
}

fn named(name: &str) -> Scenario {
    Scenario::from_json(bundled().iter().find(|scenario| scenario.name == name).unwrap().json).unwrap()
}

#[test]
fn nothing_overlaps_or_leaves_its_box_at_any_width() {
    for bundled in bundled() {
        let scenario = Scenario::from_json(bundled.json).unwrap();
        for width in [320.0, 374.0, 599.0, 600.0, 860.0, 1_200.0, 1_900.0] {
            check(&scenario, &Crowd::new(&scenario), width);
        }
    }
}

#[test]
fn a_map_is_as_large_as_its_room_lets_it() {
    let scenario = Scenario::from_json(zonefall_core::scenario::default_scenario().json).unwrap();
    for (width, height, larger) in [(807.0, 320.0, true), (1_780.0, 640.0, true), (880.0, 150.0, false), (374.0, 900.0, false)] {
        let layout = fit(&scenario, &Crowd::new(&scenario), width, height);
        assert_eq!(layout.scale > 1.0, larger, "{width} x {height}: {}", layout.scale);
        assert!((layout.width * layout.scale - width).abs() < 0.01);
    }
}

#[test]
fn a_map_is_as_high_as_its_room_lets_it() {
    let scenario = Scenario::from_json(zonefall_core::scenario::default_scenario().json).unwrap();
    let crowd = Crowd::new(&scenario);
    let high = |room: f64| {
        let layout = fit(&scenario, &crowd, 857.0, room);
        let high = layout.height * layout.scale;
        assert!(high <= room, "{high} in {room}");
        high
    };
    assert!(high(500.0) > 1.4 * high(280.0), "{} and {}", high(280.0), high(500.0));
    assert!(high(850.0) >= high(500.0));
}

#[test]
fn what_is_too_high_stands_beside_each_other() {
    let scenario = named("single-zone");
    let tops = |layout: &Layout| layout.nodes.iter().map(|node| node.y as i64).collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(tops(&plain(&scenario, 800.0)), 3);
    let beside = fit(&scenario, &Crowd::new(&scenario), 800.0, 300.0);
    assert!(tops(&beside) < 3 && beside.height * beside.scale <= 300.0, "{} high", beside.height);
}

#[test]
fn twelve_zones_of_five_nodes_wrap() {
    let zones: Vec<String> = (0..12).map(|z| format!("zone-{z}")).collect();
    let nodes: Vec<_> =
        (0..60).map(|n| serde_json::json!({"name": format!("node-{n}"), "zone": format!("zone-{}", n % 12)})).collect();
    let members: Vec<_> = (0..9).map(|m| serde_json::json!({"name": format!("etcd-{m}"), "node": format!("node-{m}")})).collect();
    let scenario = serde_json::json!({"name": "many", "title": "many", "description": "many", "duration": "1m",
        "topology": {"regions": [{"name": "r", "zones": zones}], "nodes": nodes}, "etcd": [{"name": "etcd", "members": members}]});
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    for width in [374.0, 860.0, 1_900.0] {
        check(&scenario, &Crowd::new(&scenario), width);
    }
}

#[test]
fn pods_and_machines_find_room_however_many_there_are() {
    let scenario = named("eu-west-1a-outage");
    let mut simulation = Simulation::new(Arc::new(scenario.clone()), 1, Options::default());
    for minute in [0, 12, 18, 30, 50] {
        simulation.run_until(Time::ZERO + Duration::from_secs(60 * minute), &mut |_, _| {});
        let mut view = simulation.view();
        for pods in [1, 3, 60] {
            let cluster = &mut view.clusters[KubeClusterId(0)];
            cluster.pods = cluster.pods.iter().flat_map(|pod| vec![pod.clone(); pods]).collect();
            let crowd = objects(&scenario, Some(&view)).crowd;
            for width in [320.0, 374.0, 600.0, 807.0, 1_900.0] {
                check(&scenario, &crowd, width);
            }
        }
    }
}

#[test]
fn load_balancers_and_clients_of_apis_find_room() {
    for name in ["lb-partitioned", "local-first", "outside-the-cluster-network"] {
        let scenario = named(name);
        let mut simulation = Simulation::new(Arc::new(scenario.clone()), 1, Options::default());
        simulation.run_until(Time::ZERO + Duration::from_secs(400), &mut |_, _| {});
        let crowd = objects(&scenario, Some(&simulation.view())).crowd;
        assert!(crowd.access.iter().all(|things| things.len() > 1), "{name}: {:?}", crowd.access);
        for width in [320.0, 374.0, 600.0, 807.0, 1_900.0] {
            check(&scenario, &crowd, width);
        }
    }
}
