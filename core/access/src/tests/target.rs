//! When the nodes of a balancer notice that a target has changed.

use proptest::prelude::*;
use proptest::sample::select;

use crate::balancer::detection::{HealthCheck, TargetChange};
use crate::balancer::health::{Health, Thresholds};
use crate::record::AccessRecord;
use crate::testing::{Bench, scenario};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::Direction;
use zonefall_scenario::ids::BalancerId;

/// The target that changes.
pub(super) const KEY: u32 = 1;

/// Changes the target, and expects that each node of the balancer notices when arithmetic says so.
pub(super) fn expect_detection(bench: &mut Bench, check: HealthCheck, change: TargetChange, act: impl FnOnce(&mut Bench)) {
    let now = bench.now;
    let balancer = &bench.access.balancers()[0];
    let phases: Vec<(u16, Time)> = balancer.nodes().map(|node| (node, balancer.next_check(node, KEY, now))).collect();
    let before = bench.records.len();
    act(bench);
    bench.update();
    bench.run(check.interval * 10);
    let health = if change == TargetChange::Answers { Health::Healthy } else { Health::Unhealthy };
    let mut expected: Vec<(Time, AccessRecord)> = Vec::new();
    for (node, next) in phases {
        expected.push((
            now + check.detection_time(next.since(now), change),
            AccessRecord::Target { balancer: BalancerId(0), node, target: KEY, health },
        ));
    }
    expected.sort_by_key(|(at, _)| *at);
    let mut found = bench.records[before..].to_vec();
    found.retain(|(_, record)| matches!(record, AccessRecord::Target { .. }));
    assert_eq!(found, expected, "{change:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nodes_notice_a_change_when_arithmetic_says_so(
        (interval, timeout) in (2_u64..31).prop_flat_map(|interval| (Just(interval), 1..interval)),
        (rise, fall) in (1_u32..5, 1_u32..5),
        (seed, after) in (0_u64..1_000, 1_u64..100_000_000_000),
        silent in any::<bool>(),
        stepping in select(vec![Stepping::EveryEvent, Stepping::FastForward]),
    ) {
        let check = format!(
            r#", "check": {{"interval": "{interval}s", "timeout": "{timeout}s", "rise": {rise}, "fall": {fall}}}"#
        );
        let mut bench = Bench::new(scenario(&check, "null"), seed, stepping);
        bench.run(Duration::from_nanos(after));
        let check = HealthCheck {
            interval: Duration::from_secs(interval),
            timeout: Duration::from_secs(timeout),
            thresholds: Thresholds { rise, fall, first_rise: 1 },
        };
        let server = Bench::server(&bench.scenario, KEY);
        let cut = |cut| move |bench: &mut Bench| bench.net.partition_host(server.host, Direction::Both, cut);
        if silent {
            expect_detection(&mut bench, check, TargetChange::FallsSilent, cut(true));
            expect_detection(&mut bench, check, TargetChange::Answers, cut(false));
        } else {
            expect_detection(&mut bench, check, TargetChange::Refuses, |bench| bench.view.servers.retain(|one| one.key != KEY));
            expect_detection(&mut bench, check, TargetChange::Answers, |bench| bench.view.servers.push(server));
        }
    }
}
