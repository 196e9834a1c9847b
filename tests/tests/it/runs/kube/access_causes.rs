//! Causes that load balancers have in outages of clients and of APIs.

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::report::Report;
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

/// A cluster behind HAProxy in one zone, with these fields, `shutdown_delay` of its API servers, clients and faults.
fn file(balancer: &Value, shutdown_delay: &str, clients: Value, faults: Value) -> Value {
    let mut file = json!({
        "name": "causes", "duration": "20m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "load_balancers": [{"name": "api-int", "profile": "haproxy", "zones": ["a"]}],
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"],
            "api_access": {"load_balancer": "api-int"}, "api_servers": {"shutdown_delay": shutdown_delay}, "api_clients": clients,
            "pools": [{"name": "p", "minimum": 9, "maximum": 9}],
        }],
        "faults": faults,
    });
    file["load_balancers"][0].as_object_mut().unwrap().append(&mut balancer.as_object().unwrap().clone());
    file
}

fn report_of(file: &Value) -> Report {
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    run::run_checked(&Arc::new(scenario), 1, Options::default(), &mut |_, _| {})
}

fn report(balancer: &Value, shutdown_delay: &str, clients: Value, faults: Value) -> Report {
    report_of(&file(balancer, shutdown_delay, clients, faults))
}

fn kill(k: u8) -> Value {
    json!({"at": "5m", "for": "2m", "kind": "api_server_kill", "node": format!("c-control-plane-{k}")})
}

fn causes(report: &Report) -> Vec<&str> {
    report.access.iter().flat_map(|row| &row.outages).map(|outage| &*outage.cause).collect()
}

fn api_causes(report: &Report) -> Vec<&str> {
    report.api["c"].outages.iter().map(|outage| &*outage.root_cause).collect()
}

#[test]
fn what_a_load_balancer_adds_to_an_outage_is_named() {
    // It finds the servers healthy again long after they are ready, and refuses clients until then.
    let slow = json!({"check": {"interval": "10s", "rise": 5}});
    let all = report(&slow, "0s", json!([]), json!([kill(0), kill(1), kill(2)]));
    let outage = &all.api["c"].outages[0];
    assert!(outage.to_s - outage.from_s > 150.0, "{outage:?}");
    assert!(
        outage.root_cause.contains("load balancer api-int finds ") && outage.root_cause.contains(" healthy again after 2."),
        "{outage:?}"
    );
    // A server that was asked to stop closes its connections long after that, when no fault is under way any more.
    let stop = json!([{"at": "5m", "for": "10s", "kind": "api_server_stop", "node": "c-control-plane-0"}]);
    let stopped = report(&json!({}), "6m", json!([]), stop);
    let found = causes(&stopped);
    assert!(!found.is_empty() && found.iter().all(|cause| cause.contains("it was asked to stop 6 min before")), "{found:?}");
    // A host whose packets to the load balancer stay there is out for as long as its own server.
    let stays = report(&json!({"loopback": "stays_on_host"}), "0s", json!([]), json!([kill(1)]));
    let found = causes(&stays);
    assert!(
        found.iter().any(|cause| cause.ends_with("; what hosts of the control plane send to api-int stays there")),
        "{found:?}"
    );
    // What waits after a throttle.
    let throttle = json!([{"at": "5m", "for": "5m", "kind": "lb_throttled", "balancer": "api-int", "bandwidth": "1MB/s"}]);
    let clients = json!([{"name": "op", "runs_on": "workers", "rate": "4/s", "timeout": "10s", "response": "100kB"}]);
    let throttled = report(&json!({"zones": ["a", "b"], "bandwidth": "10MB/s"}), "0s", clients, throttle);
    let found = api_causes(&throttled);
    assert!(found.iter().all(|cause| !cause.contains("no active fault")), "{found:?}");
    assert!(
        found.iter().any(|cause| cause.contains("responses wait at load balancer api-int, which was throttled until ")),
        "{found:?}"
    );
}

#[test]
fn a_server_that_had_not_run_for_long_is_named_when_its_load_balancer_comes_back() {
    let kill = json!({"at": "4m", "for": "10m", "kind": "api_server_kill", "node": "c-control-plane-0"});
    let down = json!({"at": "6m", "for": "2m", "kind": "lb_down", "balancer": "api-int"});
    let report = report(&json!({}), "0s", json!([]), json!([kill, down]));
    let again: Vec<_> = report.api["c"].outages.iter().filter(|outage| outage.from_s >= 480.0).collect();
    let told = "load balancer api-int is up again; API server on c-control-plane-0 had not run for 4 min";
    assert!(!again.is_empty() && again.iter().all(|outage| outage.root_cause == told), "{again:?}");
}

