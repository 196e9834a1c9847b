//! The entries of a log: pushed at the end, forgotten from the front. Clones share what is full, so that a clone of a world (a
//! keyframe) costs a chunk per member, however long the logs are.
//!
//! ```text
//!   forgotten |                entries                 |
//!   [ chunk, full ] [ chunk, full ] ... [ chunk, full ] [ tail ]
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use super::log::Entry;

/// Entries in a chunk.
const CHUNK: usize = 128;

/// A sequence of entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    full: VecDeque<Arc<[Entry]>>,
    tail: Vec<Entry>,
    /// How many at the front of the first chunk are gone.
    forgotten: usize,
}

impl Entries {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.full.len() * CHUNK + self.tail.len() - self.forgotten
    }

    /// The entry at `position`, from zero.
    pub(super) fn get(&self, position: usize) -> Option<&Entry> {
        let place = position + self.forgotten;
        match self.full.get(place / CHUNK) {
            Some(chunk) => chunk.get(place % CHUNK),
            None => self.tail.get(place - self.full.len() * CHUNK),
        }
    }

    /// The last entry.
    pub(super) fn last(&self) -> Option<&Entry> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Appends an entry.
    pub(super) fn push(&mut self, entry: Entry) {
        if self.tail.len() == CHUNK {
            self.full.push_back(self.tail.as_slice().into());
            self.tail.clear();
        }
        self.tail.push(entry);
    }

    /// Keeps the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        let kept = self.len().min(len) + self.forgotten;
        while kept < self.full.len() * CHUNK {
            self.tail = self.full.pop_back().expect("it is shorter than the full chunks").to_vec();
        }
        self.tail.truncate(kept - self.full.len() * CHUNK);
    }

    /// Forgets the first `count`, of at least as many.
    pub(super) fn forget(&mut self, count: usize) {
        assert!(count <= self.len(), "{count} entries of {} cannot be forgotten", self.len());
        self.forgotten += count;
        while self.forgotten >= CHUNK && self.full.pop_front().is_some() {
            self.forgotten -= CHUNK;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::raft::log::{Command, Token};

    fn entry(term: u64) -> Entry {
        Entry { term, chain: 0, token: Token::NONE, command: Command::Empty }
    }

    proptest! {
        /// It is what a list is, and a clone stays as it was.
        #[test]
        fn like_a_list(steps in prop::collection::vec((0_u8..8, 0_usize..300), 1..60)) {
            let (mut entries, mut list, mut term) = (Entries::default(), VecDeque::new(), 0);
            let mut clone = (entries.clone(), list.clone());
            for (step, count) in steps {
                match step {
                    0 => {
                        let gone = count.min(list.len());
                        entries.forget(gone);
                        list.drain(..gone);
                    }
                    1 => {
                        let kept = list.len().saturating_sub(count);
                        entries.truncate(kept);
                        list.truncate(kept);
                    }
                    2 => clone = (entries.clone(), list.clone()),
                    _ => (0..count).for_each(|_| {
                        term += 1;
                        entries.push(entry(term));
                        list.push_back(term);
                    }),
                }
                for (entries, list) in [(&entries, &list), (&clone.0, &clone.1)] {
                    let terms = (0..=list.len()).map_while(|at| entries.get(at)).map(|entry| entry.term);
                    prop_assert!(terms.eq(list.iter().copied()));
                    prop_assert_eq!(entries.len(), list.len());
                    prop_assert_eq!(entries.last().map(|entry| entry.term), list.back().copied());
                }
            }
        }
    }
}
