//! The alternatives that a client knows (openshift/kubernetes@f9e4430a `client-go/transport/patch_round_trippers.go`,
//! `addAlternativeServices` and `blockHost`).

use super::Rules;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::{Duration, Time};

/// An alternative is left alone for so long after a network error (`blockPeriod`: what the API servers need to drop an endpoint).
pub const BLOCK: Duration = Duration::from_secs(20);

/// Whether an alternative may be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// It may.
    Free,
    /// Not until [`BLOCK`] after this network error.
    Since(Time),
    /// Never: its certificate is wrong.
    Forever,
}

impl Block {
    /// Whether it has not ended. It ends exactly [`BLOCK`] after the error.
    pub fn holds(self, now: Time) -> bool {
        match self {
            Self::Free => false,
            Self::Since(error) => now < error + BLOCK,
            Self::Forever => true,
        }
    }
}

/// An alternative with address `A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternative<A> {
    /// Host and port.
    pub authority: A,
    /// It is on the client's own machine.
    pub local: bool,
    /// Whether it may be tried.
    pub block: Block,
}

/// What a client knows of alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternatives<A> {
    listed: Vec<Alternative<A>>,
    /// When the list came.
    since: Time,
    /// Alternatives with a block that are not listed any more.
    unlisted: Vec<Alternative<A>>,
}

impl<A> Default for Alternatives<A> {
    fn default() -> Self {
        Self { listed: Vec::new(), since: Time::ZERO, unlisted: Vec::new() }
    }
}

impl<A: Clone + PartialEq> Alternatives<A> {
    /// A list that came at this time. Authorities differ.
    pub const fn new(listed: Vec<Alternative<A>>, since: Time) -> Self {
        Self { listed, since, unlisted: Vec::new() }
    }

    /// Alternatives that are listed, in the order of their list.
    pub fn listed(&self) -> &[Alternative<A>] {
        &self.listed
    }

    /// When the list came.
    pub(super) const fn since(&self) -> Time {
        self.since
    }

    /// The alternative with this address, if it is listed.
    pub fn get(&self, authority: &A) -> Option<&Alternative<A>> {
        self.listed.iter().find(|entry| entry.authority == *authority)
    }

    /// When the first block of a listed alternative ends.
    pub fn next_free(&self) -> Option<Time> {
        let ends = |entry: &Alternative<A>| if let Block::Since(error) = entry.block { Some(error + BLOCK) } else { None };
        self.listed.iter().filter_map(ends).min()
    }

    /// A new list replaces the one before. What was known of an address that stays is kept; `is_local` tells of new ones.
    pub fn replace(&mut self, list: impl IntoIterator<Item = A>, rules: Rules, now: Time, is_local: impl Fn(&A) -> bool) {
        let mut known = std::mem::take(&mut self.listed);
        known.append(&mut self.unlisted);
        for authority in list {
            if self.get(&authority).is_none() {
                let old = known.iter().position(|entry| entry.authority == authority).map(|place| known.remove(place));
                let new = || Alternative { local: is_local(&authority), authority, block: Block::Free };
                self.listed.push(old.unwrap_or_else(new));
            }
        }
        self.since = now;
        if let Rules::Text { .. } = rules {
            known.retain(|entry| entry.block.holds(now));
            self.unlisted = known;
        }
    }

    /// A listed alternative has failed. Others stay as they are.
    pub fn block(&mut self, authority: &A, block: Block) {
        if let Some(entry) = self.listed.iter_mut().find(|entry| entry.authority == *authority) {
            entry.block = block;
        }
    }

    /// Frees alternatives whose block has ended, and drops a list that is too old.
    pub fn refresh(&mut self, rules: Rules, now: Time) {
        if let Rules::Text { keep } = rules
            && self.since + keep <= now
        {
            self.replace([], rules, now, |_| false);
        }
        for entry in self.listed.iter_mut().filter(|entry| !entry.block.holds(now)) {
            entry.block = Block::Free;
        }
    }
}