#[test]
fn why_a_connection_ended_is_told_where_its_host_is_sent_to_itself_then() {
    let stop = |k: u8| json!({"at": format!("{}m", 5 + 4 * k), "for": "1m", "kind": "api_server_stop", "node": format!("c-control-plane-{k}")});
    for (loopback, then) in
        [("fails", "api-int sends hosts of the control plane to themselves, which fails"), ("stays_on_host", "stays there")]
    {
        let report = report(&json!({"loopback": loopback}), "70s", json!([]), json!([stop(0), stop(1), stop(2)]));
        let ended: Vec<&str> = causes(&report).into_iter().filter(|cause| cause.contains(" ended (")).collect();
        assert!(ended.iter().all(|cause| cause.contains("ended (it was asked to stop 70 s before)")), "{ended:?}");
        assert!(ended.iter().any(|cause| cause.ends_with(then)), "{ended:?}");
    }
}

#[test]
fn a_server_that_left_the_control_plane_is_named_while_its_load_balancer_has_stale_targets() {
    let stale = json!({"at": "2m", "for": "10m", "kind": "lb_stale_targets", "balancer": "api-int"});
    let down = json!({"at": "9m", "for": "1m", "kind": "lb_down", "balancer": "api-int"});
    let clients = json!([{"name": "op", "runs_on": "workers", "rate": "1/s", "start": "8m", "requests": 20}]);
    let mut file = file(&json!({}), "0s", clients, json!([stale, down]));
    file["operations"] = json!([{"at": "5m", "remove_control_plane_node": {"cluster": "c", "node": "c-control-plane-1"}}]);
    let report = report_of(&file);
    let stale =
        "c-control-plane-1 was removed from the control plane, load balancer api-int does not update the health of its targets)";
    let found = causes(&report);
    for begins in ["its connection to c-control-plane-1 through api-int ended (", "it found no API server when it started ("] {
        let own: Vec<&&str> = found.iter().filter(|cause| cause.starts_with(begins) && !cause.contains("went down")).collect();
        assert!(!own.is_empty() && own.iter().all(|cause| ***cause == format!("{begins}{stale}")), "{found:?}");
    }
    let again: Vec<_> = report.api["c"].outages.iter().filter(|outage| outage.from_s >= 540.0).collect();
    let told = "c-control-plane-1 had left the control plane, and load balancer api-int sends clients there";
    assert!(again.iter().any(|outage| outage.from_s >= 600.0), "{again:?}");
    assert!(again.iter().all(|outage| outage.root_cause.contains(told) == (outage.from_s >= 600.0)), "{again:?}");
}

#[test]
fn clients_are_told_of_faults_on_the_ways_that_they_have() {
    let kill = json!({"at": "5m", "for": "1m", "kind": "api_server_kill", "node": "c-control-plane-0"});
    let down = json!({"at": "5m", "for": "3m", "kind": "lb_down", "balancer": "api-int"});
    // The balancer alone, or none of it.
    let client = |name: &str, alternatives: &str| json!({"name": name, "nodes": ["w"], "rate": "1/s", "timeout": "5s", "start": "6m", "alternatives": alternatives});
    let link = json!({"at": "4m", "for": "8m", "kind": "link_partition", "between": ["w", "c-control-plane-1"]});
    let mut file =
        file(&json!({"zones": ["c"]}), "0s", json!([client("op", "none"), client("dns", "in_memory_dns")]), json!([link, down]));
    file["topology"]["nodes"] = json!([{"name": "w", "zone": "c"}]);
    let found = report_of(&file);
    for name in ["op", "dns"] {
        let row = found.access.iter().find(|row| row.clients == name).expect("it has one");
        let told = "it found no API server when it started (load balancer api-int went down)";
        assert!(!row.outages.is_empty() && row.outages.iter().all(|outage| outage.cause == told), "{:?}", row.outages);
    }
    let stays = report(&json!({"loopback": "stays_on_host"}), "0s", json!([]), json!([kill, down]));
    let hosts = stays.access.iter().find(|row| row.clients == "kubelets of control-plane hosts").expect("they run");
    assert!(!hosts.outages.is_empty() && hosts.outages.iter().all(|outage| !outage.cause.contains("went down")), "{hosts:?}");
}

