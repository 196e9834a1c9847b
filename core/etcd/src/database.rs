//! The database of a member as a file: what lives in it, what compaction will free, and what is free already (`bbolt`, `mvcc`).
//!
//! ```text
//!  write --> grows into free pages, then the file --superseded--> compaction --> free pages --defragmentation--> none
//! ```
//!
//! The quota counts the file, free pages included. [`space`](crate::space) has what is refused beyond it, and the rewriting of the file,
//! which alone makes it smaller.
//!
//! A write keeps the revision that it supersedes until a compaction beyond it. API servers compact to the revision of the compaction
//! before (apiserver `storage/etcd3/compact.go`), so what was superseded since then stays until the next one.

/// A database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Database {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes that were ever written to it.
    pub written: u64,
    /// The NOSPACE alarm is on: nothing that grows is written.
    pub no_space: bool,
    /// Times the file was rewritten.
    defragmented: u32,
    free: u64,
    /// Bytes of superseded revisions: from before the last compaction, and since.
    superseded: [u64; 2],
}

/// What a write, or many, do to a database, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Of the new revisions.
    pub grows: u64,
    /// Of those that they supersede.
    pub supersedes: u64,
}

impl Growth {
    /// What both do together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { grows: self.grows + other.grows, supersedes: self.supersedes + other.supersedes }
    }

    /// The same so many times.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self { grows: self.grows * count, supersedes: self.supersedes * count }
    }
}

impl Database {
    /// A file of this size that holds nothing but what lives.
    pub const fn new(file_bytes: u64) -> Self {
        Self { file_bytes, written: 0, no_space: false, defragmented: 0, free: 0, superseded: [0; 2] }
    }

    /// Something is written.
    pub fn write(&mut self, Growth { grows, supersedes }: Growth) {
        let reused = self.free.min(grows);
        self.free -= reused;
        self.file_bytes += grows - reused;
        self.written += grows;
        self.superseded[1] += supersedes;
    }

    /// Something is written, and as much as it supersedes is freed meanwhile.
    pub fn write_compacted(&mut self, Growth { grows, supersedes }: Growth) {
        let reused = (self.free + supersedes).min(grows);
        self.free = self.free + supersedes - reused;
        self.file_bytes += grows - reused;
        self.written += grows;
    }

    /// What was written, and never reached the file, is gone.
    pub fn take_back(&mut self, Growth { grows, supersedes }: Growth) {
        self.file_bytes = self.file_bytes.saturating_sub(grows);
        self.written = self.written.saturating_sub(grows);
        self.superseded[1] = self.superseded[1].saturating_sub(supersedes);
    }

    /// What was superseded before the compaction before this one is free.
    pub const fn compact(&mut self) {
        let [before, since] = self.superseded;
        self.free += before;
        self.superseded = [since, 0];
    }

    /// All that was superseded is free.
    pub const fn compact_all(&mut self) {
        self.compact();
        self.compact();
    }

    /// Bytes of the pages that are not free.
    pub const fn in_use(&self) -> u64 {
        self.file_bytes.saturating_sub(self.free)
    }

    /// Bytes that can be written before the file is as large as this; none where it is, whatever is free in it.
    pub const fn headroom(&self, limit: u64) -> u64 {
        if self.file_bytes < limit { limit - self.in_use() } else { 0 }
    }

    /// The file is rewritten without its free pages.
    pub const fn defragment(&mut self) {
        self.file_bytes = self.in_use();
        self.free = 0;
        self.defragmented += 1;
    }

    /// It holds what another member's holds. A file that was rewritten less or more often than that one has its own size.
    pub fn adopt(&mut self, other: Self) {
        if self.defragmented == other.defragmented {
            *self = other;
            return;
        }
        let file_bytes = self.file_bytes.max(other.in_use());
        *self = Self { file_bytes, free: file_bytes - other.in_use(), defragmented: self.defragmented, ..other };
    }

    /// It has been written to for ever: what `interval` writes from one compaction to the next; the last one was a share of that ago.
    pub fn settle_in(&mut self, interval: u64, since: u64) {
        let kept = (interval + since).min(self.file_bytes);
        self.superseded = [kept.saturating_sub(since), kept.min(since)];
        self.free = (interval - since).min(self.file_bytes - kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_grows_until_compaction_frees_as_much_as_is_written() {
        let mut database = Database::new(1_000);
        let each = Growth { grows: 100, supersedes: 100 };
        let mut sizes = Vec::new();
        for _ in 0..4 {
            database.write(each);
            sizes.push(database.file_bytes);
            database.compact();
        }
        assert_eq!((sizes, database.written), (vec![1_100, 1_200, 1_200, 1_200], 400));
        // As if that had gone on for ever: half an interval later.
        let mut database = Database::new(1_000);
        database.settle_in(100, 50);
        for grows in [50, 100, 100] {
            database.write(Growth { grows, supersedes: grows });
            assert_eq!(database.file_bytes, 1_000);
            database.compact();
        }
        // What creates objects makes it grow.
        database.write(Growth { grows: 300, supersedes: 0 });
        assert_eq!(database.file_bytes, 1_200);
    }

    #[test]
    fn only_rewriting_makes_a_file_smaller() {
        let mut database = Database::new(1_000);
        database.write(Growth { grows: 600, supersedes: 600 });
        database.compact();
        // API servers compact to the revision of the compaction before; an operator to the present one.
        assert_eq!((database.file_bytes, database.in_use()), (1_600, 1_600));
        database.compact_all();
        assert_eq!((database.file_bytes, database.in_use()), (1_600, 1_000));
        assert_eq!([1_600, 1_601, 2_000].map(|limit| database.headroom(limit)), [0, 601, 1_000]);
        let mut rewritten = database;
        rewritten.defragment();
        assert_eq!((rewritten.file_bytes, rewritten.in_use()), (1_000, 1_000));
        // The same is written to both files from then on.
        database.write(Growth { grows: 100, supersedes: 0 });
        rewritten.adopt(database);
        assert_eq!((rewritten.file_bytes, rewritten.in_use(), database.file_bytes), (1_100, 1_100, 1_600));
        database.adopt(rewritten);
        assert_eq!((database.file_bytes, database.in_use()), (1_600, 1_100));
    }
}
