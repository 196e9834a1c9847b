//! The event queue: a 4-ary heap over `(time, sequence)`; the sequence's first bit is the [`Turn`].
//!
//! ```text
//!                     first                   the next event, or vacant just after a pop
//!         .------.------+------.
//!         a      b      c      d              groups[0]: a cache line of four keys
//!     .-.-+-.  .-+-.-.
//!     e f g h  i j k l ...                    groups[1] below a, groups[2] below b, ...
//! ```
//!
//! What makes it fast, each measured by `cargo xtask bench`:
//!
//! - Keys are single integers of 128 bits: time, sequence, and the slot of `events` where the event waits. Sifting moves keys
//!   only; four children are one cache line, their least is found without a branch, and the last group is padded with keys
//!   later than any other, so that there are always four.
//! - A pop leaves `first` vacant, and the next push sifts down from there. The usual "handle an event, schedule its successor"
//!   thus costs one sift, not two. Without a push in between, the next pop moves the last key up, as in any heap.
//! - That push's event goes into the slot of the one just handled, which is in the cache however many are pending.

use crate::time::Time;

/// Events in the order of their times; those of one time by [`Turn`], then in the order they were pushed.
///
/// Push and pop take O(log n). There is no removal: an event of a [`Timer`](crate::timer::Timer) carries a generation, and those that
/// no longer count are popped and ignored.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    /// Not later than any key of `groups`, unless vacant.
    first: Key,
    /// The event of `first` was popped and no other has taken its place; its slot is kept for the next push.
    vacant: bool,
    /// The heap below `first`: key `n` is number `n % 4` of group `n / 4`, and its children are group `n + 1`.
    groups: Vec<Group>,
    /// Keys in `groups`, the padding of its last one not counted.
    below: usize,
    /// The events, addressed by slot.
    events: Vec<E>,
    /// Slots of `events` that no key owns.
    free: Vec<u32>,
    /// Sequence of the next push of each turn.
    sequence: [u32; 2],
}

/// When an event has its turn among those of one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// In the order in which they were pushed.
    #[default]
    First,
    /// After all that have the first turn.
    Last,
}

/// The first sequence of each turn.
const SEQUENCES: [u32; 2] = [0, 1 << 31];
/// Where the sequences of each turn end: the last of all belongs to no event.
const SEQUENCES_END: [u32; 2] = [SEQUENCES[1], u32::MAX];

const ARITY: usize = 4;

/// Time (64 bits), sequence (32), slot (32): ordered as an integer, the earlier bits first. The slot never decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

/// Siblings: the children of one key, in a cache line of their own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Key; ARITY]);

impl Key {
    /// After every event: no event has this sequence (see [`EventQueue::push`]).
    const PADDING: Self = Self(u128::MAX);

    const fn new(at: Time, sequence: u32, slot: u32) -> Self {
        Self((at.as_nanos() as u128) << 64 | (sequence as u128) << 32 | slot as u128)
    }

    const fn at(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    const fn slot(self) -> u32 {
        self.0 as u32
    }

    const fn turn(self) -> usize {
        ((self.0 >> 32) as u32 >= SEQUENCES[1]) as usize
    }
}

impl Group {
    /// The first of the four.
    #[inline]
    fn least(&self) -> (usize, Key) {
        // Indices, not keys, are selected: this compiles to conditional moves, without a branch that nobody could predict.
        let keys = &self.0;
        let left = usize::from(keys[1] < keys[0]);
        let right = 2 + usize::from(keys[3] < keys[2]);
        let least = if keys[right] < keys[left] { right } else { left };
        (least, keys[least])
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            first: Key::PADDING,
            vacant: true,
            groups: Vec::new(),
            below: 0,
            events: Vec::new(),
            free: Vec::new(),
            sequence: SEQUENCES,
        }
    }
}

