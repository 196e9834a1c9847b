//! The program as people and scripts meet it: exit status, output, files.

mod machines;
mod readme;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const SCENARIO: &str = include_str!("../../../scenarios/zone-outage.json");

/// Runs `zonefall` with `input` on standard input.
fn zonefall(args: &[&str], input: &str) -> Output {
    let mut child = spawn(args);
    // A program that does not read its input may be gone already.
    let _ = child.stdin.take().expect("standard input is piped").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn spawn(args: &[&str]) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zonefall"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn check(args: &[&str], input: &str, status: i32) -> (String, String) {
    let output = zonefall(args, input);
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(status), "zonefall {args:?}\n{out}\n{err}");
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}'), "colours and progress are for terminals: {args:?}");
    (out, err)
}

/// The bundled scenario, two minutes of it, changed.
fn scenario(change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(SCENARIO).expect("the scenario is JSON");
    value["duration"] = json!("2m");
    value["faults"][0]["for"] = json!("30s");
    value["expect"] = json!([]);
    change(&mut value);
    value.to_string()
}

fn report(args: &[&str], input: &str) -> Value {
    let (out, err) = check(args, input, 0);
    assert_eq!(err, "");
    serde_json::from_str(&out).expect("the report is JSON")
}

/// A fresh directory.
fn temporary(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("the directory can be made");
    dir
}

#[test]
fn without_arguments_it_tells_of_a_zone_outage() {
    let (out, err) = check(&[], "", 0);
    assert_eq!(err, "");
    for words in [
        "Writes and linearizable reads were unavailable for",
        "Nothing was lost.",
        "lost power; leader etcd-main-0 gone",
        "Traffic",
        "✓",
    ] {
        assert!(out.contains(words), "{words}:\n{out}");
    }
}

#[test]
fn an_expectation_that_fails_is_status_1() {
    let input = scenario(|s| s["expect"] = json!([{"that": "etcd.etcd-main.leader_changes", "is": 99}]));
    let (out, _) = check(&["run", "-"], &input, 1);
    assert!(out.contains("✗ etcd.etcd-main.leader_changes is 1; expected 99"), "{out}");
    check(&["run", "-", "--format", "json"], &input, 1);
    check(&["run", "-"], &scenario(|_| ()), 0);
}

#[test]
fn bad_input_is_status_2_and_says_all_that_is_wrong() {
    let input = scenario(|s| {
        s["faults"][0]["at"] = json!("1 fortnight");
        s["etcd"][0]["members"][1]["node"] = json!("node-x");
        s["colour"] = json!("red");
    });
    let (out, err) = check(&["run", "-"], &input, 2);
    assert_eq!(out, "");
    for words in ["3 errors", "faults[0].at", "etcd[0].members[1].node", "node-x", "colour", "found", "expected"] {
        assert!(err.contains(words), "{words}:\n{err}");
    }
    check(&["run", "no-such-file.json"], "", 2);
    check(&["run", "-"], "{", 2);
    check(&["run", "--until", "soon"], "", 2);
    check(&["run", "--until", "0s"], "", 2);
    check(&["--colour"], "", 2);
}

