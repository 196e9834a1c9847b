//! Oracles: what other people's tests, theses and simulators say must come out, row by row.
//!
//! The files are those of `tests/oracles/`, or of the folder that the environment variable `ZONEFALL_ORACLES` names. Every row of
//! every file is run; a file that nobody knows, a field or a word that nobody understands, and a file without a row are failures.
//! Oracles of parts that are not built yet wait: they are named and not looked into.

mod alt_svc;
mod alt_svc_round_trip;
mod autoscaler;
mod broken_access;
mod distribute;
mod election;
mod form;
mod hints;
mod leader_election;
mod lifecycle;
mod load_balancer;
mod meltdown;
mod membership;
pub(crate) mod network_latency;
mod quorum;
mod seconds;
mod spread;
mod symbols;
mod volume_zone;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Runs a file's rows: how many there are, and what is wrong with them.
type Runner = fn(&str) -> Outcome;

/// Rows run, and what failed.
#[derive(Debug, Default)]
struct Outcome {
    rows: usize,
    failures: Vec<String>,
    /// Rows that differ, and that their sources do not have like this.
    unverified: Vec<String>,
}

impl Outcome {
    /// Runs one row. `place` names it to people.
    fn row<T: DeserializeOwned>(&mut self, place: &str, row: &Value, run: impl FnOnce(&T) -> Result<(), String>) {
        self.judge(place, row, true, run);
    }

    /// Runs one row. `verified`: its source has it. One that is not must be understood, and may differ.
    fn judge<T: DeserializeOwned>(
        &mut self,
        place: &str,
        row: &Value,
        verified: bool,
        run: impl FnOnce(&T) -> Result<(), String>,
    ) {
        self.rows += 1;
        let (list, why) = match T::deserialize(row).map(|row| run(&row)) {
            Ok(Ok(())) => return,
            Ok(Err(why)) if !verified => (&mut self.unverified, why),
            Ok(Err(why)) => (&mut self.failures, why),
            Err(error) => (&mut self.failures, format!("not understood: {error}")),
        };
        list.push(format!("{place}: {why}\n  row: {row}"));
    }

    /// Parses a file; what it says as a whole must be understood too.
    fn parse<T: DeserializeOwned>(&mut self, text: &str) -> Option<T> {
        serde_json::from_str(text).map_err(|error| self.failures.push(format!("not understood: {error}"))).ok()
    }
}

const RUNNERS: [(&str, Runner); 24] = [
    ("altsvc_cache_cases.json", alt_svc::run_cache),
    ("altsvc_parse_cases.json", alt_svc::run_parse),
    ("altsvc_round_trip_cases.json", alt_svc_round_trip::run),
    ("altsvc_select_cases.json", alt_svc::run_select),
    ("altsvc_server_cases.json", alt_svc::run_server),
    ("ca_balance_backoff_cases.json", autoscaler::run),
    ("etcd_membership_cases.json", membership::run),
    ("etcd_network_latency.csv", network_latency::run),
    ("gardener_distribute_cases.json", distribute::run),
    ("lb_detect_time_cases.json", load_balancer::run_detection),
    ("lb_health_cases.json", load_balancer::run_health),
    ("leader_election_acquire_cases.json", leader_election::run_acquire),
    ("leader_election_config_cases.json", leader_election::run_config),
    ("leader_election_defaults_cases.json", leader_election::run_defaults),
    ("leader_election_health_cases.json", leader_election::run_health),
    ("leader_election_renew_cases.json", leader_election::run_renew),
    ("mcm_meltdown_cases.json", meltdown::run),
    ("node_lifecycle_zone_state_cases.json", lifecycle::run),
    ("pts_filter_cases.json", spread::run_filter),
    ("pts_score_cases.json", spread::run_score),
    ("raft_election_oracles.json", election::run),
    ("raft_quorum_cases.json", quorum::run),
    ("topology_hints_cases.json", hints::run),
    ("volume_zone_cases.json", volume_zone::run),
];

/// Oracles of parts that are not built yet.
const WAITING: [&str; 4] = ["availability_closed_forms.json", "az_outages.csv", "defaults.csv", "selector_spread_cases.json"];

fn folder() -> PathBuf {
    let bundled = || Path::new(env!("CARGO_MANIFEST_DIR")).join("oracles");
    std::env::var_os("ZONEFALL_ORACLES").map_or_else(bundled, PathBuf::from)
}

