//! The floor: what a loop costs that does this model and nothing else.
//!
//! Two heaps, each used as well as it can be: the loop knows that a fired timer is pushed again at once and puts the new event in the
//! place of the old one, which costs one sift instead of two. The faster of both is the floor.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::{Contender, Fired, Model, Stretch, Tally};

#[derive(Clone, Copy)]
struct Entry {
    at: u64,
    sequence: u64,
    timer: u32,
    generation: u32,
}

impl Entry {
    /// Time, then sequence, as one integer: a comparison without a branch.
    const fn key(&self) -> u128 {
        (self.at as u128) << 64 | self.sequence as u128
    }
}

/// The timers, and the entry of each newly armed one.
struct Timers {
    armed: Vec<u32>,
    sequence: u64,
    model: Model,
}

impl Timers {
    fn new(timers: u32) -> Self {
        Self { armed: vec![0; timers as usize], sequence: 0, model: Model::new(timers) }
    }

    fn first(&mut self, timer: u32) -> Entry {
        let at = self.model.delay();
        self.arm(at, timer)
    }

    fn arm(&mut self, at: u64, timer: u32) -> Entry {
        let armed = &mut self.armed[timer as usize];
        *armed += 1;
        self.sequence += 1;
        Entry { at, sequence: self.sequence, timer, generation: *armed }
    }

    fn is_stale(&self, entry: &Entry) -> bool {
        self.armed[entry.timer as usize] != entry.generation
    }
}

/// A heap with four children to a node, in a vector.
pub(super) struct FourAry {
    heap: Vec<Entry>,
    timers: Timers,
}

impl FourAry {
    pub(super) fn new(timers: u32) -> Self {
        let mut this = Self { heap: Vec::new(), timers: Timers::new(timers) };
        for timer in 0..timers {
            let entry = this.timers.first(timer);
            this.push(entry);
        }
        this
    }

    fn push(&mut self, entry: Entry) {
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent].key() < entry.key() {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    fn remove_first(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.replace_first(last);
        }
    }

    fn replace_first(&mut self, entry: Entry) {
        let mut hole = 0;
        loop {
            let first = hole * 4 + 1;
            let least = if let Some([a, b, c, d]) = self.heap.get(first..first + 4) {
                let left = usize::from(b.key() < a.key());
                let right = 2 + usize::from(d.key() < c.key());
                let children = &self.heap[first..first + 4];
                first + if children[right].key() < children[left].key() { right } else { left }
            } else {
                let children = first..self.heap.len();
                let Some(least) = children.min_by_key(|&child| self.heap[child].key()) else { break };
                least
            };
            if entry.key() < self.heap[least].key() {
                break;
            }
            self.heap[hole] = self.heap[least];
            hole = least;
        }
        self.heap[hole] = entry;
    }
}

impl Contender for FourAry {
    fn run(&mut self, stretch: Stretch) {
        while let Some(&entry) = self.heap.first().filter(|entry| entry.at <= stretch.until) {
            if self.timers.is_stale(&entry) {
                self.remove_first();
                continue;
            }
            let Fired { delay, reset } = self.timers.model.fire(entry.at, entry.timer);
            let again = self.timers.arm(entry.at + delay, entry.timer);
            self.replace_first(again);
            if let Some((timer, delay)) = reset {
                let reset = self.timers.arm(entry.at + delay, timer);
                self.push(reset);
            }
        }
    }

    fn tally(&mut self) -> Tally {
        self.timers.model.tally
    }
}

/// The standard library's heap.
pub(super) struct Binary {
    heap: BinaryHeap<Earlier>,
    timers: Timers,
}

/// Greater when earlier, for a heap whose greatest comes first (as `Reverse`, but for the key that is made for the comparison).
#[derive(Clone, Copy)]
struct Earlier(Entry);

impl Ord for Earlier {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.key().cmp(&self.0.key())
    }
}

impl PartialOrd for Earlier {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Earlier {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Eq for Earlier {}

impl Binary {
    pub(super) fn new(timers: u32) -> Self {
        let mut table = Timers::new(timers);
        let heap = (0..timers).map(|timer| Earlier(table.first(timer))).collect();
        Self { heap, timers: table }
    }
}

impl Contender for Binary {
    fn run(&mut self, stretch: Stretch) {
        loop {
            let Some(mut first) = self.heap.peek_mut() else { break };
            let entry = first.0;
            if entry.at > stretch.until {
                break;
            }
            if self.timers.is_stale(&entry) {
                PeekMut::pop(first);
                continue;
            }
            let Fired { delay, reset } = self.timers.model.fire(entry.at, entry.timer);
            first.0 = self.timers.arm(entry.at + delay, entry.timer);
            drop(first);
            if let Some((timer, delay)) = reset {
                self.heap.push(Earlier(self.timers.arm(entry.at + delay, timer)));
            }
        }
    }

    fn tally(&mut self) -> Tally {
        self.timers.model.tally
    }
}
