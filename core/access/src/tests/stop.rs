//! What clients notice of an API server that is stopped gracefully.

use proptest::prelude::*;
use proptest::sample::select;

use crate::alt_svc::alternatives::Block;
use crate::balancer::detection::{HealthCheck, TargetChange};
use crate::balancer::health::Thresholds;
use crate::record::{AccessRecord, ConnectionState};
use crate::server::ServerView;
use crate::testing::{Bench, ID, scenario};
use crate::tests::target::{KEY, expect_detection};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::Duration;

/// A server refuses connections for so long before its process is gone.
const EXIT: Duration = Duration::from_secs(2);

impl Bench {
    fn with_delay(balancer: &str, alternatives: &str, delay: Duration, seed: u64, stepping: Stepping) -> Self {
        let mut scenario = scenario(balancer, alternatives);
        scenario.kube.clusters[ID].shutdown_delay = Some(delay);
        Self::new(scenario, seed, stepping)
    }

    fn server_changes(&mut self, key: u32, act: impl Fn(&mut ServerView)) {
        self.view.servers.iter_mut().filter(|server| server.key == key).for_each(act);
        self.update();
    }

    /// SIGTERM: `/readyz` fails.
    fn stop(&mut self, key: u32) {
        self.server_changes(key, |server| (server.readyz, server.stops) = (false, true));
    }

    /// Its shutdown delay is over.
    fn close(&mut self, key: u32) {
        self.server_changes(key, |server| server.listens = false);
    }

    /// It exits, is away for a time, and starts again.
    fn restart(&mut self, key: u32, away: Duration) {
        self.run(EXIT);
        self.view.servers.retain(|server| server.key != key);
        self.update();
        self.run(away);
        self.view.servers.push(Self::server(&self.scenario, key));
        self.update();
    }

    /// Clients that have met a closed port at one of their alternatives.
    fn blocks(&self) -> usize {
        let blocks = |id| self.access.alternatives(id).any(|(_, block)| block != Block::Free);
        self.clients().filter(|(id, _)| blocks(*id)).count()
    }