#[test]
fn late_requests_of_an_api_are_none_of_its_load_balancers() {
    let mut faults: Vec<Value> = (0..3)
        .map(|k| json!({"at": "2m", "for": "90s", "kind": "disk_slow", "volume": format!("c/etcd-{k}"), "add": "900ms", "factor": 1}))
        .collect();
    faults.push(json!({"at": "1m", "for": "5m", "kind": "lb_throttled", "balancer": "api-int", "bandwidth": "1MB/s"}));
    let mut file = file(&json!({}), "0s", json!([]), json!(faults));
    file["duration"] = json!("6m");
    file["traffic"] = json!("requests");
    file["clusters"][0]["use"] = json!({"idle": false, "requests": [{"name": "writes", "verb": "update", "rate": "20/s"}]});
    let report = report_of(&file);
    let late: Vec<_> = report.api["c"].outages.iter().filter(|outage| outage.late).collect();
    assert!(!late.is_empty() && late.iter().all(|outage| !outage.root_cause.contains("api-int")), "{late:?}");
    assert!(report.verdict().contains("API writes were too slow for "), "{}", report.verdict());
}

#[test]
fn vantages_are_compared_by_whole_times_and_parts() {
    let cut = json!({"at": "2m", "for": "2m", "kind": "zone_partition", "zone": "a"});
    let stale = json!({"at": "8m", "for": "5m", "kind": "lb_stale_targets", "balancer": "api-int"});
    let dead = json!({"at": "8m", "for": "5m", "kind": "api_server_kill", "node": "c-control-plane-1"});
    let report = report(&json!({"zones": ["a", "b", "c"]}), "0s", json!([]), json!([cut, stale, dead]));
    let verdict = report.verdict();
    assert!(verdict.contains(" for clients outside a; inside it for 2 min, and a part failed for 5 min. "), "{verdict}");
}

#[test]
fn packets_from_outside_the_cluster_network_that_vanish_are_a_cause() {
    let outside = |name: &str, alternatives: &str| {
        json!({
            "name": name, "nodes": ["ci"], "rate": "1/s", "timeout": "32s", "start": "1m", "in_cluster_network": false,
            "alternatives": alternatives,
        })
    };
    let clients = json!([outside("text", "text"), outside("dns", "in_memory_dns"), outside("dialer", "custom_dialer")]);
    let stop = json!([{"at": "5m", "for": "10s", "kind": "lb_removed", "balancer": "api-int"}]);
    let mut file = file(&json!({}), "70s", clients, stop);
    file["topology"]["nodes"] = json!([{"name": "ci", "zone": "b"}]);
    file["clusters"][0]["api_access"]["alternatives"] = json!("text");
    let report = report_of(&file);
    let rows = [("text", "alternative services"), ("dns", "API servers"), ("dialer", "API servers")];
    for (clients, to) in rows {
        let row = report.access.iter().find(|row| row.clients == clients).unwrap();
        let found: Vec<&str> = row.outages.iter().map(|outage| &*outage.cause).collect();
        let vanish = format!("packets from outside the cluster network to {to} vanish");
        assert!(!found.is_empty() && found.iter().all(|cause| cause.contains(&vanish)), "{clients}: {found:?}");
    }
}

#[test]
fn responses_that_wait_for_the_bandwidth_of_a_load_balancer_are_a_cause() {
    let clients = json!([{"name": "op", "runs_on": "workers", "rate": "4/s", "timeout": "10s", "response": "100kB"}]);
    let report = report(&json!({"bandwidth": "1MB/s"}), "0s", clients, json!([]));
    let all = [causes(&report), api_causes(&report)];
    for found in all {
        let waits = "responses wait in the queue of load balancer api-int (1MB/s)";
        assert!(!found.is_empty() && found.iter().all(|cause| cause.contains(waits)), "{found:?}");
    }
}

