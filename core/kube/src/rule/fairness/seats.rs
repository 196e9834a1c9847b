//! How many seats a priority level has: nominally, at least and at most, and for the next 10 s, when levels have lent each other what they
//! do not need (kubernetes/apiserver@24a394e5 `pkg/util/flowcontrol/apf_controller.go`, `finishQueueSetReconfigsLocked`,
//! `updateBorrowingLocked`).

use super::allocation::{Claim, allocate};
use super::demand::SmoothedDemand;
use crate::spec::fairness::{Excess, LevelId, PriorityLevel};
use zonefall_kernel::time::Duration;
use zonefall_scenario::ids::{TiSlice, TiVec};

/// Levels lend each other seats this often (`borrowingAdjustmentPeriod`).
pub const ADJUSTMENT_PERIOD: Duration = Duration::from_secs(10);

/// Bounds of a level's seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Its share of the server's seats, rounded up.
    pub nominal: u32,
    /// What it keeps if it lends all that it may.
    pub min: u32,
    /// What it has if it borrows all that it may.
    pub max: u32,
}

/// The state of a level, as far as lending depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Borrower {
    /// Bounds of its seats.
    pub limits: Limits,
    /// Whether it has no limit: it takes from the others what it has used.
    pub is_exempt: bool,
    /// Seats that it wanted.
    pub demand: SmoothedDemand,
    /// Seats that it has.
    pub seats: u32,
}

/// Bounds of the levels of a server with this number of seats. Shares are rounded up, so that nominal seats may add up to a few more. Of all
/// levels together at least one has a share.
pub fn limits(server_seats: u32, levels: &TiSlice<LevelId, PriorityLevel>) -> TiVec<LevelId, Limits> {
    let shares: u64 = levels.iter().map(|level| u64::from(level.shares)).sum();
    let of = |level: &PriorityLevel| {
        let nominal = (u64::from(server_seats) * u64::from(level.shares)).div_ceil(shares) as u32;
        let percent = |percent: u32| ((u64::from(nominal) * u64::from(percent) * 2 + 100) / 200) as u32; // to the nearest, up from a half
        let borrowable = match level.excess {
            Excess::Executes => server_seats,
            Excess::IsRejected | Excess::Waits(_) => level.borrowing_limit_percent.map_or(server_seats, percent),
        };
        Limits { nominal, min: nominal - percent(level.lendable_percent), max: nominal + borrowable }
    };
    levels.iter().map(of).collect()
}

impl Limits {
    /// The most seats that a request at this level is estimated to need, if it has queues: 15 % of its nominal seats, or an even part of
    /// them for each queue of a hand (at least 1); 1 at least. Estimates have a limit of their own, 10 for most requests.
    pub fn max_seats(&self, hand_size: u32) -> u32 {
        (self.nominal * 15).div_ceil(100).min(self.nominal / hand_size).max(1)
    }
}

/// Seats of the levels for the next period. `total`: the sum of their nominal seats.
///
/// A level without a limit has as many as it used, and the others share the rest: what they used (up to their nominal seats) is theirs,
/// and the rest is shared in proportion to smoothed demand.
pub fn adjust(total: u32, levels: &TiSlice<LevelId, Borrower>) -> TiVec<LevelId, u32> {
    let exempt = |level: &&Borrower| level.is_exempt;
    let limited = || levels.iter().filter(|level| !level.is_exempt);
    let taken: u64 = levels.iter().filter(exempt).map(|level| u64::from(level.least())).sum();
    let left = i64::from(total) - taken as i64;
    let least_of_all: i64 = limited().map(|level| i64::from(level.limits.min)).sum();
    let used: i64 = limited().map(|level| i64::from(level.least())).sum();
    if left <= least_of_all {
        return levels.iter().map(|level| if level.is_exempt { level.least() } else { level.limits.min }).collect();
    }
    if left <= used {
        let part = (left - least_of_all) as f64 / (used - least_of_all) as f64;
        let share = |level: &Borrower| level.limits.min + (f64::from(level.least() - level.limits.min) * part).round() as u32;
        return levels.iter().map(|level| if level.is_exempt { level.least() } else { share(level) }).collect();
    }
    let claims: Vec<Claim> = limited().map(Borrower::claim).collect();
    // The sum is that of all levels, even where exempt ones took a part of it: as in the original.
    let mut shares = allocate(total, &claims).map(|(shares, _)| shares).ok().into_iter().flatten();
    let mut next = |seats: u32| shares.next().map_or(seats, |share| share.round() as u32);
    levels.iter().map(|level| if level.is_exempt { level.least() } else { next(level.seats) }).collect()
}

impl Borrower {
    /// Seats that it is not denied while others want more: what it used, but for what is beyond its nominal seats.
    fn least(&self) -> u32 {
        let used = self.demand.high_watermark;
        let used = if self.is_exempt { used } else { used.min(self.limits.nominal) };
        used.max(self.limits.min)
    }

