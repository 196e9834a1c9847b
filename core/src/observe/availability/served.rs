//! What the state says is served of an API over time, as it counts and for clients at each vantage.

use std::collections::{BTreeMap, VecDeque};

use crate::ids::ZoneId;
use crate::kernel::time::{Duration, Time};
use crate::kube::share::Share;
use crate::network::vantage::Extent;
use crate::scenario::Vantage;

/// The share that is served, since when.
#[derive(Clone, Debug)]
pub(super) struct History(VecDeque<(Time, Share)>);

impl Default for History {
    fn default() -> Self {
        Self([(Time::ZERO, Share::ALL)].into())
    }
}

impl History {
    /// Another share is served. A part that stalls for less than the deadline counts as none ([`shares`](crate::observe::shares)).
    fn set(&mut self, at: Time, share: Share, deadline: Duration) {
        if !share.is_part() {
            let begin = self.0.iter().rposition(|(_, share)| !share.is_part()).map_or(0, |last| last + 1);
            if self.0.get(begin).is_some_and(|(from, _)| at.since(*from) < deadline) {
                self.0.truncate(begin + 1);
                self.0[begin].1 = Share::ALL;
            }
        }
        self.0.push_back((at, share));
    }

    /// What was served at a time.
    pub(super) fn at(&self, time: Time) -> Share {
        self.0.iter().rev().find(|(at, _)| *at <= time).map_or(Share::ALL, |(_, share)| *share)
    }

    fn now(&self) -> Share {
        self.0.back().expect("it is never empty").1
    }

    /// The shares served between two times, and for how long.
    fn between(&self, from: Time, to: Time) -> impl Iterator<Item = (Share, Duration)> {
        let ends = self.0.iter().skip(1).map(|(at, _)| *at).chain([Time::MAX]);
        let spans = self.0.iter().zip(ends).map(move |((at, share), end)| (*share, end.min(to).since((*at).max(from))));
        spans.filter(|(_, lasted)| *lasted > Duration::ZERO)
    }

    /// For how long it was served between two times: the mean over its resources.
    pub(super) fn served(&self, from: Time, to: Time) -> Duration {
        let ns: f64 = self.between(from, to).map(|(share, lasted)| lasted.as_nanos() as f64 * (1.0 - share.missing())).sum();
        Duration::from_nanos(ns.round() as u64)
    }

    /// Whether nothing was served at some time between two.
    pub(super) fn is_interrupted(&self, from: Time, to: Time) -> bool {
        self.between(from, to).any(|(share, _)| share == Share::NONE)
    }

    fn forget(&mut self, before: Time) {
        while self.0.get(1).is_some_and(|(at, _)| *at <= before) {
            self.0.pop_front();
        }
    }
}

/// What is served as it counts, and for clients who have once been served otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    counted: History,
    /// The share that they have, where that is not what counts.
    apart: BTreeMap<Vantage, (Option<Share>, History)>,
}

impl Served {
    /// This share is served, as it counts.
    pub(super) fn count(&mut self, at: Time, share: Share, deadline: Duration) {
        self.counted.set(at, share, deadline);
        let alike = self.apart.values_mut().filter(|(own, _)| own.is_none());
        alike.for_each(|(_, history)| history.set(at, share, deadline));
    }

    /// Clients at a vantage are served otherwise; `None`: as it counts, again.
    pub(super) fn set(&mut self, at: Time, from: Vantage, share: Option<Share>, deadline: Duration) {
        let (own, history) = self.apart.entry(from).or_insert_with(|| (None, self.counted.clone()));
        *own = share;
        history.set(at, share.unwrap_or(self.counted.now()), deadline);
    }

    /// What counts.
    pub(super) const fn counted(&self) -> &History {
        &self.counted
    }

    /// What clients in a zone have.
    pub(super) fn in_zone(&self, zone: ZoneId) -> &History {
        self.apart.get(&Vantage::Zone(zone)).map_or(&self.counted, |(_, history)| history)
    }

    /// Clients who have once been served otherwise.
    pub(super) fn apart(&self) -> impl Iterator<Item = (Vantage, &History)> {
        self.apart.iter().map(|(from, (_, history))| (*from, history))
    }

    /// Whether something is kept besides what is served now.
    pub(super) fn is_long(&self) -> bool {
        self.apart.values().map(|(_, history)| history).chain([&self.counted]).any(|history| history.0.len() > 1)
    }

    /// Drops what was before.
    pub(super) fn forget(&mut self, before: Time) {
        self.counted.forget(before);
        self.apart.values_mut().for_each(|(_, history)| history.forget(before));
    }
}
