//! How many seats a priority level wants: in use and waited for, over a period and smoothed over periods (kubernetes/apiserver@24a394e5
//! `pkg/util/flowcontrol/fairqueuing/integrator.go`; `apf_controller.go`, `seatDemandStats`).

use zonefall_kernel::time::{Duration, Time};

/// The integral of a number of seats over time, and of its square, since the last reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemandMeter {
    /// When the number of seats was last set, or the meter reset.
    at: Time,
    seats: u32,
    most: u32,
    elapsed: Duration,
    seat_ns: u128,
    square_ns: u128,
}

/// What a meter saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// For how long.
    pub duration: Duration,
    /// Mean over time; 0 where there was no time.
    pub average: f64,
    /// Standard deviation over time; 0 where there was no time.
    pub deviation: f64,
    /// The most at any moment.
    pub high_watermark: u32,
}

/// Demand over the periods so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SmoothedDemand {
    /// The most seats at any moment of the last period.
    pub high_watermark: u32,
    /// Average and deviation together, of the last period, or of earlier ones as far as they were higher: seats.
    pub smoothed: f64,
}

/// The part of a higher demand that is left after each period: its half-life is 5 minutes, at periods of 10 s (`seatDemandSmoothingCoefficient`).
pub const SMOOTHING: f64 = 0.977;

impl DemandMeter {
    /// A meter that starts now, at no seats.
    pub const fn new(now: Time) -> Self {
        Self { at: now, seats: 0, most: 0, elapsed: Duration::ZERO, seat_ns: 0, square_ns: 0 }
    }

    /// The number of seats from now on.
    pub fn set(&mut self, seats: u32, now: Time) {
        self.advance(now);
        self.seats = seats;
        self.most = self.most.max(seats);
    }

    /// What it saw since the last reset. It starts again, at the present number.
    pub fn reset(&mut self, now: Time) -> Demand {
        self.advance(now);
        let (ns, high_watermark) = (u128::from(self.elapsed.as_nanos()), self.most);
        let demand = if ns == 0 {
            Demand { high_watermark, ..Demand::default() }
        } else {
            let (average, mean_square) = (self.seat_ns as f64 / ns as f64, self.square_ns as f64 / ns as f64);
            let deviation = (mean_square - average * average).max(0.0).sqrt(); // below zero by rounding only
            Demand { duration: self.elapsed, average, deviation, high_watermark }
        };
        *self = Self { seats: self.seats, most: self.seats, ..Self::new(now) };
        demand
    }

    fn advance(&mut self, now: Time) {
        let (passed, seats) = (now.since(self.at), u128::from(self.seats));
        let ns = u128::from(passed.as_nanos());
        self.at = now;
        self.elapsed = self.elapsed + passed;
        self.seat_ns += seats * ns;
        self.square_ns += seats * seats * ns;
    }
}

impl SmoothedDemand {
    /// A period is over: demand rises at once and falls slowly.
    pub fn update(&mut self, demand: &Demand) {
        self.high_watermark = demand.high_watermark;
        if demand.duration > Duration::ZERO {
            let envelope = demand.average + demand.deviation;
            self.smoothed = envelope.max(SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * envelope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// The steps of apiserver `integrator_test.go` (`TestIntegrator`).
    #[test]
    fn meter_gives_mean_deviation_and_maximum_over_time() {
        let mut meter = DemandMeter::new(at(0));
        meter.set(3, at(0));
        let expected = Demand { duration: Duration::from_secs(1), average: 3.0, deviation: 0.0, high_watermark: 3 };
        assert_eq!(meter.reset(at(1_000)), expected);
        meter.set(2, at(1_000));
        assert_eq!(meter.clone().reset(at(1_000)), Demand { high_watermark: 3, ..Demand::default() });
        meter.set(1, at(1_001));
        let expected = Demand { duration: Duration::from_millis(2), average: 1.5, deviation: 0.5, high_watermark: 3 };
        assert_eq!(meter.reset(at(1_002)), expected);
        assert_eq!(meter.reset(at(1_002)).high_watermark, 1, "it starts again at the present number");
    }

    #[test]
    fn smoothed_demand_rises_at_once_and_halves_in_five_minutes() {
        let demand = |seats: f64| Demand { duration: Duration::from_secs(10), average: seats, deviation: 0.0, high_watermark: 0 };
        let mut smoothed = SmoothedDemand::default();
        smoothed.update(&Demand { deviation: 20.0, ..demand(80.0) });
        assert!((smoothed.smoothed - 100.0).abs() < 1e-9);
        (0..30).for_each(|_| smoothed.update(&demand(0.0)));
        assert!((smoothed.smoothed - 50.0).abs() < 0.5, "{}", smoothed.smoothed);
        smoothed.update(&Demand { high_watermark: 7, ..Demand::default() });
        assert!(smoothed.high_watermark == 7 && smoothed.smoothed > 49.0, "a period without time says nothing of the average");
    }
}
