//! Whole servers: levels that lend seats, requests that wait too long, and what holds for any requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use crate::rule::fairness::demand::DemandMeter;
use crate::rule::fairness::schema::{Flow, RequestDigest, Target};
use crate::rule::fairness::server::{Arrival, Changes, Fairness, Rejection, wait_limit};
use crate::rule::fairness::work::Work;
use crate::rule::fairness::{Admission, Reason, RequestId};
use crate::spec::fairness::bootstrap::{self, Release};
use crate::spec::fairness::{Excess, FlowControl, LevelId, PriorityLevel, Queuing, SchemaId};
use zonefall_kernel::time::{Duration, Time};

const fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn level(name: &str, lendable_percent: u32, borrowing_limit_percent: Option<u32>, queuing: Queuing) -> PriorityLevel {
    PriorityLevel {
        name: name.to_owned(),
        shares: 100,
        lendable_percent,
        borrowing_limit_percent,
        excess: Excess::Waits(queuing),
    }
}

fn arrival(id: u64, level: usize, hash: u64, wait: Duration) -> Arrival {
    let flow = Flow { schema: SchemaId(0), level: LevelId::from(level), hash };
    Arrival { id: RequestId(id), flow, work: Work::ONE_SEAT, wait_limit: wait }
}

/// Both rows of apiserver `borrowing_test.go` (`TestBorrowing`): 24 and 6 clients that make requests of 250 ms without a pause, at levels
/// of 12 seats each. After 10 s, for 15 s, the first has 16 seats, because the second may lend no more, or the first may borrow no more.
#[test]
fn busy_level_borrows_what_an_idle_one_may_lend() {
    const SERVICE_MS: u64 = 250;
    for (name, constraints) in [("lendable-limited", [(50, 67), (33, 50)]), ("borrowing-limited", [(50, 33), (67, 50)])] {
        let queuing = Queuing { queues: 10, hand_size: 2, queue_length_limit: 10 };
        let levels = constraints.map(|(lendable, borrowing)| level(&format!("{lendable}"), lendable, Some(borrowing), queuing));
        let flow_control = FlowControl::new(levels.to_vec(), Vec::new()).expect("it is valid");
        let mut server = Fairness::new(Arc::new(flow_control), 24, at(0));
        assert_eq!([0, 1].map(|level| server.limits(LevelId(level)).nominal), [12, 12]);
        let mut seats = [DemandMeter::new(at(0)), DemandMeter::new(at(0))];
        let mut executing = [0; 2];
        // The level of a request is the last digit of its number.
        let mut arrivals: Vec<RequestId> =
            (0..24).map(|k| RequestId(10 * k)).chain((24..30).map(|k| RequestId(10 * k + 1))).collect();
        let (mut finishes, mut now, mut ids) = (BTreeSet::new(), at(0), 30);
        for end in [at(10_000), at(25_000)] {
            while now <= end {
                let mut changes = Changes::default();
                for id in std::mem::take(&mut arrivals) {
                    let of_level = (id.0 % 10) as usize;
                    let admission =
                        server.arrive(&arrival(id.0, of_level, of_level as u64, Duration::from_secs(50)), now, &mut changes);
                    assert!(!matches!(admission, Admission::Rejected(_)), "{name}");
                    changes.started.extend((admission == Admission::Executes).then_some(id));
                }
                server.advance(now, &mut changes);
                while let Some((finish, id)) = finishes.first().copied().filter(|(finish, _)| *finish == now) {
                    finishes.remove(&(finish, id));
                    server.finish(id, now, &mut changes);
                    executing[(id.0 % 10) as usize] -= 1;
                    arrivals.push(RequestId(10 * ids + id.0 % 10));
                    ids += 1;
                }
                for id in changes.started {
                    finishes.insert((now + Duration::from_millis(SERVICE_MS), id));
                    executing[(id.0 % 10) as usize] += 1;
                }
                (0..2).for_each(|level| seats[level].set(executing[level], now));
                if arrivals.is_empty() {
                    now = finishes.first().map_or(Time::MAX, |(finish, _)| *finish).min(server.next_due());
                }
            }
            let averages = [0, 1].map(|level| seats[level].reset(now).average);
            let is_expected = (15.5..=16.1).contains(&averages[0]) && (5.5..=6.1).contains(&averages[1]);
            assert!(end < at(20_000) || is_expected, "{name}: {averages:?}");
        }
    }
}

