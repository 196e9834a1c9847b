//! Times in which an API answered for none of its resources, or for a part of them.
//!
//! ```text
//!  share served   1 ____                  ________
//!               2/3     |         ____---'            a part stalls, fewer and fewer resources
//!                 0     |________|                    unavailable
//!                        whole    part
//! ```
//!
//! What was unavailable is the mean over resources: a part of a third for 30 s is 10 s. A part that stalls for less than the probe's
//! deadline counts as none: requests for it are answered in time, only later.

use crate::kernel::time::{Duration, Time};
use crate::kube::share::Share;
use crate::network::vantage::Extent;

/// The share that is served, from the start on, when all is.
#[derive(Clone, Debug)]
pub struct Shares {
    /// The probe's deadline.
    deadline: Duration,
    share: Share,
    /// The present span, where not all is served.
    span: Option<Span>,
    /// Unavailable in spans that are over.
    total: Duration,
}

/// A time in which nothing was served, or in which a part was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its start.
    pub from: Time,
    /// Its end.
    pub to: Time,
    /// The least that was served.
    pub least: Share,
    /// The mean over resources.
    pub unavailable: Duration,
}

impl Span {
    /// Nothing was served.
    pub fn is_whole(&self) -> bool {
        self.least == Share::NONE
    }

    /// The same until `to`, while this share is served.
    fn until(self, to: Time, share: Share) -> Self {
        let more = to.since(self.to).as_nanos() as f64 * share.missing();
        Self { to, unavailable: self.unavailable + Duration::from_nanos(more.round() as u64), ..self }
    }

    fn counts(&self, deadline: Duration) -> bool {
        let lasts = self.to.since(self.from);
        if self.is_whole() { lasts > Duration::ZERO } else { lasts >= deadline }
    }
}

impl Shares {
    /// All is served.
    pub const fn new(deadline: Duration) -> Self {
        Self { deadline, share: Share::ALL, span: None, total: Duration::ZERO }
    }

    /// Another share is served; the span that is over, where one is that counts.
    pub fn set(&mut self, at: Time, share: Share) -> Option<Span> {
        let present = self.present(at);
        let goes_on = present.is_some_and(|span| span.is_whole() == (share == Share::NONE) && share < Share::ALL);
        let over = present.filter(|span| !goes_on && span.counts(self.deadline));
        self.total = over.iter().fold(self.total, |total, span| total + span.unavailable);
        self.span = match present.filter(|_| goes_on) {
            Some(span) => Some(Span { least: span.least.min(share), ..span }),
            None => (share < Share::ALL).then_some(Span { from: at, to: at, least: share, unavailable: Duration::ZERO }),
        };
        self.share = share;
        over
    }

    fn present(&self, now: Time) -> Option<Span> {
        self.span.map(|span| span.until(now, self.share))
    }

    /// The span under way, where it counts already.
    pub fn under_way(&self, now: Time) -> Option<Span> {
        self.present(now).filter(|span| span.counts(self.deadline))
    }

    /// Since when a span is under way, whether it counts or not.
    pub fn open(&self) -> Option<Time> {
        self.span.map(|span| span.from)
    }

    /// A part stalls now.
    pub fn is_part(&self) -> bool {
        self.span.is_some_and(|span| !span.is_whole())
    }

    /// Unavailable until now: the mean over resources.
    pub fn unavailable(&self, now: Time) -> Duration {
        self.under_way(now).map_or(self.total, |span| self.total + span.unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_counts_by_its_share_and_not_where_requests_are_answered_in_time() {
        let at = |s: u64| Time::ZERO + Duration::from_secs(s);
        let mut shares = Shares::new(Duration::from_secs(2));
        // Nothing for a second, which counts, then two thirds until 30 s, and five sixths until 40 s.
        let steps = [(10, Share::NONE), (11, Share::of(2, 3)), (30, Share::of(5, 6)), (40, Share::ALL)];
        let spans: Vec<_> = steps.into_iter().filter_map(|(s, share)| shares.set(at(s), share)).collect();
        let [whole, part] = spans[..] else { panic!("{spans:?}") };
        assert_eq!((whole.from, whole.to, whole.unavailable), (at(10), at(11), Duration::from_secs(1)));
        assert_eq!((part.from, part.to, part.least), (at(11), at(40), Share::of(2, 3)));
        let expected = 19.0 / 3.0 + 10.0 / 6.0;
        assert!((part.unavailable.as_secs_f64() - expected).abs() < 0.01, "{part:?}");
        // A part that is back within the deadline.
        assert_eq!((shares.set(at(50), Share::of(1, 3)), shares.set(at(51), Share::ALL)), (None, None));
        assert_eq!(shares.unavailable(at(60)), whole.unavailable + part.unavailable);
        // What is under way counts once it has lasted for long enough.
        shares.set(at(60), Share::of(1, 3));
        assert_eq!((shares.under_way(at(61)), shares.open()), (None, Some(at(60))));
        assert!(shares.under_way(at(63)).is_some_and(|span| !span.is_whole()));
    }
}
