//! When pods on nodes that vanished start to end: GEP-20, "Current Recovery Mechanisms" and "Option #1", in numbers.
//!
//! ```text
//!  T - a           T - a + m            + grace          + 1/rate per earlier node      + toleration
//!  last renewal -> a look sees it ----> Ready=Unknown --> NoExecute ------------------> terminating
//! ```

use proptest::prelude::*;

use super::world::{
    KUBE_CLUSTER, Seen, at, broken, crash, cut, cut_zone, latency, over, run, run_as, secs, with, workload, world,
};
use zonefall_core::ids::{NodeKey, WorkloadId, ZoneId};
use zonefall_core::kernel::rng::{Purpose, Stream};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::record::PodFact;
use zonefall_core::kube::rule::labels::Symbol;
use zonefall_core::kube::spec::{Timers, tolerates_unreachable};
use zonefall_core::scenario::{Fault, FaultTarget, Scenario, ZonePower};
use zonefall_core::sim::Stepping;

/// A time or duration in nanoseconds.
type Ns = u64;

fn phase(seed: u64, entity: u32, period: Ns) -> Ns {
    Stream::new(seed, Purpose::Phase, u64::from(KUBE_CLUSTER.0) << 32 | u64::from(entity)).draw(0).below(period)
}

/// When who evicts pods hears that a node is tainted `NoExecute` (from, to), by the formula: counted out in full, sharing no arithmetic
/// with the engine.
fn heard(nodes: &[u32], vanished: Ns, timers: &Timers, latency: Ns, seed: u64) -> Vec<(u32, Ns, Ns)> {
    let (renewal, period) = (timers.lease_renewal.as_nanos(), timers.monitor_period.as_nanos());
    let first_look =
        |from: Ns| (0..1 << 20).map(|k| phase(seed, u32::MAX, period) + k * period).find(|look| *look >= from).unwrap();
    let mut queue = Vec::new();
    for node in nodes {
        let renewals = (0..).map(|k| phase(seed, *node, renewal) + k * renewal);
        let last = renewals.take_while(|at| *at < vanished).last().expect("it has renewed before");
        let (a, seen) = (vanished - last, first_look(last + latency));
        let m = seen - last;
        assert!(a <= renewal && m <= period + latency);
        // The grace period is a multiple of the monitor's: T + grace - a + m is a look.
        queue.push((vanished + timers.monitor_grace.as_nanos() - a + m, *node));
    }
    queue.sort_unstable();
    // `NoSchedule` follows the condition one write later and its notification another one later. The controller then sees the node as it
    // is: a `NoExecute` of that node that came in between is noticed up to a write too early. Other nodes wait their own time.
    let batched = |at: Ns, unknown: Ns| unknown < at && at < unknown + 2 * latency;
    let mut token = 0;
    let heard = queue.iter().map(|(unknown, node)| {
        let at = token.max(*unknown);
        token = at + (1e9 / timers.disruption.rate).round() as u64;
        (*node, if batched(at, *unknown) { at } else { at + latency }, at + latency)
    });
    heard.collect()
}

/// Some of twelve nodes vanish, too few to disrupt their zone: their pods end when they are to. Those that end early.
fn check_eviction(mut scenario: Scenario, vanished: Duration, lost: u32, toleration: Duration, seed: u64) -> u32 {
    let mut early = 0;
    let nodes: Vec<u32> = (0..lost).map(|k| k * 2 + seed as u32 % 2).collect();
    for node in &nodes {
        scenario = broken(scenario.clone(), 0, None, crash(&scenario, NodeKey(*node)));
        scenario.faults.last_mut().unwrap().at = at(0) + vanished;
    }
    scenario.kube.clusters[KUBE_CLUSTER].workloads[WorkloadId(0)].tolerations = vec![tolerates_unreachable(toleration)];
    let (timers, latency) = (scenario.kube.clusters[KUBE_CLUSTER].timers, latency(&scenario, seed));
    scenario.duration = vanished + timers.monitor_grace + toleration + secs(400) + timers.monitor_period * 2;
    let seen = run(&scenario, seed);
    for (node, from, to) in heard(&nodes, vanished.as_nanos(), &timers, latency.as_nanos(), seed) {
        let pods = seen.first_pods_on(NodeKey(node));
        assert!(!pods.is_empty());
        let [from, to] = [from, to].map(|heard| at(0) + Duration::from_nanos(heard) + toleration);
        for pod in pods {
            let (terminating, _) = seen.of(pod).into_iter().find(|(_, fact)| *fact == PodFact::Terminating).expect("it ends");
            early += u32::from(terminating < to);
            assert!(
                from <= terminating && terminating <= to,
                "{pod:?} on node {node} under seed {seed}: {terminating:?}, {to:?}"
            );
        }
    }
    early
}

