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

#[derive(Clone, Debug, Default)]
struct Gap {
    since: Option<Time>,
    total: Duration,
    /// Those that are over and lasted some time, the latest last.
    over: Vec<(Time, Time)>,
}

impl Gap {
    fn set(&mut self, at: Time, up: bool) {
        if !up {
            self.since.get_or_insert(at);
        } else if let Some(since) = self.since.take().filter(|since| *since < at) {
            self.total = self.total + at.since(since);
            self.over.push((since, at));
        }
    }

    /// How much of it lies between two times.
    fn between(&self, from: Time, to: Time) -> Duration {
        let recent = self.over.iter().rev().take_while(|(_, end)| *end > from).copied();
        let all = self.since.map(|since| (since, to)).into_iter().chain(recent);
        all.map(|(begin, end)| end.min(to).since(begin.max(from).min(end.min(to)))).fold(Duration::ZERO, |sum, gap| sum + gap)
    }

    fn until(&self, now: Time) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

impl<const N: usize> Default for Vantages<N> {
    fn default() -> Self {
        Self { counted: std::array::from_fn(|_| Gap::default()), apart: BTreeMap::new() }
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
        let counted = &self.counted;
        let (apart, gap) = &mut self.apart.entry(from).or_insert_with(|| counted.clone().map(|gap| (None, gap)))[service];
        *apart = up;
        gap.set(at, up.unwrap_or(counted[service].since.is_none()));
    }

    /// The vantages in question, and those that were hit otherwise, each with the times without the services until `now`.
    pub fn rows(&self, vantages: &[Vantage], now: Time) -> impl Iterator<Item = (Vantage, [Duration; N])> {
        let mut all: Vec<Vantage> = vantages.iter().chain(self.apart.keys()).copied().collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(move |from| (from, std::array::from_fn(|service| self.gap(from, service).until(now))))
    }

    /// For how long between two times clients at a vantage were without a service.
    pub fn without(&self, at: Vantage, service: usize, from: Time, to: Time) -> Duration {
        self.gap(at, service).between(from, to)
    }

    fn gap(&self, from: Vantage, service: usize) -> &Gap {
        self.apart.get(&from).map_or(&self.counted[service], |apart| &apart[service].1)
    }
}
