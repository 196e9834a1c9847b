//! Leader election of a component: of its processes one holds the lease, and acts (`client-go/tools/leaderelection`).
//!
//! ```text
//!  holder:  renews every 2 s ---- cannot for 10 s from its first attempt that fails --> gives up, starts anew (as somebody else)
//!  others:  see the last renewal at one of their tries --15 s--> take the lease at their next try (2 to 4.4 s apart)
//!  a holder that is asked to stop gives the lease away: others take it at their next try
//! ```
//!
//! Each process is a client of one API server as long as clients are sent to that: what it writes to its lease goes over that server's
//! connection for leases, and what it does besides over the one for pods.
//!
//! An attempt to renew waits for its reply for 5 s (half the renew deadline): where the API answers meanwhile, it succeeds then.
//!
//! Renewals are arithmetic, and so are tries against a lease that is renewed: they change nothing. The others' tries are queued from when
//! the holder cannot renew. Their times are drawn then: client-go draws them one by one, all the time, which comes to the same.

use std::collections::BTreeMap;

use crate::api::Api;
use crate::ctx::{ApiClient, ClusterCtx, Route};
use crate::event::KubeEvent;
use crate::record::{KubeRecord, Replica};
use crate::rule::leader_election::acquire;
use crate::rule::leader_election::renew::Round;
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
    /// The API server that it is a client of.
    server: Option<u32>,
    /// Since when it can write its lease in time.
    writes: Option<Time>,
    /// How long a write of its lease takes, or last took, where it is answered in time.
    took: Duration,
    /// What it writes to its lease waits for a reply. Else it is written, or fails at once.
    waits: bool,
    /// How long its other writes take, where they are answered.
    acts: Option<Duration>,
    /// When it saw the last renewal.
    seen: Option<Time>,
    /// Its next try; in the past where it could not write since.
    next: Time,
    tries: Draw,
    /// When its next process starts, where one has ended because it lost the lease.
    restarts: Option<Time>,
}

