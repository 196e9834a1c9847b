//! The rule of ZoneDisruptionBudget against statements of its own.

use std::collections::BTreeSet;

use proptest::prelude::*;
use zonefall_scenario::units::int_or_percent::IntOrPercent::{Int, Percent};

use super::*;

const ZONES: [&str; 3] = ["a", "b", "c"];

const EVICTION: Request = Request { is_create: true, is_eviction: true, dry_run: false };

fn pods(of: impl IntoIterator<Item = (u32, usize, bool)>) -> Vec<Pod<&'static str, u32>> {
    of.into_iter().map(|(name, zone, is_ready)| Pod { name, zone: Some(ZONES[zone]), is_ready, is_terminating: false }).collect()
}

/// The webhook is asked about a ready pod.
fn ask(status: &mut Status<&'static str, u32>, pod: &Pod<&'static str, u32>, now: Time) -> Admission {
    let zone = pod.zone.expect("its zone is known");
    let budget = Budget {
        dry_run: false,
        is_current: true,
        allowed: status.zones.get(zone).map(|zone| zone.allowed),
        is_recorded: status.records.contains(&pod.name),
        records: status.records.len(),
    };
    let answer = admit(EVICTION, Some(Health::Ready), Some(budget));
    if answer == (Admission::DisruptionAllowed { spends: true }) {
        status.spend(pod.name, &zone, now);
    }
    answer
}

#[test]
fn the_webhook_admits_evictions_in_two_zones_until_the_controller_looks_again() {
    let now = Time::ZERO;
    let mut pods = pods((0..9).map(|name| (name, name as usize % 3, true)));
    let mut status = Status::new().renewed(Int(1), 9, &pods, now);
    let admitted = Admission::DisruptionAllowed { spends: true };
    assert_eq!([0, 1, 4].map(|pod| ask(&mut status, &pods[pod], now)), [admitted, admitted, Admission::DeniedByZdb]);
    // Two zones are disrupted now: once the controller has seen that, nothing is allowed anywhere.
    (pods[0].is_terminating, pods[1].is_terminating) = (true, true);
    status = status.renewed(Int(1), 9, &pods, now);
    assert!(status.zones.values().all(|zone| zone.allowed == 0));
}

#[test]
fn a_pod_that_is_deleted_and_not_yet_created_again_is_of_no_zone() {
    let now = Time::ZERO;
    // Pod 0 of zone a is gone; the budget expects it anywhere, and no zone is disrupted.
    let pods = pods((1..9).map(|name| (name, name as usize % 3, true)));
    let status = Status::new().renewed(Int(2), 9, &pods, now);
    assert_eq!(status.zones.values().map(|zone| zone.allowed).collect::<Vec<_>>(), [1, 2, 2]);
}

#[test]
fn an_eviction_that_another_budget_refuses_counts_for_two_minutes_and_is_admitted_again() {
    let pods = pods((0..9).map(|name| (name, name as usize % 3, true)));
    let at = |s| Time::ZERO + Duration::from_secs(s);
    let mut status = Status::new().renewed(Int(1), 9, &pods, at(0));
    assert!(ask(&mut status, &pods[0], at(0)).is_admitted());
    let status_at = |s: u64, status: &Status<_, _>| status.renewed(Int(1), 9, &pods, at(s));
    status = status_at(1, &status);
    assert_eq!(status.zones["a"], ZoneStatus { expected: 3, desired: 2, healthy: 2, unhealthy: 1, allowed: 0 });
    assert_eq!(ask(&mut status, &pods[0], at(5)), Admission::AlreadyDisrupted);
    assert_eq!(status.records.first_timeout(), Some(at(120)));
    assert_eq!(status_at(120, &status).zones["b"].allowed, 1);
    assert!(status_at(121, &status).records.is_empty());
}

fn share() -> impl Strategy<Value = IntOrPercent> {
    prop_oneof![(0..6_u32).prop_map(Int), (0..120_u32).prop_map(Percent)]
}

proptest! {
    #[test]
    fn a_status_expects_all_pods_that_are_wanted_and_allows_evictions_in_one_zone_at_most_while_any_is_disrupted(
        all in prop::collection::vec((0..3_usize, 0..8_u32, any::<bool>()), 0..16),
        more in 0..9_u32,
        max in share(),
    ) {
        let pods: Vec<_> = (0..).zip(all).map(|(name, (zone, ready, is_terminating))| {
            Pod { name, zone: Some(ZONES[zone]), is_ready: ready > 0, is_terminating: is_terminating && ready == 1 }
        }).collect();
        let wanted = pods.len() as u32 + more;
        let Status { zones, .. } = Status::new().renewed(max, wanted, &pods, Time::ZERO);
        if !pods.is_empty() {
            prop_assert_eq!(zones.values().map(|zone| zone.expected).sum::<u32>(), wanted);
        }
        let disrupted: BTreeSet<_> = pods.iter().filter(|pod| !pod.is_ready || pod.is_terminating).map(|pod| pod.zone).collect();
        for (name, zone) in &zones {
            prop_assert!(zone.allowed == 0 || disrupted.iter().all(|other| *other == Some(*name)));
            prop_assert!(zone.allowed == 0 || i64::from(zone.healthy) - zone.allowed == i64::from(zone.desired));
            prop_assert!(zone.expected - zone.desired <= max.of_rounded_up(wanted));
        }
    }

    /// Pods in three zones are evicted as the strict budget admits it; they terminate, are missing, come back to their zone and become
    /// ready, at random.
    #[test]
    fn a_strict_budget_never_lets_evictions_disrupt_two_zones(
        max in 0..5_u32,
        moves in prop::collection::vec((0..9_u32, 0..3_u32), 0..300),
    ) {
        #[derive(Clone, Copy, PartialEq)]
        enum State { Ready, Terminating, Missing, Unready }
        let mut states = [State::Ready; 9];
        for (pod, asks) in moves {
            let (pod, zone) = (pod as usize, ZONES[pod as usize % 3]);
            if asks > 0 {
                let mut unavailable = BTreeMap::new();
                for (other, _) in states.iter().enumerate().filter(|(_, state)| **state != State::Ready) {
                    *unavailable.entry(ZONES[other % 3]).or_default() += 1;
                }
                let disruption = Disruption { unavailable: &unavailable, missing: 0 };
                let is_ready = states[pod] == State::Ready;
                if matches!(states[pod], State::Ready | State::Unready) && admit_strict(&zone, is_ready, disruption, max) {
                    states[pod] = State::Terminating;
                }
            } else {
                states[pod] = match states[pod] {
                    State::Terminating => State::Missing,
                    State::Missing => State::Unready,
                    State::Unready | State::Ready => State::Ready,
                };
            }
            let disrupted: Vec<_> = (0..9).filter(|pod| states[*pod] != State::Ready).collect();
            let zones: BTreeSet<_> = disrupted.iter().map(|pod| ZONES[*pod % 3]).collect();
            prop_assert!(zones.len() <= 1, "{zones:?}");
            prop_assert!(disrupted.len() as u32 <= max);
        }
    }
}