/// Says something past the test harness, which shows what a test prints only when it fails.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Runs one file of a folder; what is wrong with it.
fn check(folder: &Path, name: &str, run: Runner) -> Result<usize, String> {
    let text = fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
    let Outcome { rows, mut failures, unverified } = run(&text);
    for row in unverified {
        say(&format!("oracle {name}: a row that its source does not have differs: {row}"));
    }
    if rows == 0 {
        failures.push("not a single row".to_owned());
    }
    if failures.is_empty() { Ok(rows) } else { Err(format!("{name}: {}", failures.join("\n"))) }
}

/// Names of a folder's files: those that wait; or what is wrong with them.
fn survey(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names: BTreeSet<String> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let missing = RUNNERS.iter().filter(|(name, _)| !names.contains(*name)).map(|(name, _)| format!("{name} is missing"));
    let known = |name: &str| WAITING.contains(&name) || RUNNERS.iter().any(|(runner, _)| *runner == name);
    let unknown = names.iter().filter(|name| !known(name)).map(|name| format!("{name}: nobody knows how to run it"));
    let wrong: Vec<String> = missing.chain(unknown).collect();
    if wrong.is_empty() {
        Ok(names.into_iter().filter(|name| WAITING.contains(&name.as_str())).collect())
    } else {
        Err(format!("{}: {}", folder.display(), wrong.join("; ")))
    }
}

fn expect_all_rows(name: &str) {
    let (_, run) = RUNNERS.iter().find(|(runner, _)| *runner == name).expect("one of the runners");
    match check(&folder(), name, *run) {
        Ok(rows) => say(&format!("oracle {name}: {rows} rows")),
        Err(wrong) => panic!("{wrong}"),
    }
}

#[test]
fn every_oracle_file_is_known() {
    let waiting = survey(&folder()).unwrap_or_else(|wrong| panic!("{wrong}"));
    for name in waiting {
        say(&format!("oracle {name}: waiting for what it is about"));
    }
}

#[test]
fn oracle_raft_quorum() {
    expect_all_rows("raft_quorum_cases.json");
}

#[test]
fn oracle_etcd_membership() {
    expect_all_rows("etcd_membership_cases.json");
}

#[test]
fn oracle_etcd_network_latency() {
    expect_all_rows("etcd_network_latency.csv");
}

#[test]
fn oracle_raft_election() {
    expect_all_rows("raft_election_oracles.json");
}

#[test]
fn oracle_node_lifecycle_zone_state() {
    expect_all_rows("node_lifecycle_zone_state_cases.json");
}

#[test]
fn oracle_pod_topology_spread_filter() {
    expect_all_rows("pts_filter_cases.json");
}

#[test]
fn oracle_pod_topology_spread_score() {
    expect_all_rows("pts_score_cases.json");
}

#[test]
fn oracle_volume_zone() {
    expect_all_rows("volume_zone_cases.json");
}

#[test]
fn oracle_machine_meltdown() {
    expect_all_rows("mcm_meltdown_cases.json");
}

#[test]
fn oracle_distribute_over_zones() {
    expect_all_rows("gardener_distribute_cases.json");
}

#[test]
fn oracle_autoscaler_balance_and_backoff() {
    expect_all_rows("ca_balance_backoff_cases.json");
}

#[test]
fn oracle_topology_hints() {
    expect_all_rows("topology_hints_cases.json");
}

#[test]
fn oracle_alternative_services_cache() {
    expect_all_rows("altsvc_cache_cases.json");
}

#[test]
fn oracle_alternative_services_header() {
    expect_all_rows("altsvc_parse_cases.json");
}

#[test]
fn oracle_alternative_services_round_trip() {
    expect_all_rows("altsvc_round_trip_cases.json");
}

#[test]
fn oracle_alternative_services_selection() {
    expect_all_rows("altsvc_select_cases.json");
}

#[test]
fn oracle_alternative_services_server() {
    expect_all_rows("altsvc_server_cases.json");
}

#[test]
fn oracle_load_balancer_detection_time() {
    expect_all_rows("lb_detect_time_cases.json");
}

#[test]
fn oracle_load_balancer_health() {
    expect_all_rows("lb_health_cases.json");
}

