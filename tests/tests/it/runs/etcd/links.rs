//! Links that are cut: two places cannot reach each other, and both reach everyone else.

use super::{CLUSTER, at, check_modes, faulty, full, member, puts, report};
use zonefall_core::ids::ZoneId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{EtcdRecord, Record};
use zonefall_core::run::run;
use zonefall_core::scenario::{Fault, LinkChange, LinkDegraded, LinkPartition, Place, Scenario};
use zonefall_core::sim::Options;

/// The link between zones `a` and `b` is cut from 60 s to 160 s, with clients.
fn cut(a: Place, b: Place) -> Scenario {
    let mut scenario = faulty(100, Fault::LinkPartition(LinkPartition { a, b }));
    scenario.clients = vec![puts(5)].into();
    scenario
}

fn zone(k: u16) -> Place {
    Place::Zone(ZoneId(k))
}

/// Everything that happens but the fault itself.
fn effects(scenario: &Scenario, seed: u64) -> Vec<(Time, Record)> {
    let mut all = Vec::new();
    let mut sink = |at, record: &Record| {
        if !matches!(record, Record::FaultStarted(_)) {
            all.push((at, record.clone()));
        }
    };
    run(&std::sync::Arc::new(scenario.clone()), seed, full(), &mut sink, &mut |_| {});
    all
}

#[test]
fn link_that_loses_every_packet_is_a_link_that_is_cut() {
    for seed in 0..5 {
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            let partition = cut(zone(a), zone(b));
            let mut lossy = partition.clone();
            let change = LinkChange { delay: Duration::ZERO, loss: 1.0, bytes_per_s: None };
            lossy.faults[0].fault = LinkDegraded { a: ZoneId(a), b: ZoneId(b), change }.into();
            assert_eq!(effects(&partition, seed), effects(&lossy, seed), "zones {a} and {b}, seed {seed}");
        }
    }
}

#[test]
fn cut_between_the_only_nodes_of_two_zones_is_a_cut_between_the_zones() {
    let zones = cut(zone(0), zone(1));
    let nodes = zones.etcd[CLUSTER].members.iter().map(|member| Place::Node(member.node)).collect::<Vec<_>>();
    // Clients stand in zones, so only what members do is the same.
    let without_clients = |mut scenario: Scenario| {
        scenario.clients.clear();
        effects(&scenario, 1)
    };
    let expected = without_clients(zones);
    assert_eq!(without_clients(cut(nodes[0], nodes[1])), expected);
    assert_eq!(without_clients(cut(zone(0), nodes[1])), expected);
    assert_eq!(without_clients(cut(nodes[1], zone(0))), expected);
}

#[test]
fn follower_that_cannot_reach_the_leader_changes_no_leader_while_the_others_hear_it() {
    for seed in 0..5 {
        let found = check_modes(&cut(zone(0), zone(1)), seed);
        let etcd = &found.etcd["etcd-main"];
        assert_eq!(etcd.leader_changes, 0, "pre-vote: the third member hears the leader");
        assert!(etcd.outages.is_empty(), "two of three answer: {:?}", etcd.outages);
    }
}

#[test]
fn cut_link_is_named_as_the_cause_where_both_others_lose_the_leader() {
    let mut scenario = cut(zone(0), zone(1));
    let second = LinkPartition { a: zone(0), b: zone(2) };
    scenario.faults.push(zonefall_core::scenario::PlannedFault { fault: second.into(), ..scenario.faults[0].clone() });
    let found = report(scenario, Options::default(), 1);
    let outage = &found.etcd["etcd-main"].outages[0];
    assert!(outage.root_cause.contains("the link z-a - z-b was cut"), "{}", outage.root_cause);
}

#[test]
fn network_inside_a_zone_can_be_cut() {
    let mut scenario = cut(zone(0), zone(0));
    scenario.clients.clear();
    for node in &mut scenario.nodes {
        node.zone = ZoneId(0);
    }
    let stopped = effects(&scenario, 1).into_iter().any(|(when, record)| {
        when > at(60) && matches!(record, Record::Etcd(EtcdRecord::SteppedDown { member: leader, .. }) if leader == member(0))
    });
    assert!(stopped, "no member of the zone reaches another");
}
