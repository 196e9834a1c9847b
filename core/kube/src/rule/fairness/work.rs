//! What requests cost, in seat-seconds, and how much of a server each is estimated to take (kubernetes/apiserver@24a394e5
//! `pkg/util/flowcontrol/request/{seat_seconds,width,config,list_work_estimator,mutating_work_estimator}.go`).

use std::ops::{Add, AddAssign, Sub, SubAssign};

use zonefall_kernel::time::Duration;

/// Seats times time, in units of 10^-8 seat-seconds. Readings of the progress meter of a level are sums of these since its start.
///
/// The original has 64 bits and winds its meter back when they are nearly full, after centuries; 128 bits never are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeatSeconds(i128);

impl SeatSeconds {
    /// No work.
    pub const ZERO: Self = Self(0);
    /// One unit of work is a seat for this long.
    const UNIT_NS: u64 = 10;

    /// The work of `seats` for a time, rounded to the nearest unit, and up between two.
    pub fn of(seats: u32, duration: Duration) -> Self {
        Self::per_queue(seats, 1, duration)
    }

    /// What each of `queues` (at least 1) gets of the work of `seats` for a time, rounded as in [`SeatSeconds::of`].
    pub fn per_queue(seats: u32, queues: u32, duration: Duration) -> Self {
        let (numerator, denominator) = (u128::from(seats) * u128::from(duration.as_nanos()), Self::UNIT_NS * u64::from(queues));
        // Division in 128 bits is slow, above all on wasm32.
        Self(match u64::try_from(numerator) {
            Ok(numerator) => i128::from(rounded(numerator, denominator)),
            Err(_) => ((2 * numerator + u128::from(denominator)) / (2 * u128::from(denominator))) as i128,
        })
    }

    /// The time that this work takes with `seats` (at least 1), rounded down to a nanosecond; the work is not negative.
    pub fn duration_per_seat(self, seats: u32) -> Duration {
        Duration::from_nanos((self.0 * i128::from(Self::UNIT_NS) / i128::from(seats)) as u64)
    }
}

const fn rounded(numerator: u64, denominator: u64) -> u64 {
    let (quotient, rest) = (numerator / denominator, numerator % denominator);
    if rest >= denominator - rest { quotient + 1 } else { quotient }
}

impl Add for SeatSeconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for SeatSeconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for SeatSeconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for SeatSeconds {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// Bytes that a list may load for each seat (`bytesPerSeat`).
const BYTES_PER_SEAT: u64 = 100_000;
/// A list never takes more seats (`MaximumListSeatsLimit` with `SizeBasedListCostEstimate`, the default since 1.34).
const MOST_SEATS_OF_LIST: u32 = 100;
/// Watches that a write is sent to with each seat; where there are fewer, it needs none for that (`watchesPerSeat`).
const WATCHES_PER_SEAT: u32 = 10;
/// Time that it has these seats (`eventAdditionalDuration`).
const EVENT_DURATION: Duration = Duration::from_millis(5);
/// A write never takes more seats (`MaximumMutatingSeatsLimit`).
const MOST_SEATS_OF_WRITE: u32 = 10;

/// How much of a server a request takes (`WorkEstimate`). How long it executes is known only afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Seats that it takes while it executes.
    pub initial_seats: u32,
    /// Seats that it takes afterwards, when it is answered: events are sent to watches.
    pub final_seats: u32,
    /// How long it takes these.
    pub additional_latency: Duration,
}

impl Work {
    /// A request of one seat, as most are.
    pub const ONE_SEAT: Self = Self { initial_seats: 1, final_seats: 0, additional_latency: Duration::ZERO };

    /// A list that loads `objects` of `object_bytes` each from etcd. `most`: seats that a request at its level may take; `None`: any number.
    pub fn list(objects: u64, object_bytes: u64, most: Option<u32>) -> Self {
        let most = most.unwrap_or(MOST_SEATS_OF_LIST).min(MOST_SEATS_OF_LIST);
        let seats = objects.saturating_mul(object_bytes).div_ceil(BYTES_PER_SEAT).clamp(1, most.into());
        Self { initial_seats: seats as u32, ..Self::ONE_SEAT }
    }

    /// A write whose event is sent to `watches` of its server. `most`: as for [`Work::list`].
    pub fn write(watches: u32, most: Option<u32>) -> Self {
        if watches < WATCHES_PER_SEAT {
            return Self::ONE_SEAT;
        }
        let most = most.unwrap_or(MOST_SEATS_OF_WRITE).min(MOST_SEATS_OF_WRITE);
        let final_seats = watches.div_ceil(WATCHES_PER_SEAT);
        Self { final_seats, additional_latency: EVENT_DURATION, ..Self::ONE_SEAT }.within(most)
    }

