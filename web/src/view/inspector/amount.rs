//! How much, and for how long: read as zonefall-core reads it in scenarios.

use std::str::FromStr;

use zonefall_core::kernel::time::Duration;
use zonefall_core::scenario::units::{Bandwidth, Probability, Span};
use zonefall_core::scenario::{Fault, LinkChange, Scenario};

/// What of a fault is a matter of degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Time added to every fsync.
    Fsync,
    /// Time added to every packet's way.
    Delay,
    /// The part of the packets that is lost.
    Loss,
    /// Throughput that is left.
    Rate,
}

impl Amount {
    /// What of a fault can be chosen.
    pub fn of(fault: &Fault) -> Option<Self> {
        match fault {
            Fault::DiskSlow { .. } => Some(Self::Fsync),
            Fault::LinkDegraded { change, .. } if change.bytes_per_s.is_some() => Some(Self::Rate),
            Fault::LinkDegraded { change, .. } if change.loss > 0.0 => Some(Self::Loss),
            Fault::LinkDegraded { .. } => Some(Self::Delay),
            _ => None,
        }
    }

    /// What stands in the field at first.
    pub fn usual(self) -> &'static str {
        match self {
            Self::Fsync => "500ms",
            Self::Delay => "50ms",
            Self::Loss => "5%",
            Self::Rate => "1MiB/s",
        }
    }

    /// What the field is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fsync => "How much longer every fsync takes",
            Self::Delay => "How much longer packets take each way",
            Self::Loss => "How many packets are lost",
            Self::Rate => "What each connection carries at most",
        }
    }

    /// The fault with this amount.
    ///
    /// # Errors
    /// What is wrong with the text, in plain words.
    pub fn put_into(self, fault: &Fault, text: &str, scenario: &Scenario) -> Result<Fault, String> {
        let change = |delay: Duration, loss: f64, bytes_per_s: Option<u64>| LinkChange { delay, loss, bytes_per_s };
        let change = match self {
            Self::Fsync => {
                let Fault::DiskSlow { volume, factor, .. } = *fault else { return Ok(fault.clone()) };
                let slow = Fault::DiskSlow { volume, factor, add: read::<Span>(text, "500ms")?.0 };
                return slow.check(scenario).map(|()| slow);
            }
            Self::Delay => change(read::<Span>(text, "50ms")?.0, 0.0, None),
            Self::Loss => change(Duration::ZERO, read::<Probability>(text, "5%")?.0, None),
            Self::Rate => change(Duration::ZERO, 0.0, Some(read::<Bandwidth>(text, "1MiB/s or 10Mbit/s")?.bytes_per_s())),
        };
        let Fault::LinkDegraded { a, b, .. } = *fault else { return Ok(fault.clone()) };
        let worse = Fault::LinkDegraded { a, b, change };
        worse.check(scenario).map(|()| worse)
    }
}

/// How long: nothing written means until it is mended.
///
/// # Errors
/// What is wrong with the text, in plain words.
pub fn lasts(text: &str) -> Result<Option<Duration>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match read::<Span>(text, "5m or 90s")?.0 {
        Duration::ZERO => Err("Longer than nothing, such as 5m or 90s".to_owned()),
        long => Ok(Some(long)),
    }
}

/// A quantity; spaces in it do no harm.
fn read<Q: FromStr<Err = String>>(text: &str, example: &str) -> Result<Q, String> {
    let text: String = text.split_whitespace().collect();
    text.parse().map_err(|why| format!("Write it as {example}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::ids::ZoneId;
    use zonefall_core::scenario::bundled;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        let s = |s| Ok(Some(Duration::from_secs(s)));
        assert_eq!((lasts(" "), lasts("5m"), lasts("1m 30 s")), (Ok(None), s(300), s(90)));
        for wrong in ["5", "0s", "soon", "-1s"] {
            assert!(lasts(wrong).unwrap_err().contains("5m or 90s"), "{wrong}");
        }
    }

    #[test]
    fn what_stands_in_the_field_is_what_the_button_does() {
        let scenario = Scenario::from_json(bundled()[0].json).unwrap();
        let zones = (ZoneId(0), ZoneId(1));
        let worse = |delay, loss, bytes_per_s| {
            let change = LinkChange { delay: Duration::from_millis(delay), loss, bytes_per_s };
            Fault::LinkDegraded { a: zones.0, b: zones.1, change }
        };
        for (fault, other, expected) in [
            (worse(50, 0.0, None), "1 s", worse(1_000, 0.0, None)),
            (worse(0, 0.05, None), "30 %", worse(0, 0.3, None)),
            (worse(0, 0.0, Some(1 << 20)), "8kbit/s", worse(0, 0.0, Some(1_000))),
        ] {
            let amount = Amount::of(&fault).unwrap();
            assert_eq!(amount.put_into(&fault, amount.usual(), &scenario), Ok(fault.clone()));
            assert_eq!(amount.put_into(&fault, other, &scenario), Ok(expected));
            assert!(amount.put_into(&fault, "100%", &scenario).is_err());
            assert!(amount.put_into(&fault, "much", &scenario).is_err());
        }
    }
}
