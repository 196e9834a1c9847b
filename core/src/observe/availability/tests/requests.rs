//! What requests to etcd tell of its availability.

use super::*;
use crate::ids::KubeClusterId;
use crate::scenario::{ApiServerClient, Scenario};

/// A request of a client in the first zone: when it was made and when it ended, in ms.
pub(super) fn asked(from: u64, to: u64, result: RequestResult) -> (u64, Record) {
    let (op, latency) = (Op::Put { key_bytes: 8, value_bytes: 8 }, Duration::from_millis(to - from));
    let (client, from, member) = (ClientId(0), ZoneId(0), member(0));
    (
        to,
        Record::Client(ClientRecord::Request {
            client,
            from,
            op,
            member,
            latency,
            waited: Duration::ZERO,
            expected: None,
            result,
        }),
    )
}

/// What a stream of requests tells of writes, at minute ten: in all, and each outage, its part and its length.
pub(super) fn writes(target: Target, records: &[(u64, Record)]) -> (f64, Vec<(f64, String, String)>) {
    let mut scenario = three_zones();
    scenario.clients.push(client("writer", target));
    let mut availability = Availability::new(&Arc::new(scenario));
    for (ms, record) in records {
        availability.record(at(*ms), record);
    }
    let outages = availability.outages(CLUSTER, at(600_000));
    let rows = outages.iter().map(|o| (o.from_s, o.length(), o.root_cause.clone()));
    (availability.unavailable_s(CLUSTER, Service::Write, at(600_000)), rows.collect())
}

#[test]
fn late_requests_are_an_outage_until_the_next_is_in_time() {
    const OK: RequestResult = RequestResult::Ok;
    let late = [
        fault(0, 60_000, slow(0, 1_500)),
        asked(60_000, 60_900, OK),
        // They end in another order than they were made in.
        asked(63_000, 63_500, OK),
        asked(61_000, 64_000, OK),
        asked(62_000, 67_000, RequestResult::TimedOut),
        asked(66_000, 66_100, RequestResult::Failed),
        asked(90_000, 90_100, OK),
    ];
    let cause = "disk of etcd-main-0 became slow";
    let (unavailable_s, rows) = writes(Target::All, &late);
    assert!((unavailable_s - 3.0).abs() < 1e-9, "{unavailable_s}");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0].0, &*rows[0].1), (61.0, "3 s of 6 s"));
    assert!(rows[0].2.contains(cause), "{rows:?}");
    // Who asks one member alone says nothing of the others.
    assert_eq!(writes(Target::Member(0), &late), (0.0, vec![]));
}

#[test]
fn requests_made_at_one_moment_share_the_time_until_the_next() {
    const OK: RequestResult = RequestResult::Ok;
    // In whatever order they end.
    for late_ends in [64_000, 67_000] {
        let together = [
            asked(60_000, 60_100, OK),
            asked(62_000, late_ends, RequestResult::TimedOut),
            asked(62_000, 66_500, OK),
            asked(62_000, 62_100, OK),
            asked(62_000, 62_200, OK),
            asked(66_000, 66_100, OK),
        ];
        // It lasts until the next is made; two of four were late, by the deadline of a second.
        let unavailable_s = writes(Target::All, &together).0;
        assert!((unavailable_s - 2.0).abs() < 1e-9, "{unavailable_s}");
    }
}

/// An API server asks the member of its connection; others may ask another.
#[test]
fn an_answer_of_a_follower_to_an_api_server_says_nothing_of_etcd() {
    let unavailable = |leader: u8| {
        let mut scenario = three_zones();
        let part = ApiServerClient { cluster: KubeClusterId(0), server: 0, requests: None, limit: None, while_disturbed: true };
        scenario.clients.push(Client { server: Some(part), ..client("a part of a server", Target::All) });
        let mut availability = Availability::new(&Arc::new(scenario));
        let elected = Record::Etcd(EtcdRecord::Elected { member: member(leader), term: 1 });
        for (ms, record) in [(0, elected), asked(60_000, 65_000, RequestResult::Ok), asked(70_000, 70_100, RequestResult::Ok)] {
            availability.record(at(ms), &record);
        }
        availability.unavailable_s(CLUSTER, Service::Write, at(600_000))
    };
    assert!((unavailable(0) - 5.0).abs() < 1e-9);
    assert!(unavailable(1) < 1e-9);
}

