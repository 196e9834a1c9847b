//! A real etcd was measured; the same set-up simulated gives the same figures.
//!
//! Every row of every file in `tests/measurements/`, or in the folder that `ZONEFALL_MEASUREMENTS` names: bytes per link within 10 %
//! (12 % on the wire) or 0.4 KiB/s, failover times by a two-sample Kolmogorov-Smirnov test at 1 %, and latencies under loss and with slow disks
//! by the bounds of the README there.

mod loss;
mod slow_disk;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use zonefall_core::ids::{Endpoint, MemberId};
use zonefall_core::kernel::rng::{Draw, Purpose, Stream};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{EtcdRecord, Record};
use zonefall_core::scenario::{Direction, Fault, FaultTarget, GracefulStop, NodePartition, ProcessKill, ProcessPause};
use zonefall_core::sim::{Options, Simulation};
use zonefall_tests::laboratory::{SetUp, scenario, targeted};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    set_up: SetUp,
    measured: BTreeMap<String, Figure>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Figure {
    Value(f64),
    Sample(Vec<f64>),
    Flag(bool),
    Values(BTreeMap<String, f64>),
    Nothing(()),
}

/// What a row says and what was simulated.
#[derive(Debug)]
struct Outcome {
    /// Its set-up in words.
    what: String,
    /// `measured / simulated`.
    cells: Vec<String>,
    /// Figures that are not within the bounds of the README, each with more about it, if there is any.
    failures: Vec<(&'static str, String)>,
}

/// A row's file and its place there.
type Place = (String, usize);

/// A figure that is not within the bounds, and why.
struct Outside {
    /// File of the row, in `tests/measurements/`.
    file: &'static str,
    /// Place of the row in the file, from 0 on.
    row: usize,
    /// What the row's set-up is in words.
    what: &'static str,
    figure: &'static str,
    why: &'static str,
}

const OUTSIDE: &[Outside] = &[
    Outside {
        file: "etcd-loss.json",
        row: 6,
        what: "200/s, 10 % lost",
        figure: "p50",
        why: "all congestion windows have shrunk to two packets, so time-outs determine the median. The model has a third too many",
    },
    Outside {
        file: "etcd-slow-disk.json",
        row: 3,
        what: "50 + 10/s, leader 4000 ms slow",
        figure: "leader",
        why: "a single run. The earlier of two election timers (1 to 2 s) expires after 1.3 s in the median; a second round of elections would give about 3 s",
    },
];

/// Whether a figure of a row of `tests/measurements/` is known to be outside. Nothing is of rows in other folders.
fn known(place: &Place, what: &str, figure: &str) -> Option<&'static Outside> {
    let own = std::env::var_os(FOLDER).is_none();
    let is_it = |known: &&Outside| (known.file, known.row, known.what, known.figure) == (place.0.as_str(), place.1, what, figure);
    OUTSIDE.iter().find(is_it).filter(|_| own)
}

/// Names another folder to read from.
const FOLDER: &str = "ZONEFALL_MEASUREMENTS";

/// The rows under loss, with slow disks, and of stops, for docs/validation.md.
pub(crate) fn markdown() -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = String::new();
    let tables = [
        ("Packets are lost: latency of puts, ms (measured / simulated)", "row | p50 | p90 | p99", loss::outcomes()),
        (
            "Disks are slow: latency of puts at the leader and at a follower, ms (measured / simulated)",
            "puts/s, slow disk | leader p50 | p90 | follower p50 | p90 | another leader after",
            slow_disk::outcomes(),
        ),
        (
            "Leaders are asked to stop, or frozen: seconds until another leads (median, measured / simulated)",
            "row | another leader after",
            stops(),
        ),
    ];
    for (title, head, outcomes) in tables {
        let columns = head.split('|').count() + 1;
        text += &format!("### {title}\n\n| {head} | |\n|{}\n", "---|".repeat(columns));
        for (_, Outcome { what, mut cells, failures }) in outcomes {
            cells.insert(0, what);
            let outside = told(&failures);
            cells.push(if outside.is_empty() { "within".into() } else { format!("**outside**: {}", outside.join(", ")) });
            text += &row(&cells);
        }
        text.push('\n');
    }
    let why = OUTSIDE.iter().map(|Outside { what, why, .. }| format!("- {what}: {why}.\n"));
    text + &why.collect::<String>()
}

fn stops() -> Vec<(Place, Outcome)> {
    judged(|row| matches!(row.set_up.fault.as_deref(), Some("stop" | "pause")), failover)
}