#[test]
fn errors_say_what_where_and_what_would_be_right() {
    let dir = temporary("errors");
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).expect("the file can be written");
        path.to_str().expect("the path is UTF-8").to_owned()
    };
    let (binary, empty) = (file("binary", &[0xff, 0xfe, 0]), file("empty", b""));
    let deep = file("deep", "[".repeat(100_000).as_bytes());
    let huge = file("huge", &vec![b' '; 5 << 20]);
    let folder = dir.to_str().expect("the path is UTF-8").to_owned();
    for (args, words) in [
        (&["no-such-file.json"][..], "cannot read no-such-file.json: "),
        (&["chekc"], "it is not a command either: see `zonefall --help`"),
        (&["chekc", "x.json"], "the command comes first"),
        (&["--seed", "3", "check", "x.json"], "the command comes first"),
        (&["run", &folder], "cannot read "),
        (&["run", &binary], "expected JSON in UTF-8"),
        (&["run", &empty], "expected a scenario: a JSON object; found nothing"),
        (&["run", &deep], "more than 127 levels"),
        (&["run", &huge], "expected at most 4 MiB"),
        (&["--seed", "-1"], "expected a whole number from 0"),
        (&["--seed", "1.5"], "expected a whole number from 0"),
        (&["--until", "-1s"], "expected a duration above zero"),
        (&["--until", "10"], "its unit is missing"),
        (&["--format", "yaml"], "table, json"),
        (&["--trace", "-"], "standard output is used for the report"),
        (&["--trace", &folder], "cannot write "),
        (&["--charts", &binary], "cannot create the directory "),
        (&["completions", "ksh"], "zsh"),
        (&["check"], "FILE"),
    ] {
        let (out, err) = check(args, "", 2);
        assert!(err.contains(words) && out.is_empty(), "{args:?}: {words}\n{err}\n{out}");
    }
    let (out, _) = check(&["check", "-"], "{\"name\": ", 2);
    assert!(out.contains("standard input: 1 error"), "{out}");
    let with_mark = format!("\u{feff}{SCENARIO}");
    check(&["check", "-"], &with_mark, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_the_file_and_not_the_report() {
    let (out, err) = check(&["run", "-", "--until", "1s", "--trace", "/dev/full"], &scenario(|_| ()), 2);
    assert!(out.contains("Availability") && err.contains("cannot write /dev/full"), "{out}{err}");
    check(&["check", "/dev/zero"], "", 2);
}

#[test]
fn check_reads_several_files() {
    let good = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/zone-outage.json");
    check(&["check", good, good], "", 0);
    let (out, _) = check(&["check", good, "-"], "{\"name\": 1}", 2);
    assert!(out.contains("✓") && out.contains("✗") && out.contains("name"), "{out}");
}

#[test]
fn check_and_run_warn_of_node_affinity_that_no_node_can_satisfy() {
    let text = json!({
        "name": "warned",
        "duration": "1m",
        "topology": {"regions": [{"name": "r", "zones": ["a"]}]},
        "clusters": [{
            "name": "c",
            "zones": ["a"],
            "pools": [{"name": "p", "minimum": 1, "maximum": 1}],
            "workloads": [{"name": "web", "kind": "deployment", "node_affinity": ["disk=ssd"]}],
        }],
    });
    let (out, _) = check(&["check", "-"], &text.to_string(), 0);
    let warning = "clusters[0].workloads[0].node_affinity: expected labels of a node that is in \"c\" or can come: its pods find no node; found \"disk=ssd\"";
    assert_eq!(out, format!("✓ -: 1 warning\n  {warning}\n"));
    let (_, err) = check(&["run", "-"], &text.to_string(), 0);
    assert_eq!(err, format!("warning: {warning}\n"));
}

#[test]
fn a_shoot_that_no_seed_takes_is_warned_of_and_comes_first() {
    let only = json!([{"name": "etcd-main"}, {"name": "kube-apiserver"}]);
    let text = json!({
        "name": "pending",
        "duration": "1m",
        "topology": {"regions": [{"name": "r", "zones": ["a", "parent"]}]},
        "seeds": [{
            "name": "seed",
            "zones": ["a"],
            "control_plane": {"zones": ["parent"]},
            "allocatable_shoots": 1,
            "pools": [{"name": "p", "minimum": 2, "maximum": 2}],
        }],
        "shoots": [{"name": "s", "count": 3, "only_listed": true, "components": only}],
    });
    let text = text.to_string();
    let event =
        "0/1 seed cluster candidate(s) are eligible for scheduling: {seed => seed does not have available capacity for shoots}";
    let (out, _) = check(&["check", "-"], &text, 0);
    assert!(out.starts_with("✓ -: 1 warning\n  shoots[0]: expected seeds that take all"), "{out}");
    assert!(out.ends_with(&format!("; found 2 of 3 control planes that are never created: {event}\n")), "{out}");

    let (out, _) = check(&["run", "-"], &text, 0);
    let verdict = out.split("\n\n").nth(1).unwrap_or_default().replace('\n', " ");
    assert!(verdict.starts_with(&format!("2 of 3 control planes were never created: {event}. ")), "{out}");
    let table = format!(
        "Pending control planes\n  shoots          failure tolerance  state    reason\n  s-2 to s-3 (2)  none               Pending  {event}\n"
    );
    assert!(out.contains(&table), "{out}");
    assert!(check(&["capacity", "-"], &text, 0).0.starts_with(&table));
}

#[test]
fn refused_operations_are_a_table() {
    let mut story: Value =
        serde_json::from_str(include_str!("../../../scenarios/ha-upgrade.json")).expect("the scenario is JSON");
    (story["duration"], story["faults"], story["expect"]) = (json!("11m"), json!([]), json!([]));
    let (out, _) = check(&["run", "-"], &story.to_string(), 0);
    let (_, table) = out.split_once("Refused operations\n").unwrap_or_else(|| panic!("{out}"));
    let row = "set failure tolerance of shoot stay to zone  the shoot is not already scheduled on a multi-zonal seed";
    assert!(table.lines().nth(1).is_some_and(|line| line.contains(row)), "{out}");
}

/// Two clusters alike: rows say which of them they are about; of one they do not.
#[test]
fn tables_name_the_cluster_where_there_are_several() {
    let cluster = |name: &str| {
        json!({
            "name": name, "zones": ["za", "zb"], "control_plane_nodes": false, "pools": [{"name": "p", "minimum": 2, "maximum": 2}],
            "workloads": [
                {"name": "db", "kind": "stateful_set", "replicas": 2, "cpu": 0.1, "memory": "16MiB", "parallel": true, "quorum": true},
                {"name": "big", "kind": "deployment", "replicas": 1, "cpu": 100, "memory": "16MiB"},
            ],
        })
    };
    let printed = |names: &[&str]| {
        let clusters: Vec<Value> = names.iter().map(|name| cluster(name)).collect();
        let roll = |name: &&str| json!({"at": "2m", "roll_component": {"cluster": name, "component": "db"}});
        let file = json!({
            "name": "several", "duration": "10m", "topology": {"regions": [{"name": "r", "zones": ["za", "zb"]}]},
            "clusters": clusters, "operations": names.iter().map(roll).collect::<Vec<_>>(),
        });
        check(&["run", "-"], &file.to_string(), 0).0
    };
    let (two, one) = (printed(&["left", "right"]), printed(&["left"]));
    for head in ["namespace component recovered", "namespace pod created", "workload from for", "workload to revision"] {
        let lines =
            |text: &str| text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
        let has = |text: &str, start: &str| lines(text).iter().any(|line| line.starts_with(&format!("{start}{head}")));
        assert!(has(&two, "cluster ") && has(&one, ""), "{head}: {two}{one}");
    }
}

#[test]
fn check_mentions_old_names_and_fix_replaces_them_once() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/v1");
    let dir = temporary("fix");
    for entry in std::fs::read_dir(old).expect("the folder is there").flatten().map(|entry| entry.path()) {
        if entry.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let name = entry.file_name().expect("a file has a name");
        let (text, new) = (std::fs::read_to_string(&entry), std::fs::read_to_string(scenarios.join(name)));
        let (text, new) = (text.expect("the old file"), new.expect("the new file"));
        let file = dir.join(name);
        std::fs::write(&file, &text).expect("the file can be written");
        let path = file.to_str().expect("UTF-8");

        let (hint, _) = check(&["check", path], "", 0);
        assert_eq!(hint.contains("`zonefall check --fix` replaces them"), text != new, "{hint}");
        assert_eq!(std::fs::read_to_string(&file).expect("the same file"), text, "only --fix writes");
        let (fixed, _) = check(&["check", "--fix", path], "", 0);
        assert_eq!(fixed.lines().skip(1).collect::<Vec<_>>(), hint.lines().skip(1).collect::<Vec<_>>());
        for _ in 0..2 {
            assert_eq!(std::fs::read_to_string(&file).expect("the fixed file"), new, "{path}");
            let again = check(&["check", "--fix", path], "", 0).0;
            let warned = again.starts_with(&format!("✓ {path}: 1 warning\n")) && again.lines().count() == 2;
            assert!(again == format!("✓ {path}\n") || warned, "{again}");
        }
    }
    let both = scenario(|s| {
        s["clients"][0] = json!({"name": "c", "op": "put", "rate": "1/s", "cluster": "etcd-main", "etcd": "etcd-main"});
    });
    let file = dir.join("both.json");
    std::fs::write(&file, &both).expect("the file can be written");
    let (out, _) = check(&["check", "--fix", file.to_str().expect("UTF-8")], "", 2);
    assert!(
        out.contains("clients[0].cluster: expected only \"etcd\"; found the old name of \"etcd\", which is there, too"),
        "{out}"
    );
    assert_eq!(std::fs::read_to_string(&file).expect("the same file"), both);
    let (out, _) = check(&["check", "--fix", "-"], &both, 2);
    assert!(out.contains("cannot fix standard input"), "{out}");
}