#[test]
fn oracle_leader_election_acquire() {
    expect_all_rows("leader_election_acquire_cases.json");
}

#[test]
fn oracle_leader_election_config() {
    expect_all_rows("leader_election_config_cases.json");
}

#[test]
fn oracle_leader_election_defaults() {
    expect_all_rows("leader_election_defaults_cases.json");
}

#[test]
fn oracle_leader_election_health() {
    expect_all_rows("leader_election_health_cases.json");
}

#[test]
fn oracle_leader_election_renew() {
    expect_all_rows("leader_election_renew_cases.json");
}

/// Tests of the tests: what is broken on purpose is found.
mod broken {
    use super::*;

    /// A folder of its own for each test.
    fn folder(test: &str) -> PathBuf {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("oracles-{test}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the target folder can be written");
        path
    }

    /// Files with these texts; what comes of the one of this name.
    pub(super) fn outcome(of: &str, name: &str, text: &str) -> Result<usize, String> {
        let folder = folder(of);
        fs::write(folder.join(name), text).expect("the target folder can be written");
        let (_, run) = RUNNERS.iter().find(|(runner, _)| *runner == name).expect("one of the runners");
        check(&folder, name, *run)
    }

    #[track_caller]
    pub(super) fn refused(of: &str, name: &str, text: &str, because: &str) {
        let wrong = outcome(of, name, text).expect_err("this must be refused");
        assert!(wrong.contains(because), "{wrong}\n  should say: {because}");
    }

