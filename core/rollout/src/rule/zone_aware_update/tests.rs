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

/// From 5 to 60 ready pods of an old revision in 2 to 5 zones, most of which have another number of them: some one, some many.
fn uneven() -> impl Strategy<Value = Pods> {
    let size = prop_oneof![2 => Just(1_usize), 2 => 2..6_usize, 1 => 8..30_usize];
    let sizes =
        prop::collection::vec(size, 2..=5).prop_filter("5 to 60 pods", |sizes| (5..=60).contains(&sizes.iter().sum::<usize>()));
    let names = ["b", "d", "a", "e", "c"];
    let zones = sizes.prop_map(move |sizes| -> Vec<&str> {
        names.into_iter().zip(sizes).flat_map(|(name, size)| std::iter::repeat_n(name, size)).collect()
    });
    zones.prop_shuffle().prop_map(|zones| (0..).zip(zones).map(|(ordinal, zone)| pod(ordinal, zone, PodRevision::Old)).collect())
}

/// At least one pod, or a percentage.
fn allowed() -> impl Strategy<Value = IntOrPercent> {
    prop_oneof![(1..12_u32).prop_map(Int), (1..120_u32).prop_map(Percent)]
}

/// So many pods: a percentage is rounded up.
fn by_hand(max: IntOrPercent, pods: usize) -> usize {
    match max {
        Int(count) => count as usize,
        Percent(percent) => (pods * percent as usize).div_ceil(100),
    }
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
        pods in uneven(),
        max in allowed(),
        factor in prop::sample::select(vec![0.0, 1.0, 2.0, 3.0]),
    ) {
        let mut zones = BTreeMap::<_, Vec<u32>>::new();
        for pod in &pods {
            zones.entry(pod.zone).or_default().push(pod.ordinal);
        }
        let most = by_hand(max, pods.len());
        let update = ZoneAwareUpdate { max_unavailable: max, exponential_factor: factor, ..PLAIN };
        // Batches as one would cut them by hand.
        let (mut wanted, mut size) = (Vec::new(), 1.0_f64);
        for ordinals in zones.values_mut() {
            ordinals.sort_unstable_by_key(|ordinal| Reverse(*ordinal));
            while !ordinals.is_empty() {
                let most = if factor == 0.0 { most } else { most.min(size as usize) };
                wanted.push(ordinals.drain(..ordinals.len().min(most)).collect::<Vec<_>>());
                size *= factor;
            }
        }
        prop_assert_eq!(rollout(&update, pods), wanted);
    }

    #[test]
    fn a_rollout_that_another_one_interrupts_ends_and_the_readme_takes_the_latest_update_first(
        pods in uneven(),
        max_unavailable in allowed(),
        exponential_factor in prop::sample::select(vec![0.0, 1.0, 2.0, 3.0]),
        readme in any::<bool>(),
        // Steps until a second rollout begins, and from then until it is rolled back; or the other way about.
        steps in (0..20_usize, 0..20_usize),
        back_first in any::<bool>(),
    ) {
        let most = by_hand(max_unavailable, pods.len());
        let rollback = if readme { Rollback::Readme } else { Rollback::Code };
        let update = ZoneAwareUpdate { max_unavailable, exponential_factor, rollback, ..PLAIN };
        let targets = if back_first { [1, 0, 2] } else { [1, 2, 1] };
        let changes = [steps.0, steps.0 + steps.1, usize::MAX];
        // Revision of each pod, and when it was created with it.
        let mut has: BTreeMap<u32, (u32, u64)> = pods.iter().map(|pod| (pod.ordinal, (0, 0))).collect();
        let (mut status, mut settled, mut taken) = (Status::new(), 0, 0);
        // The revision of the last step, and how far the next one of it may have grown.
        let mut growth = (0, 1.0_f64);
        for (target, until) in targets.into_iter().zip(changes) {
            while taken < until {
                let seen: Pods = pods.iter().map(|pod| {
                    let revision = match has[&pod.ordinal] {
                        (number, _) if number == target => PodRevision::New,
                        (number, _) if number == settled => PodRevision::Old,
                        (_, created) => PodRevision::Unfinished(Time::from_nanos(created)),
                    };
                    Pod { revision, ..*pod }
                }).collect();
                let found = step(&update, &set(&seen, target), &seen, &status, None);
                status = found.status;
                if found.verdict == Verdict::Done {
                    (settled, growth.1) = (target, 1.0);
                    break;
                }
                taken += 1;
                prop_assert!(taken < 500, "no end");
                let of = |ordinal: &u32| seen.iter().find(|pod| pod.ordinal == *ordinal).expect("what is deleted is there");
                let zone = of(&found.deleted[0]).zone;
                prop_assert!(found.deleted.iter().all(|ordinal| of(ordinal).zone == zone && has[ordinal].0 != target));
                if growth.0 != target {
                    growth = (target, 1.0);
                }
                let allowed = if exponential_factor == 0.0 { most } else { most.min(growth.1 as usize) };
                prop_assert!(found.deleted.len() <= allowed, "{} of {allowed}", found.deleted.len());
                growth.1 *= exponential_factor;
                let updated = |pod: &&Pod<_>| matches!(pod.revision, PodRevision::Unfinished(_));
                let when = |ordinal: u32| has[&ordinal].1;
                if let Some(latest) = seen.iter().filter(updated).map(|pod| when(pod.ordinal)).max().filter(|_| readme) {
                    prop_assert_eq!(when(found.deleted[0]), latest, "the pod that was updated last goes first");
                    let stay = seen.iter().filter(|pod| pod.zone == zone && !found.deleted.contains(&pod.ordinal));
                    let later = stay.filter(updated).map(|pod| when(pod.ordinal)).max();
                    for ordinal in &found.deleted {
                        prop_assert!(updated(&of(ordinal)) && Some(when(*ordinal)) >= later);
                    }
                } else {
                    let next = seen.iter().filter(|pod| pod.revision.is_old()).map(|pod| pod.zone).min();
                    prop_assert_eq!(Some(zone), next, "the first zone by name");
                }
                for ordinal in found.deleted {
                    has.insert(ordinal, (target, taken as u64));
                }
            }
        }
        prop_assert!(has.values().all(|(number, _)| *number == targets[2]), "{:?}", has);
    }
}
