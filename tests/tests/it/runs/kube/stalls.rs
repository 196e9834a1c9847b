//! A member of etcd that falls silent: resources whose connection is with it stall, the others go on.
#![expect(clippy::float_cmp, reason = "seconds of a report are exact")]

use std::sync::Arc;

use serde_json::json;

use super::world::{KUBE_CLUSTER, Seen, at, broken, hosted, run, secs, with, workload, world};
use zonefall_core::ids::{EtcdId, NodeId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::record::{KubeRecord, Ready, ServerFact, Verb};
use zonefall_core::kube::share::Share;
use zonefall_core::kube::spec::Component;
use zonefall_core::report::{ApiOutageReport, Report};
use zonefall_core::run;
use zonefall_core::scenario::{Direction, Fault, FaultTarget, NodePartition, Scenario};
use zonefall_core::sim::Options;

// The member that leads at the start, and one that does not.
const LEADER: u8 = 0;
const OTHER: u8 = 2;

/// A cluster with so many API servers, whose etcd members have hosts of their own.
fn cluster(servers: u16) -> Scenario {
    let mut scenario = hosted(with(world(&[2, 2, 2]), workload("web", 0, 6)), servers);
    scenario.duration = secs(300);
    scenario
}

/// From 100 s on packets to and from a member vanish.
fn silenced(scenario: Scenario, member: u8) -> Scenario {
    let node: NodeId = scenario.etcd[EtcdId(0)].members[usize::from(member)].node;
    let cut = Fault::NodePartition(NodePartition { node: FaultTarget::Named(node), direction: Direction::Both });
    broken(scenario, 100, None, cut)
}

/// What a file says of an API whose servers talk to any member of etcd, one of which does not answer, or ends, from 100 s on.
fn report(kind: &str, member: u8, lasts: &str, seed: u64) -> Report {
    let file = json!({
        "name": "stalls", "duration": "5m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"], "api_to_etcd": "any",
            "pools": [{"name": "p", "minimum": 3, "maximum": 3}],
        }],
        "faults": [{"at": "100s", "for": lasts, "kind": kind, "member": format!("c/etcd/etcd-{member}")}],
    });
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let report = run::run_checked(&Arc::new(scenario), seed, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    report
}

fn outages<'a>(report: &'a Report, verb: &str) -> Vec<&'a ApiOutageReport> {
    report.api["c"].outages.iter().filter(|outage| outage.verb == verb).collect()
}

/// How many resources of the only server stall, and from when on.
fn stalls(seen: &Seen) -> Vec<(Time, u16)> {
    let stalled = |(when, _, fact)| if let ServerFact::Stalled(count) = fact { Some((when, count)) } else { None };
    seen.servers().into_iter().filter_map(stalled).filter(|(when, _)| *when >= at(100)).collect()
}

#[test]
fn about_a_third_of_the_resources_stalls_until_the_keep_alive_ends() {
    let scenario = silenced(cluster(1), OTHER);
    let (mut all, mut second, mut latest) = (0, 0, None);
    for seed in 0..40 {
        let stalls = stalls(&run(&scenario, seed));
        let (from, first) = stalls[0];
        // Of 66, each with a probability of a third: the mean is 22, the standard deviation 3.8.
        assert!(from == at(100) && (7..=37).contains(&first), "seed {seed}: {stalls:?}");
        // All of them for 35 s, and after 40 s those alone that have dialled the same member again, in vain.
        assert!(stalls[1].0 >= at(135), "seed {seed}: {stalls:?}");
        // The last word is at most 5 s old, so none waits for its keep-alive longer than 40 s; the first that are dialled again in vain
        // are given up 20 s after 135 s.
        assert!(stalls[1..].iter().all(|(when, _)| *when <= at(140) || *when >= at(155)), "seed {seed}: {stalls:?}");
        latest = latest.max(stalls.iter().map(|(when, _)| *when).filter(|when| *when <= at(140)).max());
        let left = stalls.iter().rfind(|(when, _)| *when <= at(140)).expect("there are some").1;
        assert!(left <= first * 3 / 4, "seed {seed}: {stalls:?}");
        all += u32::from(first);
        second += u32::from(left);
        let part = Share::of(66 - u64::from(first), 66);
        let shares: Vec<Share> = run(&scenario, seed).shares(Verb::Write);
        assert_eq!(shares[0], part, "seed {seed}");
    }
    assert!(latest > Some(at(139)), "some have heard of etcd right before: {latest:?}");
    // Four standard deviations of 2,640 draws.
    assert!((880 - 97..=880 + 97).contains(&all), "{all} of 2,640");
    let expected = all / 3;
    assert!(second.abs_diff(expected) <= 60, "{second} of {all}");
}

#[test]
fn a_stall_is_in_the_report_by_its_share_and_in_the_verdict() {
    let report = report("process_pause", OTHER, "190s", 1);
    let api = &report.api["c"];
    for verb in ["read", "write"] {
        let [part] = outages(&report, verb)[..] else { panic!("{:#?}", api.outages) };
        // Of 198 connections, with a standard deviation of 0.034.
        assert!(part.from_s == 100.0 && (0.2..0.47).contains(&part.share) && !part.is_whole(), "{part:?}");
        // The mean over resources: all that stall do for 36 s, and no resource for longer than the outage.
        let [least, most] = [35.9, part.to_s - part.from_s].map(|s| s * part.share);
        assert!((least..most).contains(&part.unavailable_s), "{part:?}");
        assert!(part.root_cause.starts_with("etcd-2 was paused; "), "{}", part.root_cause);
        assert!(part.root_cause.contains("has no connection to etcd for"), "{}", part.root_cause);
    }
    assert_eq!(api.write_unavailable_s, outages(&report, "write")[0].unavailable_s);
    assert!(api.vantages.iter().all(|row| row.write_unavailable_s == api.write_unavailable_s), "{:?}", api.vantages);
    let verdict = report.verdict();
    assert!(verdict.contains("of the API stalled for ") && verdict.contains(" on average, some of it for "), "{verdict}");
}

