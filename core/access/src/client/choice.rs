//! Which alternative a client chooses for a request, and what it learns from a response and from a failure.

use super::dials::ORIGIN;
use super::{Address, BACK_OFF, Client, MAX_BACK_OFF, State};
use crate::alt_svc::Rules;
use crate::alt_svc::client::{Answer, Attempt, Next};
use crate::connection::{ClientCtx, Connection};
use crate::requests::InFlight;
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::HostId;

impl Client {
    /// Its connection is open. Every response lists alternatives; the next request goes to one of them.
    pub(super) fn connected(
        &mut self,
        attempt: Attempt<Address>,
        connection: Connection,
        (way, wait): (Duration, Duration),
        ctx: &ClientCtx<'_>,
    ) {
        let server = &ctx.servers[&connection.server];
        let listed: Vec<Address> = server.list().iter().copied().map(Address::Server).collect();
        let (answers, advertises) = (server.view.answers, !listed.is_empty());
        self.state = State::Open { attempt, connection, way, wait, answers, advertises };
        (self.failures, self.dialled, self.list_expired) = (0, None, false);
        let answered = self.last_answer(ctx.now);
        let Some(selector) = &mut self.selector else { return };
        let is_local = |address: &Address| is_on(self.host, *address, ctx);
        let listed = (!listed.is_empty()).then_some(listed);
        if let Some(at) = answered {
            selector.answered(&attempt, Answer::Response { listed }, at, is_local);
        }
        if self.is_simulated && !self.sends {
            return;
        }
        if self.moves.0 != ctx.now {
            self.moves = (ctx.now, 0);
        }
        if self.goes_to_and_fro(ctx.now) {
            return;
        }
        let next = self.choose(ctx.now);
        if next.to != attempt.to {
            self.moves.1 += 1;
            self.ended = InFlight::Answered;
            self.dial(next, ctx);
        }
    }

    /// When the last answer came that it has not followed yet.
    fn last_answer(&mut self, now: Time) -> Option<Time> {
        if self.is_simulated { self.answered.take() } else { Some(now) }
    }

    /// Where a request goes that is sent now.
    pub(super) fn choose(&mut self, now: Time) -> Attempt<Address> {
        let (draws, drawn) = (self.draws, &mut self.drawn);
        let Some(selector) = &mut self.selector else { return ORIGIN };
        let expires = selector.expires().is_some_and(|at| at <= now);
        let chosen = selector.choose(&Address::Origin, now, |n| {
            *drawn += 1;
            draws.draw(*drawn).below(n as u64) as usize
        });
        self.list_expired |= expires && !chosen.is_alternative;
        chosen
    }

    /// The original host does not reply. A request that is sent now may go to an alternative whose block is over.
    pub(super) fn leave_origin(&mut self, attempt: Attempt<Address>, ctx: &ClientCtx<'_>) {
        if !self.sends || attempt.is_alternative || self.selector.is_none() {
            return;
        }
        let next = self.choose(ctx.now);
        if next.is_alternative {
            self.ended = InFlight::Expire { at_alternative: false };
            self.dial(next, ctx);
        }
    }

    /// The last of many responses on a connection: if the server advertised alternatives, the list is as old as that response.
    pub(super) fn renew_list(&mut self, attempt: Attempt<Address>, advertises: bool, now: Time) {
        let answered = self.last_answer(now);
        if let Some((selector, at)) = self.selector.as_mut().zip(answered) {
            let listed = || selector.alternatives().listed().iter().map(|entry| entry.authority).collect();
            let listed = advertises.then(listed);
            selector.answered(&attempt, Answer::Response { listed }, at, |_| false);
        }
    }

    /// An attempt has failed. `expired`: because its request timed out.
    pub(super) fn fail(&mut self, attempt: Attempt<Address>, expired: bool, ctx: &ClientCtx<'_>) {
        if self.dial_next_of_dialer(ctx) {
            return;
        }
        if let Some(book) = &mut self.book {
            book.failed(ctx.now);
        }
        // Retries of the prototype share the context that has expired: each fails before it is sent.
        if expired && self.selector.as_ref().is_some_and(|selector| selector.rules() == Rules::Code) {
            self.expired = Some(attempt);
            self.ended = InFlight::Expire { at_alternative: true };
            self.retry_in_vain(attempt, ctx.now);
        } else if let Some(next) = self.next_attempt(&attempt, ctx.now) {
            return self.dial(next, ctx);
        }
        let wait = match (expired, self.is_simulated) {
            // Its next request goes to the original host at once.
            (true, true) => Duration::ZERO,
            (true, false) => self.timings.period,
            (false, _) => BACK_OFF * (1 << self.failures.min(10)),
        };
        self.failures += 1;
        self.state = State::Waits(ctx.now + wait.min(MAX_BACK_OFF) + self.jitter);
    }

    /// Where a request goes next that failed here; `None`: its caller gets the error.
    fn next_attempt(&mut self, failed: &Attempt<Address>, now: Time) -> Option<Attempt<Address>> {
        let next = self.selector.as_mut()?.answered(failed, Answer::NetworkError, now, |_| false);
        (next == Next::Retry).then(|| self.choose(now))
    }

    fn retry_in_vain(&mut self, mut failed: Attempt<Address>, now: Time) {
        while let Some(next) = self.next_attempt(&failed, now) {
            failed = next;
        }
    }

    /// Another request of the alternative whose requests expire has timed out.
    pub(crate) fn request_expired(&mut self, now: Time) {
        if let Some(attempt) = self.expired {
            self.retry_in_vain(attempt, now);
        }
    }
}

fn is_on(host: HostId, address: Address, ctx: &ClientCtx<'_>) -> bool {
    match address {
        Address::Origin => false,
        Address::Server(key) => ctx.balancer.host(key) == Some(host),
    }
}
