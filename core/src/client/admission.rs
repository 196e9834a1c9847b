//! Whether an API server lets a request in: at once, after it has waited in a queue (Priority and Fairness), or never.
//!
//! A client whose request was rejected makes it again after the header `Retry-After`, as often as its scenario says (kubernetes/client-go@32ce75a7
//! `rest/{request,with_retry}.go`: ten times at most; what follows each rejection of a write or a read is the same). Its back-off and its own
//! rate limiter, which may make it wait for longer, are left out.

use crate::client::event::ClientEvent;
use crate::client::fairness::{Decision, FairCtx};
use crate::client::in_flight::Place;
use crate::client::record::{Delay, RequestResult};
use crate::client::requests::{Request, Stage};
use crate::client::{Client, ClientCtx};
use crate::etcd::raft::entry::Token;
use crate::kernel::time::Duration;
use crate::kernel::timer::Generation;
use crate::kube::rule::fairness::Admission;
use crate::kube::rule::fairness::retry_after::LONGEST_RETRY_AFTER;
use crate::kube::rule::fairness::schema::{RequestDigest, Target};
use crate::kube::rule::fairness::server::{Arrival, Fairness, wait_limit};
use crate::kube::rule::fairness::work::Work;
use crate::scenario::kube::KubeClusterSpec;
use crate::scenario::kube::fairness::request::ApiCall;
use crate::scenario::kube::usage::{Caller, Each, Requests};
use crate::scenario::{self, Op, Scenario};

/// The header `Retry-After` of a server without Priority and Fairness (kubernetes/apiserver@24a394e5 `pkg/server/filters/maxinflight.go`).
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Longest time from when a request is first made until its API server lets it in, or rejects it for the last time.
pub fn longest_admission(scenario: &Scenario, client: &scenario::Client) -> Duration {
    let Some((cluster, own)) = asked_of(scenario, client) else { return Duration::ZERO };
    let (wait, retry_after) = match cluster.fairness {
        Some(_) => (wait_limit(None, client.timeout), LONGEST_RETRY_AFTER),
        None => (Duration::ZERO, RETRY_AFTER),
    };
    wait * u64::from(own.retries + 1) + retry_after * u64::from(own.retries)
}

/// The cluster whose API is asked, and the requests; `None`: the server itself sends them.
fn asked_of<'a>(scenario: &'a Scenario, client: &scenario::Client) -> Option<(&'a KubeClusterSpec, &'a Requests)> {
    let part = client.server?;
    let place = usize::from(part.requests?);
    let cluster = &scenario.kube.clusters[part.cluster];
    let own = &cluster.asked()[place];
    (own.by != Caller::Server).then_some((cluster, own))
}

/// How much of a server a request takes. `watches`: those of its server that its event is sent to. `most`: see [`Work::list`].
fn work(own: &Requests, op: Op, watches: u32, most: Option<u32>) -> Work {
    match op {
        Op::Range { keys, value_bytes, .. } if own.call.verb == "list" => Work::list(keys.into(), value_bytes.into(), most),
        Op::Range { .. } | Op::Watch => Work::ONE_SEAT,
        Op::Put { .. } | Op::Txn { .. } | Op::Grant(_) | Op::Delete { .. } => Work::write(watches, most),
    }
}

impl Client {
    /// Begins a request, unless there were enough.
    pub(super) fn begin(&mut self, ctx: &mut ClientCtx<'_>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let member = self.connection().unwrap_or_else(|| self.first_member(ctx));
        let token = self.requests.open(Request {
            number: self.left,
            since: ctx.now,
            tries: 0,
            member,
            is_down: false,
            stage: Stage::AtServer(ctx.now),
            rejections: 0,
            place: None,
            expected: self.expected(member, ctx),
        });
        self.arrive(token, ctx);
    }

    /// A request arrives at its server.
    fn arrive(&mut self, token: Token, ctx: &mut ClientCtx<'_>) {
        match self.admit(token, ctx) {
            (Admission::Executes, place) => self.start(token, place, ctx),
            (Admission::Waits, _) => {}
            (Admission::Rejected(retry_after), _) => self.reject(token, retry_after, ctx),
        }
    }

    fn admit(&self, token: Token, ctx: &mut ClientCtx<'_>) -> (Admission<Duration>, Option<Place>) {
        if let Some((cluster, own)) = asked_of(ctx.scenario, &self.spec)
            && cluster.fairness.is_some()
        {
            return self.admit_fairly(token, (cluster, own), ctx);
        }
        match self.seats() {
            None => (Admission::Executes, None),
            Some((seats, limit)) if ctx.in_flight.take(seats, limit) => (Admission::Executes, Some(Place::Counted(seats))),
            Some(_) => (Admission::Rejected(RETRY_AFTER), None),
        }
    }

