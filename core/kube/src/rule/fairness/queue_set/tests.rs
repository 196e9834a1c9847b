//! Single steps of a level's queues.

use super::*;
use zonefall_kernel::time::Duration;

const LATER: Time = Time::MAX;

fn queues(queues: u32, hand_size: u32, queue_length_limit: u32, seats: u32) -> QueueSet {
    QueueSet::new(Excess::Waits(Queuing { queues, hand_size, queue_length_limit }), seats, Time::ZERO)
}

const fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

const fn wide(initial_seats: u32) -> Work {
    Work { initial_seats, ..Work::ONE_SEAT }
}

const fn request(id: u64, hash: u64, work: Work, deadline: Time) -> Request {
    Request { id: RequestId(id), hash, work, deadline }
}

/// Rows of apiserver `queueset_test.go` (`TestFindDispatchQueueLocked`), and one of equals: seats in use at each attempt, and the queue that
/// is expected.
#[test]
fn queue_with_the_least_virtual_finish_is_next_if_its_head_fits() {
    for (name, seats, heads, attempts) in [
        ("seats are free", 1, vec![(200, 1), (100, 1)], vec![(0, Some(1))]),
        ("no seats are free", 1, vec![(200, 1)], vec![(1, None)]),
        ("as many seats are free as it needs", 50, vec![(200, 50), (100, 25)], vec![(25, Some(1))]),
        (
            "too few seats are free, but enough for another",
            50,
            vec![(200, 10), (100, 25)],
            vec![(26, None), (26, None), (26, None)],
        ),
        (
            "of equals, the next one in the round",
            1,
            vec![(100, 1), (100, 1), (100, 1)],
            vec![(0, Some(0)), (0, Some(1)), (0, Some(2)), (0, Some(0))],
        ),
        ("seats become free", 50, vec![(200, 10), (100, 25)], vec![(26, None), (26, None), (25, Some(1))]),
    ] {
        let mut set = queues(heads.len() as u32, 1, 50, seats);
        set.last_dispatched = heads.len() - 1;
        for (queue, (arrived_s, seats)) in heads.iter().enumerate() {
            let arrived = SeatSeconds::of(1, Duration::from_secs(*arrived_s));
            set.change(queue, |queue| queue.enqueue(Waiting { id: RequestId(0), work: wide(*seats), arrived, deadline: LATER }));
        }
        for (seats_in_use, expected) in attempts {
            set.seats_in_use = seats_in_use;
            assert_eq!(set.next_queue(), expected, "{name}");
            assert_eq!(set.last_dispatched, expected.unwrap_or(heads.len() - 1), "{name}");
        }
    }
}

/// Virtual time advances by min(seats, seats wanted) / active queues (apiserver `queueset/doc.go`).
#[test]
fn virtual_time_advances_by_the_seats_used_for_each_active_queue() {
    // The hash of a flow is its queue.
    for (hashes, expected_ms) in [
        (vec![], 0),
        (vec![0], 1_000),
        (vec![0, 1], 1_000),
        (vec![0, 0, 0, 1], 2_000),
        (vec![0, 0, 0, 0, 0, 0, 0, 0], 4_000),
        (vec![0, 0, 0, 0, 0, 0, 1, 2], 1_333),
    ] {
        let mut set = queues(3, 1, 50, 4);
        for (id, hash) in (0..).zip(&hashes) {
            set.arrive(request(id, *hash, wide(1), LATER), at(0), &mut Vec::new());
        }
        set.synchronize(at(1_000));
        let off = set.progress - SeatSeconds::of(1, Duration::from_millis(expected_ms));
        assert!(off < SeatSeconds::of(1, Duration::from_millis(1)), "{hashes:?}: {:?}", set.progress);
        assert!(off >= SeatSeconds::ZERO, "{hashes:?}: {:?}", set.progress);
    }
}

/// Rows of apiserver `queueset_test.go` (`TestFinishRequestLocked`).
#[test]
fn seats_are_free_after_the_additional_latency() {
    for (final_seats, additional_latency) in [(10, Duration::from_secs(60)), (0, Duration::ZERO)] {
        let work = Work { initial_seats: 1, final_seats, additional_latency };
        let mut set = queues(1, 1, 50, 10);
        let mut started = Vec::new();
        assert_eq!(set.arrive(request(1, 0, work, LATER), at(0), &mut started), Admission::Executes);
        assert_eq!((set.executing(), set.seats_in_use()), (1, work.max_seats()));
        set.finish(RequestId(1), at(100), &mut started);
        let freed = at(100) + additional_latency;
        assert_eq!((set.executing(), set.next_due()), (0, Some(freed).filter(|freed| *freed > at(100))));
        let is_free = final_seats == 0;
        let before = if is_free { at(100) } else { freed - Duration::from_nanos(1) };
        let expected = if is_free { Admission::Executes } else { Admission::Waits };
        assert_eq!(set.arrive(request(2, 0, wide(1), LATER), before, &mut started), expected);
        set.advance(freed, &mut started, &mut Vec::new());
        assert_eq!((set.seats_in_use(), set.waiting()), (1, 0), "the other has started");
        assert_eq!(started, if is_free { vec![] } else { vec![RequestId(2)] });
    }
}

