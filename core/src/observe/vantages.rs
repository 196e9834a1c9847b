//! How long clients at each vantage were without something.

use std::collections::BTreeMap;

use crate::kernel::time::{Duration, Time};
use crate::scenario::Vantage;

/// Times without each of `N` services.
#[derive(Clone, Debug)]
pub struct Vantages<const N: usize> {
    of: BTreeMap<Vantage, [Gap; N]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    since: Option<Time>,
    total: Duration,
}

impl<const N: usize> Default for Vantages<N> {
    fn default() -> Self {
        Self { of: BTreeMap::new() }
    }
}

impl<const N: usize> Vantages<N> {
    /// A service came or went.
    pub fn set(&mut self, at: Time, from: Vantage, service: usize, up: bool) {
        let gap = &mut self.of.entry(from).or_insert([Gap::default(); N])[service];
        if !up {
            gap.since.get_or_insert(at);
        } else if let Some(since) = gap.since.take() {
            gap.total = gap.total + at.since(since);
        }
    }

    /// The vantages in question, and those from which something was missed, each with the times without the services until `now`.
    pub fn rows(&self, vantages: &[Vantage], now: Time) -> impl Iterator<Item = (Vantage, [Duration; N])> {
        let mut all: Vec<Vantage> = vantages.iter().chain(self.of.keys()).copied().collect();
        all.sort_unstable();
        all.dedup();
        let until = move |gap: Gap| gap.total + gap.since.map_or(Duration::ZERO, |since| now.since(since));
        all.into_iter().map(move |from| (from, self.of.get(&from).map_or([Duration::ZERO; N], |gaps| gaps.map(until))))
    }
}