    fn admit_fairly(
        &self,
        token: Token,
        (cluster, own): (&KubeClusterSpec, &Requests),
        ctx: &mut ClientCtx<'_>,
    ) -> (Admission<Duration>, Option<Place>) {
        let (Some(part), Some(attachment), Some(flow_control)) = (self.spec.server, &self.attachment, &cluster.fairness) else {
            return (Admission::Executes, None);
        };
        let (times, servers) = attachment.share;
        let users = u64::from(own.call.users) * if own.each == Each::Node { times } else { 1 };
        let user = own.call.user(self.requests.get(token).expect("an open request").number, users);
        let resource = own.call.resource;
        let digest = RequestDigest {
            user: &user,
            groups: &ApiCall::groups(&user),
            verb: own.call.verb,
            target: Target::Resource {
                api_group: resource.api_group(),
                resource: resource.name(),
                subresource: "",
                namespace: resource.namespace(),
            },
        };
        let watches = own.watchers.div_ceil(servers as u32);
        let arrival = |fairness: &Fairness, id| {
            let flow = fairness.classify(&digest);
            let work = work(own, self.spec.op, watches, fairness.max_seats(flow.level));
            Arrival { id, flow, work, wait_limit: wait_limit(None, self.spec.timeout) }
        };
        let (now, seats) = (ctx.now, cluster.in_flight.reads + cluster.in_flight.writes);
        let begin = || Fairness::new(flow_control.clone(), seats, now);
        let mut fair_ctx = FairCtx { now, client: self.id, out: ctx.out };
        let server = (part.cluster, attachment.server);
        let (admission, seated) = ctx.in_flight.fair.arrive(server, token, begin, arrival, &mut fair_ctx);
        (admission, seated.map(Place::Fair))
    }

    /// A request is let in.
    fn start(&mut self, token: Token, place: Option<Place>, ctx: &mut ClientCtx<'_>) {
        let request = self.requests.get_mut(token).expect("an open request");
        (request.place, request.stage) = (place, Stage::AtMember(ctx.now));
        if ctx.net.is_powered(self.host) {
            self.send(token, ctx);
        } else {
            self.finish(token, RequestResult::Failed, ctx);
        }
    }

    /// A request is rejected (429): it is made again later, or has failed.
    fn reject(&mut self, token: Token, retry_after: Duration, ctx: &mut ClientCtx<'_>) {
        let retries = asked_of(ctx.scenario, &self.spec).map_or(0, |(_, own)| own.retries);
        let is_on = self.is_on(ctx);
        let request = self.requests.get_mut(token).expect("an open request");
        if request.rejections >= retries || !is_on {
            self.finish(token, RequestResult::Rejected, ctx);
            return;
        }
        request.rejections += 1;
        let member = request.member;
        self.tell_delay(member, Delay::RetryAfter, retry_after, ctx);
        ctx.out.schedule(ctx.now + retry_after, (self.id, ClientEvent::Repeat(token)));
    }

    /// A request that was rejected is made again, of the server that is there now.
    pub(super) fn repeat(&mut self, token: Token, ctx: &mut ClientCtx<'_>) {
        if !self.is_on(ctx) {
            self.finish(token, RequestResult::Rejected, ctx);
            return;
        }
        let request = self.requests.get_mut(token).expect("a request that was rejected is open");
        request.stage = Stage::AtServer(ctx.now);
        self.arrive(token, ctx);
    }

    /// What has become of a request that waited at its server.
    pub fn decided(&mut self, token: Token, decision: Decision, ctx: &mut ClientCtx<'_>) {
        let request = self.requests.get(token).expect("a request that waits is open");
        let Stage::AtServer(since) = request.stage else { unreachable!("it waits") };
        self.tell_delay(request.member, Delay::Queue, ctx.now.since(since), ctx);
        match decision {
            Decision::Starts(seated) => {
                // Since it came, connections to members may have changed.
                let member = self.connection().unwrap_or_else(|| self.first_member(ctx));
                self.requests.get_mut(token).expect("an open request").member = member;
                self.start(token, Some(Place::Fair(seated)), ctx);
            }
            Decision::Rejected(retry_after) => self.reject(token, retry_after, ctx),
            Decision::Lost => self.finish(token, RequestResult::Lost, ctx),
        }
    }

    /// Something may be due at a server of its cluster.
    pub(super) fn server_is_due(&self, key: u32, generation: Generation, ctx: &mut ClientCtx<'_>) {
        if let Some(part) = self.spec.server {
            let mut fair_ctx = FairCtx { now: ctx.now, client: self.id, out: ctx.out };
            ctx.in_flight.fair.due((part.cluster, key), generation, &mut fair_ctx);
        }
    }

    /// A request gives back what it has at its server.
    pub(super) fn leave(&self, place: Option<Place>, ctx: &mut ClientCtx<'_>) {
        match place {
            Some(Place::Counted(seats)) => ctx.in_flight.release(seats),
            Some(Place::Fair(seated)) => {
                let mut fair_ctx = FairCtx { now: ctx.now, client: self.id, out: ctx.out };
                ctx.in_flight.fair.finish(seated, &mut fair_ctx);
            }
            None => {}
        }
    }
}
