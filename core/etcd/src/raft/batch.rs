//! The entries of a message: those that flow in runs, as a log keeps them ([`segments`](super::segments)).

use super::entry::Entry;

/// A run of entries of writes that flow, which are all alike; or one other entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The first of them.
    pub first: Entry,
    /// How many there are.
    pub count: u64,
}

/// Entries in the order of their indices.
#[derive(Clone, Debug, Default)]
pub struct Batch(Vec<Alike>);

impl Alike {
    /// At most `count` of them, from the one at place `from` on.
    fn part(self, from: u64, count: u64) -> Self {
        Self { first: self.first.later(from), count: count.min(self.count - from) }
    }
}

impl Batch {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|alike| alike.count).sum()
    }

    /// One after another.
    pub fn iter(&self) -> impl Iterator<Item = Entry> {
        self.0.iter().flat_map(|alike| (0..alike.count).map(|k| alike.first.later(k)))
    }

    /// The runs, without the first `skip` entries.
    pub fn alike(&self, mut skip: u64) -> impl Iterator<Item = Alike> {
        self.0.iter().filter_map(move |alike| {
            let skipped = skip.min(alike.count);
            skip -= skipped;
            (skipped < alike.count).then(|| alike.part(skipped, alike.count))
        })
    }

    /// Appends the first `count` entries of a run.
    pub fn push(&mut self, more: Alike, count: u64) {
        let more = more.part(0, count);
        match self.0.last_mut() {
            Some(last) if last.first.flow_step().is_some() && last.first.later(last.count) == more.first => {
                last.count += more.count;
            }
            _ => self.0.push(more),
        }
    }
}

impl From<Entry> for Batch {
    fn from(first: Entry) -> Self {
        Self(vec![Alike { first, count: 1 }])
    }
}