/// The rows of all files that are of a kind, judged.
fn judged(is_of_kind: impl Fn(&Row) -> bool, judge: impl Fn(&Row) -> Outcome) -> Vec<(Place, Outcome)> {
    let places =
        files().into_iter().flat_map(|(file, rows)| (0..).zip(rows).map(move |(place, row)| ((file.clone(), place), row)));
    places.filter(|(_, row)| is_of_kind(row)).map(|(place, row)| (place, judge(&row))).collect()
}

/// A failover row: medians, and whether the distributions are alike.
fn failover(row: &Row) -> Outcome {
    let Some(Figure::Sample(measured)) = row.measured.get("new_leader_s").filter(|_| row.measured.len() == 1) else {
        panic!("a failover row has one sample, new_leader_s")
    };
    // Printed in tenths of a millisecond, or in whole ones.
    let decimals = |per_s: f64| measured.iter().all(|value| (value * per_s - (value * per_s).round()).abs() < 1e-6);
    let per_s = if decimals(1e3) { 1e3 } else { 1e4 };
    let simulated: Vec<f64> =
        simulate_failovers(&row.set_up, 2_000).iter().map(|value| (value * per_s).round() / per_s).collect();
    let distance = kolmogorov_smirnov(measured, &simulated);
    let (m, n) = (measured.len() as f64, simulated.len() as f64);
    let limit = 1.628 * ((m + n) / (m * n)).sqrt();
    let median = |sample: &[f64]| sample[sample.len() / 2];
    let what = row.set_up.fault.clone().unwrap_or_default();
    let failures = (distance > limit).then(|| ("distribution", format!("distance {distance:.3}, limit {limit:.3}")));
    Outcome {
        what,
        cells: vec![format!("{:.3} / {:.3}", median(measured), median(&simulated))],
        failures: failures.into_iter().collect(),
    }
}

#[test]
fn measurement_latency_under_loss() {
    expect_all(loss::outcomes());
}

#[test]
fn measurement_slow_disks() {
    expect_all(slow_disk::outcomes());
}

