//! The entries of a log, in order of their indices: those of requests one by one, and in runs those that flow, which are all alike. A
//! run costs the same however long it is.
//!
//! ```text
//!   forgotten |  run of 9,000  | listed: conf, empty | run of 412 |
//! ```

use std::collections::VecDeque;

use super::batch::Alike;
use super::entries::Entries;
use super::entry::Entry;

/// The entries of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments {
    parts: VecDeque<Part>,
}

/// Entries that follow each other; at least one.
#[derive(Clone, Debug)]
struct Part {
    /// Index of the first of them.
    first: u64,
    entries: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Listed(Entries<Entry>),
    /// Entries that flow.
    Run {
        first: Entry,
        len: u64,
    },
}

impl Part {
    fn new(first: u64, entry: Entry) -> Self {
        let entries = if entry.flow_step().is_some() {
            Kind::Run { first: entry, len: 1 }
        } else {
            let mut listed = Entries::default();
            listed.push(entry);
            Kind::Listed(listed)
        };
        Self { first, entries }
    }

    fn len(&self) -> u64 {
        match &self.entries {
            Kind::Listed(listed) => listed.len() as u64,
            Kind::Run { len, .. } => *len,
        }
    }

    fn get(&self, position: u64) -> Option<Entry> {
        match &self.entries {
            Kind::Listed(listed) => listed.get(usize::try_from(position).ok()?).copied(),
            Kind::Run { first, len } => (position < *len).then(|| first.later(position)),
        }
    }

    /// Whether the entry belongs to it, which is then its last.
    fn take(&mut self, entry: Entry) -> bool {
        let after = self.len();
        match &mut self.entries {
            Kind::Listed(listed) if entry.flow_step().is_none() => {
                listed.push(entry);
                true
            }
            Kind::Run { first, len } => {
                let alike = first.later(after) == entry;
                *len += u64::from(alike);
                alike
            }
            Kind::Listed(_) => false,
        }
    }
}

impl Segments {
    /// The entry at an index.
    pub(super) fn get(&self, index: u64) -> Option<Entry> {
        let part = self.part(index)?;
        part.get(index - part.first)
    }

    /// The entry at an index, with those like it that follow.
    pub(super) fn alike(&self, index: u64) -> Option<Alike> {
        let part = self.part(index)?;
        let first = part.get(index - part.first)?;
        let count = if matches!(part.entries, Kind::Run { .. }) { part.first + part.len() - index } else { 1 };
        Some(Alike { first, count })
    }

    fn part(&self, index: u64) -> Option<&Part> {
        let last = self.parts.back()?;
        if last.first <= index {
            return Some(last);
        }
        self.parts.get(self.parts.partition_point(|part| part.first <= index).checked_sub(1)?)
    }

    /// The last entry.
    pub(super) fn last(&self) -> Option<Entry> {
        let part = self.parts.back()?;
        part.get(part.len() - 1)
    }

    /// Appends an entry, which gets this index: the next one.
    pub(super) fn push(&mut self, index: u64, entry: Entry) {
        if !self.parts.back_mut().is_some_and(|part| part.take(entry)) {
            self.parts.push_back(Part::new(index, entry));
        }
    }

    /// Appends `more` entries like the last one, which flowed.
    pub(super) fn extend(&mut self, more: u64) {
        let Some(Part { entries: Kind::Run { len, .. }, .. }) = self.parts.back_mut() else {
            unreachable!("the last entry flowed")
        };
        *len += more;
    }

    /// Removes the entries from `index` on.
    pub(super) fn truncate(&mut self, index: u64) {
        while self.parts.pop_back_if(|part| part.first >= index).is_some() {}
        if let Some(part) = self.parts.back_mut() {
            let kept = index - part.first;
            match &mut part.entries {
                Kind::Listed(listed) => listed.truncate(usize::try_from(kept).unwrap_or(usize::MAX)),
                Kind::Run { len, .. } => *len = kept.min(*len),
            }
        }
    }

    /// Forgets the entries up to and with `index`, of which there are some.
    pub(super) fn forget(&mut self, index: u64) {
        while self.parts.pop_front_if(|part| part.first + part.len() <= index + 1).is_some() {}
        let Some(part) = self.parts.front_mut().filter(|part| part.first <= index) else { return };
        let gone = index + 1 - part.first;
        let next = part.get(gone).expect("one that ends behind it");
        part.first = index + 1;
        match &mut part.entries {
            Kind::Listed(listed) => listed.forget(gone as usize),
            Kind::Run { first, len, .. } => (*first, *len) = (next, *len - gone),
        }
    }
}
