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

    /// Its parts between two times, the latest first.
    fn between(&self, from: Time, to: Time) -> impl Iterator<Item = (Time, Time)> {
        let recent = self.over.iter().rev().take_while(move |(_, end)| *end > from).copied();
        let all = self.since.map(|since| (since, to)).into_iter().chain(recent);
        all.map(move |(begin, end)| (begin.max(from).min(end.min(to)), end.min(to)))
    }

    /// How much of it lies between two times.
    fn sum(&self, from: Time, to: Time) -> Duration {
        self.between(from, to).fold(Duration::ZERO, |sum, (begin, end)| sum + end.since(begin))
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
        self.gap(at, service).sum(from, to)
    }

    /// For how long between two times they were, though the service counts as there.
    pub fn without_alone(&self, at: Vantage, service: usize, from: Time, to: Time) -> Duration {
        self.without_or_counted(at, service, from, to) - self.counted[service].sum(from, to)
    }

    /// For how long between two times they were, or the service was gone as it counts.
    pub fn without_or_counted(&self, at: Vantage, service: usize, from: Time, to: Time) -> Duration {
        let gaps = [self.gap(at, service), &self.counted[service]];
        let mut parts: Vec<(Time, Time)> = gaps.into_iter().flat_map(|gap| gap.between(from, to)).collect();
        parts.sort_unstable();
        let join = |(sum, until): (Duration, Time), (begin, end): (Time, Time)| {
            let end = end.max(until);
            (sum + end.since(begin.max(until).min(end)), end)
        };
        parts.into_iter().fold((Duration::ZERO, from), join).0
    }

    fn gap(&self, from: Vantage, service: usize) -> &Gap {
        self.apart.get(&from).map_or(&self.counted[service], |apart| &apart[service].1)
    }
}
