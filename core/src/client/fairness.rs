//! API servers with Priority and Fairness: the requests that wait in their queues, and those that execute.
//!
//! ```text
//!  request --arrive--> executes --------------------> etcd --answer--> finish
//!                 |--> waits --decided: starts --------^
//!                 |       '---decided: rejected, lost
//!                 '--> rejected (429, Retry-After)
//! ```
//!
//! One [`Fairness`] for each process, from its first request on. A timer fires when something is due there, but only while a request waits: what
//! else is due (levels lend seats every 10 s) is done, at its own time, when the next request arrives or ends.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;

use crate::client::event::{ClientEvent, ClientOutbox};
use crate::etcd::raft::entry::Token;
use crate::ids::{ClientId, KubeClusterId};
use crate::kernel::time::{Duration, Time};
use crate::kernel::timer::{Generation, Timer};
use crate::kube::rule::fairness::server::{Arrival, Changes, Fairness};
use crate::kube::rule::fairness::{Admission, RequestId};

/// A request that has seats at an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seated {
    server: (KubeClusterId, u32),
    request: RequestId,
}

/// What has become of a request that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It executes from now on.
    Starts(Seated),
    /// It is rejected (429), and the header `Retry-After` says this.
    Rejected(Duration),
    /// Its server's process is gone.
    Lost,
}

/// The process of an API server.
#[derive(Clone, Debug)]
struct Process {
    fairness: Fairness,
    /// Number of its first request. Earlier ones were made to a process before it on the same host.
    first: RequestId,
    /// Requests that wait.
    waiting: BTreeMap<RequestId, Token>,
}

/// Requests at all API servers with Priority and Fairness.
#[derive(Clone, Debug, Default)]
pub struct FairServers {
    /// By cluster and by [`Running::key`](crate::kube::api::Running::key). Shared with clones of a run as long as neither changes them.
    processes: BTreeMap<(KubeClusterId, u32), Arc<Process>>,
    /// Each fires when something is due, while a request waits. They outlive processes.
    timers: BTreeMap<(KubeClusterId, u32), Timer>,
    /// Number of the next request.
    next: u64,
    /// Requests that waited, in the order in which they were decided.
    decided: Vec<(Token, Decision)>,
}

/// Time, and whose events fire timers: those of the client that is handled.
#[derive(Debug)]
pub struct FairCtx<'a> {
    /// The current time.
    pub now: Time,
    /// The client.
    pub client: ClientId,
    /// What the run loop is asked to do.
    pub out: &'a mut dyn ClientOutbox,
}

impl FairServers {
    /// A request arrives. `begin`: a process that it is the first request of. `arrival`: the request, by the rules of its server.
    pub fn arrive(
        &mut self,
        server: (KubeClusterId, u32),
        token: Token,
        begin: impl FnOnce() -> Fairness,
        arrival: impl FnOnce(&Fairness, RequestId) -> Arrival,
        ctx: &mut FairCtx<'_>,
    ) -> (Admission<Duration>, Option<Seated>) {
        let request = RequestId(self.next);
        self.next += 1;
        let process = self
            .processes
            .entry(server)
            .or_insert_with(|| Arc::new(Process { fairness: begin(), first: request, waiting: BTreeMap::new() }));
        let process = Arc::make_mut(process);
        let mut changes = Changes::default();
        process.fairness.advance(ctx.now, &mut changes);
        let arrival = arrival(&process.fairness, request);
        let admission = match process.fairness.arrive(&arrival, ctx.now, &mut changes) {
            Admission::Executes => Admission::Executes,
            Admission::Waits => {
                process.waiting.insert(request, token);
                Admission::Waits
            }
            Admission::Rejected(rejection) => Admission::Rejected(rejection.retry_after),
        };
        self.apply(server, changes, ctx);
        let seated = matches!(admission, Admission::Executes).then_some(Seated { server, request });
        (admission, seated)
    }

    /// A request has been answered, or given up.
    pub fn finish(&mut self, Seated { server, request }: Seated, ctx: &mut FairCtx<'_>) {
        let Some(process) = self.processes.get_mut(&server).filter(|process| process.first <= request) else { return };
        let process = Arc::make_mut(process);
        let mut changes = Changes::default();
        process.fairness.advance(ctx.now, &mut changes);
        process.fairness.finish(request, ctx.now, &mut changes);
        self.apply(server, changes, ctx);
    }

    /// The timer of a server may fire.
    pub fn due(&mut self, server: (KubeClusterId, u32), generation: Generation, ctx: &mut FairCtx<'_>) {
        if self.timers.get_mut(&server).is_some_and(|timer| timer.fires(generation))
            && let Some(process) = self.processes.get_mut(&server)
        {
            let mut changes = Changes::default();
            Arc::make_mut(process).fairness.advance(ctx.now, &mut changes);
            self.apply(server, changes, ctx);
        }
    }

    /// Whether an event of this generation does something.
    pub fn is_due(&self, server: (KubeClusterId, u32), generation: Generation) -> bool {
        self.timers.get(&server).is_some_and(|timer| timer.is_due(generation))
    }

    /// Only these processes of a cluster run: requests that wait at others are lost.
    pub fn retain(&mut self, cluster: KubeClusterId, runs: impl Fn(u32) -> bool) {
        let Self { processes, timers, decided, .. } = self;
        processes.retain(|server, process| {
            let stays = server.0 != cluster || runs(server.1);
            if !stays {
                decided.extend(process.waiting.values().map(|token| (*token, Decision::Lost)));
                timers.entry(*server).or_default().cancel();
            }
            stays
        });
    }

    /// Requests that waited and wait no longer, in order; they are the caller's to tell.
    pub fn take_decided(&mut self) -> Vec<(Token, Decision)> {
        take(&mut self.decided)
    }

    /// Whether all decisions were taken.
    pub fn is_settled(&self) -> bool {
        self.decided.is_empty()
    }

    fn apply(&mut self, server: (KubeClusterId, u32), changes: Changes, ctx: &mut FairCtx<'_>) {
        let process = Arc::make_mut(self.processes.get_mut(&server).expect("it has changed something"));
        let starts = changes.started.into_iter().map(|request| (request, Decision::Starts(Seated { server, request })));
        let rejected = changes.rejected.into_iter().map(|(request, why)| (request, Decision::Rejected(why.retry_after)));
        for (request, decision) in starts.chain(rejected) {
            let token = process.waiting.remove(&request).expect("it waited");
            self.decided.push((token, decision));
        }
        let due = process.fairness.is_anything_waiting().then(|| process.fairness.next_due());
        if let Some((at, generation)) = self.timers.entry(server).or_default().rearm(due) {
            let (_, key) = server;
            ctx.out.schedule(at, (ctx.client, ClientEvent::ServerDue { key, generation }));
        }
    }
}
