//! Leader election of a component: of its processes one holds the lease, and acts (`client-go/tools/leaderelection`).
//!
//! ```text
//!  holder:  renews every 2 s ---- cannot for 10 s --> gives up, starts anew (as somebody else)
//!  others:  see the last renewal at one of their tries --15 s--> take the lease at their next try (2 to 4.4 s apart)
//!  a holder that is asked to stop gives the lease away: others take it at their next try
//! ```
//!
//! Renewals are arithmetic, and so are tries against a lease that is renewed: they change nothing. The others' tries are queued from when
//! the holder cannot renew. Their times are drawn then: client-go draws them one by one, all the time, which comes to the same.

use std::collections::BTreeMap;

use crate::api::Api;
use crate::ctx::ClusterCtx;
use crate::event::KubeEvent;
use crate::record::{KubeRecord, Replica};
use crate::spec::Component;
use crate::spec::routing::ApiToEtcd;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::{Draw, Purpose};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_network::HostId;

/// Tries of those that do not hold the lease are up to so much of the retry period further apart (`JitterFactor`).
const JITTER: f64 = 1.2;

/// An instant is the smallest time there is: what happens at the moment of a cut does not happen.
const INSTANT: Duration = Duration::from_nanos(1);

#[derive(Clone, Debug)]
struct Candidate {
    replica: Replica,
    host: HostId,
    /// How long its writes take, and since when it can write in time.
    writes: Option<(Duration, Time)>,
    /// When it saw the last renewal.
    seen: Option<Time>,
    /// Its next try; in the past where it could not write since.
    next: Time,
    tries: Draw,
}

/// The election of one component.
#[derive(Clone, Debug)]
pub struct Election {
    component: Component,
    /// Boxed: a map allocates eleven places even for two entries.
    candidates: BTreeMap<u32, Box<Candidate>>,
    holder: Option<u32>,
    /// When the holder tries to renew.
    renewals: Periodic,
    /// The last renewal before the holder last began to be able to write.
    renewed: Time,
    /// The holder gives up then, unless it has renewed its lease.
    gives_up: Option<Time>,
    /// The lease names nobody.
    free: bool,
    /// Holders so far.
    term: u64,
    /// Courses of tries drawn so far: numbers of draws.
    courses: u64,
    timer: Timer,
}

impl Election {
    /// No candidate yet, and the lease names nobody.
    pub const fn new(component: Component) -> Self {
        Self {
            component,
            candidates: BTreeMap::new(),
            holder: None,
            renewals: Periodic::new(Time::ZERO, INSTANT),
            renewed: Time::ZERO,
            gives_up: None,
            free: true,
            term: 0,
            courses: 0,
            timer: Timer::new(),
        }
    }

    /// How long a write of the holder takes; `None`: nobody acts.
    pub fn is_active(&self) -> Option<Duration> {
        self.candidates[&self.holder?].writes.map(|(time, _)| time)
    }

    /// Where the one runs that acts.
    pub fn host(&self) -> Option<HostId> {
        let holder = &self.candidates[&self.holder?];
        holder.writes.map(|_| holder.host)
    }

    /// Changes with every holder.
    pub const fn term(&self) -> u64 {
        self.term
    }

    /// At the start the first candidate that can has long held the lease.
    pub fn start_warm(&mut self, ctx: &mut ClusterCtx<'_>) {
        let first = self.candidates.iter().find(|(_, candidate)| candidate.writes.is_some());
        if let Some(key) = first.map(|(key, _)| *key) {
            let period = ctx.spec.timers.retry_period;
            let phase = self.draw(0, Purpose::Phase, ctx).below(period.as_nanos());
            self.take(key, Time::from_nanos(phase), ctx);
        }
    }

    /// A candidate's process runs.
    pub fn join(&mut self, key: u32, replica: Replica, host: HostId, api: &Api, ctx: &ClusterCtx<'_>) {
        let writes = writes(host, api, ctx).map(|time| (time, ctx.now));
        let tries = self.course(ctx);
        let candidate = Candidate { replica, host, writes, seen: None, next: ctx.now, tries };
        self.candidates.insert(key, Box::new(candidate));
    }