/// The leader may be too busy for those who ask it alone; those who ask any member are better witnesses of what that costs others.
#[test]
fn requests_to_the_leader_tell_of_the_cluster_where_nobody_asks_all_members() {
    let late = [asked(60_000, 67_000, RequestResult::TimedOut), asked(70_000, 70_100, RequestResult::Ok)];
    assert!((writes(Target::Leader, &late).0 - 7.0).abs() < 1e-9);
    let witnessed = |witness: Client| {
        let mut scenario = three_zones();
        scenario.clients.extend([client("writer", Target::Leader), witness]);
        scenario.clients[ClientId(0)].op = Op::Put { key_bytes: 8, value_bytes: 8 };
        let mut availability = Availability::new(&Arc::new(scenario));
        for (ms, record) in &late {
            availability.record(at(*ms), record);
        }
        availability.unavailable_s(CLUSTER, Service::Write, at(600_000)) < 1e-9
    };
    let witness = Client { op: Op::Put { key_bytes: 8, value_bytes: 8 }, ..client("witness", Target::All) };
    assert!(witnessed(witness.clone()));
    assert!(!witnessed(Client { op: Op::Watch, ..witness.clone() }), "it asks for something else");
    assert!(!witnessed(Client { stop: at(60_000), ..witness.clone() }), "it asks no more");
    assert!(!witnessed(Client { zone: ZoneId(1), ..witness.clone() }), "it is elsewhere");
    assert!(!witnessed(Client { target: Target::Member(0), ..witness }), "it asks one member");
}

#[test]
fn requests_made_right_before_an_interruption_or_in_it_tell_nothing_new() {
    let records = [
        asked(59_500, 64_500, RequestResult::TimedOut),
        service(60_000, Service::Write, false),
        asked(60_500, 60_600, RequestResult::Failed),
        service(61_000, Service::Write, true),
        asked(61_500, 61_600, RequestResult::Ok),
    ];
    let (unavailable_s, rows) = writes(Target::All, &records);
    assert_eq!((unavailable_s, rows.len()), (1.0, 1), "{rows:?}");
}

#[test]
fn late_requests_tell_nothing_of_the_time_after_the_report() {
    let (unavailable_s, rows) = writes(Target::All, &[asked(599_800, 599_900, RequestResult::TimedOut)]);
    assert!((unavailable_s - 0.2).abs() < 1e-9, "{unavailable_s}");
    assert_eq!(&*rows[0].1, "200 ms");
}

#[test]
fn an_outage_keeps_its_cause_when_nobody_asks_any_more() {
    let asks = (50..60).map(|s| asked(s * 1_000, s * 1_000 + 4_000, RequestResult::Ok));
    let later = [over(70_000, 0), service(400_000, Service::Quorum, false), service(400_001, Service::Quorum, true)];
    let records: Vec<_> = [fault(0, 50_000, slow(0, 1_500))].into_iter().chain(asks).chain(later).collect();
    let (_, rows) = writes(Target::All, &records);
    let late: Vec<_> = rows.iter().filter(|(from_s, ..)| *from_s < 400.0).collect();
    assert!(matches!(late[..], [(_, _, cause)] if cause.starts_with("disk of etcd-main-0 became slow")), "{rows:?}");
}

/// A leader that should have answered (it is reached, and nothing the state knows of keeps it) tells of the cluster, whether its answer is
/// late or never comes. What ends with its API server says nothing, unless it was late by then.
#[test]
fn a_request_of_an_api_server_that_times_out_at_the_leader_counts_like_a_late_one() {
    let file = serde_json::json!({
        "name": "seed", "duration": "10m",
        "topology": {"regions": [{"name": "r", "zones": ["za"]}]},
        "seeds": [{"name": "seed", "zones": ["za"], "pools": [{"name": "cpu", "minimum": 6, "maximum": 6}]}],
        "shoots": [{"name": "s"}],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let etcd = |part: ApiServerClient| scenario.kube.clusters[part.cluster].etcd;
    let servers = scenario.clients.iter_enumerated().filter_map(|(id, client)| Some((id, etcd(client.server?))));
    let (server, cluster) = servers.min().expect("its API server is a client of etcd");
    let leader = MemberId { cluster, index: 0 };
    let unavailable = |as_expected: bool, ended: RequestResult, after_ms: u64| {
        let mut availability = Availability::new(&scenario);
        let elected = Record::Etcd(EtcdRecord::Elected { member: leader, term: 1 });
        let first = asked(60_000, 60_000 + after_ms, ended);
        for (ms, mut record) in [(0, elected), first, asked(70_000, 70_100, RequestResult::Ok)] {
            if let Record::Client(ClientRecord::Request { client, member, expected, .. }) = &mut record {
                (*client, *member, *expected) = (server, leader, Some(if as_expected { Duration::ZERO } else { Duration::MAX }));
            }
            availability.record(at(ms), &record);
        }
        availability.unavailable_s(cluster, Service::Write, at(600_000))
    };
    for ended in [RequestResult::Ok, RequestResult::TimedOut, RequestResult::Lost] {
        assert!((unavailable(true, ended, 5_000) - 5.0).abs() < 1e-9, "{ended:?}");
        // It rewrites its database, or no packet reaches it: another might have been asked.
        assert!(unavailable(false, ended, 5_000) < 1e-9, "{ended:?}");
    }
    assert!(unavailable(true, RequestResult::Failed, 900) > 0.0);
    assert!(unavailable(true, RequestResult::Lost, 900) < 1e-9);
}
