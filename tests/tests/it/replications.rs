//! Stories over many seeds, with 95 % intervals: what one seed says may be chance.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::report::{Report, RolloutReport};
use zonefall_core::run::run;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;
use zonefall_tests::effort;
use zonefall_tests::threads::parallel;

/// Reports of a bundled story under the seeds 1, 2, ...
fn reports<T: Send>(name: &str, seeds: usize, of: impl Fn(&Report) -> T + Sync) -> Vec<T> {
    let file = bundled().iter().find(|file| file.name == name).expect("the scenario is bundled");
    let scenario = Arc::new(Scenario::from_json(file.json).expect("bundled scenarios are valid"));
    parallel(seeds, |k| of(&run(&scenario, k as u64 + 1, Options::default(), &mut |_, _| {}, &mut |_| {})))
}

/// A mean and half the width of its 95 % interval.
#[derive(Clone, Copy, Debug)]
struct Mean {
    mean: f64,
    half_width: f64,
}

impl Mean {
    /// Of a sample of at least ten.
    fn of(sample: &[f64]) -> Self {
        assert!(sample.len() >= 10, "too few for an interval");
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let variance = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        Self { mean, half_width: student(n - 1.0) * (variance / n).sqrt() }
    }

    fn text(self, digits: usize) -> String {
        format!("{:.digits$} ± {:.digits$}", self.mean, self.half_width)
    }
}

/// The 97.5 % quantile of Student's t distribution (Cornish and Fisher's expansion around the normal one's, 1.96).
fn student(degrees: f64) -> f64 {
    let z = 1.959_964_f64;
    let (third, fifth, seventh) = (z * z * z, z * z * z * z * z, z * z * z * z * z * z * z);
    z + (third + z) / (4.0 * degrees)
        + (5.0 * fifth + 16.0 * third + 3.0 * z) / (96.0 * degrees * degrees)
        + (3.0 * seventh + 19.0 * fifth + 17.0 * third - 15.0 * z) / (384.0 * degrees * degrees * degrees)
}

#[test]
fn quantiles_are_those_of_tables() {
    for (degrees, quantile) in [(9.0, 2.262), (29.0, 2.045), (39.0, 2.023), (199.0, 1.972)] {
        assert!((student(degrees) - quantile).abs() < 2e-3, "{degrees}: {}", student(degrees));
    }
}

/// Strategies of the story `rollout-strategies`, and what each is in words.
const STRATEGIES: [(&str, &str); 9] = [
    ("canary", "canary: one pod of twelve, and no more"),
    ("zone-by-hand", "zone after zone, 3 min of bake time, an alarm pauses"),
    ("doubling", "ZoneAwareUpdate, 1, 2, 4 ... pods, an alarm pauses"),
    ("zone-at-once", "ZoneAwareUpdate, a zone in one step, an alarm pauses"),
    ("one-by-one", "StatefulSet, one after the other"),
    ("three-at-once", "StatefulSet, `maxUnavailable` 3"),
    ("surge", "Deployment, `maxSurge` and `maxUnavailable` 25 %"),
    ("surge-back", "the same, and an alarm rolls it back"),
    ("all-at-once", "all at once"),
];

/// The bad revisions there.
const BAD: [&str; 5] = ["never-ready", "crashes", "degrades", "breaks-beside-old", "splits-the-store"];

/// What a strategy came to in one run, summed over the bad revisions.
#[derive(Clone, Copy, Debug)]
struct Came {
    exposed_pods: f64,
    exposed_pod_min: f64,
    failed_min: f64,
    /// Of the good revision; NaN: it was not complete.
    duration_s: f64,
    /// Bad revisions of which no pod was left.
    back: f64,
}

