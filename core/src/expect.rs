//! Expectations in a test, of a place in the JSON report and in the words of scenario files.

use serde_json::Value;

use crate::report::Report;
use crate::scenario::expect::Expectation;
use crate::scenario::raw::{RawBound, RawExpectation};

/// The value at a place in the report, of which something is expected.
#[derive(Clone, Debug)]
#[must_use = "nothing is expected yet"]
pub struct Expect {
    report: Value,
    that: String,
}

/// Begins an expectation about a place in a report: `api.plain.write_unavailable_s`, `pods[name=db-0].zone`,
/// `count(recovery[completed=false])`. Times are in seconds, sizes in bytes. Where a filter selects several values, each must keep the
/// bound.
///
/// Each method panics unless the bound holds, and says what stands there instead.
pub fn expect(report: &Report, that: &str) -> Expect {
    Expect { report: report.to_json(), that: that.to_owned() }
}

impl Expect {
    /// Exactly this value.
    #[track_caller]
    pub fn is(&self, value: impl Into<Value>) -> &Self {
        self.holds(RawBound::Is(value.into()))
    }

    /// Anything but this value.
    #[track_caller]
    pub fn is_not(&self, value: impl Into<Value>) -> &Self {
        self.holds(RawBound::IsNot(value.into()))
    }

    /// A number between two, both included.
    #[track_caller]
    pub fn between(&self, low: f64, high: f64) -> &Self {
        self.holds(RawBound::Between([low, high]))
    }

    /// A number, at least this.
    #[track_caller]
    pub fn at_least(&self, low: f64) -> &Self {
        self.holds(RawBound::AtLeast(low))
    }

    /// A number, at most this.
    #[track_caller]
    pub fn at_most(&self, high: f64) -> &Self {
        self.holds(RawBound::AtMost(high))
    }

    /// A text with these words in it, or an array with this item.
    #[track_caller]
    pub fn includes(&self, part: &str) -> &Self {
        self.holds(RawBound::Includes(part.to_owned()))
    }

    #[track_caller]
    fn holds(&self, bound: RawBound) -> &Self {
        let raw = RawExpectation { that: self.that.clone(), because: String::new(), bound };
        let outcome = Expectation::new(&raw).map(|expectation| expectation.check(&self.report));
        match outcome {
            Ok(outcome) if outcome.ok => self,
            Ok(outcome) => panic!("{}", outcome.text),
            Err(why) => panic!("{why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::{Scenario, simulate};

    #[test]
    fn a_bound_that_does_not_hold_panics_with_what_stands_there() {
        let json = crate::scenario::default_scenario().json;
        let report = simulate(Scenario::from_json(json).expect("it is bundled"), 1);
        expect(&report, "seed").is(1).is_not(2).between(0.0, 2.0).at_least(1.0).at_most(1.0);
        expect(&report, "trace_hash").includes("");
        let said = |that: &str, act: fn(&Expect) -> &Expect| {
            let expect = expect(&report, that);
            *catch_unwind(|| {
                act(&expect);
            })
            .expect_err("it does not hold")
            .downcast::<String>()
            .expect("a text")
        };
        assert_eq!(said("seed", |seed| seed.is(2)), "seed is 1, but must be 2");
        assert_eq!(said("seed", |seed| seed.at_least(1.5)), "seed is 1, but must be at least 1.5");
        assert!(said("sed", |sed| sed.is(1)).starts_with("sed: there is no \"sed\" in the report"));
        assert!(said("count(", |count| count.is(1)).contains("a place such as"));
        assert!(said("seed", |seed| seed.between(3.0, 2.0)).contains("the lower bound first"));
    }
}