/// As apiserver `queueset_test.go` (`TestContextCancel`): a request waits for a second, and its client gives up.
#[test]
fn request_that_is_cancelled_leaves_its_queue() {
    let mut set = queues(11, 1, 11, 1);
    let mut started = Vec::new();
    assert_eq!(set.arrive(request(1, 1, wide(1), LATER), at(0), &mut started), Admission::Executes);
    assert_eq!(set.arrive(request(2, 2, wide(1), LATER), at(0), &mut started), Admission::Waits);
    assert!(set.cancel(RequestId(2), at(1_000)));
    assert_eq!((set.waiting(), set.next_due()), (0, None));
    assert!(!set.cancel(RequestId(1), at(1_000)), "it executes");
    set.finish(RequestId(1), at(1_000), &mut started);
    assert_eq!((set.executing(), set.seats_in_use(), started.len()), (0, 0, 0));
    let average = set.take_demand(at(2_000)).average;
    assert!((average - 1.0).abs() < 1e-9, "two seats for a second, and none for another: {average}");
}

#[test]
fn request_is_rejected_when_its_queue_is_full_or_its_time_is_over() {
    let mut set = queues(1, 1, 2, 1);
    let (mut started, mut timed_out) = (Vec::new(), Vec::new());
    let mut arrive = |set: &mut QueueSet, id| set.arrive(request(id, 0, wide(1), at(100 * id)), at(0), &mut started);
    let admissions = [1, 4, 3, 2].map(|id| arrive(&mut set, id));
    assert_eq!(admissions, [Admission::Executes, Admission::Waits, Admission::Waits, Admission::Rejected(Reason::QueueFull)]);
    assert_eq!(set.next_due(), Some(at(300)), "the request that executes has no deadline");
    set.advance(at(299), &mut started, &mut timed_out);
    assert_eq!(timed_out, []);
    set.advance(at(300), &mut started, &mut timed_out);
    assert_eq!(timed_out, [RequestId(3)]);
    set.finish(RequestId(1), at(350), &mut started);
    assert_eq!((started, set.next_due()), (vec![RequestId(4)], None));
}

#[test]
fn level_without_queues_rejects_what_finds_no_seat_and_one_without_a_limit_nothing() {
    for (excess, expected) in
        [(Excess::IsRejected, Admission::Rejected(Reason::ConcurrencyLimit)), (Excess::Executes, Admission::Executes)]
    {
        let mut set = QueueSet::new(excess, 2, Time::ZERO);
        let admissions =
            [(1, 1), (2, 2), (3, 1)].map(|(id, seats)| set.arrive(request(id, 0, wide(seats), LATER), at(0), &mut Vec::new()));
        assert_eq!(admissions, [Admission::Executes, expected, Admission::Executes]);
        let mut empty = QueueSet::new(excess, 2, Time::ZERO);
        assert_eq!(
            empty.arrive(request(1, 0, wide(7), LATER), at(0), &mut Vec::new()),
            Admission::Executes,
            "too wide, but alone"
        );
    }
}

/// Nobody overtakes the head of the queue that is next, and when it gives up, nothing starts until something else happens: in the original
/// a request that is ejected from its queue dispatches nothing (`queueset.go`, `wait`).
#[test]
fn requests_behind_a_wide_one_that_gave_up_start_with_the_next_arrival() {
    let mut set = queues(2, 1, 50, 4);
    let mut started = Vec::new();
    for (id, hash, seats, expected) in [(1, 0, 3, Admission::Executes), (2, 1, 2, Admission::Waits), (3, 0, 1, Admission::Waits)]
    {
        assert_eq!(set.arrive(request(id, hash, wide(seats), at(id * 100)), at(0), &mut started), expected, "{id}");
    }
    let mut timed_out = Vec::new();
    set.advance(at(200), &mut started, &mut timed_out);
    assert_eq!((started.as_slice(), timed_out.as_slice()), (&[][..], &[RequestId(2)][..]));
    assert_eq!(set.arrive(request(4, 1, wide(1), LATER), at(250), &mut started), Admission::Waits);
    assert_eq!(started, [RequestId(3)]);
}

/// A request that would take more seats after its answer than the level has now takes those that there are, for longer.
#[test]
fn seats_after_the_answer_are_no_more_than_there_are() {
    let mut set = queues(1, 1, 50, 4);
    let work = Work { initial_seats: 1, final_seats: 8, additional_latency: Duration::from_millis(5) };
    assert_eq!(set.arrive(request(1, 0, work, LATER), at(0), &mut Vec::new()), Admission::Executes);
    assert_eq!(set.seats_in_use(), 4);
    set.finish(RequestId(1), at(100), &mut Vec::new());
    assert_eq!(set.next_due(), Some(at(110)));
    assert_eq!(set.take_demand(at(100)).high_watermark, 4, "8 are wanted for no time");
}