/// Rows of apiserver `server/filters/priority-and-fairness_test.go` (`TestGetRequestWaitContext`), from the arrival on.
#[test]
fn request_waits_for_a_quarter_of_its_time() {
    let secs = Duration::from_secs;
    for (time_limit, request_timeout, expected) in [
        (Some(secs(60)), secs(60), secs(15)),
        (None, secs(60), secs(15)),
        (Some(secs(8 * 60)), secs(60), secs(60)),
        (None, secs(8 * 60), secs(60)),
        (Some(secs(2)), secs(60), Duration::from_millis(500)),
    ] {
        assert_eq!(wait_limit(time_limit, request_timeout), expected, "{time_limit:?}, {request_timeout}");
    }
}

#[test]
fn request_is_rejected_with_retry_after_when_its_wait_or_its_queue_ends() {
    let queuing = Queuing { queues: 1, hand_size: 1, queue_length_limit: 2 };
    let flow_control = FlowControl::new(vec![level("one", 0, None, queuing)], Vec::new()).expect("it is valid");
    let mut server = Fairness::new(Arc::new(flow_control), 1, at(0));
    let mut changes = Changes::default();
    let mut arrive =
        |server: &mut Fairness, id, now| server.arrive(&arrival(id, 0, 0, Duration::from_secs(15)), now, &mut changes);
    let rejection = |reason, seconds| Rejection { reason, retry_after: Duration::from_secs(seconds) };
    let full = rejection(Reason::QueueFull, 1);
    let admissions = [1, 2, 3, 4].map(|id| arrive(&mut server, id, at(0)));
    assert_eq!(admissions, [Admission::Executes, Admission::Waits, Admission::Waits, Admission::Rejected(full)]);
    assert!((0..2).all(|_| arrive(&mut server, 4, at(500)) == Admission::Rejected(full)));
    // Three in a second: from the next second on, clients wait for longer.
    assert_eq!(arrive(&mut server, 5, at(1_000)), Admission::Rejected(rejection(Reason::QueueFull, 2)));
    assert!(server.cancel(RequestId(2), at(2_000)) && !server.cancel(RequestId(1), at(2_000)));
    assert_eq!(arrive(&mut server, 6, at(2_000)), Admission::Waits);
    server.advance(at(15_000), &mut changes);
    assert_eq!(changes, Changes { started: vec![], rejected: vec![(RequestId(3), rejection(Reason::TimeOut, 1))] });
    server.finish(RequestId(1), at(16_000), &mut changes);
    assert_eq!(changes.started, [RequestId(6)]);
}

