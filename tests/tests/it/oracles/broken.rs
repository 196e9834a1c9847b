//! Tests of the tests: what is broken on purpose is found.

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
    refused("distribute-nothing", name, &file("docs_example", r#"{"zones": 2, "minimum": 4}"#), "either `per_zone` or a note");
    refused("distribute-note", name, &file("docs_example", r#"{"zones": 2, "maxSurge": 1, "note": "?"}"#), "?");
}

#[test]
fn oracle_network_latency_rows_are_read_strictly() {
    let name = "etcd_network_latency.csv";
    let header = "src_line,op,n,value_bytes,conns,clients,seq_keys,consistency,target,qps,mean_latency_ms,zone,server,topology";
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
    refused("latency-order", name, &file(&[near, &single, &three.replace("4,", "5,")]), "lines 4 and 5 are in the wrong order");
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
