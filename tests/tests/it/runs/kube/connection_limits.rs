//! Load balancers with a connection limit: who is left out after all clients have lost their connections, for how long, and what is told.

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::report::{AccessReport, ClientOutageReport, Report};
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Stepping};

/// The most time from the moment at which a load balancer answers again to the next SYN of a client that dials it: the last SYN of a dial is
/// sent 15 s after its start, the dial fails 15 s later, and the back-off after that is 7 s at most.
const NEXT_SYN_S: f64 = 22.1;

/// A cluster behind one load balancer, and the program `app`, with a process on each of twelve nodes, behind another, `edge`, of this profile
/// and with this limit. A job there makes 100 requests, 1/s. `edge` is down from 5 to 7 min.
fn file(profile: &str, limit: u32) -> Value {
    json!({
        "name": "limits", "duration": "20m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "load_balancers": [
            {"name": "api-int", "profile": "haproxy"},
            {"name": "edge", "profile": profile, "zones": ["a"], "cross_zone": true, "loopback": "works", "connection_limit": limit},
        ],
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"], "api_access": {"load_balancer": "api-int"},
            "pools": [{"name": "p", "minimum": 9, "maximum": 9}],
            "api_clients": [
                {"name": "job", "nodes": ["c-control-plane-0"], "load_balancer": "edge", "rate": "1/s", "requests": 100},
                {"name": "app", "load_balancer": "edge", "rate": "1/s", "timeout": "20s"},
            ],
        }],
        "faults": [{"at": "5m", "for": "2m", "kind": "lb_down", "balancer": "edge"}],
    })
}

/// The report, which both ways of stepping agree on.
fn report_of(file: &Value) -> Report {
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let [fast, full] = [Stepping::FastForward, Stepping::EveryEvent].map(|stepping| {
        let options = Options { stepping, ..Options::default() };
        Report { events: 0, ..run::run_checked(&scenario, 1, options, &mut |_, _| {}) }
    });
    assert_eq!(fast.violations, []);
    assert_eq!(fast, full);
    fast
}

fn row<'a>(report: &'a Report, clients: &str) -> &'a AccessReport {
    report.access.iter().find(|row| row.clients == clients).expect("they run")
}

#[test]
fn clients_beyond_the_limit_are_left_out_after_a_reconnect_storm() {
    // Of the job and twelve processes nine are accepted; after the job is done, nine of twelve.
    let (limit, processes) = (9, 12);
    for profile in ["haproxy", "azure_standard"] {
        let report = report_of(&file(profile, limit));
        let done =
            row(&report, "job").requests.as_ref().and_then(|requests| requests.done_s).expect("100 requests are soon over");
        assert!(done < 150.0, "{done}");
        let app = row(&report, "app");
        assert_eq!(app.count, processes);
        let told = "load balancer edge accepts no further connections (its limit is 9)";
        // From the start four find no place. The job's goes to the one that waits, or to the first that dials again.
        let from_start: Vec<_> = app.outages.iter().filter(|outage| outage.from_s == 0.0).collect();
        assert_eq!(from_start.len(), 4, "{profile}: {from_start:?}");
        let expected = format!("it found no API server when it started ({told})");
        assert!(from_start.iter().all(|outage| outage.cause.starts_with(&expected)), "{profile}: {from_start:?}");
        let place_of_job = from_start.iter().filter(|outage| outage.to_s < 300.0).map(|outage| outage.to_s - done);
        let waited: Vec<f64> = place_of_job.collect();
        assert!(waited.len() == 1 && (0.0..=NEXT_SYN_S).contains(&waited[0]), "{profile}: {waited:?}");
        // After the load balancer is up again nine get a place with their next SYN, and three none until the end.
        let at_end: Vec<_> = app.outages.iter().filter(|outage| !outage.completed).collect();
        assert_eq!(at_end.len() as u64, processes - u64::from(limit), "{profile}: {at_end:?}");
        assert!(at_end.iter().all(|outage| outage.cause.contains(told)), "{profile}: {at_end:?}");
        let back: Vec<&ClientOutageReport> =
            app.outages.iter().filter(|outage| outage.completed && outage.to_s > 300.0).collect();
        assert_eq!(back.len() as u32, limit, "{profile}: {back:?}");
        assert!(back.iter().all(|outage| (420.0..=420.0 + NEXT_SYN_S).contains(&outage.to_s)), "{profile}: {back:?}");
        assert_eq!(app.per_server.iter().map(|(_, count)| count).sum::<u64>(), u64::from(limit), "{profile}");
        let requests = app.requests.as_ref().expect("they are simulated");
        assert!(requests.timed_out + requests.connection_lost > 2_000, "{profile}: {requests:?}");
    }
    // With a place for each, nobody waits for longer than for the load balancer.
    let report = report_of(&file("haproxy", 13));
    let app = row(&report, "app");
    assert!(app.outages.iter().all(|outage| outage.from_s >= 300.0 && outage.completed), "{:?}", app.outages);
    assert!(app.outages.iter().all(|outage| !outage.cause.contains("limit")), "{:?}", app.outages);
}

#[test]
fn api_whose_load_balancer_has_no_place_for_new_clients_is_unavailable_to_them() {
    let limited = |limit: Option<u64>| {
        let mut file = file("haproxy", 100);
        (file["faults"], file["clusters"][0]["api_clients"]) = (json!([]), json!([]));
        file["load_balancers"] = json!([{"name": "api-int", "profile": "haproxy", "zones": ["a"]}]);
        if let Some(limit) = limit {
            file["load_balancers"][0]["connection_limit"] = json!(limit);
        }
        report_of(&file)
    };
    let without = limited(None);
    assert!(without.api["c"].outages.is_empty(), "{:?}", without.api["c"].outages);
    let clients: u64 = without.access.iter().map(|row| row.count).sum();
    let one_more = limited(Some(clients + 1));
    assert!(one_more.api["c"].outages.is_empty(), "{:?}", one_more.api["c"].outages);
    let full = limited(Some(clients));
    assert!(full.access.iter().all(|row| row.affected == 0), "each of its own clients has a place: {:?}", full.access);
    let told =
        format!("load balancer api-int accepts no further connections (its limit is {clients}); ongoing at the end of the run");
    let outages = &full.api["c"].outages;
    assert_eq!(outages.iter().map(|outage| &*outage.verb).collect::<Vec<_>>(), ["read", "write"]);
    assert!(
        outages.iter().all(|outage| outage.root_cause == told && (outage.from_s, outage.to_s) == (0.0, 1_200.0)),
        "{outages:?}"
    );
}
