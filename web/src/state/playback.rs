//! The playhead: where it is, how fast it moves, and where it stops by itself.

use zonefall_core::kernel::time::Time;

/// The playhead of the shown branch.
#[derive(Clone, Debug, PartialEq)]
pub struct Playback {
    /// Where.
    pub at: Time,
    /// Moving.
    pub playing: bool,
    /// Simulated seconds per second: 0.001 to 100,000.
    pub speed: f64,
    /// Pauses by itself when it gets here.
    pub pause_at: Option<Time>,
}

/// Commands, as rerun's time control takes them.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaybackCommand {
    /// Play or pause. At the end, play starts over.
    Toggle,
    /// Play.
    Play,
    /// Pause.
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
