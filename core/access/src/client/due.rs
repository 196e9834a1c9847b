//! When a client acts next.

use super::{Client, Dial, Handshake, Selector, State};
use crate::connection::ClientCtx;
use crate::dial::next_syn;
use zonefall_kernel::time::Time;

impl Client {
    /// When its next timer fires.
    pub(crate) fn next_due(&self, ctx: &ClientCtx<'_>) -> Option<Time> {
        let now = ctx.now;
        // A connection that was silent at that time is closed once packets pass again.
        let goes_away = self.goes_away.filter(|_| matches!(self.state, State::Open { .. })).map(|at| at.max(now));
        let reads = self.book.as_ref().filter(|_| matches!(self.state, State::Open { answers: true, .. }));
        let read = reads.and_then(|book| book.next_read(ctx.endpoints, ctx.stepping, now));
        self.next_step(now).into_iter().chain(goes_away).chain(read).min()
    }

    /// The same, but for connections that servers close.
    fn next_step(&self, now: Time) -> Option<Time> {
        match &self.state {
            State::Open { .. } if self.goes_to_and_fro(now) => Some(now + self.timings.period + self.jitter),
            // It chooses with its next request.
            State::Open { .. } if self.is_simulated => None,
            State::Open { attempt, advertises, .. } if attempt.is_alternative && !advertises => {
                let expires = self.selector.as_ref().and_then(Selector::expires);
                expires.map(|at| at + self.jitter).filter(|at| *at > now)
            }
            State::Open { attempt, .. } => {
                let free = self.selector.as_ref().filter(|_| !attempt.is_alternative)?.alternatives().next_free();
                free.map(|at| at + self.jitter).filter(|at| *at > now)
            }
            State::Silent { until, .. } | State::Waits(until) => Some(*until),
            State::Dials(Dial { handshake: Handshake::Backlog(_), until, .. }) => Some(*until),
            State::Dials(dial) => Some(next_syn(dial.since + self.jitter, now).map_or(dial.until, |syn| syn.min(dial.until))),
        }
    }
}