    /// A candidate's process is gone, or was asked to stop (`gives_away`).
    pub fn leave(&mut self, key: u32, gives_away: bool, ctx: &mut ClusterCtx<'_>) {
        if self.holder == Some(key) {
            self.free = gives_away && self.candidates[&key].writes.is_some();
            if self.free {
                self.look_back(self.last_renewal(ctx.now), ctx);
            } else {
                self.interrupt(ctx);
            }
            self.resign(ctx);
        }
        self.candidates.remove(&key);
    }

    /// The API answers some, or no longer, or more slowly.
    pub fn access_changed(&mut self, api: &Api, ctx: &ClusterCtx<'_>) {
        let time = |candidate: &Candidate| writes(candidate.host, api, ctx);
        if let Some(holder) = self.holder
            && self.candidates[&holder].writes.is_some()
            && time(&self.candidates[&holder]).is_none()
        {
            self.interrupt(ctx);
        }
        let mut back = Vec::new();
        for (key, candidate) in &mut self.candidates {
            let since = candidate.writes.map(|(_, since)| since);
            candidate.writes = time(candidate).map(|time| (time, since.unwrap_or(ctx.now)));
            if candidate.writes.is_some() && since.is_none() && candidate.next < ctx.now {
                back.push(*key);
            }
        }
        for key in back {
            let tries = self.course(ctx);
            let candidate = self.candidates.get_mut(&key).expect("it is one of them");
            (candidate.next, candidate.tries) = (ctx.now, tries);
            candidate.step_first(ctx);
        }
    }

    /// The holder's last renewal before that.
    fn last_renewal(&self, before: Time) -> Time {
        let since = self.holder.and_then(|holder| self.candidates[&holder].writes).map(|(_, since)| since);
        let last = since.and_then(|since| self.renewals.before(before).filter(|renewal| *renewal >= since));
        last.unwrap_or(self.renewed)
    }

    /// The holder cannot renew its lease from now on: the others' tries begin to matter.
    fn interrupt(&mut self, ctx: &ClusterCtx<'_>) {
        let last = self.last_renewal(ctx.now);
        if self.gives_up.is_some() && last == self.renewed {
            return;
        }
        self.renewed = last;
        self.gives_up = Some(last + ctx.spec.timers.renew_deadline);
        self.look_back(last, ctx);
    }

    /// The tries of all others since the last renewal.
    fn look_back(&mut self, renewal: Time, ctx: &ClusterCtx<'_>) {
        let others: Vec<u32> = self.candidates.keys().copied().filter(|key| self.holder != Some(*key)).collect();
        for key in others {
            let tries = self.course(ctx);
            let candidate = self.candidates.get_mut(&key).expect("it is one of them");
            candidate.look_back(renewal, tries, ctx);
            if let Some(seen) = candidate.seen.filter(|_| !self.free) {
                candidate.step_to(seen + ctx.spec.timers.lease_duration, ctx);
            }
        }
    }

    /// Nobody acts from now on.
    fn resign(&mut self, ctx: &mut ClusterCtx<'_>) {
        (self.holder, self.gives_up) = (None, None);
        ctx.record(KubeRecord::Lease(self.component, None));
    }

    /// Something is due.
    pub fn handle(&mut self, generation: Generation, ctx: &mut ClusterCtx<'_>) {
        if !self.timer.fires(generation) {
            return;
        }
        if let (Some(key), Some(at)) = (self.holder, self.gives_up)
            && at <= ctx.now
        {
            // A renewal at this very moment is too late.
            if self.last_renewal(at) > self.renewed {
                self.gives_up = None;
            } else {
                self.resign(ctx);
                let tries = self.course(ctx);
                let candidate = self.candidates.get_mut(&key).expect("the holder is one of them");
                (candidate.seen, candidate.next, candidate.tries) = (None, ctx.now + ctx.spec.timers.restart, tries);
            }
        }
        if self.holder.is_none() {
            self.try_all(ctx);
        }
    }

