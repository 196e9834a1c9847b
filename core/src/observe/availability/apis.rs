//! Requests to APIs that were not answered within the deadline, though the state of the API said that they would be.
//!
//! The state says which share of an API's resources is served ([`Share`]). What it does not know are queues, servers that work on as many
//! requests as they may, and lost packets. So the requests that are simulated are counted, second by second, those aside that could not
//! expect to be answered in time: the share accounts for them already.
//!
//! ```text
//!  share served by state   1  ________            _________
//!                        2/3          |__________|            a part stalls
//!  requests that expect   10  9  10  10  7  6  7  10  10      to be answered in time, in each second
//!  of them late            0  0   5   5  3  0  0   0   0
//!  late                          1/2 1/2 2/7                  of what is served
//! ```
//!
//! A second counts for the part of it in which it is served, times the part of the requests that was late. Where nobody asks for a time,
//! nothing is known of it, but for what is still waited for, and for a short time between late ones ([`GAP`]). A zone that is cut off is
//! apart: what counts are the servers elsewhere, and for clients in it those inside. The late requests right before an interruption are the
//! interruption's own, as for etcd ([`late`]). They are late nevertheless for clients at vantages where that interruption was none. What
//! was late for less than a deadline in all is no outage.
//!
//! [`late`]: super::late

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::late::{Request, Rules};
use super::served::{History, Served};
use crate::ids::ZoneId;
use crate::kernel::time::{Duration, Time};
use crate::kube::record::Verb;
use crate::kube::share::Share;
use crate::network::vantage::Extent;
use crate::observe::causes::BEFORE;
use crate::observe::shares::Shares;
use crate::scenario::{ProbeFrom, Vantage};

/// Length of the windows in which requests are counted.
const WINDOW: Duration = Duration::from_secs(1);
/// Two windows with late requests tell of the time between them if that is no longer and nobody asks in it: of a part of an API that is
/// served few may ask. The length is chosen, without a source.
const GAP: Duration = Duration::from_secs(3);

/// When an API was unavailable, and why.
#[derive(Clone, Debug)]
pub(super) struct ApiOutages {
    /// By [`Verb`]: for which share of its resources it answers.
    pub(super) shares: [Shares; 2],
    /// Outages that are over: start and cause.
    pub(super) over: Vec<(Verb, Time, String)>,
    /// By [`Verb`].
    pub(super) late: [LateRequests; 2],
}

impl ApiOutages {
    /// All has been served.
    pub(super) fn new(rules: &Rules) -> Self {
        Self { shares: [(); 2].map(|()| Shares::new(rules.deadline)), over: Vec::new(), late: Default::default() }
    }

    /// The earliest time at which an outage may have begun that is not explained yet; `asked`: no request is under way that was made before.
    pub(super) fn open(&self, asked: Time) -> Time {
        let shares = self.shares.iter().filter_map(Shares::open);
        shares.chain(self.late.iter().filter_map(LateRequests::open)).fold(asked, Time::min)
    }
}

/// A time in which requests were late.
#[derive(Clone, Debug)]
pub(super) struct LateSpan {
    pub(super) from: Time,
    pub(super) to: Time,
    /// For how long, as it counts: the mean over requests.
    pub(super) unavailable: Duration,
    /// The same for clients who had it otherwise.
    apart: Vec<(Vantage, Duration)>,
    /// Requests that API servers rejected (429).
    pub(super) rejected: u64,
    /// Why; `None`: it may go on.
    pub(super) cause: Option<String>,
}

impl LateSpan {
    /// For how long it was unavailable to clients at a vantage.
    fn at(&self, vantage: Vantage) -> Duration {
        self.apart.iter().find(|(from, _)| *from == vantage).map_or(self.unavailable, |(_, lasted)| *lasted)
    }
}

/// Requests that could expect an answer in time.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    made: u32,
    late: u32,
}

impl Tally {
    /// The part of them that was late.
    fn part(self) -> f64 {
        f64::from(self.late) / f64::from(self.made.max(1))
    }
}

/// Requests that were made within one [`WINDOW`].
#[derive(Clone, Debug)]
struct Window {
    from: Time,
    /// End of the time that its requests tell about, if no later ones are made.
    ends: Time,
    /// When the first late one was made.
    first_late: Option<Time>,
    rejected: u64,
    /// Of servers that are not cut off.
    connected: Tally,
    /// Of those in zones that are.
    cut_off: Vec<(ZoneId, Tally)>,
    /// Late ones of servers that are not cut off, which are an interruption's but for clients at this vantage.
    apart: Vec<(Vantage, u32)>,
}

impl Window {
    fn around(at: Time) -> Self {
        let from = Time::ZERO + WINDOW * (at.since(Time::ZERO).as_nanos() / WINDOW.as_nanos());
        let (first_late, rejected, connected, cut_off, apart) = Default::default();
        Self { from, ends: from + WINDOW, first_late, rejected, connected, cut_off, apart }
    }