/// Figures that are outside, with more about each.
fn told(failures: &[(&'static str, String)]) -> Vec<String> {
    failures.iter().map(|(figure, more)| format!("{figure} {more}").trim_end().to_owned()).collect()
}

fn expect_all(outcomes: Vec<(Place, Outcome)>) {
    let mut failures = Vec::new();
    let mut excused = Vec::new();
    for (place, Outcome { what, cells, failures: outside }) in &outcomes {
        println!("{what}: {} {:?}", cells.join(", "), told(outside));
        for (figure, more) in outside {
            match known(place, what, figure) {
                Some(known) => excused.push((known.file, known.row, known.figure)),
                None => failures.push(format!("{}, row {}, {what}: {figure} {more} of {cells:?}", place.0, place.1)),
            }
        }
    }
    // What is within its bounds needs no excuse.
    for Outside { file, row, what, figure, .. } in OUTSIDE.iter().filter(|_| std::env::var_os(FOLDER).is_none()) {
        let is_here = outcomes.iter().any(|((own, _), _)| own == file);
        if is_here && !excused.contains(&(*file, *row, *figure)) {
            failures.push(format!("{file}, row {row}, {what}: {figure} is within its bounds, and excused in vain"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Rows that nobody has seen are read from another folder: none of them is excused, whatever it is called.
#[test]
fn excuses_hold_for_one_figure_of_one_row_of_this_folder() {
    for Outside { file, row, what, figure, .. } in OUTSIDE {
        let excused = |file: &str, row, what, figure| known(&(file.to_owned(), row), what, figure).is_some();
        let here = std::env::var_os(FOLDER).is_none();
        assert_eq!(excused(file, *row, what, figure), here, "{file}, row {row}");
        assert!(!excused("etcd-other.json", *row, what, figure), "another file than {file}");
        assert!(!excused(file, row + 100, what, figure), "another row than {row}");
        assert!(!excused(file, *row, "another set-up", figure), "another set-up than {what}");
        for other in ["p50", "p90", "p99", "leader", "distribution", "errors"].into_iter().filter(|other| other != figure) {
            assert!(!excused(file, *row, what, other), "{other} of {what}");
        }
    }
}

impl Row {
    /// A group of figures.
    fn values(&self, group: &str) -> Option<&BTreeMap<String, f64>> {
        if let Figure::Values(values) = self.measured.get(group)? { Some(values) } else { None }
    }
}

/// The rows of every file, by file name.
fn files() -> BTreeMap<String, Vec<Row>> {
    let folder = std::env::var_os(FOLDER)
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/measurements")), PathBuf::from);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths =
        entries.map(|entry| entry.expect("a folder's entry").path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file that can be read");
        let rows: Vec<Row> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!rows.is_empty(), "{name} has no row");
        (name, rows)
    };
    let files: BTreeMap<_, _> = paths.map(read).collect();
    assert!(!files.is_empty(), "no measurement in {}", folder.display());
    files
}

#[test]
fn measurement_bytes_per_link() {
    let mut failures = Vec::new();
    for (name, rows) in files() {
        let rows: Vec<Row> =
            rows.into_iter().filter(|row| row.set_up.fault.is_none() && row.values("latency_ms").is_none()).collect();
        for row in &rows {
            failures.extend(check_traffic(&name, row));
        }
        println!("{name}: {} traffic rows", rows.len());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Mean KiB/s (packets/s) per directed pair over half a minute.
fn simulate_traffic(set_up: &SetUp) -> impl Fn(u16, u16) -> (f64, f64) {
    const WARM_UP: Duration = Duration::from_secs(2);
    const SPAN: Duration = Duration::from_secs(30);
    let wire = match set_up.bytes.as_deref() {
        None => false,
        Some("wire") => true,
        Some(other) => panic!("unknown kind of bytes {other:?}"),
    };
    let mut simulation = Simulation::new(Arc::new(scenario(set_up, WARM_UP + SPAN)), 1, Options::default());
    let mut totals = |until: Time| -> BTreeMap<(Endpoint, Endpoint), (u64, u64)> {
        simulation.run_until(until, &mut |_, _| {});
        let bytes = |link: &zonefall_core::sim::LinkTotals| if wire { link.wire_bytes } else { link.bytes };
        simulation.links().iter().map(|link| ((link.from, link.to), (bytes(link), link.packets))).collect()
    };
    let before = totals(Time::ZERO + WARM_UP);
    let after = totals(Time::ZERO + WARM_UP + SPAN);
    move |from, to| {
        let end = |index| Endpoint::Member(MemberId { cluster: zonefall_core::ids::EtcdId(0), index: index as u8 });
        let get = |totals: &BTreeMap<_, (u64, u64)>| totals.get(&(end(from), end(to))).copied().unwrap_or_default();
        let ((bytes, packets), (old_bytes, old_packets)) = (get(&after), get(&before));
        let per_s = |amount: u64| amount as f64 / SPAN.as_secs_f64();
        (per_s(bytes - old_bytes) / 1024.0, per_s(packets - old_packets))
    }
}

fn check_traffic(file: &str, row: &Row) -> Vec<String> {
    let rate = simulate_traffic(&row.set_up);
    let (n, target) = (row.set_up.members, targeted(&row.set_up));
    let followers = || 1..n;
    let mean = |pairs: Vec<(u16, u16)>, of: &dyn Fn(u16, u16) -> f64| {
        pairs.iter().map(|&(from, to)| of(from, to)).sum::<f64>() / pairs.len() as f64
    };
    let bytes = |from, to| rate(from, to).0;
    let packets = |from, to| rate(from, to).1;
    let others = || followers().filter(|&follower| follower != target);
    let mut failures = Vec::new();
    for (figure, measured) in &row.measured {
        let Figure::Value(measured) = *measured else { panic!("{file}: {figure} is a sample in a traffic row") };
        let simulated = match figure.as_str() {
            "leader_to_follower" => mean(followers().map(|f| (0, f)).collect(), &bytes),
            "follower_to_leader" => mean(followers().map(|f| (f, 0)).collect(), &bytes),
            "follower_to_follower" => {
                let pairs = followers().flat_map(|a| followers().filter(move |&b| b != a).map(move |b| (a, b))).collect();
                mean(pairs, &bytes)
            }
            "total" => (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).map(|(a, b)| bytes(a, b)).sum(),
            "targeted_follower_to_leader" => bytes(target.max(1), 0),
            "other_followers_to_leader" => mean(others().filter(|&f| target > 0 || f > 1).map(|f| (f, 0)).collect(), &bytes),
            "leader_to_targeted" => bytes(0, target),
            "leader_to_other" => mean(others().map(|f| (0, f)).collect(), &bytes),
            "packets_leader_to_follower_per_s" => mean(followers().map(|f| (0, f)).collect(), &packets),
            "packets_follower_to_leader_per_s" => mean(followers().map(|f| (f, 0)).collect(), &packets),
            other => panic!("{file}: unknown figure {other:?}"),
        };
        // Packets depend on what the host's network stack merges, too.
        let (share, least) = match (figure.starts_with("packets"), row.set_up.bytes.is_some()) {
            (true, _) => (0.15, 2.0),
            (false, true) => (0.12, 0.4),
            (false, false) => (0.10, 0.4),
        };
        let line = format!(
            "{file}: {figure}: {measured} measured, {simulated:.1} simulated ({:+.1} %)",
            (simulated / measured - 1.0) * 100.0
        );
        println!("{line}");
        if (simulated - measured).abs() > (share * measured).max(least) {
            failures.push(format!("{line}\n    {:?}", row.set_up));
        }
    }
    failures
}

#[test]
fn measurement_failover_times() {
    expect_all(judged(|row| row.measured.contains_key("new_leader_s"), failover));
}

/// Sorted seconds from the fault to the poll that first saw a survivor report the new leader.
fn simulate_failovers(set_up: &SetUp, count: u64) -> Vec<f64> {
    let lab = Arc::new(scenario(set_up, Duration::from_secs(120)));
    let leader = MemberId { cluster: zonefall_core::ids::EtcdId(0), index: 0 };
    let fault = match set_up.fault.as_deref() {
        Some("kill") => Fault::ProcessKill(ProcessKill(FaultTarget::Named(leader))),
        Some("cut") => Fault::NodePartition(NodePartition {
            node: FaultTarget::Named(zonefall_core::ids::NodeId(0)),
            direction: Direction::Both,
        }),
        Some("stop") => Fault::GracefulStop(GracefulStop(FaultTarget::Named(leader))),
        Some("pause") => Fault::ProcessPause(ProcessPause(FaultTarget::Named(leader))),
        other => panic!("unknown fault {other:?}"),
    };
    // A frozen process goes on after 5 s.
    let over_http = matches!(set_up.fault.as_deref(), Some("stop" | "pause"));
    let lasts = (set_up.fault.as_deref() == Some("pause")).then(|| Duration::from_secs(5));
    let mut times: Vec<f64> = (0..count)
        .map(|seed| {
            let mut simulation = Simulation::new(Arc::clone(&lab), seed, Options::default());
            // The fault strikes anywhere between two heartbeats.
            let mut draw = Stream::new(seed, Purpose::Arrival, 0).draw(0);
            let at = Time::ZERO + Duration::from_secs(3) + Duration::from_nanos(draw.below(set_up.heartbeat_ms * 1_000_000));
            simulation.run_until(at, &mut |_, _| {});
            simulation.inject(&fault, lasts);
            // When each survivor knows a new leader.
            let mut known = vec![None; usize::from(set_up.members) - 1];
            while known.contains(&None) && simulation.now() < Time::ZERO + lab.duration {
                let until = simulation.now() + Duration::from_millis(100);
                simulation.run_until(until, &mut |when, record| {
                    if let Record::Etcd(EtcdRecord::LeaderSeen { member, leader: Some(new), .. }) = record
                        && member.index != 0
                        && *new != 0
                    {
                        known[usize::from(member.index) - 1].get_or_insert(when.since(at));
                    }
                });
            }
            let known: Vec<Duration> = known.into_iter().map(|known| known.expect("a new leader within two minutes")).collect();
            if over_http { asked_in_turn(&known, &mut draw) } else { watched(&known, &mut draw) }.as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Between two looks at the survivors.
const POLL: Duration = Duration::from_millis(5);

/// When looks that take no time, and that begin anywhere, find that somebody knows a new leader.
fn watched(known: &[Duration], draw: &mut Draw) -> Duration {
    let first = known.iter().min().expect("a survivor");
    let begins = Duration::from_nanos(draw.below(POLL.as_nanos()));
    begins + POLL * (*first - begins).as_nanos().div_ceil(POLL.as_nanos())
}

/// When survivors that are asked over HTTP, one after the other from the fault on, first name a new leader. A request takes 0.9 to 2.4 ms, the
/// first 0.8 ms more, and is answered half-way (measured for `etcd-stop-more.json`).
fn asked_in_turn(known: &[Duration], draw: &mut Draw) -> Duration {
    let mut now = Time::ZERO + Duration::from_micros(800);
    let first = draw.below(known.len() as u64) as usize;
    loop {
        for &known in known[first..].iter().chain(&known[..first]) {
            let half = Duration::from_micros(450 + draw.below(750));
            now += half;
            let knows = Time::ZERO + known <= now;
            now += half;
            if knows {
                return now.since(Time::ZERO);
            }
        }
        now += POLL;
    }
}

/// Largest distance between two empirical distributions; both sorted.
fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> f64 {
    let below = |sample: &[f64], x: f64| sample.partition_point(|&value| value <= x) as f64 / sample.len() as f64;
    a.iter().chain(b).map(|&x| (below(a, x) - below(b, x)).abs()).fold(0.0, f64::max)
}