#[test]
fn the_report_is_the_same_for_the_same_seed_and_either_mode() {
    let input = scenario(|_| ());
    let mut fast = report(&["run", "-", "--seed", "7", "--format", "json"], &input);
    assert_eq!(fast, report(&["run", "-", "--seed", "7", "--format", "json"], &input));
    let full = report(&["run", "-", "--seed", "7", "--format", "json", "--fast-forward", "off"], &input);
    assert_eq!(full, report(&["run", "-", "--seed", "7", "--format", "json", "--exact", "full"], &input));
    fast["events"] = full["events"].clone();
    assert!(fast == full, "the modes differ");
    let other = report(&["run", "-", "--seed", "8", "--format", "json"], &input);
    assert_ne!(fast["trace_hash"], other["trace_hash"]);
    assert_eq!((&fast["schema"], &fast["seed"], &fast["simulated_s"]), (&json!("zonefall.report/2"), &json!(7), &json!(120.0)));
    assert_eq!(fast["etcd"]["etcd-main"]["members"][0]["name"], "etcd-main-0");
}

#[test]
fn until_changes_the_length_and_the_load_goes_on() {
    let input = scenario(|_| ());
    let puts = |until: &str| {
        let report = report(&["run", "-", "--format", "json", "--until", until], &input);
        (report["simulated_s"].as_f64(), report["etcd"]["etcd-main"]["latency"][0]["count"].as_u64())
    };
    let (length, count) = puts("30s");
    assert_eq!(length, Some(30.0));
    assert!(count.is_some_and(|n| (2_990..=3_000).contains(&n)), "{count:?}");
    let (length, count) = puts("4m");
    assert_eq!(length, Some(240.0));
    assert!(count.is_some_and(|n| n > 23_000), "{count:?}");
}