#[test]
fn resources_are_told_of_by_themselves_where_they_fare_otherwise() {
    let (mut leases, mut pods, mut stalled) = (0, 0, 0);
    for seed in 0..40 {
        let report = report("process_pause", OTHER, "190s", seed);
        let api = &report.api["c"];
        let whole = [api.read_unavailable_s, api.write_unavailable_s];
        for row in &api.resources {
            // Of three servers none, one, two or all stall, each for 35 to 40 s, and for 20 s more where it dials the silent member again. One
            // whose readiness check stalls, too, is sent no more clients after three checks, 20 s at least.
            let of = [row.read_unavailable_s, row.write_unavailable_s];
            assert!(of[0] == of[1] && of[1] != whole[1], "seed {seed}: {row:?}, of all {whole:?}");
            assert!(of[1] == 0.0 || (20.0 / 3.0..=60.0).contains(&of[1]), "seed {seed}: {row:?}");
            let count = if row.resource == "leases" { &mut leases } else { &mut pods };
            (*count, stalled) = (*count + 1, stalled + usize::from(of[1] > 0.0));
        }
    }
    // One server of three has a third of its connections there: of three none has its own for leases there with 8/27.
    assert_eq!([leases, pods], [40; 2]);
    assert!((40..=72).contains(&stalled), "{stalled} of 80, expected 56");
}

#[test]
fn a_killed_process_is_noticed_at_once() {
    for seed in 0..4 {
        let other = report("process_kill", OTHER, "60s", seed);
        assert!(other.api["c"].outages.is_empty(), "{:?}", other.api["c"].outages);
        let leader = report("process_kill", LEADER, "60s", seed);
        for verb in ["read", "write"] {
            let [whole] = outages(&leader, verb)[..] else { panic!("{:#?}", leader.api["c"].outages) };
            assert!(whole.is_whole() && whole.to_s - whole.from_s < 3.0, "{whole:?}");
        }
    }
}

#[test]
fn a_member_that_answers_again_ends_the_stall() {
    let report = report("process_pause", OTHER, "20s", 1);
    let [part] = outages(&report, "write")[..] else { panic!("{:#?}", report.api["c"].outages) };
    assert_eq!((part.from_s, part.to_s.round()), (100.0, 120.0));
}

#[test]
fn a_stall_shorter_than_the_deadline_is_no_outage() {
    let api = &report("process_pause", OTHER, "1s", 1).api["c"];
    assert!(api.outages.is_empty() && api.write_unavailable_s == 0.0, "{:?}", api.outages);
}

/// With the leader nothing is served until there is another, then all but what waits for it.
#[test]
fn what_waits_for_a_silent_leader_stalls_on_when_there_is_another() {
    let report = report("process_pause", LEADER, "190s", 2);
    let [whole, part] = outages(&report, "write")[..] else { panic!("{:#?}", report.api["c"].outages) };
    assert!(whole.is_whole() && whole.from_s == 100.0 && whole.to_s < 103.0, "{whole:?}");
    assert!(!part.is_whole() && part.from_s == whole.to_s && part.to_s >= 135.0, "{part:?}");
    assert!(
        part.root_cause.starts_with("etcd-0 was paused; API server on ")
            && !part.root_cause.contains("not connected")
            && part.root_cause.contains("no connection to etcd for"),
        "{}",
        part.root_cause
    );
}

/// The lease is renewed over the connection for leases of the server whose client its holder is: where that stalls, another process with
/// another server takes it.
#[test]
fn holders_lose_their_leases_where_the_connection_for_leases_stalls() {
    let scenario = silenced(cluster(2), OTHER);
    let (mut lost, mut inactive) = (0, 0);
    for seed in 0..40 {
        let seen = run(&scenario, seed);
        let leases: Vec<_> = seen.leases(Component::ControllerManager).into_iter().filter(|(when, _)| *when > at(1)).collect();
        let gates = seen.0.iter().filter(|(when, record)| {
            *when == at(100) && *record == KubeRecord::ControllerActive(Component::ControllerManager, false)
        });
        inactive += gates.count();
        match leases[..] {
            [] => {}
            [(given_up, None), ..] => {
                // Later only where the holder's server was not ready any more, and the next one's connection for leases stalls, too.
                assert!(given_up > at(110), "seed {seed}: {leases:?}");
                lost += u32::from(given_up <= at(112));
            }
            _ => panic!("seed {seed}: {leases:?}"),
        }
        // Kubelets go on to the next server, long before their nodes count as lost.
        assert!(seen.nodes(Ready::Unknown).is_empty(), "seed {seed}");
    }
    // A third each, and 5/9 for one or the other: four standard deviations.
    assert!((2..=25).contains(&lost), "{lost} of 40");
    assert!((10..=35).contains(&inactive), "{inactive} of 40");
}

#[test]
fn more_resources_stall_in_shares_nearer_to_a_third() {
    let mut scenario = silenced(cluster(1), OTHER);
    scenario.kube.clusters[KUBE_CLUSTER].resources = 1_944;
    for seed in 0..4 {
        let (_, first) = stalls(&run(&scenario, seed))[0];
        // The standard deviation of 1,944 draws of a third is 20.8.
        assert!(first.abs_diff(648) <= 84, "{first} of 1,944");
    }
}