    /// Whether some client had no open connection, even for an instant.
    fn was_any_apart(&self) -> bool {
        let open = |state| matches!(state, ConnectionState::Open { .. });
        self.records.iter().any(|(_, record)| matches!(record, AccessRecord::Client { state, .. } if !open(*state)))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Servers list what they have read within 6/7 of the shutdown delay, and one that stops lists the others at once: its clients leave
    /// while it still serves, also where one other is left.
    #[test]
    fn clients_of_the_document_meet_no_closed_port_in_a_rolling_restart(
        (delay, away) in (1_000_u64..180_000, 0_u64..200_000),
        pauses in proptest::collection::vec(0_u64..100_000, 3),
        order in Just(vec![0_u32, 1, 2]).prop_shuffle(),
        servers in 2_usize..4,
        seed in 0_u64..1_000,
        check in select(vec!["tcp", "readyz"]),
        stepping in select(vec![Stepping::EveryEvent, Stepping::FastForward]),
    ) {
        let (delay, away) = (Duration::from_millis(delay), Duration::from_millis(away));
        let mut bench = Bench::with_delay(&format!(r#", "check": {{"kind": "{check}"}}"#), r#""text""#, delay, seed, stepping);
        bench.view.servers.retain(|server| order[..servers].contains(&server.key));
        bench.update();
        // The first lists are those of the start.
        bench.run(Duration::from_secs(120));
        let before = bench.blocks();
        for (key, pause) in order.into_iter().take(servers).zip(pauses) {
            bench.run(Duration::from_millis(pause));
            bench.records.clear();
            bench.stop(key);
            prop_assert!(!bench.access.endpoints().contains(&key));
            bench.run(delay);
            for (id, client) in bench.clients() {
                let state = client.connection_state();
                prop_assert!(
                    matches!(state, ConnectionState::Open { server, through: false } if server != key),
                    "{:?} stays with server {}: {:?}", id, key, state
                );
            }
            bench.close(key);
            bench.restart(key, away);
            prop_assert_eq!((bench.blocks(), bench.was_any_apart()), (before, false));
        }
    }

    /// Before the port closes nothing changes for a check that opens a TCP connection, and for one of `/readyz` the server fails at once.
    #[test]
    fn nodes_notice_an_orderly_stop_when_arithmetic_says_so(
        (interval, timeout) in (2_u64..31).prop_flat_map(|interval| (Just(interval), 1..interval)),
        (rise, fall) in (1_u32..5, 1_u32..5),
        (seed, after) in (0_u64..1_000, 1_u64..100_000_000_000),
        tcp in any::<bool>(),
        stepping in select(vec![Stepping::EveryEvent, Stepping::FastForward]),
    ) {
        let kind = if tcp { "tcp" } else { "readyz" };
        let fields = format!(
            r#", "check": {{"kind": "{kind}", "interval": "{interval}s", "timeout": "{timeout}s", "rise": {rise}, "fall": {fall}}}"#
        );
        let delay = Duration::from_secs(70);
        let mut bench = Bench::with_delay(&fields, "null", delay, seed, stepping);
        bench.run(Duration::from_nanos(after));
        let check = HealthCheck {
            interval: Duration::from_secs(interval),
            timeout: Duration::from_secs(timeout),
            thresholds: Thresholds { rise, fall, first_rise: 1 },
        };
        if tcp {
            let before = bench.records.len();
            bench.stop(KEY);
            bench.run(delay);
            prop_assert_eq!(&bench.records[before..], &[]);
            expect_detection(&mut bench, check, TargetChange::Refuses, |bench| bench.close(KEY));
        } else {
            expect_detection(&mut bench, check, TargetChange::Refuses, |bench| bench.stop(KEY));
        }
    }
}

/// Clients that are still connected to a server when it closes, after this shutdown delay, in some runs. They lose no time.
fn stay_until_it_closes(alternatives: &str, delay: u64) -> usize {
    let runs = (0..20).map(|seed| {
        let delay = Duration::from_secs(delay);
        let mut bench = Bench::with_delay("", alternatives, delay, seed, Stepping::FastForward);
        bench.run(Duration::from_secs(100));
        bench.stop(KEY);
        bench.run(delay);
        let is_there = |state| matches!(state, ConnectionState::Open { server: KEY, .. });
        let stay = bench.clients().filter(|(_, client)| is_there(client.connection_state())).count();
        bench.close(KEY);
        assert!(!bench.was_any_apart(), "{alternatives}, {delay:?}");
        stay
    });
    runs.sum()
}

#[test]
fn clients_of_the_document_leave_before_the_port_closes_and_those_of_the_prototype_stay() {
    for delay in [1, 10, 40, 61] {
        assert_eq!(stay_until_it_closes(r#""text""#, delay), 0, "{delay} s");
    }
    // The prototype stays with the address that answered last, listed or not.
    assert!(stay_until_it_closes(r#""code""#, 120) > 0);
}

#[test]
fn clients_of_a_server_without_a_shutdown_delay_find_another_once_it_has_gone() {
    let mut bench = Bench::with_delay("", r#""text""#, Duration::ZERO, 1, Stepping::FastForward);
    bench.run(Duration::from_secs(100));
    bench.stop(KEY);
    bench.close(KEY);
    bench.restart(KEY, Duration::from_secs(10));
    bench.run(Duration::from_secs(60));
    assert!(bench.clients().all(|(_, client)| matches!(client.connection_state(), ConnectionState::Open { .. })));
}

#[test]
fn server_that_stops_leaves_the_endpoints_at_once_by_either_rules() {
    for rules in [r#""text""#, r#""code""#] {
        let mut bench = Bench::with_delay("", rules, Duration::from_secs(70), 1, Stepping::FastForward);
        bench.run(Duration::from_secs(100));
        bench.stop(KEY);
        assert_eq!(bench.access.endpoints(), [0, 2], "{rules}");
    }
}

#[test]
fn process_that_starts_at_the_instant_in_which_another_exits_is_a_new_one() {
    let mut bench = Bench::with_delay("", r#""code""#, Duration::from_secs(70), 1, Stepping::FastForward);
    bench.run(Duration::from_secs(100));
    bench.stop(KEY);
    let old = bench.access.server(KEY).expect("it drains").process;
    bench.server_changes(KEY, |server| (server.readyz, server.stops) = (true, false));
    let new = bench.access.server(KEY).expect("it runs").process;
    assert_ne!(old, new);
    assert_eq!(bench.access.endpoints(), [0, 1, 2]);
}

#[test]
fn server_of_the_document_lists_nothing_that_it_could_not_read_in_time() {
    for (rules, lists) in [(r#""text""#, false), (r#""code""#, true)] {
        let mut bench = Bench::with_delay("", rules, Duration::from_secs(70), 1, Stepping::FastForward);
        bench.run(Duration::from_secs(100));
        let there = |bench: &Bench| bench.clients().filter(|(_, client)| client.is_at_alternative()).count();
        assert!(there(&bench) > 0, "{rules}");
        // etcd answers none of them for long.
        for key in 0..3 {
            bench.server_changes(key, |server| server.answers = false);
        }
        bench.run(Duration::from_secs(59));
        assert!(bench.clients().any(|(_, client)| client.is_at_alternative()), "{rules}: lists are in use for a while");
        bench.run(Duration::from_secs(60 + 70));
        let server = |bench: &Bench| bench.access.server(KEY).is_some_and(|server| !server.list().is_empty());
        assert_eq!((server(&bench), there(&bench) > 0), (lists, lists), "{rules}");
        for key in 0..3 {
            bench.server_changes(key, |server| server.answers = true);
        }
        assert!(server(&bench), "{rules}: it reads them as soon as it can");
    }
}
