//! Notices that the worker does not answer any more, by counting: no clock, so a page that slept or was in the background does not
//! mistake its own absence for the worker's.

/// Ticks (seconds, roughly) without an answer before the worker counts as lost. To load thousands of control planes takes a telephone ten
/// seconds, in which nothing is answered.
const PATIENCE: u32 = 30;
/// The same before it has said that it listens: a slow line has to carry the program first.
const PATIENCE_AT_START: u32 = 120;

/// Asks "are you alive?" while something is under way.
#[derive(Clone, Debug, Default)]
pub struct Watchdog {
    ready: bool,
    /// Something was asked or told since the last ping.
    stirred: bool,
    sent: u32,
    answered: u32,
    waited: u32,
}

/// What to do at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogAction {
    /// The page does nothing.
    Quiet,
    /// Send this ping.
    Ping(u32),
    /// The worker is lost.
    Lost,
}

impl Watchdog {
    /// The worker listens.
    pub fn ready(&mut self) {
        self.ready = true;
        self.waited = 0;
    }

    /// Whether the worker listens.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Something was asked or told.
    pub fn message_received(&mut self) {
        self.stirred = true;
    }

    /// The worker answers a ping.
    pub fn pong(&mut self, n: u32) {
        self.answered = self.answered.max(n.min(self.sent));
        self.waited = 0;
    }

    /// About a second has passed.
    pub fn tick(&mut self) -> WatchdogAction {
        if self.ready && self.answered == self.sent {
            if !std::mem::take(&mut self.stirred) {
                return WatchdogAction::Quiet;
            }
            self.sent += 1;
            return WatchdogAction::Ping(self.sent);
        }
        self.waited += 1;
        let patience = if self.ready { PATIENCE } else { PATIENCE_AT_START };
        if self.waited >= patience { WatchdogAction::Lost } else { WatchdogAction::Quiet }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_noticed_while_something_is_under_way_and_only_then() {
        let mut watchdog = Watchdog::default();
        assert!((0..60).all(|_| watchdog.tick() == WatchdogAction::Quiet), "it may take its time to start");
        watchdog.ready();
        assert_eq!(watchdog.tick(), WatchdogAction::Quiet);
        watchdog.message_received();
        assert_eq!(watchdog.tick(), WatchdogAction::Ping(1));
        assert_eq!(watchdog.tick(), WatchdogAction::Quiet);
        watchdog.pong(1);
        assert_eq!(watchdog.tick(), WatchdogAction::Quiet, "nothing is under way");
        watchdog.message_received();
        assert_eq!(watchdog.tick(), WatchdogAction::Ping(2));
        watchdog.pong(1);
        watchdog.pong(77);
        watchdog.message_received();
        assert_eq!(watchdog.tick(), WatchdogAction::Ping(3), "an answer to what was never asked counts for what was");
        let ticks: Vec<_> = (0..PATIENCE).map(|_| watchdog.tick()).collect();
        let (last, before) = ticks.split_last().expect("it has patience");
        assert!(*last == WatchdogAction::Lost && before.iter().all(|tick| *tick == WatchdogAction::Quiet), "{ticks:?}");
        let mut watchdog = Watchdog::default();
        assert_eq!((0..PATIENCE_AT_START).map(|_| watchdog.tick()).last(), Some(WatchdogAction::Lost));
    }
}
