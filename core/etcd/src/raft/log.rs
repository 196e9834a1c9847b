//! The replicated log: counters and sizes, never payloads.
//!
//! ```text
//!  compacted      | entries (in memory)                                   |
//!  ... offset     | offset+1 ........ applied .. committed ....... last   |
//!                 |        ...... stable ...... written ................  |
//! ```
//!
//! `written` entries are in the page cache (a killed process keeps them), `stable` ones on disk (a power loss keeps them).

use super::batch::Alike;
use super::entry::{Command, Entry, Token};
use super::segments::Segments;

/// The log of one member.
#[derive(Clone, Debug)]
pub struct Log {
    entries: Segments,
    last: u64,
    offset: u64,
    offset_term: u64,
    offset_chain: u64,
    /// Known to be committed.
    pub committed: u64,
    /// Applied to the database.
    pub applied: u64,
    /// Written to the log file.
    pub written: u64,
    /// Synced to disk.
    pub stable: u64,
}

impl Log {
    /// A log whose first `index` entries were committed, applied and compacted long ago.
    pub fn compacted(index: u64, term: u64, chain: u64) -> Self {
        Self {
            entries: Segments::default(),
            last: index,
            offset: index,
            offset_term: term,
            offset_chain: chain,
            committed: index,
            applied: index,
            written: index,
            stable: index,
        }
    }

    /// Last index.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Term of the last entry.
    pub fn last_term(&self) -> u64 {
        self.entries.last().map_or(self.offset_term, |entry| entry.term)
    }

    /// First index still here.
    pub fn first(&self) -> u64 {
        self.offset + 1
    }

    /// Term of the entry at `index`; `None` if compacted or not there yet.
    pub fn term(&self, index: u64) -> Option<u64> {
        if index == self.offset { Some(self.offset_term) } else { self.get(index).map(|entry| entry.term) }
    }

    /// Hash of the log up to `index`.
    pub fn chain(&self, index: u64) -> Option<u64> {
        if index == self.offset { Some(self.offset_chain) } else { self.get(index).map(|entry| entry.chain) }
    }

    /// The entry at `index`.
    pub fn get(&self, index: u64) -> Option<Entry> {
        self.entries.get(index)
    }

    /// The entries from an index on, in runs, each with the index of its first entry.
    pub fn alike_from(&self, mut index: u64) -> impl Iterator<Item = (u64, Alike)> {
        std::iter::from_fn(move || {
            let alike = self.entries.alike(index)?;
            index += alike.count;
            Some((index - alike.count, alike))
        })
    }

    /// Appends one entry at the end; returns its index.
    pub fn push(&mut self, term: u64, token: Token, command: Command) -> u64 {
        let before = self.entries.last().map_or(self.offset_chain, |entry| entry.chain);
        self.push_copies(Alike { first: Entry::after(before, term, token, command), count: 1 })
    }

    /// Appends `count` entries of writes that flow.
    pub fn flow(&mut self, term: u64, command: Command, count: u64) {
        if count > 0 {
            let before = self.entries.last().map_or(self.offset_chain, |entry| entry.chain);
            self.push_copies(Alike { first: Entry::after(before, term, Token::NONE, command), count });
        }
    }

    /// Appends entries that another log holds from the next index on; returns the index of the last.
    pub fn push_copies(&mut self, alike: Alike) -> u64 {
        self.entries.push(self.last + 1, alike.first);
        if alike.count > 1 {
            self.entries.extend(alike.count - 1);
        }
        self.last += alike.count;
        self.last
    }

    /// Removes the entries from `from` on.
    pub fn truncate(&mut self, from: u64) {
        assert!(from > self.committed, "entry {from} is committed (up to {}) and cannot be truncated", self.committed);
        self.drop_tail(from);
    }

    /// Like [`Log::truncate`], for entries a power loss took: what is known to be committed falls back too.
    pub fn drop_tail(&mut self, from: u64) {
        self.entries.truncate(from);
        let last = self.last.min(from - 1);
        self.last = last;
        self.committed = self.committed.min(last);
        self.applied = self.applied.min(last);
        self.written = self.written.min(last);
        self.stable = self.stable.min(last);
    }

    /// Forgets the entries up to and with `index`, which are applied.
    pub fn compact(&mut self, index: u64) {
        if index <= self.offset {
            return;
        }
        self.offset_term = self.term(index).expect("an applied entry is in the log");
        self.offset_chain = self.chain(index).expect("an applied entry is in the log");
        self.entries.forget(index);
        self.offset = index;
    }

    /// Whether a log that ends so is at least as up to date as this one (raft paper, section 5.4.1).
    pub fn is_up_to_date(&self, index: u64, term: u64) -> bool {
        (term, index) >= (self.last_term(), self.last())
    }

    /// Largest index up to `index` whose term is at most `term`, with its term (0 where it was compacted).
    pub fn conflict_by_term(&self, mut index: u64, term: u64) -> (u64, u64) {
        loop {
            match self.term(index) {
                None => return (index, 0),
                Some(own) if own <= term || index == 0 => return (index, own),
                Some(_) => index -= 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// An entry that flows, of one of two kinds, or one of a request.
    fn command(kind: u8) -> Command {
        match kind {
            0 | 1 => Command::Flowing { request_bytes: 100 + u32::from(kind), grows: 200, supersedes: 200 },
            _ => Command::Put { key_bytes: 10, value_bytes: 20 },
        }
    }

    proptest! {
        /// It is what a list is, a copy of it as well, however its entries came.
        #[test]
        fn like_a_list(steps in prop::collection::vec((0_u8..7, 0_u64..200), 1..60)) {
            let (mut log, mut copy) = (Log::compacted(10, 1, 10), Log::compacted(10, 1, 10));
            let (mut list, mut first) = (VecDeque::new(), 11);
            for (step, count) in steps {
                match step {
                    0 => {
                        let gone = count.min(list.len() as u64);
                        for log in [&mut log, &mut copy] {
                            log.compact(first + gone - 1);
                        }
                        list.drain(..gone as usize);
                        first += gone;
                    }
                    1 => {
                        let kept = (list.len() as u64).saturating_sub(count);
                        for log in [&mut log, &mut copy] {
                            log.drop_tail(first + kept);
                        }
                        list.truncate(kept as usize);
                    }
                    kind @ 2..=3 => {
                        log.flow(1, command(kind - 2), count);
                        list.extend(std::iter::repeat_n(command(kind - 2), count as usize));
                    }
                    kind => {
                        for _ in 0..count {
                            log.push(1, Token::NONE, command(kind % 3));
                            list.push_back(command(kind % 3));
                        }
                    }
                }
                for (_, alike) in log.alike_from(copy.last() + 1) {
                    copy.push_copies(alike);
                }
                prop_assert_eq!(log.last() + 1, first + list.len() as u64);
                for (index, command) in (first..).zip(&list) {
                    let entry = log.get(index).expect("it is there");
                    prop_assert_eq!(entry.command, *command);
                    prop_assert_eq!(copy.get(index), Some(entry));
                    prop_assert_eq!(log.chain(index), Some(entry.chain));
                }
                prop_assert_eq!((log.get(first - 1), log.get(log.last() + 1)), (None, None));
                prop_assert_eq!((log.last_term(), copy.last_term()), (1, 1));
            }
        }
    }
}
