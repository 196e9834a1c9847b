//! The entries of a log, or of another list: pushed at the end, forgotten from the front. Clones share what is full, so that a clone
//! of a simulation (a keyframe) costs a chunk per list, however long it is.
//!
//! ```text
//!   forgotten |                entries                 |
//!   [ chunk, full ] [ chunk, full ] ... [ chunk, full ] [ tail ]
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

/// Entries in a chunk.
const CHUNK: usize = 128;

/// A sequence of entries.
#[derive(Clone, Debug)]
pub(crate) struct Entries<T> {
    full: VecDeque<Arc<[T]>>,
    tail: Vec<T>,
    /// How many at the front of the first chunk are gone.
    forgotten: usize,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self { full: VecDeque::new(), tail: Vec::new(), forgotten: 0 }
    }
}

impl<T: Copy> Entries<T> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.full.len() * CHUNK + self.tail.len() - self.forgotten
    }

    /// The entry at `position`, from zero.
    pub(crate) fn get(&self, position: usize) -> Option<&T> {
        let place = position + self.forgotten;
        match self.full.get(place / CHUNK) {
            Some(chunk) => chunk.get(place % CHUNK),
            None => self.tail.get(place - self.full.len() * CHUNK),
        }
    }

    /// The last entry.
    pub(crate) fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Appends an entry.
    pub(crate) fn push(&mut self, entry: T) {
        if self.tail.len() == CHUNK {
            self.full.push_back(self.tail.as_slice().into());
            self.tail.clear();
        }
        self.tail.push(entry);
    }

    /// Number of entries before the first one for which `is_before` is false; it must be false for all that follow.
    pub(crate) fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(&is_before) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Keeps the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        let kept = self.len().min(len) + self.forgotten;
        while kept < self.full.len() * CHUNK {
            self.tail = self.full.pop_back().expect("it is shorter than the full chunks").to_vec();
        }
        self.tail.truncate(kept - self.full.len() * CHUNK);
    }

    /// Forgets the first `count`, of at least as many.
    pub(crate) fn forget(&mut self, count: usize) {
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

    proptest! {
        /// It is what a list is, and a clone stays as it was.
        #[test]
        fn like_a_list(steps in prop::collection::vec((0_u8..8, 0_usize..300), 1..60)) {
            let (mut entries, mut list, mut entry) = (Entries::default(), VecDeque::new(), 0);
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
                        entry += 1;
                        entries.push(entry);
                        list.push_back(entry);
                    }),
                }
                for (entries, list) in [(&entries, &list), (&clone.0, &clone.1)] {
                    prop_assert!((0..=list.len()).map_while(|at| entries.get(at)).eq(list));
                    prop_assert_eq!(entries.len(), list.len());
                    prop_assert_eq!(entries.last(), list.back());
                    let middle = list.get(list.len() / 2).copied().unwrap_or(0);
                    let before = list.partition_point(|entry| *entry < middle);
                    prop_assert_eq!(entries.partition_point(|entry| *entry < middle), before);
                }
            }
        }
    }
}