/// At the start, levels share all seats in proportion to what they keep at least, since nobody has wanted any.
#[test]
fn new_server_has_seats_for_every_level_and_none_for_exempt_requests() {
    let flow_control = Arc::new(FlowControl::of_new_cluster(Release::Current));
    let mut server = Fairness::new(Arc::clone(&flow_control), bootstrap::SEATS, at(0));
    assert_eq!(server.next_due(), at(10_000));
    let least: u32 = flow_control.levels().keys().map(|level| server.limits(level).min).sum();
    let total: u32 = flow_control.levels().keys().map(|level| server.limits(level).nominal).sum();
    assert_eq!((least, total), (258, 602));
    for (level, PriorityLevel { name, .. }) in flow_control.levels().iter_enumerated() {
        let expected = f64::from(server.limits(level).min * total) / f64::from(least);
        assert!(
            (f64::from(server.level(level).0) - expected).abs() <= 0.5,
            "{name}: {} seats, expected {expected}",
            server.level(level).0
        );
    }
    let admin = RequestDigest { user: "admin", groups: &["system:masters"], verb: "get", target: Target::Path("/") };
    let flow = server.classify(&admin);
    for id in 0..1_000 {
        let arrival = Arrival { flow, ..arrival(id, 0, 0, Duration::ZERO) };
        assert_eq!(server.arrive(&arrival, at(0), &mut Changes::default()), Admission::Executes);
    }
    // What they took is no longer there for others.
    server.advance(at(10_000), &mut Changes::default());
    let seats = |level| server.level(level).0;
    assert!(
        flow_control
            .levels()
            .keys()
            .all(|level| seats(level) == if level == flow.level { 1_000 } else { server.limits(level).min })
    );
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { level: usize, hash: u64, seats: u32, final_seats: u32, wait_ms: u64 },
    Finish { which: usize },
    Cancel { which: usize },
    Wait { ms: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3_usize, 0..6_u64, 1..5_u32, 0..6_u32, 0..3_000_u64)
            .prop_map(|(level, hash, seats, final_seats, wait_ms)| Step::Arrive { level, hash, seats, final_seats, wait_ms }),
        4 => any::<usize>().prop_map(|which| Step::Finish { which }),
        1 => any::<usize>().prop_map(|which| Step::Cancel { which }),
        2 => (0..4_000_u64).prop_map(|ms| Step::Wait { ms }),
    ];
    proptest::collection::vec(step, 0..250)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    /// Each request is somewhere, once; requests that start fit, but for one that is alone; none waits for seats that are free; what is due
    /// comes later.
    #[test]
    fn requests_are_neither_lost_nor_doubled_and_limits_hold(steps in steps()) {
        let queuing = Queuing { queues: 4, hand_size: 2, queue_length_limit: 3 };
        let levels = vec![level("a", 50, None, queuing), level("b", 20, Some(10), Queuing { queues: 1, hand_size: 1, ..queuing })];
        let flow_control = Arc::new(FlowControl::new(levels, Vec::new()).expect("it is valid"));
        let mut server = Fairness::new(Arc::clone(&flow_control), 12, at(0));
        let (mut now, mut ids) = (at(0), 0);
        let (mut waiting, mut executing) = (BTreeMap::new(), BTreeMap::new());
        for step in steps {
            let mut changes = Changes::default();
            let mut touched = None;
            match step {
                Step::Arrive { level, hash, seats, final_seats, wait_ms } => {
                    ids += 1;
                    touched = Some(level);
                    let additional_latency = Duration::from_millis(u64::from(final_seats) * 100);
                    let work = Work { initial_seats: seats, final_seats, additional_latency };
                    let arrival = Arrival { work, ..arrival(ids, level, hash, Duration::from_millis(wait_ms)) };
                    let admission = server.arrive(&arrival, now, &mut changes);
                    match admission {
                        Admission::Executes => _ = executing.insert(arrival.id, level),
                        Admission::Waits => _ = waiting.insert(arrival.id, (level, now + arrival.wait_limit)),
                        Admission::Rejected(Rejection { reason, .. }) => prop_assert_ne!(reason, Reason::TimeOut),
                    }
                    let (seats, queues) = server.level(LevelId::from(level));
                    let (in_use, is_alone) = (queues.seats_in_use(), queues.executing() == 1);
                    match admission {
                        Admission::Executes => prop_assert!(in_use <= seats || is_alone || flow_control.levels()[LevelId::from(level)].excess == Excess::Executes),
                        Admission::Waits => {}
                        Admission::Rejected(_) => prop_assert!(in_use + work.max_seats() > seats),
                    }
                }
                Step::Finish { which } => {
                    if let Some(id) = executing.keys().nth(which % executing.len().max(1)).copied() {
                        touched = executing.remove(&id);
                        server.finish(id, now, &mut changes);
                    }
                }
                Step::Cancel { which } => {
                    if let Some(id) = waiting.keys().nth(which % waiting.len().max(1)).copied() {
                        waiting.remove(&id);
                        prop_assert!(server.cancel(id, now));
                    }
                }
                Step::Wait { ms } => {
                    now += Duration::from_millis(ms);
                    server.advance(now, &mut changes);
                    prop_assert!(server.next_due() > now);
                }
            }
            for id in changes.started {
                let (level, _) = waiting.remove(&id).expect("it waited");
                executing.insert(id, level);
            }
            for (id, Rejection { reason, .. }) in changes.rejected {
                let (_, deadline) = waiting.remove(&id).expect("it waited");
                prop_assert_eq!((reason, deadline <= now), (Reason::TimeOut, true));
            }
            for level in flow_control.levels().keys() {
                let (_, queues) = server.level(level);
                let of_level = |of: usize| LevelId::from(of) == level;
                prop_assert_eq!(queues.executing(), executing.values().filter(|of| of_level(**of)).count());
                prop_assert_eq!(queues.waiting(), waiting.values().filter(|(of, _)| of_level(*of)).count());
            }
            if let Some((seats, queues)) = touched.map(|level| server.level(LevelId::from(level))) {
                // Whoever waits after an arrival or an end finds too few seats: no request needs more than 5.
                prop_assert!(queues.waiting() == 0 || queues.seats_in_use() + 5 > seats);
            }
        }
    }
}