/// What a candidate gets from its API server.
#[derive(Clone, Copy, Debug)]
struct Attachment {
    server: Option<u32>,
    /// How long a write of its lease takes, where that is answered in time.
    writes: Option<Duration>,
    /// Its attempts wait for a reply.
    waits: bool,
    acts: Option<Duration>,
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
    /// API servers drawn so far: numbers of draws.
    servers: u64,
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
            servers: 0,
            timer: Timer::new(),
        }
    }

    /// How long a write of the holder takes; `None`: nobody acts.
    pub fn is_active(&self) -> Option<Duration> {
        let holder = &self.candidates[&self.holder?];
        holder.writes.and(holder.acts)
    }

    /// Where the one runs that acts.
    pub fn host(&self) -> Option<HostId> {
        self.is_active()?;
        Some(self.candidates[&self.holder?].host)
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
            self.take(key, ctx);
            self.renewals = Periodic::new(Time::from_nanos(phase), period);
        }
    }

    /// A candidate's process runs.
    pub fn join(&mut self, key: u32, replica: Replica, host: HostId, api: &Api, ctx: &ClusterCtx<'_>) {
        let tries = self.course(ctx);
        let candidate = Candidate {
            replica,
            host,
            server: None,
            writes: None,
            took: Duration::ZERO,
            waits: false,
            acts: None,
            seen: None,
            next: ctx.now,
            tries,
            restarts: None,
        };
        self.candidates.insert(key, Box::new(candidate));
        self.connect(key, api, ctx);
    }

    /// What a candidate gets from its API server, or from the next one, where it is sent to its own no more.
    fn attach(&mut self, key: u32, api: &Api, ctx: &ClusterCtx<'_>) -> Attachment {
        let (server, waits, [leases, pods]) = match ctx.path.route(ctx.cluster, ApiClient::Candidate(self.component, key)) {
            Route::Nearest => {
                let server = self.nearest(key, api, ctx);
                let host = self.candidates[&key].host;
                let accesses = server.map_or_else(Default::default, |server| api.access_to(server, host, ctx.net));
                (server, api.is_offered(), accesses)
            }
            Route::Server { key, way } => (Some(key), true, api.access_over(key, way)),
            Route::Nowhere { waits } => (None, waits, Default::default()),
        };
        let timings = ctx.spec.timers.leader_election();
        let writes = leases.write.filter(|time| *time < ctx.spec.timers.renewal_timeout());
        Attachment {
            server,
            writes,
            waits: waits && writes.is_none(),
            acts: pods.write.filter(|time| *time < timings.renew_deadline),
        }
    }

    /// The API server of a candidate; another one, if its own does not serve it any more.
    fn nearest(&mut self, key: u32, api: &Api, ctx: &ClusterCtx<'_>) -> Option<u32> {
        let candidate = &self.candidates[&key];
        // kubeadm points the programs of a host at the API server on it.
        let is_local = ctx.spec.routing.api_to_etcd == ApiToEtcd::Local;
        let choice = api.choice(candidate.host, is_local, ctx.net);
        candidate.server.filter(|server| choice.contains(server)).or_else(|| match &api.for_new_connections(&choice)[..] {
            [] => None,
            [only] => Some(*only),
            several => {
                self.servers += 1;
                let drawn = self.draw(self.servers, Purpose::Connection, ctx).below(several.len() as u64);
                Some(several[drawn as usize])
            }
        })
    }

    /// Its candidates with a process, and their hosts.
    pub fn candidates(&self) -> impl Iterator<Item = (ApiClient, HostId)> {
        let running = self.candidates.iter().filter(|(_, candidate)| candidate.restarts.is_none());
        running.map(|(key, candidate)| (ApiClient::Candidate(self.component, *key), candidate.host))
    }

    /// A new process of a candidate becomes the client of one of the API servers.
    fn connect(&mut self, key: u32, api: &Api, ctx: &ClusterCtx<'_>) {
        let candidate = self.candidates.get_mut(&key).expect("it is one of them");
        (candidate.server, candidate.writes) = (None, None);
        let attachment = self.attach(key, api, ctx);
        self.candidates.get_mut(&key).expect("it is one of them").follow(attachment, ctx.now);
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
        let running = self.candidates.iter().filter(|(_, candidate)| candidate.restarts.is_none());
        let keys: Vec<u32> = running.map(|(key, _)| *key).collect();
        let seen: Vec<Attachment> = keys.iter().map(|key| self.attach(*key, api, ctx)).collect();
        if let Some(holder) = self.holder
            && self.candidates[&holder].writes.is_some()
            && keys.iter().zip(&seen).any(|(key, attachment)| *key == holder && attachment.writes.is_none())
        {
            self.interrupt(ctx);
        }
        let mut back = Vec::new();
        for (key, attachment) in keys.into_iter().zip(seen) {
            let candidate = self.candidates.get_mut(&key).expect("it is one of them");
            let (before, waited) = (candidate.writes, candidate.waits);
            candidate.follow(attachment, ctx.now);
            let is_back = candidate.writes.is_some() && before.is_none();
            if let Some(took) = attachment.writes.filter(|_| is_back && waited && self.holder == Some(key)) {
                self.finish_attempt(took, ctx);
            }
            back.extend(Some(key).filter(|_| is_back && self.candidates[&key].next < ctx.now));
        }
        for key in back {
            let tries = self.course(ctx);
            let candidate = self.candidates.get_mut(&key).expect("it is one of them");
            (candidate.next, candidate.tries) = (ctx.now, tries);
            candidate.step_first(ctx);
        }
    }

    /// The holder can write again: an attempt to renew that has waited until now succeeds, with a reply within the time that a write takes
    /// (components wait side by side, and do not go on at one moment).
    fn finish_attempt(&mut self, took: Duration, ctx: &ClusterCtx<'_>) {
        let timers = &ctx.spec.timers;
        let started =
            self.renewals.before(ctx.now).filter(|turn| *turn > self.renewed && ctx.now.since(*turn) < timers.renewal_timeout());
        if started.is_some() && self.gives_up.is_some_and(|at| at > ctx.now) {
            self.gives_up = None;
            let reply = ctx.now + Duration::from_nanos(self.course(ctx).below(took.as_nanos().max(1)));
            (self.renewed, self.renewals) = (reply, Periodic::new(reply, timers.retry_period));
        }
    }

    /// The holder's last renewal before that.
    fn last_renewal(&self, before: Time) -> Time {
        let since = self.holder.and_then(|holder| self.candidates[&holder].writes);
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
        self.gives_up = Some(Round::after(last, &ctx.spec.timers.leader_election()).deadline);
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
    pub fn handle(&mut self, generation: Generation, api: &Api, ctx: &mut ClusterCtx<'_>) {
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
                let starts = ctx.now + ctx.spec.timers.restart;
                (candidate.seen, candidate.next, candidate.tries, candidate.restarts) = (None, starts, tries, Some(starts));
                (candidate.server, candidate.writes) = (None, None);
            }
        }
        let due = self.candidates.iter().filter(|(_, one)| one.restarts.is_some_and(|at| at <= ctx.now));
        let started: Vec<u32> = due.map(|(key, _)| *key).collect();
        for key in started {
            self.candidates.get_mut(&key).expect("it is one of them").restarts = None;
            self.connect(key, api, ctx);
        }
        if self.holder.is_none() {
            self.try_all(ctx);
        }
    }

    /// Tries that are due now. One that lies in the past was made before the holder gave up: with such timings client-go has two leaders
    /// until then ([`Timings::overlap`](crate::spec::leader_election::Timings::overlap)), and here the first of those waits for the holder.
    fn try_all(&mut self, ctx: &mut ClusterCtx<'_>) {
        let lasts = ctx.spec.timers.lease_duration;
        let is_due = |one: &Candidate| one.writes.is_some() && one.next <= ctx.now;
        let mut due: Vec<(Time, u32)> =
            self.candidates.iter().filter(|(_, one)| is_due(one)).map(|(key, one)| (one.next, *key)).collect();
        due.sort_unstable();
        for (at, key) in due {
            let candidate = self.candidates.get_mut(&key).expect("it is one of them");
            let seen = *candidate.seen.get_or_insert(at);
            if self.free || acquire::is_over(seen, lasts, at) {
                return self.take(key, ctx);
            }
            candidate.step_to(seen + lasts, ctx);
        }
    }

    /// A candidate takes the lease, with a reply within the time that a write takes. (Processes of several components may start at one
    /// moment, find their leases free, and would renew them and give them up at one moment ever after.)
    fn take(&mut self, key: u32, ctx: &mut ClusterCtx<'_>) {
        self.holder = Some(key);
        (self.free, self.term) = (false, self.term + 1);
        let within = self.draw(self.term, Purpose::Phase, ctx).below(self.candidates[&key].took.as_nanos().max(1));
        self.renewed = ctx.now + Duration::from_nanos(within);
        self.renewals = Periodic::new(self.renewed, ctx.spec.timers.retry_period);
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
        let restarts = self.candidates.values().filter_map(|one| one.restarts);
        let next = next.into_iter().chain(restarts).min();
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
    fn follow(&mut self, Attachment { server, writes, waits, acts }: Attachment, now: Time) {
        (self.server, self.waits, self.acts) = (server, waits, acts);
        self.writes = writes.map(|_| self.writes.unwrap_or(now));
        self.took = writes.unwrap_or(self.took);
    }

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
            if self.seen.is_none() && self.writes.is_some_and(|since| since <= self.next) {
                self.seen = Some(self.next);
            }
            self.step(ctx);
        }
    }
}