    fn tally(&mut self, cut_off: Option<ZoneId>) -> &mut Tally {
        let Some(zone) = cut_off else { return &mut self.connected };
        let place = self.cut_off.iter().position(|(known, _)| *known == zone).unwrap_or_else(|| {
            self.cut_off.push((zone, Tally::default()));
            self.cut_off.len() - 1
        });
        &mut self.cut_off[place].1
    }

    /// A late request of it.
    fn late(&mut self, request: Request) {
        self.first_late.get_or_insert(request.from);
        self.ends = self.ends.max(request.to);
    }

    /// One that is late for clients at this vantage alone.
    fn late_at(&mut self, vantage: Vantage, request: Request) {
        self.late(request);
        match self.apart.iter_mut().find(|(known, _)| *known == vantage) {
            Some((_, late)) => *late += 1,
            None => self.apart.push((vantage, 1)),
        }
    }

    /// Requests that count for clients at a vantage.
    fn of(&self, vantage: Vantage) -> Tally {
        let own = self.cut_off.iter().find(|(zone, _)| vantage == Vantage::Zone(*zone));
        own.map_or(self.connected, |(_, own)| *own)
    }

    /// Requests that count for clients at a vantage, those included that are an interruption's for all others.
    fn apart(&self, vantage: Vantage) -> Tally {
        let (more, Tally { made, late }) = (self.apart.iter().find(|(known, _)| *known == vantage), self.of(vantage));
        let more = more.map_or(0, |(_, late)| *late);
        Tally { made: made + more, late: late + more }
    }
}

/// A request to an API.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApiRequest {
    pub(super) request: Request,
    /// It was answered within the deadline, with what its server adds.
    pub(super) in_time: bool,
    /// Zone of its server.
    pub(super) zone: ZoneId,
    /// The state said that it would be answered in time.
    pub(super) expected: bool,
    /// Its API server rejected it (429).
    pub(super) rejected: bool,
}

/// What requests of one kind met.
#[derive(Clone, Debug, Default)]
pub(super) struct LateRequests {
    pub(super) served: Served,
    /// Requests that may have been overtaken by others that were made before, in the order in which they were made.
    recent: VecDeque<ApiRequest>,
    window: Option<Window>,
    /// End of what has been counted: late requests of a window may have been waited for beyond it.
    counted_to: Time,
    /// The last window had a late one.
    was_late: bool,
    /// When the last late one was made that no interruption explains.
    last_late: Option<Time>,
    spans: Vec<LateSpan>,
}

impl LateRequests {
    /// A request has ended.
    pub(super) fn ended(&mut self, request: ApiRequest, rules: &Rules) {
        let place = self.recent.partition_point(|other| other.request.from <= request.request.from);
        self.recent.insert(place, request);
        self.settle((request.request.to, Time::MAX), rules);
    }

    /// Counts what can be overtaken no longer by requests that have not ended at `now`, and tells of no time after `end`.
    pub(super) fn settle(&mut self, (now, end): (Time, Time), rules: &Rules) {
        let known = now - rules.horizon;
        let is_known = |request: &ApiRequest| now == Time::MAX || request.request.from < known;
        while let Some(request) = self.recent.pop_front_if(|request| is_known(request)) {
            self.count(request, end, rules);
        }
        if self.window.as_ref().is_some_and(|window| now == Time::MAX || window.ends < known) {
            self.close(end, rules);
        }
        // Requests that have not ended may be counted yet.
        let under_way = known - WINDOW;
        self.served.forget(self.uncounted().map_or(under_way, |first| first.min(under_way)));
    }

    /// Whether there may be something to count, to explain or to forget.
    pub(super) fn is_pending(&self) -> bool {
        self.open().is_some() || self.served.is_long()
    }

    /// When the first request was made that has not been counted.
    fn uncounted(&self) -> Option<Time> {
        let window = self.window.as_ref().map(|window| window.from);
        window.or_else(|| self.recent.front().map(|request| request.request.from))
    }

    fn count(&mut self, ApiRequest { request, in_time, zone, expected, rejected }: ApiRequest, end: Time, rules: &Rules) {
        // The first late ones right before an interruption are its own.
        let first = self.last_late.is_none_or(|last| last + BEFORE < request.from);
        let is_before =
            |history: &History| !in_time && first && history.is_interrupted(request.from, request.from + rules.deadline);
        let served = if request.cut_off { self.served.in_zone(zone) } else { self.served.counted() };
        // The state accounts for these requests already, unless the stall was too short to count.
        if !expected && served.at(request.from) < Share::ALL {
            return;
        }
        let is_interruptions = is_before(served);
        // Clients elsewhere may be served on.
        let others = self.served.apart().filter(|(_, history)| is_interruptions && !request.cut_off && !is_before(history));
        let others: SmallVec<[Vantage; 4]> = others.map(|(vantage, _)| vantage).collect();
        if is_interruptions && others.is_empty() {
            return;
        }
        if self.window.as_ref().is_some_and(|window| window.from + WINDOW <= request.from) {
            self.close(request.from.min(end), rules);
        }
        let window = self.window.get_or_insert_with(|| Window::around(request.from));
        if is_interruptions {
            others.into_iter().for_each(|vantage| window.late_at(vantage, request));
            return;
        }
        let tally = window.tally(request.cut_off.then_some(zone));
        tally.made += 1;
        if !in_time {
            tally.late += 1;
            window.late(request);
            window.rejected += u64::from(rejected);
            self.last_late = Some(request.from);
        }
    }