    #[test]
    fn oracle_quorum_rows_are_read_strictly() {
        let name = "raft_quorum_cases.json";
        let file = |row: &str| format!(r#"{{"source": "", "notes": "", "cases": [{row}]}}"#);
        let good = r#"{"file": "a", "line": 1, "cmd": "committed", "cfg": ["900", "7"], "idx": ["3", "9"], "expected": "3"}"#;
        assert_eq!(outcome("quorum-good", name, &file(good)), Ok(1));
        refused("quorum-value", name, &file(&good.replace(r#""expected": "3""#, r#""expected": "9""#)), "found 3, wanted 9");
        refused("quorum-field", name, &file(&good.replace("idx", "indices")), "indices");
        refused("quorum-command", name, &file(&good.replace("committed", "joint")), "joint");
        refused("quorum-short", name, &file(&good.replace(r#"["3", "9"]"#, r#"["3"]"#)), "1 values for 2 voters");
        refused("quorum-word", name, &file(&good.replace(r#""9"]"#, r#""?"]"#)), "?");
        refused("quorum-none", name, &file(""), "not a single row");
        refused("quorum-empty", name, "", "not understood");
    }

    #[test]
    fn oracle_membership_rows_are_read_strictly() {
        let name = "etcd_membership_cases.json";
        let file = |cases: &str| format!(r#"{{"source": "", "note": "", "cases": {{{cases}}}}}"#);
        let good = r#""TestIsReadyToRemoveVotingMember": [{"members": [{"id": 9, "started": true, "learner": false},
            {"id": 3, "started": false, "learner": false}], "target": 3, "want": true, "why": ""}]"#;
        assert_eq!(outcome("membership-good", name, &file(good)), Ok(1));
        refused("membership-value", name, &file(&good.replace(r#""target": 3"#, r#""target": 9"#)), "found false, wanted true");
        refused("membership-target", name, &file(&good.replace(r#""target": 3, "#, "")), "target");
        refused("membership-field", name, &file(&good.replace("learner", "witness")), "witness");
        refused("membership-test", name, &file(&good.replace("Remove", "Replace")), "TestIsReadyToReplaceVotingMember");
        refused("membership-none", name, &file(""), "not a single row");
    }

    #[test]
    fn oracle_hints_rows_are_read_strictly() {
        let name = "topology_hints_cases.json";
        let file = |row: &str| format!(r#"{{"add_hints": [{row}]}}"#);
        let good = r#"{"ratios": {"a": 0.35, "b": 0.35, "c": 0.3}, "endpoints": {"a": 5, "b": 2, "c": 3}, "want": {"a": 4, "b": 3, "c": 3}}"#;
        assert_eq!(outcome("hints-good", name, &file(good)), Ok(1));
        refused("hints-value", name, &file(&good.replace(r#""a": 4"#, r#""a": 5"#)), "wanted");
        refused("hints-word", name, &file(&good.replace(r#"{"a": 4, "b": 3, "c": 3}"#, r#""disabled""#)), "wanted");
        refused("hints-field", name, &file(&good.replace("ratios", "shares")), "shares");
        refused("hints-none", name, "{}", "not a single row");
    }

    #[test]
    fn oracle_election_rows_are_read_strictly() {
        let name = "raft_election_oracles.json";
        let good = r#"{"source": "", "split_examples": [{"n": 3, "survivors": 2, "l": 0.1, "formula": 0.19, "abs_tolerance": 0.02}],
            "etcd_discrete": [{"election_ticks": 3, "surviving_followers": 1, "mean_min_ticks": 4, "abs_tolerance": 0.05}]}"#;
        assert_eq!(outcome("election-good", name, good), Ok(2));
        refused("election-split", name, &good.replace("0.19", "0.25"), "wanted 0.25");
        refused("election-mean", name, &good.replace(r#""mean_min_ticks": 4"#, r#""mean_min_ticks": 3.5"#), "wanted 3.5");
        refused("election-field", name, &good.replace(r#""l""#, r#""latency""#), "latency");
        refused("election-list", name, &good.replace("etcd_discrete", "etcd_continuous"), "etcd_continuous");
        refused("election-servers", name, &good.replace(r#""n": 3"#, r#""n": 2"#), "survivors");
        refused("election-none", name, r#"{"source": ""}"#, "not a single row");
    }

    #[test]
    fn oracle_distribute_rows_are_read_strictly() {
        let name = "gardener_distribute_cases.json";
        let file = |table: &str, row: &str| format!(r#"{{"{table}": [{row}]}}"#);
        let good = r#"{"zone_index": 0, "value": "33%", "zones": 3, "total": 7, "want": "43%"}"#;
        let either = "distribute_positive_int_or_percent";
        assert_eq!(outcome("distribute-good", name, &file(either, good)), Ok(1));
        refused("distribute-value", name, &file(either, &good.replace("43", "42")), "found Percent(43), wanted Percent(42)");
        refused("distribute-zone", name, &file(either, &good.replace(": 0", ": 3")), "zone 3 of 3");
        refused("distribute-field", name, &file(either, &good.replace("total", "sum")), "sum");
        refused("distribute-table", name, &file("distribute_evenly", good), "distribute_evenly");
        let pool = r#"{"zones": 2, "minimum": 4, "per_zone": {"minimum": 2}}"#;
        assert_eq!(outcome("distribute-pool", name, &file("docs_example", pool)), Ok(1));
        refused("distribute-uneven", name, &file("docs_example", &pool.replace('4', "5")), "wanted");
        refused(
            "distribute-extra",
            name,
            &file("docs_example", &pool.replace("\"zones\": 2", "\"zones\": 2, \"surge\": 2")),
            "surge",
        );
        refused(
            "distribute-nothing",
            name,
            &file("docs_example", r#"{"zones": 2, "minimum": 4}"#),
            "either `per_zone` or a note",
        );
        refused("distribute-note", name, &file("docs_example", r#"{"zones": 2, "maxSurge": 1, "note": "?"}"#), "?");
    }

    #[test]
    fn oracle_network_latency_rows_are_read_strictly() {
        let name = "etcd_network_latency.csv";
        let header =
            "src_line,op,n,value_bytes,conns,clients,seq_keys,consistency,target,qps,mean_latency_ms,zone,server,topology";
        let file = |rows: &[&str]| format!("# somebody says\n{header}\n{}\n", rows.join("\n"));
        let near = "1,RANGE,500,256,1,1,true,s,leader,2100,0.47,z-a,m1,mn-mz";
        let far = "2,RANGE,500,256,1,1,true,s,leader,1420,0.70,z-b,m1,mn-mz";
        assert_eq!(outcome("latency-good", name, &file(&[near, far])), Ok(2));
        // Twice as slow, or of a client that stands elsewhere; figures that contradict each other are left out, and counted.
        refused("latency-slow", name, &file(&[near, &far.replace("1420,0.70", "700,1.42")]), "line 2: RANGE (s) 256 B, 1 client");
        let elsewhere = [near.replace("2100,0.47", "1420,0.70"), far.replace("1420,0.70", "2100,0.47")];
        assert_eq!(outcome("latency-client", name, &file(&[&elsewhere[0], &elsewhere[1]])), Ok(2));
        assert_eq!(outcome("latency-little", name, &file(&[near, &far.replace("1420", "700")])), Ok(2));
        // Several clients have more room; a leader of one member does not lead three that are slower.
        let many = "3,RANGE,20000,256,100,1000,true,s,leader,11400,87.7,z-a,m1,mn-mz";
        assert_eq!(outcome("latency-many", name, &file(&[near, many])), Ok(2));
        refused("latency-too-many", name, &file(&[near, &many.replace("11400,87.7", "10500,95.2")]), "line 3");
        let [single, three] =
            ["1150,0.87,z-a,m1,sn-sz", "1350,0.74,z-a,m1,mn-mz"].map(|rest| format!("4,PUT,500,256,1,1,,,leader,{rest}"));
        refused(
            "latency-order",
            name,
            &file(&[near, &single, &three.replace("4,", "5,")]),
            "lines 4 and 5 are in the wrong order",
        );
        for (test, from, to, because) in [
            ("header", "conns", "connections", "the header is"),
            ("op", "RANGE", "SCAN", "SCAN"),
            ("target", "leader", "learner", "learner"),
            ("consistency", ",s,", ",x,", "unknown consistency"),
            ("topology", "mn-mz", "mn-xz", "mn-xz"),
            ("number", "2100", "2,100", "fields"),
            ("nothing", "2100", "0", "nothing was measured"),
            ("keys", "1,RANGE,500,256,1,1,true", "1,RANGE,500,77,1,1,false", "how many keys of 77 B"),
        ] {
            refused(&format!("latency-{test}"), name, &file(&[near]).replace(from, to), because);
        }
        refused("latency-none", name, &file(&[]), "no row tells");
    }

    #[test]
    fn oracle_autoscaler_rows_are_read_strictly() {
        let name = "ca_balance_backoff_cases.json";
        let file = |table: &str, row: &str| format!(r#"{{"{table}": [{row}]}}"#);
        let good = r#"{"groups": [["a", 0, 9, 4], ["b", 0, 3, 2]], "add": 3, "want": {"a": 6, "b": 3}}"#;
        assert_eq!(outcome("balance-good", name, &file("balance", good)), Ok(1));
        refused("balance-value", name, &file("balance", &good.replace(": 6", ": 5")), "wanted");
        refused("balance-field", name, &file("balance", &good.replace("add", "new")), "new");
        let good = r#"{"initial_s": 10, "max_s": 30, "fails_s": [0, 11, 32, 62], "checks": [[10, true], [31.5, false], [92, true], [92.001, false]]}"#;
        assert_eq!(outcome("backoff-good", name, &file("backoff", good)), Ok(1));
        refused("backoff-value", name, &file("backoff", &good.replace("31.5", "31")), "at 31 s: found true, wanted false");
        refused("backoff-order", name, &file("backoff", &good.replace("0, 11", "11, 0")), "out of order");
        refused("backoff-field", name, &file("backoff", &good.replace("initial_s", "first_s")), "not understood");
        let stale = r#"{"reset_s": 10, "fails_s": {"a": 0}, "stale_at": [[10, 1], [10.5, 0]]}"#;
        assert_eq!(outcome("stale-good", name, &file("backoff", stale)), Ok(1));
        refused("stale-value", name, &file("backoff", &stale.replace("[10, 1]", "[10, 0]")), "at 10 s: found 1, wanted 0");
    }

    #[test]
    fn oracle_folders_are_surveyed() {
        let folder = folder("survey");
        for (name, _) in &RUNNERS[1..] {
            fs::write(folder.join(name), "{}").expect("the target folder can be written");
        }
        let wrong = survey(&folder).expect_err("a file is missing");
        assert!(wrong.contains("altsvc_cache_cases.json is missing"), "{wrong}");
        fs::write(folder.join(RUNNERS[0].0), "{}").expect("the target folder can be written");
        fs::write(folder.join("defaults.csv"), "").expect("the target folder can be written");
        assert_eq!(survey(&folder), Ok(vec!["defaults.csv".to_owned()]));
        fs::write(folder.join("raft_quorum_case.json"), "").expect("the target folder can be written");
        let wrong = survey(&folder).expect_err("a file nobody knows");
        assert!(wrong.contains("raft_quorum_case.json"), "{wrong}");
    }
}
