//! Timers: a deadline that moves, and the generation that tells the event of the present one from those before.
//!
//! ```text
//!  arm(t1) -> g1 --queued--> (t1, g1)
//!  arm(t2) -> g2 --queued--> (t2, g2)      (the queue still holds the first)
//!  (t1, g1) is popped: fires(g1)? no
//!  (t2, g2) is popped: fires(g2)? yes, once: the timer is disarmed
//! ```
//!
//! The queue removes nothing: whoever owns a timer puts the generation into the event, and asks the timer when the event is popped. An
//! owner that begins again keeps its timers, cancelled: with new ones the events of its life before would fire.

use crate::time::Time;

/// Number of the arming that an event was queued for. It comes again after 2^32 armings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generation(u32);

impl Generation {
    /// Generation before the first arming: no event of a timer has it.
    pub const ZERO: Self = Self(0);

    /// The generation after this one, for owners that number what they wait for themselves.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// A deadline, and the generation of the event that was queued for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer {
    deadline: Time,
    generation: Generation,
    // Beside the generation: an `Option` of the deadline would take 8 bytes more.
    armed: bool,
}

impl Timer {
    /// A timer that is not armed.
    pub const fn new() -> Self {
        Self { deadline: Time::ZERO, generation: Generation::ZERO, armed: false }
    }

    /// Sets the deadline. The generation belongs into the event that is queued for it; events of earlier generations are void.
    #[must_use]
    pub const fn arm(&mut self, deadline: Time) -> Generation {
        *self = Self { deadline, generation: self.generation.next(), armed: true };
        self.generation
    }

    /// Moves the deadline, or takes it away. Where an event must be queued for the new one: when, and its generation. A deadline that is
    /// the same keeps its event.
    #[must_use]
    pub fn rearm(&mut self, deadline: Option<Time>) -> Option<(Time, Generation)> {
        if deadline == self.deadline() {
            return None;
        }
        self.cancel();
        deadline.map(|at| (at, self.arm(at)))
    }

    /// Takes the deadline away: events queued so far are void.
    pub const fn cancel(&mut self) {
        self.armed = false;
    }

    /// Whether an event of this generation fires the timer.
    pub fn is_due(&self, generation: Generation) -> bool {
        self.armed && self.generation == generation
    }

    /// Whether an event of this generation, which was popped, fires the timer. It is disarmed then.
    #[must_use]
    pub fn fires(&mut self, generation: Generation) -> bool {
        let fires = self.is_due(generation);
        self.armed &= !fires;
        fires
    }

    /// The deadline, while the timer is armed.
    pub fn deadline(&self) -> Option<Time> {
        self.armed.then_some(self.deadline)
    }

    /// Whether there is a deadline.
    pub const fn is_armed(&self) -> bool {
        self.armed
    }
}

// Members of etcd have a dozen, and clones of a run hold them all.
const _: () = assert!(size_of::<Timer>() == 16);

#[cfg(test)]
mod tests {
    use super::*;

    const AT: [Time; 2] = [Time::from_nanos(10), Time::from_nanos(20)];

    #[test]
    fn timer_fires_once_for_its_latest_deadline() {
        let mut timer = Timer::new();
        assert_eq!(timer.deadline(), None);
        assert!(!timer.fires(Generation::default()), "a timer that was never armed");
        let first = timer.arm(AT[1]);
        let second = timer.arm(AT[0]);
        assert_eq!(timer.deadline(), Some(AT[0]));
        assert!(!timer.is_due(first) && timer.is_due(second));
        assert!(!timer.fires(first), "the deadline has moved");
        assert!(timer.is_armed(), "an event that is void leaves the timer armed");
        assert!(timer.fires(second));
        assert!(!timer.is_armed() && !timer.fires(second), "it fires once");
    }

    #[test]
    fn cancelled_timer_never_fires_for_what_was_queued() {
        let mut timer = Timer::new();
        let before = timer.arm(AT[0]);
        timer.cancel();
        assert_eq!(timer.deadline(), None);
        assert!(!timer.fires(before));
        let after = timer.arm(AT[0]);
        assert!(!timer.fires(before), "armed again for the same moment");
        assert!(timer.fires(after));
    }

    #[test]
    fn unchanged_deadline_queues_no_event() {
        let mut timer = Timer::new();
        assert_eq!(timer.rearm(None), None);
        let (at, first) = timer.rearm(Some(AT[0])).expect("a first deadline");
        assert_eq!(at, AT[0]);
        assert_eq!(timer.rearm(Some(AT[0])), None);
        assert!(timer.is_due(first), "the event that is queued counts");
        let (at, second) = timer.rearm(Some(AT[1])).expect("another deadline");
        assert_eq!(at, AT[1]);
        assert!(!timer.is_due(first) && timer.is_due(second));
        assert_eq!(timer.rearm(None), None);
        assert!(!timer.is_due(second), "there is no deadline");
        let third = timer.rearm(Some(AT[1])).expect("a deadline again");
        assert!(timer.fires(third.1));
        assert!(timer.rearm(Some(AT[1])).is_some(), "it has fired: the same moment needs another event");
    }

    #[test]
    fn generations_go_round() {
        let mut timer = Timer { generation: Generation(u32::MAX), ..Timer::new() };
        let generation = timer.arm(AT[0]);
        assert_eq!(generation, Generation(0));
        assert!(timer.fires(generation));
    }
}
