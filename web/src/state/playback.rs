//! The playhead: where it is, how fast it moves, and where it stops by itself.
//!
//! It follows the simulation: where that has not come yet, the playhead waits and goes on by itself.

use zonefall_core::kernel::time::{Duration, Time};

/// The playhead of the shown branch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Playback {
    /// Time of the playhead.
    pub at: Time,
    /// Whether the playhead moves.
    pub playing: bool,
    /// Simulated seconds per second: 0.001 to 100,000.
    pub speed: f64,
    /// Pauses by itself when it gets here.
    pub pause_at: Option<Time>,
    /// Where it last paused by itself: there is something to see.
    pub arrived: Option<Time>,
}

/// Commands, as rerun's time control takes them.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaybackCommand {
    /// Play or pause. At the end, play starts over.
    Toggle,
    /// The playhead moves from now on.
    Play,
    /// The playhead goes to the next event of interest within some seconds, and stops there.
    PlayOn,
    /// The playhead stops.
    Pause,
    /// Simulated seconds per second, clamped.
    Speed(f64),
    /// To the next faster (or slower) of the usual speeds: 0.001, 0.003, 0.01 ... 100,000.
    Faster,
    /// See [`PlaybackCommand::Faster`].
    Slower,
    /// The playhead goes there.
    Seek(Time),
    /// One engine event on (`true`) or back; pauses.
    Step(bool),
    /// To the next (`true`) or previous event of interest: fault, election, outage; pauses.
    Jump(bool),
    /// To the start.
    Home,
    /// To the end of what is simulated.
    End,
    /// Real time has passed, in seconds (an animation frame).
    Tick(f64),
}

/// Slowest and fastest, in simulated seconds per second.
pub const SPEEDS: [f64; 2] = [0.001, 100_000.0];
/// At this speed and below, messages on their way can be followed with the eye.
pub const EYE_SPEED: f64 = 0.05;
/// Real time of one tick at most, in seconds: a page that slept does not leap.
const LONGEST_TICK_S: f64 = 0.25;

impl Default for Playback {
    fn default() -> Self {
        Self { at: Time::ZERO, playing: true, speed: 1.0, pause_at: None, arrived: None }
    }
}

impl Playback {
    /// The usual speeds, ascending.
    pub fn usual_speeds() -> impl DoubleEndedIterator<Item = f64> {
        const LADDER: [f64; 17] =
            [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5];
        LADDER.into_iter()
    }

    /// Whether pictures should show every message on its way.
    pub fn shows_messages(&self) -> bool {
        !self.playing || self.speed <= EYE_SPEED
    }

    pub(super) fn set_speed(&mut self, speed: f64) {
        if !speed.is_nan() {
            self.speed = speed.clamp(SPEEDS[0], SPEEDS[1]);
        }
    }

    pub(super) fn faster(&mut self) {
        let speed = Self::usual_speeds().find(|usual| *usual > self.speed * 1.000_001);
        self.speed = speed.unwrap_or(SPEEDS[1]);
    }

    pub(super) fn slower(&mut self) {
        let speed = Self::usual_speeds().rfind(|usual| *usual < self.speed * 0.999_999);
        self.speed = speed.unwrap_or(SPEEDS[0]);
    }

    pub(super) fn go(&mut self, at: Time) {
        self.at = at;
        self.pause_at = None;
    }

    /// Real time has passed; simulated up to `now`, which is the end if `over`.
    pub(super) fn tick(&mut self, seconds: f64, now: Time, over: bool) {
        if !self.playing || seconds.is_nan() || seconds <= 0.0 {
            return;
        }
        let ns = (seconds.min(LONGEST_TICK_S) * self.speed * 1e9).round() as u64;
        let reached = (self.at + Duration::from_nanos(ns.max(1))).min(now).max(self.at);
        if let Some(stop) = self.pause_at
            && self.at <= stop
            && stop <= reached
        {
            (self.at, self.playing, self.pause_at, self.arrived) = (stop, false, None, Some(stop));
            return;
        }
        self.at = reached;
        if over && reached >= now {
            (self.at, self.playing) = (now, false);
        }
    }
}

/// A moment of a report, which tells seconds.
pub(super) fn moment(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9).round() as u64)
}