    /// Seats that it holds from its start until its end, additional latency included.
    pub fn max_seats(&self) -> u32 {
        self.initial_seats.max(self.final_seats)
    }

    /// Its work after the answer.
    pub fn final_work(&self) -> SeatSeconds {
        SeatSeconds::of(self.final_seats, self.additional_latency)
    }

    /// All its work, if it executes for `service_time`.
    pub fn total(&self, service_time: Duration) -> SeatSeconds {
        SeatSeconds::of(self.initial_seats, service_time) + self.final_work()
    }

    /// The same work on no more than `limit` seats (at least 1) after the answer: longer, if need be.
    #[must_use]
    pub fn within(self, limit: u32) -> Self {
        if self.final_seats <= limit {
            return self;
        }
        Self { final_seats: limit, additional_latency: self.final_work().duration_per_seat(limit), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of apiserver `seat_seconds_test.go` (`TestSeatSecondsString`), and rounding.
    #[test]
    fn seat_seconds_are_seats_times_time() {
        for (seats, duration, expected) in [
            (1, Duration::from_secs(1), 100_000_000),
            (123, Duration::from_millis(100), 1_230_000_000),
            (1_203, Duration::from_millis(10), 1_203_000_000),
            (1, Duration::from_nanos(4), 0),
            (1, Duration::from_nanos(5), 1),
            (3, Duration::from_nanos(15), 5),                                 // 4.5
            (u32::MAX, Duration::MAX, 7_922_816_249_581_759_351_553_943_143), // (2^32 - 1)(2^64 - 1)/10
        ] {
            assert_eq!(SeatSeconds::of(seats, duration).0, expected, "{seats} for {duration}");
        }
        assert_eq!(SeatSeconds::per_queue(4, 3, Duration::from_secs(1)).0, 133_333_333);
        assert_eq!(SeatSeconds::per_queue(5, 3, Duration::from_secs(1)).0, 166_666_667);
    }

    /// Rows of apiserver `seat_seconds_test.go` (`TestSeatSecondsPerSeat`).
    #[test]
    fn work_takes_less_time_on_more_seats() {
        for (seats, duration, on, expected) in [
            (10, Duration::from_secs(1), 1, Duration::from_secs(10)),
            (1, Duration::from_secs(1), 10, Duration::from_millis(100)),
            (13, Duration::from_millis(5), 5, Duration::from_millis(13)),
            (12, Duration::ZERO, 10, Duration::ZERO),
        ] {
            assert_eq!(SeatSeconds::of(seats, duration).duration_per_seat(on), expected, "{seats} for {duration} on {on}");
        }
    }

    /// Rows of apiserver `queueset_test.go` (`TestRequestSeats`, `TestRequestWork`).
    #[test]
    fn request_holds_the_larger_of_its_seats_and_does_the_sum_of_its_work() {
        let work = |initial_seats, final_seats, additional_latency| Work { initial_seats, final_seats, additional_latency };
        for (initial, last) in [(3, 3), (1, 3), (3, 1)] {
            assert_eq!(work(initial, last, Duration::ZERO).max_seats(), 3);
        }
        let total = work(3, 50, Duration::from_secs(70)).total(Duration::from_secs(2));
        assert_eq!(total, SeatSeconds::of(3, Duration::from_secs(2)) + SeatSeconds::of(50, Duration::from_secs(70)));
        let narrow = work(3, 50, Duration::from_secs(70)).within(7);
        assert_eq!(narrow, work(3, 7, Duration::from_secs(500)));
        assert_eq!(work(9, 5, Duration::from_secs(1)).within(5), work(9, 5, Duration::from_secs(1)));
    }

    /// By the formulas of apiserver `{list,mutating}_work_estimator.go`.
    #[test]
    fn lists_take_seats_by_their_bytes_and_writes_by_their_watches() {
        for (objects, object_bytes, most, expected) in [
            (1, 1, None, 1),
            (500, 2_048, None, 11), // 1.024 MB
            (50, 2_000, None, 1),
            (50, 2_001, None, 2),
            (5_000, 10_000, None, 100),
            (5_000, 10_000, Some(10), 10),
            (0, 10_000, Some(3), 1),
        ] {
            assert_eq!(
                Work::list(objects, object_bytes, most).initial_seats,
                expected,
                "{objects} of {object_bytes} B, {most:?}"
            );
        }
        let ms = Duration::from_millis;
        for (watches, most, expected) in [
            (9, None, (0, ms(0))),
            (10, None, (1, ms(5))),
            (11, None, (2, ms(5))),
            (1_000, None, (10, ms(50))), // 100 seats for 5 ms
            (1_000, Some(4), (4, ms(125))),
        ] {
            let Work { initial_seats, final_seats, additional_latency } = Work::write(watches, most);
            assert_eq!((initial_seats, (final_seats, additional_latency)), (1, expected), "{watches} watches, {most:?}");
        }
    }
}