#[test]
fn traces_and_charts_are_files() {
    let dir = temporary("files");
    let (trace, charts) = (dir.join("trace.txt"), dir.join("charts"));
    let path = |p: &Path| p.to_str().expect("the path is UTF-8").to_owned();
    let priced = scenario(|json| json["prices"] = json!({"books": ["aws-eu-west-1"]}));
    check(&["run", "-", "--trace", &path(&trace), "--charts", &path(&charts)], &priced, 0);
    let text = std::fs::read_to_string(trace).expect("the trace was written");
    for line in ["60.000000000\tzone eu-west-1a lost power", "90.000000000\tzone eu-west-1a has power again"] {
        assert!(text.lines().any(|l| l == line), "{line}");
    }
    for name in ["etcd-main-timeline", "etcd-main-availability", "etcd-main-latency", "traffic", "aws-bill"] {
        let svg = std::fs::read_to_string(charts.join(name).with_extension("svg")).expect("the chart was written");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("<text"), "{name}");
    }
    check(&["run", "-", "--trace", "no-such-directory/trace.txt"], &scenario(|_| ()), 2);
}

#[test]
fn charts_of_seeds_and_shoots_are_in_folders_of_theirs() {
    let charts = temporary("folders");
    let path = charts.to_str().expect("the path is UTF-8");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/node-failure-zone.json");
    check(&["run", file, "--charts", path], "", 0);
    for name in ["seed/etcd-timeline.svg", "shoot--garden--shop/etcd-main-timeline.svg", "azure-bill.svg"] {
        assert!(charts.join(name).is_file(), "{name}");
    }
}

