//! How many there are of something, integrated over time: exact, and at the cost of one addition for each that comes or goes.

use super::time::Time;

/// A number that changes by one at a time, and its integral.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Integral {
    count: u64,
    since: Time,
    total: u128,
}

impl Integral {
    /// One more from now on.
    pub fn add(&mut self, now: Time) {
        (self.total, self.since) = (self.at(now), now);
        self.count += 1;
    }

    /// One less from now on; one must be there.
    pub fn remove(&mut self, now: Time) {
        (self.total, self.since) = (self.at(now), now);
        self.count -= 1;
    }

    /// The time that all of them have been there together, in nanoseconds, from the start to `now`: not before the last change.
    pub const fn at(&self, now: Time) -> u128 {
        self.total + self.count as u128 * now.since(self.since).as_nanos() as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_adds_up_over_all_that_are_there() {
        let at = Time::from_nanos;
        let mut machines = Integral::default();
        machines.add(at(0));
        machines.add(at(10));
        machines.remove(at(15));
        machines.add(at(40));
        machines.remove(at(40));
        assert_eq!([15, 40, 100].map(|ns| machines.at(at(ns.max(40)))), [45, 45, 105]);
        // Ten thousand machines for ten years.
        let mut many = Integral::default();
        (0..10_000).for_each(|_| many.add(at(0)));
        assert_eq!(many.at(at(315_360_000_000_000_000)), 3_153_600_000_000_000_000_000);
    }
}