#[test]
fn causes_name_faults_on_the_way_of_the_connection_alone() {
    // A link that no client of the load balancer uses.
    let link = json!({"at": "4m", "for": "8m", "kind": "link_partition", "between": ["c-control-plane-1", "c-control-plane-2"]});
    let down = json!({"at": "5m", "for": "5m", "kind": "lb_down", "balancer": "api-int"});
    let cut = report(&json!({}), "0s", json!([]), json!([link, down]));
    let silent: Vec<&str> = causes(&cut).into_iter().filter(|cause| cause.contains("fell silent")).collect();
    assert!(!silent.is_empty() && silent.iter().all(|cause| cause.ends_with("(load balancer api-int went down)")), "{silent:?}");
    // A load balancer has no part in errors of etcd.
    let stale = json!({"at": "4m", "for": "8m", "kind": "lb_stale_targets", "balancer": "api-int"});
    let etcd = |k: u8| json!({"at": "5m", "for": "1m", "kind": "process_kill", "member": format!("etcd-{k}")});
    let errors = report(&json!({}), "0s", json!([]), json!([stale, etcd(0), etcd(1)]));
    let found: Vec<&str> = causes(&errors).into_iter().filter(|cause| cause.starts_with("etcd does not answer")).collect();
    assert!(!found.is_empty() && found.iter().all(|cause| !cause.contains("does not update")), "{found:?}");
    // The same cause whatever the order of the faults.
    for kills in [[kill(0), kill(1), kill(2)], [kill(2), kill(1), kill(0)]] {
        let killed = report(&json!({}), "0s", json!([]), json!(kills));
        let lost: Vec<&str> = causes(&killed).into_iter().filter(|cause| cause.contains("ended")).collect();
        let is_own = |cause: &&str| (0..3).any(|k| cause.matches(&format!("c-control-plane-{k}")).count() == 2);
        assert!(!lost.is_empty() && lost.iter().all(is_own), "{lost:?}");
    }
}

#[test]
fn a_list_that_has_expired_is_a_cause() {
    let clients = json!([{"name": "rare", "runs_on": "workers", "rate": "1/min", "timeout": "10s"}]);
    let down = json!([{"at": "5m", "for": "10m", "kind": "lb_down", "balancer": "api-int"}]);
    let mut file = file(&json!({}), "30s", clients, down);
    file["clusters"][0]["api_access"]["alternatives"] = json!("text");
    let report = report_of(&file);
    let found = causes(&report);
    let expired = "(its list of alternative services had expired, load balancer api-int went down)";
    assert!(found.iter().any(|cause| cause.ends_with(expired)), "{found:?}");
    assert!(found.iter().all(|cause| !cause.contains("no fault under way")), "{found:?}");
}

#[test]
fn a_load_balancer_that_sends_hosts_to_themselves_is_a_cause_where_it_did() {
    let fails = json!({"loopback": "fails", "zones": ["a", "b", "c"]});
    let itself = "api-int sends hosts of the control plane to themselves, which fails";
    // There is nothing to dial.
    let removed = json!([{"at": "5m", "kind": "lb_removed", "balancer": "api-int"}]);
    let found = report(&fails, "0s", json!([]), removed);
    assert!(causes(&found).iter().all(|cause| !cause.contains(itself)), "{:?}", causes(&found));
    // A dial of one of three addresses takes 10 s.
    let killed = report(&fails, "0s", json!([]), json!([kill(1)]));
    let hosts = killed.access.iter().filter(|row| row.clients != "kubelets of workers").flat_map(|row| &row.outages);
    let long: Vec<_> = hosts.filter(|outage| outage.to_s - outage.from_s > 9.0).collect();
    assert!(!long.is_empty() && long.iter().all(|outage| outage.cause.contains(itself)), "{long:?}");
}

#[test]
fn connections_to_the_server_of_the_one_before_count() {
    let clients = json!([{"name": "op", "runs_on": "workers", "rate": "1/s", "timeout": "10s"}]);
    let mut file = file(&json!({}), "0s", clients, json!([]));
    file["clusters"][0]["api_access"]["goaway_chance"] = json!("2%");
    file["clusters"][0]["control_plane"] = json!({"replicas": 1});
    let report = report_of(&file);
    let row = report.access.iter().find(|row| row.clients == "op").unwrap();
    // 1,200 requests of each of 9 clients, of which 2 % close a connection: 216 expected.
    assert!((150..290).contains(&row.connections) && row.via_load_balancer == row.connections, "{row:?}");
}