    /// Tries that are due now.
    fn try_all(&mut self, ctx: &mut ClusterCtx<'_>) {
        let lasts = ctx.spec.timers.lease_duration;
        let due = self.candidates.iter_mut().filter(|(_, candidate)| candidate.writes.is_some() && candidate.next <= ctx.now);
        for (&key, candidate) in due {
            // (A try while the holder had not given up yet lies in the past.)
            let seen = *candidate.seen.get_or_insert(candidate.next);
            if self.free || seen + lasts <= candidate.next {
                return self.take(key, ctx.now, ctx);
            }
            candidate.step_to(seen + lasts, ctx);
        }
    }

    fn take(&mut self, key: u32, renewal: Time, ctx: &mut ClusterCtx<'_>) {
        self.holder = Some(key);
        (self.free, self.term) = (false, self.term + 1);
        (self.renewed, self.renewals) = (ctx.now, Periodic::new(renewal, ctx.spec.timers.retry_period));
        ctx.record(KubeRecord::Lease(self.component, Some(self.candidates[&key].replica)));
    }

    /// Queues what is due next.
    pub fn arm(&mut self, ctx: &mut ClusterCtx<'_>) {
        let next = match self.holder {
            Some(holder) => {
                let renews = ctx.stepping == Stepping::EveryEvent && self.candidates[&holder].writes.is_some();
                self.gives_up.into_iter().chain(renews.then(|| self.renewals.after(ctx.now))).min()
            }
            None => self.candidates.values().filter(|one| one.writes.is_some()).map(|one| one.next.max(ctx.now)).min(),
        };
        if let Some((at, generation)) = self.timer.rearm(next) {
            ctx.schedule(at, KubeEvent::Election { component: self.component, generation });
        }
    }

    fn course(&mut self, ctx: &ClusterCtx<'_>) -> Draw {
        self.courses += 1;
        self.draw(self.courses, Purpose::Retry, ctx)
    }

    fn draw(&self, k: u64, purpose: Purpose, ctx: &ClusterCtx<'_>) -> Draw {
        // Beyond all nodes, before all API servers.
        ctx.draws(purpose, (1 << 30) + self.component as u32).draw(k)
    }
}

impl Candidate {
    fn skip(&mut self, periods: f64, ctx: &ClusterCtx<'_>) {
        let period = ctx.spec.timers.retry_period.as_nanos() as f64;
        self.next += Duration::from_nanos((period * periods) as u64);
    }

    /// From any moment to the first try after it.
    fn step_first(&mut self, ctx: &ClusterCtx<'_>) {
        let gap = (1.0 + JITTER) * self.tries.unit();
        self.skip(gap, ctx);
    }

    /// From one try to the next.
    fn step(&mut self, ctx: &ClusterCtx<'_>) {
        let gap = 1.0 + JITTER * self.tries.unit();
        self.skip(gap, ctx);
    }

    fn step_to(&mut self, at: Time, ctx: &ClusterCtx<'_>) {
        while self.next < at {
            self.step(ctx);
        }
    }

    /// Its tries since the last renewal: the first one with an API within reach has seen it.
    fn look_back(&mut self, renewal: Time, tries: Draw, ctx: &ClusterCtx<'_>) {
        if self.next > ctx.now && self.seen.is_none() {
            return; // it has not tried yet since it started, or since the last time somebody was missed
        }
        (self.seen, self.next, self.tries) = (None, renewal, tries);
        self.step_first(ctx);
        while self.next < ctx.now {
            if self.seen.is_none() && self.writes.is_some_and(|(_, since)| since <= self.next) {
                self.seen = Some(self.next);
            }
            self.step(ctx);
        }
    }
}

/// How long a write from there takes, if the holder of a lease can live with that.
fn writes(host: HostId, api: &Api, ctx: &ClusterCtx<'_>) -> Option<Duration> {
    // kubeadm points the programs of a host at the API server on it.
    let is_local = ctx.spec.routing.api_to_etcd == ApiToEtcd::Local;
    let access = if is_local { api.access_on(host) } else { api.access(host, ctx.net) };
    access.write.filter(|time| *time < ctx.spec.timers.renew_deadline)
}
