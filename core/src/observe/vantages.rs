//! How long clients at each vantage were without something.

use std::collections::BTreeMap;

use crate::kernel::time::{Duration, Time};
use crate::scenario::Vantage;

/// Times without each of `N` services.
#[derive(Clone, Debug)]
pub struct Vantages<const N: usize> {
    /// As they count.
    counted: [Gap; N],
    /// For clients who have once had them otherwise: what they have, where that is not what counts, and their own times.
    apart: BTreeMap<Vantage, [(Option<bool>, Gap); N]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    since: Option<Time>,
    total: Duration,
}

impl Gap {
    fn set(&mut self, at: Time, up: bool) {
        if !up {
            self.since.get_or_insert(at);
        } else if let Some(since) = self.since.take() {
            self.total = self.total + at.since(since);
        }
    }

    fn until(self, now: Time) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

impl<const N: usize> Default for Vantages<N> {
    fn default() -> Self {
        Self { counted: [Gap::default(); N], apart: BTreeMap::new() }
    }
}

impl<const N: usize> Vantages<N> {
    /// A service came or went, as it counts.
    pub fn count(&mut self, at: Time, service: usize, up: bool) {
        self.counted[service].set(at, up);
        let alike = self.apart.values_mut().map(|of| &mut of[service]).filter(|(apart, _)| apart.is_none());
        alike.for_each(|(_, gap)| gap.set(at, up));
    }

    /// Clients at a vantage have a service, or not, otherwise than it counts; `None`: as it counts, again.
    pub fn set(&mut self, at: Time, from: Vantage, service: usize, up: Option<bool>) {
        let counted = self.counted;
        let (apart, gap) = &mut self.apart.entry(from).or_insert_with(|| counted.map(|gap| (None, gap)))[service];
        *apart = up;
        gap.set(at, up.unwrap_or(counted[service].since.is_none()));
    }

    /// The vantages in question, and those that were hit otherwise, each with the times without the services until `now`.
    pub fn rows(&self, vantages: &[Vantage], now: Time) -> impl Iterator<Item = (Vantage, [Duration; N])> {
        let mut all: Vec<Vantage> = vantages.iter().chain(self.apart.keys()).copied().collect();
        all.sort_unstable();
        all.dedup();
        let own = |from| self.apart.get(&from).map_or(self.counted, |apart| apart.map(|(_, gap)| gap));
        all.into_iter().map(move |from| (from, own(from).map(|gap| gap.until(now))))
    }
}