impl<E: Copy> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: Time, event: E) {
        self.push_for(Turn::First, at, event);
    }

    /// Adds an event that has this turn.
    #[inline]
    pub fn push_for(&mut self, turn: Turn, at: Time, event: E) {
        let turn = turn as usize;
        if self.sequence[turn] == SEQUENCES_END[turn] {
            self.renumber();
        }
        let sequence = self.sequence[turn];
        self.sequence[turn] += 1;
        if self.vacant {
            let slot = self.store_in(self.first.slot(), event);
            self.vacant = false;
            self.sift_down(Key::new(at, sequence, slot));
        } else {
            let slot = self.free.pop().unwrap_or(u32::MAX);
            let slot = self.store_in(slot, event);
            self.sift_up(Key::new(at, sequence, slot));
        }
    }

    /// Removes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_until(Time::MAX)
    }

    /// Removes the first event if it is not later than `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, E)> {
        if self.vacant {
            let last = self.remove_last()?;
            self.free.push(self.first.slot());
            self.vacant = false;
            self.sift_down(last);
        }
        let (at, slot) = (self.first.at(), self.first.slot());
        if at > until {
            return None;
        }
        self.vacant = true;
        Some((at, self.events[slot as usize]))
    }

    /// The time of the first event.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        if self.vacant { self.groups.first().map(|group| group.least().1.at()) } else { Some(self.first.at()) }
    }

    /// Events pending.
    pub const fn len(&self) -> usize {
        self.below + !self.vacant as usize
    }

    /// Nothing is pending.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an event into `slot`, or into a new one where there is no such; which.
    #[inline]
    fn store_in(&mut self, slot: u32, event: E) -> u32 {
        if let Some(place) = self.events.get_mut(slot as usize) {
            *place = event;
            slot
        } else {
            let slot = u32::try_from(self.events.len()).expect("fewer than 2^32 events are pending");
            self.events.push(event);
            slot
        }
    }

    /// Fills the vacancy of `first`: `key` goes there or down to its place, what is earlier moves up.
    #[inline]
    fn sift_down(&mut self, key: Key) {
        let Some(top) = self.groups.first() else {
            self.first = key;
            return;
        };
        let (index, least) = top.least();
        if key < least {
            self.first = key;
            return;
        }
        self.first = least;
        let mut hole = index;
        while let Some(children) = self.groups.get(hole + 1) {
            let (index, least) = children.least();
            if key < least {
                break;
            }
            self.set(hole, least);
            hole = (hole + 1) * ARITY + index;
        }
        self.set(hole, key);
    }

    /// Adds `key` after the last and moves it up to its place, what is later moves down.
    #[inline]
    fn sift_up(&mut self, key: Key) {
        let mut hole = self.below;
        self.below += 1;
        if hole.is_multiple_of(ARITY) {
            self.groups.push(Group([Key::PADDING; ARITY]));
        }
        while hole >= ARITY {
            let parent = hole / ARITY - 1;
            let above = self.get(parent);
            if above < key {
                self.set(hole, key);
                return;
            }
            self.set(hole, above);
            hole = parent;
        }
        let later = if key < self.first { std::mem::replace(&mut self.first, key) } else { key };
        self.set(hole, later);
    }

    #[inline]
    fn get(&self, n: usize) -> Key {
        self.groups[n / ARITY].0[n % ARITY]
    }

    #[inline]
    fn set(&mut self, n: usize, key: Key) {
        self.groups[n / ARITY].0[n % ARITY] = key;
    }

    /// Takes the last key out of `groups`.
    #[inline]
    fn remove_last(&mut self) -> Option<Key> {
        self.below = self.below.checked_sub(1)?;
        let key = self.get(self.below);
        self.set(self.below, Key::PADDING);
        if self.below.is_multiple_of(ARITY) {
            self.groups.pop();
        }
        Some(key)
    }

    /// Gives the pending events the first sequences of their turns in their order: once in 2^31 pushes.
    #[cold]
    fn renumber(&mut self) {
        let mut keys: Vec<Key> = self.groups.iter().flat_map(|group| group.0).take(self.below).collect();
        if !self.vacant {
            keys.push(self.first);
        }
        keys.sort_unstable();
        if self.vacant {
            self.free.extend((self.first != Key::PADDING).then(|| self.first.slot()));
            self.first = Key::PADDING;
        }
        (self.groups, self.below, self.vacant, self.sequence) = (Vec::new(), 0, true, SEQUENCES);
        for key in keys {
            // In ascending order each stays where it is put.
            let turn = key.turn();
            let key = Key::new(key.at(), self.sequence[turn], key.slot());
            self.sequence[turn] += 1;
            if std::mem::take(&mut self.vacant) { self.first = key } else { self.sift_up(key) }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The order of events by definition: sorted by time and turn, stably.
    #[derive(Clone, Default)]
    struct Model(Vec<((Time, Turn), u32)>);

    impl Model {
        fn push(&mut self, turn: Turn, at: Time, event: u32) {
            let place = (at, turn);
            self.0.insert(self.0.partition_point(|&(other, _)| other <= place), (place, event));
        }

        fn pop_until(&mut self, until: Time) -> Option<(Time, u32)> {
            let due = self.0.first().is_some_and(|&((at, _), _)| at <= until);
            due.then(|| self.0.remove(0)).map(|((at, _), event)| (at, event))
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(Turn, u64),
        Pop,
        PopUntil(u64),
        /// Goes on with a clone; the original is emptied at the end.
        Fork,
        Renumber,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // Few different times: many ties.
        let time = prop_oneof![8 => 0..20_u64, 1 => Just(u64::MAX)];
        let turn = prop_oneof![Just(Turn::First), Just(Turn::Last)];
        let step = prop_oneof![
            30 => (turn, time.clone()).prop_map(|(turn, at)| Step::Push(turn, at)),
            20 => Just(Step::Pop),
            4 => time.prop_map(Step::PopUntil),
            1 => Just(Step::Fork),
            1 => Just(Step::Renumber),
        ];
        prop::collection::vec(step, 0..400)
    }

    fn drain(mut queue: EventQueue<u32>) -> Vec<(Time, u32)> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    proptest! {
        #[test]
        fn behaves_as_a_sorted_list(steps in steps()) {
            let (mut queue, mut model) = (EventQueue::new(), Model::default());
            let mut forks = Vec::new();
            for (event, step) in (0..).zip(steps) {
                match step {
                    Step::Push(turn, at) => {
                        queue.push_for(turn, Time::from_nanos(at), event);
                        model.push(turn, Time::from_nanos(at), event);
                    }
                    Step::Pop => prop_assert_eq!(queue.pop(), model.pop_until(Time::MAX)),
                    Step::PopUntil(at) => {
                        let until = Time::from_nanos(at);
                        prop_assert_eq!(queue.pop_until(until), model.pop_until(until));
                    }
                    Step::Fork => {
                        let copy = queue.clone();
                        forks.push((std::mem::replace(&mut queue, copy), model.clone()));
                    }
                    Step::Renumber => queue.sequence = SEQUENCES_END,
                }
                prop_assert_eq!(queue.len(), model.0.len());
                prop_assert_eq!(queue.is_empty(), model.0.is_empty());
                prop_assert_eq!(queue.next_time(), model.0.first().map(|&((at, _), _)| at));
                let owned = queue.len() + usize::from(queue.vacant && queue.first != Key::PADDING);
                prop_assert_eq!(queue.events.len(), owned + queue.free.len(), "every slot is owned or free");
            }
            forks.push((queue, model));
            for (queue, model) in forks {
                let left: Vec<_> = model.0.into_iter().map(|((at, _), event)| (at, event)).collect();
                prop_assert_eq!(drain(queue), left);
            }
        }
    }

    #[test]
    fn equal_times_leave_as_they_came() {
        let mut queue = EventQueue::new();
        for event in 0..1_000 {
            queue.push(Time::from_nanos(7), event);
        }
        assert!(drain(queue).into_iter().map(|(_, event)| event).eq(0..1_000));
    }

    #[test]
    fn a_slot_is_used_again() {
        let mut queue = EventQueue::new();
        for at in 0..100 {
            queue.push(Time::from_nanos(at), at);
            queue.push(Time::from_nanos(at), at);
            assert!(queue.pop().is_some() && queue.pop().is_some());
        }
        assert_eq!((queue.len(), queue.events.len()), (0, 2));
    }

    #[test]
    fn the_end_of_time_is_a_time() {
        let mut queue = EventQueue::new();
        queue.push(Time::MAX, 'a');
        assert_eq!(queue.pop_until(Time::ZERO), None);
        assert_eq!(queue.pop(), Some((Time::MAX, 'a')));
        assert_eq!(queue.pop(), None);
    }
}