/// The first connection of a resolver serves to read the endpoints, and that of a client of the document to learn of them.
#[test]
fn connections_that_clients_leave_at_once_count() {
    let client =
        |way: &str| json!({"name": way, "nodes": ["w"], "rate": "1/s", "timeout": "5s", "start": "6m", "alternatives": way});
    let mut file = file(&json!({}), "70s", json!(["in_memory_dns", "text", "code", "custom_dialer"].map(client)), json!([]));
    file["topology"]["nodes"] = json!([{"name": "w", "zone": "c"}]);
    file["clusters"][0]["api_access"]["alternatives"] = json!("text");
    let report = report_of(&file);
    let opened = |way: &str| {
        let row = report.access.iter().find(|row| row.clients == way).expect("it has one");
        (row.connections, row.via_load_balancer)
    };
    assert_eq!(["in_memory_dns", "text", "code", "custom_dialer"].map(opened), [(2, 1), (2, 1), (2, 1), (1, 1)]);
}

#[test]
fn a_goaway_by_chance_and_the_server_that_a_client_is_sent_to_then_are_causes() {
    let stale = json!({"at": "2m", "for": "16m", "kind": "lb_stale_targets", "balancer": "api-int"});
    let dead = json!({"at": "3m", "for": "14m", "kind": "api_server_kill", "node": "c-control-plane-1"});
    let mut file = file(&json!({}), "0s", json!([]), json!([stale, dead]));
    file["clusters"][0]["api_access"]["goaway_chance"] = json!("2%");
    let report = report_of(&file);
    let told = "ended (its server closed it by chance, with a GOAWAY, load balancer api-int does not update the health of its targets, \
                the API server on c-control-plane-1 was killed)";
    let later = report.access.iter().flat_map(|row| &row.outages).filter(|outage| outage.from_s > 180.0);
    let found: Vec<&str> = later.map(|outage| &*outage.cause).collect();
    assert!(!found.is_empty() && found.iter().all(|cause| cause.ends_with(told)), "{found:?}");
}

#[test]
fn a_load_balancer_that_has_new_targets_is_a_cause_until_it_has_found_them_healthy() {
    let removed = json!([{"at": "5m", "for": "30s", "kind": "lb_removed", "balancer": "api-int"}]);
    let slow = json!({"zones": ["a", "b", "c"], "check": {"interval": "30s", "first_rise": 3}});
    let report = report(&slow, "0s", json!([]), removed);
    let found = api_causes(&report);
    assert!(found.iter().any(|cause| cause.contains("load balancer api-int has not found API server")), "{found:?}");
    assert!(found.iter().all(|cause| !cause.contains("no active fault")), "{found:?}");
}

#[test]
fn what_happened_is_told_in_sentences() {
    let mut file = file(&json!({}), "0s", json!([]), json!([]));
    file["operations"] = json!([{"at": "5m", "remove_control_plane_node": {"cluster": "c", "node": "c-control-plane-0"}}]);
    let report = report_of(&file);
    let found = causes(&report);
    assert!(found.iter().all(|cause| !cause.contains("(remove ")), "{found:?}");
    let late = report_of(&self::file(
        &json!({"zones": ["a", "b", "c"], "check": {"interval": "30s", "first_rise": 3}}),
        "0s",
        json!([{"name": "op", "runs_on": "workers", "rate": "1/s", "timeout": "10s", "start": "340s"}]),
        json!([{"at": "5m", "for": "30s", "kind": "lb_removed", "balancer": "api-int"}]),
    ));
    let found = causes(&late);
    assert!(found.iter().any(|cause| cause.contains("10 s after load balancer api-int was created again")), "{found:?}");
}