fn came(report: &Report, strategy: &str) -> Came {
    let rollouts = |revision: &str| {
        let name = format!("{strategy}.{revision}");
        report.rollouts.iter().filter(move |rollout| rollout.workload == name)
    };
    let first = |revision| rollouts(revision).find(|rollout| !rollout.rollback).expect("it was rolled out");
    let sum = |of: fn(&RolloutReport) -> f64| BAD.iter().map(|revision| of(first(revision))).sum::<f64>();
    let good = first("good");
    let failed = BAD.iter().flat_map(|revision| rollouts(revision)).map(|rollout| rollout.failed_s / 60.0);
    let is_back = |revision: &&&str| rollouts(revision).any(|rollout| rollout.rollback && rollout.completed);
    Came {
        exposed_pods: sum(|rollout| rollout.exposed_pods.into()),
        exposed_pod_min: sum(|rollout| rollout.exposed_pod_s / 60.0),
        failed_min: failed.sum(),
        duration_s: if good.completed { good.duration_s } else { f64::NAN },
        back: BAD.iter().filter(is_back).count() as f64,
    }
}

/// All strategies meet the same draws in each run, so differences are taken run by run.
#[test]
fn strategies_are_in_order_and_the_readme_shows_their_table() {
    // The README's table is of so many, always.
    const SEEDS: usize = 40;
    let runs = reports("rollout-strategies", SEEDS, |report| STRATEGIES.map(|(name, _)| came(report, name)));
    let place = |name: &str| STRATEGIES.iter().position(|(own, _)| *own == name).expect("a strategy");
    let in_order = |what: &str, names: &[&str], of: fn(&Came) -> f64| {
        for pair in names.windows(2) {
            let [less, more] = [place(pair[0]), place(pair[1])];
            let difference = Mean::of(&runs.iter().map(|run| of(&run[more]) - of(&run[less])).collect::<Vec<_>>());
            let Mean { mean, half_width } = difference;
            assert!(mean > half_width, "{what}: {} after {}: {}", pair[1], pair[0], difference.text(2));
        }
    };
    in_order(
        "pods exposed",
        &["canary", "zone-by-hand", "doubling", "zone-at-once", "three-at-once", "surge", "all-at-once"],
        |came| came.exposed_pods,
    );
    in_order("pods exposed", &["doubling", "one-by-one", "three-at-once"], |came| came.exposed_pods);
    in_order(
        "time of a good revision",
        &["all-at-once", "surge", "zone-at-once", "three-at-once", "doubling", "one-by-one", "zone-by-hand"],
        |came| came.duration_s,
    );
    let mut table = format!(
        "| strategy | pods exposed, of {} | pod-minutes exposed | all requests failed, min | a good revision takes, s | rolled back, of {} |\n\
         |---|---|---|---|---|---|\n",
        BAD.len() * 12,
        BAD.len(),
    );
    for (k, (_, words)) in STRATEGIES.iter().enumerate() {
        let mean = |of: fn(&Came) -> f64, digits| {
            let mean = Mean::of(&runs.iter().map(|run| of(&run[k])).collect::<Vec<_>>());
            if mean.mean.is_nan() { "-".to_owned() } else { mean.text(digits) }
        };
        let cells = [
            mean(|came| came.exposed_pods, 1),
            mean(|came| came.exposed_pod_min, 0),
            mean(|came| came.failed_min, 2),
            mean(|came| came.duration_s, 1),
            mean(|came| came.back, 1),
        ];
        table += &format!("| {words} | {} |\n", cells.join(" | "));
    }
    print!("{table}");
    in_readme("rollout-strategies", &table);
}

/// Holds a generated part of README.md against what it should be, or puts it there with `ZONEFALL_BLESS=1`.
fn in_readme(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(&path).expect("README.md is there");
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = readme.split_once(&begin).expect("README.md has the part");
    let (shown, after) = rest.split_once(&end).expect("the part of README.md ends");
    if std::env::var_os("ZONEFALL_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{text}{end}{after}")).expect("README.md can be written");
    } else {
        assert_eq!(shown, text, "README.md is stale: ZONEFALL_BLESS=1 cargo test -p zonefall-tests --test it replications");
    }
}