    /// The window is over; other requests were made at `next`.
    fn close(&mut self, next: Time, rules: &Rules) {
        let Some(window) = self.window.take() else { return };
        let goes_on = std::mem::replace(&mut self.was_late, window.first_late.is_some());
        let Some(first_late) = window.first_late else { return };
        let next = Window::around(next).from.max(window.from + WINDOW).min(next.max(window.from));
        let until = window.ends.min(next);
        let goes_on = goes_on && window.from <= self.counted_to + GAP;
        let from = if goes_on { self.counted_to } else { window.from.max(self.counted_to) }.min(until);
        self.counted_to = until;
        let of = |ns: Duration, part: f64| Duration::from_nanos((ns.as_nanos() as f64 * part).round() as u64);
        let counted = of(self.served.counted().served(from, until), window.of(counts(&window, rules)).part());
        let apart = self.served.apart();
        let apart: Vec<(Vantage, Duration)> =
            apart.map(|(vantage, history)| (vantage, of(history.served(from, until), window.apart(vantage).part()))).collect();
        if counted == Duration::ZERO && apart.iter().all(|(_, lasted)| *lasted == Duration::ZERO) {
            return;
        }
        let open = self.spans.last_mut().filter(|last| last.cause.is_none() && first_late <= last.to + rules.apart);
        let Some(span) = open else {
            let (from, to, rejected) = (first_late, until, window.rejected);
            self.spans.push(LateSpan { from, to, unavailable: counted, apart, rejected, cause: None });
            return;
        };
        for (vantage, lasted) in apart {
            let so_far = span.at(vantage);
            span.apart.retain(|(from, _)| *from != vantage);
            span.apart.push((vantage, so_far + lasted));
        }
        (span.to, span.unavailable) = (until, span.unavailable + counted);
        span.rejected += window.rejected;
    }

    /// The same with all that is known now.
    pub(super) fn settled(&self, now: Time, rules: &Rules) -> Self {
        let mut all = self.clone();
        all.settle((Time::MAX, now), rules);
        all
    }

    /// Outages, in order.
    pub(super) fn outages(&self, rules: &Rules) -> impl Iterator<Item = &LateSpan> {
        self.spans.iter().filter(|span| span.unavailable >= rules.deadline)
    }

    /// For how long it was unavailable, as it counts.
    pub(super) fn unavailable(&self, rules: &Rules) -> Duration {
        self.outages(rules).fold(Duration::ZERO, |sum, span| sum + span.unavailable)
    }

    /// The same for clients at a vantage.
    pub(super) fn at(&self, vantage: Vantage, rules: &Rules) -> Duration {
        let own = self.spans.iter().map(|span| span.at(vantage)).filter(|lasted| *lasted >= rules.deadline);
        own.fold(Duration::ZERO, |sum, lasted| sum + lasted)
    }

    /// Spans to which no late request will be added, and which are not explained yet.
    pub(super) fn over(&mut self, now: Time, rules: &Rules) -> impl Iterator<Item = &mut LateSpan> {
        let over = move |span: &LateSpan| span.cause.is_none() && span.to + rules.apart + rules.horizon < now;
        self.spans.iter_mut().rev().take_while(|span| span.cause.is_none()).filter(move |span| over(span))
    }

    /// Since when a span may last that is not explained yet.
    fn open(&self) -> Option<Time> {
        let spans = self.spans.iter().rev().take_while(|span| span.cause.is_none()).map(|span| span.from);
        spans.chain(self.uncounted()).min()
    }
}

/// The vantage whose requests count in a window.
fn counts(window: &Window, rules: &Rules) -> Vantage {
    match rules.from {
        ProbeFrom::Worst => Vantage::Outside,
        ProbeFrom::At(vantage) => vantage,
        ProbeFrom::Best => {
            let inside = window.cut_off.iter().map(|(zone, tally)| (Vantage::Zone(*zone), *tally));
            let asked = inside.chain([(Vantage::Outside, window.connected)]).filter(|(_, tally)| tally.made > 0);
            let best = asked.min_by(|(_, a), (_, b)| a.part().total_cmp(&b.part()));
            best.map_or(Vantage::Outside, |(vantage, _)| vantage)
        }
    }
}

#[cfg(test)]
mod tests;