fn twelve() -> Scenario {
    let mut web = workload("web", 0, 32);
    web.prefers = vec![over(Symbol::HOSTNAME, 1, &web)];
    with(world(&[12, 2, 2]), web)
}

/// Tokens that come while notifications of other nodes' taints are on their way.
#[test]
fn taint_is_noticed_after_its_own_latency() {
    let mut early = 0;
    for seed in 0..8 {
        let mut scenario = twelve();
        let latency = latency(&scenario, seed);
        let timers = &mut scenario.kube.clusters[KUBE_CLUSTER].timers;
        timers.disruption.rate = 1e9 / (timers.monitor_period + latency + latency / 2).as_nanos() as f64;
        for toleration in [0, 5] {
            early += check_eviction(scenario.clone(), secs(30), 6, secs(toleration), seed);
        }
    }
    assert_eq!(early, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn eviction_follows_from_the_timers(
        seed: u64, vanished in 20_000..60_000u64, looks_of_grace in 1..40u64, period_ms in 1_000..30_000u64,
        toleration_s in 0..600u64, rate in 0.02..1.0f64, lost in 1..7u32,
    ) {
        let mut scenario = twelve();
        let timers = &mut scenario.kube.clusters[KUBE_CLUSTER].timers;
        timers.monitor_period = Duration::from_millis(period_ms);
        timers.monitor_grace = timers.monitor_period * (40_000 / period_ms + looks_of_grace);
        timers.disruption.rate = rate;
        check_eviction(scenario, Duration::from_millis(vanished), lost, secs(toleration_s), seed);
    }

    #[test]
    fn ticks_left_out_and_pauses_change_nothing(
        seed: u64, zones in prop::array::uniform3(1..4u32), pods in 1..12u32,
        faults in prop::collection::vec((20..900u64, 1..700u64, 0..5u8, 0..12u32), 1..6),
    ) {
        let mut scenario = with(with(world(&zones), workload("web", 0, pods)), workload("db", 1, 2));
        let nodes: u32 = zones.iter().sum();
        for (from, lasts, kind, which) in faults {
            let fault = match kind {
                0 => crash(&scenario, NodeKey(which % nodes)),
                1 => cut(&scenario, NodeKey(which % nodes)),
                2 => cut_zone(ZoneId(which as u16 % 4)),
                3 => Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(which as u16 % 4)))),
                _ => Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(which as u16 % 3)))),
            };
            scenario = broken(scenario, from, Some(lasts), fault);
        }
        scenario.duration = secs(2_400);
        let whole = run(&scenario, seed);
        prop_assert_eq!(whole, run_as(&scenario, seed, Stepping::FastForward, 7));
    }
}

fn first_terminating(seen: &Seen) -> Time {
    seen.pods(|fact| fact == PodFact::Terminating)[0].0
}

/// Seven minutes after the node has vanished, less up to 10 s (age of its lease), and up to 5 s more (until a look); as Kubernetes' code
/// has it, one look later.
#[test]
fn seven_minutes() {
    let scenario: Scenario = with(world(&[2, 2, 2]), workload("web", 0, 6));
    let mut scenario = broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(0)));
    scenario.duration = secs(600);
    let mut later = scenario.clone();
    later.kube.clusters[KUBE_CLUSTER].timers.requeue_at_next_check = true;
    let mut times = Vec::new();
    for seed in 0..40 {
        let terminating = first_terminating(&run(&scenario, seed));
        assert!(terminating > at(100 + 420 - 10) && terminating < at(100 + 420 + 6), "{terminating:?} under seed {seed}");
        assert_eq!(first_terminating(&run(&later, seed)), terminating + secs(5), "seed {seed}");
        times.push(terminating);
    }
    let spread = times.iter().max().unwrap().since(*times.iter().min().unwrap());
    assert!(spread > secs(8), "phases are drawn: {times:?}");
}