/// Writes stop for an election at most: leaders hand over before they stop.
const ELECTION_S: f64 = 1.0;

/// What maintenance took from the control plane of a shoot.
#[derive(Clone, Debug)]
struct Maintained {
    /// Time without writes to `etcd-main`, in seconds.
    etcd_write_s: f64,
    quorum_lost_s: f64,
    etcd_causes: Vec<String>,
    /// Time without writes to its API, in seconds.
    api_write_s: f64,
    /// Of the times in which its API took no writes for longer than an election.
    api_causes: Vec<String>,
}

impl Maintained {
    fn of(report: &Report, shoot: &str) -> Self {
        let namespace = format!("shoot--garden--{shoot}");
        let (etcd, api) = (&report.etcd[&format!("{namespace}/etcd-main")], &report.api[&namespace]);
        let long = api.outages.iter().filter(|outage| outage.verb == "write" && outage.to_s - outage.from_s > ELECTION_S);
        Self {
            etcd_write_s: etcd.write_unavailable_s,
            quorum_lost_s: etcd.quorum_lost_s,
            etcd_causes: etcd.outages.iter().map(|outage| outage.root_cause.clone()).collect(),
            api_write_s: api.write_unavailable_s,
            api_causes: long.map(|outage| outage.root_cause.clone()).collect(),
        }
    }
}

/// GEP-20, "Disruptions and Zero Downtime Maintenance": budgets keep maintenance from being an outage, under whatever seed.
#[test]
fn budgets_keep_maintenance_from_being_an_outage() {
    let seeds = effort(200, 1_000);
    let runs = reports("rolling-maintenance", seeds, |report| ["shop", "bare"].map(|shoot| Maintained::of(report, shoot)));
    let (mut hit, mut api_hit) = (0, 0);
    for (seed, [shop, bare]) in (1..).zip(&runs) {
        assert!(shop.quorum_lost_s <= 0.0 && shop.etcd_write_s < ELECTION_S, "seed {seed}: in spite of budgets: {shop:?}");
        assert!(shop.api_write_s < ELECTION_S && shop.api_causes.is_empty(), "seed {seed}: in spite of budgets: {shop:?}");
        if bare.quorum_lost_s > 0.0 {
            hit += 1;
            assert!(bare.etcd_write_s > ELECTION_S, "seed {seed}: {bare:?}");
            assert!(bare.etcd_causes.iter().any(|cause| cause.contains(" evicted etcd-main-")), "seed {seed}: {bare:?}");
            // The API needs its etcd.
            assert!(bare.api_write_s >= bare.etcd_write_s - ELECTION_S, "seed {seed}: {bare:?}");
        }
        if bare.api_write_s > ELECTION_S {
            api_hit += 1;
            assert!(!bare.api_causes.is_empty(), "seed {seed}: {bare:?}");
            // All API servers may be evicted at once, too.
            let is_known =
                |cause: &String| [" evicted etcd-main-", " evicted kube-apiserver-"].iter().any(|told| cause.contains(told));
            assert!(bare.api_causes.iter().all(is_known), "seed {seed}: {bare:?}");
            assert!(
                bare.quorum_lost_s <= 0.0 || bare.api_causes.iter().any(|cause| cause.contains(" evicted etcd-main-")),
                "seed {seed}: {bare:?}"
            );
        }
    }
    println!(
        "with budgets of 3 writes stop for longer than an election under {hit} of {seeds} seeds, and those of the Kubernetes API under \
         {api_hit}; with the usual budgets under none"
    );
    let bundled = &runs[0][1];
    assert!(bundled.quorum_lost_s > 0.0 && bundled.api_write_s > ELECTION_S, "the bundled seed shows it: {bundled:?}");
    // They are told to go at one moment; but that a drain evicts others first may spare a member.
    assert!(hit * 10 >= seeds * 9 && api_hit >= hit, "{hit} and {api_hit} of {seeds}");
}