    fn claim(&self) -> Claim {
        let least = f64::from(self.least());
        Claim { target: self.demand.smoothed.max(least), lower_bound: least, upper_bound: f64::from(self.limits.max) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::fairness::bootstrap::{self, Release, SEATS};
    use crate::spec::fairness::{FlowControl, Queuing};

    fn level(name: &str, shares: u32, lendable_percent: u32, borrowing_limit_percent: Option<u32>) -> PriorityLevel {
        let excess = Excess::Waits(Queuing::default());
        PriorityLevel { name: name.to_owned(), shares, lendable_percent, borrowing_limit_percent, excess }
    }

    const fn wants(high_watermark: u32, smoothed: f64) -> SmoothedDemand {
        SmoothedDemand { high_watermark, smoothed }
    }

    fn borrower(limits: Limits, demand: SmoothedDemand) -> Borrower {
        Borrower { limits, is_exempt: false, demand, seats: limits.nominal }
    }

    /// Seats by hand: 600 times the shares, divided by 245, rounded up.
    #[test]
    fn seats_of_a_new_cluster_are_its_shares_of_six_hundred() {
        let flow_control = FlowControl::of_new_cluster(Release::Current);
        let limits = limits(SEATS, flow_control.levels());
        let found = flow_control
            .levels()
            .iter()
            .zip(&limits)
            .map(|(level, limits)| (level.name.as_str(), limits.nominal, limits.min, limits.max));
        let expected = [
            ("system", 74, 50, 674),          // 73.5; 33 % are 24.42
            ("node-high", 98, 73, 698),       // 97.96; 25 % are 24.5, which rounds up
            ("leader-election", 25, 25, 625), // 24.5
            ("workload-high", 98, 49, 698),
            ("workload-low", 245, 24, 845), // 244.9; 90 % are 220.5
            ("global-default", 49, 24, 649),
            ("catch-all", 13, 13, 613), // 12.2
            ("exempt", 0, 0, 600),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let own = FlowControl::new(vec![level("a", 5, 50, Some(33)), level("b", 0, 0, None)], Vec::new()).expect("it is valid");
        let own = super::limits(24, own.levels());
        assert_eq!(own[LevelId(0)], Limits { nominal: 12, min: 6, max: 16 });
        assert_eq!(own[LevelId(1)], Limits { nominal: 0, min: 0, max: 24 });
    }

    /// Rows of apiserver `max_seats_test.go` (`Test_GetMaxSeats`).
    #[test]
    fn request_needs_no_more_than_its_part_of_the_level() {
        for (nominal, hand_size, expected) in
            [(5, 6, 1), (10, 6, 1), (15, 6, 2), (20, 6, 3), (35, 6, 5), (100, 6, 15), (200, 6, 30), (10, 1, 2), (100, 20, 5)]
        {
            assert_eq!(Limits { nominal, min: 0, max: 0 }.max_seats(hand_size), expected, "{nominal}, {hand_size}");
        }
    }

    /// The three scenarios of apiserver `exempt_borrowing_test.go` (`TestUpdateBorrowing`): workload-high, workload-low, catch-all, exempt.
    #[test]
    fn levels_share_what_exempt_requests_leave() {
        const SERVER: u32 = (40 + 100 + 5) * 6;
        let new = bootstrap::suggested_levels().into_iter().filter(|level| level.name.starts_with("workload"));
        let flow_control = FlowControl::new(new.collect(), Vec::new()).expect("it is valid");
        let limits = limits(SERVER, flow_control.levels());
        let [high, mid, low] = [0, 1, 2].map(|level| limits[LevelId(level)]);
        assert_eq!((high.nominal + mid.nominal + low.nominal, high.min, mid.min, low.min), (SERVER, 120, 60, 30));
        let adjust = |demands: [u32; 4]| {
            let borrower = |(level, limits): (usize, &Limits)| Borrower {
                is_exempt: level == 3,
                ..borrower(*limits, wants(demands[level], f64::from(demands[level])))
            };
            super::adjust(SERVER, &limits.iter().enumerate().map(borrower).collect::<TiVec<LevelId, _>>()).raw
        };
        let all = SERVER + 100;
        assert_eq!(adjust([all, all, all, all]), [high.min, mid.min, low.min, all], "exempt requests take all");
        let half = [high, mid, low].map(|limits| u32::midpoint(limits.nominal, limits.min));
        let exempt = SERVER - half.iter().sum::<u32>();
        assert_eq!(adjust([all, all, all, exempt]), [half[0], half[1], half[2], exempt], "half of what can be lent is lent");
        let exempt = mid.nominal - mid.min;
        assert_eq!(adjust([all, 1, all, exempt]), [high.nominal, mid.min, low.nominal, exempt], "one lends all that it may");
    }

    /// Max-min fairness of N greedy levels: those that want more than their nominal seats share what the others leave equally.
    #[test]
    fn greedy_levels_share_what_idle_ones_lend() {
        for greedy in 1..=8_u32 {
            let limits = Limits { nominal: 60, min: 12, max: 600 };
            let idle = 10 - greedy;
            let levels = (0..10).map(|k| borrower(limits, if k < greedy { wants(1_000, 1_000.0) } else { wants(0, 0.0) }));
            let seats = adjust(600, &levels.collect::<TiVec<LevelId, _>>());
            let share = f64::from(600 - 12 * idle) / f64::from(greedy);
            assert!(
                seats.iter().take(greedy as usize).all(|seats| (f64::from(*seats) - share).abs() <= 0.5),
                "{greedy}: {seats:?}"
            );
            assert!(seats.iter().skip(greedy as usize).all(|seats| *seats == 12), "{greedy}: {seats:?}");
        }
    }

    #[test]
    fn levels_keep_their_seats_where_no_shares_add_up() {
        let limits = Limits { nominal: 10, min: 0, max: 5 };
        let levels: TiVec<LevelId, Borrower> =
            [7, 9].map(|seats| Borrower { seats, ..borrower(limits, wants(0, 0.0)) }).into_iter().collect();
        assert_eq!(adjust(20, &levels).raw, [7, 9]);
    }
}
