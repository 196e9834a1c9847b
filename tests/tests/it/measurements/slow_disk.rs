//! Puts at the leader and at a follower while disks are slow.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::loss::{beside, quantile};
use super::{Figure, Outcome, Place, Row, judged};
use zonefall_core::client::record::{ClientRecord, RequestResult};
use zonefall_core::ids::VolumeId;
use zonefall_core::kernel::rng::{Purpose, Stream};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{EtcdRecord, Record};
use zonefall_core::scenario::{DiskSlow, Fault, FaultTarget};
use zonefall_core::sim::{Options, Simulation};
use zonefall_tests::laboratory::{SetUp, scenario};

/// Runs of a row, one for each seed. The figures are medians over their windows.
const SEEDS: u64 = 5;
const WINDOW: Duration = Duration::from_secs(5);
/// Of the leader's client, and of the follower's.
const FIGURES: [[&str; 2]; 2] = [["leader's p50", "leader's p90"], ["follower's p50", "follower's p90"]];
const BEGINS: Time = Time::from_nanos(5_000_000_000);

/// What a run shows: per client (the leader's, the follower's) p50 and p90 of each window in ms, and seconds until another member led.
#[derive(Default)]
struct Run {
    windows: [Vec<[f64; 2]>; 2],
    new_leader_s: Option<f64>,
}

fn simulate(set_up: &SetUp, seed: u64) -> Run {
    let lasts = Duration::from_secs(set_up.slow_for_s.expect("a slow disk is slow for some time"));
    let lab = Arc::new(scenario(set_up, Duration::from_secs(5 + 30) + lasts));
    let draws = Stream::new(seed, Purpose::Arrival, 7);
    let mut simulation = Simulation::new(lab, seed, Options::default());
    let begins = BEGINS + Duration::from_nanos(draws.draw(0).below(1_000_000_000));
    simulation.run_until(begins, &mut |_, _| {});
    let slow = match set_up.slow.as_deref() {
        Some("leader") => vec![0],
        Some("follower") => vec![1],
        Some("all") => (0..set_up.members).collect(),
        other => panic!("unknown slow disk {other:?}"),
    };
    let add = Duration::from_nanos((set_up.fsync_extra_ms.expect("a slow disk is slow") * 1e6) as u64);
    for volume in slow {
        simulation
            .inject(&Fault::DiskSlow(DiskSlow { volume: FaultTarget::Named(VolumeId(volume)), add, factor: 1.0 }), Some(lasts));
    }
    let (mut run, mut latencies, mut count) = (Run::default(), [BTreeMap::new(), BTreeMap::<u64, Vec<f64>>::new()], 0);
    simulation.run_until(begins + lasts + Duration::from_secs(30), &mut |now, record| match record {
        Record::Client(ClientRecord::Request { client, latency, result, .. }) => {
            count += 1;
            let window = Time::from_nanos(now.as_nanos() - latency.as_nanos()).since(begins).as_nanos() / WINDOW.as_nanos();
            let client = if set_up.rate_per_s == Some(0.0) { 1 } else { client.0 as usize };
            let beside = if *result == RequestResult::Ok { beside(draws.draw(count).unit()) } else { 0.0 };
            latencies[client].entry(window).or_default().push(latency.as_secs_f64() * 1e3 + beside);
        }
        Record::Etcd(EtcdRecord::Elected { member, .. }) if member.index != 0 && now < begins + lasts => {
            run.new_leader_s.get_or_insert(now.since(begins).as_secs_f64());
        }
        _ => {}
    });
    for (windows, latencies) in run.windows.iter_mut().zip(latencies) {
        // The first and the last are left out.
        for (_, mut sample) in
            latencies.into_iter().filter(|(window, _)| (1..lasts.as_nanos() / WINDOW.as_nanos() - 1).contains(window))
        {
            sample.sort_by(f64::total_cmp);
            windows.push([0.5, 0.9].map(|share| quantile(&sample, share)));
        }
    }
    run
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

fn outcome(row: &Row) -> Outcome {
    let SetUp { rate_per_s, follower_rate_per_s, slow, fsync_extra_ms, .. } = &row.set_up;
    let runs: Vec<Run> = (1..=SEEDS).map(|seed| simulate(&row.set_up, seed)).collect();
    let (mut cells, mut failures) = (Vec::new(), Vec::new());
    for (client, name) in ["leader", "follower"].into_iter().enumerate() {
        for (place, figure) in ["p50", "p90"].into_iter().enumerate() {
            let Some(measured) = row.values(name).map(|values| values[&format!("{figure}_ms")]) else {
                cells.push(String::new());
                continue;
            };
            let windows = runs.iter().flat_map(|run| &run.windows[client]);
            let simulated = median(windows.map(|window| window[place]).collect());
            cells.push(format!("{measured} / {simulated:.1}"));
            if (simulated / measured - 1.0).abs() > 0.35 {
                failures.push((FIGURES[client][place], format!("{:+.0} %", (simulated / measured - 1.0) * 100.0)));
            }
        }
    }
    let changes: Vec<f64> = runs.iter().filter_map(|run| run.new_leader_s).collect();
    let measured = match row.measured.get("new_leader_after_s") {
        Some(Figure::Value(after)) => Some(*after),
        Some(Figure::Nothing(())) => None,
        other => panic!("expected seconds or null, found {other:?}"),
    };
    let simulated = (changes.len() * 2 > runs.len()).then(|| median(changes));
    let agrees = match (measured, simulated) {
        (Some(measured), Some(simulated)) => (simulated / measured - 1.0).abs() <= 0.5,
        (measured, simulated) => measured == simulated,
    };
    let show = |after: Option<f64>| after.map_or_else(|| "stays".to_owned(), |after| format!("{after:.1} s"));
    cells.push(format!("{} / {}", show(measured), show(simulated)));
    if !agrees {
        failures.push(("leader", String::new()));
    }
    let rates = format!("{} + {}/s", rate_per_s.unwrap_or(0.0), follower_rate_per_s.unwrap_or(0.0));
    let what = format!("{rates}, {} {} ms slow", slow.as_deref().unwrap_or_default(), fsync_extra_ms.unwrap_or(0.0));
    Outcome { what, cells, failures }
}

/// Each row of each file.
pub(super) fn outcomes() -> Vec<(Place, Outcome)> {
    judged(|row| row.set_up.slow.is_some(), outcome)
}