/// Components of a shoot whose budgets let all pods of etcd and of the API server be evicted at once.
pub(super) fn without_budgets() -> Value {
    json!(["etcd-main", "etcd-events", "kube-apiserver"].map(|name| json!({"name": name, "max_unavailable": 3})))
}

/// The bundled maintenance of a seed with fifty shoots, with and without budgets, zones side by side (as Gardener does) or one after the other.
#[test]
fn maintenance_of_a_seed_needs_budgets_where_zones_are_rolled_side_by_side_and_takes_longer_zone_after_zone() {
    /// Time for a zone, where they are rolled one after the other, in minutes.
    const ZONE_MIN: usize = 30;
    let file = bundled().iter().find(|file| file.name == "seed-maintenance").expect("the scenario is bundled");
    let variants = [(true, false), (true, true), (false, false), (false, true)];
    let found = parallel(variants.len(), |k| {
        let (budgets, by_zone) = variants[k];
        let mut json: Value = serde_json::from_str(file.json).expect("bundled scenarios are JSON");
        if !budgets {
            json["shoots"][0]["components"] = without_budgets();
        }
        if by_zone {
            let of_zone = |(k, zone): (usize, &str)| json!({"at": format!("{}m", 10 + k * ZONE_MIN), "roll_pool": {"seed": "seed", "pool": "cpu", "zone": zone}});
            json["operations"] = ["za", "zb", "zc"].into_iter().enumerate().map(of_zone).collect();
        }
        let scenario = Arc::new(Scenario::from_json(&json.to_string()).expect("the variant is a scenario still"));
        let report = run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {});
        let of_etcd = || report.etcd.iter().filter(|(name, _)| name.ends_with("/etcd-main")).map(|(_, etcd)| etcd);
        let shoots = of_etcd().count();
        let lost = of_etcd().filter(|etcd| etcd.quorum_lost_s > 0.0).count();
        let changes: u64 = of_etcd().map(|etcd| etcd.leader_changes).sum();
        let unavailable = report.api.values().map(|api| api.write_unavailable_s).fold(0.0, f64::max);
        // A machine is created for each one that goes. Between zones somebody waits, which is not counted.
        let last = report.machines.iter().map(|machine| report.simulated_s - machine.age_s).fold(0.0, f64::max);
        let waited = if by_zone { 2 * ZONE_MIN } else { 0 };
        println!(
            "budgets {budgets}, zone after zone {by_zone}: {lost} of {shoots} etcd clusters lost their quorum, {changes} leader changes, no \
             writes to an API for {unavailable:.3} s at most, last machine created {:.1} min after its zone began",
            last / 60.0 - 10.0 - waited as f64
        );
        assert_eq!((shoots, report.machines.len()), (50, 36));
        assert!(report.machines.iter().all(|machine| report.simulated_s - machine.age_s >= 600.0), "every machine is a new one");
        (lost, changes, unavailable, last / 60.0 - 10.0 - waited as f64)
    });
    let [side_by_side, by_zone, bare, bare_by_zone] = &found[..] else { unreachable!("four variants") };
    for (what, (lost, _, unavailable, _)) in
        [("side by side", side_by_side), ("zone after zone", by_zone), ("unguarded", bare_by_zone)]
    {
        assert!(*lost == 0 && *unavailable < ELECTION_S, "{what}: {lost} lost their quorum, no writes for {unavailable} s");
    }
    let (one, all) = (by_zone.3, side_by_side.3);
    assert!(
        (one - all).abs() < 1.0,
        "one zone takes as long as three side by side, so three take three times as long: {one} and {all} min"
    );
    let (lost, _, unavailable, _) = bare;
    assert!(*lost == 50 && *unavailable > 20.0, "{lost} lost their quorum, no writes for {unavailable} s");
}
