//! What is known of each index, for the last of them: bounded memory for logs without end (the properties of Figure 3 in the raft paper).

use std::collections::VecDeque;

/// Indices kept; older ones are forgotten, which is to say no longer compared.
pub(super) const WINDOW: usize = 1 << 18;

/// Values by consecutive index.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    first: u64,
    values: VecDeque<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { first: 0, values: VecDeque::new() }
    }
}

impl<T> Table<T> {
    /// The value at an index, if it is kept.
    pub(super) fn get(&self, index: u64) -> Option<&T> {
        self.values.get(index.checked_sub(self.first)? as usize)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, index: u64) -> Option<&mut T> {
        self.values.get_mut(index.checked_sub(self.first)? as usize)
    }

    /// The index after the last; `None` where there is none yet.
    pub(super) fn end(&self) -> Option<u64> {
        if self.values.is_empty() { None } else { Some(self.first + self.values.len() as u64) }
    }

    /// Sets the value of the index after the last. Anywhere further on, the table starts anew there.
    pub(super) fn push(&mut self, index: u64, value: T) {
        if self.end() != Some(index) {
            self.values.clear();
            self.first = index;
        }
        self.values.push_back(value);
        if self.values.len() > WINDOW {
            self.values.pop_front();
            self.first += 1;
        }
    }
}