#[test]
fn what_takes_the_connection_is_named_beside_what_etcd_does_whichever_comes_first_in_the_file() {
    let killed = json!({"at": "5m", "for": "1m", "kind": "process_kill", "member": "c/etcd/etcd-0"});
    let down = |at: &str| json!({"at": at, "for": "10m", "kind": "lb_down", "balancer": "api-int"});
    let causes = |faults: Value| {
        let report = report(&json!({}), "0s", json!([]), faults);
        causes(&report).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for faults in [json!([killed, down("5m")]), json!([down("5m"), killed])] {
        let silent = " fell silent (load balancer api-int went down)";
        let causes = causes(faults);
        let starts = |cause: &String| cause.starts_with("it found no API server when it started");
        assert!(causes.iter().filter(|cause| cause.ends_with(silent)).count() > 10, "{causes:?}");
        assert!(causes.iter().all(|cause| cause.ends_with(silent) || starts(cause)), "{causes:?}");
    }
    let later = causes(json!([killed, down("300500ms")]));
    let both =
        |cause: &&String| cause.contains("(etcd-0 was killed); then its connection to ") && cause.contains("api-int went down)");
    assert!(later.iter().any(|cause| both(&cause)), "{later:?}");
}

#[test]
fn requests_that_wait_for_their_rate_outlive_a_failed_connection() {
    let slow = json!([{"name": "q", "runs_on": "workers", "rate": "2/s", "qps": "12/min", "burst": 1, "requests": 60}]);
    let removed = json!([{"at": "1m", "for": "1m", "kind": "lb_removed", "balancer": "api-int"}]);
    let all = report(&json!({}), "0s", slow, removed);
    let requests = all.access.iter().find_map(|row| row.requests.as_ref()).expect("one of them is simulated");
    // One in 5 s: those of a minute, and of the dials after it, meet no balancer.
    let (each, lost) = (requests.answered + requests.connection_lost, requests.connection_lost);
    assert!(each == 9 * 60 && (9 * 12..9 * 17).contains(&lost), "{requests:?}");
    assert!(requests.done_s.is_some_and(|done| (290.0..310.0).contains(&done)), "{requests:?}");
}

#[test]
fn nodes_of_a_load_balancer_that_find_different_servers_unhealthy_are_told_apart() {
    let cut = json!({"at": "4m", "for": "6m", "kind": "link_partition", "between": ["a", "c"]});
    let report = report(&json!({"zones": ["a", "b"]}), "0s", json!([]), json!([cut, kill(0), kill(1)]));
    let found = api_causes(&report);
    let apart =
        "load balancer api-int finds API server c-control-plane-2 unhealthy in a and API server c-control-plane-0 unhealthy in b";
    assert!(found.iter().any(|cause| cause.contains(apart)), "{found:?}");
}

#[test]
fn the_end_of_a_throttle_while_another_goes_on_is_told_where_that_is_wider() {
    let clients = json!([{"name": "op", "runs_on": "workers", "rate": "4/s", "timeout": "10s", "response": "100kB"}]);
    let throttle = |at: &str, lasts: &str, to: &str| json!({"at": at, "for": lasts, "kind": "lb_throttled", "balancer": "api-int", "bandwidth": to});
    let both = json!([throttle("5m", "5m", "1MB/s"), throttle("4m", "15m", "20MB/s")]);
    let report = report_of(&file(&json!({"bandwidth": "50MB/s"}), "0s", clients.clone(), both));
    let found = api_causes(&report);
    let told = "load balancer api-int was throttled to 1MB/s; load balancer api-int still throttled to 20MB/s";
    assert!(found.iter().any(|cause| cause.starts_with(told)), "{found:?}");
    let eased = "load balancer api-int is throttled to 20MB/s, no longer to 1MB/s after ";
    assert!(found.iter().any(|cause| cause.contains(eased)), "{found:?}");
    assert!(found.iter().all(|cause| !cause.contains("no longer throttled")), "{found:?}");
    // One that ends while a tighter one goes on mends nothing.
    let both = json!([throttle("4m", "5m", "20MB/s"), throttle("4m", "10m", "1MB/s")]);
    let report = report_of(&file(&json!({"bandwidth": "50MB/s"}), "0s", clients, both));
    let found = api_causes(&report);
    assert!(found.iter().all(|cause| !cause.contains("no longer to ")), "{found:?}");
}

#[test]
fn a_load_balancer_cut_off_from_a_worker_is_no_cause_of_an_outage_of_the_api() {
    let cut = json!({"at": "5m", "for": "4m", "kind": "lb_partition", "balancer": "api-int", "from": ["c-p-z1-6b988-sn62n"]});
    let report = report(&json!({}), "0s", json!([]), json!([cut, kill(0), kill(1), kill(2)]));
    let found = api_causes(&report);
    assert!(found.iter().any(|cause| cause.starts_with("API servers on c-control-plane-0, ")), "{found:?}");
    assert!(found.iter().all(|cause| !cause.contains("cut off from")), "{found:?}");
}

#[test]
fn a_load_balancer_without_an_api_server_in_its_zones_is_a_cause() {
    let mut file = file(&json!({"profile": "aws_nlb"}), "0s", json!([]), json!([]));
    file["clusters"][0]["control_plane"] = json!({"zones": ["b", "c"]});
    let report = report_of(&file);
    let told = "api-int has no API server in its zones, and no `cross_zone`";
    for found in [causes(&report), api_causes(&report)] {
        assert!(!found.is_empty() && found.iter().all(|cause| cause.contains(told)), "{found:?}");
    }
}