#[test]
fn schema_defaults_and_completions() {
    let schema: Value = serde_json::from_str(&check(&["schema"], "", 0).0).expect("the schema is JSON");
    assert!(schema["properties"]["etcd"].is_object());
    let (defaults, _) = check(&["defaults"], "", 0);
    for [field, default] in
        [["election_timeout", "1s"], ["components[].volume_size", "25GiB of etcd-main"], ["prices.machine", "as what"]]
    {
        assert!(defaults.lines().any(|l| l.contains(field) && l.contains(default)), "{field}: {defaults}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(check(&["completions", shell], "", 0).0.contains("zonefall"));
    }
}

#[test]
fn prices_are_a_table_or_json() {
    let (table, _) = check(&["prices"], "", 0);
    let row = |what: &str| table.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {table}"));
    assert!(row("m5.2xlarge").contains("0.428/h") && row("m5.2xlarge").contains("unverified"), "{table}");
    assert!(
        row("data transfer out to another zone").contains("0.01/GB") && row("data transfer out").contains("  seen"),
        "{table}"
    );
    let books: Value = serde_json::from_str(&check(&["prices", "--format", "json"], "", 0).0).expect("it is JSON");
    let first = &books[0]["prices"][0];
    assert_eq!((&books[0]["book"], &first["unit"], &first["check"]), (&json!("aws-eu-west-1"), &json!("h"), &json!("memory")));
}

#[test]
fn what_tolerance_costs_is_said_where_shoots_differ_in_it() {
    let mut story: Value =
        serde_json::from_str(include_str!("../../../scenarios/cost-of-tolerance.json")).expect("the scenario is JSON");
    (story["duration"], story["expect"]) = (json!("1h"), json!([]));
    let (table, _) = check(&["run", "-"], &story.to_string(), 0);
    let after = |title: &str| table.split_once(title).unwrap_or_else(|| panic!("{title}: {table}")).1.to_owned();
    let aws = after("aws eu-west-1 (prices: 2 seen, 6 unverified)\n");
    let row = |what: &str| {
        let line = aws.lines().find(|line| line.trim().starts_with(what)).unwrap_or_else(|| panic!("{what}: {aws}"));
        line.trim().trim_start_matches(what).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("none"), ["node", "zone", "none", "→", "node", "node", "→", "zone"]);
    // 85 GiB and 70 more; a load balancer for ten.
    assert_eq!(row("volumes"), ["7.48", "13.64", "13.64", "+6.16", "+0.00"]);
    assert_eq!(row("load balancer, shared"), ["1.84", "1.84", "1.84", "+0.00", "+0.00"]);
    assert!(!after("azure westeurope").contains("bytes between zones  "), "nothing is charged there");
    story["shoots"].as_array_mut().expect("shoots").truncate(1);
    story["seeds"].as_array_mut().expect("seeds").truncate(1);
    assert!(!check(&["run", "-"], &story.to_string(), 0).0.contains("Cost of failure tolerance"));
}

#[test]
fn capacity_is_a_table_or_json() {
    let plan: Value = serde_json::from_str(include_str!("../../../scenarios/capacity.json")).expect("the scenario is JSON");
    let mut small = plan.clone();
    for seed in 0..2 {
        small["seeds"][seed]["allocatable_shoots"] = json!(3);
    }
    let found = report(&["capacity", "-", "--format", "json"], &small.to_string());
    assert_eq!(found["schema"], "zonefall.capacity/3");
    let headroom = &found["seeds"][0]["headroom"][2];
    assert_eq!((&headroom["failure_tolerance"], &headroom["all_zones"]["shoots"]), (&json!("zone"), &json!(2)));
    let figure =
        json!({"constraint": "allocatable_shoots", "unit": "shoots", "used": 2, "available": 2, "needed_for_one_more": 3});
    assert_eq!(headroom["all_zones"]["limiting_resources"], json!([figure]));
    // 150, 75 and 75 in threes: 50, 25 and 25 seeds. In equal shares of whole shoots (one, one and one) there would be 150; each kind on
    // seeds of its own needs no more than the sum.
    assert_eq!((&found["seeds"][0]["needed"]["none"], &found["seeds"][0]["needed"]["together"]), (&json!(50), &json!(100)));

    let (table, _) = check(&["capacity", "-"], &small.to_string(), 0);
    let row = table.lines().find(|line| line.starts_with("  multi-zonal   zone ")).expect("a row for shoots that survive a zone");
    assert_eq!(row, "  multi-zonal   zone                    2  allocatable shoots: 2 of 2, 3 with one more");
    // Of 12 API servers nine have a node of their own: the seed is overfull, and says so.
    let mut overfull = small.clone();
    overfull["seeds"].as_array_mut().expect("seeds").truncate(1);
    overfull["seeds"][0]["allocatable_shoots"] = json!(20);
    overfull["seeds"][0]["pools"][0]["maximum"] = json!(9);
    let components = json!([{"name": "etcd-main", "cpu": 0.1}, {"name": "kube-apiserver", "cpu": 15}]);
    overfull["expect"] = json!([]);
    overfull["shoots"] = json!([{"name": "s", "count": 12, "only_listed": true, "components": components}]);
    let (table, _) = check(&["capacity", "-"], &overfull.to_string(), 0);
    let row = table.lines().find(|line| line.starts_with("  multi-zonal  zone ")).expect("a row for shoots that survive a zone");
    assert_eq!(row, "  multi-zonal  zone                    0  3 of the 12 that are there do not fit");
    let (_, error) = check(&["capacity", "-"], SCENARIO, 2);
    assert_eq!(error, "error: -: no seeds, so there is no capacity to plan\n");
}

#[test]
fn capacity_counts_the_nodes_that_a_demand_needs() {
    let machine = json!({"type": "m", "cpu": 8, "memory": "64GiB", "pods": 1_000, "volumes": 100});
    let components = json!([{"name": "etcd-main", "cpu": 0.5}, {"name": "kube-apiserver", "cpu": 7}]);
    let file = json!({
        "name": "nodes", "duration": "1m",
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "seeds": [{
            "name": "seed", "zones": ["a", "b", "c"], "system": {"only_listed": true},
            "pools": [{"name": "cpu", "minimum": 3, "maximum": 3, "machine": machine}],
        }],
        "capacity": {"demand": {"none": 6, "zone": 2}, "shoot": {"only_listed": true, "components": components}},
    });
    // An API server fills a node: six nodes, two in each zone. When a zone is lost its two are to move: one more node in each zone.
    let found = report(&["capacity", "-", "--nodes", "--format", "json"], &file.to_string());
    assert_eq!(found["schema"], "zonefall.capacity.nodes/1");
    let pool = &found["pools"][0];
    assert_eq!((&pool["seed"], &pool["pool"], &pool["machine"]), (&json!("seed"), &json!("cpu"), &json!("m")));
    assert_eq!(pool["needed"], json!({"none": 6, "node": 0, "zone": 6, "together": 12}));
    assert_eq!(pool["needed_after_zone_loss"], json!({"none": 9, "node": 0, "zone": 9, "together": 18}));
    let (table, _) = check(&["capacity", "-", "--nodes"], &file.to_string(), 0);
    assert!(table.starts_with("Nodes needed (of each pool on one such seed, whatever limits it"), "{table}");
    let words: Vec<&str> = table.lines().nth(2).unwrap_or_default().split_whitespace().collect();
    assert_eq!(words, ["seed", "cpu", "m", "none", "6", "0", "6", "12"]);

    let mut nothing = file;
    nothing["capacity"]["demand"] = json!({});
    let (_, error) = check(&["capacity", "-", "--nodes"], &nothing.to_string(), 2);
    assert_eq!(error, "error: -: `capacity.demand` is empty: expected the shoots that need nodes\n");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = spawn(&["schema"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn comparison_puts_runs_beside_each_other() {
    let file = |name: &str| format!("{}/../scenarios/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let files = [file("zone-outage-option-1"), file("zone-outage-option-2")];
    let (out, _) = check(&["compare", &files[0], &files[1]], "", 0);
    let row = |what: &str| out.lines().find(|line| line.trim().starts_with(what)).unwrap_or_else(|| panic!("{what}: {out}"));
    assert!(row("etcd maintenance without downtime").contains("except for 2 h"), "{out}");
    assert!(row("kube-controller-manager unavailable for").ends_with("0 s"), "{out}");
    let (out, _) = check(&["compare", &files[0], &files[1], "--format", "json", "--seed", "3"], "", 0);
    let comparison: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(comparison["scenarios"], json!(["zone-outage-option-1", "zone-outage-option-2"]));
    for row in comparison["rows"].as_array().expect("rows") {
        assert_eq!(row["values"].as_array().map(Vec::len), Some(2), "{row}");
    }
    check(&["compare", &files[0]], "", 2);
}
