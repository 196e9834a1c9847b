//! The rule of ZoneAwareUpdate against statements of its own.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::units::int_or_percent::IntOrPercent::{self, Int, Percent};

use super::*;

const PLAIN: ZoneAwareUpdate = ZoneAwareUpdate {
    max_unavailable: Int(4),
    exponential_factor: 2.0,
    ignore_alarm: false,
    dry_run: false,
    rollback: Rollback::Code,
};

type Pods = Vec<Pod<&'static str>>;

fn set(pods: &Pods, update_revision: u32) -> StatefulSet<u32> {
    let ready_replicas = pods.iter().filter(|pod| pod.is_ready).count() as u32;
    StatefulSet { on_delete: true, replicas: pods.len() as u32, ready_replicas, update_revision }
}

const fn pod(ordinal: u32, zone: &'static str, revision: PodRevision) -> Pod<&'static str> {
    Pod { ordinal, zone: Some(zone), revision, is_ready: true, is_terminating: false }
}

/// Batches of a whole rollout in which each pod is ready again before the next step.
fn rollout(update: &ZoneAwareUpdate, mut pods: Pods) -> Vec<Vec<u32>> {
    let (mut status, mut batches) = (Status::new(), Vec::new());
    loop {
        let found = step(update, &set(&pods, 1), &pods, &status, None);
        status = found.status;
        if found.verdict == Verdict::Done {
            return batches;
        }
        assert!(batches.len() < 1_000, "no end");
        let is_deleted = |pod: &&mut Pod<_>| found.deleted.contains(&pod.ordinal);
        pods.iter_mut().filter(is_deleted).for_each(|pod| pod.revision = PodRevision::New);
        batches.push(found.deleted);
    }
}

/// The pods of the README's figures. They show two zones of 30 pods; the third holds the ordinals that they leave out, as we read them.
const FIGURE: [(&str, [u32; 10]); 3] = [
    ("zone-1", [28, 27, 22, 19, 17, 15, 10, 8, 6, 1]),
    ("zone-2", [29, 26, 23, 20, 16, 14, 11, 7, 5, 2]),
    ("zone-3", [25, 24, 21, 18, 13, 12, 9, 4, 3, 0]),
];

fn figure() -> Pods {
    FIGURE.iter().flat_map(|(zone, pods)| pods.iter().map(|ordinal| pod(*ordinal, zone, PodRevision::Old))).collect()
}

#[test]
fn both_figures_of_the_readme_come_out_batch_by_batch() {
    let exponential: [&[u32]; 10] = [
        &[28],
        &[27, 22],
        &[19, 17, 15, 10],
        &[8, 6, 1],
        &[29, 26, 23, 20],
        &[16, 14, 11, 7],
        &[5, 2],
        &[25, 24, 21, 18],
        &[13, 12, 9, 4],
        &[3, 0],
    ];
    assert_eq!(rollout(&PLAIN, figure()), exponential);
    let even: [&[u32]; 9] = [
        &[28, 27, 22, 19],
        &[17, 15, 10, 8],
        &[6, 1],
        &[29, 26, 23, 20],
        &[16, 14, 11, 7],
        &[5, 2],
        &[25, 24, 21, 18],
        &[13, 12, 9, 4],
        &[3, 0],
    ];
    assert_eq!(rollout(&ZoneAwareUpdate { exponential_factor: 0.0, ..PLAIN }, figure()), even);
}

#[test]
fn a_third_of_three_even_zones_takes_one_step_each_below_300_pods() {
    let update = ZoneAwareUpdate { max_unavailable: Percent(33), exponential_factor: 0.0, ..PLAIN };
    for each in [1, 3, 10, 33, 67, 99, 100] {
        let zones = FIGURE.map(|(zone, _)| zone);
        let pods = (0..3 * each).map(|ordinal| pod(ordinal, zones[ordinal as usize % 3], PodRevision::Old)).collect();
        let steps = rollout(&update, pods).len();
        // 33 % of 300 pods is 99, which leaves one of each zone over.
        assert_eq!(steps, if each < 100 { 3 } else { 6 }, "{each} pods in each of three zones");
    }
}

#[test]
fn the_program_is_stuck_with_an_unready_bad_revision_beyond_the_first_zone_and_the_readme_is_not() {
    let bad = PodRevision::Unfinished(Time::from_nanos(7));
    let mut pods = vec![pod(0, "a", bad), pod(1, "b", bad), pod(2, "c", PodRevision::New)];
    pods[1].is_ready = false;
    let found = |rollback| step(&ZoneAwareUpdate { rollback, ..PLAIN }, &set(&pods, 3), &pods, &Status::new(), None);
    assert_eq!(found(Rollback::Code).verdict, Verdict::OtherZoneNotReady);
    assert_eq!(found(Rollback::Readme).deleted, [1]);
}

#[test]
fn a_rollback_starts_at_the_first_zone_or_at_the_latest_update() {
    let at = |s| PodRevision::Unfinished(Time::ZERO + Duration::from_secs(s));
    let pods = vec![
        pod(0, "a", at(20)),
        pod(3, "a", at(10)),
        pod(6, "a", at(10)),
        pod(1, "b", at(30)),
        pod(4, "b", at(30)),
        pod(7, "b", PodRevision::Old),
        pod(2, "c", PodRevision::New),
    ];
    let update = |rollback| ZoneAwareUpdate { rollback, exponential_factor: 0.0, ..PLAIN };
    assert_eq!(rollout(&update(Rollback::Code), pods.clone()), [vec![6, 3, 0], vec![7, 4, 1]]);
    assert_eq!(rollout(&update(Rollback::Readme), pods), [vec![4, 1], vec![0, 6, 3], vec![7]]);
}

#[test]
fn no_zone_of_any_old_pod_is_known() {
    let mut pods = vec![pod(0, "a", PodRevision::Old)];
    pods[0].zone = None;
    assert_eq!(step(&PLAIN, &set(&pods, 1), &pods, &Status::new(), None).verdict, Verdict::NoZone);
}

fn update() -> impl Strategy<Value = ZoneAwareUpdate> {
    let max = prop_oneof![(0..12_u32).prop_map(Int), (0..120_u32).prop_map(Percent)];
    let factor = prop_oneof![Just(0.0), Just(1.0), Just(1.5), Just(2.0), Just(3.0), 0.0..4.0];
    let rollback = prop_oneof![Just(Rollback::Code), Just(Rollback::Readme)];
    (max, factor, any::<bool>(), any::<bool>(), rollback).prop_map(
        |(max_unavailable, exponential_factor, ignore_alarm, dry_run, rollback)| ZoneAwareUpdate {
            max_unavailable,
            exponential_factor,
            ignore_alarm,
            dry_run,
            rollback,
        },
    )
}

fn pods() -> impl Strategy<Value = Pods> {
    let revision = prop_oneof![
        Just(PodRevision::New),
        Just(PodRevision::Old),
        (0..4_u64).prop_map(|ns| PodRevision::Unfinished(Time::from_nanos(ns))),
        Just(PodRevision::Unlabelled),
    ];
    let zone = prop_oneof![9 => prop::sample::select(vec!["c", "a", "b"]).prop_map(Some), 1 => Just(None)];
    // Most are ready and stay, or there would be hardly any step.
    let is_ready = (0..12_u32).prop_map(|k| k > 0);
    let is_terminating = (0..40_u32).prop_map(|k| k == 0);
    let pod = (zone, revision, is_ready, is_terminating);
    prop::collection::btree_map(0..40_u32, pod, 0..20).prop_map(|pods| {
        let pods = pods.into_iter().map(|(ordinal, (zone, revision, is_ready, is_terminating))| Pod {
            ordinal,
            zone,
            revision,
            is_ready,
            is_terminating,
        });
        pods.collect()
    })
}

fn alarm() -> impl Strategy<Value = Option<Alarm>> {
    prop::option::of(prop::sample::select(vec![Alarm::Ok, Alarm::Alarm, Alarm::InsufficientData, Alarm::Unreadable]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_step_deletes_old_pods_of_one_zone_and_never_more_than_allowed(
        update in update(),
        pods in pods(),
        before in 0..8_u32,
        revision in 0..2_u32,
        alarm in alarm(),
    ) {
        let status = Status { update_step: before, update_revision: Some(revision), ..Status::new() };
        let found = step(&update, &set(&pods, 1), &pods, &status, alarm);
        let deleted: Vec<&Pod<_>> = found.deleted.iter().map(|ordinal| {
            pods.iter().find(|pod| pod.ordinal == *ordinal).expect("what is deleted is there")
        }).collect();
        let zones: BTreeSet<_> = deleted.iter().map(|pod| pod.zone).collect();
        prop_assert!(zones.len() <= 1 && !zones.contains(&None), "pods of {zones:?}");
        prop_assert!(deleted.iter().all(|pod| pod.revision.is_old()), "a pod of the newest revision");
        prop_assert_eq!(deleted.iter().map(|pod| pod.ordinal).collect::<BTreeSet<_>>().len(), deleted.len());
        let step_before = if revision == 1 { before } else { 0 };
        let factor = update.exponential_factor;
        let grown = if factor == 0.0 { f64::INFINITY } else { (0..step_before).fold(1.0 + 1e-9, |grown, _| grown * factor) };
        let most = f64::from(update.max_unavailable.of_rounded_up(pods.len() as u32));
        prop_assert!(deleted.len() as f64 <= grown.floor().min(most));
        let proceeds = matches!(found.verdict, Verdict::Deletes | Verdict::DryRun | Verdict::NothingAllowed);
        prop_assert_eq!(found.verdict == Verdict::Deletes, !deleted.is_empty());
        prop_assert!(!update.dry_run || deleted.is_empty());
        if proceeds {
            prop_assert_eq!(found.status.update_step, step_before + 1);
            // All that are unavailable afterwards are of this one zone.
            let unavailable = pods.iter().filter(|pod| !pod.is_ready && pod.revision != PodRevision::Unlabelled);
            prop_assert!(unavailable.filter_map(|pod| pod.zone).all(|zone| zones.is_empty() || zones.contains(&Some(zone))));
        }
        let rings = alarm == Some(Alarm::Alarm) && !update.ignore_alarm && pods.iter().all(|pod| pod.is_ready);
        prop_assert!(!rings || deleted.is_empty(), "deleted although the alarm rings and all pods are ready");
    }

    #[test]
    fn a_rollout_takes_zones_in_order_and_ordinals_from_the_top(
        pods in pods(),
        max in 1..9_u32,
        factor in prop_oneof![Just(0.0), Just(1.0), Just(2.0), Just(3.0)],
    ) {
        let pods: Pods = pods
            .into_iter()
            .filter(|pod| pod.zone.is_some() && pod.revision != PodRevision::Unlabelled)
            .map(|pod| Pod { revision: PodRevision::Old, is_ready: true, is_terminating: false, ..pod })
            .collect();
        let mut zones = BTreeMap::<_, Vec<u32>>::new();
        for pod in &pods {
            zones.entry(pod.zone).or_default().push(pod.ordinal);
        }
        let update = ZoneAwareUpdate { max_unavailable: IntOrPercent::Int(max), exponential_factor: factor, ..PLAIN };
        // Batches as one would cut them by hand.
        let (mut wanted, mut size) = (Vec::new(), 1.0_f64);
        for ordinals in zones.values_mut() {
            ordinals.sort_unstable_by_key(|ordinal| std::cmp::Reverse(*ordinal));
            while !ordinals.is_empty() {
                let most = if factor == 0.0 { max } else { max.min(size as u32) };
                wanted.push(ordinals.drain(..ordinals.len().min(most as usize)).collect::<Vec<_>>());
                size *= factor;
            }
        }
        prop_assert_eq!(rollout(&update, pods), wanted);
    }
}
