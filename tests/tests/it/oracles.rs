//! Oracles: what other people's tests, theses and simulators say must come out, row by row.
//!
//! The files are those of `tests/oracles/`, or of the folder that the environment variable `ZONEFALL_ORACLES` names. Every row of
//! every file is run; a file that nobody knows, a field or a word that nobody understands, and a file without a row are failures.
//! Oracles of parts that are not built yet wait: they are named and not looked into.

mod alt_svc;
mod alt_svc_round_trip;
mod autoscaler;
mod broken;
mod broken_access;
mod broken_nodes;
mod broken_rollout;
mod budgets;
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
mod pods;
mod proxy;
mod quorum;
mod seconds;
mod selector_spread;
mod similar;
mod sizing;
mod spread;
mod stateful_set;
mod symbols;
mod traffic_distribution;
mod volume_zone;
mod zone_aware_update;

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

const RUNNERS: [(&str, Runner); 39] = [
    ("altsvc_cache_cases.json", alt_svc::run_cache),
    ("altsvc_parse_cases.json", alt_svc::run_parse),
    ("altsvc_round_trip_cases.json", alt_svc_round_trip::run),
    ("altsvc_select_cases.json", alt_svc::run_select),
    ("altsvc_server_cases.json", alt_svc::run_server),
    ("ca_balance_backoff_cases.json", autoscaler::run),
    ("ca_similar_groups_cases.json", similar::run),
    ("etcd_membership_cases.json", membership::run),
    ("etcd_network_latency.csv", network_latency::run),
    ("gardener_distribute_cases.json", distribute::run),
    ("gep24_sizing_cases.json", sizing::run),
    ("kube_proxy_endpoints_cases.json", proxy::run),
    ("lb_detect_time_cases.json", load_balancer::run_detection),
    ("lb_health_cases.json", load_balancer::run_health),
    ("leader_election_acquire_cases.json", leader_election::run_acquire),
    ("leader_election_config_cases.json", leader_election::run_config),
    ("leader_election_defaults_cases.json", leader_election::run_defaults),
    ("leader_election_health_cases.json", leader_election::run_health),
    ("leader_election_renew_cases.json", leader_election::run_renew),
    ("mcm_meltdown_cases.json", meltdown::run),
    ("node_lifecycle_zone_state_cases.json", lifecycle::run),
    ("pdb_eviction_cases.json", budgets::run_pdb_eviction),
    ("pdb_status_cases.json", budgets::run_pdb_status),
    ("pts_filter_cases.json", spread::run_filter),
    ("pts_score_cases.json", spread::run_score),
    ("raft_election_oracles.json", election::run),
    ("raft_quorum_cases.json", quorum::run),
    ("selector_spread_cases.json", selector_spread::run),
    ("statefulset_rollout_cases.json", stateful_set::run_rollout),
    ("statefulset_update_cases.json", stateful_set::run_update),
    ("topology_hints_cases.json", hints::run),
    ("traffic_distribution_hints_cases.json", traffic_distribution::run),
    ("volume_zone_cases.json", volume_zone::run),
    ("zau_max_delete_cases.json", zone_aware_update::run_max_delete),
    ("zau_old_replicas_cases.json", zone_aware_update::run_old_replicas),
    ("zau_sequence_cases.json", zone_aware_update::run_sequence),
    ("zau_step_cases.json", zone_aware_update::run_step),
    ("zdb_eviction_cases.json", budgets::run_zdb_eviction),
    ("zdb_status_cases.json", budgets::run_zdb_status),
];

/// Oracles of parts that are not built yet.
const WAITING: [&str; 3] = ["availability_closed_forms.json", "az_outages.csv", "defaults.csv"];

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

#[test]
fn oracle_node_group_sizing() {
    expect_all_rows("gep24_sizing_cases.json");
}

#[test]
fn oracle_similar_node_groups() {
    expect_all_rows("ca_similar_groups_cases.json");
}

#[test]
fn oracle_selector_spread() {
    expect_all_rows("selector_spread_cases.json");
}

#[test]
fn oracle_kube_proxy_endpoints() {
    expect_all_rows("kube_proxy_endpoints_cases.json");
}

#[test]
fn oracle_traffic_distribution_hints() {
    expect_all_rows("traffic_distribution_hints_cases.json");
}

#[test]
fn oracle_pod_disruption_budget_eviction() {
    expect_all_rows("pdb_eviction_cases.json");
}

#[test]
fn oracle_pod_disruption_budget_status() {
    expect_all_rows("pdb_status_cases.json");
}

#[test]
fn oracle_stateful_set_rollout() {
    expect_all_rows("statefulset_rollout_cases.json");
}

#[test]
fn oracle_stateful_set_update() {
    expect_all_rows("statefulset_update_cases.json");
}

#[test]
fn oracle_zone_aware_update_max_delete() {
    expect_all_rows("zau_max_delete_cases.json");
}

#[test]
fn oracle_zone_aware_update_old_replicas() {
    expect_all_rows("zau_old_replicas_cases.json");
}

#[test]
fn oracle_zone_aware_update_sequence() {
    expect_all_rows("zau_sequence_cases.json");
}

#[test]
fn oracle_zone_aware_update_step() {
    expect_all_rows("zau_step_cases.json");
}

#[test]
fn oracle_zone_disruption_budget_eviction() {
    expect_all_rows("zdb_eviction_cases.json");
}

#[test]
fn oracle_zone_disruption_budget_status() {
    expect_all_rows("zdb_status_cases.json");
}
