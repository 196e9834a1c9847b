//! Stale pods of control planes are removed 5 to 6 minutes after they began to terminate.

use proptest::prelude::*;

use super::world::{KUBE_CLUSTER, NAMESPACE, broken, crash, cut_zone, run, run_as, secs, with, workload, world};
use zonefall_core::ids::{NodeKey, ZoneId};
use zonefall_core::kube::record::PodFact;
use zonefall_core::kube::rule::labels::Symbol;
use zonefall_core::kube::spec::Workload;
use zonefall_core::sim::Stepping;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn stale_pods_go_at_the_next_sync(
        seed: u64, stale_s in 0..900u64, period_s in 5..200u64, gone in prop::collection::vec(0..6u32, 1..3), zone: bool,
    ) {
        let other = Workload { namespace: Symbol(98), ..workload("system", 1, 12) };
        let mut scenario = with(with(world(&[2, 2, 2]), workload("web", 0, 12)), other);
        let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
        cluster.control_plane_namespaces = vec![Symbol(97), NAMESPACE];
        (cluster.timers.stale, cluster.timers.care) = (secs(stale_s), secs(period_s));
        for (k, node) in (0..).zip(&gone) {
            let fault = if zone { cut_zone(ZoneId(*node as u16 / 2)) } else { crash(&scenario, NodeKey(*node)) };
            scenario = broken(scenario, 100 + 50 * k, None, fault);
        }
        scenario.duration = secs(100 + 600 + stale_s + 2 * period_s);
        let seen = run(&scenario, seed);
        prop_assert_eq!(&seen, &run_as(&scenario, seed, Stepping::FastForward, 5));
        let terminating = seen.pods(|fact| fact == PodFact::Terminating);
        prop_assert!(!terminating.is_empty());
        for (since, pod) in terminating {
            let removed = seen.of(pod).into_iter().find(|(_, fact)| *fact == PodFact::Removed);
            if pod.workload.0 == 1 {
                prop_assert_eq!(removed, None);
            } else if let Some((removed, _)) = removed {
                let after = removed.since(since);
                prop_assert!(after >= secs(stale_s) && after < secs(stale_s + period_s), "{after:?}");
            } else {
                prop_assert!(since + secs(stale_s + period_s) > zonefall_core::kernel::time::Time::ZERO + scenario.duration);
            }
        }
    }
}

/// As a seed runs: between 5 and 6 minutes, and not always the same.
#[test]
fn five_to_six_minutes() {
    let mut scenario = with(world(&[2, 2, 2]), workload("web", 0, 6));
    scenario.kube.clusters[KUBE_CLUSTER].control_plane_namespaces = vec![NAMESPACE];
    scenario = broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(0)));
    let after = |seed| {
        let seen = run(&scenario, seed);
        let pod = seen.of(seen.first_pods_on(NodeKey(0))[0]);
        let [.., (since, PodFact::Terminating), (removed, PodFact::Removed)] = pod[..] else { panic!("{pod:?}") };
        removed.since(since)
    };
    let waits: Vec<_> = (0..20).map(after).collect();
    assert!(waits.iter().all(|wait| *wait >= secs(300) && *wait < secs(360)), "{waits:?}");
    assert!(*waits.iter().max().unwrap() - *waits.iter().min().unwrap() > secs(30), "{waits:?}");
}
