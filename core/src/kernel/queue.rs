//! The event queue: a 4-ary heap over `(time, sequence)`.

use crate::kernel::time::Time;

/// Events in the order of their times; equal times in the order they were pushed.
///
/// Push and pop take O(log n). There is no removal: a timer that may be cancelled carries a generation, and its handler ignores
/// it when the generation has moved on.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    sequence: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), sequence: 0 }
    }
}

impl<E> Entry<E> {
    fn key(&self) -> (Time, u64) {
        (self.at, self.sequence)
    }
}

const ARITY: usize = 4;

impl<E: Copy> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event.
    pub fn push(&mut self, at: Time, event: E) {
        let entry = Entry { at, sequence: self.sequence, event };
        self.sequence += 1;
        self.heap.push(entry);
        let mut hole = self.heap.len() - 1;
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent].key() <= self.heap[hole].key() {
                break;
            }
            self.heap.swap(parent, hole);
            hole = parent;
        }
    }

    /// Removes the first event.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        if self.heap.is_empty() {
            return None;
        }
        let first = self.heap.swap_remove(0);
        let mut hole = 0;
        loop {
            let children = hole * ARITY + 1..(hole * ARITY + 1 + ARITY).min(self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.heap[child].key()) else { break };
            if self.heap[hole].key() <= self.heap[least].key() {
                break;
            }
            self.heap.swap(hole, least);
            hole = least;
        }
        Some((first.at, first.event))
    }

    /// The time of the first event.
    pub fn next_time(&self) -> Option<Time> {
        self.heap.first().map(|entry| entry.at)
    }

    /// Events pending.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
